"""The lock: one writer for each origin and stack, with a visible holder, an age, and a lease.

A lease cannot exclude anybody for certain (the service would have to check a token, and cannot);
it keeps apart two runs that both mean well. What protects the service is the fresh look before
every write. Nothing is decided here about what is written.
"""

import os
import socket
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct, ValidationError, convert, field, structs, to_builtins

from reconciler.errors import CorruptRecord, InputError, LockHeld
from reconciler.model.runs import Running
from reconciler.store import sealed_tables
from reconciler.store.adapter import RESTORE, Connection, Row
from reconciler.store.connection import Database
from reconciler.store.history import count_progress, name_operator
from reconciler.store.schema import LOCKS, TICKETS
from reconciler.store.sealed_tables import Owner, Seal, Seals, write_sealed

# How long a holder is believed in without a sign of life, unless `lock.lease_s` says less. Seconds: longer
# than any single call with all its tries and waits, so that a working run never loses its lock by being slow.
# With a shorter lease the run itself renews it meanwhile (engine/resources.py).
lease_s = 300.0

lock_id_length = 12  # of 32 hexadecimal digits: 48 bits


class Holder(Struct, frozen=True):
    """Who holds the lock. `host_id`: the boot and the process namespace in which `pid` is unique.

    `counter` says how often the lock was taken; times are ISO 8601 on the store's clock.
    """

    nonce: str
    run: str
    holder: str
    host_id: str = field(name="seat")  # its column in every store there is
    pid: int
    since: str
    expires: str
    counter: int

    @property
    def id(self) -> str:
        """What `force_unlock` wants to hear: enough of the nonce to mean nobody else."""
        return self.nonce[:lock_id_length]

    def columns(self) -> dict[str, str | int]:
        """The row's own columns."""
        columns: dict[str, str | int] = to_builtins(self)
        return columns


class Lock:
    """A lock of one origin and stack, for one run. `check` says whether it is still ours.

    All times are the store's (`Database.now`), so that machines with wrong clocks agree. Between two looks
    at that clock `monotonic` goes on from the last one.
    """

    def __init__(
        self,
        database: Database,
        owner: Owner,
        *,
        run: str,
        nonce: str,
        monotonic: Callable[[], float],
        lease: float = lease_s,
    ) -> None:
        self._database = database
        self._lease_s = lease
        self._owner = owner
        self._mine = _make_holder(run, nonce)
        self._monotonic = monotonic
        self._seen: tuple[datetime, float] | None = None  # the store's time, and ours at that moment

    @property
    def counter(self) -> int:
        """How often the lock had been taken when it became ours, that time included; only ever rises."""
        return self._mine.counter

    def now(self) -> datetime:
        """Return the store's time, in UTC: as it was last seen, and what has passed here since.

        Nothing is asked of the store. Only for a lock that was taken.
        """
        assert self._seen is not None, "the lock was never taken"  # noqa: S101 - our own mistake
        moment, at = self._seen
        return moment + timedelta(seconds=self._monotonic() - at)

    def take(self) -> None:
        """Become the one writer. Raises LockHeld, naming the holder, where another run is."""
        self._mine = self._database.write(
            lambda connection: write_sealed(connection, self._owner, self._taken)
        )

    def check(self) -> None:
        """Nothing happens while the lock is ours; LockHeld is raised when it is not.

        Renews the lease when half of it has passed.
        """
        with self._database.reading() as connection:
            due = self._due(connection)
        if due:
            self._database.write(self.check_in)

    def check_in(self, connection: Connection) -> None:
        """The same, within another writing transaction: without the lock, it is rolled back.

        Raises StoreError where the store is not the one any more in which the lock was taken.
        """
        self._database.confirm(connection)
        if self._due(connection):
            self._renew(connection)

    def release(self) -> None:
        """Let others write. Nothing happens where the lock is not ours any more."""
        self._database.write(lambda connection: _free_lock(connection, self._owner, self._mine.nonce))

    def _taken(self, seals: Seals) -> Holder:
        # Writers take turns: nothing is written between this look and what follows it.
        connection = seals.connection
        self._database.confirm(connection)
        row, now = _read_sealed_lock(connection, self._owner), self._time(connection)
        if row is not None and row.nonce and not may_take_over(row, now):
            raise self._held(row, read_running(connection, self._owner, row), now)
        mine = structs.replace(
            self._mine,
            since=_format_lock_time(now),
            expires=_format_lock_time(now + timedelta(seconds=self._lease_s)),
            counter=row.counter + 1 if row is not None else 1,
        )
        values = {**self._owner.key(), **mine.columns()}
        connection.execute(LOCKS.insert if row is None else _TAKE, values)
        seals.put(LOCKS, Seal(mine.counter))
        return mine

    def _due(self, connection: Connection) -> bool:
        """Whether the lease has to be renewed. Raises LockHeld where the lock is not ours any more."""
        row, now = _read_lock_row(connection, self._owner), self._time(connection)
        if row is None or row.nonce != self._mine.nonce:
            raise self._lost(row, now)
        # More than a lease is left where the clock was put back: no other run could ever take over then.
        left_s = (_parse_lock_time(row.expires) - now).total_seconds()
        return not self._lease_s / 2 <= left_s <= self._lease_s

    def _renew(self, connection: Connection) -> None:
        expires = _format_lock_time(self._time(connection) + timedelta(seconds=self._lease_s))
        renewed = f"UPDATE locks SET expires = :expires WHERE {sealed_tables.OWNED}"
        connection.execute(renewed, {**self._owner.key(), "expires": expires})

    def _time(self, connection: Connection) -> datetime:
        """Return the store's time, and remember when that was by our own clock."""
        now = self._database.now(connection)
        self._seen = (now, self._monotonic())
        return now

    def _held(self, other: Holder, far: Running, now: datetime) -> LockHeld:
        return LockHeld(
            f"the lock of stack {self._owner.stack} is held by {_describe_holder(other, now)}; "
            f"{far.how_far}.",
            running=structs.asdict(far),
            next=f"wait until that run ends; if that run is dead, `reconciler unlock --force {other.id}` "
            f"releases the lock at once; otherwise it expires at {other.expires}",
        )

    def _lost(self, other: Holder | None, now: datetime) -> LockHeld:
        by = f", by {_describe_holder(other, now)}" if other is not None and other.nonce else ""
        return LockHeld(
            f"the lock of stack {self._owner.stack} was taken from this run{by}.",
            next="let that run end, then plan and apply again",
        )


