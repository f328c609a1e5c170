"""One sheet of an .xlsx file as a table of texts: each cell as the same roster in CSV has it.

A number that is whole has no point, and leading zeros where its format is of zeros alone; true and false
are words; rows count as the spreadsheet counts them. What a cell cannot hold safely is told where somebody
takes it: a formula (its result is what some program computed last), an error, a date (telephone numbers
become dates by themselves), a number of more than fifteen digits (a spreadsheet keeps no more), what its
format shows in another way than it is (xlsx_workbook.py).

The sheet is read as it is unpacked (xlsx_package.py), cell after cell: what it takes is what the rows hold,
and not what lies between the first and the last cell that some program has touched.

Source: ECMA-376, part 1, 18.3 (`row`, `c`, `f`, `v`, `is` and `mergeCells` of a sheet).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from reconciler.core.text import is_blank
from reconciler.errors import Problem
from reconciler.manifest.rosters.table import RosterTable, TableBuilder, TableRow, empty_table
from reconciler.manifest.rosters.xlsx_package import REMOVE_HINT, XlsxPackage
from reconciler.manifest.rosters.xlsx_workbook import (
    CELL_MAX,
    RichText,
    find_calendar_kind,
    find_sheet,
    format_number,
    is_plain_format,
    read_formats,
    read_shared_texts,
    shows_texts,
    unescape_text,
)
from reconciler.model.documents import CELLS_MAX, COLUMNS_MAX, UNSAID, sheet_file_name
from reconciler.parsing.display import show_value

_MERGED_SHOWN_MAX = 20
_WHOLE_MAX = 10**15  # numbers below it have all their digits
_LAST = 1_048_576  # the last row that a spreadsheet has
# Empty cells between others: eight bytes each in memory, and nearly none in the file.
_FREE_GAPS, _GAPS_A_CELL = 8 * 1024 * 1024, 4
# Characters of all cells. A text that many cells share is written once, and every one of them shows it.
_FREE_CHARACTERS, _CHARACTERS_A_BYTE = 4 * 1024 * 1024, 2
_AT = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_NUMBER_MAX = 64  # characters of a written number
_FALSE = ("0", "false")
_ROW_NUMBER, _STYLE_NUMBER = re.compile(r"[1-9][0-9]{0,6}"), re.compile(r"[0-9]{1,9}")

# Where the reader is. `_ASIDE`: inside an element that contains no cells.
_OUTSIDE, _IN_SHEET, _IN_DATA, _IN_ROW, _IN_CELL, _IN_VALUE, _IN_TEXT, _IN_RUN, _ASIDE = range(9)
_WHOLE, _PART = range(9, 11)  # a text in one piece, and a piece of one
_OF_TEXTS = frozenset({_WHOLE, _PART})
_BELOW: Mapping[tuple[int, str], int] = {
    (_IN_SHEET, "sheetData"): _IN_DATA,
    (_IN_DATA, "row"): _IN_ROW,
    (_IN_CELL, "is"): _IN_TEXT,
    (_IN_TEXT, "t"): _WHOLE,
    (_IN_TEXT, "r"): _IN_RUN,
    (_IN_RUN, "t"): _PART,
}
_ABOVE: Mapping[int, int] = {
    _IN_SHEET: _OUTSIDE,
    _IN_CELL: _IN_ROW,
    **{below: level for (level, _), below in _BELOW.items()},
}
# Further elements that an element may contain. Any other one is refused, because some programs would show its
# content as people and others would not.
_BESIDE: Mapping[int, frozenset[str]] = {
    _IN_DATA: frozenset(),
    _IN_ROW: frozenset({"extLst"}),
    _IN_CELL: frozenset({"f", "extLst"}),
    _IN_VALUE: frozenset(),
    _IN_TEXT: frozenset({"rPh", "phoneticPr"}),
    _IN_RUN: frozenset({"rPr"}),
    _WHOLE: frozenset(),
    _PART: frozenset(),
}
_NAMES = (
    "sheetData", "row", "c", "v", "f", "is", "r", "t", "mergeCell", "extLst", "rPh", "phoneticPr", "rPr",
)  # fmt: skip

_ARRAYS_MAX = 20  # each cell is compared with each of them
_BLANKS = " \t\r\n"

_AREA = "delete the rows and columns beyond the last person, then save it"


def read_sheet(data: bytes, file: str, wanted: str) -> RosterTable:
    """Return the table of one sheet of an .xlsx file: the one called `wanted`, or the only one that is shown.

    Raises Unreadable for a file, or a sheet, of which nothing can be read.
    """
    package = XlsxPackage(data, file)
    book = find_sheet(package, wanted)
    formats = read_formats(package, book.styles)
    reader = _CellReader(package, read_shared_texts(package, book.texts), formats)
    place = sheet_file_name(file, book.sheet)
    builder = TableBuilder(place, of_cells=True, width=COLUMNS_MAX)
    builder.add_rows(reader.rows(book.part))
    merged = tuple(_list_merged_cells(reader.merged, place))
    return empty_table(place, *merged) if merged else builder.build(reader.unusable)


def _list_merged_cells(ranges: Sequence[str], place: str) -> Iterator[Problem]:
    """Yield a mistake for each group of merged cells: all but the first are empty in the file."""
    for one in ranges:
        found = _AT.match(one)
        row, column = (int(found[2]), _column_index(found[1]) + 1) if found else (0, 0)
        what = "these cells are merged; only the first one has a value."
        hint = "unmerge them and fill each one"
        yield Problem(place, row, column, what, hint, code="E511")


class _CellReader:
    """The reader of one sheet: `rows` yields those that hold something, as wide as the first one, or wider.

    `unusable` are the cells, by row and index from 0, that no text may be taken from, and what they hold.
    Where an element begins that no cell is made of, all within it is passed over (`_aside`).
    """

    # Called for every element of a million cells: the branch of a cell and of its value comes first.
    __slots__ = (
        "_arrays", "_aside", "_back", "_cell", "_cells", "_characters", "_columns", "_end", "_formula",
        "_gaps", "_held", "_last", "_level", "_marks", "_names", "_package", "_plain", "_read",
        "_rich", "_row", "_styles", "_texts", "_untold", "_value", "_width", "elements", "merged",
        "name_c", "name_v", "unusable",
    )  # fmt: skip

    def __init__(self, package: XlsxPackage, texts: Sequence[str | None], formats: Sequence[str]) -> None:
        self.elements = 0
        self.merged: list[str] = []
        self.unusable: dict[int, dict[int, str]] = {}
        self._package = package
        self._texts = texts
        self._styles = formats
        # By the number as a cell writes it. A cell without a number has the first style.
        self._plain = {str(number) for number, code in enumerate(formats) if is_plain_format(code)}
        if "0" in self._plain:
            self._plain.add("")
        self._read: list[TableRow] = []
        self._width = 0  # of the first row with a value
        self._held = self._gaps = self._characters = 0
        self._level = _OUTSIDE
        self._back = self._aside = 0  # the level before `_ASIDE`, and how many elements are open in it
        self._names: Mapping[str, str] = {}
        self.name_c = self.name_v = ""
        self._columns: dict[str, int] = {}  # by their letters, as far as they were met
        self._marks: dict[tuple[tuple[int, str], ...], dict[int, str]] = {}
        # The row that is read, and the cell.
        self._row, self._end, self._last = 0, "", -1
        self._cells: list[str] = []
        self._untold: dict[int, str] = {}
        self._cell: dict[str, str] = {}
        self._value: str | None = None
        self._formula = False
        # The formulas whose results lie in several cells, as far as they reach the row: the last row and the
        # columns. Only the first of the cells says that it is computed.
        self._arrays: list[tuple[int, int, int]] = []
        self._rich = RichText()

    def rows(self, part: str) -> Iterator[TableRow]:
        """Yield each row with a value, with its number."""
        for _ in self._package.parse(part, self):
            limit = _FREE_CHARACTERS + _CHARACTERS_A_BYTE * self._package.unpacked
            if self._characters > limit:
                what = f"shows more than {limit:,} characters, which is the limit for its size."
                raise self._package.refusal(what, REMOVE_HINT)
            yield from self._read
            self._read.clear()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Receive the start of an element."""
        level = self._level
        if level == _IN_ROW and name == self.name_c:
            self._level = _IN_CELL
            self.elements += 1
            self._cell = attributes
            at = attributes.get("r", "")
            end = self._end
            index = self._columns.get(at[: -len(end)], -1) if at.endswith(end) else -1
            if index < 0:
                index = self._place(at)
            if index <= self._last:
                raise self._package.refusal("has duplicate cells, or cells out of order.")
            self._last = index
        elif level == _IN_CELL and name == self.name_v and self._value is None:
            self._level = _IN_VALUE
            self._value = ""
        else:
            self._start_other(name, attributes)

    def end(self, _: str) -> None:
        """Receive the end of an element."""
        level = self._level
        if level == _IN_VALUE:
            self._level = _IN_CELL
        elif level == _IN_CELL:
            self._level = _IN_ROW
            value = self._value
            cell = self._cell
            if (
                value
                and cell.get("t") == "s"
                and not (self._formula or self._arrays or self._rich.pieces)
                and cell.get("s", "") in self._plain
                and value.isdecimal()
                and value.isascii()
            ):
                text = self._texts[int(value)]  # as most cells of most sheets
                self._value = None
                if text and self._last == len(self._cells):
                    self._characters += len(text)
                    self._cells.append(text)
                else:
                    self._hold(text or "", "" if text is not None else _LONG)
            else:
                self._end_cell()
        elif level == _ASIDE:
            self._aside -= 1
            if not self._aside:
                self._level = self._back
        else:
            if level in _OF_TEXTS:
                self._rich.end_run()
            elif level == _IN_ROW:
                self._end_row()
            self._level = _ABOVE[level]

    def text(self, text: str) -> None:
        """Receive a piece of a text."""
        level = self._level
        if level == _IN_VALUE:
            if not self._value:
                self._value = text
            elif len(self._value) <= CELL_MAX:
                self._value += text
        elif level in _OF_TEXTS:
            self._rich.take(text)

    def _start_other(self, name: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        level = self._level
        if level == _OUTSIDE:
            self._start_root(name)
            return
        tag = self._names.get(name, "")
        below = _BELOW.get((level, tag))
        if below is not None:
            self._level = below
            if below == _IN_ROW:
                self._start_row(attributes.get("r", ""))
            elif below in _OF_TEXTS:
                self._rich.start_run(attributes)
            elif below == _IN_TEXT and self._rich.pieces:
                raise self._package.damage()
            return
        if level in _BESIDE and tag not in _BESIDE[level]:
            raise self._package.damage()
        if tag == "f" and level == _IN_CELL:
            self._formula = True
            if attributes.get("t") in ("array", "dataTable"):
                self._start_array(attributes.get("ref", ""))
        elif tag == "mergeCell" and len(self.merged) < _MERGED_SHOWN_MAX:
            self.merged.append(attributes.get("ref", ""))
        elif level == _IN_SHEET and not tag and name.endswith(":sheetData"):
            raise self._package.damage()
        if level != _ASIDE:
            self._back, self._level = level, _ASIDE
        self._aside += 1
        self._package.require_depth(self._aside)

    def _start_root(self, name: str) -> None:
        """Note the prefix of all names of this sheet."""
        front = name[: name.rfind(":") + 1]
        if name != f"{front}worksheet":
            raise self._package.damage()
        self._names = {front + one: one for one in _NAMES}
        self.name_c, self.name_v = front + "c", front + "v"
        self._level = _IN_SHEET

    def _start_array(self, ref: str) -> None:
        """Note the cells, `A2:B9`, that the formula of this cell fills."""
        first, colon, last = ref.partition(":")
        begin, end = _AT.fullmatch(first), _AT.fullmatch(last if colon else first)
        if begin is None or end is None:
            raise self._package.damage()
        if colon and last != first:
            self._arrays.append((int(end[2]), _column_index(begin[1]), _column_index(end[1])))
        if len(self._arrays) > _ARRAYS_MAX:
            what = f"has more than {_ARRAYS_MAX} array formulas side by side."
            raise self._package.refusal(what, "write their results as values, then save it")

    def _is_computed(self) -> bool:
        """Whether the cell has a formula, or a result of the formula of another cell."""
        return self._formula or any(first <= self._last <= last for _, first, last in self._arrays)

    # --- rows ---

    def _start_row(self, number: str) -> None:
        self._last = -1
        self._end = "?"  # where the row has no number, its first cell has
        if number:
            self._begin_row(number)

    def _begin_row(self, number: str) -> None:
        if not _ROW_NUMBER.fullmatch(number):
            raise self._misplaced()
        found = int(number)
        if found > _LAST:
            raise self._package.refusal(f"has a row beyond {_LAST:,}, the last one of a spreadsheet.", _AREA)
        if found <= self._row:
            raise self._package.refusal("has duplicate rows, or rows out of order.")
        self._row, self._end = found, number
        if self._arrays:
            self._arrays = [one for one in self._arrays if one[0] >= found]

    def _end_row(self) -> None:
        if self._untold:
            key = tuple(self._untold.items())
            self.unusable[self._row] = self._marks.setdefault(key, self._untold)
            self._untold = {}
        if cells := self._cells:
            if not self._width and not all(map(is_blank, cells)):
                self._width = len(cells)
            self._held += len(cells)
            if len(cells) < self._width:
                self._fill(self._width)
            self._read.append((self._row, cells))
            self._cells = []

    def _fill(self, width: int) -> None:
        """Put empty cells behind those of the row, up to this width."""
        gap = width - len(self._cells)
        self._gaps += gap
        self._held -= gap  # `_end_row` counts all cells of the row
        if self._gaps > _FREE_GAPS + _GAPS_A_CELL * self._held or self._gaps > CELLS_MAX:
            what = "has a used area that is almost empty."
            raise self._package.refusal(what, _AREA)
        self._cells.extend([""] * gap)

    # --- cells ---

    def _place(self, at: str) -> int:
        """Return the column of a cell whose letters were not met before, in the row that is read."""
        found = _AT.fullmatch(at)
        if found is None:
            raise self._misplaced()
        if self._end == "?":
            self._begin_row(found[2])
        index = _column_index(found[1])
        if found[2] != self._end or index >= COLUMNS_MAX:
            raise self._misplaced()
        self._columns[found[1]] = index
        return index

    def _misplaced(self) -> Exception:
        return self._package.refusal("has cells without a reference.")

    def _end_cell(self) -> None:
        cell, value = self._cell, self._value
        self._value = None
        kind = cell.get("t", "n")
        untold = ""
        if self._is_computed():
            self._formula = False
            text, untold = "", "a formula"
        elif self._rich.pieces and (value or kind != "inlineStr"):
            text, untold = "", "text and something else"
        elif kind == "s":
            found = self._shared_text((value or "").strip(_BLANKS))
            text, untold = (found, "") if found is not None else ("", _LONG)
        elif self._rich.pieces:
            found = self._rich.value()
            text, untold = (found, "") if found is not None else ("", _LONG)
        elif value and len(value) > CELL_MAX:
            text, untold = "", _LONG
        else:
            text, untold = _KINDS[kind](value or "")
        if self._rich.pieces:
            self._rich.clear()
        if text and cell.get("s", "") not in self._plain:
            text, untold = self._styled(text, cell.get("s", "0"), kind)
        self._hold(text, untold)

    def _shared_text(self, number: str) -> str | None:
        """Return the text that all sheets share under this number, "" for none."""
        if not number:
            return ""
        if not (number.isascii() and number.isdecimal()):  # Python counts back from -1
            raise self._package.damage()
        return self._texts[int(number)]

    def _hold(self, text: str, untold: str) -> None:
        """Add a text to the row, or UNSAID for an unusable cell."""
        if untold:
            self._untold[self._last] = untold
            text = UNSAID  # not empty: a row of formulas is a row
        if text:
            self._characters += len(text)
            if self._last > len(self._cells):
                self._fill(self._last)
            self._cells.append(text)

    def _styled(self, text: str, style: str, kind: str) -> tuple[str, str]:
        """Return the same of a cell whose style has a format, for what this shows of a number or a text."""
        number = int(style) if _STYLE_NUMBER.fullmatch(style) else len(self._styles)
        code = self._styles[number] if number < len(self._styles) else ""
        found: str | None = text
        held = "a number" if kind == "n" else "a text"
        if kind == "n":
            calendar = find_calendar_kind(code)
            if calendar:
                return "", "a time" if calendar == "a date" and float(text) < 1 else calendar
            found = format_number(float(text), text, code)
        elif kind != "b":
            found = text if shows_texts(code) else None
        if found is None:
            return "", f"{held} that its format shows differently ({show_value(code or 'a built-in one')})"
        return found, ""


_LONG = f"a text of more than {CELL_MAX:,} characters"


def _format_number_cell(written: str) -> tuple[str, str]:
    written = written.strip()
    if not written:
        return "", ""
    if len(written) > _NUMBER_MAX or not _NUMBER.fullmatch(written):
        return "", "an invalid number"
    value = float(written)
    if abs(value) >= _WHOLE_MAX:
        return "", "a number of more than 15 digits"
    return str(int(value)) if value == int(value) else repr(value), ""


# The text of each type of cell, and what an unusable one contains instead.
_KINDS: Mapping[str, Callable[[str], tuple[str, str]]] = {
    "inlineStr": lambda _: ("", ""),  # the text is in another element
    "n": _format_number_cell,
    "str": lambda written: (unescape_text(written), ""),
    "b": lambda written: (("false" if written in _FALSE else "true") if written else "", ""),
    "e": lambda _: ("", "an error"),
    "d": lambda _: ("", "a date"),
}


def _column_index(letters: str) -> int:
    """Return the index of a column from 0: A is 0, Z 25, AA 26."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1
