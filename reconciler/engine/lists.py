"""Lists of the service: what their rows show, and reading one by what has changed since the last run.

A `ListFollower` fetches pages in order of change, a few calls instead of all pages, and a `RowCache` keeps
rows from one run to the next. What the pages prove is decided in core/feed.py; live.py goes on with the rows
as after a scan; private_cache.py writes the files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from reconciler.concurrency import gather_limited
from reconciler.core.compare.normalize import observe_entity
from reconciler.core.feed import (
    MORE,
    FeedWalk,
    NewestRows,
    RememberedList,
    granularity_s,
    is_first_page_unchanged,
    pack_list,
    parse_seconds,
    remember_list,
    unpack_list,
    why_full_read_due,
)
from reconciler.core.feed_rows import FeedRow, FeedRows, FeedRowsBuilder, make_feed_row
from reconciler.engine.context import Dependencies, ReadContext
from reconciler.engine.kept_files import KeptFiles
from reconciler.errors import Malformed, NotFound, Rejected, ServiceError
from reconciler.instrumentation import step_log
from reconciler.model.field_types import FieldShape, require_rows
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.settings import Settings
from reconciler.model.snapshots import DeletedEntity, LiveEntity, Scope
from reconciler.private_cache import ListCache
from reconciler.service.client import Reader
from reconciler.service.entities import ReadCollection
from reconciler.service.http import urls
from reconciler.service.http.auth import credential_hash
from reconciler.service.paging import Found, Page, Query, remote_id
from reconciler.service.profile import load_profile
from reconciler.store.database import Store
from reconciler.store.shared_files import SharedFiles
from reconciler.version import __version__

# --- What the rows of a list show ------------------------------------------------------------------
#
# Which fields show that a row is whole or brief: model/kinds.py.


def choose_list_fields(kind: Kind, wanted: frozenset[str]) -> tuple[str, ...]:
    """Return the fields to ask a list of brief rows for: what will be compared, and the witness."""
    heads = {path.partition(".")[0] for path in wanted} - kind.write_only
    # Custom fields are asked for by a parameter of their own (service/paging.py).
    names = {kind.wire.get(head, head) for head in heads - {kind.custom}}
    # Plain texts: a path of an identity is of a type of its own, which cannot be kept.
    return tuple(sorted(map(str, names | {kind.listing.witness} - {""})))


def find_shown_paths(
    kind: Kind, rows: Sequence[Found], asked: tuple[str, ...], wanted: frozenset[str]
) -> frozenset[str] | None:
    """Return the paths that such list rows show, of those wanted, or None where they show everything.

    `asked` are the fields that they were asked for.
    """
    listing = kind.listing
    if not kind.brief or any(listing.whole & row.body.keys() for row in rows):
        return None
    if not any(listing.witness in row.body for row in rows):
        return listing.always
    shown = listing.always | {kind.ours.get(name, name) for name in asked}
    for head, shape in kind.structured.items():
        key = kind.wire.get(head, head)
        if any(row.body.get(key) or (key in row.body and _EMPTY_TELLS[shape]) for row in rows):
            shown |= {path for path in wanted if path.startswith(f"{head}.")}
    return shown


# Whether an empty value of a brief row says that the entity has none, by the shape of its field.
# Every brief row has `messagingoptions: []`, which says nothing; one row that has some tells.
_EMPTY_TELLS: Mapping[FieldShape, bool] = require_rows(
    FieldShape, {"scalar": True, "content": True, "custom": True, "channels": False, "group": True}
)


def _iterate_children(kind: Kind, whole: Found) -> Iterator[tuple[Kind, Found]]:
    """Yield the entities in a whole body that belong to it. Raises Malformed for one without an id."""
    for child in child_kinds(kind.name):
        rows = whole.body.get(child.rows_key)
        for body in (row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ():
            found = Found(remote_id(body, child.segment), body, whole.date)
            if not found.remote_id:
                what = f"the service shows a {child.name} without an id."
                raise Malformed(f"{kind.name} {whole.remote_id}: {what}")
            yield child, found


def observe_list_row(kind: Kind, workspace: str, found: Found) -> LiveEntity:
    """Return what a row, or a whole body, shows of its own entity; `workspace` is an alias."""
    return observe_entity(kind.name, workspace, found.remote_id, found.body, seen=found.date)


def observe_whole(kind: Kind, workspace: str, whole: Found) -> tuple[LiveEntity, ...]:
    """Return a whole entity, and what belongs to it after it. Raises Malformed for one without an id."""
    children = (
        observe_entity(
            child.name, workspace, one.remote_id, one.body, seen=whole.date, parent_id=whole.remote_id
        )
        for child, one in _iterate_children(kind, whole)
    )
    return (observe_list_row(kind, workspace, whole), *children)


def count_page_rows(page: Page) -> int:
    """Return how many rows its first page shows that a list has on each."""
    return len(page.rows) or 1


# --- A list followed by what has changed in it -----------------------------------------------------


class ListCacheRequest(Struct, frozen=True):
    """Which list: its scope, the service's id of the workspace, and the fields that its rows show."""

    scope: Scope
    workspace: str
    fields: tuple[str, ...]


