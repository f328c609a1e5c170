"""Everything that only PostgreSQL needs: the way there, time limits, a writer's turn, what its errors mean.

What is stored, and every statement, is elsewhere and portable. Nothing here ever shows a password. Loads the
driver, which is an extra.
"""

import os
import re
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar

import psycopg

from reconciler.database_urls import ServerUrl, UnusableDatabaseUrl, parse_server_url
from reconciler.store.adapter import RESTORE, Connection, Mode, Observer, Pool, Result, Row, Values
from reconciler.store.postgres_tls import libpq_environment, tls_arguments

T = TypeVar("T")

# The tables have a schema of their own: a database may hold other things, and theirs are not ours.
SCHEMA = "reconciler"

# Seconds, by our own clock, for the call and for every answer (`_TimedConnection`): a server that is there
# answers within one. Longer than the server's own limits below, whose errors say more.
connect_timeout_s = 10
lock_timeout_s = 7  # seconds; everything that another run may be doing takes milliseconds
statement_timeout_s = 8  # seconds; and so do our statements
# Seconds: a machine that fell asleep within a transaction must not keep the others out.
idle_timeout_s = 60
# Seconds: how long a connection may be silent before it is asked whether the other side is there, and how
# long that may take. Without it, a network that is gone would be waited for until the next day.
keepalive_s, dead_after_s = 30, 30
# Rows of one answer: the driver sends the rows of a statement in one go and waits for all of them at once.
# 100,000 entries of an audit took a healthy server on a busy machine more than ten seconds.
_rows_at_once = 1_000

# One writer at a time, as in SQLite: what a transaction has read is still so when it writes. A key of
# PostgreSQL's advisory locks, which are counted in each database.
_TURN = int.from_bytes(b"reconcil")

_SESSION = {
    "search_path": SCHEMA,  # no object of another schema is taken for ours
    "statement_timeout": f"{statement_timeout_s}s",
    "lock_timeout": f"{lock_timeout_s}s",
    "idle_in_transaction_session_timeout": f"{idle_timeout_s}s",
    "synchronous_commit": "on",  # a commit that returned survives a crash, whatever the server's habit
    "timezone": "UTC",
}
_CONNECTION = {
    "application_name": "reconciler",
    "client_encoding": "utf8",
    "connect_timeout": connect_timeout_s,
    "keepalives_idle": keepalive_s,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": dead_after_s * 1000,  # milliseconds
    "autocommit": True,  # transactions are begun by our own words
    "prepare_threshold": None,  # a prepared statement would not survive another process's migration
}

# The clock is read when the lock is ours, however long that took; beside the lock it would be read before.
_PACE_ROW = (
    "WITH locked AS (SELECT * FROM paces WHERE credential = :credential FOR UPDATE) "
    "SELECT rate, changed_at, next_at, seen_at, CAST(EXTRACT(epoch FROM clock_timestamp()) AS FLOAT) "
    "FROM locked"
)

_BUSY = "wait until that ends, then run it again"
_REACH = "check host and port in `store`, that the server runs, and that you can reach it from here"
_LOGIN = (
    "check the user in `store` and its password (PGPASSWORD, a passfile, or a URL in RECONCILER_STORE), "
    "and that the server accepts this user from here"
)
_RIGHTS = f"ask the owner of the database for permissions on schema {SCHEMA} and its tables"
_LATER = "run it again when the server is available; everything committed is kept"

