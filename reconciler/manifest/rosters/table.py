"""A roster as a table of texts, whatever form its file has: header, rows, limits, what is wrong.

What the rows mean is `roster.py`'s; where they come from, that of the module of each form (`reading.py`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from reconciler.core.text import is_blank, normalize_unicode, trim_edges
from reconciler.errors import Problem
from reconciler.model.documents import COLUMNS_MAX, ROWS_MAX, Place
from reconciler.parsing.display import CHARACTER_HINT, UNFIT_CHARACTERS, describe_character

_PROBLEMS_MAX = 1000  # of one file, as many as one run shows; a wrong delimiter would be one a row

_AS_TEXT = "format the cell as text, and write into it what it means"

Row = tuple[int, list[str]]  # its number and its cells, as many as the header has


@dataclass(frozen=True, slots=True)
class Table:
    """A roster as read, with every row that has as many cells as the header.

    `unread` are the cells, by row and index from 0, that could not be read; `unusable` those that hold what
    no contact can have, and what that is: a mistake of whoever takes from one. `doubtful` are the indexes of
    columns of which nobody knows which is meant. Without `named`, the header does not say which there are.
    Where it is `keyed`, cells have names, and no number that anybody could count to. `names` are the places
    of the rows, by their numbers from 1, where they have names of their own; `mend` says what to do about a
    cell that may not be used.
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
    names: Sequence[str] = ()
    mend: str = _AS_TEXT

    def place(self, row: int, column: int = 0) -> Place:
        """Return where a row stands, or a cell of it."""
        return _placed(self.file, self.names, row, column)


def _placed(file: str, names: Sequence[str], row: int, column: int) -> Place:
    return Place(names[row - 1]) if names and row else Place(file, row, column)


_NONE: Mapping[int, Mapping[int, str]] = {}


def no_table(file: str, *problems: Problem) -> Table:
    """Return what stands for a roster of which nothing could be read."""
    return Table(file, (), (), problems, named=False)


def not_text(file: str, data: bytes, at: int, hint: str) -> Table:
    """Return what stands for a roster that is not UTF-8 at this byte."""
    line = data.count(b"\n", 0, at) + 1
    return no_table(file, Problem(file, line, 0, "the roster is not UTF-8.", hint, code="E106"))


