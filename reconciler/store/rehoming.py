"""What a stack recorded at one address of a service becomes its own at another one. Rows move, none is lost.

Not here: who may say that both are one service (engine/planning.py), the lines of the history (history.py).
"""

from collections.abc import Mapping
from datetime import datetime

from reconciler.errors import LockHeld
from reconciler.store import records, sealed_tables
from reconciler.store.adapter import Connection
from reconciler.store.locks import find_live_holder
from reconciler.store.schema import ENTITIES, JOURNAL, META, RUNS, Table
from reconciler.store.sealed_tables import Owner, Seals

_COMPANY = "company "


def read_company(connection: Connection, origin: str) -> str:
    """Return the id of the company that the service at this address was of, or "" where nobody asked."""
    query = "SELECT value FROM meta WHERE key = :key"
    return str(connection.execute(query, {"key": f"{_COMPANY}{origin}"}).scalar() or "")


def take_over_records(
    seals: Seals, before: Owner, *, now: datetime, ids: Mapping[str, str], company: str
) -> int:
    """Move the records in these workspaces (alias -> id), and what runs left open; return how many records.

    A record that is there already stays as it is, and the other one goes. Raises LockHeld, CorruptRecord.
    """
    connection, owner = seals.connection, seals.owner
    if (writer := find_live_holder(connection, before, now=now)) is not None:
        raise LockHeld(
            f"a run writes under {before.origin}: {writer.holder}.",
            next="wait until it has ended, then run this again",
        )
    theirs = Seals(connection, before)
    wanted = [*ids.values()]
    moved = _move_rows(seals, theirs, ENTITIES, ("workspace_id", "address"), {"workspace_id": wanted})
    last = records.last_aliases(records.load_aliases(connection, before))
    _move_rows(seals, theirs, JOURNAL, ("run", "address"), {})
    _move_rows(seals, theirs, RUNS, ("run",), {})
    theirs.save()
    known = {one.id for one in records.load_aliases(connection, owner)}
    came = {last[one]: one for one in wanted if one in last and one not in known}
    records.note_aliases(seals, came)
    if company:
        known_company = {"key": f"{_COMPANY}{owner.origin}", "value": company}
        connection.execute("DELETE FROM meta WHERE key = :key", known_company)
        connection.execute(META.insert, known_company)
    return moved


def _move_rows(
    seals: Seals, theirs: Seals, table: Table, key: tuple[str, ...], where: sealed_tables.Where
) -> int:
    connection, mine, before = seals.connection, seals.owner.key(), theirs.owner.key()
    sealed_tables.check_seal(
        connection, table, theirs.owner, connection.execute(sealed_tables.rows_query(table), before).all()
    )
    condition = " AND ".join((sealed_tables.OWNED, *(f"{name} IN (:{name})" for name in where)))
    rows = connection.execute(f"{table.select} WHERE {condition}", {**before, **where}).all()
    there = set(
        connection.execute(f"SELECT {', '.join(key)} FROM {table.name} WHERE {sealed_tables.OWNED}", mine)
    )
    theirs.replace(table, gone=[where])
    found = (dict(zip(table.columns, row, strict=True)) for row in rows)
    come = [{**row, **mine} for row in found if tuple(row[name] for name in key) not in there]
    seals.replace(table, come=come)
    return len(come)
