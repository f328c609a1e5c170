"""Rows of a list in columns: opened without decoding a row, and changed by copying the others as bytes.

    ids, times, dates, digests    a column each, in the order of the list; `by_id` is the order of the ids
    bodies                        the rows themselves, packed; `starts` and `lengths` say where each is

A list of 100,000 rows is opened in milliseconds, and a row is decoded when somebody asks for it. What of a
list is to be remembered is decided in feed.py; engine/lists.py reads and writes the bytes.
"""

import operator
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import chain
from typing import Any, Final

import msgspec
from msgspec import Struct

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode = msgspec.msgpack.Decoder(dict[str, Any]).decode
_digest_bytes = 16

# Columns of numbers, by the letter that `array` and `memoryview` call their form by.
_PLACE: Final = "I"
_TIME: Final = "d"
_OFFSET: Final = "Q"


_EMPTY: Final = memoryview(b"")


class FeedRow(Struct, frozen=True):
    """A row of a list: when its entity was changed (seconds since 1970); the service's clock when read.

    `packed` is its body: equal bodies are packed alike.
    """

    remote_id: str
    at: float
    packed: bytes
    date: str

    @property
    def body(self) -> dict[str, Any]:
        """The row as the service wrote it, decoded anew each time."""
        return _decode(self.packed)

    @property
    def digest(self) -> bytes:
        """What stands for the body: 16 bytes."""
        return blake2b(self.packed, digest_size=_digest_bytes).digest()


def make_feed_row(remote_id: str, at: float, body: Mapping[str, Any], date: str) -> FeedRow:
    """Return a row with its body packed."""
    return FeedRow(remote_id, at, _encode(body), date)


class RowColumns(Struct, frozen=True, array_like=True):
    """The columns of rows as they are written. Places and offsets have the byte order of the machine."""

    ids: memoryview
    id_ends: memoryview
    by_id: memoryview
    times: memoryview
    dates: tuple[str, ...]
    date_of: memoryview
    digests: memoryview
    starts: memoryview
    lengths: memoryview


