"""Rows of a database become texts: what each type of value is written as, and how much there may be.

A database has types, so more is safe than in a spreadsheet: a date is a date, and is written in ISO 8601.
What is no text (bytes, arrays, JSON) is told where somebody takes it, and so is a float that may lack digits.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.model.documents import CELLS_MAX, CHARACTERS_MAX, COLUMNS_MAX, UNSAID
from reconciler.parsing.display import show_value

_WHOLE_MAX = 1e15  # floats below it have all their digits
_DIGITS_MAX = 1_000  # of a decimal; nobody's number has more


_FEWER = "let its statement leave out columns that no contact needs"


class NotText:
    """Stands for a text of a database that is not UTF-8."""


def answer_of(
    titles: Sequence[str], batches: Iterable[Sequence[Sequence[Any]]], *, rows_max: int
) -> AnswerRows:
    """Return rows as texts. Raises DirectoryFailed for what is beyond a limit, or has columns of one name."""
    header = tuple(map(str, titles))
    _require_columns(header)
    rows: list[list[str]] = []
    unusable: dict[int, dict[int, str]] = {}
    left = CHARACTERS_MAX
    for batch in batches:
        for row in batch:
            cells = [_text(one) for one in row]
            if None in cells:
                unusable[len(rows)] = dict(_held(row, cells))
            texts = [UNSAID if one is None else one for one in cells] if None in cells else cells
            left -= sum(map(len, texts))  # type: ignore[arg-type] # none of them is None here
            rows.append(texts)  # type: ignore[arg-type] # the same
            if left < 0:
                raise DirectoryFailed(f"it answers more than {CHARACTERS_MAX:,} characters.", _FEWER)
        if len(rows) > rows_max:
            what = f"it answers more than {rows_max:,} rows, which is the limit."
            raise DirectoryFailed(what, "let its statement leave out who needs no contact")
        if len(rows) * len(header) > CELLS_MAX:
            raise DirectoryFailed(f"it answers more than {CELLS_MAX:,} cells, which is the limit.", _FEWER)
    return AnswerRows(header, tuple(rows), unusable=unusable)


def _require_columns(header: tuple[str, ...]) -> None:
    if len(header) > COLUMNS_MAX:
        what = f"it answers {len(header):,} columns; the limit is {COLUMNS_MAX:,}."
        raise DirectoryFailed(what, "let its statement name only the columns that contacts need")
    times = Counter(header)
    if len(times) < len(header):
        what = f"two columns of its answer are called {show_value(times.most_common(1)[0][0])!r}."
        raise DirectoryFailed(what, "give one of them another name in the statement, with AS")


def _text(value: Any) -> str | None:
    """Return how a value is written; None for what is no text."""
    kind = type(value)
    return value if kind is str else _TEXTS.get(kind, _nothing)(value)


def _held(row: Sequence[Any], cells: Sequence[str | None]) -> Iterable[tuple[int, str]]:
    """Yield the index of each cell that has no text, and what it holds."""
    for index, (value, text) in enumerate(zip(row, cells, strict=True)):
        if text is None:
            yield index, _HELD.get(type(value), "a value of a type that is no text")


def _nothing(_: object) -> None:
    return None


def _float(value: float) -> str | None:
    return repr(value) if abs(value) < _WHOLE_MAX else None  # false for NaN as well


def _decimal(value: Decimal) -> str | None:
    # 1E+999999999 is short, and would be written with a billion digits.
    fits = value.is_finite() and abs(value.adjusted()) < _DIGITS_MAX
    return format(value, "f") if fits else None


# The types that drivers have for what a database holds, each with how its value is written.
_TEXTS: Mapping[type, Callable[[Any], str | None]] = {
    str: str,
    type(None): lambda _: "",
    bool: lambda value: "true" if value else "false",
    int: str,
    float: _float,
    Decimal: _decimal,
    date: date.isoformat,
    datetime: datetime.isoformat,
    time: time.isoformat,
    UUID: str,
}
_HELD = {
    float: "a number that may lack digits",
    Decimal: "a number that is none, or has too many digits",
    bytes: "bytes",
    bytearray: "bytes",
    memoryview: "bytes",
    list: "a list",
    tuple: "a list",
    set: "a list",
    dict: "JSON",
    timedelta: "a length of time",
    NotText: "bytes that are not UTF-8",
}
