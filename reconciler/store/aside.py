"""Work that waits for the store, beside the event loop, and never longer than so long.

A thread that hangs cannot be ended. It is left behind: it is a daemon, so it holds up neither the loop nor
the end of the process, as those of `asyncio.to_thread` do.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import Protocol, TypeVar

from reconciler.errors import StoreError

T = TypeVar("T")

# Seconds. A statement on a healthy store takes milliseconds, and the database gives up by itself before
# this (postgres.py, sqlite.py); a disk that does not answer at all has no other limit.
answer_max_s = 12.0


class Offload(Protocol):
    """Runs work that waits for the store, beside the event loop or in place; what it raises is raised."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Return what `work` returns."""


async def aside(work: Callable[[], T]) -> T:
    """Return what `work` returns, run in a thread of its own, which whoever is cancelled leaves behind."""
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

    Thread(target=run, name="store", daemon=True).start()
    return await done


async def within(
    offload: Offload,
    work: Callable[[], T],
    *,
    give_up: Callable[[StoreError], None] = lambda _: None,
    seconds: float = answer_max_s,
) -> T:
    """Return what `work` returns, or raise StoreError when it has not answered within so many seconds.

    `give_up` hears of that: whoever has waited once does not wait again for the same store.
    """
    try:
        async with asyncio.timeout(seconds):
            return await offload(work)
    except TimeoutError:
        silent = StoreError(
            f"the store did not answer within {seconds:g} s.",
            next="look at its disk or its server, then: reconciler resume",
        )
        give_up(silent)
        raise silent from None
