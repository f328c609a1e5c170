"""The way to the service: real connections, as many as may be used at once.

Belongs here: opening, keeping and closing connections; nothing else in this program connects to the service.
Not here: which proxy and which certificates (proxies.py, tls.py), how many requests may run at once
(limiter.py), what is sent (transport.py).
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx2

from reconciler import tls
from reconciler.concurrency import time_limit
from reconciler.errors import SettingsError
from reconciler.model.settings import Proxy, Service
from reconciler.service.http import urls
from reconciler.service.http.auth import login_of

# The network, or what stands in for it. Known above this package by this name alone.
Connections = httpx2.AsyncBaseTransport

idle_s = 2.0  # seconds that an idle connection is kept; servers close theirs after 5 s and more, and a
# request sent into a closing connection is lost: a retry for a GET, a doubt for a write
hang_up_s = 0.5  # seconds: a server that ends connections so soon after an answer ends all of them; less than
# any server's timeout for idle ones
unread_s = 0.001  # seconds for what a session with a proxy has read ahead: it is in memory


def open_connections(service: Service) -> Connections:
    """Connections of our own to the service, by its settings for the network; no variable is read here.

    Raises SettingsError where a proxy would read the credentials: what is not encrypted goes through none.
    """
    network = service.network
    if urls.base(service.base_url).scheme == "https":
        trust = tls.make_tls_context(network.trust)
        return Lanes(lambda: _lane(trust, network.proxy), within_session=_is_secured(network.proxy))
    if network.proxy is not None:
        raise SettingsError(
            f"service.base_url is plain http, and the proxy {network.proxy} would read the credentials.",
            next="write https for service.base_url, or service.network.proxy: none",
        )
    # Without a context of ours the library would load the system's certificates, for nothing.
    unused = tls.make_empty_tls_context()
    return Lanes(lambda: _lane(unused, None))


def first_stop(service: Service) -> str:
    """Return who is connected to first, as messages name it: the proxy, or the service's origin."""
    proxy = service.network.proxy
    return f"the proxy {proxy}" if proxy else urls.origin(service.base_url)


def knock(service: Service, timeout_s: float) -> None:
    """Open one connection to the first stop of the way to the service, and send nothing. Raises OSError."""
    proxy = service.network.proxy
    base = urls.base(proxy.address if proxy else service.base_url)
    socket.create_connection((base.host.strip("[]"), base.port), timeout_s).close()


@dataclass(slots=True)
class _Lane:
    """A transport of one connection. `stream` carried its last answer, which ended at `answered_at`.

    `taken_at` is when it was taken for another request; both by the clock of the event loop.
    """

    transport: Connections
    stream: Any = None
    answered_at: float = 0.0
    taken_at: float = 0.0


# What the library raises where a connection ends before the first line of an answer.
_ENDED = (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)


