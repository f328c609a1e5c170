"""What was done and is being done here: journal, progress, runs and audit. Rows in, values out.

    journal    intent before each call, ending after it; one row for each run and address, and a second try
               takes the place of the first
    runs       what a run will carry out and by whose consent, and how it ended
    audit      everything that was done, chained by hashes

What an open intent means after a crash is decided in core/runs/recover.py.
"""

import getpass
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

import msgspec
from msgspec import DecodeError, Struct, structs

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.runs.audit import (
    DamagedEntry,
    Verification,
    chain_entry,
    chain_start,
    encode_entry,
    find_fault_backwards,
    hash_entity,
    read_entry,
    verify_chain,
)
from reconciler.core.runs.recover import InterruptedRun
from reconciler.errors import CorruptRecord, StoreError
from reconciler.model.address import Address
from reconciler.model.automation import Counted, Pause, Question
from reconciler.model.encoding import decode_json, encode_json
from reconciler.model.plans import ACTION_WORDS, PLAN_VERSION, Consent, Create, Plan
from reconciler.model.runs import (
    UNKNOWN_ID,
    AuditEntry,
    AuditEvent,
    Context,
    Ending,
    Head,
    Intent,
    JournalEntry,
    Outcome,
    Run,
    Running,
)
from reconciler.model.snapshots import MovedAlias
from reconciler.store import sealed_tables
from reconciler.store.adapter import Connection, Row
from reconciler.store.records import Batch, decode_address, raise_corrupt_record
from reconciler.store.schema import AUDIT, JOURNAL, RUNS
from reconciler.store.sealed_tables import Owner, Seal, Seals

