"""Caches between us and the service: how an answer shows that it is not the service's answer of now.

Belongs here: the request headers that ask caches to stand aside, the answer headers that name a cache, what
makes the address of a lookup new, and the service's clock as this client has seen it. Not here: asking
again (transport.py), writing addresses (urls.py).

An answer from a cache is no evidence: it may say "absent" about somebody who was created since.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from reconciler.core.calls import parse_http_date

# RFC 9111, 5.2.1.4 and 5.4: `no-cache` for every cache, `Pragma` for those that know HTTP/1.0 alone.
ASIDE = (("Cache-Control", "no-cache"), ("Pragma", "no-cache"))

# A Date has whole seconds (1 s), and the machines behind one address do not agree to the millisecond (1 s).
# A younger cached answer is not noticed by its Date; the address that is new each time keeps it away.
date_tolerance_s = 2.0

numbers = 2**48  # of addresses; a client begins at one by chance

# Headers in which gateways say in words where an answer came from: nginx, CloudFront and Fastly,
# Cloudflare. `revalidated` and `miss` are not among the words: then the service was asked.
_WORDED = ("x-cache", "x-cache-status", "cf-cache-status", "x-proxy-cache", "x-varnish-cache")
_FROM_MEMORY = frozenset({"hit", "stale", "updating"})


def told(headers: Mapping[str, str]) -> str:
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
