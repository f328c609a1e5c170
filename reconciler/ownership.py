"""Files and folders that only this account can have made: what one must be, reading and writing them.

Belongs here: the one rule for files that grow (logs, events, replies) and for what is kept between runs and
believed (parsed manifests, lists, known stores, the key of the account); a folder that is ours alone, and
files in it. No link is followed, neither to the folder nor in it. Not here: files that appear whole in the
place of others (files/atomic_files.py), and what files hold.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

# Without these, what was looked at need not be what is read: such a system (Windows) keeps nothing.
_CAN = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "geteuid")
_DOWN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_DIRECTORY", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OLD_S = 30 * 24 * 3600  # seconds after which unused files are removed

Write = Callable[[int, memoryview], int]  # os.write


def find_fault(
    path: Path, option: str, about: os.stat_result | None = None, *, closed: bool = True
) -> tuple[str, str] | None:
    """Why an existing file may not be used, and what to do; None for a good one, and where there is none.

    `option` is the one that names it. Unless it has to be `closed`, others may read it or write it.

    `about` is what was opened, where that is done already: a name may lead elsewhere a moment later.
    Windows has neither these modes nor these owners; there it is only asked for a regular file.
    """
    try:
        about = about or path.lstat()
    except OSError:  # nothing there, or nothing that may be looked at: opening it will tell
        return None
    if stat.S_ISLNK(about.st_mode):
        return "it is a symbolic link", f"name the file itself with {option}"
    if not stat.S_ISREG(about.st_mode):
        return "it is not a regular file", f"name a file with {option}"
    if os.name != "posix":
        return None
    if about.st_nlink > 1:
        return "it has another name too (a hard link)", f"name a file of its own with {option}"
    if about.st_uid != os.geteuid():
        return "it belongs to another user", f"name a file of yours with {option}"
    if closed and about.st_mode & _OTHERS:
        return f"others may read or write it (mode {stat.S_IMODE(about.st_mode):04o})", f"chmod 600 {path}"
    return None


def find_folder_fault(about: os.stat_result) -> str:
    """Why nothing in a folder is trusted; "" where only this account can have written there."""
    if about.st_uid != os.geteuid():
        return "it belongs to another user"
    if about.st_mode & _OTHERS_WRITE:
        return f"others may write in it (mode {stat.S_IMODE(about.st_mode):04o})"
    return ""


class Folder:
    """A folder below another one; both must be ours, and writable by no other account."""

    def __init__(self, base: Path, parts: tuple[str, ...], *, write: Write = os.write) -> None:
        """`parts` are the names that lead from `base` to it; `base` may be reached by links."""
        self._base = base
        self._parts = parts
        self._write = write

    def read(self, name: str, *, bytes_max: int) -> bytes | None:
        """Return what a file holds that only we can read and write; None where there is none."""
        with suppress(OSError, ValueError), self.open_file(name, bytes_max=bytes_max) as (file, size):
            return file.read(size)  # as much is set aside at once, so not the limit itself
        return None

    @contextmanager
    def open_file(self, name: str, *, bytes_max: int) -> Iterator[tuple[BinaryIO, int]]:
        """Yield a file that only we can read and write, and its size. Raises OSError where there is none."""
        with self._opened(make=False) as folder:
            handle = os.open(name, _READ, dir_fd=folder)
            with os.fdopen(handle, "rb") as file:
                about = os.fstat(handle)
                ours = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
                if not ours or about.st_mode & _OTHERS or about.st_size > bytes_max:
                    raise PermissionError("others may read or write this file, or it is no file")
                yield file, about.st_size

    def fault(self) -> tuple[str, str] | None:
        """Return which folder on the way is not ours alone, and why; None where all are, or there is none."""
        place = self._base
        for part in self._parts if _CAN else ():
            place /= part
            try:
                about = place.lstat()
            except OSError:
                return None
            why = find_folder_fault(about) if stat.S_ISDIR(about.st_mode) else "it is not a folder"
            if why:
                return os.fspath(place.relative_to(self._base)), why
        return None

    def remove(self, name: str) -> None:
        """Let there be no file of this name, where the folder is ours."""
        with suppress(OSError, ValueError), self._opened(make=False) as folder:
            os.unlink(name, dir_fd=folder)

    def write(self, name: str, pieces: Iterable[bytes | memoryview], *, once: bool = False) -> bool:
        """Let a file hold exactly these, mode 0600; False where it cannot, and then it is as it was.

        With `once`, an existing file of that name stays.
        """
        with suppress(OSError, ValueError), self._opened(make=True) as folder:
            temporary = f".{name}.{token_hex(8)}"
            try:
                self._fill(os.open(temporary, _NEW, 0o600, dir_fd=folder), pieces)
                if once:
                    os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
                else:
                    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                return True
            finally:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
        return False

    def _fill(self, handle: int, pieces: Iterable[bytes | memoryview]) -> None:
        try:
            os.fchmod(handle, 0o600)  # whatever the umask is
            for piece in pieces:
                left = memoryview(piece)
                while left:
                    left = left[self._write(handle, left) :]
        finally:
            os.close(handle)

    def clear(
        self, form: re.Pattern[str], *, besides: Collection[str] = (), now_s: float, old_s: float = _OLD_S
    ) -> None:
        """Remove files with a name of this form that are old and are not among `besides`."""
        with suppress(OSError), self._opened(make=False) as folder:
            for name in os.listdir(folder):  # noqa: PTH208 - a descriptor, which no path is
                if not form.fullmatch(name) or name in besides:
                    continue
                with suppress(OSError):
                    about = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    if now_s - about.st_mtime > old_s:
                        os.unlink(name, dir_fd=folder)

    @contextmanager
    def _opened(self, *, make: bool) -> Iterator[int]:
        """Yield a descriptor of the folder. Raises OSError where it is not there, or not ours alone."""
        if not _CAN:
            raise OSError("this system cannot open files below a folder")
        handle = os.open(self._base, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in self._parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=handle)
                above, handle = handle, os.open(part, _DOWN, dir_fd=handle)
                os.close(above)
                if why := find_folder_fault(os.fstat(handle)):
                    raise PermissionError(why)
            yield handle
        finally:
            os.close(handle)
