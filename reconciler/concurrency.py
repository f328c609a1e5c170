"""Threads beside the event loop, and time limits for what is awaited."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
# A larger body is decoded in a thread; a page of 20 rows has some 20 thousand bytes.
thread_threshold_bytes = 64 * 1024


async def run_in_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns, run in a daemon thread of its own.

    A thread that hangs cannot be ended. A cancelled caller leaves it behind: as a daemon it holds up neither
    the loop nor the end of the process, as those of `asyncio.to_thread` do.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def told(end: Callable[[], None]) -> None:
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
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(told, end)

    start_daemon_thread(run)
    return await done


def start_daemon_thread(work: Callable[[], object]) -> None:
    """Start `work` in a thread that nobody waits for: it holds up no end of the process."""
    Thread(target=work, name="aside", daemon=True).start()


# --- Time limits. A thread is not ended by one ----------------------------------------------------


@asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[None]:
    """Cancel what is awaited inside after so many seconds. Raises TimeoutError then, and only then.

    As `asyncio.timeout`, which before Python 3.11.3 lets the cancellation out where an earlier one still
    counts. A task group of 3.11 leaves one behind in the task whose group failed: an error of the service,
    and a store that fell silent while it was closed, looked like a run that somebody had cancelled.
    """
    task = asyncio.current_task()
    asked = task.cancelling() if task else 0
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except asyncio.CancelledError:
        if limit.expired() and task and task.cancelling() <= asked:
            raise TimeoutError from None
        raise
