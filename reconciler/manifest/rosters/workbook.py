"""Which sheet of an .xlsx file is meant, and what all of its sheets share: the texts, and the formats.

Source: ECMA-376, part 1 (18.2, the workbook; 18.4, shared strings; 18.8, styles).
"""

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from reconciler.manifest.rosters.numberformats import GENERAL, built_in, is_code
from reconciler.manifest.rosters.package import Outline, Package
from reconciler.parsing.display import UNFIT_CHARACTERS, show_value

_LIST_MAX = 8 * 1024 * 1024  # bytes of the list of sheets
_BOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_TEXTS, _STYLES = "xl/sharedStrings.xml", "xl/styles.xml"
_NO_CELLS = frozenset({"chartsheet", "dialogsheet", "xlMacrosheet", "xlIntlMacrosheet"})
_SPACE = "xml:space"
_SHEETS_SHOWN_MAX = 10
CELL_MAX = 32_767  # characters of one cell, as many as a spreadsheet program keeps
TOO_LONG = None  # stands for a text of more

# How a text holds a character that XML has no form for, and an underscore before what looks so.
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_BLANKS = " \t\r\n"


class Workbook(NamedTuple):
    """The sheet that is meant, by its name and its part, and the parts that belong to all sheets, or ""."""

    sheet: str
    part: str
    texts: str
    styles: str


def find_sheet(package: Package, wanted: str) -> Workbook:
    """Return the sheet called `wanted`, or the only one that is shown where that is "". Raises Unreadable."""
    targets = _relations(package)
    kinds: dict[str, str] = {}
    for kind, part in targets.values():
        kinds.setdefault(kind, part)
    sheets = list(_sheets(package, targets))
    seen = [one for one, _, hidden in sheets if not hidden]
    listed = show_value(", ".join(seen[:_SHEETS_SHOWN_MAX]))
    if wanted and all(wanted != one for one, _, _ in sheets):
        raise package.refusal(f"has no sheet {show_value(wanted)!r}.", f"its sheets are: {listed}")
    fitting = [one for one in sheets if one[0] == wanted or (not wanted and not one[2])]
    if len(fitting) != 1:
        what = f"shows {len(fitting)} sheets, and nobody says which is meant."
        raise package.refusal(what, f"add `sheet:` with one of: {listed}")
    chosen, part, hidden = fitting[0]
    if hidden:
        what = f"the sheet {show_value(chosen)!r} of {package.name} is hidden."
        raise package.mistake(what, "unhide it, so that reviews see it")
    if part not in package:
        raise package.damage()
    if UNFIT_CHARACTERS.search(chosen):
        raise package.refusal("has a sheet whose name holds an invisible character.", "rename the sheet")
    texts, styles = kinds.get("sharedStrings", _TEXTS), kinds.get("styles", _STYLES)
    return Workbook(chosen, part, texts if texts in package else "", styles if styles in package else "")


def _relations(package: Package) -> dict[str, tuple[str, str]]:
    """Return what the workbook names, by its id: the last word of what it is, and its part."""
    if _BOOK not in package or _RELATIONS not in package:
        raise package.refusal("is no .xlsx file: it has no list of sheets.")
    targets: dict[str, tuple[str, str]] = {}

    def take(_: tuple[str, ...], one: dict[str, str]) -> None:
        target = one.get("Target", "")
        if target and one.get("TargetMode", "") != "External":
            part = posixpath.normpath(posixpath.join("/xl", target)).removeprefix("/")
            if (
                targets.setdefault(one.get("Id", ""), found := (one.get("Type", "").rpartition("/")[2], part))
                != found
            ):
                raise package.refusal("has two parts of one id, of which nobody knows which is meant.")

    _read_all(package.parse(_RELATIONS, Outline(package, take), _LIST_MAX))
    return targets


def _sheets(package: Package, targets: dict[str, tuple[str, str]]) -> Iterator[tuple[str, str, bool]]:
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

    _read_all(package.parse(_BOOK, Outline(package, take), _LIST_MAX))
    return iter(found)


def read_formats(package: Package, part: str) -> tuple[str, ...]:
    """Return the format of each style that cells name by its number."""
    if not part:
        return (GENERAL,)
    written: dict[str, str] = {}
    styles: list[str] = []

    def take(path: tuple[str, ...], one: dict[str, str]) -> None:
        if path[-2:] == ("numFmts", "numFmt"):  # those of conditional formats have numbers of their own
            code = one.get("formatCode", "")
            written[one.get("numFmtId", "")] = code if is_code(code) else ""
        elif path[-2:] == ("cellXfs", "xf"):
            styles.append(one.get("numFmtId", "0"))

    _read_all(package.parse(part, Outline(package, take)))
    return tuple(written[one] if one in written else built_in(one) for one in styles)


def read_texts(package: Package, part: str) -> list[str | None]:
    """Return the texts that cells name by their number; None for one that no cell can hold."""
    if not part:
        return []
    reader = _SharedTexts(package)
    _read_all(package.parse(part, reader))
    return reader.found


def _read_all(pieces: Iterator[None]) -> None:
    for _ in pieces:
        pass


class RichText:
    """One text as XML writes it, collected from its runs: without what says how it is spoken."""

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
        """Take from here on."""
        self.taking = True
        self._begin = len(self.pieces)
        self._trimmed = attributes.get(_SPACE) != "preserve"

    def take(self, text: str) -> None:
        """Take a piece, as long as the text is one that a cell can hold."""
        self._length += len(text)
        if self._length <= CELL_MAX:
            self.pieces.append(text)

    def end_run(self) -> None:
        """Take no more."""
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
        return unescape(text) if "_x" in text else text


def unescape(text: str) -> str:
    """Return a text with the characters that `_x000D_` and the like stand for."""
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    number = int(found[1], 16)
    return found[0] if 0xD800 <= number < 0xE000 else chr(number)  # noqa: PLR2004 - halves of a pair


class _SharedTexts:
    """The reader of the texts that all sheets share. Equal ones are one object."""

    def __init__(self, package: Package) -> None:
        self.elements = 0
        self.found: list[str | None] = []
        self._package = package
        self._same: dict[str, str] = {}
        self._depth = 0
        self._text = RichText()
        self._spoken = 0  # the depth of what says how the text is spoken
        self._item = self._run = self._speech = ""  # the names of a text, of a run, and of that

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take the begin of an element."""
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
        """Take the end of an element."""
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
        """Take a piece of a text."""
        if self._text.taking:
            self._text.take(text)
