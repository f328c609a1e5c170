"""Rows lost or changed by accident: noticed by whoever loads them, though all that are left can be read."""

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from store.remembering import begin, ended, everything, intent, run_of, store_of
from store.support import JANE, ORIGIN, SAM, WORKSPACES, record, seal_again, store_at

from reconciler.errors import CorruptRecord, StoreError
from reconciler.model.address import contact_address
from reconciler.store import sealed_tables
from reconciler.store.database import Store
from reconciler.store.records import Batch
from reconciler.store.schema import ENTITIES, JOURNAL, RUNS, SEALS, TABLES
from reconciler.store.schema import WORKSPACES as ALIASES
from reconciler.store.sealed_tables import Owner


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """A store with records, a run that has not ended and left intents, and a history.

    What the same stack recorded at another address is in it too.
    """
    with store_at(store_url, origin=ELSEWHERE) as former:
        former.record([Batch(remember=(record(JANE), record(SAM)))], WORKSPACES)
    with store_of(store_url) as opened:
        begin(opened)
        opened.record(
            [Batch(remember=(record(JANE), record(SAM)), intents=(intent(JANE), intent(SAM)))], WORKSPACES
        )
        opened.record([Batch(ended=(ended(JANE),))], WORKSPACES)
        yield opened


def change(store: Store, statement: str) -> None:
    """Do to the tables what nobody should."""
    with store._database.writing() as connection:
        assert connection.execute(statement).rowcount


def load(store: Store) -> None:
    """Ask for all that a plan begins with."""
    store.recorded(WORKSPACES)
    store.unfinished()


ELSEWHERE = "https://old.example.com"

DAMAGE = [
    "DELETE FROM entities WHERE address LIKE '%sam%'",
    "DELETE FROM entities",
    "DELETE FROM entities WHERE origin LIKE '%api%'",  # and nothing of another address
    "UPDATE entities SET remote_id = '00AC' WHERE address LIKE '%sam%'",
    "UPDATE entities SET stack = 'other'",
    "DELETE FROM journal WHERE address LIKE '%sam%'",
    "UPDATE journal SET ending = 'applied'",
    "DELETE FROM runs",
    "UPDATE runs SET outcome = 'applied', plan = ''",
    "DELETE FROM seals WHERE name = 'entities'",
    "UPDATE seals SET number = number + 1 WHERE name = 'journal'",
    # A letter of these changes a notice, whether drift exits 1, or whether X8 refuses.
    "UPDATE workspaces SET alias = 'ope' WHERE alias = 'ops'",
    "UPDATE workspaces SET workspace_id = 'AB13' WHERE alias = 'ops'",
    "UPDATE workspaces SET applied = '2026-02-02T10:00:00+00:00'",
    "UPDATE workspaces SET number = 7 WHERE alias = 'ops'",
    f"UPDATE workspaces SET origin = 'https://apj.example.com' WHERE origin = '{ORIGIN}'",  # noqa: S608 - our own words
    "DELETE FROM workspaces WHERE alias = 'ops'",
    "DELETE FROM seals WHERE name = 'workspaces'",
    *(
        f"{statement} AND origin = '{ELSEWHERE}'"
        for statement in (
            "UPDATE entities SET remote_id = '00AC' WHERE address LIKE '%sam%'",
            "UPDATE entities SET workspace_id = 'AB13' WHERE address LIKE '%sam%'",
            "UPDATE entities SET origin = 'https://olds.example.com' WHERE address LIKE '%sam%'",
            "UPDATE entities SET origin = 'https://olds.example.com' WHERE stack = 'default'",
            "UPDATE entities SET stack = 'defaulu' WHERE stack = 'default'",
            "DELETE FROM entities WHERE stack = 'default'",
            "DELETE FROM seals WHERE name = 'entities'",
            "UPDATE seals SET origin = 'https://olds.example.com' WHERE name = 'entities'",
        )
    ),
]


