"""The event file: one JSON line a reply, only ever appended to, on disk before the call returns.

Belongs here: the file, its rights, its durability. Not here: what stands in a line (report/messages.py).
"""

import os
import stat
from pathlib import Path

from reconciler.errors import FileError


class EventFile:
    """A file that grows by whole lines. A line that a crash tore stays, and the next begins behind it."""

    def __init__(self, path: Path) -> None:
        """Open it, or make it with mode 0600. Raises FileError."""
        self._path = path
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        try:
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise self._unusable(error, "name a file in a folder where you may write") from error
        try:
            self._whole = self._ends_whole()
        except BaseException:
            os.close(self._descriptor)
            raise

    def append(self, line: str) -> None:
        """`line` stands in the file, durable. Raises FileError; then it may stand there in part."""
        data = ("" if self._whole else "\n").encode() + line.encode() + b"\n"
        self._whole = False
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._unusable(error, "make room on that disk; the service comes again") from error
        self._whole = True

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)

    def _ends_whole(self) -> bool:
        about = os.fstat(self._descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise FileError(f"{self._path} is not a regular file.", next="name a file with --events")
        if about.st_size == 0:
            return True
        os.lseek(self._descriptor, -1, os.SEEK_END)
        return os.read(self._descriptor, 1) == b"\n"

    def _unusable(self, error: OSError, hint: str) -> FileError:
        reason = (error.strerror or type(error).__name__).lower()
        return FileError(f"{self._path}: cannot be written: {reason}.", next=hint)