class CachedRows(Struct, frozen=True):
    """The cached rows of a list, if any, and why it is to be read completely all the same."""

    known: RememberedList | None = None
    why: str = ""


class Lists(Protocol):
    """The rows that earlier reads of lists showed. Never raises: rows that cannot be kept are not cached."""

    @property
    def now(self) -> str:
        """The present moment, ISO 8601: what complete reads are dated with."""

    @property
    def margin_s(self) -> float:
        """Seconds before a read within which a change may be dated that the read did not show."""

    def feeds(self, kind: Kind) -> bool:
        """Whether the deployment lists a kind in order of change."""

    async def recall(self, asked: ListCacheRequest) -> CachedRows:
        """Return what is remembered of exactly this."""

    async def keep(self, asked: ListCacheRequest, found: RememberedList | None) -> None:
        """Remember this from now on; None: nothing."""

    def note_followed(self, asked: ListCacheRequest, newest: NewestRows, calls: int) -> None:
        """Take note of the newest rows of a list that is now as it is remembered, after so many calls."""


class ListedRows(Mapping[str, Found]):
    """The rows of a list by id, in its order. Each is decoded when it is asked for, and anew each time."""

    def __init__(self, rows: FeedRows) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return self.rows.ids()

    def __contains__(self, remote_id: object) -> bool:
        return isinstance(remote_id, str) and self.rows.place_of(remote_id) is not None

    def __getitem__(self, remote_id: str) -> Found:
        place = self.rows.place_of(remote_id)
        if place is None:
            raise KeyError(remote_id)
        return _find_in(self.rows.row(place))

    def values(self) -> "_DecodedRows":
        """Return the rows in the order of the list, decoded one after the other."""
        return _DecodedRows(self)


class _DecodedRows(ValuesView[Found]):
    _mapping: ListedRows

    def __iter__(self) -> Iterator[Found]:
        return map(_find_in, self._mapping.rows)


def _find_in(row: FeedRow) -> Found:
    return Found(row.remote_id, row.body, row.date)


class GrowingList:
    """The rows of a list while its pages arrive. Of each no more is held than somebody will ask for."""

    def add(self, rows: Iterable[Found]) -> None:
        """Take the rows of a page: none, where they are judged once and needed no more."""

    def finish(self) -> Mapping[str, Found]:
        """Return what is held by id, in the order in which it came."""
        return {}


class HeldList(GrowingList):
    """Holds every row as it came."""

    def __init__(self) -> None:
        self._rows: dict[str, Found] = {}

    def add(self, rows: Iterable[Found]) -> None:
        """Take the rows of a page."""
        self._rows |= {row.remote_id: row for row in rows}

    def finish(self) -> Mapping[str, Found]:
        """Return the rows by id."""
        return self._rows


