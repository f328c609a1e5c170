"""Whether what a run has read is in the commit that is checked out, as far as git says.

Belongs here: asking git so that nothing which the repository configures runs, and nothing is fetched. Not
here: what counts as the same (core/runs/committed.py), and what is done about the answer. Git is asked for
the names and ids of a commit's files; the index is not looked at, so no mark in it hides anything.

Whatever keeps git from answering at all (no git, no repository, a folder of another user) is the answer that
the commit is not known; it cannot fail a run.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from reconciler.core.runs.committed import (
    LINK,
    MODULE,
    POINTER_MAX,
    Attributes,
    TreeEntry,
    converts_ends,
    differs,
    fits_with_unix_ends,
    is_looked_at,
    is_pointer_to,
    unread_manifests,
    without_generated,
)
from reconciler.manifest.readlog import is_in_repository
from reconciler.manifest.sources import SUFFIXES
from reconciler.model.inputs import InputDifference, InputFile, Inputs
from reconciler.model.settings import Settings

git_timeout_s = 2.0
tree_timeout_s = 20.0  # the names of a commit's files: 100,000 take 0.2 s
_paths_max = 60  # as many are named to git; beyond that their folders are
_modules_max = 20  # submodules inside each other

# No watcher, no hook, no lock on the index.
_QUIET = (
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never"),
)
# A partial clone fetches what it lacks by a command of its own settings: no protocol is allowed, and settings
# of the repository cannot lift that. No object replaces a commit, and a path is no pattern.
_SAFE = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
# Variables that git sets for its hooks: they name another repository than the one of the folder.
_OF_HOOKS = {
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
}
# Where git is, whose it is, and where that person's settings are.
_FOUND_BY = {
    *("PATH", "HOME", "LANG", "XDG_CONFIG_HOME", "SUDO_UID"),
    *("PATHEXT", "SYSTEMROOT", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "PROGRAMDATA"),  # Windows
}


class Checkout(Struct, frozen=True):
    """The commit that is checked out, "" where it is not known, and what was read and is not as in it.

    `silent`: a repository is there, and git does not say which commit it is at: nothing was compared.
    """

    commit: str = ""
    differences: tuple[InputDifference, ...] = ()
    silent: bool = False

    @property
    def dirty(self) -> bool:
        """Whether something was read that the commit does not hold, or not in this form."""
        return bool(self.differences)


def inputs_of(settings: Settings, files: Sequence[InputFile] = ()) -> Inputs:
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
    """Return what git says of the repository that `root` is in, and of inputs, whose paths are from there."""
    if not is_in_repository(root):
        return Checkout()
    said = _git(root, "rev-parse", "--show-toplevel", "HEAD^{commit}").rstrip("\n")
    top, _, commit = said.rpartition("\n")
    if not top:
        return Checkout(silent=True)
    if inputs is None:
        return Checkout(commit)
    found = _Comparison(inputs).differences(Path(top), commit)
    named = (InputDifference(_from(inputs.root or str(root), one.path), one.why) for one in found)
    kept = without_generated(named, settings=_from(inputs.root, inputs.settings), patterns=inputs.generated)
    return Checkout(commit, kept)


def _from(root: str, path: str) -> str:
    return Path(os.path.relpath(path, root)).as_posix() if path else ""


_Named = tuple[str, InputFile]  # a file, with its path from the repository that it is in


class _Comparison:
    """What differs between the inputs of a run and a commit, with submodules by the commits that it names."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._modules: dict[tuple[Path, str], str] = {}  # below a repository: the one that a folder is in

    def differences(self, top: Path, commit: str) -> Iterator[InputDifference]:
        """Yield each difference once, with absolute paths."""
        front, inside = f"{top}{os.sep}", list[_Named]()
        for one in self._inputs.files:
            if one.path.startswith(front):
                inside.append((one.path.removeprefix(front).replace(os.sep, "/"), one))
            else:
                yield InputDifference(one.path, "is outside of the repository")
        yield from self._of(top, commit, inside, depth=0)

    def _of(self, top: Path, commit: str, files: Sequence[_Named], depth: int) -> Iterator[InputDifference]:
        sources = [_below(top, source) for source in self._inputs.sources]
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
        tree = _tree(top, commit, [*read, *modules, *(self._module(top, one) or one for one in wanted)])
        if tree is None:
            yield InputDifference(str(top), "is a repository of which git cannot read this commit")
            return
        yield from _differing(top, own, tree)
        unread = unread_manifests(tree, wanted, read, SUFFIXES)
        yield from (InputDifference(str(top / one.path), one.why) for one in unread)
        for path, entry in tree.items():
            if entry.mode == MODULE and any(is_looked_at(path, source) for source in wanted):
                modules.setdefault(path, [])
        for module, inside in modules.items():
            entry_of = tree.get(module)
            if entry_of is None or entry_of.mode != MODULE:
                why = f"is in another repository ({module}), of which the commit names none"
                yield from (InputDifference(one.path, why) for _, one in inside)
            elif depth == _modules_max or not os.path.lexists(top / module / ".git"):
                yield InputDifference(str(top / module), "is a submodule that is not checked out")
            else:
                yield from self._of(top / module, entry_of.oid.hex(), inside, depth + 1)

    def _module(self, top: Path, folder: str) -> str:
        """Return the first folder on the way from a repository to one below it that is another one, or ""."""
        if not folder:
            return ""
        if (top, folder) not in self._modules:
            found = self._module(top, folder.rpartition("/")[0])
            here = not found and os.path.lexists(top / folder / ".git")
            self._modules[top, folder] = folder if here else found
        return self._modules[top, folder]


