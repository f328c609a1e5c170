"""The file that a sandbox's state survives in: one table of records, written through.

Belongs here: SQLite. Not here: what the records mean.
"""

import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

application_id = 0x53424F58  # "SBOX"; marks the file as ours, so that no other database is ever written to
SCHEMA = """
create table if not exists records (
  kind text not null, id text not null, position integer not null, body blob not null, primary key (kind, id)
) without rowid;
create table if not exists counters (name text primary key, value integer not null) without rowid;
"""


class DataFileError(OSError):
    """The data file cannot be opened, read or written; the message names it and the cause."""


Row = tuple[str, str, int, bytes]  # kind, id, position, body


class Storage:
    """One open data file, held alone: a second sandbox on the same file is refused."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._explained():
            # Used by one thread at a time: made by the caller, then kept by the server's own thread.
            self._file = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False)
        self.close = weakref.finalize(self, self._file.close)
        try:
            with self._explained():
                self._prepare()
        except DataFileError:
            self.close()
            raise

    def rows(self) -> Iterator[Row]:
        """Everything kept, by kind and then in the order of its positions."""
        with self._explained():
            yield from self._file.execute(
                "select kind, id, position, body from records order by kind, position"
            )

    def counter(self, name: str) -> int:
        """The number last kept under this name, or 0."""
        with self._explained():
            found = self._file.execute("select value from counters where name = ?", (name,)).fetchone()
        return int(found[0]) if found else 0

    def save(
        self, rows: Iterable[Row], *, counters: dict[str, int], gone: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Keeps the rows and the counters and drops what is gone (kind, id): all of it or nothing."""
        with self._explained():
            self._file.execute("begin")
            try:
                self._file.executemany("insert or replace into records values (?, ?, ?, ?)", rows)
                self._file.executemany("insert or replace into counters values (?, ?)", counters.items())
                self._file.executemany("delete from records where kind = ? and id = ?", gone)
                self._file.execute("commit")
            except sqlite3.Error:
                if self._file.in_transaction:
                    self._file.execute("rollback")
                raise

    def _prepare(self) -> None:
        self._file.execute("pragma locking_mode = exclusive")
        (owner,) = self._file.execute("pragma application_id").fetchone()
        (tables,) = self._file.execute("select count(*) from sqlite_master").fetchone()
        if tables and owner != application_id:
            raise DataFileError(f"{self._path}: the data file belongs to another program")
        self._file.execute("pragma journal_mode = wal")
        # The file outlives the process whenever it ends; a power cut is not among the promises.
        self._file.execute("pragma synchronous = off")
        self._file.execute(f"pragma application_id = {application_id}")
        self._file.executescript(SCHEMA)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as cause:
            raise DataFileError(f"{self._path}: the data file cannot be used: {cause}") from cause
