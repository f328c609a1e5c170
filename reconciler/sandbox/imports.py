"""What the address of imports does: contacts out of a resource, added or updated, never deleted."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from reconciler.sandbox import contacts
from reconciler.sandbox.calls import Answer, Call
from reconciler.sandbox.contacts import new_contact, username_taken
from reconciler.sandbox.records import Body, Contact, Resource, lower_letters
from reconciler.sandbox.refusals import invalid

# --- The two uses of a resource: a message to everybody in it, and an import of contacts ----------
#
# Source: specification 1 for both uses; docs/service.md, messages and imports for the forms.


FileRow = dict[str, str]

MAPPING_FIELDS = ("smsMappingField", "emailMappingField", "voiceMappingField")
IMPORT_MODES = ("replace", "ignore", "duplicate")
"""What becomes of a row whose contact is there already: its fields are written, nothing, a second contact."""

import_rows_max = 100_000  # of one file
_IDENTITIES = ("workEmailAddress1", "workMobilePhone1")


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What a request asks for: contact field -> column, and what to do with those who are there."""

    fields: Mapping[str, str]
    mode: str


def require_resource(named: object, resources: Mapping[str, Resource]) -> Resource:
    """The resource of this id in this workspace; refuses (422) an unknown one."""
    found = resources.get(named) if isinstance(named, str) else None
    if found is None:
        raise invalid("resourceId: there is no such resource in this workspace")
    return found


def resource_addresses(body: Body, resources: Mapping[str, Resource]) -> tuple[str, ...]:
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
    resource = require_resource(given.get("resourceId"), resources)
    columns = [column for name in MAPPING_FIELDS if isinstance(column := given.get(name), str) and column]
    if not columns:
        if body.get("to"):
            return ()
        raise invalid(f"resource: one of {', '.join(MAPPING_FIELDS)} is required")
    table = resource_rows(resource)
    _require_columns(columns, table)
    firsts = (next((row[one] for one in columns if row.get(one)), "") for row in table)
    return tuple(dict.fromkeys(one for one in firsts if one))


def read_import_request(body: Body) -> ImportRequest:
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
    mode = options.get("importMode") or body.get("importMode") or IMPORT_MODES[0]
    if not isinstance(fields, dict) or not all(isinstance(one, str) and one for one in fields.values()):
        raise invalid("fieldMapping must be an object of contact fields and their columns")
    if mode not in IMPORT_MODES:
        raise invalid(f"importMode must be one of {', '.join(IMPORT_MODES)}")
    return ImportRequest(fields, str(mode))


def read_contact_rows(asked: ImportRequest, resource: Resource) -> list[Body]:
    """What each row says about its contact; columns have the names of fields where nothing is mapped.

    An empty cell says nothing.
    """
    table = resource_rows(resource)
    _require_columns(asked.fields.values(), table)
    if not asked.fields:
        return [{name: value for name, value in row.items() if value} for row in table]
    return [
        {field: row[column] for field, column in asked.fields.items() if row.get(column)} for row in table
    ]


def identity_keys(body: Body) -> list[tuple[str, str]]:
    """By what somebody is found again: mail address, then mobile number; letter case does not count."""
    return [(name, lower_letters(str(body[name]))) for name in _IDENTITIES if body.get(name)]


def contacts_by_identity(contacts: Iterable[Contact]) -> dict[tuple[str, str], Contact]:
    """Mail address or number -> the oldest contact that has it."""
    found: dict[tuple[str, str], Contact] = {}
    for contact in contacts:
        for key in identity_keys(contact.fields):
            found.setdefault(key, contact)
    return found


def resource_rows(resource: Resource) -> list[FileRow]:
    """The rows of a CSV file with a heading, or of a JSON list of objects; refuses (422) anything else."""
    match resource.mime_type:
        case "text/csv":
            table = _csv_rows(resource.content)
        case "application/json":
            table = _json_rows(resource.content)
        case _:
            raise invalid("resourceId: the resource must be text/csv or application/json")
    if not 0 < len(table) <= import_rows_max:
        raise invalid(f"resourceId: the resource must have 1 to {import_rows_max} rows")
    return table


def _csv_rows(content: bytes) -> list[FileRow]:
    reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig")), restval="")
    try:
        return [{name: value.strip() for name, value in row.items() if name and value} for row in reader]
    except (csv.Error, AttributeError):  # AttributeError: a row that is longer than the heading
        raise invalid("resourceId: the resource has a row that does not fit its heading") from None


def _json_rows(content: bytes) -> list[FileRow]:
    try:
        table = msgspec.json.decode(content, type=list[dict[str, str | int | float]])
    except (msgspec.MsgspecError, RecursionError):
        raise invalid("resourceId: the resource must be a list of objects with plain values") from None
    return [{name: str(value).strip() for name, value in row.items()} for row in table]


def _require_columns(columns: Iterable[str], table: list[FileRow]) -> None:
    there = {name for row in table for name in row}
    for column in columns:
        if column not in there:
            raise invalid(f"the resource has nothing in a column {column[:64]}")


# --- The address of imports: contacts out of a resource, added or updated, never deleted -----------


def create_import(call: Call) -> Answer:
    """Every row of the resource is a contact: 202, and here they are there at once. All of them, or none."""
    body = call.body()
    asked = read_import_request(body)
    resource = require_resource(body.get("resourceId"), call.shelf.resources)
    rows = read_contact_rows(asked, resource)
    written = [_read_contact_row(row) for row in rows]
    kept = _import_contacts(call, asked, rows, written)
    _require_free_usernames(call, kept)
    call.state.put_contacts(kept.values())
    return Answer(202)


def _import_contacts(
    call: Call, asked: ImportRequest, rows: list[Body], written: list[contacts.WrittenContact]
) -> dict[str, Contact]:
    """Every contact that the import makes or changes, as it is afterwards, by id. Nothing is stored yet."""
    known = contacts_by_identity(call.shelf.contacts())
    kept: dict[str, Contact] = {}
    for row, said in zip(rows, written, strict=True):
        there = None if asked.mode == "duplicate" else _find_known(row, known)
        if there is None:
            after = new_contact(call, said)
        elif asked.mode == "replace":
            after = contacts.edit_contact(there, row, now=call.config.clock())
        else:
            continue
        kept[after.id] = after
        known.update(dict.fromkeys(identity_keys(row), after))
    return kept


def _require_free_usernames(call: Call, kept: Mapping[str, Contact]) -> None:
    """Refuses (422) an import after which two contacts of the company would have one name of an account."""
    holders: dict[str, str] = {}
    for contact in kept.values():
        name = str(contact.fields.get("username") or "")
        before = call.state.usernames.get(name, contact.id)
        still = before not in kept  # else it is one of these, with the name that it has now
        if name and (holders.setdefault(name, contact.id) != contact.id or (still and before != contact.id)):
            raise username_taken()


def _read_contact_row(row: Body) -> contacts.WrittenContact:
    contacts.require_name(row)
    return contacts.read_contact(row)


def _find_known(row: Body, known: dict[tuple[str, str], Contact]) -> Contact | None:
    return next((known[key] for key in identity_keys(row) if key in known), None)
