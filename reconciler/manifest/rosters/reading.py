"""Which form a roster has, by what the name of its file ends in, and what reads it."""

from pathlib import PurePath

from reconciler.files.project_files import Unreadable
from reconciler.manifest.rosters.delimited import read_table
from reconciler.manifest.rosters.records import read_records
from reconciler.manifest.rosters.table import Table, no_table
from reconciler.parsing.standins import find_stand_in

# What people save instead of .xlsx. None can be looked through for formulas: told as such, not as "no UTF-8".
_OTHERS = frozenset({".xls", ".xlsm", ".xlsb", ".ods", ".numbers"})


def read_roster(data: bytes, file: str, sheet: str) -> Table:
    """Return the table of a roster; `sheet` is "" where none is named. What ends in nothing known is CSV.

    Raises Unreadable where nothing of it can be read. What is wrong with a part of it stands in `problems`.
    """
    stands_for = find_stand_in(data)
    if stands_for is not None:
        return no_table(file, stands_for.problem(file))
    end = PurePath(file).suffix.lower()
    if has_sheets(file):
        from reconciler.manifest.rosters.sheet import read_sheet  # noqa: PLC0415 - zip and XML, for some alone

        return read_sheet(data, file, sheet)
    if end in _OTHERS:
        what = f"{file} is a spreadsheet of a kind that is not read."
        raise Unreadable(what, "save it as .xlsx or `CSV UTF-8`", code="E511")
    return read_records(data, file) if end == ".json" else read_table(data, file)


def has_sheets(name: str) -> bool:
    """Whether a file of this name is read as a spreadsheet."""
    return PurePath(name).suffix.lower() == ".xlsx"
