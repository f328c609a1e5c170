"""How much a table of people may hold, wherever it comes from: a file or a directory."""

ROWS_MAX = 1_000_000  # rows of one roster
COLUMNS_MAX = 16_384  # columns of one roster, as many as a spreadsheet has
CELLS_MAX = 32 * 1024 * 1024  # where a file need not hold each of them; a million rows of sixteen have half
CHARACTERS_MAX = 512 * 1024 * 1024  # of all cells that a directory answers; a file has as many bytes
UNSAID = "?"  # stands in for a cell that may not be used, so that its row is not empty; nobody takes it
