"""Manifests and rosters of a project become typed documents, with every mistake in them at once.

In order, for each file: read, parsed (`tree.py`), variables filled in (`variables.py`), checked
(`check.py`), flattened (`flatten.py`, `roster.py`, `payload.py`). What files say together is the
business of `core/resolve.py`. Turning the cyclic collector off meanwhile is the caller's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from reconciler.errors import Problem
from reconciler.manifest.check import check
from reconciler.manifest.files import Unreadable, place_below, read_below
from reconciler.manifest.flatten import Flattener
from reconciler.manifest.ignores import ignore_problems, known_fields
from reconciler.manifest.payload import payload
from reconciler.manifest.roster import Roster
from reconciler.manifest.sources import Source, find, named, read
from reconciler.manifest.subjects import entity
from reconciler.manifest.table import Table, read_table
from reconciler.manifest.tree import Tree, read_tree
from reconciler.manifest.variables import Variables, substitute
from reconciler.model.documents import Content, Document, Manifest

_DEFINITIONS = ("contact", "contactDefaults", "rosterContact")


class Loaded(Struct, frozen=True):
    """What the files hold. With `problems`, `manifests` are those that could be read completely."""

    manifests: tuple[Manifest, ...]
    problems: tuple[Problem, ...]

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
    extra_contact_fields: Sequence[str] = (),
) -> Loaded:
    """Return everything that the manifests under `sources` say, in the order of their names.

    `sources` are files or folders, relative to `root` or absolute. `variables` are globs of names
    in `environ` that manifests may read. Problems are sorted by file and line; never an exception
    for anything that a file holds.
    """
    real_root = root.resolve()
    found, problems = find(sources, real_root)
    loader = _Loader(real_root, Variables(environ, variables), tuple(extra_contact_fields))
    manifests = [manifest for manifest in map(loader.manifest, found) if manifest is not None]
    every = sorted(
        {*problems, *loader.problems},
        key=lambda problem: (problem.file, problem.line, problem.column, problem.what),
    )
    return Loaded(tuple(manifests), tuple(every))


class _Loader:
    def __init__(self, root: Path, variables: Variables, extra: tuple[str, ...]) -> None:
        self.root = root
        self.variables = variables
        self.extras = dict.fromkeys(_DEFINITIONS, extra) if extra else {}
        self.problems: list[Problem] = []
        self.known = known_fields(self.extras)
        self.tables: dict[tuple[str, ...], Table] = {}

    def manifest(self, source: Source) -> Manifest | None:
        data = read(source)
        if isinstance(data, Problem):
            self.problems.append(data)
            return None
        before = len(self.problems)
        tree = self._checked(read_tree(data, source.name), b"${" in data)
        if len(self.problems) > before:
            return None
        manifest = self._built(tree, source.path.parent)
        return manifest if len(self.problems) == before else None

    def _checked(self, tree: Tree, holds_variables: bool) -> Tree:  # noqa: FBT001 - one caller, one meaning
        self.problems.extend(tree.problems)
        if tree.broken:
            return tree
        if holds_variables:
            hidden, problems = substitute(tree, self.variables)
            self.problems.extend(problems)
            tree = replace(tree, hidden=hidden)
        self.problems.extend(check("manifest", tree, extras=self.extras, subject=entity))
        return tree

    def _built(self, tree: Tree, folder: Path) -> Manifest:
        value = tree.value
        flattener = Flattener(tree)
        documents = [*flattener.contacts(), *self._rows(tree, folder)]
        documents.extend(flattener.resources(self._payloads(tree, folder)))
        self.problems.extend(ignore_problems(tree, self.known))
        present = {"contact": "contacts" in value or "rosters" in value, "resource": "resources" in value}
        return Manifest(
            file=tree.file,
            workspace=value["workspace"],
            workspace_place=tree.place(["workspace"]),
            kinds=frozenset(kind for kind, there in present.items() if there),
            documents=tuple(documents),
            defaults=flattener.defaults(),
            tags=value.get("tags", {}),
        )

    def _rows(self, tree: Tree, folder: Path) -> Iterator[Document]:
        for index, entry in enumerate(tree.value.get("rosters", ())):
            table = self._table(tree, ["rosters", index, "file"], entry["file"], folder)
            if table is not None:
                roster = Roster(tree, ["rosters", index], table)
                yield from roster.documents()
                self.problems.extend(roster.problems)

    def _table(self, tree: Tree, path: list[str | int], written: str, folder: Path) -> Table | None:
        try:
            parts = place_below(self.root, folder, written)
            if parts not in self.tables:
                name = named(self.root.joinpath(*parts), self.root)
                self.tables[parts] = read_table(read_below(self.root, parts), name)
        except Unreadable as error:
            self.problems.append(tree.problem(path, f"the roster {error}", error.hint))
            return None
        table = self.tables[parts]
        self.problems.extend(table.problems)
        return None if table.problems else table

    def _payloads(self, tree: Tree, folder: Path) -> dict[str, Content]:
        found: dict[str, Content] = {}
        bodies: dict[str, dict[str, Any]] = tree.value.get("resources", {})
        for name, body in bodies.items():
            if "content" in body:
                path: list[str | int] = ["resources", name, "content"]
                try:
                    found[name] = payload(body["content"], root=self.root, folder=folder)
                except Unreadable as error:
                    front, _ = entity(tree.value, path)
                    self.problems.append(tree.problem(path, f"{front}content: {error}", error.hint))
        return found
