"""Reading files that manifests speak of: regular files below the project root, and nothing else.

The path is walked one component at a time from a descriptor of the root, and no link is followed but
those of a Kubernetes volume, so what was checked is what is read. Where the system cannot do that, the
resolved path must be the written one. What a manifest names may become public content of the service, so
what is private by its name, by the settings or by what it holds (signs.py) is refused here, for every
reference alike.
No parsing here.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from reconciler.manifest.readlog import ReadLog
from reconciler.manifest.signs import private_kind
from reconciler.parsing.build import shown
from reconciler.parsing.characters import UNFIT_LINE, complaint
from reconciler.parsing.standins import link_text, path_alone

BYTES_MAX = 10 * 1024 * 1024  # bytes; as much as a manifest may have
_PATH_MAX = 1024  # characters of a whole reference
_PART_MAX = 255  # bytes of one name; more than any file system holds
ROSTER_BYTES_MAX = 512 * 1024 * 1024  # a million rows of 500 bytes; rows need no tree and no positions
_SMALLER = "make it smaller, or split it"
_AT_ONCE = 1024 * 1024  # bytes of which a digest is made at once
_WALKS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
# How Kubernetes mounts a ConfigMap, a Secret or a projected volume: `name` is a link to `..data/name`,
# `..data` one to a folder beside it whose name begins with two dots, and a new version is a new folder.
# Source: kubernetes, pkg/volume/util/atomic_writer.go.
_VOLUME_DATA = "..data"


def _flags(*names: str) -> int:
    flags = os.O_RDONLY
    for name in names:
        flags |= getattr(os, name, 0)  # a system without one of them does not need it
    return flags


# Without O_NONBLOCK, opening a pipe would wait for its writer; without O_BINARY, Windows edits line ends.
_FILE = _flags("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
_FOLDER = _flags("O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC")


FileId = tuple[int, int]


class Unreadable(Exception):
    """Why a file may not or cannot be read: the sentence, `hint`, `code`. Never leaves this package.

    Where a line of the file is to be edited, `file` and `line` say which.
    """

    def __init__(self, what: str, hint: str, *, code: str, file: str = "", line: int = 0) -> None:
        super().__init__(what)
        self.hint = hint
        self.file = file
        self.line = line
        self.code = code


def place_below(root: Path, folder: Path, written: str) -> tuple[str, ...]:
    """Return the components, from `root`, of what `written` means in `folder`. Touches no disk.

    Both paths are resolved ones. Raises Unreadable for every form that could leave the root or
    mean different files on different systems.
    """
    wrong = _form(written)
    if wrong:
        hint = "write a path relative to this file, with /"
        raise Unreadable(f"{shown(written)!r} {wrong}.", hint, code="E111")
    try:
        start = folder.relative_to(root).parts
    except ValueError:
        hint = "move the manifest below the folder of reconciler.yaml"
        what = "a manifest outside the project root may not name files."
        raise Unreadable(what, hint, code="E111") from None
    parts = _followed(start, written)
    if not parts:
        raise Unreadable(f"{shown(written)!r} names no file.", "write the path of a file", code="E111")
    hidden = next((part for part in parts if part.startswith(".")), "")
    if hidden:
        hint = "copy what may be read by others into a file and a folder without a dot"
        name = shown("/".join(parts))
        what = f"{name} may not be named: {shown(hidden)} begins with a dot, as private files do."
        raise Unreadable(what, hint, code="E111")
    return tuple(parts)


def _followed(start: Sequence[str], written: str) -> list[str]:
    """Return the components that a path leads to from `start`. Raises Unreadable where it leads out."""
    parts = list(start)
    for part in written.split("/"):
        if part == "..":
            if not parts:
                hint = "copy the file into the project, so that reviews see it"
                what = f"{shown(written)!r} leads out of the project root."
                raise Unreadable(what, hint, code="E111")
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return parts


def ids_of(paths: Iterable[Path]) -> frozenset[FileId]:
    """Return the identity of these files on the disk, whatever their names; of those that exist."""
    found = set()
    for path in paths:
        try:
            status = path.stat()
        except (OSError, ValueError):  # not there, or no path at all: then nothing can refer to it either
            continue
        found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def _form(written: str) -> str:
    found = UNFIT_LINE.search(written)
    if found:
        return f"holds {complaint(found[0])}"
    if not written.strip() or written != written.strip():
        return "is empty or has spaces around it"
    if "\\" in written:
        return "holds a backslash"
    if written.startswith("/") or written[1:2] == ":":
        return "is an absolute path"
    if written.startswith("~"):
        return "begins with a tilde, which is not resolved"
    if written.endswith("/"):
        return "names a folder"
    if len(written) > _PATH_MAX or any(len(part.encode()) > _PART_MAX for part in written.split("/")):
        return "is longer than any path may be"
    return ""


def read_below(
    root: Path,
    parts: tuple[str, ...],
    *,
    bytes_max: int = BYTES_MAX,
    private: frozenset[FileId] = frozenset(),
    log: ReadLog | None = None,
) -> bytes:
    """Return the bytes of the regular file at `parts` below `root`. Raises Unreadable.

    `private` are the files that the settings keep to themselves; they are refused. `log` hears of the file.
    """
    name = shown("/".join(parts))
    try:
        with _opened(root, parts) as handle:
            _require_public(handle, name, private)
            data = _regular(handle, name, bytes_max, _SMALLER)
    except OSError as error:
        link = _link(root, parts)
        if link:
            hint = "put the file itself there; links are not followed"
            what = f"{name} leads through the symbolic link {link}."
            raise Unreadable(what, hint, code="E111") from error
        raise Unreadable(f"{name} {said(error)}.", hint_of(error), code=code_of(error)) from error
    kind = private_kind(data)
    if kind:
        what = f"{name} is {kind}, and may not be named."
        raise Unreadable(what, "name a file that others may read", code="E111")
    require_no_link_text(root.joinpath(*parts), data, name)
    if log is not None:
        log.note(root.joinpath(*parts), data)
    return data


def require_no_link_text(file: Path, data: bytes, name: str) -> None:
    """Refuse a file that holds the path of another one and nothing else. Raises Unreadable."""
    target = path_alone(data)
    other = os.path.normpath(file.parent / target)
    if target and other != str(file) and os.path.isfile(other):  # noqa: PTH113 - of a name too long it says no
        found = link_text(shown(target))
        raise Unreadable(f"{name} {found.what}.", found.hint, code=found.code)


def digest_below(
    root: Path,
    parts: tuple[str, ...],
    *,
    bytes_max: int = BYTES_MAX,
    private: frozenset[FileId] = frozenset(),
    log: ReadLog | None = None,
) -> bytes:
    """Return the SHA-256 of what `read_below` returns. Raises Unreadable and OSError.

    What it holds is not looked through: whoever knows the digest has done so. `log` hears of the file.
    """
    name = shown("/".join(parts))
    digest, left = sha256(), bytes_max
    with _opened(root, parts) as handle:
        _require_public(handle, name, private)
        _require_regular(handle, name)
        while part := os.read(handle, _AT_ONCE):
            digest.update(part)
            left -= len(part)
            if left < 0:
                raise Unreadable(f"{name} is too large.", _SMALLER, code="E108")
        if log is not None:
            log.note_open(root.joinpath(*parts), handle, bytes_max - left, digest.digest())
    return digest.digest()


def _require_public(handle: int, name: str, private: frozenset[FileId]) -> None:
    """Refuse files that the settings keep private, and files with a second name (a hard link)."""
    status = os.fstat(handle)
    if (status.st_dev, status.st_ino) in private:
        hint = "name a file that others may read"
        what = f"{name} may not be named: it is a manifest, or one of the settings' own files"
        raise Unreadable(f"{what} (a secret, the store, a key).", hint, code="E111")
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        what = f"{name} has a second name (a hard link), which may be that of a private file."
        hint = f"replace it by a copy: cp {name} copy && mv copy {name}"
        raise Unreadable(what, hint, code="E111")


def read_regular(path: Path, name: str, *, bytes_max: int, hint: str = _SMALLER) -> bytes:
    """Return the bytes of the regular file at `path`, a resolved one. Raises Unreadable.

    `hint` says what to do about a file that is too large.
    """
    try:
        handle = os.open(path, _FILE)
        try:
            return _regular(handle, name, bytes_max, hint)
        finally:
            os.close(handle)
    except OSError as error:
        raise Unreadable(f"{name} {said(error)}.", hint_of(error), code=code_of(error)) from error


@contextmanager
def _opened(root: Path, parts: tuple[str, ...], *, walks: bool = _WALKS) -> Iterator[int]:
    """Yield a descriptor of the file; a folder on the way is held no longer than needed."""
    handle = _walk(root, parts) if walks else _open_resolved(root.joinpath(*parts))
    try:
        yield handle
    finally:
        os.close(handle)


def _walk(root: Path, parts: tuple[str, ...]) -> int:
    handle = os.open(root, _FOLDER)
    for depth, part in enumerate(parts, start=1):
        above = handle
        try:
            handle = _open_in(above, part, _FILE if depth == len(parts) else _FOLDER)
        finally:
            os.close(above)
    return handle


def _open_in(folder: int, name: str, flags: int) -> int:
    """Return a descriptor of what is called `name` in a folder; of a link, only as Kubernetes makes one."""
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError:
        version = _volume_version(name, lambda link: os.readlink(link, dir_fd=folder))
        if not version:
            raise
    inside = os.open(version, _FOLDER, dir_fd=folder)
    try:
        return os.open(name, flags, dir_fd=inside)
    finally:
        os.close(inside)


def volume_file(link: Path) -> Path | None:
    """Return what a link of a Kubernetes volume leads to; None for others, and where more are on the way."""
    folder = link.parent.resolve()
    version = _volume_version(link.name, lambda name: str((folder / name).readlink()))
    found = folder / version / link.name
    return found if version and found.resolve() == found else None


def name_in_volume(path: Path) -> Path:
    """Return a resolved path as the Kubernetes volumes that it is in call it: without their versions."""
    parts = list(path.parts)
    for depth in range(len(parts) - 2, 0, -1):
        if parts[depth].startswith(".."):
            link = Path(*parts[:depth], parts[depth + 1])
            if volume_file(link) == Path(*parts[: depth + 2]):
                del parts[depth]
    return Path(*parts)


def _volume_version(name: str, read_link: Callable[[str], str]) -> str:
    """Return the folder beside `name` that holds what it stands for in a Kubernetes volume; "" elsewhere.

    Only this layout is known: both links lead to what stands beside them, so nothing leads out of the folder.
    """
    try:
        if read_link(name) != f"{_VOLUME_DATA}/{name}":
            return ""
        version = read_link(_VOLUME_DATA)
    except (OSError, ValueError):  # no link, or no such name
        return ""
    fits = version.startswith("..") and len(version) > len("..") and "/" not in version
    return version if fits and version != _VOLUME_DATA else ""


def _open_resolved(path: Path) -> int:
    if path.resolve(strict=True) != path:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return os.open(path, _FILE)


def _require_regular(handle: int, name: str) -> os.stat_result:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise Unreadable(f"{name} is {kind}.", "name a regular file", code="E112")
    return status


def _regular(handle: int, name: str, bytes_max: int, hint: str) -> bytes:
    size, data = _require_regular(handle, name).st_size, b""
    if size <= bytes_max:  # nothing is read of a file of many gigabytes
        with open(handle, "rb", closefd=False) as file:
            data = file.read(size + 1)  # as much is set aside at once, so not the limit itself
            if len(data) > size:  # it has grown, or is one of those that never tell their size
                data += file.read(bytes_max + 1 - len(data))
    if max(size, len(data)) > bytes_max:
        what = f"{name} has {max(size, len(data)):,} bytes; the limit is {bytes_max:,}."
        raise Unreadable(what, hint, code="E108")
    return data


def _link(root: Path, parts: tuple[str, ...]) -> str:
    for depth in range(1, len(parts) + 1):
        try:
            if root.joinpath(*parts[:depth]).is_symlink():
                return shown("/".join(parts[:depth]))
        except OSError:
            return ""
    return ""


def said(error: OSError) -> str:
    """Return what the system said, as the end of a sentence."""
    match error.errno:
        case errno.ENOENT:
            return "does not exist"
        case errno.ENOTDIR:
            return "leads through something that is not a folder"
        case errno.EACCES | errno.EPERM:
            return "may not be read by this user"
        case errno.ELOOP:
            return "is a symbolic link"
        case errno.ENXIO:
            return "is not a regular file"
        case _:
            return f"cannot be read: {(error.strerror or type(error).__name__).lower()}"


def code_of(error: OSError) -> str:
    """Return the code of that mistake: a link may not be named, anything else cannot be read."""
    return "E111" if error.errno == errno.ELOOP else "E112"


def hint_of(error: OSError) -> str:
    """Return what to do about it."""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "check the spelling of the path; letter case counts"
        case errno.EACCES | errno.EPERM:
            return "give this user the right to read it"
        case _:
            return "put a regular file there"
