"""How a piece of a JSON document becomes elements, and elements that piece again.

Belongs here: the rules that rows of the table in xml/forms.py are made of. Not here: the rows, characters.

Every rule writes what fits it and reads what it wrote. A value that does not fit, and a name without a rule,
is `Open`: text, an element with children for an object, repeated elements for a list. Numbers and truth
values then come back as text, and names that XML does not have are left out.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import ClassVar, Protocol

import msgspec

from reconciler.sandbox.records import Body
from reconciler.sandbox.refusals import malformed
from reconciler.sandbox.xml.tree import Element, frames, is_name

_NUMBER = re.compile(r"-?\d{1,400}(\.\d+)?([eE][+-]?\d+)?")
_epoch = datetime(1970, 1, 1, tzinfo=UTC)


class XmlRule(Protocol):
    """What stands under one key. `tag` is the name of its elements where that is not the key itself."""

    @property
    def space(self) -> str:
        """The namespace of its elements, "" for none."""
        return ""

    @property
    def tag(self) -> str:
        """The name of its elements, "" for that of the key."""
        return ""

    def write(self, tag: str, value: object) -> list[Element] | None:
        """The elements of this value; None when the value is not of the rule's form."""

    def read(self, found: list[Element]) -> object:
        """The value of all elements of this name that stand in one place."""


@dataclass(frozen=True, slots=True)
class Open(XmlRule):
    """Whatever has no rule of its own."""

    def write(self, tag: str, value: object) -> list[Element]:
        """Text, children, or one element for each item; nothing for null."""
        match value:
            case None:
                return []
            case list():
                return [element for item in value for element in self.write(tag, item)]
            case dict():
                named = ((name, item) for name, item in value.items() if is_name(name))
                children = [element for name, item in named for element in self.write(name, item)]
                return [Element("", tag, children=children)]
            case _:
                return [Element("", tag, text=as_text(value))]

    def read(self, found: list[Element]) -> object:
        """One element: its text, or an object of its children. Several: a list of those."""
        values = [Node().read_one(one) if one.children else one.text for one in found]
        return values[0] if len(values) == 1 else values


OPEN = Open()


@dataclass(frozen=True, slots=True)
class Flag(XmlRule):
    """A truth value: true or false."""

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One element for a boolean."""
        return OPEN.write(tag, value) if isinstance(value, bool) else None

    def read(self, found: list[Element]) -> object:
        """The boolean; other text stays text."""
        value = OPEN.read(found)
        return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Number(XmlRule):
    """A JSON number, written as in JSON."""

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One element for a number."""
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        return OPEN.write(tag, value) if fits else None

    def read(self, found: list[Element]) -> object:
        """The number; other text stays text."""
        text = OPEN.read(found)
        if not isinstance(text, str) or not _NUMBER.fullmatch(text):
            return text
        if text.lstrip("-").isdigit():
            return int(text)
        return float(text) if isfinite(float(text)) else text


@dataclass(frozen=True, slots=True)
class Moment(XmlRule):
    """Milliseconds since 1970 in JSON, ISO 8601 in UTC in XML."""

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One element for a number of milliseconds that is a date of a calendar."""
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        try:
            moment = _epoch + timedelta(milliseconds=value)
        except OverflowError:
            return None
        return OPEN.write(tag, moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"))

    def read(self, found: list[Element]) -> object:
        """The milliseconds; other text, and a time without an offset, stay text."""
        text = OPEN.read(found)
        try:
            moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            return text
        return (moment - _epoch) // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Node(XmlRule):
    """One object: rules for some of its keys; those in `attributes` stand at the element, not in it."""

    rules: Mapping[str, XmlRule] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One element for an object."""
        return [self.element("", tag, value)] if isinstance(value, dict) else None

    def read(self, found: list[Element]) -> object:
        """The object; text stays text, and several are a list."""
        values = [one.text if one.text.strip() else self.read_one(one) for one in found]
        return values[0] if len(values) == 1 else values

    def element(self, space: str, name: str, document: Body) -> Element:
        """The element of this name in this namespace."""
        element = Element(space, name)
        for key, value in document.items():
            rule = self.rules.get(key, OPEN)
            if key in self.attributes and isinstance(value, str):
                element.attributes[key] = value
            elif is_name(key):
                tag = rule.tag or key
                written = rule.write(tag, value)
                element.children += OPEN.write(tag, value) if written is None else written
        return element

    def read_one(self, element: Element) -> Body:
        """The object that the element shows; refuses (400) a child in a namespace that is not its own."""
        document: Body = {
            key: element.attributes[key] for key in self.attributes if key in element.attributes
        }
        known = {rule.tag or key: (key, rule) for key, rule in self.rules.items()}
        places: dict[str, list[Element]] = {}
        for child in element.children:
            places.setdefault(child.name, []).append(child)
        for tag, found in places.items():
            key, rule = known.get(tag, (tag, OPEN))
            for one in found:
                _require_space(one, rule.space)
            document[key] = rule.read(found)
        return document


