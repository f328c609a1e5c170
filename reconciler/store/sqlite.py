"""Everything that only SQLite needs: the file and its rights, its connections, what its errors mean.

What is stored, and every statement, is elsewhere and portable.
"""

import errno
import os
import re
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from time import monotonic, sleep
from urllib.parse import quote

import msgspec

from reconciler.database_urls import MARKER_ENDING
from reconciler.errors import StoreError
from reconciler.private_cache import make_private_folder
from reconciler.store.adapter import (
    RESTORE,
    Connection,
    Mode,
    Observer,
    Pool,
    Result,
    Row,
    Values,
    replaced_store_error,
)
from reconciler.store.schema import TRUTH_COLUMNS

# How long a statement waits for another process that is writing. Seconds: a commit takes
# milliseconds, so five seconds of waiting mean that something is stuck.
busy_timeout_s = 5.0

_generation_max = 2**31 - 1  # SQLite keeps 32 bits of it

# Why what was written to a store may be missing.
_OLDER_COPY = "an older copy of the store was put back, or it lost its last commits"
_UNREADABLE = "the marker beside the store cannot be read, so it is not known whether this is the newest copy"

_between_tries_s = 0.01  # where SQLite does not wait by itself; changing the mode takes about as long

# What SQLite says (by the start of its error's name), what that means, and what helps.
_MEANINGS = (
    ("SQLITE_FULL", "the disk is full", "free space on that disk, then run it again"),
    ("SQLITE_IOERR", "the disk reports an error", "check that disk, and that it has room"),
    ("SQLITE_READONLY", "it is read-only", "get permission to write the file and its folder"),
    ("SQLITE_CANTOPEN", "it cannot be opened", "check that the folder exists and that you may write in it"),
    ("SQLITE_PERM", "permission to open it is denied", "get permission to read and write the file"),
    ("SQLITE_AUTH", "permission to open it is denied", "get permission to read and write the file"),
    ("SQLITE_NOTADB", "it is not a database", "move that file away, or {elsewhere}"),
    (
        "SQLITE_CORRUPT",
        "it is damaged",
        RESTORE,
    ),
    ("SQLITE_ERROR", "its tables do not match this version of reconciler", RESTORE),
    ("SQLITE_BUSY", "another process has locked it", "wait until that process ends, then run it again"),
    ("SQLITE_LOCKED", "another process has locked it", "wait until that process ends, then run it again"),
)


