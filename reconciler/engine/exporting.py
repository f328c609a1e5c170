"""Reads whole scopes for `export`, and keeps the entries that pass every check of manifests.

core/export.py decides which entities and fields are exported.
"""

import asyncio
from collections.abc import Collection, Iterable
from functools import partial

from msgspec import Struct, structs

from reconciler.concurrency import gather_limited
from reconciler.core.export import (
    Export,
    Exported,
    ExportOptions,
    IdentityAdvice,
    Omission,
    export_live,
    identity_advice,
)
from reconciler.core.planning.select import Selection
from reconciler.core.planning.unplanned import PlanInputs, judge_failed_reads, leave_out
from reconciler.core.runs import ticket
from reconciler.engine.context import ReadContext
from reconciler.engine.lists import choose_list_fields, find_shown_paths, observe_list_row, observe_whole
from reconciler.engine.live import keep_failure
from reconciler.engine.targets import find_plan_inputs
from reconciler.errors import NotFound, ServiceError, Unavailable
from reconciler.instrumentation import report_progress
from reconciler.manifest.drop_invalid import drop_invalid_entries
from reconciler.manifest.flatten import list_known_fields
from reconciler.manifest.load import extend_contact_schemas
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.snapshots import Desired, LiveEntity, NotPlanned, Scope
from reconciler.service.client import Reader
from reconciler.service.entities import ReadCollection
from reconciler.service.paging import Found, Page, Query

# --- A whole scope, managed or not ----------------------------------------------------------------
#
# The list is walked once, and each entity that its row shows too briefly is looked at.


_walks_max = 2  # a list that changes while it is read is read once more, and not for ever


class WholeScope(Struct, frozen=True):
    """Everything in a scope, each entity followed by what belongs to it.

    `untold` is the number of entities whose children are unknown: their rows do not show them, and they were
    not looked at.
    """

    entities: tuple[LiveEntity, ...]
    untold: int = 0


async def read_whole_scope(
    reader: Reader, scope: Scope, workspace: str, *, look: bool, concurrency: int
) -> WholeScope:
    """Return all entities of a scope. Sends nothing but GET.

    `workspace` is the service's id. With `look`, each entity whose row does not show what belongs to it is
    looked at, a call each. Raises Unavailable where the list changed each time it was read.
    """
    reading = _WholeScopeReader(reader[scope.kind], scope, workspace, look=look)
    for _ in range(_walks_max):
        if not await reading.walk():
            return await reading.whole(concurrency)
    what = f"the list of {scope} changed while it was read, so some may be missing; nothing was exported."
    raise Unavailable(what, next="export again")


class _WholeScopeReader:
    def __init__(self, collection: ReadCollection, scope: Scope, workspace: str, *, look: bool) -> None:
        self._collection = collection
        self._scope = scope
        self._workspace = workspace
        self._look = look
        self._kind: Kind = KINDS[scope.kind]
        self._heads = frozenset(field.head for field in self._kind.declarable)
        self._asked = choose_list_fields(self._kind, self._heads) if self._kind.brief else ()
        self._found: dict[str, tuple[LiveEntity, ...] | None] = {}  # None: to be looked at
        self._untold = 0
        # How many are read for good: not those that are still to be looked at, which takes most of the time.
        self._read = 0
        self._total: int | None = None

    async def walk(self) -> str:
        """Read the list once; return why rows may have been missed, or ""."""
        self._found, self._untold, self._read, trouble = {}, 0, 0, ""
        query = Query(fields=self._asked)
        async for page in self._collection.pages(query, workspace=self._workspace):
            self._take_page(page)
            self._total = page.total if self._total is None else self._total
            report_progress(self._scope, self._read, self._total)
            trouble = trouble or page.trouble
        return trouble

    def _take_page(self, page: Page) -> None:
        told = find_shown_paths(self._kind, page.rows, self._asked, self._heads)
        # Only a list that was asked for them shows custom fields, and then every row has the key.
        custom = self._kind.wire.get(self._kind.custom, self._kind.custom)
        bare = told == self._kind.listing.always or (custom and not any(custom in r.body for r in page.rows))
        for row in page.rows:
            if self._kind.tickets and ticket.is_ticket_name(row.body.get("name")):
                continue
            if told is None:
                self._found[row.remote_id] = observe_whole(self._kind, self._scope.workspace, row)
            elif bare or self._look or self._shows_children(row):
                self._found[row.remote_id] = None
                continue
            else:
                self._untold += bool(child_kinds(self._kind.name))
                entity = observe_list_row(self._kind, self._scope.workspace, row)
                self._found[row.remote_id] = (structs.replace(entity, devices_known=False),)
            self._read += 1

    async def whole(self, concurrency: int) -> WholeScope:
        """Look at each entity that the list shows too briefly, and return all in its order."""
        looks = [remote_id for remote_id, known in self._found.items() if known is None]
        self._found.update(zip(looks, await gather_limited(looks, self._look_at, concurrency), strict=True))
        return WholeScope(tuple(one for known in self._found.values() for one in known or ()), self._untold)

    async def _look_at(self, remote_id: str) -> tuple[LiveEntity, ...]:
        try:
            whole = await self._collection.get(remote_id, workspace=self._workspace)
            found = observe_whole(self._kind, self._scope.workspace, whole)
        except NotFound:
            found = ()  # removed since the list was read
        self._read += 1
        report_progress(self._scope, self._read, self._total)
        return found

    def _shows_children(self, row: Found) -> bool:
        return any(row.body.get(child.rows_key) for child in child_kinds(self._kind.name))


