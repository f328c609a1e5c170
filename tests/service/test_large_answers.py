"""An answer of more than 64 KiB is decoded in a thread: the loop, the deadline and an interrupt go on."""

import asyncio
from collections.abc import Callable, Coroutine
from threading import Event, current_thread, main_thread
from typing import Any

import pytest
from service.support import Wire, answer, service
from waiting import patience_s

from reconciler.concurrency import thread_threshold_bytes
from reconciler.errors import Unavailable
from reconciler.service.answers import Answer, Call
from reconciler.service.http.limiter import Timing
from reconciler.service.http.transport import Transport

CALL = Call("GET", "/contacts", "contact")
LARGE = b'{"text":"' + b"x" * thread_threshold_bytes + b'"}'


def _transport(status: int, body: bytes, **limits: Any) -> Transport:
    settings = service(**limits)
    wire = Wire(answer(status, body))
    return Transport(settings, wire, timing=Timing.real(), vendor="service", read_only=True)


def _within(work: Coroutine[Any, Any, None]) -> None:
    async def main() -> None:
        async with asyncio.timeout(patience_s):
            await work

    asyncio.run(main())


def _waiting(event: Event) -> Callable[[Answer], bool]:
    """Reading that takes until `event`, as a hostile body would. On the loop it reads nothing."""
    return lambda _answer: current_thread() is not main_thread() and event.wait(patience_s)


def test_the_loop_goes_on_while_a_large_answer_is_decoded() -> None:
    """The lease of the lock is renewed there, signals arrive there."""
    event = Event()

    async def work() -> None:
        asyncio.get_running_loop().call_later(0.01, event.set)
        assert await _transport(200, LARGE).call(CALL, _waiting(event))

    _within(work())


def test_a_small_answer_is_decoded_at_once() -> None:
    """A thread costs more than reading twenty rows."""

    async def work() -> None:
        reader = await _transport(200, b"{}").call(CALL, lambda _answer: current_thread())
        assert reader is current_thread()

    _within(work())


def test_the_deadline_of_a_call_counts_decoding() -> None:
    """401 KiB once took 38 s of a call that had 5."""
    event = Event()

    async def work() -> None:
        # Without a deadline the answer is read then. Timers are heard in their order, however late that is.
        asyncio.get_running_loop().call_later(0.5, event.set)
        with pytest.raises(Unavailable, match="could not be read in time"):
            await _transport(200, LARGE, timeout_s=0.05).call(CALL, _waiting(event))

    try:
        _within(work())
    finally:
        event.set()


def test_an_interrupt_does_not_wait_for_decoding() -> None:
    """Ctrl-C once took 27 s."""
    event = Event()

    async def work() -> None:
        loop, begun = asyncio.get_running_loop(), asyncio.Event()

        def read(_answer: Answer) -> bool:
            loop.call_soon_threadsafe(begun.set)
            return event.wait(patience_s)

        call = asyncio.create_task(_transport(200, LARGE).call(CALL, read))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    try:
        _within(work())
    finally:
        event.set()
