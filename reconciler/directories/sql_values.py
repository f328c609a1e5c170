"""What goes into a database and comes out of it: the checks of statement and URL, and values as texts.

Pure: the settings are checked with it before any directory is asked. The database has the last word: it reads
in a transaction that cannot write (sql_query.py, sql_postgresql.py, sql_dialects.py).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, unquote
from uuid import UUID

from reconciler.core.redact import AT, COLON
from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.model.documents import CELLS_MAX, CHARACTERS_MAX, COLUMNS_MAX, UNSAID
from reconciler.parsing.display import show_value

READ_ONLY = "give it one SELECT, which reads and changes nothing"
QUERIES = ("SELECT", "WITH", "VALUES", "TABLE")
_ASIDE = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")
_SHOWN_MAX = 20  # characters of a word
_SCHEME = re.compile(r"[a-z][a-z0-9_]*(?:\+[a-z0-9_]+)?://", re.ASCII)
_LOGIN = re.compile(r"(?<=://)[^:/]*:(?P<password>.+)@", re.DOTALL)
# The same where what ends a login is encoded: no @ is left, and all of it looks like a host.
_ENCODED_LOGIN = re.compile(rf"(?<=://)[^/?#]*?{COLON}(?P<password>[^/?#]+?){AT}", re.IGNORECASE)
_SECRET_OPTIONS = re.compile(r"pass|pwd|secret|token|key\Z", re.IGNORECASE)


def why_not_query(statement: str) -> str:
    """Return why a statement is none that reads, as far as its first word says; "" where it may be one."""
    at = _ASIDE.match(statement)
    word = _WORD.match(statement, at.end() if at else 0)
    if word is None:
        return (
            "the statement is empty."
            if not statement.strip()
            else "the statement does not begin with a word."
        )
    first = word[0].upper()
    return (
        "" if first in QUERIES else f"the statement begins with {first[:_SHOWN_MAX]}, which is not a query."
    )


def why_not_url(url: str) -> str:
    """Return why a URL is none of a database that can be asked safely; "" where it may be."""
    dialect = parse_dialect(url)
    kind, _, driver = dialect.partition("+")
    if not dialect:
        return "its url is not that of a database."
    # By another driver the file would be opened to write, or the server would not have to prove itself.
    own = kind == "sqlite" or kind.startswith("postgres")
    return f"its url names the driver {driver}, and {kind} needs none." if own and driver else ""


def parse_dialect(url: str) -> str:
    """Return the scheme of a URL, `postgresql` or `mysql+pymysql`; "" where it is no URL of a database."""
    found = _SCHEME.match(url)
    return found[0].removesuffix("://") if found else ""


def holds_password(url: str) -> bool:
    """Whether a URL holds a password, or what looks like one, also among its options."""
    return any(True for _ in find_passwords(url))


def find_passwords(url: str) -> Iterator[str]:
    """Yield what is or looks like a password in a URL, as it stands there and as it is meant."""
    if found := _LOGIN.search(url) or _ENCODED_LOGIN.search(url):
        yield from dict.fromkeys((found["password"], unquote(found["password"])))
    _, _, query = url.partition("?")
    for name, value in parse_qsl(query):
        if _SECRET_OPTIONS.search(name) and name not in _OF_FILES:
            yield value


_OF_FILES = ("passfile", "sslkey", "ssl_key")  # options that name a file with a secret


# --- Rows as texts --------------------------------------------------------------------------------
#
# A database has types, so more is safe than in a spreadsheet: a date is a date, and is written in ISO 8601.
# What is no text (bytes, arrays, JSON) is an error where a roster takes it, and so is a float that may lack
# digits.


_WHOLE_MAX = 1e15  # floats below it have all their digits
_DIGITS_MAX = 1_000  # of a decimal; no personnel number has more


_FEWER = "let its statement leave out columns that no contact needs"


class NotText:
    """Stands for a text of a database that is not UTF-8."""


def build_sql_answer(
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
            cells = [_format_cell(one) for one in row]
            if None in cells:
                unusable[len(rows)] = dict(_list_unusable(row, cells))
            texts = [UNSAID if one is None else one for one in cells] if None in cells else cells
            left -= sum(map(len, texts))  # type: ignore[arg-type] # none of them is None here
            rows.append(texts)  # type: ignore[arg-type] # the same
            if left < 0:
                raise DirectoryFailed(f"it returns more than {CHARACTERS_MAX:,} characters.", _FEWER)
        if len(rows) > rows_max:
            what = f"it returns more than {rows_max:,} rows, which is the limit."
            raise DirectoryFailed(what, "let its statement return fewer rows")
        if len(rows) * len(header) > CELLS_MAX:
            raise DirectoryFailed(f"it returns more than {CELLS_MAX:,} cells, which is the limit.", _FEWER)
    return AnswerRows(header, tuple(rows), unusable=unusable)


def _require_columns(header: tuple[str, ...]) -> None:
    if len(header) > COLUMNS_MAX:
        what = f"it returns {len(header):,} columns; the limit is {COLUMNS_MAX:,}."
        raise DirectoryFailed(what, "let its statement name only the columns that contacts need")
    times = Counter(header)
    if len(times) < len(header):
        what = f"two columns of its answer are called {show_value(times.most_common(1)[0][0])!r}."
        raise DirectoryFailed(what, "give one of them another name in the statement, with AS")


def _format_cell(value: Any) -> str | None:
    """Return how a value is written; None for what is no text."""
    kind = type(value)
    return value if kind is str else _TEXTS.get(kind, _refuse_value)(value)


def _list_unusable(row: Sequence[Any], cells: Sequence[str | None]) -> Iterable[tuple[int, str]]:
    """Yield the index of each cell that has no text, and what it holds."""
    for index, (value, text) in enumerate(zip(row, cells, strict=True)):
        if text is None:
            yield index, _HELD.get(type(value), "a value that is not text")


def _refuse_value(_: object) -> None:
    return None


def _format_float(value: float) -> str | None:
    return repr(value) if abs(value) < _WHOLE_MAX else None  # false for NaN as well


def _format_decimal(value: Decimal) -> str | None:
    # 1E+999999999 is short, and would be written with a billion digits.
    fits = value.is_finite() and abs(value.adjusted()) < _DIGITS_MAX
    return format(value, "f") if fits else None


# The types that drivers have for what a database holds, each with how its value is written.
_TEXTS: Mapping[type, Callable[[Any], str | None]] = {
    str: str,
    type(None): lambda _: "",
    bool: lambda value: "true" if value else "false",
    int: str,
    float: _format_float,
    Decimal: _format_decimal,
    date: date.isoformat,
    datetime: datetime.isoformat,
    time: time.isoformat,
    UUID: str,
}
_HELD = {
    float: "a number that may lack digits",
    Decimal: "a number that is infinite, NaN, or too long",
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
