"""So many at a time: workers that share a queue, and that can be cut short."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from itertools import takewhile
from typing import Any, TypeVar

from reconciler.engine.session import Session

T = TypeVar("T")

# How long what is under way may take once the run was asked to stop. Seconds: build systems kill
# after 10, and a call that ends in time is better than one in doubt.
grace_s = 8.0


def share_queue(run: Session, items: Sequence[T], goes_on: Callable[[], bool]) -> list[Iterator[T]]:
    """Return a queue for each worker: one that they share, and that ends as soon as nothing may begin."""
    # No lock: nothing awaits between one item and the next.
    shared = takewhile(lambda _: goes_on(), items)
    return [shared] * min(run.context.limits.concurrency, len(items))


async def run_workers(run: Session, workers: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Return when these workers have ended, or the run has to end.

    What is under way is cancelled when the run has to stop at once, or when its time of grace is over, and
    has to end in good order by itself.
    """
    tasks = [asyncio.create_task(worker) for worker in workers]
    hurry = asyncio.create_task(_cancel_on_stop(run, tasks))
    # All of them end before anything is raised: what one has sent must not go on unwatched.
    try:
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        hurry.cancel()
        watched = await asyncio.gather(hurry, return_exceptions=True)
    for error in (*ended, *watched):
        if isinstance(error, Exception):
            raise error


async def _cancel_on_stop(run: Session, tasks: Sequence["asyncio.Task[None]"]) -> None:
    """Cancel the workers when the run has to end at once."""
    stop = run.context.stop
    await stop.wait_asked()
    now = asyncio.ensure_future(stop.wait_now())
    grace = asyncio.ensure_future(run.context.timing.sleep(grace_s))
    try:
        await asyncio.wait({now, grace}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        now.cancel()
        grace.cancel()
    for task in tasks:
        task.cancel()
