"""Claims about repeats, counted at the wire: table A8 says when a request is sent again, nothing else does.

Every way a call can fail, with every method, as often in a row as a call has tries and once more; then the
whole client, each of its operations against a service that is out of order.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from itertools import combinations, pairwise
from math import sqrt
from random import Random
from typing import Any

import effort
import httpx2
import pytest
import tally
from core.test_retry import DATE, RETRY_AFTER
from service.support import CALLS, ID, Clock, Play, Wire, answer, failure, service, with_client
from service.test_transport import ERRORS, LOST, NEVER_SENT, REDIRECTS, STOP, THROTTLED, good
from simulation.virtualloop import pause

from reconciler.core.calls import (
    A8,
    Failure,
    RetryMeaning,
    backoff_first_s,
    backoff_max_s,
    retry_after_max_s,
    retry_burst,
    retry_share,
    tries_max,
)
from reconciler.errors import InDoubt, ServiceError, Throttled, Unauthorized, Unavailable
from reconciler.messaging.client import ServiceClient
from reconciler.messaging.values import Callback, CallbackAuth, Message
from reconciler.model.secrets import Secret
from reconciler.service.paging import Query

METHODS = tuple(CALLS)
ROWS: dict[Failure, dict[str, Any]] = {
    Failure.NEVER_SENT: NEVER_SENT,
    Failure.LOST: LOST,
    Failure.THROTTLED: THROTTLED,
    Failure.STOPPED: STOP,
    Failure.ABSENT: {"404": answer(404), "404 in words": answer(404, {"errorText": "Not Found"})},
    Failure.REFUSED: {**ERRORS, **REDIRECTS, "404 of another": answer(404, b"<html>Not Found</html>")},
}
SEEN = [(row, name) for row, plays in ROWS.items() for name in plays]

Work = Callable[[ServiceClient], Coroutine[Any, Any, object]]


async def ending(client: ServiceClient, work: Work) -> ServiceError | None:
    """How a call ends: its error, or None."""
    try:
        await work(client)
    except ServiceError as error:
        return error
    return None


# The table, cell by cell.


@pytest.mark.parametrize(("row", "name"), SEEN, ids=[f"{row.value}, {name}" for row, name in SEEN])
@pytest.mark.parametrize("method", METHODS)
def test_every_failure_is_sent_as_often_as_its_cell_says(method: str, row: Failure, name: str) -> None:
    """One, two, three and four failures in a row, then good answers: the wire counts the requests.

    Only "retry" is sent again, three times in all; every other cell leaves it at one, and the good
    answer that would have followed is never fetched.
    """
    again = A8[row][method] is RetryMeaning.RETRY
    for failures in range(1, tries_max + 2):
        wire = Wire(*[ROWS[row][name]] * failures, good(method))

        async def work(client: ServiceClient) -> ServiceError | None:
            return await ending(client, CALLS[method])

        error = with_client(wire, work, clock=Clock())

        assert wire.methods == [method] * (min(failures + 1, tries_max) if again else 1)
        assert (error is None) == (again and failures < tries_max)
        tally.count("faults at the wire", row.value, min(failures, len(wire.sent)))


@pytest.mark.parametrize("row", Failure)
@pytest.mark.parametrize("method", METHODS)
def test_what_a_cell_means_is_told_by_the_error(method: str, row: Failure) -> None:
    """Who gets it has to know whether to look: "in doubt" and "look first" have errors of their own."""
    for play in ROWS[row].values():
        error = failure(Wire(play), CALLS[method])

        assert isinstance(error, InDoubt) == (A8[row][method] is RetryMeaning.DOUBT)
        assert isinstance(error, Throttled) == (row is Failure.THROTTLED)
        tally.count(
            "faults at the wire", row.value, tries_max if A8[row][method] is RetryMeaning.RETRY else 1
        )


@pytest.mark.parametrize("method", METHODS)
def test_tries_that_fail_in_different_ways_are_three_in_all(method: str) -> None:
    """Each failure counting its own tries would be nine requests; and a doubt is final, whenever it comes."""
    chance = Random(7)
    for _ in range(200):
        rows = chance.choices(list(Failure), k=4)
        wire = Wire(*(chance.choice(list(ROWS[row].values())) for row in rows), good(method))
        wanted = 1
        for row in rows:
            if wanted == tries_max or A8[row][method] is not RetryMeaning.RETRY:
                break
            wanted += 1

        with_client(wire, lambda client: ending(client, CALLS[method]), clock=Clock())

        assert len(wire.sent) == wanted
        tally.count("faults at the wire", "a mixture", wanted)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("number", range(1, tries_max + 1))
def test_refused_credentials_end_a_call_at_whichever_try(method: str, number: int) -> None:
    """An account may be closed between two tries; sending once more could lock it for good."""
    before = [NEVER_SENT["connect timeout"]] * (number - 1)

    wire = Wire(*before, STOP["401"], good(method))
    with_client(wire, lambda client: ending(client, CALLS[method]), clock=Clock())

    assert len(wire.sent) == number
    tally.count("faults at the wire", Failure.STOPPED.value)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_after_refused_credentials_no_write_leaves(method: str) -> None:
    """After a refusal of the credentials, one more write could lock the account."""
    wire = Wire(STOP["401"], good(method))

    async def work(client: ServiceClient) -> object:
        await ending(client, CALLS["GET"])
        return await ending(client, CALLS[method])

    with_client(wire, work, clock=Clock())

    assert [request.method for request in wire.sent] == ["GET"]


# Nothing else repeats.

CALLBACK = Callback(
    callback_id=ID,
    name="ops",
    url="https://ops.example.com/callbacks",
    auth=CallbackAuth("httpheader", Secret("invented-key")),
)
READS: dict[str, Work] = {
    "contacts.get": lambda client: client.contacts.get(ID),
    "contacts.page": lambda client: client.contacts.page(),
    "contacts.list": lambda client: client.contacts.list(),
    "contacts.search": lambda client: client.contacts.search(Query({"firstName": "Jane"})),
    "contacts.pages": lambda client: _all(client.contacts.pages()),
    "devices.get": lambda client: client.devices.get(ID, parent=ID),
    "devices.page": lambda client: client.devices.page(parent=ID),
    "devices.list": lambda client: client.devices.list(parent=ID),
    "devices.search": lambda client: client.devices.search(Query({}), parent=ID),
    "devices.pages": lambda client: _all(client.devices.pages(parent=ID)),
    "resources.get": lambda client: client.resources.get(ID),
    "resources.page": lambda client: client.resources.page(),
    "resources.list": lambda client: client.resources.list(),
    "resources.search": lambda client: client.resources.search(Query({"name": "oncall"})),
    "resources.pages": lambda client: _all(client.resources.pages()),
    "workspaces.list": lambda client: client.workspaces.list(),
    "workspaces.get": lambda client: client.workspaces.get(ID),
    "messages.list": lambda client: client.messages.list(),
    "messages.get": lambda client: client.messages.get(ID),
    "messages.status": lambda client: client.messages.status(ID),
    "messages.responses": lambda client: client.messages.responses(ID),
    "messages.response_details": lambda client: client.messages.response_details(ID),
    "messages.follow": lambda client: _all(client.messages.follow(ID, every_s=60, limit_s=0)),
    "messages.wait_for_responses": lambda client: client.messages.wait_for_responses(ID, limit_s=0),
    "callbacks.list": lambda client: client.callbacks.list(),
    "callbacks.get": lambda client: client.callbacks.get(ID),
    "callbacks.calls": lambda client: client.callbacks.calls(ID),
}
WRITES: dict[str, Work] = {
    "contacts.create": lambda client: client.contacts.create({"firstName": "Jane"}),
    "contacts.replace": lambda client: client.contacts.replace(ID, {"firstName": "Jane"}),
    "contacts.delete": lambda client: client.contacts.delete(ID),
    "devices.create": lambda client: client.devices.create({"deviceName": "pixel"}, parent=ID),
    "devices.replace": lambda client: client.devices.replace(ID, {"deviceName": "pixel"}, parent=ID),
    "devices.delete": lambda client: client.devices.delete(ID, parent=ID),
    "resources.create": lambda client: client.resources.create({"name": "oncall"}),
    "resources.replace": lambda client: client.resources.replace(ID, {"name": "oncall"}),
    "resources.delete": lambda client: client.resources.delete(ID),
    "workspaces.create": lambda client: client.workspaces.create("Operations"),
    "workspaces.replace": lambda client: client.workspaces.replace(ID, {"projectName": "Operations"}),
    "messages.send": lambda client: client.messages.send(Message(("+61491570156",), "s", "b")),
    "callbacks.create": lambda client: client.callbacks.create(CALLBACK),
    "callbacks.replace": lambda client: client.callbacks.replace(CALLBACK),
    "callbacks.delete": lambda client: client.callbacks.delete(ID),
    "callbacks.mark_calls": lambda client: client.callbacks.mark_calls(ID, [ID], "SUCCESS"),
}


async def _all(pages: AsyncIterator[object]) -> None:
    async for _ in pages:
        pass


def test_the_list_of_operations_is_that_of_the_client() -> None:
    """An operation that is missing here could repeat what it likes."""

    async def work(client: ServiceClient) -> set[str]:
        parts = ("contacts", "devices", "resources", "workspaces", "messages", "callbacks")
        return {
            f"{part}.{name}"
            for part in parts
            for name in dir(getattr(client, part))
            if not name.startswith("_") and callable(getattr(getattr(client, part), name))
        }

    assert with_client(Wire(answer(500)), work) == {*READS, *WRITES}


@pytest.mark.parametrize("row", [Failure.NEVER_SENT, Failure.LOST, Failure.THROTTLED, Failure.STOPPED])
@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_no_operation_repeats_beyond_the_table(name: str, row: Failure) -> None:
    """Two layers that each try three times are nine requests; here the second would show."""
    for play in ROWS[row].values():
        wire = Wire(play)

        error = failure(wire, {**READS, **WRITES}[name])

        assert error is not None
        again = A8[row][wire.methods[0]] is RetryMeaning.RETRY
        assert len(wire.sent) == (tries_max if again else 1)
        assert len({(request.method, request.url.path) for request in wire.sent}) == 1
        tally.count("faults at the wire", row.value, len(wire.sent))


# A service that is dead for a long time.

CALLS_OF_AN_OUTAGE = effort.count(small=300, full=1000)  # several times what the burst allows
OUTAGES: dict[str, Play] = {
    "nobody listens": NEVER_SENT["refused, DNS, TLS"],
    "resets": LOST["read error"],
    "500": LOST["500"],
    "a page in HTML": LOST["200 in HTML"],
    "503": answer(503),
    "429, wait 2 s": answer(429, retry_after="2"),
}


@effort.sample(8)
@pytest.mark.parametrize("outage", OUTAGES)
@pytest.mark.parametrize("method", METHODS)
def test_an_outage_sees_a_tenth_more_requests_than_calls(method: str, outage: str) -> None:
    """Repeating everything three times is how an outage is kept alive."""
    wire, calls = Wire(OUTAGES[outage]), CALLS_OF_AN_OUTAGE

    async def work(client: ServiceClient) -> None:
        for _ in range(calls):
            with suppress(ServiceError):
                await CALLS[method](client)

    with_client(wire, work, clock=Clock(), settings=service(deadline_s=1e9))

    assert calls <= len(wire.sent) <= calls * (1 + retry_share) + retry_burst
    tally.highest("amplification", f"{method}, {outage}", len(wire.sent) / calls)
    tally.count("faults at the wire", f"outage: {outage}", len(wire.sent))


@pytest.mark.parametrize("outage", OUTAGES)
def test_a_run_of_all_kinds_of_calls_stays_within_one_budget(outage: str) -> None:
    """Eight at once, reads and writes: a budget for each of them would be four."""
    wire, calls = Wire(OUTAGES[outage]), CALLS_OF_AN_OUTAGE

    async def work(client: ServiceClient) -> None:
        async def some(number: int) -> None:
            for each in range(number, calls, 8):
                with suppress(ServiceError):
                    await CALLS[METHODS[each % 4]](client)

        await asyncio.gather(*(some(number) for number in range(8)))

    with_client(wire, work, clock=Clock(), settings=service(deadline_s=1e9))

    assert calls <= len(wire.sent) <= calls * (1 + retry_share) + retry_burst
    tally.highest("amplification", f"all methods, {outage}", len(wire.sent) / calls)
    tally.count("faults at the wire", f"outage: {outage}", len(wire.sent))


def test_a_write_that_is_sent_again_after_a_look_counts_in_the_same_budget() -> None:
    """A service that refuses writes and answers reads would get every write three times."""
    wire, calls = Wire(answer(429)), CALLS_OF_AN_OUTAGE

    async def work(client: ServiceClient) -> None:
        for _ in range(calls):
            for _ in range(tries_max):
                with suppress(Throttled):
                    await client.contacts.create({"firstName": "Jane"})
                if not client.may_repeat():
                    break

    with_client(wire, work, clock=Clock(), settings=service(deadline_s=1e9))

    assert calls < len(wire.sent) <= calls * 1.2
    tally.highest("amplification", "POST, refused and looked for", len(wire.sent) / calls)
    tally.count("faults at the wire", Failure.THROTTLED.value, len(wire.sent))


def test_an_outage_that_is_over_leaves_no_debt() -> None:
    """The budget is a tenth of all calls: when they succeed again, there is room again."""
    wire = Wire(*[answer(500)] * 400, *[good("GET")] * 4000, answer(500), good("GET"))

    async def work(client: ServiceClient) -> None:
        for _ in range(4000):
            with suppress(Unavailable):
                await client.contacts.get(ID)
        while len(wire.sent) < 4400:
            await client.contacts.get(ID)
        await client.contacts.get(ID)

    with_client(wire, work, clock=Clock(), settings=service(deadline_s=1e9))

    assert len(wire.sent) == 4402


# Eight programs that failed at the same moment.


@pytest.mark.parametrize("number", [1, 2])
def test_eight_programs_come_back_as_spread_as_chance_can_make_them(number: int) -> None:
    """Full jitter: the share of pairs within 50 ms is that of points thrown on the whole wait, and no more.

    Of two such points on [0, w], 1 - (1 - 0.05/w)^2 are so close. Over all rounds of eight programs with
    chances of their own the share stays within four standard deviations of it.
    """
    rounds, near_s = effort.count(small=30, full=100), 0.05
    window_s = backoff_first_s * 2 ** (number - 1)
    near = pairs = 0
    for seed in range(rounds):
        waits = [_wait_before_try(number + 1, Random(seed * 8 + agent)) for agent in range(8)]
        assert all(0 <= wait <= window_s for wait in waits)
        pairs += 28
        near += sum(abs(one - other) < near_s for one, other in combinations(waits, 2))

    expected = 1 - (1 - near_s / window_s) ** 2
    deviation = sqrt(expected * (1 - expected) / pairs) * 2  # pairs of one round share programs
    assert near / pairs == pytest.approx(expected, abs=4 * deviation)
    tally.count("faults at the wire", "eight programs at once", rounds * 8 * number)


def _wait_before_try(number: int, chance: Random) -> float:
    """How long a program of its own waits before try `number` of a call that fails until then."""
    clock = Clock()

    async def fail(_request: httpx2.Request) -> httpx2.Response:
        clock.chance = chance.random()
        return answer(500)

    wire = Wire(*[fail] * (number - 1), good("GET"))
    with_client(wire, CALLS["GET"], clock=clock)
    return clock.slept[-1]


# What the service wishes.


@pytest.mark.parametrize("text", RETRY_AFTER, ids=lambda text: repr(text[:30]))
@pytest.mark.parametrize("status", [429, 503])
def test_no_wish_of_the_service_holds_us_longer_than_the_cap(status: int, text: str) -> None:
    """Ten years, a date in the past, a number with a hundred thousand digits: at most a minute each time."""
    clock = Clock(chance=1.0)
    wire = Wire(_wishing(status, text), good("GET"))

    with_client(wire, CALLS["GET"], clock=clock, settings=service(timeout_s=1000))

    assert len(wire.sent) == 2
    assert 0 < clock.elapsed_s - 1000 <= retry_after_max_s + backoff_max_s
    tally.count("faults at the wire", "a wish for a wait")


@pytest.mark.parametrize("text", RETRY_AFTER, ids=lambda text: repr(text[:30]))
def test_no_wish_of_the_service_passes_the_deadline_of_the_call(text: str) -> None:
    clock = Clock(chance=1.0)

    failure(Wire(_wishing(429, text)), CALLS["GET"], clock=clock, settings=service(timeout_s=5))

    assert clock.elapsed_s - 1000 < 5
    tally.count("faults at the wire", "a wish for a wait")


def _wishing(status: int, text: str) -> httpx2.Response:
    # A header carries no line ends and nothing beyond Latin-1: so does the wish, when it has arrived.
    carried = text.encode("ascii", "replace").replace(b"\x00", b"?")
    return httpx2.Response(status, headers=[(b"Retry-After", carried), (b"Date", DATE.encode())])


# Time and size.


@pytest.mark.parametrize("method", METHODS)
def test_the_tries_of_a_call_and_their_waits_share_one_deadline(method: str) -> None:
    """Three tries of thirty seconds each would be a call of a minute and a half."""
    clock = Clock(chance=1.0)

    async def slow(request: httpx2.Request) -> httpx2.Response:
        clock.pass_s(min(0.4, request.extensions["timeout"]["read"]))
        raise httpx2.ConnectTimeout("no", request=request)

    wire = Wire(slow)
    failure(wire, CALLS[method], clock=clock, settings=service(timeout_s=1))

    assert clock.elapsed_s - 1000 == pytest.approx(1.0, abs=0.5)
    assert clock.elapsed_s - 1000 <= 1.0 + 1e-9
    assert len(wire.sent) == 2
    tally.count("faults at the wire", Failure.NEVER_SENT.value, 2)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_sent_whose_turn_comes_after_the_run(method: str) -> None:
    """A pause of a minute at the service's wish, and half a minute left: the run ends now, not then."""
    clock = Clock()
    wire = Wire(answer(429, retry_after="60"), good(method))

    async def work(client: ServiceClient) -> tuple[ServiceError | None, float]:
        await ending(client, CALLS["DELETE"])
        return await ending(client, CALLS[method]), clock.elapsed_s - 1000

    error, passed_s = with_client(wire, work, clock=clock, settings=service(deadline_s=30))

    assert isinstance(error, Unavailable)
    assert "not sent, because the run reaches its deadline of 30 s first" in str(error)
    assert (passed_s, wire.methods) == (0, ["DELETE"])
    tally.count("faults at the wire", Failure.THROTTLED.value)


