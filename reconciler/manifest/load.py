"""Manifests and rosters of a project become typed documents, with every mistake in them at once.

For each file in order: read it (`sources.py`), parse it (`parsing/tree.py`), fill in variables
(`variables.py`), check it (`schema/check.py`), prune its mistakes (`entries.py`), flatten it (`flatten.py`,
`rosters/`, `build_payload` below). `core/desired/resolve.py` then checks the files together. The caller turns
the cyclic garbage collector off meanwhile.
"""

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct, structs

from reconciler.core.desired.isolate import FaultyFile
from reconciler.core.desired.partition import PartSource
from reconciler.directories.answers import ReadOnce
from reconciler.errors import Problem
from reconciler.files.project_files import (
    FileId,
    ReadLog,
    Unreadable,
    identify_files,
    read_below_root,
    resolve_reference,
)
from reconciler.manifest.alike import AlikeReader
from reconciler.manifest.cutting import (
    Cuts,
    CutText,
    EntrySection,
    cut_sections,
    list_proved_texts,
    replace_stand_ins,
)
from reconciler.manifest.entries import (
    NO_WORKSPACE,
    Steps,
    iterate_entries,
    kinds_by_plural,
    name_entry,
    prune_mistakes,
    top_level_kinds,
)
from reconciler.manifest.flatten import (
    Flattener,
    check_ignored_fields,
    find_ignored_secrets,
    list_known_fields,
)
from reconciler.manifest.rosters.roster import Roster
from reconciler.manifest.rosters.roster_sources import RosterTables
from reconciler.manifest.sources import ManifestFile, find_manifests, read_manifest
from reconciler.manifest.variables import ManifestVariables, UnsetVariable, substitute_variables
from reconciler.manifest.workspace_names import find_workspace_names
from reconciler.model.documents import (
    ROWS_MAX,
    ConsentAction,
    ConsentLine,
    Content,
    Document,
    InputFile,
    Manifest,
    Place,
    Removed,
)
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import CONTACT
from reconciler.model.notices import Notice
from reconciler.model.secrets import NO_FILES, VariableFiles
from reconciler.model.settings import Settings
from reconciler.parsing.display import show_value
from reconciler.parsing.standins import find_stand_in
from reconciler.parsing.tree import Tree, read_tree
from reconciler.schema.check import find_mistakes

_ENTRY_STEPS = 2  # section and name; a second entry of the same name is checked too
_TURNS_MAX = 5  # nested sections: rosters, contacts, messagingOptions, channel, and the innermost
_DEFINITIONS = (CONTACT.name, f"{CONTACT.name}Defaults", f"roster{CONTACT.title}")


class FileRead(Struct, frozen=True):
    """What was read for one manifest: the SHA-256 of its bytes, and the bytes of it and its rosters.

    `rosters` are digests by path components from the root. `plain`: what the manifest declares depends on
    these files alone, on no variable, no payload file and no directory. `source` tells where its entries are.
    """

    file: str
    digest: bytes
    size: int
    rosters: Mapping[tuple[str, ...], bytes] = {}
    source: PartSource = PartSource()
    plain: bool = True


class LoadedManifests(Struct, frozen=True):
    """What the files declare. With `problems`, `manifests` hold what is readable, for further checks alone.

    `problems` include those of variables that are not set (`unset`) and of directories that did not answer
    (`failed`). `read` says for each manifest what it was read from. `unasked` are directories that were not
    asked, each with a place that names it. `files` is every file that was read and may be in a commit.
    `faulty` are the manifests with problems, and `others` the problems of no single manifest.
    `miscut`: some file was not as its cut text says, and the result must not be used.
    """

    manifests: tuple[Manifest, ...]
    problems: tuple[Problem, ...]
    unset: tuple[UnsetVariable, ...] = ()
    read: tuple[FileRead, ...] = ()
    failed: tuple[Problem, ...] = ()
    unasked: Mapping[str, Place] = {}
    files: tuple[InputFile, ...] = ()
    faulty: tuple[FaultyFile, ...] = ()
    others: tuple[Problem, ...] = ()
    miscut: bool = False

    @property
    def unchecked(self) -> Iterator[Notice]:
        """A notice for each value without a check: a variable is not set, or a directory was not asked."""
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
        """The number of entries and rows that were read."""
        return sum(len(manifest.documents) for manifest in self.manifests)


