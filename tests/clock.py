"""Time that is a number: it passes only when nobody can go on, and then to the first who wakes.

For what runs in one process. Sleeping costs nothing, one sleeper's time is everybody's, and a thread that is
at work keeps time from passing.
"""

import asyncio
import threading
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from selectors import DefaultSelector
from typing import Any, TypeVar

from reconciler.concurrency import IDLE

T = TypeVar("T")


class Clock:
    """A clock that stands still until it is told to go on, or until all who run under it sleep."""

    begins = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)

    def __init__(self) -> None:
        self.elapsed_s = 0.0

    @property
    def now(self) -> datetime:
        """The same instant as a date in UTC."""
        return self.begins + timedelta(seconds=self.elapsed_s)

    def __call__(self) -> datetime:
        return self.now

    def monotonic(self) -> float:
        """Return the seconds that passed."""
        return self.elapsed_s

    def pass_s(self, seconds: float) -> None:
        """Let this much time pass."""
        self.elapsed_s += seconds

    async def sleep(self, seconds: float) -> None:
        """Sleep; elsewhere than under `run` that would be a real wait, and is refused."""
        assert isinstance(asyncio.get_running_loop(), _Loop), "somebody would wait for this"
        await asyncio.sleep(seconds)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns, in an event loop of its own whose time is this clock's."""
        with asyncio.Runner(loop_factory=lambda: _Loop(self)) as runner:
            return runner.run(work)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        super().__init__(_Selector(clock))

    def time(self) -> float:
        return self._clock.elapsed_s


class _Selector(DefaultSelector):
    """Where the loop would wait for its first timer, it lets that time pass."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._others = _busy_threads()  # a thread that another test left behind may hang for ever
        super().__init__()

    def select(self, timeout: float | None = None) -> Any:
        if not timeout:
            return super().select(timeout)
        if _busy_threads() - self._others:
            return super().select(0.001)  # one of them will say when it has ended, or has just said so
        ready = super().select(0)
        if not ready:
            self._clock.pass_s(timeout)
        return ready


def _busy_threads() -> set[tuple[threading.Thread, str]]:
    # By name, which is another one for each work: a thread that had not ended an earlier one may do ours.
    return {(one, one.name) for one in threading.enumerate() if one.name != IDLE}
