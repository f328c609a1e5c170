"""XML <-> the plain dict that the JSON form of the same document is, kind by kind.

One table of forms is read in both directions, so that nothing above http/media.py knows XML. What is
well-formed is decided in tree.py.

What the table does not name survives a read and a write:

    <n>text</n>               "n": "text"             an element in a foreign namespace: "{uri}n"
    <n a="1">text</n>         "n": "text", "n@a": "1"
    <n a="1"><b>..</b></n>    "n": {"@a": "1", "b": ..}
    <n>1</n><n>2</n>          "n": ["1", "2"]         one with attributes among them: {"@a": .., "#text": ..}
    <n>one <b>..</b> two</n>  "n": {"#content": ["one ", {"b": ..}, " two"]}
    <n xsi:nil="true"/>       "n": null

Names are compared by the URI of their namespace. Which of the service's two it is, or none, is not asked, not
even at the root: older samples of the service have documents without any. A foreign one is another name.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any

from reconciler.core.text import fold_case, parse_instant
from reconciler.model.field_types import XmlForm, require_rows
from reconciler.model.kind import Field, Kind
from reconciler.model.kinds import KINDS, cache_by_kinds, child_kinds
from reconciler.service.answers import OTHER_SERVICE, BadBody
from reconciler.service.xml.tree import XSI, Element, Unfit, check_text, depth_max, parse_xml, render_xml

# --- Forms: how each document is written in XML ---------------------------------------------------
#
# Which keys of the JSON shape are attributes, lists, truths or numbers in XML, and the names of elements.
# What no row names is text, or a structure of its own, and is carried as it is. Source: docs/service.md,
# XML.


API = "http://schemas.api.whispir.com"  # the roots of entities, of errors and of callbacks
DAP = f"{API}/dap"  # links, lists and what is in them


@dataclass(frozen=True)
class Shape:
    """What an element holds, by the keys of its JSON object.

    `single` may stand once only: a second one is an error and not a list. `moments` are milliseconds in
    JSON and ISO 8601 in XML. `maps` are key/value pairs in `entry` elements.
    """

    attributes: frozenset[str] = frozenset()
    single: frozenset[str] = frozenset()
    truths: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    moments: frozenset[str] = frozenset()
    maps: frozenset[str] = frozenset()
    lists: Mapping[str, "ListForm"] = field(default_factory=dict)
    objects: Mapping[str, "Shape"] = field(default_factory=dict)
    links: bool = False

    @cached_property
    def once(self) -> frozenset[str]:
        """The keys of which there is one value at most."""
        texts = self.single | self.attributes | self.truths | self.numbers | self.moments
        return texts | self.maps | self.objects.keys()


@dataclass(frozen=True, slots=True)
class ListForm:
    """A list: the element of one row, its shape, whether an element stands around all of them, and where."""

    item: str
    shape: Shape = Shape()
    wrapped: bool = True
    space: str = ""
    also: frozenset[str] = frozenset()  # other names of a row that are read


@dataclass(frozen=True, slots=True)
class Form:
    """A kind: the root of one ("" where there is no such document), the key and rows of a list, its shape."""

    root: str
    shape: Shape
    collection: str = ""
    rows: ListForm = ListForm("")


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LINK = Shape(attributes=_split_words("uri rel method type host"), numbers=_split_words("port"))
ENTRY = Shape(single=_split_words("key value"))
ERROR = Shape(single=_split_words("errorSummary errorText errorDetail"), links=True)

# What XML knows of a managed kind beside its row: how a field that is a list is written, lists that nobody
# declares, and a root that is not the name of the kind.
_LISTS: Mapping[XmlForm, ListForm | None] = require_rows(
    XmlForm,
    {
        "text": None,
        "truth": None,
        "number": None,
        "object": None,
        "channels": ListForm(
            "messagingoption",
            Shape(
                attributes=_split_words("channel"),
                single=_split_words("primary secondary tertiary"),
                truths=_split_words("enabled"),
            ),
        ),
        "custom": ListForm("customField", Shape(single=_split_words("fieldName fieldValue searchKey"))),
    },
)
# What a value is that stands in an element by itself, as Shape has it; "": it is no single value.
_VALUES: Mapping[XmlForm, str] = require_rows(
    XmlForm,
    {"text": "single", "truth": "truths", "number": "numbers", "object": "", "channels": "", "custom": ""},
)
_UNDECLARED: Mapping[str, Mapping[str, ListForm]] = {
    "contact": {
        "locations": ListForm(
            "location", Shape(single=_split_words("type"), numbers=_split_words("longitude latitude"))
        )
    }
}
_ROOTS = {"callback": "companyapicallback"}


_WORKSPACE = Shape(single=_split_words("id projectName projectNumber status billingcostcentre"), links=True)

_PARTS = ("email", "voice", "web", "social", "dlr", "features", "whatsapp", "rcs")
# Posts stand in an element of their own name, each with its place as an attribute (public samples).
_SOCIAL = Shape(
    lists={
        "social": ListForm(
            "social",
            Shape(attributes=_split_words("id"), single=_split_words("body type")),
            wrapped=False,
        )
    }
)
_MESSAGE = Shape(
    single=_split_words("id to subject label type direction responseCount callbackId messageTemplateId body"),
    numbers=_split_words("repetitionCount repeatDays repeatHrs repeatMin"),
    moments=_split_words("createdTime"),
    maps=_split_words("callbackParameters"),
    objects={
        **{key: Shape() for key in _PARTS},
        "social": _SOCIAL,
        "features": Shape(
            objects={"pushOptions": Shape(single=_split_words("notifications escalationMins"))}
        ),
    },
    links=True,
)
_CATEGORY = Shape(
    attributes=_split_words("name"),
    single=_split_words("percentageTotal"),
    numbers=_split_words("recipientCount"),
)
_DELIVERY = Shape(
    attributes=_split_words("type"),
    single=_split_words("status destination"),
    moments=_split_words(
        "sentTimestamp receivedTimestamp acknowlegedTimestamp acknowledgedTimestamp undeliverableTimestamp"
    ),
)
_STATUS = Shape(
    single=_split_words("name info"),
    lists={
        "categories": ListForm("status", _CATEGORY, also=_split_words("category")),
        "status": ListForm("status", _DELIVERY, wrapped=False),
    },
    links=True,
)
_SENDER = Shape(single=_split_words("name mri mobile email voice"))
_ANSWER = Shape(attributes=_split_words("channel"), single=_split_words("acknowledged undeliverable content"))
_RESPONSE = Shape(
    attributes=_split_words("type"),
    single=_split_words("responseCount percentageTotal responseCategory"),
    objects={"from": _SENDER, "responseMessage": _ANSWER},
    links=True,
)
# In a callback the channel is an element, in a list of responses an attribute; both are read everywhere.
_TOLD = Shape(single=_ANSWER.single | _ANSWER.attributes)
_REPLY = Shape(
    single=_split_words("messageid messageId location messagelocation messageLocation"),
    maps=_split_words("customParameters"),
    objects={"from": _SENDER, "responseMessage": _TOLD},
)
_CALL = Shape(
    single=_split_words("id messageId messageLocation status"),
    objects={
        "from": _SENDER,
        "responseMessage": _TOLD,
        "callback": Shape(
            single=_split_words("id name url attemptedDate statusMessage"),
            numbers=_split_words("statusCode"),
        ),
    },
    links=True,
)
_IMPORT = Shape(
    single=_split_words("resourceId importType"),
    objects={
        "importOptions": Shape(single=_split_words("importMode"), objects={"fieldMapping": Shape()}),
    },
)


def _list_form(root: str, shape: Shape, collection: str, item: str = "") -> Form:
    return Form(root, shape, collection, ListForm(item or root, shape, space=DAP))


_RESPONSES = _list_form("", _RESPONSE, "messageresponses", "response")

# By the <kind> of the vendor media type, what is no managed kind; the service calls back with
# deliveryResponse.
FORMS: Mapping[str, Form] = {
    "workspace": _list_form("workspace", _WORKSPACE, "workspaces"),
    "message": _list_form("message", _MESSAGE, "messages"),
    "bulkmessage": _list_form("message", _MESSAGE, "messages"),
    "importcontact": Form("importcontact", _IMPORT),
    "messagestatus": _list_form("", _STATUS, "messageStatuses", "messageStatus"),
    "messageresponse": _RESPONSES,
    "messageresponses": _RESPONSES,
    "api-call": Form("call", _CALL, "calls", ListForm("call", _CALL, wrapped=False)),
    "company": Form("company", Shape(single=_split_words("id"), links=True)),
    "auth": Form("auth", Shape(single=_split_words("token"), links=True)),
    "deliveryResponse": Form("deliveryResponse", _REPLY),
}


def form_for(media: str) -> Form:
    """The form of a document, by the <kind> of its vendor media type. Raises KeyError for an unknown one."""
    return _kind_forms().get(media) or FORMS[media]


@cache_by_kinds
def _kind_forms() -> Mapping[str, Form]:
    return {kind.media: form_of(kind) for kind in KINDS.values()}


def form_of(kind: Kind) -> Form:
    """The form of a managed kind, as its row has it."""
    shape = _shape_of(kind)
    return Form(_ROOTS.get(kind.name, kind.name), shape, kind.rows_key, ListForm(kind.name, shape, space=DAP))


def _shape_of(kind: Kind) -> Shape:
    found = {one.wire or one.name: _LISTS[one.row.xml] for one in kind.fields}
    lists = {name: form for name, form in found.items() if form is not None}
    lists |= {child.rows_key: ListForm(child.name, _shape_of(child)) for child in child_kinds(kind.name)}
    lists |= _UNDECLARED.get(kind.name, {})
    objects = {kind.wire.get(head, head): _text_fields(fields) for head, fields in kind.groups.items()}
    # By its fields somebody is recognized, and they decide what is sent: a second value must not hide one.
    shape = _text_fields(one for one in kind.fields if one.head == one.name)
    single = shape.single - lists.keys() - objects.keys() - {"link"}
    return replace(shape, single=single, lists=lists, objects=objects, links=True)


def _text_fields(fields: Iterable[Field]) -> Shape:
    """Fields as one text each, by their last names: `key` of `auth.key`."""
    found: dict[str, set[str]] = {"single": set(), "truths": set(), "numbers": set(), "": set()}
    for one in fields:
        found[_VALUES[one.row.xml]].add((one.wire or one.name).rpartition(".")[2])
    return Shape(
        single=frozenset(found["single"]),
        truths=frozenset(found["truths"]),
        numbers=frozenset(found["numbers"]),
    )


# --- From a dict to elements ----------------------------------------------------------------------


OURS = frozenset({"", API, DAP})  # namespaces whose names are plain in a dict
NIL = f"{{{XSI}}}nil"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_LAST = 253_402_300_799_999  # milliseconds: the end of the year 9999
_FREE = Shape()
_BESIDE = re.compile(r"(?P<name>(?:\{[^}]*\})?[^@{}]+)@(?P<attribute>(?:\{[^}]*\})?[^@{}]+)")


def key_of(element: Element) -> str:
    """The name in a dict: plain in any namespace of the service, `{uri}name` in a foreign one."""
    return element.name if element.space in OURS else f"{{{element.space}}}{element.name}"


def fill_element(element: Element, document: Mapping[str, Any], shape: Shape, depth: int = 1) -> None:
    """Write what a dict holds into its element, by its shape. Raises Unfit for what has no form in XML."""
    # Whoever reads it stops there as well (text.py).
    if depth > depth_max:
        raise Unfit(f"{element.name} is nested deeper than {depth_max} levels")
    for key, value in document.items():
        if key in shape.attributes and value is not None:
            element.attributes[key] = _text_of_value(value, key)
        elif key.startswith("@"):
            element.attributes[key[1:]] = _text_of_value(value, key)
        elif key == "#text":
            element.parts.append(_text_of_value(value, element.name))
        elif key == "#content":
            _fill_content(element, value, depth)
        elif not _BESIDE.fullmatch(key):
            _fill_key(element, key, value, shape, depth)
    _fill_beside(element, document)


def _fill_beside(element: Element, document: Mapping[str, Any]) -> None:
    """Write `name@attribute` at the first child of that name; where there is none, nothing is written."""
    found = [(beside, value) for key, value in document.items() if (beside := _BESIDE.fullmatch(key))]
    if not found:
        return
    first: dict[str, Element] = {}
    for child in element.children:
        first.setdefault(key_of(child), child)
    for beside, value in found:
        if beside["name"] in first:
            first[beside["name"]].attributes[beside["attribute"]] = _text_of_value(value, beside[0])


def _fill_key(element: Element, key: str, value: Any, shape: Shape, depth: int) -> None:
    if key == "link" and shape.links:
        for link in value if isinstance(value, list) else [value]:
            fill_element(_add_child(element, "link", DAP), link, LINK, depth + 1)
    elif key in shape.lists and isinstance(value, list):
        rows = shape.lists[key]
        around = _add_child(element, key, rows.space) if rows.wrapped else element
        for row in value:
            fill_element(
                _add_child(around, rows.item, rows.space), _fill_row(row, key), rows.shape, depth + 1
            )
    elif key in shape.maps and isinstance(value, Mapping):
        around = _add_child(element, key)
        for name, each in value.items():
            pair = {"key": name, "value": _text_of_value(each, key)}
            fill_element(_add_child(around, "entry"), pair, ENTRY, depth + 2)
    elif key in shape.moments and value is not None:
        _fill_free(element, key, _iso_moment(value, key), _FREE, depth)
    elif isinstance(value, list):
        for each in value:
            _fill_free(element, key, each, _FREE, depth)
    else:
        _fill_free(element, key, value, shape.objects.get(key, _FREE), depth)


def _fill_free(element: Element, key: str, value: Any, shape: Shape, depth: int) -> None:
    space, _, name = key.rpartition("}")
    child = _add_child(element, name, space.removeprefix("{"))
    if isinstance(value, Mapping):
        fill_element(child, value, shape, depth + 1)
    elif value is None:
        child.attributes[NIL] = "true"
    elif (text := _text_of_value(value, name)) != "":
        child.parts.append(text)


def _fill_content(element: Element, parts: Any, depth: int) -> None:
    for part in parts:
        if isinstance(part, str):
            element.parts.append(check_text(part, element.name))
        else:
            for key, value in part.items():
                _fill_free(element, key, value, _FREE, depth)


def _add_child(element: Element, name: str, space: str = "") -> Element:
    child = Element(name, space)
    element.parts.append(child)
    return child


def _fill_row(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unfit(f"{key} holds a row that is no object")
    return value


def _text_of_value(value: Any, where: str) -> str:
    """One value as text, as JSON would write a number or a truth."""
    if isinstance(value, str):
        return check_text(value, where)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise Unfit(f"{where} holds a list where XML has a form for one value only")


def _iso_moment(value: Any, where: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LAST:
        text = (EPOCH + timedelta(milliseconds=value)).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")
    return _text_of_value(value, where)


# --- From elements to a dict ----------------------------------------------------------------------


__all__ = ["Unfit", "decode_xml", "encode_xml"]

Document = dict[str, Any]

# As JSON writes numbers (RFC 8259, 6): 007 stays a text, or it would be written back as 7.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", re.ASCII)


def decode_xml(body: bytes, kind: str) -> Document:
    """The document of this kind, a list of it, or an error, in the shape of its JSON form.

    Raises BadBody for everything else: no XML, a page in HTML, another root, a value that stands twice.
    """
    root = parse_xml(body)
    form = form_for(kind)
    if fold_case(root.name) == "html":
        raise BadBody("it is a page in HTML", OTHER_SERVICE)
    # A document of another service, whatever its root is called.
    if root.space not in OURS:
        raise BadBody("its root is in a namespace that is not the service's", OTHER_SERVICE)
    if root.name == "error":
        return _read_object(root, ERROR)
    if root.name == "return":
        return _read_return(root, form)
    if not form.root or root.name != form.root:
        raise BadBody(f"its root is neither {form.root or 'return'} nor error", OTHER_SERVICE)
    return _read_object(root, form.shape)


def encode_xml(document: Mapping[str, Any], kind: str) -> bytes:
    """The document in XML: a list where it holds the key of one, an error, or else one of this kind.

    Raises Unfit, without the value, for what XML cannot carry.
    """
    form = form_for(kind)
    if isinstance(document.get(form.collection), list):
        root, shape = Element("return", DAP), _list_shape(form)
    elif "errorSummary" in document or "errorText" in document:
        root, shape = Element("error", API), ERROR
    else:
        root = Element(form.root, API) if form.root else Element("return", DAP)
        shape = form.shape if form.root else _list_shape(form)
    fill_element(root, document, shape)
    return render_xml(root, {"ns2": API, "ns3": DAP, **({"xsi": XSI} if _uses_nil(root) else {})})


def _list_shape(form: Form) -> Shape:
    return Shape(single=frozenset({"status"}), lists={form.collection: form.rows}, links=True)


def _read_return(root: Element, form: Form) -> Document:
    """A list; or one entity that stands alone in a list's root, as one sample of a contact does."""
    rows, names = form.rows, {key_of(child) for child in root.children}
    # One public sample has a contact so. A list has a status, or an element around its rows.
    alone = [child for child in root.children if key_of(child) == rows.item]
    if form.root and rows.wrapped and len(alone) == 1 and not names & {"status", form.collection}:
        return _read_object(alone[0], form.shape)
    if alone and rows.wrapped:
        raise BadBody("its rows stand outside of their list")
    return _read_object(root, _list_shape(form))


