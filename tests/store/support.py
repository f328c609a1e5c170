"""A store with everything filled in that a test does not say."""

import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from clock import Clock

from reconciler.model.address import Address, contact_address
from reconciler.model.plans import Workspace
from reconciler.model.snapshots import RecordedEntity
from reconciler.store import sealed_tables
from reconciler.store.adapter import Connection, Observer, Pool, Result
from reconciler.store.database import Store
from reconciler.store.schema import ENTITIES, JOURNAL, RUNS, Table
from reconciler.store.sealed_tables import Owner
from reconciler.store.sqlite import FileConnection

ORIGIN = "https://api.example.com"
WORKSPACES = (Workspace("default", ""), Workspace("ops", "AB12"))
JANE = contact_address("ops", "jane-doe")
SAM = contact_address("ops", "sam-lee")
NOBODY = 65534


@contextmanager
def file_of(path: Path) -> Iterator[sqlite3.Connection]:
    """A store's file, as somebody with a database tool has it: committed at the end, and closed."""
    with closing(sqlite3.connect(path)) as connection, connection:
        yield connection


def store_at(
    place: Path | str,
    *,
    clock: Clock | None = None,
    stack: str = "default",
    origin: str = ORIGIN,
    create: bool = True,
    prefix: str = "token",
    monotonic: Callable[[], float] = time.monotonic,
) -> Store:
    """Open the store at a URL, or in a file."""
    count = itertools.count(1)
    return Store.open(
        place if isinstance(place, str) else f"sqlite:///{place}",
        origin=origin,
        stack=stack,
        now=clock or Clock(),
        token=lambda: f"{prefix}-{next(count)}",
        monotonic=monotonic,
        create=create,
    )


def record(address: Address = JANE, **fields: str | bool) -> RecordedEntity:
    return RecordedEntity(
        address=address,
        remote_id="00AB",
        sent={"firstName": "Jane", **fields},
        shown={"firstName": "Jane", **fields},
        modified="2026-02-01T10:00:00+00:00",
        adopted="2026-01-15T08:00:00+00:00",
        earlier=("00A8", "00A9"),
    )


def seal_again(connection: Connection, *tables: Table) -> None:
    """Let the seals fit the rows as they are now: what a test wrote by hand is what the program wrote."""
    for table in tables:
        owners = (
            f"SELECT origin, stack FROM seals WHERE name = '{table.name}' "  # noqa: S608 - names of tables
            f"UNION SELECT origin, stack FROM {table.name}"
        )
        for owner in connection.execute(owners).all():
            seals = sealed_tables.Seals(connection, Owner(*owner))
            seals.make(table)
            seals.save()


def seal_file_again(path: Path) -> None:
    """The same, for a store in a file, of the history too."""
    with closing(sqlite3.connect(path)) as raw, raw:
        seal_again(FileConnection(raw), ENTITIES, JOURNAL, RUNS)
        last = "SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1"
        row = raw.execute(last).fetchone() or (0, "")
        raw.execute("UPDATE seals SET number = ?, digest = ? WHERE name = 'audit'", row)


def named_rows(result: Result) -> list[dict[str, Any]]:
    """Return the rows of an answer, by the names of their columns."""
    return [dict(zip(result.columns, row, strict=True)) for row in result]


def pool_of(store: Store) -> Pool:
    """Return the connections of a store."""
    assert store._database.pool is not None
    return store._database.pool


@contextmanager
def observed(pool: Pool, observer: Observer) -> Iterator[None]:
    """Let somebody hear what happens on these connections."""
    pool.observers.append(observer)
    try:
        yield
    finally:
        pool.observers.remove(observer)


def pass_time(store: Store, clock: Clock, seconds: float) -> None:
    """Let that much time pass for the locks of a store, whichever clock it goes by.

    The clock of a server cannot be moved: what it has written down becomes as much older.
    """
    clock.pass_s(seconds)
    if store.shared:
        with store._database.writing() as connection:
            since, expires = connection.execute("SELECT since, expires FROM locks").one()
            connection.execute(
                "UPDATE locks SET since = :since, expires = :expires",
                {"since": _earlier(since, seconds), "expires": _earlier(expires, seconds)},
            )


def _earlier(moment: str, seconds: float) -> str:
    return (datetime.fromisoformat(moment) - timedelta(seconds=seconds)).isoformat(timespec="seconds")


@contextmanager
def as_somebody_without_rights(folder: Path) -> Iterator[None]:
    """Take the right to write in `folder` away; a superuser has to become somebody else for that."""
    superuser = os.geteuid() == 0
    folder.chmod(0o555)
    if superuser:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if superuser:
            os.seteuid(0)
        folder.chmod(0o700)
