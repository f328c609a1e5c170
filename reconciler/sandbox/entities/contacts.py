"""What happens to a contact: how a body becomes one, and what a full replacement spares.

Belongs here: the recorded behaviour of create and PUT, as pure functions. Not here: storage, the wire.
Source: docs/service.md, contacts (recorded traffic of the service where it says so).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf, isfinite

from msgspec import structs

from reconciler.sandbox.entities.devices import STATUSES
from reconciler.sandbox.entities.fields import (
    CONTACT_FIELDS,
    NEVER_SHOWN,
    REQUIRED_ON_CREATE,
    SERVER_OWNED,
    STRUCTURED,
)
from reconciler.sandbox.entities.zones import shown_zone
from reconciler.sandbox.reading import present, require_texts
from reconciler.sandbox.records import Body, Contact
from reconciler.sandbox.refusals import invalid


@dataclass(frozen=True, slots=True)
class Written:
    """A body as the service understood it; None where the body said nothing."""

    fields: Body
    status: str | None
    locations: list[Body] | None
    messagingoptions: list[Body] | None
    custom: list[Body]


def read_contact(body: Body) -> Written:
    """The body with the service's rewriting done; refuses (422) a field of the wrong form, by name.

    What only the service writes is ignored; null counts as absent; fields of no table are kept as they are.
    """
    given = present(body, without=SERVER_OWNED)
    require_texts(given, CONTACT_FIELDS)
    status = given.pop("status", None)
    if isinstance(status, str) and status and status.lower() not in STATUSES:
        raise invalid("status must be A or D")
    zone = given.get("timezone")
    if isinstance(zone, str) and zone:
        given["timezone"] = shown_zone(zone)
    return Written(
        fields={name: value for name, value in given.items() if name not in NEVER_SHOWN | STRUCTURED},
        status=status if isinstance(status, str) else None,
        locations=_each(given, "locations", _location),
        messagingoptions=_each(given, "messagingoptions", _option),
        custom=_each(given, "customFields", _custom) or [],
    )


def require_fields(body: Body, *, strict: bool) -> None:
    """Refuses (422) a create without a name; with `strict`, one without any of the six documented fields."""
    if strict:
        missing = [name for name in REQUIRED_ON_CREATE if not body.get(name)]
        if missing:
            raise invalid(f"{', '.join(missing)}: required and missing")
    require_name(body)


def require_name(body: Body) -> None:
    """Refuses (422) a contact with neither first nor last name: the portal's import wants one of them."""
    if not body.get("firstName") and not body.get("lastName"):
        raise invalid("firstName, lastName: at least one of them is required")


def created(
    written: Written, *, known: tuple[str, int], workspace: tuple[str, str], now: datetime
) -> Contact:
    """A new contact with the service's defaults.

    `known`: its id and its number; `workspace`: id and name, both "" for the default one.
    """
    (contact_id, number), (wid, workspace_name) = known, workspace
    return Contact(
        id=contact_id,
        number=number,
        workspace=wid,
        type="PROJECT" if wid else "COMPANY",
        status=written.status or "A",
        mri=_mri(written.fields, number, workspace_name),
        fields=written.fields,
        locations=_or(written.locations, [dict(_NOWHERE)]),
        messagingoptions=written.messagingoptions or [],
        custom=written.custom,
        modified=whole_seconds(now),
    )


def replaced(contact: Contact, written: Written, *, workspace_name: str, now: datetime) -> Contact:
    """The contact after a PUT: absent fields are gone, custom fields too; recorded exceptions are spared.

    Spared: status, messagingoptions, locations, devices, and the number within the mri. Lost: type.
    """
    return structs.replace(
        contact,
        type=None,
        status=written.status or contact.status,
        mri=_mri(written.fields, contact.number, workspace_name),
        fields=written.fields,
        locations=_or(written.locations, contact.locations),
        messagingoptions=_or(written.messagingoptions, contact.messagingoptions),
        custom=written.custom,
        modified=whole_seconds(now),
        zulu=True,
    )


