"""The inbox: every reply that the service has sent, once, on disk before it is acknowledged."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from threading import Lock

from msgspec import Struct

from reconciler.errors import FileError, StoreError
from reconciler.messaging.values import Reply
from reconciler.model.encoding import decode_json, encode_json
from reconciler.ownership import find_fault
from reconciler.private_cache import make_private_folder
from reconciler.store.sqlite import busy_timeout_s, explain_sqlite_error

# Days. The service tries again for up to 24 hours (docs/service.md, callbacks); a repeat that comes
# later than this would be taken for new. What people wrote is kept no longer than that needs.
keep_days = 31

_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside its file
_id_digits = 32  # of the hexadecimal digest: 128 bits

_application = 0x72636E62  # "rcnb": distinguishes our file from a database of another program
_VERSION = 1

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS reply (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE,
    received_at TEXT NOT NULL,
    told INTEGER NOT NULL DEFAULT 0,
    reply BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS reply_told ON reply (told, received_at);
PRAGMA application_id = {_application};
PRAGMA user_version = {_VERSION};
COMMIT;
"""


class StoredReply(Struct, frozen=True):
    """A reply of the inbox. `number` counts up; `received_at` is ISO 8601 in UTC.

    `id` is the same wherever this reply is printed or passed on, and no other reply has it.
    """

    number: int
    received_at: str
    reply: Reply
    id: str