class PackedList(GrowingList):
    """Packs every row as it comes, for a list that is kept: in hundreds of bytes, not in thousands.

    Where one of them cannot be kept, none is: then all are held as they are.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._packed = FeedRowsBuilder()
        self._held: dict[str, Found] | None = None

    def add(self, rows: Iterable[Found]) -> None:
        """Take the rows of a page, each with an id that did not come before."""
        for found in rows:
            row = _make_feed_row(found, self._kind) if self._held is None else None
            if row is not None:
                self._packed.add(row)
                continue
            if self._held is None:
                self._held = {one.remote_id: one for one in ListedRows(self._packed.finish()).values()}
            self._held[found.remote_id] = found

    def finish(self) -> Mapping[str, Found]:
        """Return the rows by id; `ListedRows` where they are packed."""
        return ListedRows(self._packed.finish()) if self._held is None else self._held


class ListFollower:
    """Reads a list by what has changed in it. `calls` it took; `why` it cannot be read so, or "".

    `deleted` are entities of the list that runs of ours deleted; `concurrency` of them are looked at at once.
    """

    def __init__(
        self,
        lists: Lists | None,
        collection: ReadCollection,
        kind: Kind,
        asked: ListCacheRequest,
        deleted: Iterable[DeletedEntity] = (),
        *,
        concurrency: int = 1,
    ) -> None:
        self._concurrency = concurrency
        self._collection = collection
        self._kind = kind
        self._asked = asked
        self._deleted = tuple(deleted)
        # No secret that lists show may be cached; no kind that can be followed has one.
        usable = kind.listing.changed and kind.secret <= kind.write_only
        self._lists = lists if usable and lists and lists.feeds(kind) else None
        self._known: RememberedList | None = None
        self.calls = 0
        self.why = ""
        self.completed = ""  # when the list was last read completely, where it was followed now
        self.rows: FeedRows | None = None  # of a list that was read completely, and can be followed next time

    async def first(self, wanted: frozenset[str]) -> tuple[Page, ListedRows] | None:
        """Return the list's first page and all of its rows, as a scan would; None where a scan is needed.

        `wanted` are the paths that a row should show.
        """
        if self._lists is None:
            return None
        recalled = await self._lists.recall(self._asked)
        self._known, self.why = recalled.known, recalled.why
        if self._known is None or self.why:
            return None
        walk = FeedWalk(self._known, [*self._deleted_since(self._known)])
        self.why, date = await self._walk(walk, wanted)
        self.why = self.why or await self._find_living(walk.gone)
        if self.why:
            step_log.info("%s: %s, so all of its list is read", self._asked.scope, self.why)
            return None
        rows, step = walk.whole(), self._known.step
        self.completed = self._known.completed
        began, known = parse_seconds(date), self._known
        if (walk.fresh or walk.gone) and began is not None:
            settled = began - self._lists.margin_s
            known = RememberedList(rows, settled, step, self._known.completed, self._known.caught)
            await self._lists.keep(self._asked, known)
        if began is not None:
            self._lists.note_followed(self._asked, walk.newest(known), self.calls)
        found = ListedRows(rows)
        shown = tuple(islice(found.values(), step))
        return Page(shown, len(rows), last=len(rows) <= step), found

    def _deleted_since(self, known: RememberedList) -> Iterator[str]:
        """Yield the ids of what we deleted since a list was read, and that it cannot show any more."""
        assert self._lists is not None  # noqa: S101 - asked where a list is followed
        now, margin_s = parse_seconds(self._lists.now), self._lists.margin_s
        for one in self._deleted:
            at = parse_seconds(one.deleted_at)
            if now is not None and at is not None and known.settled <= at <= now - margin_s:
                yield one.remote_id

    async def _find_living(self, remote_ids: Sequence[str]) -> str:
        """Return why the list is to be read whole if anybody of these may be there, or ""."""
        gone = await gather_limited(remote_ids, self._is_gone, self._concurrency)
        return "" if all(gone) else "somebody was deleted"

    async def _is_gone(self, one: str) -> bool:
        self.calls += 1
        try:
            await self._collection.get(one, workspace=self._asked.workspace)
        except NotFound:
            return True
        except ServiceError as error:
            if not error.elsewhere:
                raise
        return False

    async def _walk(self, walk: FeedWalk, wanted: frozenset[str]) -> tuple[str, str]:
        """Take pages until the walk ends; return why a scan is needed, or "", and the first page's Date."""
        query = Query(fields=self._asked.fields, sort=f"-{self._kind.listing.changed}")
        judged, offset, date = MORE, 0, ""
        while judged == MORE:
            self.calls += 1
            try:
                page = await self._collection.page(query, workspace=self._asked.workspace, offset=offset)
            except (Malformed, Rejected):  # a scan will show whether the list or its order is refused
                return "the service does not list it in order of change", ""
            if find_shown_paths(self._kind, page.rows, self._asked.fields, wanted) is None:
                return "its rows show what is in an entity, and that changes without its time", ""
            date = date or next((row.date for row in page.rows), "")
            rows = [_make_feed_row(row, self._kind) for row in page.rows]
            judged = walk.take(rows, total=page.total, last=page.last)
            offset += len(rows)
        return judged.why, date

    def start_list(self, first: Page, *, needed: bool) -> GrowingList:
        """Return what takes the rows of a list that begins with this page.

        `needed`: somebody will ask for its rows when it was read, beside `keep`.
        """
        if self._lists is None:
            return HeldList() if needed else GrowingList()
        told = find_shown_paths(self._kind, first.rows, self._asked.fields, frozenset())
        return HeldList() if told is None else PackedList(self._kind)

    async def keep(self, rows: Mapping[str, Found], first: Page, *, complete: bool) -> None:
        """Cache the rows of a list that was read completely, or drop them where it was not."""
        if self._lists is None or self.completed:
            return
        found = None
        if complete and isinstance(rows, ListedRows):
            found = remember_list(
                rows.rows,
                total=first.total,
                date=next((row.date for row in first.rows), ""),
                margin_s=self._lists.margin_s,
                step=len(first.rows),
                completed=self._lists.now,
                before=self._known,
            )
        self.rows = found.rows if found else None
        if found or self._known:
            await self._lists.keep(self._asked, found)

    async def forget(self) -> None:
        """Drop the cached rows of this list: it did not show an entity that is there."""
        if self._lists is not None:
            await self._lists.keep(self._asked, None)


