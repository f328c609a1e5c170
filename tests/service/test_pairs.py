"""A look and its write as one: their turns are due together, and between them lies nothing but an answer."""

import asyncio
from dataclasses import replace

import httpx2
import pytest
from service.support import ID, Clock, Wire, answer, contact, service, with_client

from reconciler.errors import NotSent, Unavailable
from reconciler.messaging.client import ServiceClient
from reconciler.service.http.limiter import AdaptiveConcurrency, LookAgain, Timing

RATE = 10


class Patient(Clock):
    """A clock for a client whose looks may be old."""

    @property
    def timing(self) -> Timing:
        return replace(super().timing, gap_s=60.0)


def sends(clock: Clock, *, slow_s: float = 0.0) -> tuple[Wire, list[tuple[float, str]]]:
    """A service that answers after `slow_s`, and when each request left us."""
    sent: list[tuple[float, str]] = []

    async def play(request: httpx2.Request) -> httpx2.Response:
        sent.append((clock.elapsed_s, request.method))
        clock.pass_s(slow_s)
        return answer(204) if request.method != "GET" else answer(200, contact(ID))

    return Wire(play), sent


async def looked_and_wrote(client: ServiceClient) -> None:
    async with client.at_once(1):
        await client.contacts.get(ID)
        await client.contacts.replace(ID, {"firstName": "Jane"})


def test_a_write_leaves_as_soon_as_its_look_is_answered() -> None:
    """At ten calls a second a turn of its own would come a tenth of a second later; 64 at once, seconds."""
    clock = Clock()
    wire, sent = sends(clock, slow_s=0.02)

    async def work(client: ServiceClient) -> list[float]:
        for _ in range(20):
            await looked_and_wrote(client)
        return client.gaps.seconds

    gaps = with_client(wire, work, clock=clock, settings=service(requests_per_second=RATE))

    assert gaps == [0.0] * 20
    assert [method for _, method in sent] == ["GET", "PUT"] * 20


def test_no_second_sees_more_than_the_ceiling_and_one() -> None:
    clock = Clock()
    wire, sent = sends(clock)

    async def work(client: ServiceClient) -> None:
        for number in range(60):
            if number % 3:
                await looked_and_wrote(client)
            else:
                await client.contacts.get(ID)

    with_client(wire, work, clock=clock, settings=service(requests_per_second=RATE))

    times = [moment for moment, _ in sent]
    assert len(times) == 100
    assert max(sum(1 for one in times if at <= one < at + 0.999) for at in times) <= RATE + 1


def test_looks_that_are_answered_all_at_once_do_not_become_a_burst_of_writes() -> None:
    """A service that stood still answers many looks in one moment: what is too much looks again later."""
    clock = Patient()
    wire, sent = sends(clock)

    async def one(client: ServiceClient, all_looked: asyncio.Event) -> str:
        try:
            async with client.at_once(1):
                await client.contacts.get(ID)
                await all_looked.wait()
                await client.contacts.replace(ID, {"firstName": "Jane"})
        except LookAgain:
            return "again"
        return "sent"

    async def work(client: ServiceClient) -> list[str]:
        all_looked = asyncio.Event()
        tasks = [asyncio.create_task(one(client, all_looked)) for _ in range(30)]
        for _ in range(1000):
            await asyncio.sleep(0)
        assert len(sent) == len(tasks)
        clock.pass_s(2.0)
        all_looked.set()
        return await asyncio.gather(*tasks)

    wide = service(requests_per_second=RATE, concurrency=30)
    ended = with_client(wire, work, clock=clock, settings=wide)

    assert ended.count("sent") == RATE + 1
    assert ended.count("again") == 30 - RATE - 1


def test_a_write_whose_look_is_old_is_not_sent() -> None:
    clock = Clock()
    wire, sent = sends(clock)

    async def work(client: ServiceClient) -> tuple[int, list[float]]:
        async with client.at_once(1):
            await client.contacts.get(ID)
            clock.pass_s(0.051)
            with pytest.raises(LookAgain, match="51 ms lay between"):
                await client.contacts.replace(ID, {"firstName": "Jane"})
        return client.gaps.again, client.gaps.seconds

    _, gaps = with_client(wire, work, clock=clock)

    assert [method for _, method in sent] == ["GET"]
    assert gaps == []


def test_a_connection_that_had_to_be_made_first_may_have_taken_too_long() -> None:
    """What counts is when the first byte of the request leaves, and not when it was handed over."""
    clock = Clock()
    carried_out: list[str] = []

    async def play(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return answer(200, contact(ID))
        clock.pass_s(0.2)
        await request.extensions["trace"]("http11.send_request_headers.started", {"request": request})
        carried_out.append(request.method)
        return answer(204)

    async def work(client: ServiceClient) -> int:
        with pytest.raises(LookAgain):
            await looked_and_wrote(client)
        return client.gaps.again

    assert with_client(Wire(play), work, clock=clock) == 1
    assert carried_out == []


def test_a_write_of_a_pair_that_never_left_is_not_repeated_by_the_transport() -> None:
    clock = Clock()

    async def play(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return answer(200, contact(ID))
        raise httpx2.ConnectError("refused", request=request)

    wire = Wire(play)

    async def work(client: ServiceClient) -> None:
        with pytest.raises(NotSent) as caught:
            await looked_and_wrote(client)
        assert isinstance(caught.value, Unavailable)

    with_client(wire, work, clock=clock)

    assert wire.methods == ["GET", "PUT"]


def test_a_crowd_halves_when_one_was_late_and_grows_again() -> None:
    async def work() -> list[int]:
        crowd, inside, most = AdaptiveConcurrency(8), 0, []

        async def one(number: int) -> None:
            nonlocal inside
            await crowd.enter()
            inside += 1
            most.append(inside)
            await asyncio.sleep(0)
            inside -= 1
            crowd.leave(late=number < 8)

        await asyncio.gather(*(one(number) for number in range(40)))
        return most

    most = asyncio.run(work())

    assert max(most[:8]) == 8
    assert max(most[8:12]) <= 2
    assert len(most) == 40


def test_whoever_gives_up_waiting_for_the_crowd_lets_the_next_one_in() -> None:
    async def work() -> None:
        crowd = AdaptiveConcurrency(1)
        await crowd.enter()
        first, second = (asyncio.create_task(crowd.enter()) for _ in range(2))
        await asyncio.sleep(0)
        crowd.leave(late=False)
        first.cancel()
        await asyncio.wait_for(second, 1)

    asyncio.run(work())
