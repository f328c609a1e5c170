"""The temporary folders of a run with workers, in memory where there is room.

A commit of SQLite waits for the disk: 2.7 ms on a virtual machine, 0.08 ms in memory, and a run of the tests
makes some ten thousands. What a test claims of a disk it claims of what is written and synced, and in which
order; no test cuts the power.

A run without workers keeps its folders where they can be looked at afterwards, and so does one with
PYTEST_DEBUG_TEMPROOT of its own. What a killed run has left is removed by the next one: a run holds a lock in
its folder for as long as it lives.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path

_ROOT = "PYTEST_DEBUG_TEMPROOT"  # where pytest makes its folders; workers inherit it
_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
_room_min = 4 * 1024**3  # bytes; a run needs a tenth. Containers have 64 MiB there if nobody asks for more

_PREFIX, _LOCK = "reconciler-", "held.lock"
_made: list[tuple[Path, int]] = []  # with the open file of the lock, which ends with this process


def begin(
    environ: MutableMapping[str, str] = os.environ, memory: Path = _MEMORY, room_min: int = _room_min
) -> None:
    """Let the folders of tests be in memory, until `end`. Does nothing where there is no room."""
    if _ROOT in environ or not memory.is_dir():
        return
    for left in memory.glob(f"{_PREFIX}*/{_LOCK}"):  # before there is a look for room: they may take it
        _remove_unless_held(left)
    if shutil.disk_usage(memory).free < room_min:
        return
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=memory))
    folder.chmod(0o711)  # servers of tests that run as another user go through it
    # Locked before it has the name that others look for.
    held = os.open(folder / "new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    (folder / "new").rename(folder / _LOCK)
    environ[_ROOT] = str(folder)
    _made.append((folder, held))


def _remove_unless_held(lock: Path) -> None:
    """Remove the folder of a run that has ended; of another user, or of one that lives, leave it."""
    with suppress(OSError), lock.open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.parent, ignore_errors=True)


def end(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove what was made: nobody looks for it in memory, and it would take room until the next start."""
    while _made:
        folder, held = _made.pop()
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)
        environ.pop(_ROOT, None)


def place(environ: Mapping[str, str] = os.environ, memory: Path = _MEMORY) -> Path | None:
    """Return where folders are in memory: in those of this run if it has some. None: nowhere."""
    return Path(environ[_ROOT]) if _ROOT in environ else memory if memory.is_dir() else None