_OPEN = ""
_OLDEST_FIRST = "ORDER BY at, run, address"
_ALL_INTENTS = f"{sealed_tables.rows_query(JOURNAL)} {_OLDEST_FIRST}"
_journal_columns = sealed_tables.pick_columns(
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
    others = f"{sealed_tables.rows_query(JOURNAL)} AND run <> :run AND ending = :open {_OLDEST_FIRST}"
    of_others = {**seals.owner.key(), "run": run, "open": _OPEN}
    for entry in map(_decode_journal_entry, seals.connection.execute(others, of_others)):
        address = entry.intent.address
        # Those of one run are named as it named them; without a run the present aliases are used.
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
    sealed_tables.check_seal(connection, JOURNAL, owner, rows)
    return found


def load_readable_journal(connection: Connection, owner: Owner) -> Iterator[JournalEntry]:
    """Yield what is written down; a damaged row is left out."""
    for row in connection.execute(_ALL_INTENTS, owner.key()).all():
        with suppress(StoreError):
            yield _decode_journal_entry(row)


def has_open_intent(connection: Connection, owner: Owner, run: str) -> bool:
    """Whether the run has an intent that has not ended."""
    query = (
        f"SELECT address FROM journal WHERE {sealed_tables.OWNED} AND run = :run AND ending = :open LIMIT 1"
    )
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
        raise_corrupt_record(address, "the outcome of its intent is unknown")
    run, action, at, until, remote_id, parent_id, workspace_id = texts
    intent = Intent(address, action, at, until, remote_id, parent_id)
    return JournalEntry(run, intent, ending, workspace_id)


# --- Progress of the run that holds the lock --------------------------------------------------------------
#
# Counting is cheap enough for a caller that asks every second.


# The key under which a run that has begun keeps the number of its changes, until it ends.
PLANNED = "planned"


def count_progress(connection: Connection, owner: Owner, running: Running) -> Running:
    """Return the same run with its command and its counts, as far as it has written any down."""
    mine = {**owner.key(), "run": running.run}
    query = f"SELECT command, outcome, counts FROM runs WHERE {sealed_tables.OWNED} AND run = :run"
    row = connection.execute(query, mine).one_or_none()
    if row is None:
        return running
    command, outcome, text = row
    counts = decode_counts(str(text))
    # A run that has ended counts more than changes: how many it saw twice.
    of_changes = sum(
        number for word, number in counts.items() if word.partition(" ")[0] in ACTION_WORDS.values()
    )
    ended_rows = f"SELECT count(*) FROM journal WHERE {sealed_tables.OWNED} AND run = :run AND ending <> ''"
    ended = of_changes if outcome else int(connection.execute(ended_rows, mine).scalar())
    changes = ended if outcome else counts.get(PLANNED)
    return Running(running.run, running.holder, running.since, str(command), ended, changes)


def decode_counts(text: str) -> dict[str, int]:
    """Return the counts of a run as they are stored; none where they cannot be read."""
    try:
        return decode_json(text, dict[str, int])
    except (DecodeError, ValueError):
        return {}  # a number that cannot be read is no reason to fail


# --- Runs, and plans that were used -----------------------------------------------------------------------
#
# Who applied what, when, and how it ended. The plan of a run is kept from its beginning until nothing of it
# is left to do or to settle.


# Not by time: two runs may begin within a second, and a clock may be put back.
_ALL_RUNS = f"{sealed_tables.rows_query(RUNS)} ORDER BY number, started_at, run"
_run_columns = sealed_tables.pick_columns(RUNS, "run", "outcome", "plan", "command", "started_at", "consent")
_NOTHING_LEFT = {"plan": "", "consent": ""}
WHOLE = "whole"  # among the counts of a run whose plan covered everything
_SEEN = "seen "  # how the words of `Run.seen` begin among the counts of a run


class LastLook(msgspec.Struct, frozen=True):
    """What a run has seen: how many entities are live `twice`, and how many are `ambiguous`."""

    run: str
    ended_at: str
    seen: Mapping[str, int]


def record_run_begin(
    seals: Seals, author: "Author", plan: Plan, consent: Consent, *, started_at: str
) -> None:
    """Record that the run of `author` begins to carry out a plan. A run that never ends has no outcome."""
    last = f"SELECT max(number) FROM runs WHERE {sealed_tables.OWNED}"
    number = seals.connection.execute(last, seals.owner.key()).scalar() or 0
    if not isinstance(number, int):
        sealed_tables.raise_damaged_table(RUNS, seals.owner, "the number of a run cannot be read")
    row = {
        **seals.owner.key(),
        "run": author.run,
        "number": number + 1,
        "command": author.command,
        "fingerprint": plan.fingerprint,
        "started_at": started_at,
        "ended_at": "",
        "outcome": "",
        "exit_code": 0,
        "counts": encode_json({PLANNED: len(plan.changes)}).decode(),
        "who": author.who,
        "context": encode_json(author.context).decode(),
        "plan": encode_json(plan).decode(),
        "consent": encode_json(consent).decode(),
    }
    seals.replace(RUNS, come=[row])


def record_run_end(seals: Seals, run: Run, *, whole: bool) -> None:
    """Write down how a run ended: how many changes ended in which way, and no person's data.

    `whole`: its plan covered everything. Its intents and its plan go, unless something is in doubt or was not
    attempted: then it can be resumed.
    """
    values = {
        "ended_at": run.ended_at,
        "outcome": run.outcome,
        "exit_code": run.exit_code,
        "counts": encode_json({**count_outcomes(run), **({WHOLE: 1} if whole else {})}).decode(),
    }
    seals.change(RUNS, {"run": run.run}, values)
    if run.count("not attempted") == 0:
        _forget_finished(seals, run.run)


def record_run_closed(seals: Seals, run: str, *, outcome: str, ended_at: str) -> None:
    """Close an unfinished run: it is not resumed. Its own outcome stays, where it recorded one.

    Its intents and its plan go, unless something is still in doubt.
    """
    seals.change(RUNS, {"run": run, "outcome": ""}, {"outcome": outcome, "ended_at": ended_at})
    _forget_finished(seals, run)


def load_unfinished_runs(connection: Connection, owner: Owner) -> tuple[InterruptedRun, ...]:
    """Return the runs that have not ended, or left something in doubt or not attempted; oldest first.

    Raises CorruptRecord.
    """
    rows = connection.execute(_ALL_RUNS, owner.key()).all()
    sealed_tables.check_seal(connection, RUNS, owner, rows)
    entries: dict[str, list[JournalEntry]] = {}
    for entry in load_journal(connection, owner):
        entries.setdefault(entry.run, []).append(entry)
    open_ = {run for run, written in entries.items() if any(entry.open for entry in written)}
    found = []
    for row in rows:
        run, outcome, plan, command, started_at, consent = _run_columns(row)
        if not outcome or plan or run in open_:
            texts = (str(run), str(command), str(started_at))
            written = tuple(entries.get(str(run), ()))
            found.append(
                InterruptedRun(
                    *texts, _decode_run_plan(str(plan)), _decode_run_consent(str(consent)), written
                )
            )
    return tuple(found)


def count_outcomes(run: Run) -> Mapping[str, int]:
    """Return how many changes ended in which way, and what was seen twice: `create applied` -> 3."""
    found: dict[str, int] = {}
    for outcome in run.outcomes:
        key = f"{outcome.action} {outcome.result}"
        found[key] = found.get(key, 0) + 1
    return found | {f"{_SEEN}{word}": number for word, number in run.seen.items()}


def find_last_look(connection: Connection, owner: Owner, word: str = "") -> LastLook | None:
    """Return what the last run saw that looked, and ended; None where there is none.

    With `word` the last one that saw something whose word begins with it. Raises CorruptRecord.
    """
    query = (
        f"SELECT run, ended_at, counts FROM runs WHERE {sealed_tables.OWNED} AND counts LIKE :seen ESCAPE '/'"
    )
    last = "ORDER BY number DESC LIMIT 1"
    seen_word = re.sub("[/%_]", r"/\g<0>", f'"{_SEEN}{word}')
    row = connection.execute(f"{query} {last}", {**owner.key(), "seen": f"%{seen_word}%"}).first()
    if row is None:
        return None
    run, ended_at, text = row
    try:
        known = decode_json(str(text), dict[str, int])
    except (msgspec.DecodeError, ValueError):
        raise_corrupt_record(run, "its counts cannot be read")
    seen = {word.removeprefix(_SEEN): number for word, number in known.items() if word.startswith(_SEEN)}
    return LastLook(str(run), str(ended_at), seen)


def mark_plan_used(connection: Connection, *, salt: str, run: str, used_at: str) -> bool:
    """Whether this plan, known by its salt, is carried out for the first time. From now on it is used."""
    new = connection.execute(
        "INSERT INTO plans_used (salt, run, used_at) VALUES (:salt, :run, :used_at) "
        "ON CONFLICT (salt) DO NOTHING",
        {"salt": salt, "run": run, "used_at": used_at},
    )
    return new.rowcount == 1


def _forget_finished(seals: Seals, run: str) -> None:
    if has_open_intent(seals.connection, seals.owner, run):
        return
    remove_journal(seals, run)
    seals.change(RUNS, {"run": run}, _NOTHING_LEFT)


def _decode_run_plan(text: str) -> Plan | None:
    """Return the plan that was saved, unchanged; None for one of another version."""
    try:
        plan = decode_json(text, Plan)
    except (msgspec.DecodeError, ValueError):
        return None
    known = plan.version == PLAN_VERSION and plan.fingerprint == fingerprint(plan)
    return plan if known else None


def _decode_run_consent(text: str) -> Consent:
    try:
        return decode_json(text, Consent)
    except (msgspec.DecodeError, ValueError):
        return Consent()  # nothing was agreed to: the guard asks again


# --- The audit --------------------------------------------------------------------------------------------
#
# Entries are added at the end of the chain of one origin and stack, and read again: no statement here changes
# or removes a row. How entries are tied together, and whether they still are, is core/runs/audit.py.


_AUDIT_HEAD = f"SELECT number, hash FROM audit WHERE {sealed_tables.OWNED} ORDER BY number DESC LIMIT 1"


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

    def change_entry(self, at: str, change: Outcome) -> AuditEntry:
        """Return the entry about how a change ended."""
        entry = self.entry("changed", at, outcome=change.result)
        return self._add_subject(entry, change.address, change.action)

    def leave_entry(self, at: str, address: Address) -> AuditEntry:
        """Return the entry about what is ours no longer and stays at the service."""
        return self._add_subject(self.entry("changed", at, outcome="applied"), address, "forget")

    def settle_entry(self, at: str, known: JournalEntry) -> AuditEntry:
        """Return the entry about what became of an intent of an earlier run."""
        entry = self.entry("settled", at, run=known.run, outcome=known.ending)
        return self._add_subject(entry, known.intent.address, known.intent.action)

    def rename_entry(self, at: str, moved: MovedAlias) -> AuditEntry:
        """Return the entry about a workspace that has another alias than before."""
        entry = structs.replace(self.entry("renamed", at), workspace=moved.now, before=moved.before)
        return structs.replace(entry, counts={"records": moved.records})

    def move_entry(self, at: str, origin: str, records: int) -> AuditEntry:
        """Return the entry about records that came from another address, or (below 0) went to one."""
        entry = structs.replace(self.entry("moved", at), before=origin)
        return structs.replace(entry, counts={"records": records})

    def pause_entry(self, at: str, pause: Pause | None) -> AuditEntry:
        """Return the entry about a pause that begins, or (None) about one that somebody ended."""
        if pause is None:
            return self.entry("unpaused", at)
        return structs.replace(self.entry("paused", at), until=pause.until, reason=pause.reason)

    def ask_entry(self, at: str, asked: Question, before: str) -> AuditEntry:
        """Return the entry about a question; `before` is the id of the one whose place it takes, or ""."""
        entry = structs.replace(self.entry("asked", at), question=asked.question, before=before)
        return structs.replace(
            entry,
            commit=asked.commit,
            fingerprint=asked.fingerprint,
            counts=asked.counts,
            until=asked.expires_at,
        )

    def answer_entry(self, at: str, counted: Counted) -> AuditEntry:
        """Return the entry about a reply: one that counts, or one that does not and why."""
        entry = self.entry("answered" if counted.answer else "rejected", at, outcome=counted.word)
        question = counted.question
        return structs.replace(
            entry,
            who=counted.approver or entry.who,
            action=counted.how,
            question=question.question if question else "",
            fingerprint=question.fingerprint if question else "",
        )

    def _add_subject(self, entry: AuditEntry, address: Address, action: str) -> AuditEntry:
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
    # Only one transaction writes at a time, so no other entry is chained to the same end.
    entries = tuple(entries)
    if not entries:
        return
    owner = seals.owner
    held = _check_audit_head(seals.connection, owner, seals.of(AUDIT)) or chain_start(
        owner.origin, owner.stack
    )
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
    return _check_audit_head(connection, owner, sealed_tables.read_seal(connection, AUDIT, owner))


def _check_audit_head(connection: Connection, owner: Owner, seal: Seal) -> Head | None:
    row = connection.execute(_AUDIT_HEAD, owner.key()).one_or_none()
    found = Seal() if row is None else Seal(*row)
    if found != seal:
        raise CorruptRecord(
            f"the store's history is damaged for stack {owner.stack}: its last entry is not the last one "
            "that was written.",
            next="find the first damaged entry with reconciler history --verify, then restore the store from "
            "a copy",
        )
    return Head(found.number, found.digest) if row is not None else None


def verify_audit(connection: Connection, owner: Owner, anchor: Head | None, *, start: Head) -> Verification:
    """Return how far the chain holds, to the end that it had when it was last written.

    Its seal has that end. A program that can write the store can change both: only an anchor shows that.
    """
    found = verify_chain(stream_audit(connection, owner), anchor, start=start)
    seal = sealed_tables.read_seal(connection, AUDIT, owner)
    end = found.head or Head(0, "")
    if found.broken_at or (end.number, end.hash) == (seal.number, seal.digest):
        return found
    number = found.entries + 1
    what = f"entry {number} is missing or extra: {seal.number} were written."
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
        next="reconciler history --verify shows the first damaged entry",
    )


def stream_audit(connection: Connection, owner: Owner) -> Iterator[AuditEntry | DamagedEntry]:
    """Yield every line from the first on, as it is stored; not all of them at once."""
    return map(_decode_audit_entry, connection.stream(_audit_query(connection), owner.key()))


def _audit_query(connection: Connection) -> str:
    # Text as its bytes: what is no text any more has to be seen as damage, not end the look.
    encode_entry, digest = map(connection.text_as_bytes, ("body", "hash"))
    return f"SELECT number, {encode_entry}, {digest} FROM audit WHERE {sealed_tables.OWNED} ORDER BY number"


def _decode_audit_entry(row: Row) -> AuditEntry | DamagedEntry:
    number, text, digest = row
    return read_entry(number if isinstance(number, int) else 0, text or b"", digest or b"")
