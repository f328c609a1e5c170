"""Claims about pressure: never more at once, never closer together, and everybody slows when told to."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service.support import Clock

from reconciler.service.limiter import Limiter
from reconciler.service.timing import Timing


def begins(clock: Clock, limiter: Limiter, turns: int, *, takes_s: float = 0.0) -> list[float]:
    found: list[float] = []

    async def turn() -> None:
        async with limiter:
            found.append(clock.now)
            clock.now += takes_s

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
    limiter = Limiter(per_second=per_second, concurrency=8, timing=clock.timing)

    found = begins(clock, limiter, turns, takes_s=takes_s)

    assert all(later - sooner >= 1 / per_second - 1e-9 for sooner, later in pairwise(found))


def test_idle_time_is_not_saved_up_for_a_burst() -> None:
    """The service counts by the second: ten at once after a pause are over its limit."""
    clock = Clock()
    limiter = Limiter(per_second=10, concurrency=8, timing=clock.timing)
    begins(clock, limiter, 1)
    clock.now += 60

    found = begins(clock, limiter, 10)

    assert found[-1] - found[0] == pytest.approx(0.9)


def test_without_a_limit_nobody_waits() -> None:
    clock = Clock()

    begins(clock, Limiter(per_second=0, concurrency=1, timing=clock.timing), 100)

    assert clock.slept == []


def test_one_throttled_call_slows_all() -> None:
    clock = Clock()
    limiter = Limiter(per_second=0, concurrency=8, timing=clock.timing)
    limiter.pause(5)
    limiter.pause(2)

    assert begins(clock, limiter, 2)[0] == 1005.0


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_never_more_at_once_than_allowed(concurrency: int) -> None:
    now = most = 0

    async def main() -> None:
        limiter = Limiter(per_second=0, concurrency=concurrency, timing=Timing.real())

        async def turn() -> None:
            nonlocal now, most
            async with limiter:
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.001)
                now -= 1

        await asyncio.gather(*(turn() for _ in range(50)))

    asyncio.run(main())
    assert most == concurrency


def test_a_turn_that_is_cancelled_while_waiting_gives_its_place_back() -> None:
    """A place lost for every cancelled call would stop the program after eight of them."""

    async def main() -> None:
        limiter = Limiter(per_second=1, concurrency=1, timing=Timing.real())
        async with limiter:
            pass

        async def turn() -> None:
            async with limiter:
                raise AssertionError("too soon")

        waiting = asyncio.create_task(turn())
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert not limiter._places.locked()

    asyncio.run(main())