def edited(contact: Contact, body: Body, *, now: datetime) -> Contact:
    """The contact after somebody changed some fields of it in the service's own pages; null removes one."""
    written = read_contact(body)
    fields = {**contact.fields, **written.fields}
    for name in [name for name, value in body.items() if value is None]:
        fields.pop(name, None)
    return structs.replace(
        contact,
        fields=fields,
        status=written.status or contact.status,
        messagingoptions=_or(written.messagingoptions, contact.messagingoptions),
        custom=written.custom if "customFields" in body else contact.custom,
        modified=whole_seconds(now),
    )


def _or(written: list[Body] | None, otherwise: list[Body]) -> list[Body]:
    return otherwise if written is None else written


def whole_seconds(now: datetime) -> datetime:
    """The moment in UTC, cut to seconds: finer times are never shown, so they are not kept."""
    return now.astimezone(UTC).replace(microsecond=0)


_NOWHERE: Body = {"longitude": 0.0, "latitude": 0.0, "type": "CurrentLocation"}


def _mri(fields: Body, number: int, workspace_name: str) -> str:
    """First_Last.<number>.<workspace_name>@Contact.<host>; the default workspace has no part of its own."""
    names = [str(fields[name]) for name in ("firstName", "lastName") if fields.get(name)]
    parts = ["_".join(names), str(number), *([workspace_name] if workspace_name else [])]
    return f"{'.'.join(part.replace(' ', '_') for part in parts)}@Contact.service.example"


def _each(given: Body, name: str, read: Callable[[Body, str], Body]) -> list[Body] | None:
    """The list of objects under this name, each read; None where there is none; else a refusal (422)."""
    found = given.get(name)
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise invalid(f"{name} must be a list of objects")
    return [read(item, name) for item in found]


def _location(item: Body, name: str) -> Body:
    axes: Body = {
        axis: _degrees(item.get(axis, 0.0), f"{name}: {axis}", most) for axis, most in _AXES.items()
    }
    return {**axes, **{key: value for key, value in {**_NOWHERE, **item}.items() if key not in axes}}


_AXES = {"longitude": 180.0, "latitude": 90.0}  # degrees, to both sides


def _degrees(value: object, what: str, most: float) -> float:
    """The value as a number between -most and most; the older samples show strings."""
    try:
        number = float(value) if isinstance(value, int | float | str) else inf
    except (ValueError, OverflowError):
        number = inf
    if not isfinite(number) or isinstance(value, bool):
        raise invalid(f"{what} must be a number")
    if abs(number) > most:
        raise invalid(f"{what} must be between -{most:.0f} and {most:.0f}")
    return number


def _option(item: Body, name: str) -> Body:
    """One messaging option as it is shown: a real boolean, and "" for the addresses not named."""
    texts = {key: item.get(key) or "" for key in ("channel", "primary", "secondary", "tertiary")}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise invalid(f"{name}: {key} must be a string")
    if not texts["channel"]:
        raise invalid(f"{name}: channel is required")
    enabled = item.get("enabled", False)
    if str(enabled).lower() not in ("true", "false"):
        raise invalid(f"{name}: enabled must be true or false")
    return {"channel": texts.pop("channel"), "enabled": str(enabled).lower() == "true", **texts}


def _custom(item: Body, name: str) -> Body:
    """One custom field: display name, value, and the name in queries, made from the first if absent."""
    field_name, value = item.get("fieldName"), item.get("fieldValue", "")
    if not isinstance(field_name, str) or not field_name:
        raise invalid(f"{name}: fieldName is required")
    if not isinstance(value, str):
        raise invalid(f"{name}: the fieldValue of {field_name} must be a string")
    key = item.get("searchKey") or _search_key(field_name)
    if not isinstance(key, str):
        raise invalid(f"{name}: the searchKey of {field_name} must be a string")
    return {"fieldName": field_name, "fieldValue": value, "searchKey": key}


def _search_key(field_name: str) -> str:
    """As in the vendor's sample: "Field Name" -> custom_fieldName."""
    words = re.findall(r"\w+", field_name)
    joined = "".join(word[:1].upper() + word[1:] for word in words)
    return f"custom_{joined[:1].lower()}{joined[1:]}"
