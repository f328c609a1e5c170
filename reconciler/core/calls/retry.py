"""What a failed call means, and whether it is tried again: table A8 of docs/planning.md as data.

Belongs here: the table, the waits, the budget, reading Retry-After. Not here: sending, sleeping,
chance (a number from 0 to 1 comes in), and reading answers (service/http/refusals.py names the failure).

    failure seen ──▶ A8[failure][method] ──▶ Retry(wait_s) | Doubt | GiveUp
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import lru_cache

from msgspec import Struct

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


class Meaning(Enum):
    """What a failure means for one method. The cells of A8."""

    RETRY = "retry"
    DOUBT = "in doubt"
    LOOK = "look first"
    ERROR = "error"


def _alike(read: Meaning, write: Meaning) -> Mapping[str, Meaning]:
    """Return the row of a failure that means the same for every method that writes."""
    return {"GET": read, "POST": write, "PUT": write, "DELETE": write}


# Whether a 404 is "absent", an error or "already gone", and whether a refusal stops the run, is told
# by the class of the error; here it is one cell, because none of them is sent again.
A8: Mapping[Failure, Mapping[str, Meaning]] = {
    Failure.NEVER_SENT: _alike(Meaning.RETRY, Meaning.RETRY),
    # One cell each, for each is a promise of its own that a planted defect breaks (tests/sabotage).
    Failure.LOST: {
        "GET": Meaning.RETRY,
        "POST": Meaning.DOUBT,
        "PUT": Meaning.DOUBT,
        "DELETE": Meaning.DOUBT,
    },
    Failure.THROTTLED: _alike(Meaning.RETRY, Meaning.LOOK),
    Failure.STOPPED: _alike(Meaning.ERROR, Meaning.ERROR),
    Failure.ABSENT: _alike(Meaning.ERROR, Meaning.ERROR),
    Failure.REFUSED: _alike(Meaning.ERROR, Meaning.ERROR),
}


class Retry(Struct, frozen=True):
    """Send it again after `wait_s` seconds."""

    wait_s: float


class GiveUp(Struct, frozen=True):
    """Raise what was seen; `why` it is not tried again is empty where trying again would never help."""

    why: str = ""


class LookFirst(Struct, frozen=True):
    """It may have been done: somebody has to look before anything is sent again."""


class Budget(Struct, frozen=True):
    """Calls made and repeats among them, over the life of one client."""

    calls: int = 0
    repeats: int = 0

    @property
    def allows(self) -> bool:
        """Whether one more repeat stays within the burst and 10 % of the calls."""
        return self.repeats < retry_burst + self.calls * retry_share


def decide(
    method: str,
    failure: Failure,
    attempt: int,
    *,
    budget: Budget,
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
    if meaning is Meaning.DOUBT:
        return LookFirst()
    if meaning is Meaning.RETRY:
        return _again(attempt, budget, wait_s(attempt, chance, asked_s), left_s)
    return GiveUp()


def wait_s(attempt: int, chance: float, asked_s: float = 0.0) -> float:
    """Seconds until the next try: the service's wish, capped, and a random share of the backoff on top."""
    # Full jitter: programs that failed together must not come back together, after a wish of the service
    # either.
    upper_s = min(backoff_max_s, backoff_first_s * 2.0 ** (attempt - 1))
    return min(max(asked_s, 0.0), retry_after_max_s) + min(max(chance, 0.0), 1.0) * upper_s


def retry_after_s(text: str, answered_at: str = "", *, now: datetime | None = None) -> float:
    """Seconds that a Retry-After header asks for, from 0 to the cap; 0 where it says nothing usable.

    Both forms: seconds, and an HTTP date. A date is measured against the Date header of the same
    answer (`answered_at`): the service's clock against itself, so that ours may be wrong. An answer
    without one is measured against `now`, the best that is known, and then asks for at least
    `undated_min_s`: by a wrong clock every moment may seem to be over.
    """
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,12}", text):
        return min(float(text), retry_after_max_s)
    until, answered = http_date(text), http_date(answered_at)
    if until is None:
        return 0.0
    if answered is not None:
        return min(max((until - answered).total_seconds(), 0.0), retry_after_max_s)
    if now is None:
        return 0.0
    return min(max((until - now).total_seconds(), undated_min_s), retry_after_max_s)


# Every answer has one, it is asked for three times, and many answers come within one second.
@lru_cache(maxsize=64)
def http_date(text: str) -> datetime | None:
    """The moment that an HTTP date names, in UTC, or None where it names none."""
    if not _DATE.fullmatch(text):
        return None
    try:
        found = parsedate_to_datetime(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _again(attempt: int, budget: Budget, wait: float, left_s: float) -> Retry | GiveUp:
    if attempt >= tries_max:
        return GiveUp(f"tried {attempt} times")
    if not budget.allows:
        return GiveUp("not tried again: too many calls of this run failed already")
    # The deadline wins: a service that asks for a minute does not make a call of thirty seconds last for one.
    if wait >= left_s:
        return GiveUp("not tried again: the call's time is over")
    return Retry(wait)
