import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import effort
import postgres as postgres_server
import psycopg
import pytest
import tally
from clock import Clock
from core.build import contact, desired, live, person, planned
from store.support import JANE, ORIGIN, SAM, WORKSPACES, as_somebody_without_rights, named_rows, store_at
from waiting import patience_s

from reconciler.core.compare.normalize import mask_password, mask_secret
from reconciler.errors import StoreError
from reconciler.model.address import Address
from reconciler.model.plans import Update
from reconciler.model.snapshots import UNKNOWN, Recorded, RecordedEntity
from reconciler.store import connection, history, migrations, postgres, schema, sqlite
from reconciler.store.adapter import Connection, Observer
from reconciler.store.database import Store
from reconciler.store.records import Batch
from reconciler.store.sealed_tables import Owner

TESTS = str(Path(__file__).parents[1])
ME = Owner(ORIGIN, "default")

# A store as version 1 made it, with rows in each of its tables.
VERSION_1 = """
CREATE TABLE meta (key VARCHAR NOT NULL, value VARCHAR NOT NULL, PRIMARY KEY (key));
CREATE TABLE entities (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, workspace_id VARCHAR NOT NULL, address VARCHAR NOT NULL,
    remote_id VARCHAR NOT NULL, parent_id VARCHAR NOT NULL, sent TEXT NOT NULL, shown TEXT NOT NULL,
    modified VARCHAR NOT NULL, protected BOOLEAN NOT NULL, updated_at VARCHAR NOT NULL, run VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, workspace_id, address)
);
CREATE TABLE doubts (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, address VARCHAR NOT NULL, until VARCHAR NOT NULL,
    run VARCHAR NOT NULL, PRIMARY KEY (origin, stack, address)
);
CREATE TABLE locks (
    origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, nonce VARCHAR NOT NULL, run VARCHAR NOT NULL,
    holder VARCHAR NOT NULL, seat VARCHAR NOT NULL, pid INTEGER NOT NULL, since VARCHAR NOT NULL,
    expires VARCHAR NOT NULL, PRIMARY KEY (origin, stack)
);
CREATE TABLE runs (
    run VARCHAR NOT NULL, origin VARCHAR NOT NULL, stack VARCHAR NOT NULL, command VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL, started_at VARCHAR NOT NULL, ended_at VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL, exit_code INTEGER NOT NULL, counts TEXT NOT NULL, PRIMARY KEY (run)
);
CREATE TABLE plans_used (
    salt VARCHAR NOT NULL, run VARCHAR NOT NULL, used_at VARCHAR NOT NULL, PRIMARY KEY (salt)
);
INSERT INTO meta VALUES ('version', '1'), ('salt', 'the-old-salt');
INSERT INTO entities VALUES (
    'https://api.example.com', 'default', 'AB12', 'contact/ops/jane-doe', '00AB', '',
    '{"firstName":"Jane"}', '{"firstName":"Jane","title":""}', '2026-02-01T10:00:00+00:00', true,
    '2026-02-02T10:00:00+00:00', 'run-1'
);
INSERT INTO doubts VALUES
    ('https://api.example.com', 'default', 'contact/ops/sam-lee', '2026-03-01T12:00:10+00:00', 'run-2'),
    ('https://api.example.com', 'other', 'contact/ops/jane-doe', '2026-03-01T12:00:20+00:00', '');
INSERT INTO locks VALUES (
    'https://api.example.com', 'default', 'nonce-of-run-2', 'run-2', 'somebody', 'a seat', 7,
    '2026-03-01T11:54:00+00:00', '2026-03-01T11:59:00+00:00'
);
INSERT INTO runs VALUES
    ('run-1', 'https://api.example.com', 'default', 'apply', '7f3a', '2026-02-02T10:00:00+00:00',
     '2026-02-02T10:00:09+00:00', 'applied', 0, '{"create applied":1}'),
    ('run-2', 'https://api.example.com', 'default', 'apply', '8c4b', '2026-03-01T12:00:00+00:00',
     '', '', 0, '{}');
INSERT INTO plans_used VALUES ('a-plan', 'run-1', '2026-02-02T10:00:00+00:00')
"""


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A connection that knows nothing of the program but where its tables are; committed at the end."""
    if url.startswith("postgresql"):
        with psycopg.connect(url, options=f"-c search_path={postgres.SCHEMA}") as server:
            yield postgres.ServerConnection(server)  # type: ignore[arg-type]  # a plain one will do
        return
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file, file:
        yield sqlite.FileConnection(file)


def names_of(connection: Connection) -> list[str]:
    """The tables that are there."""
    server = isinstance(connection, postgres.ServerConnection)
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'reconciler'"
    found = connection.execute(query if server else "SELECT name FROM sqlite_master WHERE type = 'table'")
    return sorted(name for (name,) in found)


def make_version_1(url: str) -> None:
    with connected(url) as connection:
        if url.startswith("postgresql"):
            connection.execute(f"CREATE SCHEMA {postgres.SCHEMA}")
        for statement in VERSION_1.split(";"):
            connection.execute(statement)


def everything(url: str) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table."""
    with connected(url) as connection:
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}"))  # noqa: S608 - names of tables
            for name in names_of(connection)
        }


