"""What the commands for messages, callbacks and workspaces share: a client, a workspace, a write.

Belongs here: opening the client for one command, and what a signal may do to it. Not here: what is asked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from reconciler.cli.console import output
from reconciler.cli.session import Signals, finish, settings_of
from reconciler.core.rules import resolve_workspace
from reconciler.errors import InDoubt, SettingsError
from reconciler.model.settings import Settings
from reconciler.report.json import report_json
from reconciler.report.lines import Line
from reconciler.service.client import Reader, ServiceClient, Timing, open_client, open_reader

T = TypeVar("T")


def reading(given: Mapping[str, Any], ask: Callable[[Reader, Settings], Awaitable[T]]) -> T:
    """Return what `ask` learns from a client that sends nothing but GET."""
    settings = settings_of(given["config"], given["environment"], service=True)

    async def talking(_signals: Signals) -> T:
        async with open_reader(settings.service, timing=Timing.real()) as reader:
            return await ask(reader, settings)

    return finish(talking)


def writing(given: Mapping[str, Any], ask: Callable[[ServiceClient, Settings, Signals], Awaitable[T]]) -> T:
    """Return what `ask` returns, which has a client that writes; its writes go through `once`."""
    settings = settings_of(given["config"], given["environment"], service=True)

    async def talking(signals: Signals) -> T:
        async with open_client(settings.service, timing=Timing.real()) as client:
            return await ask(client, settings, signals)

    return finish(talking)


def show(about: Mapping[str, object], lines: Sequence[Line], *, as_json: bool) -> int:
    """Print what was learnt, as JSON or as lines, and return 0."""
    if as_json:
        output.json(report_json(about))
    else:
        output.lines(lines)
    return 0


async def once(signals: Signals, call: Coroutine[Any, Any, T], what: str, look: str) -> T:
    """Return the answer of a write that is sent once, and never again.

    The first signal lets it finish, the second ends it. Where nobody knows whether it was done: InDoubt,
    which says `what` it was, and the command that lets somebody `look`.
    """
    signals.apply_begins(f"in doubt whether {what} stopped at once.\n  next: {look}\n".encode())
    call_ends = asyncio.ensure_future(call)
    told_to_end = asyncio.ensure_future(signals.stop.wait_now())
    await asyncio.wait({call_ends, told_to_end}, return_when=asyncio.FIRST_COMPLETED)
    told_to_end.cancel()
    if not call_ends.done():
        call_ends.cancel()
        await asyncio.gather(call_ends, return_exceptions=True)
        raise _doubt(what, look)
    try:
        return call_ends.result()
    except InDoubt as error:
        raise _doubt(what, look, error) from error


def _doubt(what: str, look: str, error: InDoubt | None = None) -> InDoubt:
    why = str(error) if error else "the command was stopped before the answer came."
    about = {"method": error.method, "path": error.path, "code": error.code} if error else {}
    return InDoubt(
        f"in doubt whether {what}: {why} It is not sent again.",
        next=f"{look}   (shows whether it is there)",
        status=error.status if error else 0,
        **about,
    )


async def workspace_id(client: Reader, settings: Settings, alias: str) -> str:
    """Return the service's id of a workspace by its alias; "" for the default one. Raises SettingsError."""
    if alias in ("", "default"):
        return ""
    if alias not in settings.workspaces:
        raise SettingsError(
            f"the settings have no workspace {alias!r}.",
            next=f"name one of {', '.join(settings.workspaces)}, or add it under `workspaces:`",
        )
    return resolve_workspace(alias, settings.workspaces[alias], await client.workspaces.list()).id
