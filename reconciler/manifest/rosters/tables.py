"""The tables that manifests name, each read once: of a file, of a sheet of one, of a directory.

Belongs here: which table an entry of `rosters` means, and the words where there is none. Not here: how a form
is read (reading.py), how a directory is asked (directories/), what rows mean (roster.py).
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from reconciler.directories.answers import DirectoryFailed
from reconciler.directories.reading import ReadOnce
from reconciler.errors import Problem
from reconciler.files.project_files import (
    ROSTER_BYTES_MAX,
    FileId,
    ReadLog,
    Unreadable,
    read_below_root,
    resolve_reference,
)
from reconciler.manifest.rosters.answered import table_of, told
from reconciler.manifest.rosters.reading import has_sheets, read_roster
from reconciler.manifest.rosters.table import Table, no_table
from reconciler.manifest.sources import display_path
from reconciler.model.documents import DirectoryAnswer, Place
from reconciler.parsing.tree import Tree


class Tables:
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
        self._tables: dict[tuple[tuple[str, ...], str], Table | Unreadable] = {}  # by file and sheet
        self._digests: dict[tuple[str, ...], tuple[bytes, int]] = {}  # of each file: the SHA-256, and bytes
        self._answered: dict[str, Table] = {}
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

    def table(self, tree: Tree, path: list[str | int], entry: Mapping[str, Any], folder: Path) -> Table:
        """Return the table that an entry names; an empty one where there is none, which is a problem then."""
        if "directory" in entry:
            table = self._of_directory(tree, [*path, "directory"], entry["directory"])
        else:
            table = self._of_file(tree, [*path, "file"], entry, folder)
        if "sheet" in entry and table.named and not has_sheets(entry.get("file", "")):
            what = "`sheet` is for .xlsx files; this roster has none."
            self.problems.append(tree.problem([*path, "sheet"], what, "remove the line", code="E511"))
        return table

    def _of_file(self, tree: Tree, path: list[str | int], entry: Mapping[str, Any], folder: Path) -> Table:
        table = self._read_once(folder, entry["file"], entry.get("sheet", ""))
        if isinstance(table, Unreadable):
            self.problems.append(tree.problem(path, f"the roster {table}", table.hint, table.code))
            return no_table(tree.file)
        return table

    def _of_directory(self, tree: Tree, path: list[str | int], name: str) -> Table:
        self._asked[name] = None
        known = self._directories.known
        if name not in known:
            self.problems.append(tree.problem(path, *self._directories.unknown(name), code="E515"))
            return no_table(tree.file)
        if not self._directories.asks:
            self.unasked.setdefault(name, tree.place(path))
            return no_table(tree.file)
        try:
            answer = self._directories.answer(name)
        except DirectoryFailed as failed:
            what = f"the directory {name} ({known[name].place}) cannot be taken from: {failed}"
            problem = tree.problem(path, what, failed.hint, code="E514")
            self.problems.append(problem)
            self.failed.append(problem)
            return no_table(tree.file)
        if not answer.rows:
            what = f"the directory {name} ({known[name].place}) answers nobody."
            self.problems.append(tree.problem(path, what, _NOBODY, code="E515"))
            return no_table(tree.file)
        if name not in self._answered:
            table = self._answered[name] = table_of(
                answer,
                lambda row: self._directories.place_of(name, row),
                mend=self._directories.cell_mend(name),
            )
            self.problems.extend(table.problems)
            if not table.problems:
                self._numbers[name] = told(name, table)
        return self._answered[name]

    def _read_once(self, folder: Path, written: str, sheet: str) -> Table | Unreadable:
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


_NOBODY = "look what it holds; to declare nobody by it, take it out of the manifest"
