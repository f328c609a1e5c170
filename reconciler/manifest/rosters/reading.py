"""Which form a roster has, by what the name of its file ends in, and what reads it."""

from collections.abc import Callable, Mapping

from reconciler.manifest.files import Unreadable
from reconciler.manifest.rosters.delimited import read_table
from reconciler.manifest.rosters.records import read_records
from reconciler.manifest.rosters.sheet import read_sheet
from reconciler.manifest.rosters.table import Table

# By the end of a name: what reads the bytes of a file of that name. Every other file is CSV.
_FORMS: Mapping[str, Callable[[bytes, str], Table]] = {".json": read_records}
SPREADSHEET = ".xlsx"
# What people save instead. None of them can be looked through for formulas: told by name, not as "no UTF-8".
_OTHERS = (".xls", ".xlsm", ".xlsb", ".ods", ".numbers")


def read_roster(data: bytes, file: str, sheet: str) -> Table:
    """Return the table of a roster; `sheet` is "" where none is named.

    Raises Unreadable where nothing of it can be read. What is wrong with a part of it stands in `problems`.
    """
    name = file.lower()
    if has_sheets(name):
        return read_sheet(data, file, sheet)
    if name.endswith(_OTHERS):
        what = f"{file} is a spreadsheet of a kind that is not read."
        raise Unreadable(what, "save it as .xlsx or `CSV UTF-8`")
    read = next((read for end, read in _FORMS.items() if name.endswith(end)), read_table)
    return read(data, file)


def has_sheets(name: str) -> bool:
    """Whether a file of this name is read as a spreadsheet."""
    return name.lower().endswith(SPREADSHEET)
