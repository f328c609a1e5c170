"""A limit in time for what is awaited. Not here: threads, which no limit ends (aside.py)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


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
