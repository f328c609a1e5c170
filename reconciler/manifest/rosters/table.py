"""A roster as a table of texts, whatever the form of its file: header, rows, limits and mistakes.

The table and its readers for CSV and JSON; xlsx_sheet.py reads spreadsheets, roster.py makes contacts of
rows.
"""

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from reconciler.core.text import is_blank, normalize_unicode, trim_edges
from reconciler.errors import Problem
from reconciler.model.documents import CELLS_MAX, COLUMNS_MAX, ROWS_MAX, Place
from reconciler.parsing.display import CHARACTER_HINT, UNFIT_CHARACTERS, describe_character
from reconciler.parsing.json_reader import EXACT_DECODER, JSON_TEXTS, TOO_DEEP, flatten_object

_PROBLEMS_MAX = 1000  # of one file, as many as one run shows; a wrong delimiter makes one for each row

_AS_TEXT = "format the cell as text and type the value"

TableRow = tuple[int, list[str]]  # its number and its cells, as many as the header has


@dataclass(frozen=True, slots=True)
class RosterTable:
    """A roster as read: every row that has as many cells as the header.

    `unread` are cells that could not be read, by row and index from 0. `unusable` are cells whose content no
    contact can have, with what it is; using one is a mistake of the template. `doubtful` are the indexes of
    columns with a name that occurs twice. Without `named`, the header does not name all columns. `keyed`:
    cells have keys and no numbers (JSON). `names` are the places of rows, by their numbers from 1, where rows
    have names. `mend` is the hint for an unusable cell.
    """

    file: str
    header: tuple[str, ...]
    rows: tuple[TableRow, ...]
    problems: tuple[Problem, ...] = ()
    unread: Mapping[int, frozenset[int]] = field(default_factory=dict)
    doubtful: frozenset[int] = frozenset()
    named: bool = True
    unusable: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    keyed: bool = False
    names: Sequence[str] = ()
    mend: str = _AS_TEXT

    def place(self, row: int, column: int = 0) -> Place:
        """Return the place of a row, or of a cell of it."""
        return _place_cell(self.file, self.names, row, column)


def _place_cell(file: str, names: Sequence[str], row: int, column: int) -> Place:
    return Place(names[row - 1]) if names and row else Place(file, row, column)


_NONE: Mapping[int, Mapping[int, str]] = {}


def empty_table(file: str, *problems: Problem) -> RosterTable:
    """Return the table of a roster that could not be read."""
    return RosterTable(file, (), (), problems, named=False)


def refuse_encoding(file: str, data: bytes, at: int, hint: str) -> RosterTable:
    """Return the table of a roster that is not UTF-8 at this byte."""
    line = data.count(b"\n", 0, at) + 1
    return empty_table(file, Problem(file, line, 0, "the roster is not UTF-8.", hint, code="E106"))