class FeedRows:
    """Rows in the order of their list, each with an id of its own. Never changed: changes give others.

    Where a row is said by its place, from 0.
    """

    __slots__ = (
        "_added",
        "_bodies",
        "_by_id",
        "_columns",
        "_date_of",
        "_id_ends",
        "_lengths",
        "_starts",
        "times",
    )

    def __init__(self, columns: RowColumns, bodies: memoryview, added: memoryview = _EMPTY) -> None:
        """`added` are bodies that stand behind `bodies`. Raises ValueError for columns that do not fit."""
        self._columns = columns
        self._bodies = bodies
        self._added = added
        self._id_ends = columns.id_ends.cast(_PLACE)
        self._by_id = columns.by_id.cast(_PLACE)
        self._date_of = columns.date_of.cast(_PLACE)
        self._starts = columns.starts.cast(_OFFSET)
        self._lengths = columns.lengths.cast(_PLACE)
        self.times: memoryview[float] = columns.times.cast(_TIME)  # seconds since 1970, by place
        number = len(self.times)
        each = (self._id_ends, self._by_id, self._date_of, self._starts, self._lengths)
        if {len(one) for one in each} != {number} or len(columns.digests) != number * _digest_bytes:
            raise ValueError("the columns of these rows have different lengths")
        ends = map(operator.add, self._starts, self._lengths)
        bounds = (
            (self._id_ends, len(columns.ids)),
            (self._by_id, number - 1),
            (self._date_of, len(columns.dates) - 1),
            (ends, len(bodies) + len(added)),
        )
        if number and any(max(column) > most for column, most in bounds):
            raise ValueError("a column of these rows points at what is not there")

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[FeedRow]:
        return map(self.row, range(len(self)))

    @property
    def columns(self) -> RowColumns:
        """All but the bodies, to be written."""
        return self._columns

    @property
    def bodies(self) -> tuple[memoryview, memoryview]:
        """The packed bodies, to be written one after the other."""
        return self._bodies, self._added

    def ids(self) -> Iterator[str]:
        """Yield the ids in the order of the list."""
        ids, starts = bytes(self._columns.ids), chain((0,), self._id_ends)
        if ids.isascii():  # as those of the service are: one place for each character
            text = ids.decode()
            return (text[start:end] for start, end in zip(starts, self._id_ends, strict=False))
        return (ids[start:end].decode() for start, end in zip(starts, self._id_ends, strict=False))

    def id_at(self, place: int) -> str:
        """Return the id of a row."""
        return str(self.raw_id_at(place), "utf-8")

    def place_of(self, remote_id: str) -> int | None:
        """Return where the row with this id is; None where there is none."""
        wanted = remote_id.encode()
        found = bisect_left(self._by_id, wanted, key=self.raw_id_at)
        if found == len(self) or self.raw_id_at(self._by_id[found]) != wanted:
            return None
        return self._by_id[found]

    def digest_at(self, place: int) -> bytes:
        """Return what stands for the body of a row: 16 bytes, those of `FeedRow.digest`."""
        return bytes(self._columns.digests[place * _digest_bytes : (place + 1) * _digest_bytes])

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """Yield each id with the digest of its body, in the order of the list."""
        digests, size = bytes(self._columns.digests), _digest_bytes
        each = (digests[start : start + size] for start in range(0, len(digests), size))
        return zip(self.ids(), each, strict=True)

    def row(self, place: int) -> FeedRow:
        """Return a row. Its body is not decoded yet."""
        columns = self._columns
        return FeedRow(
            self.id_at(place), self.times[place], self._packed(place), columns.dates[self._date_of[place]]
        )

    def with_rows(self, rows: Iterable[FeedRow]) -> "FeedRows":
        """Return these with the given rows in the place of those with their ids, and new ones at the end.

        Each id comes once among the given ones; raises ValueError where a new one does not.
        """
        return _Editor(self).take(rows)

    def without(self, remote_ids: Collection[str]) -> "FeedRows":
        """Return these without the rows of some ids."""
        gone = {self.place_of(one) for one in remote_ids}
        kept = [place for place in range(len(self)) if place not in gone]
        return self if len(kept) == len(self) else self._narrowed(kept)

    def _narrowed(self, kept: list[int]) -> "FeedRows":
        now = dict(zip(kept, range(len(kept)), strict=True))
        ids = [bytes(self.raw_id_at(place)) for place in kept]
        columns = RowColumns(
            memoryview(b"".join(ids)),
            _column(_PLACE, _ends(ids)),
            _column(_PLACE, (now[place] for place in self._by_id if place in now)),
            _column(_TIME, (self.times[place] for place in kept)),
            self._columns.dates,
            _column(_PLACE, (self._date_of[place] for place in kept)),
            memoryview(b"".join(map(self.digest_at, kept))),
            _column(_OFFSET, (self._starts[place] for place in kept)),
            _column(_PLACE, (self._lengths[place] for place in kept)),
        )
        return FeedRows(columns, self._bodies, self._added)

    def raw_id_at(self, place: int) -> bytes:
        """Return the id of a row as it is kept: ids are in the order of these bytes in `by_id`."""
        ends = self._id_ends
        return self._columns.ids[ends[place - 1] if place else 0 : ends[place]].tobytes()

    def _packed(self, place: int) -> bytes:
        start, length, before = self._starts[place], self._lengths[place], len(self._bodies)
        if start < before:
            return self._bodies[start : start + length].tobytes()
        return self._added[start - before : start - before + length].tobytes()


def make_feed_rows(rows: Iterable[FeedRow]) -> FeedRows:
    """Return rows in columns. Raises ValueError where an id comes twice."""
    return _Editor(_NONE).take(rows)


class FeedRowsBuilder:
    """Takes the rows of a list one by one, in its order, and puts each into the columns."""

    def __init__(self) -> None:
        self._editor = _Editor(_NONE)

    def add(self, row: FeedRow) -> None:
        """Append a row. Raises ValueError where its id comes twice."""
        self._editor.add(row)

    def finish(self) -> FeedRows:
        """Return the rows that were added."""
        return self._editor.finish()


