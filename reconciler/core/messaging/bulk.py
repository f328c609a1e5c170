"""Whom the rows of a resource address, before a message is sent to all of them.

Belongs here: reading rows, and who is addressed. Not here: which resource it is
(cli/verbs/service/messages/bulk.py), the body (service/messaging/message_requests.py).

The service reads the rows itself. They are read here to count the people and to check the columns: a message
to a wrong column reaches nobody. Of a row counts the first of the columns that is filled
(docs/service.md, messages).
"""

import csv
from collections.abc import Mapping, Sequence

import msgspec

from reconciler.core.messaging.recipients import CHANNELS, fits
from reconciler.core.suggest import did_you_mean
from reconciler.errors import InputError

rows_max = 1_000_000  # as many as rosters have

Row = Mapping[str, str]


def addressed(data: bytes, mime_type: str, columns: Mapping[str, str]) -> tuple[str, ...]:
    """Return everybody whom the rows address, in their order, each once. `columns`: channel -> column.

    Raises InputError for data that holds no rows, for a column that there is not or that holds other
    things, and where nobody is addressed. No cell is part of an error.
    """
    rows = _rows(data, mime_type)
    _require_columns(rows, columns)
    # Which column wins where several are filled is an assumption (docs/service.md, messages). Counting makes
    # the same one, or the number that is agreed to is not the number that is reached.
    firsts = (
        next((cell for name in columns.values() if (cell := row.get(name, "").strip())), "") for row in rows
    )
    # The same address twice is one recipient.
    found = tuple(dict.fromkeys(one for one in firsts if one))
    if not found:
        raise InputError(
            "these columns are empty in every row; nothing was sent.",
            next="name a column with numbers or addresses",
        )
    return found


def _require_columns(rows: Sequence[Row], columns: Mapping[str, str]) -> None:
    there = {name for row in rows for name in row}
    for column in columns.values():
        if column not in there:
            raise InputError(
                f"the resource has no column {column[:64]!r}; nothing was sent.",
                next=did_you_mean("column", column, there, "name a column of its first row"),
            )
    for channel, column in columns.items():
        _require_form(rows, channel, column)


def _require_form(rows: Sequence[Row], channel: str, column: str) -> None:
    """Raise InputError where no cell of the column is what the channel needs: another column is meant."""
    cells = [cell for row in rows if (cell := row.get(column, "").strip())]
    # One cell that fits is enough. The others are the service's to judge: for one wrong number nobody else
    # has to go without the message. Without any, a wrong column would be accepted and reach nobody.
    if cells and not any(fits(cell, channel) for cell in cells):
        _, what = CHANNELS[channel]
        raise InputError(
            f"column {column[:64]!r} holds no {what}; nothing was sent.",
            next=f"name the column with each {what} after --{channel}",
        )


def _rows(data: bytes, mime_type: str) -> list[Row]:
    # Spreadsheets write a byte order mark in front, which would become a part of the first title. `from
    # None`: readers quote cells, and those are people's data.
    try:
        rows = _csv(data.decode("utf-8-sig")) if mime_type == "text/csv" else _json(data, mime_type)
    except (UnicodeDecodeError, csv.Error, msgspec.MsgspecError, RecursionError):
        raise InputError(
            "the resource cannot be read as rows; nothing was sent.",
            next="it has to be CSV with a heading, or a JSON list of flat objects",
        ) from None
    if not 0 < len(rows) <= rows_max:
        raise InputError(
            f"the resource has {len(rows):,} rows; nothing was sent.", next=f"1 to {rows_max:,} are sent to"
        )
    return rows


def _csv(text: str) -> list[Row]:
    records = csv.reader(text.splitlines(keepends=True), strict=True)
    header = [name.strip() for name in next(records, [])]
    rows: list[Row] = []
    for cells in records:
        # Cells beyond the heading belong to no column: `zip` would drop them without a word.
        if len(cells) > len(header):
            raise csv.Error("a row is longer than the heading")
        if any(cells):
            rows.append(dict(zip(header, cells, strict=False)))
    return rows


def _json(data: bytes, mime_type: str) -> list[Row]:
    if mime_type != "application/json":
        raise InputError(
            f"a message cannot be sent to a resource of type {mime_type[:64]}.",
            next="text/csv and application/json have rows",
        )
    rows = msgspec.json.decode(data, type=list[dict[str, str | int | float | None]])
    return [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in rows]
