"""Promises about one call that only show at one moment: a pause that is heard of, a body that goes on."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
from service.support import Clock, Wire, failure

from reconciler.service.http.exchange import body_max
from reconciler.service.http.limiter import Limiter, LocalPace, Timing


def test_who_sleeps_for_a_turn_when_the_pause_is_heard_of_sleeps_on() -> None:
    """The turn was taken before the service asked for silence, and would fall right into it."""
    clock, pause_s = Clock(), 7.0

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        if len(clock.slept) == 1:
            await limiter.slowed(pause_s)

    timing = Timing(monotonic=lambda: clock.elapsed_s, sleep=sleep, random=lambda: 0.5)
    limiter = Limiter(LocalPace(10, timing=timing), concurrency=8, timing=timing)

    async def turns() -> None:
        for _ in range(2):
            async with limiter:
                pass

    asyncio.run(turns())

    assert clock.elapsed_s >= 1000 + pause_s


def test_no_more_of_a_long_body_is_read_than_just_beyond_the_cap() -> None:
    """An answer that ends somewhere is as large in memory as we let it grow."""
    piece = b" " * 1024 * 1024
    read: list[int] = []

    class Long(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            read.append(0)
            for _ in range(3 * body_max // len(piece)):
                read[-1] += len(piece)
                yield piece

    async def long(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Long())

    error = failure(Wire(long), lambda client: client.contacts.list())

    assert "larger than 16 MiB" in str(error)
    assert max(read) == body_max + len(piece)