@pytest.fixture
def old(store_url: str) -> str:
    """The URL of a store of version 1."""
    make_version_1(store_url)
    return store_url


@pytest.mark.parametrize("create", [True, False])
def test_a_store_of_version_1_is_brought_up_and_nothing_of_it_is_lost(old: str, *, create: bool) -> None:
    """Reading does it too: the first command after an upgrade is most likely a plan."""
    with store_at(old, create=create) as store:
        kept = store.recorded(WORKSPACES)
        with store._database.reading() as connection:
            entries = history.load_journal(connection, ME)
            runs = named_rows(connection.execute("SELECT * FROM runs ORDER BY run"))
            used = connection.execute("SELECT * FROM plans_used").all()
        holder = store.holder()

    assert store.salt == "the-old-salt"
    assert kept.entities == {
        JANE: RecordedEntity(
            JANE,
            "00AB",
            sent={"firstName": "Jane"},
            shown={"firstName": "Jane", "title": ""},
            modified="2026-02-01T10:00:00+00:00",
            protected=True,
            adopted=UNKNOWN,
        )
    }
    assert kept.doubts == {SAM: "2026-03-01T12:00:10+00:00"}
    assert [(entry.open, entry.intent.action) for entry in entries] == [(True, "create")]
    assert holder is not None
    assert (holder.nonce, holder.run, holder.counter) == ("nonce-of-run-2", "run-2", 1)
    assert [(row["run"], row["outcome"], row["counts"]) for row in runs] == [
        ("run-1", "applied", '{"create applied":1}'),
        ("run-2", "", "{}"),
    ]
    assert [(row["who"], row["context"], row["plan"], row["consent"]) for row in runs] == [("",) * 4] * 2
    assert [tuple(row) for row in used] == [("a-plan", "run-1", "2026-02-02T10:00:00+00:00")]


def test_the_doubts_of_another_stack_stay_with_it(old: str) -> None:
    with store_at(old, stack="other") as store:
        assert store.recorded(WORKSPACES).doubts == {JANE: "2026-03-01T12:00:20+00:00"}


def test_a_store_that_was_brought_up_is_like_one_that_was_made(old: str, tmp_path: Path) -> None:
    """Or every later statement would have two kinds of tables to be right for."""

    def shape(connection: Connection) -> dict[str, object]:
        if isinstance(connection, postgres.ServerConnection):
            columns = (
                "SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns "
                "WHERE table_schema = 'reconciler' AND table_name = :name ORDER BY column_name"
            )
            keys = (
                "SELECT column_name, ordinal_position FROM information_schema.key_column_usage "
                "WHERE table_schema = 'reconciler' AND table_name = :name ORDER BY ordinal_position"
            )
        else:
            columns = (
                'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(:name) ORDER BY name'
            )
            keys = "SELECT origin FROM pragma_index_list(:name)"
        return {
            name: [connection.execute(one, {"name": name}).all() for one in (columns, keys)]
            for name in names_of(connection)
        }

    store_at(old).close()
    fresh = f"sqlite:///{tmp_path / 'fresh.db'}"
    with connected(old) as connection:
        brought_up = shape(connection)
        if old.startswith("postgresql"):
            connection.execute(f"DROP SCHEMA {postgres.SCHEMA} CASCADE")
            fresh = old
    store_at(fresh).close()

    with connected(fresh) as connection:
        assert brought_up == shape(connection)
    assert set(brought_up) == {table.name for table in schema.TABLES}


