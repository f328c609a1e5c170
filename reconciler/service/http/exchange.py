"""One request on the wire, once: how it is written, how far it came, what came back, or how it broke.

Streams an answer within its limits and tells the library's errors apart. Waiting and repeating are in
transport.py, what an answer means in refusals.py, opening connections in connections.py.

The library's errors end here. They carry the request, and with it the key; so none of them is kept as
a cause, only its kind and the system's own words for it.
"""

import logging
import re
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Literal, Self

import httpx2
from msgspec import Struct

from reconciler.concurrency import time_limit
from reconciler.core.calls import Failure, parse_http_date
from reconciler.instrumentation import SpanNotes, call_log
from reconciler.model.settings import Proxy, Service
from reconciler.service.answers import OVERSIZED, Answer, Broken, Call
from reconciler.service.http import media, urls
from reconciler.service.http.auth import Credentials

# --- How far a request came -----------------------------------------------------------------------
#
#     connect to the proxy ─▶ CONNECT ─▶ TLS with the service ─▶ the request
#     └──────── nothing of the request has left us ──────────┘   from its first byte on: it may have arrived
#
# A proxy speaks in the first half alone, in the clear or in a TLS session of its own. What it answers there
# is reported as its words, and never reaches a reader of the service's answers.


# Measured on real sockets (tests/service/test_sockets.py): nothing of the request has left us.
# Everything else may have arrived, a reset at accept included: it looks like one after the work.
NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)

_PASSING = (408, 425, 429)  # statuses below 500 after which a proxy may well say yes a moment later

_NETWORK = "check service.base_url and the network; nothing was sent."
_TLS = "check service.base_url (https, host, port) and the certificates trusted here; nothing was sent."


class Unconnected(Exception):
    """What went wrong, its cause, did so before anything of the request left us."""


class RequestRoute:
    """How far one request came. `proxy` is the one that its connection goes through, if any.

    `leaving` is called where the first byte of the request is about to leave, and may raise.
    """

    def __init__(self, host: str, proxy: Proxy | None, leaving: Callable[[], None] | None) -> None:
        self._host = host
        self._proxy = proxy
        self._leaving = leaving
        # "" where the transport tells nothing, as those of tests do.
        self._stage: Literal["", "connecting", "asking", "securing", "sent"] = ""

    async def trace(self, event: str, info: dict[str, Any]) -> None:
        """Hear from the library what it does; for the extension `trace` of a request."""
        if event.endswith((".connect_tcp.started", "connection.start_tls.started")):
            self._stage = "connecting"
        elif event == "proxy.start_tls.started":
            self._stage = "securing"
        elif event.endswith(".send_request_headers.started"):
            if info["request"].method == b"CONNECT":  # to the proxy
                self._stage = "asking"
                return
            self._stage = "sent"
            # Nothing more is to be heard: it would be told of every step until the body of the answer ends.
            info["request"].extensions.pop("trace", None)
            if self._leaving:
                self._leaving()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Raise Unconnected in the place of a failure before the request."""
        # TimeoutError is our own deadline, which may end a connect as well as an answer.
        failed = isinstance(error, (TimeoutError, OSError, httpx2.HTTPError))
        if failed and self._stage not in ("", "sent"):
            raise Unconnected from error

    def ended(self, error: Exception) -> Broken:
        """Return what to say of a request that never left: where its way ended, and what to check."""
        refused = next((one for one in chain_of_causes(error) if isinstance(one, httpx2.ProxyError)), None)
        if refused is not None and self._proxy is not None:
            return _describe_refusal(str(refused), self._host, self._proxy)
        what, hint = self._why(error)
        return Broken(Failure.NEVER_SENT, what, hint)

    def _why(self, error: Exception) -> tuple[str, str]:
        proxy = self._proxy
        if proxy is not None and self._stage in ("connecting", ""):
            what, hint = f"no connection to the proxy {proxy}", f"check {proxy.source}; nothing was sent."
        elif proxy is not None and self._stage == "asking":
            what = f"the proxy {proxy} gave no answer of a proxy"
            return what, f"check {proxy.source}: something else may answer there; nothing was sent."
        else:
            through = f" through the proxy {proxy}" if proxy is not None else ""
            what, hint = f"no connection to {self._host}{through}", _NETWORK
        return _describe_cause(error, what, hint)


def _describe_refusal(answer: str, host: str, proxy: Proxy) -> Broken:
    """Return what a proxy's answer to CONNECT means. Of the answer only its status is believed, and shown."""
    # What it refuses for good is not asked again: a wrong password, repeated, locks accounts.
    found = re.match(r"[1-9][0-9]{2}(?![0-9])", answer)
    status = int(found[0]) if found else 0
    final = 400 <= status < 500 and status not in _PASSING  # noqa: PLR2004 - the class of refusals
    failure = Failure.REFUSED if final else Failure.NEVER_SENT
    if status == 407:  # noqa: PLR2004 - Proxy Authentication Required
        want = "does not accept its user and password" if proxy.login else "wants a user and password"
        hint = f"check the user and password in {proxy.source}; nothing was sent to the service."
        return Broken(failure, f"the proxy {proxy} {want} (407)", hint)
    said = f" ({status})" if status else ""
    what = f"the proxy {proxy} makes no connection to {host}{said}"
    return Broken(
        failure, what, f"ask the operators of the proxy, or check {proxy.source}; nothing was sent."
    )


