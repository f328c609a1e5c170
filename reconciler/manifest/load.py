"""Manifests and rosters of a project become typed documents, with every mistake in them at once.

In order, for each file: read, parsed (`tree.py`), variables filled in (`variables.py`), checked
(`check.py`), flattened (`flatten.py`, `roster.py`, `payload.py`). What files say together is the
business of `core/declared/resolve.py`. Turning the cyclic collector off meanwhile is the caller's.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from reconciler.directories.reading import ReadOnce
from reconciler.errors import Problem
from reconciler.manifest.entries import Steps, by_plural, entries, entry_subject, sections
from reconciler.manifest.files import FileId, Unreadable, ids_of
from reconciler.manifest.flatten import Flattener
from reconciler.manifest.ignores import ignore_problems, ignored_secrets, known_fields
from reconciler.manifest.payload import payload
from reconciler.manifest.prune import NO_WORKSPACE, readable
from reconciler.manifest.readlog import ReadLog
from reconciler.manifest.rosters.roster import Roster
from reconciler.manifest.rosters.tables import Tables
from reconciler.manifest.schema.check import mistakes
from reconciler.manifest.sources import ManifestFile, find, read
from reconciler.manifest.variables import Unset, Variables, substitute
from reconciler.model.documents import ROWS_MAX, Content, Document, InputFile, Manifest, Place, Removed
from reconciler.model.kind import Kind
from reconciler.model.kinds import CONTACT
from reconciler.model.notices import Notice
from reconciler.model.settings import NO_FILES, VariableFiles
from reconciler.parsing.tree import Tree, read_tree

_ENTRY_STEPS = 2  # section and name: where a name that occurs twice is checked both times
_TURNS_MAX = 5  # sections inside each other: rosters, contacts, messagingOptions, channel, and the rest
_DEFINITIONS = (CONTACT.name, f"{CONTACT.name}Defaults", f"roster{CONTACT.title}")


class FileRead(Struct, frozen=True):
    """What was read for one manifest: the SHA-256 of its bytes and their number, and those of its rosters.

    `rosters` are by their components from the root, `rows` those of all of them. `plain`: everything that it
    declares follows from these bytes, and from no variable, no other file and no directory.
    """

    file: str
    digest: bytes
    size: int
    rosters: Mapping[tuple[str, ...], bytes] = {}
    rows: int = 0
    plain: bool = True


class Loaded(Struct, frozen=True):
    """What the files hold. With `problems`, `manifests` are what could be read, and no more than checked.

    `unset` are variables that are not set; the problem of each is among the others, and so are those of
    `failed`, of directories that did not answer. `read` tells of each of the manifests what it was read from;
    `unasked` are the directories that were not asked, with a place that names each. `files` is everything
    that was read, where a commit may hold it.
    """

    manifests: tuple[Manifest, ...]
    problems: tuple[Problem, ...]
    unset: tuple[Unset, ...] = ()
    read: tuple[FileRead, ...] = ()
    failed: tuple[Problem, ...] = ()
    unasked: Mapping[str, Place] = {}
    files: tuple[InputFile, ...] = ()

    @property
    def unchecked(self) -> Iterator[Notice]:
        """Say what is not checked, because a variable is not set or a directory was not asked."""
        for name, problem in self.unset:
            at = Place(problem.file, problem.line, problem.column)
            what = "this variable is not set, so its value is not checked."
            yield Notice("value", name, what, problem.next, str(at))
        for name, place in self.unasked.items():
            what = "this directory was not asked, so its people are not checked."
            yield Notice(
                "value", f"directory {name}", what, "validate without --without-variables", str(place)
            )

    @property
    def documents(self) -> int:
        """How many entries and rows were read."""
        return sum(len(manifest.documents) for manifest in self.manifests)


def load(
    sources: Sequence[Path],
    *,
    root: Path,
    environ: Mapping[str, str],
    variables: Sequence[str],
    variable_files: VariableFiles = NO_FILES,
    extra_contact_fields: Sequence[str] = (),
    private: Sequence[Path] = (),
    chosen: Collection[str] | None = None,
    directories: ReadOnce | None = None,
) -> Loaded:
    """Return everything that the manifests under `sources` say, in the order of their names.

    `sources` are files or folders, relative to `root` or absolute. `variables` are globs of names
    in `environ`, else in `variable_files`, that manifests may read; `private` files that none may name;
    `chosen` the names of the only manifests to be read; `directories` those that rosters may come from.
    Problems are sorted by file and line; never an exception for anything that a file or a directory holds.
    """
    real_root = root.resolve()
    log = ReadLog(real_root)
    found, problems = find(sources, real_root, log)
    kept = ids_of((*private, *(source.path for source in found)))
    tables = Tables(real_root, kept, directories or ReadOnce({}), log)
    variable_files.begin()
    known = Variables(environ, variables, variable_files)
    loader = _Loader(real_root, known, tuple(extra_contact_fields), kept, tables, log=log)
    asked = (source for source in found if chosen is None or source.name in chosen)
    manifests = [manifest for manifest in map(loader.manifest, asked) if manifest is not None]
    mistakes = {*problems, *loader.problems, *tables.problems}
    unset = tuple(sorted(loader.unset, key=_place_of))
    if unset and variable_files.problems:
        # A variable that could not be read because of its file is one mistake, that of the file.
        mistakes = {*variable_files.problems, *mistakes} - {one.problem for one in unset}
        unset = ()
    every = sorted(
        mistakes,
        key=lambda problem: (problem.file, problem.line, problem.column, problem.what),
    )
    files = (*log.files, *variable_files.inputs)
    read = tuple(loader.read)
    return Loaded(tuple(manifests), tuple(every), unset, read, tuple(tables.failed), tables.unasked, files)


class _Loader:
    def __init__(
        self,
        root: Path,
        variables: Variables,
        extra: tuple[str, ...],
        private: frozenset[FileId],
        tables: Tables,
        *,
        log: ReadLog | None = None,
    ) -> None:
        self.root = root
        self.log = log
        self.variables = variables
        self.extras = extras_of(extra)
        self.private = private
        self.problems: list[Problem] = []
        self.unset: list[Unset] = []
        self.read: list[FileRead] = []
        self.known = known_fields(self.extras)
        self.tables = tables
        self.payloads: dict[tuple[Path, str], Content | Unreadable] = {}
        self.rows_left = ROWS_MAX  # of all rosters; one that is named twice makes its contacts twice
        self.unnamed = 0  # files whose workspace could not be read

    def manifest(self, source: ManifestFile) -> Manifest | None:
        data = read(source, self.log)
        if isinstance(data, Problem):
            self.problems.append(data)
            return None
        tree = read_tree(data, source.name, subject=entry_subject)
        self.problems.extend(tree.problems)
        if tree.broken:
            return None
        if b"${" in data:
            spared = ignored_secrets(tree)
            filled = substitute(tree, self.variables)
            unset = [one for one in filled.unset if one.at not in spared]
            mild = {one.problem for one in filled.unset} - {one.problem for one in unset}
            self.problems.extend(one for one in filled.problems if one not in mild)
            self.unset.extend(unset)
            tree = replace(tree, hidden=filled.hidden, problems=(*tree.problems, *filled.problems))
        self.tables.begin()
        rows_left = self.rows_left
        manifest = self._manifest(tree, source.folder)
        if manifest is not None:
            self.read.append(self._file_read(source.name, data, manifest, rows_left - self.rows_left))
        return manifest

    def _file_read(self, name: str, data: bytes, manifest: Manifest, rows: int) -> FileRead:
        rosters = self.tables.digests
        return FileRead(
            file=name,
            digest=sha256(data).digest(),
            size=len(data) + sum(size for _, size in rosters.values()),
            rosters={parts: digest for parts, (digest, _) in rosters.items()},
            rows=rows,
            plain=b"${" not in data
            and self.tables.of_files
            and all(one.content is None for one in manifest.documents),
        )

    def _manifest(self, tree: Tree, folder: Path, *, again: bool = False) -> Manifest | None:
        """Return what can be relied upon of a tree; None where even its version is another one."""
        rest, unread = self._readable(tree, again=again)
        if ("version",) in unread and not again:
            return None
        manifest = self._built(rest, folder, unread, again=again)
        for one in tree.again:
            if len(one.path) == _ENTRY_STEPS and one.path[0] in sections():
                aside = self._manifest(tree.aside(one), folder, again=True)
                if aside is not None:
                    manifest = structs.replace(manifest, documents=(*manifest.documents, *aside.documents))
        return manifest

    def _readable(self, tree: Tree, *, again: bool) -> tuple[Tree, frozenset[Steps]]:
        """Return what fits the schema of a tree, and what does not; every mistake becomes a problem.

        A section under a misspelt key is taken for the one that was meant, and checked in its turn.
        """
        unread: frozenset[Steps] = frozenset()
        renamed: frozenset[Steps] = frozenset()
        refused = bool(tree.problems)
        for turn in range(_TURNS_MAX):
            found = mistakes("manifest", tree, extras=self.extras, subject=entry_subject)
            if again:  # what is wrong with the name itself was said where it stands first
                found = tuple(one for one in found if not (one.name and len(one.path) == _ENTRY_STEPS))
            self.problems.extend(one.problem for one in found if not turn or _below(one.path, renamed))
            if not refused and all(one.name for one in found):
                break
            refused = False
            tree, lost, renamed = readable(replace(tree, problems=()), found)
            unread |= lost
        return tree, unread

    def _built(self, tree: Tree, folder: Path, unread: frozenset[Steps], *, again: bool) -> Manifest:
        value = tree.value
        flattener = Flattener(tree, unread, again=again)
        payloads = self._payloads(tree, folder)
        documents: list[Document] = []
        for kind in sections().values():
            documents.extend(flattener.documents(kind, payloads))
            if kind.rosters:
                documents.extend(self._rows(tree, folder, flattener))
        self.problems.extend(ignore_problems(tree, self.known))
        return Manifest(
            file=tree.file,
            workspace=self._workspace(value["workspace"]),
            workspace_place=tree.place(["workspace"]),
            kinds=frozenset(kind.name for kind in sections().values() if _present(kind, value)),
            documents=tuple(documents),
            defaults=flattener.defaults(),
            tags=value.get("tags", {}),
            default_places=flattener.default_places(),
            hidden=tree.hidden,
            removed=tuple(_removed(tree)),
            answers=self.tables.answers,
        )

    def _workspace(self, written: str) -> str:
        """Return the alias; each unread one is another, so that no two files are compared over it."""
        if written == NO_WORKSPACE:
            self.unnamed += 1
            return NO_WORKSPACE * self.unnamed
        return written

    def _rows(self, tree: Tree, folder: Path, flattener: Flattener) -> Iterator[Document]:
        for index, entry in enumerate(tree.value.get("rosters", ())):
            table = self.tables.table(tree, ["rosters", index], entry, folder)
            self.rows_left -= len(table.rows)
            if self.rows_left < 0:
                what = f"the rosters of all manifests have more than {ROWS_MAX:,} rows, which is the limit."
                hint = "a roster counts each time it is named: name it once"
                source = "directory" if "directory" in entry else "file"
                self.problems.append(tree.problem(["rosters", index, source], what, hint, code="E108"))
                return
            roster = Roster(tree, ["rosters", index], table, flattener.lost_in_roster(index))
            yield from roster.documents()
            self.problems.extend(roster.problems)

    def _payloads(self, tree: Tree, folder: Path) -> dict[Steps, Content]:
        found: dict[Steps, Content] = {}
        for kind in sections().values():
            for one in entries(tree.value, kind) if kind.content else ():
                if kind.content in one.body:
                    path = [*one.path, kind.content]
                    content = self._payload(one.body[kind.content], folder)
                    if isinstance(content, Unreadable):
                        front, _ = entry_subject(tree.value, path)
                        what = f"{front}{kind.content}: {content}"
                        self.problems.append(_refused(tree, path, what, content))
                    else:
                        found[one.path] = content
        return found

    def _payload(self, section: dict[str, Any], folder: Path) -> Content | Unreadable:
        """Return what a `content` stands for; a file is read once however often it is named."""
        key = (folder, section["file"]) if "file" in section else None
        if key in self.payloads:
            return self.payloads[key]
        try:
            found: Content | Unreadable = payload(
                section, root=self.root, folder=folder, private=self.private, log=self.log
            )
        except Unreadable as error:
            found = error
        if key:
            self.payloads[key] = found
        return found


def _refused(tree: Tree, path: Sequence[str | int], what: str, error: Unreadable) -> Problem:
    """Return the mistake of a file that `path` names, in that file where a line of it is to be edited."""
    if error.line:
        return Problem(error.file, error.line, 1, what, error.hint, code=error.code)
    return tree.problem(path, what, error.hint, error.code)


def _removed(tree: Tree) -> Iterator[Removed]:
    """Yield every name under `removed:`; of what stands below another one it is `parent/name`."""
    for plural, names in tree.value.get("removed", {}).items():
        for index, text in enumerate(names):
            parent, _, name = text.rpartition("/")
            yield Removed(by_plural()[plural].name, name, tree.place(["removed", plural, index]), parent)


def extras_of(extra: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the fields of a deployment as the schemas want them: by the definitions that they extend."""
    return dict.fromkeys(_DEFINITIONS, tuple(extra)) if extra else {}


def _place_of(unset: Unset) -> tuple[str, int, int, str]:
    return unset.problem.file, unset.problem.line, unset.problem.column, unset.name


def _present(kind: Kind, value: Mapping[str, Any]) -> bool:
    """Whether a manifest has a section of a kind, an empty one too."""
    return kind.plural in value or (kind.rosters and "rosters" in value)


def _below(path: Steps, renamed: frozenset[Steps]) -> bool:
    return any(path[: len(one)] == one for one in renamed)
