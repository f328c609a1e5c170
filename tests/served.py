"""The sandbox as a process of its own, which the command starts: for tests of the command, and of its users.

Whoever needs no process has `running` (reconciler/sandbox/server.py), or the app itself (world.py).
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from waiting import patience_s


@contextmanager
def sandbox(*options: str, stderr: int = subprocess.DEVNULL) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Yield its address and its process, which is ended afterwards where it still runs."""
    with subprocess.Popen(
        [sys.executable, "-m", "reconciler", "sandbox", "--port", "0", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stdout is not None
            words, _, address = process.stdout.readline().strip().rpartition(" ")
            assert (words, address[:17]) == ("sandbox ready at", "http://127.0.0.1:")
            yield address, process
        finally:
            process.terminate()
            process.wait(patience_s)