def _describe_cause(error: Exception, what: str, hint: str) -> tuple[str, str]:
    """Return why there is no connection, in words of ours, and what to check."""
    tls = _TLS if hint is _NETWORK else hint
    for cause in chain_of_causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return f"{what}: the certificate is not trusted ({cause.verify_message})", tls
            case ssl.SSLError():
                return f"{what}: the TLS handshake failed", tls
            case socket.gaierror():
                return f"{what}: the name cannot be resolved", hint
            case ConnectionRefusedError():
                return f"{what}: refused", hint
    late = any(isinstance(cause, (TimeoutError, httpx2.TimeoutException)) for cause in chain_of_causes(error))
    return (f"{what} in time" if late else what), hint


def chain_of_causes(error: BaseException | None) -> list[BaseException]:
    """Return the error and what led to it; at most ten, however the chain is knotted."""
    found: list[BaseException] = []
    while error is not None and error not in found and len(found) < 10:  # noqa: PLR2004 - see above
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


body_max = 16 * 1024 * 1024  # bytes, packed and decoded; a page of 20 rows has some 20 thousand

_GZIP = 16 + zlib.MAX_WBITS  # zlib's way of saying "with a gzip header"

_BROKEN = (httpx2.HTTPError, httpx2.StreamError, OSError)


class _TooLarge(Exception):
    """The body passed the cap."""


class _BadEncoding(Exception):
    """The body cannot be decoded."""


async def exchange_once(
    transport: httpx2.AsyncBaseTransport,
    request: httpx2.Request,
    *,
    timeout_s: float,
    proxy: Proxy | None = None,
    leaving: Callable[[], None] | None = None,
) -> Answer | Broken:
    """Send `request` once and read all of its answer, within `timeout_s` for everything together.

    `proxy` is the one that the transport goes through; `leaving` is called right before the first byte of
    the request leaves, and may raise what the caller wants to see.
    """
    head = Answer(0, {}, b"")
    way = RequestRoute(request.url.netloc.decode("ascii"), proxy, leaving)
    request.extensions["trace"] = way.trace
    try:
        with way:
            # The library's own timeouts count from byte to byte: a slow drip would pass them for ever.
            async with time_limit(timeout_s):
                response = await transport.handle_async_request(request)
                head = _read_head(response)
                return await _read_answer(response, head)
    except (Unconnected, *NEVER_SENT) as error:
        return way.ended(error)
    except TimeoutError:
        if head.status and not decided_by_body(head.status):
            return head
        return Broken(Failure.LOST, f"no complete answer within {timeout_s:.3g} s", _TIMEOUT, head.status)
    except httpx2.TimeoutException:
        return Broken(Failure.LOST, "no complete answer in time", _TIMEOUT, head.status)
    except _TooLarge:
        return Broken(
            Failure.LOST, f"the answer is larger than {body_max // 1024 // 1024} MiB", OVERSIZED, head.status
        )
    except _BadEncoding:
        return Broken(Failure.LOST, "the answer's encoding cannot be read", _PACKED, head.status)
    except _BROKEN:
        return Broken(Failure.LOST, "the connection broke before the answer was complete", "", head.status)


