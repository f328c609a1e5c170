"""Seals: how many rows of a table an owner has, and the sum of their digests, in a table beside them.

Every statement that changes a sealed table is here, and changes its seal in the same transaction. Whoever
loads all rows of an owner compares them with the seal: a missing row, a flipped bit in an id and a page of
an older copy are errors, and a damaged store is never read as a smaller one.

A digest is the first 128 bits of the SHA-256 of a row's columns. It is not keyed: it finds accidents, and
stops nobody who can write the store. The sum does not depend on an order, so a change costs the rows that
it touches and not the table. Whoever changes what a digest is made of needs a migration that seals again.

The audit has a chain of its own: its seal holds the head of it. The seal of a lock holds its counter, so
that an older row does not pass for a lock that is free.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from operator import itemgetter
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import Struct

from reconciler.errors import CorruptRecord
from reconciler.store.adapter import RESTORE, Connection, Row, Values
from reconciler.store.schema import SEALS, Table

# --- Owners -----------------------------------------------------------------------------------------------


class Owner(Struct, frozen=True):
    """An origin and a stack: rows of others are neither seen nor touched."""

    origin: str
    stack: str

    def key(self) -> dict[str, str]:
        """The columns that say so."""
        return {"origin": self.origin, "stack": self.stack}


T = TypeVar("T")
# A condition: columns by name, each with the value that it has, or with a list of which it has one. At most
# one of them has a list.
Where = Mapping[str, str | list[str]]
_Shape = tuple[tuple[str, bool], ...]

OWNED = "origin = :origin AND stack = :stack"  # the condition for the rows of an owner: `Owner.key`

_digest_bytes = 16  # of a digest
_digest_modulus = 1 << (8 * _digest_bytes)
values_max = 5_000  # values in one statement: SQLite takes 32,766, PostgreSQL 65,535

_encode = msgspec.msgpack.Encoder().encode

_SEALS_QUERY = f"SELECT name, number, digest FROM seals WHERE {OWNED}"
_CHANGE_SEAL = f"UPDATE seals SET number = :number, digest = :digest WHERE {OWNED} AND name = :name"


class Seal(msgspec.Struct, frozen=True):
    """How many rows there are, and what stands for all that they hold: lower-case hexadecimal digits."""

    number: int = 0
    digest: str = ""


class Seals:
    """The seals of an owner in one writing transaction: read once, changed with the rows, saved at the end.

    `connection` is that of the transaction, and `at_once` how many values a statement may hold. Only one
    transaction writes at a time, so no seal changes between its reading and its saving.
    """

    def __init__(self, connection: Connection, owner: Owner, *, at_once: int = values_max) -> None:
        self.connection = connection
        self._at_once = at_once
        self.owner = owner
        self._before = read_seals(connection, owner)
        self._now = dict(self._before)

    def of(self, table: Table) -> Seal:
        """Return what the seal of a table says; that of no rows where there is none. Raises CorruptRecord."""
        return _require_seal(table, self.owner, self._now)

    def put(self, table: Table, seal: Seal) -> None:
        """Let the seal say this from now on."""
        self._now[table.name] = seal

    def replace(
        self, table: Table, *, gone: Iterable[Where] = (), come: Sequence[Mapping[str, Any]] = ()
    ) -> list[bytes]:
        """Remove the owner's rows that one of the conditions fits, then add others, with all columns.

        Return what stands for each of the others: `row_digest`.
        """
        removed: list[Row] = []
        for where in (some for every in gone for some in _split_condition(every, self._at_once)):
            condition = _owner_condition(_shape(where))
            values = self._values(where)
            found = self.connection.execute(f"{_select_sealed(table)} WHERE {condition}", values).all()
            if found:
                self.connection.execute(f"DELETE FROM {table.name} WHERE {condition}", values)
                removed += found
        if come:
            self.connection.execute_many(table.insert, come)
        names = _sealed_columns(table)
        digests = [row_digest(row[name] for name in names) for row in come]
        self._adjust(table, map(_digest_row, removed), map(int.from_bytes, digests))
        return digests

    def change(self, table: Table, where: Where, values: Mapping[str, object]) -> None:
        """Give the owner's rows that the condition fits other values."""
        now = {f"now_{name}": value for name, value in values.items()}
        changes = ", ".join(f"{name} = :now_{name}" for name in values)
        for some in _split_condition(where, self._at_once):
            condition = _owner_condition(_shape(some))
            found = self.connection.execute(
                f"{_select_sealed(table)} WHERE {condition}", self._values(some)
            ).all()
            if found:
                update = f"UPDATE {table.name} SET {changes} WHERE {condition}"
                self.connection.execute(update, {**self._values(some), **now})
                changed = (
                    ({**dict(zip(_sealed_columns(table), row, strict=True)), **values}).values()
                    for row in found
                )
                self._adjust(table, map(_digest_long_row, found), map(_digest_long_row, changed))

    def check(self, table: Table, found: Iterable[Row]) -> None:
        """Return where these, all rows of the owner as they are now, are those of the seal.

        Raises CorruptRecord.
        """
        _compare_with_seal(table, self.owner, self.of(table), found)

    def make(self, table: Table) -> None:
        """Seal the rows as they are now."""
        found = self.connection.execute(rows_query(table), self.owner.key()).all()
        self.put(table, Seal(len(found), _format_digest(sum(map(_digest_row, found)))))

    def save(self) -> None:
        """Write the seals that have changed."""
        changed = {name: seal for name, seal in self._now.items() if seal != self._before.get(name)}
        written = {
            name: {**self.owner.key(), "name": name, "number": seal.number, "digest": seal.digest}
            for name, seal in changed.items()
        }
        if known := [row for name, row in written.items() if name in self._before]:
            self.connection.execute_many(_CHANGE_SEAL, known)
        if new := [row for name, row in written.items() if name not in self._before]:
            self.connection.execute_many(SEALS.insert, new)
        self._before = dict(self._now)

    def _values(self, where: Where) -> Values:
        return {**self.owner.key(), **where}

    def _adjust(self, table: Table, gone: Iterable[int], come: Iterable[int]) -> None:
        minus, plus = list(gone), list(come)
        if not minus and not plus:
            return
        before = self.of(table)
        try:
            total = int(before.digest or "0", 16)
        except ValueError:
            raise_damaged_table(table, self.owner, "its seal cannot be read")
        number = before.number - len(minus) + len(plus)
        self.put(table, Seal(number, _format_digest(total - sum(minus) + sum(plus))))