def _read_object(element: Element, shape: Shape) -> Document:
    """What an element holds, by its shape."""
    # The JSON form has no place for it: dropped, it would be gone with the next replace.
    if not element.blank:
        raise BadBody("it has text where there should be elements")
    found: Document = {}
    for key, value in _read_attributes(element):
        known = key in shape.attributes or key in shape.numbers
        found[key if known else f"@{key}"] = _typed_value(value, key, shape)
    groups = _group_children(element)
    unwrapped = {rows.item: key for key, rows in shape.lists.items() if not rows.wrapped}
    for name, elements in groups.items():
        if name in found:
            raise BadBody("a value stands twice: as an attribute and as an element")
        if name == "link" and shape.links:
            continue
        _read_child(found, unwrapped.get(name, name), elements, shape)
    if shape.links:
        found["link"] = [_read_object(child, LINK) for child in groups.get("link", ())]
    return found


def _read_child(found: Document, key: str, elements: list[Element], shape: Shape) -> None:
    """Note what all elements of one name say."""
    first = elements[0]
    if key in shape.lists:
        found[key] = _read_list_rows(elements, shape.lists[key])
        if _read_beside_list(elements, shape.lists[key]):
            _read_beside(found, key, elements)
    # A known value that stands twice is an error; which one counts is not guessed (docs/service.md, XML).
    elif key not in shape.once:
        _put_free_value(found, key, elements)
    elif len(elements) > 1:
        raise BadBody("a value stands twice")
    elif key in shape.maps:
        found[key] = _read_map(first)
    elif key in shape.objects and (first.children or first.blank):
        found[key] = _read_object(first, shape.objects[key])
    elif first.children:
        raise BadBody("it has elements where there should be text")
    else:
        found[key] = None if _is_nil(first) else _typed_value(first.text, key, shape)
        _read_beside(found, key, elements)


