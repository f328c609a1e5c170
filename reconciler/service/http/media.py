"""Vendor media types, and bodies: JSON or XML text <-> plain dict, strictly.

Names of media types, decoding and encoding of bodies, the service's own words in an error body. Lists and
entities: paging.py, entities.py. XML: xml/documents.py.
The dict has the shape of the JSON form in both forms: nothing above this module knows which it was.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from reconciler.service.answers import CUT, OTHER_SERVICE, OVERSIZED, RECODED, BadBody, Form
from reconciler.service.xml import documents as xml
from reconciler.service.xml.tree import Unfit

__all__ = [
    "BadBody",
    "Form",
    "Unfit",
    "decode_body",
    "depth_max",
    "encode_body",
    "is_error",
    "media_type",
    "read_error_words",
]

depth_max = 64  # nested arrays and objects; the service's own bodies have at most 4
values_max = 500_000  # of one body; the largest page that a profile may ask for has some 300,000

words_max = 65_536  # characters of an error's words; a message shows 300 of them, without our secrets

# A text that is cut off ends with the body: a pattern that only fits whole ones would look for each end anew.
_TEXTS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_NO_NUMBERS = b"[]{},: \t\r\nnulltruefalse"
_DECODER = msgspec.json.Decoder()
_Scalar = str | int | float | bool | None
_Row = dict[str, _Scalar]
# What a body of the service is: a value nested deeper than these is not taken for one.
_Value = _Scalar | list[_Scalar | _Row] | dict[str, _Scalar | list[_Scalar | _Row] | _Row]
_SHALLOW_DECODER = msgspec.json.Decoder(dict[str, _Scalar | list[_Value] | dict[str, _Value]])
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_HTML = re.compile(rb"\s*<(?:!doctype|html|head|body|\?xml|!--)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ErrorWords:
    """What the body of an error says: summary and text in the service's words, or a bare text; "" for a page.

    `is_document`: it is a JSON object or the service's error document in XML, whatever was asked for.
    """

    words: str
    is_document: bool


def media_type(vendor: str, kind: str, form: Form = "json") -> str:
    """`application/vnd.service.contact-v1+json`. Source: specification 9."""
    return f"application/vnd.{vendor}.{kind}-v1+{form}"


def decode_body(body: bytes, kind: str = "", form: Form = "json") -> dict[str, Any]:
    """The object that `body` is, in this form. Raises BadBody for anything else.

    `kind` is that of the media type; XML needs it to know a list of one row from a value.
    """
    return xml.decode_xml(body, kind) if form == "xml" else _decode_json(body)


def _decode_json(body: bytes) -> dict[str, Any]:
    """The JSON object that `body` is. Stricter than the format asks, and raises BadBody for anything else."""
    compact = _decode_compact_json(body)
    if compact is not None:
        return compact
    if not body.strip():
        raise BadBody("it is empty", CUT)
    if encoding := foreign_encoding(body):
        raise BadBody(f"it is {encoding}", RECODED)
    # A gateway's page under a status of success. Named, or people would look for a fault in the JSON.
    if _HTML.match(body):
        raise BadBody("it is a page in HTML or XML, and not JSON", OTHER_SERVICE)
    if not _has_few_values(body):
        raise BadBody(f"it has more than {values_max} values", OVERSIZED)
    plain = _decode_plain_json(body)
    if plain is not None:
        return plain
    found = _parse_json(body)
    # An object closes itself, so a body that was cut anywhere is never accepted.
    if not isinstance(found, dict):
        raise BadBody("it is JSON, but no object", OTHER_SERVICE)
    if not _is_shallow(_remove_texts(body)):
        raise BadBody(f"it is nested deeper than {depth_max} levels", OVERSIZED)
    # Half a character can be read, and never be written again: neither to the service nor to the store.
    if _SURROGATE.search(body):
        _refuse_surrogates(found)
    return found


# Longest first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32, and not UTF-8"),
    (b"\x00\x00\xfe\xff", "UTF-32, and not UTF-8"),
    (b"\xff\xfe", "UTF-16, and not UTF-8"),
    (b"\xfe\xff", "UTF-16, and not UTF-8"),
    (b"\xef\xbb\xbf", "UTF-8 with a byte order mark, which JSON does not have"),
)


def foreign_encoding(body: bytes) -> str:
    """Return the encoding that a JSON text is in, where that is another one than the service's; else ""."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return name
    # Without a mark: JSON begins with two characters of ASCII, so zeros tell how wide each is (RFC 4627, 3).
    zeros = tuple(byte == 0 for byte in body[:4])
    if zeros in {(True, False, True, False), (False, True, False, True)}:
        return "UTF-16, and not UTF-8"
    return "UTF-32, and not UTF-8" if zeros in {(True, True, True, False), (False, True, True, True)} else ""


