"""What the commands about the service share: a client, a workspace, a write that is sent once."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from reconciler.cli.console import output
from reconciler.cli.session import Signals, load_settings, run_to_end
from reconciler.errors import InDoubt
from reconciler.messaging.client import ServiceClient, ServiceReader, open_service_client, open_service_reader
from reconciler.model.settings import Settings
from reconciler.report.json import report_json
from reconciler.report.lines import Line
from reconciler.service.http.limiter import Timing

T = TypeVar("T")


def run_with_reader(
    config: str | None, environment: str | None, ask: Callable[[ServiceReader, Settings], Awaitable[T]]
) -> T:
    """Return what `ask` returns; it gets a client that sends nothing but GET."""
    settings = load_settings(config, environment, service=True)

    async def work(_signals: Signals) -> T:
        async with open_service_reader(settings.service, timing=Timing.real()) as reader:
            return await ask(reader, settings)

    return run_to_end(work)


def run_with_client(
    config: str | None,
    environment: str | None,
    ask: Callable[[ServiceClient, Settings, Signals], Awaitable[T]],
) -> T:
    """Return what `ask` returns; it gets a client that writes. Its writes go through `send_write_once`."""
    settings = load_settings(config, environment, service=True)

    async def work(signals: Signals) -> T:
        async with open_service_client(settings.service, timing=Timing.real()) as client:
            return await ask(client, settings, signals)

    return run_to_end(work)


def show(about: Mapping[str, object], lines: Sequence[Line], *, as_json: bool) -> int:
    """Print what was learnt, as JSON or as lines, and return 0."""
    if as_json:
        output.json(report_json(about))
    else:
        output.lines(lines)
    return 0


async def send_write_once(signals: Signals, call: Coroutine[Any, Any, T], what: str, look: str) -> T:
    """Return the answer of a write that is sent once, and never again.

    The first signal lets it finish, the second ends it. Raises InDoubt if it is unknown whether the write was
    done: `what` names the write in the error, `look` is the command that shows whether it is there.
    """
    signals.apply_begins(f"it is not known whether {what}: stopped at once.\n  next: {look}\n".encode())
    call_ends = asyncio.ensure_future(call)
    stop_asked = asyncio.ensure_future(signals.stop.wait_now())
    await asyncio.wait({call_ends, stop_asked}, return_when=asyncio.FIRST_COMPLETED)
    stop_asked.cancel()
    if not call_ends.done():
        call_ends.cancel()
        await asyncio.gather(call_ends, return_exceptions=True)
        raise _make_in_doubt(what, look)
    try:
        return call_ends.result()
    except InDoubt as error:
        raise _make_in_doubt(what, look, error) from error


def _make_in_doubt(what: str, look: str, error: InDoubt | None = None) -> InDoubt:
    why = str(error) if error else "the command was stopped before the answer came."
    about = {"method": error.method, "path": error.path, "code": error.code} if error else {}
    return InDoubt(
        f"it is not known whether {what}: {why} Nothing is sent again.",
        next=f"{look}   (shows whether it is there)",
        status=error.status if error else 0,
        **about,
    )