class TableBuilder:
    """Collects the header and the rows of one file, checks them, and builds the table."""

    def __init__(
        self,
        file: str,
        *,
        rows_max: int = ROWS_MAX,
        names: Sequence[str] = (),
        of_cells: bool = False,
        width: int = 0,
    ) -> None:
        """`of_cells`: a spreadsheet wrote the file; empty columns to the right of the table are ignored.

        `width`: the most columns that it may have, where that is more than the header has.
        """
        self.file = file
        self.names = names
        self.rows_max = rows_max
        self.header: tuple[str, ...] = ()
        self._of_cells = of_cells
        self._header_row = 0
        self._width = width  # of the header and the columns without a name to its right
        self._unnamed: set[int] = set()  # those of them that are not empty
        self.rows: list[TableRow] = []
        self.problems: list[Problem] = []
        self.unread: dict[int, frozenset[int]] = {}

    def add_rows(self, rows: Iterable[TableRow]) -> None:
        """Add the header and the rows with their numbers; stop at a limit of rows or mistakes."""
        for number, cells in rows:
            if not self.header and len(cells) > COLUMNS_MAX:
                what = f"the roster has {len(cells):,} columns; the limit is {COLUMNS_MAX:,}."
                self.add_problem(number, what, "remove columns that no contact needs", code="E108")
                return
            self._add_row(number, cells)
            if len(self.rows) > self.rows_max:
                what = f"the roster has more than {self.rows_max:,} rows, which is the limit."
                hint = "use one project for each workspace"
                self.add_problem(number, what, hint, code="E108")
                return
            if len(self.problems) >= _PROBLEMS_MAX:
                what = "the rest of the roster was not read."
                self.add_problem(number, what, "fix the mistakes above first", code="E108")
                return

    def add_problem(self, number: int, what: str, hint: str, code: str) -> None:
        """Add a mistake of a whole row."""
        self.problems.append(_place_cell(self.file, self.names, number, 0).problem(what, hint, code))

    def build(
        self,
        unusable: Mapping[int, Mapping[int, str]] = _NONE,
        *,
        keyed: bool = False,
        mend: str = _AS_TEXT,
    ) -> RosterTable:
        """Return the table; `unusable`, `keyed` and `mend` as in RosterTable."""
        header = self.header
        if not header and not self.problems:
            hint = "write the names of the columns into the first row"
            self.add_problem(1, "the roster is empty; it has no header.", hint, code="E502")
        times = Counter(header)
        doubtful = frozenset(index for index, name in enumerate(header) if times[name] > 1)
        named = bool(header) and all(name and not _is_unfit_title(name) for name in header)
        named = named and not self._unnamed
        rows, problems = tuple(self.rows), tuple(self.problems)
        return RosterTable(
            file=self.file,
            header=header,
            rows=rows,
            problems=problems,
            unread=self.unread,
            doubtful=doubtful,
            named=named,
            unusable=unusable,
            keyed=keyed,
            names=self.names,
            mend=mend,
        )

    def _add_row(self, number: int, cells: list[str]) -> None:
        if not self.header:
            self.header = tuple(
                map(normalize_column, cells[: _count_used(cells)] if self._of_cells else cells)
            )
            self._header_row, self._width = number, max(self._width, len(cells))
            self.problems.extend(islice(_check_header(self.header, self.file, number), _PROBLEMS_MAX))
        elif used := _count_used(cells):
            cells = self._cut_row(cells, used)
            wrong = tuple(_check_row(cells, self.header))
            if len(cells) == len(self.header):
                self.rows.append((number, cells))
            if wrong:
                for cell, *mistake in wrong:
                    self.problems.append(_place_cell(self.file, self.names, number, cell).problem(*mistake))
                self.unread[number] = frozenset(one[0] - 1 for one in wrong)

    def _cut_row(self, cells: list[str], used: int) -> list[str]:
        """Return a row without the cells to the right of the table, where spreadsheets write empty columns.

        One that is not empty is a column without a name, which is a mistake of the header.
        """
        end = len(self.header)
        if not self._of_cells or len(cells) <= end or used > self._width:
            return cells
        for index in range(end, used):
            if index not in self._unnamed and not is_blank(cells[index]):
                self._unnamed.add(index)
                place = _place_cell(self.file, self.names, self._header_row, index + 1)
                self.problems.append(place.problem(*_NO_NAME, "E502"))
        return cells[:end]


_NO_NAME = "a column has no name.", "name it, or remove the column"


def normalize_column(text: str) -> str:
    """Return the name of a column for comparing: trimmed, in NFC, which macOS does not write by itself."""
    return trim_edges(normalize_unicode("NFC", text))


def _count_used(cells: Sequence[str]) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return next((index for index in range(len(cells), 0, -1) if not is_blank(cells[index - 1])), 0)


def _check_header(header: tuple[str, ...], file: str, number: int) -> Iterator[Problem]:
    # In a roster without a header these are personal data, so nothing is quoted.
    seen: dict[str, int] = {}
    for cell, name in enumerate(header, start=1):
        first = seen.setdefault(name, cell)
        if not name:
            yield Problem(file, number, cell, *_NO_NAME, code="E502")
        elif first < cell:
            what = f"this column has the same name as the one in cell {first}."
            yield Problem(file, number, cell, what, "rename one of them", code="E502")
        elif _is_unfit_title(name):
            what = "the name of this column contains a brace or an invisible character."
            yield Problem(file, number, cell, what, "rename it", code="E502")


def _is_unfit_title(name: str) -> bool:
    return bool(UNFIT_CHARACTERS.search(name)) or "{" in name or "}" in name


def _check_row(cells: list[str], header: tuple[str, ...]) -> Iterator[tuple[int, str, str, str]]:
    """Yield for each wrong cell its number, the mistake, the hint and the code."""
    if len(cells) != len(header):
        at = min(len(cells), len(header)) + 1
        what = f"the row has {len(cells)} cells; the header has {len(header)}."
        yield at, what, "quote cells that contain the delimiter", "E501"
    for cell, text in enumerate(cells, start=1):
        found = None if text.isascii() and text.isprintable() else UNFIT_CHARACTERS.search(text)
        if found:
            yield cell, f"the cell contains {describe_character(found[0])}.", CHARACTER_HINT, "E509"


# --- CSV ------------------------------------------------------------------------------------------
#
# UTF-8 with or without a byte order mark; cells separated by commas, semicolons or tabs, or by what a first
# line `sep=` names; a header with unique names. Rows are numbered as in a spreadsheet: the header is row 1,
# or row 2 below a `sep=` line.