# --- The entries ----------------------------------------------------------------------------------


class ExportRequest(Struct, frozen=True):
    """What the user asked for: the name of a time zone ("": none), and whether to look at each entity.

    `secrets`: secrets that the service shows are exported too.
    """

    zone: str = ""
    look: bool = False
    secrets: bool = False


class ExportResult(Struct, frozen=True):
    """Entries by scope, in order; what was left out; the calls.

    `untold` is the number of entities whose children are unknown, by scope. `advice` says which identities
    would recognize more entities. `not_planned` are workspaces of which nothing is exported.
    """

    entries: tuple[tuple[Scope, tuple[Exported, ...]], ...]
    left: tuple[Omission, ...]
    declared: int
    untold: tuple[tuple[Scope, int], ...]
    calls: int
    advice: tuple[IdentityAdvice, ...] = ()
    not_planned: tuple[NotPlanned, ...] = ()


async def export_scopes(
    context: ReadContext, scopes: Collection[Scope], wishes: ExportRequest
) -> ExportResult:
    """Return what is live in these scopes as entries, without what is declared.

    What cannot be read is left out, as in a plan; raises the reason where nothing else would be exported.
    """
    left = [one for one in context.desired.not_planned if any(map(one.covers, scopes))]
    wanted = Desired({}, frozenset(scopes), not_planned=tuple(left))
    inputs = await find_plan_inputs(context, wanted, Selection(), ())
    failed: dict[Scope, ServiceError] = {}
    wholes = await _read_whole_scopes(context, inputs, wishes, None if context.strict else failed)
    unread = judge_failed_reads(failed, wholes.keys()) if failed else []
    inputs = leave_out(inputs, unread)
    ordered = sorted(inputs.desired.scopes)
    wholes = {scope: wholes[scope] for scope in ordered}
    recorded = await context.ask(lambda store: store.recorded(inputs.target.workspaces))
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
    return structs.replace(
        result,
        advice=identity_advice(live, made.left, context.rules),
        not_planned=inputs.left_out.not_planned,
    )


async def _read_whole_scopes(
    context: ReadContext,
    inputs: PlanInputs,
    wishes: ExportRequest,
    failed: dict[Scope, ServiceError] | None,
) -> dict[Scope, WholeScope]:
    """Return all entities of each scope; with `failed`, what a scope raises is put there."""
    ids = {one.alias: one.id for one in inputs.target.workspaces}
    read = partial(read_whole_scope, look=wishes.look, concurrency=context.limits.concurrency)
    wholes: dict[Scope, WholeScope] = {}
    async with asyncio.TaskGroup() as group:
        for scope in sorted(inputs.desired.scopes):
            reading = partial(read, context.client, scope, ids[scope.workspace])
            group.create_task(keep_failure(scope, reading, wholes, failed))
    return wholes


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
    # An omission of a field is dropped where the whole entry is omitted.
    kept = (one for one in left if one.field == "" or "/" not in one.subject or one.subject in there)
    calls = sum(context.client.calls.values())
    return ExportResult(tuple(entries), tuple(sorted(set(kept))), made.declared, untold, calls)