_PACKED = (
    "look for a proxy or gateway that compresses answers: it must send complete gzip, or must not compress."
)
_TIMEOUT = "raise service.limits.timeout_s if the service is known to be slow, or run it again later."


def _read_head(response: httpx2.Response) -> Answer:
    """What is known of an answer before its body."""
    headers = {name.lower(): text for name, text in response.headers.items()}
    return Answer(response.status_code, headers, b"")


async def _read_answer(response: httpx2.Response, head: Answer) -> Answer:
    """The whole answer, or its head where the body broke and does not decide."""
    try:
        return replace(head, body=await _read_body(response, head.headers))
    except (_TooLarge, _BadEncoding, *_BROKEN):
        if decided_by_body(head.status):
            raise
        return head
    finally:
        await response.aclose()


def decided_by_body(status: int) -> bool:
    """Whether an answer needs its whole body: a success, and a 404."""
    # A refusal of the credentials whose body was cut, or never ends, is one all the same: it stops the run.
    # Of a 404 only the body tells the service's from one of another web server (facts 8).
    return 200 <= status < 300 or status == HTTPStatus.NOT_FOUND  # noqa: PLR2004 - the class of success


async def _read_body(response: httpx2.Response, headers: Mapping[str, str]) -> bytes:
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport gives no other
    body = bytearray()  # not a list of pieces: of one byte each they would take forty times the memory
    async for chunk in _decode_content(stream, headers.get("content-encoding", "").strip().lower()):
        body += chunk
        if len(body) > body_max:
            raise _TooLarge
    return bytes(body)


async def _decode_content(stream: httpx2.AsyncByteStream, encoding: str) -> AsyncIterator[bytes]:
    """The body's bytes, unpacked piece by piece, and of no piece more than just beyond the cap."""
    # The library unpacks whatever one read brought; 200 KB of it can be 200 MB. And what is packed can be
    # endless and unpack to nothing: empty blocks, or bytes behind the end. Both are read no further.
    if encoding in ("", "identity"):
        async for chunk in stream:
            yield chunk
        return
    if encoding not in ("gzip", "x-gzip"):
        raise _BadEncoding
    unpacker = zlib.decompressobj(_GZIP)
    packed = 0
    async for chunk in stream:
        packed += len(chunk)
        if packed > body_max:
            raise _TooLarge
        yield _gunzip(unpacker, chunk)
        if unpacker.unused_data:
            raise _BadEncoding
    if not unpacker.eof:
        raise _BadEncoding


def _gunzip(unpacker: "zlib._Decompress", chunk: bytes) -> bytes:
    try:
        return unpacker.decompress(chunk, body_max + 1)
    except zlib.error:
        raise _BadEncoding from None


# --- What logs and spans say of each try ----------------------------------------------------------
#
# Enough to see where time goes, and nobody's data: tests/hostile/test_canaries.py collects all loggers.
# They go to a logger of their own and to a span, so that no caller passes anything along.


_errors_from = 400  # an answer of this status or above is an error to whoever looks at spans


class TriedCall(Struct, frozen=True):
    """One try. `path` is the template, without ids; sizes in bytes, unpacked; `status` 0: no answer came.

    `attempt` counts from 1. `broken` says how it ended where no complete answer came, else "".
    """

    method: str
    path: str
    status: int
    ms: int
    sent: int
    received: int
    attempt: int
    broken: str = ""

    def __str__(self) -> str:
        """One line: what was called, and how it went."""
        ended = str(self.status) if self.status else self.broken
        more = f", try {self.attempt}" if self.attempt > 1 else ""
        return (
            f"{self.method} {self.path}: {ended}, {self.ms:,} ms, {self.sent:,} bytes sent, "
            f"{self.received:,} received{more}"
        )


