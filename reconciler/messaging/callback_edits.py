"""A callback as it is to be: the whole of it, because a PUT replaces everything.

The key is the danger: a service need not show it, and a PUT without it takes it away. Then our receiver
refuses every reply, and no one notices.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import structs

from reconciler.core.suggest import did_you_mean
from reconciler.errors import InputError, UnknownAddress
from reconciler.messaging.values import Callback, CallbackAuth, CallbackCall, CallbackEdit, FieldEdit

_PLAIN = ("name", "url", "content_type", "retries", "email", "on_reply", "on_undeliverable")
_WAYS: Mapping[str, Literal["httpheader", "querystring"]] = {"header": "httpheader", "query": "querystring"}
_MASKS = frozenset("*•.xX")  # what services write in the place of a key that they do not show
_CALLS = "list them: reconciler callbacks calls ID"
_HOW = "give the key with --key-env or --key-file, or pass --no-key to have none"


def edit_callback(live: Callback, edit: CallbackEdit) -> Callback:
    """Return the whole callback that the edit makes of the live one; unknown fields stay.

    Raises InputError where the live key is not shown and none is given.
    """
    plain = {name: value for name in _PLAIN if (value := getattr(edit, name)) is not None}
    # `replace`: a PUT leaves nothing but what it holds, fields that have no name here included (rule A4).
    return structs.replace(live, auth=_edit_auth(live, edit), **plain)


def _edit_auth(live: Callback, edit: CallbackEdit) -> CallbackAuth | None:
    if edit.no_key:
        return None
    key = edit.key or (live.auth.key if live.auth and shows_key(live) else None)
    # A mask written back in the place of the key, or none, and our receiver refuses every reply from then on.
    if key is None:
        raise InputError(
            "the service does not show the key of this callback, and an update writes the whole callback: it "
            "would remove the key. Nothing was written.",
            next=_HOW,
        )
    if edit.key_in is not None:
        return CallbackAuth(_WAYS[edit.key_in], key)
    return CallbackAuth(live.auth.type if live.auth else "httpheader", key)


def shows_key(callback: Callback) -> bool:
    """Whether the service shows the key itself, and not a mask in its place."""
    return callback.auth is not None and bool(set(callback.auth.key.reveal()) - _MASKS)


def find_field_edits(before: Callback, after: Callback) -> tuple[FieldEdit, ...]:
    """Return the fields in which two states of a callback differ; of a key only that it does."""
    return tuple(_differences(before, after))


def _differences(before: Callback, after: Callback) -> Iterator[FieldEdit]:
    for name in _PLAIN:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield FieldEdit(name, format_field_value(old), format_field_value(new))
    if _auth_type(before) != _auth_type(after):
        yield FieldEdit("auth", _auth_type(before), _auth_type(after))
    # Compared, and never shown: there is no form of a key that is safe on a terminal or in a log.
    if _reveal_key(before) != _reveal_key(after) and after.auth is not None:
        yield FieldEdit("key", "(secret)" if shows_key(before) else "(not shown)", "(new secret)")


def find_untaken_fields(wanted: Callback, found: Callback) -> tuple[str, ...]:
    """Return the fields that do not read back as they were sent; a key counts where it is shown."""
    fields = [one.field for one in find_field_edits(wanted, found)]
    # A key that the service keeps to itself cannot read back, and is no evidence against the write.
    unseen = {"key"} if found.auth is not None and not shows_key(found) else set()
    return tuple(field for field in fields if field not in unseen)


def _auth_type(callback: Callback) -> str:
    return callback.auth.type if callback.auth else "none"


def _reveal_key(callback: Callback) -> str:
    return callback.auth.key.reveal() if callback.auth else ""


def format_field_value(value: object) -> str:
    """Return the value of a field as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value or "") or "none"


def select_calls(
    calls: Sequence[CallbackCall], call_ids: Sequence[str], message_id: str | None
) -> tuple[CallbackCall, ...]:
    """Return the calls with these ids, or those about this message. Raises UnknownAddress."""
    if message_id is not None:
        about = tuple(one for one in calls if one.message_id == message_id)
        if not about:
            raise UnknownAddress(
                "the callback has no call about this message; nothing was written.", next=_CALLS
            )
        return about
    known = {one.call_id: one for one in calls}
    missing = [one for one in call_ids if one not in known]
    if missing:
        raise UnknownAddress(
            f"the callback has no call {missing[0][:64]}; nothing was written.",
            next=did_you_mean("call", missing[0], known, _CALLS),
        )
    # All or none: one unknown id makes the service refuse the whole call (test_callback_edits.py).
    return tuple(known[one] for one in dict.fromkeys(call_ids))


def select_unmarked_calls(calls: Sequence[CallbackCall], status: str) -> tuple[CallbackCall, ...]:
    """Return those that have another status."""
    # A write that changes nothing is a bug here too (planning rule D5).
    return tuple(one for one in calls if one.status != status)
