"""Lines of styled spans: what a text renderer returns, so that colour is added without parsing.

Also their plain form, widths, folding and tables. Nothing here knows what a plan or a run is.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar
from unicodedata import category, east_asian_width

from msgspec import Struct

from reconciler.model.notices import Notice
from reconciler.report.escaping import escape_control

Style = Literal["", "create", "update", "delete", "warn", "dim", "bold"]

T = TypeVar("T")

screen_columns = 100  # what a line should fit into: a terminal beside an editor, a log of a CI service
fold_over = 20  # changes of one action that are still listed in full
fold_to = 10  # how many of them a folded list shows


class Span(Struct, frozen=True, gc=False):
    """A piece of a line that is shown in one style. `text` is inert when it was made by `line`."""

    text: str
    style: Style = ""


Line = tuple[Span, ...]

BLANK: Line = ()

ACTIONS: Mapping[str, tuple[str, Style]] = {
    "create": ("+", "create"),
    "update": ("~", "update"),
    "delete": ("-", "delete"),
    "forget": ("=", "dim"),  # in a history: ours no longer, and live as it was
}

_PIECES = re.compile(r" +|[^ ]+")


def line(*parts: str | tuple[str, Style]) -> Line:
    """Return one line of these parts: text, or text and its style. Each passes `escape_control`."""
    pairs: list[tuple[str, Style]] = [(part, "") if isinstance(part, str) else part for part in parts]
    return tuple(Span(escape_control(text), style) for text, style in pairs if text)


def plain(lines: Sequence[Line]) -> str:
    """Return the lines as text without styles and without spaces at their ends; a newline after each."""
    return "".join("".join(span.text for span in spans).rstrip() + "\n" for spans in lines)


def wrap_lines(lines: Sequence[Line], columns: int) -> list[Line]:
    """Return the lines broken between words where they have over so many columns; no word is broken.

    What follows a break is indented by two columns more than its line.
    """
    found: list[Line] = []
    for one in lines:
        found += [one] if width("".join(span.text for span in one)) <= columns else _break_line(one, columns)
    return found


def _break_line(one: Line, columns: int) -> list[Line]:
    text = "".join(span.text for span in one)
    indent = " " * min(len(text) - len(text.lstrip(" ")) + 2, columns // 2)
    broken: list[list[Span]] = [[]]
    at, begun, due = 0, False, False
    for span in one:
        for piece in _PIECES.findall(span.text):
            if begun and piece.isspace() and at + width(piece) >= columns:
                due = True  # the space at which it is broken
                continue
            if begun and not piece.isspace() and (due or at + width(piece) > columns):
                broken.append([Span(indent)])
                at, due = width(indent), False
            broken[-1].append(Span(piece, span.style))
            at += width(piece)
            begun = begun or not piece.isspace()
    return [tuple(spans) for spans in broken]


def width(text: str) -> int:
    """How many columns a terminal needs for an inert text: two for wide characters, none for marks."""
    if text.isascii():
        return len(text)
    return sum(0 if category(c) in {"Mn", "Me"} else 1 + (east_asian_width(c) in {"W", "F"}) for c in text)


def pad_text(text: str, columns: int) -> str:
    """Return `text`, inert, with spaces up to that many columns."""
    text = escape_control(text)
    return text + " " * (columns - width(text))


def cut_text(text: str, columns: int) -> str:
    """Return as much of an inert text as fits into that many columns, an ellipsis at its end if not all."""
    if width(text) <= columns:
        return text
    kept = ""
    for char in text:
        if width(kept + char) > columns - 1:
            break
        kept += char
    return kept + "…"


def flow_parts(parts: Sequence[tuple[str, Style]], *, gap: str = "   ", indent: str = "  ") -> list[Line]:
    """Return the parts side by side, on as many lines as a screen's width makes of them."""
    lines: list[list[str | tuple[str, Style]]] = []
    at = screen_columns
    for text, style in parts:
        if at + width(gap + text) > screen_columns:
            lines.append([indent, (text, style)])
            at = width(indent + text)
        else:
            lines[-1] += [gap, (text, style)]
            at += width(gap + text)
    return [line(*pieces) for pieces in lines]


def count(number: int, word: str, plural: str = "") -> str:
    """`1 update`, `2,000 updates`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def fold_items(items: Sequence[T], *, full: bool) -> tuple[Sequence[T], tuple[Line, ...]]:
    """Return the `items` to list, and a line that counts the others, if there are any."""
    if full or len(items) <= fold_over:
        return items, ()
    rest = f"  … and {len(items) - fold_to:,} more (--full shows them)"
    return items[:fold_to], (line((rest, "dim")),)


def notice_lines(notices: Sequence[Notice], *, full: bool) -> list[Line]:
    """Return what a person should know beside the changes: what it is and where, then what to do."""
    listed, rest = fold_items(notices, full=full)
    lines: list[Line] = []
    for one in listed:
        place = f" ({one.place})" if one.place else ""
        lines += sentence_lines("! ", f"{one.subject}: {one.what}{place}", one.next)
    return [*lines, *rest]


def sentence_lines(
    prefix: str, what: str, next_step: str, *, style: Style = "warn", indent: str = ""
) -> list[Line]:
    """Two lines at most, as every refusal has them: what it is, then what to do."""
    lines = [line(indent, (prefix, style), what)]
    if next_step:
        lines.append(line(indent, "  next: ", next_step))
    return lines


# --- Tables: a heading, rows in columns, and a line that counts them. No colour but that of the heading


cell_columns = 40  # columns of one cell of a table; ids and addresses fit, subjects are cut

Cells = tuple[str, ...]


def table(head: Cells, rows: Sequence[Cells], summary: str, *, last: int = cell_columns) -> tuple[Line, ...]:
    """Return a table with a heading and a last line. The last column is cut at `last` (0: never)."""
    shown = [
        tuple(_format_cell(cell, last if at == len(head) - 1 else 0) for at, cell in enumerate(row))
        for row in rows
    ]
    wide = [max(width(row[at]) for row in (head, *shown)) for at in range(len(head))]
    lines = [line(("  ".join(pad_text(cell, wide[at]) for at, cell in enumerate(head)), "dim"))]
    lines += [
        line("  ".join(pad_text(cell, wide[at]) for at, cell in enumerate(row)).rstrip()) for row in shown
    ]
    if not rows:
        lines = []
    return (*lines, *((line(summary),) if summary else ()))


def _format_cell(text: str, columns: int) -> str:
    shown = escape_control(text) or "-"
    return cut_text(shown, columns) if columns else shown
