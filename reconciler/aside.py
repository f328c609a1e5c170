"""Work in a thread beside the event loop: a slow disk, a large body to decode.

A thread that hangs cannot be ended. It is left behind: it is a daemon, so it holds up neither the loop nor
the end of the process, as those of `asyncio.to_thread` do.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
beside_bytes = 64 * 1024  # a larger body is decoded in a thread; a page of 20 rows has some 20 thousand


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

    Thread(target=run, name="aside", daemon=True).start()
    return await done
