"""XML <-> the plain dict that the JSON form of the same document is, kind by kind.

Belongs here: reading elements by their forms (forms.py), and the root of what is written; so nothing above
http/media.py knows the form. Not here: filling elements (fill.py), what is well-formed (text.py), which
names mean what (forms.py).

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
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any

from reconciler.core.compare.normalize import parse_instant
from reconciler.core.text import fold_case
from reconciler.service.answers import OTHER_SERVICE, BadBody
from reconciler.service.xml.fill import EPOCH, NIL, OURS, fill, key_of
from reconciler.service.xml.forms import API, DAP, ENTRY, ERROR, LINK, Form, ListForm, Shape, form_for
from reconciler.service.xml.text import XSI, Element, Unfit, parse, write

__all__ = ["Unfit", "decode", "encode"]

Document = dict[str, Any]

# As JSON writes numbers (RFC 8259, 6): 007 stays a text, or it would be written back as 7.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", re.ASCII)


def decode(body: bytes, kind: str) -> Document:
    """The document of this kind, a list of it, or an error, in the shape of its JSON form.

    Raises BadBody for everything else: no XML, a page in HTML, another root, a value that stands twice.
    """
    root = parse(body)
    form = form_for(kind)
    if fold_case(root.name) == "html":
        raise BadBody("it is a page in HTML", OTHER_SERVICE)
    # A document of another service, whatever its root is called.
    if root.space not in OURS:
        raise BadBody("its root is in a namespace that is not the service's", OTHER_SERVICE)
    if root.name == "error":
        return _object(root, ERROR)
    if root.name == "return":
        return _return(root, form)
    if not form.root or root.name != form.root:
        raise BadBody(f"its root is neither {form.root or 'return'} nor error", OTHER_SERVICE)
    return _object(root, form.shape)


def encode(document: Mapping[str, Any], kind: str) -> bytes:
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
    fill(root, document, shape)
    return write(root, {"ns2": API, "ns3": DAP, **({"xsi": XSI} if _uses_nil(root) else {})})


def _list_shape(form: Form) -> Shape:
    return Shape(single=frozenset({"status"}), lists={form.collection: form.rows}, links=True)


def _return(root: Element, form: Form) -> Document:
    """A list; or one entity that stands alone in a list's root, as one sample of a contact does."""
    rows, names = form.rows, {key_of(child) for child in root.children}
    # One public sample has a contact so. A list has a status, or an element around its rows.
    alone = [child for child in root.children if key_of(child) == rows.item]
    if form.root and rows.wrapped and len(alone) == 1 and not names & {"status", form.collection}:
        return _object(alone[0], form.shape)
    if alone and rows.wrapped:
        raise BadBody("its rows stand outside of their list")
    return _object(root, _list_shape(form))


def _object(element: Element, shape: Shape) -> Document:
    """What an element holds, by its shape."""
    # The JSON form has no place for it: dropped, it would be gone with the next replace.
    if not element.blank:
        raise BadBody("it has text where there should be elements")
    found: Document = {}
    for key, value in _attributes(element):
        known = key in shape.attributes or key in shape.numbers
        found[key if known else f"@{key}"] = _typed(value, key, shape)
    groups = _groups(element)
    unwrapped = {rows.item: key for key, rows in shape.lists.items() if not rows.wrapped}
    for name, elements in groups.items():
        if name in found:
            raise BadBody("a value stands twice: as an attribute and as an element")
        if name == "link" and shape.links:
            continue
        _put(found, unwrapped.get(name, name), elements, shape)
    if shape.links:
        found["link"] = [_object(child, LINK) for child in groups.get("link", ())]
    return found


def _put(found: Document, key: str, elements: list[Element], shape: Shape) -> None:
    """Note what all elements of one name say."""
    first = elements[0]
    if key in shape.lists:
        found[key] = _rows(elements, shape.lists[key])
        if _around(elements, shape.lists[key]):
            _beside(found, key, elements)
    # A known value that stands twice is an error; which one counts is not guessed (docs/service.md, XML).
    elif key not in shape.once:
        _put_free(found, key, elements)
    elif len(elements) > 1:
        raise BadBody("a value stands twice")
    elif key in shape.maps:
        found[key] = _map(first)
    elif key in shape.objects and (first.children or first.blank):
        found[key] = _object(first, shape.objects[key])
    elif first.children:
        raise BadBody("it has elements where there should be text")
    else:
        found[key] = None if _nil(first) else _typed(first.text, key, shape)
        _beside(found, key, elements)


