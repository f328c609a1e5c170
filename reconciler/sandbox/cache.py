"""A caching gateway in front of the service: it stores answers to GET, and gives them again for a while.

Belongs here: what is stored, for how long, and how a stored answer looks. Not here: the service's own
answers (app.py). Off unless `SandboxConfig.caching` says otherwise; no write empties it.
Source: none; such gateways stand in front of services of every kind, and RFC 9111 says what they should do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Generic, Literal, TypeVar
from urllib.parse import parse_qsl, unquote

stored_statuses = (200, 404)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caching:
    """How a gateway caches. `seconds`: for how long. `heeds`: a request with no-cache goes through.

    `shows`: the Age and the old Date, the old Date alone, or neither of them. `reads`: what two addresses
    must share to be one: their text, or what is left when it is decoded and the query sorted.
    """

    seconds: float
    heeds: bool = False
    shows: Literal["age", "date", "nothing"] = "nothing"
    reads: Literal["text", "meaning"] = "text"


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
