"""A query of any other database that SQLAlchemy knows, where its driver is installed.

No such database can be asked in the same way to write nothing. So its statement begins with SELECT, is one,
has no word of those that write, and whatever it did is rolled back. Its connection is encrypted, and its
server proves who it is, or it is not asked.
"""

import os
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from reconciler.core.calls import is_loopback
from reconciler.directories.answers import DirectoryFailed, load_directory_trust
from reconciler.directories.sql_values import READ_ONLY, parse_dialect

# --- Encryption: how each driver is made to require TLS -------------------------------------------
#
# Without an option, drivers send login and rows unencrypted, or to any server that answers.
# Each driver has options of its own, which are a row here; one without a row is not used for another machine,
# unless `tls: driver` of the settings leaves the connection to it. What never leaves this machine needs none.
#
# Decided about the arguments that the driver gets in the end, for options of a URL can lead elsewhere.
# Nothing here connects to anything.


Arguments = dict[str, Any]

# Options by which a connection goes where its host does not say.
_ELSEWHERE = frozenset(
    {"hostaddr", "service", "read_default_file", "read_default_group", "named_pipe", "dsn", "conninfo"}
)
# Variables by which libpq does the same, whatever host it is given.
_LIBPQ_ELSEWHERE = frozenset({"PGHOSTADDR", "PGSERVICE"})
_LEAVE = (
    "or write `tls: driver` beside the url: then the driver and its options decide, and it is not checked"
)


def _by_pymysql(given: Arguments, version: tuple[Any, ...]) -> Arguments:
    if version < (1, 2):  # older ones go on without TLS where the server offers none
        raise DirectoryFailed("PyMySQL before 1.2 cannot require TLS.", f"install a newer one, {_LEAVE}")
    return {**_without(given, "ssl_"), "ssl": _context(given), "ssl_disabled": False}


def _by_mysqlclient(given: Arguments, _: tuple[Any, ...]) -> Arguments:
    own = given["ssl"] if isinstance(given.get("ssl"), Mapping) else {}
    ca = (
        own.get("ca")
        or ssl.get_default_verify_paths().cafile
        or ssl.get_default_verify_paths().openssl_cafile
    )
    return {**given, "ssl_mode": "VERIFY_IDENTITY", "ssl": {**own, "ca": ca}}


def _by_libpq(given: Arguments, _: tuple[Any, ...]) -> Arguments:
    # Kerberos' own encryption would be tried first, and no certificate would be looked at.
    return {"sslrootcert": "system", **given, "sslmode": "verify-full", "gssencmode": "disable"}


def _by_pg8000(given: Arguments, _: tuple[Any, ...]) -> Arguments:
    return {**given, "ssl_context": _context(given)}


# By the name of the driver; what each does with these arguments where the server offers no TLS is: it ends.
WAYS: Mapping[str, Callable[[Arguments, tuple[Any, ...]], Arguments]] = {
    "pymysql": _by_pymysql,
    "mysqldb": _by_mysqlclient,
    "psycopg": _by_libpq,
    "psycopg2": _by_libpq,
    "pg8000": _by_pg8000,
}


def require_tls(
    driver: str,
    url: URL,
    given: Arguments,
    version: tuple[Any, ...] = (),
    environ: Mapping[str, str] = MappingProxyType({}),
) -> Arguments:
    """Return the arguments with which a driver connects: encrypted and proven, or within this machine.

    `given` are those that it would get. Raises DirectoryFailed for a driver that is not known here.
    """
    way = WAYS.get(driver)
    if way is None:
        if _stays_here(url):
            return given
        unknown = f"reconciler does not know how to require TLS with the driver {driver}"
        what = f"it is on another machine, and {unknown}."
        known = ", ".join(sorted(WAYS))
        raise DirectoryFailed(what, f"use one of the drivers {known}, {_LEAVE}")
    led = way is _by_libpq and any(map(environ.get, _LIBPQ_ELSEWHERE))
    if not led and _ELSEWHERE.isdisjoint(given) and _is_here(driver, given):
        return given
    return way(given, version)


def _stays_here(url: URL) -> bool:
    """Whether a URL names this machine, or a file, and has no option that might say otherwise."""
    return not url.query and (is_loopback(url.host) if url.host else not url.username)


