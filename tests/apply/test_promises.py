"""Promises about the end of a run that only show when time, or the disk, is against us."""

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path

import httpx2
from apply.bench import ORIGIN, Bench, Rule, Send, answered, person, results
from store.support import Clock

from reconciler.apply.ledger import Ledger
from reconciler.core.guard import Consent
from reconciler.errors import StoreError
from reconciler.model.address import contact
from reconciler.model.context import Context
from reconciler.model.journal import Intent
from reconciler.model.plans import Options, Plan, Target, Workspace
from reconciler.service.timing import Timing
from reconciler.store.database import Store, Workspaces
from reconciler.store.lock import Lock
from reconciler.store.recorded import Batch

PEOPLE = [person(contact("ops", f"person-{number}")) for number in range(6)]
OPS = (Workspace("ops", "AB12"),)
LATE_S = 0.5  # seconds; short beside the time of grace, long beside everything else here


def patient(folder: Path) -> Bench:
    """A bench whose time of grace is as long as it really is."""
    bench = Bench(folder, concurrency=1)
    bench.timing = Timing(monotonic=time.monotonic, sleep=asyncio.sleep, random=lambda: 0.0)
    return bench


def test_the_first_signal_waits_for_the_answer_that_is_under_way(tmp_path: Path) -> None:
    """P19: within the time of grace a call is finished, and nothing is in doubt for it."""
    bench = patient(tmp_path)

    async def slow(_: httpx2.Request, send: Send) -> httpx2.Response:
        bench.stop.signal()
        await asyncio.sleep(LATE_S)
        return await send()

    run = bench.apply(*PEOPLE, rules=[Rule("POST", slow, nth=2)])

    assert sorted(results(run).values()) == ["applied"] * 2 + ["not attempted"] * 4
    assert len(bench.live()) == 2


def test_the_second_signal_waits_for_nothing(tmp_path: Path) -> None:
    """P19: whoever asks twice does not mean the time of grace; what was sent is in doubt."""
    bench = patient(tmp_path)

    async def slow(_: httpx2.Request, send: Send) -> httpx2.Response:
        bench.stop.signal()
        bench.stop.signal()
        await asyncio.sleep(LATE_S)
        return await send()

    run = bench.apply(*PEOPLE, rules=[Rule("POST", slow, nth=2)])

    assert sorted(results(run).values()) == ["applied", "in doubt"] + ["not attempted"] * 4
    assert len(bench.live()) == 1


def test_every_outcome_is_written_down_before_the_run_says_that_it_ended(tmp_path: Path) -> None:
    """What nobody waits for is written too: the history of a run ends with its end."""
    bench = Bench(tmp_path, concurrency=1)

    async def stopped(_: httpx2.Request, send: Send) -> httpx2.Response:
        bench.stop.signal()
        return await send()

    bench.apply(*PEOPLE, rules=[Rule("POST", stopped, nth=2)])

    with bench.store() as store:
        events = [entry.event for entry in store.history()]
    assert events == ["began"] + ["changed"] * len(PEOPLE) + ["ended"]


class FailingOnce(Store):
    """A store whose disk is full for one commit."""

    full = True

    def record(self, batches: Iterable[Batch], workspaces: Workspaces, *, lock: Lock | None = None) -> None:
        if self.full:
            self.full = False
            raise StoreError("the disk is full.")
        super().record(batches, workspaces, lock=lock)


def test_an_intent_behind_a_commit_that_failed_is_not_written_though_the_next_one_would_work(
    tmp_path: Path,
) -> None:
    """After the first failure nothing is sent any more: an intent that is kept says that it may be."""
    moment = "2026-03-01T12:00:00+00:00"
    plan = Plan(Target(ORIGIN, "default", OPS), Options(), "", "salt", ())

    async def work(ledger: Ledger) -> None:
        first = asyncio.create_task(ledger.after_call(Batch()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        intent = Intent(PEOPLE[0].address, "create", moment, moment)
        second = asyncio.create_task(ledger.before_call(intent))
        ended = await asyncio.gather(first, second, return_exceptions=True)
        assert [type(one) for one in ended] == [StoreError, StoreError]

    with FailingOnce.open(
        f"sqlite:///{tmp_path / 'store.db'}",
        origin=ORIGIN,
        stack="default",
        now=Clock(),
        token=lambda: "salt",
    ) as store:
        store.begin("run", "apply", plan, Consent(), Context())
        with store.lock("run") as lock:
            asyncio.run(work(Ledger(store, lock, OPS)))
        assert [run.entries for run in store.unfinished()] == [()]


def test_a_field_that_was_written_again_and_not_read_back_is_not_remembered_as_it_was(tmp_path: Path) -> None:
    """What we sent before is overwritten: remembered still, the next difference would be told as drift."""
    bench = Bench(tmp_path)
    jane = contact("ops", "jane")
    bench.apply(person(jane, jobTitle="Analyst"))

    bench.apply(
        person(jane, jobTitle="Engineer"),
        rules=[Rule("GET", answered(500), when=lambda: bench.wire.count()["PUT"] > 0)],
    )

    record = bench.recorded().entities[jane]
    assert "jobTitle" not in {**record.sent, **record.shown}
    assert record.sent["firstName"] == "Jane"
