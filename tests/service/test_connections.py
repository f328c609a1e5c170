"""Claims about lanes: each carries one request at a time, and comes back however the request ended."""

import asyncio

import httpx2
import pytest
from service.support import BASE, Chunks

from reconciler.service.http.connections import Lanes


class Lane(httpx2.AsyncBaseTransport):
    """Notes how it is used, and fails when it is told to."""

    def __init__(self) -> None:
        self.busy = False
        self.used = 0
        self.closed = False
        self.error: BaseException | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert not self.busy
        self.busy, self.used = True, self.used + 1
        await asyncio.sleep(0)
        if self.error:
            self.busy = False
            raise self.error
        return httpx2.Response(200, stream=Freeing(self), request=request)

    async def aclose(self) -> None:
        self.closed = True


class Freeing(Chunks):
    def __init__(self, lane: Lane) -> None:
        super().__init__(b"{}")
        self.lane = lane

    async def aclose(self) -> None:
        self.lane.busy = False


def lanes() -> tuple[Lanes, list[Lane]]:
    made: list[Lane] = []

    def make() -> Lane:
        made.append(Lane())
        return made[-1]

    return Lanes(make), made


async def once(transport: Lanes) -> None:
    response = await transport.handle_async_request(httpx2.Request("GET", BASE))
    await asyncio.sleep(0)
    assert [chunk async for chunk in response.aiter_raw()] == [b"{}"]
    await response.aclose()
    await response.aclose()


def test_one_request_after_the_other_uses_one_lane() -> None:
    transport, made = lanes()

    async def main() -> None:
        for _ in range(10):
            await once(transport)

    asyncio.run(main())
    assert [lane.used for lane in made] == [10]


def test_requests_at_once_never_share_a_lane() -> None:
    transport, made = lanes()

    async def main() -> None:
        for _ in range(5):
            await asyncio.gather(*(once(transport) for _ in range(8)))

    asyncio.run(main())
    assert len(made) == 8
    assert sum(lane.used for lane in made) == 40


@pytest.mark.parametrize("error", [httpx2.ReadError("reset"), asyncio.CancelledError()])
def test_a_lane_whose_request_failed_is_closed_and_another_one_takes_its_place(error: BaseException) -> None:
    """The library keeps a tunnel whose TLS handshake failed as one that is in use, for ever."""
    transport, made = lanes()

    async def main() -> None:
        await once(transport)
        made[0].error = error
        with pytest.raises(type(error)):
            await once(transport)
        assert [lane.closed for lane in made] == [True]
        await once(transport)
        await once(transport)

    asyncio.run(main())
    assert [(lane.used, lane.closed) for lane in made] == [(2, True), (2, False)]


def test_closing_closes_every_lane() -> None:
    transport, made = lanes()

    async def main() -> None:
        await asyncio.gather(*(once(transport) for _ in range(3)))
        await transport.aclose()

    asyncio.run(main())
    assert [lane.closed for lane in made] == [True] * 3