def _read_beside_list(elements: list[Element], rows: ListForm) -> bool:
    """Whether this is one element around all rows, and not the rows themselves."""
    names, whole = {rows.item, *rows.also}, elements[0]
    if len(elements) > 1 or not whole.blank or not (rows.wrapped or key_of(whole) != rows.item):
        return False
    return all(key_of(child) in names for child in whole.children)


def _read_list_rows(elements: list[Element], rows: ListForm) -> list[Any]:
    """The rows of a list: within one element, or each an element of its own."""
    if _read_beside_list(elements, rows):
        return [_read_object(child, rows.shape) for child in elements[0].children]
    inside = [key_of(child) for element in elements for child in element.children]
    if rows.wrapped and not {rows.item, *rows.also}.isdisjoint(inside):
        raise BadBody("one of its lists holds something else than its rows")
    return [_read_object(element, rows.shape) for element in elements]


def _read_map(element: Element) -> Document:
    found: Document = {}
    for child in element.children:
        entry = _read_object(child, ENTRY)
        key, value = entry.get("key"), entry.get("value", "")
        if key_of(child) != "entry" or not isinstance(key, str) or key in found:
            raise BadBody("its pairs are no entries with a key each")
        found[key] = value
    return found


def _put_free_value(found: Document, key: str, elements: list[Element]) -> None:
    """What nobody has heard of, so that it can be written back as it came."""
    if len(elements) > 1:
        found[key] = [_read_free(element) for element in elements]
    elif elements[0].children:
        found[key] = _read_free(elements[0])
    else:
        found[key] = None if _is_nil(elements[0]) else elements[0].text
        _read_beside(found, key, elements)


