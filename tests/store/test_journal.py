from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import psycopg
import pytest
import tally
from clock import Clock
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from store.remembering import (
    PLAN,
    UNTIL,
    Crash,
    begin,
    ended,
    everything,
    intent,
    run_of,
    store_of,
    watched,
)
from store.support import JANE, SAM, WORKSPACES, observed, pool_of, record

from reconciler.core.runs.recover import sort_out_run
from reconciler.errors import CorruptRecord, LockHeld, StoreError
from reconciler.model.address import Address, contact_address
from reconciler.model.runs import Intent, JournalEntry, Result
from reconciler.store.adapter import Connection, Mode, Observer
from reconciler.store.database import Store
from reconciler.store.history import net_journal
from reconciler.store.locks import lease_s
from reconciler.store.records import Batch

KIM = contact_address("ops", "kim-roe")
RESULTS: tuple[Result, ...] = ("applied", "skipped", "conflict", "failed", "in doubt", "not attempted")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with store_of(store_url) as opened:
        begin(opened)
        yield opened


def entries(store: Store) -> tuple[JournalEntry, ...]:
    (run,) = store.unfinished()
    return run.entries


def test_an_intent_is_there_after_the_store_was_closed(store_url: str) -> None:
    wanted = Intent(JANE, "update", "2026-03-01T12:00:00+00:00", UNTIL, "00AB", "00CD")
    with store_of(store_url) as store:
        begin(store)
        store.record([Batch(intents=(wanted,))], ())
    with store_of(store_url, create=False) as store:
        assert entries(store) == (JournalEntry("run-1", wanted),)


def test_an_intent_and_its_ending_are_the_same_row(store: Store) -> None:
    store.record([Batch(intents=(intent(), intent(SAM)))], ())
    store.record([Batch(ended=(ended(JANE, "failed"),))], ())
    assert entries(store) == (JournalEntry("run-1", intent(), "failed"), JournalEntry("run-1", intent(SAM)))


@pytest.mark.parametrize("result", RESULTS)
def test_an_outcome_ends_its_intent_unless_it_is_in_doubt(store: Store, result: Result) -> None:
    """Nobody knows what became of it; only a look can end it."""
    store.record([Batch(intents=(intent(),))], ())
    store.record([Batch(ended=(ended(JANE, result),))], ())
    (entry,) = entries(store)
    assert entry.ending == ("" if result == "in doubt" else result)
    assert entry.open == (result == "in doubt")


def test_an_outcome_without_an_intent_leaves_no_row(store: Store) -> None:
    """A conflict is seen before anything is sent."""
    store.record([Batch(ended=(ended(JANE, "conflict"),))], ())
    assert entries(store) == ()


def test_a_second_try_takes_the_place_of_the_first(store: Store) -> None:
    store.record([Batch(intents=(intent(),))], ())
    store.record([Batch(ended=(ended(JANE, "failed"),))], ())
    again = structs.replace(intent(), at="2026-03-01T12:00:07+00:00")
    store.record([Batch(intents=(again,))], ())
    assert entries(store) == (JournalEntry("run-1", again),)


def test_what_is_known_of_a_lost_answer_moves_the_end_of_the_doubt(store: Store) -> None:
    sooner = intent(until="2026-03-01T12:00:20+00:00")
    store.record([Batch(intents=(intent(),))], ())
    store.record([Batch(intents=(sooner,), ended=(ended(JANE, "in doubt"),))], ())
    assert entries(store) == (JournalEntry("run-1", sooner),)
    assert store.recorded(WORKSPACES).doubts == {JANE: sooner.until}


def test_only_open_creates_keep_the_next_plan_from_creating(store: Store) -> None:
    """An update or a delete that lands late is seen by the next plan as it is."""
    store.record([Batch(intents=(intent(), intent(SAM, "update"), intent(KIM, "delete")))], ())
    assert store.recorded(WORKSPACES).doubts == {JANE: UNTIL}
    store.record([Batch(remember=(record(),), ended=(ended(),))], WORKSPACES)
    assert store.recorded(WORKSPACES).doubts == {}


def test_the_latest_of_several_doubts_counts(store: Store) -> None:
    """Two runs were killed at the same address, one after the other."""
    later = intent(until="2026-03-01T12:09:00+00:00")
    store.record([Batch(intents=(later,))], ())
    begin(store, "run-2")
    store.record([Batch(intents=(intent(),))], ())
    assert store.recorded(WORKSPACES).doubts == {JANE: later.until}


