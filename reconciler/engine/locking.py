"""The lock in the service is taken while earlier runs are settled and the plan is made: it waits anyway.

    start ─▶ ticket, wait ───────────────────────────▶ ours: write
        └▶ settle earlier runs ─▶ may read ─▶ plan ──┘

Not here: how the lock is taken, and from when on a plan that is made meanwhile is good
(applying/service_lock.py).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from reconciler.engine.context import RunContext
from reconciler.instrumentation import start_stopwatch, step_log

T = TypeVar("T")


class PendingServiceLock:
    """The lock in the service of one run, on its way."""

    def __init__(self, context: RunContext, waits: Callable[[str], None]) -> None:
        self._context = context
        self._lock = context.service_lock
        self._waits = waits
        self._taking: asyncio.Task[None] | None = None

    @property
    def used(self) -> bool:
        """Whether this run takes the lock at all."""
        return self._lock.used

    def start(self) -> None:
        """Begin to take the lock. Nothing happens where it was begun before, or is not used."""
        if self._taking is not None:
            return
        if self._lock.says:
            self._waits(self._lock.says)
        self._taking = asyncio.create_task(self._take())

    async def read(self, reading: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what `reading` does, read under the lock; it is taken when this returns.

        It reads while the lock is being taken, and once more where another run may have written since.
        Raises LockHeld, Interrupted, ServiceError.
        """
        self.start()
        assert self._taking is not None  # noqa: S101 - it was started
        while not self._taking.done():
            if not await self._may_read(self._taking):
                break
            number, found = self._lock.readings, asyncio.create_task(reading())
            try:
                await asyncio.wait({found, self._taking}, return_when=asyncio.FIRST_COMPLETED)
                if not found.done():
                    self._taking.result()  # where it failed, nothing is read any more
                result = await found
                await asyncio.wait({self._taking})
            finally:
                await _cancel_task(found)
            self._taking.result()
            if self._lock.readings == number:
                return result
        self._taking.result()
        return await reading()

    async def stop(self) -> None:
        """Go on with nothing. A ticket that stands is removed by whoever holds the lock."""
        if self._taking is not None:
            await _cancel_task(self._taking)

    async def _take(self) -> None:
        took = start_stopwatch(self._context.timing.monotonic)
        if await self._lock.take():
            step_log.info("run %s holds the lock in the service, %.1f s", self._context.run, took())

    async def _may_read(self, taking: "asyncio.Task[None]") -> bool:
        """Whether reading may begin before the lock is taken."""
        allowed = asyncio.create_task(self._lock.may_read.wait())
        try:
            await asyncio.wait({allowed, taking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel_task(allowed)
        return not taking.done()


async def _cancel_task(task: "asyncio.Task[Any]") -> None:
    """End a task that nobody waits for any more. Its error is of no interest."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


@asynccontextmanager
async def acquire_service_lock(
    context: RunContext, waits: Callable[[str], None]
) -> AsyncIterator[PendingServiceLock]:
    """Yield the lock in the service of this run, not begun; nothing of it goes on afterwards.

    `waits` hears that the run takes the lock, or why it does without.
    """
    found = PendingServiceLock(context, waits)
    try:
        yield found
    finally:
        await found.stop()