class Drip(httpx2.AsyncByteStream):
    """A body that never ends, a little at a time; each little resets every timeout between bytes."""

    def __init__(self, pieces: bytes) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for number in range(100_000):
            yield self.pieces[number % len(self.pieces) :][:1]
            await pause(1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("status", [200, 401, 404, 429, 500])
@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_slow_drip_ends_with_the_calls_time_whatever_it_drips(
    method: str, status: int, encoding: str
) -> None:
    pieces = gzip.compress(b"x" * 100_000) if encoding else b" "
    headers = {"content-encoding": encoding} if encoding else {}

    async def drip(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers=headers, stream=Drip(pieces))

    wire = Wire(drip)

    async def work(client: ServiceClient) -> tuple[ServiceError | None, float]:
        began = asyncio.get_running_loop().time()
        return await ending(client, CALLS[method]), asyncio.get_running_loop().time() - began

    error, passed_s = with_client(wire, work, settings=service(timeout_s=9))

    assert error is not None
    assert passed_s <= 9
    assert method == "GET" or len(wire.sent) == 1
    tally.count("faults at the wire", "a slow drip", len(wire.sent))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("status", [401, 403, 429])
def test_a_refusal_whose_words_never_end_is_a_refusal(method: str, status: int) -> None:
    """Its first line has said it. Read as a lost answer it would be asked for again, or leave a doubt."""

    async def drip(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"Retry-After": "9"}, stream=Drip(b" "))

    wire = Wire(drip)

    async def work(client: ServiceClient) -> ServiceError | None:
        return await ending(client, CALLS[method])

    error = with_client(wire, work, settings=service(timeout_s=5))

    assert type(error) is (Throttled if status == 429 else Unauthorized)
    assert len(wire.sent) == 1
    tally.count("faults at the wire", "a slow drip", len(wire.sent))


