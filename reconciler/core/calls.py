"""Decisions about calls of a service: retry or give up (table A8), the pace, gaps, which hosts are local.

Pure: `now` and chance (a number from 0 to 1) come in; sending, sleeping and clocks belong to service/http.
"""

import ipaddress
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache

from msgspec import Struct

# --- Retry: table A8 of docs/planning.md as data --------------------------------------------------
#
#     failure seen ──▶ A8[failure][method] ──▶ Retry(wait_s) | LookFirst | GiveUp

tries_max = 3  # requests of one call, the first one included
backoff_first_s = 0.25  # seconds; upper end of the first wait, doubled with every further try
backoff_max_s = 8.0  # seconds; upper end of any wait that the service did not ask for
retry_after_max_s = 60.0  # seconds; a longer Retry-After is cut to this, and the call's deadline still wins
undated_min_s = 1.0  # seconds; for a date that no Date header of the answer explains
retry_share = 0.1  # of the calls may be repeats: a dead service sees 10 % more calls and no storm
retry_burst = 10  # repeats that are always allowed, so that a short run can retry at all

# What the three HTTP forms are written with, the longest of them in 33 characters; `int` alone would
# also take digits of other scripts and underscores.
_DATE = re.compile(r"[A-Za-z0-9 ,:+-]{1,64}", re.ASCII)


class Failure(Enum):
    """How a call can end badly, as far as the caller's next step differs. The rows of A8."""

    NEVER_SENT = "never sent"  # DNS, refused, TLS, pool or connect timeout
    LOST = "sent, answer lost"  # read timeout, reset, short body, 500 502 504, 2xx of unknown shape
    THROTTLED = "throttled"  # 408, 429, 503, 403 "over queries per second"
    STOPPED = "stopped"  # 401, other 403, quota per day
    ABSENT = "absent"  # 404
    REFUSED = "refused"  # other 4xx, 3xx, 501, 505


class RetryMeaning(Enum):
    """What a failure means for one method. The cells of A8."""

    RETRY = "retry"
    DOUBT = "in doubt"
    LOOK = "look first"
    ERROR = "error"


def _same_for_writes(read: RetryMeaning, write: RetryMeaning) -> Mapping[str, RetryMeaning]:
    """Return the row of a failure that means the same for every method that writes."""
    return {"GET": read, "POST": write, "PUT": write, "DELETE": write}


# Whether a 404 is "absent", an error or "already gone", and whether a refusal stops the run, is told
# by the class of the error; here it is one cell, because none of them is sent again.
A8: Mapping[Failure, Mapping[str, RetryMeaning]] = {
    Failure.NEVER_SENT: _same_for_writes(RetryMeaning.RETRY, RetryMeaning.RETRY),
    # One cell each, for each is a promise of its own that a planted defect breaks (tests/sabotage).
    Failure.LOST: {
        "GET": RetryMeaning.RETRY,
        "POST": RetryMeaning.DOUBT,
        "PUT": RetryMeaning.DOUBT,
        "DELETE": RetryMeaning.DOUBT,
    },
    Failure.THROTTLED: _same_for_writes(RetryMeaning.RETRY, RetryMeaning.LOOK),
    Failure.STOPPED: _same_for_writes(RetryMeaning.ERROR, RetryMeaning.ERROR),
    Failure.ABSENT: _same_for_writes(RetryMeaning.ERROR, RetryMeaning.ERROR),
    Failure.REFUSED: _same_for_writes(RetryMeaning.ERROR, RetryMeaning.ERROR),
}


class Retry(Struct, frozen=True):
    """Send it again after `retry_wait_s` seconds."""

    wait_s: float


class GiveUp(Struct, frozen=True):
    """Raise what was seen; `why` it is not tried again is empty where trying again would never help."""

    why: str = ""


class LookFirst(Struct, frozen=True):
    """It may have been done: somebody has to look before anything is sent again."""


class RetryBudget(Struct, frozen=True):
    """Calls made and repeats among them, over the life of one client."""

    calls: int = 0
    repeats: int = 0

    @property
    def allows(self) -> bool:
        """Whether one more repeat stays within the burst and 10 % of the calls."""
        return self.repeats < retry_burst + self.calls * retry_share


def decide_retry(
    method: str,
    failure: Failure,
    attempt: int,
    *,
    budget: RetryBudget,
    chance: float,
    left_s: float,
    asked_s: float = 0.0,
) -> Retry | GiveUp | LookFirst:
    """What to do after try number `attempt` (from 1) of a call failed.

    `chance` is a random number from 0 to 1 (full jitter), `left_s` what is left of the call's
    deadline, `asked_s` the wait that the service asked for (0: none). The deadline wins over the
    wait. A write that may have arrived is never sent again.
    Source: docs/planning.md, A8 and A10.
    """
    # A repeat of what may have arrived makes a second contact: no wait, budget or deadline bends that cell.
    meaning = A8[failure][method]
    if meaning is RetryMeaning.DOUBT:
        return LookFirst()
    if meaning is RetryMeaning.RETRY:
        return _retry_or_give_up(attempt, budget, retry_wait_s(attempt, chance, asked_s), left_s)
    return GiveUp()


def retry_wait_s(attempt: int, chance: float, asked_s: float = 0.0) -> float:
    """Seconds until the next try: the service's wish, capped, and a random share of the backoff on top."""
    # Full jitter: programs that failed together must not come back together, after a wish of the service
    # either.
    upper_s = min(backoff_max_s, backoff_first_s * 2.0 ** (attempt - 1))
    return min(max(asked_s, 0.0), retry_after_max_s) + min(max(chance, 0.0), 1.0) * upper_s