def write_sealed(connection: Connection, owner: Owner, work: Callable[[Seals], T]) -> T:
    """Return what `work` returns, with the owner's seals saved after it. For a writing transaction."""
    seals = Seals(connection, owner)
    done = work(seals)
    seals.save()
    return done


def rows_query(table: Table) -> str:
    """Return the query for every row of an owner, with all columns but its own two, for `check_seal`.

    Its values are `Owner.key`.
    """
    return f"{_select_sealed(table)} WHERE {OWNED}"


def pick_columns(table: Table, *names: str) -> Callable[[Row], tuple[Any, ...]]:
    """Return what takes these columns out of a row of `rows_query`."""
    return itemgetter(*(_sealed_columns(table).index(name) for name in names))


def check_seal(connection: Connection, table: Table, owner: Owner, found: Iterable[Row]) -> None:
    """Return where these, all rows of the owner, are the ones that were written. Raises CorruptRecord."""
    _compare_with_seal(table, owner, read_seal(connection, table, owner), found)


def iterate_sealed(
    connection: Connection, table: Table, owner: Owner, found: Iterable[Row]
) -> Iterator[tuple[Row, bytes]]:
    """Yield these, all rows of the owner, each with its digest: `row_digest`.

    Raises CorruptRecord at the end where they are not the ones that were written: nothing that was yielded
    counts before.
    """
    sealed, number, total = read_seal(connection, table, owner), 0, 0
    for row in found:
        digest = row_digest(row)
        number += 1
        total += int.from_bytes(digest)
        yield row, digest
    _compare_sums(table, owner, sealed, number=number, total=total)


def fits_seal(connection: Connection, table: Table, owner: Owner, digests: Collection[bytes]) -> bool:
    """Whether rows with these digests, in any order, are all rows that were written. Raises CorruptRecord."""
    sealed = read_seal(connection, table, owner)
    total = sum(map(int.from_bytes, digests))
    return sealed.number == len(digests) and (not digests or sealed.digest == _format_digest(total))


def row_digest(values: Iterable[object]) -> bytes:
    """Return what stands for a row of `rows_query` in the seal: 16 bytes."""
    return sha256(_encode(tuple(values))).digest()[:_digest_bytes]


def select_rows(
    connection: Connection, table: Table, owner: Owner, where: Where, *, at_once: int = values_max
) -> Iterator[Row]:
    """Yield the owner's rows that the condition fits, as `rows_query` does. The seal is not looked at."""
    for some in _split_condition(where, at_once):
        query = f"{_select_sealed(table)} WHERE {_owner_condition(_shape(some))}"
        yield from connection.execute(query, {**owner.key(), **some})