class Inbox:
    """The replies received so far, durable. May be used by several threads, one at a time inside."""

    def __init__(self, path: Path, connection: sqlite3.Connection, now: Callable[[], datetime]) -> None:
        self._path = path
        self._connection = connection
        self._now = now
        self._turn = Lock()

    @classmethod
    def open(cls, path: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> "Inbox":
        """Return the inbox in the file at `path`, made with mode 0600 where there is none.

        Raises StoreError for a file that cannot be used, or that is something else.
        """
        _create_private_file(path)
        with _explain_errors(path):
            connection = sqlite3.connect(
                path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
            )
        try:
            with _explain_errors(path):
                _require_ours(path, connection)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")  # what we acknowledge survives a power cut
                connection.executescript(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        return cls(path, connection, now)

    def add(self, reply: Reply) -> StoredReply | None:
        """Keep a reply, durably; None when it was kept and passed on before.

        One that was kept and never passed on is returned again. Raises StoreError, and nothing is kept.
        """
        moment = self._now().astimezone(UTC)
        oldest = _format_moment(moment - timedelta(days=keep_days))
        values = (reply_digest(reply), _format_moment(moment), encode_json(reply))
        with self._writing() as connection:
            connection.execute("DELETE FROM reply WHERE told = 1 AND received_at < ?", (oldest,))
            connection.execute(
                "INSERT INTO reply (digest, received_at, reply) VALUES (?, ?, ?)"
                " ON CONFLICT (digest) DO NOTHING",
                values,
            )
            row = connection.execute(
                "SELECT number, received_at, reply FROM reply WHERE digest = ? AND told = 0", values[:1]
            ).fetchone()
        return None if row is None else _make_stored_reply(row)

    def mark_delivered(self, number: int) -> None:
        """Note that this one was passed on. Raises StoreError."""
        with self._writing() as connection:
            connection.execute("UPDATE reply SET told = 1 WHERE number = ?", (number,))

    def waiting(self, *, after: int = 0) -> tuple[StoredReply, ...]:
        """Return what was kept and not passed on, oldest first; only numbers above `after`."""
        return self._select("WHERE told = 0 AND number > ?", after)

    def replies(self) -> tuple[StoredReply, ...]:
        """Return everything that is kept, oldest first."""
        return self._select("")

    def close(self) -> None:
        """Let go of the file."""
        with self._turn, _explain_errors(self._path):
            self._connection.close()

    def _select(self, where: str, *values: int) -> tuple[StoredReply, ...]:
        statement = f"SELECT number, received_at, reply FROM reply {where} ORDER BY number"  # noqa: S608 - our own words
        with self._turn, _explain_errors(self._path):
            return tuple(map(_make_stored_reply, self._connection.execute(statement, values).fetchall()))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Give a connection whose statements are all kept at the end, or none where anything is raised."""
        with self._turn, _explain_errors(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def reply_digest(reply: Reply) -> bytes:
    """What makes two callbacks the same: message, sender, text, and the minute it was acknowledged.

    The service names no event, and other parameters of a repeat (its own clock) may differ. Two equal
    answers of one person within one minute are therefore one (docs/service.md, callbacks).
    """
    same = (reply.message_id, reply.sender, reply.content, reply.acknowledged, reply.undeliverable)
    return sha256(encode_json(same)).digest()


def _make_stored_reply(row: tuple[int, str, bytes]) -> StoredReply:
    number, received_at, reply = row
    found = decode_json(reply, Reply)
    return StoredReply(number, received_at, found, reply_digest(found).hex()[:_id_digits])


def _format_moment(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _create_private_file(path: Path) -> None:
    """Make sure that the file exists, private from its first moment. Raises StoreError for one that is not.

    SQLite follows links, and gives its files beside this one the rights of this one: they are looked at too.
    """
    for one in (path, *(Path(f"{path}{end}") for end in _BESIDE)):
        wrong = find_fault(one, "--inbox")
        if wrong:
            raise StoreError(f"the inbox {one}: cannot be used: {wrong[0]}.", next=wrong[1])
    try:
        make_private_folder(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(
            f"the inbox {path} cannot be created: {(error.strerror or 'no reason given').lower()}.",
            next="check that you may write in that folder, or name another place with --inbox",
        ) from error


def _require_ours(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a database of another program, and one of a later version of ours."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if tables and application != _application:
        raise StoreError(
            f"{path} is a database of another program, not an inbox.",
            next="name another file with --inbox",
        )
    if version > _VERSION:
        raise StoreError(
            f"the inbox {path} was written by a newer version of this program.",
            next="upgrade reconciler here too, or name another file with --inbox",
        )


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Turn whatever SQLite raises into a StoreError in words for people."""
    try:
        yield
    except sqlite3.Error as error:
        what, hint = explain_sqlite_error(error, elsewhere="name another one with --inbox")
        raise StoreError(f"the inbox {path}: {what}.", next=hint) from error


# --- The event file: one JSON line a reply, only ever appended to, on disk before the call returns


# Bytes that are read of an existing file's end, to see which replies it holds already. Far more than a pipe
# holds: what was written to a pipe and not read from it is all that a kill can leave to be printed again.
_tail_max = 4 * 1024 * 1024


class EventFile:
    """A file that grows by whole lines. A line that a crash tore stays, and the next begins behind it."""

    def __init__(self, path: Path) -> None:
        """Open it, or make it with mode 0600. Raises FileError, also for one that is not ours and private."""
        self._path = path
        self._require_fit(None)  # before it is opened: a device or a pipe may notice that
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise self._unusable(error, "name a file in a folder where you may write") from error
        try:
            tail = self._tail()
        except BaseException:
            os.close(self._descriptor)
            raise
        self._whole = tail.endswith(b"\n") or not tail
        self._ids = frozenset(map(_id, tail.splitlines()))

    def append(self, line: str, reply_id: str) -> None:
        """`line` is in the file, durable, and once. Raises FileError; then it may stand there in part.

        The last ones of the file may come again: a kill came before they were marked as delivered.
        """
        data = b"" if reply_id in self._ids else line.encode() + b"\n"
        if not self._whole:
            data = b"\n" + data
        self._whole = False
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._unusable(
                error, "make room there; what was not printed is kept in the inbox"
            ) from error
        self._whole = True

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)

    def _tail(self) -> bytes:
        about = os.fstat(self._descriptor)
        self._require_fit(about)
        os.lseek(self._descriptor, max(0, about.st_size - _tail_max), os.SEEK_SET)
        tail = b""
        while part := os.read(self._descriptor, _tail_max):
            tail += part
        return tail

    def _require_fit(self, about: os.stat_result | None) -> None:
        wrong = find_fault(self._path, "--events", about)
        if wrong:
            raise FileError(f"{self._path}: cannot be used: {wrong[0]}.", next=wrong[1])

    def _unusable(self, error: OSError, hint: str) -> FileError:
        reason = (error.strerror or type(error).__name__).lower()
        return FileError(f"{self._path}: cannot be written: {reason}.", next=hint)


def _id(line: bytes) -> str:
    """Return the id of the reply that a line holds; "" where it holds none, or was torn."""
    try:
        found = json.loads(line)
    except ValueError:
        return ""
    return str(found.get("id", "")) if isinstance(found, dict) else ""
