"""What takes longer than its limit is a TimeoutError; what somebody cancels is cancelled."""

import asyncio

import pytest
from clock import Clock

from reconciler.concurrency import time_limit


async def behind_a_failure(clock: Clock) -> None:
    """Have a task group fail, as one does where the service cannot be read."""

    async def fail() -> None:
        await clock.sleep(1)
        raise ValueError

    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())


@pytest.mark.parametrize("after_a_failure", [False, True])
def test_a_limit_is_told_as_such_whatever_failed_before(*, after_a_failure: bool) -> None:
    """Else a silent store turns the error of a run into a cancellation, which nobody asked for."""
    clock = Clock()

    async def work() -> None:
        if after_a_failure:
            await behind_a_failure(clock)
        with pytest.raises(TimeoutError):
            async with time_limit(5):
                await clock.sleep(60)

    clock.run(work())


@pytest.mark.parametrize("after_a_failure", [False, True])
def test_who_is_cancelled_meanwhile_is_cancelled(*, after_a_failure: bool) -> None:
    """A second signal must end a run, and no limit may take it for its own."""
    clock, reached = Clock(), list[str]()

    async def limited() -> None:
        if after_a_failure:
            await behind_a_failure(clock)
        async with time_limit(5):
            reached.append("inside")
            await clock.sleep(60)

    async def work() -> None:
        for seconds in (3, 8):
            task = asyncio.ensure_future(limited())
            await clock.sleep(seconds)
            task.cancel()
            with pytest.raises((asyncio.CancelledError, TimeoutError)) as caught:
                await task
            assert caught.type is (asyncio.CancelledError if seconds == 3 else TimeoutError)

    clock.run(work())
    assert reached == ["inside", "inside"]


def test_what_is_done_in_time_goes_on() -> None:
    clock = Clock()

    async def work() -> str:
        async with time_limit(5):
            await clock.sleep(1)
        await clock.sleep(60)
        return "done"

    assert clock.run(work()) == "done"
