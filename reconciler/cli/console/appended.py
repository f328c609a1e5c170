"""Files that grow line by line while a command runs: logs and events. Only this user can read them.

Not here: files that appear whole (files/whole.py).
"""

import os
import stat
from pathlib import Path

from reconciler.errors import FileError

_mode = 0o600


def opened(path: str, what: str) -> int:
    """Return a handle that appends to a regular file, made where it is not there. Raises FileError.

    `what` names what is written: a log, events. No link is followed, and no pipe is waited for.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    try:
        handle = os.open(path, flags, _mode)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise _unwritable(path, what, "it is not a regular file", "name a file")
        if stat.S_IMODE(os.fstat(handle).st_mode) != _mode:
            Path(path).chmod(_mode)  # it stood there before, and others could read it
    except (OSError, ValueError) as error:
        raise _unwritable(path, what, why(error, "it is no path"), "name another file") from error
    return handle


def append_all(handle: int, data: bytes) -> None:
    """Write all of it. Raises OSError."""
    while data:
        data = data[os.write(handle, data) :]


def why(error: Exception, otherwise: str) -> str:
    """Return the system's words for what went wrong, which name no file; `otherwise` where it has none."""
    return os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else otherwise


def _unwritable(path: str, what: str, reason: str, hint: str) -> FileError:
    return FileError(f"{path}: {what} cannot be written: {reason}.", next=hint)
