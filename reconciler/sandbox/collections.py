"""One collection is one row: the fields of its records, its addresses, and how it is listed and replaced.

The rows of contacts, devices, resources and callbacks stand with their subjects: contacts.py, devices.py,
resources.py, callback_calls.py. Workspaces, messages, calls, tokens and imports have no row: none of them is
created, read, replaced, listed in pages and deleted; each has two or three of these methods.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast, get_args

import msgspec

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.documents import View
from reconciler.sandbox.queries import (
    NO_FILTERS,
    read_order,
)
from reconciler.sandbox.records import (
    Body,
    Device,
    Record,
    StoredRecord,
    lower_letters,
)
from reconciler.sandbox.refusals import given_values, invalid, not_found
from reconciler.sandbox.xml_codec import (
    LINKS,
    FlagRule,
    ListRule,
    NodeRule,
    NumberRule,
    XmlForm,
    XmlRule,
    frame_namespace,
)

RowValue = TypeVar("RowValue", bound=StoredRecord | Device)
RowFieldType = Literal["text", "flag", "number", "group"]  # of a field


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionRow(ABC, Generic[RowValue]):
    """A collection of values. The columns say where it is and how it is described; the methods are hooks.

    `name`: of one record; `plural`: its part of the address; `rows`: the key of its rows, the plural if "";
    `media`: the word in its media type, the name if "". `above`: the collections of its parents. `order`: a
    list begins with the oldest record, or with the one updated last. `filters`: query parameters of a list
    besides those of pages, None for every field; `options`: those of a create and a GET. `says`: the
    descriptions of endpoints by verb, where they differ from ENDPOINT_SENTENCES.
    """

    name: str
    plural: str
    rows: str = ""
    media: str = ""
    above: tuple[str, ...] = ()
    in_workspaces: bool = True
    order: Literal["created", "updated"] = "created"
    filters: tuple[str, ...] | None = None
    options: tuple[str, ...] = ()
    says: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The word in its media type."""
        return self.media or self.name

    @property
    def key(self) -> str:
        """The key under which a list has its rows."""
        return self.rows or self.plural

    @property
    def noun(self) -> str:
        """The word in relations of links and in names of schemas: Template."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def asked(self) -> tuple[str, ...]:
        """The parameters of a list, beside those of its page."""
        return self.filters or ()

    def records(self, call: Call) -> Mapping[str, RowValue]:
        """The records at the address of the call, by id."""
        return call.shelf.records(self.name)

    def one(self, call: Call, place: int = -1) -> RowValue:
        """The record with the id at this place of the address; refuses (404) an unknown one."""
        found = self.records(call).get(call.ids[place])
        if found is None:
            raise not_found()
        return found

    def found(self, call: Call) -> Sequence[RowValue]:
        """The records that match the query, in its order."""
        return call.listed(self.records(call).values())

    @abstractmethod
    def read(self, call: Call, before: RowValue | None) -> RowValue:
        """The new record of a body, or the replacement of `before`. Refuses (422) an invalid body."""

    async def check(self, call: Call, record: RowValue) -> None:
        """The last check before a new record is stored."""

    def keep(self, call: Call, record: RowValue) -> None:
        """Store the record."""
        call.state.put_record(self.name, cast("StoredRecord", record), last=self.order == "updated")

    def drop(self, call: Call, record: RowValue) -> None:
        """Delete the record."""
        call.state.drop_records(self.name, [cast("StoredRecord", record)])

    @abstractmethod
    def shown(self, call: Call, record: RowValue, view: View) -> Body:
        """The document of the record, with its links."""

    def replaced(self, call: Call, record: RowValue) -> Answer:  # noqa: ARG002  for rows that show the record
        """What a PUT answers."""
        return no_content


@dataclass(frozen=True, slots=True)
class RowField:
    """One field. `one_of`: its allowed texts, () for any. `withheld`: accepted and never shown.

    `parts` are the fields of a group, which is an object.
    """

    name: str
    required: bool = False
    one_of: tuple[str, ...] = ()
    type: RowFieldType = "text"
    withheld: bool = False
    parts: tuple["RowField", ...] = ()

    def __post_init__(self) -> None:
        if self.type not in _FIELD_TYPES:
            raise ValueError(f"{self.name}: {self.type!r} is no type of field of the sandbox")

    @property
    def rule(self) -> XmlRule | None:
        """Its rule in XML, None for a text."""
        return _FIELD_TYPES[self.type].rule(self)

    def given(self, body: Body) -> Body:
        """The field of a body by its name, or nothing; refuses (422) a value of another type."""
        if self.name not in body:
            return {}
        value: Any = body[self.name]
        if type(value) not in _FIELD_TYPES[self.type].taken:
            raise invalid(f"{self.name} must be {_FIELD_TYPES[self.type].said}")
        if self.type == "group":
            return {self.name: _read_fields(self.parts, given_values(value), f"{self.name}.")}
        if self.one_of and value not in self.one_of:
            raise invalid(f"{self.name} must be one of {', '.join(self.one_of)}")
        return {self.name: value}

    def shown(self, value: Any) -> Any:
        """The value without withheld parts."""
        if self.type != "group":
            return value
        known = {one.name: one for one in self.parts if not one.withheld}
        return {name: known[name].shown(part) for name, part in value.items() if name in known}


class _FieldTypeRow(NamedTuple):
    """A type of field: its types in JSON, its name in refusals, and its rule in XML."""

    taken: tuple[type, ...]  # compared exactly: in Python, True is an int
    said: str
    rule: Callable[[RowField], XmlRule | None]


_FIELD_TYPES: Mapping[RowFieldType, _FieldTypeRow] = {
    "text": _FieldTypeRow((str,), "a string", lambda _field: None),
    "flag": _FieldTypeRow((bool,), "true or false", lambda _field: FlagRule()),
    "number": _FieldTypeRow((int, float), "a number", lambda _field: NumberRule()),
    "group": _FieldTypeRow((dict,), "an object", lambda field: NodeRule(xml_rules_of(field.parts))),
}
if _FIELD_TYPES.keys() != {*get_args(RowFieldType)}:
    raise TypeError(
        f"types of fields without a row: {sorted({*get_args(RowFieldType)} ^ _FIELD_TYPES.keys())}"
    )


def xml_rules_of(fields: Sequence[RowField]) -> dict[str, XmlRule]:
    """The XML rules of those fields that are not plain texts."""
    return {one.name: rule for one in fields if (rule := one.rule) is not None}


def _read_fields(fields: Sequence[RowField], body: Body, path: str = "") -> Body:
    """The fields of a body; refuses (422) missing ones by their paths."""
    missing = [one.name for one in fields if one.required and body.get(one.name, "") == ""]
    if missing:
        raise invalid(f"{', '.join(path + name for name in missing)}: required and missing")
    return {name: value for one in fields for name, value in one.given(body).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(CollectionRow[Record]):
    """A collection of plain records. Raises ValueError where its columns contradict each other.

    `brief`: the fields in a row of a list, () for all. `unique`: fields with different values in all records
    of a workspace. `spares`: fields that a PUT keeps when it leaves them out; it clears others.
    """

    fields: tuple[RowField, ...]
    brief: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = {one.name for one in self.fields}
        if known & {"id", "link"}:
            raise ValueError(f"{self.name}: every record has an id and links, and no fields of these names")
        for column in ("brief", "filters", "unique", "spares"):
            unknown = sorted(set(getattr(self, column) or ()) - known)
            if unknown:
                raise ValueError(f"{self.name}: {column} names {', '.join(unknown)}, which is no field")

    @property
    def required(self) -> tuple[str, ...]:
        """The fields required in every create and update, except those that a PUT spares."""
        return tuple(one.name for one in self.fields if one.required)

    @property
    def filtered(self) -> tuple[str, ...]:
        """The fields that a list may be filtered by."""
        names = [one.name for one in self.fields] if self.filters is None else self.filters
        return tuple(name for name in names if name.lower() not in NO_FILTERS)

    @property
    def asked(self) -> tuple[str, ...]:
        """The parameters of a list, beside those of its page."""
        return "sortOrder", "sortFields", *self.filtered

    @property
    def form(self) -> XmlForm:
        """Its documents in XML."""
        entity = NodeRule({"link": LINKS, **xml_rules_of(self.fields)})
        return XmlForm(self.name, entity, self.key, ListRule(self.name, entity, space=frame_namespace))

    @property
    def entrance(self) -> tuple[str, str, str, str]:
        """Its links at the root or in a workspace: path, kind, and the two relations."""
        plural = self.plural[:1].upper() + self.plural[1:]
        return self.plural, self.kind, f"retrieve{plural}", f"create{self.noun}"

    def found(self, call: Call) -> Sequence[Record]:
        """The records that contain every text of the query, in any letter case."""
        wanted = {name: lower_letters(call.query.get(name, "")) for name in self.filtered}
        found = [
            one
            for one in call.listed(self.records(call).values())
            if all(text in _comparable_text(one, name) for name, text in wanted.items() if text)
        ]
        if self.order == "updated":
            found.reverse()
        names = [name.strip() for name in call.query.get("sortFields", "").split(",") if name.strip()]
        if names:
            found.sort(key=lambda one: [_comparable_text(one, name) for name in names])
        if read_order(call.query) == "desc":
            found.reverse()
        return found

    def read(self, call: Call, before: Record | None) -> Record:
        """A record with the fields of the row; other keys are ignored."""
        old = before.fields if before else {}
        spared = {name: old[name] for name in self.spares if name in old}
        fields = self._fields({**spared, **given_values(call.body())})
        self._require_unique(call, fields, owner=before.id if before else "")
        if before:
            return msgspec.structs.replace(before, fields=fields)
        record_id, number = call.state.new_id(self.name)
        return Record(id=record_id, number=number, workspace=call.shelf.id, fields=fields)

    def shown(self, call: Call, record: Record, view: View) -> Body:
        """The fields in the order of the row; in a list the brief ones, and no links to change it."""
        names = (view == "row" and self.brief) or [one.name for one in self.fields if not one.withheld]
        uri = call.writer.address(self.plural, record.id)
        links = call.writer.record_links(uri, self.noun, self.kind, change=view != "row")
        known = {one.name: one for one in self.fields}
        shown = {name: known[name].shown(record.fields[name]) for name in names if name in record.fields}
        return {"id": record.id, **shown, "link": links}

    def _fields(self, body: Body) -> Body:
        """The fields of the row that the body gives; refuses (422) a missing or wrong one by name."""
        return _read_fields(self.fields, body)

    def _require_unique(self, call: Call, fields: Body, *, owner: str) -> None:
        for name in self.unique:
            others = (one for one in self.records(call).values() if one.id != owner)
            if name in fields and any(one.fields.get(name) == fields[name] for one in others):
                raise invalid(f"{name}: there is a {self.name} with this {name} already")


def _comparable_text(record: Record, name: str) -> str:
    return lower_letters(str(record.fields.get(name, "")))


AnyCollection = CollectionRow[Any]


# --- The five endpoints of every collection that is a row: list, create, get, replace, delete -----


Endpoint = Callable[[Call], Answer | Awaitable[Answer]]

ENDPOINT_SENTENCES = {
    "list": "One page of the {plural}.",
    "create": "A new {name}; the answer is the whole of it.",
    "get": "The whole {name}.",
    "put": "The {name} is replaced.",
    "delete": "The {name} is gone.",
}
"""Verb -> what its endpoint does, in the description of every row that does not say it in other words."""


def collection_methods(row: AnyCollection) -> dict[str, Endpoint]:
    """What the address of the whole collection does, by method."""
    return {
        "GET": _name_endpoint(row, "list", _list_records),
        "POST": _name_endpoint(row, "create", _create_record),
    }


def record_methods(row: AnyCollection) -> dict[str, Endpoint]:
    """What the address of one record does, by method."""
    return {
        "GET": _name_endpoint(row, "get", _get_record),
        "PUT": _name_endpoint(row, "put", _put_record),
        "DELETE": _name_endpoint(row, "delete", _delete_record),
    }


def _name_endpoint(
    row: AnyCollection, verb: str, does: Callable[[AnyCollection, Call], Answer | Awaitable[Answer]]
) -> Endpoint:
    """The endpoint of this row, with the name and the docstring that the description shows."""

    def endpoint(call: Call) -> Answer | Awaitable[Answer]:
        return does(row, call)

    endpoint.__name__ = f"{verb}_{row.plural if verb == 'list' else row.name}"
    endpoint.__doc__ = row.says.get(verb) or ENDPOINT_SENTENCES[verb].format(name=row.name, plural=row.plural)
    return endpoint


def _list_records(row: AnyCollection, call: Call) -> Answer:
    found = row.found(call)
    return call.paged(row.key, found, lambda one: row.shown(call, one, "row"))


async def _create_record(row: AnyCollection, call: Call) -> Answer:
    record = row.read(call, None)
    await row.check(call, record)
    row.keep(call, record)
    return Answer(201, row.shown(call, record, "created"), f"{call.address}/{record.id}")


def _get_record(row: AnyCollection, call: Call) -> Answer:
    return Answer(200, row.shown(call, row.one(call), "whole"))


def _put_record(row: AnyCollection, call: Call) -> Answer:
    record = row.read(call, row.one(call))
    row.keep(call, record)
    return row.replaced(call, record)


def _delete_record(row: AnyCollection, call: Call) -> Answer:
    row.drop(call, row.one(call))
    return no_content


# Collections of the service whose records are plain: a row each, and nothing more.
PLAIN_COLLECTIONS: tuple[Collection, ...] = ()
