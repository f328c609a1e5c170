import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest
from sqlalchemy import text
from store.support import Clock

from reconciler.apply.ledger import Ledger
from reconciler.errors import LockHeld, StoreError
from reconciler.model.address import contact
from reconciler.model.plans import Workspace
from reconciler.model.snapshots import RecordedEntity
from reconciler.store.database import Store, Workspaces
from reconciler.store.recorded import Batch

OPS = (Workspace("ops", "AB12"),)


class CountingStore(Store):
    """A store that counts its transactions."""

    written = 0

    def record(self, batches: Iterable[Batch], workspaces: Workspaces) -> None:
        self.written += 1
        super().record(batches, workspaces)


def open_store(folder: Path) -> CountingStore:
    numbers = iter(range(100))
    return CountingStore.open(
        "sqlite:///store.db",
        origin="https://api.example.com",
        stack="default",
        now=Clock(),
        token=lambda: str(next(numbers)),
        root=str(folder),
    )


def batch(number: int) -> Batch:
    return Batch(remember=(RecordedEntity(contact("ops", f"person-{number}"), f"{number:04X}"),))


def test_results_side_by_side_share_a_commit_and_each_is_durable(tmp_path: Path) -> None:
    """A commit waits for the disk: one for each of a thousand changes would be most of the run's time."""

    async def work(store: Store, ledger: Ledger) -> None:
        async def one(number: int) -> None:
            await ledger.after_call(batch(number))
            assert contact("ops", f"person-{number}") in store.recorded(OPS).entities

        await asyncio.gather(*map(one, range(50)))

    with open_store(tmp_path) as store, store.lock("run") as lock:
        asyncio.run(work(store, Ledger(store, lock, OPS)))
        assert len(store.recorded(OPS).entities) == 50
        assert store.written < 10


def test_who_is_cancelled_while_waiting_loses_nothing(tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        waiting = asyncio.create_task(ledger.after_call(batch(1)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        ledger.later(batch(2))
        await ledger.close()

    with open_store(tmp_path) as store, store.lock("run") as lock:
        asyncio.run(work(Ledger(store, lock, OPS)))
        assert len(store.recorded(OPS).entities) == 2


def test_after_a_failure_nothing_may_be_sent(tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        with pytest.raises(StoreError):
            await ledger.after_call(batch(1))
        with pytest.raises(StoreError):
            ledger.before_call()

    with open_store(tmp_path) as store, store.lock("run") as lock:
        with store._database.writing() as connection:
            connection.execute(text("DROP TABLE entities"))
        asyncio.run(work(Ledger(store, lock, OPS)))


def test_without_the_lock_nothing_may_be_sent(tmp_path: Path) -> None:
    with open_store(tmp_path) as store, store.lock("run") as lock:
        ledger = Ledger(store, lock, OPS)
        ledger.before_call()
        lock.release()
        with pytest.raises(LockHeld):
            ledger.before_call()
