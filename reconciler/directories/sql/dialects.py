"""A query of any other database that SQLAlchemy knows, where its driver is installed.

No such database can be asked in the same way to write nothing. So its statement begins with SELECT, is one,
has no word of those that write, and whatever it did is rolled back. How its connection is protected is said
in encryption.py.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from reconciler.directories.answers import DirectoryFailed
from reconciler.directories.sql.encryption import require_tls
from reconciler.directories.sql.statements import READ_ONLY, dialect_of

_at_once = 1_000  # rows
# SELECT ... INTO makes a table, or a file of the server; drivers commit some of the others by themselves.
_WRITES = re.compile(r"\b(?:INSERT|UPDATE|DELETE|MERGE|INTO)\b", re.IGNORECASE)

Asked = tuple[Sequence[str], Iterator[Sequence[Sequence[Any]]]]  # titles, and rows in batches


@contextmanager
def asked(url: str, statement: str, timeout_s: float, *, leave_tls: bool = False) -> Iterator[Asked]:
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
        what = f"what speaks {dialect_of(url)} is not installed here."
        raise DirectoryFailed(what, "install the driver of that database beside reconciler") from error
    except (ArgumentError, ValueError) as error:  # the second: a port that is no number
        raise DirectoryFailed("its url is none.", "write it as SQLAlchemy documents it") from error
    except DBAPIError as error:  # its words may hold data
        kind = type(error.orig).__name__
        what = f"it cannot be read: its driver says {kind}."
        raise DirectoryFailed(what, "try the statement in a client of that database") from error
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
                "its statement took longer than timeout_s allows.", "make it quicker, or allow more"
            )