def load_manifests(
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
    cuts: Cuts | None = None,
) -> LoadedManifests:
    """Return the documents of all manifests under `sources`, in the order of file names.

    `sources` are files or folders, relative to `root` or absolute. Manifests may read variables whose names
    match a glob in `variables`, from `environ`, else from `variable_files`; they may not name a `private`
    file. With `chosen`, only manifests of these names are read. Rosters may come from `directories`.
    With `cuts`, it is noted where entries stand, and of files that are cut the rest is read alone. Problems
    are sorted by file and line; nothing that a file or a directory contains raises an exception.
    """
    real_root = root.resolve()
    log = ReadLog(real_root)
    found, problems = find_manifests(sources, real_root, log)
    forbidden = identify_files((*private, *(source.path for source in found)))
    tables = RosterTables(real_root, forbidden, directories or ReadOnce({}), log, cuts)
    variable_files.begin()
    known = ManifestVariables(environ, variables, variable_files)
    loader = _Loader(real_root, known, tuple(extra_contact_fields), forbidden, tables, log=log, cuts=cuts)
    asked = (source for source in found if chosen is None or source.name in chosen)
    manifests = [manifest for manifest in map(loader.load_file, asked) if manifest is not None]
    mistakes = {*problems, *loader.problems, *tables.problems}
    unset = tuple(sorted(loader.unset, key=_sort_key))
    if unset and variable_files.problems:
        # Where a file of variables cannot be read, only the mistake of that file is reported.
        mistakes = {*variable_files.problems, *mistakes} - {one.problem for one in unset}
        unset = ()
    every = sorted(
        mistakes,
        key=lambda problem: (problem.file, problem.line, problem.column, problem.what),
    )
    files = (*log.files, *variable_files.inputs)
    read = tuple(loader.read)
    attributed = {problem for one in loader.faulty for problem in one.problems}
    return LoadedManifests(
        tuple(manifests),
        tuple(every),
        unset,
        read,
        tuple(tables.failed),
        tables.unasked,
        files,
        tuple(loader.faulty),
        tuple(one for one in every if one not in attributed),
        loader.miscut or tables.miscut,
    )


