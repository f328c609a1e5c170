"""Every kind of document in XML: one table, read in both directions.

Endpoints know plain JSON documents alone. A kind (the word in its media type) has one row in FORMS, which
says how its document becomes XML and back:

    <A:contact>                       the root of one entity, in the namespace of entities
      <firstName>Jane</firstName>     a key without a rule: text, without a namespace
      <D:link uri= rel= method=/>     links, in the namespace of frames, everything in attributes
    <D:return>                        the root of a list
      <status>1 to 1 of 1    </status>
      <D:contacts><D:contact>         the rows' frame (the key in JSON) and the rows

To add a kind, add a row: Form(root, keys with a rule, key of the list, rule of its rows). The rules stand
below: Number, Flag, Moment (milliseconds in JSON, ISO 8601 here), Node (an object; some keys as
attributes), Many (a list of objects), Pairs (free keys: entry, key, value), Links. Other keys need none.
What is no object in JSON, such as the plain text of an accepted message, does not come here.

Source: docs/service.md, XML; the forms of custom fields, locations and devices within a contact are assumed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import ClassVar, Protocol
from xml.parsers import expat

import msgspec

from reconciler.sandbox.records import Body
from reconciler.sandbox.refusals import malformed

# --- XML as a tree of elements: parsed with limits, and written out -------------------------------
#
# Source: docs/service.md, XML.


entity_namespace = "http://schemas.api.whispir.com"  # A: the roots of single documents
frame_namespace = f"{entity_namespace}/dap"  # D: lists and what stands in them, links
Prefixes = tuple[str, str]  # of these two, in this order; they mean nothing and differ from answer to answer

xml_depth_max = 64  # levels, as in JSON
attributes_max = 32  # of one element; a link has six
elements_max = 50_000  # of one document
element_name_max = 256  # characters of a name with its namespace, which is there anew for every element in it

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"}
_IN_TEXT = str.maketrans(_ESCAPES)
_IN_ATTRIBUTE = str.maketrans({**_ESCAPES, "\t": "&#9;", "\n": "&#10;"})


@dataclass(slots=True)
class Element:
    """One element: its namespace ("" for none) and local name; text only where there are no children."""

    space: str
    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: "list[Element]" = field(default_factory=list)
    text: str = ""


def is_element_name(text: str) -> bool:
    """Can this be the local name of an element? Only ASCII names are."""
    return bool(_NAME.fullmatch(text))


def parse_xml(content: bytes) -> Element:
    """The root of the document; refuses (400) what is no XML, has a DOCTYPE, or goes over a limit."""
    builder = _Builder()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = builder.doctype
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.characters
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError):  # the last two are about unknown encodings
        raise malformed("the body is not well-formed XML") from None
    return builder.root


def serialize_xml(root: Element, prefixes: Prefixes) -> bytes:
    """The document in UTF-8, with both namespaces declared at the root."""
    names = {"": "", entity_namespace: f"{prefixes[0]}:", frame_namespace: f"{prefixes[1]}:"}
    declared = {f"xmlns:{prefixes[0]}": entity_namespace, f"xmlns:{prefixes[1]}": frame_namespace}
    pieces = ['<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n']
    top = Element(root.space, root.name, {**declared, **root.attributes}, root.children, root.text)
    _write_element(top, names, pieces)
    return "".join(pieces).encode()


def _write_element(element: Element, names: dict[str, str], pieces: list[str]) -> None:
    name = f"{names[element.space]}{element.name}"
    pieces.append(f"<{name}")
    pieces.extend(
        f' {key}="{_escape_text(value, _IN_ATTRIBUTE)}"' for key, value in element.attributes.items()
    )
    if not element.children and not element.text:
        pieces.append("/>")
        return
    pieces.append(f">{_escape_text(element.text, _IN_TEXT)}")
    for child in element.children:
        _write_element(child, names, pieces)
    pieces.append(f"</{name}>")


def _escape_text(text: str, escapes: dict[int, str]) -> str:
    """The text as it may stand in XML 1.0; what may not is shown as the replacement character."""
    return _FORBIDDEN.sub("\ufffd", text).translate(escapes)


class _Builder:
    """Takes the parser's events and makes elements of them."""

    def __init__(self) -> None:
        self._document = Element("", "")
        self._open = [self._document]
        self._texts: list[list[str]] = [[]]
        self._count = 0

    @property
    def root(self) -> Element:
        return self._document.children[0]

    def doctype(self, *_declaration: object) -> None:
        raise malformed("the body has a DOCTYPE, which is not accepted")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(name) > element_name_max or any(len(key) > element_name_max for key in attributes):
            raise malformed(f"a name has more than {element_name_max} characters with its namespace")
        self._count += 1
        if len(self._open) > xml_depth_max:
            raise malformed(f"the body is nested more than {xml_depth_max} levels deep")
        if len(attributes) > attributes_max:
            raise malformed(f"an element has more than {attributes_max} attributes")
        if self._count > elements_max:
            raise malformed(f"the body has more than {elements_max} elements")
        space, _, local = name.rpartition(" ")
        element = Element(space, local, attributes)
        self._open[-1].children.append(element)
        self._open.append(element)
        self._texts.append([])

    def characters(self, text: str) -> None:
        self._texts[-1].append(text)

    def end(self, _name: str) -> None:
        element, text = self._open.pop(), "".join(self._texts.pop())
        if not element.children:
            element.text = text
        elif not text.isspace() and text:
            raise malformed(f"{element.name}: text between elements")


