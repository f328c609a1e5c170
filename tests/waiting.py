"""How tests wait for what others do: until it is so, and with patience.

    until(lambda: service.writes(), "the first write")
    while readable(screen): ...
    process.communicate(timeout=patience_s)
    await for_ever()                              # in a double of something that hangs

Nothing here says how fast something is: a busy machine takes its time. A test waits for what it needs,
and never for as long as that usually takes.
"""

import asyncio
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, Protocol

patience_s = 300.0  # seconds; whoever is not ready by then hangs
_look_s = 0.01  # seconds between two looks


class HasDescriptor(Protocol):
    """A file, a pipe or a socket."""

    def fileno(self) -> int:
        """Its number."""


def until(holds: Callable[[], object], what: str) -> None:
    """Return once this is true; fail with `what` did not happen where patience ends."""
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end, f"it never came: {what}"
        time.sleep(_look_s)


class Process(Protocol):
    """A process that was started here."""

    @property
    def pid(self) -> int:
        """Its number."""

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""


async def for_ever() -> NoReturn:
    """Hang, until somebody loses patience and cancels it."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


def readable(file: HasDescriptor | int, wait_s: float = patience_s) -> bool:
    """Whether there is something to read, or an end to notice, within this time.

    `select.select` takes no descriptor above 1023, and a process of many tests has those.
    """
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(wait_s * 1000))


def taken(number: signal.Signals, process: Process) -> None:
    """Return once the process has got the signal that was sent to it: a second one before that is lost."""
    status = Path(f"/proc/{process.pid}/status")

    def got() -> bool:
        if process.poll() is not None:
            return True
        pending = (
            line.split()[1]
            for line in status.read_text().splitlines()
            if line.startswith(("SigPnd:", "ShdPnd:"))
        )
        return not any(int(bits, 16) >> (number - 1) & 1 for bits in pending)

    until(got, f"{number.name} is taken")


def asleep(process: "subprocess.Popen[bytes]") -> None:
    """Return once the main thread waits for something outside: what comes now finds it waiting."""
    stat = Path(f"/proc/{process.pid}/task/{process.pid}/stat")
    until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S", "it waits")