def _below(top: Path, source: str) -> str | None:
    """Return a source of manifests as a path from a repository; None where nothing of it is in there."""
    path = Path(source).resolve()
    if top.is_relative_to(path):
        return ""
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else None


def _differing(
    top: Path, files: Sequence[_Named], tree: Mapping[str, TreeEntry]
) -> Iterator[InputDifference]:
    """Yield what is not as in a tree; git is asked once for all line ends, and once for all pointers."""
    found: dict[str, tuple[str, InputFile]] = {}
    for path, file in files:
        if why := differs(file, tree.get(path)):
            found[path] = why, file
    there = {path: file for path, (_, file) in found.items() if path in tree}
    ends = [path for path, file in there.items() if fits_with_unix_ends(file, tree[path])]
    if ends:
        autocrlf = _git(top, "config", "--get", "core.autocrlf").strip()
        for path, said in _attributes(top, ends).items():
            if converts_ends(said, autocrlf, text=there[path].text):
                del found[path], there[path]
    others = {path: tree[path].oid for path in there if tree[path].mode not in (LINK, MODULE)}
    for path, pointer in _small_blobs(top, others).items():
        if is_pointer_to(pointer, there[path]):
            del found[path]
    yield from (InputDifference(file.path, why) for why, file in found.values())


def _tree(top: Path, commit: str, paths: Iterable[str]) -> dict[str, TreeEntry] | None:
    """Return the files of a commit at and below these paths; None where git cannot tell."""
    wanted = set(paths)
    if len(wanted) > _paths_max:
        wanted = {path.partition("/")[0] for path in wanted}
    if len(wanted) > _paths_max or "" in wanted:
        wanted = set()
    said = _output(
        top,
        [*_QUIET, "ls-tree", "-r", "-z", "--full-tree", commit, "--", *sorted(wanted)],
        timeout_s=tree_timeout_s,
    )
    if said is None:
        return None
    rows = (one.partition(b"\t") for one in said.split(b"\0") if one)
    return {os.fsdecode(path): _entry(head) for head, _, path in rows}


def _entry(head: bytes) -> TreeEntry:
    mode, _, oid = head.split(b" ")
    return TreeEntry(mode.decode(), bytes.fromhex(oid.decode()))


def _attributes(top: Path, paths: Sequence[str]) -> dict[str, Attributes]:
    given = b"\0".join(os.fsencode(path) for path in paths)
    said = _output(
        top, ["check-attr", "-z", "--stdin", "text", "eol", "crlf"], given, timeout_s=tree_timeout_s
    )
    words = [os.fsdecode(one) for one in (said or b"").split(b"\0")]
    found: dict[str, dict[str, str]] = {path: {} for path in paths}
    for path, name, value in zip(words[::3], words[1::3], words[2::3], strict=False):
        found.setdefault(path, {})[name] = value
    return {path: Attributes(**about) for path, about in found.items()}


def _small_blobs(top: Path, oids: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the contents of objects that may be a pointer, by path; of those that are there."""
    names = {oid.hex() for oid in oids.values()}
    listed = (
        _output(top, ["cat-file", "--batch-check"], _lines(names), timeout_s=tree_timeout_s) if names else b""
    )
    rows = (line.split(" ") for line in (listed or b"").decode("ascii", "replace").splitlines())
    small = {row[0] for row in rows if len(row) == 3 and row[1] == "blob" and int(row[2]) < POINTER_MAX}  # noqa: PLR2004 - id, type, size
    said = _output(top, ["cat-file", "--batch"], _lines(small), timeout_s=tree_timeout_s) if small else b""
    found: dict[str, bytes] = {}
    at, rest = 0, said or b""
    while (end := rest.find(b"\n", at)) >= 0:
        words = rest[at:end].split(b" ")
        if len(words) != 3:  # noqa: PLR2004 - the same
            break
        size = int(words[2])
        found[words[0].decode()] = rest[end + 1 : end + 1 + size]
        at = end + 2 + size
    return {path: found[oid.hex()] for path, oid in oids.items() if oid.hex() in found}


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in sorted(names)).encode()


def read_remotes(root: Path) -> tuple[str, ...]:
    """Return the addresses of the remotes of the repository that `root` is in. They may hold a password."""
    told = _git(root, "config", "--get-regexp", r"^remote\..*\.url$")
    return tuple(line.partition(" ")[2] for line in told.splitlines())


def _git(root: Path, *words: str) -> str:
    """Return what git prints; "" where it does not answer, or fails."""
    said = _output(root, words)
    return os.fsdecode(said) if said is not None else ""


def _output(
    root: Path, words: Sequence[str], given: bytes = b"", *, timeout_s: float = git_timeout_s
) -> bytes | None:
    """Return what git prints, given this input; None where it does not answer, or fails."""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            ["git", "-C", str(root), *words],  # noqa: S607 - where this machine has it
            input=given,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            env=git_environ(os.environ) | _SAFE,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def git_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that git gets: its own, but those of hooks, and what it is found and set up by.

    The others hold secrets of ours, and git may start programs that its user has set up.
    """
    return {
        name: value
        for name, value in environ.items()
        if name in _FOUND_BY or (name.startswith(("GIT_", "LC_")) and name not in _OF_HOOKS)
    }
