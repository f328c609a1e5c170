"""Claims about a server that ends connections right after its answers, and does not say so in them.

Table A8 of docs/planning.md asks whether anything of a request may have arrived. Nothing has where the
connection was over before the first byte: by TCP a socket shows that, and by TLS the session does.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from msgspec import structs
from service.roads import TRUSTED, HttpProxy, proving
from service.socket_server import Peer, Server, wait_s, when_quiet
from service.support import CALLS, service
from service.test_sockets import ANSWERS

from reconciler.errors import InDoubt, ServiceError
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.model.settings import Network, Proxy, Service, Trust
from reconciler.service.http.limiter import Timing

TRUST = Trust(TRUSTED.read_text("ascii"))


async def close(peer: Peer) -> None:
    """As servers do; by TLS the socket stays open until our half of the session's end has come."""
    peer.writer.close()


async def half_close(peer: Peer) -> None:
    """The end of TCP alone: no word of TLS."""
    raw = peer.writer.get_extra_info("socket")
    with socket.socket(fileno=socket.dup(raw.fileno())) as same:
        same.shutdown(socket.SHUT_WR)
    await asyncio.Event().wait()


async def abort(peer: Peer) -> None:
    peer.writer.transport.abort()


async def reset(peer: Peer) -> None:
    peer.reset()


ENDS: dict[str, Callable[[Peer], Awaitable[None]]] = {
    one.__name__: one for one in (close, half_close, abort, reset)
}
ROADS = ("plain", "tls", "tls 1.2", "proxy", "proxy with tls")


def ended_after_each_answer(end: Callable[[Peer], Awaitable[None]], after_s: float = 0.0) -> Server:
    async def play(peer: Peer) -> None:
        line = await peer.request()
        # Not `drain`: what ends the connection is to follow in the same moment.
        peer.writer.write(ANSWERS[line.split()[0].decode()])
        if after_s:
            await wait_s(after_s)
        await end(peer)

    return Server([play])


async def asked(
    road: str, server: Server, work: Callable[[ServiceClient], Awaitable[object]], form: str = "json"
) -> tuple[object, int]:
    """What `work` gives, and how many requests were counted as sent."""
    tls = None if road == "plain" else proving(TRUSTED)
    if tls and road == "tls 1.2":
        tls.maximum_version = ssl.TLSVersion.TLSv1_2
    async with AsyncExitStack() as stack:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
        await stack.enter_async_context(listening)
        port = listening.sockets[0].getsockname()[1]
        settings = service(f"{'https' if tls else 'http'}://127.0.0.1:{port}")
        if road.startswith("proxy"):
            secured = proving(TRUSTED) if road == "proxy with tls" else None
            proxy = await stack.enter_async_context(HttpProxy(secured, leads_to=port))
            scheme = "https" if secured else "http"
            through = Proxy(f"{scheme}://127.0.0.1:{proxy.port}", "HTTPS_PROXY", None)
            settings = structs.replace(settings, network=Network(through, TRUST))
        elif tls:
            settings = structs.replace(settings, network=Network(None, TRUST))
        settings = structs.replace(settings, format=form)
        quick = Timing(Timing.real().monotonic, asyncio.sleep, lambda: 0.05)
        async with open_service_client(Service(**structs.asdict(settings)), timing=quick) as client:
            try:
                found = await work(client)
            except ServiceError as error:
                found = error
            counted = sum(client.calls.values())
            for task in server.tasks:
                task.cancel()
        return found, counted


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("road", ROADS)
def test_no_request_leaves_on_a_connection_that_is_over(road: str, end: str, method: str) -> None:
    """It would be in doubt for nothing, and each retry of a read counts against the budget of the run."""
    server = ended_after_each_answer(ENDS[end])
    times = 12 if method == "GET" else 3  # more than the repeats that a run may make

    async def work(client: ServiceClient) -> None:
        for _ in range(times):
            await CALLS[method](client)
            await wait_s(0.01)

    found, counted = when_quiet(asked(road, server, work))

    assert found is None
    assert (server.accepted, counted) == (times, times)


@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.parametrize("road", ROADS)
def test_a_write_right_behind_its_look_gets_a_connection_that_is_open(road: str, form: str) -> None:
    """The look is answered, the server ends the connection, and 50 ms later the write must have left."""
    server = ended_after_each_answer(close)

    async def work(client: ServiceClient) -> None:
        for _ in range(3):
            async with client.at_once(0):
                await CALLS["DELETE"](client)

    found, counted = when_quiet(asked(road, server, work, form))

    assert found is None
    assert (server.accepted, counted) == (3, 3)


@pytest.mark.parametrize("road", ROADS)
def test_where_the_end_may_be_under_way_writes_get_connections_of_their_own(road: str) -> None:
    """The end of a connection takes its time; what a server did twice after an answer it does again."""
    server = ended_after_each_answer(close, after_s=0.002)

    async def work(client: ServiceClient) -> None:
        await CALLS["GET"](client)
        await CALLS["GET"](client)  # on a connection that ends while this request is under way, or has ended
        for _ in range(5):
            await CALLS["POST"](client)

    found, _ = when_quiet(asked(road, server, work))

    assert found is None
    assert server.accepted >= 7


def test_one_connection_that_broke_costs_no_later_write_a_connection() -> None:
    """A server whose connections are used again does not end them after each answer."""
    broke = ended_after_each_answer(close).script[0]

    async def good(peer: Peer) -> None:
        while line := await peer.request():
            await peer.send(ANSWERS[line.split()[0].decode()])

    server = Server([broke, good])

    async def work(client: ServiceClient) -> None:
        for method in ("GET", "GET", "GET", "POST", "PUT", "DELETE"):
            await CALLS[method](client)
            await wait_s(0.01)

    found, counted = when_quiet(asked("tls", server, work))

    assert found is None
    assert (server.accepted, counted) == (2, 6)


@pytest.mark.parametrize("road", ROADS)
def test_a_write_that_may_have_been_read_is_in_doubt_on_every_road(road: str) -> None:
    """A connection that ends without an answer says nothing of what was done before."""

    async def read_and_end(peer: Peer) -> None:
        await peer.request()
        await peer.send(ANSWERS["GET"])
        await peer.request()
        peer.writer.close()

    async def work(client: ServiceClient) -> None:
        await CALLS["GET"](client)
        await CALLS["POST"](client)

    found, counted = when_quiet(asked(road, Server([read_and_end]), work))

    assert isinstance(found, InDoubt), found
    assert counted == 2
