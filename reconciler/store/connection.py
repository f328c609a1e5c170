"""The database behind the store: which engine a URL names, its transactions, its clock, its errors.

Entities, locks and runs are in `records.py`, `locks.py` and `history.py`.

A third engine is a module beside `sqlite.py` and `postgres.py` with a `StoreEngine` and a `Connection` of
adapter.py. Its database has to know `ON CONFLICT DO NOTHING`, and one writer at a time. It is named in three
more places: `choose_engine` below; its URL in `database_urls.py` (how it is checked, shown without its
password, and which files it names); its driver in `extras.py`, beside the extra in pyproject.toml.
tests/store/ runs on every engine that conftest.py lists.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

from reconciler import database_urls
from reconciler.concurrency import start_daemon_thread
from reconciler.core.text import escape_undecodable, why_not_text
from reconciler.errors import StoreError
from reconciler.extras import require_extra
from reconciler.store import migrations, schema, sqlite
from reconciler.store.adapter import (
    RESTORE,
    Connection,
    NoFreeConnection,
    Pool,
    Row,
    UnexpectedRows,
    replaced_store_error,
)

T = TypeVar("T")

# How often a transaction is begun again that the database undid for the sake of another one.
transaction_tries_max = 5


_META_QUERY = "SELECT key, value FROM meta"


class StoreEngine(Protocol):
    """One kind of database that holds a store, at one place: all that it does in its own way."""

    @property
    def name(self) -> str:
        """What errors call it; never with a password."""

    @property
    def shared(self) -> bool:
        """Whether other machines use it too."""

    @property
    def product(self) -> str:
        """What people call this kind of database."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What its driver raises."""

    def exists(self) -> bool:
        """Whether it may be opened for reading. Raises StoreError for one that was there, and is lost."""

    def recognize(self, connection: Connection, salt: str) -> str:
        """Return why this store may lack what was written later, or "". `salt` is empty in an empty one.

        Raises StoreError where it cannot be the store that was here before.
        """

    def accept(self, connection: Connection, salt: str) -> None:
        """Take the store as it is from now on, whatever may be missing. For a writing transaction."""

    def mark(self, salt: str) -> None:
        """Make it known that there is this store; durable when it returns. Raises StoreError."""

    def prepare_write(self, connection: Connection) -> None:
        """Prepare a writing transaction that has just begun. Raises StoreError for a replaced store."""

    def check_pages(self, connection: Connection) -> None:
        """Check that the database is whole. Raises StoreError where it is damaged."""

    def scrub(self, pool: Pool) -> None:
        """Remove what was deleted earlier and still stands in the file. In no transaction."""

    def finish_write(self, connection: Connection) -> None:
        """Count the transaction in the store, as the last part of a writing transaction."""

    def check_committed(self, connection: Connection, salt: str) -> None:
        """Check that the commit is in the store that was opened. Raises StoreError."""

    def pool(self, *, writing: bool) -> Pool:
        """Return the connections to it."""

    def tables(self, connection: Connection) -> list[str]:
        """Return the names of the tables that are there."""

    def make_schema(self, connection: Connection) -> None:
        """Make what has to exist before the tables."""

    def now(self, connection: Connection) -> datetime | None:
        """Return the database's own time; None where it has none."""

    def relax_transaction(self, connection: Connection, statement_max_s: float) -> None:
        """Let this transaction be lost in a crash, and end each statement after so long. Only if `shared`."""

    def read_pace(self, connection: Connection, credential: str) -> Row | None:
        """Return the `paces` row of a credential, locked, and the time once it was locked. Only if `shared`.

        The row without its credential; the time in seconds since 1970, by the database's clock.
        """

    def is_silent(self, error: BaseException) -> bool:
        """Whether an error means that the database accepts requests and answers none."""

    def is_collision(self, error: BaseException) -> bool:
        """Whether the whole transaction was rolled back for another one, and may be tried again."""

    def explain_error(self, error: BaseException) -> tuple[str, str]:
        """Return what an error means and what to do next, both as text for people."""


class _Collided(StoreError):
    """The transaction was undone as a whole, and may be tried again."""


class _Busy(StoreError):
    """A run of an older version is under way: what it goes on to write would not fit newer tables."""


class _Unscrubbed(Exception):
    """An older version wrote the store; what it deleted may still stand in the file."""