def parse_retry_after_s(text: str, answered_at: str = "", *, now: datetime | None = None) -> float:
    """Seconds that a Retry-After header asks for, from 0 to the cap; 0 where it says nothing usable.

    Both forms: seconds, and an HTTP date. A date is measured against the Date header of the same
    answer (`answered_at`): the service's clock against itself, so that ours may be wrong. An answer
    without one is measured against `now`, the best that is known, and then asks for at least
    `undated_min_s`: by a wrong clock every moment may seem to be over.
    """
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,12}", text):
        return min(float(text), retry_after_max_s)
    until, answered = parse_http_date(text), parse_http_date(answered_at)
    if until is None:
        return 0.0
    if answered is not None:
        return min(max((until - answered).total_seconds(), 0.0), retry_after_max_s)
    if now is None:
        return 0.0
    return min(max((until - now).total_seconds(), undated_min_s), retry_after_max_s)


# Every answer has one, it is asked for three times, and many answers come within one second.
@lru_cache(maxsize=64)
def parse_http_date(text: str) -> datetime | None:
    """The moment that an HTTP date names, in UTC, or None where it names none."""
    if not _DATE.fullmatch(text):
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - 10 ms; commands that call nothing read this module too

    try:
        found = parsedate_to_datetime(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _retry_or_give_up(attempt: int, budget: RetryBudget, wait: float, left_s: float) -> Retry | GiveUp:
    if attempt >= tries_max:
        return GiveUp(f"tried {attempt} times")
    if not budget.allows:
        return GiveUp("not tried again: too many calls of this run failed already")
    # The deadline wins: a service that asks for a minute does not make a call of thirty seconds last for one.
    if wait >= left_s:
        return GiveUp("not tried again: the time for this call is over")
    return Retry(wait)


# --- Pace: how fast one credential may call, as a value -------------------------------------------
#
#     turns ──▶ reserve_turns ──▶ begin here, so far apart   throttled ──▶ slow_down ──▶ half the rate
#                                                            time passes ──▶ pace_rate ──▶ more again
#
# service/http/limiter.py keeps one in the process, store/shared_pace.py one for all processes. `now` is
# seconds on whatever clock the pace is kept by; that clock may be turned back.


rate_min = 0.5  # turns a second; slower, a call with its three tries would never end
halving_s = 1.0  # seconds between two halvings: sixteen calls refused at once say one thing, and once

# Of the ceiling, a second. Services count by the second, so probing beyond what they allow costs one
# refusal at a time; adding (and not doubling) lets programs that share a quota come to equal shares,
# and from nothing to everything it takes twenty seconds, less than one call's deadline.
rate_growth = 0.05


class Pace(Struct, frozen=True):
    """The rate, in turns a second, as it was at `changed_at`; no turn begins before `next_at`.

    `seen_at` is when it was last asked: a clock that shows less than that was turned back.
    """

    rate: float
    changed_at: float
    next_at: float
    seen_at: float


def begin_pace(now: float, rate: float) -> Pace:
    """Return the pace of a credential that was not used before; its first turn begins at once."""
    return Pace(rate=rate, changed_at=now - halving_s, next_at=now, seen_at=now)


def pace_rate(pace: Pace, now: float, ceiling: float) -> float:
    """Return the turns a second at `now`: what the last halving left, grown since, up to the ceiling."""
    grown = pace.rate + rate_growth * ceiling * max(now - pace.changed_at, 0.0)
    return min(max(grown, rate_min), ceiling)


def reserve_turns(pace: Pace, now: float, turns: int, ceiling: float) -> tuple[Pace, float, float]:
    """Return the pace after `turns` turns were taken from it, when the first begins, and their distance.

    They begin after everything that was reserved before, and never sooner than now: what was not used
    is gone, and no caller gets a burst for having waited. `ceiling` (above 0) is the caller's own limit.
    """
    pace = _adjust_to_clock(pace, now)
    spacing_s = 1.0 / pace_rate(pace, now, ceiling)
    begins_at = max(now, pace.next_at)
    return (
        Pace(pace.rate, pace.changed_at, next_at=begins_at + turns * spacing_s, seen_at=now),
        begins_at,
        spacing_s,
    )


def slow_down(pace: Pace, now: float, ceiling: float, asked_s: float = 0.0) -> Pace:
    """Return the pace after a call was throttled: half the rate, and no turn for `asked_s` seconds.

    It grows again when that pause is over. Within a second of a halving, and in its pause, there is no other.
    """
    pace = _adjust_to_clock(pace, now)
    resumes_at = now + max(asked_s, 0.0)
    next_at = max(pace.next_at, resumes_at)
    if now < pace.changed_at + halving_s:
        return Pace(pace.rate, pace.changed_at, next_at, seen_at=now)
    halved = max(pace_rate(pace, now, ceiling) / 2.0, min(rate_min, ceiling))
    return Pace(halved, resumes_at, next_at, seen_at=now)


def _adjust_to_clock(pace: Pace, now: float) -> Pace:
    """The same pace where the clock was turned back: what lay ahead lies ahead just as far.

    How long it really was since the last look is unknown; taking it for nothing errs on the slow side.
    """
    back_s = max(pace.seen_at - now, 0.0)
    if not back_s:
        return pace
    return Pace(pace.rate, pace.changed_at - back_s, pace.next_at - back_s, seen_at=now)


# --- Hosts on this machine: to them alone, credentials may travel without encryption --------------


def is_loopback(host: str) -> bool:
    """Whether a host of an address is this machine, without asking any name service."""
    if host.lower() == "localhost":
        return True
    try:
        # No name service is asked: its answer may be another one when the connection is made.
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
