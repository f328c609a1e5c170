"""XML as a tree of elements: parsed with limits, and written out.

Belongs here: characters, names, namespaces, what is refused before anybody looks at the content.
Not here: which element means what (xml/rules.py, xml/forms.py).
Source: docs/service.md, XML.
"""

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from reconciler.sandbox.refusals import malformed

entities = "http://schemas.api.whispir.com"  # A: the roots of single documents
frames = f"{entities}/dap"  # D: lists and what stands in them, links
Prefixes = tuple[str, str]  # of these two, in this order; they mean nothing and differ from answer to answer

depth_max = 64  # levels, as in JSON
attributes_max = 32  # of one element; a link has six
elements_max = 50_000  # of one document
name_max = 256  # characters of a name with its namespace, which is there anew for every element in it

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


def is_name(text: str) -> bool:
    """Can this be the local name of an element? Only ASCII names are."""
    return bool(_NAME.fullmatch(text))


def parse(content: bytes) -> Element:
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


def serialize(root: Element, prefixes: Prefixes) -> bytes:
    """The document in UTF-8, with both namespaces declared at the root."""
    names = {"": "", entities: f"{prefixes[0]}:", frames: f"{prefixes[1]}:"}
    declared = {f"xmlns:{prefixes[0]}": entities, f"xmlns:{prefixes[1]}": frames}
    pieces = ['<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n']
    top = Element(root.space, root.name, {**declared, **root.attributes}, root.children, root.text)
    _write(top, names, pieces)
    return "".join(pieces).encode()


def _write(element: Element, names: dict[str, str], pieces: list[str]) -> None:
    name = f"{names[element.space]}{element.name}"
    pieces.append(f"<{name}")
    pieces.extend(f' {key}="{_clean(value, _IN_ATTRIBUTE)}"' for key, value in element.attributes.items())
    if not element.children and not element.text:
        pieces.append("/>")
        return
    pieces.append(f">{_clean(element.text, _IN_TEXT)}")
    for child in element.children:
        _write(child, names, pieces)
    pieces.append(f"</{name}>")


def _clean(text: str, escapes: dict[int, str]) -> str:
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
        if len(name) > name_max or any(len(key) > name_max for key in attributes):
            raise malformed(f"a name has more than {name_max} characters with its namespace")
        self._count += 1
        if len(self._open) > depth_max:
            raise malformed(f"the body is nested more than {depth_max} levels deep")
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