def sealed_origins(connection: Connection, table: Table, stack: str) -> tuple[str, ...]:
    """Return every origin that has rows of a table for this stack, or a seal that says so."""
    rows_ = f"SELECT origin FROM {table.name} WHERE stack = :stack"
    seals = "SELECT origin FROM seals WHERE stack = :stack AND name = :name"
    found = connection.execute(f"{rows_} UNION {seals}", {"stack": stack, "name": table.name})
    return tuple(sorted(str(origin) for (origin,) in found))


def read_seals(connection: Connection, owner: Owner) -> dict[str, Seal]:
    """Return the seals of an owner as they are stored, by the name of their table."""
    found = connection.execute(_SEALS_QUERY, owner.key())
    return {name: Seal(number, digest) for name, number, digest in found}


def read_seal(connection: Connection, table: Table, owner: Owner) -> Seal:
    """Return what the seal of a table says; that of no rows where there is none. Raises CorruptRecord."""
    return _require_seal(table, owner, read_seals(connection, owner))


def raise_damaged_table(table: Table, owner: Owner, what: str) -> NoReturn:
    """Raise CorruptRecord: a table does not hold what this program wrote."""
    raise CorruptRecord(
        f"the store's table {table.name} is damaged for stack {owner.stack}: {what}.", next=RESTORE
    )


def _compare_with_seal(table: Table, owner: Owner, sealed: Seal, found: Iterable[Row]) -> None:
    digests = [_digest_row(row) for row in found]
    _compare_sums(table, owner, sealed, number=len(digests), total=sum(digests))


def _compare_sums(table: Table, owner: Owner, sealed: Seal, *, number: int, total: int) -> None:
    if sealed.number != number:
        raise_damaged_table(table, owner, f"it holds {number} rows, and {sealed.number} were written")
    if sealed.number and sealed.digest != _format_digest(total):
        raise_damaged_table(table, owner, "a row differs from what was written")


def _require_seal(table: Table, owner: Owner, seals: Mapping[str, Seal]) -> Seal:
    found = seals.get(table.name, Seal())
    if not isinstance(found.number, int) or not isinstance(found.digest, str):
        raise_damaged_table(table, owner, "its seal cannot be read")
    return found


@cache
def _sealed_columns(table: Table) -> tuple[str, ...]:
    # In an order that does not depend on how a table came to its columns. Rows are looked for by the two that
    # name the owner: a row whose owner has changed is missing from one sum, and too many in another.
    return tuple(sorted(set(table.columns) - set(Owner.__struct_fields__)))


@cache
def _select_sealed(table: Table) -> str:
    return f"SELECT {', '.join(_sealed_columns(table))} FROM {table.name}"


def _split_condition(where: Where, at_once: int) -> Iterator[Where]:
    """Yield conditions that together fit the same rows, each with a list of at most `at_once` values."""
    name = next((name for name, value in where.items() if isinstance(value, list)), None)
    if name is None:
        yield where
        return
    every = where[name]
    for start in range(0, len(every), at_once):
        yield {**where, name: every[start : start + at_once]}


def _shape(where: Where) -> _Shape:
    return tuple((name, isinstance(value, list)) for name, value in where.items())


@lru_cache(maxsize=64)
def _owner_condition(shape: _Shape) -> str:
    """Return the condition of this shape for the owner's rows."""
    return " AND ".join(
        [OWNED, *(f"{name} IN (:{name})" if many else f"{name} = :{name}" for name, many in shape)]
    )


def _digest_row(values: Iterable[object]) -> int:
    return int.from_bytes(row_digest(values))


_piece_chars = 1_000_000


def _digest_long_row(values: Iterable[object]) -> int:
    """Return what `_digest_row` does, for a row of few: the plan of a run may be a text of many megabytes.

    Such a text is taken in pieces, so that no other copy of it is in memory.
    """
    row = tuple(values)
    made = sha256(b"\xdc" + len(row).to_bytes(2) if len(row) > _short_max else bytes((0x90 | len(row),)))
    for value in row:
        if isinstance(value, str) and len(value) > _piece_chars and value.isascii():
            made.update(b"\xdb" + len(value).to_bytes(4))  # as msgpack begins a long text
            for start in range(0, len(value), _piece_chars):
                made.update(value[start : start + _piece_chars].encode())
        else:
            made.update(_encode(value))
    return int.from_bytes(made.digest()[:_digest_bytes])


_short_max = 15  # values of an array whose number msgpack writes in its first byte


def _format_digest(total: int) -> str:
    return f"{total % _digest_modulus:0{2 * _digest_bytes}x}"
