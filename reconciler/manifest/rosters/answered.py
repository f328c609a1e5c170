"""What a directory answered as a table of texts, under the same checks as a file, and in numbers.

A row has a place by which its source finds it: `sql:staff:14`, `scim:staff/Users/2819c223`. Not here: asking
(directories/), what the rows mean (roster.py).
"""

import hashlib
from collections.abc import Callable, Iterator

import msgspec

from reconciler.directories.answers import AnswerRows
from reconciler.manifest.rosters.table import Row, Table, TableBuilder
from reconciler.model.documents import UNSAID, DirectoryAnswer
from reconciler.parsing.display import show_value

_NAME_MAX = 400  # characters of the name of a row


def table_of(
    answer: AnswerRows, place_of: Callable[[str], str], *, mend: str = "take another column"
) -> Table:
    """Return the table of an answer; what is wrong stands in `problems`.

    `place_of` gives what a row of this name is called where places name a file, and the answer itself for "".
    `mend` is what to do about a cell that holds no text.
    """
    names = tuple(place_of(_plain(name)) for name in answer.names)
    builder = TableBuilder(place_of(""), names=names)
    builder.take(_rows(answer))
    unusable = {row + 1: cells for row, cells in answer.unusable.items()}
    return builder.table(unusable, keyed=bool(names), mend=mend)


def told(name: str, table: Table) -> DirectoryAnswer:
    """Return an answer in numbers. Two that hold the same rows and columns, in any order, are one.

    A database promises no order of rows, and a SCIM service none of the keys of which columns are made.
    """
    order = sorted(range(len(table.header)), key=table.header.__getitem__)
    made = hashlib.sha256(msgspec.json.encode([table.header[index] for index in order]))
    moved = order != list(range(len(order)))
    rows = ([cells[index] for index in order] if moved else cells for _, cells in table.rows)
    for cells in sorted(rows):
        made.update(b"\n")
        made.update(msgspec.json.encode(cells))
    return DirectoryAnswer(name, len(table.rows), made.hexdigest())


def _rows(answer: AnswerRows) -> Iterator[Row]:
    yield 0, list(answer.header)
    for number, cells in enumerate(answer.rows, start=1):
        for index in answer.unusable.get(number - 1, ()):
            cells[index] = UNSAID
        yield number, cells


def _plain(name: str) -> str:
    return name if name.isprintable() and len(name) <= _NAME_MAX else show_value(name, most=_NAME_MAX)
