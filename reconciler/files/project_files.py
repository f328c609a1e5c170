"""Reads the files that manifests and settings name: regular files below the project root, and nothing else.

The path is walked one component at a time from a descriptor of the root, and only links of Kubernetes volumes
are followed, so the file that was checked is the file that is read. Where the system cannot do that, the
resolved path must be the written one. A file that a manifest names may become public content of the service,
so files that are private by their name, by the settings or by their content are refused for every reference.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from reconciler.core.runs.commit_check import make_input_file, make_input_file_from_parts
from reconciler.model.documents import BlobIds, InputFile
from reconciler.model.runs import EXIT_CODE_WORDS
from reconciler.parsing.display import UNFIT_IN_LINE, describe_character, show_value
from reconciler.parsing.standins import describe_link, extract_lone_path

# --- What a reference means: a path below the project root -----------------------------------------


REFERENCE_BYTES_MAX = 10 * 1024 * 1024  # bytes; as much as a manifest may have


ROSTER_BYTES_MAX = 512 * 1024 * 1024  # a million rows of 500 bytes; rows need no tree and no positions


_PATH_MAX = 1024  # characters of a whole reference


_PART_MAX = 255  # bytes of one name; more than any file system holds


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


def resolve_reference(root: Path, folder: Path, written: str) -> tuple[str, ...]:
    """Return the components, from `root`, of the path that `written` means in `folder`. Touches no disk.

    Both paths are resolved ones. Raises Unreadable for every form that could leave the root or
    mean different files on different systems.
    """
    wrong = _find_bad_form(written)
    if wrong:
        hint = "write a path relative to this file, with /"
        raise Unreadable(f"{show_value(written)!r} {wrong}.", hint, code="E111")
    try:
        start = folder.relative_to(root).parts
    except ValueError:
        hint = "move the manifest below the folder of reconciler.yaml"
        what = "a manifest outside the project root may not name files."
        raise Unreadable(what, hint, code="E111") from None
    parts = _resolve_parts(start, written)
    if not parts:
        raise Unreadable(f"{show_value(written)!r} names no file.", "write the path of a file", code="E111")
    hidden = next((part for part in parts if part.startswith(".")), "")
    if hidden:
        hint = "copy it to a path without a name that begins with a dot"
        name = show_value("/".join(parts))
        what = f"{name} may not be named: {show_value(hidden)} begins with a dot, as private files do."
        raise Unreadable(what, hint, code="E111")
    return tuple(parts)


def _find_bad_form(written: str) -> str:
    found = UNFIT_IN_LINE.search(written)
    if found:
        return f"holds {describe_character(found[0])}"
    if not written.strip() or written != written.strip():
        return "is empty or has spaces around it"
    if "\\" in written:
        return "holds a backslash"
    if written.startswith("/") or written[1:2] == ":":
        return "is an absolute path"
    if written.startswith("~"):
        return "begins with a tilde, which is not expanded"
    if written.endswith("/"):
        return "names a folder"
    if len(written) > _PATH_MAX or any(len(part.encode()) > _PART_MAX for part in written.split("/")):
        return "is longer than any path may be"
    return ""


def _resolve_parts(start: Sequence[str], written: str) -> list[str]:
    """Return the components that a path leads to from `start`. Raises Unreadable where it leads out."""
    parts = list(start)
    for part in written.split("/"):
        if part == "..":
            if not parts:
                hint = "copy the file into the project, so that reviews see it"
                what = f"{show_value(written)!r} leads out of the project root."
                raise Unreadable(what, hint, code="E111")
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return parts


# --- Reading a file below the root, and nothing else ----------------------------------------------


_SMALLER = "make it smaller, or split it"


_AT_ONCE = 1024 * 1024  # bytes of which a digest is made at once


_WALKS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


# How Kubernetes mounts a ConfigMap, a Secret or a projected volume: `name` is a link to `..data/name`,
# `..data` one to a folder beside it whose name begins with two dots, and a new version is a new folder.
# Source: kubernetes, pkg/volume/util/atomic_writer.go.
_VOLUME_DATA = "..data"


def _open_flags(*names: str) -> int:
    flags = os.O_RDONLY
    for name in names:
        flags |= getattr(os, name, 0)  # a system without one of them does not need it
    return flags


# Without O_NONBLOCK, opening a pipe would wait for its writer; without O_BINARY, Windows edits line ends.
_FILE = _open_flags("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")


_FOLDER = _open_flags("O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC")


FileId = tuple[int, int]


def identify_files(paths: Iterable[Path]) -> frozenset[FileId]:
    """Return the identity of these files on the disk, whatever their names; of those that exist."""
    found = set()
    for path in paths:
        try:
            status = path.stat()
        except (OSError, ValueError):  # not there, or no path at all: then nothing can refer to it either
            continue
        found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def read_below_root(
    root: Path,
    parts: tuple[str, ...],
    *,
    bytes_max: int = REFERENCE_BYTES_MAX,
    private: frozenset[FileId] = frozenset(),
    log: "ReadLog | None" = None,
) -> bytes:
    """Return the bytes of the regular file at `parts` below `root`. Raises Unreadable.

    `private` are files of the settings, which are refused. `log` notes the file.
    """
    name = show_value("/".join(parts))
    try:
        with _open_below(root, parts) as handle:
            _require_public(handle, name, private)
            data = _read_open_file(handle, name, bytes_max, _SMALLER)
    except OSError as error:
        link = _find_link(root, parts)
        if link:
            hint = "put the file itself there; links are not followed"
            what = f"{name} leads through the symbolic link {link}."
            raise Unreadable(what, hint, code="E111") from error
        raise Unreadable(
            f"{name} {describe_os_error(error)}.", os_error_hint(error), code=os_error_code(error)
        ) from error
    kind = detect_private_content(data)
    if kind:
        what = f"{name} is {kind}, and may not be named."
        raise Unreadable(what, "name a file that others may read", code="E111")
    require_no_link_text(root.joinpath(*parts), data, name)
    if log is not None:
        log.note(root.joinpath(*parts), data)
    return data


def digest_below_root(
    root: Path,
    parts: tuple[str, ...],
    *,
    bytes_max: int = REFERENCE_BYTES_MAX,
    private: frozenset[FileId] = frozenset(),
    log: "ReadLog | None" = None,
) -> bytes:
    """Return the SHA-256 of what `read_below_root` returns. Raises Unreadable and OSError.

    The content is not searched for secrets: it was when the digest became known. `log` notes the file.
    """
    name = show_value("/".join(parts))
    digest, left = sha256(), bytes_max
    with _open_below(root, parts) as handle:
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


def read_regular_file(path: Path, name: str, *, bytes_max: int, hint: str = _SMALLER) -> bytes:
    """Return the bytes of the regular file at `path`, a resolved one. Raises Unreadable.

    `hint` says what to do about a file that is too large.
    """
    try:
        handle = os.open(path, _FILE)
        try:
            return _read_open_file(handle, name, bytes_max, hint)
        finally:
            os.close(handle)
    except OSError as error:
        raise Unreadable(
            f"{name} {describe_os_error(error)}.", os_error_hint(error), code=os_error_code(error)
        ) from error


def require_no_link_text(file: Path, data: bytes, name: str) -> None:
    """Refuse a file that holds the path of another one and nothing else. Raises Unreadable."""
    target = extract_lone_path(data)
    other = os.path.normpath(file.parent / target)
    if target and other != str(file) and os.path.isfile(other):  # noqa: PTH113 - of a name too long it says no
        found = describe_link(show_value(target))
        raise Unreadable(f"{name} {found.what}.", found.hint, code=found.code)


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


def _require_regular(handle: int, name: str) -> os.stat_result:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise Unreadable(f"{name} is {kind}.", "name a regular file", code="E112")
    return status


def _read_open_file(handle: int, name: str, bytes_max: int, hint: str) -> bytes:
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


@contextmanager
def _open_below(root: Path, parts: tuple[str, ...], *, walks: bool = _WALKS) -> Iterator[int]:
    """Yield a descriptor of the file; a folder on the way is held no longer than needed."""
    handle = _walk_to(root, parts) if walks else _open_resolved(root.joinpath(*parts))
    try:
        yield handle
    finally:
        os.close(handle)


def _walk_to(root: Path, parts: tuple[str, ...]) -> int:
    handle = os.open(root, _FOLDER)
    for depth, part in enumerate(parts, start=1):
        above = handle
        try:
            handle = _open_in(above, part, _FILE if depth == len(parts) else _FOLDER)
        finally:
            os.close(above)
    return handle


def _open_resolved(path: Path) -> int:
    if path.resolve(strict=True) != path:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return os.open(path, _FILE)


def _open_in(folder: int, name: str, flags: int) -> int:
    """Return a descriptor of what is called `name` in a folder; of a link, only as Kubernetes makes one."""
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError:
        version = _find_volume_version(name, lambda link: os.readlink(link, dir_fd=folder))
        if not version:
            raise
    inside = os.open(version, _FOLDER, dir_fd=folder)
    try:
        return os.open(name, flags, dir_fd=inside)
    finally:
        os.close(inside)


def _find_link(root: Path, parts: tuple[str, ...]) -> str:
    for depth in range(1, len(parts) + 1):
        try:
            if root.joinpath(*parts[:depth]).is_symlink():
                return show_value("/".join(parts[:depth]))
        except OSError:
            return ""
    return ""


# --- Kubernetes volumes: the only links that are followed ------------------------------------------


def resolve_volume_link(link: Path) -> Path | None:
    """Return what a link of a Kubernetes volume leads to; None for others, and where more are on the way."""
    folder = link.parent.resolve()
    version = _find_volume_version(link.name, lambda name: str((folder / name).readlink()))
    found = folder / version / link.name
    return found if version and found.resolve() == found else None


def strip_volume_version(path: Path) -> Path:
    """Return a resolved path as the Kubernetes volumes that it is in call it: without their versions."""
    parts = list(path.parts)
    for depth in range(len(parts) - 2, 0, -1):
        if parts[depth].startswith(".."):
            link = Path(*parts[:depth], parts[depth + 1])
            if resolve_volume_link(link) == Path(*parts[: depth + 2]):
                del parts[depth]
    return Path(*parts)


def _find_volume_version(name: str, read_link: Callable[[str], str]) -> str:
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


# --- What the operating system says ---------------------------------------------------------------


def describe_os_error(error: OSError) -> str:
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


def os_error_code(error: OSError) -> str:
    """Return the code of that mistake: a link may not be named, anything else cannot be read."""
    return "E111" if error.errno == errno.ELOOP else "E112"


def os_error_hint(error: OSError) -> str:
    """Return what to do about it."""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "check the spelling of the path; letter case counts"
        case errno.EACCES | errno.EPERM:
            return "give this user permission to read it"
        case _:
            return "put a regular file there"


# --- Secret detection: private by its content, whatever its name ----------------------------------
#
# The whole file is searched: the keys of a plan are sorted, so those that tell it from other JSON stand
# behind its changes, as far behind as there are changes. Each pattern begins with fixed text and repeats
# nothing inside of a repetition, so the time grows with the size of the file and nothing is copied but a
# file in UTF-16.


def _match_json_keys(*patterns: str) -> tuple[re.Pattern[bytes], ...]:
    r"""Return what finds each of these JSON keys with its value. `\s` and `:` alone stand between them."""
    return tuple(
        re.compile(rf'"{key}"\s*:\s*{value}'.encode())
        for key, _, value in (pattern.partition(" ") for pattern in patterns)
    )


_WORD = f'"(?:{"|".join(re.escape(word) for word in EXIT_CODE_WORDS.values())})"'


# All patterns of a row have to be found, in any order. JSON that is quoted within a JSON text matches none of
# the keys: its quotation marks have a backslash before them.
_SIGNS: tuple[tuple[tuple[re.Pattern[bytes], ...], str], ...] = (
    # The database itself, its write-ahead log and its rollback journal (https://sqlite.org/fileformat.html).
    (
        (re.compile(rb"\A(?:SQLite format 3\0|\x37\x7f\x06[\x82\x83]|\xd9\xd5\x05\xf9\x20\xa1\x63\xd7)"),),
        "a database, as a store is",
    ),
    (
        (re.compile(rb"\A(?:\xef\xbb\xbf)?\s*age-encryption\.org/|-----BEGIN AGE ENCRYPTED FILE-----"),),
        "encrypted, as a plan is",
    ),
    ((re.compile(rb"AGE-SECRET-KEY-1|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"),), "a private key"),
    (_match_json_keys('manifest_digest "', 'fingerprint "'), "a plan"),
    (_match_json_keys("version 1", "exit_code [0-9]", f"outcome {_WORD}"), "a report of this program"),
    (_match_json_keys('message_id "', 'received_at "', 'undeliverable "'), "a list of people's replies"),
)


def detect_private_content(data: bytes) -> str:
    """Return what a file with this content is, if that is private ("a plan"); otherwise ""."""
    if b"\0" in data[:4] and not data.startswith(b"SQLite"):
        data = data.replace(b"\0", b"")  # UTF-16, as the PowerShell writes what it redirects: ASCII is left
    for patterns, kind in _SIGNS:
        if all(pattern.search(data) for pattern in patterns):
            return kind
    return ""


# --- Which files were read, to be compared with the commit that a run names -----------------------
#
# The bytes that were read count: a second read of the same file could return others.


_PART_BYTES = 1024 * 1024  # bytes


_links_max = 40  # on the way to one file, as Linux has it


class ReadLog:
    """The files of one load, each once for each content. Outside of a git repository nothing is computed."""

    def __init__(self, root: Path) -> None:
        """`root` is the folder of the settings, resolved."""
        self._top = next((one for one in (root, *root.parents) if os.path.lexists(one / ".git")), None)
        self._wanted = self._top is not None
        self._files: dict[tuple[str, bytes], InputFile] = {}

    @property
    def files(self) -> tuple[InputFile, ...]:
        """What was read so far."""
        return tuple(self._files.values())

    def note(self, path: Path, data: bytes) -> None:
        """Remember a file with the bytes that were read of it."""
        if self._wanted:
            self._keep(make_input_file(str(path), data))

    def note_open(self, path: Path, handle: int, size: int, digest: bytes) -> None:
        """Remember a file that was read in parts, from its descriptor; size and digest are of what was read.

        It is read once more. Where its content has changed, nothing is known of the bytes that were read, and
        they are no file of any commit.
        """
        if not self._wanted:
            return
        found = make_input_file_from_parts(str(path), lambda: _read_parts(handle), size)
        self._keep(found if found.digest == digest else InputFile(str(path), 0, digest, BlobIds(b"", b"")))

    def note_links(self, path: Path) -> None:
        """Remember each link of the repository on the way to an absolute path: it decides which file is read.

        A link may lead to another one, and a folder on the way may be one. Links outside of the repository
        belong to the machine.
        """
        if self._top is None:
            return
        at, left, links = Path(path.anchor), [*path.parts[1:]][::-1], 0
        while left and links < _links_max:
            part = left.pop()
            if part == os.pardir:
                at = at.parent
                continue
            here = at / part
            try:
                target = here.readlink()
            except (OSError, ValueError):  # no link, or nothing at all
                at = here
                continue
            links += 1
            if here.is_relative_to(self._top):
                self._keep(make_input_file(str(here), os.fsencode(target), link=True))
            if target.is_absolute():
                at = Path(target.anchor)
            left += [one for one in target.parts if one != target.anchor][::-1]

    def _keep(self, file: InputFile) -> None:
        self._files[file.path, file.digest] = file


def _read_parts(handle: int) -> Iterator[bytes]:
    os.lseek(handle, 0, os.SEEK_SET)
    while part := os.read(handle, _PART_BYTES):
        yield part


def is_in_repository(folder: Path) -> bool:
    """Whether git would look for a repository here."""
    return any(os.path.lexists(one / ".git") for one in (folder, *folder.parents))