# One pool of 64 connections looks at all of them, and asks the system about every idle one, for each request
# and once more for each answer: more than half of the whole client's time.
class Lanes(httpx2.AsyncBaseTransport):
    """As many transports of one connection each as there are requests at once; the last one used first.

    No request leaves on a connection that its other end is known to have closed.
    """

    def __init__(self, make: Callable[[], Connections], *, within_session: bool = False) -> None:
        self._make = make
        self._within_session = within_session
        self._all: list[_Lane] = []
        self._free: list[_Lane] = []
        self._server_hangs_up = False  # it ends connections right after an answer, and does not say so before

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, on a lane that is free again once its body was closed."""
        lane = await self._open_lane(writes=request.method != "GET")
        try:
            response = await lane.transport.handle_async_request(request)
        except BaseException as error:
            if isinstance(error, _ENDED):
                self._note_end(lane)
            # A cancelled request counts too: what is still on its way belongs to no later one.
            await self._drop(lane)
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport gives no other
        if lane.stream is not None:  # a second answer on one connection
            self._server_hangs_up = False
        lane.stream = response.extensions.get("network_stream")
        response.stream = _Body(response.stream, lambda: self._free_again(lane))
        return response

    async def aclose(self) -> None:
        """Close every connection."""
        for lane in self._all:
            await lane.transport.aclose()

    async def _open_lane(self, *, writes: bool) -> _Lane:
        """Return a lane that nobody uses and whose connection is not known to be over.

        Where the server closes connections right after its answers, a write gets a connection of its own:
        the end of the old one may be under way, and the write would be in doubt for nothing.
        """
        while self._free:
            lane = self._free.pop()
            try:
                over = await is_over(lane.stream, within_session=self._within_session)
            except asyncio.CancelledError:
                await self._drop(lane)
                raise
            if over:
                self._note_end(lane)
            elif not (writes and self._server_hangs_up):
                lane.taken_at = asyncio.get_running_loop().time()
                return lane
            await self._drop(lane)
        lane = _Lane(self._make())
        self._all.append(lane)
        return lane

    def _free_again(self, lane: _Lane) -> None:
        lane.answered_at, lane.taken_at = asyncio.get_running_loop().time(), 0.0
        self._free.append(lane)

    def _note_end(self, lane: _Lane) -> None:
        """Learn from a connection that the server ended after an answer."""
        asked_at = lane.taken_at or asyncio.get_running_loop().time()
        if lane.stream is not None and asked_at - lane.answered_at <= hang_up_s:
            self._server_hangs_up = True

    async def _drop(self, lane: _Lane) -> None:
        """Close a lane on which something failed. Its connection is of no use any more."""
        # The library keeps a tunnel through a proxy whose TLS handshake failed as one in use, for ever.
        self._all.remove(lane)
        with suppress(httpx2.HTTPError, OSError):
            await lane.transport.aclose()


async def is_over(stream: Any, *, within_session: bool = False) -> bool:
    """Whether the other end of an idle connection has ended it; `stream` carried its last answer, or is None.

    The library asks the system whether the socket has something to read. The end of a TLS session is a
    message in that session: it may have been read together with the answer, and then the socket shows
    nothing. A server that waits for our half of that end does not close the socket before it has come.
    `within_session`: another session, with a proxy, carries this one, and may have read ahead as well.
    """
    if stream is None:
        return False
    if stream.get_extra_info("is_readable"):
        return True
    session = stream.get_extra_info("ssl_object")
    if session is None:
        return False
    try:
        # Without a wait: what is there is in memory. Session tickets are taken in on the way.
        session.read(1)
    except ssl.SSLWantReadError:
        return within_session and await _has_more(stream)
    except (ssl.SSLError, OSError, ValueError):
        return True
    return True  # the end of the session, or bytes that nobody asked for


async def _has_more(stream: Any) -> bool:
    """Whether the session that carries this one has something for it, or has ended."""
    try:
        async with time_limit(unread_s):
            await stream.read(1)
    except TimeoutError:
        return False
    except Exception:  # noqa: BLE001 - whatever the library calls it: nothing is to be sent there
        return True
    return True


class _Body(httpx2.AsyncByteStream):
    """A body that tells when it was closed, once."""

    def __init__(self, stream: httpx2.AsyncByteStream, closed: Callable[[], None]) -> None:
        self._stream = stream
        self._closed: Callable[[], None] | None = closed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        closed, self._closed = self._closed, None
        try:
            await self._stream.aclose()
        finally:
            if closed:
                closed()


def _lane(trust: ssl.SSLContext, proxy: Proxy | None) -> Connections:
    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=idle_s)
    return httpx2.AsyncHTTPTransport(
        verify=trust, trust_env=False, limits=limits, proxy=_through(proxy, trust) if proxy else None
    )


def _is_secured(proxy: Proxy | None) -> bool:
    """Whether there is a session with the proxy, which carries the one with the service."""
    return proxy is not None and proxy.address.startswith("https:")


def _through(proxy: Proxy, trust: ssl.SSLContext) -> httpx2.Proxy:
    """Return the library's value for a proxy."""
    # Without a context of ours it would make one that writes session keys to SSLKEYLOGFILE (tls.py).
    secured = trust if proxy.address.startswith("https:") else None
    return httpx2.Proxy(proxy.address, ssl_context=secured, auth=login_of(proxy))
