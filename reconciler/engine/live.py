"""What exists at the service, as `Live`: complete for the kinds and workspaces in question, in few calls.

The service allows a few requests a second, so the number of calls is the time. Each scope is read by
the way that takes fewer: a scan of the whole list, of which earlier rows may be cached (lists.py), or a
look at each entity that is declared or recorded. A scan suggests and never decides: an entity that it did
not show is looked up by its id before it counts as gone. Both ways show a second live entity for one of
ours, except where list rows are brief and show names alone (docs/planning.md, T1).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from msgspec import UNSET, Struct, structs

from reconciler.concurrency import gather_limited
from reconciler.core.compare.evidence import MissedLook, is_wrong_service, judge_absence
from reconciler.core.planning.unplanned import is_outage
from reconciler.core.reading_policy import (
    ListStart,
    ReadRequest,
    RowJudge,
    build_identity_filters,
    build_lookups,
    find_restored,
    is_scan_dearer,
)
from reconciler.core.rules import Rules
from reconciler.core.runs import ticket
from reconciler.engine.lists import (
    ListCacheRequest,
    ListedRows,
    ListFollower,
    Lists,
    choose_list_fields,
    count_page_rows,
    digest_found,
    find_shown_paths,
    observe_list_row,
    observe_whole,
)
from reconciler.errors import NotFound, ServiceError, unwrap_exception_group
from reconciler.instrumentation import record_span, report_progress, start_stopwatch, step_log
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.snapshots import (
    ContradictedId,
    DeletedEntity,
    Desired,
    Live,
    LiveEntity,
    Read,
    Recorded,
    Scope,
)
from reconciler.service.client import Reader
from reconciler.service.entities import ReadCollection
from reconciler.service.paging import Found, Page, Query

R = TypeVar("R")
V = TypeVar("V")

# --- All scopes, side by side ----------------------------------------------------------------------


async def read_live(
    reader: Reader,
    desired: Desired,
    recorded: Recorded,
    *,
    workspaces: Mapping[str, str],
    rules: Rules,
    concurrency: int = 8,
    everyone: bool = False,
    lists: Lists | None = None,
    deleted: Collection[DeletedEntity] = (),
    failed: dict[Scope, ServiceError] | None = None,
) -> Live:
    """Return everything live that the plan has to know, with what belongs to it where that is in scope.

    `workspaces` maps aliases to the service's ids ("" for the default workspace). Scopes are read side
    by side. With `everyone` the rest of each list is read too (`others`). `deleted` are entities that we
    deleted: `again` names those that are shown again. `lists` are what earlier reads showed; without them
    every list is read.
    Errors: whatever the service's client raises; nothing unreadable becomes an empty list. With `failed`,
    what a scope raises is put there, and the scope is missing from the result.
    """
    readers = make_readers(
        reader,
        desired,
        recorded,
        workspaces=workspaces,
        rules=rules,
        concurrency=concurrency,
        everyone=everyone,
        lists=lists,
        deleted=deleted,
    )
    return await read_scopes(readers, failed)


def make_readers(
    reader: Reader,
    desired: Desired,
    recorded: Recorded,
    *,
    workspaces: Mapping[str, str],
    rules: Rules,
    concurrency: int = 8,
    everyone: bool = False,
    lists: Lists | None = None,
    deleted: Collection[DeletedEntity] = (),
    paths: Mapping[Scope, frozenset[str]] = {},
) -> dict[Scope, "ScopeReader"]:
    """Return what reads each scope, in their order; arguments as in `read_live`.

    `paths` are what a scope's rows have to show besides what these entities and records need.
    """
    entities, records = _group_by_scope(desired.entities), _group_by_scope(recorded.entities)
    gone: dict[Scope, list[DeletedEntity]] = {}
    for one in deleted:
        gone.setdefault(Scope.of(one.address), []).append(one)
    readers = {}
    for scope in sorted(desired.scopes):
        request = ReadRequest(
            scope,
            workspaces[scope.workspace],
            entities.get(scope, {}),
            records.get(scope, {}),
            rules,
            everyone=everyone,
            deleted=tuple(gone.get(scope, ())),
            salt=recorded.salt,
            paths_besides=paths.get(scope, frozenset()),
        )
        readers[scope] = ScopeReader(reader, request, concurrency, lists)
    return readers


def _group_by_scope(values: Mapping[Address, V]) -> dict[Scope, dict[Address, V]]:
    groups: dict[Scope, dict[Address, V]] = {}
    for address, value in values.items():
        groups.setdefault(Scope.of(address), {})[address] = value
    return groups


async def read_scopes(
    readers: Mapping[Scope, "ScopeReader"], failed: dict[Scope, ServiceError] | None = None
) -> Live:
    """Return what all of these show, read side by side. Errors, and `failed`: as `read_live`."""
    read: dict[Scope, ScopeRead] = {}

    async def read_one(reader: ScopeReader) -> ScopeRead:
        return await reader.read()

    async with asyncio.TaskGroup() as group:
        for scope, each in readers.items():
            group.create_task(keep_failure(scope, partial(read_one, each), read, failed))
    found = dict(sorted(read.items()))
    entities: dict[Scope, tuple[LiveEntity, ...]] = {}
    for scope, one in found.items():
        for kind in (scope.kind, *(child.name for child in child_kinds(scope.kind))):
            entities[Scope(kind, scope.workspace)] = tuple(row for row in one.rows if row.kind == kind)
    return Live(
        entities,
        tuple(one.read for one in found.values()),
        {scope: tuple(one.others) for scope, one in found.items() if one.others},
        {scope: one.contradictions for scope, one in found.items() if one.contradictions},
        {scope: one.restored for scope, one in found.items() if one.restored},
    )


async def keep_failure(
    scope: Scope,
    reading: Callable[[], Awaitable[R]],
    read: dict[Scope, R],
    failed: dict[Scope, ServiceError] | None,
) -> None:
    """Put what is read of a scope into `read`, or the reason why it cannot be read into `failed`.

    Raises the reason where `failed` is None, or the service is down.
    """
    try:
        read[scope] = await reading()
    except (ServiceError, BaseExceptionGroup) as error:
        cause = unwrap_exception_group(error) if isinstance(error, BaseExceptionGroup) else error
        if failed is None or not isinstance(cause, ServiceError):
            raise
        failed[scope] = cause
        step_log.info("%s cannot be read: %s", scope, cause)
        if is_outage(failed.values(), len(read)):
            raise


# --- One scope, by the cheapest way: its changes, the whole list, or a look at each of ours --------
#
# What each way costs, and what a row tells of ours, is decided in core/reading_policy.py; a list is followed
# by what has changed in it in lists.py.


class ScopeRead(Struct, frozen=True):
    """What one scope shows: the rows that matter, the others, the ids that are in doubt, how it was read.

    `restored` are entities that we deleted and that are shown again: former id -> the ids they have now.
    """

    rows: Sequence[LiveEntity]
    others: Sequence[LiveEntity]
    contradictions: tuple[ContradictedId, ...]
    restored: Mapping[str, tuple[str, ...]]
    read: Read


class ScopeReader:
    """Reads one scope by the cheaper way, and counts its calls.

    `looked` are the ids that were looked at, because a row of the list was not enough or not there.
    """

    def __init__(
        self, reader: Reader, wanted: ReadRequest, concurrency: int, lists: Lists | None = None
    ) -> None:
        self.wanted = wanted
        self.kind = KINDS[wanted.scope.kind]
        self.collection: ReadCollection = reader[self.kind.name]
        self.concurrency = concurrency
        self.calls = 0
        self.complete = True
        self.seen = -1  # rows of a scan
        # Whether rows of the list are asked for again: without records nobody is missed.
        self.kept = lists is not None or bool(wanted.records or wanted.deleted or wanted.everyone)
        self.listed: Mapping[str, Found] = {}  # the rows of the whole list, where it was read, and `kept`
        # The rows that searches showed, and the first page where that is not the whole list.
        self.hits: dict[str, Found] = {}
        self.missed: dict[str, ServiceError] = {}  # ids that a look did not show, and what it said
        self.looked_at = 0  # ids that a look did show
        self.looked: set[str] = set()
        self.followed = False  # whether `listed` is a list that was followed by its changes
        self.first: Page | None = None  # of the list, once it was opened
        self.chosen: Sequence[str] | None = None  # the rows that matter, where they were chosen (`narrow`)
        self.tickets = 0  # rows of a scan that are tickets of the lock in the service
        self.judge = RowJudge(wanted)
        self.paths = wanted.paths
        self.fields = choose_list_fields(self.kind, self.paths) if self.kind.brief else ()
        # A list of everyone shows other fields: it is read whole, and the cached rows stay for plans.
        asked = ListCacheRequest(wanted.scope, wanted.workspace, self.fields)
        self.following = ListFollower(
            None if wanted.everyone else lists,
            self.collection,
            self.kind,
            asked,
            wanted.deleted,
            concurrency=concurrency,
        )

    async def read(self) -> ScopeRead:
        """Return the rows that matter with what belongs to them, the others if wanted, and how it was read.

        Raises ServiceError where every look shows another entity.
        """
        scope = self.wanted.scope
        with record_span("list", kind=scope.kind, workspace=scope.workspace) as notes:
            took = start_stopwatch()
            first = await self.open()
            start = ListStart(
                first.total,
                count_page_rows(first),
                self._find_shown(first.rows),
                last=first.last,
                complete=self.followed,
            )
            direct = is_scan_dearer(self.wanted, start)
            how = "search" if direct else "feed" if self.followed else "scan"
            listed = "not told" if first.total is None else f"{first.total}"
            step_log.info("reading %s by %s; rows of its list: %s", scope, how, listed)
            rows = await self._search_recorded(first) if direct else await self._scan_list(first)
            shown = {row.remote_id for row in rows}
            hidden = await self._look_at_all([one for one in self.judge.owners if one not in shown])
            if not direct and any(row.remote_id not in self.listed for row in hidden if not row.parent_id):
                self.complete = False  # the list did not show what is there: it was not all of it
                await self.following.forget()
            rows += hidden
            if direct or self._find_shown(first.rows) == self.kind.listing.always:
                rows += await self._search_declared(rows, marks=direct)
            if direct:
                self.hits |= {row.remote_id: row for row in first.rows}
            contradictions = await self._find_contradictions({row.remote_id for row in rows}, direct=direct)
            restored = self._find_restored(self.listed or self.hits)
            others = await self._list_others(first, rows) if self.wanted.everyone else []
            if how == "scan":
                await self.following.keep(self.listed, first, complete=self.complete)
                rows_kept = self.following.rows
                # A hundred thousand decoded rows take 200 MiB, and only a page is asked for again.
                if rows_kept is not None or not first.last:
                    self.listed = {} if rows_kept is None else ListedRows(rows_kept)
            what = "read %s by %s; rows of its list: %s, entries kept: %d, calls: %d, %.1f s"
            step_log.info(what, scope, how, listed, len(rows), self.calls, took())
            read = self._describe_read(first, how)
            notes.update(way=how, rows=read.total)
        self.judge.release()  # a reader is asked for its list until the plan is made
        return ScopeRead(rows, others, contradictions, restored, read)

    async def open(self) -> Page:
        """Return the first page of the list, which is followed by its changes where it can be. Once."""
        if self.first is None:
            self.first = await self._follow_list()
        if self.first is None:
            self.calls += 1
            query = Query(fields=self.fields)
            self.first = await self.collection.page(query, workspace=self.wanted.workspace)
        return self.first

    async def list_all(self) -> Mapping[str, Found] | None:
        """Return all rows of the opened list by id; None where that takes more calls than its first page."""
        first = await self.open()
        return await self._read_list(first) if self.followed or first.last else None

    def shown(self) -> frozenset[str] | None:
        """Return the paths that the rows of the opened list show; None where they show everything."""
        return self._find_shown(self.first.rows) if self.first else frozenset()

    def row_digests(self) -> Mapping[str, bytes]:
        """Return what stands for each row of the list, by id; b"" where a row tells no time."""
        rows = self.listed.rows if isinstance(self.listed, ListedRows) else self.following.rows
        if rows is not None:
            return dict(rows.digests())
        return {remote_id: digest_found(row, self.kind) for remote_id, row in self.listed.items()}

    def observe(self, remote_ids: Iterable[str]) -> list[LiveEntity]:
        """Return rows of the list as entities."""
        return [self._observe_row(self.listed[one]) for one in remote_ids]

    def narrow(self, wanted: ReadRequest, chosen: Sequence[str]) -> None:
        """Read no more than this from now on, and of the list the rows of these ids alone, in its order."""
        self.wanted = wanted
        self.judge = RowJudge(wanted)
        self.chosen = chosen

    async def _follow_list(self) -> Page | None:
        """Return the first page of a list that was followed by its changes, and set `listed` to its rows."""
        followed = await self.following.first(self.paths)
        self.calls += self.following.calls
        if followed is None:
            return None
        first, self.listed = followed
        self.followed = bool(self.listed)
        return first

    # The ways to read: the whole list, by identity, and by id (`_look_at_all`).

    async def _scan_list(self, first: Page) -> list[LiveEntity]:
        """Read the whole list, then look at the entities whose rows show too little."""
        told = self._find_shown(first.rows)
        strangers = bool(self.wanted.unrecorded or self.wanted.rules.mark)
        rows, looks = list[LiveEntity](), list[str]()
        # Of whole rows one may be a mistake, which counts once the list was read completely.
        at_once = told is not None and self.chosen is None
        self.seen = 0
        async for page in self._iterate_list(first):
            self.seen += len(page)
            self.tickets += sum(map(self._is_ticket, page)) if self.kind.tickets else 0
            if at_once and told is not None:
                self._judge_rows(page, told, rows, looks, strangers=strangers)
        if at_once:
            return rows + await self._look_at_all(looks)
        found = self.listed.values() if self.chosen is None else map(self.listed.__getitem__, self.chosen)
        return await self._complete_rows(found, told, strangers=strangers)

    async def _read_list(self, first: Page) -> Mapping[str, Found]:
        """Read the whole list, once, and return its rows by id."""
        async for _ in self._iterate_list(first):
            pass
        return self.listed

    async def _iterate_list(self, first: Page) -> AsyncIterator[Collection[Found]]:
        """Yield the rows of the list, once each, page by page; at the end `listed` holds all of them.

        `listed` is empty where none of them is asked for again.
        """
        if self.listed:
            yield self.listed.values()
            return
        needed = self.kept or self._find_shown(first.rows) is None
        growing = self.following.start_list(first, needed=needed)
        shown = {row.remote_id: row for row in first.rows}
        report_progress(self.wanted.scope, len(shown), first.total)
        if first.last:
            growing.add(shown.values())
            yield shown.values()
        else:
            number = 0
            async for page in self._walk_pages({}, first):
                growing.add(page.rows)
                number += len(page.rows)
                report_progress(self.wanted.scope, number, first.total)
                yield page.rows
        self.listed = growing.finish()

    async def _search_recorded(self, first: Page) -> list[LiveEntity]:
        """Search for each recorded entity by identity: one call each, as by id, and it shows duplicates too.

        One page each: where the service ignores the filter, the rest is looked at by id.
        """
        hits: dict[str, Found] = {}
        searches = [
            search for address in self.wanted.records for search in build_lookups(self.wanted, address)
        ]
        for page in await gather_limited(searches, self._search_first_page, self.concurrency):
            hits |= {row.remote_id: row for row in page.rows}
        self.hits |= hits
        wanted = {
            one: row
            for one, row in hits.items()
            if one in self.judge.owners or self.judge.may_be_ours(self._observe_row(row).fields)
        }
        return await self._complete_rows(wanted.values(), self._find_shown(first.rows), strangers=True)

    async def _search_declared(self, rows: Sequence[LiveEntity], *, marks: bool) -> list[LiveEntity]:
        """Search by identity for what is declared and not found by a record; with `marks`, by our mark too.

        An entity that was removed and made again by hand has a new id, and a brief row does not show that.
        """
        known = {row.remote_id for row in rows}
        found = {address for remote_id, address in self.judge.owners.items() if remote_id in known}
        nameless = [
            e
            for a, e in self.wanted.entities.items()
            if a not in found and (marks or a in self.wanted.records)
        ]
        keys, mark = self.wanted.rules.keys(self.kind.name), self.wanted.rules.mark_of(self.kind.name)
        searches = [search for entity in nameless for search in build_identity_filters(keys, entity.fields)]
        if marks and mark:
            searches.append({mark: f"{self.wanted.rules.stack}/"})
        hits: dict[str, Found] = {}
        for rows_found in await gather_limited(searches, self._search_all, self.concurrency):
            self.hits |= {one.remote_id: one for one in rows_found}
            hits |= {one.remote_id: one for one in rows_found if one.remote_id not in known}
        return await self._complete_rows(
            hits.values(), self._find_shown(tuple(hits.values())), strangers=True
        )

    async def _complete_rows(
        self, found: Iterable[Found], told: frozenset[str] | None, *, strangers: bool
    ) -> list[LiveEntity]:
        """Return list rows as live entities, each looked at by its id where the row shows too little."""
        rows: list[LiveEntity] = []
        looks: list[str] = []
        if told is None:
            return [row for one in found for row in self._observe_whole(one)]
        self._judge_rows(found, told, rows, looks, strangers=strangers)
        return rows + await self._look_at_all(looks)

    def _judge_rows(
        self,
        found: Iterable[Found],
        told: frozenset[str],
        rows: list[LiveEntity],
        looks: list[str],
        *,
        strangers: bool,
    ) -> None:
        """Add to `rows` what list rows tell enough of, and to `looks` the ids of those that they do not."""
        for one in found:
            row = self.judge.judge_row(self._observe_row(one), told, strangers=strangers)
            if row == "look":
                looks.append(one.remote_id)
            elif row != "skip":
                rows.append(row)

    # What rows and looks together say.

    async def _find_contradictions(
        self, shown: AbstractSet[str], *, direct: bool
    ) -> tuple[ContradictedId, ...]:
        """Return the ids that a list shows and a look does not, and those that are another entity to a look.

        Of the others that were not shown the list says the same, so they are gone (docs/planning.md, M8).
        """
        wrong = [error for error in self.missed.values() if error.elsewhere]
        if wrong and is_wrong_service(right=self.looked_at, wrong=len(wrong)):
            raise wrong[0]
        if direct:
            await self._search_missed()
        found = []
        for remote_id, error in sorted(self.missed.items()):
            row = self.listed.get(remote_id) or self.hits.get(remote_id)
            says: MissedLook = "elsewhere" if error.elsewhere else "absent"
            if remote_id in shown or judge_absence(says, "shows" if row else "lacks") != "in doubt":
                continue
            fields = self._observe_row(row).fields if row else {}
            found.append(ContradictedId(remote_id, says, _explain_contradiction(error), fields))
        if found:
            await self.following.forget()  # what is remembered of the list may be what is wrong
        return tuple(found)

    async def _search_missed(self) -> None:
        """Search for recorded entities that a look by id did not show, by their fields as last seen.

        The declared fields may differ from what the service has.
        """
        lost = [
            self.wanted.records[self.judge.owners[one]] for one in self.missed if one in self.judge.owners
        ]
        keys = self.wanted.rules.identity.of(self.kind.name)
        looks = [
            filters
            for record in lost
            for filters in build_identity_filters(keys, {**record.sent, **record.shown})
        ]
        for page in await gather_limited(looks, self._search_first_page, self.concurrency):
            self.hits |= {row.remote_id: row for row in page.rows}

    def _find_restored(self, shown: Mapping[str, Found]) -> Mapping[str, tuple[str, ...]]:
        """Return the entities that we deleted and that are shown again, by former id."""
        rows = shown.items() if self.chosen is None else ((one, shown[one]) for one in self.chosen)
        others = (
            (remote_id, self._observe_row(row).fields)
            for remote_id, row in rows
            if remote_id not in self.judge.owners and not self._is_ticket(row)
        )
        return find_restored(self.wanted, shown.keys(), others)

    async def _list_others(self, first: Page, rows: Sequence[LiveEntity]) -> list[LiveEntity]:
        """Return the other entities of the list, as brief as their rows: no look is spent on them."""
        known, told = {row.remote_id for row in rows}, self._find_shown(first.rows)
        rest = [one for one in (await self._read_list(first)).values() if one.remote_id not in known]
        return [
            structs.replace(self._observe_row(one), known=told) for one in rest if not self._is_ticket(one)
        ]

    def _describe_read(self, first: Page, how: str) -> Read:
        """Return the report of this read. `avoided` counts calls saved over a look at each row."""
        total = self.seen if first.total is None else first.total
        total -= self.tickets or sum(map(self._is_ticket, first.rows))
        naive = total + -(-total // count_page_rows(first)) if total > 0 else 0
        return Read(
            self.wanted.scope,
            how,
            self.calls,
            max(0, naive - self.calls),
            total,
            self.complete,
            self.following.completed,
            self.following.why,
            self.wanted.rest or UNSET,
        )

    # Calls, each counted once.

    async def _search_first_page(self, filters: Mapping[str, str]) -> Page:
        self.calls += 1
        return await self.collection.page(Query(filters, self.fields), workspace=self.wanted.workspace)

    async def _walk_pages(self, filters: Mapping[str, str], first: Page | None = None) -> AsyncIterator[Page]:
        query = Query(filters, self.fields)
        async for page in self.collection.pages(query, first, workspace=self.wanted.workspace):
            self.calls += page is not first
            self.complete = self.complete and not page.trouble
            yield page

    async def _search_all(self, filters: Mapping[str, str]) -> list[Found]:
        return [row async for page in self._walk_pages(filters) for row in page.rows]

    async def _look_at_all(self, remote_ids: Iterable[str]) -> list[LiveEntity]:
        """Return whole entities by id; those that are not shown are left out, and stand in `missed`."""
        rows: list[LiveEntity] = []
        for found in await gather_limited(list(remote_ids), self._look_at, self.concurrency):
            rows += self._observe_whole(found) if found else []
        return rows

    async def _look_at(self, remote_id: str) -> Found | None:
        self.calls += 1
        self.looked.add(remote_id)
        try:
            found = await self.collection.get(remote_id, workspace=self.wanted.workspace)
        except ServiceError as error:
            if not (error.elsewhere or isinstance(error, NotFound)):
                raise
            self.missed[remote_id] = error
            return None
        self.looked_at += 1
        return found

    # What a row shows.

    def _find_shown(self, rows: Sequence[Found]) -> frozenset[str] | None:
        return find_shown_paths(self.kind, rows, self.fields, self.paths)

    def _is_ticket(self, found: Found) -> bool:
        return self.kind.tickets and ticket.is_ticket_name(found.body.get("name"))

    def _observe_row(self, found: Found) -> LiveEntity:
        return observe_list_row(self.kind, self.wanted.scope.workspace, found)

    def _observe_whole(self, found: Found) -> tuple[LiveEntity, ...]:
        # The one place where a ticket of the lock is left out: what is not read is not planned or pruned.
        return () if self._is_ticket(found) else observe_whole(self.kind, self.wanted.scope.workspace, found)


def _explain_contradiction(error: ServiceError) -> str:
    """Return why a look did not show an entity, without its path."""
    if not error.elsewhere:
        return "a read by its id does not find it, but the list shows it"
    moved = f" ({error.status})" if error.status != HTTPStatus.OK else ""
    return f"a read by its id shows another entity, or redirects{moved}"
