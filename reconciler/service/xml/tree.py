"""XML text <-> a tree of elements, strictly: no document type, no entities, everything capped.

What is accepted as XML, and how a tree is written. What the elements mean: documents.py. Sources:
docs/service.md, XML; Namespaces in XML 1.0.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NoReturn
from xml.parsers import expat

from reconciler.core.text import fold_case
from reconciler.service.answers import CUT, OVERSIZED, RECODED, BadBody

bytes_max = 16 * 1024 * 1024  # as of every answer (http/exchange.py), for whoever else reads XML
depth_max = 64  # elements within elements; the service's own documents have at most 7
attributes_max = 64  # of one element; a link has 6
children_max = 20_000  # of one element; a page has 20 rows, a contact some 80 fields
elements_max = 200_000  # of one document, and as many attributes; a page of 20 contacts has some 4,000
name_max = 256  # characters of a name with its namespace: expat repeats the namespace for every element in it
token_max = 256 * 1024  # bytes of one tag or comment: expat keeps all of it before anybody can look at it

XML = "http://www.w3.org/XML/1998/namespace"
XSI = "http://www.w3.org/2001/XMLSchema-instance"

_broken = "it is not well-formed XML, or was cut off"
_CHUNK = 64 * 1024  # bytes fed at a time
_UTF8 = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii"})
_START = "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
_START += "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
_NAME = f"[{_START}][{_START}\\-.0-9\u00b7\u0300-\u036f\u203f\u2040]*"
_UNFIT = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_QUOTED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


class Unfit(ValueError):
    """Something that XML cannot carry; the text says where, and never shows the value."""


class Element:
    """One element: `space` is its namespace's URI or "", `parts` its texts and elements in order.

    Attributes are keyed by name, those in a namespace by `{uri}name`.
    """

    __slots__ = ("attributes", "name", "parts", "space")

    def __init__(self, name: str, space: str = "", attributes: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.space = space
        self.attributes: dict[str, str] = dict(attributes or {})
        self.parts: list[str | Element] = []

    @property
    def children(self) -> list["Element"]:
        """The elements inside."""
        return [part for part in self.parts if isinstance(part, Element)]

    @property
    def text(self) -> str:
        """The text directly inside, all pieces together."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def blank(self) -> bool:
        """Whether there is no text inside but white space."""
        return not self.text.strip(" \t\r\n")


def parse_xml(body: bytes) -> Element:
    """The root of a whole, well-formed document in UTF-8. Raises BadBody for anything else, and past a cap.

    Nothing is fetched and nothing is expanded: a document type is refused before it is read.
    """
    if not body.strip():
        raise BadBody("it is empty", CUT)
    if len(body) > bytes_max:
        raise BadBody(f"it is larger than {bytes_max // 1024 // 1024} MiB", OVERSIZED)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadBody("it is not UTF-8", RECODED) from None
    if "\0" in text:  # the parser would take it for UTF-16, whatever it was told
        raise BadBody(_broken, RECODED)
    del text
    reader = _Reader()
    try:
        for start in range(0, len(body), _CHUNK):
            reader.feed(body[start : start + _CHUNK])
        return reader.close()
    except expat.ExpatError:
        raise BadBody(_broken, CUT) from None


