"""Timing: the clocks, the sleep and the chance that the client uses, as values that a test can choose.

Belongs here: those four. Not here: deciding how long to wait (core/calls.py).
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial


def _now() -> datetime:
    return datetime.now(UTC)


def elapsed() -> float:
    """Return seconds that only rise, those included in which this machine slept."""
    # Not `time.monotonic`: on Linux and macOS it stands still while the machine sleeps. A lease and a settle
    # window do not, and a write that waited through a night must be known to be old.
    return _elapsed()


def _clock() -> Callable[[], float]:
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):  # Linux; macOS, whose own counts sleep
        number = getattr(time, name, None)
        if number is not None:
            return partial(time.clock_gettime, number)
    return time.monotonic


_elapsed = _clock()


@dataclass(frozen=True, slots=True)
class Timing:
    """`monotonic` in seconds from any zero, `sleep` for seconds, `random` from 0 to 1, `now` with zone.

    `gap_s` is how many seconds after the answer to its look a write may leave. A test that counts calls
    allows more than a busy machine takes.
    """

    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    random: Callable[[], float]
    now: Callable[[], datetime] = _now
    gap_s: float = 0.05

    @classmethod
    def real(cls) -> "Timing":
        """The system's own."""
        return cls(monotonic=elapsed, sleep=asyncio.sleep, random=random.random)