class _Loader:
    def __init__(
        self,
        root: Path,
        variables: ManifestVariables,
        extra: tuple[str, ...],
        private: frozenset[FileId],
        tables: RosterTables,
        *,
        log: ReadLog | None = None,
        cuts: Cuts | None = None,
    ) -> None:
        self.root = root
        self.cuts = cuts
        self.miscut = False
        self.log = log
        self.variables = variables
        self.extras = extend_contact_schemas(extra)
        self.private = private
        self.problems: list[Problem] = []
        self.unset: list[UnsetVariable] = []
        self.read: list[FileRead] = []
        self.known = list_known_fields(self.extras)
        self.tables = tables
        self.payloads: dict[tuple[Path, str], Content | Unreadable] = {}
        self.reader = AlikeReader()
        self.rows_left = ROWS_MAX  # of all rosters; one that is named twice makes its contacts twice
        self.unnamed = 0  # files whose workspace could not be read
        self.faulty: list[FaultyFile] = []

    def load_file(self, source: ManifestFile) -> Manifest | None:
        data = read_manifest(source, self.log)
        if isinstance(data, Problem):
            self.problems.append(data)
            return None
        before = len(self.problems)
        self.tables.begin_manifest()
        manifest = self._load_data(source, data)
        problems = {*self.problems[before:], *self.tables.manifest_problems}
        if problems:
            failed = problems.intersection(self.tables.failed)
            names = find_workspace_names(data)
            if manifest is not None and len(names) <= 1:
                # The parser knows it where the text alone is not plain.
                odd = not names and data.count(b"workspace") > 1
                unread = odd or manifest.workspace.startswith(NO_WORKSPACE)
                names = names if unread else frozenset({manifest.workspace})
            self.faulty.append(FaultyFile(source.name, names, tuple(problems), frozenset(failed)))
        return manifest

    def _load_data(self, source: ManifestFile, data: bytes) -> Manifest | None:
        cut = self.cuts.manifests.get(source.name) if self.cuts else None
        is_json = source.name.lower().endswith(".json")
        sections = cut.sections if cut else () if is_json else cut_sections(data)
        tree = (
            self._read_cut(cut, data, source.name) if cut else self.reader.read(data, source.name, sections)
        )
        self.problems.extend(tree.problems)
        if tree.broken:
            return None
        if b"${" in data:
            ignored = find_ignored_secrets(tree)
            filled = substitute_variables(tree, self.variables)
            unset = [one for one in filled.unset if one.at not in ignored]
            harmless = {one.problem for one in filled.unset} - {one.problem for one in unset}
            self.problems.extend(one for one in filled.problems if one not in harmless)
            self.unset.extend(unset)
            tree = replace(tree, hidden=filled.hidden, problems=(*tree.problems, *filled.problems))
        rows_left = self.rows_left
        manifest = self._build_manifest(tree, source.folder)
        if manifest is not None:
            rows = rows_left - self.rows_left
            self.read.append(self._describe_read(tree, data, manifest, cut, sections, rows=rows))
        return manifest

    def _read_cut(self, cut: CutText, data: bytes, name: str) -> Tree:
        """Return the tree of what is left of a manifest."""
        tree = read_tree(cut.text, name, subject=name_entry)
        found = replace_stand_ins(tree, cut.stand_ins, repeat((), len(cut.stand_ins)))
        if found is None or cut.whole != sha256(data).digest():
            self.miscut = True
            return Tree(name, {}, broken=True)
        return found

    def _describe_read(
        self,
        tree: Tree,
        data: bytes,
        manifest: Manifest,
        cut: CutText | None,
        sections: Sequence[EntrySection],
        *,
        rows: int,
    ) -> FileRead:
        name, rosters = tree.file, self.tables.digests
        source = PartSource(rows)
        if self.cuts is not None and not tree.problems:
            texts = {
                name: list_proved_texts(data, sections, tree, manifest.documents, cut),
                **self.tables.texts,
            }
            said = (manifest.workspace, manifest.defaults, manifest.tags, tree.value.get("rosters", ()))
            source = PartSource(rows, sha256(encode_json(said)).digest(), tree.nodes, texts)
        return FileRead(
            file=name,
            digest=sha256(data).digest(),
            size=len(data) + sum(size for _, size in rosters.values()),
            rosters={parts: digest for parts, (digest, _) in rosters.items()},
            source=source,
            plain=b"${" not in data
            and self.tables.uses_only_files
            and all(one.content is None for one in manifest.documents),
        )

    def _build_manifest(self, tree: Tree, folder: Path, *, again: bool = False) -> Manifest | None:
        """Return the valid part of a tree as a manifest; None where its version is unknown."""
        valid, unread = self._prune_tree(tree, again=again)
        if ("version",) in unread and not again:
            return None
        manifest = self._flatten_tree(valid, folder, unread, again=again)
        for one in tree.again:
            if len(one.path) == _ENTRY_STEPS and one.path[0] in top_level_kinds():
                second = self._build_manifest(tree.with_second_value(one), folder, again=True)
                if second is not None:
                    manifest = structs.replace(manifest, documents=(*manifest.documents, *second.documents))
        return manifest

    def _prune_tree(self, tree: Tree, *, again: bool) -> tuple[Tree, frozenset[Steps]]:
        """Return the part of a tree that fits the schema, and the paths of the rest; report every mistake.

        A section under a misspelt key counts as the section with the correct key, and is checked as such.
        """
        unread: frozenset[Steps] = frozenset()
        renamed: frozenset[Steps] = frozenset()
        refused = bool(tree.problems)
        for turn in range(_TURNS_MAX):
            found = find_mistakes("manifest", tree, extras=self.extras, subject=name_entry)
            if again:  # a mistake in the name itself was reported at its first entry
                found = tuple(one for one in found if not (one.name and len(one.path) == _ENTRY_STEPS))
            self.problems.extend(one.problem for one in found if not turn or _is_below(one.path, renamed))
            if not refused and all(one.name for one in found):
                break
            refused = False
            tree, lost, renamed = prune_mistakes(replace(tree, problems=()), found)
            unread |= lost
        return tree, unread

    def _flatten_tree(self, tree: Tree, folder: Path, unread: frozenset[Steps], *, again: bool) -> Manifest:
        value = tree.value
        flattener = Flattener(tree, unread, again=again)
        payloads = self._load_payloads(tree, folder)
        documents: list[Document] = []
        for kind in top_level_kinds().values():
            documents.extend(flattener.documents(kind, payloads))
            if kind.rosters:
                documents.extend(self._load_rosters(tree, folder, flattener))
        self.problems.extend(check_ignored_fields(tree, self.known))
        return Manifest(
            file=tree.file,
            workspace=self._workspace_alias(value["workspace"]),
            workspace_place=tree.place(["workspace"]),
            kinds=frozenset(
                kind.name
                for kind in top_level_kinds().values()
                if kind.plural in value or (kind.rosters and "rosters" in value)
            ),
            documents=tuple(documents),
            defaults=flattener.defaults(),
            tags=value.get("tags", {}),
            default_places=flattener.default_places(),
            hidden=tree.hidden,
            removed=tuple(_list_removed(tree)),
            consents=tuple(_list_consents(tree)),
            answers=self.tables.answers,
        )

    def _workspace_alias(self, written: str) -> str:
        """Return the alias; each unreadable one is unique, so that such files are not compared."""
        if written == NO_WORKSPACE:
            self.unnamed += 1
            return NO_WORKSPACE * self.unnamed
        return written

    def _load_rosters(self, tree: Tree, folder: Path, flattener: Flattener) -> Iterator[Document]:
        for index, entry in enumerate(tree.value.get("rosters", ())):
            table = self.tables.table(tree, ["rosters", index], entry, folder)
            self.rows_left -= len(table.rows)
            if self.rows_left < 0:
                what = f"the rosters of all manifests have more than {ROWS_MAX:,} rows, which is the limit."
                hint = "a roster counts each time it is named: name it once"
                source = "directory" if "directory" in entry else "file"
                self.problems.append(tree.problem(["rosters", index, source], what, hint, code="E108"))
                return
            roster = Roster(tree, ["rosters", index], table, flattener.unread_in_roster(index))
            yield from roster.documents()
            self.problems.extend(roster.problems)

    def _load_payloads(self, tree: Tree, folder: Path) -> dict[Steps, Content]:
        found: dict[Steps, Content] = {}
        for kind in top_level_kinds().values():
            for one in iterate_entries(tree.value, kind) if kind.content else ():
                if kind.content in one.body:
                    path = [*one.path, kind.content]
                    content = self._load_payload(one.body[kind.content], folder)
                    if isinstance(content, Unreadable):
                        front, _ = name_entry(tree.value, path)
                        what = f"{front}{kind.content}: {content}"
                        self.problems.append(_content_problem(tree, path, what, content))
                    else:
                        found[one.path] = content
        return found

    def _load_payload(self, section: dict[str, Any], folder: Path) -> Content | Unreadable:
        """Return the payload of a `content`; each file is read once."""
        key = (folder, section["file"]) if "file" in section else None
        if key in self.payloads:
            return self.payloads[key]
        try:
            found: Content | Unreadable = build_payload(
                section, root=self.root, folder=folder, private=self.private, log=self.log
            )
        except Unreadable as error:
            found = error
        if key:
            self.payloads[key] = found
        return found


