"""The audit's rows: entries added at the end of the chain of one origin and stack, and read again.

Only ever added to: no statement here changes or removes a row. How entries are tied together, and
whether they still are, is core/runs/audit.py.
"""

import getpass
import socket
from collections.abc import Iterable
from collections.abc import Iterator
from msgspec import Struct
from msgspec import structs
from reconciler.core.runs.audit import DamagedEntry
from reconciler.core.runs.audit import Verification
from reconciler.core.runs.audit import chain_entry
from reconciler.core.runs.audit import chain_start
from reconciler.core.runs.audit import encode_entry
from reconciler.core.runs.audit import find_fault_backwards
from reconciler.core.runs.audit import hash_entity
from reconciler.core.runs.audit import read_entry
from reconciler.core.runs.audit import verify_chain
from reconciler.errors import CorruptRecord
from reconciler.model.address import Address
from reconciler.model.runs import AuditEntry
from reconciler.model.runs import AuditEvent
from reconciler.model.runs import Context
from reconciler.model.runs import Head
from reconciler.model.runs import JournalEntry
from reconciler.model.runs import Outcome
from reconciler.model.snapshots import MovedAlias
from reconciler.store.engines import sealed
from reconciler.store.engines.adapter import Connection
from reconciler.store.engines.adapter import Row
from reconciler.store.engines.schema import AUDIT
from reconciler.store.engines.sealed import Seal
from reconciler.store.engines.sealed import Seals
from reconciler.store.owner import Owner





_AUDIT_HEAD = f"SELECT number, hash FROM audit WHERE {sealed.OWNED} ORDER BY number DESC LIMIT 1"


class Author(Struct, frozen=True):
    """Who writes into the audit, and for which run: what each of its entries begins with.

    `salt` keys the hashes that stand for people.
    """

    salt: str
    who: str
    run: str = ""
    command: str = ""
    fingerprint: str = ""
    context: Context = Context()

    def entry(self, event: AuditEvent, at: str, *, run: str = "", outcome: str = "") -> AuditEntry:
        """Return an entry about a run: this one, where no other is given."""
        own = run in ("", self.run)
        return AuditEntry(
            number=0,
            at=at,
            event=event,
            run=run or self.run,
            who=self.who,
            command=self.command,
            commit=self.context.commit,
            trace_id=self.context.trace_id,
            program=self.context.program,
            fingerprint=self.fingerprint if own else "",
            outcome=outcome,
        )

    def changed(self, at: str, change: Outcome) -> AuditEntry:
        """Return the entry about how a change ended."""
        entry = self.entry("changed", at, outcome=change.result)
        return self._about(entry, change.address, change.action)

    def left(self, at: str, address: Address) -> AuditEntry:
        """Return the entry about what is ours no longer and stays at the service."""
        return self._about(self.entry("changed", at, outcome="applied"), address, "forget")

    def settled(self, at: str, known: JournalEntry) -> AuditEntry:
        """Return the entry about what became of an intent of an earlier run."""
        entry = self.entry("settled", at, run=known.run, outcome=known.ending)
        return self._about(entry, known.intent.address, known.intent.action)

    def renamed(self, at: str, moved: MovedAlias) -> AuditEntry:
        """Return the entry about a workspace that has another alias than before."""
        entry = structs.replace(self.entry("renamed", at), workspace=moved.now, before=moved.before)
        return structs.replace(entry, counts={"records": moved.records})

    def record_move(self, at: str, origin: str, records: int) -> AuditEntry:
        """Return the entry about records that came from another address, or (below 0) went to one."""
        entry = structs.replace(self.entry("moved", at), before=origin)
        return structs.replace(entry, counts={"records": records})

    def _about(self, entry: AuditEntry, address: Address, action: str) -> AuditEntry:
        return structs.replace(
            entry,
            entity=hash_entity(self.salt, address),
            kind=address.kind,
            workspace=address.workspace,
            action=action,
        )