class SqliteFile:
    """A database in one file of this machine."""

    shared = False
    product = "SQLite"
    errors = (sqlite3.Error,)

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        # The highest generation that the marker is known to say. It never goes back: a run that is killed
        # before it has accepted an older copy must leave the marker as it was.
        self._marked = 0
        self._whole = False  # whether its pages were looked at

    def exists(self) -> bool:
        """Whether the file is there. Raises StoreError where that cannot be seen, or where it was lost."""
        marked = is_marked(self._path)  # first: a process that is creating a store writes its marker last
        try:
            self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            if marked:
                raise missing_store_error(self._path, marker_of(self._path), "missing") from None
            return False
        except OSError as error:
            raise StoreError(
                f"the store {self.name} cannot be opened: {error.strerror}.",
                next="check that you may enter its folder, or set `store` to another place",
            ) from error
        return True

    def pool(self, *, writing: bool) -> Pool:
        """Return its connections; to write, the file is made where there is none. Raises StoreError."""
        if writing:
            prepare_file(self._path)
        return Pool(_opener(self._path, writing=writing), idle_max=5, open_max=15)

    def recognize(self, connection: Connection, salt: str) -> str:
        """Return why this file may lack what was written to it later, or "". Raises StoreError."""
        said = read_marker(self._path)
        if not salt:
            if is_marked(self._path):
                raise missing_store_error(self._path, marker_of(self._path), "empty")
            return ""
        if said is None:
            self._marked = sys.maxsize if is_marked(self._path) else 0
            return _UNREADABLE if self._marked else ""
        if said.id != store_id(salt):
            raise missing_store_error(self._path, marker_of(self._path), "another one")
        self._marked = said.number
        return _OLDER_COPY if _file_connection(connection).read_generation() < said.number else ""

    def accept(self, connection: Connection, salt: str) -> None:
        """Take the file as it is: the marker follows it again from now on."""
        file = _file_connection(connection)
        said = read_marker(self._path)
        ahead = said.number if said is not None and said.id == store_id(salt) else 0
        file.set_generation(max(ahead, file.read_generation()) + 1)
        file.accepted = True

    def mark(self, salt: str) -> None:
        """Write the marker beside the file where there is none yet."""
        if not is_marked(self._path):
            write_marker(self._path, salt, 0)

    def prepare_write(self, connection: Connection) -> None:
        """Refuse to write to a file that is not the one at its path any more."""
        file = _file_connection(connection)
        file.check()
        self._check_pages(connection)
        file.changes, file.generation, file.accepted = file.raw.total_changes, 0, False

    def check_pages(self, connection: Connection) -> None:
        """Raise StoreError where pages or indexes do not hold together."""
        if connection.execute("PRAGMA integrity_check(1)").scalar() != "ok":
            raise self._damaged_error()

    def scrub(self, pool: Pool) -> None:
        """Write the file anew, without what was deleted from it before deleted content was overwritten."""
        with pool.connection() as connection:
            self._check_pages(connection)  # what cannot be read would be left out
            connection.execute("PRAGMA temp_store = MEMORY")  # no copy in a folder for passing files
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").all()

    def finish_write(self, connection: Connection) -> None:
        """Count the generation up where any row was changed."""
        file = _file_connection(connection)
        if file.accepted or file.raw.total_changes != file.changes:
            file.generation = file.read_generation() + 1
            file.set_generation(file.generation)

    def check_committed(self, connection: Connection, salt: str) -> None:
        """Refuse to believe a commit to a file that is not at its path any more; let the marker follow."""
        file = _file_connection(connection)
        file.check()
        if file.accepted:
            self._marked = 0
        if salt and file.generation > self._marked:
            update_marker(self._path, salt, file.generation)
            self._marked = file.generation

    def _check_pages(self, connection: Connection) -> None:
        """Raise StoreError where the pages do not hold together; looked at once.

        Pages that are wrong where nothing is read yet would be written over something. Once for a run that
        writes: 10,000 records (11 MB) take about 15 ms.
        """
        if self._whole:
            return
        if connection.execute("PRAGMA quick_check(1)").scalar() != "ok":
            raise self._damaged_error()
        self._whole = True

    def _damaged_error(self) -> StoreError:
        return StoreError(f"the store {self.name}: it is damaged: its integrity check fails.", next=RESTORE)

    def tables(self, connection: Connection) -> list[str]:
        """Return the names of the tables that are there."""
        query = (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*' ORDER BY name"
        )
        return [str(name) for (name,) in connection.execute(query)]

    def make_schema(self, connection: Connection) -> None:
        """Nothing has to be made before the tables."""

    def now(self, connection: Connection) -> datetime | None:
        """None: all writers are on this machine, with its clock."""

    def relax_transaction(self, connection: Connection, statement_max_s: float) -> None:
        """Never called: a file is not shared."""

    def read_pace(self, connection: Connection, credential: str) -> Row | None:
        """Never called: a file is not shared."""

    def is_silent(self, error: BaseException) -> bool:  # noqa: ARG002 - no error means that here
        """False: a disk that does not answer raises nothing."""
        return False

    def is_collision(self, error: BaseException) -> bool:  # noqa: ARG002 - no error means that here
        """False: writers take turns, and wait."""
        return False

    def explain_error(self, error: BaseException) -> tuple[str, str]:
        """Return what an error means and what to do next, both as text for people."""
        return explain_sqlite_error(error)


