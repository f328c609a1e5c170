"""One sheet of an .xlsx file as a table of texts: what a cell holds, as the same roster in CSV would say it.

A number that is whole has no point, and leading zeros where its format is of zeros alone; true and false
are words; rows count as the spreadsheet counts them. What a cell cannot hold safely is told where somebody
takes it: a formula (its result is what some program computed last), an error, a date (telephone numbers
become dates by themselves), a number of more than fifteen digits (a spreadsheet keeps no more), what its
format shows in another way than it is (numberformats.py). Loads the library for it, an extra that may be
missing (reading.py).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, cast

import python_calamine

from reconciler.errors import Problem
from reconciler.manifest.files import Unreadable
from reconciler.manifest.rosters.numberformats import show_number, shows_texts
from reconciler.manifest.rosters.table import Row, Table, TableBuilder, no_table
from reconciler.manifest.rosters.workbook import sheet_of
from reconciler.model.documents import in_sheet
from reconciler.model.tables import UNSAID
from reconciler.parsing.build import shown

_MERGED_SHOWN_MAX = 20
_WHOLE_MAX = 10**15  # numbers below it have all their digits


def read_sheet(data: bytes, file: str, wanted: str) -> Table:
    """Return the table of one sheet of an .xlsx file: the one called `wanted`, or the only one that is shown.

    Raises Unreadable for a file, or a sheet, of which nothing can be read.
    """
    found = sheet_of(data, file, wanted)
    place = in_sheet(file, found.name)
    try:
        with python_calamine.CalamineWorkbook.from_filelike(found.file) as book:
            sheet = book.get_sheet_by_name(found.name)
            unusable = {row: dict(cells) for row, cells in found.unusable.items()}
            builder = TableBuilder(place, of_cells=True)
            builder.take(_rows(sheet, unusable, found.formats))
            merged = tuple(_merged(sheet.merged_cell_ranges or (), place))
    except python_calamine.CalamineError as error:
        hint = "open it and save it again, or export it"
        raise Unreadable(f"{shown(place)} is damaged.", hint, code="E511") from error
    return no_table(place, *merged) if merged else builder.table(unusable)


def _merged(ranges: Sequence[tuple[tuple[int, int], tuple[int, int]]], place: str) -> Iterator[Problem]:
    """Yield a mistake for each group of merged cells: all but the first are empty, whatever they show."""
    for (row, column), _ in ranges[:_MERGED_SHOWN_MAX]:
        what = "cells are merged here; only the first of them holds something."
        hint = "unmerge them, and fill each of them"
        yield Problem(place, row + 1, column + 1, what, hint, code="E511")


def _rows(
    sheet: Any, unusable: dict[int, dict[int, str]], formats: Mapping[int, Mapping[int, str]]
) -> Iterator[Row]:
    """Yield the rows that hold something. Adds to `unusable` what was found in them."""
    for number, cells in enumerate(_cells(sheet, unusable), start=1):
        texts = [one if type(one) is str else _TEXTS[type(one)](one) for one in cells]
        if None in texts:
            unusable.setdefault(number, {}).update(_told(cells, texts))
        for index, code in formats.get(number, {}).items():
            if index >= len(cells) or texts[index] is None:  # empty, or told already
                continue
            texts[index] = _as_shown(cells[index], texts[index], code)
            if texts[index] is None:
                held = "a text" if isinstance(cells[index], str) else "a number"
                what = f"{held} that its format shows in another way ({shown(code or 'a built-in one')})"
                unusable.setdefault(number, {})[index] = what
        for index in unusable.get(number, ()):
            texts[index] = UNSAID  # never empty: a row of formulas is somebody, and not the end of the list
        if any(texts):
            yield number, cast("list[str]", texts)


def _cells(sheet: Any, unusable: Mapping[int, Mapping[int, str]]) -> Iterator[list[object]]:
    """Yield the cells of every row, all of one width.

    The library begins with the first column that holds something, and ends with the last row and column that
    do; for it a formula without a result holds nothing.
    """
    first, used = (sheet.start[1], sheet.end[1] + 1) if sheet.start else (0, 0)
    width = max(used, *(max(cells) + 1 for cells in unusable.values()), 0)
    rows = 0
    for rows, cells in enumerate(sheet.iter_rows(), start=1):  # noqa: B007 - counted for what follows
        yield [""] * first + cells + [""] * (width - used)
    for _ in range(rows, max(unusable, default=0)):
        yield [""] * width


def _told(cells: Sequence[object], texts: Sequence[str | None]) -> Iterator[tuple[int, str]]:
    """Yield the index of each cell that has no text, and what it holds."""
    for index, (cell, text) in enumerate(zip(cells, texts, strict=True)):
        if text is None:
            yield index, _HELD.get(type(cell), "a number of more than 15 digits")


def _as_shown(cell: object, text: str | None, code: str) -> str | None:
    """Return the text of a cell of such a format; None where another one is shown than it holds."""
    if text and isinstance(cell, int | float) and not isinstance(cell, bool):
        return show_number(cell, text, code)
    return text if not isinstance(cell, str) or not cell or shows_texts(code) else None


def _number(value: float) -> str | None:
    if abs(value) >= _WHOLE_MAX:
        return None
    return str(int(value)) if value == int(value) else repr(value)


def _nothing(_: object) -> None:
    return None


# The types that the library has for cells, each with how its value is written.
_TEXTS: dict[type, Callable[[Any], str | None]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    int: _number,
    float: _number,
    date: _nothing,
    datetime: _nothing,
    time: _nothing,
    timedelta: _nothing,
}
_HELD = {date: "a date", datetime: "a date", time: "a time", timedelta: "a length of time"}