# What the server says (by the start of its SQLSTATE), what that means, and what helps; the first fits.
_STATES = (
    ("25006", "it is read-only", "use the primary server, and a user with write permission"),
    ("28", "the login is refused", _LOGIN),
    ("3D000", "there is no such database", "create it, or set `store` to one that is there"),
    ("42P01", "its tables are missing", RESTORE),
    ("3F000", "its schema is missing", RESTORE),
    ("40", "another transaction changed the same rows", "run it again"),
    ("42501", "this user lacks a permission", _RIGHTS),
    ("53100", "the disk is full", "free space on the server's disk, then run it again"),
    ("53300", "the server has no free connection", "raise its max_connections, or end idle connections"),
    ("53", "the server has run out of a resource", "check the server's log, then run it again"),
    ("55P03", "another process has locked it", _BUSY),
    ("57014", "the server did not finish in time", "check the server's load, then run it again"),
    ("57P03", "the server is starting or stopping", _LATER),
    ("57P", "the server closed the connection", _LATER),
    ("25P03", "the server closed the connection, because this machine was idle for too long", "run it again"),
    ("08", "the connection to it was lost", _LATER),
    ("58", "the disk of the server reports an error", "check the server's log"),
    ("XX", "it is damaged", "check the server's log; restore it from a copy"),
    (
        "22",
        "a value holds a character that it cannot store",
        "check the names at the service for control characters",
    ),
)
# Before a login nothing but a sentence arrives; of a server that speaks another language, only its start.
_SENTENCES = (
    ("does not support ssl", "the server offers no encryption", "TLS"),
    ("certificate", "the server's certificate is not accepted", "TLS"),
    ("ssl", "no TLS connection can be made", "TLS"),
    ("password authentication failed", "the login is refused", _LOGIN),
    ("no password supplied", "it requires a password, and none is set", _LOGIN),
    ("pg_hba.conf", "the login is refused", _LOGIN),
    ("not permitted to log in", "the login is refused", _LOGIN),
    ('role "', "the login is refused", _LOGIN),
    ("authentication", "the login is refused", _LOGIN),
    ('database "', "there is no such database", "create it, or set `store` to one that is there"),
    (
        "too many c",
        "the server has no free connection",
        "raise its max_connections, or end idle connections",
    ),
    ("remaining connection slots", "the server has no free connection", "raise its max_connections"),
    ("starting up", "the server is starting", _LATER),
    ("shutting down", "the server is stopping", _LATER),
    ("resolve host", "the host is unknown", _REACH),
    ("translate host", "the host is unknown", _REACH),
    ("refused", "it cannot be reached", _REACH),
    ("no such file", "it cannot be reached", _REACH),
    ("timeout", "it does not answer", _REACH),
    ("connection failed", "it cannot be reached", _REACH),
    ("connection is bad", "it cannot be reached", _REACH),
    (
        "unsupported startup parameter",
        "the connection pooler refuses startup settings",
        "configure the pooler to pass `options` on",
    ),
    (
        "nul",
        "a value holds a character that it cannot store",
        "check the names at the service for control characters",
    ),
)
_TLS = (
    "let the server's certificate be verified: sslrootcert=PATH names the CA that signed it; in a network "
    "that you trust, name the host in `store`, and add ?sslmode=require (encrypted, not verified) or "
    "?sslmode=disable"
)


