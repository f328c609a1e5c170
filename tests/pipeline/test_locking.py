"""Claims about planning while the lock in the service is being taken."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast

import pytest
from simulation.virtualloop import in_no_time, pause

from reconciler.engine.context import RunContext, ServiceLock
from reconciler.engine.service_lock import PendingServiceLock, acquire_service_lock
from reconciler.errors import LockHeld
from reconciler.service.http.limiter import Timing


class Waiting(ServiceLock):
    """Is taken after 16 s; what is read from 10 s on is new enough, unless `another` run is seen late."""

    def __init__(self, *, another: bool = False, held: bool = False) -> None:
        super().__init__("it waits", used=True)
        self.another, self.held = another, held

    async def take(self) -> bool:
        await pause(10)
        self.may_read.set()
        await pause(6)
        if self.another:
            self.may_read.clear()
            self.readings += 1
            await pause(10)
        if self.held:
            raise LockHeld("another run holds it.", next="wait")
        self.taken = True
        return True


@dataclass
class Told:
    lines: list[str]

    def waits(self, what: str) -> None:
        self.lines.append(what)


@dataclass
class Run:
    service_lock: ServiceLock
    timing: Timing
    run: str = "a run"


class Reading:
    """Reads for so many seconds; tells when it began, and whether it came to its end."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.began: list[float] = []
        self.ended = 0

    async def __call__(self) -> float:
        self.began.append(asyncio.get_running_loop().time())
        await pause(self.seconds)
        self.ended += 1
        return self.began[-1]


Work = Callable[[PendingServiceLock], Coroutine[Any, Any, Any]]


def timed(lock: ServiceLock, work: Work, told: Told | None = None) -> tuple[object, float]:
    """What `work` gives, and how many seconds it took."""

    async def main() -> tuple[object, float]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        run = Run(lock, Timing(loop.time, pause, lambda: 0.5))
        async with acquire_service_lock(cast("RunContext", run), (told or Told([])).waits) as found:
            result = await work(found)
        return result, loop.time() - began

    return in_no_time(main())


def test_the_plan_is_read_while_the_lock_waits_and_not_too_early() -> None:
    """Before a settle window is over a list may lack what the run before wrote."""
    reading, told = Reading(5), Told([])

    _, took_s = timed(Waiting(), lambda lock: lock.read(reading), told)

    assert (reading.ended, took_s) == (1, 16)
    assert told.lines == ["it waits"]


def test_a_plan_that_takes_longer_than_the_wait_is_waited_for() -> None:
    reading = Reading(30)

    _, took_s = timed(Waiting(), lambda lock: lock.read(reading))

    assert (reading.ended, took_s) == (1, 40)


def test_what_was_read_while_another_run_may_have_written_is_read_again() -> None:
    reading = Reading(5)

    result, took_s = timed(Waiting(another=True), lambda lock: lock.read(reading))

    assert (reading.ended, took_s, result) == (2, 31, reading.began[-1])


def test_settling_and_waiting_go_on_side_by_side() -> None:
    reading = Reading(2)

    async def work(lock: PendingServiceLock) -> None:
        lock.start()
        await pause(12)  # what an earlier run left in doubt
        await lock.read(reading)

    assert timed(Waiting(), work)[1] == 16
    assert reading.ended == 1


def test_reading_ends_where_another_run_holds_the_lock() -> None:
    """Exit code 4 does not wait for the rest of a long plan."""
    reading = Reading(3600)

    with pytest.raises(LockHeld):
        timed(Waiting(held=True), lambda lock: lock.read(reading))

    assert (len(reading.began), reading.ended) == (1, 0)


def test_without_a_lock_the_plan_is_read_once_and_at_once() -> None:
    reading = Reading(5)

    assert timed(ServiceLock(), lambda lock: lock.read(reading))[1] == 5
    assert reading.ended == 1


def test_a_lock_that_nobody_needs_any_more_is_given_up_at_once() -> None:
    """The earlier run left nothing to write."""

    async def work(lock: PendingServiceLock) -> None:
        lock.start()
        await pause(1)

    assert timed(Waiting(), work)[1] == 1
