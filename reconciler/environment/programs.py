"""Programs of others that judge something: started without a shell and without variables, within a time.

What they print is drained as long as they run, and only its end is kept.
"""

import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import IO

from msgspec import Struct

from reconciler.concurrency import start_daemon_thread

output_kept = 4096  # bytes: the end of what a program said, as a message shows it
_piece = 65_536  # bytes read at once
_end_s = 2.0  # seconds in which output that is still in the pipe arrives after the program has ended


class ProgramEnd(Struct, frozen=True):
    """How a program ended: its exit code, and the end of its text. None: it was killed, or never began.

    `why` says so.
    """

    exit_code: int | None
    text: str = ""
    why: str = ""


def run_judging_program(words: Sequence[str], *, given: bytes, folder: Path, timeout_s: float) -> ProgramEnd:
    """Return how a program ended that got `given` on its standard input. It is found as the shell finds it.

    A relative path begins at `folder`, where the program runs. It gets no variable of ours; standard output
    and standard error are read as one. After the time it is killed with all that it started.
    """
    name = words[0]
    program = str(folder / name) if "/" in name else shutil.which(name)
    if program is None:
        return ProgramEnd(None, why=f"the program {name} was not found")
    try:
        process = subprocess.Popen(  # noqa: S603 - the settings name the program; no shell reads it
            [program, *words[1:]],
            cwd=folder,
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the words are unusable"
        return ProgramEnd(None, why=f"the program {name} cannot be started: {reason.lower()}")
    assert process.stdin is not None  # noqa: S101 - asked for above
    assert process.stdout is not None  # noqa: S101 - the same
    pieces, drained = deque[bytes](), Event()
    start_daemon_thread(partial(_feed, process.stdin, given))
    start_daemon_thread(partial(_drain, process.stdout, pieces, drained))
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return ProgramEnd(None, why=f"it took longer than {timeout_s:g} s, and was killed")
    finally:
        _end_group(process)
        drained.wait(_end_s)
    text = b"".join(pieces)[-output_kept:].decode("utf-8", "replace").strip()
    return ProgramEnd(process.returncode, text)


def _feed(pipe: IO[bytes], given: bytes) -> None:
    """Write all of it, as far as the program reads."""
    with suppress(OSError, ValueError), pipe:
        pipe.write(given)


def _drain(pipe: IO[bytes], pieces: deque[bytes], drained: Event) -> None:
    """Read to the end, and keep the last pieces."""
    kept = 0
    with suppress(OSError, ValueError), pipe:
        while piece := os.read(pipe.fileno(), _piece):
            pieces.append(piece)
            kept += len(piece)
            while kept - len(pieces[0]) >= output_kept:
                kept -= len(pieces.popleft())
    drained.set()


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill the program and all that it started in its session, where it did not end by itself."""
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_end_s)