class TableBuilder:
    """What was read of one file so far: give it the header and the rows, then ask for the table."""

    def __init__(
        self,
        file: str,
        *,
        rows_max: int = ROWS_MAX,
        names: Sequence[str] = (),
        of_cells: bool = False,
        width: int = 0,
    ) -> None:
        """`of_cells`: a spreadsheet wrote it, and may have written empty columns behind the table.

        `width`: so many columns it may have written, where that is more than the header has.
        """
        self.file = file
        self.names = names
        self.rows_max = rows_max
        self.header: tuple[str, ...] = ()
        self._of_cells = of_cells
        self._header_row = 0
        self._width = width  # of the header, with the columns without a name behind it
        self._unnamed: set[int] = set()  # of those, the ones that hold something
        self.rows: list[Row] = []
        self.problems: list[Problem] = []
        self.unread: dict[int, frozenset[int]] = {}

    def take(self, rows: Iterable[Row]) -> None:
        """Take the header and the rows, with their numbers; no more of them than anybody wants to hear of."""
        for number, cells in rows:
            if not self.header and len(cells) > COLUMNS_MAX:
                what = f"the roster has {len(cells):,} columns; the limit is {COLUMNS_MAX:,}."
                self.wrong(number, what, "remove columns that no contact needs", code="E108")
                return
            self._record(number, cells)
            if len(self.rows) > self.rows_max:
                what = f"the roster has more than {self.rows_max:,} rows, which is the limit."
                hint = "keep the people of each workspace in a project of its own"
                self.wrong(number, what, hint, code="E108")
                return
            if len(self.problems) >= _PROBLEMS_MAX:
                what = "the rest of the roster was not read."
                self.wrong(number, what, "mend it first", code="E108")
                return

    def wrong(self, number: int, what: str, hint: str, code: str) -> None:
        """Add a mistake of a whole row."""
        self.problems.append(_placed(self.file, self.names, number, 0).problem(what, hint, code))

    def table(
        self,
        unusable: Mapping[int, Mapping[int, str]] = _NONE,
        *,
        keyed: bool = False,
        mend: str = _AS_TEXT,
    ) -> Table:
        """Return what was taken; `unusable`, `keyed` and `mend` as of Table."""
        header = self.header
        if not header and not self.problems:
            hint = "write the names of the columns into the first row"
            self.wrong(1, "the roster is empty; it has no header.", hint, code="E502")
        times = Counter(header)
        doubtful = frozenset(index for index, name in enumerate(header) if times[name] > 1)
        named = bool(header) and all(name and not _unfit_title(name) for name in header)
        named = named and not self._unnamed
        rows, problems = tuple(self.rows), tuple(self.problems)
        return Table(
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

    def _record(self, number: int, cells: list[str]) -> None:
        if not self.header:
            self.header = tuple(map(column_name, cells[: _used(cells)] if self._of_cells else cells))
            self._header_row, self._width = number, max(self._width, len(cells))
            self.problems.extend(islice(_header_problems(self.header, self.file, number), _PROBLEMS_MAX))
        elif used := _used(cells):
            cells = self._within(cells, used)
            wrong = tuple(_row_problems(cells, self.header))
            if len(cells) == len(self.header):
                self.rows.append((number, cells))
            if wrong:
                for cell, *mistake in wrong:
                    self.problems.append(_placed(self.file, self.names, number, cell).problem(*mistake))
                self.unread[number] = frozenset(one[0] - 1 for one in wrong)

    def _within(self, cells: list[str], used: int) -> list[str]:
        """Return a row without the cells behind the table, where spreadsheets write empty columns.

        One of them that holds something is a column without a name, which is a mistake of the header.
        """
        end = len(self.header)
        if not self._of_cells or len(cells) <= end or used > self._width:
            return cells
        for index in range(end, used):
            if index not in self._unnamed and not is_blank(cells[index]):
                self._unnamed.add(index)
                place = _placed(self.file, self.names, self._header_row, index + 1)
                self.problems.append(place.problem(*_NO_NAME, "E502"))
        return cells[:end]


_NO_NAME = "a column has no name.", "name it, or remove the column"


def column_name(text: str) -> str:
    """Return the name of a column as it is compared: composed, as macOS writes no name of its own accord."""
    return trim_edges(normalize_unicode("NFC", text))


def _used(cells: Sequence[str]) -> int:
    """Return how many cells there are up to the last one that holds something."""
    return next((index for index in range(len(cells), 0, -1) if not is_blank(cells[index - 1])), 0)


def _header_problems(header: tuple[str, ...], file: str, number: int) -> Iterator[Problem]:
    # A roster without a header has somebody's cells here, so none is quoted.
    seen: dict[str, int] = {}
    for cell, name in enumerate(header, start=1):
        first = seen.setdefault(name, cell)
        if not name:
            yield Problem(file, number, cell, *_NO_NAME, code="E502")
        elif first < cell:
            what = f"this column has the same name as the one in cell {first}."
            yield Problem(file, number, cell, what, "rename one of them", code="E502")
        elif _unfit_title(name):
            what = "the name of this column holds a brace or an invisible character."
            yield Problem(file, number, cell, what, "rename it", code="E502")


def _unfit_title(name: str) -> bool:
    return bool(UNFIT_CHARACTERS.search(name)) or "{" in name or "}" in name


def _row_problems(cells: list[str], header: tuple[str, ...]) -> Iterator[tuple[int, str, str, str]]:
    """Yield the number of each cell that is wrong, what is, what to do, and the code."""
    if len(cells) != len(header):
        at = min(len(cells), len(header)) + 1
        what = f"the row has {len(cells)} cells; the header has {len(header)}."
        yield at, what, "put quotes around a cell that holds the delimiter", "E501"
    for cell, text in enumerate(cells, start=1):
        found = None if text.isascii() and text.isprintable() else UNFIT_CHARACTERS.search(text)
        if found:
            yield cell, f"the cell holds {describe_character(found[0])}.", CHARACTER_HINT, "E509"
