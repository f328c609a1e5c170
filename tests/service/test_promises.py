"""Promises of the pace that only show at one moment."""

import asyncio

from service.support import Clock

from reconciler.service.limiter import Limiter, LocalPace
from reconciler.service.timing import Timing


def test_who_sleeps_for_a_turn_when_the_pause_is_heard_of_sleeps_on() -> None:
    """The turn was taken before the service asked for silence, and would fall right into it."""
    clock, pause_s = Clock(), 7.0

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        if len(clock.slept) == 1:
            await limiter.slowed(pause_s)

    timing = Timing(monotonic=lambda: clock.now, sleep=sleep, random=lambda: 0.5)
    limiter = Limiter(LocalPace(10, timing=timing), concurrency=8, timing=timing)

    async def turns() -> None:
        for _ in range(2):
            async with limiter:
                pass

    asyncio.run(turns())

    assert clock.now >= 1000 + pause_s