def _content_problem(tree: Tree, path: Sequence[str | int], what: str, error: Unreadable) -> Problem:
    """Return the mistake of a payload file: at its line where it has one, else at `path` in the manifest."""
    if error.line:
        return Problem(error.file, error.line, 1, what, error.hint, code=error.code)
    return tree.problem(path, what, error.hint, error.code)


def _list_removed(tree: Tree) -> Iterator[Removed]:
    """Yield every name under `removed:`. A child is written as `parent/name`."""
    for plural, names in tree.value.get("removed", {}).items():
        for index, text in enumerate(names):
            parent, _, name = text.rpartition("/")
            yield Removed(
                kinds_by_plural()[plural].name, name, tree.place(["removed", plural, index]), parent
            )


def _list_consents(tree: Tree) -> Iterator[ConsentLine]:
    """Yield every address under `consent:`. An item without an end or a reason is a mistake of the schema."""
    for index, item in enumerate(tree.value.get("consent", ())):
        if not {"until", "reason"} <= item.keys():
            continue
        for action in get_args(ConsentAction):
            for number, text in enumerate(item.get(action, ())):
                yield ConsentLine(
                    action,
                    text,
                    item["until"],
                    item["reason"],
                    tree.place(["consent", index, action, number]),
                    tree.place(["consent", index, "until"]),
                    tree.place(["consent", index, "reason"]),
                )


