"""Files that are written whole or not at all; private ones are their owner's alone from the first byte.

Plans hold people's data, so a moment at 0644 is already too long, and a plan cut short by a full
disk must never stand where a good one stood. A file that git will hold may be read, and replaces nothing.
Only writing and reading of such files belongs here.
"""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from reconciler.cli import signals
from reconciler.errors import FileError

read_max = 256 * 1024 * 1024  # bytes; a plan over 100,000 contacts has about 60 MB

_chunk = 1024 * 1024  # bytes
_descriptors = "/proc/self/fd"  # of Linux: what gives a file without a name its name (open(2), O_TMPFILE)

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS}  # what file systems without hard links say

_NEXT = {
    "ENOSPC": "make room on the disk; the file that was there before is untouched",
    "EDQUOT": "make room in your quota; the file that was there before is untouched",
    "EFBIG": "write it where files may be larger; the file that was there before is untouched",
    "ENOENT": "make the folder first",
    "ENOTDIR": "name a place inside a folder",
    "EACCES": "get permission to write there, or name another place",
    "EPERM": "get permission to write there, or name another place",
    "EROFS": "name a place that can be written",
    "EISDIR": "name a file",
}


def _nameless(folder: Path, mode: int = 0o600) -> int | None:
    """Return a new file without a name, or None where this system or this file system has none."""
    if not hasattr(os, "O_TMPFILE") or not Path(_descriptors).exists():
        return None
    try:
        return os.open(folder, os.O_WRONLY | os.O_TMPFILE, mode)
    except OSError:  # what is wrong with the folder itself is told by the next try
        return None


def write_private(
    path: Path,
    data: bytes,
    *,
    sync: Callable[[int], None] = os.fsync,
    nameless: Callable[[Path], int | None] = _nameless,
) -> None:
    """`path` holds exactly `data`, durable, mode 0600; or FileError, and what was there is untouched.

    A link at `path` is replaced, never followed. `sync` makes a descriptor's content durable. The
    file has no name until it is whole, where `nameless` has one for the folder: nothing stays of a process
    that is killed half-way.
    """
    _require_file(path)
    temporary = path.with_name(f".{path.name}.{token_hex(8)}")
    is_over = signals.before_the_end(lambda: temporary.unlink(missing_ok=True))
    try:
        _write_new(temporary, data, sync, nameless(path.parent))
        temporary.replace(path)
        _sync_folder(path.parent, sync)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _from(path, "written", error) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        is_over()


def write_new(
    path: Path,
    data: bytes,
    *,
    sync: Callable[[int], None] = os.fsync,
    link: Callable[[Path, Path], None] = os.link,
) -> bool:
    """`path` holds exactly `data`, durable, for everybody to read as far as the umask allows; or FileError.

    False where something has that name already, be it a link that leads nowhere: it stays as it is. `link`
    gives a file a second name, where there is none of it yet.
    """
    temporary = path.with_name(f".{path.name}.{token_hex(8)}")
    is_over = signals.before_the_end(lambda: temporary.unlink(missing_ok=True))
    try:
        _write_new(temporary, data, sync, _nameless(path.parent, 0o644), 0o644)
        _name(temporary, path, link)
        _sync_folder(path.parent, sync)
    except FileExistsError:
        return False
    except OSError as error:
        raise _from(path, "written", error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        is_over()
    return True


def _name(temporary: Path, path: Path, link: Callable[[Path, Path], None]) -> None:
    """Give a file its name. Raises FileExistsError where something has it, OSError."""
    try:
        link(temporary, path)  # unlike a rename, it never takes the place of a file
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "file exists") from error
        temporary.rename(path)


def make_folder(path: Path) -> None:
    """`path` is a folder, made with those above it where it was not there. Raises FileError.

    Whatever the umask, nobody else may write what is made here: settings in such a folder are not read.
    """
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise _from(path, "made", error) from error


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


def _write_new(
    path: Path, data: bytes, sync: Callable[[int], None], nameless: int | None, mode: int = 0o600
) -> None:
    if nameless is None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(path, flags, mode), "wb") as file:
            _write_to(file, data, sync)
        return
    with os.fdopen(nameless, "wb") as file:
        _write_to(file, data, sync)
        # With a descriptor of a folder Python calls linkat(2), which follows the link to the file.
        os.link(f"{_descriptors}/{nameless}", path, src_dir_fd=nameless, follow_symlinks=True)


def _write_to(file: BinaryIO, data: bytes, sync: Callable[[int], None]) -> None:
    file.write(data)
    file.flush()
    sync(file.fileno())


def _sync_folder(folder: Path, sync: Callable[[int], None]) -> None:
    """Make the rename durable. Where folders cannot be opened (Windows), the system does so itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def check_place(path: Path) -> None:
    """Raise FileError where `path` could not be written: before something is done that it is to tell of.

    Whether there will be room is known only when it is written.
    """
    _require_file(path)
    try:
        about = path.parent.stat()
    except OSError as error:
        raise _from(path, "written", error) from error
    if not stat.S_ISDIR(about.st_mode):
        raise _file_error(path, "written", "not a directory", _NEXT["ENOTDIR"])
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise _file_error(path, "written", "permission denied", _NEXT["EACCES"])


def read_file(path: Path, *, most: int = read_max, private: bool = False) -> bytes:
    """Return the content of a regular file of at most `most` bytes. Raises FileError.

    With `private`, a file that anybody but its owner may read or write is refused.
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
            # No more than it has, for asking for the most would take that much memory; a file that grows
            # while it is read is read to its end.
            data = file.read(min(about.st_size, most))
            while len(data) <= most and (more := file.read(_chunk)):
                data += more
            if len(data) > most:
                raise _file_error(path, "read", f"it has over {most:,} bytes", "name the right file")
            return data
    except OSError as error:
        raise _from(path, "read", error) from error


def _from(path: Path, verb: str, error: OSError) -> FileError:
    reason = (error.strerror or type(error).__name__).lower()
    name = errno.errorcode.get(error.errno or 0, "")
    hint = _NEXT.get(name, "check the folder and its permissions")
    if verb == "read" and name in ("ENOENT", "EACCES"):
        hint = "check the name" if name == "ENOENT" else "get permission to read it"
    return _file_error(path, verb, reason, hint)


def _file_error(path: Path, verb: str, reason: str, hint: str) -> FileError:
    return FileError(f"{path}: cannot be {verb}: {reason}.", next=hint)
