"""Claims about pressure: never more at once, never closer together, and everybody slows when told to."""

import asyncio
import heapq
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service.support import ID, Clock, Wire, answer, contact, service
from waiting import for_ever

from reconciler.core import calls as paces
from reconciler.errors import StoreError
from reconciler.service.client import open_client, open_reader
from reconciler.service.http.limiter import (
    Limiter,
    LocalPace,
    Timing,
    TooLate,
    ceiling_least,
    late_max_s,
    late_retries_max,
)


def limiter_of(per_second: float, timing: Timing, *, concurrency: int = 8) -> Limiter:
    """A limiter whose pace is its own."""
    return Limiter(LocalPace(per_second, timing=timing), concurrency=concurrency, timing=timing)


@dataclass
class Row:
    """A pace that several limiters share, on one clock; it remembers how many turns each asked for."""

    clock: Clock
    ceiling: float = 10.0
    ahead_s: float = 0.5
    asked: list[int] = field(default_factory=list)
    broken: bool = False
    pace: paces.Pace | None = None

    async def reserve(self, turns: int) -> tuple[float, float]:
        now = self._now()
        self.asked.append(turns)
        before = self.pace or paces.begin_pace(now, self.ceiling)
        self.pace, begins_at, spacing_s = paces.reserve_turns(before, now, turns, self.ceiling)
        return begins_at - now, spacing_s

    async def slowed(self, asked_s: float) -> None:
        now = self._now()
        self.pace = paces.slow_down(
            self.pace or paces.begin_pace(now, self.ceiling), now, self.ceiling, asked_s
        )

    def _now(self) -> float:
        if self.broken:
            raise StoreError("the store ops: it may not be written.")
        return self.clock.elapsed_s


class Timeline(Clock):
    """A clock for several who sleep at the same time: it goes on to whoever wakes up first."""

    def __init__(self) -> None:
        super().__init__()
        self.sleepers: list[tuple[float, int, asyncio.Event]] = []

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        heapq.heappush(self.sleepers, (self.elapsed_s + seconds, len(self.slept), woken))
        self.slept.append(seconds)
        await woken.wait()

    async def until(self, work: "asyncio.Future[list[None]]") -> None:
        while not work.done():
            for _ in range(100):  # everybody does what there is to do before time goes on
                await asyncio.sleep(0)
            if self.sleepers:
                self.elapsed_s, _, woken = heapq.heappop(self.sleepers)
                woken.set()
        await work


def at_once(clock: Clock, limiter: Limiter, turns: int) -> list[float]:
    """When each of so many turns begins that are wanted at the same time."""
    found: list[float] = []

    async def turn() -> None:
        async with limiter:
            found.append(clock.elapsed_s)

    async def main() -> None:
        await asyncio.gather(*(turn() for _ in range(turns)))

    asyncio.run(main())
    return found


def begins(clock: Clock, limiter: Limiter, turns: int, *, takes_s: float = 0.0) -> list[float]:
    found: list[float] = []

    async def turn() -> None:
        async with limiter:
            found.append(clock.elapsed_s)
            clock.pass_s(takes_s)

    async def main() -> None:
        for _ in range(turns):
            await turn()

    asyncio.run(main())
    return found


@given(
    per_second=st.sampled_from([0.5, 1, 5, 10, 30, 1000]), turns=st.integers(1, 30), takes_s=st.floats(0, 2)
)
@settings(deadline=None, max_examples=60)
def test_no_two_turns_begin_closer_together_than_the_limit(
    per_second: float, turns: int, takes_s: float
) -> None:
    clock = Clock()
    limiter = limiter_of(per_second, clock.timing)

    found = begins(clock, limiter, turns, takes_s=takes_s)

    assert all(later - sooner >= 1 / per_second - 1e-9 for sooner, later in pairwise(found))


def test_idle_time_is_not_saved_up_for_a_burst() -> None:
    """The service counts by the second: ten at once after a pause are over its limit."""
    clock = Clock()
    limiter = limiter_of(10, clock.timing)
    begins(clock, limiter, 1)
    clock.pass_s(60)

    found = begins(clock, limiter, 10)

    assert found[-1] - found[0] == pytest.approx(0.9)


def test_without_a_limit_nobody_waits() -> None:
    clock = Clock()

    begins(clock, limiter_of(0, clock.timing, concurrency=1), 100)

    assert clock.slept == []


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_never_more_at_once_than_allowed(concurrency: int) -> None:
    now = most = 0

    async def main() -> None:
        limiter = limiter_of(0, Timing.real(), concurrency=concurrency)

        async def turn() -> None:
            nonlocal now, most
            async with limiter:
                now += 1
                most = max(most, now)
                await asyncio.sleep(0)
                now -= 1

        await asyncio.gather(*(turn() for _ in range(50)))

    asyncio.run(main())
    assert most == concurrency