# --- How a piece of a JSON document becomes elements, and elements that piece again ---------------
#
#
# Every rule writes what fits it and reads what it wrote. A value that does not fit, and a name without a
# rule,
# is `OpenRule`: text, an element with children for an object, repeated elements for a list. Numbers and truth
# values then come back as text, and names that XML does not have are left out.


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
class OpenRule(XmlRule):
    """Whatever has no rule of its own."""

    def write(self, tag: str, value: object) -> list[Element]:
        """Text, children, or one element for each item; nothing for null."""
        match value:
            case None:
                return []
            case list():
                return [element for item in value for element in self.write(tag, item)]
            case dict():
                named = ((name, item) for name, item in value.items() if is_element_name(name))
                children = [element for name, item in named for element in self.write(name, item)]
                return [Element("", tag, children=children)]
            case _:
                return [Element("", tag, text=element_text(value))]

    def read(self, found: list[Element]) -> object:
        """One element: its text, or an object of its children. Several: a list of those."""
        values = [NodeRule().read_one(one) if one.children else one.text for one in found]
        return values[0] if len(values) == 1 else values


OPEN_RULE = OpenRule()


@dataclass(frozen=True, slots=True)
class FlagRule(XmlRule):
    """A truth value: true or false."""

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One element for a boolean."""
        return OPEN_RULE.write(tag, value) if isinstance(value, bool) else None

    def read(self, found: list[Element]) -> object:
        """The boolean; other text stays text."""
        value = OPEN_RULE.read(found)
        return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class NumberRule(XmlRule):
    """A JSON number, written as in JSON."""

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One element for a number."""
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        return OPEN_RULE.write(tag, value) if fits else None

    def read(self, found: list[Element]) -> object:
        """The number; other text stays text."""
        text = OPEN_RULE.read(found)
        if not isinstance(text, str) or not _NUMBER.fullmatch(text):
            return text
        if text.lstrip("-").isdigit():
            return int(text)
        return float(text) if isfinite(float(text)) else text


