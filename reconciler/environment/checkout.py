"""Whether what a run has read is in the commit that is checked out.

Belongs here: comparing what was read with the files of a commit, and of its submodules. Not here: reading a
repository (repository.py), what counts as the same (core/runs/commit_check.py), and what is done about the
answer. The index is not looked at, so no mark in it hides anything. No command is run for it, git's neither:
a repository's settings, hooks and attributes may name programs.

Whatever keeps a repository from being read is the answer that the commit is not known; it cannot fail a run.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from heapq import heappop, heappush
from pathlib import Path
from typing import Literal

from msgspec import Struct

from reconciler.core.git import read_commit_head
from reconciler.core.runs.commit_check import (
    LINK,
    MODULE,
    POINTER_MAX,
    TreeEntry,
    converts_ends,
    find_unread_manifests,
    is_below_source,
    is_pointer_to,
    matches_with_unix_ends,
    why_not_committed,
    without_generated,
)
from reconciler.environment.repository import (
    NoCommit,
    NoRepository,
    Repository,
    UnreadableRepository,
    find_repository,
    read_remote_addresses,
)
from reconciler.files.project_files import is_in_repository
from reconciler.manifest.sources import MANIFEST_SUFFIXES
from reconciler.model.documents import InputDifference, InputFile, Inputs
from reconciler.model.settings import Settings

_modules_max = 20  # submodules inside each other


class Checkout(Struct, frozen=True):
    """The commit that is checked out, "" where it is not known, and what was read and is not as in it.

    `silent`: a repository is there, and its commit is not known, for a `reason`: nothing was compared.
    `unreadable`: git would know it. `unborn`: the repository can be read, and has no commit at all.
    """

    commit: str = ""
    differences: tuple[InputDifference, ...] = ()
    silent: bool = False
    reason: str = ""
    unreadable: bool = False
    unborn: bool = False

    @property
    def dirty(self) -> bool:
        """Whether something was read that the commit does not hold, or not in this form."""
        return bool(self.differences)


def collect_inputs(settings: Settings, files: Sequence[InputFile] = ()) -> Inputs:
    """Return what a run was made of: its settings, and these files of its manifests.

    Without files no manifest was read, as for an undo: then none is missed either.
    """
    return Inputs(
        files=(*settings.inputs, *files),
        sources=settings.manifests if files else (),
        root=str(Path(settings.root).resolve()),
        settings=settings.file,
        generated=settings.generated,
    )


def read_checkout(root: Path, inputs: Inputs | None = None) -> Checkout:
    """Return the commit of the repository that `root` is in, and which inputs are not as in it."""
    if not is_in_repository(root):
        return Checkout()
    try:
        repository = find_repository(root, os.environ)
        with closing(repository):
            commit = repository.head()
            found = _CommitComparison(inputs).differences(repository, commit) if inputs is not None else ()
            every = tuple(found)
    except (NoRepository, UnreadableRepository) as error:
        return Checkout(
            silent=True,
            reason=str(error),
            unreadable=isinstance(error, UnreadableRepository),
            unborn=isinstance(error, NoCommit),
        )
    if inputs is None:
        return Checkout(commit.hex())
    named = (InputDifference(_path_from(inputs.root or str(root), one.path), one.why) for one in every)
    kept = without_generated(
        named, settings=_path_from(inputs.root, inputs.settings), patterns=inputs.generated
    )
    return Checkout(commit.hex(), kept)


def _path_from(root: str, path: str) -> str:
    return Path(os.path.relpath(path, root)).as_posix() if path else ""


_Named = tuple[str, InputFile]  # a file, with its path from the repository that it is in


class _CommitComparison:
    """What differs between the inputs of a run and a commit, with submodules by the commits that it names."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._modules: dict[tuple[Path, str], str] = {}  # below a repository: the one that a folder is in

    def differences(self, repository: Repository, commit: bytes) -> Iterator[InputDifference]:
        """Yield each difference once, with absolute paths."""
        top = repository.top
        front, inside = f"{top}{os.sep}", list[_Named]()
        for one in self._inputs.files:
            if one.path.startswith(front):
                inside.append((one.path.removeprefix(front).replace(os.sep, "/"), one))
            else:
                yield InputDifference(one.path, "is outside of the repository")
        yield from self._of(repository, commit, inside, depth=0)

    def _of(
        self, repository: Repository, commit: bytes, files: Sequence[_Named], depth: int
    ) -> Iterator[InputDifference]:
        top = repository.top
        sources = [_source_below(top, source) for source in self._inputs.sources]
        wanted = [one for one in sources if one is not None]
        modules: dict[str, list[_Named]] = {}
        own: list[_Named] = []
        for path, file in files:
            module = self._module(top, path.rpartition("/")[0])
            if module:
                modules.setdefault(module, []).append((path.removeprefix(f"{module}/"), file))
            else:
                own.append((path, file))
        read = {path for path, _ in own}
        try:
            tree = repository.files(
                commit, [*read, *modules, *(self._module(top, one) or one for one in wanted)]
            )
            differing = tuple(_find_differing(repository, commit, own, tree))
        except UnreadableRepository as error:
            yield InputDifference(str(top), f"is a repository whose commit cannot be read: {error}")
            return
        finally:
            repository.close()
        yield from differing
        unread = find_unread_manifests(tree, wanted, read, MANIFEST_SUFFIXES)
        yield from (InputDifference(str(top / one.path), one.why) for one in unread)
        for path, entry in tree.items():
            if entry.mode == MODULE and any(is_below_source(path, source) for source in wanted):
                modules.setdefault(path, [])
        for module, inside in modules.items():
            entry_of = tree.get(module)
            if entry_of is None or entry_of.mode != MODULE:
                why = f"is in another repository ({module}), of which the commit names none"
                yield from (InputDifference(one.path, why) for _, one in inside)
            elif depth == _modules_max or not os.path.lexists(top / module / ".git"):
                yield InputDifference(str(top / module), "is a submodule that is not checked out")
            else:
                yield from self._of_module(repository, top / module, entry_of.oid, inside, depth + 1)

    def _of_module(
        self, outer: Repository, place: Path, commit: bytes, files: Sequence[_Named], depth: int
    ) -> Iterator[InputDifference]:
        try:
            module = Repository(place, outer.environ, outer.owners)
        except (NoRepository, UnreadableRepository) as error:
            yield InputDifference(str(place), f"is a submodule that cannot be read: {error}")
            return
        yield from self._of(module, commit, files, depth)

    def _module(self, top: Path, folder: str) -> str:
        """Return the first folder on the way from a repository to one below it that is another one, or ""."""
        if not folder:
            return ""
        if (top, folder) not in self._modules:
            found = self._module(top, folder.rpartition("/")[0])
            here = not found and os.path.lexists(top / folder / ".git")
            self._modules[top, folder] = folder if here else found
        return self._modules[top, folder]


