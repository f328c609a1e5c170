"""The way to the service: real connections, as many as may be used at once.

Belongs here: opening, keeping and closing connections. Not here: how many requests may run at once
(limiter.py), what is sent (transport.py).
"""

import ssl
from collections.abc import AsyncIterator, Callable

import httpx2

from reconciler.model.settings import Service
from reconciler.service import urls

# The network, or what stands in for it. Known above this package by this name alone.
Connections = httpx2.AsyncBaseTransport

idle_s = 2.0  # seconds that an idle connection is kept; servers close theirs after 5 s and more, and a
# request sent into a closing connection is lost: a retry for a GET, a doubt for a write


def open_connections(service: Service) -> Connections:
    """Connections of our own to the service: no proxy, netrc or certificates from the environment."""
    encrypted = urls.base(service.base_url).scheme == "https"
    # Without TLS an empty context: it trusts nobody, and saves loading the system's certificates.
    trust = (
        httpx2.create_ssl_context(trust_env=False) if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    )
    return Lanes(lambda: _lane(trust))


class Lanes(httpx2.AsyncBaseTransport):
    """As many transports of one connection each as there are requests at once; the last one used first.

    One pool of 64 connections looks at all of them, and asks the system about every idle one, for
    each request and once more for each answer: more than half of the whole client's time.
    """

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
            self._free.append(lane)
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport gives no other
        response.stream = _Body(response.stream, lambda: self._free.append(lane))
        return response

    async def aclose(self) -> None:
        """Close every connection."""
        for lane in self._all:
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


def _lane(trust: ssl.SSLContext) -> Connections:
    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=idle_s)
    return httpx2.AsyncHTTPTransport(verify=trust, trust_env=False, limits=limits)
