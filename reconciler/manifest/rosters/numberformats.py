"""What a spreadsheet shows of a number or a text, by the format of its cell. Pure.

Somebody types 7 into a column of the format 00000 and sees 00007, which is the staff number in every other
system. So a number counts as what is shown where a format says that exactly: one of zeros alone. Where
another one shows something else than the number (50 %, 1,234, Level 3, rounded), nobody can take it.

Source: ECMA-376 part 1, 18.8.30 (numFmt) and 18.8.31 (numFmts).
"""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from xml.etree import ElementTree as ET

from reconciler.manifest.files import Unreadable

GENERAL, TEXT = "General", "@"

# Those that a file does not spell out. Dates and times are not here, for the reader of cells knows them as
# such, and neither are those that differ by language: such a cell cannot be used.
_BUILT_IN: Mapping[int, str] = {
    0: GENERAL,
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    37: "#,##0 ;(#,##0)",
    38: "#,##0 ;[Red](#,##0)",
    39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;[Red](#,##0.00)",
    41: '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)',
    43: '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)',
    48: "##0.0E+0",
    49: TEXT,
}
_UNKNOWN = ""  # shows nobody knows what

_SECTION = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]*\]|[_*].|[^;"\\\[])*)(?:;|$)', re.DOTALL)
# What changes nothing that is read: colours, a language, the room that a sign would take, blanks that fill.
_UNSEEN = re.compile(
    r"\[(?:Black|Blue|Cyan|Green|Magenta|Red|White|Yellow|Color ?\d+|\$-[0-9A-F]{1,4})\]|_.|\* |\"\"",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"([#0](?:[#0,]*[#0])?)?(\.([#0]*))?")
_ZEROS = re.compile(r"0+")
_TEXT_SECTION = 3  # the fourth one is that of texts
_SIGNED = 2  # sections from which on negative numbers have their own
_ZERO = 3  # sections from which on zero has its own


def read_formats(styles: bytes, name: str) -> tuple[str, ...]:
    """Return the format of each style that cells name by its number. Raises Unreadable, and ParseError."""
    if b"<!DOCTYPE" in styles:
        what = f"{name} declares a document type, which no .xlsx file does."
        raise Unreadable(what, "open it in a spreadsheet program and save it as .xlsx", code="E511")
    root = ET.fromstring(styles)  # noqa: S314 - no document type, see above
    written = {one.get("numFmtId", ""): one.get("formatCode", "") for one in _named(root, "numFmt")}
    return tuple(_format(one.get("numFmtId", "0"), written) for xfs in _named(root, "cellXfs") for one in xfs)


def _named(root: ET.Element, tag: str) -> list[ET.Element]:
    return [one for one in root.iter() if one.tag.rpartition("}")[2] == tag]


def _format(number: str, written: Mapping[str, str]) -> str:
    if number in written:
        return written[number]
    return _BUILT_IN.get(int(number), _UNKNOWN) if number.isdecimal() else _UNKNOWN


def is_plain(code: str) -> bool:
    """Whether a format shows numbers and texts as they are."""
    return code == TEXT or code.lower() == GENERAL.lower()


def show_number(value: float, plain: str, code: str) -> str | None:
    """Return the text that a number counts as in a cell of this format; None where it cannot be used.

    `plain` is the number as it is written where no format says otherwise.
    """
    if is_plain(code):
        return plain
    sections = _sections(code)
    if value < 0 and len(sections) >= _SIGNED:  # this section has to write the minus itself
        minus, _, section = sections[1].partition("-")
        return plain if section and not minus and _render(-value, section) == plain[1:] else None
    section = sections[2] if value == 0 and len(sections) >= _ZERO else sections[0] if sections else ""
    shown = plain if is_plain(section) else _render(value, section)
    fits = shown == plain or (value >= 0 and _ZEROS.fullmatch(section) is not None)
    return shown if fits else None


def shows_texts(code: str) -> bool:
    """Whether a format shows texts as they are."""
    sections = _sections(code)
    if len(sections) > _TEXT_SECTION:
        return is_plain(sections[_TEXT_SECTION])
    return all(is_plain(one) for one in sections if TEXT in one)


def _sections(code: str) -> list[str]:
    found, at = [], 0
    while (match := _SECTION.match(code, at)) and at <= len(code):
        found.append(_UNSEEN.sub("", match[1]).strip(" "))
        if match.end() == len(code) and not match[0].endswith(";"):
            break
        at = match.end()
    return found


def _render(value: float, section: str) -> str | None:
    """Return what a section of digits alone shows; None where more is in it, or the number is rounded."""
    digits = _DIGITS.fullmatch(section)
    if digits is None or not section:
        return None
    whole, point, places = digits[1] or "", digits[2] or "", digits[3] or ""
    try:
        exact = Decimal(repr(abs(value)))
        rounded = exact.quantize(Decimal(1).scaleb(-len(places)))
    except InvalidOperation:
        return None
    if rounded != exact or (section.count("0") == 0 and value == 0):
        return None
    before, _, after = f"{rounded:f}".partition(".")
    before = before.lstrip("0").zfill(whole.count("0"))
    if "," in whole and before.isdecimal():
        before = f"{int(before):,}" if len(before) == len(str(int(before))) else ","
    after = after[: places.rfind("0") + 1] + after[places.rfind("0") + 1 :].rstrip("0")
    return f"{'-' if value < 0 else ''}{before}{'.' if point else ''}{after}"