@dataclass(frozen=True, slots=True)
class MomentRule(XmlRule):
    """Milliseconds since 1970 in JSON, ISO 8601 in UTC in XML."""

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One element for a number of milliseconds that is a date of a calendar."""
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        try:
            moment = _epoch + timedelta(milliseconds=value)
        except OverflowError:
            return None
        return OPEN_RULE.write(tag, moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"))

    def read(self, found: list[Element]) -> object:
        """The milliseconds; other text, and a time without an offset, stay text."""
        text = OPEN_RULE.read(found)
        try:
            moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            return text
        return (moment - _epoch) // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class NodeRule(XmlRule):
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
            rule = self.rules.get(key, OPEN_RULE)
            if key in self.attributes and isinstance(value, str):
                element.attributes[key] = value
            elif is_element_name(key):
                tag = rule.tag or key
                written = rule.write(tag, value)
                element.children += OPEN_RULE.write(tag, value) if written is None else written
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
            key, rule = known.get(tag, (tag, OPEN_RULE))
            for one in found:
                _require_space(one, rule.space)
            document[key] = rule.read(found)
        return document


@dataclass(frozen=True, slots=True)
class ListRule(XmlRule):
    """A list of objects: `item` elements within one of the key's name, or alone where `wrapped` is False."""

    item: str
    inner: NodeRule = NodeRule()
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
class PairsRule(XmlRule):
    """Free keys and values: an entry for each, holding key and value. The values are texts afterwards."""

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One frame with the entries."""
        if not isinstance(value, dict):
            return None
        entries = [
            Element("", "entry", children=[_text_element("key", key), _text_element("value", item)])
            for key, item in value.items()
        ]
        return [Element("", tag, children=entries)]

    def read(self, found: list[Element]) -> object:
        """The object; the last value counts where a key comes twice."""
        entries = ListRule("entry").read(found)
        pairs: Body = {}
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry.get("key"), str):
                raise malformed(f"{found[0].name}: an entry needs one key")
            pairs[entry["key"]] = entry.get("value", "")
        return pairs


@dataclass(frozen=True, slots=True)
class LinksRule(XmlRule):
    """Links: elements without content, everything in attributes. An empty list leaves no trace."""

    space: ClassVar[str] = frame_namespace

    def write(self, tag: str, value: object) -> list[Element] | None:
        """One element for each link."""
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            return None
        return [
            Element(
                frame_namespace,
                tag,
                {key: element_text(item) for key, item in one.items() if is_element_name(key)},
            )
            for one in value
        ]

    def read(self, found: list[Element]) -> object:
        """The links, every part of them text."""
        return [dict(one.attributes) for one in found]


def element_text(value: object) -> str:
    """A value without parts, as it stands in an element."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _text_element(name: str, value: object) -> Element:
    return Element("", name, text="" if value is None else element_text(value))


def _require_no_text(element: Element) -> None:
    if element.text.strip():
        raise malformed(f"{element.name[:64]} holds text where elements were expected")


def _require_space(element: Element, space: str) -> None:
    if element.space not in (space, ""):
        wanted = f"in the namespace {space}" if space else "without a namespace"
        raise malformed(f"{element.name[:64]} has to be {wanted}")


usual_prefixes: Prefixes = ("ns2", "ns3")
list_root = "return"

LINKS = LinksRule()


@dataclass(frozen=True, slots=True)
class XmlForm:
    """One kind: the root and the rules of an entity; of a list the key in JSON, its rows, its own links."""

    root: str
    entity: NodeRule
    key: str = ""
    rows: ListRule | None = None
    links: XmlRule = LINKS


def _linked_rule(*attributes: str, **rules: XmlRule) -> NodeRule:
    return NodeRule({"link": LINKS, **rules}, attributes)


def _list_form(root: str, entity: NodeRule, key: str, row: NodeRule | None = None) -> XmlForm:
    return XmlForm(root, entity, key, ListRule(root, row or entity, space=frame_namespace))


DEVICE_RULE = _linked_rule()
CONTACT_RULE = _linked_rule(
    locations=ListRule("location", NodeRule({"longitude": NumberRule(), "latitude": NumberRule()})),
    messagingoptions=ListRule("messagingoption", NodeRule({"enabled": FlagRule()}, ("channel",))),
    customFields=ListRule("customField"),
    devices=ListRule("device", DEVICE_RULE),
)
_REPEATS = {name: NumberRule() for name in ("repetitionCount", "repeatDays", "repeatHrs", "repeatMin")}
_PARTS = {
    **{name: NodeRule() for name in ("email", "voice", "web", "dlr")},
    "social": NodeRule({"social": ListRule("social", NodeRule(attributes=("id",)), wrapped=False)}),
    "features": NodeRule({"pushOptions": NodeRule()}),
}
MESSAGE_RULE = _linked_rule(createdTime=MomentRule(), callbackParameters=PairsRule(), **_REPEATS, **_PARTS)
_TIMES = {name: MomentRule() for name in ("sentTimestamp", "receivedTimestamp", "acknowlegedTimestamp")}
STATUS_RULE = _linked_rule(
    categories=ListRule("status", NodeRule({"recipientCount": NumberRule()}, ("name",))),
    status=ListRule("status", NodeRule(_TIMES, ("type",)), wrapped=False),
)
# The channel of an answer is an attribute in a list of responses, and an element in a callback.
RESPONSE_RULE = _linked_rule("type", responseMessage=NodeRule(attributes=("channel",)))
CALLBACK_RULE = _linked_rule(retriesEnabled=FlagRule(), auth=NodeRule(), callbacks=NodeRule())
# Of calls the rows stand at the root itself, and all parts of links are children.
CALL_RULE = NodeRule(
    {
        "callback": NodeRule({"statusCode": NumberRule()}),
        "link": ListRule("link", wrapped=False),
    }
)