LOCK_COLUMNS = Holder.__struct_encode_fields__
_LOCK = f"SELECT {', '.join(LOCK_COLUMNS)} FROM locks WHERE {sealed_tables.OWNED}"
_TAKE = (
    f"UPDATE locks SET {', '.join(f'{name} = :{name}' for name in LOCK_COLUMNS)} WHERE {sealed_tables.OWNED}"
)
_FREE = (
    "UPDATE locks SET nonce = '', run = '', holder = '', seat = '', pid = 0, since = '', expires = '' "
    f"WHERE {sealed_tables.OWNED} AND nonce = :nonce"
)


def read_lock_holder(connection: Connection, owner: Owner) -> Holder | None:
    """Return who holds the lock, whether or not the lease has ended; None when it is free."""
    row = _read_sealed_lock(connection, owner)
    return row if row is not None and row.nonce else None


def read_running(connection: Connection, owner: Owner, held_by: Holder) -> Running:
    """Return the holder's run, and how far it is, whether or not it is alive."""
    return count_progress(connection, owner, Running(held_by.run, held_by.holder, held_by.since))


def find_live_holder(connection: Connection, owner: Owner, *, now: datetime) -> Holder | None:
    """Return the holder whose lease lives and whose process is not gone; None where no run writes."""
    found = read_lock_holder(connection, owner)
    return found if found is not None and not may_take_over(found, now) else None


def force_unlock(connection: Connection, owner: Owner, lock_id: str, *, now: datetime) -> Holder:
    """Take the lock away from exactly the holder with this id, and return who that was.

    For a writing transaction. Raises LockHeld, and changes nothing, when another run holds it: a newer
    holder is never unlocked by mistake. Raises InputError when it is free.
    """
    found = read_lock_holder(connection, owner)
    if found is None:
        raise InputError(f"the lock of stack {owner.stack} is free.", next="there is nothing to unlock")
    if found.id != lock_id:
        raise LockHeld(
            f"the lock of stack {owner.stack} has another id, {found.id}: it is held by "
            f"{_describe_holder(found, now)}. Nothing was changed.",
            next="check `reconciler lock` again before you unlock it",
        )
    _free_lock(connection, owner, found.nonce)
    return found


