"""Whether the bytes of a resource are of the type that it declares. Types that are not here are not checked.

Bytes that plainly are another type cannot work; an encoding or a shape that is only unusual is said.
"""

import csv
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn
from xml.parsers import expat

from reconciler.core.declared.values.finding import Finding

_HINT = "correct mimeType, or the content"

# The first bytes of formats that have such a mark, by the type that they stand for.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
)
_MARKED = frozenset(media for _, media in _MARKS)

# What the end of a file's name says; types in one row are one to people.
_ENDINGS: Mapping[str, tuple[str, ...]] = {
    "csv": ("text/csv", "application/csv"),
    "json": ("application/json",),
    "xml": ("application/xml", "text/xml"),
    "txt": ("text/plain",),
    "html": ("text/html",),
    "png": ("image/png",),
    "jpg": ("image/jpeg",),
    "jpeg": ("image/jpeg",),
    "gif": ("image/gif",),
    "svg": ("image/svg+xml",),
    "pdf": ("application/pdf",),
    "zip": ("application/zip",),
    "gz": ("application/gzip",),
}
# No content of anybody's begins so; it is looked for in what would be sent.
_PLACEHOLDER = "reconciler export could not read this content. Put the real file here."
_LINE_ENDS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_ENDING = re.compile(r"\.([A-Za-z0-9]{1,5})$")


def check_name(name: str, media: str) -> Finding | None:
    """Return how the end of a file's name contradicts its type, or None."""
    found = _ENDING.search(name)
    usual = _ENDINGS.get(found[1].lower(), ()) if found else ()
    if not usual or media in usual or not found:
        return None
    return Finding(
        f"is declared as {media}, and its name ends in .{found[1]}",
        f"write {usual[0]}, or rename it",
        code="E406",
    )


def check_content(media: str, data: bytes) -> Finding | None:
    """Return why bytes are not of a type, or probably not; None for types that nobody here knows."""
    # Whatever is stored without a look fails where it is read, later (tests/core/test_values.py).
    mark = next((of for start, of in _MARKS if data.startswith(start)), "")
    if media in _MARKED:
        return (
            None
            if mark == media
            else Finding(f"is not {media}: {_seen(mark)}", _HINT, impossible=True, code="E406")
        )
    reader = _READERS.get(media) or next(
        (read for end, read in _SUFFIXES.items() if media.endswith(end)), None
    )
    if reader is None:
        return None
    if mark:
        return Finding(f"is not {media}: {_seen(mark)}", _HINT, impossible=True, code="E406")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _undecodable(media, data, error)
    # Spreadsheets write one into CSV, and read it there.
    if text.startswith("\ufeff") and reader is not _csv:
        return Finding(
            "begins with a byte order mark, which many readers take for a mistake",
            "save it without",
            code="E406",
        )
    return reader(media, text.removeprefix("\ufeff"))


def placeholder(media: str) -> bytes:
    """Return bytes that pass for this type, and that are never sent (rule C2)."""
    sentence = _PLACEHOLDER
    marks = [mark + sentence.encode() for mark, _ in _MARKS]
    forms = (f"{sentence}\n", json.dumps({"placeholder": sentence}), f"<placeholder>{sentence}</placeholder>")
    for data in (*(form.encode() for form in forms), *marks):
        finding = check_content(media, data)
        if finding is None or not finding.impossible:
            return data
    raise AssertionError(media)  # the first form passes for every type without a check


def is_placeholder(data: bytes) -> bool:
    """Whether these bytes are what an export wrote in the place of content that it could not read."""
    return _PLACEHOLDER.encode() in data[: len(_PLACEHOLDER) + 50]


def _seen(mark: str) -> str:
    return f"it begins as {mark} does" if mark else "it does not begin as that does"


