"""What one statement of a directory answers, whole: asked of the database that its URL names.

SQLite is here; other databases load a driver, and have modules of their own.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reconciler import database_urls
from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.directories.sql_values import (
    READ_ONLY,
    NotText,
    build_sql_answer,
    parse_dialect,
    why_not_query,
    why_not_url,
)
from reconciler.extras import require_extra
from reconciler.model.directories import SqlDirectory
from reconciler.parsing.display import show_value


def read_sql(_name: str, directory: SqlDirectory, *, rows_max: int) -> AnswerRows:
    """Return what the statement of a directory answers.

    Raises DirectoryFailed, SettingsError, MissingExtra.
    """
    url, statement = directory.url.reveal(), directory.statement
    if why := why_not_query(statement):
        raise DirectoryFailed(why, READ_ONLY)
    with _query_database(url, statement, directory) as (titles, batches):
        return build_sql_answer(titles, batches, rows_max=rows_max)


def _query_database(url: str, statement: str, directory: SqlDirectory) -> Any:
    """Return the context in which the database is asked. Each driver is loaded where it is needed."""
    if why := why_not_url(url):
        raise DirectoryFailed(why, "write it like postgresql://reader@db.example.com/hr, or sqlite:///PATH")
    dialect, timeout_s = parse_dialect(url), directory.timeout_s
    if dialect == "sqlite":
        path = database_urls.sqlite_path(url)
        if path is None:
            raise DirectoryFailed("its url names no file.", "write sqlite:///PATH, without options")
        return query_sqlite(path, statement, timeout_s)
    if dialect == "postgresql":
        require_extra("postgres")
        from reconciler.directories import sql_postgresql  # noqa: PLC0415 - loads the driver, which few need

        return sql_postgresql.query_postgresql(url, statement, timeout_s)
    require_extra("sql")
    from reconciler.directories import sql_dialects  # noqa: PLC0415 - loads SQLAlchemy

    return sql_dialects.query_dialect(url, statement, timeout_s, leave_tls=directory.tls == "driver")


# --- SQLite: opened read-only, and allowed nothing but to read ------------------------------------

_busy_s = 5.0  # while another process writes; a commit takes milliseconds
_steps = 10_000  # of SQLite's machine between two looks at the clock: less than a millisecond
_at_once = 1_000  # rows
_value_max = 16 * 1024 * 1024  # bytes of one value; a database may hold one of a gigabyte
_READS = frozenset(
    (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
)

# What SQLite says (by the start of its error's name), what that means, and what helps.
_MEANINGS = (
    ("SQLITE_AUTH", "its statement does more than read.", READ_ONLY),
    ("SQLITE_READONLY", "its statement does more than read.", READ_ONLY),
    (
        "SQLITE_INTERRUPT",
        "its statement took longer than timeout_s allows.",
        "make it faster, or raise timeout_s",
    ),
    (
        "SQLITE_BUSY",
        "another process has locked the file.",
        "wait until that process ends, then run it again",
    ),
    (
        "SQLITE_LOCKED",
        "another process has locked the file.",
        "wait until that process ends, then run it again",
    ),
    ("SQLITE_NOTADB", "the file is not an SQLite database.", "name the file of the database"),
    ("SQLITE_CORRUPT", "the file is damaged.", "restore it from a copy"),
    ("SQLITE_CANTOPEN", "the file cannot be opened.", "check its path, and that this user may read it"),
    ("SQLITE_PERM", "permission to open the file is denied.", "give this user permission to read it"),
    ("SQLITE_IOERR", "the disk failed.", "check that disk"),
    ("SQLITE_TOOBIG", "it returns a value that is too long.", "leave that column out of the statement"),
    ("SQLITE_NOMEM", "there is not enough memory for its answer.", "return less data from the statement"),
)
# Messages about the statement; those about data could quote it.
_ABOUT_STATEMENT = (
    "no such",
    "near ",
    "ambiguous",
    "incomplete",
    "unrecognized",
    "too many",
    "misuse",
    "wrong",
)


Asked = tuple[Sequence[str], Iterator[Sequence[Sequence[Any]]]]  # titles, and rows in batches


@contextmanager
def query_sqlite(path: str, statement: str, timeout_s: float) -> Iterator[Asked]:
    """Give the columns of the answer, and its rows in batches. Raises DirectoryFailed, in the block too."""
    ends_at = time.monotonic() + timeout_s
    try:
        connection = _connect_read_only(path, min(timeout_s, _busy_s))
        try:
            connection.set_progress_handler(lambda: time.monotonic() > ends_at, _steps)
            yield _run_statement(connection, statement)
        finally:
            connection.close()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _explain_sqlite_error(error) from error


def _connect_read_only(path: str, busy_s: float) -> sqlite3.Connection:
    if not Path(path).is_file():
        raise DirectoryFailed(f"{show_value(path)} is not a file.", "check the path in its url")
    place = f"file:{quote(path)}?mode=ro"
    connection = sqlite3.connect(place, uri=True, timeout=busy_s, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _value_max)
    connection.text_factory = _decode_text  # SQLite promises no UTF-8
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")  # a view of that file calls no function with effects
    connection.set_authorizer(_authorize_action)
    return connection


def _authorize_action(action: int, *_: object) -> int:
    # Read-only is not enough: ATTACH would open, and make, another file.
    return sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY


def _run_statement(connection: sqlite3.Connection, statement: str) -> Asked:
    """Return columns and rows. One statement only: SQLite's own interface refuses a second."""
    cursor = connection.execute(statement)
    titles = [column[0] for column in cursor.description or ()]
    return titles, iter(lambda: cursor.fetchmany(_at_once), [])


def _decode_text(data: bytes) -> "str | NotText":
    try:
        return data.decode()
    except UnicodeDecodeError:
        return NotText()


def _explain_sqlite_error(error: Exception) -> DirectoryFailed:
    """Return what an error of SQLite means. Its words are quoted only where they are about the statement."""
    name, said = getattr(error, "sqlite_errorname", "") or "", str(error)
    if not name and "one statement" in said:
        return DirectoryFailed("it has more than one statement.", READ_ONLY)
    if said.startswith(
        "not authorized"
    ):  # within a function that is a table, the error has no name of its own
        name = "SQLITE_AUTH"
    for start, what, hint in _MEANINGS:
        if name.startswith(start):
            return DirectoryFailed(what, hint)
    about = f": {show_value(said)}" if said.startswith(_ABOUT_STATEMENT) else ""
    return DirectoryFailed(f"its statement cannot be carried out{about}.", "try it in a database client")
