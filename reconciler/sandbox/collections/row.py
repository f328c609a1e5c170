"""One collection is one row: what its records hold, where they are reached, how they are listed and replaced.

Belongs here: the columns, what follows from them alone, and the hooks with which a row has rules of its own;
the row of a collection of plain records. Not here: what a request does (rows.py), the rows of the service
(table.py, callback_endpoints.py).

Five things of the service have rows in no table: workspaces, messages, calls, tokens and imports. Of none of
them is a record created, read, replaced, listed in pages and deleted; each has two or three methods alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast, get_args

import msgspec

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.casing import small
from reconciler.sandbox.entities.wire import View
from reconciler.sandbox.keeping.search import NO_FILTERS
from reconciler.sandbox.paging import read_order
from reconciler.sandbox.reading import present
from reconciler.sandbox.records import Body, Device, Kept, Record
from reconciler.sandbox.refusals import invalid, not_found
from reconciler.sandbox.xml.forms import LINKS, Form
from reconciler.sandbox.xml.rules import Flag, Many, Node, Number, XmlRule
from reconciler.sandbox.xml.tree import frames

Value = TypeVar("Value", bound=Kept | Device)
Type = Literal["text", "flag", "number", "group"]  # of a field


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(ABC, Generic[Value]):
    """A collection of values. The columns say where it is and how it is described; the rest are hooks.

    `name`: of one record; `plural`: its part of the address; `rows`: the key of its rows, the plural if
    ""; `media`: the word in its media type, the name if "". `above`: the collections in whose records it
    stands. `order`: a list begins with the oldest record, or with the one that was changed last.
    `filters`: what a list is asked for beside its page, None for every field; `options`: what a create
    and a GET are asked for. `says`: the sentence of an endpoint, by its verb, where another than that of
    all rows (rows.py) describes it.
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

    def records(self, call: Call) -> Mapping[str, Value]:
        """The records that stand at the address of the call, by id."""
        return call.shelf.records(self.name)

    def one(self, call: Call, place: int = -1) -> Value:
        """The record of the id in this place of the address; refuses (404) an unknown one."""
        found = self.records(call).get(call.ids[place])
        if found is None:
            raise not_found()
        return found

    def found(self, call: Call) -> Sequence[Value]:
        """The records that answer the query, in its order."""
        return call.listed(self.records(call).values())

    @abstractmethod
    def read(self, call: Call, before: Value | None) -> Value:
        """What the body makes: a new record, or what becomes of this one. Refuses (422) what cannot be."""

    async def check(self, call: Call, record: Value) -> None:
        """The last thing before a new record is kept."""

    def keep(self, call: Call, record: Value) -> None:
        """The record stands there from now on."""
        call.state.put_record(self.name, cast("Kept", record), last=self.order == "updated")

    def drop(self, call: Call, record: Value) -> None:
        """The record is gone."""
        call.state.drop_records(self.name, [cast("Kept", record)])

    @abstractmethod
    def shown(self, call: Call, record: Value, view: View) -> Body:
        """The document of the record, with its links."""

    def replaced(self, call: Call, record: Value) -> Answer:  # noqa: ARG002  for rows that show the record
        """What a PUT answers."""
        return no_content


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `one_of`: the only texts that it may have, () for any. `withheld`: taken, and never shown.

    `parts` are the fields of a group, which is an object.
    """

    name: str
    required: bool = False
    one_of: tuple[str, ...] = ()
    type: Type = "text"
    withheld: bool = False
    parts: tuple["Field", ...] = ()

    def __post_init__(self) -> None:
        if self.type not in _TYPES:
            raise ValueError(f"{self.name}: {self.type!r} is no type of field of the sandbox")

    @property
    def rule(self) -> XmlRule | None:
        """How it is written in XML, None for a text."""
        return _TYPES[self.type].rule(self)

    def given(self, body: Body) -> Body:
        """The field as the body has it, by its name, or nothing; refuses (422) what it cannot be."""
        if self.name not in body:
            return {}
        value: Any = body[self.name]
        if type(value) not in _TYPES[self.type].taken:
            raise invalid(f"{self.name} must be {_TYPES[self.type].said}")
        if self.type == "group":
            return {self.name: _given(self.parts, present(value), f"{self.name}.")}
        if self.one_of and value not in self.one_of:
            raise invalid(f"{self.name} must be one of {', '.join(self.one_of)}")
        return {self.name: value}

    def shown(self, value: Any) -> Any:
        """The value without what is withheld in it."""
        if self.type != "group":
            return value
        known = {one.name: one for one in self.parts if not one.withheld}
        return {name: known[name].shown(part) for name, part in value.items() if name in known}


class _TypeRow(NamedTuple):
    """A type of field: what JSON has for it, how a refusal calls that, and how it is written in XML."""

    taken: tuple[type, ...]  # not `isinstance`: true is a number to Python
    said: str
    rule: Callable[[Field], XmlRule | None]


_TYPES: Mapping[Type, _TypeRow] = {
    "text": _TypeRow((str,), "a string", lambda _field: None),
    "flag": _TypeRow((bool,), "true or false", lambda _field: Flag()),
    "number": _TypeRow((int, float), "a number", lambda _field: Number()),
    "group": _TypeRow((dict,), "an object", lambda field: Node(rules_of(field.parts))),
}
if _TYPES.keys() != {*get_args(Type)}:
    raise TypeError(f"types of fields without a row: {sorted({*get_args(Type)} ^ _TYPES.keys())}")


def rules_of(fields: Sequence[Field]) -> dict[str, XmlRule]:
    """The rules in XML of those fields that are more than a text."""
    return {one.name: rule for one in fields if (rule := one.rule) is not None}


def _given(fields: Sequence[Field], body: Body, path: str = "") -> Body:
    """The fields that a body gives; refuses (422) a missing one by its path."""
    missing = [one.name for one in fields if one.required and body.get(one.name, "") == ""]
    if missing:
        raise invalid(f"{', '.join(path + name for name in missing)}: required and missing")
    return {name: value for one in fields for name, value in one.given(body).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(Row[Record]):
    """A collection of plain records. Raises ValueError where two of its parts contradict each other.

    `brief`: the fields that a row of a list shows, () for all of them. `unique`: fields of which no two
    records of a workspace have the same value. `spares`: the fields that stay when a PUT leaves them out;
    others are gone.
    """

    fields: tuple[Field, ...]
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
        """The fields that stand in every create and every update, except those that a PUT spares."""
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
    def form(self) -> Form:
        """Its documents in XML."""
        entity = Node({"link": LINKS, **rules_of(self.fields)})
        return Form(self.name, entity, self.key, Many(self.name, entity, space=frames))

    @property
    def entrance(self) -> tuple[str, str, str, str]:
        """Its links at the root or in a workspace: path, kind, and the two relations."""
        plural = self.plural[:1].upper() + self.plural[1:]
        return self.plural, self.kind, f"retrieve{plural}", f"create{self.noun}"

    def found(self, call: Call) -> Sequence[Record]:
        """The records that contain every text that is asked for, in any letter case."""
        wanted = {name: small(call.query.get(name, "")) for name in self.filtered}
        found = [
            one
            for one in call.listed(self.records(call).values())
            if all(text in _folded(one, name) for name, text in wanted.items() if text)
        ]
        if self.order == "updated":
            found.reverse()
        names = [name.strip() for name in call.query.get("sortFields", "").split(",") if name.strip()]
        if names:
            found.sort(key=lambda one: [_folded(one, name) for name in names])
        if read_order(call.query) == "desc":
            found.reverse()
        return found

    def read(self, call: Call, before: Record | None) -> Record:
        """A record of the fields that the row has; what is no field of it is ignored."""
        old = before.fields if before else {}
        spared = {name: old[name] for name in self.spares if name in old}
        fields = self._fields({**spared, **present(call.body())})
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
        return _given(self.fields, body)

    def _require_unique(self, call: Call, fields: Body, *, owner: str) -> None:
        for name in self.unique:
            others = (one for one in self.records(call).values() if one.id != owner)
            if name in fields and any(one.fields.get(name) == fields[name] for one in others):
                raise invalid(f"{name}: there is a {self.name} with this {name} already")


def _folded(record: Record, name: str) -> str:
    return small(str(record.fields.get(name, "")))


AnyRow = Row[Any]
