"""Seals: how many rows of a table an owner has, and the sum of their digests, in a table beside them.

Every statement that changes a sealed table is here, and changes its seal in the same transaction. Whoever
loads all rows of an owner compares them with the seal: a row that is missing, a bit that flipped in an id and
a page of an older copy are errors, and nothing that was damaged is read as a smaller store.

A digest is the first 128 bits of the SHA-256 of a row's columns. It is not keyed: it finds accidents, and
keeps out nobody who can write the store. The sum does not depend on an order, so that a change costs the
rows that it touches and not the table.

The audit has a chain of its own: its seal holds the head of it. That of a lock holds its counter, so that an
older row does not pass for a lock that is free.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NoReturn

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, Row, Select, Table, select

from reconciler.errors import CorruptRecord
from reconciler.store.lost import RESTORE
from reconciler.store.owner import Owner
from reconciler.store.schema import SEALS

Where = tuple[ColumnElement[bool], ...]
Found = Row[*tuple[Any, ...]]

_octets = 16  # of a digest
_all = 1 << (8 * _octets)
_at_once = 5_000  # values in one statement: SQLite takes 32,766, PostgreSQL 65,535


class Seal(msgspec.Struct, frozen=True):
    """How many rows there are, and what stands for all that they hold: lower-case hexadecimal digits."""

    number: int = 0
    digest: str = ""


def rows(table: Table, owner: Owner) -> Select[*tuple[Any, ...]]:
    """Return the query for every row and column of an owner: what `check` has to be given."""
    return select(*_columns(table)).where(*of(table, owner))


def of(table: Table, owner: Owner) -> Where:
    """Return the condition for the rows of an owner."""
    return (table.c.origin == owner.origin, table.c.stack == owner.stack)


def check(connection: Connection, table: Table, owner: Owner, found: Iterable[Found]) -> None:
    """Return where these, all rows of the owner, are the ones that were written. Raises CorruptRecord."""
    digests = [_digest(row) for row in found]
    sealed = read(connection, table, owner)
    if sealed.number != len(digests):
        broken(table, owner, f"it holds {len(digests)} rows, and {sealed.number} were written")
    if sealed.number and sealed.digest != _hexadecimal(sum(digests)):
        broken(table, owner, "a row is not as it was written")


def replace(
    connection: Connection,
    table: Table,
    owner: Owner,
    *,
    gone: Iterable[Where] = (),
    come: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Remove the owner's rows for which one of the conditions is true, then add others, with all columns."""
    removed: list[Found] = []
    for where in gone:
        found = connection.execute(rows(table, owner).where(*where)).all()
        if found:
            connection.execute(table.delete().where(*of(table, owner), *where))
            removed += found
    if come:
        connection.execute(table.insert(), come)
    names = [column.name for column in _columns(table)]
    added = [_digest([row[name] for name in names]) for row in come]
    _adjust(connection, table, owner, [_digest(row) for row in removed], added)


def change(
    connection: Connection, table: Table, owner: Owner, where: Where, values: Mapping[str, object]
) -> None:
    """Give the owner's rows for which the condition is true other values."""
    found = connection.execute(rows(table, owner).where(*where)).all()
    if found:
        connection.execute(table.update().where(*of(table, owner), *where).values(values))
        changed = [{**row._mapping, **values}.values() for row in found]  # noqa: SLF001 - the public name for it
        _adjust(connection, table, owner, map(_digest, found), map(_digest, changed))


def among(column: ColumnElement[str], values: Iterable[str]) -> Iterator[ColumnElement[bool]]:
    """Yield conditions that are together true for all of the values."""
    every = list(values)
    for start in range(0, len(every), _at_once):
        yield column.in_(every[start : start + _at_once])


def read(connection: Connection, table: Table, owner: Owner) -> Seal:
    """Return the seal; that of an owner without rows where there is none. Raises CorruptRecord."""
    row = connection.execute(_seal_of(table, owner)).one_or_none()
    if row is None:
        return Seal()
    if not isinstance(row.number, int) or not isinstance(row.digest, str):
        broken(table, owner, "its seal cannot be read")
    return Seal(row.number, row.digest)


def put(connection: Connection, table: Table, owner: Owner, seal: Seal) -> None:
    """Let the seal say this from now on. In the transaction that changes the rows."""
    mine = (*of(SEALS, owner), SEALS.c.name == table.name)
    values = {"number": seal.number, "digest": seal.digest}
    if not connection.execute(SEALS.update().where(*mine).values(values)).rowcount:
        connection.execute(SEALS.insert().values(**owner.key(), name=table.name, **values))


def broken(table: Table, owner: Owner, what: str) -> NoReturn:
    """Raise CorruptRecord: a table does not hold what this program wrote."""
    raise CorruptRecord(
        f"the store's table {table.name} is damaged for stack {owner.stack}: {what}.", next=RESTORE
    )


def make(connection: Connection, table: Table, owner: Owner) -> None:
    """Seal the rows as they are now."""
    digests = [_digest(row) for row in connection.execute(rows(table, owner))]
    put(connection, table, owner, Seal(len(digests), _hexadecimal(sum(digests))))


def _adjust(
    connection: Connection, table: Table, owner: Owner, gone: Iterable[int], come: Iterable[int]
) -> None:
    minus, plus = list(gone), list(come)
    if sorted(minus) == sorted(plus):
        return
    before = read(connection, table, owner)
    try:
        total = int(before.digest or "0", 16)
    except ValueError:
        broken(table, owner, "its seal cannot be read")
    number = before.number - len(minus) + len(plus)
    put(connection, table, owner, Seal(number, _hexadecimal(total - sum(minus) + sum(plus))))


def _columns(table: Table) -> list[Column[Any]]:
    # In an order that does not depend on how a table came to its columns.
    return sorted(table.columns, key=lambda column: column.name)


def _seal_of(table: Table, owner: Owner) -> Select[int, str]:
    return select(SEALS.c.number, SEALS.c.digest).where(*of(SEALS, owner), SEALS.c.name == table.name)


def _digest(values: Iterable[object]) -> int:
    whole = msgspec.json.encode(list(values))
    return int.from_bytes(sha256(whole).digest()[:_octets])


def _hexadecimal(total: int) -> str:
    return f"{total % _all:0{2 * _octets}x}"