@pytest.mark.parametrize("statement", DAMAGE)
def test_rows_that_are_not_those_that_were_written_are_an_error(store: Store, statement: str) -> None:
    """A record that is missing is a person who is not known as ours; an intent, one who is made twice."""
    change(store, statement)
    with pytest.raises(CorruptRecord, match="is damaged for stack default") as caught:
        load(store)
    assert "restore the store" in caught.value.next


@pytest.mark.parametrize("look", [Store.check_whole, Store.workspaces], ids=["whole", "workspaces"])
def test_aliases_that_are_not_those_that_were_written_are_damage_for_everybody_who_uses_them(
    store: Store, look: Callable[[Store], object]
) -> None:
    """`explain` reads them alone, and `history --verify` says that all is well."""
    change(store, "UPDATE workspaces SET alias = 'ope' WHERE alias = 'ops'")
    with pytest.raises(CorruptRecord, match="table workspaces is damaged for stack default"):
        look(store)


def test_a_history_is_read_though_aliases_are_damaged(store: Store) -> None:
    """It tells how it came to that; an entity whose name cannot be found stands there as its digest."""
    number = "-1" if store.shared else "'x'"  # a server takes nothing but numbers there
    change(store, f"UPDATE workspaces SET number = {number} WHERE alias = 'ops'")  # noqa: S608 - our own words
    assert store.history()
    assert store.entity_hash(JANE) in store.addresses()


def test_records_at_another_address_that_are_damaged_name_the_address(store: Store) -> None:
    change(store, f"DELETE FROM entities WHERE origin = '{ELSEWHERE}' AND address LIKE '%sam%'")  # noqa: S608 - our own words
    with pytest.raises(CorruptRecord, match=f"These are the records of {ELSEWHERE}"):
        store.recorded(WORKSPACES)
    with pytest.raises(CorruptRecord, match=f"These are the records of {ELSEWHERE}"):
        store.check_whole()


def test_aliases_of_a_store_that_knew_no_seal_of_them_are_sealed_once(store: Store, store_url: str) -> None:
    """Version 5 wrote none: such a store goes on without complaint, and is watched from then on."""
    store.end(run_of())
    before = store.recorded(WORKSPACES)
    change(store, "DELETE FROM seals WHERE name = 'workspaces'")
    with store._database.writing() as connection:
        for table in ("undos", "pauses", "questions", "answers", "sync_results", "told"):
            connection.execute(f"DROP TABLE {table}")
    change(store, "UPDATE meta SET value = '5' WHERE key = 'version'")
    store.close()

    with store_of(store_url) as later:
        assert later.recorded(WORKSPACES) == before
        later.end(run_of(), WORKSPACES)
        later.check_whole()
        change(later, "UPDATE workspaces SET applied = '' WHERE alias = 'ops'")
        with pytest.raises(CorruptRecord, match="table workspaces is damaged"):
            later.recorded(WORKSPACES)


@pytest.mark.parametrize("statement", DAMAGE[:4])
def test_writing_heals_no_damage(store: Store, statement: str) -> None:
    """A seal that is made anew from what is there would make a lost row right."""
    change(store, statement)
    store.remember([record(JANE), record(SAM), record(contact_address("ops", "zoe"))], WORKSPACES)
    store.forget([JANE], WORKSPACES)
    with pytest.raises(CorruptRecord):
        store.recorded(WORKSPACES)


def test_every_change_keeps_the_seals_true(store: Store) -> None:
    """As true as seals that are made of all the rows: otherwise a store that is whole would be refused."""
    zoe, ann = contact_address("ops", "zoe"), contact_address("ops", "ann")
    store.record([Batch(remember=(record(zoe),), intents=(intent(zoe), intent(SAM)))], WORKSPACES)
    store.rename([(zoe, ann), (JANE, SAM)], WORKSPACES)
    store.record([Batch(ended=(ended(zoe), ended(SAM, "in doubt")))], WORKSPACES)
    begin(store, "run-2")
    store.record([Batch(absent=(SAM,), left_by="run-1")], WORKSPACES)
    store.end(run_of(run="run-2"), WORKSPACES)
    store.close_run("run-1", "settled")
    store.forget([ann], WORKSPACES)
    with store._database.writing() as connection:
        kept = connection.execute(f"{SEALS.select} ORDER BY name").all()
        seal_again(connection, ENTITIES, ALIASES, JOURNAL, RUNS)
        assert connection.execute(f"{SEALS.select} ORDER BY name").all() == kept
    assert set(store.recorded(WORKSPACES).entities) == {SAM}
    assert store.unfinished() == ()