def _read_free(element: Element) -> Any:
    found: Document = {f"@{key}": value for key, value in _read_attributes(element)}
    if not element.children and not found:
        return None if _is_nil(element) else element.text
    if not element.children:
        return {**found, **({f"@{NIL}": "true"} if _is_nil(element) else {"#text": element.text})}
    names = [key_of(child) for child in element.children]
    changes = sum(one != other for one, other in pairwise(names))
    if element.blank and changes + 1 == len(set(names)):  # all of one name stand together
        for name, elements in _group_children(element).items():
            _put_free_value(found, name, elements)
        return found
    content: list[Any] = []
    for part in element.parts:
        if isinstance(part, str):
            content.append(part)
        else:
            content.append({key_of(part): _read_free(part)})
    return {**found, "#content": content}


def _read_beside(found: Document, key: str, elements: list[Element]) -> None:
    """Attributes of a text or of a list stand beside it: `name@attribute`."""
    for element in elements:
        found.update({f"{key}@{name}": value for name, value in _read_attributes(element)})


def _read_attributes(element: Element) -> Iterator[tuple[str, str]]:
    """The attributes of the service; hints for schemas (`xsi:`) are none of its data."""
    seen: set[str] = set()
    for full, value in element.attributes.items():
        space, _, name = full.rpartition("}")
        space = space.removeprefix("{")
        key = name if space in OURS else full
        # One name in two namespaces of the service, which are one to us.
        if key in seen:
            raise BadBody("an attribute stands twice")
        seen.add(key)
        if space != XSI:
            yield key, value