def test_an_ending_closes_the_intent_of_its_own_run_only(store: Store) -> None:
    """What an earlier run has sent may land still, whatever became of ours."""
    store.record([Batch(intents=(intent(),))], ())
    begin(store, "run-2")
    store.record([Batch(intents=(intent(),))], ())
    store.record([Batch(ended=(ended(),))], ())
    first, second = store.unfinished()
    assert [entry.ending for entry in (*first.entries, *second.entries)] == ["", "applied"]


def test_remembering_an_address_says_nothing_of_what_an_earlier_run_has_sent(store: Store) -> None:
    """Somebody else may have made it, and ours may land beside it yet."""
    store.record([Batch(intents=(intent(),))], ())
    begin(store, "run-2")
    store.remember([record()], WORKSPACES)
    assert store.recorded(WORKSPACES).doubts == {JANE: UNTIL}


def test_what_was_looked_for_is_settled_and_said_so(store: Store) -> None:
    store.record([Batch(intents=(intent(), intent(SAM, "delete"), intent(KIM)))], ())
    begin(store, "run-2")
    store.record([Batch(found=(JANE,), absent=(SAM,), remember=(record(),))], WORKSPACES)
    first, _ = store.unfinished()
    assert [entry.ending for entry in first.entries] == ["applied", "", "absent"]
    said = [line for line in store.history() if line.event == "settled"]
    assert [(line.run, line.action, line.outcome) for line in said] == [
        ("run-1", "create", "applied"),
        ("run-1", "delete", "absent"),
    ]
    assert [line.entity for line in said] == [store.entity_hash(JANE), store.entity_hash(SAM)]


def test_looking_for_what_one_run_left_says_nothing_of_another(store: Store) -> None:
    """One made it and the other was to delete it: that the first is found is not that the second was done."""
    store.record([Batch(intents=(intent(), intent(SAM)))], ())
    begin(store, "run-2")
    store.record([Batch(intents=(intent(action="delete"),))], ())
    begin(store, "run-3")
    store.record([Batch(found=(JANE,), left_by="run-1"), Batch(absent=(SAM,), left_by="run-2")], ())
    first, second, _ = store.unfinished()
    assert [entry.ending for entry in (*first.entries, *second.entries)] == ["applied", "", ""]
    store.record([Batch(absent=(JANE,), left_by="run-2"), Batch(found=(SAM,))], ())
    first, second, _ = store.unfinished()
    assert [entry.ending for entry in (*first.entries, *second.entries)] == ["applied", "applied", "absent"]


def test_looking_settles_nothing_of_the_run_itself_and_nothing_that_has_ended(store: Store) -> None:
    store.record([Batch(intents=(intent(SAM),), ended=(ended(SAM, "failed"),))], ())
    begin(store, "run-2")
    store.record([Batch(intents=(intent(),))], ())
    before = everything(store)
    store.record([Batch(absent=(JANE, SAM, KIM)), Batch(found=(JANE, SAM, KIM))], ())
    assert everything(store) == before


def test_two_stacks_and_two_services_keep_their_journals_apart(store: Store, store_url: str) -> None:
    """The same run id in both is unheard of, and would still be no reason to mix them."""
    store.record([Batch(intents=(intent(),))], ())
    others = [store_of(store_url, stack="other"), store_of(store_url, origin="https://other.example.com")]
    for number, other in enumerate(others):
        with other:
            assert other.unfinished() == ()
            begin(other, f"other-{number}")
            other.record([Batch(absent=(JANE,), ended=(ended(),))], ())
            other.close_run("run-1", "settled")
            assert other.recorded(WORKSPACES).doubts == {}
    assert store.recorded(WORKSPACES).doubts == {JANE: UNTIL}
    assert store.unfinished()[0].plan == PLAN


_addresses = st.sampled_from([JANE, SAM, KIM])
_batches = st.builds(
    Batch,
    intents=st.lists(st.builds(intent, _addresses, until=st.sampled_from([UNTIL, "later"])), max_size=2).map(
        tuple
    ),
    ended=st.lists(st.builds(ended, _addresses, st.sampled_from(RESULTS)), max_size=2).map(tuple),
)


def one_by_one(batches: list[Batch]) -> dict[Address, tuple[Intent, str]]:
    """Return what the journal has to hold after these, the slow and plain way."""
    rows: dict[Address, tuple[Intent, str]] = {}
    for batch in batches:
        rows |= {one.address: (one, "") for one in batch.intents}
        for outcome in batch.ended:
            if outcome.address in rows and outcome.result != "in doubt":
                rows[outcome.address] = (rows[outcome.address][0], outcome.result)
    return rows