def extend_contact_schemas(extra: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the extra fields of a deployment by the schema definitions that they extend."""
    return dict.fromkeys(_DEFINITIONS, tuple(extra)) if extra else {}


def _sort_key(unset: UnsetVariable) -> tuple[str, int, int, str]:
    return unset.problem.file, unset.problem.line, unset.problem.column, unset.name


def _is_below(path: Steps, renamed: frozenset[Steps]) -> bool:
    return any(path[: len(one)] == one for one in renamed)


# --- The payload of a resource: from a file, from text, or rendered from rows ---------------------
#
# Cells are written unchanged, quoted as RFC 4180 says and no more: a leading `+` is a phone number here, and
# programs read this file.


# Content travels in base64, four bytes for three, in a request of at most 10,485,760 bytes, of which
# 10 KiB are kept for the other fields. Beyond it the service answers 413 in the middle of an apply.
PAYLOAD_BYTES_MAX = (10 * 1024 * 1024 - 10 * 1024) // 4 * 3


def build_payload(
    section: dict[str, Any],
    *,
    root: Path,
    folder: Path,
    private: frozenset[FileId] = frozenset(),
    log: ReadLog | None = None,
) -> Content:
    """Return the payload of a `content` mapping, which may not name a `private` file. Raises Unreadable."""
    path = ""
    if "file" in section:
        parts = resolve_reference(root, folder, section["file"])
        data = read_below_root(root, parts, bytes_max=PAYLOAD_BYTES_MAX, private=private, log=log)
        path = show_value("/".join(parts), most=400)
        # A pointer of git-lfs or an encrypted file in a checkout is no payload. A PGP message may be one, and
        # so may anything that `text` holds.
        stand_in = find_stand_in(data, armour=False)
        if stand_in is not None:
            what = f"{path} {stand_in.what}."
            raise Unreadable(what, stand_in.hint, file=path, line=stand_in.line, code=stand_in.code)
    elif "text" in section:
        data = section["text"].encode()
    else:
        data = render_rows(section["rows"]).encode()
    if not data:
        hint = "add content; the service does not store empty files"
        raise Unreadable("the payload is empty.", hint, code="E100")
    if len(data) > PAYLOAD_BYTES_MAX:
        what = f"the payload has {len(data):,} bytes; the limit is {PAYLOAD_BYTES_MAX:,}."
        raise Unreadable(what, "make it smaller, or split it", code="E108")
    return Content(data, f"sha256:{sha256(data).hexdigest()}", path)


def render_rows(rows: list[Any]) -> str:
    r"""Return rows as CSV in the form of RFC 4180, but for its line ends: "\n" here, as in git.

    All rows are lists, or all are mappings: then the header holds every key in the order of its
    first use, and a key that a row lacks is an empty cell. Raises Unreadable for a mixture and for
    lists that are not equally long.
    """
    table = _tabulate_mappings(rows) if all(isinstance(row, dict) for row in rows) else rows
    if not all(isinstance(row, list) for row in table):
        what = "some rows are lists and some are mappings."
        raise Unreadable(what, "write all rows as lists, or all as mappings", code="E100")
    _require_one_width(table)
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def _require_one_width(table: list[list[str]]) -> None:
    width = len(table[0])
    for number, row in enumerate(table, start=1):
        if len(row) != width:
            what = f"row {number} has {len(row)} cells; the first one has {width}."
            raise Unreadable(what, 'write "" for an empty cell', code="E100")


def _tabulate_mappings(rows: list[dict[str, str]]) -> list[list[str]]:
    header = list(dict.fromkeys(key for row in rows for key in row))
    if len(header) * len(rows) > PAYLOAD_BYTES_MAX:  # each cell takes a byte at least, also an empty one
        what = f"{len(rows):,} rows of {len(header):,} columns are more than {PAYLOAD_BYTES_MAX:,} bytes."
        raise Unreadable(what, "check the keys of the rows: each of them is a column", code="E100")
    return [header, *([row.get(key, "") for key in header] for row in rows)]


def load_project(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    chosen: frozenset[str] | None = None,
    directories: ReadOnce | None = None,
    cuts: Cuts | None = None,
) -> LoadedManifests:
    """Return what the manifests of a project say; with `chosen`, only those of these names.

    `directories` are those of the settings, of which some may have been asked already. `cuts` are what is
    known of the files; None where nothing of them is to be cached.
    """
    return load_manifests(
        [Path(path) for path in settings.manifests],
        root=Path(settings.root),
        environ=environ,
        variables=settings.variables,
        variable_files=settings.variable_files,
        extra_contact_fields=settings.contact_fields,
        private=[Path(path) for path in settings.private_files],
        chosen=chosen,
        directories=directories or ReadOnce(settings.directories),
        cuts=cuts,
    )