def test_a_turn_that_is_cancelled_while_waiting_gives_its_place_back() -> None:
    """A place lost for every cancelled call would stop the program after eight of them."""

    async def main() -> None:
        sleeps = asyncio.Event()

        async def sleep(_seconds: float) -> None:
            sleeps.set()
            await for_ever()

        limiter = limiter_of(1, Timing(lambda: 0.0, sleep, lambda: 0.5), concurrency=1)
        async with limiter:
            pass

        async def turn() -> None:
            async with limiter:
                raise AssertionError("too soon")

        waiting = asyncio.create_task(turn())
        await sleeps.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert not limiter._places.locked()

    asyncio.run(main())


@given(late=st.lists(st.floats(0, 3), min_size=1, max_size=20), turns=st.integers(1, 30))
@settings(deadline=None, max_examples=60)
def test_however_late_the_machine_wakes_us_no_second_sees_a_burst(late: list[float], turns: int) -> None:
    """A machine that slept over ten turns must not begin all ten when it wakes."""

    class Sleepy(Clock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds + late[len(self.slept) % len(late)])

    clock = Sleepy()
    found = at_once(clock, limiter_of(10, clock.timing, concurrency=64), turns)

    for start in found:
        assert sum(start <= one < start + 1 - 1e-6 for one in found) <= 10 + 1


