"""Everything that only PostgreSQL needs: the way there, the turn of a writer, the words for its errors.

What is stored, and every statement, is elsewhere and portable. Nothing here ever shows a password.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, inspect, select
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.schema import CreateSchema

from reconciler.database_urls import ServerUrl, UnusableUrl, parse_server_url
from reconciler.extras import require_extra
from reconciler.store.engines.proof import proof, surroundings
from reconciler.store.lost import RESTORE

# The tables have a schema of their own: a database may hold other things, and theirs are not ours.
SCHEMA = "reconciler"

# Seconds, by our own clock, for the call and for every answer (patient.py): a server that is there answers
# within one. Longer than the server's own limits below, whose errors say more.
connect_timeout_s = 10
lock_timeout_s = 7  # seconds; everything that somebody else may be doing takes milliseconds
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
    "search_path": SCHEMA,  # nothing that somebody put elsewhere is taken for ours
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
    "prepare_threshold": None,  # a prepared statement would not survive another process's migration
}

_BUSY = "wait until that ends, then run it again"
_REACH = "check host and port in `store`, that the server runs, and that you can reach it from here"
_LOGIN = (
    "check the user in `store` and its password (PGPASSWORD, a passfile, or a URL in RECONCILER_STORE), "
    "and that the server lets you in from here"
)
_RIGHTS = f"let the owner of the database give you schema {SCHEMA} and its tables"
_LATER = "run it again when the server is there; nothing that was committed is lost"

# What the server says (by the start of its SQLSTATE), what that means, and what helps; the first fits.
_STATES = (
    ("25006", "it may not be written", "use the primary server, and a user who may write"),
    ("28", "the login is refused", _LOGIN),
    ("3D000", "there is no such database", "create it, or set `store` to one that is there"),
    ("42P01", "its tables are not there any more", RESTORE),
    ("3F000", "its schema is not there any more", RESTORE),
    ("40", "others wrote at the same moment", "run it again"),
    ("42501", "this user may not do that", _RIGHTS),
    ("53100", "the disk is full", "make room on the server's disk, then run it again"),
    ("53300", "the server has no connection left", "raise its max_connections, or end what is idle there"),
    ("53", "the server is short of something", "look into the server's log, then run it again"),
    ("55P03", "another process holds on to it", _BUSY),
    ("57014", "the server takes too long", "look at what else it is doing, then run it again"),
    ("57P03", "the server is just starting or stopping", _LATER),
    ("57P", "the connection was ended by the server", _LATER),
    ("25P03", "the connection was ended, because this machine did nothing for too long", "run it again"),
    ("08", "the connection to it was lost", _LATER),
    ("58", "the disk of the server does not do what it should", "look into the server's log"),
    ("XX", "it is damaged", "look into the server's log; restore it from a copy"),
    (
        "22",
        "a value holds a sign that it cannot keep",
        "look for control characters in the names of the service",
    ),
)
# Before a login nothing but a sentence arrives; of a server that speaks another language, only its start.
_SENTENCES = (
    ("does not support ssl", "the server offers no encryption", "TLS"),
    ("certificate", "the server's certificate is not accepted", "TLS"),
    ("ssl", "no safe connection can be made", "TLS"),
    ("password authentication failed", "the login is refused", _LOGIN),
    ("no password supplied", "it asks for a password, and none is given", _LOGIN),
    ("pg_hba.conf", "the login is refused", _LOGIN),
    ("not permitted to log in", "the login is refused", _LOGIN),
    ('role "', "the login is refused", _LOGIN),
    ("authentication", "the login is refused", _LOGIN),
    ('database "', "there is no such database", "create it, or set `store` to one that is there"),
    (
        "too many c",
        "the server has no connection left",
        "raise its max_connections, or end what is idle there",
    ),
    ("remaining connection slots", "the server has no connection left", "raise its max_connections"),
    ("starting up", "the server is just starting", _LATER),
    ("shutting down", "the server is just stopping", _LATER),
    ("resolve host", "no such host is known", _REACH),
    ("translate host", "no such host is known", _REACH),
    ("refused", "it cannot be reached", _REACH),
    ("no such file", "it cannot be reached", _REACH),
    ("timeout", "it does not answer", _REACH),
    ("connection failed", "it cannot be reached", _REACH),
    ("connection is bad", "it cannot be reached", _REACH),
    (
        "unsupported startup parameter",
        "the pooler in front of it accepts no startup settings",
        "let the pooler pass `options` on",
    ),
    (
        "nul",
        "a value holds a sign that it cannot keep",
        "look for control characters in the names of the service",
    ),
)
_TLS = (
    "let the server prove itself: sslrootcert=PATH names who signed its certificate; in a network that you "
    "trust, name the host in `store`, and behind the database ?sslmode=require (encrypted, to anybody) or "
    "?sslmode=disable"
)


class Server:
    """A database on a PostgreSQL server, which several machines share."""

    shared = True
    schema = SCHEMA

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

    def begins(self, connection: Connection) -> None:
        """Nothing to prepare: the server finds the tables by their names, in every statement."""

    def check_pages(self, connection: Connection) -> None:
        """Nothing is asked: the server watches over its own pages."""

    def scrub(self, engine: Engine) -> None:
        """Nothing to do: the server uses the space of deleted rows again when it chooses to."""

    def ends(self, connection: Connection) -> None:
        """Nothing to note."""

    def committed(self, connection: Connection, salt: str) -> None:
        """Nothing to look at: the server has committed to what it will answer from."""

    def engine(self, *, writing: bool) -> Engine:
        """Return an engine; nothing is asked yet. Raises SettingsError where the way there is not safe."""
        from reconciler.store.engines.patient import connect  # noqa: PLC0415 - loads the driver, which few need

        engine = create_engine(
            "postgresql+psycopg://",
            connect_args=_arguments(self._url, surroundings(self._environ), writing=writing),
            hide_parameters=True,  # parameters are people's data, and errors end up in logs
            pool_size=2,  # many machines share the server's connections
            max_overflow=6,
            pool_pre_ping=True,  # a server that was started again is no error
            use_native_hstore=False,  # spares a question at the beginning
        )
        event.listen(engine, "do_connect", connect)
        event.listen(engine, "begin", _take_turn)
        event.listen(engine, "do_executemany", _in_slices)
        event.listen(engine, "handle_error", _give_up_a_silent_ping)
        return engine

    def options(self, *, writing: bool) -> Mapping[str, object]:
        """Return what a transaction has to be: a look at one moment, or the one that writes."""
        if writing:
            # Each statement sees what is there after the turn was taken.
            return {"isolation_level": "READ COMMITTED", "postgresql_readonly": False, "writing": True}
        return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

    def make_room(self, connection: Connection) -> None:
        """Make the schema for the tables where there is none."""
        # Where somebody made it for us, we need no right to make one.
        if SCHEMA not in inspect(connection).get_schema_names():
            connection.execute(CreateSchema(SCHEMA))

    def now(self, connection: Connection) -> datetime:
        """Return the server's time, which all who share it agree on, in UTC."""
        moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        return moment.astimezone(UTC)

    def silent(self, error: BaseException) -> bool:
        """Whether the server did not answer in time, in a conversation or when it was called."""
        from reconciler.store.engines.patient import is_silence  # noqa: PLC0415 - as above; here it is loaded already

        return is_silence(error)

    def collided(self, error: BaseException) -> bool:
        """Whether the server undid the whole transaction for the sake of another one."""
        return _state(error) in {"40001", "40P01"}

    def meaning(self, error: BaseException) -> tuple[str, str]:
        """Return what an error means and what to do next, both as text for people."""
        state = _state(error)
        for start, what, hint in _STATES:
            if state.startswith(start):
                return what, hint
        if state:
            return f"it cannot be used (SQLSTATE {state})", "look into the server's log"
        said = str(error).lower()
        for words, what, hint in _SENTENCES:
            if words in said:
                return what, _TLS if hint == "TLS" else hint
        return "the connection to it was lost", _LATER


