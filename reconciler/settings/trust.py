"""Whether another user of this machine could have written a file that we act on.

Settings decide where credentials go and which command is run to get them. A user who can write the file, or
replace it, acts with our rights.

The rules are those of git's safe.directory (the owner of file and folder) and of ssh's StrictModes (who may
write), with three exceptions. A group with only its owner in it may write: umask 002 sets this on most
systems. The user who called us with sudo is trusted like root. And folders that a variable names are trusted,
as in a container whose checkout belongs to another account.
"""

import os
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

if sys.platform != "win32":
    import grp
    import pwd

SAFE_DIRECTORY_VARIABLE = "RECONCILER_SAFE_DIRECTORY"

_ROOT = 0
_links_max = 40  # as in Linux


class TrustedUsers(Struct, frozen=True):
    """Our user; `owners`, whose files are trusted; and `folders`, in which every file is trusted."""

    uid: int
    owners: frozenset[int]
    folders: tuple[Path, ...] = ()


class Objection(Struct, frozen=True):
    """Why a file is not trusted, as the rest of a sentence about it; what to do about {path} in {folder}."""

    what: str
    next: str


def trusted_users(environ: Mapping[str, str]) -> TrustedUsers:
    """Return whose files this process trusts."""
    uid = os.geteuid() if os.name == "posix" else _ROOT
    caller = environ.get("SUDO_UID", "")
    sudo = {int(caller)} if uid == _ROOT and caller.isascii() and caller.isdecimal() else set()
    named = (Path(one) for one in environ.get(SAFE_DIRECTORY_VARIABLE, "").split(os.pathsep))
    folders = tuple(one.resolve() for one in named if one.is_absolute())
    return TrustedUsers(uid, frozenset({uid, _ROOT} | sudo), folders)


def find_objection(path: Path, about: os.stat_result, who: TrustedUsers) -> Objection | None:
    """Return why the file at `path` is not trusted, or None. `about` is the state of its open descriptor.

    Its folder is judged too and, if it is a link, the link and the folder that it leads to. On Windows, which
    keeps rights elsewhere, every file is trusted. Raises OSError.
    """
    real = path.resolve()
    folders = tuple(dict.fromkeys((path.parent, real.parent)))
    if os.name != "posix" or all(_is_safe_folder(folder.resolve(), who) for folder in folders):
        return None
    found = judge_file(about, who, _is_private)
    if found is not None:
        return _fill_objection(found, real, real.parent)
    if found := _judge_links(path, who):
        return found
    for folder in folders:
        if found := judge_folder(folder.stat(), who):
            return _fill_objection(found, folder, folder)
    return None


def _judge_links(path: Path, who: TrustedUsers) -> Objection | None:
    """Judge the links that lead from `path` to the file, each by its owner: they decide which file is read.

    In a sticky folder another user can make a link, and not every system refuses to follow it.
    """
    for _ in range(_links_max):
        about = path.lstat()
        if not stat.S_ISLNK(about.st_mode):
            return None
        if about.st_uid not in who.owners:
            return Objection(
                f"the link {path} belongs to user {about.st_uid}, and this is user {who.uid}",
                f"rm {path}; or name the file itself",
            )
        path = path.parent / path.readlink()
    return Objection(f"over {_links_max} links lead to it", f"name the file itself, not {path}")


def is_trusted_path(path: Path, who: TrustedUsers) -> bool:
    """Whether the path exists and belongs to a trusted user."""
    try:
        about = path.stat()
    except OSError:  # missing, or in a folder that we may not read
        return False
    return os.name != "posix" or about.st_uid in who.owners or _is_safe_folder(path.parent.resolve(), who)


def find_folder_objection(folder: Path, who: TrustedUsers) -> Objection | None:
    """Return why the files in a folder are not trusted, or None. Raises OSError."""
    real = folder.resolve()
    if os.name != "posix" or _is_safe_folder(real, who):
        return None
    found = judge_folder(real.stat(), who)
    return _fill_objection(found, real, real) if found else None