def test_writers_at_the_same_time_keep_the_seals_true(store_url: str) -> None:
    """Two that read a seal at the same moment would each save a sum without the rows of the other."""
    names = ("ann", "bob", "eve", "zoe")

    def write(name: str) -> None:
        with store_of(store_url) as one:
            begin(one, f"run-{name}")
            for number in range(6):
                person = contact_address("ops", f"{name}-{number}")
                one.record([Batch(intents=(intent(person),))], WORKSPACES)
                one.record([Batch(remember=(record(person),), ended=(ended(person),))], WORKSPACES)

    with store_of(store_url) as store:
        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(write, names))
        assert len(store.recorded(WORKSPACES).entities) == len(names) * 6
        assert len(store.unfinished()) == len(names)


@pytest.mark.parametrize("count", [3, 7])
def test_conditions_of_many_values_are_asked_for_in_parts(store: Store, count: int) -> None:
    """A database takes only so many values in one statement; the seal has to hold for all parts."""
    people = [contact_address("ops", f"person-{number}") for number in range(count)]
    where: sealed_tables.Where = {"address": [one.without_workspace for one in people]}
    store.remember(map(record, people), WORKSPACES)

    with store._database.writing() as connection:
        seals = sealed_tables.Seals(connection, Owner(ORIGIN, "default"), at_once=3)
        seals.change(ENTITIES, where, {"protected": True})
        seals.save()
    assert all(store.recorded(WORKSPACES).entities[one].protected for one in people)

    with store._database.writing() as connection:
        seals = sealed_tables.Seals(connection, Owner(ORIGIN, "default"), at_once=3)
        seals.replace(ENTITIES, gone=[where])
        seals.save()
    assert set(store.recorded(WORKSPACES).entities) == {JANE, SAM}


def test_seals_of_stacks_are_apart(store: Store, store_url: str) -> None:
    with store_of(store_url, stack="other") as other:
        other.remember([record(SAM)], WORKSPACES)
        change(store, "DELETE FROM entities WHERE stack = 'default'")
        assert set(other.recorded(WORKSPACES).entities) == {SAM}


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM locks", "UPDATE locks SET counter = 1, nonce = ''"],
)
def test_a_lock_that_was_lost_or_is_an_older_one_is_not_free(store: Store, statement: str) -> None:
    """Two would write."""
    with store.lock("run-1"):
        pass
    with store.lock("run-2"):
        change(store, statement)
        with pytest.raises(CorruptRecord, match="the lock that was taken last"):
            store.holder()
        with pytest.raises(CorruptRecord, match="the lock that was taken last"):
            store.lock_for("run-3").take()


def test_an_end_of_the_history_that_is_gone_is_noticed(store: Store) -> None:
    """Nobody has kept its head elsewhere, and a lost page is no forger: the seal is still there."""
    head = store.head()
    assert head is not None
    change(store, "DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)")
    assert store.verify(None).broken_at == head.number
    for look in (store.head, store.history):
        with pytest.raises(CorruptRecord, match="its last entry is not the last one"):
            look()


@pytest.mark.parametrize(
    "statement", ["DELETE FROM audit WHERE number = 1", "DELETE FROM audit WHERE number <= 3"]
)
def test_a_beginning_of_the_history_that_is_gone_is_noticed(store: Store, statement: str) -> None:
    """It is read from its end backwards: the oldest entries have none before them that would miss them."""
    store.end(run_of())
    store.close_run("run-1", "settled")
    head = store.head()
    assert head is not None
    change(store, statement)
    with pytest.raises(CorruptRecord, match="of the store's history is damaged: it is missing"):
        store.history()
    assert store.verify(None).broken_at == 1
    assert store.history(1)[0].number == head.number


