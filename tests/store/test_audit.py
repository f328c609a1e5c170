import itertools
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import effort
import pytest
import tally
from clock import Clock
from store.remembering import (
    CONTEXT,
    PLAN,
    begin,
    ended,
    everything,
    intent,
    run_of,
    store_of,
)
from store.support import JANE, SAM, WORKSPACES, record

from reconciler.core.runs.audit import Verification
from reconciler.errors import CorruptRecord, InputError, LockHeld
from reconciler.model.address import contact_address
from reconciler.model.runs import AuditEntry, Head, Outcome
from reconciler.store import history
from reconciler.store.database import Store
from reconciler.store.records import Batch
from reconciler.store.schema import AUDIT
from reconciler.store.sealed_tables import Owner, write_sealed

TAMPERING = "audit tampering found"


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with store_of(store_url) as opened:
        yield opened


def told(store: Store) -> list[tuple[int, str, str, str, str]]:
    return [(one.number, one.event, one.run, one.action, one.outcome) for one in store.history()]


def test_a_store_in_which_nothing_was_done_has_no_history(store_url: str, tmp_path: Path) -> None:
    with store_of(f"sqlite:///{tmp_path}/none.db", create=False) as store:
        assert (store.head(), store.history(), store.verify(None)) == (None, (), Verification(0, None))
        assert store.verify(Head(1, "7f3a")).broken_at == 1
    with store_of(store_url) as store:
        assert (store.head(), store.history(), store.verify(None)) == (None, (), Verification(0, None))
        store.remember([record()], WORKSPACES)
        assert store.head() is None


def test_every_run_and_every_change_is_told_in_order(store: Store) -> None:
    begin(store)
    store.record([Batch(intents=(intent(), intent(SAM, "delete")))], ())
    store.record([Batch(ended=(ended(),)), Batch(ended=(ended(SAM, "in doubt", "delete"),))], ())
    store.end(run_of(ended(), ended(SAM, "in doubt", "delete"), outcome="in doubt"))
    begin(store, "run-2")
    store.record([Batch(absent=(SAM,))], ())
    store.close_run("run-1", "settled")
    store.end(run_of(run="run-2"))
    assert told(store) == [
        (1, "began", "run-1", "", ""),
        (2, "changed", "run-1", "create", "applied"),
        (3, "changed", "run-1", "delete", "in doubt"),
        (4, "ended", "run-1", "", "in doubt"),
        (5, "began", "run-2", "", ""),
        (6, "settled", "run-1", "delete", "absent"),
        (7, "settled", "run-1", "", "settled"),
        (8, "ended", "run-2", "", "done"),
    ]
    assert store.verify(store.head()) == Verification(8, store.head())


def test_an_entry_says_who_when_from_which_commit_and_of_which_plan(store_url: str) -> None:
    clock = Clock()
    with store_of(store_url, clock=clock) as store:
        begin(store)
        clock.pass_s(61)
        store.record([Batch(ended=(ended(),))], ())
        began, changed = store.history()
    assert began.at == "2026-03-01T12:00:00+00:00"
    assert began.counts == {"create": 2}
    assert changed.at == "2026-03-01T12:01:01+00:00"
    assert (changed.kind, changed.workspace, changed.entity) == ("contact", "ops", store.entity_hash(JANE))
    for entry in (began, changed):
        assert (entry.run, entry.command, entry.fingerprint) == ("run-1", "apply", PLAN.fingerprint)
        assert (entry.program, entry.commit, entry.trace_id) == ("0.4.0", CONTEXT.commit, CONTEXT.trace_id)
        assert entry.who == history.name_operator()


def test_the_end_of_a_run_counts_what_became_of_its_changes(store: Store) -> None:
    begin(store)
    store.end(run_of(ended(), ended(SAM), ended(SAM, "failed", "delete"), outcome="partial"))
    assert store.history()[-1].counts == {"create applied": 2, "delete failed": 1}
    assert store.history()[-1].outcome == "partial"


