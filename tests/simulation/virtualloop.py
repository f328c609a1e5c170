"""An event loop whose time is a number and whose order is drawn from a seed; and the processes in it.

Sleeping costs nothing: when nobody can go on, time jumps to the next timer. Whoever can go on goes on in
an order that the seed decides, so that one seed is one interleaving. No threads: what is handed to another
thread runs in place, as a step of its own.

A process is a mark in the context of its tasks. A killed one never takes another step: not one `finally`
of it runs, as after a power cut. A frozen one takes none until it thaws.
"""

import asyncio
import heapq
import itertools
from asyncio import events
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from random import Random
from sqlite3 import Connection, ProgrammingError
from typing import Any, TypeVar, cast

T = TypeVar("T")

Work = Coroutine[Any, Any, T] | Generator[Any, None, T]


class Killed(BaseException):
    """The process that meets this is dead: nothing catches it, and nothing of it runs any more."""


class Stuck(AssertionError):
    """Nobody can go on, and no timer is left."""


@dataclass(eq=False)
class Process:
    """One run of the program in the simulation. `skew_s` is how wrong its clock is."""

    name: str
    alive: bool = True
    thaws_at: float = 0.0
    skew_s: float = 0.0
    steps: int = 0
    effects: int = 0  # requests sent and answered, commits begun and done
    handles: list[Connection] = field(default_factory=list)  # its open connections to the store
    on_step: Callable[["Process"], None] | None = None

    def kill(self) -> None:
        """Take it away. What it has not committed is not in the store."""
        self.alive = False
        for handle in self.handles:
            with suppress(ProgrammingError):  # closed already
                handle.rollback()


HERE: ContextVar[Process | None] = ContextVar("process", default=None)


class _Task(asyncio.Task[Any]):
    """A task that hashes by its number, so that sets of tasks have the same order in every replay."""

    number = 0

    def __hash__(self) -> int:
        return self.number


class VirtualLoop(asyncio.AbstractEventLoop):
    """See the module. `steps` counts callbacks, and `steps_max` ends a world that never does."""

    def __init__(self, chance: Random, *, steps_max: int = 100_000) -> None:
        self.steps = 0
        self._steps_max = steps_max
        self._chance = chance
        self._now = 0.0
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = itertools.count(1)
        self._tasks: list[_Task] = []
        self._ending = False
        self._dropped: list[asyncio.Handle] = []  # steps that dead processes would have taken

    def time(self) -> float:
        return self._now

    def run(self, work: Work[T]) -> T:
        """Return what `work` returns, when it has ended."""
        task = self.create_task(work)
        events._set_running_loop(self)
        try:
            while not task.done():
                self._step()
        finally:
            events._set_running_loop(None)
        return cast("T", task.result())

    def start(self, process: Process, work: Work[T]) -> "asyncio.Task[T]":
        """Begin `work` as this process."""
        context = copy_context()
        context.run(HERE.set, process)
        return self.create_task(work, context=context)

    def _step(self) -> None:
        """Run one callback, whichever the seed says, or let time pass to the next timer."""
        timers, ready = self._timers, self._ready
        while timers and (timers[0][0] <= self._now or not ready):
            when, _, timer = heapq.heappop(timers)
            if not timer.cancelled():
                self._now = max(self._now, when)
                ready.append(timer)
        if not ready:
            raise Stuck("nobody can go on, and no timer is left")
        index = self._chance.randrange(len(ready)) if len(ready) > 1 else 0
        ready[index], ready[-1] = ready[-1], ready[index]
        handle = ready.pop()
        if handle.cancelled() or not self._may_run(handle):
            return
        self.steps += 1
        if self.steps > self._steps_max:
            raise Stuck(f"{self._steps_max} steps, and no end")
        handle._run()

    def _may_run(self, handle: asyncio.Handle) -> bool:
        context: Context = handle._context  # type: ignore[attr-defined]  # public since Python 3.12 only
        process = context.get(HERE)
        if process is None or self._ending:
            return True
        if process.alive and process.thaws_at <= self._now:
            process.steps += 1
            if process.on_step is not None:
                process.on_step(process)
        if process.alive and process.thaws_at > self._now:
            timer = asyncio.TimerHandle(process.thaws_at, self._ready.append, (handle,), self, Context())
            heapq.heappush(self._timers, (process.thaws_at, next(self._numbers), timer))
            return False
        if not process.alive:
            self._dropped.append(handle)
        return process.alive

    def end(self) -> None:
        """Let everybody end who is left, dead or not, so that nothing is left for the collector.

        They are cancelled, and find that nothing of theirs reaches the disk or the wire.
        """
        self._ending = True
        self._steps_max += 20_000
        self._ready += self._dropped
        left = [task for task in self._tasks if not task.done()]
        events._set_running_loop(self)
        try:
            for _ in range(50):
                for task in left:
                    task.cancel()
                while self._ready:
                    self._step()
                left = [task for task in self._tasks if not task.done()]  # also those that began since
        finally:
            events._set_running_loop(None)
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.exception()
        self._tasks.clear()
        self._timers.clear()

    # What asyncio asks of a loop.

    def call_soon(  # type: ignore[override]  # the parent ties arguments to the callback
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]  # the parent ties arguments to the callback
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]  # the parent ties arguments to the callback
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]  # the parent ties arguments to the callback
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Work[Any], **how: Any) -> asyncio.Task[Any]:
        task = _Task(coro, loop=self, **how)
        task.number = next(self._numbers)
        self._tasks.append(task)
        return task

    def run_in_executor(  # type: ignore[override]  # the parent speaks of an awaitable, which this is
        self, _executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run it in place, as a step of its own: others may go first, and the process may die before it."""
        future = self.create_future()
        self.call_soon(_carry_out, future, func, args)
        return future

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Tasks of dead processes are never awaited, and their errors are nobody's."""

    def _timer_handle_cancelled(self, _timer: asyncio.TimerHandle) -> None:
        """Called by handles; a cancelled timer is passed over when its time comes."""


def in_no_time(work: Work[T]) -> T:
    """Return what `work` returns, in a world of its own: whoever waits takes no time, one order for all runs.

    For what waits for nothing outside of this process.
    """
    loop = VirtualLoop(Random(0), steps_max=10_000_000)  # type: ignore[abstract]  # asyncio asks for no more
    try:
        return loop.run(work)
    finally:
        loop.end()


async def pause(seconds: float) -> None:
    """Let time pass where that costs nothing; a real wait is refused."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop), "somebody would wait for this"
    await asyncio.sleep(seconds)


def _carry_out(future: "asyncio.Future[T]", func: Callable[..., T], args: tuple[Any, ...]) -> None:
    try:
        result = func(*args)
    except Exception as error:  # noqa: BLE001 - handed on to whoever waits
        if not future.done():
            future.set_exception(error)
    else:
        if not future.done():
            future.set_result(result)
