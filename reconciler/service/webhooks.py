"""A notification as a signed POST (Standard Webhooks, https://www.standardwebhooks.com).

    webhook-id          of the notification: the same in every try, so that a receiver knows it again
    webhook-timestamp   seconds since 1970
    webhook-signature   v1, and the HMAC-SHA256 of `id.timestamp.body` in base64

The library of that name was not taken: it brings an HTTP client of its own and date libraries, for the ten
lines of `sign_webhook`. Redirects are never followed, and what a receiver answers is never shown.
"""

import asyncio
import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable
from hashlib import sha256

import httpx2
from msgspec import Struct

from reconciler.concurrency import time_limit
from reconciler.core.calls import parse_retry_after_s
from reconciler.model.settings import Network
from reconciler.service.http.connections import Connections, open_connection_to
from reconciler.service.http.exchange import chain_of_causes
from reconciler.service.http.urls import UnusableUrl, read_base

tries_max = 3
try_s = 5.0  # of one try
_wait_s = 0.5  # before the second try; doubled before the third
_wait_max_s = 5.0  # that a receiver may ask for
key_bytes = range(24, 65)  # of a key, as Standard Webhooks says
_KEY_START = "whsec_"
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


class NotDelivered(Exception):
    """Why a receiver did not take a notification; holds neither address nor key."""


class Webhook(Struct, frozen=True):
    """Where to post and with which key. Neither may be shown: an address may hold a token."""

    url: str
    key: bytes

    def __repr__(self) -> str:
        return "Webhook(...)"


def read_webhook_address(url: str) -> None:
    """Raise UnusableUrl where a notification cannot be posted to an address."""
    found = read_base(url.partition("?")[0])
    if found.is_plain:
        raise UnusableUrl(
            "the address would send notifications unencrypted.",
            "write https; plain http is for this machine only (127.0.0.1, localhost)",
        )


def parse_signing_key(text: str) -> bytes | None:
    """Return the bytes of a key that signs webhooks; None for a text that is none."""
    try:
        key = base64.b64decode(text.strip().removeprefix(_KEY_START), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if text.strip().startswith(_KEY_START) and len(key) in key_bytes else None


def sign_webhook(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of the header `webhook-signature`."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.digest(key, signed, sha256)).decode()}"


async def post_webhook(
    hook: Webhook,
    network: Network,
    message_id: str,
    body: bytes,
    *,
    now: Callable[[], float],
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    connections: Connections | None = None,
) -> None:
    """Post a notification as JSON, and again where the receiver was busy or did not answer.

    `now` gives seconds since 1970. Raises NotDelivered, with a reason that holds no secret.
    """
    plain = hook.url.startswith("http:")
    opened = connections or open_connection_to(network, plain=plain)
    try:
        for attempt in range(tries_max):
            why, wait_s = await _try_once(opened, hook, message_id, body, int(now()))
            if not why:
                return
            if wait_s < 0 or attempt + 1 == tries_max:
                raise NotDelivered(why)
            await sleep(max(wait_s, _wait_s * 2**attempt))
    finally:
        await opened.aclose()


async def _try_once(
    opened: Connections, hook: Webhook, message_id: str, body: bytes, timestamp: int
) -> tuple[str, float]:
    """Return why a notification was not taken, or "", and seconds to wait; -1: another try is no use."""
    headers = {
        "content-type": "application/json",
        "accept-encoding": "identity",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign_webhook(hook.key, message_id, timestamp, body),
    }
    request = httpx2.Request("POST", hook.url, headers=headers, content=body)
    try:
        async with time_limit(try_s):
            response = await opened.handle_async_request(request)
            await response.aclose()  # what it says is nothing to us
    except TimeoutError:
        return "the receiver did not answer in time", 0.0
    except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
        kind = type(chain_of_causes(error)[-1]).__name__
        return f"the receiver cannot be reached ({kind})", 0.0
    status = response.status_code
    if 200 <= status < 300:  # noqa: PLR2004 - taken
        return "", 0.0
    if status not in _AGAIN:
        return f"the receiver answered with HTTP {status}", -1.0
    asked_s = parse_retry_after_s(response.headers.get("retry-after", ""), response.headers.get("date", ""))
    return f"the receiver answered with HTTP {status}", min(asked_s, _wait_max_s)
