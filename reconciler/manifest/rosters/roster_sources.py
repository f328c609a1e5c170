"""The tables that manifests name, each read once: of a file, of a sheet of one, of a directory.

How a form is read: table.py, xlsx_sheet.py. How a directory is asked: directories/. What rows mean:
roster.py.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any

import msgspec

from reconciler.directories.answers import AnswerRows, DirectoryFailed, ReadOnce
from reconciler.errors import Problem
from reconciler.files.project_files import (
    ROSTER_BYTES_MAX,
    FileId,
    ReadLog,
    Unreadable,
    read_below_root,
    resolve_reference,
)
from reconciler.manifest.rosters.table import (
    RosterTable,
    TableBuilder,
    TableRow,
    empty_table,
    read_csv,
    read_json_objects,
)
from reconciler.manifest.sources import display_path
from reconciler.model.documents import UNSAID, DirectoryAnswer, Place
from reconciler.parsing.display import show_value
from reconciler.parsing.standins import find_stand_in
from reconciler.parsing.tree import Tree

# --- Answers of directories, under the same checks as a file --------------------------------------
#
# A row has a place by which its source finds it: `sql:staff:14`, `scim:staff/Users/2819c223`.

_NAME_MAX = 400  # characters of the name of a row


def build_answer_table(
    answer: AnswerRows, place_of: Callable[[str], str], *, mend: str = "take another column"
) -> RosterTable:
    """Return the table of an answer; what is wrong stands in `problems`.

    `place_of` gives what a row of this name is called where places name a file, and the answer itself for "".
    `mend` is what to do about a cell that holds no text.
    """
    names = tuple(place_of(_clean_row_name(name)) for name in answer.names)
    builder = TableBuilder(place_of(""), names=names)
    builder.take(_answer_rows(answer))
    unusable = {row + 1: cells for row, cells in answer.unusable.items()}
    return builder.table(unusable, keyed=bool(names), mend=mend)


def summarize_answer(name: str, table: RosterTable) -> DirectoryAnswer:
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


def _answer_rows(answer: AnswerRows) -> Iterator[TableRow]:
    yield 0, list(answer.header)
    for number, cells in enumerate(answer.rows, start=1):
        for index in answer.unusable.get(number - 1, ()):
            cells[index] = UNSAID
        yield number, cells


def _clean_row_name(name: str) -> str:
    return name if name.isprintable() and len(name) <= _NAME_MAX else show_value(name, most=_NAME_MAX)


# --- Files, by what their names end in ------------------------------------------------------------

# What people save instead of .xlsx. None can be looked through for formulas: told as such, not as "no UTF-8".
_OTHERS = frozenset({".xls", ".xlsm", ".xlsb", ".ods", ".numbers"})


def read_roster(data: bytes, file: str, sheet: str) -> RosterTable:
    """Return the table of a roster; `sheet` is "" where none is named. What ends in nothing known is CSV.

    Raises Unreadable where nothing of it can be read. What is wrong with a part of it stands in `problems`.
    """
    stands_for = find_stand_in(data)
    if stands_for is not None:
        return empty_table(file, stands_for.problem(file))
    end = PurePath(file).suffix.lower()
    if has_sheets(file):
        from reconciler.manifest.rosters.xlsx_sheet import read_sheet  # noqa: PLC0415 - zip and XML, for some alone

        return read_sheet(data, file, sheet)
    if end in _OTHERS:
        what = f"{file} is a spreadsheet of a kind that is not read."
        raise Unreadable(what, "save it as .xlsx or `CSV UTF-8`", code="E511")
    return read_json_objects(data, file) if end == ".json" else read_csv(data, file)


def has_sheets(name: str) -> bool:
    """Whether a file of this name is read as a spreadsheet."""
    return PurePath(name).suffix.lower() == ".xlsx"


# --- Each table once ------------------------------------------------------------------------------


class RosterTables:
    """The tables of one project. What is wrong with one as a whole is in `problems`, once.

    `failed` are those of the problems that no manifest can mend: a directory that did not answer. `unasked`
    are directories that nobody asks here, each with a roster that takes from it.
    """

    def __init__(
        self,
        root: Path,
        private: frozenset[FileId],
        directories: ReadOnce,
        log: ReadLog | None = None,
    ) -> None:
        self.problems: list[Problem] = []
        self.failed: list[Problem] = []
        self.unasked: dict[str, Place] = {}
        self._root = root
        self._private = private
        self._directories = directories
        self._log = log
        self._tables: dict[tuple[tuple[str, ...], str], RosterTable | Unreadable] = {}  # by file and sheet
        self._digests: dict[tuple[str, ...], tuple[bytes, int]] = {}  # of each file: the SHA-256, and bytes
        self._answered: dict[str, RosterTable] = {}
        self._numbers: dict[str, DirectoryAnswer] = {}
        self._named: dict[tuple[str, ...], None] = {}  # files that the manifest which is read now has named
        self._asked: dict[str, None] = {}  # directories that it has named

    def begin(self) -> None:
        """Forget what the manifest before has named."""
        self._named.clear()
        self._asked.clear()

    @property
    def digests(self) -> Mapping[tuple[str, ...], tuple[bytes, int]]:
        """The files that this manifest has named: the SHA-256 of each, and its bytes."""
        return {parts: self._digests[parts] for parts in self._named if parts in self._digests}

    @property
    def of_files(self) -> bool:
        """Whether this manifest takes from files alone: what a directory says is never kept."""
        return not self._asked

    @property
    def answers(self) -> tuple[DirectoryAnswer, ...]:
        """The directories that this manifest has named and that answered, by name."""
        return tuple(self._numbers[name] for name in sorted(self._asked) if name in self._numbers)

    def table(self, tree: Tree, path: list[str | int], entry: Mapping[str, Any], folder: Path) -> RosterTable:
        """Return the table that an entry names; an empty one where there is none, which is a problem then."""
        if "directory" in entry:
            table = self._of_directory(tree, [*path, "directory"], entry["directory"])
        else:
            table = self._of_file(tree, [*path, "file"], entry, folder)
        if "sheet" in entry and table.named and not has_sheets(entry.get("file", "")):
            what = "`sheet` is for .xlsx files; this roster has none."
            self.problems.append(tree.problem([*path, "sheet"], what, "remove the line", code="E511"))
        return table

    def _of_file(
        self, tree: Tree, path: list[str | int], entry: Mapping[str, Any], folder: Path
    ) -> RosterTable:
        table = self._read_once(folder, entry["file"], entry.get("sheet", ""))
        if isinstance(table, Unreadable):
            self.problems.append(tree.problem(path, f"the roster {table}", table.hint, table.code))
            return empty_table(tree.file)
        return table

    def _of_directory(self, tree: Tree, path: list[str | int], name: str) -> RosterTable:
        self._asked[name] = None
        known = self._directories.known
        if name not in known:
            self.problems.append(tree.problem(path, *self._directories.unknown(name), code="E515"))
            return empty_table(tree.file)
        if not self._directories.asks:
            self.unasked.setdefault(name, tree.place(path))
            return empty_table(tree.file)
        try:
            answer = self._directories.answer(name)
        except DirectoryFailed as failed:
            what = f"the directory {name} ({known[name].place}) cannot be read: {failed}"
            problem = tree.problem(path, what, failed.hint, code="E514")
            self.problems.append(problem)
            self.failed.append(problem)
            return empty_table(tree.file)
        if not answer.rows:
            what = f"the directory {name} ({known[name].place}) returned no rows."
            self.problems.append(tree.problem(path, what, _NOBODY, code="E515"))
            return empty_table(tree.file)
        if name not in self._answered:
            table = self._answered[name] = build_answer_table(
                answer,
                lambda row: self._directories.place_of(name, row),
                mend=self._directories.cell_mend(name),
            )
            self.problems.extend(table.problems)
            if not table.problems:
                self._numbers[name] = summarize_answer(name, table)
        return self._answered[name]

    def _read_once(self, folder: Path, written: str, sheet: str) -> RosterTable | Unreadable:
        """Return the table of a file or of one of its sheets, or why there is none; each is read once."""
        try:
            parts = resolve_reference(self._root, folder, written)
        except Unreadable as error:
            return error
        self._named[parts] = None
        key = parts, sheet
        if key not in self._tables:
            try:
                name = display_path(self._root.joinpath(*parts), self._root)
                table = self._tables[key] = read_roster(self._data(parts, name), name, sheet)
                self.problems.extend(table.problems)
            except Unreadable as error:
                self._tables[key] = error
        return self._tables[key]

    def _data(self, parts: tuple[str, ...], name: str) -> bytes:
        data = read_below_root(
            self._root, parts, bytes_max=ROSTER_BYTES_MAX, private=self._private, log=self._log
        )
        read = sha256(data).digest(), len(data)
        # A file of which two sheets are taken is read twice. One of them from before a change and one from
        # after it are the people of no file that there ever was, and one digest would be kept for both.
        if self._digests.setdefault(parts, read) != read:
            raise Unreadable(f"{name} was changed while it was read.", "run the command again", code="E513")
        return data


_NOBODY = "check its content; to declare no one by it, remove it from the manifest"
