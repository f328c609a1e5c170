"""One collection is one row: what its records hold, where they are reached, how they are listed and replaced.

Belongs here: the row, and everything that follows from it alone: media type, XML, links, schemas, operations.
Not here: what a request does (rows.py); contacts, devices, resources and callbacks, which have rules of
their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from reconciler.sandbox.collections.search import NO_FILTERS
from reconciler.sandbox.keeping.records import Body, Record
from reconciler.sandbox.xml.forms import LINKS, Form
from reconciler.sandbox.xml.rules import Many, Node, Rule
from reconciler.sandbox.xml.tree import frames


@dataclass(frozen=True, slots=True)
class Field:
    """One field, a text. `one_of`: the only texts that it may have, () for any."""

    name: str
    required: bool = False
    one_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A collection of plain records. Raises ValueError where two of its parts contradict each other.

    `name`: of one record; `plural`: its part of the address and the key of its rows; `media`: the word in
    its media type, the name if "". `brief`: the fields that a row of a list shows, () for all of them.
    `order`: a list begins with the oldest record, or with the one that was changed last. `filters`: the
    fields that a list is filtered by, None for all. `unique`: fields of which no two records of a workspace
    have the same value. `spares`: the fields that stay when a PUT leaves them out; others are gone.
    `xml`: the rules of fields that are more than an element with a text.
    """

    name: str
    plural: str
    fields: tuple[Field, ...]
    media: str = ""
    in_workspaces: bool = True
    brief: tuple[str, ...] = ()
    order: Literal["created", "updated"] = "created"
    filters: tuple[str, ...] | None = None
    unique: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    xml: Mapping[str, Rule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {one.name for one in self.fields}
        if known & {"id", "link"}:
            raise ValueError(f"{self.name}: every record has an id and links, and no fields of these names")
        for column in ("brief", "filters", "unique", "spares"):
            unknown = sorted(set(getattr(self, column) or ()) - known)
            if unknown:
                raise ValueError(f"{self.name}: {column} names {', '.join(unknown)}, which is no field")

    @property
    def kind(self) -> str:
        """The word in its media type."""
        return self.media or self.name

    @property
    def noun(self) -> str:
        """The word in relations of links and in names of schemas: Template."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def required(self) -> tuple[str, ...]:
        """The fields that stand in every create and every update, except those that a PUT spares."""
        return tuple(one.name for one in self.fields if one.required)

    @property
    def asked(self) -> tuple[str, ...]:
        """The fields that a list may be filtered by."""
        names = [one.name for one in self.fields] if self.filters is None else self.filters
        return tuple(name for name in names if name.lower() not in NO_FILTERS)

    @property
    def form(self) -> Form:
        """Its documents in XML."""
        entity = Node({"link": LINKS, **self.xml})
        return Form(self.name, entity, self.plural, Many(self.name, entity, space=frames))

    @property
    def entrance(self) -> tuple[str, str, str, str]:
        """Its links at the root or in a workspace: path, kind, and the two relations."""
        plural = self.plural[:1].upper() + self.plural[1:]
        return self.plural, self.kind, f"retrieve{plural}", f"create{self.noun}"

    def shown(self, record: Record, *, brief: bool) -> Body:
        """The fields of a record as a document has them, in the order of the row."""
        names = self.brief if brief and self.brief else [one.name for one in self.fields]
        return {"id": record.id, **{name: record.fields[name] for name in names if name in record.fields}}
