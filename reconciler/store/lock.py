"""The lock: one writer for each origin and stack, with a visible holder, an age, and a lease.

A lease cannot exclude anybody for certain (the service would have to check a token, and cannot);
it keeps apart two runs that both mean well. What protects the service is the fresh look before
every write. Nothing is decided here about what is written.
"""

import getpass
import os
import socket
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, select
from sqlalchemy.exc import IntegrityError

from reconciler.errors import CorruptRecord, LockHeld, StoreError
from reconciler.store.connection import RESTORE, Database
from reconciler.store.recorded import Owner
from reconciler.store.schema import LOCKS

# How long a holder is believed in without a sign of life. Seconds: longer than any single call
# with all its tries and waits, so that a working run never loses its lock by being slow.
lease_s = 300.0

# Somebody else may come first between our look and our statement; after so many times, say so.
_tries_max = 5


class Holder(Struct, frozen=True):
    """Who holds the lock. `seat` is where `pid` means something: one boot of one host, and its processes."""

    nonce: str
    run: str
    holder: str
    seat: str
    pid: int
    since: str
    expires: str

    def columns(self) -> dict[str, str | int]:
        """The row's own columns."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class Lock:
    """A lock of one origin and stack, for one run. `check` says whether it is still ours."""

    def __init__(
        self, database: Database, owner: Owner, *, run: str, nonce: str, now: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._owner = owner
        self._now = now
        self._mine = _myself(run, nonce, now())

    def take(self) -> None:
        """Become the one writer. Raises LockHeld, naming the holder, where somebody else is."""
        for _ in range(_tries_max):
            with self._database.writing() as connection:
                other = self._holder(connection)
                if other is not None and not _over(other, self._now()):
                    raise self._held(other)
                if self._written(connection, other):
                    return
        raise StoreError(
            "the lock changes hands all the time.", next="run it again when other runs have ended"
        )

    def check(self) -> None:
        """Nothing happens while the lock is ours; LockHeld is raised when it is not.

        Renews the lease when half of it has passed.
        """
        with self._database.reading() as connection:
            holder = self._holder(connection)
        if holder is None or holder.nonce != self._mine.nonce:
            raise self._lost(holder)
        if (_time(holder.expires) - self._now()).total_seconds() < lease_s / 2:
            self._renew()

    def release(self) -> None:
        """Let others write. Nothing happens where the lock is not ours any more."""
        with self._database.writing() as connection:
            connection.execute(LOCKS.delete().where(*self._scope(), LOCKS.c.nonce == self._mine.nonce))

    def _renew(self) -> None:
        values = {"expires": _text(self._now() + timedelta(seconds=lease_s))}
        with self._database.writing() as connection:
            changed = connection.execute(
                LOCKS.update().where(*self._scope(), LOCKS.c.nonce == self._mine.nonce).values(values)
            )
            if changed.rowcount != 1:
                raise self._lost(self._holder(connection))

    def _written(self, connection: Connection, other: Holder | None) -> bool:
        """Whether the row is ours now: made where there was none, else taken from exactly that holder."""
        row = {**self._owner.key(), **self._mine.columns()}
        if other is not None:
            taken = LOCKS.update().where(*self._scope(), LOCKS.c.nonce == other.nonce).values(row)
            return connection.execute(taken).rowcount == 1
        try:
            with connection.begin_nested():
                connection.execute(LOCKS.insert().values(row))
        except IntegrityError:
            return False
        return True

    def _holder(self, connection: Connection) -> Holder | None:
        columns = [LOCKS.c[name] for name in Holder.__struct_fields__]
        row = connection.execute(select(*columns).where(*self._scope())).one_or_none()
        return Holder(*row) if row is not None else None

    def _scope(self) -> tuple[ColumnElement[bool], ...]:
        return (LOCKS.c.origin == self._owner.origin, LOCKS.c.stack == self._owner.stack)

    def _held(self, other: Holder) -> LockHeld:
        return LockHeld(
            f"the lock of stack {self._owner.stack} is held by {_described(other, self._now())}.",
            next="wait until that run ends; if it is gone for good, its lock ends by itself at "
            f"{other.expires}",
        )

    def _lost(self, other: Holder | None) -> LockHeld:
        by = f", by {_described(other, self._now())}" if other is not None else ""
        return LockHeld(
            f"the lock of stack {self._owner.stack} was taken from this run{by}.",
            next="let that run end, then plan and apply again",
        )


def _over(holder: Holder, now: datetime) -> bool:
    """Whether a holder may be taken over from: its process is gone, or its lease is."""
    if _time(holder.expires) <= now:
        return True
    return bool(holder.seat) and holder.seat == _seat() and not _alive(holder.pid)


def _alive(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # there is no harmless way to ask there: the lease decides
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's process
    return not _zombie(pid)


def _zombie(pid: int) -> bool:
    # A killed process keeps its number until its parent has asked for it, which in a container may be never.
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}


def _myself(run: str, nonce: str, now: datetime) -> Holder:
    pid = os.getpid()
    return Holder(
        nonce=nonce,
        run=run,
        holder=f"{_user()} on {socket.gethostname()} (process {pid})",
        seat=_seat(),
        pid=pid,
        since=_text(now),
        expires=_text(now + timedelta(seconds=lease_s)),
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"  # a container may run under a number without a name


def _seat() -> str:
    # Containers share host names, and each counts its processes from 1: the name alone would make
    # a live holder look dead. Where the system tells nothing finer, the lease has to decide.
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{socket.gethostname()} {boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _described(holder: Holder, now: datetime) -> str:
    return f"{holder.holder}, run {holder.run}, since {holder.since} ({_age(holder.since, now)})"


def _age(since: str, now: datetime) -> str:
    seconds = max(0, int((now - _time(since)).total_seconds()))
    minutes, hours = seconds // 60, seconds // 3600
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min" if minutes else f"{seconds} s"


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise CorruptRecord("the store's record of the lock is damaged: a time.", next=RESTORE) from None


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