def _around(elements: list[Element], rows: ListForm) -> bool:
    """Whether this is one element around all rows, and not the rows themselves."""
    names, whole = {rows.item, *rows.also}, elements[0]
    if len(elements) > 1 or not whole.blank or not (rows.wrapped or key_of(whole) != rows.item):
        return False
    return all(key_of(child) in names for child in whole.children)


def _rows(elements: list[Element], rows: ListForm) -> list[Any]:
    """The rows of a list: within one element, or each an element of its own."""
    if _around(elements, rows):
        return [_object(child, rows.shape) for child in elements[0].children]
    inside = [key_of(child) for element in elements for child in element.children]
    if rows.wrapped and not {rows.item, *rows.also}.isdisjoint(inside):
        raise BadBody("one of its lists holds something else than its rows")
    return [_object(element, rows.shape) for element in elements]


def _map(element: Element) -> Document:
    found: Document = {}
    for child in element.children:
        entry = _object(child, ENTRY)
        key, value = entry.get("key"), entry.get("value", "")
        if key_of(child) != "entry" or not isinstance(key, str) or key in found:
            raise BadBody("its pairs are no entries with a key each")
        found[key] = value
    return found


def _put_free(found: Document, key: str, elements: list[Element]) -> None:
    """What nobody has heard of, so that it can be written back as it came."""
    if len(elements) > 1:
        found[key] = [_free(element) for element in elements]
    elif elements[0].children:
        found[key] = _free(elements[0])
    else:
        found[key] = None if _nil(elements[0]) else elements[0].text
        _beside(found, key, elements)


def _free(element: Element) -> Any:
    found: Document = {f"@{key}": value for key, value in _attributes(element)}
    if not element.children and not found:
        return None if _nil(element) else element.text
    if not element.children:
        return {**found, **({f"@{NIL}": "true"} if _nil(element) else {"#text": element.text})}
    names = [key_of(child) for child in element.children]
    changes = sum(one != other for one, other in pairwise(names))
    if element.blank and changes + 1 == len(set(names)):  # all of one name stand together
        for name, elements in _groups(element).items():
            _put_free(found, name, elements)
        return found
    content: list[Any] = []
    for part in element.parts:
        if isinstance(part, str):
            content.append(part)
        else:
            content.append({key_of(part): _free(part)})
    return {**found, "#content": content}


def _beside(found: Document, key: str, elements: list[Element]) -> None:
    """Attributes of a text or of a list stand beside it: `name@attribute`."""
    for element in elements:
        found.update({f"{key}@{name}": value for name, value in _attributes(element)})


def _attributes(element: Element) -> Iterator[tuple[str, str]]:
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


def _nil(element: Element) -> bool:
    return not element.parts and element.attributes.get(NIL, "").strip() in ("true", "1")


def _groups(element: Element) -> dict[str, list[Element]]:
    groups: dict[str, list[Element]] = {}
    for child in element.children:
        groups.setdefault(key_of(child), []).append(child)
    return groups


def _typed(text: str, key: str, shape: Shape) -> str | int | float | bool:
    """A truth or a number where the JSON form has one and the text says one; else the text as it stands."""
    if key in shape.truths and fold_case(text.strip()) in ("true", "false"):
        return fold_case(text.strip()) == "true"
    found = _NUMBER.fullmatch(text) if key in shape.numbers | shape.moments else None
    if not found:
        return _milliseconds(text) if key in shape.moments else text
    if not found[1] and not found[2]:
        return int(text)
    # 1e999 is no number in JSON.
    return float(text) if math.isfinite(float(text)) else text


def _milliseconds(text: str) -> str | int:
    """An instant as the number that the JSON form has; any other text as it stands."""
    moment = parse_instant(text.strip())
    # What is finer than milliseconds has no form in JSON, and stays the text that it is.
    if moment is None or moment.microsecond % 1000:
        return text
    return (moment - EPOCH) // timedelta(milliseconds=1)


def _uses_nil(element: Element) -> bool:
    return NIL in element.attributes or any(_uses_nil(child) for child in element.children)
