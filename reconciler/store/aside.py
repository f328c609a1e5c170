"""Work that waits for the store, beside the event loop, and never longer than so long."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from reconciler.concurrency import time_limit
from reconciler.errors import StoreError

Answer = TypeVar("T")

# Seconds. A statement on a healthy store takes milliseconds, and the database gives up by itself before
# this (postgres.py, sqlite.py); a disk that does not answer at all has no other limit.
store_answer_max_s = 12.0


class Offload(Protocol):
    """Runs work that waits for the store, beside the event loop or in place; what it raises is raised."""

    def __call__(self, work: Callable[[], Answer], /) -> Awaitable[Answer]:
        """Return what `work` returns."""


async def await_store(
    offload: Offload,
    work: Callable[[], Answer],
    *,
    give_up: Callable[[StoreError], None] = lambda _: None,
    seconds: float = store_answer_max_s,
) -> Answer:
    """Return what `work` returns, or raise StoreError when it has not answered within so many seconds.

    `give_up` hears of that: whoever has waited once does not wait again for the same store.
    """
    try:
        async with time_limit(seconds):
            return await offload(work)
    except TimeoutError:
        silent = StoreError(
            f"the store did not answer within {seconds:g} s.",
            next="look at its disk or its server, then: reconciler resume",
        )
        give_up(silent)
        raise silent from None
