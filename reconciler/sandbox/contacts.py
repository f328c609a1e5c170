"""Contacts: how a body becomes one, what a full replacement keeps, and what their addresses do.

Source: specification 2.2 and 4.2; docs/service.md, contacts, which says what was recorded.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import inf, isfinite
from zoneinfo import ZoneInfo

from msgspec import structs

from reconciler.sandbox.calls import Call
from reconciler.sandbox.collections import CollectionRow
from reconciler.sandbox.documents import View
from reconciler.sandbox.queries import read_added_fields, read_contact_query, wants_custom_fields
from reconciler.sandbox.records import (
    CONTACT_FIELDS,
    DEVICE_STATUSES,
    NEVER_SHOWN,
    REQUIRED_ON_CREATE,
    SERVER_OWNED,
    STRUCTURED,
    Body,
    Contact,
    make_id,
)
from reconciler.sandbox.refusals import Refusal, given_values, invalid, require_texts

# --- Time zones as the service shows them: a name goes in, an offset of whole hours comes out -----
#
# Source: docs/service.md, contacts. Recorded: "Australia/Melbourne" reads back "+10", a sent "+10" reads "0".


@lru_cache(maxsize=1024)
def zone_offset(sent: str) -> str:
    """What the service shows after `sent` was written as a time zone; what it does not know becomes "0".

    It is the standard offset: the recording (August, Melbourne) cannot tell it from that of the day.
    """
    try:
        zone = ZoneInfo(sent)
    except (OSError, ValueError, LookupError):  # the last is ZoneInfoNotFoundError, a KeyError
        return "0"
    winter_and_summer = (datetime(2025, month, 15, tzinfo=zone).utcoffset() for month in (1, 7))
    return _offset_text(min(offset or timedelta() for offset in winter_and_summer))


def _offset_text(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    if minutes == 0:
        return "0"
    return f"{'-' if minutes < 0 else '+'}{hours}" + (f":{rest:02d}" if rest else "")


@dataclass(frozen=True, slots=True)
class WrittenContact:
    """A body as the service understood it; None where the body said nothing."""

    fields: Body
    status: str | None
    locations: list[Body] | None
    messagingoptions: list[Body] | None
    custom: list[Body]


def read_contact(body: Body) -> WrittenContact:
    """The body with the service's rewriting done; refuses (422) a field of the wrong form, by name.

    What only the service writes is ignored; null counts as absent; fields of no table are kept as they are.
    """
    given = given_values(body, without=SERVER_OWNED)
    require_texts(given, CONTACT_FIELDS)
    status = given.pop("status", None)
    if isinstance(status, str) and status and status.lower() not in DEVICE_STATUSES:
        raise invalid("status must be A or D")
    zone = given.get("timezone")
    if isinstance(zone, str) and zone:
        given["timezone"] = zone_offset(zone)
    return WrittenContact(
        fields={name: value for name, value in given.items() if name not in NEVER_SHOWN | STRUCTURED},
        status=status if isinstance(status, str) else None,
        locations=_read_objects(given, "locations", _read_location),
        messagingoptions=_read_objects(given, "messagingoptions", _read_messaging_option),
        custom=_read_objects(given, "customFields", _read_custom_field) or [],
    )


def require_contact_fields(body: Body, *, strict: bool) -> None:
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


def build_contact(
    written: WrittenContact, *, known: tuple[str, int], workspace: tuple[str, str], now: datetime
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
        mri=_build_mri(written.fields, number, workspace_name),
        fields=written.fields,
        locations=_unless_none(written.locations, [dict(_NOWHERE)]),
        messagingoptions=written.messagingoptions or [],
        custom=written.custom,
        modified=cut_to_seconds(now),
    )


def replace_contact(
    contact: Contact, written: WrittenContact, *, workspace_name: str, now: datetime
) -> Contact:
    """The contact after a PUT: absent fields are gone, custom fields too; recorded exceptions are spared.

    Spared: status, messagingoptions, locations, devices, and the number within the mri. Lost: type.
    """
    return structs.replace(
        contact,
        type=None,
        status=written.status or contact.status,
        mri=_build_mri(written.fields, contact.number, workspace_name),
        fields=written.fields,
        locations=_unless_none(written.locations, contact.locations),
        messagingoptions=_unless_none(written.messagingoptions, contact.messagingoptions),
        custom=written.custom,
        modified=cut_to_seconds(now),
        zulu=True,
    )


def edit_contact(contact: Contact, body: Body, *, now: datetime) -> Contact:
    """The contact after somebody changed some fields of it in the service's own pages; null removes one."""
    written = read_contact(body)
    fields = {**contact.fields, **written.fields}
    for name in [name for name, value in body.items() if value is None]:
        fields.pop(name, None)
    return structs.replace(
        contact,
        fields=fields,
        status=written.status or contact.status,
        messagingoptions=_unless_none(written.messagingoptions, contact.messagingoptions),
        custom=written.custom if "customFields" in body else contact.custom,
        modified=cut_to_seconds(now),
    )