def _require_trusted(path: Path) -> None:
    """Refuse a store that another user put where everyone can write: they would read its personal data.

    In other folders only those whom the owner of the folder lets write could have. Raises StoreError.
    """
    if os.name != "posix":
        return
    with suppress(OSError):
        about, above = path.lstat(), path.parent.stat()
        if about.st_uid != os.geteuid() and above.st_mode & stat.S_IWOTH:
            raise StoreError(
                f"the store {path} belongs to another user, in a folder that everyone can write to.",
                next="set `store` to a folder of your own",
            )


def prepare_file(path: Path) -> None:
    """Make sure that the file exists, private from its first moment: 0600, in a folder of 0700.

    An existing file or folder keeps its rights. Raises StoreError.
    """
    try:
        make_private_folder(path.parent)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        path.chmod(0o600)
    except FileExistsError:
        if path.parent.is_dir():
            _require_trusted(path)
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


def explain_sqlite_error(
    error: BaseException | None, *, elsewhere: str = "set `store` to another file"
) -> tuple[str, str]:
    """Return what a database error means and what to do next; `elsewhere` says how another file is named."""
    name = getattr(error, "sqlite_errorname", "") or ""
    for start, what, hint in _MEANINGS:
        if name.startswith(start):
            return what, hint.replace("{elsewhere}", elsewhere)
    if isinstance(error, sqlite3.OperationalError) and "decode" in str(error):
        return (
            "it is damaged: it holds text that cannot be decoded",
            RESTORE,
        )  # the driver's own error has no name
    return f"it cannot be used ({name or type(error).__name__})", "check the file and its folder"


class FileConnection(Connection):
    """A connection, and the file that it has opened: its device and inode, and those of the log beside it.

    SQLite goes on with an open file that no other process can find any more. What it commits there is lost
    for every other process, and for us when we end.
    """

    raw: sqlite3.Connection

    def __init__(self, raw: sqlite3.Connection, observers: Sequence[Observer] = ()) -> None:
        super().__init__(observers)
        self.raw = raw
        self._path = Path()
        self._log_path = (
            Path()
        )  # where the links of the path led when it was opened: SQLite does not follow them again
        self._file: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
        # Of the transaction under way: rows changed before it, its generation, whether it accepts the file.
        self.changes = 0
        self.generation = 0
        self.accepted = False

    def hold(self, path: Path, before: tuple[int, int] | None) -> None:
        """Remember what was opened, which was `before` when it began. Raises StoreError where it moved."""
        self._path, self._log_path = path, _wal_path(path)
        self.raw.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # opens the log, where there is one
        self._file, self._log = before, _file_identity(self._log_path)
        self.check()

    def check(self) -> None:
        """Return where the files at the path are those that are open. Raises StoreError."""
        if _file_identity(self._path) != self._file or (
            self._log and _file_identity(self._log_path) != self._log
        ):
            raise replaced_store_error(str(self._path))

    def read_generation(self) -> int:
        """Return how many commits have changed rows, as the file itself says."""
        return int(self.raw.execute("PRAGMA user_version").fetchone()[0])

    def set_generation(self, number: int) -> None:
        """Write down how many there were. For a writing transaction."""
        # Part of the transaction like any row; not a row, so that no table has to change for it.
        self.raw.execute(f"PRAGMA user_version = {min(number, _generation_max):d}")

    def text_as_bytes(self, column: str) -> str:
        """Return the SQL for a column of text as its bytes."""
        return f"CAST({column} AS BLOB)"

    def is_alive(self) -> bool:
        """True: a file does not go away by itself; `check` says whether it is still the same one."""
        return True

    def reset(self) -> bool:
        """Undo what was begun and not committed. Raises sqlite3.Error."""
        self.raw.rollback()
        return True

    @staticmethod
    def _in_own_style(sql: str) -> str:
        return sql

    @staticmethod
    def _mark(name: str) -> str:
        return f":{name}"

    def _execute(self, sql: str, values: Values | None) -> Result:
        if values and len(values) > _names_max:
            cursor = self.raw.execute(*_by_place(sql, values))
        else:
            cursor = self.raw.execute(sql, values or {})
        return Result(cursor, _read_truths(cursor))

    def _execute_many(self, sql: str, rows: Sequence[Values]) -> None:
        self.raw.executemany(sql, rows)

    def _stream(self, sql: str, values: Values) -> Iterator[Row]:
        with closing(self.raw.execute(sql, values)) as cursor:
            yield from _read_truths(cursor)

    def _begin(self, mode: Mode) -> None:
        # A transaction that will write takes its turn at once: one that first read could not wait for it.
        self.raw.execute("BEGIN" if mode == "reading" else "BEGIN IMMEDIATE")


