"""One CSV file, or rows of elsewhere, as a table: encoding, delimiter, header, shape.

What the rows mean is `roster.py`'s; where the rows of a spreadsheet come from, `sheet.py`'s.

UTF-8 with or without a byte order mark, comma or semicolon, a header whose names are unique. Rows
count as a spreadsheet counts them: the header is row 1.
"""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from reconciler.errors import Problem
from reconciler.parsing.characters import HINT, UNFIT, complaint

ROWS_MAX = 1_000_000  # rows of one roster
COLUMNS_MAX = 16_384  # columns of one roster, as many as a spreadsheet has
_AT_ONCE = 1024 * 1024  # bytes that are decoded at once
_PROBLEMS_MAX = 1000  # of one file, as many as one run shows; a wrong delimiter would be one a row

Row = tuple[int, list[str]]  # its number and its cells, as many as the header has


@dataclass(frozen=True, slots=True)
class Table:
    """A roster as read, with every row that has as many cells as the header.

    `unread` are the cells, by row and index from 0, that could not be read; `unusable` those that hold what
    no contact can have, and what that is: a mistake of whoever takes from one. `doubtful` are the indexes of
    columns of which nobody knows which is meant. Without `named`, the header does not say which there are.
    """

    file: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...] = ()
    unread: Mapping[int, frozenset[int]] = field(default_factory=dict)
    doubtful: frozenset[int] = frozenset()
    named: bool = True
    unusable: Mapping[int, Mapping[int, str]] = field(default_factory=dict)


def no_table(file: str, *problems: Problem) -> Table:
    """Return what stands for a roster of which nothing could be read."""
    return Table(file, (), (), problems, named=False)


def read_table(data: bytes, file: str, *, rows_max: int = ROWS_MAX) -> Table:
    """Return the table of one CSV file; what is wrong stands in `problems`. Empty rows are no rows."""
    wrong = _first_unfit(data)
    if wrong is not None:
        line = data.count(b"\n", 0, wrong) + 1
        hint = "export it as UTF-8; spreadsheets call that `CSV UTF-8`"
        return no_table(file, Problem(file, line, 0, "the roster is not UTF-8.", hint))
    reading = _Reading(file, rows_max)
    try:
        delimiter = ";" if _width(_lines(data), ";") > _width(_lines(data), ",") else ","
        reading.take(enumerate(_parsed(_lines(data), delimiter), start=1))
    except csv.Error as error:
        number = len(reading.rows) + 2 if reading.header else 1
        reading.wrong(number, f"this is not CSV: {error}.", "close the quotation marks")
    return reading.table()


def table_of(
    rows: Iterable[Row],
    file: str,
    *,
    unusable: Mapping[int, Mapping[int, str]],
    rows_max: int = ROWS_MAX,
) -> Table:
    """Return the table of rows that were read elsewhere; as `read_table`."""
    reading = _Reading(file, rows_max)
    reading.take(rows)
    return replace(reading.table(), unusable=unusable)