def test_no_address_of_a_person_is_in_the_audit(store: Store) -> None:
    """It is kept for years, and shown to people who need not know whom it was about."""
    canary = contact_address("ops", "canary-person")
    begin(store, "run-0")
    store.record([Batch(intents=(intent(canary),))], ())
    begin(store)
    outcome = Outcome(canary, "create", "failed", "canary-what", "canary-next", "canary-id")
    store.record([Batch(intents=(intent(canary),), ended=(outcome,), absent=(canary,))], WORKSPACES)
    store.end(run_of(outcome))
    assert len(store.history()) == 5
    with store._database.reading() as connection:
        rows = connection.execute(AUDIT.select).all()
    values = [str(value) for row in rows for value in row]
    assert not any("canary" in value for value in values)
    assert sum(store.entity_hash(canary) in value for value in values) == 2


def test_an_operator_whose_name_is_no_text_can_be_written_down() -> None:
    """The system allows any bytes as a name; the journal must not fail because of them, in mid-run."""
    script = "from reconciler.store.history import name_operator; print(ascii(name_operator()))"
    environ = {**os.environb, b"LOGNAME": b"j\xffne"}
    told = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, check=True)
    assert told.stdout.startswith(b"'j?ne on ")


def test_two_stores_have_different_hashes_for_one_person(store_url: str, tmp_path: Path) -> None:
    """Or a list of all contacts would turn every audit back into names."""
    with (
        store_of(store_url, prefix="one") as one,
        store_of(f"sqlite:///{tmp_path}/o.db", prefix="o") as other,
    ):
        assert one.entity_hash(JANE) != other.entity_hash(JANE)
        assert one.entity_hash(JANE) == one.entity_hash(JANE)


def test_the_history_is_the_last_of_it_newest_last_and_of_one_run_where_asked(store: Store) -> None:
    for run in ("7f3a-1", "7f3b-2", "7f3a-1", "7f3a_1"):
        store.close_run(run, "settled")
    assert [entry.number for entry in store.history(limit=2)] == [3, 4]
    assert [entry.number for entry in store.history(run="7f3a-1")] == [1, 3]
    assert [entry.number for entry in store.history(limit=1, run="7f3a-")] == [3]
    assert store.history(run="%") == ()
    assert store.history(limit=0) == ()


def test_taking_the_lock_away_is_told_and_a_wrong_id_changes_nothing(store: Store) -> None:
    with pytest.raises(InputError):
        store.unlock("abc")
    with store.lock("run-1"):
        held = store.holder()
        assert held is not None
        before = everything(store)
        with pytest.raises(LockHeld):
            store.unlock("not-the-id")
        assert everything(store) == before
        assert store.unlock(held.id) == held
        assert store.holder() is None
    assert told(store) == [(1, "unlocked", "run-1", "", "")]
    assert store.history()[0].who == history.name_operator()


def test_each_stack_and_each_service_has_a_chain_of_its_own(store: Store, store_url: str) -> None:
    with store_of(store_url, stack="other") as other:
        for number in range(3):
            store.close_run(f"mine-{number}", "settled")
            other.close_run(f"theirs-{number}", "settled")
        assert [one.number for one in store.history()] == [one.number for one in other.history()] == [1, 2, 3]
        assert store.verify(store.head()).entries == other.verify(other.head()).entries == 3
        assert store.verify(other.head()).broken_at == 3
        change(store, "UPDATE audit SET stack = 'gone' WHERE stack = 'default'")
        change(store, "UPDATE audit SET stack = 'default' WHERE stack = 'other'")
        found = store.verify(None)
    assert found.what == "entry 1 does not hold: it starts another chain."
    tally.count(TAMPERING, "foreign chain in a store")


def change(store: Store, statement: str, **values: object) -> None:
    """Tamper with the store, as whoever can write it can."""
    with store._database.writing() as connection:
        connection.execute(statement, values)


def filled(store: Store) -> Head:
    """Leave a chain of twelve entries."""
    begin(store)
    people = [contact_address("ops", f"person-{number}") for number in range(10)]
    store.record([Batch(intents=(intent(one),), ended=(ended(one),)) for one in people], ())
    store.end(run_of())
    head = store.head()
    assert head is not None
    return head


