"""One JSON file as a table: a list of objects, as the interface of an HR system answers it.

The columns are the keys, in the order in which they first occur; those of an object within an object are
joined by dots. A number is the text that stands there, true and false are words, null is an empty cell. What
a list holds is no text, so nobody may take from it. A row is where its object begins.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from reconciler.errors import Problem
from reconciler.manifest.rosters.table import Row, Table, TableBuilder, no_table, not_text
from reconciler.model.documents import CELLS_MAX, COLUMNS_MAX
from reconciler.parsing.json_reader import EXACT_DECODER, JSON_TEXTS, TOO_DEEP, flatten_object

_FORM = "a roster in JSON is a list of objects: [{...}, {...}]"
_NOBODY = "export it again; to declare nobody by it, take it out of the manifest"
_FEWER = "give all objects the same few keys, or split the roster"
_SPACE = re.compile(r"[ \t\n\r]*")


class _WrongError(Exception):
    """What is wrong, and on which line; nothing of the file is read."""

    def __init__(self, line: int, what: str, hint: str = _FORM, *, code: str) -> None:
        super().__init__(what)
        self.line = line
        self.hint = hint
        self.code = code


def read_records(data: bytes, file: str) -> Table:
    """Return the table of one JSON file; what is wrong stands in `problems`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return not_text(file, data, error.start, "save it as UTF-8")
    columns: dict[str, int] = {}
    unusable: dict[int, dict[int, str]] = {}
    try:
        rows = list(_rows(text, columns, unusable))
    except _WrongError as error:
        return no_table(file, Problem(file, error.line, 0, str(error), error.hint, code=error.code))
    builder = TableBuilder(file)
    builder.take(_even(tuple(columns), rows))
    return builder.table(unusable, keyed=True)


def _even(header: tuple[str, ...], rows: list[Row]) -> Iterator[Row]:
    """Yield the header, and each row as long as it: a key may occur for the first time in the last one."""
    if header:
        yield 1, list(header)
    for line, cells in rows:
        yield line, cells + [""] * (len(header) - len(cells))


def _rows(text: str, columns: dict[str, int], unusable: dict[int, dict[int, str]]) -> Iterator[Row]:
    """Yield the line and the cells of each object, within the limits: each gets a cell for every key so far.

    Objects with keys of their own would take memory by the square of their number otherwise.
    """
    for number, (line, one) in enumerate(_objects(text), start=1):
        yield line, _cells(line, one, columns, unusable)
        if len(columns) > COLUMNS_MAX or number * len(columns) > CELLS_MAX:
            found = f"the {number:,} objects up to here have {len(columns):,} different keys"
            limits = f"{COLUMNS_MAX:,} columns or {CELLS_MAX:,} cells"
            what = f"{found}: a table beyond {limits}, which is the limit."
            raise _WrongError(line, what, _FEWER, code="E108")


def _objects(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object of the list, and the line on which it begins. Raises _WrongError."""
    line, counted, at = 1, 0, _after_space(text, 0)
    if text[at : at + 1] != "[":
        raise _WrongError(1, "the roster is no list of objects.", code="E512")
    at = _after_space(text, at + 1)
    more = text[at : at + 1] != "]"
    if not more:
        raise _WrongError(line, "the roster is empty: a list without an object.", _NOBODY, code="E512")
    while more:
        # The decoder by itself would tell no places: it is given one element at a time.
        line, counted = line + text.count("\n", counted, at), at
        value, at = _decoded(text, at, line)
        if not isinstance(value, dict) or not value:
            raise _WrongError(line, "what stands here is no object, or an empty one.", code="E512")
        yield line, value
        at = _after_space(text, at)
        more = text[at : at + 1] == ","
        at = _after_space(text, at + 1) if more else at
    if text[at : at + 1] != "]" or _after_space(text, at + 1) != len(text):
        raise _WrongError(text.count("\n", 0, at) + 1, "this is not JSON.", code="E101")


def _decoded(text: str, at: int, line: int) -> tuple[Any, int]:
    """Return the value that begins here, and where it ends."""
    try:
        return EXACT_DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _WrongError(error.lineno, "this is not JSON.", code="E101") from error
    except RecursionError as error:
        raise _WrongError(line, TOO_DEEP, code="E512") from error
    except ValueError as error:  # of what it is given to make of values
        raise _WrongError(line, str(error), code="E512") from error


def _cells(
    line: int, one: dict[str, Any], columns: dict[str, int], unusable: dict[int, dict[int, str]]
) -> list[str]:
    """Return the cells of one object, and give each new key a column."""
    cells = [""] * len(columns)
    seen: set[int] = set()
    for path, value in _flat(line, one):
        index = columns.setdefault(path, len(columns))
        if index in seen:
            what = "a key of this object says the same as keys of an object within it."
            raise _WrongError(line, what, code="E512")
        seen.add(index)
        cells.extend([""] * (index + 1 - len(cells)))
        if isinstance(value, list):
            unusable.setdefault(line, {})[index] = "a list"
        cells[index] = JSON_TEXTS[type(value)](value)
    return cells


def _flat(line: int, one: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    try:
        yield from flatten_object(one)
    except ValueError as error:
        raise _WrongError(line, str(error), code="E512") from error


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