@dataclass(frozen=True, slots=True)
class Many(XmlRule):
    """A list of objects: `item` elements within one of the key's name, or alone where `wrapped` is False."""

    item: str
    inner: Node = Node()
    space: str = ""
    wrapped: bool = True

    @property
    def tag(self) -> str:
        """The name of the elements, "" for that of the key."""
        return "" if self.wrapped else self.item

    def write(self, tag: str, value: object) -> list[Element] | None:
        """The items, in their frame if they have one."""
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            return None
        items = [self.inner.element(self.space, self.item, one) for one in value]
        return [Element(self.space, tag, children=items)] if self.wrapped else items

    def read(self, found: list[Element]) -> object:
        """The list; refuses (400) a second frame, and anything else within it.

        Text in the place of elements is refused: read as an empty list, it would clear what is there.
        """
        if not self.wrapped:
            return [self._item(one) for one in found]
        if len(found) > 1:
            raise malformed(f"{found[0].name} stands there twice")
        _require_no_text(found[0])
        for child in found[0].children:
            _require_space(child, self.space)
            if child.name != self.item:
                raise malformed(f"{found[0].name}: {child.name[:64]} stands where {self.item} was expected")
        return [self._item(child) for child in found[0].children]

    def _item(self, element: Element) -> Body:
        _require_no_text(element)
        return self.inner.read_one(element)


@dataclass(frozen=True, slots=True)
class Pairs(XmlRule):
    """Free keys and values: an entry for each, holding key and value. The values are texts afterwards."""

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One frame with the entries."""
        if not isinstance(value, dict):
            return None
        entries = [
            Element("", "entry", children=[_leaf("key", key), _leaf("value", item)])
            for key, item in value.items()
        ]
        return [Element("", tag, children=entries)]

    def read(self, found: list[Element]) -> object:
        """The object; the last value counts where a key comes twice."""
        entries = Many("entry").read(found)
        pairs: Body = {}
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry.get("key"), str):
                raise malformed(f"{found[0].name}: an entry needs one key")
            pairs[entry["key"]] = entry.get("value", "")
        return pairs


@dataclass(frozen=True, slots=True)
class Links(XmlRule):
    """Links: elements without content, everything in attributes. An empty list leaves no trace."""

    space: ClassVar[str] = frames

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One element for each link."""
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            return None
        return [
            Element(frames, tag, {key: as_text(item) for key, item in one.items() if is_name(key)})
            for one in value
        ]

    def read(self, found: list[Element]) -> object:
        """The links, every part of them text."""
        return [dict(one.attributes) for one in found]


def as_text(value: object) -> str:
    """A value without parts, as it stands in an element."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _leaf(name: str, value: object) -> Element:
    return Element("", name, text="" if value is None else as_text(value))


def _require_no_text(element: Element) -> None:
    if element.text.strip():
        raise malformed(f"{element.name[:64]} holds text where elements were expected")


def _require_space(element: Element, space: str) -> None:
    if element.space not in (space, ""):
        wanted = f"in the namespace {space}" if space else "without a namespace"
        raise malformed(f"{element.name[:64]} has to be {wanted}")