class Database:
    """Transactions on one store, all of whose errors are StoreErrors that say what to do.

    `pool` is None for a store that does not exist and was opened for reading: there is nothing
    in it, and nothing may be written.
    """

    def __init__(self, engine: StoreEngine, pool: Pool | None, *, now: Callable[[], datetime]) -> None:
        self.name = engine.name  # what errors call it
        self.shared = engine.shared
        self.product = engine.product
        self.pool = pool
        self.salt = ""
        self.doubtful = ""  # why what was written later may be missing, or ""
        self.engine = engine
        self._now = now
        self._errors: tuple[type[Exception], ...] = (*engine.errors, UnexpectedRows)
        self._silence: StoreError | None = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one moment of the store, and does not wait for writers."""
        with self.explained(), self._connections.transaction("reading") as connection:
            yield connection

    def check_pages(self, connection: Connection) -> None:
        """Return where all that the database is made of holds together. Raises StoreError."""
        self.engine.check_pages(connection)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose statements are all kept at the end, or none where anything is raised.

        There is one writer at a time: what it has read stays as it is until it ends. Raises StoreError where
        the store is not the one that was opened any more: then nothing may follow from what was written.
        """
        with self.explained(), self._connections.connection() as connection:
            with connection.transaction("writing"):
                self.engine.prepare_write(connection)
                yield connection
                self.engine.finish_write(connection)
            self.engine.check_committed(connection, self.salt)

    @contextmanager
    def changing_rows(self) -> Iterator[Connection]:
        """Give a transaction that takes no turn: it waits only for changes of the same rows.

        A store that was opened for reading is written too, where its user may. Only for a shared store.
        """
        with self.explained(), self._connections.transaction("rows") as connection:
            yield connection

    def write(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` returns, in a writing transaction of its own.

        Where the database undid all of it for the sake of another one, it is done again, a few times;
        so `work` may change nothing but what it does through its connection.
        """
        for _ in range(transaction_tries_max - 1):
            try:
                with self.writing() as connection:
                    return work(connection)
            except _Collided:
                continue
        with self.writing() as connection:
            return work(connection)

    def now(self, connection: Connection) -> datetime:
        """Return the store's time, in UTC: where it is shared its own, so that machines need not agree."""
        return self.engine.now(connection) or self._now()

    def scrub(self) -> None:
        """Remove what an older version has deleted and still stands in the store. Raises StoreError."""
        with self.explained():
            self.engine.scrub(self._connections)

    def confirm(self, connection: Connection) -> None:
        """Return where the store is still the one that was opened, in this version. Raises StoreError."""
        meta = {str(key): str(value) for key, value in connection.execute(_META_QUERY)}
        if meta.get("salt") != self.salt:
            raise replaced_store_error(self.name)
        if meta.get("version") != str(schema.VERSION):
            raise StoreError(
                f"the store {self.name} was migrated by another version of reconciler while this run was "
                "using it; nothing more is sent.",
                next="upgrade reconciler here too; then: reconciler resume, or plan again",
            )

    def accept(self) -> None:
        """Go on with a store that may lack what was written later: nothing of that can land any more."""
        if self.doubtful:
            self.write(lambda connection: self.engine.accept(connection, self.salt))
            self.doubtful = ""

    def recognize(self, connection: Connection, salt: str) -> None:
        """Learn whether this is the store that was here before. Raises StoreError where it cannot be."""
        self.doubtful = self.engine.recognize(connection, salt)

    def mark(self) -> None:
        """Make it known that there is this store."""
        self.engine.mark(self.salt)

    def tables(self, connection: Connection) -> list[str]:
        """Return the names of the tables that are there."""
        return self.engine.tables(connection)

    def make_tables(self, connection: Connection) -> None:
        """Make every table of this version, where none of them is."""
        self.engine.make_schema(connection)
        for table in schema.TABLES:
            connection.execute(table.create)

    @property
    def _connections(self) -> Pool:
        # Our own mistake, not a user's.
        assert self.pool is not None, "opened for reading, and does not exist"  # noqa: S101 - see above
        return self.pool

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn whatever the database raises into a StoreError in words for people."""
        if self._silence is not None:
            raise self._silence
        try:
            yield
        except NoFreeConnection as error:
            raise StoreError(
                f"the store {self.name}: all connections to it are in use.",
                next="run it again; if this happens again, report it",
            ) from error
        except self._errors as error:
            what, hint = self.engine.explain_error(error)
            kind = _Collided if self.engine.is_collision(error) else StoreError
            failure = kind(f"the store {self.name}: {what}.", next=hint)
            if self.engine.is_silent(error):
                self.give_up(failure)
            raise failure from error
        except (OverflowError, UnicodeError) as error:
            if why := why_not_text(self.name):
                raise StoreError(
                    f"the store {escape_undecodable(self.name)}: its path {why}.",
                    next="rename the folder, or name another store",
                ) from error
            # The driver's words for a value that it cannot store, which follows from one that was read.
            raise StoreError(
                f"the store {self.name}: it is damaged: it holds a value that is too large, or is not text.",
                next=RESTORE,
            ) from error

    def give_up(self, silence: StoreError) -> None:
        """Ask nothing more of a database that does not answer: everything from now on raises this at once.

        Each question would be waited for as long as the first one, and the end of a run asks several.
        """
        self._silence = self._silence or silence

    def close(self) -> None:
        """Close every connection: at once, or in a daemon thread where the database was given up.

        A file on a disk that hangs takes as long to close as anything else on it, and that is not waited for.
        """
        if self.pool is None:
            return
        if self._silence is None:
            self.pool.dispose()
        else:
            start_daemon_thread(self.pool.dispose)


def open_database(
    url: str,
    *,
    root: str,
    create: bool,
    token: Callable[[], str],
    now: Callable[[], datetime],
) -> Database:
    """Open the database that `url` names, with its tables at this program's version.

    A relative path is meant from `root`. Without `create` nothing is created and nothing can be
    written; but a store of an older version is brought to the present one first, all of it or not at
    all. Raises SettingsError for a URL that cannot be used, StoreError for everything else.
    """
    engine = choose_engine(url, root)
    there = engine.exists()
    if not create and not there:
        return Database(engine, None, now=now)
    with _open_engine(engine, now, writing=create) as database:
        if create:
            database.salt = _prepare_store(database, token)
            database.mark()
        else:
            with database.reading() as connection:
                version, database.salt = _read_version(database, connection)
                database.recognize(connection, database.salt)
            if 0 < version < schema.VERSION:
                _migrate_for_reader(engine, version, now)
    return database


def choose_engine(url: str, root: str) -> StoreEngine:
    """Return the engine that a URL names; relative to `root`. Raises SettingsError, MissingExtra."""
    problem = database_urls.find_url_fault(url)
    if problem is not None:
        raise problem.of_store()
    path = database_urls.sqlite_path(url)
    if path is not None:
        return sqlite.SqliteFile(Path(root, path))
    require_extra("postgres")
    from reconciler.store import postgres  # noqa: PLC0415 - loads the driver, which few need

    return postgres.postgres_server(url)


@contextmanager
def _open_engine(engine: StoreEngine, now: Callable[[], datetime], *, writing: bool) -> Iterator[Database]:
    """Give a database that stays open where nothing is raised."""
    database = Database(engine, engine.pool(writing=writing), now=now)
    try:
        yield database
    except BaseException:
        database.close()
        raise


def _prepare_store(database: Database, token: Callable[[], str]) -> str:
    """Return the store's salt, after having brought the tables to where they have to be."""
    try:
        return database.write(lambda connection: _prepare_tables(database, connection, token, scrubbed=False))
    except _Unscrubbed:
        # Before the tables change, so that a kill in between leaves the older version, and it is done again.
        database.scrub()
        return database.write(lambda connection: _prepare_tables(database, connection, token))


def _prepare_tables(
    database: Database, connection: Connection, token: Callable[[], str], *, scrubbed: bool = True
) -> str:
    # All in one transaction: another process sees all of it or nothing.
    version, salt = _read_version(database, connection)
    database.recognize(connection, salt)
    if version == 0:
        salt = token()
        database.make_tables(connection)
        rows = [{"key": "version", "value": str(schema.VERSION)}, {"key": "salt", "value": salt}]
        connection.execute_many(schema.META.insert, rows)
    elif version < schema.VERSION:
        writer = migrations.find_old_writer(connection, database.now(connection))
        if writer:
            raise _Busy(
                f"the store {database.name} was written by an older version of this program, which is "
                f"using it now: {writer}.",
                next="wait until that run ends, then run it again: the store is migrated then",
            )
        if not scrubbed:
            raise _Unscrubbed
        migrations.migrate_tables(connection, version)
    return salt


def _migrate_for_reader(engine: StoreEngine, version: int, now: Callable[[], datetime]) -> None:
    """Migrate an older store to the present version, for a command that only reads."""
    try:
        with _open_engine(engine, now, writing=True) as database:
            _prepare_store(database, str)
        database.close()
    except _Busy:
        raise
    except StoreError as error:
        raise StoreError(
            f"{error} It was written by an older version of this program (schema {version}, this one knows "
            f"{schema.VERSION}) and has to be migrated once; no data is lost.",
            next="run it once as a user who can write to the store",
        ) from error


def _read_version(database: Database, connection: Connection) -> tuple[int, str]:
    """Return the version of the tables and the store's salt; 0 where there is nothing yet."""
    tables = database.tables(connection)
    if schema.META.name not in tables:
        if tables:
            raise StoreError(
                f"the store {database.name} is the database of another program.",
                next="set `store` to another place",
            )
        return 0, ""
    meta = {str(key): str(value) for key, value in connection.execute(_META_QUERY)}
    version, salt = meta.get("version", ""), meta.get("salt", "")
    if not re.fullmatch(r"[1-9][0-9]{0,99}", version, re.ASCII) or not salt:
        raise StoreError(
            f"the store {database.name}: its version or salt is missing.",
            next=RESTORE,
        )
    if int(version) > schema.VERSION:
        raise StoreError(
            f"the store {database.name} was written by a newer version of this program (schema {version}, "
            f"this one knows {schema.VERSION}).",
            next="upgrade reconciler here too",
        )
    return int(version), salt
