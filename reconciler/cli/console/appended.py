"""Files that grow line by line while a command runs: logs and events. Only this user can read them.

Not here: files that appear whole (files/atomic_files.py).
"""

import os
import stat
from pathlib import Path

from reconciler.errors import FileError
from reconciler.ownership import find_fault

_mode = 0o600


def open_appended(path: str, what: str, option: str) -> int:
    """Return a handle that appends to a regular file of ours, made where it is not there. Raises FileError.

    `what` names what is written: a log, events; `option` the one that names the file. No link is followed, no
    pipe is waited for, and nothing is opened that could notice it. A file that somebody else made would stay
    theirs, and be read by them; one with another name is a file that somebody led us to.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    try:
        if not Path(path).is_dir():  # the system says so
            _require_ours(path, what, option)  # before it is opened: a device or a pipe may notice that
        handle = os.open(path, flags, _mode)
        try:
            about = os.fstat(handle)
            _require_ours(path, what, option, about)
            if stat.S_IMODE(about.st_mode) != _mode and hasattr(os, "fchmod"):
                os.fchmod(handle, _mode)  # it stood there before, and others could read it
        except BaseException:
            os.close(handle)
            raise
    except (OSError, ValueError) as error:
        raise _unwritable(path, what, why(error, "it is no path"), "name another file") from error
    return handle


def _require_ours(path: str, what: str, option: str, about: os.stat_result | None = None) -> None:
    if fault := find_fault(Path(path), option, about, closed=False):
        raise _unwritable(path, what, *fault)


def append_all(handle: int, data: bytes) -> None:
    """Write all of it. Raises OSError."""
    while data:
        data = data[os.write(handle, data) :]


def why(error: Exception, otherwise: str) -> str:
    """Return the system's words for what went wrong, which name no file; `otherwise` where it has none."""
    return os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else otherwise


def _unwritable(path: str, what: str, reason: str, hint: str) -> FileError:
    return FileError(f"{path}: {what} cannot be written: {reason}.", next=hint)
