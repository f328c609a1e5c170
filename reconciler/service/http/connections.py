"""Connections to the service: the proxy on the way, and as many connections as may be used at once.

Nothing else in this program connects to the service. How many requests may run at once is in limiter.py,
which certificates prove the service in tls.py.
"""

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx2
from msgspec import Struct

from reconciler import tls
from reconciler.concurrency import time_limit
from reconciler.core.calls import is_loopback
from reconciler.core.redact import mask_url
from reconciler.errors import SettingsError
from reconciler.model.secrets import Secret
from reconciler.model.settings import Network, Proxy, Service
from reconciler.service.http import urls
from reconciler.service.http.auth import login_of
from reconciler.service.http.urls import HOST, BaseUrl, UnusableUrl

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
    if urls.parse_base_url(service.base_url).scheme == "https":
        trust = tls.make_tls_context(network.trust)
        return Lanes(lambda: _open_lane(trust, network.proxy), within_session=_is_secured(network.proxy))
    if network.proxy is not None:
        raise SettingsError(
            f"service.base_url is plain http, and the proxy {network.proxy} would read the credentials.",
            next="write https for service.base_url, or service.network.proxy: none",
        )
    # Without a context of ours the library would load the system's certificates, for nothing.
    unused = tls.make_empty_tls_context()
    return Lanes(lambda: _open_lane(unused, None))


def open_connection_to(network: Network, *, plain: bool) -> Connections:
    """One connection to somebody else than the service, by the same settings for the network.

    `plain`: it is not encrypted, so it goes through no proxy.
    """
    if plain:
        return _open_lane(tls.make_empty_tls_context(), None)
    return _open_lane(tls.make_tls_context(network.trust), network.proxy)


def next_hop(service: Service) -> str:
    """Return who is connected to first, as messages name it: the proxy, or the service's origin."""
    proxy = service.network.proxy
    return f"the proxy {proxy}" if proxy else urls.origin_of(service.base_url)


def probe_connection(service: Service, timeout_s: float) -> None:
    """Open one connection to the first stop of the way to the service, and send nothing. Raises OSError."""
    proxy = service.network.proxy
    base = urls.parse_base_url(proxy.address if proxy else service.base_url)
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
                over = await is_closed_by_peer(lane.stream, within_session=self._within_session)
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


async def is_closed_by_peer(stream: Any, *, within_session: bool = False) -> bool:
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


def _open_lane(trust: ssl.SSLContext, proxy: Proxy | None) -> Connections:
    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=idle_s)
    return httpx2.AsyncHTTPTransport(
        verify=trust, trust_env=False, limits=limits, proxy=_tunnel_options(proxy, trust) if proxy else None
    )


def _is_secured(proxy: Proxy | None) -> bool:
    """Whether there is a session with the proxy, which carries the one with the service."""
    return proxy is not None and proxy.address.startswith("https:")


def _tunnel_options(proxy: Proxy, trust: ssl.SSLContext) -> httpx2.Proxy:
    """Return the library's value for a proxy."""
    # Without a context of ours it would make one that writes session keys to SSLKEYLOGFILE (tls.py).
    secured = trust if proxy.address.startswith("https:") else None
    return httpx2.Proxy(proxy.address, ssl_context=secured, auth=login_of(proxy))


# --- Which proxy the environment names for an address ---------------------------------------------
#
# Sources: curl's manual (ENVIRONMENT), Go's golang.org/x/net/http/httpproxy, Python's urllib.request. Where
# they differ, the comment at the rule says which one is followed.


# Small letters go first, as in curl and urllib. A variable that is empty counts as one that is not set, as in
# curl and Go.
_NAMED: Mapping[str, tuple[str, ...]] = {
    "https": ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"),
    "http": ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"),
}
_EXEMPT = ("no_proxy", "NO_PROXY")
_PORTS = {"http": 80, "https": 443}
_login_max = 2_048  # characters; a signed token has some hundred


class ProxyChoice(Struct, frozen=True):
    """What the environment says: `variable` names the proxy `text`; that is "" where `why` sets it aside."""

    variable: str = ""
    text: str = ""
    why: str = ""


def choose_proxy(base: BaseUrl, environ: Mapping[str, str]) -> ProxyChoice:
    """Return which variable names a proxy for this address, as curl, Go and urllib read them."""
    # In a CGI program HTTP_PROXY is a header of whoever called it, and is left out (as in Go and urllib);
    # http_proxy is not.
    skipped = {"HTTP_PROXY"} if "REQUEST_METHOD" in environ else set()
    name = next((one for one in _NAMED[base.scheme] if environ.get(one) and one not in skipped), "")
    if not name:
        return ProxyChoice()
    # As in Go: a proxy would take the name for that of its own machine.
    if is_loopback(base.host):
        return ProxyChoice(name, why=f"{base.host} is this machine")
    without = next((one for one in _EXEMPT if environ.get(one)), "")
    if without and is_exempt(environ[without], base.host, base.port):
        return ProxyChoice(name, why=f"{without} names {base.host}")
    return ProxyChoice(name, environ[name].strip())


