"""How fast one credential may call, as a value: turns, halving, growing back.

Belongs here: the arithmetic of a pace. Not here: whose it is and where it is kept (service/http/limiter.py
keeps one in the process, store/pace.py one for everybody), clocks and sleeping (`now` comes in).

    turns ──▶ reserve ──▶ begin here, so far apart       throttled ──▶ slowed ──▶ half the rate
                                                            time goes by ──▶ rate_at ──▶ more again

`now` is seconds on whatever clock the pace is kept by; that clock may be turned back.
"""

from msgspec import Struct

floor = 0.5  # turns a second; slower, a call with its three tries would never end
halving_s = 1.0  # seconds between two halvings: sixteen calls refused at once say one thing, and once

# Of the ceiling, a second. Services count by the second, so probing beyond what they allow costs one
# refusal at a time; adding (and not doubling) lets programs that share a quota come to equal shares,
# and from nothing to everything it takes twenty seconds, less than one call's deadline.
growth = 0.05


class Pace(Struct, frozen=True):
    """The rate, in turns a second, as it was at `changed_at`; no turn begins before `next_at`.

    `seen_at` is when it was last asked: a clock that shows less than that was turned back.
    """

    rate: float
    changed_at: float
    next_at: float
    seen_at: float


def begun(now: float, rate: float) -> Pace:
    """Return the pace of a credential that was not used before; its first turn begins at once."""
    return Pace(rate=rate, changed_at=now - halving_s, next_at=now, seen_at=now)


def rate_at(pace: Pace, now: float, ceiling: float) -> float:
    """Return the turns a second at `now`: what the last halving left, grown since, up to the ceiling."""
    grown = pace.rate + growth * ceiling * max(now - pace.changed_at, 0.0)
    return min(max(grown, floor), ceiling)


def reserve(pace: Pace, now: float, turns: int, ceiling: float) -> tuple[Pace, float, float]:
    """Return the pace after `turns` turns were taken from it, when the first begins, and their distance.

    They begin after everything that was reserved before, and never sooner than now: what was not used
    is gone, and nobody gets a burst for having waited. `ceiling` (above 0) is the caller's own limit.
    """
    pace = _on_this_clock(pace, now)
    spacing_s = 1.0 / rate_at(pace, now, ceiling)
    begins_at = max(now, pace.next_at)
    return (
        Pace(pace.rate, pace.changed_at, next_at=begins_at + turns * spacing_s, seen_at=now),
        begins_at,
        spacing_s,
    )


def slowed(pace: Pace, now: float, ceiling: float, asked_s: float = 0.0) -> Pace:
    """Return the pace after a call was throttled: half the rate, and no turn for `asked_s` seconds.

    It grows again when that pause is over. Within a second of a halving, and in its pause, there is no other.
    """
    pace = _on_this_clock(pace, now)
    resumes_at = now + max(asked_s, 0.0)
    next_at = max(pace.next_at, resumes_at)
    if now < pace.changed_at + halving_s:
        return Pace(pace.rate, pace.changed_at, next_at, seen_at=now)
    halved = max(rate_at(pace, now, ceiling) / 2.0, min(floor, ceiling))
    return Pace(halved, resumes_at, next_at, seen_at=now)


def _on_this_clock(pace: Pace, now: float) -> Pace:
    """The same pace where the clock was turned back: what lay ahead lies ahead just as far.

    How long it really was since the last look is unknown; taking it for nothing errs on the slow side.
    """
    back_s = max(pace.seen_at - now, 0.0)
    if not back_s:
        return pace
    return Pace(pace.rate, pace.changed_at - back_s, pace.next_at - back_s, seen_at=now)
