"""Timing: the clock, the sleep and the chance that the client uses, as values that a test can choose.

Belongs here: those three. Not here: deciding how long to wait (core/retry.py).
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """`monotonic` in seconds from any zero, `sleep` for seconds, `random` from 0 to 1."""

    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    random: Callable[[], float]

    @classmethod
    def real(cls) -> "Timing":
        """The system's own."""
        return cls(monotonic=time.monotonic, sleep=asyncio.sleep, random=random.random)
