"""What a stack recorded at one address of a service becomes its own at another one. Rows move, none is lost.

Not here: who may say that both are one service (engine/rehoming.py), the lines of the history (audit.py).
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, Table, select

from reconciler.errors import LockHeld
from reconciler.store import names
from reconciler.store.engines import sealed
from reconciler.store.engines.schema import ENTITIES, JOURNAL, META, RUNS
from reconciler.store.engines.sealed import Seals
from reconciler.store.lock import alive
from reconciler.store.owner import Owner

_COMPANY = "company "


def company(connection: Connection, origin: str) -> str:
    """Return the id of the company that the service at this address was of, or "" where nobody asked."""
    query = select(META.c.value).where(META.c.key == f"{_COMPANY}{origin}")
    return str(connection.execute(query).scalar() or "")


def take_over(seals: Seals, before: Owner, *, now: datetime, ids: Mapping[str, str], company: str) -> int:
    """Move the records in these workspaces (alias -> id), and what runs left open; return how many records.

    A record that is there already stays as it is, and the other one goes. Raises LockHeld, CorruptRecord.
    """
    connection, owner = seals.connection, seals.owner
    if (writer := alive(connection, before, now=now)) is not None:
        raise LockHeld(
            f"a run writes under {before.origin}: {writer.holder}.",
            next="wait until it has ended, then run this again",
        )
    theirs = Seals(connection, before)
    wanted = [*ids.values()]
    moved = _move(seals, theirs, ENTITIES, ("workspace_id", "address"), {"workspace_id": wanted})
    last = names.last_aliases(names.known(connection, before))
    _move(seals, theirs, JOURNAL, ("run", "address"), {})
    _move(seals, theirs, RUNS, ("run",), {})
    theirs.save()
    known = {one.id for one in names.known(connection, owner)}
    came = {last[one]: one for one in wanted if one in last and one not in known}
    names.note(seals, came)
    if company:
        connection.execute(META.delete().where(META.c.key == f"{_COMPANY}{owner.origin}"))
        connection.execute(META.insert(), [{"key": f"{_COMPANY}{owner.origin}", "value": company}])
    return moved


def _move(seals: Seals, theirs: Seals, table: Table, key: tuple[str, ...], where: sealed.Where) -> int:
    owner = seals.owner
    sealed.check(
        seals.connection,
        table,
        theirs.owner,
        seals.connection.execute(sealed.rows(table, theirs.owner)).all(),
    )
    conditions = [table.c[name].in_(values) for name, values in where.items()]
    rows = seals.connection.execute(select(table).where(*sealed.of(table, theirs.owner), *conditions)).all()
    there = {
        tuple(row)
        for row in seals.connection.execute(
            select(*(table.c[name] for name in key)).where(*sealed.of(table, owner))
        )
    }
    theirs.replace(table, gone=[where])
    come = [
        {**row._mapping, **owner.key()}  # noqa: SLF001 - the public name for a row as a mapping
        for row in rows
        if tuple(getattr(row, name) for name in key) not in there
    ]
    seals.replace(table, come=come)
    return len(come)