def is_exempt(listed: str, host: str, port: int) -> bool:
    """Whether a list of NO_PROXY names this host: `*`, an address, a network, or a name with all below it.

    A dot or `*.` at the start changes nothing (as in curl; Go would leave out the name itself). `:PORT`
    limits an entry to that port (as in Go). What cannot be read names nobody.
    """
    return any(
        _entry_matches(entry, host.lower().strip("[]."), port)
        for entry in re.split(r"[,\s]+", listed.lower())
    )


def _entry_matches(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    entry, limited = _split_port(entry)
    if not entry or limited not in (0, port):
        return False
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:  # one of them is a name
        entry = entry.removeprefix("*").strip(".")
        return bool(entry) and (host == entry or host.endswith(f".{entry}"))


def _split_port(entry: str) -> tuple[str, int]:
    """Return an entry without its port, and the port; 0 where it has none. IPv6 has one behind `]` alone."""
    found = re.fullmatch(r"(\[[^]]*\]|[^:]*):([0-9]{1,5})", entry, re.ASCII)
    return (found[1], int(found[2])) if found else (entry, 0)


def parse_proxy(text: str, source: str, *, scheme: str = "") -> Proxy:
    """Return the proxy at a URL: http or https, host, port, and before them `user:password@`.

    `scheme` is the one of an address that has none, as variables may. Raises Unusable.
    """
    written = text if "://" in text or not scheme else f"{scheme}://{text}"
    # Where libraries read an address in two ways, the login would go to whichever host the second one names.
    if not written.isascii() or not written.isprintable() or " " in written or "\\" in written:
        raise UnusableUrl("the address of the proxy holds a character that no address holds.", _WRITE)
    found = re.fullmatch(
        r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<login>[^/?#]*)@)?(?P<host>[^/?#@]*)/?", written
    )
    if found is None:
        raise UnusableUrl(
            "the address of the proxy is not a URL, or has more than a host and a port.", _WRITE
        )
    kind = found["scheme"].lower()
    if kind not in _PORTS:
        raise UnusableUrl(f"proxies of the kind {kind[:20]} are not supported, only http and https.", _WRITE)
    host, port = _host_and_port(found["host"])
    return Proxy(f"{kind}://{host.lower()}:{port or _PORTS[kind]}", source, _proxy_login(found["login"]))


def _host_and_port(text: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.netloc, parts.port
    except ValueError:
        raise UnusableUrl("the host or port of the proxy cannot be read.", _WRITE) from None
    if port is not None:
        host = host.rpartition(":")[0]
    if not HOST.fullmatch(host) or port == 0:
        raise UnusableUrl("the host or port of the proxy cannot be read.", _WRITE)
    return host, port


def show_proxy(text: str) -> str:
    """Return the setting without user and password, whatever stands in it."""
    assumed = "" if "://" in text else "http://"
    return mask_url(f"{assumed}{text}").removeprefix(assumed)


_WRITE = "write it like http://proxy.example.com:3128; signs in its user and password like %40"


def _proxy_login(text: str | None) -> Secret | None:
    """Return user:password as they are sent. Raises Unusable."""
    if text is None:
        return None
    user, _, password = text.partition(":")
    user, password = unquote(user), unquote(password)
    if not user or ":" in user or not (user + password).isprintable() or len(text) > _login_max:
        raise UnusableUrl("the user and password of the proxy cannot be sent with the Basic scheme.", _WRITE)
    return Secret(f"{user}:{password}")


# --- The service's clock, by the Date of its last answer ------------------------------------------


class DatedConnections(httpx2.AsyncBaseTransport):
    """Connections that note what time the service says it is. They stay their owner's to close."""

    def __init__(self, below: Connections) -> None:
        self._below = below
        self._date = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, unchanged."""
        response = await self._below.handle_async_request(request)
        # That of the last answer alone: an earlier one would be late by as much as the calls since took.
        self._date = response.headers.get("date", "")
        return response

    async def aclose(self) -> None:
        """Close what is below."""
        await self._below.aclose()

    @property
    def told(self) -> datetime | None:
        """The time that the last answer told, in UTC and whole seconds; None where it told none."""
        try:
            return parsedate_to_datetime(self._date).astimezone(UTC)
        # RFC 9110, 6.6.1: a server without a clock sends no Date.
        except (TypeError, ValueError):
            return None