def _source_below(top: Path, source: str) -> str | None:
    """Return a source of manifests as a path from a repository; None where nothing of it is in there."""
    path = Path(source).resolve()
    if top.is_relative_to(path):
        return ""
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else None


def _find_differing(
    repository: Repository, commit: bytes, files: Sequence[_Named], tree: Mapping[str, TreeEntry]
) -> Iterator[InputDifference]:
    """Yield what is not as in a tree. Raises UnreadableRepository."""
    found: dict[str, tuple[str, InputFile]] = {}
    for path, file in files:
        if why := why_not_committed(file, tree.get(path)):
            found[path] = why, file
    there = {path: file for path, (_, file) in found.items() if path in tree}
    ends = [path for path, file in there.items() if matches_with_unix_ends(file, tree[path])]
    if ends:
        for path, attributes in repository.line_ends(commit, ends).items():
            if converts_ends(attributes, repository.autocrlf, text=there[path].text):
                del found[path], there[path]
    for path, file in there.items():
        entry = tree[path]
        if entry.mode not in (LINK, MODULE) and not file.link:
            pointer = repository.small_blob(entry.oid, POINTER_MAX)
            if pointer is not None and is_pointer_to(pointer, file):
                del found[path]
    yield from (InputDifference(file.path, why) for why, file in found.values())


# Whether a commit is behind another one: it is; it certainly is not; or that cannot be known here.
Lineage = Literal["descends", "does not descend", "unknown"]

_commits_max = 200_000  # commits that are read to find one of them; the newest first


def find_lineage(root: Path, commit: str, earlier: str) -> tuple[Lineage, str]:
    """Return whether a commit descends from an earlier one, or is it; and why that is unknown, if it is.

    Both are written in hexadecimal digits.
    """
    try:
        oid, wanted = bytes.fromhex(commit), bytes.fromhex(earlier)
        if oid == wanted:
            return "descends", ""
        with closing(find_repository(root, os.environ)) as repository:
            return _walk_back(repository, oid, wanted)
    except (NoRepository, UnreadableRepository, ValueError) as error:
        return "unknown", str(error)


def _walk_back(repository: Repository, oid: bytes, wanted: bytes) -> tuple[Lineage, str]:
    """Look at the parents of a commit, and theirs, the newest first: the one that is wanted is near."""
    cut = repository.cut_commits()
    left, seen = [(0, oid)], {oid}
    missing = ""
    while left and len(seen) <= _commits_max:
        _, one = heappop(left)
        if one == wanted:
            return "descends", ""
        if one in cut:
            missing = "this clone is shallow: it does not have the commits before"
            continue
        try:
            head = read_commit_head(repository.read_commit(one))
        except UnreadableRepository as error:
            missing = str(error)
            continue
        for parent in head.parents:
            if parent not in seen:
                seen.add(parent)
                heappush(left, (-head.made_at, parent))
    if left:
        return "unknown", f"it is not among the last {_commits_max:,} commits"
    return ("unknown", missing) if missing else ("does not descend", "")


def is_ignored_by_git(path: Path) -> bool:
    """Whether the repository leaves a file alone that is not there yet. False where that cannot be read."""
    folder = path.parent.resolve()
    try:
        with closing(find_repository(folder, os.environ)) as repository:
            below = _source_below(repository.top, str(folder / path.name))
            return below is not None and repository.ignores(below)
    except (NoRepository, UnreadableRepository, OSError, ValueError):
        return False


def is_committed(path: Path) -> bool:
    """Whether the commit that is checked out holds this file. False where that cannot be read."""
    folder = path.parent.resolve()
    try:
        with closing(find_repository(folder, os.environ)) as repository:
            below = _source_below(repository.top, str(folder / path.name))
            return below is not None and below in repository.files(repository.head(), [below])
    except (NoRepository, UnreadableRepository, OSError, ValueError):
        return False


def read_remotes(root: Path) -> tuple[str, ...]:
    """Return the addresses of the remotes of the repository that `root` is in. They may hold a password."""
    return read_remote_addresses(root, os.environ)