def _undecodable(media: str, data: bytes, error: UnicodeDecodeError) -> Finding | None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and media.endswith("xml"):
        return None  # XML names its encoding itself
    # No text in UTF-8 or in an encoding of one byte holds it: this is UTF-16, or no text at all.
    if b"\0" in data:
        return Finding(
            f"is not {media}: it holds bytes that are no text", _HINT, impossible=True, code="E406"
        )
    line = data.count(b"\n", 0, error.start) + 1
    return Finding(
        f"is not UTF-8 (line {line}), as readers of {media} expect", "save it as UTF-8", code="E406"
    )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _json(media: str, text: str) -> Finding | None:
    try:
        # NaN and Infinity are Python's own words: other readers refuse them.
        json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        why, at = f"{error.msg[:1].lower()}{error.msg[1:]}", f"line {error.lineno}, column {error.colno}"
        return Finding(f"is not {media}: {why} ({at})", _HINT, impossible=True, code="E406")
    except ValueError as error:
        return Finding(f"is not {media}: {error} is no value of JSON", _HINT, impossible=True, code="E406")
    except RecursionError:
        return Finding("is nested so deeply that readers may refuse it", "make it flatter", code="E406")
    return None


def _xml(media: str, text: str) -> Finding | None:
    """Read XML without any entity but the five that are always there; a DTD is neither read nor judged."""
    # It stops at a document type: no entity is ever resolved, and no small file grows to gigabytes.
    parser: Any = expat.ParserCreate("utf-8")
    declared: list[str] = []

    def seen_doctype(name: str, *_rest: object) -> None:
        declared.append(name)
        raise _Doctype

    parser.StartDoctypeDeclHandler = seen_doctype
    try:
        parser.Parse(text.encode(), True)
    except _Doctype:
        return None
    except expat.ExpatError as error:
        said = expat.ErrorString(error.code)
        what = f"is not {media}: {said} (line {error.lineno}, column {error.offset + 1})"
        return Finding(what, _HINT, impossible=True, code="E406")
    return None


class _Doctype(Exception):
    """The document has a document type: what follows depends on a DTD. Never leaves this module."""


def _csv(media: str, text: str) -> Finding | None:
    start = text.lstrip()[:1]
    # A reader of CSV takes either for a table, so nothing but a look tells.
    if start in ("{", "[") and _json(media, text) is None:
        return Finding(f"is not {media}: it is JSON", _HINT, impossible=True, code="E406")
    if start == "<" and _xml(media, text) is None:
        return Finding(f"is not {media}: it is XML", _HINT, impossible=True, code="E406")
    if "\0" in text:
        return Finding(f"is not {media}: it holds the character NUL", _HINT, impossible=True, code="E406")
    try:
        return _uneven(text)
    except csv.Error as error:
        if "field limit" in str(error):
            return None  # of this reader, which takes no longer cells; nobody said that there is one
        return Finding(f"is not {media}: {error}", "close the quotation marks", impossible=True, code="E406")


def _uneven(text: str) -> Finding | None:
    widths = []
    # Spreadsheets write semicolons where the comma is the decimal sign.
    for delimiter in ",;\t":
        rows = csv.reader(_LINE_ENDS.split(text), delimiter=delimiter, strict=True)
        widths = [len(row) for row in rows if row]
        if widths and widths[0] > 1:
            break
    for number, width in enumerate(widths, start=1):
        if width != widths[0]:
            what = f"has {width} cells in row {number} and {widths[0]} in the first one"
            return Finding(what, "put quotes around cells that hold the delimiter", code="E406")
    return None


def _text(media: str, text: str) -> Finding | None:
    return (
        Finding(f"is not {media}: it holds the character NUL", _HINT, impossible=True, code="E406")
        if "\0" in text
        else None
    )


_READERS: Mapping[str, Callable[[str, str], Finding | None]] = {
    "text/csv": _csv,
    "application/csv": _csv,
    "application/json": _json,
    "application/xml": _xml,
    "text/xml": _xml,
    "text/plain": _text,
    "text/html": _text,
}
_SUFFIXES: Mapping[str, Callable[[str, str], Finding | None]] = {"+json": _json, "+xml": _xml}
