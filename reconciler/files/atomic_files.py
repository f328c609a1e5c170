"""The one writer of files: each is written whole or not at all, durable, and has no name before it is whole.

Plans hold people's data, so a moment at 0644 is already too long, and a plan cut short by a full
disk must never stand where a good one stood. A new file has the rights that are asked for and never those of
what it replaces; 0600 is exact, whatever the umask. A manifest takes nobody's place, or that of exactly what
was read. No link is followed where a file is written. Only writing and reading of whole files belongs here,
not what is written. The store's marker has a writer of its own: it is layers below.
"""

import errno
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import BinaryIO

from reconciler import signals
from reconciler.errors import FileError

read_max = 256 * 1024 * 1024  # bytes; a plan over 100,000 contacts has about 60 MB

private_mode = 0o600  # of every file with people in it
_chunk = 1024 * 1024  # bytes
_descriptors = "/proc/self/fd"  # of Linux: what gives a file without a name its name (open(2), O_TMPFILE)

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS}  # what file systems without hard links say

_NEXT = {
    "ENOSPC": "free space on the disk; the former file is untouched",
    "EDQUOT": "free space in your quota; the former file is untouched",
    "EFBIG": "write it where larger files are allowed; the former file is untouched",
    "ENOENT": "create the folder first",
    "ENOTDIR": "name a place inside a folder",
    "ENOTEMPTY": "another process has written there meanwhile; try again",
    "EACCES": "get permission to write there, or name another place",
    "EPERM": "get permission to write there, or name another place",
    "EROFS": "name a place that can be written",
    "EISDIR": "name a file",
}

Fill = Callable[[BinaryIO], object]  # writes the content of a file
Sync = Callable[[int], None]  # makes what a descriptor holds durable
Nameless = Callable[[Path, int], int | None]  # folder, mode -> a new file in it without a name, or None


def _open_unnamed(folder: Path, mode: int) -> int | None:
    """Return a new file without a name, or None where this system or this file system has none."""
    if not hasattr(os, "O_TMPFILE") or not Path(_descriptors).exists():
        return None
    try:
        return os.open(folder, os.O_WRONLY | os.O_TMPFILE, mode)
    except OSError:  # an error of the folder itself is raised by the next try
        return None


def write_private(
    path: Path, data: bytes, *, sync: Sync = os.fsync, nameless: Nameless = _open_unnamed
) -> None:
    """`path` holds exactly `data`, durable, mode 0600; or FileError, and what was there is untouched.

    A link at `path` is replaced, never followed.
    """
    write_pieces(path, _writer_of(data), sync=sync, nameless=nameless)


def write_pieces(
    path: Path,
    fill: Fill,
    *,
    mode: int = private_mode,
    sync: Sync = os.fsync,
    nameless: Nameless = _open_unnamed,
) -> None:
    """`path` holds exactly what `fill` writes, which may be long, as if `write_private` had got it.

    Whatever `fill` raises, what was there is untouched too. The umask takes from any other
    `mode` than 0600: let others read only files without personal data.
    """
    _require_file(path)
    try:
        _write_and_place(path, fill, Path.replace, mode=mode, sync=sync, nameless=nameless)
    except OSError as error:
        raise _wrap_os_error(path, "written", error) from error


def write_new(
    path: Path,
    data: bytes,
    *,
    mode: int = 0o644,
    sync: Sync = os.fsync,
    link: Callable[[Path, Path], None] = os.link,
    nameless: Nameless = _open_unnamed,
) -> bool:
    """`path` holds exactly `data`, durable, with the rights of `mode` that the umask leaves; or FileError.

    False where something has that name already, be it a link that leads nowhere: it stays as it is. `link`
    gives a file a second name, where there is none of it yet.
    """
    try:
        _write_and_place(
            path, _writer_of(data), partial(_give_name, link=link), mode=mode, sync=sync, nameless=nameless
        )
    except FileExistsError:
        return False
    except OSError as error:
        raise _wrap_os_error(path, "written", error) from error
    return True