@given(st.lists(_batches, max_size=6))
def test_batches_that_share_a_commit_leave_what_one_after_the_other_would(batches: list[Batch]) -> None:
    left = net_journal(batches)
    together = {address: (one, left.endings.get(address, "")) for address, one in left.intents.items()}
    assert together == one_by_one(batches)


def test_what_is_said_of_the_net_is_true_of_the_rows(store: Store) -> None:
    batches = [
        Batch(intents=(intent(), intent(SAM)), ended=(ended(JANE, "failed"),)),
        Batch(intents=(intent(until="later"),)),
        Batch(ended=(ended(SAM, "applied"), ended(KIM, "skipped"))),
    ]
    store.record(batches, ())
    assert {one.intent.address: (one.intent, one.ending) for one in entries(store)} == one_by_one(batches)


def test_without_the_lock_nothing_is_kept(store_url: str) -> None:
    """An intent that was kept may be sent; and whoever took the lock is writing."""
    clock = Clock()
    with store_of(store_url, clock=clock) as store, store_of(store_url, clock=clock, prefix="rival") as rival:
        with store.lock("run-1") as lock:
            begin(store)
            store.record([Batch(intents=(intent(),))], (), lock=lock)
            unlock_(rival)
            with rival.lock("run-2"):
                before = everything(store)
                batch = Batch(remember=(record(),), intents=(intent(SAM),), ended=(ended(),))
                with pytest.raises(LockHeld, match="run run-2"):
                    store.record([Batch(intents=(intent(KIM),)), batch], WORKSPACES, lock=lock)
                assert everything(store) == before
        with pytest.raises(LockHeld, match="was taken from this run"):
            store.record([Batch(intents=(intent(SAM),))], (), lock=lock)
    tally.count("interleavings", "lock lost before an intent", 2)


def test_an_intent_says_under_which_lock_it_was_written(store_url: str) -> None:
    with store_of(store_url) as store:
        begin(store)
        for _ in range(2):
            with store.lock("run-1") as lock:
                store.record([Batch(intents=(intent(),))], (), lock=lock)
                with store._database.reading() as connection:
                    assert connection.execute("SELECT counter FROM journal").scalar() == lock.counter
        assert lock.counter == 2


def test_a_lease_is_renewed_by_the_intents_of_a_long_run(store_url: str) -> None:
    clock = Clock()
    with store_of(store_url, clock=clock) as store, store.lock("run-1") as lock:
        begin(store)
        for number in range(20):
            clock.pass_s(lease_s * 0.8)
            store.record(
                [Batch(intents=(intent(contact_address("ops", f"person-{number}")),))], (), lock=lock
            )
        lock.check()
    assert len(everything_of(store_url)) == 20


def everything_of(url: str) -> tuple[JournalEntry, ...]:
    with store_of(url, create=False) as store:
        return entries(store)


def begin_(store: Store) -> None:
    begin(store, "run-2")


def record_(store: Store) -> None:
    new = contact_address("ops", "jane-roe")
    store.record(
        [
            Batch(renames=((SAM, new),), remember=(record(KIM),), intents=(intent(KIM),)),
            Batch(remember=(record(),), ended=(ended(), ended(KIM, "in doubt"))),
            Batch(forget=(new,), found=(SAM,), absent=(contact_address("ops", "max-poe"),)),
        ],
        WORKSPACES,
    )


def end_(store: Store) -> None:
    store.end(run_of(ended(), run="run-0"))


def close_(store: Store) -> None:
    store.close_run("run-0", "settled")


def unlock_(store: Store) -> None:
    held = store.holder()
    assert held is not None
    store.unlock(held.id)


def plan_(store: Store) -> None:
    assert store.use_plan("salt of a plan")


WRITES = [begin_, record_, end_, close_, unlock_, plan_]


@contextmanager
def busy(url: str) -> Iterator[Store]:
    """Give a store in the middle of a run, after one that was killed and one that has no end."""
    with store_of(url) as store, store.lock("run-1"):
        begin(store, "run-x")
        store.record([Batch(intents=(intent(SAM), intent(contact_address("ops", "max-poe"))))], ())
        begin(store, "run-0")
        store.record([Batch(intents=(intent(),), ended=(ended(),))], ())
        begin(store)
        store.record([Batch(intents=(intent(),), remember=(record(SAM),))], WORKSPACES)
        yield store


