"""The database behind the store: which one a URL names, its schema, its transactions, its errors.

No entity, no lock, no run is known here; those are `recorded.py`, `lock.py` and `runs.py`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from reconciler.errors import SettingsError, StoreError
from reconciler.store import schema, sqlite

# Moving it away is harmless: identity fields are looked up at the service before every create.
RESTORE = "restore the store from a copy, or move it away: what is live is recognized by its identity fields"


class Database:
    """Transactions on one store, all of whose errors are StoreErrors that say what to do.

    `engine` is None for a store that does not exist and was opened for reading: there is nothing
    in it, and nothing may be written.
    """

    def __init__(self, name: str, engine: Engine | None) -> None:
        self.name = name  # what errors call it
        self.engine = engine
        self.salt = ""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one moment of the store, and does not wait for writers."""
        with self.explained(), self._engine().begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose statements are all kept at the end, or none where anything is raised."""
        with self.explained(), self._engine().execution_options(writing=True).begin() as connection:
            yield connection

    def _engine(self) -> Engine:
        # Our own mistake, not a user's.
        assert self.engine is not None, "opened for reading, and does not exist"  # noqa: S101 - see above
        return self.engine

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn whatever the database raises into a StoreError in words for people."""
        try:
            yield
        except SQLAlchemyError as error:
            what, hint = sqlite.meaning(getattr(error, "orig", None) or error)
            raise StoreError(f"the store {self.name}: {what}.", next=hint) from error

    def close(self) -> None:
        """Let go of the database."""
        if self.engine is not None:
            with self.explained():
                self.engine.dispose()


def open_database(url: str, *, root: str, create: bool, token: Callable[[], str]) -> Database:
    """Open the database that `url` names, with its tables at this program's version.

    A relative path is meant from `root`. Without `create` nothing is created and nothing can be
    written. Raises SettingsError for a URL that cannot be used, StoreError for everything else.
    """
    path = _path(url, root)
    if not create and not path.exists():
        return Database(str(path), None)
    if create:
        sqlite.prepare(path)
    database = Database(str(path), sqlite.connect(path, writing=create))
    try:
        _check(database, token, create=create)
    except BaseException:
        database.close()
        raise
    return database


def _path(url: str, root: str) -> Path:
    """Return the file that a URL names: `sqlite:///relative` or `sqlite:////absolute`."""
    scheme, _, rest = url.partition("://")
    if scheme != "sqlite":
        # The rest of it may hold a password, so that only the scheme is shown.
        raise SettingsError(
            f"store: {scheme or 'an empty URL'} is not supported.",
            next="use sqlite:///.reconciler/store.db, or another path after sqlite:///",
        )
    path = rest.removeprefix("/")
    if rest == path or not path or path.startswith(":") or "?" in path:
        raise SettingsError(
            f"store: {url} does not name a file.",
            next="use sqlite:///.reconciler/store.db, or sqlite:////absolute/path/store.db",
        )
    return Path(root, path)


def _check(database: Database, token: Callable[[], str], *, create: bool) -> None:
    with database.writing() if create else database.reading() as connection:
        tables = inspect(connection).get_table_names()
        if schema.META.name in tables:
            database.salt = _salt(database.name, connection)
        elif tables:
            raise StoreError(
                f"the store {database.name} is a database of another program.",
                next="set `store` to another file",
            )
        elif create:
            database.salt = _create(connection, token())


def _create(connection: Connection, salt: str) -> str:
    # In the transaction of the check: another process sees all of it or nothing.
    schema.METADATA.create_all(connection)
    rows = [{"key": "version", "value": str(schema.VERSION)}, {"key": "salt", "value": salt}]
    connection.execute(schema.META.insert(), rows)
    return salt


def _salt(name: str, connection: Connection) -> str:
    """Return the store's salt, after a look at its version."""
    rows = connection.execute(select(schema.META.c.key, schema.META.c.value))
    meta = {str(row.key): str(row.value) for row in rows}
    version, salt = meta.get("version", ""), meta.get("salt", "")
    if not version.isascii() or not version.isdigit() or not salt:
        raise StoreError(
            f"the store {name}: its version or salt is missing.",
            next=RESTORE,
        )
    if int(version) > schema.VERSION:
        raise StoreError(
            f"the store {name} was written by a newer version of this program (schema {version}, "
            f"this one knows {schema.VERSION}).",
            next="upgrade reconciler here too",
        )
    return salt
