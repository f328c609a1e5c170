"""The journal: intent before each call, ending after it. Rows in, values out.

One row for each run and address; a second try takes the place of the first. What an open row means
after a crash is decided in core/recover.py.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, select

from reconciler.model import address as addresses
from reconciler.model.address import Address
from reconciler.model.changes import ACTIONS, Create
from reconciler.model.journal import Ending, Entry, Intent
from reconciler.store.recorded import Batch, Owner, corrupt
from reconciler.store.schema import JOURNAL

_ROW = JOURNAL.c
_OPEN = ""
_COLUMNS = (_ROW.run, _ROW.address, _ROW.action, _ROW.at, _ROW.until, _ROW.remote_id, _ROW.parent_id)
_TEXTS = ("run", "action", "at", "until", "remote_id", "parent_id")


class Net(msgspec.Struct, frozen=True):
    """What several batches together leave in the journal of their run, by address."""

    intents: Mapping[Address, Intent]
    endings: Mapping[Address, Ending]


def net(batches: Iterable[Batch]) -> Net:
    """Return what is left when the batches are carried out in their order.

    Within a batch its intents come before its endings. An intent opens its address anew, whatever ended
    before it. An outcome in doubt ends nothing.
    """
    intents: dict[Address, Intent] = {}
    endings: dict[Address, Ending] = {}
    for batch in batches:
        for intent in batch.intents:
            intents[intent.address] = intent
            endings.pop(intent.address, None)
        endings |= {one.address: one.result for one in batch.ended if one.result != "in doubt"}
    return Net(intents, endings)


def write(connection: Connection, owner: Owner, run: str, batches: Iterable[Batch], *, counter: int) -> None:
    """Write down the intents and endings of `run`, under the lock with this counter."""
    left = net(batches)
    key = {**owner.key(), "run": run, "counter": counter}
    rows = [
        {**key, **_values(intent), "ending": left.endings.get(address, _OPEN)}
        for address, intent in left.intents.items()
    ]
    ends = [
        {"ended": str(address), "now": ending}
        for address, ending in left.endings.items()
        if address not in left.intents
    ]
    mine = (*_of(owner), _ROW.run == run)
    if rows:
        gone = JOURNAL.delete().where(*mine, _ROW.address == bindparam("again"))
        connection.execute(gone, [{"again": row["address"]} for row in rows])
        connection.execute(JOURNAL.insert(), rows)
    if ends:
        end = JOURNAL.update().where(*mine, _ROW.address == bindparam("ended"))
        connection.execute(end.values(ending=bindparam("now")), ends)


def settle(connection: Connection, owner: Owner, run: str, batches: Iterable[Batch]) -> tuple[Entry, ...]:
    """End the open intents of other runs than `run` that were found or are absent; return what was ended.

    What was found has landed after all: applied. Order: as they were written down.
    """
    known: dict[tuple[str, Address], Ending] = {}
    for batch in batches:
        known |= dict.fromkeys(((batch.left_by, address) for address in batch.absent), "absent")
        known |= dict.fromkeys(((batch.left_by, address) for address in batch.found), "applied")
    if not known:
        return ()
    others = (*_of(owner), _ROW.run != run, _ROW.ending == _OPEN)
    settled = []
    for entry in _load(connection, others):
        address = entry.intent.address
        ending = known.get((entry.run, address)) or known.get(("", address))
        if ending is not None:
            settled.append(msgspec.structs.replace(entry, ending=ending))
    if settled:
        end = JOURNAL.update().where(*others, _ROW.run == bindparam("of"), _ROW.address == bindparam("at_"))
        rows = [{"of": one.run, "at_": str(one.intent.address), "now": one.ending} for one in settled]
        connection.execute(end.values(ending=bindparam("now")), rows)
    return tuple(settled)


def doubts(connection: Connection, owner: Owner) -> dict[Address, str]:
    """Return the addresses whose create is in doubt, with the time until which it may still land.

    Raises CorruptRecord.
    """
    creates = (*_of(owner), _ROW.ending == _OPEN, _ROW.action == ACTIONS[Create])
    # Where several runs were cut off at the same address, the last of them counts.
    found: dict[Address, str] = {}
    for entry in _load(connection, creates):
        address, until = entry.intent.address, entry.intent.until
        found[address] = max(found.get(address, ""), until)
    return found


def open_creates(connection: Connection, owner: Owner, run: str) -> frozenset[Address]:
    """Return what this run is creating: sent or about to be, and not ended. Raises CorruptRecord."""
    creates = (*_of(owner), _ROW.run == run, _ROW.ending == _OPEN, _ROW.action == ACTIONS[Create])
    return frozenset(entry.intent.address for entry in _load(connection, creates))


def entries(connection: Connection, owner: Owner, run: str) -> tuple[Entry, ...]:
    """Return what a run wrote down, oldest first. Raises CorruptRecord."""
    return tuple(_load(connection, (*_of(owner), _ROW.run == run)))


def known(connection: Connection, owner: Owner) -> Iterator[Address]:
    """Yield every address that a run wrote down and that is kept; a damaged one is left out."""
    table = JOURNAL.c
    query = select(table.address).where(table.origin == owner.origin, table.stack == owner.stack)
    for row in connection.execute(query.distinct()):
        address = addresses.parse(row.address) if isinstance(row.address, str) else None
        if address is not None:
            yield address


def is_open(connection: Connection, owner: Owner, run: str) -> bool:
    """Whether the run has an intent that has not ended."""
    query = select(_ROW.address).where(*_of(owner), _ROW.run == run, _ROW.ending == _OPEN)
    return connection.execute(query.limit(1)).first() is not None


def open_runs(owner: Owner) -> Select[str]:
    """Return the query for the runs that have an intent which has not ended."""
    return select(_ROW.run).where(*_of(owner), _ROW.ending == _OPEN)


def remove(connection: Connection, owner: Owner, run: str) -> None:
    """Forget what the run wrote down."""
    connection.execute(JOURNAL.delete().where(*_of(owner), _ROW.run == run))


def _of(owner: Owner) -> tuple[ColumnElement[bool], ...]:
    return (_ROW.origin == owner.origin, _ROW.stack == owner.stack)


def _values(intent: Intent) -> dict[str, object]:
    return {
        "address": str(intent.address),
        "action": intent.action,
        "remote_id": intent.remote_id,
        "parent_id": intent.parent_id,
        "at": intent.at,
        "until": intent.until,
    }


def _load(connection: Connection, where: tuple[ColumnElement[bool], ...]) -> list[Entry]:
    query = select(*_COLUMNS, _ROW.ending).where(*where).order_by(_ROW.at, _ROW.run, _ROW.address)
    return [_entry(row) for row in connection.execute(query)]


def _entry(row: Row[*tuple[object, ...]]) -> Entry:
    address = addresses.parse(row.address) if isinstance(row.address, str) else None
    if address is None:
        corrupt(row.address, "its intent names no address")
    values = {name: getattr(row, name) for name in _TEXTS}
    for value in values.values():
        if not isinstance(value, str):
            corrupt(address, "a text of its intent is missing")
    try:
        ending: Ending = msgspec.convert(row.ending, Ending)
    except msgspec.ValidationError:
        corrupt(address, "the ending of its intent is not one")
    run = values.pop("run")
    return Entry(run, Intent(address=address, **values), ending)