class _Reading:
    """What was read of one file so far."""

    def __init__(self, file: str, rows_max: int) -> None:
        self.file = file
        self.rows_max = rows_max
        self.header: tuple[str, ...] = ()
        self.rows: list[Row] = []
        self.problems: list[Problem] = []
        self.unread: dict[int, frozenset[int]] = {}

    def take(self, rows: Iterable[Row]) -> None:
        """Take rows with their numbers until there are no more, or more than anybody wants to hear of."""
        for number, cells in rows:
            if not self.header and len(cells) > COLUMNS_MAX:
                what = f"the roster has {len(cells):,} columns; the limit is {COLUMNS_MAX:,}."
                self.wrong(number, what, "remove columns that no contact needs")
                return
            self._record(number, cells)
            if len(self.rows) > self.rows_max:
                what = f"the roster has more than {self.rows_max:,} rows, which is the limit."
                self.wrong(number, what, "keep the people of each workspace in a project of its own")
                return
            if len(self.problems) >= _PROBLEMS_MAX:
                self.wrong(number, "the rest of the roster was not read.", "mend it first")
                return

    def wrong(self, number: int, what: str, hint: str) -> None:
        """Add a mistake of a whole row."""
        self.problems.append(Problem(self.file, number, 0, what, hint))

    def table(self) -> Table:
        """Return what was taken."""
        header = self.header
        if not header and not self.problems:
            self.wrong(
                1,
                "the roster is empty; it has no header.",
                "write the names of the columns into the first row",
            )
        times = Counter(header)
        doubtful = frozenset(index for index, name in enumerate(header) if times[name] > 1)
        named = bool(header) and all(name and not _unfit_title(name) for name in header)
        rows, problems = tuple(self.rows), tuple(self.problems)
        return Table(self.file, header, rows, problems, self.unread, doubtful, named)

    def _record(self, number: int, cells: list[str]) -> None:
        if not self.header:
            self.header = tuple(cell.strip() for cell in cells)
            self.problems.extend(_header_problems(self.header, self.file, number))
        elif any(cell.strip() for cell in cells):
            wrong = tuple(_row_problems(number, cells, self.header, self.file))
            self.problems.extend(wrong)
            if len(cells) == len(self.header):
                self.rows.append((number, cells))
            if wrong:
                self.unread[number] = frozenset(one.column - 1 for one in wrong)


def delimiter_of(text: str) -> str:
    """Return the delimiter under which the first record has more cells; a comma where both do."""
    return ";" if _width(_text(text), ";") > _width(_text(text), ",") else ","


def widths(text: str, numbers: Container[int]) -> dict[int, int]:
    """Return how many cells these rows have, as far as the text is CSV."""
    found: dict[int, int] = {}
    with suppress(csv.Error):
        found.update((number, len(cells)) for number, cells in _records(text) if number in numbers)
    return found


def _width(lines: Iterable[str], delimiter: str) -> int:
    try:
        return len(next(_parsed(lines, delimiter), []))
    except csv.Error:  # `"a";"b"` is no record with commas
        return 0


def _records(text: str) -> Iterator[Row]:
    yield from enumerate(_parsed(_text(text), delimiter_of(text)), start=1)


def _text(text: str) -> Iterable[str]:
    return io.StringIO(text, newline="")


def _lines(data: bytes) -> Iterable[str]:
    """Return the lines of a file as they are asked for: of half a gigabyte there is no second copy."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")


def _first_unfit(data: bytes) -> int | None:
    """Return where the bytes are not UTF-8, or None."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _AT_ONCE):
            decoder.decode(data[start : start + _AT_ONCE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        try:
            data.decode()  # the decoder of parts does not know where a part stands
        except UnicodeDecodeError as error:
            return error.start
    return None


def _parsed(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _header_problems(header: tuple[str, ...], file: str, number: int) -> Iterator[Problem]:
    # A roster without a header has somebody's cells here, so none is quoted.
    seen: dict[str, int] = {}
    for cell, name in enumerate(header, start=1):
        first = seen.setdefault(name, cell)
        if not name:
            yield Problem(file, number, cell, "a column has no name.", "name it, or remove the column")
        elif first < cell:
            what = f"this column has the same name as the one in cell {first}."
            yield Problem(file, number, cell, what, "rename one of them")
        elif _unfit_title(name):
            what = "the name of this column holds a brace or an invisible character."
            yield Problem(file, number, cell, what, "rename it")


def _unfit_title(name: str) -> bool:
    return bool(UNFIT.search(name)) or "{" in name or "}" in name


def _row_problems(number: int, cells: list[str], header: tuple[str, ...], file: str) -> Iterator[Problem]:
    if len(cells) != len(header):
        at = min(len(cells), len(header)) + 1
        what = f"the row has {len(cells)} cells; the header has {len(header)}."
        yield Problem(file, number, at, what, "put quotes around a cell that holds the delimiter")
    for cell, text in enumerate(cells, start=1):
        found = None if text.isascii() and text.isprintable() else UNFIT.search(text)
        if found:
            yield Problem(file, number, cell, f"the cell holds {complaint(found[0])}.", HINT)
