"""A query of a PostgreSQL database that cannot write: a read-only transaction, and one cursor over one query.

The way there, and how the server proves itself, are those of the store (store/postgres.py). Loads the driver.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import IsolationLevel

from reconciler.database_urls import ServerUrl, UnusableDatabaseUrl, parse_server_url
from reconciler.directories.answers import DirectoryFailed
from reconciler.directories.sql_values import READ_ONLY
from reconciler.parsing.display import show_value
from reconciler.store import postgres
from reconciler.store.postgres_tls import libpq_environment, tls_arguments

_connect_s = 10.0  # seconds; a server that is there answers within one
_lock_s = 7  # seconds; a query waits only for changes of the tables themselves
_beyond_s = 2.0  # seconds; the server's own limit comes first, and its error says more
_at_once = 1_000  # rows

# SQLSTATE by its start, what it means, and what helps.
_MEANINGS = (
    ("25006", "its statement does more than read.", READ_ONLY),
    ("0A000", "its statement does more than read, or what no query can do.", READ_ONLY),
    ("57014", "its statement took longer than timeout_s allows.", "make it faster, or raise timeout_s"),
    ("55P03", "a table is locked for too long.", "run it again later"),
    ("42501", "this role may not read what the statement names.", "GRANT SELECT on it"),
    ("28", "the login is refused.", "check its role and password"),
    ("3D", "there is no such database.", "check the name in its url"),
    ("53", "the server has run out of a resource.", "run it again later"),
    ("57P", "the server is starting or stopping.", "run it again later"),
    ("08P01", "its statement asks for a parameter.", "write the value into the statement"),
    ("08", "the connection was lost.", "run it again later"),
    ("22", "its statement fails on a value in the data.", "try it in a database client"),
)
_ABOUT_STATEMENT = "42"  # the class whose messages name what the statement names, and no data
# Before a login nothing but a sentence arrives.
_SENTENCES = (
    ("password authentication failed", "the login is refused.", "check its role and password"),
    (
        "no password supplied",
        "it requires a password, and none is set.",
        "put one into its url, from {env: NAME}",
    ),
    ("pg_hba.conf", "the login is refused.", "let pg_hba.conf accept this role from here"),
    ("certificate", "the server's certificate is not accepted.", "name who signed it: ?sslrootcert=PATH"),
    ("ssl", "no TLS connection can be made.", "let the server offer TLS with a certificate"),
    ('database "', "there is no such database.", "check the name in its url"),
    ('role "', "the login is refused.", "check its role and password"),
    ("resolve host", "the host is unknown.", "check the host in its url"),
    ("translate host", "the host is unknown.", "check the host in its url"),
    ("unreachable", "it cannot be reached.", "check that it runs, and that it can be reached from here"),
    ("refused", "it cannot be reached.", "check that it runs, and that it can be reached from here"),
    ("no such file", "it cannot be reached.", "check that it runs, and that it can be reached from here"),
    ("timeout", "it does not answer.", "check that it runs, and that it can be reached from here"),
)

Asked = tuple[Sequence[str], Iterator[Sequence[Sequence[Any]]]]  # titles, and rows in batches


@contextmanager
def query_postgresql(url: str, statement: str, timeout_s: float) -> Iterator[Asked]:
    """Give the columns of the answer, and its rows in batches. Raises DirectoryFailed, in the block too."""
    ends_at = time.monotonic() + timeout_s
    try:
        with _connect_read_only(parse_server_url(url), timeout_s) as connection:
            # A cursor of the server takes one query and nothing else, sent by the protocol that takes one
            # statement: a second one after a semicolon could end the transaction and begin one that writes.
            with connection.cursor(name="reconciler") as cursor:
                cursor.execute(statement.encode())
                titles = [column.name for column in cursor.description or ()]
                yield titles, _fetch_batches(cursor, ends_at)
            connection.rollback()
    except UnusableDatabaseUrl as error:
        raise DirectoryFailed(str(error), error.next) from None
    except psycopg.Error as error:
        raise _explain_postgresql_error(error) from error


def _fetch_batches(cursor: Any, ends_at: float) -> Iterator[Sequence[Sequence[Any]]]:
    while batch := cursor.fetchmany(_at_once):
        yield batch
        if time.monotonic() > ends_at:  # the server's limit is that of one batch
            raise psycopg.errors.QueryCanceled


def _connect_read_only(url: ServerUrl, timeout_s: float) -> "psycopg.Connection[Any]":
    connection = postgres.connect_postgres(_build_arguments(url, timeout_s))
    connection.answer_max_s = timeout_s + _beyond_s
    connection.read_only = True
    connection.isolation_level = IsolationLevel.REPEATABLE_READ  # one moment, for all of its batches
    return connection


def _build_arguments(url: ServerUrl, timeout_s: float) -> Mapping[str, Any]:
    session = {
        "default_transaction_read_only": "on",
        "statement_timeout": f"{timeout_s * 1000:.0f}ms",
        "lock_timeout": f"{_lock_s}s",
        "timezone": "UTC",
        "DateStyle": "ISO",
    }
    given = {
        "port": url.port,
        "user": url.user,
        "password": url.password.reveal(),
        "dbname": url.database,
        "connect_timeout": int(min(timeout_s, _connect_s)) or 1,
        "application_name": "reconciler",
        "client_encoding": "utf8",
        "options": " ".join(f"-c {name}={value}" for name, value in session.items()),
    }
    said = {name: value for name, value in given.items() if value}
    return {**said, **url.options, **tls_arguments(url, libpq_environment(os.environ))}


def _explain_postgresql_error(error: psycopg.Error) -> DirectoryFailed:
    """Return what an error means. The server's words are quoted only where they are about the statement."""
    state = error.sqlstate or ""
    said = str(error.diag.message_primary or error)
    if "multiple commands" in said:
        return DirectoryFailed("it has more than one statement.", READ_ONLY)
    for start, what, hint in _MEANINGS:
        if state.startswith(start):
            return DirectoryFailed(what, hint)
    if state.startswith(_ABOUT_STATEMENT):
        what = f"its statement cannot be carried out: {show_value(said)}."
        return DirectoryFailed(what, "try it in a database client")
    if state:
        return DirectoryFailed(f"its statement cannot be carried out (SQLSTATE {state}).", "check its log")
    if postgres.is_silent_server(error):
        return DirectoryFailed(
            "it does not answer.", "check that it runs, and that it can be reached from here"
        )
    if isinstance(error, psycopg.DataError):
        return DirectoryFailed(
            "it returns a value that reconciler cannot read.", "convert it with CAST(... AS text)"
        )
    for words, what, hint in _SENTENCES:
        if words in said.lower():
            return DirectoryFailed(what, hint)
    return DirectoryFailed("the connection to it was lost.", "run it again later")
