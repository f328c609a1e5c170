"""Where a run goes: the service, the stack, and the workspaces that the manifests speak of.

Belongs here: which workspace of the service an alias of the settings means. Nothing is written.
"""

from reconciler.apply.context import ReadContext
from reconciler.errors import SettingsError
from reconciler.model.plans import Target, Workspace
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired
from reconciler.service.client import Reader
from reconciler.service.http.urls import origin


async def target_of(context: ReadContext, desired: Desired) -> Target:
    """Return the service, the stack, and the workspaces that these entities are in (planning rule S4)."""
    settings = context.settings
    workspaces = await named_workspaces(context.client, settings, desired)
    return Target(origin(settings.service.base_url), settings.stack, workspaces)


async def named_workspaces(reader: Reader, settings: Settings, desired: Desired) -> tuple[Workspace, ...]:
    """Return the workspaces that the manifests speak of, each known to the service (planning rule S4)."""
    aliases = sorted({scope.workspace for scope in desired.scopes})
    named = [alias for alias in aliases if alias != "default"]
    live = await reader.workspaces.list() if named else ()
    found = [Workspace("default", "")] if "default" in aliases else []
    for alias in named:
        ref = settings.workspaces[alias]
        fits = [one for one in live if ref.id in ("", one.id) and ref.name in ("", one.name)]
        if len(fits) != 1:
            wanted = " and ".join(
                f"{key} {value!r}" for key, value in (("id", ref.id), ("name", ref.name)) if value
            )
            several = "more than one workspace" if fits else "no workspace"
            raise SettingsError(
                f"workspace {alias}: the service has {several} with {wanted}.",
                next="it has "
                + (", ".join(f"{one.name} ({one.id})" for one in live[:10]) or "none but the default one"),
            )
        found.append(Workspace(alias, fits[0].id, fits[0].name))
    return tuple(sorted(found))
