"""`callbacks update` and `callbacks mark`: look, show, ask, look again, write once, and read back.

Belongs here: the order of these steps. Not here: what an edit makes of a callback
(messaging/callback_edits.py), options (cli/commands/callbacks.py), lines
(messaging/reports.py).

Success is what reads back. A write whose answer was lost is done where it reads back; else it is in doubt.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from reconciler.cli.client_session import run_with_client, run_with_reader, send_write_once
from reconciler.cli.session import Signals
from reconciler.errors import InDoubt, Rejected, ServiceError, StalePlan
from reconciler.messaging.callback_edits import (
    edit_callback,
    find_field_edits,
    find_untaken_fields,
    select_unmarked_calls,
    shows_key,
)
from reconciler.messaging.callbacks import CallStatus
from reconciler.messaging.client import ServiceClient, ServiceReader
from reconciler.messaging.values import Callback, CallbackCall, CallbackEdit, FieldEdit
from reconciler.model.settings import Settings
from reconciler.service.http.limiter import LookAgain

looks_max = 8  # of one write whose looks were too old; then nothing is sent

T = TypeVar("T")
Edited = tuple[Callback, tuple[FieldEdit, ...]]


def preview(given: Mapping[str, Any], callback_id: str, edit: CallbackEdit) -> Edited:
    """Return the callback as it is, and what the edit would change; the client cannot write."""

    async def look(reader: ServiceReader, _settings: Settings) -> Edited:
        live = await reader.callbacks.get(callback_id)
        return live, find_field_edits(live, edit_callback(live, edit))

    return run_with_reader(given["config"], given["environment"], look)


def update(
    given: Mapping[str, Any], callback_id: str, edit: CallbackEdit, agree: Callable[[Edited], None]
) -> Edited:
    """Return the callback as it reads back, and what was changed; without a change nothing is written.

    `agree` gets the callback as it is and the changes, and may raise Refused. Raises StalePlan where the
    callback was changed meanwhile, Rejected where it reads back otherwise, InDoubt where nobody knows.
    """

    async def work(client: ServiceClient, settings: Settings, signals: Signals) -> Edited:
        live = await client.callbacks.get(callback_id)
        edits = find_field_edits(live, edit_callback(live, edit))
        if not edits:
            return live, ()
        agree((live, edits))
        written = write_edit(client, live, edit, settings.service.limits.settle_s)
        return await send_write_once(
            signals, written, f"the callback {callback_id} was updated;", _look(callback_id)
        ), edits

    return run_with_client(given["config"], given["environment"], work)


async def write_edit(client: ServiceClient, shown: Callback, edit: CallbackEdit, settle_s: float) -> Callback:
    """Return the callback as it reads back after one write. Raises as `update` does."""
    wanted = edit_callback(shown, edit)

    async def missing() -> tuple[Callback, tuple[str, ...]]:
        found = await client.callbacks.get(shown.callback_id)
        return found, find_untaken_fields(wanted, found)

    try:
        await _replace(client, shown, edit)
    except InDoubt as error:
        hidden = edit.key is not None  # a key that is not shown proves nothing
        return await _after_doubt(error, missing, settle_s, lambda found: not hidden or shows_key(found))
    return await _read_back(
        f"PUT /callbacks/{shown.callback_id}", missing, settle_s, _look(shown.callback_id)
    )


async def _replace(client: ServiceClient, shown: Callback, edit: CallbackEdit) -> None:
    """Look and write, with next to no time between them: what others changed since it was shown stays."""
    late: LookAgain | None = None
    for _ in range(looks_max):
        try:
            async with client.at_once(1):
                await _replace_as_shown(client, shown, edit)
                return
        except LookAgain as error:
            late = error
    assert late is not None  # noqa: S101 - each look was too old
    raise late


async def _replace_as_shown(client: ServiceClient, shown: Callback, edit: CallbackEdit) -> None:
    found = await client.callbacks.get(shown.callback_id)
    if find_field_edits(shown, found):
        what = "the callback was changed after it was shown; nothing was written."
        raise StalePlan(what, next="run it again")
    await client.callbacks.replace(edit_callback(found, edit))


def mark(
    given: Mapping[str, Any],
    callback_id: str,
    wanted: Callable[[Sequence[CallbackCall]], tuple[CallbackCall, ...]],
    status: CallStatus,
    agree: Callable[[tuple[CallbackCall, ...]], None],
) -> tuple[CallbackCall, ...]:
    """Return the calls that were marked, as they read back; those that have the status are left alone.

    `wanted` chooses among the calls of the callback, and may raise. Raises as `update` does.
    """

    async def work(client: ServiceClient, settings: Settings, signals: Signals) -> tuple[CallbackCall, ...]:
        calls = select_unmarked_calls(wanted(await client.callbacks.calls(callback_id)), status)
        if not calls:
            return ()
        agree(calls)
        written = write_marks(client, callback_id, calls, status, settings.service.limits.settle_s)
        return await send_write_once(
            signals, written, f"calls of {callback_id} were marked;", _look_at_calls(callback_id)
        )

    return run_with_client(given["config"], given["environment"], work)


def preview_mark(
    given: Mapping[str, Any],
    callback_id: str,
    wanted: Callable[[Sequence[CallbackCall]], tuple[CallbackCall, ...]],
    status: CallStatus,
) -> tuple[CallbackCall, ...]:
    """Return the calls that would be marked; the client cannot write."""

    async def look(reader: ServiceReader, _settings: Settings) -> tuple[CallbackCall, ...]:
        return select_unmarked_calls(wanted(await reader.callbacks.calls(callback_id)), status)

    return run_with_reader(given["config"], given["environment"], look)


async def write_marks(
    client: ServiceClient,
    callback_id: str,
    calls: tuple[CallbackCall, ...],
    status: CallStatus,
    settle_s: float,
) -> tuple[CallbackCall, ...]:
    """Return these calls as they read back after one write. Raises Rejected, InDoubt."""
    ids = [one.call_id for one in calls]

    async def missing() -> tuple[tuple[CallbackCall, ...], tuple[str, ...]]:
        shown = {one.call_id: one for one in await client.callbacks.calls(callback_id) if one.call_id in ids}
        other = tuple(one for one in ids if one not in shown or shown[one].status != status)
        return tuple(shown.values()), other

    try:
        await client.callbacks.mark_calls(callback_id, ids, status)
    except InDoubt as error:
        return await _after_doubt(error, missing, settle_s, lambda _found: True)
    return await _read_back(
        f"PUT /callbacks/{callback_id}/calls", missing, settle_s, _look_at_calls(callback_id)
    )


async def _read_back(
    what: str, missing: Callable[[], Awaitable[tuple[T, tuple[str, ...]]]], settle_s: float, look: str
) -> T:
    """Return what is shown after a write that was answered; once more after the settle window."""
    names: tuple[str, ...] = ()
    for wait_s in (0.0, settle_s):
        await asyncio.sleep(wait_s)
        try:
            found, names = await missing()
        except ServiceError as error:
            raise InDoubt(f"it was accepted, and could not be read back: {error}", next=look) from error
        if not names:
            return found
    raise Rejected(
        f"{what}: the service answered yes, and shows otherwise: {', '.join(names)}.", next=f"see it: {look}"
    )


async def _after_doubt(
    doubt: InDoubt,
    missing: Callable[[], Awaitable[tuple[T, tuple[str, ...]]]],
    settle_s: float,
    proves: Callable[[T], bool],
) -> T:
    """Return what is shown where it proves that the write was done; else raise the doubt."""
    await asyncio.sleep(settle_s)  # until then it may still land
    try:
        found, names = await missing()
    except ServiceError:
        raise doubt from None
    if names or not proves(found):
        raise doubt
    return found


def _look(callback_id: str) -> str:
    return f"reconciler callbacks get {callback_id}"


def _look_at_calls(callback_id: str) -> str:
    return f"reconciler callbacks calls {callback_id}"
