"""Standard output as a pipe to another program: what was written has left us, or that is known.

Everywhere else a reader who leaves is no error, and one who sleeps is waited for. Where each line is a
reply that somebody waits for, neither may be. What is written: messaging/listener.py.
"""

import os
import select
import stat
import sys
from collections.abc import Callable

from reconciler.cli.console.output import OutputLost

if sys.platform != "win32":
    import fcntl
    import termios

_look_s = 0.1  # seconds between two questions whether to give up, while nobody reads
# Bytes. A pipe that can be written has room for so many, and takes them whole (PIPE_BUF of POSIX and Linux).
_piece = 512 if sys.platform == "darwin" else 4096
_next = (
    "check that its reader is running, or free disk space; then `reconciler callbacks inbox` prints what is "
    "waiting"
)


def deliver_bytes(data: bytes, give_up: Callable[[], bool]) -> bool:
    """Write `data` to standard output, at once and unbuffered; return whether all of it has left us.

    While nobody reads, `give_up` is asked whether to end; it ends before a piece and never within one.
    Raises OutputLost where there is no reader any more, or no room.
    """
    while data:
        if not _has_room(_look_s):
            if give_up():
                return False
            continue
        try:
            data = data[os.write(1, data[:_piece]) :]
        except BlockingIOError:  # somebody made it non-blocking, and it filled up meanwhile
            continue
        except OSError as error:
            raise _make_output_lost(error.strerror or "it is broken") from error
    return True


def require_reader() -> None:
    """Raise OutputLost where the output has no reader. A file always has one."""
    if sys.platform == "win32":
        return
    poll = select.poll()
    poll.register(1, 0)
    if any(event & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _, event in poll.poll(0)):
        raise _make_output_lost("its reader has gone")


def count_unread_bytes() -> int:
    """Return how many bytes a pipe holds that its reader has not taken; 0 where the system does not say."""
    if sys.platform == "win32" or not stat.S_ISFIFO(os.fstat(1).st_mode):
        return 0
    try:
        return int.from_bytes(fcntl.ioctl(1, termios.FIONREAD, bytes(4)), sys.byteorder)
    except OSError:
        return 0


def _make_output_lost(why: str) -> OutputLost:
    return OutputLost(f"standard output cannot be written: {why.lower()}.", next=_next)


def _has_room(wait_s: float) -> bool:
    if sys.platform == "win32":  # its pipes cannot be asked
        return True
    poll = select.poll()
    poll.register(1, select.POLLOUT)
    return bool(poll.poll(wait_s * 1000))  # trouble counts: the write says what it is