def _free_lock(connection: Connection, owner: Owner, nonce: str) -> None:
    # The row stays: its counter only ever rises.
    connection.execute(_FREE, {**owner.key(), "nonce": nonce})


def _read_lock_row(connection: Connection, owner: Owner) -> Holder | None:
    """Return the lock's row, of a free lock too; None where it was never taken."""
    row = connection.execute(_LOCK, owner.key()).one_or_none()
    return None if row is None else decode_holder(row)


def decode_holder(row: Row) -> Holder:
    """Return what a row of `LOCK_COLUMNS` says, in their order. Raises CorruptRecord."""
    try:
        return convert(dict(zip(LOCK_COLUMNS, row, strict=True)), Holder)
    except ValidationError:
        raise CorruptRecord("the store's record of the lock is damaged.", next=RESTORE) from None


def _read_sealed_lock(connection: Connection, owner: Owner) -> Holder | None:
    """The same, for whoever may take the lock: one that was lost, or is older than the last take, is damage.

    It would look free, and two could write.
    """
    row = _read_lock_row(connection, owner)
    counter = row.counter if row is not None else 0
    if counter != sealed_tables.read_seal(connection, LOCKS, owner).number:
        sealed_tables.raise_damaged_table(LOCKS, owner, "it does not hold the lock that was taken last")
    return row


def holder_process_ended(holder: Holder) -> bool:
    """Whether its process has ended, on this very machine: the next run takes its lock at once."""
    return bool(holder.host_id) and holder.host_id == _host_id() and not _process_is_alive(holder.pid)


def may_take_over(holder: Holder, now: datetime) -> bool:
    """Whether a holder may be taken over from: its process or, at `now`, its lease is gone."""
    return _parse_lock_time(holder.expires) <= now or holder_process_ended(holder)


def _process_is_alive(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # there is no harmless way to ask there: the lease decides
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # a process of another user
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    # A killed process keeps its number until its parent has asked for it, which in a container may be never.
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}


def _make_holder(run: str, nonce: str) -> Holder:
    pid = os.getpid()
    return Holder(
        nonce=nonce,
        run=run,
        holder=f"{name_operator()} (process {pid})",
        host_id=_host_id(),
        pid=pid,
        since="",
        expires="",
        counter=0,
    )


def _host_id() -> str:
    # Containers share host names, and each counts its processes from 1: the name alone would make
    # a live holder look dead. Where the system tells nothing finer, the lease has to decide.
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{socket.gethostname()} {boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _describe_holder(holder: Holder, now: datetime) -> str:
    return f"{holder.holder}, run {holder.run}, since {holder.since} ({_format_age(holder.since, now)})"


def _format_age(since: str, now: datetime) -> str:
    seconds = max(0, int((now - _parse_lock_time(since)).total_seconds()))
    minutes, hours = seconds // 60, seconds // 3600
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min" if minutes else f"{seconds} s"


def _parse_lock_time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise CorruptRecord("the store's record of the lock is damaged: a time.", next=RESTORE)
    return moment


def _format_lock_time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


# --- Tickets of our own runs ------------------------------------------------------------------------------
#
# Runs of this store that asked for the lock in the service: their tickets delay no run with this store.
# The holder of the store's lock knows that each of them writes no more. Written down before the ticket is
# sent: a copy of the store that was made before knows nothing of it. Tickets: core/runs/ticket.py.


tickets_kept_for = timedelta(days=7)  # a lease lasts some minutes, and is renewed while its run lives


def note_ticket(connection: Connection, owner: Owner, run: str, now: datetime) -> None:
    """Write down that this run is about to create a ticket; old ones are forgotten."""
    mine = {**owner.key(), "run": run, "until": _format_ticket_time(now - tickets_kept_for)}
    old = f"DELETE FROM tickets WHERE {sealed_tables.OWNED} AND (run = :run OR drawn_at < :until)"
    connection.execute(old, mine)
    connection.execute(TICKETS.insert, {**owner.key(), "run": run, "drawn_at": _format_ticket_time(now)})


def list_ticket_runs(connection: Connection, owner: Owner) -> frozenset[str]:
    """Return the runs that may have left a ticket at the service."""
    query = f"SELECT run FROM tickets WHERE {sealed_tables.OWNED}"
    return frozenset(str(run) for (run,) in connection.execute(query, owner.key()))


def _format_ticket_time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
