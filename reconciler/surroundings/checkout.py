"""What git says of the folder that a run works in: its commit, and whether files differ from it.

Belongs here: asking git so that nothing which the repository configures runs. Not here: what is done about
the answer. Whatever keeps git from answering (no git, no repository, a folder of another user, a slow
disk) is the answer that nothing is known; it cannot fail a run.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

git_timeout_s = 2.0
status_timeout_s = 10.0  # it looks at every tracked file

# Commands of filters that are left as they are: those that `git lfs install` writes. Without them git
# could take a file of LFS for one that was changed.
_TRUSTED = {"git-lfs clean -- %f", "git-lfs filter-process"}
# No watcher, no hook, no lock on the index, and no fetch of what a partial clone lacks.
_QUIET = (
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never"),
)
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
    """The commit that is checked out, "" where it is not known; `dirty`: tracked files differ from it."""

    commit: str = ""
    dirty: bool = False


def read_checkout(root: Path) -> Checkout:
    """Return what git says of the repository that `root` is in."""
    commit = _git(root, "rev-parse", "--verify", "--quiet", "HEAD").strip()
    if not commit:
        return Checkout()
    return Checkout(commit, _dirty(root))


def read_remotes(root: Path) -> tuple[str, ...]:
    """Return the addresses of the remotes of the repository that `root` is in. They may hold a password."""
    told = _git(root, "config", "--get-regexp", r"^remote\..*\.url$")
    return tuple(line.partition(" ")[2] for line in told.splitlines())


def _dirty(root: Path) -> bool:
    filters = [name for name, command in _filters(root) if command not in _TRUSTED]
    if any("=" in name for name in filters):
        return True  # it cannot be turned off: git is not asked, and nothing is vouched for
    off = [word for name in filters for word in ("-c", f"{name}=")]
    # Not asked for: files that git does not track, as plans and stores are. Submodules are compared by
    # their commits: within them other settings would run.
    words = ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames"]
    return bool(_git(root, *words, before=[*_QUIET, *off], timeout_s=status_timeout_s))


def _filters(root: Path) -> list[tuple[str, str]]:
    """Return the commands that git would run on the content of files, with the names of their settings."""
    found = _git(root, "config", "-z", "--get-regexp", r"^filter\..*\.(clean|process)$")
    pairs = (one.partition("\n") for one in found.split("\0") if one)
    return [(name, command) for name, _, command in pairs]


def _git(root: Path, *words: str, before: Sequence[str] = (), timeout_s: float = git_timeout_s) -> str:
    """Return what git prints; "" where it does not answer, or fails."""
    command = ["git", "-C", str(root), *before, *words]
    try:
        told = subprocess.run(  # noqa: S603 - a fixed command
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            env=git_environ(os.environ),
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout if told.returncode == 0 else ""


def git_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that git gets: its own, but those of hooks, and what it is found and set up by.

    The others hold secrets of ours, and git may start programs that its user has set up.
    """
    return {
        name: value
        for name, value in environ.items()
        if name in _FOUND_BY or (name.startswith(("GIT_", "LC_")) and name not in _OF_HOOKS)
    }
