"""The gateway in front of the service: how many requests it lets through, and which answers it stores.

Source: specification 8; docs/service.md, limits: 403 with a code of the gateway, or 429.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime
from math import ceil
from typing import Generic, TypeVar
from urllib.parse import parse_qsl, unquote

from reconciler.sandbox.authentication import accepts_key
from reconciler.sandbox.calls import Outgoing
from reconciler.sandbox.config import Caching, SandboxConfig


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


# --- Stored answers to GET ------------------------------------------------------------------------
#
# Source: none. Caching gateways stand in front of services of every kind; RFC 9111 says what they should do.


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
