"""Timing: the clocks, the sleep and the chance that the client uses, as values that a test can choose.

Belongs here: those four. Not here: deciding how long to wait (core/retry.py).
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Timing:
    """`monotonic` in seconds from any zero, `sleep` for seconds, `random` from 0 to 1, `now` with zone."""

    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    random: Callable[[], float]
    now: Callable[[], datetime] = _now

    @classmethod
    def real(cls) -> "Timing":
        """The system's own."""
        return cls(monotonic=time.monotonic, sleep=asyncio.sleep, random=random.random)
