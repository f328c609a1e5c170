"""A roster as a table of texts, whatever form its file has: header, rows, limits, what is wrong.

What the rows mean is `roster.py`'s; where they come from, that of the module of each form (`reading.py`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.errors import Problem
from reconciler.parsing.characters import HINT, UNFIT, complaint

ROWS_MAX = 1_000_000  # rows of one roster
COLUMNS_MAX = 16_384  # columns of one roster, as many as a spreadsheet has
CELLS_MAX = 32 * 1024 * 1024  # where a file need not hold each of them; a million rows of sixteen have half
_PROBLEMS_MAX = 1000  # of one file, as many as one run shows; a wrong delimiter would be one a row

Row = tuple[int, list[str]]  # its number and its cells, as many as the header has


@dataclass(frozen=True, slots=True)
class Table:
    """A roster as read, with every row that has as many cells as the header.

    `unread` are the cells, by row and index from 0, that could not be read; `unusable` those that hold what
    no contact can have, and what that is: a mistake of whoever takes from one. `doubtful` are the indexes of
    columns of which nobody knows which is meant. Without `named`, the header does not say which there are.
    Where it is `keyed`, cells have names, and no number that anybody could count to.
    """

    file: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...] = ()
    unread: Mapping[int, frozenset[int]] = field(default_factory=dict)
    doubtful: frozenset[int] = frozenset()
    named: bool = True
    unusable: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    keyed: bool = False


UNSAID = "?"  # stands in for a cell that may not be used, so that its row is not empty; nobody takes it
_NONE: Mapping[int, Mapping[int, str]] = {}


def no_table(file: str, *problems: Problem) -> Table:
    """Return what stands for a roster of which nothing could be read."""
    return Table(file, (), (), problems, named=False)


def not_text(file: str, data: bytes, at: int, hint: str) -> Table:
    """Return what stands for a roster that is not UTF-8 at this byte."""
    line = data.count(b"\n", 0, at) + 1
    return no_table(file, Problem(file, line, 0, "the roster is not UTF-8.", hint))


class TableBuilder:
    """What was read of one file so far: give it the header and the rows, then ask for the table."""

    def __init__(self, file: str, *, rows_max: int = ROWS_MAX) -> None:
        self.file = file
        self.rows_max = rows_max
        self.header: tuple[str, ...] = ()
        self.rows: list[Row] = []
        self.problems: list[Problem] = []
        self.unread: dict[int, frozenset[int]] = {}

    def take(self, rows: Iterable[Row]) -> None:
        """Take the header and the rows, with their numbers; no more of them than anybody wants to hear of."""
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

    def table(self, unusable: Mapping[int, Mapping[int, str]] = _NONE, *, keyed: bool = False) -> Table:
        """Return what was taken; `unusable` and `keyed` as of Table."""
        header = self.header
        if not header and not self.problems:
            hint = "write the names of the columns into the first row"
            self.wrong(1, "the roster is empty; it has no header.", hint)
        times = Counter(header)
        doubtful = frozenset(index for index, name in enumerate(header) if times[name] > 1)
        named = bool(header) and all(name and not _unfit_title(name) for name in header)
        rows, problems = tuple(self.rows), tuple(self.problems)
        return Table(self.file, header, rows, problems, self.unread, doubtful, named, unusable, keyed)

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