def test_bringing_up_twice_changes_nothing_more(old: str) -> None:
    store_at(old).close()
    once = everything(old)
    for create in (True, False):
        store_at(old, create=create).close()

    assert everything(old) == once


def test_a_lock_of_an_older_version_counts_on(old: str) -> None:
    with store_at(old) as store, store.lock("run-3") as lock:
        assert lock.counter == 2


def write_lease(url: str, expires: str) -> None:
    with connected(url) as opened:
        opened.execute("UPDATE locks SET expires = :expires", {"expires": expires})


@pytest.mark.parametrize("create", [True, False])
def test_a_store_is_not_brought_up_under_a_run_of_an_older_version(old: str, *, create: bool) -> None:
    """What that run goes on to write is in no seal: the next command would call the store damaged."""
    write_lease(old, "2999-01-01T00:00:00+00:00")
    before = everything(old)
    with pytest.raises(StoreError, match="is using it now: somebody, run run-2") as caught:
        store_at(old, create=create)
    assert "wait until that run ends" in caught.value.next
    assert everything(old) == before

    write_lease(old, "2020-01-01T00:00:00+00:00")
    with store_at(old, create=create) as store:
        assert set(store.recorded(WORKSPACES).entities) == {JANE}


@pytest.mark.parametrize("expires", ["", "soon", "2999-01-01T00:00:00"])
def test_a_lease_that_no_version_wrote_keeps_nobody_from_bringing_a_store_up(old: str, expires: str) -> None:
    """It would never end."""
    write_lease(old, expires)
    store_at(old).close()


def test_a_run_whose_store_was_brought_to_a_newer_version_writes_nothing_more(store_url: str) -> None:
    """Its statements are for the tables as they were."""

    def upgrade(store: Store) -> None:
        with store._database.writing() as opened:
            newer = {"version": str(schema.VERSION + 1)}
            opened.execute("UPDATE meta SET value = :version WHERE key = 'version'", newer)

    with store_at(store_url) as store, store.lock("run-1") as lock:
        upgrade(store)
        with pytest.raises(StoreError, match="was migrated by another version") as caught:
            store.record([Batch()], WORKSPACES, lock=lock)
        assert "upgrade reconciler" in caught.value.next
        with pytest.raises(StoreError, match="was migrated by another version"):
            store.lock_for("run-2").take()


def test_each_older_version_has_a_step_to_the_next() -> None:
    assert sorted(migrations.STEPS) == list(range(1, schema.VERSION))


READING = (
    f"GRANT USAGE ON SCHEMA {postgres.SCHEMA} TO {{role}}",
    f"GRANT SELECT ON ALL TABLES IN SCHEMA {postgres.SCHEMA} TO {{role}}",
)


def test_what_version_2_learnt_from_writes_without_effect_is_forgotten(old: str) -> None:
    """It kept the plan quiet with the old number live. Without a record the next plan compares anew."""
    sent = {
        "workMobilePhone1": "+61491570157",
        "workPhone1": "+61 491 570 158",
        "timezone": "Australia/Melbourne",
        "jobTitle": "Engineer",
        "division": "",
        "password": "secret:0123456789abcdef",
    }
    shown = {
        "workMobilePhone1": "+61491570156",
        "workPhone1": "+61491570158",
        "timezone": "+10",
        "jobTitle": "Engineer",
    }
    values = {"sent": json.dumps(sent), "shown": json.dumps(shown)}
    with connected(old) as connection:
        connection.execute("UPDATE entities SET sent = :sent, shown = :shown", values)

    with store_at(old) as store:
        kept = store.recorded(WORKSPACES).entities[JANE]

    wrong = {"workMobilePhone1"}
    assert {path: value for path, value in kept.sent.items() if path != "password"} == {
        path: value for path, value in sent.items() if path not in {*wrong, "password"}
    }
    assert kept.shown == {path: value for path, value in shown.items() if path not in wrong}
    assert kept.modified == ""


