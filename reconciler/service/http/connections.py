"""The way to the service: real connections, as many as may be used at once.

Belongs here: opening, keeping and closing connections; nothing else in this program connects to the service.
Not here: which proxy and which certificates (proxies.py, tls.py), how many requests may run at once
(limiter.py), what is sent (transport.py).
"""

import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import httpx2

from reconciler import tls
from reconciler.errors import SettingsError
from reconciler.model.settings import Proxy, Service
from reconciler.service.http import urls
from reconciler.service.http.auth import login_of

# The network, or what stands in for it. Known above this package by this name alone.
Connections = httpx2.AsyncBaseTransport

idle_s = 2.0  # seconds that an idle connection is kept; servers close theirs after 5 s and more, and a
# request sent into a closing connection is lost: a retry for a GET, a doubt for a write


def open_connections(service: Service) -> Connections:
    """Connections of our own to the service, by its settings for the network; no variable is read here.

    Raises SettingsError where a proxy would read the credentials: what is not encrypted goes through none.
    """
    network = service.network
    if urls.base(service.base_url).scheme == "https":
        trust = tls.context(network.trust)
        return Lanes(lambda: _lane(trust, network.proxy))
    if network.proxy is not None:
        raise SettingsError(
            f"service.base_url is plain http, and the proxy {network.proxy} would read the credentials.",
            next="write https for service.base_url, or service.network.proxy: none",
        )
    # Without a context of ours the library would load the system's certificates, for nothing.
    unused = tls.nothing_trusted()
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


# One pool of 64 connections looks at all of them, and asks the system about every idle one, for each request
# and once more for each answer: more than half of the whole client's time.
class Lanes(httpx2.AsyncBaseTransport):
    """As many transports of one connection each as there are requests at once; the last one used first."""

    def __init__(self, make: Callable[[], Connections]) -> None:
        self._make = make
        self._all: list[Connections] = []
        self._free: list[Connections] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, on a lane that is free again once its body was closed."""
        lane = self._free.pop() if self._free else self._new()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            # A cancelled request counts too: what is still on its way belongs to no later one.
            await self._drop(lane)
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport gives no other
        response.stream = _Body(response.stream, lambda: self._free.append(lane))
        return response

    async def aclose(self) -> None:
        """Close every connection."""
        for lane in self._all:
            await lane.aclose()

    async def _drop(self, lane: Connections) -> None:
        """Close a lane on which something failed. Its connection is of no use any more."""
        # The library keeps a tunnel through a proxy whose TLS handshake failed as one in use, for ever.
        self._all.remove(lane)
        with suppress(httpx2.HTTPError, OSError):
            await lane.aclose()

    def _new(self) -> Connections:
        lane = self._make()
        self._all.append(lane)
        return lane


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


def _through(proxy: Proxy, trust: ssl.SSLContext) -> httpx2.Proxy:
    """Return the library's value for a proxy."""
    # Without a context of ours it would make one that writes session keys to SSLKEYLOGFILE (tls.py).
    secured = trust if proxy.address.startswith("https:") else None
    return httpx2.Proxy(proxy.address, ssl_context=secured, auth=login_of(proxy))