async def is_list_unchanged(reader: Reader, asked: ListCacheRequest, newest: NewestRows) -> bool:
    """Whether one page in order of change proves that a list is unchanged.

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


def digest_found(found: Found, kind: Kind) -> bytes:
    """Return what stands for a row of a list, as for one that is cached; b"" where it tells no time."""
    row = _make_feed_row(found, kind)
    return row.digest if row else b""


def _make_feed_row(found: Found, kind: Kind) -> FeedRow | None:
    """Return a row as it is kept; None where it does not say when it was changed, or cannot be packed."""
    at = parse_seconds(found.body.get(kind.listing.changed))
    if at is None:
        return None
    # Not kept: links, which have given the id, and what is never compared.
    unused = {"link", *(kind.wire.get(path, path) for path in kind.write_only)}
    body = {key: value for key, value in found.body.items() if key not in unused}
    try:
        return make_feed_row(found.remote_id, at, body, found.date)
    except OverflowError:  # a number of more than 64 bits, in a field that nobody knows
        return None


# --- The row cache: what lists showed, from one run to the next ------------------------------------
#
# Rows that were kept for anything else (another service, stack, workspace, fields, profile or version of
# this program) are not found.


_list_cache_form = "3"  # of what is kept; another one is not read


class RowCache:
    """The lists of one project. `now` is when this run reads, ISO 8601."""

    def __init__(
        self,
        settings: Settings,
        dependencies: Dependencies,
        salt: str,
        now: datetime,
        shared: SharedFiles | None = None,
    ) -> None:
        service = settings.service
        self._settings = settings
        self._offload = dependencies.offload
        self._account = credential_hash(service.auth, urls.origin_of(service.base_url), salt)
        self.files = KeptFiles(ListCache(Path(settings.root), salt), shared, account=self._account)
        self._profile = load_profile(settings.service.profile)
        self.now = now.astimezone(UTC).isoformat(timespec="seconds")
        # Of the lists that this run followed.
        self.newest: dict[Scope, tuple[ListCacheRequest, NewestRows, int]] = {}

    @property
    def margin_s(self) -> float:
        """What the service may still show late, and how finely its clock tells."""
        return self._settings.service.limits.settle_s + granularity_s

    def feeds(self, kind: Kind) -> bool:
        """Whether the profile says that a kind is listed in order of change."""
        return bool(getattr(self._profile, f"{kind.name}_feed", False))

    async def recall(self, asked: ListCacheRequest) -> CachedRows:
        """Return what is remembered of exactly this, and why it is to be read completely all the same."""
        known = await self._offload(partial(self._read, asked))
        if known is None:
            return CachedRows()
        return CachedRows(known, self.why_whole(known))

    def why_whole(self, known: RememberedList | NewestRows) -> str:
        """Return why a list is to be read completely though it is remembered, or ""."""
        refresh = self._settings.refresh
        if refresh.mode == "full":
            return "a complete read was asked for"
        return why_full_read_due(known, now=self.now, every_s=refresh.complete_every_h * 3600)

    def note_followed(self, asked: ListCacheRequest, newest: NewestRows, calls: int) -> None:
        """Take note of the newest rows of a list that is now as it is remembered, after so many calls."""
        self.newest[asked.scope] = asked, newest, calls

    def state(self, asked: ListCacheRequest, *, now: bool) -> tuple[str, ...]:
        """Return what identifies the cached state of a list; () where it is not cached.

        `now`: as the file is at this moment; else as this run read or wrote it.
        """
        name = self._name(asked)
        seal = self.files.seal(name) if now else self.files.seals.get(name, b"")
        return (*self.cache_key(asked), seal.hex()) if seal else ()

    async def keep(self, asked: ListCacheRequest, found: RememberedList | None) -> None:
        """Remember this from now on; None: nothing."""
        await self._offload(partial(self._write, asked, found))

    def _read(self, asked: ListCacheRequest) -> RememberedList | None:
        data = self.files.read(self._name(asked))
        return None if data is None else unpack_list(data, self.cache_key(asked))

    def _write(self, asked: ListCacheRequest, found: RememberedList | None) -> None:
        data = None if found is None else pack_list(found, self.cache_key(asked))
        self.files.write(self._name(asked), data)
        step_log.info("%s: rows remembered: %d", asked.scope, len(found.rows) if found else 0)

    def _name(self, asked: ListCacheRequest) -> str:
        origin, scope = urls.origin_of(self._settings.service.base_url), asked.scope
        return f"{origin}\n{self._settings.stack}\n{asked.workspace}\n{scope.workspace}\n{scope.kind}"

    def cache_key(self, asked: ListCacheRequest) -> tuple[str, ...]:
        """Return everything that decides what the rows show: with another key they are not used."""
        service = self._settings.service
        return (
            _list_cache_form,
            __version__,
            self._name(asked),
            service.base_url,
            service.format,
            # Another account may see other entities.
            self._account,
            sha256(msgspec.json.encode(self._profile, order="deterministic")).hexdigest(),
            *asked.fields,
        )


async def open_row_cache(context: ReadContext) -> RowCache | None:
    """Return the cache of lists; None without a store, whose salt seals it."""
    now = await context.ask(Store.now)
    salt = context.store.salt
    if not salt:
        return None
    return RowCache(context.settings, context.dependencies, salt, now, context.store.shared_files())
