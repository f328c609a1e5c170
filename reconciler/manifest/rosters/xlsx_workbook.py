"""Which sheet of an .xlsx file is meant, and what all of its sheets share: texts, and formats of cells.

Source: ECMA-376, part 1 (18.2, the workbook; 18.4, shared strings; 18.8, styles).
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

from reconciler.manifest.rosters.xlsx_package import OutlineReader, XlsxPackage
from reconciler.parsing.display import UNFIT_CHARACTERS, show_value

# --- What a spreadsheet shows of a number or a text, by the format of its cell --------------------
#
# A 7 in a column of the format 00000 is shown as 00007, which is the staff number in every other system. So a
# format of zeros alone counts: the number is read as shown. Where another format shows something else than
# the number (50 %, 1,234, Level 3, rounded), the cell cannot be used.
#
# Source: ECMA-376 part 1, 18.8.30 (numFmt) and 18.8.31 (numFmts).

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
_UNKNOWN = ""  # what it shows is unknown
_UNCLOSED = "?@"
_CODE_MAX = 255  # characters of a format, as many as spreadsheet programs allow
_ID_MAX = 9  # digits

# No character begins two of these forms: with two ways to read `_x`, matching would take exponential time.
_SECTION = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]*\]|[_*](?:.|\Z)|[^;"\\\[_*])*)(?:;|\Z)', re.DOTALL)
# Parts that do not change the text: colours, a language, the width of a character, filling blanks.
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
_ZERO = 3  # with so many sections, zero has its own


def builtin_format(number: str) -> str:
    """Return the format that a file names by this number and does not spell out."""
    return _BUILT_IN.get(int(number), _UNKNOWN) if number.isdecimal() and len(number) <= _ID_MAX else _UNKNOWN


def is_format_code(code: str) -> bool:
    """Whether a format is as short as spreadsheet programs write it; what a longer one shows is unknown."""
    return len(code) <= _CODE_MAX


def is_plain_format(code: str) -> bool:
    """Whether a format shows numbers and texts as they are."""
    return code == TEXT or code.lower() == GENERAL.lower()


@lru_cache(maxsize=1024)
def find_calendar_kind(code: str) -> str:
    """Return what a number of this format shows: "a date" (or a time), "a length of time", or ""."""
    rest = _WRITTEN.sub("", code)
    if _LENGTH.search(rest):
        return "a length of time"
    return "a date" if _CALENDAR.search(_BRACKETS.sub("", rest)) else ""


def format_number(value: float, plain: str, code: str) -> str | None:
    """Return the text that a number counts as in a cell of this format; None where it cannot be used.

    `plain` is the number as it is written where no format says otherwise.
    """
    if is_plain_format(code):
        return plain
    sections = _split_sections(code)
    if value < 0 and len(sections) >= _SIGNED:  # this section has to write the minus itself
        minus, _, section = sections[1].partition("-")
        return plain if section and not minus and _render_digits(-value, section) == plain[1:] else None
    section = sections[2] if value == 0 and len(sections) >= _ZERO else sections[0] if sections else ""
    shown = plain if is_plain_format(section) else _render_digits(value, section)
    fits = shown == plain or (value >= 0 and _ZEROS.fullmatch(section) is not None)
    return shown if fits else None


def shows_texts(code: str) -> bool:
    """Whether a format shows texts as they are."""
    sections = _split_sections(code)
    if len(sections) > _TEXT_SECTION:
        return is_plain_format(sections[_TEXT_SECTION])
    return all(is_plain_format(one) for one in sections if TEXT in one)


@lru_cache(maxsize=1024)
def _split_sections(code: str) -> tuple[str, ...]:
    """Return the sections of a format; one that fits nothing where the format is not closed."""
    found, at = [], 0
    while (match := _SECTION.match(code, at)) and at <= len(code):
        found.append(_UNSEEN.sub("", match[1]).strip(" "))
        if match.end() == len(code) and not match[0].endswith(";"):
            return tuple(found)
        at = match.end()
    return (_UNCLOSED,)


def _render_digits(value: float, section: str) -> str | None:
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


# --- The sheet, and the parts that belong to all sheets -------------------------------------------

_LIST_MAX = 8 * 1024 * 1024  # bytes of the list of sheets
_BOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_TEXTS, _STYLES = "xl/sharedStrings.xml", "xl/styles.xml"
_NO_CELLS = frozenset({"chartsheet", "dialogsheet", "xlMacrosheet", "xlIntlMacrosheet"})
_SPACE = "xml:space"
_SHEETS_SHOWN_MAX = 10
CELL_MAX = 32_767  # characters of one cell, as many as a spreadsheet program keeps
TOO_LONG = None  # in place of a longer text

# The escape of characters that XML cannot contain, and of an underscore before what looks like one.
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_BLANKS = " \t\r\n"


class Workbook(NamedTuple):
    """The sheet that is meant, by its name and its part, and the parts that belong to all sheets, or ""."""

    sheet: str
    part: str
    texts: str
    styles: str


def find_sheet(package: XlsxPackage, wanted: str) -> Workbook:
    """Return the sheet called `wanted`, or the only one that is shown where that is "". Raises Unreadable."""
    targets = _read_relations(package)
    kinds: dict[str, str] = {}
    for kind, part in targets.values():
        kinds.setdefault(kind, part)
    sheets = list(_list_sheets(package, targets))
    seen = [one for one, _, hidden in sheets if not hidden]
    listed = show_value(", ".join(seen[:_SHEETS_SHOWN_MAX]))
    if wanted and all(wanted != one for one, _, _ in sheets):
        raise package.refusal(f"has no sheet {show_value(wanted)!r}.", f"its sheets are: {listed}")
    fitting = [one for one in sheets if one[0] == wanted or (not wanted and not one[2])]
    if len(fitting) != 1:
        what = f"has {len(fitting)} visible sheets; the manifest must name one."
        raise package.refusal(what, f"add `sheet:` with one of: {listed}")
    chosen, part, hidden = fitting[0]
    if hidden:
        what = f"the sheet {show_value(chosen)!r} of {package.name} is hidden."
        raise package.mistake(what, "unhide it, so that reviews see it")
    if part not in package:
        raise package.damage()
    if UNFIT_CHARACTERS.search(chosen):
        raise package.refusal("has a sheet whose name contains an invisible character.", "rename the sheet")
    texts, styles = kinds.get("sharedStrings", _TEXTS), kinds.get("styles", _STYLES)
    return Workbook(chosen, part, texts if texts in package else "", styles if styles in package else "")


def _read_relations(package: XlsxPackage) -> dict[str, tuple[str, str]]:
    """Return what the workbook names, by its id: the last word of what it is, and its part."""
    if _BOOK not in package or _RELATIONS not in package:
        raise package.refusal("is not an .xlsx file: it has no list of sheets.")
    targets: dict[str, tuple[str, str]] = {}

    def take(_: tuple[str, ...], one: dict[str, str]) -> None:
        target = one.get("Target", "")
        if target and one.get("TargetMode", "") != "External":
            part = posixpath.normpath(posixpath.join("/xl", target)).removeprefix("/")
            if (
                targets.setdefault(one.get("Id", ""), found := (one.get("Type", "").rpartition("/")[2], part))
                != found
            ):
                raise package.refusal("has two parts with the same id.")

    _read_to_end(package.parse(_RELATIONS, OutlineReader(package, take), _LIST_MAX))
    return targets


def _list_sheets(
    package: XlsxPackage, targets: dict[str, tuple[str, str]]
) -> Iterator[tuple[str, str, bool]]:
    """Yield the name of each sheet, its part, and whether it is hidden."""
    found: list[tuple[str, str, bool]] = []

    def take(path: tuple[str, ...], one: dict[str, str]) -> None:
        if path[-2:] != ("sheets", "sheet"):
            return
        kind, part = targets.get(next((one[key] for key in one if key.endswith(":id")), ""), ("", ""))
        hidden = one.get("state", "visible") != "visible"
        # A chart has a sheet of its own. Any other one that is shown counts, in whatever folder it is: left
        # out, the one beside it would be the only one, and taken without a word.
        if kind not in _NO_CELLS and (part in package or not hidden):
            found.append((one.get("name", ""), part, hidden))

    _read_to_end(package.parse(_BOOK, OutlineReader(package, take), _LIST_MAX))
    return iter(found)


def read_formats(package: XlsxPackage, part: str) -> tuple[str, ...]:
    """Return the format of each style that cells name by its number."""
    if not part:
        return (GENERAL,)
    written: dict[str, str] = {}
    styles: list[str] = []

    def take(path: tuple[str, ...], one: dict[str, str]) -> None:
        if path[-2:] == ("numFmts", "numFmt"):  # those of conditional formats have numbers of their own
            code = one.get("formatCode", "")
            written[one.get("numFmtId", "")] = code if is_format_code(code) else ""
        elif path[-2:] == ("cellXfs", "xf"):
            styles.append(one.get("numFmtId", "0"))

    _read_to_end(package.parse(part, OutlineReader(package, take)))
    return tuple(written[one] if one in written else builtin_format(one) for one in styles)


def read_shared_texts(package: XlsxPackage, part: str) -> list[str | None]:
    """Return the texts that cells name by their number; None for one that no cell can hold."""
    if not part:
        return []
    reader = _SharedTexts(package)
    _read_to_end(package.parse(part, reader))
    return reader.found


def _read_to_end(pieces: Iterator[None]) -> None:
    for _ in pieces:
        pass


class RichText:
    """One text of XML, collected from its runs, without phonetic hints."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.taking = False
        self._length = 0
        self._begin = 0
        self._trimmed = False

    def clear(self) -> None:
        """Begin a new text."""
        self.pieces.clear()
        self._length = 0

    def start_run(self, attributes: dict[str, str]) -> None:
        """Start to collect."""
        self.taking = True
        self._begin = len(self.pieces)
        self._trimmed = attributes.get(_SPACE) != "preserve"

    def take(self, text: str) -> None:
        """Add a piece, unless the text is longer than a cell can be."""
        self._length += len(text)
        if self._length <= CELL_MAX:
            self.pieces.append(text)

    def end_run(self) -> None:
        """Stop collecting."""
        self.taking = False
        if self._trimmed and self._begin == len(self.pieces) - 1:
            self.pieces[-1] = self.pieces[-1].strip(_BLANKS)
        elif self._trimmed:
            self.pieces[self._begin :] = ["".join(self.pieces[self._begin :]).strip(_BLANKS)]

    def value(self) -> str | None:
        """Return the text, or TOO_LONG."""
        if self._length > CELL_MAX:
            return TOO_LONG
        text = self.pieces[0] if len(self.pieces) == 1 else "".join(self.pieces)
        return unescape_text(text) if "_x" in text else text


