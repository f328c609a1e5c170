"""Everything that only SQLite needs: the file and its rights, the connection, the words for its errors.

What is stored, and every statement, is elsewhere and portable.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import quote

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event

from reconciler.errors import StoreError

# How long a statement waits for another process that is writing. Seconds: a commit takes
# milliseconds, so five seconds of waiting mean that something is stuck.
busy_timeout_s = 5.0

_between_tries_s = 0.01  # where SQLite does not wait by itself; changing the mode takes about as long

# What SQLite says (by the start of its error's name), what that means, and what helps.
_MEANINGS = (
    ("SQLITE_FULL", "the disk is full", "make room on that disk, then run it again"),
    ("SQLITE_IOERR", "the disk does not do what it should", "check that disk, and that it has room"),
    ("SQLITE_READONLY", "it may not be written", "give yourself the right to write it and its folder"),
    ("SQLITE_CANTOPEN", "it cannot be opened", "check that the folder exists and that you may write in it"),
    ("SQLITE_PERM", "it may not be opened", "give yourself the right to read and write it"),
    ("SQLITE_AUTH", "it may not be opened", "give yourself the right to read and write it"),
    ("SQLITE_NOTADB", "it is not a database", "move that file away, or set `store` to another file"),
    (
        "SQLITE_CORRUPT",
        "it is damaged",
        "restore it from a copy, or move it away: what is live is then recognized by its identity fields",
    ),
    ("SQLITE_BUSY", "another process holds on to it", "wait until that process ends, then run it again"),
    ("SQLITE_LOCKED", "another process holds on to it", "wait until that process ends, then run it again"),
)


class File:
    """A database in one file of this machine."""

    shared = False
    schema = None  # there is but one place for tables

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def exists(self) -> bool:
        """Whether the file is there. Raises StoreError where that cannot be seen: it is not an empty one."""
        try:
            self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise StoreError(
                f"the store {self.name} cannot be opened: {error.strerror}.",
                next="check that you may enter its folder, or set `store` to another place",
            ) from error
        return True

    def engine(self, *, writing: bool) -> Engine:
        """Return an engine; to write, the file is made where there is none. Raises StoreError."""
        if writing:
            prepare(self._path)
        return connect(self._path, writing=writing)

    def options(self, *, writing: bool) -> Mapping[str, object]:
        """Return what a transaction has to be: a look at one moment, or the one that writes."""
        return {"writing": writing}

    def make_room(self, connection: Connection) -> None:
        """Nothing has to be made before the tables."""

    def now(self, connection: Connection) -> datetime | None:
        """None: everybody who writes here has the same clock."""

    def collided(self, error: BaseException) -> bool:  # noqa: ARG002 - no error means that here
        """False: writers take turns, and wait."""
        return False

    def meaning(self, error: BaseException) -> tuple[str, str]:
        """Return what an error means and what to do next, both as text for people."""
        return meaning(error)


def prepare(path: Path) -> None:
    """Make sure that the file exists, private from its first moment: 0600, in a folder of 0700.

    An existing file or folder keeps its rights. Raises StoreError.
    """
    try:
        if not path.parent.exists():
            path.parent.mkdir(mode=0o700, parents=True)
            path.parent.chmod(0o700)  # whatever the umask is
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        path.chmod(0o600)
    except FileExistsError:
        if path.parent.is_dir():
            return
        raise StoreError(
            f"the store {path}: {path.parent} is not a folder.",
            next="move that file away, or set `store` to another place",
        ) from None
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be created: {error.strerror}.",
            next="check that you may write in that folder, or set `store` to another place",
        ) from error
    os.close(descriptor)


def connect(path: Path, *, writing: bool) -> Engine:
    """Return an engine for an existing file; it never creates one. Reading leaves nothing behind."""
    engine = create_engine(
        "sqlite://",
        creator=_opener(path, writing=writing),
        poolclass=QueuePool,  # the URL names no file, and would get a pool for memory
        hide_parameters=True,  # parameters are people's data, and errors end up in logs
    )
    event.listen(engine, "begin", _begin)
    return engine


def meaning(error: BaseException | None) -> tuple[str, str]:
    """Return what a database error means and what to do next, both as text for people."""
    name = getattr(error, "sqlite_errorname", "") or ""
    for start, what, hint in _MEANINGS:
        if name.startswith(start):
            return what, hint
    return f"it cannot be used ({name or type(error).__name__})", "check the file and its folder"


def _opener(path: Path, *, writing: bool) -> Callable[[], sqlite3.Connection]:
    def open_() -> sqlite3.Connection:
        mode = "rw" if writing else _reading_mode(path)
        connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode={mode}",
            uri=True,
            timeout=busy_timeout_s,
            isolation_level=None,  # transactions begin where `_begin_*` say so, not where the driver guesses
            check_same_thread=False,  # the pool gives a connection to one thread at a time
        )
        try:
            _tune(connection, writing=writing)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    return open_


def _tune(connection: sqlite3.Connection, *, writing: bool) -> None:
    if writing:
        _keep_a_log(connection)
    else:
        connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA synchronous = FULL")  # a commit that returned survives a power cut


def _keep_a_log(connection: sqlite3.Connection) -> None:
    """Let a plan be made while an apply writes. Raises sqlite3.Error.

    The first of several programs that open a new file changes its mode, and SQLite does not let the others
    wait for that: it says at once that the file is locked.
    """
    until = monotonic() + busy_timeout_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
            sleep(_between_tries_s)
        else:
            return


def _reading_mode(path: Path) -> str:
    # In WAL mode even a reader needs small files beside the database, and only one that may write
    # removes them again. Where none can be made and none is there, nobody writes either, and SQLite
    # has to be told so.
    if os.access(path.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        return "rw"
    return "ro" if Path(f"{path}-wal").exists() else "ro&immutable=1"


def _begin(connection: Connection) -> None:
    # A transaction that will write takes its turn at once: one that first read could not wait for it.
    writes = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