def _is_nil(element: Element) -> bool:
    return not element.parts and element.attributes.get(NIL, "").strip() in ("true", "1")


def _group_children(element: Element) -> dict[str, list[Element]]:
    groups: dict[str, list[Element]] = {}
    for child in element.children:
        groups.setdefault(key_of(child), []).append(child)
    return groups


def _typed_value(text: str, key: str, shape: Shape) -> str | int | float | bool:
    """A truth or a number where the JSON form has one and the text says one; else the text as it stands."""
    if key in shape.truths and fold_case(text.strip()) in ("true", "false"):
        return fold_case(text.strip()) == "true"
    found = _NUMBER.fullmatch(text) if key in shape.numbers | shape.moments else None
    if not found:
        return _to_milliseconds(text) if key in shape.moments else text
    if not found[1] and not found[2]:
        return int(text)
    # 1e999 is no number in JSON.
    return float(text) if math.isfinite(float(text)) else text


def _to_milliseconds(text: str) -> str | int:
    """An instant as the number that the JSON form has; any other text as it stands."""
    moment = parse_instant(text.strip())
    # What is finer than milliseconds has no form in JSON, and stays the text that it is.
    if moment is None or moment.microsecond % 1000:
        return text
    return (moment - EPOCH) // timedelta(milliseconds=1)


def _uses_nil(element: Element) -> bool:
    return NIL in element.attributes or any(_uses_nil(child) for child in element.children)