def _unless_none(written: list[Body] | None, otherwise: list[Body]) -> list[Body]:
    return otherwise if written is None else written


def cut_to_seconds(now: datetime) -> datetime:
    """The moment in UTC, cut to seconds: finer times are never shown, so they are not kept."""
    return now.astimezone(UTC).replace(microsecond=0)


_NOWHERE: Body = {"longitude": 0.0, "latitude": 0.0, "type": "CurrentLocation"}


def _build_mri(fields: Body, number: int, workspace_name: str) -> str:
    """First_Last.<number>.<workspace_name>@Contact.<host>; the default workspace has no part of its own."""
    names = [str(fields[name]) for name in ("firstName", "lastName") if fields.get(name)]
    parts = ["_".join(names), str(number), *([workspace_name] if workspace_name else [])]
    return f"{'.'.join(part.replace(' ', '_') for part in parts)}@Contact.service.example"


def _read_objects(given: Body, name: str, read: Callable[[Body, str], Body]) -> list[Body] | None:
    """The list of objects under this name, each read; None where there is none; else a refusal (422)."""
    found = given.get(name)
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise invalid(f"{name} must be a list of objects")
    return [read(item, name) for item in found]


def _read_location(item: Body, name: str) -> Body:
    axes: Body = {
        axis: _read_degrees(item.get(axis, 0.0), f"{name}: {axis}", most) for axis, most in _AXES.items()
    }
    return {**axes, **{key: value for key, value in {**_NOWHERE, **item}.items() if key not in axes}}


_AXES = {"longitude": 180.0, "latitude": 90.0}  # degrees, to both sides


def _read_degrees(value: object, what: str, most: float) -> float:
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


def _read_messaging_option(item: Body, name: str) -> Body:
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


def _read_custom_field(item: Body, name: str) -> Body:
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


# --- The addresses of contacts


def username_taken() -> Refusal:
    """The refusal (422) of a name that another contact's portal account has."""
    return invalid("username: this name already exists in the company")


def require_free_username(call: Call, fields: Body, *, owner: str | None) -> None:
    """Refuses (422) a name of a portal account that another contact of the company has."""
    holder = call.state.usernames.get(str(fields.get("username") or ""))
    if holder is not None and holder != owner:
        raise username_taken()


def new_contact(call: Call, written: WrittenContact) -> Contact:
    """A new contact of this workspace, not stored yet."""
    known, workspace = call.state.new_id("contact"), (call.shelf.id, call.shelf.name)
    return build_contact(written, known=known, workspace=workspace, now=call.config.clock())


class ContactCollection(CollectionRow[Contact]):
    """Found by any field, fast at 100,000 contacts; usernames are unique in the company."""

    def found(self, call: Call) -> Sequence[Contact]:
        """The contacts that match the query."""
        found = call.shelf.find(read_contact_query(call.query))
        # Only if needed, because this list may have 100,000 contacts.
        return call.listed(found) if call.hidden else found

    def read(self, call: Call, before: Contact | None) -> Contact:
        """A contact as the service rewrites it; a PUT keeps what the recorded one kept."""
        body = call.body()
        require_contact_fields(body, strict=call.config.strict and before is None)
        written = read_contact(body)
        require_free_username(call, written.fields, owner=before.id if before else None)
        if before is None:
            return new_contact(call, written)
        return replace_contact(before, written, workspace_name=call.shelf.name, now=call.config.clock())

    def keep(self, call: Call, record: Contact) -> None:
        """Store the contact with its username and devices, which are known in the whole company."""
        call.state.put_contact(record)

    def drop(self, call: Call, record: Contact) -> None:
        """Delete the contact and its devices."""
        call.state.drop_contact(record)

    def shown(self, call: Call, record: Contact, view: View) -> Body:
        """Brief in a list, with all links after a create; custom fields only when asked for."""
        custom = wants_custom_fields(call.query)
        return call.writer.contact(record, view, custom=custom, added=read_added_fields(call.query))