class PostgresServer:
    """A database on a PostgreSQL server, which several machines share."""

    shared = True
    product = "PostgreSQL"
    errors = (psycopg.Error,)

    def __init__(self, url: ServerUrl, environ: Mapping[str, str]) -> None:
        self.name = url.name
        self._url = url
        self._environ = environ

    def exists(self) -> bool:
        """True: whether it is there shows when it is asked."""
        return True

    def recognize(self, connection: Connection, salt: str) -> str:  # noqa: ARG002 - see below
        """Return "": nothing beside the database says what it held before."""
        return ""

    def accept(self, connection: Connection, salt: str) -> None:
        """Nothing is to be accepted."""

    def mark(self, salt: str) -> None:
        """Nothing lies beside the database."""

    def prepare_write(self, connection: Connection) -> None:
        """Nothing to prepare: the server finds the tables by their names, in every statement."""

    def check_pages(self, connection: Connection) -> None:
        """Nothing is asked: the server watches over its own pages."""

    def scrub(self, pool: Pool) -> None:
        """Nothing to do: the server uses the space of deleted rows again when it chooses to."""

    def finish_write(self, connection: Connection) -> None:
        """Nothing to note."""

    def check_committed(self, connection: Connection, salt: str) -> None:
        """Nothing to look at: the server has committed to what it will answer from."""

    def pool(self, *, writing: bool) -> Pool:
        """Return its connections; nothing is asked yet. Raises SettingsError where the way is not safe."""
        arguments = _connection_arguments(self._url, libpq_environment(self._environ), writing=writing)

        def open_(observers: Sequence[Observer]) -> Connection:
            return ServerConnection(connect_postgres(arguments), observers)

        return Pool(open_, idle_max=2, open_max=8)  # many machines share the server's connections

    def tables(self, connection: Connection) -> list[str]:
        """Return the names of the tables that are there."""
        query = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = :schema ORDER BY tablename"
        return [str(name) for (name,) in connection.execute(query, {"schema": SCHEMA})]

    def make_schema(self, connection: Connection) -> None:
        """Make the schema for the tables where there is none."""
        # Where it exists already, we need no permission to create one.
        query = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = :schema"
        if connection.execute(query, {"schema": SCHEMA}).first() is None:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")

    def now(self, connection: Connection) -> datetime:
        """Return the server's time, which all who share it agree on, in UTC."""
        moment: datetime = connection.execute("SELECT clock_timestamp()").scalar()
        return moment.astimezone(UTC)

    def relax_transaction(self, connection: Connection, statement_max_s: float) -> None:
        """Let the server commit before its disk has the rows, and end each statement after so long."""
        connection.execute(
            "SELECT set_config('synchronous_commit', 'off', true), "
            f"set_config('statement_timeout', '{statement_max_s * 1000:.0f}', true)"
        )

    def read_pace(self, connection: Connection, credential: str) -> Row | None:
        """Return the row of a credential, locked, with the server's time from when it was locked."""
        return connection.execute(_PACE_ROW, {"credential": credential}).one_or_none()

    def is_silent(self, error: BaseException) -> bool:
        """Whether the server did not answer in time, in a conversation or when it was called."""
        return is_silent_server(error)

    def is_collision(self, error: BaseException) -> bool:
        """Whether the server undid the whole transaction for the sake of another one."""
        return _sqlstate(error) in {"40001", "40P01"}

    def explain_error(self, error: BaseException) -> tuple[str, str]:
        """Return what an error means and what to do next, both as text for people."""
        state = _sqlstate(error)
        for start, what, hint in _STATES:
            if state.startswith(start):
                return what, hint
        if state:
            return f"it cannot be used (SQLSTATE {state})", "check the server's log"
        said = str(error).lower()
        for words, what, hint in _SENTENCES:
            if words in said:
                return what, _TLS if hint == "TLS" else hint
        return "the connection to it was lost", _LATER


def postgres_server(url: str) -> PostgresServer:
    """Return the server that a `postgresql://` URL names. Raises SettingsError."""
    try:
        return PostgresServer(parse_server_url(url), os.environ)
    except UnusableDatabaseUrl as error:
        raise error.of_store() from None


def _sqlstate(error: BaseException) -> str:
    return getattr(error, "sqlstate", "") or ""


class ServerConnection(Connection):
    """A connection to a server. Transactions are begun by statements; the driver begins none by itself."""

    raw: "_TimedConnection"

    def __init__(self, raw: "_TimedConnection", observers: Sequence[Observer] = ()) -> None:
        super().__init__(observers)
        self.raw = raw

    def text_as_bytes(self, column: str) -> str:
        """Return the SQL for a column of text as its bytes."""
        return f"convert_to({column}, 'UTF8')"

    def is_alive(self) -> bool:
        """Whether the server still answers: one that was started again is no error.

        Raises what says that it is silent: a new connection would be silent too.
        """
        try:
            self.raw.execute("SELECT 1")
        except psycopg.Error as error:
            if is_silent_server(error) or not self.raw.closed:
                raise
            return False
        return True

    def reset(self) -> bool:
        """Undo what was begun and not committed; False where the connection is gone."""
        if not self.raw.closed:
            self.raw.rollback()
        return not self.raw.closed

    @staticmethod
    def _in_own_style(sql: str) -> str:
        return _to_pyformat(sql)

    @staticmethod
    def _mark(name: str) -> str:
        return f"%({name})s"

    def _execute(self, sql: str, values: Values | None) -> Result:
        return Result(self.raw.execute(sql.encode(), values))

    def _execute_many(self, sql: str, rows: Sequence[Values]) -> None:
        # Each thousand with a patience of its own.
        with self.raw.cursor() as cursor:
            for start in range(0, len(rows), _rows_at_once):
                cursor.executemany(sql.encode(), rows[start : start + _rows_at_once])

    def _stream(self, sql: str, values: Values) -> Iterator[Row]:
        with closing(self.raw.cursor(name="reconciler")) as cursor:
            cursor.itersize = _rows_at_once
            yield from cursor.execute(sql.encode(), values)

    def _begin(self, mode: Mode) -> None:
        if mode == "reading":
            self.raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return
        # Each statement sees what is there after the turn was taken.
        self.raw.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        if mode == "writing":
            self.execute(f"SELECT pg_advisory_xact_lock({_TURN})")


