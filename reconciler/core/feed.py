"""FEED: do the newest rows of a list, and what it showed before, make the whole list as it is now?

That is decided page by page, and also what to remember of a list. engine/lists.py fetches the pages and
caches the rows.

    page in order of change ──▶ more    every row so far may be newer than what is remembered
                            ──▶ done    rows from before the last read, just as they are remembered
                            ──▶ why     anything else: then the list is read whole

What changed after a list was read has a later time than that read, less a margin. So older rows must be as
they were; a row that is not shows that the times or the order are not reliable. A list that hides a changed
row behind all that it shows is not noticed here: in the end, a complete read is the only proof.
"""

import sys
from array import array
from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec import Struct

from reconciler.core.feed_rows import FeedRow, FeedRows, RowColumns
from reconciler.core.text import parse_instant
from reconciler.model.snapshots import Read, ReadLimit

# Times of change have whole seconds, and the machines behind one address agree to about one more.
granularity_s = 2.0
# Rows from before the last read that prove that the changes end here. One could be an older row in the place
# of a changed one that the service moved to the next page; it would have to move two.
proof_rows = 2
# A list of so many pages is read whole in about as few calls as a feed takes.
pages_min = 3

_head_bytes = 8  # of the length of what stands before the bodies


class RememberedList(Struct, frozen=True):
    """A list as it was read: all of its rows, in its own order.

    `settled`: whatever was changed since then tells this time or a later one (seconds since 1970). `step`:
    rows of a page. `completed`: when all pages were read, `caught`: when a row had last changed without its
    time (both ISO 8601).
    """

    rows: FeedRows
    settled: float
    step: int
    completed: str
    caught: str = ""


class _PackedList(Struct, frozen=True, array_like=True):
    """A list as it is written, but for the bodies of its rows, and `key`: what it is the list of."""

    key: tuple[str, ...]
    columns: RowColumns
    settled: float
    step: int
    completed: str
    caught: str


def pack_list(known: RememberedList, key: tuple[str, ...]) -> tuple[bytes | memoryview, ...]:
    """Return the bytes that `unpack_list` reads, in pieces: bodies are not copied."""
    head = msgspec.msgpack.encode(
        _PackedList(
            (*key, sys.byteorder),
            known.rows.columns,
            known.settled,
            known.step,
            known.completed,
            known.caught,
        )
    )
    return len(head).to_bytes(_head_bytes), head, *known.rows.bodies


def unpack_list(data: bytes, key: tuple[str, ...]) -> RememberedList | None:
    """Return the list that was packed with this key; None for any other bytes. No row is decoded."""
    view = memoryview(data)
    end = _head_bytes + int.from_bytes(view[:_head_bytes])
    try:
        head = msgspec.msgpack.decode(view[_head_bytes:end], type=_PackedList)
        if head.key != (*key, sys.byteorder):
            return None
        rows = FeedRows(head.columns, view[end:])
    except (msgspec.MsgspecError, ValueError, TypeError):  # written in another form
        return None
    return RememberedList(rows, head.settled, head.step, head.completed, head.caught)


class PageVerdict(Struct, frozen=True):
    """What follows from a page: the next one, nothing more (`done`), or reading the whole list (`why`)."""

    done: bool = False
    why: str = ""


class RowMark(Struct, frozen=True, array_like=True):
    """A row without its body: its id, when its entity was changed, and the digest of the body."""

    remote_id: str
    at: float
    digest: bytes


class NewestRows(Struct, frozen=True, array_like=True):
    """The newest rows of a list that is as it is remembered, newest first: enough to see that it still is.

    `places` are theirs in the list's own order, `number` is that of all its rows, and no other row was
    changed after `others_at`. The rest is as in Remembered.
    """

    rows: tuple[RowMark, ...]
    places: tuple[int, ...]
    number: int
    others_at: float
    settled: float
    completed: str
    caught: str = ""


MORE = PageVerdict()
DONE = PageVerdict(done=True)


def read_limit(reads: Iterable[Read]) -> ReadLimit | None:
    """Return what of these reads was read by a feed, and as of when the rest is known; None: all was read."""
    followed = [read for read in reads if read.completed]
    if not followed:
        return None
    scopes = tuple(sorted({read.scope for read in followed}))
    return ReadLimit(scopes, sum(read.calls for read in followed), min(read.completed for read in followed))


def parse_seconds(text: object) -> float | None:
    """Return the moment that an ISO 8601 text names as seconds since 1970, or None where it names none."""
    moment = parse_instant(text) if isinstance(text, str) else None
    return moment.timestamp() if moment else None