def unescape_text(text: str) -> str:
    """Return a text with the characters that `_x000D_` and the like stand for."""
    return _ESCAPE.sub(_unescape_character, text)


def _unescape_character(found: re.Match[str]) -> str:
    number = int(found[1], 16)
    return found[0] if 0xD800 <= number < 0xE000 else chr(number)  # noqa: PLR2004 - halves of a pair


class _SharedTexts:
    """The reader of the texts that all sheets share. Equal ones are one object."""

    def __init__(self, package: XlsxPackage) -> None:
        self.elements = 0
        self.found: list[str | None] = []
        self._package = package
        self._same: dict[str, str] = {}
        self._depth = 0
        self._text = RichText()
        self._spoken = 0  # the depth inside phonetic hints
        self._item = self._run = self._speech = ""  # the names of a text, of a run, and of that

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Receive the start of an element."""
        self.elements += 1
        self._depth += 1
        if not self._run:
            front = name[: name.rfind(":") + 1]
            self._item, self._run, self._speech = f"{front}si", f"{front}t", f"{front}rPh"
        elif self._depth == 2:  # noqa: PLR2004 - below the root
            # The number of a text counts those before it: what is none would move all of them by one.
            if name != self._item and name.rpartition(":")[2] != "extLst":
                raise self._package.damage()
            self._spoken = 0 if name == self._item else self._depth
        elif name == self._run and not self._spoken:
            self._text.start_run(attributes)
        elif name == self._speech and not self._spoken:
            self._spoken = self._depth
        else:
            self._package.require_depth(self._depth)

    def end(self, name: str) -> None:
        """Receive the end of an element."""
        if name == self._run and self._text.taking:
            self._text.end_run()
        elif self._depth == self._spoken:
            self._spoken = 0
        elif self._depth == 2:  # noqa: PLR2004 - below the root
            text = self._text.value()
            self.found.append(text if text is None else self._same.setdefault(text, text))
            self._text.clear()
        self._depth -= 1

    def text(self, text: str) -> None:
        """Receive a piece of a text."""
        if self._text.taking:
            self._text.take(text)
