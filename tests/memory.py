"""The temporary folders of a run with workers, in memory where there is room.

A commit of SQLite waits for the disk: 2.7 ms on a virtual machine, 0.08 ms in memory, and a run of the tests
makes some ten thousands. What a test claims of a disk it claims of what is written and synced, and in which
order; no test cuts the power.

A run without workers keeps its folders where they can be looked at afterwards, and so does one with
PYTEST_DEBUG_TEMPROOT of its own.
"""

import os
import shutil
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

_ROOT = "PYTEST_DEBUG_TEMPROOT"  # where pytest makes its folders; workers inherit it
_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
_room_min = 4 * 1024**3  # bytes; a run needs a tenth. Containers have 64 MiB there if nobody asks for more

_made: list[Path] = []


def begin(
    environ: MutableMapping[str, str] = os.environ, memory: Path = _MEMORY, room_min: int = _room_min
) -> None:
    """Let the folders of tests be in memory, until `end`. Does nothing where there is no room."""
    if _ROOT in environ or not memory.is_dir() or shutil.disk_usage(memory).free < room_min:
        return
    folder = Path(tempfile.mkdtemp(prefix="reconciler-", dir=memory))
    folder.chmod(0o711)  # servers of tests that run as another user go through it
    environ[_ROOT] = str(folder)
    _made.append(folder)


def end(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove what was made: nobody looks for it in memory, and it would take room until the next start."""
    while _made:
        shutil.rmtree(_made.pop(), ignore_errors=True)
        del environ[_ROOT]
