"""One list, by what has changed in it since it was read: a few calls instead of all its pages.

Belongs here: when that may be tried, fetching pages in order of change, remembering a list. Not here: what
the pages prove (core/feed.py), where lists are kept (engine/list_cache.py), what rows tell of ours
(scopes.py), which goes on as after a scan.
"""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from reconciler.core.feed import (
    MORE,
    FeedRow,
    FeedWalk,
    NewestRows,
    RememberedList,
    is_first_page_unchanged,
    parse_seconds,
    remember_list,
)
from reconciler.engine.rows import find_shown_paths
from reconciler.errors import Malformed, Rejected
from reconciler.instrumentation import step_log
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Scope
from reconciler.service.client import ReadCollection, Reader
from reconciler.service.paging import Found, Page, Query


class ListRequest(Struct, frozen=True):
    """Which list: its scope, the service's id of the workspace, and the fields that its rows show."""

    scope: Scope
    workspace: str
    fields: tuple[str, ...]


class CachedRows(Struct, frozen=True):
    """What is remembered of a list, if anything, and why it is to be read completely all the same."""

    known: RememberedList | None = None
    why: str = ""


class Lists(Protocol):
    """What earlier reads of lists showed. It is never an error: what cannot be kept is not remembered."""

    @property
    def now(self) -> str:
        """The present moment, ISO 8601: what complete reads are dated with."""

    @property
    def margin_s(self) -> float:
        """How far back of a read a change may be dated that the read did not show."""

    def feeds(self, kind: Kind) -> bool:
        """Whether the deployment lists a kind in order of change."""

    async def recall(self, asked: ListRequest) -> CachedRows:
        """Return what is remembered of exactly this."""

    async def keep(self, asked: ListRequest, found: RememberedList | None) -> None:
        """Remember this from now on; None: nothing."""

    def followed(self, asked: ListRequest, newest: NewestRows, calls: int) -> None:
        """Take note of the newest rows of a list that is now as it is remembered, after so many calls."""


class ListFollower:
    """A list that may be read by what has changed in it. `calls` it took, and `why` it did not do, or ""."""

    def __init__(
        self, lists: Lists | None, collection: ReadCollection, kind: Kind, asked: ListRequest
    ) -> None:
        self._collection = collection
        self._kind = kind
        self._asked = asked
        # Of a secret that lists show, nothing may be kept; no kind that can be followed has one.
        usable = kind.listing.changed and kind.secret <= kind.write_only
        self._lists = lists if usable and lists and lists.feeds(kind) else None
        self._known: RememberedList | None = None
        self.calls = 0
        self.why = ""
        self.completed = ""  # when the list was last read completely, where it is told by what has changed

    async def first(self, wanted: frozenset[str]) -> tuple[Page, dict[str, Found]] | None:
        """Return the list's first page and all of its rows, as a scan would; None where it takes a scan.

        `wanted` are the paths that a row should show.
        """
        if self._lists is None:
            return None
        recalled = await self._lists.recall(self._asked)
        self._known, self.why = recalled.known, recalled.why
        if self._known is None or self.why:
            return None
        walk = FeedWalk(self._known)
        self.why, date = await self._walk(walk, wanted)
        if self.why:
            step_log.info("%s: %s, so all of its list is read", self._asked.scope, self.why)
            return None
        rows, step = walk.whole(), self._known.step
        self.completed = self._known.completed
        began, known = parse_seconds(date), self._known
        if walk.fresh and began is not None:
            settled = began - self._lists.margin_s
            known = RememberedList(rows, settled, step, self._known.completed, self._known.caught)
            await self._lists.keep(self._asked, known)
        if began is not None:
            self._lists.followed(self._asked, walk.newest(known), self.calls)
        found = {row.remote_id: Found(row.remote_id, row.body, row.date) for row in rows}
        return Page(tuple(found.values())[:step], len(rows), last=len(rows) <= step), found

    async def _walk(self, walk: FeedWalk, wanted: frozenset[str]) -> tuple[str, str]:
        """Take pages until the walk ends; return why it takes a scan, or "", and the clock as it began."""
        query = Query(fields=self._asked.fields, sort=f"-{self._kind.listing.changed}")
        judged, offset, date = MORE, 0, ""
        while judged == MORE:
            self.calls += 1
            try:
                page = await self._collection.page(query, workspace=self._asked.workspace, offset=offset)
            except (Malformed, Rejected):  # a scan will tell whether it is this list or this order
                return "the service does not list it in order of change", ""
            if find_shown_paths(self._kind, page.rows, self._asked.fields, wanted) is None:
                return "its rows show what is in an entity, and that changes without its time", ""
            date = date or next((row.date for row in page.rows), "")
            rows = [_make_feed_row(row, self._kind) for row in page.rows]
            judged = walk.take(rows, total=page.total, last=page.last)
            offset += len(rows)
        return judged.why, date

    async def keep(self, rows: Mapping[str, Found], first: Page, *, complete: bool) -> None:
        """Remember a list whose pages were all read, or forget it where it was not complete."""
        if self._lists is None or self.completed:
            return
        told = find_shown_paths(self._kind, first.rows, self._asked.fields, frozenset())
        found = None
        if complete and told is not None:
            found = remember_list(
                [_make_feed_row(row, self._kind) for row in rows.values()],
                total=first.total,
                date=next((row.date for row in first.rows), ""),
                margin_s=self._lists.margin_s,
                step=len(first.rows),
                completed=self._lists.now,
                before=self._known,
            )
        if found or self._known:
            await self._lists.keep(self._asked, found)

    async def forget(self) -> None:
        """Remember nothing of this list: it did not show somebody who is there."""
        if self._lists is not None:
            await self._lists.keep(self._asked, None)


async def is_list_unchanged(reader: Reader, asked: ListRequest, newest: NewestRows) -> bool:
    """Whether one page in order of change shows that a list is as it was; where not, a read tells more.

    Errors: whatever the service's client raises, but for a refusal of the order.
    """
    kind = KINDS[asked.scope.kind]
    query = Query(fields=asked.fields, sort=f"-{kind.listing.changed}")
    try:
        page = await reader[kind.name].page(query, workspace=asked.workspace)
    except (Malformed, Rejected):
        return False
    rows = [_make_feed_row(row, kind) for row in page.rows]
    return is_first_page_unchanged(newest, rows, total=page.total, last=page.last)


def _make_feed_row(found: Found, kind: Kind) -> FeedRow | None:
    at = parse_seconds(found.body.get(kind.listing.changed))
    return None if at is None else FeedRow(found.remote_id, at, _strip_row(found.body, kind), found.date)


def _strip_row(body: Mapping[str, object], kind: Kind) -> dict[str, object]:
    """Return what is kept of a row: its links have told its id, and what is never compared is left out."""
    unused = {"link", *(kind.wire.get(path, path) for path in kind.write_only)}
    return {key: value for key, value in body.items() if key not in unused}
