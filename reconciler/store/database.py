"""The store as one thing: what we own, what is about to be sent, who writes, who wrote what.

Losing it never makes a duplicate: whether something exists is asked of the service, before every
create. It holds no secret (values arrive masked), and people's data, so its file is private.
Each method is one transaction: after a crash at any point all of it is there, or none.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from msgspec import structs

from reconciler.concurrency import time_limit
from reconciler.core.digests import keyed_digest
from reconciler.core.runs.audit import Verification, chain_start, hash_entity, verify_chain
from reconciler.core.runs.kept_undo import RunToUndo
from reconciler.core.runs.recover import InterruptedRun, RunStatus
from reconciler.core.views.status import StackRows
from reconciler.errors import LockHeld, StoreError
from reconciler.model.address import Address
from reconciler.model.automation import (
    LIVE_STATES,
    Approvals,
    Counted,
    Pause,
    Question,
    SyncResult,
    Told,
)
from reconciler.model.encoding import encode_json
from reconciler.model.plans import Consent, LastWrite, Plan, Workspace, action_of
from reconciler.model.runs import AuditEntry, Context, Head, Run, Running
from reconciler.model.snapshots import DeletedEntity, MovedAlias, Proofs, Recorded, RecordedEntity
from reconciler.store import automation, history, locks, records, sealed_tables, undos
from reconciler.store.adapter import Connection
from reconciler.store.connection import Database, open_database
from reconciler.store.locks import (
    Holder,
    Lock,
    find_live_holder,
    force_unlock,
    lease_s,
    read_lock_holder,
    read_running,
)
from reconciler.store.records import Batch, RecordsMoved
from reconciler.store.schema import (
    ANSWERS,
    ENTITIES,
    JOURNAL,
    PAUSES,
    QUESTIONS,
    RUNS,
    UNDOS,
    WORKSPACES,
    Table,
)
from reconciler.store.sealed_tables import Owner, Seals, write_sealed
from reconciler.store.status_rows import load_status_rows

if TYPE_CHECKING:
    from reconciler.store.shared_files import SharedFiles
    from reconciler.store.shared_pace import SharedPace


T = TypeVar("T")

Workspaces = tuple[Workspace, ...]


class Store:
    """What one origin and stack own and remember. Everything it cannot do is a StoreError.

    May be used from several threads: each statement has a connection of its own.
    """

    def __init__(
        self,
        database: Database,
        owner: Owner,
        *,
        now: Callable[[], datetime],
        token: Callable[[], str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._owner = owner
        self._now = now
        self._token = token
        self._monotonic = monotonic
        self._author = history.Author(database.salt, history.name_operator())
        self._named_ids: dict[str, str] = {}  # workspaces of which it is known that an alias is written down

    @classmethod
    def open(
        cls,
        url: str,
        *,
        origin: str,
        stack: str,
        now: Callable[[], datetime],
        token: Callable[[], str],
        monotonic: Callable[[], float] = time.monotonic,
        root: str = "",
        create: bool = True,
    ) -> Self:
        """Open the store that `url` names, and make it where needed.

        `sqlite:///path`, relative to `root`, or `postgresql://user@host/database` (docs/settings.md).
        With `create=False` nothing is made and nothing can be written; a store that does not exist
        is empty. `token` gives random text, `monotonic` seconds from any zero. Raises SettingsError,
        StoreError.
        """
        database = open_database(url, root=root, create=create, token=token, now=now)
        return cls(database, Owner(origin, stack), now=now, token=token, monotonic=monotonic)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def give_up(self, silence: StoreError) -> None:
        """Ask nothing more of a store that does not answer: everything from now on raises `silence`."""
        self._database.give_up(silence)

    @property
    def shared(self) -> bool:
        """Whether other machines use this store too."""
        return self._database.shared

    @property
    def product(self) -> str:
        """What people call the database that the store lies in: SQLite, PostgreSQL."""
        return self._database.product

    @property
    def salt(self) -> str:
        """The key of the digests that stand for secrets here; empty for a store that does not exist."""
        return self._database.salt

    @property
    def doubtful(self) -> str:
        """Why what was written to this store may be missing from it, or ""."""
        return self._database.doubtful

    def doubt(self, why: str) -> None:
        """Say why what was written to the store that was here may be missing from this one."""
        self._database.doubtful = self._database.doubtful or why

    def accept(self) -> None:
        """Go on with a store that is doubtful: whatever is missing from it can land no more."""
        self._database.accept()

    def now(self) -> datetime:
        """Return the store's time, in UTC: that of the server, which all who share it agree on."""
        if self._empty or not self.shared:
            return self._now()
        with self._database.reading() as connection:
            return self._database.now(connection)

    def recorded(
        self, workspaces: Workspaces, *, at: str = "", addresses: Mapping[Address, bytes] | None = None
    ) -> Recorded:
        """Return what is recorded for these workspaces, by their ids, whatever aliases they had.

        With `at`, what is recorded for this stack at another address of a service. With `addresses`,
        `entities` are the records of these alone, each of which has this digest (`record_digests`; b"": there
        is no record); the rest is as without. Raises CorruptRecord, naming the address, and RecordsMoved
        where a record has another digest: reading all of them tells a write from damage.
        """
        if at:
            elsewhere = Owner(at, self._owner.stack)
            opened = type(self)(
                self._database, elsewhere, now=self._now, token=self._token, monotonic=self._monotonic
            )
            return opened.recorded(workspaces)
        if self._empty:
            if any((addresses or {}).values()):
                raise RecordsMoved
            return Recorded({}, unapplied=frozenset(one.alias for one in workspaces))
        with self._database.reading() as connection:
            ids = _ids(workspaces)
            if addresses is None:
                entities = records.load_records(connection, self._owner, ids)
            else:
                entities = records.load_some_records(connection, self._owner, ids, addresses)
            written = history.load_journal(connection, self._owner)
            doubts = history.find_doubts(written, ids)
            writer = (
                find_live_holder(connection, self._owner, now=self._database.now(connection))
                if doubts
                else None
            )
            under_way = history.find_open_creates(written, writer.run, ids) if writer else frozenset()
            known = records.load_password_digests(connection, self._owner, ids)
            aliases, unapplied = self._moved_aliases(connection, ids), self._unapplied(connection, ids)
            left = records.load_elsewhere_records(connection, self._owner, ids)
            shared = records.find_shared_records(connection, self._owner, ids)
        return Recorded(
            entities,
            salt=self.salt,
            doubts=doubts,
            under_way=under_way,
            proofs=known,
            aliases=aliases,
            unapplied=unapplied,
            elsewhere=left,
            shared=shared,
        )

    def record_digests(
        self, workspaces: Workspaces, *, known: Mapping[Address, bytes] | None = None, since: str = ""
    ) -> Mapping[Address, bytes]:
        """Return the digest of each record in these workspaces, by address: 16 bytes, of the whole row.

        Every row of the store is read and compared with the seal, and none is decoded. While `state` is what
        it was, these are what they were; another state says that something was recorded, not what. With
        `known`, which these were when `last_written` was `since`, only rows that were written from then on
        are read, where they and the others make the seal. Raises CorruptRecord.
        """
        ids, nothing = _ids(workspaces), dict[Address, bytes]()

        def read(connection: Connection) -> Mapping[Address, bytes]:
            found = None
            if known is not None and since:
                found = records.digest_written_records(connection, self._owner, ids, known, since)
            return records.digest_records(connection, self._owner, ids) if found is None else found

        return self._read(read, nothing)

    def last_written(self) -> str:
        """Return when a record was written last, by the clock of who wrote it; "" where there is none."""
        return self._read(lambda connection: records.find_last_written(connection, self._owner), "")

    def _moved_aliases(self, connection: Connection, ids: Mapping[str, str]) -> dict[str, MovedAlias]:
        """Return which of these workspaces (alias -> id) had another alias before, by id."""
        last = records.last_aliases(records.load_aliases(connection, self._owner))
        moved = {one: alias for alias, one in ids.items() if last.get(one, alias) != alias}
        owned = records.count_records(connection, self._owner) if moved else {}
        return {one: MovedAlias(last[one], alias, owned.get(one, 0)) for one, alias in moved.items()}

    def _unapplied(self, connection: Connection, ids: Mapping[str, str]) -> frozenset[str]:
        """Return the aliases of those that were never applied here, and of which nothing is recorded."""
        known = {one.id for one in records.load_aliases(connection, self._owner) if one.applied}
        known |= records.count_records(connection, self._owner).keys()
        return frozenset(alias for alias, workspace_id in ids.items() if workspace_id not in known)

    def deleted(self, workspaces: Workspaces) -> tuple[DeletedEntity, ...]:
        """Return what runs of this store deleted in these workspaces within 90 days, oldest first."""
        ids, now = _ids(workspaces), self._now()
        return self._read(lambda connection: records.load_deleted(connection, self._owner, ids, now=now), ())

    def state(self) -> str:
        """Return what changes with everything that is recorded here; "" where nothing is, or it is doubtful.

        Of the seals alone: whether the rows are those that were sealed is looked at where they are read.
        """
        unsealed: dict[str, sealed_tables.Seal] = {}
        seals = self._read(lambda connection: sealed_tables.read_seals(connection, self._owner), unsealed)
        told = encode_json([self.salt, sorted(seals.items())])
        return sha256(told).hexdigest() if seals and not self._database.doubtful else ""

    def record(self, batches: Iterable[Batch], workspaces: Workspaces, *, lock: Lock | None = None) -> None:
        """Carry out several batches in one transaction: all of them are durable afterwards, or none.

        With `lock`, nothing is kept and LockHeld is raised where it is not ours any more: an intent that
        was kept may be sent. Outcomes and what is settled of earlier runs are added to the audit.
        """
        batches = tuple(batches)
        self._write(lambda seals: self._record(seals, batches, workspaces, lock))

    def _record(
        self, seals: Seals, batches: tuple[Batch, ...], workspaces: Workspaces, lock: Lock | None
    ) -> Mapping[Address, bytes]:
        if lock is not None:
            lock.check_in(seals.connection)
        run, at = self._author.run, self._moment()
        ids, counter = _ids(workspaces), lock.counter if lock is not None else 0
        if not ids.items() <= self._named_ids.items():
            records.note_aliases(seals, _unnamed(seals, ids))
            self._named_ids |= ids
        written = records.write_records(seals, batches, ids=ids, stamp={"updated_at": at, "run": run})
        history.write_journal(seals, run, batches, ids=ids, counter=counter)
        settled = history.settle_intents(seals, run, batches, ids=ids)
        ended = [outcome for batch in batches for outcome in batch.ended]
        known = {address: told for batch in batches for address, told in batch.identities.items()}
        records.note_deleted(
            seals.connection,
            self._owner,
            ended,
            ids,
            run=run,
            now=self._now(),
            settled=settled,
            identities=known,
        )
        lines = [self._author.change_entry(at, outcome) for batch in batches for outcome in batch.ended]
        lines += [self._author.leave_entry(at, address) for batch in batches for address in batch.left]
        history.append_audit(seals, lines + [self._author.settle_entry(at, entry) for entry in settled])
        return written

    def remember(self, entities: Iterable[RecordedEntity], workspaces: Workspaces) -> Mapping[Address, bytes]:
        """Record these entities as ours, replacing what was recorded for their addresses.

        Return the digest of each record, as `record_digests` does.
        """
        batches = (Batch(remember=tuple(entities)),)
        return self._write(lambda seals: self._record(seals, batches, workspaces, None))

    def forget(self, addresses: Iterable[Address], workspaces: Workspaces) -> None:
        """Own these no longer."""
        self.record([Batch(forget=tuple(addresses))], workspaces)

    def leave(self, addresses: Iterable[Address], workspaces: Workspaces) -> None:
        """Own these no longer, though they are live, because they leave the manifests; the audit says so."""
        known = tuple(addresses)
        self.record([Batch(forget=known, left=known)], workspaces)

    def rename(self, names: Iterable[tuple[Address, Address]], workspaces: Workspaces) -> None:
        """Carry each record from its old address to its new one, replacing what was there."""
        self.record([Batch(renames=tuple(names))], workspaces)

    def company(self, at: str) -> str:
        """Return the id of the company that the service at an address was of, where it was asked; or ""."""
        return self._read(lambda connection: records.read_company(connection, at), "")

    def take_over(self, origin: str, workspaces: Workspaces, *, company: str = "") -> int:
        """Make what this stack recorded at another address ours; return how many records came.

        One transaction: records, intents, unfinished runs and aliases, and a line of both histories. What is
        recorded here already stays. Raises LockHeld where a run writes there.
        """
        before, at = Owner(origin, self._owner.stack), self._moment()

        def work(seals: Seals) -> int:
            now = self._database.now(seals.connection)
            if (writer := locks.find_live_holder(seals.connection, before, now=now)) is not None:
                raise LockHeld(
                    f"a run writes under {origin}: {writer.holder}.",
                    next="wait until it has ended, then run this again",
                )
            moved = records.take_over_records(seals, before, ids=_ids(workspaces), company=company)
            history.append_audit(seals, [self._author.move_entry(at, origin, moved)])
            line = self._author.move_entry(at, self._owner.origin, -moved)
            write_sealed(seals.connection, before, lambda theirs: history.append_audit(theirs, [line]))
            return moved

        return self._write(work)

    def prove(self, known: Proofs, workspaces: Workspaces) -> None:
        """Keep these proofs of passwords, in the place of those that there are for these workspaces."""
        ids = _ids(workspaces)
        self._database.write(
            lambda connection: records.replace_password_digests(connection, self._owner, known, ids)
        )

    def begin(
        self, run: str, command: str, plan: Plan, consent: Consent, context: Context, *, question: str = ""
    ) -> None:
        """Record that a run is about to carry out `plan`; what is recorded from now on carries its name.

        `question` is the one that approved the plan, and is used up. Raises NotApproved, and records nothing,
        where it does not or was used before.
        """
        self._author = structs.replace(
            self._author, run=run, command=command, fingerprint=plan.fingerprint, context=context
        )
        author, started_at = self._author, self._moment()
        counts = Counter(action_of(change) for change in plan.changes)
        line = structs.replace(author.entry("began", started_at), counts=counts, question=question)
        ids = _ids(plan.target.workspaces)

        def work(seals: Seals) -> None:
            if question:
                now = self._database.now(seals.connection)
                automation.use_question(seals, question, fingerprint=plan.fingerprint, now=now)
            history.record_run_begin(seals, author, plan, consent, started_at=started_at)
            moved = self._moved_aliases(seals.connection, ids)
            records.note_aliases(seals, ids)
            moves = (self._author.rename_entry(started_at, one) for _, one in sorted(moved.items()))
            history.append_audit(seals, [line, *moves])

        self._write(work)

    def end(
        self, run: Run, whole: Workspaces = (), *, undo: Plan | None = None, undo_days: int | None = None
    ) -> None:
        """Record how a run ended. What was kept to resume it goes, where nothing is left to resume.

        `whole` are the workspaces that it has applied without a selection: from now on they are no new ones.
        `undo` is what undoes it. With `undo_days` it is kept for so many days, and older ones go.
        """
        text = encode_json(undo).decode() if undo is not None else ""
        line = self._author.entry("ended", self._moment(), run=run.run, outcome=run.outcome)
        line = structs.replace(line, counts=history.count_outcomes(run))

        def work(seals: Seals) -> None:
            history.record_run_end(seals, run, whole=bool(whole))
            records.note_aliases(seals, _ids(whole), applied=line.at)
            if undo_days is not None:
                now = self._database.now(seals.connection)
                undos.keep_undo(seals, run.run, text, now=now, days=undo_days)
            history.append_audit(seals, [line])

        self._write(work)

    def run_to_undo(self, named: str) -> RunToUndo:
        """Return what is known of the runs whose id begins with this text. Raises CorruptRecord."""
        return self._read(
            lambda connection: undos.find_run_to_undo(connection, self._owner, named), RunToUndo()
        )

    def unfinished(self) -> tuple[InterruptedRun, ...]:
        """Return the runs that have not ended, or left something in doubt or not attempted; oldest first.

        A run that is under way is among them: only the holder of the lock can tell them apart.
        """
        return self._read(lambda connection: history.load_unfinished_runs(connection, self._owner), ())

    def last_look(self, word: str = "") -> history.LastLook | None:
        """Return what the last run that looked for `word` saw; numbers only. Raises CorruptRecord."""
        return self._read(lambda connection: history.find_last_look(connection, self._owner, word), None)

    def running(self) -> Running | None:
        """Return the run that holds the lock and how far it is, whether or not it is alive; None if free."""
        if self._empty:
            return None
        with self._database.reading() as connection:
            found = read_lock_holder(connection, self._owner)
            return read_running(connection, self._owner, found) if found else None

    def standing(self) -> RunStatus:
        """Return the run that writes now, and what interrupted runs left.

        Both are of one moment: the run of a holder whose lease lives and whose process is not gone is under
        way, not left.
        """
        if self._empty:
            return RunStatus(None, ())
        with self._database.reading() as connection:
            writer = find_live_holder(connection, self._owner, now=self._database.now(connection))
            known = history.load_unfinished_runs(connection, self._owner)
            now = read_running(connection, self._owner, writer) if writer else None
        return RunStatus(now, tuple(one for one in known if now is None or one.run != now.run))

    def status_rows(self, *, everyone: bool = False) -> tuple[StackRows, ...]:
        """Return what `judge_stacks` judges, of this stack, or of every one that this store knows.

        This stack is always among them. No seal is compared: rows that cannot be read make their stack
        `damage`, and raise nothing.
        """
        mine = StackRows(self._owner.origin, self._owner.stack)
        if self._empty:
            return (mine,)
        with self._database.reading() as connection:
            now = self._database.now(connection)
            found = load_status_rows(connection, None if everyone else self._owner, now=now)
        known = {(one.origin, one.stack) for one in found}
        return found if (mine.origin, mine.stack) in known else (*found, mine)

    def close_run(self, run: str, outcome: str) -> None:
        """Close an unfinished run: it is not resumed."""
        at = self._moment()
        line = self._author.entry("settled", at, run=run, outcome=outcome)

        def work(seals: Seals) -> None:
            history.record_run_closed(seals, run, outcome=outcome, ended_at=at)
            history.append_audit(seals, [line])

        self._write(work)

    def head(self) -> Head | None:
        """Return the end of the audit's chain: kept elsewhere, it proves that nothing was cut off since."""
        return self._read(lambda connection: history.read_audit_head(connection, self._owner), None)

    def history(self, limit: int = 50, run: str = "") -> tuple[AuditEntry, ...]:
        """Return the last entries of the audit, newest last; of the runs whose id begins with `run`.

        Raises CorruptRecord for an entry that cannot be read.
        """
        return self._read(
            lambda connection: history.load_history(connection, self._owner, limit=limit, run=run), ()
        )

    def verify(self, anchor: Head | None) -> Verification:
        """Return how far the audit holds, and as a whole only with an `anchor` that was kept elsewhere."""
        start = chain_start(self._owner.origin, self._owner.stack)
        if self._empty:
            return verify_chain((), anchor, start=start)
        with self._database.reading() as connection:
            return history.verify_audit(connection, self._owner, anchor, start=start)

    def check_records(self) -> None:
        """Return where every page of the store, every record and every alias is as it was written.

        Damage where nothing is read today shows nowhere else. Raises StoreError, CorruptRecord.
        """
        self._read(lambda connection: self._check(connection, ENTITIES, WORKSPACES), None)

    def check_whole(self) -> None:
        """Return where the same is true of every other sealed row of this stack. Raises StoreError."""
        sealed = (ENTITIES, WORKSPACES, JOURNAL, RUNS, UNDOS, PAUSES, QUESTIONS, ANSWERS)
        self._read(lambda connection: self._check(connection, *sealed), None)
        self._read(lambda connection: records.check_elsewhere_records(connection, self._owner), None)
        self.holder()

    def _check(self, connection: Connection, *tables: Table) -> None:
        self._database.check_pages(connection)
        for table in tables:
            rows = connection.execute(sealed_tables.rows_query(table), self._owner.key())
            sealed_tables.check_seal(connection, table, self._owner, rows)

    def entity_hash(self, address: Address) -> str:
        """Return what stands for an address in the audit: 32 hexadecimal digits under this store's key."""
        return hash_entity(self.salt, address)

    def addresses(self) -> Mapping[str, Address]:
        """Return by `hash_entity` every address that is recorded, or that a run left unfinished has written.

        What is owned no longer is not among them: its hash is all that is kept.
        """
        if self._empty:
            return {}
        with self._database.reading() as connection:
            found = records.load_readable_aliases(connection, self._owner)
            last = records.last_aliases(found)
            known = [
                (one, address) for one, address in records.list_record_addresses(connection, self._owner)
            ]
            known += [
                (one.workspace_id, one.intent.address)
                for one in history.load_readable_journal(connection, self._owner)
            ]
        hashes: dict[str, Address] = {}
        for workspace_id, address in known:
            # The history names an entity by the alias that its workspace had then.
            now = address.in_workspace(last.get(workspace_id, address.workspace))
            former = {one.alias for one in found if one.id == workspace_id} or {address.workspace}
            hashes |= {self.entity_hash(address.in_workspace(alias)): now for alias in former}
        return hashes

    def workspaces(self) -> tuple[Workspace, ...]:
        """Return the workspaces that something is recorded in, where an alias has meant one alone so far."""
        if self._empty:
            return ()
        with self._database.reading() as connection:
            last = records.last_aliases(records.load_aliases(connection, self._owner))
            owned = records.count_records(connection, self._owner)
        aliases = Counter(last[one] for one in owned if one in last)
        found = (Workspace(last[one], one) for one in owned if one in last)
        return tuple(sorted(one for one in found if aliases[one.alias] == 1))

    def last_record_writes(
        self, addresses: Iterable[Address], workspaces: Workspaces
    ) -> Mapping[Address, LastWrite]:
        """Return the run that last wrote each of these records, and when; nothing for what has no record.

        A record is also written where nothing was sent, as for a new time of change: `history` says what was.
        """
        known, nothing = _ids(workspaces), dict[Address, LastWrite]()
        return self._read(
            lambda one: records.load_last_record_writes(one, self._owner, addresses, known), nothing
        )

    def use_plan(self, salt: str, run: str = "") -> bool:
        """Whether the plan with this salt is carried out for the first time: now it is used, by `run`."""
        run, at = run or self._author.run, self._moment()
        return self._database.write(
            lambda connection: history.mark_plan_used(connection, salt=salt, run=run, used_at=at)
        )

    # --- Automation: pauses, questions, what syncs found, what was told ---

    def pause(self, until: datetime, reason: str) -> Pause:
        """Let no `sync` of this stack write until then; return the pause, which replaces an earlier one."""

        def work(seals: Seals) -> Pause:
            since = self._database.now(seals.connection).isoformat(timespec="seconds")
            made = Pause(since, until.astimezone(UTC).isoformat(timespec="seconds"), reason, self._author.who)
            automation.write_pause(seals, made)
            history.append_audit(seals, [self._author.pause_entry(self._moment(), made)])
            return made

        return self._write(work)

    def unpause(self) -> Pause | None:
        """End the pause of this stack, and return it; None, and nothing is written, where there is none."""

        def work(seals: Seals) -> Pause | None:
            ended = self._find_pause(seals.connection)
            if ended is not None:
                automation.write_pause(seals, None)
                history.append_audit(seals, [self._author.pause_entry(self._moment(), None)])
            return ended

        return self._write(work)

    def paused(self) -> Pause | None:
        """Return the pause of this stack; None where there is none, or it is over. Raises CorruptRecord."""
        return self._read(self._find_pause, None)

    def _find_pause(self, connection: Connection) -> Pause | None:
        found = automation.load_pause(connection, self._owner)
        if found is None or datetime.fromisoformat(found.until) <= self._database.now(connection):
            return None
        return found

    def approvals(self) -> Approvals:
        """Return all questions of this stack that are known, and their answers. Raises CorruptRecord."""
        return self._read(lambda connection: automation.load_approvals(connection, self._owner), Approvals())

    def open_questions(self) -> tuple[Question, ...]:
        """Return the questions that can still be answered or used, oldest first. Raises CorruptRecord."""

        def read(connection: Connection) -> tuple[Question, ...]:
            now = self._database.now(connection)
            return tuple(
                one
                for one in automation.load_approvals(connection, self._owner).questions
                if one.state in LIVE_STATES and datetime.fromisoformat(one.expires_at) > now
            )

        return self._read(read, ())

    def ask_question(self, question: Question) -> Question:
        """Ask whether a plan may be carried out, unless that is asked already; return the question as it is.

        Every other question of this stack that could still be answered is superseded, in the same
        transaction: of two machines that ask at once, one does.
        """

        def work(seals: Seals) -> Question:
            known = automation.load_approvals(seals.connection, self._owner)
            now = self._database.now(seals.connection)
            automation.forget_old_questions(seals, known, now)
            live = [one for one in known.questions if one.state in LIVE_STATES]
            for one in live:
                if one.fingerprint == question.fingerprint and datetime.fromisoformat(one.expires_at) > now:
                    return one
            ended: list[Question] = [structs.replace(one, state="superseded") for one in live]
            automation.write_questions(seals, [*ended, question])
            before = ended[-1].question if ended else ""
            history.append_audit(seals, [self._author.ask_entry(self._moment(), question, before)])
            return question

        return self._write(work)

    def record_answer(self, count: Callable[[Approvals, datetime], Counted]) -> Counted:
        """Count a reply, a person's decision or the time: `count` gets all that is known, and the time.

        What it returns is written in the same transaction: of two replies at once each is counted knowing
        the other.
        """

        def work(seals: Seals) -> Counted:
            known = automation.load_approvals(seals.connection, self._owner)
            counted = count(known, self._database.now(seals.connection))
            if counted.question is not None and counted.question not in known.questions:
                automation.write_questions(seals, [counted.question])
            if counted.answer is not None:
                automation.add_answer(seals, counted.answer)
            if counted.recorded:
                history.append_audit(seals, [self._author.answer_entry(self._moment(), counted)])
            return counted

        return self._write(work)

    def record_sync(self, found: Iterable[SyncResult]) -> None:
        """Record what a `sync` found: of the stack, and of each workspace; what it found before goes."""
        results = tuple(found)
        self._database.write(
            lambda connection: automation.write_sync_results(connection, self._owner, results)
        )

    def sync_results(self) -> tuple[SyncResult, ...]:
        """Return what the last `sync` found, the stack as a whole first. Raises CorruptRecord."""
        return self._read(lambda connection: automation.load_sync_results(connection, self._owner), ())

    def last_applied_commit(self) -> str:
        """Return the commit of the newest run that applied a whole plan and ended well; "" if not known."""
        return self._read(lambda connection: automation.find_last_applied_commit(connection, self._owner), "")

    def told(self) -> tuple[Told, ...]:
        """Return what was last told over each channel about each thing. Raises CorruptRecord."""
        return self._read(lambda connection: automation.load_told(connection, self._owner), ())

    def claim_telling(self, telling: Told) -> bool:
        """Whether this is news over its channel; of several machines that ask, one gets a yes."""
        return self._database.write(
            lambda connection: automation.claim_telling(connection, self._owner, telling)
        )

    def note_telling(self, telling: Told) -> None:
        """Record how telling something over a channel went."""
        self._database.write(lambda connection: automation.write_told(connection, self._owner, telling))

    @contextmanager
    def lock(self, run: str) -> Iterator[Lock]:
        """Be the one writer of this origin and stack. Raises LockHeld; let go of on every way out."""
        lock = self.lock_for(run)
        lock.take()
        try:
            yield lock
        finally:
            # A lock that cannot be let go of ends with its process and its lease; that must not
            # hide how the run ended.
            with suppress(StoreError):
                lock.release()

    def lock_for(self, run: str, lease: float = lease_s) -> Lock:
        """Return the lock of this origin and stack, not taken yet; its lease is in seconds."""
        return Lock(
            self._database,
            self._owner,
            run=run,
            nonce=self._token(),
            monotonic=self._monotonic,
            lease=lease,
        )

    def holder(self) -> Holder | None:
        """Return who holds the lock now; None when it is free."""
        return self._read(lambda connection: read_lock_holder(connection, self._owner), None)

    def note_ticket(self, run: str) -> None:
        """Write down, before it is created, that this run may leave a ticket at the service."""
        now = self.now()
        self._database.write(lambda connection: locks.note_ticket(connection, self._owner, run, now))

    def ticket_runs(self) -> frozenset[str]:
        """Return the runs of this store that may have left a ticket at the service."""
        return self._read(lambda connection: locks.list_ticket_runs(connection, self._owner), frozenset())

    def unlock(self, lock_id: str) -> Holder:
        """Take the lock away from exactly the holder with this id, and return who that was.

        Raises LockHeld, and changes nothing, when another run holds it; InputError when it is free.
        """

        def work(seals: Seals) -> Holder:
            now = self._database.now(seals.connection)
            taken = force_unlock(seals.connection, self._owner, lock_id, now=now)
            line = self._author.entry("unlocked", self._moment(), run=taken.run)
            history.append_audit(seals, [line])
            return taken

        return self._write(work)

    def pace(self, credential: str, per_second: float) -> "SharedPace | None":
        """Return the pace that all runs with this credential share, at most `per_second` turns a second.

        None for a store that is not shared. The store knows a keyed hash of the credential, not itself.
        """
        if not self.shared or self._empty:
            return None
        from reconciler.store.shared_pace import SharedPace  # noqa: PLC0415 - only a shared store needs it

        return SharedPace(self._database, keyed_digest(self.salt, "pace", credential), per_second)

    def shared_files(self) -> "SharedFiles | None":
        """Return what runs on all machines keep here; None for a store that is not shared."""
        if not self.shared or self._empty:
            return None
        from reconciler.store.shared_files import SharedFiles  # noqa: PLC0415 - only a shared store needs it

        return SharedFiles(self._database, self._owner, self._now)

    @property
    def _empty(self) -> bool:
        """Whether there is no store, or one that was never finished: opened for reading, it holds nothing."""
        return self._database.pool is None or not self.salt

    def _read(self, call: Callable[[Connection], T], nothing: T) -> T:
        """Return what `call` returns, or `nothing` of a store that is not there."""
        if self._empty:
            return nothing
        with self._database.reading() as connection:
            return call(connection)

    def _write(self, work: Callable[[Seals], T]) -> T:
        return self._database.write(lambda connection: write_sealed(connection, self._owner, work))

    def _moment(self) -> str:
        return self._now().isoformat(timespec="seconds")