def request_notes(call: Call, server: tuple[str, int], attempt: int) -> SpanNotes:
    """Return what a span says of one try before it is answered: the template, never the path."""
    host, port = server
    again: SpanNotes = {"resend": attempt - 1} if attempt > 1 else {}
    return {"method": call.method, "template": call.template, "host": host, "port": port, **again}


def answer_notes(answer: Answer | Broken) -> SpanNotes:
    """Return what a span says of its answer, or of how it ended without a complete one."""
    notes: SpanNotes = {"status": answer.status} if answer.status else {}
    if isinstance(answer, Broken):
        return {**notes, "error": answer.failure.value}
    return {**notes, "error": str(answer.status)} if answer.status >= _errors_from else notes


def log_try(call: Call, answer: Answer | Broken, *, attempt: int, seconds: float) -> None:
    """Tell of one try, if anybody listens."""
    if not call_log.isEnabledFor(logging.DEBUG):
        return
    told = TriedCall(
        method=call.method,
        path=call.template,
        status=answer.status,
        ms=round(seconds * 1000),
        sent=len(call.body or b""),
        received=0 if isinstance(answer, Broken) else len(answer.body),
        attempt=attempt,
        broken=answer.failure.value if isinstance(answer, Broken) else "",
    )
    # As `call_log.debug`, which would look through the stack for this place each time.
    call_log.handle(call_log.makeRecord(call_log.name, logging.DEBUG, __file__, 0, "%s", (told,), None))


# --- Caches between us and the service ------------------------------------------------------------
#
# An answer from a cache is no evidence: it may say "absent" about an entity that was created since.


# RFC 9111, 5.2.1.4 and 5.4: `no-cache` for every cache, `Pragma` for those that know HTTP/1.0 alone.
BYPASS_HEADERS = (("Cache-Control", "no-cache"), ("Pragma", "no-cache"))

# A Date has whole seconds (1 s), and the machines behind one address do not agree to the millisecond (1 s).
# A younger cached answer is not noticed by its Date; the address that is new each time keeps it away.
date_tolerance_s = 2.0

address_numbers = 2**48  # of addresses; a client begins at one by chance

# Headers in which gateways say in words where an answer came from: nginx, CloudFront and Fastly,
# Cloudflare. `revalidated` and `miss` are not among the words: then the service was asked.
_WORDED = ("x-cache", "x-cache-status", "cf-cache-status", "x-proxy-cache", "x-varnish-cache")
_FROM_MEMORY = frozenset({"hit", "stale", "updating"})


def cache_evidence(headers: Mapping[str, str]) -> str:
    """How an answer's headers (names in lower case) say that a cache gave it, or "" where they do not."""
    # RFC 9111, 5.1: caches alone write an Age, so one that is no number counts as an age. `Age: 0` is
    # allowed: it is younger than a second.
    age = headers.get("age", "")
    if age and not all(re.fullmatch(r"0+", part.strip()) for part in age.split(",")):
        return "it carries an Age"
    for member in headers.get("cache-status", "").split(","):  # RFC 9211, 2.1
        if any(part.strip().lower() in ("hit", "hit=?1") for part in member.split(";")[1:]):
            return "Cache-Status says that it was stored"
    for name in _WORDED:
        if _FROM_MEMORY & set(re.split(r"[^a-z]+", headers.get(name, "").lower())):
            return f"{name.title()} says that it was stored"
    return ""


