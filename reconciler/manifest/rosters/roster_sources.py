"""The tables of rosters from their sources: files, sheets of spreadsheets, directories. Each is read once.

table.py and xlsx_sheet.py read the forms, directories/ asks the directories, roster.py makes contacts of
rows.
"""

import hashlib
from collections import Counter
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
from reconciler.manifest.cutting import Cuts, CutText, digest_lines
from reconciler.manifest.rosters.table import (
    RosterTable,
    TableBuilder,
    TableRow,
    empty_table,
    has_one_line_rows,
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
# The place of a row names it at its source: `sql:staff:14`, `scim:staff/Users/2819c223`.

_NAME_MAX = 400  # characters of the name of a row


def build_answer_table(
    answer: AnswerRows, place_of: Callable[[str], str], *, mend: str = "take another column"
) -> RosterTable:
    """Return the table of an answer, with its mistakes in `problems`.

    `place_of` returns the place of the row of this name, and for "" that of the answer. `mend` is the hint
    for a cell that does not contain text.
    """
    names = tuple(place_of(_clean_row_name(name)) for name in answer.names)
    builder = TableBuilder(place_of(""), names=names)
    builder.add_rows(_answer_rows(answer))
    unusable = {row + 1: cells for row, cells in answer.unusable.items()}
    return builder.build(unusable, keyed=bool(names), mend=mend)


def summarize_answer(name: str, table: RosterTable) -> DirectoryAnswer:
    """Return the number of rows of an answer and a digest that ignores the order of rows and columns.

    A database promises no order of rows, a SCIM service no order of keys, which become columns.
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

# Saved instead of .xlsx. They are not read, and get a message of their own instead of "not UTF-8".
_OTHERS = frozenset({".xls", ".xlsm", ".xlsb", ".ods", ".numbers"})


def read_roster(data: bytes, file: str, sheet: str) -> RosterTable:
    """Return the table of a roster; `sheet` may be "". A file with an unknown suffix is read as CSV.

    Raises Unreadable where nothing can be read; mistakes in a part are in `problems`.
    """
    stands_for = find_stand_in(data)
    if stands_for is not None:
        return empty_table(file, stands_for.problem(file))
    end = PurePath(file).suffix.lower()
    if has_sheets(file):
        from reconciler.manifest.rosters.xlsx_sheet import read_sheet  # noqa: PLC0415 - zip, XML

        return read_sheet(data, file, sheet)
    if end in _OTHERS:
        what = f"{file} is an unsupported spreadsheet format."
        raise Unreadable(what, "save it as .xlsx or `CSV UTF-8`", code="E511")
    return read_json_objects(data, file) if end == ".json" else read_csv(data, file)


def has_sheets(name: str) -> bool:
    """Whether a file of this name is read as a spreadsheet."""
    return PurePath(name).suffix.lower() == ".xlsx"


# --- Each table once ------------------------------------------------------------------------------


class RosterTables:
    """The tables of one project. Mistakes of whole tables are in `problems`, once each.

    `failed` are the problems of directories that did not answer, which no manifest can fix. `unasked` are the
    directories that were not asked, each with the place of a roster that uses it.
    """

    def __init__(
        self,
        root: Path,
        private: frozenset[FileId],
        directories: ReadOnce,
        log: ReadLog | None = None,
        cuts: Cuts | None = None,
    ) -> None:
        """With `cuts`, there are `texts`. `miscut`: a roster is not as it was when it was cut."""
        self.miscut = False
        self._cuts = cuts
        self._texts: dict[
            tuple[str, ...], tuple[str, Mapping[int, bytes]]
        ] = {}  # of each CSV file, and its name
        self._uses: Counter[tuple[str, ...]] = Counter()
        self.problems: list[Problem] = []
        self.failed: list[Problem] = []
        self.unasked: dict[str, Place] = {}
        self._root = root
        self._private = private
        self._directories = directories
        self._log = log
        self._tables: dict[tuple[tuple[str, ...], str], RosterTable | Unreadable] = {}  # by file and sheet
        self._digests: dict[tuple[str, ...], tuple[bytes, int]] = {}  # of each file: the SHA-256, and bytes
        self._directory_tables: dict[str, RosterTable] = {}
        self._summaries: dict[str, DirectoryAnswer] = {}
        self._named_files: dict[tuple[str, ...], None] = {}  # files of the manifest that is being read
        self._named_directories: dict[str, None] = {}  # its directories
        self._before = 0  # problems of earlier manifests

    def begin_manifest(self) -> None:
        """Forget the files and directories of the manifest before."""
        self._named_files.clear()
        self._named_directories.clear()
        self._before = len(self.problems)

    @property
    def manifest_problems(self) -> Iterator[Problem]:
        """Yield the mistakes of this manifest's tables, those that an earlier manifest met first too."""
        yield from self.problems[self._before :]
        for (parts, _), table in self._tables.items():
            if parts in self._named_files and isinstance(table, RosterTable):
                yield from table.problems
        for name in self._named_directories:
            if name in self._directory_tables:
                yield from self._directory_tables[name].problems

    @property
    def digests(self) -> Mapping[tuple[str, ...], tuple[bytes, int]]:
        """The SHA-256 and the size of each file of this manifest."""
        return {parts: self._digests[parts] for parts in self._named_files if parts in self._digests}

    @property
    def texts(self) -> Mapping[str, Mapping[int, bytes]]:
        """The digests of rows by line, of each CSV file of this manifest, by its name."""
        # Of one that is named again, a row is several people.
        return dict(
            self._texts[parts]
            for parts in self._named_files
            if self._uses[parts] == 1 and parts in self._texts
        )

    @property
    def uses_only_files(self) -> bool:
        """Whether this manifest has no roster from a directory, whose answers are never cached."""
        return not self._named_directories

    @property
    def answers(self) -> tuple[DirectoryAnswer, ...]:
        """The directories of this manifest that answered, by name."""
        return tuple(
            self._summaries[name] for name in sorted(self._named_directories) if name in self._summaries
        )

    def table(self, tree: Tree, path: list[str | int], entry: Mapping[str, Any], folder: Path) -> RosterTable:
        """Return the table of an entry of `rosters`; an empty one, and a problem, where there is none."""
        if "directory" in entry:
            table = self._directory_table(tree, [*path, "directory"], entry["directory"])
        else:
            table = self._file_table(tree, [*path, "file"], entry, folder)
        if "sheet" in entry and table.named and not has_sheets(entry.get("file", "")):
            what = "`sheet` is for .xlsx files; this roster has none."
            self.problems.append(tree.problem([*path, "sheet"], what, "remove the line", code="E511"))
        return table

    def _file_table(
        self, tree: Tree, path: list[str | int], entry: Mapping[str, Any], folder: Path
    ) -> RosterTable:
        table = self._read_once(folder, entry["file"], entry.get("sheet", ""))
        if isinstance(table, Unreadable):
            self.problems.append(tree.problem(path, f"the roster {table}", table.hint, table.code))
            return empty_table(tree.file)
        return table

    def _directory_table(self, tree: Tree, path: list[str | int], name: str) -> RosterTable:
        self._named_directories[name] = None
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
            self.problems.append(tree.problem(path, what, _EMPTY_HINT, code="E515"))
            return empty_table(tree.file)
        if name not in self._directory_tables:
            table = self._directory_tables[name] = build_answer_table(
                answer,
                lambda row: self._directories.place_of(name, row),
                mend=self._directories.cell_mend(name),
            )
            self.problems.extend(table.problems)
            if not table.problems:
                self._summaries[name] = summarize_answer(name, table)
        return self._directory_tables[name]

    def _read_once(self, folder: Path, written: str, sheet: str) -> RosterTable | Unreadable:
        """Return the table of a file or a sheet, or why it cannot be read; each is read once."""
        try:
            parts = resolve_reference(self._root, folder, written)
        except Unreadable as error:
            return error
        self._named_files[parts] = None
        self._uses[parts] += 1
        self.miscut = self.miscut or (self._uses[parts] > 1 and parts in self._cut_rosters)
        key = parts, sheet
        if key not in self._tables:
            try:
                name = display_path(self._root.joinpath(*parts), self._root)
                data = self._cut(parts, name, self._read_bytes(parts, name))
                table = self._tables[key] = read_roster(data, name, sheet)
                self.problems.extend(table.problems)
            except Unreadable as error:
                self._tables[key] = error
        return self._tables[key]

    def _read_bytes(self, parts: tuple[str, ...], name: str) -> bytes:
        data = read_below_root(
            self._root, parts, bytes_max=ROSTER_BYTES_MAX, private=self._private, log=self._log
        )
        read = sha256(data).digest(), len(data)
        # A file with two sheets in use is read twice. If it changes in between, the sheets together are the
        # content of no file that ever was, and the cache would store one digest for both.
        if self._digests.setdefault(parts, read) != read:
            raise Unreadable(f"{name} was changed while it was read.", "run the command again", code="E513")
        return data

    @property
    def _cut_rosters(self) -> Mapping[tuple[str, ...], CutText]:
        return self._cuts.rosters if self._cuts else {}

    def _cut(self, parts: tuple[str, ...], name: str, data: bytes) -> bytes:
        """Return what is to be read of a file, and note the digests of its rows."""
        cut = self._cut_rosters.get(parts)
        text = cut.text if cut else data
        if self._cuts is None or not name.lower().endswith(".csv"):
            return text
        if has_one_line_rows(text):
            self._texts[parts] = name, cut.rest if cut else digest_lines(data)
            self.miscut = self.miscut or (cut is not None and cut.whole != sha256(data).digest())
        else:
            self.miscut = self.miscut or cut is not None
        return text


_EMPTY_HINT = "check its content; if it is meant to be empty, remove it from the manifest"