def _is_here(driver: str, given: Arguments) -> bool:
    host = given.get("host") or ""
    # MySQL's own client takes the socket for this machine alone: with another host, that one.
    if given.get("unix_socket") and (driver == "pymysql" or not host):
        return True
    # Of a list, libpq takes the first host that answers.
    return isinstance(host, str) and (is_loopback(host) or (host.startswith("/") and "," not in host))


def _context(given: Arguments) -> ssl.SSLContext:
    """Return what proves a server: the certificates that the URL names, or those of this system."""
    own = given["ssl"] if isinstance(given.get("ssl"), Mapping) else {}
    context = load_directory_trust(str(own.get("ca") or given.get("ssl_ca") or ""))
    try:
        if own.get("cert"):
            context.load_cert_chain(own["cert"], own.get("key"))
    except OSError as error:  # ssl's errors are such
        raise DirectoryFailed(
            "a file of certificates that its url names cannot be used.", "check it"
        ) from error
    return context


def _without(given: Arguments, start: str) -> Arguments:
    return {name: value for name, value in given.items() if not name.startswith(start)}


_at_once = 1_000  # rows
# SELECT ... INTO makes a table, or a file of the server; drivers commit some of the others by themselves.
_WRITES = re.compile(r"\b(?:INSERT|UPDATE|DELETE|MERGE|INTO)\b", re.IGNORECASE)

Asked = tuple[Sequence[str], Iterator[Sequence[Sequence[Any]]]]  # titles, and rows in batches


@contextmanager
def query_dialect(url: str, statement: str, timeout_s: float, *, leave_tls: bool = False) -> Iterator[Asked]:
    """Give the columns of the answer, and its rows in batches. Raises DirectoryFailed, in the block too.

    `leave_tls`: whether the connection is encrypted is for the driver and the options of its URL alone.
    """
    if ";" in statement.rstrip().removesuffix(";"):  # in a text as well: each database has quotes of its own
        raise DirectoryFailed("its statement holds a semicolon, and may be more than one.", READ_ONLY)
    if word := _WRITES.search(statement):
        what = f"its statement holds the word {word[0].upper()}, and may do more than read."
        raise DirectoryFailed(what, READ_ONLY)
    ends_at = time.monotonic() + timeout_s
    try:
        parsed = make_url(url)
        engine = create_engine(parsed, poolclass=NullPool, hide_parameters=True)
        if not leave_tls:
            _require_tls(engine, parsed)
        with engine.connect() as connection:
            try:
                found = connection.execution_options(stream_results=True).exec_driver_sql(statement)
                yield tuple(found.keys()), _batches(found, ends_at)
            finally:
                connection.rollback()
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        what = f"what speaks {parse_dialect(url)} is not installed here."
        raise DirectoryFailed(what, "install a driver for that database beside reconciler") from error
    except (ArgumentError, ValueError) as error:  # the second: a port that is no number
        raise DirectoryFailed(
            "its url is not that of a database.", "write it as SQLAlchemy documents it"
        ) from error
    except DBAPIError as error:  # its words may hold data
        kind = type(error.orig).__name__
        what = f"it cannot be read: its driver says {kind}."
        raise DirectoryFailed(what, "try the statement in a database client") from error
    except SQLAlchemyError as error:
        raise DirectoryFailed(f"it cannot be read: {type(error).__name__}.", READ_ONLY) from error


def _require_tls(engine: Engine, url: URL) -> None:
    """Let the driver connect with what makes its connection safe, or not at all."""

    @event.listens_for(engine, "do_connect")
    def protect(dialect: Any, _record: Any, _positional: list[Any], given: dict[str, Any]) -> None:
        version = tuple(getattr(dialect.loaded_dbapi, "VERSION", ()))[:2]
        safe = require_tls(dialect.driver, url, dict(given), version, os.environ)
        given.clear()
        given.update(safe)


def _batches(found: Any, ends_at: float) -> Iterator[Sequence[Sequence[Any]]]:
    while batch := found.fetchmany(_at_once):
        yield batch
        if time.monotonic() > ends_at:
            raise DirectoryFailed(
                "its statement took longer than timeout_s allows.", "make it faster, or raise timeout_s"
            )
