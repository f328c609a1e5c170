"""The store's disk: a real SQLite file whose commits can fail, and to which a dead process has no way.

What a commit that returned has written survives; what one that did not has written may be there or not: the
hook commits by itself, and can then say that it failed, or kill the process before or after. Hooked in
as an observer of every connection, so that the store under test is the real one.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from weakref import WeakKeyDictionary

from simulation.virtualloop import HERE, Killed, Process

from reconciler.store.adapter import OF_EVERY_POOL, Connection, Mode, Observer


class Watcher(Protocol):
    """Who decides what a commit meets."""

    def effect(self, process: Process, what: str) -> None:
        """Count a side effect of the process that is about to happen, or has; it may die of it."""

    def disk_fails(self, process: Process, moment: str) -> str:
        """The name of the error that the disk gives now, or ""."""

    def committed(self, process: Process) -> None:
        """What the process wrote is durable."""


@contextmanager
def hooked(watcher: Watcher) -> Iterator[None]:
    """Every transaction of every simulated process passes `watcher` for as long as this lasts."""
    disk = _Disk(watcher)
    OF_EVERY_POOL.append(disk)
    try:
        yield
    finally:
        OF_EVERY_POOL.remove(disk)


class _Disk(Observer):
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._owners: WeakKeyDictionary[Connection, Process] = WeakKeyDictionary()

    def opened(self, connection: Connection) -> None:
        process = HERE.get()
        if process is not None:
            self._owners[connection] = process
            process.handles.append(connection.raw)

    def executes(self, connection: Connection, sql: str) -> None:  # noqa: ARG002 - as it is called
        """Nothing of a dead process reaches the disk, whatever its `finally` blocks try."""
        process = self._owners.get(connection)
        if process is not None and not process.alive:
            raise Killed

    def commits(self, connection: Connection, mode: Mode) -> None:
        process = self._owners.get(connection)
        if process is None:
            return
        self.executes(connection, "COMMIT")
        if not connection.raw.in_transaction or mode == "reading":
            return
        self._watcher.effect(process, "before a commit")
        self._fail(process, "before")
        connection.raw.execute("COMMIT")
        self._watcher.committed(process)
        self._watcher.effect(process, "after a commit")
        self._fail(process, "after")

    def _fail(self, process: Process, moment: str) -> None:
        name = self._watcher.disk_fails(process, moment)
        if name:
            error = sqlite3.OperationalError("the simulated disk")
            error.sqlite_errorname = name
            raise error


def laid(template: Path, folder: Path) -> Path:
    """Put a copy of a fresh store into `folder`; making the tables anew would take longer than a run."""
    path = folder / "store.db"
    shutil.copyfile(template, path)
    path.chmod(0o600)
    return path


def removed(path: Path) -> None:
    """Remove all that belongs to a store, as `git clean` does. Whoever has it open keeps what is gone."""
    for one in path.parent.glob(f"{path.name}*"):
        one.unlink()
