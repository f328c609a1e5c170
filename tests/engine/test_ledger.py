import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest
from clock import Clock

from reconciler.engine.ledger import Ledger
from reconciler.errors import LockHeld, StoreError
from reconciler.model.address import contact_address
from reconciler.model.plans import Consent, Options, Plan, Target, Workspace
from reconciler.model.runs import Context, Intent, Outcome
from reconciler.model.snapshots import RecordedEntity
from reconciler.store.database import Store, Workspaces
from reconciler.store.locks import Lock
from reconciler.store.records import Batch

OPS = (Workspace("ops", "AB12"),)
PLAN = Plan(Target("https://api.example.com", "default", OPS), Options(), "", "salt", ())


class CountingStore(Store):
    """A store that counts its transactions, and fails when it is told to."""

    written = 0
    failure: StoreError | None = None

    def record(self, batches: Iterable[Batch], workspaces: Workspaces, *, lock: Lock | None = None) -> None:
        if self.failure is not None:
            raise self.failure
        self.written += 1
        super().record(batches, workspaces, lock=lock)


def open_store(folder: Path) -> CountingStore:
    numbers = iter(range(100))
    store = CountingStore.open(
        "sqlite:///store.db",
        origin="https://api.example.com",
        stack="default",
        now=Clock(),
        token=lambda: str(next(numbers)),
        root=str(folder),
    )
    store.begin("run", "apply", PLAN, Consent(), Context())
    return store


def intent(number: int) -> Intent:
    moment = "2026-03-01T12:00:00+00:00"
    return Intent(contact_address("ops", f"person-{number}"), "create", moment, moment)


def batch(number: int) -> Batch:
    address = contact_address("ops", f"person-{number}")
    return Batch(
        remember=(RecordedEntity(address, f"{number:04X}"),), ended=(Outcome(address, "create", "applied"),)
    )


def open_intents(store: Store) -> list[str]:
    return [str(entry.intent.address) for one in store.unfinished() for entry in one.entries if entry.open]


def test_intents_and_results_side_by_side_share_commits_and_each_is_durable(tmp_path: Path) -> None:
    """A commit waits for the disk: two for each of many changes would be most of the run's time."""

    async def work(store: Store, ledger: Ledger) -> None:
        async def one(number: int) -> None:
            address = contact_address("ops", f"person-{number}")
            await ledger.before_call(intent(number))
            assert str(address) in open_intents(store)
            await ledger.after_call(batch(number))
            assert address in store.recorded(OPS).entities
            assert str(address) not in open_intents(store)

        await asyncio.gather(*map(one, range(50)))

    with open_store(tmp_path) as store, store.lock("run") as lock:
        asyncio.run(work(store, Ledger(store, lock, OPS)))
        assert len(store.recorded(OPS).entities) == 50
        assert store.written < 20


def test_who_is_cancelled_while_waiting_loses_nothing(tmp_path: Path) -> None:
    """Also not where the cancelled one was the run itself, which waits for its ledger to close."""

    async def work(ledger: Ledger) -> None:
        waiting = asyncio.create_task(ledger.after_call(batch(1)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        ledger.later(batch(2))
        closing = asyncio.create_task(ledger.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing

    with open_store(tmp_path) as store, store.lock("run") as lock:
        asyncio.run(work(Ledger(store, lock, OPS)))
        assert len(store.recorded(OPS).entities) == 2


@pytest.mark.parametrize("fails_at", ["intent", "result"])
def test_after_a_failure_nothing_may_be_sent(tmp_path: Path, fails_at: str) -> None:
    """What cannot be written down before must not be done; what cannot be written down after ends it."""

    async def work(store: CountingStore, ledger: Ledger) -> None:
        store.failure = StoreError("the disk is full.")
        with pytest.raises(StoreError):
            await (ledger.before_call(intent(1)) if fails_at == "intent" else ledger.after_call(batch(1)))
        store.failure = None
        with pytest.raises(StoreError):
            await ledger.before_call(intent(2))
        assert ledger.broken is not None
        await ledger.after_call(batch(3))

    with open_store(tmp_path) as store, store.lock("run") as lock:
        asyncio.run(work(store, Ledger(store, lock, OPS)))
        assert open_intents(store) == []
        assert set(store.recorded(OPS).entities) == {contact_address("ops", "person-3")}


def test_an_intent_that_waits_behind_a_failure_is_refused_too(tmp_path: Path) -> None:
    """It was not begun yet when the disk failed."""

    async def work(store: CountingStore, ledger: Ledger) -> None:
        store.failure = StoreError("the disk is full.")
        first = asyncio.create_task(ledger.after_call(batch(1)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        second = asyncio.create_task(ledger.before_call(intent(2)))
        ended = await asyncio.gather(first, second, return_exceptions=True)
        assert [type(one) for one in ended] == [StoreError, StoreError]

    with open_store(tmp_path) as store, store.lock("run") as lock:
        asyncio.run(work(store, Ledger(store, lock, OPS)))
        assert open_intents(store) == []


def test_without_the_lock_no_intent_is_written_and_results_are(tmp_path: Path) -> None:
    """Results of what was done are kept; what has not begun is left to the new holder."""

    async def work(ledger: Ledger, lock: Lock) -> None:
        await ledger.before_call(intent(1))
        lock.release()
        ended = await asyncio.gather(
            ledger.before_call(intent(2)), ledger.after_call(batch(1)), return_exceptions=True
        )
        assert [type(one) for one in ended] == [LockHeld, type(None)]
        with pytest.raises(LockHeld):
            await ledger.check()

    with open_store(tmp_path) as store, store.lock("run") as lock:
        asyncio.run(work(Ledger(store, lock, OPS), lock))
        assert open_intents(store) == []
        assert set(store.recorded(OPS).entities) == {contact_address("ops", "person-1")}


def test_a_mistake_of_ours_in_a_commit_is_heard_and_ends_the_run(tmp_path: Path) -> None:
    """A wait for a result that cannot come must end."""

    async def work(ledger: Ledger) -> None:
        elsewhere = Batch(remember=(RecordedEntity(contact_address("nowhere", "person-1"), "01"),))
        with pytest.raises(KeyError):
            await ledger.after_call(elsewhere)
        with pytest.raises(StoreError, match="a bug in this program"):
            await ledger.before_call(intent(1))

    with open_store(tmp_path) as store, store.lock("run") as lock:
        asyncio.run(work(Ledger(store, lock, OPS)))
