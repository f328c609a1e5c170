"""Why a run ends before its plan does: asked from outside, out of time, or because going on is wrong.

Values and a flag; what follows from them is in `engine.py` and `exits.py`.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, Literal, TypeVar

from msgspec import Struct

T = TypeVar("T")

StopCause = Literal[
    "interrupted",  # a signal
    "deadline",  # the run's own time is over
    "credentials",  # refused, or the day's quota is spent: every further call would be too
    "lock",  # somebody else is the writer now
    "store",  # what is done could not be recorded
    "unconfirmed",  # what was created is not found by the lookup that decides about every create
    "fail-fast",  # asked for with --fail-fast
    "mistake",  # ours: a program that is wrong must not go on writing
]


class StopReason(Struct, frozen=True):
    """What ended the run, in a sentence, and what to do next."""

    reason: StopCause
    what: str
    next: str = ""


class StopFlag:
    """Set from outside by signals. First: finish what is under way. Second: stop at once.

    Belongs to one event loop, once a run has begun; `signal` may be called before that too.
    """

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._now = asyncio.Event()

    def signal(self) -> None:
        """Ask the run to end; asked a second time, it ends at once."""
        (self._now if self._asked.is_set() else self._asked).set()

    @property
    def asked(self) -> bool:
        """Whether nothing new may begin."""
        return self._asked.is_set()

    async def wait_asked(self) -> None:
        """Return when the run is asked to end."""
        await self._asked.wait()

    async def unless_asked(self, work: Awaitable[T]) -> T | None:
        """Return what `work` returns, or None where the run is asked to end first. Raises what it raises."""
        working, asked = asyncio.ensure_future(work), asyncio.ensure_future(self.wait_asked())
        try:
            await asyncio.wait({working, asked}, return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            # Both, and waited for: a task that nobody awaits would say so at the end of the process.
            for task in (working, asked):
                task.cancel()
            await asyncio.gather(working, asked, return_exceptions=True)

    async def wait_now(self) -> None:
        """Return when the run has to end at once."""
        await self._now.wait()

    async def patiently(self, work: "asyncio.Task[Any]", limits_s: tuple[float, float, float]) -> None:
        """Wait for `work`, which removes something on the way out, and return when it is done or time is up.

        It has the first limit; after a signal the second, after a second signal the third. Where a signal
        cancels the caller instead, before this or during it, the wait becomes shorter and goes on;
        CancelledError is raised afterwards.
        """
        unasked_s, asked_s, hurried_s = limits_s
        this = asyncio.current_task()
        try:
            if not self.asked and not (this is not None and this.cancelling()):
                await _wait_for_either(work, self.wait_asked(), unasked_s)
        finally:
            await _wait_for_either(work, self.wait_now(), asked_s)
            await asyncio.wait({work}, timeout=hurried_s)


async def _wait_for_either(
    work: "asyncio.Task[Any]", signal: Coroutine[Any, Any, None], limit_s: float
) -> None:
    """Return when `work` is done, at this signal, or after so many seconds."""
    heard = asyncio.create_task(signal)
    try:
        await asyncio.wait({work, heard}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        heard.cancel()
