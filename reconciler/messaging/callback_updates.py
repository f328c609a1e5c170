"""Changes of callbacks and of their calls: look again, write once, and read back.

A write counts as done when it reads back. One whose answer was lost counts as done too if it reads back;
otherwise it is in doubt. What an edit makes of a callback: callback_edits.py.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from reconciler.errors import InDoubt, Rejected, ServiceError, StalePlan
from reconciler.messaging.callback_edits import (
    edit_callback,
    find_field_edits,
    find_untaken_fields,
    shows_key,
)
from reconciler.messaging.client import ServiceClient, ServiceReader
from reconciler.messaging.values import Callback, CallbackCall, CallbackEdit, CallStatus, FieldEdit
from reconciler.service.http.limiter import LookAgain

looks_max = 8  # of one write whose looks were too old; then nothing is sent

T = TypeVar("T")


async def preview_update(
    reader: ServiceReader, callback_id: str, edit: CallbackEdit
) -> tuple[Callback, tuple[FieldEdit, ...]]:
    """Return the callback as it is, and what the edit would change of it."""
    live = await reader.callbacks.get(callback_id)
    return live, find_field_edits(live, edit_callback(live, edit))


async def write_edit(client: ServiceClient, shown: Callback, edit: CallbackEdit, settle_s: float) -> Callback:
    """Return the callback as it reads back after one write.

    `shown` is the callback as a person has seen it. Raises StalePlan where it was changed since then,
    Rejected where it reads back otherwise, InDoubt where it is unknown whether it was written.
    """
    wanted = edit_callback(shown, edit)

    async def missing() -> tuple[Callback, tuple[str, ...]]:
        found = await client.callbacks.get(shown.callback_id)
        return found, find_untaken_fields(wanted, found)

    try:
        await _replace(client, shown, edit)
    except InDoubt as error:
        hidden = edit.key is not None  # a key that is not shown proves nothing
        return await _settle_doubt(error, missing, settle_s, lambda found: not hidden or shows_key(found))
    return await _read_back(
        f"PUT /callbacks/{shown.callback_id}",
        missing,
        settle_s,
        f"reconciler callbacks get {shown.callback_id}",
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
        return await _settle_doubt(error, missing, settle_s, lambda _found: True)
    return await _read_back(
        f"PUT /callbacks/{callback_id}/calls", missing, settle_s, f"reconciler callbacks calls {callback_id}"
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
            raise InDoubt(
                f"the service accepted it, but it could not be read back: {error}", next=look
            ) from error
        if not names:
            return found
    raise Rejected(
        f"{what}: the service accepted the write, but shows other values: {', '.join(names)}.",
        next=f"compare: {look}",
    )


async def _settle_doubt(
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