class _Editor:
    """Makes other rows from some, with columns that can be changed."""

    def __init__(self, before: FeedRows) -> None:
        columns, bodies = before.columns, before.bodies
        self._before = before
        self._ids = bytearray(columns.ids)
        self._id_ends = _copy(_PLACE, columns.id_ends)
        self._times = _copy(_TIME, columns.times)
        self._dates = list(columns.dates)
        self._date_of = _copy(_PLACE, columns.date_of)
        self._digests = bytearray(columns.digests)
        self._starts = _copy(_OFFSET, columns.starts)
        self._lengths = _copy(_PLACE, columns.lengths)
        self._old = bodies[0]
        self._added = bytearray(bodies[1])
        used = set(self._date_of)
        self._numbers = {columns.dates[number]: number for number in used}
        self._unused = sorted(set(range(len(self._dates))) - used)  # of dates that no row has any more
        self._new: dict[bytes, int] = {}  # id -> place, of rows that were not there before

    def take(self, rows: Iterable[FeedRow]) -> FeedRows:
        for row in rows:
            self.add(row)
        return self.finish()

    def add(self, row: FeedRow) -> None:
        place = self._before.place_of(row.remote_id)
        if place is not None:
            self._replace(place, row)
            return
        raw = row.remote_id.encode()
        if raw in self._new:
            raise ValueError("an id comes twice")
        self._new[raw] = self._append(raw, row)

    def finish(self) -> FeedRows:
        columns = RowColumns(
            memoryview(self._ids),
            _view(self._id_ends),
            self._order(self._new),
            _view(self._times),
            tuple(self._dates),
            _view(self._date_of),
            memoryview(self._digests),
            _view(self._starts),
            _view(self._lengths),
        )
        made = FeedRows(columns, self._old, memoryview(self._added))
        # Bodies that no row has any more are still there; a new copy is made before they are the most.
        unused = len(self._old) + len(self._added) - sum(self._lengths)
        return make_feed_rows(made) if unused > sum(self._lengths) else made

    def _append(self, raw: bytes, row: FeedRow) -> int:
        self._ids += raw
        self._id_ends.append(len(self._ids))
        self._times.append(row.at)
        self._date_of.append(self._number_of(row.date))
        self._digests += row.digest
        self._starts.append(len(self._old) + len(self._added))
        self._lengths.append(len(row.packed))
        self._added += row.packed
        return len(self._times) - 1

    def _replace(self, place: int, row: FeedRow) -> None:
        self._times[place] = row.at
        self._date_of[place] = self._number_of(row.date)
        if (digest := row.digest) == self._before.digest_at(place):
            return
        self._digests[place * _digest_bytes : (place + 1) * _digest_bytes] = digest
        self._starts[place] = len(self._old) + len(self._added)
        self._lengths[place] = len(row.packed)
        self._added += row.packed

    def _number_of(self, date: str) -> int:
        """Return the number of a date; one that no row has any more makes room for a new one."""
        number = self._numbers.get(date)
        if number is None:
            number = self._unused.pop() if self._unused else len(self._dates)
            self._dates[number : number + 1] = [date]
            self._numbers[date] = number
        return number

    def _order(self, added: Mapping[bytes, int]) -> memoryview:
        before = self._before.columns.by_id
        if not added:
            return before
        places, raw_of = _copy(_PLACE, before), self._before.raw_id_at
        if len(added) > len(places):
            every = [*map(raw_of, range(len(places))), *added]
            in_order: list[int] = sorted(range(len(every)), key=every.__getitem__)
            return _column(_PLACE, in_order)
        ids = {place: raw for raw, place in added.items()}
        for place, raw in ids.items():
            found = bisect_left(places, raw, key=lambda one: ids[one] if one in ids else raw_of(one))
            places.insert(found, place)
        return _view(places)


def _copy(form: str, column: memoryview) -> "array[Any]":
    copied = array(form)
    copied.frombytes(column)
    return copied


def _view(numbers: "array[Any]") -> memoryview:
    return memoryview(numbers).cast("B")


def _column(form: str, numbers: Iterable[float]) -> memoryview:
    return _view(array(form, numbers))


def _ends(texts: Iterable[bytes]) -> Iterator[int]:
    end = 0
    for text in texts:
        end += len(text)
        yield end


_NONE = FeedRows(
    RowColumns(
        ids=_EMPTY,
        id_ends=_EMPTY,
        by_id=_EMPTY,
        times=_EMPTY,
        dates=(),
        date_of=_EMPTY,
        digests=_EMPTY,
        starts=_EMPTY,
        lengths=_EMPTY,
    ),
    _EMPTY,
)