class _Reader:
    """Builds the tree from the parser's events, and stops at the first thing that is not allowed."""

    def __init__(self) -> None:
        self._top = Element("")
        self._open = [self._top]
        self._children = [0]  # of each open element
        self._count = 0
        self._attributes = 0
        self._fed = 0
        # The document's own word for its encoding is checked, not followed: one reading of the bytes.
        parser = expat.ParserCreate("utf-8", "}")
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.XmlDeclHandler = self._declared
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        self._parser = parser

    def feed(self, chunk: bytes) -> None:
        self._parser.Parse(chunk, False)
        self._fed += len(chunk)
        if self._fed - max(0, self._parser.CurrentByteIndex) > token_max + 2 * _CHUNK:
            raise BadBody(f"one of its tags is longer than {token_max // 1024} KiB", OVERSIZED)

    def close(self) -> Element:
        self._parser.Parse(b"", True)
        return self._top.children[0]

    def _declared(self, version: str, encoding: str | None, _standalone: int) -> None:
        if version != "1.0":
            raise BadBody("it is not XML 1.0")
        if fold_case(encoding or "") not in _UTF8:
            raise BadBody("it is not UTF-8", RECODED)

    def _doctype(self, *_: Any) -> NoReturn:
        # Entities are declared in it, which fetch files or grow to gigabytes; the service sends none.
        raise BadBody("it brings a document type, which is refused")

    def _start(self, raw: str, pairs: list[str]) -> None:
        if len(raw) > name_max or any(len(name) > name_max for name in pairs[::2]):
            raise BadBody(f"one of its names is longer than {name_max} characters", OVERSIZED)
        self._count += 1
        self._children[-1] += 1
        if len(self._open) > depth_max:
            raise BadBody(f"it is nested deeper than {depth_max} levels", OVERSIZED)
        if self._count > elements_max:
            raise BadBody(f"it has more than {elements_max} elements", OVERSIZED)
        self._attributes += len(pairs) // 2
        if self._attributes > elements_max:
            raise BadBody(f"it has more than {elements_max} attributes", OVERSIZED)
        if len(pairs) > 2 * attributes_max:
            raise BadBody(f"one of its elements has more than {attributes_max} attributes", OVERSIZED)
        if self._children[-1] > children_max:
            raise BadBody(f"one of its elements has more than {children_max} children", OVERSIZED)
        space, _, name = raw.rpartition("}")
        element = Element(name, space)
        for at in range(0, len(pairs), 2):
            element.attributes[_element_key(pairs[at])] = pairs[at + 1]
        self._open[-1].parts.append(element)
        self._open.append(element)
        self._children.append(0)

    def _end(self, _raw: str) -> None:
        self._open.pop()
        self._children.pop()

    def _text(self, text: str) -> None:
        self._open[-1].parts.append(text)


def _element_key(raw: str) -> str:
    return f"{{{raw}" if "}" in raw else raw


def render_xml(root: Element, spaces: Mapping[str, str]) -> bytes:
    """The document, in UTF-8; `spaces` are prefixes and their URIs, declared at the root.

    Raises Unfit for a character or a name that XML does not have.
    """
    prefixes = {uri: prefix for prefix, uri in spaces.items()}
    declared = "".join(f' xmlns:{prefix}="{quote_text(uri)}"' for prefix, uri in spaces.items())
    text = "".join(_written_pieces(root, prefixes, declared))
    return f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{text}'.encode()


def quote_text(text: str) -> str:
    """The text as it stands in an attribute."""
    return text.translate(_QUOTED)


@cache
def _compile_class(pattern: str) -> re.Pattern[str]:
    # When it is first needed: these two take 20 ms, and most projects never write XML.
    return re.compile(pattern)


def check_text(text: str, where: str) -> str:
    """The text itself. Raises Unfit, naming `where` it stands, for a character that XML has no form for."""
    if _compile_class(_UNFIT).search(text):
        raise Unfit(f"{where} holds a character that XML cannot carry")
    return text


def check_name(name: str) -> str:
    """The name itself. Raises Unfit where no element can be called so."""
    if not _compile_class(_NAME).fullmatch(name):
        raise Unfit(f"{name[:40]!a} cannot be the name of an element in XML")
    return name


def _written_pieces(element: Element, prefixes: Mapping[str, str], declared: str = "") -> Iterator[str]:
    own: dict[str, str] = {}
    tag = _written_tag(element.space, element.name, prefixes, own)
    attributes = "".join(
        f' {_written_tag(*_split_name(key), prefixes, own)}="{quote_text(check_text(value, element.name))}"'
        for key, value in element.attributes.items()
    )
    declared += "".join(
        f' xmlns:{prefix}="{quote_text(check_text(uri, tag))}"' for uri, prefix in own.items()
    )
    if not element.parts:
        # As the service writes an empty list (docs/service.md, XML); `<a></a>` would mean the same.
        yield f"<{tag}{declared}{attributes}/>"
        return
    yield f"<{tag}{declared}{attributes}>"
    for part in element.parts:
        if isinstance(part, Element):
            yield from _written_pieces(part, prefixes)
        else:
            yield check_text(part, element.name).translate(_TEXT)
    yield f"</{tag}>"


def _written_tag(space: str, name: str, prefixes: Mapping[str, str], own: dict[str, str]) -> str:
    """The name with its prefix; one for a namespace that the root does not declare is noted in `own`."""
    check_name(name)
    if not space:
        return name
    if space == XML:
        return f"xml:{name}"
    return f"{prefixes.get(space) or own.setdefault(space, f'x{len(own)}')}:{name}"


def _split_name(key: str) -> tuple[str, str]:
    space, _, name = key.rpartition("}")
    return space.removeprefix("{"), name
