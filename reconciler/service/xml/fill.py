"""A plain dict of the JSON shape -> the elements of XML, by the table of forms.py.

Belongs here: filling an element; the reverse of what documents.py reads, and the names that both agree on.
Not here: reading (documents.py), characters (text.py).
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from reconciler.service.xml.forms import API, DAP, ENTRY, LINK, Shape
from reconciler.service.xml.text import XSI, Element, Unfit, depth_max, fit

OURS = frozenset({"", API, DAP})  # namespaces whose names are plain in a dict
NIL = f"{{{XSI}}}nil"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_LAST = 253_402_300_799_999  # milliseconds: the end of the year 9999
_FREE = Shape()
_BESIDE = re.compile(r"(?P<name>(?:\{[^}]*\})?[^@{}]+)@(?P<attribute>(?:\{[^}]*\})?[^@{}]+)")


def key_of(element: Element) -> str:
    """The name in a dict: plain in any namespace of the service, `{uri}name` in a foreign one."""
    return element.name if element.space in OURS else f"{{{element.space}}}{element.name}"


def fill(element: Element, document: Mapping[str, Any], shape: Shape, depth: int = 1) -> None:
    """Write what a dict holds into its element, by its shape. Raises Unfit for what has no form in XML."""
    # Whoever reads it stops there as well (text.py).
    if depth > depth_max:
        raise Unfit(f"{element.name} is nested deeper than {depth_max} levels")
    for key, value in document.items():
        if key in shape.attributes and value is not None:
            element.attributes[key] = _text(value, key)
        elif key.startswith("@"):
            element.attributes[key[1:]] = _text(value, key)
        elif key == "#text":
            element.parts.append(_text(value, element.name))
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
            first[beside["name"]].attributes[beside["attribute"]] = _text(value, beside[0])


def _fill_key(element: Element, key: str, value: Any, shape: Shape, depth: int) -> None:
    if key == "link" and shape.links:
        for link in value if isinstance(value, list) else [value]:
            fill(_child(element, "link", DAP), link, LINK, depth + 1)
    elif key in shape.lists and isinstance(value, list):
        rows = shape.lists[key]
        around = _child(element, key, rows.space) if rows.wrapped else element
        for row in value:
            fill(_child(around, rows.item, rows.space), _row(row, key), rows.shape, depth + 1)
    elif key in shape.maps and isinstance(value, Mapping):
        around = _child(element, key)
        for name, each in value.items():
            pair = {"key": name, "value": _text(each, key)}
            fill(_child(around, "entry"), pair, ENTRY, depth + 2)
    elif key in shape.moments and value is not None:
        _fill_free(element, key, _moment(value, key), _FREE, depth)
    elif isinstance(value, list):
        for each in value:
            _fill_free(element, key, each, _FREE, depth)
    else:
        _fill_free(element, key, value, shape.objects.get(key, _FREE), depth)


def _fill_free(element: Element, key: str, value: Any, shape: Shape, depth: int) -> None:
    space, _, name = key.rpartition("}")
    child = _child(element, name, space.removeprefix("{"))
    if isinstance(value, Mapping):
        fill(child, value, shape, depth + 1)
    elif value is None:
        child.attributes[NIL] = "true"
    elif (text := _text(value, name)) != "":
        child.parts.append(text)


def _fill_content(element: Element, parts: Any, depth: int) -> None:
    for part in parts:
        if isinstance(part, str):
            element.parts.append(fit(part, element.name))
        else:
            for key, value in part.items():
                _fill_free(element, key, value, _FREE, depth)


def _child(element: Element, name: str, space: str = "") -> Element:
    child = Element(name, space)
    element.parts.append(child)
    return child


def _row(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unfit(f"{key} holds a row that is no object")
    return value


def _text(value: Any, where: str) -> str:
    """One value as text, as JSON would write a number or a truth."""
    if isinstance(value, str):
        return fit(value, where)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise Unfit(f"{where} holds a list where XML has a form for one value only")


def _moment(value: Any, where: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LAST:
        text = (EPOCH + timedelta(milliseconds=value)).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")
    return _text(value, where)