@pytest.mark.parametrize(
    ("statement", "broken_at"),
    [
        ("DELETE FROM audit WHERE number = 1", 1),
        ("DELETE FROM audit WHERE number = 5", 5),
        ("DELETE FROM audit WHERE number > 11", 12),
        ("DELETE FROM audit", 1),
        ("UPDATE audit SET number = number + 1000", 1),
        ("UPDATE audit SET number = 13 WHERE number = 5", 5),
        ("UPDATE audit SET body = replace(body, 'applied', 'failed') WHERE number = 5", 5),
        ("UPDATE audit SET body = replace(body, '{', '{ ') WHERE number = 5", 5),
        ('UPDATE audit SET body = replace(body, \'"who"\', \'"who"\\:"x","who"\') WHERE number = 1', 1),
        ("UPDATE audit SET body = '' WHERE number = 5", 5),
        ("UPDATE audit SET body = 'null' WHERE number = 5", 5),
        ("UPDATE audit SET hash = '' WHERE number = 5", 5),
        ("UPDATE audit SET hash = upper(hash) WHERE number = 5", 5),
        ("UPDATE audit SET hash = hash || ' ' WHERE number = 12", 12),
        ("UPDATE audit SET body = (SELECT body FROM audit AS a WHERE a.number = 6) WHERE number = 5", 5),
        ("UPDATE audit SET hash = (SELECT hash FROM audit AS a WHERE a.number = 6) WHERE number = 5", 5),
        ("UPDATE audit SET stack = 'other' WHERE number = 5", 5),
        ("INSERT INTO audit SELECT origin, stack, 13, body, hash FROM audit WHERE number = 12", 13),
        ("INSERT INTO audit SELECT origin, stack, 0, body, hash FROM audit WHERE number = 1", 1),
        ("INSERT INTO audit SELECT origin, stack, -7, body, hash FROM audit WHERE number = 1", 1),
    ],
)
def test_what_somebody_does_to_the_table_is_found_and_its_place_named(
    store: Store, statement: str, broken_at: int
) -> None:
    anchor = filled(store)
    assert store.verify(anchor) == Verification(12, anchor)
    change(store, statement)
    found = store.verify(anchor)
    assert (found.broken_at, found.entries) == (broken_at, broken_at - 1)
    assert found.what.startswith(f"entry {broken_at} ")
    tally.count(TAMPERING, "statement on the table")


def test_every_byte_of_a_stored_entry_that_is_another_is_found(store: Store) -> None:
    """In the table itself: nothing between it and the check may be forgiving."""
    anchor = filled(store)
    with store._database.reading() as connection:
        body, digest = connection.execute("SELECT body, hash FROM audit WHERE number = 5").one()
    put = "UPDATE audit SET body = :body, hash = :hash WHERE number = 5"
    for place in range(len(body)):
        other = "x" if body[place] != "x" else "y"
        change(store, put, body=body[:place] + other + body[place + 1 :], hash=digest)
        assert store.verify(anchor).broken_at == 5
    for place in range(len(digest)):
        other = "0" if digest[place] != "0" else "1"
        change(store, put, body=body, hash=digest[:place] + other + digest[place + 1 :])
        assert store.verify(anchor).broken_at == 5
    change(store, put, body=body, hash=digest)
    assert store.verify(anchor) == Verification(12, anchor)
    tally.count(TAMPERING, "byte in the table", len(body) + len(digest))


@pytest.mark.parametrize("value", ["CAST(x'ff00' AS TEXT)", "x'ff00'", "7", "''"])
@pytest.mark.parametrize("column", ["body", "hash"])
def test_what_is_no_text_at_all_is_damage_at_its_place(tmp_path: Path, column: str, value: str) -> None:
    """SQLite keeps anything in any column; an error of its would not say where, or would end the look."""
    with store_of(f"sqlite:///{tmp_path}/store.db") as store:
        anchor = filled(store)
        change(store, f"UPDATE audit SET {column} = {value} WHERE number = 5")  # noqa: S608 - the test's own words
        assert store.verify(anchor).broken_at == 5
        assert [entry.number for entry in store.history(limit=7)] == [6, 7, 8, 9, 10, 11, 12]
    tally.count(TAMPERING, "no text")


