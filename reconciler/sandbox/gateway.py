"""The gateway in front of the service: the key, and how many requests it lets through.

Source: docs/service.md, credentials and limits: 403 with a code of the gateway, or 429.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime
from math import ceil
from typing import Generic, TypeVar
from urllib.parse import parse_qsl, unquote

import msgspec

from reconciler.sandbox.calls import Outgoing
from reconciler.sandbox.config import Caching, SandboxConfig

# --- Bearer tokens: made for somebody who has user and password, good for a while -----------------
#
# Source: docs/service.md, credentials. The token is a JWT; its claims and its lifetime are assumed.


class _Claims(msgspec.Struct):
    """Whom the token speaks for, and from when until when, in seconds since 1970."""

    sub: str
    iat: int
    exp: int


def new_token(config: SandboxConfig) -> str:
    """A token for the configured user, good from now on for the configured time."""
    now = config.clock()
    until = now + timedelta(seconds=config.token_lifetime_s)
    claims = _Claims(config.username, _epoch_seconds(now), _epoch_seconds(until))
    signed = ".".join((_base64_url(b'{"alg":"HS256","typ":"JWT"}'), _base64_url(msgspec.json.encode(claims))))
    return f"{signed}.{_sign(config, signed)}"


def accepts_token(config: SandboxConfig, token: str) -> bool:
    """Did this sandbox make the token, for its user as it is now, and is it still good?"""
    signed, _, signature = token.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _sign(config, signed).encode()):
        return False
    try:
        packed = signed.partition(".")[2]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(packed + "=="), type=_Claims)
    except (binascii.Error, ValueError):
        return False
    return _epoch_seconds(config.clock()) < claims.exp


def _sign(config: SandboxConfig, signed: str) -> str:
    # From the credentials, so that a token outlives a restart and not a change of the password.
    secret = f"{config.username}\0{config.password}\0{config.api_key}".encode()
    return _base64_url(hmac.digest(secret, signed.encode(), "sha256"))


def _base64_url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _epoch_seconds(moment: datetime) -> int:
    return int(moment.timestamp())


# --- Who may call: the key at the gateway, then the user at the service, by password or by token --
#
# Source: specification 5; docs/service.md, credentials: the header counts first, the query where there is
# none.


def accepts_key(config: SandboxConfig, headers: Mapping[str, str], query: Mapping[str, str]) -> bool:
    """Is the API key right? The query's key counts only where the header carries none."""
    header = headers.get("x-api-key")
    given = (
        query.get("apikey", "").encode() if header is None else header.encode("latin-1")
    )  # the bytes as sent
    return hmac.compare_digest(given, config.api_key.encode())


def accepts_user(config: SandboxConfig, headers: Mapping[str, str]) -> bool:
    """Are user name and password right, in the Basic scheme, or is the Bearer token one of ours?"""
    authorization = headers.get("authorization", "")
    token = bearer_token(authorization)
    return accepts_password(config, authorization) if token is None else accepts_token(config, token)


def bearer_token(authorization: str) -> str | None:
    """The token in a header of the Bearer scheme, None in any other."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def accepts_password(config: SandboxConfig, authorization: str) -> bool:
    """Are user name and password right, in the Basic scheme?"""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(given, f"{config.username}:{config.password}".encode())


@dataclass(frozen=True, slots=True)
class _Quota:
    """One limit: its code and its words, its period, and the moment from which it counts."""

    code: str
    words: str
    start: datetime
    end: datetime
    allowed: int | None


class Gateway:
    """Counts the requests of the one key by the second and by the day (UTC), both on the sandbox's clock."""

    def __init__(self, config: SandboxConfig) -> None:
        self._config = config
        self._counts: dict[str, tuple[datetime, int]] = {}  # code -> start of its period, requests in it

    def refusal(self, headers: Mapping[str, str], query: Mapping[str, str]) -> Outgoing | None:
        """None lets the request through and counts it; a refused one is not counted."""
        if not accepts_key(self._config, headers, query):
            return self._forbidden("Forbidden", "Developer Inactive")
        quotas = [quota for quota in self._quotas() if quota.allowed is not None]
        for quota in quotas:
            if self._used(quota) >= (quota.allowed or 0):
                return self._over(quota)
        for quota in quotas:
            self._counts[quota.code] = (quota.start, self._used(quota) + 1)
        return None

    def _quotas(self) -> tuple[_Quota, _Quota]:
        config, now = self._config, self._config.clock()
        second = now.replace(microsecond=0)
        day = second.replace(hour=0, minute=0, second=0)
        return (
            _Quota("OVER_QPD", "Over Rate", day, day + timedelta(days=1), config.requests_per_day),
            _Quota("OVER_QPS", "Over Qps", second, second + timedelta(seconds=1), config.requests_per_second),
        )

    def _used(self, quota: _Quota) -> int:
        start, count = self._counts.get(quota.code, (quota.start, 0))
        return count if start == quota.start else 0

    def _over(self, quota: _Quota) -> Outgoing:
        code = f"ERR_403_DEVELOPER_{quota.code}"
        words = f"Developer {quota.words}"
        match self._config.throttle:
            case "429":
                wait_s = max(1, ceil((quota.end - self._config.clock()).total_seconds()))
                content = b'{"message":"Too Many Requests"}'
                return Outgoing(429, content, "application/json", (("retry-after", str(wait_s)),))
            case "403-older":
                return self._forbidden(words, words, ("x-mashery-error-code", code), ("retry-after", "1"))
            case _:
                return self._forbidden(words, words, ("x-error-code", code), ("x-error-detail", words))

    def _forbidden(self, message: str, page: str, *headers: tuple[str, str]) -> Outgoing:
        if self._config.forbidden == "html":
            return Outgoing(403, f"<h1>{page}</h1>".encode(), "text/html", headers)
        return Outgoing(403, f'{{"message":"{message}"}}'.encode(), "application/json", headers)


# --- A caching gateway in front of the service: it stores answers to GET, and gives them again for a while
#
# Source: none; such gateways stand in front of services of every kind, and RFC 9111 says what they should do.


stored_statuses = (200, 404)

T = TypeVar("T")


class Cache(Generic[T]):
    """Answers by address, on the sandbox's clock."""

    def __init__(self, caching: Caching) -> None:
        self._caching = caching
        self._stored: dict[str, tuple[datetime, T]] = {}

    def find(self, address: str, headers: Mapping[str, str], now: datetime) -> tuple[T, datetime] | None:
        """A stored answer and the moment at which it was given; None where the service has to be asked."""
        if self._caching.heeds and "no-cache" in headers.get("cache-control", ""):
            return None
        found = self._stored.get(self._key(address, headers))
        if found is None or now - found[0] >= timedelta(seconds=self._caching.seconds):
            return None
        return found[1], found[0]

    def keep(self, address: str, headers: Mapping[str, str], answer: T, now: datetime) -> None:
        """Stores what the service has just answered."""
        self._stored[self._key(address, headers)] = (now, answer)

    def headers(self, given_at: datetime, now: datetime) -> dict[str, str]:
        """The headers that a stored answer has: its Date, and perhaps its Age."""
        shows = self._caching.shows
        shown = {"date": format_datetime(now if shows == "nothing" else given_at, usegmt=True)}
        return {**shown, "age": str(int((now - given_at).total_seconds()))} if shows == "age" else shown

    def _key(self, address: str, headers: Mapping[str, str]) -> str:
        path, _, query = address.partition("?")
        if self._caching.reads == "meaning":
            address = f"{unquote(path)}?{sorted(parse_qsl(query, keep_blank_values=True))}"
        return f"{headers.get('accept', '')} {address}"