def test_what_version_2_learnt_wrongly_is_shown_by_the_first_plan(old: str) -> None:
    """The old number is live and the record says that the new one is written so: no plan ever said a word."""
    sent, shown = {"workMobilePhone1": "+61491570157"}, {"workMobilePhone1": "+61491570156"}
    with connected(old) as connection:
        values = {"sent": json.dumps(sent), "shown": json.dumps(shown)}
        connection.execute("UPDATE entities SET sent = :sent, shown = :shown", values)
    want = desired(contact("ops/jane-doe", sent))
    there = live(person("00AB", shown))

    with store_at(old) as store:
        first = planned(want, there, store.recorded(WORKSPACES))
    as_learnt = Recorded({JANE: RecordedEntity(JANE, "00AB", sent=sent, shown=shown)}, "the-old-salt")

    assert planned(want, there, as_learnt).changes == ()
    (change,) = first.changes
    assert isinstance(change, Update)
    assert [(one.path, one.before, one.after) for one in change.fields] == [
        ("workMobilePhone1", "+61491570156", "+61491570157")
    ]


def test_the_fast_digest_of_a_password_becomes_a_slow_one(old: str) -> None:
    """Millions of words a second can be tried against the fast one; the declared password still fits."""
    with connected(old) as connection:
        salt = connection.execute("SELECT value FROM meta WHERE key = 'salt'").scalar()
        sent = {"password": mask_secret("correct horse", salt), "secretAnswer": "", "jobTitle": "Engineer"}
        connection.execute("UPDATE entities SET sent = :sent, shown = '{}'", {"sent": json.dumps(sent)})

    with store_at(old) as store:
        kept = store.recorded(WORKSPACES).entities[JANE]

    assert kept.sent["password"] == mask_password("correct horse", salt)
    assert kept.sent["secretAnswer"] == ""


@pytest.mark.parametrize("create", [True, False])
def test_nothing_of_a_fast_digest_stays_in_the_file(tmp_path: Path, *, create: bool) -> None:
    """Not where the rows are, nor in what earlier runs deleted: whoever has the file reads free pages too."""
    path = tmp_path / "old.db"
    url = f"sqlite:///{path}"
    make_version_1(url)
    digests = [mask_secret(word, "the-old-salt") for word in ("correct horse", "battery staple")]
    insert = "INSERT INTO plans_used VALUES (:salt, :run, '')"
    with connected(url) as connection:
        connection.execute("PRAGMA secure_delete = OFF")  # as most builds of SQLite are
        sent = json.dumps({"password": digests[0]})
        connection.execute("UPDATE entities SET sent = :sent, shown = '{}'", {"sent": sent})
        connection.execute_many(insert, [{"salt": str(n), "run": digests[1]} for n in range(500)])
        connection.execute("DELETE FROM plans_used WHERE salt <> 'a-plan'")
    before = path.read_bytes()
    assert all(str(one).encode() in before for one in digests)

    with store_at(url, create=create) as store:
        assert store.recorded(WORKSPACES).entities[JANE].sent == {
            "password": mask_password("correct horse", "the-old-salt")
        }
    for file in tmp_path.iterdir():
        assert not any(str(one).encode() in file.read_bytes() for one in digests), file.name


def test_what_is_replaced_or_deleted_is_overwritten_in_the_file(tmp_path: Path) -> None:
    """Of a password that was changed, and of a person who left, nothing is to be read any more."""
    path = tmp_path / "store.db"
    canary = "secret:scrypt:canary-of-"
    with store_at(path) as store:
        for number in range(40):
            words = {"password": f"{canary}{number}"}
            store.remember(
                [RecordedEntity(JANE, "00AB", sent=words), RecordedEntity(SAM, "00AC", sent=words)],
                WORKSPACES,
            )
        store.forget([SAM], WORKSPACES)

    found = path.read_bytes()
    assert found.count(canary.encode()) == 1
    assert f"{canary}39".encode() in found