def test_a_damaged_entry_stops_the_history_and_says_what_to_do(store: Store) -> None:
    """Left out without a word, it would be the best place to hide something."""
    filled(store)
    change(store, "UPDATE audit SET body = '{}' WHERE number = 5")
    with pytest.raises(CorruptRecord, match="entry 5 of the store's history is damaged") as caught:
        store.history()
    assert "history --verify" in caught.value.next


def test_a_history_written_anew_is_found_against_the_head_that_was_kept(store_url: str) -> None:
    """Whoever can write the store can make a chain that holds in itself; not one with that head."""
    clock = Clock()
    with store_of(store_url, clock=clock) as store:
        anchor = filled(store)
        change(store, "DELETE FROM audit")
        change(store, "DELETE FROM runs")
        change(store, "DELETE FROM workspaces")
        change(store, "DELETE FROM seals")
        clock.pass_s(1)
        assert filled(store).number == anchor.number
        assert store.verify(None).broken_at == 0
        assert "history was rewritten" in store.verify(anchor).what
    tally.count(TAMPERING, "history written anew")


def test_writers_at_the_same_time_make_one_chain(store_url: str) -> None:
    """Two that read the same end would both write the next number."""
    writers, each = 4, 25
    errors: list[BaseException] = []

    def write(name: int) -> None:
        try:
            with store_of(store_url) as store:
                begin(store, f"run-{name}")
                for number in range(each - 1):
                    store.record([Batch(ended=(ended(contact_address("ops", f"person-{number}")),))], ())
        except BaseException as error:  # noqa: BLE001 - told below, by the thread that waits
            errors.append(error)

    with store_of(store_url) as store:
        threads = [threading.Thread(target=write, args=(name,)) for name in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert store.verify(store.head()) == Verification(writers * each, store.head())
        runs = [entry.run for entry in store.history(limit=writers * each)]
    assert sorted(runs) == sorted(f"run-{name}" for name in range(writers) for _ in range(each))
    turns = sum(1 for one, other in itertools.pairwise(runs) if one != other)
    tally.count("turns of writers of one audit", "threads", turns)


def test_years_of_entries_are_verified_in_constant_memory(store: Store) -> None:
    """A hundred thousand are what a busy team leaves; the check has to run on the smallest of machines."""
    entries = effort.count(small=20_000, full=100_000)
    owner = Owner("https://api.example.com", "default")
    many = (
        AuditEntry(0, "2026-03-01T12:00:00+00:00", "changed", f"run-{number}", entity=f"{number:032x}")
        for number in range(entries)
    )
    with store._database.writing() as connection:
        write_sealed(connection, owner, lambda seals: history.append_audit(seals, many))
    head = store.head()
    tracemalloc.start()
    found = store.verify(head)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == Verification(entries, head)
    assert peak < 8 * 2**20


def test_only_a_shared_store_has_a_pace_and_knows_no_credential(store: Store, store_url: str) -> None:
    """What a key is must not be read from the store that many machines write."""
    pace = store.pace("canary-credential", 5.0)
    assert (pace is not None) == store.shared == store_url.startswith("postgresql")
    assert "canary" not in str(vars(pace) if pace else "")


def test_nothing_in_the_audit_is_ever_changed_by_what_comes_after(store: Store) -> None:
    filled(store)
    before = everything(store)["audit"]
    begin(store, "run-2")
    store.record([Batch(found=(JANE,), intents=(intent(SAM),), ended=(ended(),))], ())
    store.close_run("run-1", "settled")
    store.end(run_of(ended(), run="run-2"))
    after = everything(store)["audit"]
    assert after[: len(before)] == before
    with store._database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM audit").scalar() == len(before) + 4
