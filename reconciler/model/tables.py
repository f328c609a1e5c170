"""Tables of people: how much one may hold, and what a directory answered, in numbers."""

from msgspec import Struct

ROWS_MAX = 1_000_000  # rows of one roster
COLUMNS_MAX = 16_384  # columns of one roster, as many as a spreadsheet has
CELLS_MAX = 32 * 1024 * 1024  # where a file need not hold each of them; a million rows of sixteen have half
CHARACTERS_MAX = 512 * 1024 * 1024  # of all cells that a directory answers; a file has as many bytes
UNSAID = "?"  # stands in for a cell that may not be used, so that its row is not empty; nobody takes it


class DirectoryAnswer(Struct, frozen=True, order=True):
    """What a directory answered, in numbers: nothing in it belongs to a person.

    `digest` is the SHA-256 of its header and its rows as texts, in hexadecimal digits; the order of the rows
    makes no other one. `before` counts the rows at the last applied plan, 0 where none is known.
    """

    name: str
    rows: int
    digest: str
    before: int = 0
