"""So many at a time: a fixed number of workers over any number of items, that can be cut short."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from reconciler.apply.session import Session

T = TypeVar("T")

# How long what is under way may take once the run was asked to stop. Seconds: build systems kill
# after 10, and a call that ends in time is better than one in doubt.
grace_s = 8.0


async def work_through(run: Session, items: Sequence[T], each: Callable[[T], Awaitable[None]]) -> None:
    """Return when `each` has seen every item, or the run has to end.

    Takes no more items once the run is asked to stop; what is under way is cancelled when it has to
    stop at once, or when its time of grace is over, and has to end in good order by itself.
    """
    queue = iter(items)
    count = min(run.options.concurrency, len(items))
    workers = [asyncio.create_task(_work(run, queue, each)) for _ in range(count)]
    hurry = asyncio.create_task(_hurry(run, workers))
    try:
        ended = await asyncio.gather(*workers, return_exceptions=True)
    finally:
        hurry.cancel()
        watched = await asyncio.gather(hurry, return_exceptions=True)
    for error in (*ended, *watched):
        if isinstance(error, Exception):
            raise error


async def _work(run: Session, queue: Iterator[T], each: Callable[[T], Awaitable[None]]) -> None:
    for item in queue:
        if run.over():
            return
        await each(item)


async def _hurry(run: Session, workers: list["asyncio.Task[None]"]) -> None:
    """Cancel the workers when the run has to end at once."""
    await run.stop.wait_asked()
    now = asyncio.ensure_future(run.stop.wait_now())
    grace = asyncio.ensure_future(run.timing.sleep(grace_s))
    try:
        await asyncio.wait({now, grace}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        now.cancel()
        grace.cancel()
    for worker in workers:
        worker.cancel()