CONTACTS = ContactCollection(
    name="contact",
    plural="contacts",
    filters=("sortOrder", "sortFields", "fields", "customFields", "filters"),
    options=("customFields",),
    says={
        "list": "One page of the contacts that answer the query.",
        "create": "A new contact; the answer is the whole of it, with all links.",
        "get": "The whole contact with its devices; custom fields only when asked for.",
        "put": "The contact is replaced, with the recorded exceptions.",
        "delete": "The contact is gone, and its devices with it.",
    },
)


# --- Invented people, the same ones every time: addresses at example.com, numbers reserved for fiction


_FIRST_NAMES = """
Ada Alan Amara Ana Anders Aroha Ben Bianca Callum Carmen Chen Chloe Daniel Daria David Edith Elena Emeka
Farid Fiona Grace Hana Hugo Ines Ivan Jack Jane Joao Kaia Karim Lena Liam Lucia Mateo Maya Mina Nadia
Noah Olga Oscar Priya Quinn Rafael Rosa Sam Samantha Sofia Tane Theo Uma Victor Wanda Xavier Yara Zoe
"""
_LAST_NAMES = """
Abbott Adeyemi Almeida Bauer Bennett Brandt Campbell Castro Chang Cole Doe Duarte Edwards Evans Fischer
Fofana Garcia Green Haddad Harris Ito Jansen Jones Kaur Keller Kim Larsen Lee Lopez Martin Meyer Moreau
Nakamura Ngata Novak Okafor Olsen Park Patel Quist Reyes Rossi Sato Schmidt Silva Singh Stone Tan Taylor
Umarov Varga Walker Watanabe Wood Xu Young Zhang Zimmer Zulu
"""
FIRST_NAMES = _FIRST_NAMES.split()
LAST_NAMES = _LAST_NAMES.split()
JOBS = ("Engineer", "Senior Engineer", "Duty Manager", "Analyst", "Nurse", "Planner", "Technician")
DEPARTMENTS = ("Operations", "Finance", "Field Service", "Security", "Logistics")
PLACES = (
    ("Australia", "Australia/Melbourne"),
    ("United Kingdom", "Europe/London"),
    ("United States", "America/New_York"),
)
FICTION_NUMBERS = (
    *(f"+61491570{last}" for last in ("156", "157", "158", "159", "110")),
    *(f"+447700900{last:03d}" for last in range(1000)),
    *(f"+120255501{last:02d}" for last in range(100)),
)
_beginning = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def invent_contacts(count: int, *, after: int) -> Iterator[Contact]:
    """`count` contacts of the default workspace, numbered from `after` + 1; the nth is always the same."""
    for place in range(count):
        number = after + place + 1
        yield build_contact(
            read_contact(_invented_body(place)),
            known=(make_id("contact", number), number),
            workspace=("", ""),
            now=_beginning + timedelta(seconds=place),
        )


def _invented_body(place: int) -> Body:
    first = FIRST_NAMES[place % len(FIRST_NAMES)]
    last = LAST_NAMES[(place * 7 + place // len(FIRST_NAMES)) % len(LAST_NAMES)]
    country, zone = PLACES[place % len(PLACES)]
    return {
        "firstName": first,
        "lastName": last,
        "timezone": zone,
        "workEmailAddress1": f"{first}.{last}.{place + 1}@example.com".lower(),
        "workMobilePhone1": FICTION_NUMBERS[place % len(FICTION_NUMBERS)],
        "workCountry": country,
        "jobTitle": JOBS[place % len(JOBS)],
        "department": DEPARTMENTS[place % len(DEPARTMENTS)],
        "messagingoptions": [{"channel": "sms", "enabled": "true", "primary": "WorkMobilePhone1"}],
        "customFields": [
            {"fieldName": "employeeId", "fieldValue": str(1000 + place), "searchKey": "custom_employeeId"}
        ],
    }
