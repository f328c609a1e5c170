"""The event file: one JSON line a reply, only ever appended to, on disk before the call returns.

Belongs here: the file, its rights, its durability, that no reply stands in it twice. Not here: what stands
in a line (report/service/messages.py).
"""

import json
import os
from pathlib import Path

from reconciler.errors import FileError
from reconciler.ownership import find_fault

# Bytes that are read of an existing file's end, to see which replies it holds already. Far more than a pipe
# holds: what was written to a pipe and not read from it is all that a kill can leave to be told again.
_tail_max = 4 * 1024 * 1024


class EventFile:
    """A file that grows by whole lines. A line that a crash tore stays, and the next begins behind it."""

    def __init__(self, path: Path) -> None:
        """Open it, or make it with mode 0600. Raises FileError, also for one that is not ours and private."""
        self._path = path
        self._require_fit(None)  # before it is opened: a device or a pipe may notice that
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise self._unusable(error, "name a file in a folder where you may write") from error
        try:
            tail = self._tail()
        except BaseException:
            os.close(self._descriptor)
            raise
        self._whole = tail.endswith(b"\n") or not tail
        self._ids = frozenset(map(_id, tail.splitlines()))

    def append(self, line: str, reply_id: str) -> None:
        """`line` stands in the file, durable, and once. Raises FileError; then it may stand there in part.

        The last ones of the file may be told again: a kill came before they were noted as told.
        """
        data = b"" if reply_id in self._ids else line.encode() + b"\n"
        if not self._whole:
            data = b"\n" + data
        self._whole = False
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._unusable(
                error, "make room there; what was not printed is kept in the inbox"
            ) from error
        self._whole = True

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)

    def _tail(self) -> bytes:
        about = os.fstat(self._descriptor)
        self._require_fit(about)
        os.lseek(self._descriptor, max(0, about.st_size - _tail_max), os.SEEK_SET)
        tail = b""
        while part := os.read(self._descriptor, _tail_max):
            tail += part
        return tail

    def _require_fit(self, about: os.stat_result | None) -> None:
        wrong = find_fault(self._path, "--events", about)
        if wrong:
            raise FileError(f"{self._path}: cannot be used: {wrong[0]}.", next=wrong[1])

    def _unusable(self, error: OSError, hint: str) -> FileError:
        reason = (error.strerror or type(error).__name__).lower()
        return FileError(f"{self._path}: cannot be written: {reason}.", next=hint)


def _id(line: bytes) -> str:
    """Return the id of the reply that a line holds; "" where it holds none, or was torn."""
    try:
        found = json.loads(line)
    except ValueError:
        return ""
    return str(found.get("id", "")) if isinstance(found, dict) else ""