# SQLite looks for each name among all names of the statement: 5,000 of them take ten times as long as places.
_names_max = 100
_NAMED = re.compile(r":([a-z_][a-z_0-9]*)")


def _by_place(sql: str, values: Values) -> tuple[str, list[object]]:
    """Return a statement with `?` in the place of each `:name`, and the values in that order."""
    return _NAMED.sub("?", sql), [values[name] for name in _NAMED.findall(sql)]


def _read_truths(cursor: sqlite3.Cursor) -> Iterator[Row]:
    """Return the rows of a query, with what is true or false as it was written."""
    # SQLite has no type for it, and keeps 0 and 1.
    truths = [at for at, column in enumerate(cursor.description or ()) if column[0] in TRUTH_COLUMNS]
    return (_with_truths(row, truths) for row in cursor) if truths else cursor


def _with_truths(row: Row, truths: Sequence[int]) -> Row:
    for at in truths:
        if row[at] is not None:
            row = (*row[:at], bool(row[at]), *row[at + 1 :])
    return row


def _file_connection(connection: Connection) -> FileConnection:
    assert isinstance(connection, FileConnection), "made by `_opener`"  # noqa: S101 - our own mistake
    return connection


def _file_identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _wal_path(path: Path) -> Path:
    real = path.resolve()  # SQLite follows links before it names the log
    return real.with_name(f"{real.name}-wal")


def _opener(path: Path, *, writing: bool) -> Callable[[Sequence[Observer]], FileConnection]:
    """Return what opens an existing file; it never makes one. Reading leaves nothing behind."""

    def open_(observers: Sequence[Observer]) -> FileConnection:
        mode, before = ("rw" if writing else _reading_mode(path)), _file_identity(path)
        raw = sqlite3.connect(
            f"file:{quote(str(path))}?mode={mode}",
            uri=True,
            timeout=busy_timeout_s,
            isolation_level=None,  # transactions begin where `_begin` says so, not where the driver guesses
            check_same_thread=False,  # the pool gives a connection to one thread at a time
        )
        connection = FileConnection(raw, observers)
        try:
            _tune_connection(raw, writing=writing)
            if writing:
                connection.hold(path, first.setdefault("file", before))
        except BaseException:
            connection.close()
            raise
        return connection

    first: dict[str, tuple[int, int] | None] = {}  # what the first connection has opened, all others have to
    return open_


def _tune_connection(connection: sqlite3.Connection, *, writing: bool) -> None:
    if writing:
        _enable_wal(connection)
        # What is deleted or replaced is overwritten with zeros. Not every build of SQLite does so by itself.
        connection.execute("PRAGMA secure_delete = ON")
    else:
        connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA synchronous = FULL")  # a commit that returned survives a power cut


