"""The workspaces that a plan is about, as the service knows them, and those that it has to leave out.

What an alias means is decided in core/rules.py, what is left out in core/planning/unplanned.py.
"""

from collections.abc import Iterable

from msgspec import structs

from reconciler.core.planning.select import Selection
from reconciler.core.planning.unplanned import (
    PlanInputs,
    leave_out,
    leave_out_workspace,
    select_not_planned,
    why_nothing_is_planned,
)
from reconciler.core.rules import check_one_alias, resolve_workspace
from reconciler.engine.context import ReadContext
from reconciler.errors import SettingsError
from reconciler.model.plans import Target, Workspace
from reconciler.model.snapshots import Desired, Live, NotPlanned, Recorded
from reconciler.service.http.urls import origin_of


async def resolve_target(context: ReadContext, desired: Desired) -> Target:
    """Return the service, the stack, and the workspaces that these entities are in (planning rule S4).

    Raises SettingsError where the service lacks one of them.
    """
    found, wrong = await _resolve_aliases(context, _list_aliases(context, desired))
    for error in wrong.values():
        raise error
    return _make_target(context, found)


def _list_aliases(context: ReadContext, desired: Desired) -> set[str]:
    # `removed` may be all that the manifests say of a workspace: its records are read, and nothing live.
    leaving = {one.workspace for one in desired.removed} & {*context.settings.workspaces, "default"}
    return {scope.workspace for scope in desired.scopes} | leaving


async def _resolve_aliases(
    context: ReadContext, aliases: Iterable[str]
) -> tuple[list[Workspace], dict[str, SettingsError]]:
    """Return the workspaces of these aliases, and why the others have none, by alias."""
    settings, wrong = context.settings, dict[str, SettingsError]()
    ordered = sorted(aliases)
    named = [alias for alias in ordered if alias != "default"]
    live = await context.client.workspaces.list() if named else ()
    found = [Workspace("default", "")] if "default" in ordered else []
    for alias in named:
        try:
            found.append(resolve_workspace(alias, settings.workspaces[alias], live))
        except SettingsError as error:
            wrong[alias] = error
    check_one_alias(found, settings.workspaces)
    return found, wrong


def _make_target(context: ReadContext, found: Iterable[Workspace]) -> Target:
    settings = context.settings
    return Target(origin_of(settings.service.base_url), settings.stack, tuple(sorted(found)))


async def find_plan_inputs(
    context: ReadContext,
    desired: Desired,
    selection: Selection,
    left: Iterable[NotPlanned],
    *,
    target: Target | None = None,
) -> PlanInputs:
    """Return what is declared, and where, without the workspaces that cannot be planned.

    Nothing is live or recorded yet. `left` are those that the caller leaves out; to them come those with
    mistakes in their manifests, and those that the service lacks. `target` is that of everything declared,
    where it is known. Raises SettingsError for a workspace that the service lacks where `strict_scopes` says
    so, and the first reason where the selection is about nothing else.
    """
    if target is not None:
        return PlanInputs(desired, Live({}), Recorded({}), target)
    before = (*left, *desired.not_planned)
    aliases = _list_aliases(context, desired) | {one.workspace for one in before}
    found, wrong = await _resolve_aliases(context, aliases)
    new = {alias: error for alias, error in wrong.items() if alias not in {one.workspace for one in before}}
    if context.strict:
        for error in new.values():
            raise error
    more = [leave_out_workspace(alias, "settings", error) for alias, error in new.items()]
    inputs = PlanInputs(desired, Live({}), Recorded({}), _make_target(context, found))
    inputs = leave_out(inputs, [*before, *more])
    concerned = select_not_planned(inputs.left_out.not_planned, selection)
    if (why := why_nothing_is_planned(concerned, selection, inputs.desired)) is not None:
        raise next(iter(new.values()), why)
    away = tuple(one for one in found if one not in inputs.target.workspaces)
    if not away:
        return inputs
    there = await context.ask(lambda store: store.recorded(away))
    known = inputs.left_out
    entities = {**desired.unusable, **known.entities}
    return structs.replace(inputs, left_out=structs.replace(known, entities=entities, records=there.entities))


def add_records(inputs: PlanInputs, recorded: Recorded) -> PlanInputs:
    """Return the inputs with what is recorded of their workspaces."""
    return leave_out(structs.replace(inputs, recorded=recorded), inputs.left_out.not_planned)
