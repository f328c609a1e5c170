"""The two uses of a resource: a message to everybody in it, and an import of contacts.

Belongs here: which resource a body means, its rows, whom a row addresses, which contact a row describes; pure
functions. Not here: storage, what a message is (messages.py), what a contact is (contacts.py).
Source: specification 1 for both uses; docs/service.md, messages and imports for the forms.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from reconciler.sandbox.casing import small
from reconciler.sandbox.records import Body, Contact, Resource
from reconciler.sandbox.refusals import invalid

Row = dict[str, str]

MAPPINGS = ("smsMappingField", "emailMappingField", "voiceMappingField")
MODES = ("replace", "ignore", "duplicate")
"""What becomes of a row whose contact is there already: its fields are written, nothing, a second contact."""

rows_max = 100_000  # of one file
_IDENTITIES = ("workEmailAddress1", "workMobilePhone1")


@dataclass(frozen=True, slots=True)
class Import:
    """What a request asks for: contact field -> column, and what to do with those who are there."""

    fields: Mapping[str, str]
    mode: str


def named_resource(named: object, resources: Mapping[str, Resource]) -> Resource:
    """The resource of this id in this workspace; refuses (422) an unknown one."""
    found = resources.get(named) if isinstance(named, str) else None
    if found is None:
        raise invalid("resourceId: there is no such resource in this workspace")
    return found


def addresses(body: Body, resources: Mapping[str, Resource]) -> tuple[str, ...]:
    """Everybody whom the rows of the body's resource address, without repeats; () where it names none.

    Of a row counts the first of the mapped columns that is filled: SMS, e-mail, voice. With recipients in
    `to` and no mapping the resource is only named. Refuses (422) what cannot be meant, by name.
    """
    given = body.get("resource")
    if given is None:
        return ()
    if isinstance(given, str):
        given = {"resourceId": given}
    if not isinstance(given, dict):
        raise invalid("resource must be an object with a resourceId")
    resource = named_resource(given.get("resourceId"), resources)
    columns = [column for name in MAPPINGS if isinstance(column := given.get(name), str) and column]
    if not columns:
        if body.get("to"):
            return ()
        raise invalid(f"resource: one of {', '.join(MAPPINGS)} is required")
    table = rows(resource)
    _require_columns(columns, table)
    firsts = (next((row[one] for one in columns if row.get(one)), "") for row in table)
    return tuple(dict.fromkeys(one for one in firsts if one))


def read_import(body: Body) -> Import:
    """What this body asks for; refuses (422) a missing or wrong field, by name."""
    if body.get("importType") != "contact":
        raise invalid("importType must be contact")
    options = body.get("importOptions") or {}
    if not isinstance(options, dict):
        raise invalid("importOptions must be an object")
    # Public sources have two forms: the mapping and the mode in importOptions by name, or the mapping as
    # importOptions and the mode beside it.
    flat = {name: column for name, column in options.items() if name not in ("fieldMapping", "importMode")}
    fields = options.get("fieldMapping") or flat
    mode = options.get("importMode") or body.get("importMode") or MODES[0]
    if not isinstance(fields, dict) or not all(isinstance(one, str) and one for one in fields.values()):
        raise invalid("fieldMapping must be an object of contact fields and their columns")
    if mode not in MODES:
        raise invalid(f"importMode must be one of {', '.join(MODES)}")
    return Import(fields, str(mode))


def contact_bodies(asked: Import, resource: Resource) -> list[Body]:
    """What each row says about its contact; columns have the names of fields where nothing is mapped.

    An empty cell says nothing.
    """
    table = rows(resource)
    _require_columns(asked.fields.values(), table)
    if not asked.fields:
        return [{name: value for name, value in row.items() if value} for row in table]
    return [
        {field: row[column] for field, column in asked.fields.items() if row.get(column)} for row in table
    ]


def known_as(body: Body) -> list[tuple[str, str]]:
    """By what somebody is found again: mail address, then mobile number; letter case does not count."""
    return [(name, small(str(body[name]))) for name in _IDENTITIES if body.get(name)]


def directory(contacts: Iterable[Contact]) -> dict[tuple[str, str], Contact]:
    """Mail address or number -> the oldest contact that has it."""
    found: dict[tuple[str, str], Contact] = {}
    for contact in contacts:
        for key in known_as(contact.fields):
            found.setdefault(key, contact)
    return found


def rows(resource: Resource) -> list[Row]:
    """The rows of a CSV file with a heading, or of a JSON list of objects; refuses (422) anything else."""
    match resource.mime_type:
        case "text/csv":
            table = _csv_rows(resource.content)
        case "application/json":
            table = _json_rows(resource.content)
        case _:
            raise invalid("resourceId: the resource must be text/csv or application/json")
    if not 0 < len(table) <= rows_max:
        raise invalid(f"resourceId: the resource must have 1 to {rows_max} rows")
    return table


def _csv_rows(content: bytes) -> list[Row]:
    reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig")), restval="")
    try:
        return [{name: value.strip() for name, value in row.items() if name and value} for row in reader]
    except (csv.Error, AttributeError):  # AttributeError: a row that is longer than the heading
        raise invalid("resourceId: the resource has a row that does not fit its heading") from None


def _json_rows(content: bytes) -> list[Row]:
    try:
        table = msgspec.json.decode(content, type=list[dict[str, str | int | float]])
    except (msgspec.MsgspecError, RecursionError):
        raise invalid("resourceId: the resource must be a list of objects with plain values") from None
    return [{name: str(value).strip() for name, value in row.items()} for row in table]


def _require_columns(columns: Iterable[str], table: list[Row]) -> None:
    there = {name for row in table for name in row}
    for column in columns:
        if column not in there:
            raise invalid(f"the resource has nothing in a column {column[:64]}")
