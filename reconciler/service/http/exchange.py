"""One request on the wire, once: what came back, or how it broke.

Belongs here: streaming an answer with its caps, and telling the library's errors apart. Not here: what
happens before the request leaves (way.py), credentials, waiting, repeating (transport.py), meaning
(refusals.py).

The library's errors end here. They carry the request, and with it the key; so none of them is kept as
a cause, only its kind and the system's own words for it.
"""

import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from http import HTTPStatus

import httpx2

from reconciler.concurrency import time_limit
from reconciler.core.calls import Failure
from reconciler.model.settings import Proxy
from reconciler.service.answers import OVERSIZED, Answer, Broken
from reconciler.service.http.way import NEVER_SENT, Unconnected, Way

body_max = 16 * 1024 * 1024  # bytes, packed and decoded; a page of 20 rows has some 20 thousand

_GZIP = 16 + zlib.MAX_WBITS  # zlib's way of saying "with a gzip header"

_BROKEN = (httpx2.HTTPError, httpx2.StreamError, OSError)


class _TooLarge(Exception):
    """The body passed the cap."""


class _BadEncoding(Exception):
    """The body cannot be decoded."""


async def exchange(
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
    way = Way(request.url.netloc.decode("ascii"), proxy, leaving)
    request.extensions["trace"] = way.trace
    try:
        with way:
            # The library's own timeouts count from byte to byte: a slow drip would pass them for ever.
            async with time_limit(timeout_s):
                response = await transport.handle_async_request(request)
                head = _head(response)
                return await _answer(response, head)
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
    "look for what packs answers between this machine and the service: it must send gzip, whole, or nothing "
    "packed."
)
_TIMEOUT = "raise service.limits.timeout_s if the service is known to be slow, or run it again later."


def _head(response: httpx2.Response) -> Answer:
    """What is known of an answer before its body."""
    headers = {name.lower(): text for name, text in response.headers.items()}
    return Answer(response.status_code, headers, b"")


async def _answer(response: httpx2.Response, head: Answer) -> Answer:
    """The whole answer, or its head where the body broke and does not decide."""
    try:
        return replace(head, body=await _body(response, head.headers))
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


async def _body(response: httpx2.Response, headers: Mapping[str, str]) -> bytes:
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport gives no other
    body = bytearray()  # not a list of pieces: of one byte each they would take forty times the memory
    async for chunk in _decoded(stream, headers.get("content-encoding", "").strip().lower()):
        body += chunk
        if len(body) > body_max:
            raise _TooLarge
    return bytes(body)


async def _decoded(stream: httpx2.AsyncByteStream, encoding: str) -> AsyncIterator[bytes]:
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
        yield _unpacked(unpacker, chunk)
        if unpacker.unused_data:
            raise _BadEncoding
    if not unpacker.eof:
        raise _BadEncoding


def _unpacked(unpacker: "zlib._Decompress", chunk: bytes) -> bytes:
    try:
        return unpacker.decompress(chunk, body_max + 1)
    except zlib.error:
        raise _BadEncoding from None