def _enable_wal(connection: sqlite3.Connection) -> None:
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
    # removes them again. Where none can be made and none is there, no process writes either, and SQLite
    # needs the flag for that.
    if os.access(path.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        return "rw"
    return "ro" if Path(f"{path}-wal").exists() else "ro&immutable=1"


# --- The marker beside the file ---------------------------------------------------------------------------
#
#     store.db       the store; every commit that changes a row raises its generation (`PRAGMA user_version`)
#     store.db.id    the marker: the store's id, and the generation of the last commit, as far as it is known
#
# A missing or empty file looks like a store that was never made. With a marker beside it, it is a store
# that was lost. The store commits first and the marker follows, so a marker that is ahead proves commits
# which the store does not hold: an older copy was put back. A marker that is behind says nothing.


_id_digits = 32  # of a SHA-256: enough to tell stores apart, and nothing of the salt can be found out
_generation_digits = 12  # always as many, so that a marker is overwritten in its place
_size_max = 4096  # octets; ours has about a hundred


class Marker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file says. `generation` is a number with leading zeros."""

    version: int
    id: str
    generation: str

    @property
    def number(self) -> int:
        """The generation; -1 where it is no number."""
        return int(self.generation) if self.generation.isascii() and self.generation.isdigit() else -1


def marker_of(path: Path) -> Path:
    """Return where the marker of a store's file lies."""
    return path.with_name(path.name + MARKER_ENDING)


def store_id(salt: str) -> str:
    """Return the id of the store with this salt, which cannot be computed back."""
    return sha256(b"reconciler store\0" + salt.encode()).hexdigest()[:_id_digits]


def is_marked(path: Path) -> bool:
    """Whether there is a marker, readable or not. Raises StoreError where that cannot be seen."""
    try:
        marker_of(path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _unusable_marker(path, error) from error
    return True


def read_marker(path: Path) -> Marker | None:
    """Return what the marker says; None where there is none, or none that can be read."""
    try:
        with os.fdopen(_open_marker(path, os.O_RDONLY), "rb") as file:
            text = file.read(_size_max)
    except OSError:  # a user who can only read the store may not be able to read the marker
        return None
    with suppress(msgspec.DecodeError):
        found = msgspec.json.decode(text, type=Marker)
        if found.number >= 0:
            return found
    return None


def write_marker(path: Path, salt: str, generation: int) -> None:
    """Write the marker, private, and durable when this returns. Raises StoreError."""
    place = marker_of(path)
    try:
        descriptor, unfinished = mkstemp(prefix=f"{place.name}.", dir=place.parent)  # 0600
        try:
            os.write(descriptor, _encode_marker(salt, generation))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        Path(unfinished).chmod(0o600)  # whatever the umask is
        Path(unfinished).replace(place)
        _sync_folder(place.parent)
    except OSError as error:
        raise _unusable_marker(path, error) from error


def update_marker(path: Path, salt: str, generation: int) -> None:
    """Let the marker say how far the store has come; it need not be durable, a marker may be behind.

    One that is gone, or is no marker, is made again. Raises StoreError.
    """
    text = _encode_marker(salt, generation)
    try:
        descriptor = _open_marker(path, os.O_WRONLY)
        try:
            whole = os.fstat(descriptor).st_size == len(text) and os.write(descriptor, text) == len(text)
        finally:
            os.close(descriptor)
    except OSError:
        whole = False
    if not whole:
        write_marker(path, salt, generation)


def _open_marker(path: Path, access: int) -> int:
    """Return a descriptor of the marker, which is a file of its own. Raises OSError.

    A user who can write in the folder of a store could link a name there to another file of ours, or a pipe.
    """
    links = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(marker_of(path), access | links)
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "it is not a file of its own")
    return descriptor


def _encode_marker(salt: str, generation: int) -> bytes:
    said = Marker(1, store_id(salt), f"{generation:0{_generation_digits}d}")
    return msgspec.json.encode(said) + b"\n"


def _sync_folder(folder: Path) -> None:
    # The name is durable only when its folder is. Windows has no way to ask for it, and does it by itself.
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unusable_marker(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the store {path}: its marker {marker_of(path).name} cannot be used: {error.strerror}.",
        next="check the rights of that file and its folder, and that the disk has room",
    )


def missing_store_error(path: Path, marker: Path, what: str) -> StoreError:
    """Return the error for a store that a marker speaks of, and that is `what`: not there, empty, another."""
    return StoreError(
        f"the store {path} is {what}, but {marker.name} beside it says that there was a "
        "store; no new store is begun in its place.",
        next=f"restore {path.name} from a copy. If it is lost for good, wait until no run is under way and "
        f"remove {marker}: the next run begins a new store, and recognizes live entities by their identity "
        "fields",
    )
