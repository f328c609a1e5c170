"""One CSV file as a table: encoding, delimiter, records.

UTF-8 with or without a byte order mark; commas, semicolons or tabs between the cells, or what a first line
`sep=` names; a header whose names are unique. Rows count as a spreadsheet counts them: the header is row 1,
or row 2 below such a line.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress

from reconciler.errors import Problem
from reconciler.manifest.rosters.table import Row, Table, TableBuilder, no_table, not_text
from reconciler.model.documents import ROWS_MAX

# What programs write into the first line for a spreadsheet: which sign stands between the cells.
_SEPARATOR = re.compile(r'\ufeff?"?sep=(.)"?[ \t]*[\r\n]*', re.IGNORECASE)
_READ = ",;\t|"
_LIKELY = ",;\t"  # what spreadsheets write without a line that names it; the first one where none stands out
UNREAD_SEPARATOR = "E409"
_AT_ONCE = 1024 * 1024  # bytes that are decoded at once


def read_table(data: bytes, file: str, *, rows_max: int = ROWS_MAX) -> Table:
    """Return the table of one CSV file; what is wrong stands in `problems`. Empty rows are no rows."""
    wrong = _first_unfit(data)
    if wrong is not None:
        return not_text(file, data, wrong, "export it as UTF-8; spreadsheets call that `CSV UTF-8`")
    builder = TableBuilder(file, rows_max=rows_max, of_cells=True)
    named = _named_separator(_lines(data))
    if named and named not in _READ:
        what = "the first line, sep=, names a separator that is not read."
        hint = "export it with commas, semicolons or tabs"
        return no_table(file, Problem(file, 1, 1, what, hint, code=UNREAD_SEPARATOR))
    try:
        builder.take(_records(lambda: _lines(data)))
    except csv.Error as error:
        number = len(builder.rows) + 2 if builder.header else 1
        builder.wrong(number, f"this is not CSV: {error}.", "close the quotation marks", code="E505")
    return builder.table()


def delimiter_of(text: str) -> str:
    """Return the delimiter that the first line names, else that with the most cells in it, else a comma."""
    return _named_separator(_text(text)) or _delimiter(lambda: _text(text))


def widths(text: str, numbers: Container[int]) -> dict[int, int]:
    """Return how many cells these rows have, as far as the text is CSV."""
    found: dict[int, int] = {}
    with suppress(csv.Error):
        records = _records(lambda: _text(text))
        found.update((number, len(cells)) for number, cells in records if number in numbers)
    return found


def _records(lines: Callable[[], Iterable[str]]) -> Iterator[Row]:
    named = _named_separator(lines())
    records = enumerate(_parsed(lines(), named or _delimiter(lines)), start=1)
    if named:
        next(records, None)  # the line that names it is a row to count, and none to read
    yield from records


def _named_separator(lines: Iterable[str]) -> str:
    """Return the sign that a line `sep=;` at the start names, or ""."""
    found = _SEPARATOR.fullmatch(next(iter(lines), ""))
    return found[1] if found else ""


def _delimiter(lines: Callable[[], Iterable[str]]) -> str:
    return max(_LIKELY, key=lambda sign: _width(lines(), sign))


def _width(lines: Iterable[str], delimiter: str) -> int:
    try:
        return len(next(_parsed(lines, delimiter), []))
    except csv.Error:  # `"a";"b"` is no record with commas
        return 0


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
