"""One scope, read by the cheapest way: what changed in its list, the whole list, or a look at each of ours.

What each way costs, and what a row tells of ours, is decided in core/reading_policy.py. A list by what has
changed in it is read in list_cache.py, all scopes together in live.py.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from http import HTTPStatus

from msgspec import Struct, structs

from reconciler.core.compare.evidence import MissedLook, is_wrong_service, judge_absence
from reconciler.core.compare.normalize import observe_entity
from reconciler.core.reading_policy import (
    ListStart,
    ReadRequest,
    RowJudge,
    build_identity_filters,
    build_lookups,
    find_restored,
    is_scan_dearer,
)
from reconciler.core.runs import ticket
from reconciler.engine.list_cache import ListCacheRequest, ListFollower, Lists
from reconciler.engine.reading import (
    choose_list_fields,
    count_page_rows,
    find_shown_paths,
    gather_limited,
    iterate_children,
    report_progress,
)
from reconciler.errors import NotFound, ServiceError
from reconciler.instrumentation import record_span, start_stopwatch, step_log
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import ContradictedId, LiveEntity, Read
from reconciler.service.client import ReadCollection, Reader
from reconciler.service.paging import Found, Page, Query


class ScopeRead(Struct, frozen=True):
    """What one scope shows: the rows that matter, the others, the ids that are in doubt, how it was read.

    `restored` is what we deleted and is shown again: the ids under which it is, by the one that it had.
    """

    rows: Sequence[LiveEntity]
    others: Sequence[LiveEntity]
    contradictions: tuple[ContradictedId, ...]
    restored: Mapping[str, tuple[str, ...]]
    read: Read


class ScopeReader:
    """Reads one scope by the cheaper way, and counts its calls."""

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
        self.listed: dict[str, Found] = {}  # the rows of the whole list, where it was read
        self.hits: dict[
            str, Found
        ] = {}  # the rows that searches showed, and the first page where it is not all
        self.missed: dict[str, ServiceError] = {}  # ids that a look did not show, and what it said
        self.looked_at = 0  # ids that a look did show
        self.tickets = 0  # rows of a scan that belong to the lock in the service, and are nobody's
        self.judge = RowJudge(wanted)
        self.paths = wanted.paths
        self.fields = choose_list_fields(self.kind, self.paths) if self.kind.brief else ()
        # A list of everybody shows other fields: it is read whole, and what is remembered stays for plans.
        asked = ListCacheRequest(wanted.scope, wanted.workspace, self.fields)
        self.following = ListFollower(None if wanted.everyone else lists, self.collection, self.kind, asked)

    async def read(self) -> ScopeRead:
        """Return the rows that matter, what belongs to them included; the others; how they were read.

        The others only where everyone is wanted. Raises ServiceError where every look shows another entity.
        """
        scope = self.wanted.scope
        with record_span("list", kind=scope.kind, workspace=scope.workspace) as notes:
            took = start_stopwatch()
            first = await self._followed()
            if first is None:
                self.calls += 1
                first = await self.collection.page(Query(fields=self.fields), workspace=self.wanted.workspace)
            direct = is_scan_dearer(self.wanted, self._describe_start(first))
            followed = bool(self.listed)
            how = "search" if direct else "feed" if followed else "scan"
            listed = "not told" if first.total is None else f"{first.total}"
            step_log.info("reading %s by %s; rows of its list: %s", scope, how, listed)
            rows = await self._recognized(first) if direct else await self._scan(first)
            shown = {row.remote_id for row in rows}
            hidden = await self._get([one for one in self.judge.owners if one not in shown])
            if not direct and any(row.remote_id not in self.listed for row in hidden if not row.parent_id):
                self.complete = False  # the list did not show what is there: it was not all of it
                await self.following.forget()
            rows += hidden
            if direct or self._told(first.rows) == self.kind.listing.always:
                rows += await self._searched(rows, marks=direct)
            if direct:
                self.hits |= {row.remote_id: row for row in first.rows}
            contradictions = await self._contradictions({row.remote_id for row in rows}, direct=direct)
            restored = self._find_restored(self.listed or self.hits)
            others = await self._others(first, rows) if self.wanted.everyone else []
            if how == "scan":
                await self.following.keep(self.listed, first, complete=self.complete)
            what = "read %s by %s; rows of its list: %s, entries kept: %d, calls: %d, %.1f s"
            step_log.info(what, scope, how, listed, len(rows), self.calls, took())
            read = self._read(first, how)
            notes.update(way=how, rows=read.total)
        return ScopeRead(rows, others, contradictions, restored, read)

    async def _contradictions(self, shown: AbstractSet[str], *, direct: bool) -> tuple[ContradictedId, ...]:
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
            fields = self._entity(row).fields if row else {}
            found.append(ContradictedId(remote_id, says, _explain_contradiction(error), fields))
        if found:
            await self.following.forget()  # what is remembered of the list may be what is wrong
        return tuple(found)

    def _find_restored(self, shown: Mapping[str, Found]) -> Mapping[str, tuple[str, ...]]:
        """Return what we deleted and is shown, by its old id."""
        others = (
            (remote_id, self._entity(row).fields)
            for remote_id, row in shown.items()
            if remote_id not in self.judge.owners and not self._is_ticket(row)
        )
        return find_restored(self.wanted, shown.keys(), others)

    async def _search_missed(self) -> None:
        """Search for whoever is recorded and was not found by her id, by what was last seen of her.

        What is declared of her may have another address than she has there.
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
        for page in await gather_limited(looks, self._first_page, self.concurrency):
            self.hits |= {row.remote_id: row for row in page.rows}

    def _read(self, first: Page, how: str) -> Read:
        """Return what is told of this read. Calls are avoided by comparison with a look at each row."""
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
        )

    async def _followed(self) -> Page | None:
        """Return the first page of the list where its changes were told; all of its rows are known then."""
        followed = await self.following.first(self.paths)
        self.calls += self.following.calls
        if followed is None:
            return None
        first, self.listed = followed
        return first

    def _describe_start(self, first: Page) -> ListStart:
        return ListStart(
            first.total,
            count_page_rows(first),
            self._told(first.rows),
            last=first.last,
            complete=bool(self.listed),
        )

    # The ways to read: the whole list, by id (`_get`), and by identity.

    async def _scan(self, first: Page) -> list[LiveEntity]:
        """Read the whole list, then look at the rows that tell too little."""
        found = await self._list(first)
        self.seen = len(found)
        self.tickets = sum(map(self._is_ticket, found.values()))
        strangers = bool(self.wanted.unrecorded or self.wanted.rules.mark)
        return await self._known(found.values(), self._told(first.rows), strangers=strangers)

    async def _list(self, first: Page) -> dict[str, Found]:
        """Read the whole list, once, and return its rows by id."""
        if not self.listed:
            self.listed = {row.remote_id: row for row in first.rows}
            report_progress(self.wanted.scope, len(self.listed), first.total)
            if not first.last:
                async for page in self._pages({}, first):
                    self.listed |= {row.remote_id: row for row in page.rows}
                    report_progress(self.wanted.scope, len(self.listed), first.total)
        return self.listed

    async def _others(self, first: Page, rows: Sequence[LiveEntity]) -> list[LiveEntity]:
        """Return who else the list shows, as brief as it does: nobody is looked at for it."""
        known, told = {row.remote_id for row in rows}, self._told(first.rows)
        rest = [one for one in (await self._list(first)).values() if one.remote_id not in known]
        return [structs.replace(self._entity(one), known=told) for one in rest if not self._is_ticket(one)]

    async def _recognized(self, first: Page) -> list[LiveEntity]:
        """Search by identity whoever is recorded: one call each, as by id, and a second one is seen too.

        One page each: where the service ignores the filter, the rest is looked at by id.
        """
        hits: dict[str, Found] = {}
        searches = [
            search for address in self.wanted.records for search in build_lookups(self.wanted, address)
        ]
        for page in await gather_limited(searches, self._first_page, self.concurrency):
            hits |= {row.remote_id: row for row in page.rows}
        self.hits |= hits
        wanted = {
            one: row
            for one, row in hits.items()
            if one in self.judge.owners or self.judge.may_be_ours(self._entity(row).fields)
        }
        return await self._known(wanted.values(), self._told(first.rows), strangers=True)

    async def _searched(self, rows: Sequence[LiveEntity], *, marks: bool) -> list[LiveEntity]:
        """Search by identity whoever is declared and not found by a record; with `marks`, whoever is marked.

        Whoever was removed and made again by hand has a new id, and a brief row that does not tell.
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
        for rows_found in await gather_limited(searches, self._search, self.concurrency):
            self.hits |= {one.remote_id: one for one in rows_found}
            hits |= {one.remote_id: one for one in rows_found if one.remote_id not in known}
        return await self._known(hits.values(), self._told(tuple(hits.values())), strangers=True)

    async def _known(
        self, found: Iterable[Found], told: frozenset[str] | None, *, strangers: bool
    ) -> list[LiveEntity]:
        """Return list rows as live entities, each looked at by its id where the row tells too little."""
        rows: list[LiveEntity] = []
        looks: list[str] = []
        for one in found:
            if told is None:
                rows += self._entities(one)
                continue
            row = self.judge.judge_row(self._entity(one), told, strangers=strangers)
            if row == "look":
                looks.append(one.remote_id)
            elif row != "skip":
                rows.append(row)
        return rows + await self._get(looks)

    # Calls, each counted once.

    async def _first_page(self, filters: Mapping[str, str]) -> Page:
        self.calls += 1
        return await self.collection.page(Query(filters, self.fields), workspace=self.wanted.workspace)

    async def _pages(self, filters: Mapping[str, str], first: Page | None = None) -> AsyncIterator[Page]:
        query = Query(filters, self.fields)
        async for page in self.collection.pages(query, first, workspace=self.wanted.workspace):
            self.calls += page is not first
            self.complete = self.complete and not page.trouble
            yield page

    async def _search(self, filters: Mapping[str, str]) -> list[Found]:
        return [row async for page in self._pages(filters) for row in page.rows]

    async def _get(self, remote_ids: Iterable[str]) -> list[LiveEntity]:
        """Return whole entities by id; what is not shown is left out, and stands in `missed`."""
        rows: list[LiveEntity] = []
        for found in await gather_limited(list(remote_ids), self._one, self.concurrency):
            rows += self._entities(found) if found else []
        return rows

    async def _one(self, remote_id: str) -> Found | None:
        self.calls += 1
        try:
            found = await self.collection.get(remote_id, workspace=self.wanted.workspace)
        except ServiceError as error:
            if not (error.elsewhere or isinstance(error, NotFound)):
                raise
            self.missed[remote_id] = error
            return None
        self.looked_at += 1
        return found

    # What a row tells.

    def _told(self, rows: Sequence[Found]) -> frozenset[str] | None:
        return find_shown_paths(self.kind, rows, self.fields, self.paths)

    def _is_ticket(self, found: Found) -> bool:
        return self.kind.tickets and ticket.is_ticket_name(found.body.get("name"))

    def _entity(self, found: Found) -> LiveEntity:
        return observe_entity(
            self.kind.name, self.wanted.scope.workspace, found.remote_id, found.body, seen=found.date
        )

    def _entities(self, found: Found) -> list[LiveEntity]:
        """Return a whole entity, and what belongs to it after it; nothing for a ticket of the lock."""
        if self._is_ticket(found):
            return []  # the one place: what is not read is not planned, adopted or pruned
        workspace = self.wanted.scope.workspace
        return [
            self._entity(found),
            *(
                observe_entity(
                    kind.name, workspace, one.remote_id, one.body, seen=found.date, parent_id=found.remote_id
                )
                for kind, one in iterate_children(self.kind, found)
            ),
        ]


def _explain_contradiction(error: ServiceError) -> str:
    """Return what a look said that did not show an entity, without its path."""
    if not error.elsewhere:
        return "a look at its id finds nothing, but the list shows it"
    moved = f" ({error.status})" if error.status != HTTPStatus.OK else ""
    return f"a look at its id shows another entity, or sends us elsewhere{moved}"
