"""Checks of one value by its form: countries, time zones, e-mail addresses, content.

Each returns a `Finding`, or None. Phone numbers are checked in phone_plans.py, which loads a large library;
check_values.py says which field is checked how.
"""

import csv
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any, NoReturn
from xml.parsers import expat

from reconciler.core.compare.identity import region_of_country
from reconciler.core.compare.normalize import FIXED_OFFSET_ZONES
from reconciler.core.suggest import did_you_mean
from reconciler.core.text import fold_case
from reconciler.model.field_types import Finding
from reconciler.model.geography import COUNTRY_NAMES, zone_names, zones_with_abbreviation

# --- Countries: an ISO 3166-1 code of two letters, or a name in English ---------------------------


_CODE_MAX = 3  # letters


def check_country(text: str) -> Finding | None:
    """Return why a text is probably no country, or None."""
    if region_of_country(text):
        return None
    # The service takes any text, so this is a warning unless the settings say otherwise.
    # A code of two or three letters is near to many others: AUS to AUT.
    meant = did_you_mean("country", text, COUNTRY_NAMES.values()) if len(text) > _CODE_MAX else ""
    return Finding(
        "is not a known country",
        "write its name in English, or its code of two letters",
        instead=meant,
        impossible=True,
        code="E208",
    )


# --- Time zones -----------------------------------------------------------------------------------


NAME_HINT = "write a name of the time zone database, such as Australia/Melbourne"
_NAMED_MAX = 8  # zones in one hint
# Names of places: more than an abbreviation, and no number in it.
_PLACE = re.compile(r"(?!Etc/)(?=.*[a-z])(?:[^0-9]{6,}|[^0-9]+/[^0-9]+)")
_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])0?(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)


def check_zone(text: str) -> Finding | None:
    """Return why a text is no time zone, or None.

    The service takes an offset for nonsense and shows "0" for it afterwards, as it does for every name that
    it does not know (docs/service.md, contacts).
    """
    if text in zone_names():
        return None
    found = _OFFSET.fullmatch(text)
    # Written for a zone it reads back as "0": the service makes London of it and says nothing.
    if found:
        sign, hours, minutes = found.groups()
        shown = f"{sign}{hours}" + (f":{minutes}" if minutes and minutes != "00" else "")
        name = FIXED_OFFSET_ZONES.get(shown, "")
        guess = f"{name} has this offset all year" if name else ""
        hint = "write the name of a zone, such as Australia/Melbourne"
        return Finding(
            "is an offset, which the service does not take", hint, impossible=True, guess=guess, code="E403"
        )
    # Names alone, from the database that the plan uses too: the same on every machine.
    return Finding("is not a time zone", NAME_HINT, impossible=True, instead=suggest_zone(text), code="E403")


