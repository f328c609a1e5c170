"""A folder that is ours alone, and files in it: read only where nobody else could have written them.

No link is followed, neither to the folder nor in it. A file is written whole or not at all. Nothing here
ever fails: what cannot be read is not there, what cannot be written is not kept. What files hold is not
known here.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

# Without these, what was looked at need not be what is read: such a system (Windows) keeps nothing.
_CAN = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "geteuid")
_DOWN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_DIRECTORY", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OLD_S = 30 * 24 * 3600  # seconds after which what nobody uses is removed

Write = Callable[[int, memoryview], int]  # os.write


class Folder:
    """A folder below another one; both must be ours, and nobody else may write them."""

    def __init__(self, base: Path, parts: tuple[str, ...], *, write: Write = os.write) -> None:
        """`parts` are the names that lead from `base` to it; `base` may be reached by links."""
        self._base = base
        self._parts = parts
        self._write = write

    def read(self, name: str, *, bytes_max: int) -> bytes | None:
        """Return what a file holds that only we can read and write; None where there is none."""
        with suppress(OSError, ValueError), self._opened(make=False) as folder:
            handle = os.open(name, _READ, dir_fd=folder)
            with os.fdopen(handle, "rb") as file:
                about = os.fstat(handle)
                ours = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
                if ours and not about.st_mode & _OTHERS and about.st_size <= bytes_max:
                    return file.read(about.st_size)  # as much is set aside at once, so not the limit itself
        return None

    def write(self, name: str, pieces: Iterable[bytes], *, once: bool = False) -> bool:
        """Let a file hold exactly these, mode 0600; False where it cannot, and then it is as it was.

        With `once`, what has that name already stays, whoever was first.
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

    def _fill(self, handle: int, pieces: Iterable[bytes]) -> None:
        try:
            os.fchmod(handle, 0o600)  # whatever the umask is
            for piece in pieces:
                left = memoryview(piece)
                while left:
                    left = left[self._write(handle, left) :]
        finally:
            os.close(handle)

    def clear(self, form: re.Pattern[str], *, besides: Collection[str], now_s: float) -> None:
        """Remove files with a name of this form that are old and are not among `besides`."""
        with suppress(OSError), self._opened(make=False) as folder:
            for name in os.listdir(folder):  # noqa: PTH208 - a descriptor, which no path is
                if not form.fullmatch(name) or name in besides:
                    continue
                with suppress(OSError):
                    about = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    if now_s - about.st_mtime > _OLD_S:
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
                about = os.fstat(handle)
                if about.st_uid != os.geteuid() or about.st_mode & _OTHERS_WRITE:
                    raise PermissionError("others may write this folder")
            yield handle
        finally:
            os.close(handle)
