"""What a directory answered as a CSV file for git: sorted, so that a review sees who comes and who goes.

The law: a roster of this file declares what the same roster of the directory declares, places aside. A column
in which any cell is no text is left out: no roster of the directory could take from it either. Cells stay as
they are, also what a spreadsheet would take for a formula; this file is for git. Pure: bytes in, bytes out.
"""

import csv
import io
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from reconciler.manifest.rosters.delimited import read_table
from reconciler.manifest.rosters.table import Table


class Snapshot(Struct, frozen=True):
    """The file, its rows, and the columns that are left out, with what their cells hold and how many do."""

    data: bytes
    rows: int
    left_out: Mapping[str, tuple[str, int]] = {}


class ComeAndGone(Struct, frozen=True):
    """How many rows come and go. `alike`: both have the same columns, as two snapshots have."""

    alike: bool
    come: int = 0
    go: int = 0


def snapshot_of(table: Table, before: bytes = b"", *, secret: Collection[str] = ()) -> Snapshot:
    """Return the file of a table without a mistake; without a byte where all of its columns are left out.

    `secret` are titles of columns that stand in no file.

    Its columns stand as in `before`, where that has the same ones: a SCIM service promises no order of them.
    """
    held: dict[int, list[str]] = {}
    for cells in table.unusable.values():
        for index, what in cells.items():
            held.setdefault(index, []).append(what)
    kept = [index for index, title in enumerate(table.header) if index not in held and title not in secret]
    there = read_table(before, "before").header if before else ()
    if sorted(there) == sorted(table.header[index] for index in kept):
        kept = [table.header.index(title) for title in there]
    left_out = {table.header[index]: (whats[0], len(whats)) for index, whats in sorted(held.items())}
    rows = sorted([cells[index] for index in kept] for _, cells in table.rows)
    header = [table.header[index] for index in kept]
    return Snapshot(_written(header, rows) if kept else b"", len(rows), left_out)


def difference(before: bytes, after: bytes, name: str) -> ComeAndGone:
    """Return how the file called `name` becomes another one."""
    old, new = read_table(before, name), read_table(after, name)
    if old.problems or old.header != new.header:
        return ComeAndGone(alike=False)
    were, are = (Counter(tuple(cells) for _, cells in one.rows) for one in (old, new))
    return ComeAndGone(True, (are - were).total(), (were - are).total())


def _written(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    plain = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    # The first line decides what the delimiter is, so a semicolon in it is in quotation marks; and Python
    # quotes no carriage return by itself, which readers take for the end of a line.
    for number, cells in enumerate((header, *rows)):
        ends = "\r" if number else ";"
        (quoted if any(ends in cell for cell in cells) else plain).writerow(cells)
    return text.getvalue().encode()