def name_operator() -> str:
    """Return who runs this program, and where: `jane on build-7`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "somebody"  # a container may run under a number without a name
    # A name of the system may hold bytes that are no text; an entry could not be written with them.
    return f"{user} on {socket.gethostname()}".encode(errors="replace").decode()


def append_audit(seals: Seals, entries: Iterable[AuditEntry]) -> None:
    """Add the entries at the end of the chain, in their order; their numbers and hashes are made here."""
    # Only one transaction writes at a time, so nobody else ties an entry to the same end.
    entries = tuple(entries)
    if not entries:
        return
    owner = seals.owner
    held = _check_audit_head(seals.connection, owner, seals.of(AUDIT)) or chain_start(owner.origin, owner.stack)
    rows = []
    for entry in entries:
        tied = chain_entry(entry, held)
        held = Head(tied.number, tied.hash)
        text = encode_entry(tied).decode()
        rows.append({**owner.key(), "number": tied.number, "body": text, "hash": tied.hash})
    seals.connection.execute_many(AUDIT.insert, rows)
    seals.put(AUDIT, Seal(held.number, held.hash))


def read_audit_head(connection: Connection, owner: Owner) -> Head | None:
    """Return the end of the chain, or None where nothing was ever done.

    Raises CorruptRecord where it is not the end that was written.
    """
    return _check_audit_head(connection, owner, sealed.read_seal(connection, AUDIT, owner))


def _check_audit_head(connection: Connection, owner: Owner, seal: Seal) -> Head | None:
    row = connection.execute(_AUDIT_HEAD, owner.key()).one_or_none()
    found = Seal() if row is None else Seal(*row)
    if found != seal:
        raise CorruptRecord(
            f"the store's history is damaged for stack {owner.stack}: it does not end where it did.",
            next="reconciler history --verify says how far it holds; then restore the store from a copy",
        )
    return Head(found.number, found.digest) if row is not None else None


def verify_audit(connection: Connection, owner: Owner, anchor: Head | None, *, start: Head) -> Verification:
    """Return how far the chain holds, to the end that it had when it was last written.

    Its seal tells that end. Whoever can write the store can change both: only an anchor finds that.
    """
    found = verify_chain(stream_audit(connection, owner), anchor, start=start)
    seal = sealed.read_seal(connection, AUDIT, owner)
    end = found.head or Head(0, "")
    if found.broken_at or (end.number, end.hash) == (seal.number, seal.digest):
        return found
    number = found.entries + 1
    what = f"entry {number} is missing, or too many: {seal.number} were written."
    return structs.replace(found, broken_at=number, what=what)


def load_history(connection: Connection, owner: Owner, *, limit: int, run: str) -> tuple[AuditEntry, ...]:
    """Return the last `limit` entries, newest last; only those of the runs whose id begins with `run`.

    Raises CorruptRecord where one that was looked at is not as it was written, or is missing.
    """
    start = chain_start(owner.origin, owner.stack)
    found: list[AuditEntry] = []
    held = (read_audit_head(connection, owner) or start) if limit > 0 else start
    for row in connection.stream(f"{_audit_query(connection)} DESC", owner.key()):
        if len(found) >= limit:
            break
        entry = _decode_audit_entry(row)
        what = find_fault_backwards(entry, held)
        if what or isinstance(entry, DamagedEntry):
            raise _damaged_entry(entry.number, what)
        held = Head(entry.number - 1, entry.previous)
        if entry.run.startswith(run):
            found.append(entry)
    if len(found) < limit and held != start:  # no row is left, and the last one was not the first entry
        raise _damaged_entry(held.number, "it is missing")
    return tuple(reversed(found))


def _damaged_entry(number: int, what: str) -> CorruptRecord:
    return CorruptRecord(
        f"entry {number} of the store's history is damaged: {what}.",
        next="reconciler history --verify says from where on it does not hold",
    )


def stream_audit(connection: Connection, owner: Owner) -> Iterator[AuditEntry | DamagedEntry]:
    """Yield every line from the first on, as it is stored; not all of them at once."""
    return map(_decode_audit_entry, connection.stream(_audit_query(connection), owner.key()))


def _audit_query(connection: Connection) -> str:
    # Text as its bytes: what is no text any more has to be seen as damage, not end the look.
    body, digest = map(connection.text_as_bytes, ("body", "hash"))
    return f"SELECT number, {body}, {digest} FROM audit WHERE {sealed.OWNED} ORDER BY number"


def _decode_audit_entry(row: Row) -> AuditEntry | DamagedEntry:
    number, text, digest = row
    return read_entry(number if isinstance(number, int) else 0, text or b"", digest or b"")