# The first line in which programs tell a spreadsheet the separator.
_SEPARATOR = re.compile(r'\ufeff?"?sep=(.)"?[ \t]*[\r\n]*', re.IGNORECASE)
_READ = ",;\t|"
_LIKELY = ",;\t"  # written without a `sep=` line; the first one where none gives more cells
UNREAD_SEPARATOR = "E409"
_AT_ONCE = 1024 * 1024  # bytes that are decoded at once


def read_csv(data: bytes, file: str, *, rows_max: int = ROWS_MAX) -> RosterTable:
    """Return the table of one CSV file, with its mistakes in `problems`. Empty rows are skipped."""
    wrong = _find_bad_utf8(data)
    if wrong is not None:
        return refuse_encoding(file, data, wrong, "export it as UTF-8; spreadsheets call that `CSV UTF-8`")
    builder = TableBuilder(file, rows_max=rows_max, of_cells=True)
    named = _read_separator(_decode_lines(data))
    if named and named not in _READ:
        what = "the first line, sep=, names an unsupported separator."
        hint = "export it with commas, semicolons or tabs"
        return empty_table(file, Problem(file, 1, 1, what, hint, code=UNREAD_SEPARATOR))
    try:
        builder.add_rows(_read_csv_rows(lambda: _decode_lines(data)))
    except csv.Error as error:
        number = len(builder.rows) + 2 if builder.header else 1
        builder.add_problem(number, f"this is not CSV: {error}.", "close the quotation marks", code="E505")
    return builder.build()


def detect_delimiter(text: str) -> str:
    """Return the delimiter that the first line names, else that with the most cells in it, else a comma."""
    return _read_separator(_split_text(text)) or _guess_delimiter(lambda: _split_text(text))


def count_row_cells(text: str, numbers: Container[int]) -> dict[int, int]:
    """Return how many cells these rows have, as far as the text is CSV."""
    found: dict[int, int] = {}
    with suppress(csv.Error):
        records = _read_csv_rows(lambda: _split_text(text))
        found.update((number, len(cells)) for number, cells in records if number in numbers)
    return found


def has_one_line_rows(data: bytes) -> bool:
    """Whether each line of a CSV file is one record, so that a row can be read without the others."""
    try:
        lines = partial(_decode_lines, data)
        reader = csv.reader(
            lines(), delimiter=_read_separator(lines()) or _guess_delimiter(lines), strict=True
        )
        return sum(1 for _ in reader) == reader.line_num
    except (csv.Error, UnicodeDecodeError):
        return False


def _read_csv_rows(lines: Callable[[], Iterable[str]]) -> Iterator[TableRow]:
    named = _read_separator(lines())
    records = enumerate(_parse_csv(lines(), named or _guess_delimiter(lines)), start=1)
    if named:
        next(records, None)  # the `sep=` line is counted as a row and not read
    yield from records


def _read_separator(lines: Iterable[str]) -> str:
    """Return the separator that a first line `sep=;` names, or ""."""
    found = _SEPARATOR.fullmatch(next(iter(lines), ""))
    return found[1] if found else ""


def _guess_delimiter(lines: Callable[[], Iterable[str]]) -> str:
    return max(_LIKELY, key=lambda sign: _count_header_cells(lines(), sign))


def _count_header_cells(lines: Iterable[str], delimiter: str) -> int:
    try:
        return len(next(_parse_csv(lines, delimiter), []))
    except csv.Error:  # `"a";"b"` is no record with commas
        return 0


def _split_text(text: str) -> Iterable[str]:
    return io.StringIO(text, newline="")


