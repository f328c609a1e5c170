"""The bodies that are sent: a declared entity to POST, or the fresh body with our changes to PUT.

A PUT replaces everything, so what nobody declared, fields that this version has never heard of
included, is carried over from the body that was read a moment before (planning rule A4).
"""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

from reconciler.core.comparing import zones
from reconciler.core.comparing.carrying import stand_in_secrets
from reconciler.core.comparing.normalize import custom_name, rows
from reconciler.core.text import fold_case
from reconciler.model.documents import Fields, Scalar
from reconciler.model.field_types import FieldShape, require_rows
from reconciler.model.kinds import KINDS
from reconciler.model.plans import FieldChange, Update
from reconciler.model.snapshots import Entity, RecordedEntity

Body = dict[str, Any]


def create_body(entity: Entity) -> Body:
    """Return the body to POST: every declared field that is not to be cleared, in the service's form."""
    return _overlay(
        entity.address.kind, {}, {path: v for path, v in entity.fields.items() if v != ""}, entity
    )


def update_body(
    fresh: Mapping[str, Any], entity: Entity, change: Update, before: RecordedEntity | None = None
) -> Body:
    """Return the body to PUT: `fresh` with exactly the changed paths overlaid. `before` is our record of it.

    `entity` gives the values (a change holds secrets only as digests); a changed path that it does
    not declare is cleared. A device's status is the one just read, unless the change says otherwise.
    """
    kind = KINDS[change.address.kind]
    # All the rest stays, nested and unknown fields too: a PUT removes what it leaves out (docs/service.md,
    # contacts).
    base = {key: value for key, value in fresh.items() if key not in kind.server_owned}
    values: dict[str, Scalar] = {field.path: _value(entity, field) for field in change.fields}
    for path in kind.zones:
        if path in base and path not in values:
            base[path] = zones.writable(base[path], entity, before)
    # What cannot be read back would be lost by a PUT without it; where declared, it always travels along.
    values |= {path: entity.fields[path] for path in kind.write_only if path in entity.fields}
    # So would be what is shown as a mask, or not at all.
    values |= stand_in_secrets(fresh, entity, change)
    return _overlay(kind.name, base, values, entity)


def _value(entity: Entity, field: FieldChange) -> Scalar:
    # A device may be reactivated though its manifest says nothing of the status, or ignores it.
    if field.cause == "reactivated" and field.after is not None:
        return field.after
    return entity.fields.get(field.path, "")


def _overlay(kind: str, base: Body, values: Fields, entity: Entity) -> Body:
    row = KINDS[kind]
    body = dict(base)
    for path, text in values.items():
        head, _, below = path.partition(".")
        value = _typed(text) if path in row.numbers else text
        key = row.wire.get(head, head)
        shape = row.type_of(head).shape
        if shape == "content":
            value = _encoded(entity)
        elif below:
            value = _PARTS[shape](body.get(key), below, value)
        # Absent is how the service is told to remove a field (S2).
        if value in ("", {}):
            body.pop(key, None)
        else:
            body[key] = value
    return body


def _encoded(entity: Entity) -> str:
    assert entity.content is not None, f"{entity.address}: its content is declared but was not loaded"  # noqa: S101 - our own mistake
    # docs/service.md, resources: base64 with padding. Its lines may break; these do not.
    return base64.b64encode(entity.content.data).decode("ascii")


def _typed(text: Scalar) -> Any:
    """Return the number that a text writes in JSON; another text as it is, for the service to refuse."""
    try:
        return json.loads(str(text)) if text != "" else ""
    except ValueError:
        return text


def _custom(fields: object, name: str, value: Scalar) -> list[Body]:
    """Return the list of custom fields with one set, or left out when `value` is empty."""
    found = rows(fields)
    if value == "":
        return [row for row in found if custom_name(row) != name]
    # Of a known field the value alone: its display name is the service's.
    if any(custom_name(row) == name for row in found):
        return [{**row, "fieldValue": value} if custom_name(row) == name else row for row in found]
    # A name that is new to a contact is sent as all three (docs/service.md, contacts, A).
    return [*found, {"fieldName": name, "fieldValue": value, "searchKey": f"custom_{name}"}]


def _channel(options: object, path: str, value: Scalar) -> list[Body]:
    """Return the list of messaging options with one option of one channel set.

    Leaving the list out would keep it as it is (docs/service.md, contacts), so it is always sent; a
    channel that holds nothing any more is taken off it.
    """
    channel, _, option = path.partition(".")
    found = rows(options)
    if not any(_is(row, channel) for row in found):
        found = [*found, {"channel": channel}]
    found = [_with(row, option, value) if _is(row, channel) else row for row in found]
    return [row for row in found if not _is(row, channel) or _holds(row)]


def _grouped(group: object, key: str, value: Scalar) -> Body:
    """Return a group with one of its fields set, or left out when `value` is empty."""
    return _with(group if isinstance(group, dict) else {}, key, value)


def _whole(_now: object, _below: str, value: Scalar) -> Scalar:
    """Return the value: a scalar has no parts, and a dot in its name is a part of the name."""
    return value


# How one path of a field is set within what the service has of it, by the shape of the field.
_PARTS: Mapping[FieldShape, Callable[[object, str, Scalar], list[Body] | Body | Scalar]] = require_rows(
    FieldShape,
    {"scalar": _whole, "content": _whole, "custom": _custom, "channels": _channel, "group": _grouped},
)


def _with(row: Body, key: str, value: Scalar) -> Body:
    rest = {other: kept for other, kept in row.items() if other != key}
    return rest if value == "" else {**rest, key: value}


def _is(row: Body, channel: str) -> bool:
    # A second row beside `SMS` would say two things about one channel (tests/core/test_merge.py).
    return fold_case(str(row.get("channel", ""))) == channel


def _holds(row: Body) -> bool:
    return any(value != "" for key, value in row.items() if key != "channel")
