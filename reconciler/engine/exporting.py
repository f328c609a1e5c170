"""What `export_live` reads and decides: live scopes, the records, and the entries that pass every check.

Belongs here: which calls are made, and the order of the steps. Not here: which entities and fields are
exported (core/export.py), the text of files (manifest/written/), writing them
(cli/commands/export.py).
"""

import asyncio
from collections.abc import Collection, Iterable
from functools import partial

from msgspec import Struct, structs

from reconciler.core.export import (
    Export,
    Exported,
    ExportOptions,
    IdentityAdvice,
    Omission,
    export_live,
    identity_advice,
)
from reconciler.engine.context import ReadContext
from reconciler.engine.read_all import WholeScope, read_whole_scope
from reconciler.engine.targets import resolve_target
from reconciler.manifest.drop_invalid import drop_invalid_entries
from reconciler.manifest.flatten import list_known_fields
from reconciler.manifest.load import extend_contact_schemas
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.snapshots import Desired, LiveEntity, Scope


class ExportRequest(Struct, frozen=True):
    """What the user asked for: the name of a time zone ("": none), and a look at each for what is below.

    `secrets`: those that the service shows are declared too.
    """

    zone: str = ""
    look: bool = False
    secrets: bool = False


class ExportResult(Struct, frozen=True):
    """Entries by scope, in order; what was left out; and how little or much was read.

    `untold` are the scopes in which nobody knows what belongs to the entities, with their number. `advice` is
    how more of them could be recognized.
    """

    entries: tuple[tuple[Scope, tuple[Exported, ...]], ...]
    left: tuple[Omission, ...]
    declared: int
    untold: tuple[tuple[Scope, int], ...]
    calls: int
    advice: tuple[IdentityAdvice, ...] = ()


async def export_scopes(
    context: ReadContext, scopes: Collection[Scope], wishes: ExportRequest
) -> ExportResult:
    """Return what is live in these scopes as entries, without what is declared. Raises ServiceError."""
    target = await resolve_target(context, Desired({}, frozenset(scopes)))
    ids = {one.alias: one.id for one in target.workspaces}
    recorded = await context.ask(lambda store: store.recorded(target.workspaces))
    ordered = sorted(scopes)
    async with asyncio.TaskGroup() as group:
        read = partial(read_whole_scope, look=wishes.look, concurrency=context.limits.concurrency)
        tasks = [group.create_task(read(context.client, one, ids[one.workspace])) for one in ordered]
    wholes = dict(zip(ordered, (task.result() for task in tasks), strict=True))
    extras = extend_contact_schemas(context.settings.contact_fields)
    live = _group_by_scope(wholes.items())
    made = export_live(
        live,
        context.desired,
        recorded,
        context.rules,
        ExportOptions(wishes.zone, list_known_fields(extras), wishes.secrets),
    )
    result = _drop_invalid_entries(context, made, ordered, wholes, extras)
    return structs.replace(result, advice=identity_advice(live, made.left, context.rules))


def _group_by_scope(wholes: Iterable[tuple[Scope, WholeScope]]) -> dict[Scope, list[LiveEntity]]:
    """Return the entities of each scope, and those that belong to them in scopes of their own."""
    found: dict[Scope, list[LiveEntity]] = {}
    for scope, whole in wholes:
        for kind in (KINDS[scope.kind], *child_kinds(scope.kind)):
            found[Scope(kind.name, scope.workspace)] = [
                row for row in whole.entities if row.kind == kind.name
            ]
    return found


def _drop_invalid_entries(
    context: ReadContext,
    made: Export,
    scopes: list[Scope],
    wholes: dict[Scope, WholeScope],
    extras: dict[str, tuple[str, ...]],
) -> ExportResult:
    left = list(made.left)
    entries = []
    for scope in scopes:
        kinds = {scope.kind, *(child.name for child in child_kinds(scope.kind))}
        mine = [
            one
            for one in made.entries
            if one.address.kind in kinds and one.address.workspace == scope.workspace
        ]
        passed = drop_invalid_entries(scope, mine, context.rules, extras)
        entries.append((scope, passed.entries))
        left += passed.left
    untold = tuple((scope, wholes[scope].untold) for scope in scopes if wholes[scope].untold)
    there = {str(one.address) for _, ones in entries for one in ones}
    # What was said about an entry that is not exported after all is said by its refusal.
    kept = (one for one in left if one.field == "" or "/" not in one.subject or one.subject in there)
    calls = sum(context.client.calls.values())
    return ExportResult(tuple(entries), tuple(sorted(set(kept))), made.declared, untold, calls)