def test_beyond_so_many_passwords_their_digests_are_forgotten(old: str) -> None:
    """Opening a store may not take minutes. What the store does not know, the next plan sends once more."""
    sent = {"password": "secret:0123456789abcdef", "secretAnswer": "secret:fedcba9876543210"}
    with connected(old) as connection:
        connection.execute("UPDATE entities SET sent = :sent", {"sent": json.dumps(sent)})

        migrations._stretch_secrets(connection, most=1)

        kept = json.loads(connection.execute("SELECT sent FROM entities").scalar())
    assert [str(value)[:14] for value in kept.values()] == ["secret:scrypt:"]


STEP = effort.count(small=7, full=1)  # statements between two that are tried


class Interrupted(Exception):
    """Stands for the end of the process."""


def bring_up(url: str, each: Callable[[int], None]) -> None:
    """Open a store as the program does to write it; `each` hears 1, 2, ... before each statement."""
    numbers = count(1)

    class Each(Observer):
        def executes(self, connection: Connection, sql: str) -> None:  # noqa: ARG002 - as it is called
            each(next(numbers))

    with closing(
        connection.Database(source := connection.choose_engine(url, ""), None, now=Clock())
    ) as database:
        database.pool = source.pool(writing=True)
        database.pool.observers.append(Each())
        database.write(lambda opened: connection._prepare_tables(database, opened, str))


def test_a_migration_that_is_cut_short_anywhere_has_changed_nothing(old: str) -> None:
    """All of it in one transaction: a store between two versions could be read by no program."""
    before = everything(old)
    stops = 0
    done = False
    while not done:
        stops += STEP

        def stop(number: int, at: int = stops) -> None:
            if number == at:
                raise Interrupted

        try:
            bring_up(old, stop)
            done = True
        except Interrupted:
            assert everything(old) == before
    assert stops > 15
    tally.count("crash points", "a migration of the store", stops // STEP - 1)
    with store_at(old) as store:
        assert set(store.recorded(WORKSPACES).entities) == {JANE}


# A process that dies by its own hand before the statement that it was told.
DYING = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from store.test_migrations import bring_up
bring_up(sys.argv[1], lambda number: number == int(sys.argv[3]) and os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.mark.parametrize("at", [4, 10, 16])
def test_a_process_that_is_killed_within_a_migration_has_changed_nothing(old: str, at: int) -> None:
    before = everything(old)
    died = subprocess.run([sys.executable, "-c", DYING, old, TESTS, str(at)], check=False, timeout=patience_s)

    assert died.returncode == -signal.SIGKILL
    assert everything(old) == before
    with store_at(old) as store:
        assert set(store.recorded(WORKSPACES).entities) == {JANE}


@pytest.mark.parametrize("create", [True, False])
def test_several_at_once_bring_a_store_up_once(old: str, *, create: bool) -> None:
    """Build servers upgrade together."""

    def open_one(_: int) -> frozenset[Address]:
        with store_at(old, create=create) as store:
            return frozenset(store.recorded(WORKSPACES).entities)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(open_one, range(4))) == {frozenset({JANE})}
    assert everything(old)["meta"] == [("salt", "the-old-salt"), ("version", str(schema.VERSION))]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_older_store_that_may_not_be_written_says_what_to_do(
    kind: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    """Read as it is, it would be taken for something else."""
    path = folder / "store.db"
    old = f"sqlite:///{path}" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    make_version_1(old)
    with read_only(old, path) as url, pytest.raises(StoreError) as caught:
        store_at(url, create=False)
    said = str(caught.value)
    assert f"schema 1, this one knows {schema.VERSION}" in said
    assert "read-only" in said or "lacks a permission" in said
    assert "a user who can write to the store" in caught.value.next
    assert everything(old)["meta"] == [("salt", "the-old-salt"), ("version", "1")]


@contextmanager
def read_only(url: str, path: Path) -> Iterator[str]:
    """Give the URL under which nobody may write the store."""
    if url.startswith("sqlite"):
        path.chmod(0o444)
        with as_somebody_without_rights(path.parent):
            yield url
        return
    with postgres_server.role(url, *READING) as reading:
        yield reading