class FeedWalk:
    """Judges the pages of a list in order of change, newest first, against what is remembered of it.

    `deleted` are the ids of those that runs of ours deleted since it was remembered. After `done`, `gone` are
    those of them whose rows explain why the list is shorter; each has to be looked at, for somebody may have
    brought it back and deleted another.
    """

    def __init__(self, known: RememberedList, deleted: Collection[str] = ()) -> None:
        self._known = known.rows
        self._settled = known.settled
        self._step = known.step
        places = ((one, self._known.place_of(one)) for one in deleted)
        self._deleted = {one: place for one, place in places if place is not None}
        self._shown: dict[str, FeedRow] = {}  # in the order of the feed
        self._places: dict[str, int] = {}  # of those that are remembered, in the same order
        self._creates = 0
        self._beyond = 0  # rows from before the last read, which are as they were
        self._total: int | None = None
        self._last = float("inf")  # the time of the last row
        self.fresh = False  # whether any row may be newer than what is remembered
        self.gone: tuple[str, ...] = ()

    def take(self, rows: Sequence[FeedRow | None], *, total: int | None, last: bool) -> PageVerdict:
        """Judge the next page. None stands for a row that tells no time; `last`: nothing follows."""
        if total is None:
            return PageVerdict(why="the list does not say how many rows it has")
        if self._total not in (None, total):
            return PageVerdict(why="its total changed while it was read")
        self._total = total
        # Its new rows would be walked one by one, and a total without measure never to its end.
        if total > 2 * len(self._known):
            return PageVerdict(why="it has more than twice the rows that it had")
        for row in rows:
            if why := self._row(row):
                return PageVerdict(why=why)
        # A new entity is among the newest, so a total that is too small now stays too small.
        if len(self._known) + self._creates > total + self._looks_max(total):
            return PageVerdict(why="somebody was deleted")
        ended = last or len(self._shown) >= total
        if not rows and not ended:
            return PageVerdict(why="a page showed no rows")
        if not ended and (self._beyond < proof_rows or self._may_show_order()):
            return MORE
        why = self._gaps(ended=ended)
        return PageVerdict(why=why) if why else DONE

    def whole(self) -> FeedRows:
        """Return the whole list after `done`: in its earlier order, with new entities at the end."""
        return self._known.with_rows(reversed(self._shown.values())).without(self.gone)

    def newest(self, known: RememberedList) -> NewestRows:
        """Return what was shown of a list that is now remembered like this, after `done`."""
        found = map(known.rows.place_of, self._shown)  # it is remembered as it was shown: all are there
        places = [place for place in found if place is not None]
        others = array("d", known.rows.times)
        for place in places:
            others[place] = -1.0
        return NewestRows(
            tuple(RowMark(row.remote_id, row.at, row.digest) for row in self._shown.values()),
            tuple(places),
            len(known.rows),
            max(others, default=-1.0),
            known.settled,
            known.completed,
            known.caught,
        )

    def _row(self, row: FeedRow | None) -> str:
        """Take one row; return why it cannot be relied upon, or ""."""
        if row is None:
            return "a row does not say when it was changed"
        if row.at > self._last:
            return "its rows are not in the order of their times"
        if row.remote_id in self._shown:
            return "a row came twice"
        self._last = row.at
        self._shown[row.remote_id] = row
        place = self._known.place_of(row.remote_id)
        if place is not None:
            self._places[row.remote_id] = place
        changed = place is None or self._known.digest_at(place) != row.digest
        if row.at >= self._settled:
            self.fresh = True
            self._creates += place is None
            return ""
        if changed:
            return "a row changed, but its time did not"
        self._beyond += 1
        return ""

    def _gaps(self, *, ended: bool) -> str:
        """Return why rows may be missing from the pages that were read, or ""."""
        assert self._total is not None  # noqa: S101 - a page without a total was refused
        missing = len(self._known) + self._creates - self._total
        gone = [one for one in self._deleted if one not in self._shown] if missing else []
        if missing != len(gone):
            return "somebody was deleted, or added with an earlier time"
        self.gone = tuple(gone)
        if ended:
            return "" if len(self._shown) == self._total else "it has fewer rows than its total"
        # Who was not shown is unchanged, so in this order it comes after all that were.
        told = {*self._places.values(), *(self._deleted[one] for one in gone)}
        if any(at > self._last and place not in told for place, at in enumerate(self._known.times)):
            return "its rows are not in the order of their times"
        return "" if self._is_ordered() else "its order of change is the order of the list"

    def _may_show_order(self) -> bool:
        """Whether one more page may prove the order: people edited in one second fill a page in any order."""
        return self._beyond <= self._step and not self._is_ordered()

    def _is_ordered(self) -> bool:
        return _is_order_of_change((self._shown[one].at, place) for one, place in self._places.items())

    def _looks_max(self, total: int) -> int:
        """Return how many of those that we deleted are worth a look each: all pages cost as many calls."""
        return min(len(self._deleted), total // (2 * self._step))


def _is_order_of_change(walked: Iterable[tuple[float, int]]) -> bool:
    """Whether rows, each with its time and its place in the list's own order, cannot be in that order.

    A service that ignores the order it is asked for gives the list's own. A row that is shown before a row
    of an earlier time, and has its place behind it, proves the order of change. Rows of one time prove it
    only if most of them stand the other way round: whoever was renamed has another place in a list by name.
    """
    newer, highest, time = -1, -1, float("inf")  # the highest places: of later times, of the rows so far
    last, reversed_steps, steps = -1, 0, -1
    for at, place in walked:
        if at < time:
            newer, time = highest, at
        if place < newer:
            return True
        highest = max(highest, place)
        reversed_steps, steps, last = reversed_steps + (place < last), steps + 1, place
    return 2 * reversed_steps > steps > 0


def is_first_page_unchanged(
    newest: NewestRows, rows: Sequence[FeedRow | None], *, total: int | None, last: bool
) -> bool:
    """Whether the first page of a list in order of change shows that all of it is as it was then.

    True only where `FeedWalk` says `done` of this page and finds nothing that may be newer. False says
    nothing.
    """
    dated = [row for row in rows if row is not None]
    if last or total != newest.number or len(dated) < max(len(rows), proof_rows):
        return False
    times = [row.at for row in dated]
    if times != sorted(times, reverse=True) or times[0] >= newest.settled:
        return False
    known = {row.remote_id: (place, row) for place, row in zip(newest.places, newest.rows, strict=True)}
    shown = {row.remote_id for row in dated}
    if len(shown) < len(dated) or not shown <= known.keys():
        return False
    left = (row.at for one, (_, row) in known.items() if one not in shown)
    if max((newest.others_at, *left)) > times[-1]:
        return False
    as_was = all(known[row.remote_id][1].digest == row.digest for row in dated)
    return as_was and _is_order_of_change((row.at, known[row.remote_id][0]) for row in dated)


def remember_list(
    rows: FeedRows,
    *,
    total: int | None,
    date: str,
    margin_s: float,
    step: int,
    completed: str,
    before: RememberedList | None,
) -> RememberedList | None:
    """Return what is to be remembered of a list that was just read completely; None where it is nothing.

    `date` is the service's clock (ISO 8601) when its first page was read, `before` what was remembered of it.
    """
    began = parse_seconds(date)
    if began is None or total is None or total <= pages_min * step or len(rows) != total:
        return None
    caught = before.caught if before else ""
    if before and has_silent_change(before, rows):
        caught = completed
    return RememberedList(rows, began - margin_s, step, completed, caught)


def has_silent_change(before: RememberedList, rows: FeedRows) -> bool:
    """Whether a row has changed since and tells the same old time: then times do not tell all changes."""
    known = dict(before.rows.digests())
    return any(
        at < before.settled and known.get(remote_id) != digest
        for at, (remote_id, digest) in zip(rows.times, rows.digests(), strict=True)
    )


def why_not_feed(changed: Sequence[object], total: int | None) -> str:
    """Return why the first page of a list cannot begin a feed, or "". `changed`: the time of each row."""
    times = [parse_seconds(one) for one in changed]
    known = [one for one in times if one is not None]
    if total is None and times:
        return "the list does not say how many rows it has"
    if len(known) < len(times):
        return "a row does not say when it was changed"
    return "" if known == sorted(known, reverse=True) else "its rows are not in the order of their times"


def why_full_read_due(known: RememberedList | NewestRows, *, now: str, every_s: float) -> str:
    """Return why a list has to be read completely at `now` (ISO 8601), or ""."""
    present, completed = parse_seconds(now), parse_seconds(known.completed)
    if present is None or completed is None or not 0 <= present - completed < every_s:
        return "its last complete read is too old"
    caught = parse_seconds(known.caught)
    if caught is not None and present - caught < every_s:
        return "a row had changed, but its time had not"
    return ""
