"""What a spreadsheet shows of a number or a text, by the format of its cell. Pure.

Somebody types 7 into a column of the format 00000 and sees 00007, which is the staff number in every other
system. So a number counts as what is shown where a format says that exactly: one of zeros alone. Where
another one shows something else than the number (50 %, 1,234, Level 3, rounded), nobody can take it.

Source: ECMA-376 part 1, 18.8.30 (numFmt) and 18.8.31 (numFmts).
"""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache

GENERAL, TEXT = "General", "@"

# Those that a file does not spell out. Those that differ by language are left out.
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
    14: "mm-dd-yy",
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "m/d/yy h:mm",
    37: "#,##0 ;(#,##0)",
    38: "#,##0 ;[Red](#,##0)",
    39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;[Red](#,##0.00)",
    41: '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)',
    43: '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)',
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mmss.0",
    48: "##0.0E+0",
    49: TEXT,
}
_UNKNOWN = ""  # shows nobody knows what
_UNCLOSED = "?@"
_CODE_MAX = 255  # characters of a format, as many as a spreadsheet program takes
_ID_MAX = 9  # digits

# No sign begins two of these forms: with two ways to read `_x`, a format that is not closed takes years.
_SECTION = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]*\]|[_*](?:.|\Z)|[^;"\\\[_*])*)(?:;|\Z)', re.DOTALL)
# What changes nothing that is read: colours, a language, the room that a sign would take, blanks that fill.
_UNSEEN = re.compile(
    r"\[(?:Black|Blue|Cyan|Green|Magenta|Red|White|Yellow|Color ?\d+|\$-[0-9A-F]{1,4})\]|_.|\* |\"\"",
    re.IGNORECASE,
)
# What a date or a time is known by: letters for days and hours outside of texts; [h] is a length of time.
_WRITTEN = re.compile(r'"[^"]*"|\\.|[_*].|general', re.IGNORECASE | re.DOTALL)
_LENGTH = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_BRACKETS = re.compile(r"\[[^\]]*\]")
_CALENDAR = re.compile(r"[dmyhs]", re.IGNORECASE)
_DIGITS = re.compile(r"([#0](?:[#0,]*[#0])?)?(\.([#0]*))?")
_ZEROS = re.compile(r"0+")
_TEXT_SECTION = 3  # the fourth one is that of texts
_SIGNED = 2  # sections from which on negative numbers have their own
_ZERO = 3  # sections from which on zero has its own


def built_in(number: str) -> str:
    """Return the format that a file names by this number and does not spell out."""
    return _BUILT_IN.get(int(number), _UNKNOWN) if number.isdecimal() and len(number) <= _ID_MAX else _UNKNOWN


def is_code(code: str) -> bool:
    """Whether a format is as short as spreadsheet programs write it; nobody knows what another one shows."""
    return len(code) <= _CODE_MAX


def is_plain(code: str) -> bool:
    """Whether a format shows numbers and texts as they are."""
    return code == TEXT or code.lower() == GENERAL.lower()


@lru_cache(maxsize=1024)
def calendar_kind(code: str) -> str:
    """Return what a number of this format shows: "a date" (or a time), "a length of time", or ""."""
    rest = _WRITTEN.sub("", code)
    if _LENGTH.search(rest):
        return "a length of time"
    return "a date" if _CALENDAR.search(_BRACKETS.sub("", rest)) else ""


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


@lru_cache(maxsize=1024)
def _sections(code: str) -> tuple[str, ...]:
    """Return the sections of a format; one that fits nothing where the format is not closed."""
    found, at = [], 0
    while (match := _SECTION.match(code, at)) and at <= len(code):
        found.append(_UNSEEN.sub("", match[1]).strip(" "))
        if match.end() == len(code) and not match[0].endswith(";"):
            return tuple(found)
        at = match.end()
    return (_UNCLOSED,)


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