def source(url: str) -> Server:
    """Return the server that a `postgresql://` URL names. Raises SettingsError, MissingExtra."""
    require_extra("postgres")
    try:
        return Server(parse_server_url(url), os.environ)
    except UnusableUrl as error:
        raise error.of_store() from None


def _state(error: BaseException) -> str:
    return getattr(error, "sqlstate", "") or ""


def _give_up_a_silent_ping(context: ExceptionContext) -> None:
    """Let silence at the ping before a transaction be the end: a new connection would be silent too."""
    from reconciler.store.engines.patient import is_silence  # noqa: PLC0415 - loaded already

    if context.is_pre_ping and is_silence(context.original_exception):
        context.is_disconnect = False


def _take_turn(connection: Connection) -> None:
    if connection.get_execution_options().get("writing", False):
        connection.execute(select(func.pg_advisory_xact_lock(_TURN)))


def _in_slices(cursor: Any, statement: str, rows: Sequence[Any], _: object) -> bool:
    """Send many rows a thousand at a time, each with a patience of its own; True: nothing is left to send."""
    for start in range(0, len(rows), _rows_at_once):
        cursor.executemany(statement, rows[start : start + _rows_at_once])
    return True


def _arguments(url: ServerUrl, found: Mapping[str, str], *, writing: bool) -> dict[str, object]:
    """Return what a connection is made from; `found` is what libpq takes from its surroundings (proof.py)."""
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
        return {**_CONNECTION, **said, **url.options, **proof(url, found)}
    except UnusableUrl as error:
        raise error.of_store() from None
