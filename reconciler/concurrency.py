"""Work that runs side by side, time limits, and the cyclic garbage collector: all below any subject."""

import asyncio
import gc
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import copy_context
from itertools import count
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
# A larger body is decoded in a thread; a page of 20 rows has some 20 thousand bytes.
thread_threshold_bytes = 64 * 1024


async def run_in_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns, run in a daemon thread beside the loop.

    A thread that hangs cannot be ended. A cancelled caller leaves it behind: as a daemon it holds up neither
    the loop nor the end of the process, as those of `asyncio.to_thread` do.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def finish(end: Callable[[], None]) -> None:
        if not done.done():
            end()

    def run() -> None:
        try:
            result = context.run(work)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            failure = error
            end = lambda: done.set_exception(failure)  # noqa: E731 - one of two words
        else:
            end = lambda: done.set_result(result)  # noqa: E731 - the other one
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            loop.call_soon_threadsafe(finish, end)

    start_daemon_thread(run)
    return await done


# The names of our threads. The number is that of the work: whoever looks sees whether it is still the same.
BUSY, IDLE = "aside", "idle aside"
_works = count(1)
# Seconds that a thread without work waits for more. An apply commits hundreds of times a minute, and starting
# a thread takes as long as a small commit.
_idle_s = 0.2


class _Worker:
    """A daemon thread, which is used again when its work has ended."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self.thread = Thread(target=self._work, daemon=True)

    def begin(self, work: Callable[[], object]) -> None:
        """Have the thread do this, which does nothing else now."""
        self.thread.name = f"{BUSY} {next(_works)}"
        self._queue.put(work)
        if not self.thread.ident:
            self.thread.start()

    def _work(self) -> None:
        while True:
            try:
                work = self._queue.get(timeout=_idle_s)
            except Empty:
                with suppress(ValueError):
                    _idle.remove(self)
                    return
                continue  # it was chosen a moment ago: its work is on its way
            work()
            del work  # what it holds is not kept alive while the thread waits
            self.thread.name = IDLE
            _idle.append(self)


_idle: list[_Worker] = []
if sys.platform != "win32":
    # A fork takes no threads along: nobody in the child would take what is put there.
    os.register_at_fork(after_in_child=_idle.clear)


def start_daemon_thread(work: Callable[[], object]) -> None:
    """Start `work` in a daemon thread that does nothing else: it does not delay the end of the process."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.begin(work)


async def gather_limited(items: Sequence[T], work: Callable[[T], Awaitable[R]], limit: int) -> list[R]:
    """Return the results in the order of the items, with at most `limit` of them under way."""
    results: dict[int, R] = {}
    queue = iter(enumerate(items))

    async def worker() -> None:
        for index, item in queue:
            results[index] = await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(limit, len(items))):
            group.create_task(worker())
    return [results[index] for index in range(len(items))]


# --- Time limits. A thread is not ended by one ----------------------------------------------------


def time_limit(seconds: float) -> AbstractAsyncContextManager[None]:
    """Cancel what is awaited inside after so many seconds. Raises TimeoutError then, and only then.

    As `asyncio.timeout`, which before Python 3.11.3 lets the cancellation out where an earlier one still
    counts. A task group of 3.11 leaves one behind in the task whose group failed: an error of the service,
    and a store that fell silent while it was closed, looked like a run that was cancelled.
    """
    return _TimeLimit(seconds)


class _TimeLimit:
    """A class, because a generator would cost every call to the service twice as much."""

    def __init__(self, seconds: float) -> None:
        self._limit = asyncio.timeout(seconds)
        self._task: asyncio.Task[Any] | None = None
        self._asked = 0

    async def __aenter__(self) -> None:
        self._task = asyncio.current_task()
        self._asked = self._task.cancelling() if self._task else 0
        await self._limit.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._limit.__aexit__(kind, error, trace)
        cancelled = kind is not None and issubclass(kind, asyncio.CancelledError)
        if cancelled and self._limit.expired() and self._task and self._task.cancelling() <= self._asked:
            raise TimeoutError from None


# --- The cyclic garbage collector -----------------------------------------------------------------


@contextmanager
def pause_collector() -> Iterator[None]:
    """Load many values without it: it would walk all of them again and again.

    What is loaded is left to it afterwards: a program that plans many times must not keep all of it for ever.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