@pytest.mark.parametrize("write", WRITES)
def test_a_crash_before_any_statement_of_a_write_leaves_nothing_of_it(
    store_url: str, write: Callable[[Store], None]
) -> None:
    """Half of a record would be believed: an ending without what is ours now, an entry without its change."""
    with busy(store_url) as store:
        before = everything(store)
        fatal = 0
        while True:
            fatal += 1
            with watched(store) as statements:
                statements.fatal = fatal
                try:
                    write(store)
                except Crash:
                    assert everything(store) == before
                    assert store.verify(None).broken_at == 0
                else:
                    break
        # The commit itself, after the last of them.
        assert everything(store) != before
        assert fatal > 1
    tally.count("crash points", f"statement of a store's {write.__name__.strip('_')}", fatal - 1)


class CrashAtCommit(Observer):
    """The process dies when it is about to commit."""

    def commits(self, connection: Connection, mode: Mode) -> None:  # noqa: ARG002 - as it is called
        raise Crash


@pytest.mark.parametrize("write", WRITES)
def test_a_crash_at_the_commit_leaves_nothing_of_a_write(
    store_url: str, write: Callable[[Store], None]
) -> None:
    with busy(store_url) as store:
        before = everything(store)
        with observed(pool_of(store), CrashAtCommit()), pytest.raises(Crash):
            write(store)
        assert everything(store) == before
        write(store)
        assert everything(store) != before
    tally.count("crash points", f"commit of a store's {write.__name__.strip('_')}")


def test_a_connection_that_is_killed_at_any_statement_leaves_nothing(postgres_url: str) -> None:
    """The server is another machine; it may go away between any two statements."""
    with busy(postgres_url) as store:
        before = everything(store)
        fatal = 0
        while True:
            fatal += 1
            with Killing(store, postgres_url, fatal) as killed:
                try:
                    record_(store)
                except StoreError:
                    assert killed
                    assert everything(store) == before
                else:
                    assert not killed
                    break
        assert store.verify(None).broken_at == 0
        assert everything(store) != before
        assert fatal > 3
    tally.count("crash points", "connection killed at a statement of record", fatal - 1)


class Killing(Observer):
    """The server ends our connection before the statement with the number `fatal`."""

    def __init__(self, store: Store, url: str, fatal: int) -> None:
        self._pool = pool_of(store)
        self._url = url
        self._left = fatal
        self._killed = False

    def __enter__(self) -> Self:
        self._pool.observers.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.observers.remove(self)

    def __bool__(self) -> bool:
        return self._killed

    def executes(self, connection: Connection, sql: str) -> None:  # noqa: ARG002 - as it is called
        self._left -= 1
        if self._left == 0:
            self._killed = True
            pid = connection.raw.info.backend_pid
            with psycopg.connect(self._url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def test_a_result_is_kept_whole_though_its_sibling_cannot_be(store: Store) -> None:
    """Nothing of a commit is kept when one of its batches cannot be written."""
    before = everything(store)
    unknown = record(contact_address("nowhere", "jane"))
    with pytest.raises(KeyError):
        store.record([Batch(intents=(intent(),), ended=(ended(),)), Batch(remember=(unknown,))], WORKSPACES)
    assert everything(store) == before


@pytest.mark.parametrize(
    "change",
    [
        "address = 'contact/jane'",
        "ending = 'perhaps'",
    ],
)
def test_a_damaged_row_is_said_so_and_never_left_out(store: Store, change: str) -> None:
    """An intent that is not seen is one that is sent again."""
    store.record([Batch(intents=(intent(),))], ())
    with store._database.writing() as connection:
        connection.execute(f"UPDATE journal SET {change}")  # noqa: S608 - the test's own words
    with pytest.raises(CorruptRecord, match="contact/") as caught:
        store.unfinished()
    assert caught.value.next


def test_an_intent_that_is_no_text_is_said_so_too(tmp_path: Path) -> None:
    """SQLite keeps anything in any column."""
    with store_of(f"sqlite:///{tmp_path}/store.db") as store:
        begin(store)
        store.record([Batch(intents=(intent(),))], ())
        with store._database.writing() as connection:
            connection.execute("UPDATE journal SET until = x'00ff'")
        with pytest.raises(CorruptRecord, match=str(JANE)):
            store.recorded(WORKSPACES)


def test_a_thousand_intents_in_one_commit_are_few_statements(store: Store) -> None:
    """They share a wave; each statement of its own would be a second of waiting."""
    people = [contact_address("ops", f"person-{number}") for number in range(1_000)]
    with watched(store) as statements:
        store.record([Batch(intents=(intent(one),)) for one in people], ())
        store.record([Batch(remember=(record(one),), ended=(ended(one),)) for one in people], WORKSPACES)
    assert len(statements.seen) <= 19
    assert [entry.ending for entry in entries(store)] == ["applied"] * 1_000
    assert len(sort_out_run(store.unfinished()[0]).settled) == 1_000
