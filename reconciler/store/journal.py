"""The journal: intent before each call, ending after it. Rows in, values out.

One row for each run and address; a second try takes the place of the first. What an open row means
after a crash is decided in core/runs/recover.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

import msgspec

from reconciler.errors import StoreError
from reconciler.model.address import Address
from reconciler.model.plans import ACTION_WORDS, Create
from reconciler.model.runs import UNKNOWN_ID, Ending, Intent, JournalEntry
from reconciler.store.engines import sealed
from reconciler.store.engines.adapter import Connection, Row
from reconciler.store.engines.schema import JOURNAL
from reconciler.store.engines.sealed import Seals
from reconciler.store.owner import Owner
from reconciler.store.recorded import Batch, decode_address, raise_corrupt_record

_OPEN = ""
_OLDEST_FIRST = "ORDER BY at, run, address"
_ALL_INTENTS = f"{sealed.rows_query(JOURNAL)} {_OLDEST_FIRST}"
_journal_columns = sealed.pick_columns(
    JOURNAL,
    *("address", "ending", "run", "action", "at", "until", "remote_id", "parent_id", "workspace_id"),
)


class NetJournal(msgspec.Struct, frozen=True):
    """What several batches together leave in the journal of their run, by address."""

    intents: Mapping[Address, Intent]
    endings: Mapping[Address, Ending]


def net_journal(batches: Iterable[Batch]) -> NetJournal:
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
    return NetJournal(intents, endings)


def write_journal(
    seals: Seals, run: str, batches: Iterable[Batch], *, ids: Mapping[str, str], counter: int
) -> None:
    """Write down the intents and endings of `run`, under the lock with this counter.

    `ids` are the service's ids of workspaces by their aliases.
    """
    left = net_journal(batches)
    key = {**seals.owner.key(), "run": run, "counter": counter}
    rows = [
        {**key, **_intent_row(intent, ids), "ending": left.endings.get(address, _OPEN)}
        for address, intent in left.intents.items()
    ]
    ends = [(run, address, ending) for address, ending in left.endings.items() if address not in left.intents]
    seals.replace(JOURNAL, gone=[{"run": run, "address": list(map(str, left.intents))}], come=rows)
    _write_endings(seals, ends)


def _write_endings(seals: Seals, ends: Iterable[tuple[str, Address, Ending]]) -> None:
    """Write down how intents ended: run, address, ending."""
    together: dict[tuple[str, Ending], list[str]] = {}
    for run, address, ending in ends:
        together.setdefault((run, ending), []).append(str(address))
    for (run, ending), of_run in together.items():
        seals.change(JOURNAL, {"run": run, "address": of_run}, {"ending": ending})


def settle_intents(
    seals: Seals, run: str, batches: Iterable[Batch], *, ids: Mapping[str, str]
) -> tuple[JournalEntry, ...]:
    """End the open intents of other runs than `run` that were found or are absent; return what was ended.

    What was found has landed after all: applied. Order: as they were written down.
    """
    known: dict[tuple[str, Address], Ending] = {}
    for batch in batches:
        known |= dict.fromkeys(((batch.left_by, address) for address in batch.absent), "absent")
        known |= dict.fromkeys(((batch.left_by, address) for address in batch.found), "applied")
    if not known:
        return ()
    settled = []
    aliases = {workspace_id: alias for alias, workspace_id in ids.items()}
    # Only the open rows: a run that settles one after the other would load thousands of others each time. It
    # has loaded all of them before, with their seal.
    others = f"{sealed.rows_query(JOURNAL)} AND run <> :run AND ending = :open {_OLDEST_FIRST}"
    of_others = {**seals.owner.key(), "run": run, "open": _OPEN}
    for entry in map(_decode_journal_entry, seals.connection.execute(others, of_others)):
        address = entry.intent.address
        # Those of one run are named as it named them; whoever names no run has the aliases of now.
        ending = known.get((entry.run, address)) or known.get(("", entry.address_now(aliases)))
        if ending is not None:
            settled.append(msgspec.structs.replace(entry, ending=ending))
    _write_endings(seals, [(one.run, one.intent.address, one.ending) for one in settled])
    return tuple(settled)


def find_doubts(written: Iterable[JournalEntry], ids: Mapping[str, str]) -> dict[Address, str]:
    """Return the addresses whose create is in doubt, with the time until which it may still land.

    Each has the alias that its workspace has in `ids` (alias -> id). Where its alias means another workspace
    now, it is none of these.
    """
    aliases = {workspace_id: alias for alias, workspace_id in ids.items()}
    # Where several runs were cut off at the same address, the last of them counts.
    found: dict[Address, str] = {}
    for entry in written:
        address, until = entry.address_now(aliases), entry.intent.until
        elsewhere = entry.workspace_id not in (*aliases, UNKNOWN_ID) and address.workspace in ids
        if entry.open and not elsewhere and entry.intent.action == ACTION_WORDS[Create]:
            found[address] = max(found.get(address, ""), until)
    return found


def find_open_creates(
    written: Iterable[JournalEntry], run: str, ids: Mapping[str, str]
) -> frozenset[Address]:
    """Return what this run is creating: sent or about to be, and not ended."""
    aliases = {workspace_id: alias for alias, workspace_id in ids.items()}
    return frozenset(
        entry.address_now(aliases)
        for entry in written
        if entry.open and entry.run == run and entry.intent.action == ACTION_WORDS[Create]
    )


def load_journal(connection: Connection, owner: Owner) -> tuple[JournalEntry, ...]:
    """Return all that is written down, oldest first: what unfinished runs did, and the present one.

    Raises CorruptRecord where one cannot be read, and where all together are not what was written.
    """
    rows = connection.execute(_ALL_INTENTS, owner.key()).all()
    found = tuple(map(_decode_journal_entry, rows))
    sealed.check_seal(connection, JOURNAL, owner, rows)
    return found


def load_readable_journal(connection: Connection, owner: Owner) -> Iterator[JournalEntry]:
    """Yield what is written down; a damaged row is left out."""
    for row in connection.execute(_ALL_INTENTS, owner.key()).all():
        with suppress(StoreError):
            yield _decode_journal_entry(row)


def has_open_intent(connection: Connection, owner: Owner, run: str) -> bool:
    """Whether the run has an intent that has not ended."""
    query = f"SELECT address FROM journal WHERE {sealed.OWNED} AND run = :run AND ending = :open LIMIT 1"
    return connection.execute(query, {**owner.key(), "run": run, "open": _OPEN}).first() is not None


def remove_journal(seals: Seals, run: str) -> None:
    """Forget what the run wrote down."""
    seals.replace(JOURNAL, gone=[{"run": run}])


def _intent_row(intent: Intent, ids: Mapping[str, str]) -> dict[str, object]:
    return {
        "workspace_id": ids.get(intent.address.workspace, UNKNOWN_ID),
        "address": str(intent.address),
        "action": intent.action,
        "remote_id": intent.remote_id,
        "parent_id": intent.parent_id,
        "at": intent.at,
        "until": intent.until,
    }


def _decode_journal_entry(row: Row) -> JournalEntry:
    named, ending_, *texts = _journal_columns(row)
    address = decode_address(named, what="its intent names no address")
    for text in texts:
        if not isinstance(text, str):
            raise_corrupt_record(address, "a text of its intent is missing")
    try:
        ending: Ending = msgspec.convert(ending_, Ending)
    except msgspec.ValidationError:
        raise_corrupt_record(address, "the ending of its intent is not one")
    run, action, at, until, remote_id, parent_id, workspace_id = texts
    intent = Intent(address, action, at, until, remote_id, parent_id)
    return JournalEntry(run, intent, ending, workspace_id)