def write_over(
    path: Path,
    before: bytes,
    after: bytes,
    *,
    private: bool = False,
    sync: Sync = os.fsync,
    nameless: Nameless = _open_unnamed,
) -> None:
    """`path`, of which `before` was read, holds exactly `after`, durable; or FileError, and it is untouched.

    Rights, owner and group stay; with `private` only its owner keeps rights. It is left alone where
    another process has written it meanwhile, where it is a link, and where it would change hands.
    """

    def place(temporary: Path, path: Path) -> None:
        if read_file(path) != before:
            raise FileError(
                f"{path}: was left as it is: another process has changed it meanwhile.", next="try again"
            )
        temporary.replace(path)

    try:
        about = path.lstat()
        if stat.S_ISLNK(about.st_mode):
            raise _file_error(path, "written", "it is a link", "put the file itself there")
        _require_file(path)
        prepare = partial(_keep_rights, path, about, rights=0o700 if private else 0o777)
        _write_and_place(
            path, _writer_of(after), place, mode=private_mode, sync=sync, nameless=nameless, prepare=prepare
        )
    except OSError as error:
        raise _wrap_os_error(path, "written", error) from error


def write_folder(path: Path, files: Mapping[str, bytes], *, sync: Sync = os.fsync) -> None:
    """`path`, which was not there, holds exactly these files, durable; or FileError, and it is not there.

    Names are relative to it, with `/`. The files are private, and folders have what the umask leaves.
    """
    aside = path.with_name(f".{path.name}.{token_hex(8)}")
    remove = partial(rmtree, aside, ignore_errors=True)
    is_over = signals.add_cleanup(remove)
    try:
        make_folder(path.parent, mode=0o777)
        aside.mkdir()
        for name, data in files.items():
            make_folder((aside / name).parent, mode=0o777)
            _write_and_place(
                aside / name,
                _writer_of(data),
                Path.rename,
                mode=private_mode,
                sync=sync,
                nameless=_open_unnamed,
            )
        aside.rename(path)
        _sync_folder(path.parent, sync)
    except OSError as error:
        raise _wrap_os_error(path, "written", error) from error
    finally:
        remove()
        is_over()


def _writer_of(data: bytes) -> Fill:
    return lambda file: file.write(data)


def _write_and_place(
    path: Path,
    fill: Fill,
    place: Callable[[Path, Path], object],
    *,
    mode: int,
    sync: Sync,
    nameless: Nameless,
    prepare: Callable[[int], None] = lambda _descriptor: None,
) -> None:
    """Have `place` give the file its name, when it is whole and durable; on every way out nothing else stays.

    It has no name at all until it is whole, where `nameless` has such a file for the folder: nothing stays
    of a process that is killed half-way. `prepare` gets its descriptor. Raises OSError.
    """
    temporary = path.with_name(f".{path.name}.{token_hex(8)}")
    is_over = signals.add_cleanup(lambda: temporary.unlink(missing_ok=True))
    try:
        descriptor = nameless(path.parent, mode)
        with os.fdopen(_open_temporary(temporary, mode) if descriptor is None else descriptor, "wb") as file:
            if mode == private_mode and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)  # a umask may take rights, but not leave its owner without
            _write_to(file, fill, prepare, sync)
            if descriptor is not None:
                # With a descriptor of a folder Python calls linkat(2), which follows the link to the file.
                whole = f"{_descriptors}/{descriptor}"
                os.link(whole, temporary, src_dir_fd=descriptor, follow_symlinks=True)
        place(temporary, path)
        _sync_folder(path.parent, sync)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        is_over()


