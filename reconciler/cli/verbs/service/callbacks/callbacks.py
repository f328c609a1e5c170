"""`reconciler callbacks` at work: the callbacks of the account, listed, made, changed and taken away.

Belongs here: options to values, and what is shown. Not here: the steps of a change (editing.py), receiving
(listening.py, telling.py).
"""

from collections.abc import Sequence
from typing import Any, Literal

import click

from reconciler.cli.client_session import run_with_client, run_with_reader, send_write_once, show
from reconciler.cli.console import output
from reconciler.cli.session import Signals
from reconciler.cli.verbs.service.callbacks import editing, keys
from reconciler.cli.verbs.service.callbacks.editing import Edited
from reconciler.errors import Refused
from reconciler.messaging.callback_edits import select_calls
from reconciler.messaging.callbacks import CallStatus
from reconciler.messaging.client import ServiceClient
from reconciler.messaging.reports import (
    call_lines,
    callback_detail,
    callback_lines,
    callback_values,
    edit_lines,
    mark_lines,
)
from reconciler.messaging.values import Callback, CallbackAuth, CallbackCall, CallbackEdit
from reconciler.model.settings import Secret, Settings
from reconciler.report.lines import Line, line

_LOOK = "reconciler callbacks list"


def list_(*, as_json: bool, **given: Any) -> int:
    """List the callbacks of the account."""
    found = run_with_reader(
        given["config"], given["environment"], lambda reader, _settings: reader.callbacks.list()
    )
    values = {"callbacks": [callback_values(one) for one in found]}
    return show(values, callback_lines(found), as_json=as_json)


def get(*, callback_id: str, as_json: bool, **given: Any) -> int:
    """Show one callback, whole."""
    found = run_with_reader(
        given["config"], given["environment"], lambda reader, _settings: reader.callbacks.get(callback_id)
    )
    return show({"callback": callback_values(found)}, callback_detail(found), as_json=as_json)


def calls(*, callback_id: str, message_id: str | None, failed: bool, as_json: bool, **given: Any) -> int:
    """List the calls of one callback that the service made."""
    status: Literal["FAILED"] | None = "FAILED" if failed else None
    every = run_with_reader(
        given["config"],
        given["environment"],
        lambda reader, _settings: reader.callbacks.calls(callback_id, status),
    )
    found = tuple(one for one in every if message_id in (None, one.message_id))
    return show({"calls": found}, call_lines(found), as_json=as_json)


def create(*, name: str, url: str, as_json: bool, **given: Any) -> int:
    """Register an address under a name. Raises InDoubt where it is not known whether it was done."""
    callback = _callback(name, url, keys.key_of(given), given)

    async def create_it(client: ServiceClient, _settings: Settings, signals: Signals) -> Callback:
        return await send_write_once(
            signals, client.callbacks.create(callback), f"the callback {name} was created;", _LOOK
        )

    made = run_with_client(given["config"], given["environment"], create_it)
    return show({"callback": callback_values(made)}, callback_lines((made,))[:-1], as_json=as_json)


def _callback(name: str, url: str, key: Secret | None, given: dict[str, Any]) -> Callback:
    way: Literal["httpheader", "querystring"] = "httpheader" if given["key_in"] == "header" else "querystring"
    return Callback(
        name,
        url,
        auth=None if key is None else CallbackAuth(way, key),
        content_type=given["content_type"],
        retries=not given["no_retries"],
        email=given["email"],
        on_reply=not given["no_replies"],
        on_undeliverable=not given["no_undeliverable"],
    )


def delete(*, callback_id: str, as_json: bool, **given: Any) -> int:
    """Delete a callback. Raises InDoubt where it is not known whether it was done."""

    async def delete_it(client: ServiceClient, _settings: Settings, signals: Signals) -> None:
        await send_write_once(
            signals, client.callbacks.delete(callback_id), f"the callback {callback_id} was deleted;", _LOOK
        )

    run_with_client(given["config"], given["environment"], delete_it)
    return show({"deleted": callback_id}, (line(f"deleted: callback {callback_id}"),), as_json=as_json)


def update(*, callback_id: str, dry_run: bool, yes: bool, as_json: bool, **given: Any) -> int:
    """Change what the options name, once it was shown and agreed to."""
    ask = _may_ask(dry_run=dry_run, yes=yes, as_json=as_json)
    edit = _edit(given)

    def agree(found: Edited) -> None:
        _shown_and_agreed(edit_lines(*found), ask=ask, show=not as_json, what=f"update {callback_id}")

    if dry_run:
        callback, edits = editing.preview(given, callback_id, edit)
    else:
        callback, edits = editing.update(given, callback_id, edit, agree)
    written = bool(edits) and not dry_run
    about = {"callback": callback_values(callback), "changes": edits, "written": written}
    done = (line(f"updated: callback {callback_id}"),)
    return show(about, done if written else edit_lines(callback, edits), as_json=as_json)


def mark(
    *,
    callback_id: str,
    call_ids: tuple[str, ...],
    message_id: str | None,
    status: Literal["success", "failed"],
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Set the status of calls, once they were shown and agreed to."""
    if bool(call_ids) == (message_id is not None):
        raise click.UsageError("name the calls, or the message that they are about with --message.")
    ask = _may_ask(dry_run=dry_run, yes=yes, as_json=as_json)
    wanted: CallStatus = "SUCCESS" if status == "success" else "FAILED"

    def choose(every: Sequence[CallbackCall]) -> tuple[CallbackCall, ...]:
        return select_calls(every, call_ids, message_id)

    def agree(found: tuple[CallbackCall, ...]) -> None:
        _shown_and_agreed(mark_lines(found, wanted), ask=ask, show=not as_json, what=f"mark {callback_id}")

    found = (
        editing.preview_mark(given, callback_id, choose, wanted)
        if dry_run
        else editing.mark(given, callback_id, choose, wanted, agree)
    )
    written = bool(found) and not dry_run
    about = {"calls": found, "status": wanted, "written": written}
    done = (line(f"marked as {wanted}: {len(found)} of the calls of callback {callback_id}"),)
    return show(about, done if written else mark_lines(found, wanted), as_json=as_json)


def _may_ask(*, dry_run: bool, yes: bool, as_json: bool) -> bool:
    """Return whether to ask before the write. Raises UsageError without a terminal."""
    if dry_run or yes:
        return False
    if as_json or not output.can_ask():
        raise click.UsageError("not a terminal: pass --yes, or use --dry-run to see what would change.")
    return True


def _edit(given: dict[str, Any]) -> CallbackEdit:
    """Take the new values out of the options. Raises UsageError where there is none."""
    key, no_key = keys.new_key_of(given)
    names = ("name", "url", "content_type", "retries", "email", "on_reply", "on_undeliverable", "key_in")
    edit = CallbackEdit(**{name: given.pop(name) for name in names}, key=key, no_key=no_key)
    if edit == CallbackEdit():
        raise click.UsageError("name what is to change, for example --url URL.")
    return edit


def _shown_and_agreed(lines: tuple[Line, ...], *, ask: bool, show: bool, what: str) -> None:
    """Show what is to be written, and ask where that is wanted. Raises Refused for a no."""
    if show:
        output.lines(lines)
    if ask and not output.confirm("Write this?"):
        raise Refused("not confirmed; nothing was written.", next=f"reconciler callbacks {what} ...")
