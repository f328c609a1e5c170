"""The store's disk: a real SQLite file whose commits can fail, and to which a dead process has no way.

What a commit that returned has written survives; what one that did not has written may be there or not: the
hook commits by itself, and can then say that it failed, or kill the process before or after. Hooked in
through the database library's own events, so that the store under test is the real one.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from simulation.virtualloop import HERE, Killed, Process
from sqlalchemy import Connection, Engine, Pool, event
from sqlalchemy.exc import OperationalError


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
    hooks: list[tuple[type, str, Any]] = [
        (Pool, "connect", disk.connect),
        (Engine, "before_cursor_execute", disk.execute),
        (Engine, "commit", disk.commit),
    ]
    for target, name, hook in hooks:
        event.listen(target, name, hook)
    try:
        yield
    finally:
        for target, name, hook in hooks:
            event.remove(target, name, hook)


class _Disk:
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def connect(self, handle: sqlite3.Connection, record: Any) -> None:
        process = HERE.get()
        record.info["process"] = process
        if process is not None:
            process.handles.append(handle)

    def execute(self, connection: Connection, *_: object) -> None:
        """Nothing of a dead process reaches the disk, whatever its `finally` blocks try."""
        process = _owner(connection)
        if process is not None and not process.alive:
            raise Killed

    def commit(self, connection: Connection) -> None:
        process = _owner(connection)
        if process is None:
            return
        self.execute(connection)
        raw: Any = connection.connection.dbapi_connection
        if not raw.in_transaction or not connection.get_execution_options().get("writing", False):
            return
        self._watcher.effect(process, "before a commit")
        self._fail(process, "before")
        raw.execute("COMMIT")
        self._watcher.committed(process)
        self._watcher.effect(process, "after a commit")
        self._fail(process, "after")

    def _fail(self, process: Process, moment: str) -> None:
        name = self._watcher.disk_fails(process, moment)
        if name:
            error = sqlite3.OperationalError("the simulated disk")
            error.sqlite_errorname = name
            raise OperationalError("COMMIT", None, error)


def _owner(connection: Connection) -> Process | None:
    found = connection.connection.info.get("process")
    return found if isinstance(found, Process) else None


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