def test_a_clock_that_wakes_us_early_does_not_make_a_turn_early() -> None:
    """Event loops round to milliseconds, down as well as up."""

    class Hasty(Clock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(max(seconds - 0.0005, 0.0001))

    clock = Hasty()
    found = at_once(clock, limiter_of(10, clock.timing), 8)

    assert all(later - sooner >= 0.1 - 1e-5 for sooner, later in pairwise(found))


@pytest.mark.parametrize("per_second", [0, 100])
def test_one_throttled_call_makes_everybody_wait(per_second: float) -> None:
    """The service counts all of us together: the next request would be refused as well."""
    clock = Clock()
    limiter = limiter_of(per_second, clock.timing)
    asyncio.run(limiter.slowed(5))
    asyncio.run(limiter.slowed(2))

    assert begins(clock, limiter, 2)[0] == 1005.0


def test_a_throttled_call_halves_the_rate_and_time_brings_it_back() -> None:
    clock = Clock()
    limiter = limiter_of(10, clock.timing)
    asyncio.run(limiter.slowed())

    slow = begins(clock, limiter, 2)
    clock.pass_s(20)
    fast = begins(clock, limiter, 2)

    assert slow[1] - slow[0] == pytest.approx(0.2, rel=0.1)
    assert fast[1] - fast[0] == pytest.approx(0.1)


def test_who_waits_when_a_pause_is_heard_of_waits_for_its_end() -> None:
    """Its turn was given before the service asked for silence."""
    clock = Clock()
    limiter = limiter_of(10, clock.timing)
    found: list[float] = []

    async def turn() -> None:
        async with limiter:
            found.append(clock.elapsed_s - 1000)
        if len(found) == 1:
            await limiter.slowed(7)

    async def main() -> None:
        await asyncio.gather(*(turn() for _ in range(4)))

    asyncio.run(main())
    assert found[0] == 0
    assert found[1] == pytest.approx(7)
    assert all(later - sooner >= 0.1 - 1e-6 for sooner, later in pairwise(found))


@pytest.mark.parametrize(("seen", "rate"), [(3, ceiling_least / 2), (400, 200)])
def test_without_a_limit_the_first_refusal_sets_one(seen: int, rate: float) -> None:
    """Half of what was just sent; but a quiet second says nothing about what the service can take."""
    clock = Clock()
    limiter = limiter_of(0, clock.timing)
    begins(clock, limiter, seen)

    asyncio.run(limiter.slowed())

    first, second = begins(clock, limiter, 2)
    assert second - first == pytest.approx(1 / rate, rel=0.1)


def test_a_turn_after_the_end_of_the_run_is_refused_at_once() -> None:
    """Waiting for it would keep the run going for nothing."""
    clock = Clock()
    limiter = Limiter(
        LocalPace(10, timing=clock.timing), concurrency=8, timing=clock.timing, ends_at=clock.elapsed_s + 60
    )
    asyncio.run(limiter.slowed(61))

    with pytest.raises(TooLate):
        begins(clock, limiter, 1)

    assert clock.slept == []
    assert not limiter._places.locked()


def test_a_shared_pace_is_asked_for_as_many_turns_as_wait() -> None:
    """One transaction a request would make the store the bottleneck."""
    clock = Clock()
    row = Row(clock)

    at_once(clock, Limiter(row, concurrency=64, timing=clock.timing), 20)

    assert (sum(row.asked), max(row.asked), len(row.asked)) == (20, 5, 6)


def test_a_shared_pace_is_not_asked_for_more_than_half_a_second() -> None:
    """What one takes ahead, nobody else can use."""
    clock = Clock()
    row = Row(clock, ceiling=40)

    at_once(clock, Limiter(row, concurrency=64, timing=clock.timing), 64)

    assert max(row.asked) == 20
    assert sum(row.asked) == 64


def test_turns_that_were_not_used_in_time_are_lost() -> None:
    """Used later they would run into those of others."""
    clock = Clock()
    limiter = Limiter(Row(clock), concurrency=8, timing=clock.timing)

    async def first() -> None:
        """Ask for two turns and use one."""
        both = [asyncio.create_task(limiter.__aenter__()) for _ in range(2)]
        await both[0]
        both[1].cancel()
        await asyncio.wait(both)

    asyncio.run(first())
    clock.pass_s(1)

    found = at_once(clock, limiter, 3)
    assert all(later - sooner >= 0.1 - 1e-6 for sooner, later in pairwise(found))


def test_a_turn_for_which_we_woke_too_late_is_given_up() -> None:
    """Late turns of one program and timely ones of another would add up to more than the service allows."""

    class Late(Clock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds + (late_max_s * 3 if len(self.slept) == 0 else 0))

    clock = Late()
    row = Row(clock, ceiling=20)

    found = at_once(clock, Limiter(row, concurrency=8, timing=clock.timing), 4)

    assert sum(row.asked) > 4
    assert all(later - sooner >= 1 / 20 - 1e-6 for sooner, later in pairwise(found))


def test_a_machine_that_is_always_late_still_goes_on() -> None:
    """Giving up one turn after the other would be waiting for ever."""

    class Late(Clock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds + 1)

    clock = Late()
    row = Row(clock)

    found = at_once(clock, Limiter(row, concurrency=8, timing=clock.timing), 4)

    assert len(found) == 4
    assert sum(row.asked) <= 4 * late_retries_max


@pytest.mark.parametrize("opened", [open_reader, open_client])
def test_a_client_takes_its_turns_from_the_pace_it_is_given(opened: Callable[..., Any]) -> None:
    """Plans and applies alike: the limit of the settings is in the pace already."""
    clock = Clock()
    row = Row(clock, ceiling=2)

    async def main() -> None:
        wire = Wire(answer(200, contact(ID)))
        settings_ = service(requests_per_second=1000)
        async with opened(settings_, timing=clock.timing, connections=wire, pace=row) as client:
            for _ in range(5):
                await client.contacts.get(ID)

    asyncio.run(main())
    assert clock.elapsed_s - 1000 == pytest.approx(4 / 2)
    assert sum(row.asked) == 5


def test_four_programs_that_share_a_pace_stay_below_it_together() -> None:
    """What one does not take is there for the others."""
    clock = Timeline()
    row = Row(clock, ceiling=40)
    limiters = [Limiter(row, concurrency=8, timing=clock.timing) for _ in range(4)]
    found: list[float] = []

    async def turn(limiter: Limiter) -> None:
        async with limiter:
            found.append(clock.elapsed_s)

    async def main() -> None:
        await clock.until(asyncio.gather(*(turn(limiter) for limiter in limiters for _ in range(50))))

    asyncio.run(main())
    found.sort()
    for start in found:
        assert sum(start <= one < start + 1 - 1e-6 for one in found) <= 40 * (1 + late_max_s) + 1
    assert found[-1] - found[0] < 200 / 40 / 0.85


def test_a_shared_pace_that_fails_is_left_for_one_of_our_own(caplog: pytest.LogCaptureFixture) -> None:
    """No run may fail because the shared count of requests is missing. It says so once."""
    clock = Clock()
    row = Row(clock)
    limiter = Limiter(row, concurrency=8, timing=clock.timing)
    found: list[float] = []

    async def turn() -> None:
        async with limiter:
            found.append(clock.elapsed_s)

    async def main() -> None:
        await asyncio.gather(*(turn() for _ in range(5)))
        row.broken = True
        await asyncio.gather(*(turn() for _ in range(8)))
        await limiter.slowed(3)
        await asyncio.gather(*(turn() for _ in range(2)))

    with caplog.at_level(logging.INFO):
        asyncio.run(main())

    assert all(later - sooner >= 0.1 - 1e-6 for sooner, later in pairwise(found))
    assert found[13] - found[12] >= 3
    assert [record.getMessage() for record in caplog.records] == [
        "the store ops: it may not be written. From here on this run keeps a pace of its own."
    ]


def test_a_shared_pace_that_fails_when_it_hears_of_throttling_is_left_too() -> None:
    clock = Clock()
    limiter = Limiter(Row(clock, broken=True), concurrency=8, timing=clock.timing)

    asyncio.run(limiter.slowed(3))

    assert at_once(clock, limiter, 1) == [1003.0]


def test_a_shared_pace_without_a_limit_is_asked_for_nothing_until_somebody_is_throttled() -> None:
    clock = Clock()
    row = Row(clock, ceiling=0)
    limiter = Limiter(row, concurrency=8, timing=clock.timing)
    at_once(clock, limiter, 50)
    assert row.asked == []

    asyncio.run(limiter.slowed())

    found = at_once(clock, limiter, 8)
    assert row.asked
    assert found[1] - found[0] == pytest.approx(1 / 25)
