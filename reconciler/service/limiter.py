"""How many requests at once, and how many in a second.

Belongs here: waiting for a turn. Not here: why a request is repeated (core/retry.py).
"""

import asyncio
from types import TracebackType

from reconciler.service.timing import Timing


class Limiter:
    """`async with limiter:` is one request's turn.

    At most `concurrency` turns at once. Turns begin at least 1/`per_second` apart (0: no spacing), so
    that no second ever sees a burst: the service counts by its own clock, not by ours.
    """

    def __init__(self, *, per_second: float, concurrency: int, timing: Timing) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._spacing_s = 1.0 / per_second if per_second > 0 else 0.0
        self._timing = timing
        self._next_at = 0.0

    async def __aenter__(self) -> None:
        await self._places.acquire()
        try:
            await self._turn()
        except BaseException:
            self._places.release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.release()

    def pause(self, seconds: float) -> None:
        """No turn begins within the next `seconds`: one throttled call slows all the others too."""
        self._next_at = max(self._next_at, self._timing.monotonic() + seconds)

    async def _turn(self) -> None:
        now = self._timing.monotonic()
        begins = max(now, self._next_at)
        self._next_at = begins + self._spacing_s
        if begins > now:
            await self._timing.sleep(begins - now)