def read_trusted(path: Path, who: TrustedUsers, most: int = -1) -> bytes | Objection | None:
    """Return the first `most` bytes of a file, or why it is not trusted; None if it is not a regular file.

    The open descriptor is judged and read, whatever its name leads to a moment later. Raises OSError, and
    ValueError for what is not a path.
    """
    found = read_trusted_with_mode(path, who, most)
    return found[0] if isinstance(found, tuple) else found


def read_trusted_with_mode(path: Path, who: TrustedUsers, most: int) -> tuple[bytes, int] | Objection | None:
    """Return what `read_trusted` returns, and the mode of the file."""
    # Non-blocking: opening a pipe without a writer would wait for ever.
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            return None
        return find_objection(path, about, who) or (file.read(most), stat.S_IMODE(about.st_mode))


def judge_file(
    about: os.stat_result, who: TrustedUsers, is_private: Callable[[int, int], bool]
) -> Objection | None:
    """Judge a file by its owner and mode. `is_private` says whether a user is alone in a group."""
    if about.st_uid not in who.owners:
        return _other_owner_objection(about, who, "it")
    mode = stat.S_IMODE(about.st_mode)
    if mode & stat.S_IWOTH:
        return Objection(f"everybody on this machine may write it (mode {mode:04o})", _advice("go-w"))
    if mode & stat.S_IWGRP and not is_private(about.st_gid, about.st_uid):
        return Objection(f"its group may write it (mode {mode:04o})", _advice("g-w"))
    return None


def judge_folder(about: os.stat_result, who: TrustedUsers) -> Objection | None:
    """Judge the folder that a file is in, where others could put another file in its place."""
    if about.st_uid not in who.owners:
        return _other_owner_objection(about, who, "its folder")
    mode = stat.S_IMODE(about.st_mode)
    if _anybody_may_replace(mode):
        return Objection(
            f"everybody on this machine may put another file in its place (mode {mode:04o} of its folder)",
            _advice("o-w"),
        )
    return None


def others_may_write(path: Path) -> bool:
    """Whether an account besides the owner may write a file."""
    try:
        about = path.lstat()
    except OSError:
        return False
    whose = TrustedUsers(about.st_uid, frozenset({about.st_uid}))
    return os.name == "posix" and judge_file(about, whose, _is_private) is not None


def find_program_objection(path: Path) -> Objection | None:
    """Return why a program that the settings name by a path is not run, or None. Raises OSError.

    Only a program that everybody may write is refused: programs belong to those who administer them.
    """
    if os.name != "posix":
        return None
    real = path.resolve()
    mode, above = real.stat().st_mode, real.parent.stat().st_mode
    if mode & stat.S_IWOTH or _anybody_may_replace(above):
        return Objection(
            "everybody on this machine may write it or its folder", f"chmod o-w {real} {real.parent}"
        )
    return None


def _anybody_may_replace(mode_of_folder: int) -> bool:
    return bool(mode_of_folder & stat.S_IWOTH) and not mode_of_folder & stat.S_ISVTX


def _advice(change: str) -> str:
    # Folders of Windows or of another machine, mounted here, show every file as everybody's.
    return f"chmod {change} {{path}}; where that changes nothing, set {SAFE_DIRECTORY_VARIABLE}={{folder}}"


def _other_owner_objection(about: os.stat_result, who: TrustedUsers, what: str) -> Objection:
    named = f"{SAFE_DIRECTORY_VARIABLE}={{folder}}"
    advice = f"chown {who.uid} {{path}}; where you trust user {about.st_uid}, set {named}"
    return Objection(f"{what} belongs to user {about.st_uid}, and this is user {who.uid}", advice)


def _fill_objection(found: Objection, path: Path, folder: Path) -> Objection:
    return Objection(found.what, found.next.format(path=path, folder=folder))


def _is_safe_folder(folder: Path, who: TrustedUsers) -> bool:
    return any(folder == one or one in folder.parents for one in who.folders)


def _is_private(group: int, user: int) -> bool:
    """Whether only this user is in the group, as far as this machine knows: it has the user's name.

    The primary groups of other users are not checked: that would read every account of a directory service.
    Groups with a user's name are made for that user alone.
    """
    try:
        known, owner = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:
        return False  # its members are unknown
    return known.gr_name == owner.pw_name and set(known.gr_mem) <= {owner.pw_name}