def _decode_compact_json(body: bytes) -> dict[str, Any] | None:
    """The object of a body without blanks, escapes and depth, as the service writes it; else None."""
    # Read in one pass, and written again in half of one. Where the same bytes come out, every name stood once
    # in its object, and every number and text is what any other reader makes of it.
    if len(body) > values_max:  # each value takes a byte at least
        return None
    try:
        found = _SHALLOW_DECODER.decode(body)
    except (ValueError, RecursionError):
        return None
    return found if msgspec.json.encode(found) == body else None


def _decode_plain_json(body: bytes) -> dict[str, Any] | None:
    """The object of a body of texts without escapes, or None: then the strict reader has the word.

    Read in a third of the time.
    """
    if b"\\" in body:
        return None
    bare = _remove_texts(body)
    # Numbers are read by one reader alone, and so is what is no JSON.
    if bare.translate(None, _NO_NUMBERS) or not _is_shallow(bare):
        return None
    try:
        found = _DECODER.decode(body)
    except (ValueError, RecursionError):
        return None
    # As many names as there are colons, or one of them stood twice in its object and one value is lost.
    names = _remove_texts(msgspec.json.encode(found)).count(b":") if isinstance(found, dict) else -1
    return found if names == bare.count(b":") else None


def _parse_json(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_build_object,
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
        )
    except UnicodeDecodeError:
        raise BadBody("it is not UTF-8", RECODED) from None
    except RecursionError:
        raise BadBody(f"it is nested deeper than {depth_max} levels", OVERSIZED) from None
    except BadBody:
        raise
    except ValueError:
        raise BadBody("it is not well-formed JSON, or was cut off", CUT) from None


def encode_body(body: Mapping[str, Any], kind: str = "", form: Form = "json") -> bytes:
    """The text of a plain dict in this form, in UTF-8. Raises Unfit for what XML cannot carry."""
    return xml.encode_xml(body, kind) if form == "xml" else msgspec.json.encode(body)


def is_error(document: Mapping[str, Any]) -> bool:
    """Whether a document is the service's error object, whatever status it came with. Source: facts 8."""
    return "errorSummary" in document or "errorText" in document


def read_error_words(body: bytes) -> ErrorWords:
    """What an error body says; it is decoded once."""
    # Gateways answer in a form of their own: the body says which, and not what was asked for.
    try:
        document = _decode_error(body)
    except BadBody:
        return ErrorWords(_bare_text(body), is_document=False)
    said = [document.get(key) for key in ("errorSummary", "errorText", "errorDetail", "message", "detail")]
    words = " ".join(text.strip() for text in said if isinstance(text, str) and text.strip())
    return ErrorWords(words[:words_max], is_document=True)


def _decode_error(body: bytes) -> dict[str, Any]:
    """The error document in either form, or any JSON object."""
    if not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return _decode_json(body)
    document = xml.decode_xml(
        body, "company"
    )  # whose lists are nobody's: an error has the same root everywhere
    if not is_error(document):
        raise BadBody("it is no error document")
    return document


def _bare_text(body: bytes) -> str:
    """A gateway's plain sentence (facts 8: the answer to too large a request); never markup or data."""
    text = body[:1000].decode("utf-8", "replace").strip()
    return "" if text.startswith(("<", "{", "[")) else text


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    # RFC 8259, 4: which of the two counts is different from reader to reader.
    if len(found) != len(pairs):
        raise BadBody("a key stands twice in one object")
    return found


def _refuse_constant(_name: str) -> NoReturn:
    raise BadBody("it holds NaN or Infinity, which JSON does not know")


def _parse_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise BadBody("it holds a number that is too large")
    return number


def _is_shallow(bare: bytes) -> bool:
    # Without its texts a body is brackets only; each pass peels off the innermost level of them. A few fast
    # passes instead of a walk over every value of every page.
    bare = bare.translate(_ALIKE, _NO_BRACKETS)
    for _ in range(depth_max):
        if not bare:
            return True
        bare = bare.replace(b"[]", b"")
    return not bare


def _has_few_values(body: bytes) -> bool:
    """Whether a body has no more values than the limit: each opens, or follows a comma or an opening."""
    return _count_openings(body) <= values_max or _count_openings(_remove_texts(body)) <= values_max


def _count_openings(body: bytes) -> int:
    return sum(map(body.count, (b",", b"[", b"{")))


def _remove_texts(body: bytes) -> bytes:
    """The body without its texts."""
    # Without a backslash every second piece between quotes is a text: three times as fast as the pattern.
    return _TEXTS.sub(b"", body) if b"\\" in body else b"".join(body.split(b'"')[::2])


def _refuse_surrogates(document: dict[str, Any]) -> None:
    """Walk all texts for halves of characters, which the parser lets through."""
    level: list[Any] = [document]
    while level:
        level = [inner for value in level for inner in _iterate_values(value)]


def _iterate_values(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            yield from value
            yield from value.values()
        case list():
            yield from value
        case str():
            if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
                raise BadBody("it holds half a character (a lone surrogate)")
