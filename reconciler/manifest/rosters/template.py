"""`{Column}` templates of rosters: text with columns of one row in it. `{{` and `}}` are braces."""

import re
from collections.abc import Sequence

from msgspec import Struct

from reconciler.core.suggest import did_you_mean
from reconciler.core.text import is_blank, trim_edges
from reconciler.manifest.rosters.table import column_name
from reconciler.parsing.display import show_value

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Template(Struct, frozen=True):
    """A compiled template: literals, and columns by number from 0."""

    pieces: tuple[str | int, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns it takes from, in order of their first use."""
        return tuple(dict.fromkeys(piece for piece in self.pieces if isinstance(piece, int)))

    def render(self, row: Sequence[str]) -> str | None:
        """Return the text for one row; None where it has columns and all of them are empty here.

        A single bare column is taken as it is; text put together is trimmed, because an empty cell
        leaves its spaces behind.
        """
        columns = self.columns
        if columns and all(is_blank(row[column]) for column in columns):
            return None
        if len(self.pieces) == 1:
            (piece,) = self.pieces
            return row[piece] if isinstance(piece, int) else piece
        text = "".join(row[piece] if isinstance(piece, int) else piece for piece in self.pieces)
        return trim_edges(text) if columns else text


class UnknownColumn(Struct, frozen=True):
    """A template that names a column which the header does not have: sentence and hint."""

    what: str
    hint: str


def compiled(
    text: str, header: Sequence[str], *, secret: bool = False, titled: bool = True
) -> Template | UnknownColumn | tuple[str, str]:
    """Return the template that `text` writes for these columns, or what is wrong: sentence and hint.

    A brace that is left alone is told rather than a column that is not there. Nothing of a `secret` text is
    quoted. Without `titled`, the first row may be no header but somebody's data, and is not quoted either.
    """
    unknown: UnknownColumn | None = None
    pieces: list[str | int] = []
    at = 0
    for found in _PIECE.finditer(text):
        pieces.append(text[at : found.start()])
        at = found.end()
        column = found[1]
        if found[0] in ("{{", "}}"):
            pieces.append(found[0][0])
        elif column is None:
            where = "this template" if secret else repr(show_value(text))
            return f"a brace is left alone in {where}.", "write {Column}, or {{ for a brace"
        elif (name := column_name(column)) in header:
            pieces.append(header.index(name))
        else:
            unknown = unknown or _unknown(column, header, secret=secret, titled=titled)
    pieces.append(text[at:])
    return unknown or Template(_joined(pieces))


def columns_of(text: str) -> frozenset[str]:
    """Return the columns that a template names, whether a roster has them or not."""
    return frozenset(column_name(found[1]) for found in _PIECE.finditer(text) if found[1] is not None)


def _unknown(column: str, header: Sequence[str], *, secret: bool, titled: bool) -> UnknownColumn:
    if not titled:
        listed = "check that the first row of the roster holds the names of its columns"
    else:
        listed = f"the columns are: {show_value(', '.join(header), most=200)}"
    if secret:
        return UnknownColumn("this template names a column that the roster does not have.", listed)
    return UnknownColumn(
        f"the roster has no column {show_value(column)!r}.", did_you_mean("column", column, header, listed)
    )


def _joined(pieces: list[str | int]) -> tuple[str | int, ...]:
    joined: list[str | int] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece != "":
            joined.append(piece)
    return tuple(joined) or ("",)