def list_stacks(url: str, *, root: str = "", now: Callable[[], datetime]) -> tuple[tuple[str, str], ...]:
    """Return every origin and stack of a store, in their order; none of one that is not there.

    Raises SettingsError, StoreError.
    """
    database = open_database(url, root=root, create=False, token=str, now=now)
    try:
        if database.pool is None or not database.salt:
            return ()
        with database.reading() as connection:
            return automation.find_stacks(connection)
    finally:
        database.close()


def _unnamed(seals: Seals, ids: Mapping[str, str]) -> dict[str, str]:
    """Return of these workspaces (alias -> id) the ones that no alias is known of.

    What an earlier run left is settled under the aliases of that run, which are not those of now.
    """
    known = {one.id for one in records.load_aliases(seals.connection, seals.owner)}
    return {alias: workspace_id for alias, workspace_id in ids.items() if workspace_id not in known}


def _ids(workspaces: Workspaces) -> dict[str, str]:
    return {workspace.alias: workspace.id for workspace in workspaces}


# --- Waiting for the store beside the event loop ----------------------------------------------------------


Answer = TypeVar("Answer")

# Seconds. A statement on a healthy store takes milliseconds, and the database gives up by itself before
# this (postgres.py, sqlite.py); a disk that does not answer at all has no other limit.
store_answer_max_s = 12.0


class Offload(Protocol):
    """Runs work that waits for the store, beside the event loop or in place; what it raises is raised."""

    def __call__(self, work: Callable[[], Answer], /) -> Awaitable[Answer]:
        """Return what `work` returns."""


async def await_store(
    offload: Offload,
    work: Callable[[], Answer],
    *,
    give_up: Callable[[StoreError], None] = lambda _: None,
    seconds: float = store_answer_max_s,
) -> Answer:
    """Return what `work` returns, or raise StoreError when it has not answered within so many seconds.

    `give_up` is called then: the same store is not waited for a second time.
    """
    try:
        async with time_limit(seconds):
            return await offload(work)
    except TimeoutError:
        silent = StoreError(
            f"the store did not answer within {seconds:g} s.",
            next="check its disk or its server, then: reconciler resume",
        )
        give_up(silent)
        raise silent from None