_NAMED = re.compile(r"(?<![:\w]):([a-z_][a-z_0-9]*)\b")


@lru_cache(maxsize=200)  # there are some 60 statements
def _to_pyformat(sql: str) -> str:
    """Return a statement with `%(name)s` in the place of `:name`, as the driver wants it."""
    return _NAMED.sub(r"%(\1)s", sql.replace("%", "%%"))


# --- Time limits ------------------------------------------------------------------------------------------
#
# Connections wait for an answer so long and no longer, by this machine's clock. The limits that the server
# keeps (`_SESSION`) end nothing where it takes our words and says nothing: the other side acknowledges what
# arrives, so that the network is no help either.


class NoAnswer(psycopg.OperationalError):
    """The server took what we sent, and answered nothing for too long."""


class _TimedConnection(psycopg.Connection[Any]):
    """A connection that waits for each answer so long and no longer, whatever the other side does.

    Everything that talks to the server (statements, commit, rollback) passes `wait`. The driver asks every
    tenth of a second whether it should go on; a server that trickles is asked as well.
    """

    answer_max_s = 0.0  # seconds

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **words: Any) -> T:
        """Return what `gen` returns. Raises NoAnswer, and then the connection is closed."""
        try:
            return super().wait(_limit_time(gen, self.answer_max_s), *args, **words)
        except NoAnswer:
            self.pgconn.finish()  # nothing more is said on it; the pool takes another one
            raise


def _limit_time(gen: Generator[Any, Any, T], seconds: float) -> Generator[Any, Any, T]:
    ends_at = time.monotonic() + seconds
    try:
        state = next(gen)
        while True:
            ready = yield state
            state = gen.send(ready)
            if time.monotonic() > ends_at:
                raise NoAnswer(f"timeout: no answer within {seconds:g} s")
    except StopIteration as ended:
        value: T = ended.value
        return value


def connect_postgres(arguments: Mapping[str, Any]) -> _TimedConnection:
    """Return a connection in which every answer has as long as the call itself: `connect_timeout`."""
    connection = _TimedConnection.connect(**arguments)
    connection.answer_max_s = float(arguments["connect_timeout"])
    return connection


def is_silent_server(error: BaseException) -> bool:
    """Whether the server did not answer in time, in a conversation or when it was called."""
    return isinstance(error, (NoAnswer, psycopg.errors.ConnectionTimeout))


def _connection_arguments(url: ServerUrl, found: Mapping[str, str], *, writing: bool) -> dict[str, object]:
    """Return what a connection is made from; `found` is what `libpq_environment` says."""
    session = _SESSION if writing else {**_SESSION, "default_transaction_read_only": "on"}
    given = {
        "port": url.port,
        "user": url.user,
        "password": url.password.reveal(),
        "dbname": url.database,
        "options": " ".join(f"-c {name}={value}" for name, value in session.items()),
    }
    said = {name: value for name, value in given.items() if value}
    try:
        return {**_CONNECTION, **said, **url.options, **tls_arguments(url, found)}
    except UnusableDatabaseUrl as error:
        raise error.of_store() from None