def _decode_lines(data: bytes) -> Iterable[str]:
    """Return the lines of a file one by one: there is no second copy of half a gigabyte."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")


def _find_bad_utf8(data: bytes) -> int | None:
    """Return the index of the first byte that is not UTF-8, or None."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _AT_ONCE):
            decoder.decode(data[start : start + _AT_ONCE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        try:
            data.decode()  # the incremental decoder does not know the index in the whole
        except UnicodeDecodeError as error:
            return error.start
    return None


def _parse_csv(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, strict=True)


# --- JSON: a list of objects, as the interface of an HR system answers it -------------------------
#
# The columns are the keys in the order of their first use; nested keys are joined by dots. A number is its
# text, true and false are words, null is an empty cell. A list is not text, so using it is a mistake. The
# place of a row is where its object begins.

_FORM = "a roster in JSON is a list of objects: [{...}, {...}]"
_EMPTY_HINT = "export it again; if it is meant to be empty, remove it from the manifest"
_FEWER = "give all objects the same few keys, or split the roster"
_SPACE = re.compile(r"[ \t\n\r]*")


class _BadObjectsError(Exception):
    """A mistake and its line, after which nothing of the file is read."""

    def __init__(self, line: int, what: str, hint: str = _FORM, *, code: str) -> None:
        super().__init__(what)
        self.line = line
        self.hint = hint
        self.code = code


def read_json_objects(data: bytes, file: str) -> RosterTable:
    """Return the table of one JSON file, with its mistakes in `problems`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return refuse_encoding(file, data, error.start, "save it as UTF-8")
    columns: dict[str, int] = {}
    unusable: dict[int, dict[int, str]] = {}
    try:
        rows = list(_build_rows(text, columns, unusable))
    except _BadObjectsError as error:
        return empty_table(file, Problem(file, error.line, 0, str(error), error.hint, code=error.code))
    builder = TableBuilder(file)
    builder.add_rows(_pad_rows(tuple(columns), rows))
    return builder.build(unusable, keyed=True)


def _pad_rows(header: tuple[str, ...], rows: list[TableRow]) -> Iterator[TableRow]:
    """Yield the header, then each row padded to its length: the last object may have a new key."""
    if header:
        yield 1, list(header)
    for line, cells in rows:
        yield line, cells + [""] * (len(header) - len(cells))


def _build_rows(
    text: str, columns: dict[str, int], unusable: dict[int, dict[int, str]]
) -> Iterator[TableRow]:
    """Yield the line and the cells of each object, one cell for every key so far, within the limits.

    Without the limits, objects with different keys would take memory by the square of their number.
    """
    for number, (line, one) in enumerate(_iterate_objects(text), start=1):
        yield line, _build_cells(line, one, columns, unusable)
        if len(columns) > COLUMNS_MAX or number * len(columns) > CELLS_MAX:
            found = f"the {number:,} objects up to here have {len(columns):,} different keys"
            limits = f"{COLUMNS_MAX:,} columns or {CELLS_MAX:,} cells"
            what = f"{found}; the limit is {limits}."
            raise _BadObjectsError(line, what, _FEWER, code="E108")


def _iterate_objects(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object of the list and the line where it begins. Raises _BadObjectsError."""
    line, counted, at = 1, 0, _skip_space(text, 0)
    if text[at : at + 1] != "[":
        raise _BadObjectsError(1, "the roster is not a list of objects.", code="E512")
    at = _skip_space(text, at + 1)
    more = text[at : at + 1] != "]"
    if not more:
        raise _BadObjectsError(
            line, "the roster is empty: a list without an object.", _EMPTY_HINT, code="E512"
        )
    while more:
        # The decoder reports no places, so it gets one element at a time.
        line, counted = line + text.count("\n", counted, at), at
        value, at = _decode_value(text, at, line)
        if not isinstance(value, dict) or not value:
            raise _BadObjectsError(line, "expected an object with at least one key.", code="E512")
        yield line, value
        at = _skip_space(text, at)
        more = text[at : at + 1] == ","
        at = _skip_space(text, at + 1) if more else at
    if text[at : at + 1] != "]" or _skip_space(text, at + 1) != len(text):
        raise _BadObjectsError(text.count("\n", 0, at) + 1, "this is not JSON.", code="E101")


def _decode_value(text: str, at: int, line: int) -> tuple[Any, int]:
    """Return the value at this index, and the index of its end."""
    try:
        return EXACT_DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _BadObjectsError(error.lineno, "this is not JSON.", code="E101") from error
    except RecursionError as error:
        raise _BadObjectsError(line, TOO_DEEP, code="E512") from error
    except ValueError as error:  # raised by the hooks of the decoder
        raise _BadObjectsError(line, str(error), code="E512") from error


def _build_cells(
    line: int, one: dict[str, Any], columns: dict[str, int], unusable: dict[int, dict[int, str]]
) -> list[str]:
    """Return the cells of one object; each new key becomes a column."""
    cells = [""] * len(columns)
    seen: set[int] = set()
    for path, value in _flatten_record(line, one):
        index = columns.setdefault(path, len(columns))
        if index in seen:
            what = "a key of this object and a nested object give the same column."
            raise _BadObjectsError(line, what, code="E512")
        seen.add(index)
        cells.extend([""] * (index + 1 - len(cells)))
        if isinstance(value, list):
            unusable.setdefault(line, {})[index] = "a list"
        cells[index] = JSON_TEXTS[type(value)](value)
    return cells


def _flatten_record(line: int, one: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    try:
        yield from flatten_object(one)
    except ValueError as error:
        raise _BadObjectsError(line, str(error), code="E512") from error


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