@pytest.mark.parametrize("method", METHODS)
def test_a_body_that_unpacks_beyond_the_cap_is_a_lost_answer(method: str) -> None:
    """Some kilobytes that become many megabytes: unpacked to the cap and no further; a write is in doubt."""
    bomb = gzip.compress(b" " * 64_000_000)
    status = 201 if method == "POST" else 200

    async def explode(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-encoding": "gzip"}, stream=_Once(bomb))

    wire = Wire(explode)
    error = failure(wire, CALLS[method])

    assert isinstance(error, Unavailable if method == "GET" else InDoubt)
    assert "larger than 16 MiB" in str(error)
    assert len(wire.sent) == (tries_max if method == "GET" else 1)
    tally.count("faults at the wire", "a bomb", len(wire.sent))


class _Once(httpx2.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self.body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.body


# Throttling slows everybody.


def test_a_throttled_call_halves_the_rate_and_good_ones_bring_it_back() -> None:
    """At the wire: twenty a second, one refusal, ten a second, and a good while later twenty again."""
    clock = Clock(chance=0.0)
    begins: list[float] = []

    async def note(_request: httpx2.Request) -> httpx2.Response:
        begins.append(clock.elapsed_s)
        return answer(429) if len(begins) == 5 else good("GET")

    async def work(client: ServiceClient) -> None:
        for _ in range(400):
            await client.contacts.get(ID)

    with_client(Wire(note), work, clock=clock, settings=service(requests_per_second=20))

    distances = [later - sooner for sooner, later in pairwise(begins)]
    assert distances[:4] == pytest.approx([0.05] * 4)
    assert distances[5] == pytest.approx(0.1, rel=0.02)
    assert distances[-1] == pytest.approx(0.05)
    assert begins[-1] - begins[4] > 400 / 20
    tally.count("faults at the wire", Failure.THROTTLED.value)