def test_an_older_state_of_every_table_is_known_by_a_head_that_was_kept_elsewhere(store: Store) -> None:
    """A database that was restored is whole in itself: rows and seals are of one moment, an earlier one."""
    before = everything(store)
    store.record([Batch(intents=(intent(contact_address("ops", "zoe")),))], WORKSPACES)
    store.end(run_of())
    kept = store.head()
    with store._database.writing() as connection:
        for table in TABLES:
            connection.execute(f"DELETE FROM {table.name}")  # noqa: S608 - names of tables
            rows = [dict(zip(table.columns, row, strict=True)) for row in before[table.name]]
            if rows:
                connection.execute_many(table.insert, rows)

    load(store)
    assert store.verify(None).broken_at == 0
    assert kept is not None
    assert store.verify(kept).broken_at == kept.number


def test_the_history_shows_no_entry_that_is_not_as_it_was_written(store: Store) -> None:
    store.end(run_of())
    change(store, "UPDATE audit SET body = replace(body, '\"apply\"', '\"adopt\"') WHERE number = 2")
    with pytest.raises(CorruptRecord, match="entry 2 of the store's history is damaged"):
        store.history()


def test_pages_that_do_not_hold_together_are_found_before_anything_is_written(tmp_path: Path) -> None:
    """SQLite sees what it reads; where it only writes, it would write over something else."""
    path = tmp_path / "store.db"
    store_of(f"sqlite:///{path}").close()
    with closing(sqlite3.connect(path)) as database:
        root = "SELECT rootpage FROM sqlite_schema WHERE name = 'paces'"
        page = database.execute(root).fetchone()[0]
    data = bytearray(path.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = b"\x0d" + b"\xff" * 4095
    path.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged") as caught:
        store_of(f"sqlite:///{path}")
    assert "restore the store" in caught.value.next


@pytest.mark.parametrize("version", ["9" * 5_000, "03", "³"])
def test_a_version_that_no_program_wrote_is_damage(tmp_path: Path, version: str) -> None:
    """A number of thousands of digits cannot even be read."""
    path = tmp_path / "store.db"
    store_of(f"sqlite:///{path}").close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE meta SET value = ? WHERE key = 'version'", (version,))
    with pytest.raises(StoreError, match="its version or salt is missing"):
        store_of(f"sqlite:///{path}", create=False)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("runs", "number", 2**63 - 1), ("runs", "number", "many"), ("locks", "counter", 2**63 - 1)],
)
def test_a_number_that_cannot_be_counted_on_is_damage(
    tmp_path: Path, table: str, column: str, value: object
) -> None:
    """The driver has no words of a database for it: a traceback, if nobody says it otherwise."""
    path = tmp_path / "store.db"
    with store_of(f"sqlite:///{path}") as store:
        begin(store)
        with store.lock("run-1"):
            pass
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(f"UPDATE {table} SET {column} = ?", (value,))  # noqa: S608 - names of this test
            if table == "locks":
                database.execute("UPDATE seals SET number = ? WHERE name = 'locks'", (value,))
        with pytest.raises(StoreError, match="damaged") as caught:
            begin(store, "run-2") if table == "runs" else store.lock_for("run-2").take()
    assert "restore the store" in caught.value.next


@pytest.mark.parametrize("letter", ["x", "\N{LATIN SMALL LETTER E WITH ACUTE}"])
def test_a_text_of_megabytes_is_sealed_as_every_other(store_url: str, letter: str) -> None:
    """A plan of many people is one, and its row changes when the run ends: its text is taken in pieces."""
    text = letter * 2_500_000
    with store_at(store_url) as store:
        store.remember([record(JANE, jobTitle=text)], WORKSPACES)

        store.rename([(JANE, SAM)], WORKSPACES)

        assert store.recorded(WORKSPACES).entities[SAM].sent["jobTitle"] == text