XML_FORMS: dict[str, XmlForm] = {
    "company": XmlForm("company", _linked_rule()),
    "auth": XmlForm("auth", _linked_rule()),
    "error": XmlForm("error", _linked_rule()),
    "workspace": _list_form("workspace", _linked_rule(), "workspaces"),
    "contact": _list_form("contact", CONTACT_RULE, "contacts"),
    "contactdevice": _list_form("device", DEVICE_RULE, "devices"),
    "resource": _list_form("resource", _linked_rule(), "resources"),
    "message": _list_form("message", MESSAGE_RULE, "messages"),
    "messagestatus": _list_form("messageStatus", STATUS_RULE, "messageStatuses"),
    "messageresponse": _list_form("response", RESPONSE_RULE, "messageresponses"),
    "api-callback": XmlForm(
        "companyapicallback",
        CALLBACK_RULE,
        "callbacks",
        ListRule("callback", CALLBACK_RULE, space=frame_namespace),
    ),
    "api-call": XmlForm(
        "call",
        CALL_RULE,
        "calls",
        ListRule("call", CALL_RULE, space=frame_namespace, wrapped=False),
        ListRule("link", space=frame_namespace, wrapped=False),
    ),
    "importcontact": XmlForm(
        "importcontact", NodeRule({"importOptions": NodeRule({"fieldMapping": NodeRule()})})
    ),
    # What is sent to a callback's own address; no answer of the service has this kind.
    "deliveryResponse": XmlForm("deliveryResponse", NodeRule({"customParameters": PairsRule()})),
}
"""The kind in the media type -> its form."""
NO_XML_FORMS: Mapping[str, XmlForm] = {}


def write_xml(
    kind: str, document: Body, prefixes: Prefixes = usual_prefixes, own: Mapping[str, XmlForm] = NO_XML_FORMS
) -> bytes:
    """The document of this kind as XML: a list if it has the rows of one, or nothing but status and links.

    `own`: the forms of kinds that are not in the table.
    """
    form = own.get(kind) or XML_FORMS[kind]
    listed = isinstance(document.get(form.key), list)  # a callback has an object under the key of its lists
    if form.rows is not None and (listed or document.keys() <= {"status", "link"}):
        root = _list_node(form, form.rows).element(frame_namespace, list_root, _status_first(document))
    else:
        root = form.entity.element(entity_namespace, form.root, document)
    return serialize_xml(root, prefixes)


def read_xml(kind: str, content: bytes, own: Mapping[str, XmlForm] = NO_XML_FORMS) -> Body:
    """The JSON document that this XML of the kind says; refuses (400) XML that cannot be one.

    The root of an entity may stand in either namespace, or in none: public samples do all of it.
    """
    form = own.get(kind) or XML_FORMS[kind]
    root = parse_xml(content)
    if form.rows is not None and root.name == list_root and root.space in (frame_namespace, ""):
        return _list_node(form, form.rows).read_one(root)
    if root.space not in (entity_namespace, frame_namespace, "") or root.name != form.root:
        raise malformed(f"the root of the body has to be {form.root} in the namespace {entity_namespace}")
    for child in root.children:
        _unqualify(child, root.space)
    return _read_entity(form, root)


def _unqualify(element: Element, space: str) -> None:
    """Take what stands in the namespace of the root as unqualified: a default namespace holds for all of it.

    Most libraries declare one. The depth of a document is limited where it is parsed.
    """
    if element.space == space:
        element.space = ""
    for child in element.children:
        _unqualify(child, space)


def _read_entity(form: XmlForm, root: Element) -> Body:
    if root.text.strip():
        raise malformed(f"{form.root} holds text and no elements")
    return form.entity.read_one(root)


def _list_node(form: XmlForm, rows: ListRule) -> NodeRule:
    return NodeRule({form.key: rows, "link": form.links})


def _status_first(document: Body) -> Body:
    return {key: document[key] for key in sorted(document, key=lambda key: key != "status")}
