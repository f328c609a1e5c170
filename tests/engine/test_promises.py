"""Promises about the end of a run that only show when time, or the disk, is against us."""

import asyncio
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from clock import Clock
from engine.bench import ORIGIN, Bench, in_place, nap, person, results
from msgspec import structs
from simulation.virtualloop import in_no_time, pause
from wire import Rule, Send, answered

from reconciler.engine.ledger import Ledger
from reconciler.errors import StoreError
from reconciler.model.address import contact_address
from reconciler.model.plans import Consent, Options, Plan, Target, Workspace
from reconciler.model.runs import Context, Intent, Run
from reconciler.model.snapshots import Entity
from reconciler.service.http.limiter import Timing
from reconciler.service.http.transport import write_age_max_s
from reconciler.store.database import Store, Workspaces
from reconciler.store.locks import Lock, lease_s
from reconciler.store.records import Batch

PEOPLE = [person(contact_address("ops", f"person-{number}")) for number in range(6)]
OPS = (Workspace("ops", "AB12"),)
LATE_S = 5.0  # seconds; within the time of grace


class Patient(Bench):
    """A bench whose waits are as long as they really are, and cost nothing."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, concurrency=1)
        self.timing = Timing(self.monotonic, asyncio.sleep, lambda: 0.0)
        self.offload = in_place
        self.passed_s = 0.0

    def monotonic(self) -> float:
        """Tell the time of the loop, and let everybody's clock go on as far."""
        now_s = asyncio.get_running_loop().time()
        self.pass_(now_s - self.passed_s)
        self.passed_s = now_s
        return now_s

    def apply(self, *entities: Entity, **how: Any) -> Run:
        return in_no_time(self.apply_async(*entities, **how))


def test_the_first_signal_waits_for_the_answer_that_is_under_way(tmp_path: Path) -> None:
    """P19: within the time of grace a call is finished, and nothing is in doubt for it."""
    bench = Patient(tmp_path)

    async def slow(_: httpx2.Request, send: Send) -> httpx2.Response:
        bench.stop.signal()
        await pause(LATE_S)
        return await send()

    run = bench.apply(*PEOPLE, rules=[Rule("POST", slow, nth=2)])

    assert sorted(results(run).values()) == ["applied"] * 2 + ["not attempted"] * 4
    assert len(bench.live()) == 2


def test_the_second_signal_waits_for_nothing(tmp_path: Path) -> None:
    """P19: a second signal ends the wait of the first; what was sent is in doubt."""
    bench = Patient(tmp_path)

    async def slow(_: httpx2.Request, send: Send) -> httpx2.Response:
        bench.stop.signal()
        bench.stop.signal()
        await pause(LATE_S)
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


def test_a_field_that_was_written_again_and_not_read_back_is_looked_at_before_the_next_plan(
    tmp_path: Path,
) -> None:
    """What we sent before is overwritten: remembered still, the next difference would be told as drift."""
    bench = Bench(tmp_path)
    jane = contact_address("ops", "jane")
    bench.apply(person(jane, jobTitle="Analyst"))

    bench.apply(
        person(jane, jobTitle="Engineer"),
        rules=[Rule("GET", answered(500), when=lambda: bench.wire.count()["PUT"] > 0)],
    )

    assert bench.recorded().entities[jane].sent["jobTitle"] == "Analyst"
    bench.apply(person(jane, jobTitle="Director"))
    assert [outcome.result for outcome in bench.settled] == ["applied"]
    assert bench.recorded().entities[jane].sent["jobTitle"] == "Director"


def test_a_create_that_503_hides_is_looked_for_when_it_can_no_longer_land(tmp_path: Path) -> None:
    """A gateway may pass on what it refuses: a look at once finds nothing, and a second try makes two."""
    bench = Patient(tmp_path)
    bench.service = structs.replace(
        bench.service, limits=structs.replace(bench.service.limits, settle_s=2 * LATE_S)
    )
    landing: list[asyncio.Task[None]] = []

    async def later(send: Send) -> None:
        await pause(LATE_S)
        await send()

    async def hidden(_: httpx2.Request, send: Send) -> httpx2.Response:
        landing.append(asyncio.create_task(later(send)))
        return httpx2.Response(503, stream=httpx2.ByteStream(b"{}"))

    run = bench.apply(PEOPLE[0], rules=[Rule("POST", hidden, nth=1)])

    assert list(results(run).values()) == ["applied"]
    assert bench.wire.count()["POST"] == 1


class Interrupted(Store):
    """A store on a machine to which something happens within every commit."""

    happens: Callable[[], None]

    def record(self, batches: Iterable[Batch], workspaces: Workspaces, *, lock: Lock | None = None) -> None:
        super().record(batches, workspaces, lock=lock)
        self.happens()


class Moved(Bench):
    """A bench on such a machine."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, concurrency=1)
        self.store_type = Interrupted

    def store(self) -> Store:
        store = super().store()
        assert isinstance(store, Interrupted)
        store.happens = self.happens
        return store

    def happens(self) -> None:
        """What happens: here nothing."""


class Sleepy(Moved):
    """A machine that falls asleep: each night takes `a_night_s`, and everybody's clocks go on."""

    night_s = 0.0
    a_night_s = 600.0

    def happens(self) -> None:
        self.night_s += self.a_night_s
        self.pass_(self.a_night_s)


def test_a_write_whose_intent_took_too_long_to_write_down_does_not_leave(tmp_path: Path) -> None:
    """The run is over when the intent is durable: nothing is sent, and the intent says so."""
    bench = Sleepy(tmp_path)
    bench.a_night_s = lease_s / 3  # longer than the run may take, and too short to lose the lock
    bench.timing = Timing(monotonic=lambda: time.monotonic() + bench.night_s, sleep=nap, random=lambda: 0.0)

    run = bench.apply(PEOPLE[0])

    assert list(results(run).values()) == ["not attempted"]
    assert "deadline" in run.outcomes[0].what
    assert bench.wire.writes() == []
    assert bench.recorded().doubts == {}


def test_a_machine_that_stood_still_after_an_intent_sends_nothing(tmp_path: Path) -> None:
    """The run has time left; its lock may be gone, and somebody may have looked for this write in vain."""
    bench = Sleepy(tmp_path)
    bench.deadline_s = 1e6
    bench.a_night_s = lease_s / 2 + 1
    bench.timing = Timing(monotonic=lambda: time.monotonic() + bench.night_s, sleep=nap, random=lambda: 0.0)

    run = bench.apply(PEOPLE[0])

    assert list(results(run).values()) == ["not attempted"]
    assert "was suspended for" in run.outcomes[0].what
    assert bench.wire.writes() == []
    assert bench.recorded().doubts == {}


class Setting(Moved):
    """A machine whose clock is set forward, or back; the service's goes on as before."""

    by_s = 0.0

    def happens(self) -> None:
        self.set_by += timedelta(seconds=self.by_s)


@pytest.mark.parametrize("by_s", [-86_400.0, lease_s / 2 + 10])
def test_a_clock_that_is_set_within_a_run_keeps_nothing_from_being_done(tmp_path: Path, by_s: float) -> None:
    """Only the monotonic clock says how long something took."""
    bench = Setting(tmp_path)
    bench.by_s = by_s

    run = bench.apply(*PEOPLE)

    assert list(results(run).values()) == ["applied"] * len(PEOPLE)


def test_an_intent_and_its_request_fit_into_one_lease() -> None:
    """After the lease has ended, nothing of its holder may arrive any more."""
    assert lease_s / 2 + write_age_max_s < lease_s
