"""Vendor media types, and bodies: JSON text <-> plain dict, strictly.

Belongs here: names of media types, decoding and encoding of bodies, the service's own words in an error
body. Not here: what a list or an entity looks like (paging.py, client.py). JSON is the form spoken now;
`media_type` takes the form as an argument, so that a second one is a second branch here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NoReturn

import msgspec

depth_max = 64  # nested arrays and objects; the service's own bodies have at most 4

Form = Literal["json"]

_TEXTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_HTML = re.compile(rb"\s*<(?:!doctype|html|head|body|\?xml|!--)", re.IGNORECASE)


class BadBody(ValueError):
    """A body that cannot be used; the text says why and quotes nothing of it."""


def media_type(vendor: str, kind: str, form: Form = "json") -> str:
    """`application/vnd.service.contact-v1+json`. Source: specification 9."""
    return f"application/vnd.{vendor}.{kind}-v1+{form}"


def decode(body: bytes) -> dict[str, Any]:
    """The JSON object that `body` is. Raises BadBody for anything else.

    Stricter than the format asks: no duplicate keys (which one counts?), no NaN or infinity, no lone
    surrogates (they cannot be stored again), 64 levels at most. An object closes itself, so a body
    that was cut anywhere is never accepted.
    """
    if not body.strip():
        raise BadBody("it is empty")
    if _HTML.match(body):
        raise BadBody("it is a page in HTML or XML, and not JSON")
    try:
        found = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
        )
    except UnicodeDecodeError:
        raise BadBody("it is not UTF-8") from None
    except RecursionError:
        raise BadBody(f"it is nested deeper than {depth_max} levels") from None
    except BadBody:
        raise
    except ValueError:
        raise BadBody("it is not well-formed JSON, or was cut off") from None
    if not isinstance(found, dict):
        raise BadBody("it is JSON, but no object")
    if not _depth_ok(body):
        raise BadBody(f"it is nested deeper than {depth_max} levels")
    if _SURROGATE.search(body):
        _refuse_surrogates(found)
    return found


def encode(body: Mapping[str, Any]) -> bytes:
    """The JSON text of a plain dict, in UTF-8."""
    return msgspec.json.encode(body)


def is_object(body: bytes) -> bool:
    """Whether `body` is a JSON object."""
    try:
        decode(body)
    except BadBody:
        return False
    return True


def is_error(document: Mapping[str, Any]) -> bool:
    """Whether a document is the service's error object, whatever status it came with. Source: facts 8."""
    return "errorSummary" in document or "errorText" in document


def words(body: bytes) -> str:
    """What an error body says, in the service's words: summary and text, or a bare text; "" for a page."""
    try:
        document = decode(body)
    except BadBody:
        return _bare_text(body)
    said = [document.get(key) for key in ("errorSummary", "errorText", "errorDetail", "message", "detail")]
    return " ".join(text.strip() for text in said if isinstance(text, str) and text.strip())


def _bare_text(body: bytes) -> str:
    """A gateway's plain sentence (facts 8: the answer to too large a request); never markup or data."""
    text = body[:1000].decode("utf-8", "replace").strip()
    return "" if text.startswith(("<", "{", "[")) else text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadBody("a key stands twice in one object")
    return found


def _constant(_name: str) -> NoReturn:
    raise BadBody("it holds NaN or Infinity, which JSON does not know")


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise BadBody("it holds a number that is too large")
    return number


def _depth_ok(body: bytes) -> bool:
    """Whether a well-formed body nests no deeper than the limit.

    Without its texts a body is brackets only; each pass peels off the innermost level of them. A few
    fast passes instead of a walk over every value of every page.
    """
    # Without a backslash every second piece between quotes is a text: three times as fast as the pattern.
    bare = _TEXTS.sub(b"", body) if b"\\" in body else b"".join(body.split(b'"')[::2])
    bare = bare.translate(_ALIKE, _NO_BRACKETS)
    for _ in range(depth_max):
        if not bare:
            return True
        bare = bare.replace(b"[]", b"")
    return not bare


def _refuse_surrogates(document: dict[str, Any]) -> None:
    """Walk all texts for halves of characters, which the parser lets through."""
    level: list[Any] = [document]
    while level:
        level = [inner for value in level for inner in _inside(value)]


def _inside(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            yield from value
            yield from value.values()
        case list():
            yield from value
        case str():
            if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
                raise BadBody("it holds half a character (a lone surrogate)")
