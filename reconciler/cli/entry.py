"""Where the process begins and ends: streams, signals, the command (main.py), the exit code.

What signals do is in signals.py.
"""

import gc
import os
import sys

from reconciler import signals

TYPE_CHECKING = False  # importing it from `typing` would take 4 ms
if TYPE_CHECKING:
    from typing import NoReturn

_bad_descriptor = 9  # EBADF; the module `errno` is one more import before signals are heard
_NEXT = "  next: redirect it to a file, or to /dev/null\n"


def main() -> "NoReturn":
    """Run the process's own command line and exit with its code."""
    trouble = find_output_trouble()
    fill_closed_streams()
    signals.take_over_signals()
    # A command keeps nearly all that it makes, and ends soon: looking for garbage is a tenth of a large plan.
    gc.set_threshold(100_000, 20, 20)
    if trouble:
        os.write(2, f"standard output cannot be written: {trouble}. Nothing was done.\n{_NEXT}".encode())
        os._exit(1)
    from reconciler.cli.console import crash_report  # noqa: PLC0415 - signals are to be handled before this slow import

    crash_report.install_hooks()
    try:
        from reconciler.cli.main import run  # noqa: PLC0415 - the same

        code = run(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 - a broken installation, or an error that could not be printed
        os.write(2, crash_report.encode_last_words(error))
        code = 1
    _end_process(code)


def find_output_trouble() -> str:
    """Return why nothing can be written to standard output, or "". Nothing is written to find out.

    A result that nobody can get is noticed before the work is done. A disk that is full, or a reader who
    leaves, is noticed only where something is written.
    """
    try:
        os.write(1, b"")
    except OSError as error:
        return (
            "it is closed" if error.errno == _bad_descriptor else (error.strerror or "it is broken").lower()
        )
    return ""


def fill_closed_streams() -> None:
    """Put the null device in the place of each of the three streams that is closed.

    Otherwise the next file that is opened takes its place: a database, or the pipe of an event loop, to
    which somebody then prints. The interpreter's own `sys.stdout` stays None.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is taken, which is this one: those below it are open by now.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _end_process(code: int) -> "NoReturn":
    """Leave without waiting for threads: one may hang in a name server or a database that never answers."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # reported already, or nothing is left to report to
            continue
    os._exit(code)
