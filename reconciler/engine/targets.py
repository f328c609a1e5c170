"""Where a run goes: the service, the stack, and the workspaces that the manifests speak of.

Belongs here: asking the service. Not here: which workspace an alias means (core/rules.py). Nothing is
written.
"""

from reconciler.core.rules import check_one_alias, resolve_workspace
from reconciler.engine.context import ReadContext
from reconciler.model.plans import Target, Workspace
from reconciler.model.snapshots import Desired
from reconciler.service.http.urls import origin_of


async def resolve_target(context: ReadContext, desired: Desired) -> Target:
    """Return the service, the stack, and the workspaces that these entities are in (planning rule S4)."""
    settings = context.settings
    # What leaves may be all that is said of a workspace: its records are looked at, and nothing live.
    leaving = {one.workspace for one in desired.removed} & {*settings.workspaces, "default"}
    aliases = sorted({scope.workspace for scope in desired.scopes} | leaving)
    named = [alias for alias in aliases if alias != "default"]
    live = await context.client.workspaces.list() if named else ()
    found = [Workspace("default", "")] if "default" in aliases else []
    found += [resolve_workspace(alias, settings.workspaces[alias], live) for alias in named]
    check_one_alias(found, settings.workspaces)
    return Target(origin_of(settings.service.base_url), settings.stack, tuple(sorted(found)))