def suggest_zone(text: str) -> str:
    """Return which zone a text may mean, or "": never the nearest of abbreviations, which is hours off.

    EST is near to AEST, and fifteen hours away. `Etc/GMT+9` is near to `Etc/GMT-9`.
    """
    using_it = zones_with_abbreviation(text) if text.isalpha() else ()
    if using_it:
        more = len(using_it) - _NAMED_MAX
        listed = ", ".join(using_it[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
        return f"write the name of a zone that uses this abbreviation: {listed}"
    # A place without its continent: `Melbourne`.
    place = fold_case(text).replace(" ", "_")
    named = sorted(
        name for name in zone_names() if place in (fold_case(name), fold_case(name).rpartition("/")[2])
    )
    if len(named) == 1:
        return f"did you mean {named[0]}?"
    named = named or sorted(name for name in zone_names() if fold_case(name).startswith(f"{place}/"))
    if named and "/" in text:
        return f"write one of {', '.join(named[:_NAMED_MAX])}"
    if named or not _PLACE.fullmatch(text) or text.isupper():
        return ""
    return did_you_mean("zone", text, filter(_PLACE.fullmatch, zone_names()))


# --- E-mail addresses, by their form alone: nothing is sent ---------------------------------------
#
# Internationalized addresses are allowed (RFC 6531), and so are domains for examples (example.com).


# The plain form that nearly all addresses have. Whatever does not fit is looked at by the library.
_LOCAL = re.compile(r"[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*")
_ADDRESS_HINT = "write it like jane.doe@example.com"
_LOCAL_MAX = 64  # octets (RFC 5321)
_WHOLE_MAX = 254
_FORMS = frozenset({"<wide>", "<narrow>", "<font>", "<circle>", "<super>", "<sub>", "<square>"})
_LIGATURES = frozenset("\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06")


class EmailCheck:
    """Checks addresses; what is known of a domain is kept, because a company has few."""

    def __init__(self) -> None:
        self._good: set[str] = set()

    def check(self, text: str) -> Finding | None:
        """Return why a text is no address, or probably none; None where nothing speaks against it."""
        local, at, domain = text.rpartition("@")
        if at and domain in self._good and _is_plain_address(local, text):
            return None
        found = _check_with_library(text)
        if found is None and _is_plain_address(local, text):
            self._good.add(domain)
        return found


def _is_plain_address(local: str, text: str) -> bool:
    return len(local) <= _LOCAL_MAX and len(text) <= _WHOLE_MAX and _LOCAL.fullmatch(local) is not None


def _check_with_library(text: str) -> Finding | None:
    # Its resolver of names is never imported.
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415 - 20 ms, for addresses alone

    try:
        validate_email(text, check_deliverability=False, globally_deliverable=False, test_environment=True)
    except EmailNotValidError as error:
        why = str(error).rstrip(".")
        return Finding(
            f"is not an e-mail address: {why[:1].lower()}{why[1:]}",
            _ADDRESS_HINT,
            impossible=True,
            code="E402",
        )
    return _find_unlikely(text)


def _find_unlikely(text: str) -> Finding | None:
    """Return why mail to an address of the right form is probably not delivered, or None."""
    local, _, domain = text.rpartition("@")
    if any(map(_is_typographic, text)):
        # Word writes one for an apostrophe, and o\u2019brien@ is another mailbox than o'brien@.
        what = "holds a typographic character that a word processor put in place of ' \" or -"
        return Finding(what, "write the plain character that the mailbox has", code="E402")
    if any(map(_is_another_form, text)):
        what = "holds a special form of a letter, such as a full-width letter or a ligature"
        return Finding(what, "write it with plain letters", code="E402")
    if "." not in domain:
        what = "has no dot after the @, so other mail servers do not know the domain"
    elif _is_machine(domain):
        what = "has an IP address after the @ instead of a domain"
    elif len(local.encode()) > _LOCAL_MAX:
        what = f"has more than {_LOCAL_MAX} octets before the @, which mail servers refuse"
    elif len(text.encode()) > _WHOLE_MAX:
        what = f"has more than {_WHOLE_MAX} octets, which mail servers refuse"
    else:
        return None
    return Finding(what, _ADDRESS_HINT, code="E402")


def _is_typographic(char: str) -> bool:
    """Whether a character is punctuation, a symbol or a blank that no keyboard writes into an address."""
    return not char.isascii() and unicodedata.category(char)[0] in "PSZC"


def _is_another_form(char: str) -> bool:
    """Whether a character is drawn as a letter, and is another one: full-width, raised, of two letters."""
    return not char.isascii() and (
        unicodedata.decomposition(char).partition(" ")[0] in _FORMS or char in _LIGATURES
    )


def _is_machine(domain: str) -> bool:
    try:
        ip_address(domain)
    except ValueError:
        return False
    return True


# --- Content: are the bytes of a resource of the type that it declares? ---------------------------
#
# Types that are not listed here are not checked. Bytes that plainly are another type cannot work; an encoding
# or a shape that is only unusual is said.


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
# No real content begins like this; it is looked for in what would be sent.
_PLACEHOLDER = "reconciler export could not read this content. Put the real file here."
_LINE_ENDS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_ENDING = re.compile(r"\.([A-Za-z0-9]{1,5})$")


def check_file_name(name: str, media: str) -> Finding | None:
    """Return how the end of a file's name contradicts its type, or None."""
    found = _ENDING.search(name)
    usual = _ENDINGS.get(found[1].lower(), ()) if found else ()
    if not usual or media in usual or not found:
        return None
    return Finding(
        f"is declared as {media}, but its name ends in .{found[1]}",
        f"write {usual[0]}, or rename it",
        code="E406",
    )


def check_content(media: str, data: bytes) -> Finding | None:
    """Return why bytes are not of a type, or probably not; None for types that have no check here."""
    # Whatever is stored without a look fails where it is read, later (tests/core/test_values.py).
    mark = next((of for start, of in _MARKS if data.startswith(start)), "")
    if media in _MARKED:
        return (
            None
            if mark == media
            else Finding(f"is not {media}: {_describe_mark(mark)}", _HINT, impossible=True, code="E406")
        )
    reader = _READERS.get(media) or next(
        (read for end, read in _SUFFIXES.items() if media.endswith(end)), None
    )
    if reader is None:
        return None
    if mark:
        return Finding(f"is not {media}: {_describe_mark(mark)}", _HINT, impossible=True, code="E406")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _explain_undecodable(media, data, error)
    # Spreadsheets write one into CSV, and read it there.
    if text.startswith("\ufeff") and reader is not _check_csv:
        return Finding(
            "begins with a byte order mark, which many readers do not accept",
            "save it without",
            code="E406",
        )
    return reader(media, text.removeprefix("\ufeff"))


def make_placeholder(media: str) -> bytes:
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


def _describe_mark(mark: str) -> str:
    return f"its first bytes are those of {mark}" if mark else "its first bytes are not those of this type"


def _explain_undecodable(media: str, data: bytes, error: UnicodeDecodeError) -> Finding | None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and media.endswith("xml"):
        return None  # XML names its encoding itself
    # No text in UTF-8 or in an encoding of one byte holds it: this is UTF-16, or no text at all.
    if b"\0" in data:
        return Finding(
            f"is not {media}: it holds bytes that are not text", _HINT, impossible=True, code="E406"
        )
    line = data.count(b"\n", 0, error.start) + 1
    return Finding(
        f"is not UTF-8 (line {line}), as readers of {media} expect", "save it as UTF-8", code="E406"
    )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check_json(media: str, text: str) -> Finding | None:
    try:
        # NaN and Infinity are Python's own words: other readers refuse them.
        json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        why, at = f"{error.msg[:1].lower()}{error.msg[1:]}", f"line {error.lineno}, column {error.colno}"
        return Finding(f"is not {media}: {why} ({at})", _HINT, impossible=True, code="E406")
    except ValueError as error:
        return Finding(f"is not {media}: {error} is not a JSON value", _HINT, impossible=True, code="E406")
    except RecursionError:
        return Finding("is nested so deeply that readers may refuse it", "reduce the nesting", code="E406")
    return None


def _check_xml(media: str, text: str) -> Finding | None:
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


def _check_csv(media: str, text: str) -> Finding | None:
    start = text.lstrip()[:1]
    # A reader of CSV takes either for a table, so nothing but a look tells.
    if start in ("{", "[") and _check_json(media, text) is None:
        return Finding(f"is not {media}: it is JSON", _HINT, impossible=True, code="E406")
    if start == "<" and _check_xml(media, text) is None:
        return Finding(f"is not {media}: it is XML", _HINT, impossible=True, code="E406")
    if "\0" in text:
        return Finding(f"is not {media}: it holds the character NUL", _HINT, impossible=True, code="E406")
    try:
        return _check_widths(text)
    except csv.Error as error:
        if "field limit" in str(error):
            return None  # a limit of this reader on the length of cells, not of CSV
        return Finding(f"is not {media}: {error}", "close the quotation marks", impossible=True, code="E406")


def _check_widths(text: str) -> Finding | None:
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


def _check_text(media: str, text: str) -> Finding | None:
    return (
        Finding(f"is not {media}: it holds the character NUL", _HINT, impossible=True, code="E406")
        if "\0" in text
        else None
    )


_READERS: Mapping[str, Callable[[str, str], Finding | None]] = {
    "text/csv": _check_csv,
    "application/csv": _check_csv,
    "application/json": _check_json,
    "application/xml": _check_xml,
    "text/xml": _check_xml,
    "text/plain": _check_text,
    "text/html": _check_text,
}
_SUFFIXES: Mapping[str, Callable[[str, str], Finding | None]] = {"+json": _check_json, "+xml": _check_xml}
