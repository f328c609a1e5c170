"""Tables: a heading, rows in columns, and a line that counts them. No colour but that of the heading.

Not here: what stands in the cells (messages.py, contacts.py).
"""

from collections.abc import Sequence

from reconciler.report.inert import inert
from reconciler.report.lines import Line, cut, line, pad, width

cell_columns = 40  # columns of one cell of a table; ids and addresses fit, subjects are cut

Cells = tuple[str, ...]


def table(head: Cells, rows: Sequence[Cells], summary: str, *, last: int = cell_columns) -> tuple[Line, ...]:
    """Return a table with a heading and a last line. The last column is cut at `last` (0: never)."""
    shown = [
        tuple(_cell(cell, last if at == len(head) - 1 else 0) for at, cell in enumerate(row)) for row in rows
    ]
    wide = [max(width(row[at]) for row in (head, *shown)) for at in range(len(head))]
    lines = [line(("  ".join(pad(cell, wide[at]) for at, cell in enumerate(head)), "dim"))]
    lines += [line("  ".join(pad(cell, wide[at]) for at, cell in enumerate(row)).rstrip()) for row in shown]
    if not rows:
        lines = []
    return (*lines, *((line(summary),) if summary else ()))


def _cell(text: str, columns: int) -> str:
    shown = inert(text) or "-"
    return cut(shown, columns) if columns else shown