class ServiceClock:
    """What the service's clock must show by now, learnt from the Date headers that one client has seen."""

    def __init__(self) -> None:
        # The service's clock is compared with itself over our monotonic one: our wall clock may be wrong.
        self._ahead: float | None = None  # the least that its clock is ahead of our monotonic one; seconds

    def note(self, date: str, received_at: float) -> None:
        """Learn from the Date of an answer; anything that is no date teaches nothing."""
        moment = parse_http_date(date)
        if moment is not None:
            ahead = moment.timestamp() - received_at
            self._ahead = ahead if self._ahead is None else max(self._ahead, ahead)

    def now(self, at: float) -> datetime | None:
        """The service's time at `at` on our monotonic clock; None where no answer told any."""
        try:
            return None if self._ahead is None else datetime.fromtimestamp(self._ahead + at, UTC)
        except (ValueError, OverflowError, OSError):  # beyond the year 9999
            return None

    def behind_s(self, date: str, asked_at: float) -> float:
        """Seconds by which a Date is older than a request that was sent at `asked_at`; 0 where it is not."""
        moment = parse_http_date(date)
        if moment is None or self._ahead is None:
            return 0.0
        behind_s = self._ahead + asked_at - moment.timestamp()
        return behind_s if behind_s > date_tolerance_s else 0.0


# --- Writing the request --------------------------------------------------------------------------


connect_share = 0.25  # of one try: TCP and TLS take a share each, and a try never ends while connecting


class Requests:
    """Makes requests to one service. `first` is the number of the first address of a GET; see `_query`.

    Raises SettingsError for a base address that cannot be used.
    """

    def __init__(self, service: Service, credentials: Credentials, *, vendor: str, first: int) -> None:
        self._base = urls.parse_base_url(service.base_url)
        self._credentials = credentials
        self._vendor = vendor
        self._form: media.Form = service.format
        self._fresh = first
        self._headers: dict[tuple[str, str, bool], httpx2.Headers] = {}

    @property
    def server(self) -> tuple[str, int]:
        """The name and the port of the service."""
        return self._base.host, self._base.port

    def made(self, call: Call, timeout_s: float) -> httpx2.Request:
        """The request as it leaves us. The key joins the URL here, and nothing above ever sees that URL."""
        query = "&".join(part for part in (self._query(call), self._credentials.key_in_query) if part)
        url = _parse_address(self._base, call.path, query)
        if url is None:
            raise AssertionError(f"{call}: the address was rewritten on its way")
        connect_s = timeout_s * connect_share
        timeout = {"connect": connect_s, "pool": connect_s, "read": timeout_s, "write": timeout_s}
        return httpx2.Request(
            call.method,
            url,
            headers=self._headers_of(call),
            content=call.body,
            extensions={"timeout": timeout},
        )

    def _headers_of(self, call: Call) -> httpx2.Headers:
        """The headers of a call, which the library copies: the same for all calls of one form."""
        form = (call.method, call.media, call.body is not None)
        if form not in self._headers:
            accepted = media.media_type(self._vendor, call.media, self._form)
            aside = BYPASS_HEADERS if call.method == "GET" else ()
            # gzip and nothing else, because nothing else is unpacked (exchange.py).
            headers = [("Accept", accepted), ("Accept-Encoding", "gzip"), *aside, *self._credentials.headers]
            if call.body is not None:
                headers.append(("Content-Type", accepted))
            self._headers[form] = httpx2.Headers(headers)
        return self._headers[form]

    def _query(self, call: Call) -> str:
        """The query of a call; that of a GET is one which no cache has seen before, at every try."""
        # Numbers begin by chance, so that no two clients use the same, and go on by one.
        if call.method != "GET":
            return urls.encode_query(call.query)
        self._fresh += 1
        pairs = urls.vary_query(call.query, call.varies, self._fresh) if call.varies else call.query
        return urls.encode_query(pairs, self._fresh)


@lru_cache(maxsize=64)  # creates go to one address for each kind and workspace
def _parse_address(base: urls.BaseUrl, path: str, query: str) -> httpx2.URL | None:
    """The address below `base`; None where the library changes it.

    It brings addresses into a normal form. One that it changed would name another entity, or send the
    credentials to another host.
    """
    target = base.prefix + path
    url = httpx2.URL(f"{base.origin}{target}{'?' if query else ''}{query}")
    sent_to = (url.scheme, url.raw_path.partition(b"?")[0].decode("ascii"))
    return url if sent_to == (base.scheme, target) and url.host == base.host.strip("[]") else None