def _open_temporary(path: Path, mode: int) -> int:
    """Return a new file under this name, which did not exist before."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), mode)


def _write_to(file: BinaryIO, fill: Fill, prepare: Callable[[int], None], sync: Sync) -> None:
    fill(file)
    file.flush()
    prepare(file.fileno())
    sync(file.fileno())


def _keep_rights(path: Path, about: os.stat_result, descriptor: int, *, rights: int = 0o777) -> None:
    """Give a new file the owner and the rights of the one at `path`. Raises FileError where we may not."""
    if not hasattr(os, "fchown"):  # Windows: the folder decides
        return
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (about.st_uid, about.st_gid):
        try:
            os.fchown(descriptor, about.st_uid, about.st_gid)
        except PermissionError:
            hint = "let its owner do it, or make it yours: copy it, and move the copy to its place"
            raise _file_error(path, "written", "it belongs to another user", hint) from None
    os.fchmod(descriptor, stat.S_IMODE(about.st_mode) & rights)


def _give_name(temporary: Path, path: Path, *, link: Callable[[Path, Path], None]) -> None:
    """Give a file its name. Raises FileExistsError where something has it, OSError."""
    try:
        link(temporary, path)  # unlike a rename, it never takes the place of a file
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "file exists") from error
        temporary.rename(path)


def make_folder(path: Path, *, mode: int = 0o755) -> None:
    """`path` is a folder, made with those above it where it was not there. Raises FileError.

    By default no other user can write what is made here, whatever the umask: settings in such a folder would
    not be read.
    """
    try:
        for one in reversed([one for one in path.parents if not one.exists()]):
            one.mkdir(mode=mode, exist_ok=True)
        path.mkdir(mode=mode, exist_ok=True)
    except OSError as error:
        raise _wrap_os_error(path, "made", error) from error


def _require_file(path: Path) -> None:
    """Refuse to take the place of a folder, a device or a pipe: an administrator could do it by a slip."""
    try:
        mode = path.stat().st_mode
    except OSError:  # nothing there, or nothing that could be looked at: writing will tell
        return
    if stat.S_ISDIR(mode):
        raise _file_error(path, "written", "it is a folder", _NEXT["EISDIR"])
    if not stat.S_ISREG(mode):
        raise _file_error(path, "written", "it is a device or a pipe, not a file", _NEXT["EISDIR"])


def _sync_folder(folder: Path, sync: Sync) -> None:
    """Make the rename durable. Where folders cannot be opened (Windows), the system does so itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def require_writable_place(path: Path) -> None:
    """Raise FileError where `path` could not be written: before something is done that it is to tell of.

    Whether there will be room is known only when it is written.
    """
    _require_file(path)
    try:
        about = path.parent.stat()
    except OSError as error:
        raise _wrap_os_error(path, "written", error) from error
    if not stat.S_ISDIR(about.st_mode):
        raise _file_error(path, "written", "not a directory", _NEXT["ENOTDIR"])
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise _file_error(path, "written", "permission denied", _NEXT["EACCES"])


def read_file(path: Path, *, most: int = read_max, private: bool = False) -> bytes:
    """Return the content of a regular file of at most `most` bytes. Raises FileError.

    With `private`, a file that others than its owner can read or write is refused.
    """
    try:
        # Non-blocking, or a pipe in the place of the file would make us wait for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise _file_error(path, "read", "it is not a regular file", "name a file")
            if private and os.name == "posix" and stat.S_IMODE(about.st_mode) & 0o077:
                mode = f"{stat.S_IMODE(about.st_mode):04o}"
                raise _file_error(
                    path, "used", f"others may read or write it (mode {mode})", f"chmod 600 {path}"
                )
            data = _read_at_most(file, about.st_size, most)
            if len(data) > most:
                raise _file_error(path, "read", f"it has over {most:,} bytes", "name the right file")
            return data
    except OSError as error:
        raise _wrap_os_error(path, "read", error) from error


def _read_at_most(file: BinaryIO, size: int, most: int) -> bytes:
    """Return the content of a file that had `size` bytes, or more than `most` bytes of a larger one.

    No more than it had is asked for, because asking for the most would take that much memory; a file that
    grows while it is read is read to its end.
    """
    data = file.read(min(size, most))
    while len(data) <= most and (more := file.read(_chunk)):
        data += more
    return data


def _wrap_os_error(path: Path, verb: str, error: OSError) -> FileError:
    reason = (error.strerror or type(error).__name__).lower()
    name = errno.errorcode.get(error.errno or 0, "")
    hint = _NEXT.get(name, "check the folder and its permissions")
    if verb == "read" and name in ("ENOENT", "EACCES"):
        hint = "check the name" if name == "ENOENT" else "get permission to read it"
    return _file_error(path, verb, reason, hint)


def _file_error(path: Path, verb: str, reason: str, hint: str) -> FileError:
    return FileError(f"{path}: cannot be {verb}: {reason}.", next=hint)
