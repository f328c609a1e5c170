"""Unexpected exceptions: bugs of this program, reported like every other error.

Hooks keep Python and the libraries from printing tracebacks of their own.

The error shows the kind of the exception and the places in the code: modules, lines, functions. It shows
no text of the exception, no value and no path: they may hold live data, a secret, or an order to the runner
of a CI service. Only the system's words for an error of its own are quoted, without its path.
"""

import os
import sys
import threading
from collections.abc import Iterator
from types import TracebackType

from reconciler.errors import ProgramError

TYPE_CHECKING = False  # importing it from `typing` would take 4 ms
if TYPE_CHECKING:
    import logging

_frames_max = 12  # of one exception, the innermost: a recursion has a thousand
_causes_max = 4  # exceptions behind the one that came up

_NEXT = (
    "report it with these lines; they contain no values; if the command was writing, "
    "`reconciler resume` finishes what it began"
)


def describe_crash(error: BaseException) -> ProgramError:
    """Return the error that is shown for `error`: its kind and where it came up, none of its text."""
    frames = _list_frames(error)
    place = next((frame for frame in frames if frame.startswith("reconciler.")), "".join(frames[:1]))
    sentence = f"a bug in reconciler, not in your files: {_name_error(error)}"
    places = [*frames]
    for cause in _iterate_causes(error):
        places += [f"{_name_error(cause)}, caused by", *_list_frames(cause)]
    return ProgramError(f"{sentence} at {place or 'an unknown place'}.", next=_NEXT, places=tuple(places))


def encode_last_words(error: BaseException) -> bytes:
    """Return what is written where even the error cannot be printed as usual."""
    shown = describe_crash(error)
    return "\n".join([str(shown), *(f"  {place}" for place in shown.places), f"  next: {_NEXT}\n"]).encode()


def install_hooks() -> None:
    """Report exceptions of threads, and those that cannot be raised, like our own. For entry.py."""
    sys.unraisablehook = lambda found: _report_crash(found.exc_value)
    threading.excepthook = lambda found: _report_crash(found.exc_value)


def capture_logs() -> None:
    """Pass warnings and errors that libraries log through our output, tracebacks reported like our own.

    The event loop logs exceptions of tasks that are not awaited, the web server those of its handlers.
    Without a handler of their own they end in `lastResort`, which would print them raw.
    """
    import logging  # noqa: PLC0415 - `--version` does without

    class Ours(logging.Handler):
        def emit(self, record: "logging.LogRecord") -> None:
            mistake = record.exc_info[1] if record.exc_info else None
            _report_crash(mistake, f"{record.name}: {record.getMessage()}")

    logging.lastResort = Ours(logging.WARNING)


def _report_crash(error: BaseException | None, otherwise: str = "") -> None:
    """Print an exception as ours, or where there is none what was logged instead."""
    from reconciler.cli.console import output  # noqa: PLC0415 - only a mistake pays for it

    if error is None:
        if otherwise:
            output.note(otherwise)
    elif not isinstance(error, SystemExit):
        output.failure(describe_crash(error), as_json=False)


def _name_error(error: BaseException) -> str:
    """The name of its class, and the system's own words where it is an error of the system."""
    name = type(error).__name__
    if isinstance(error, OSError) and error.errno:
        return f"{name} ({os.strerror(error.errno).lower()})"
    if isinstance(error, ImportError) and error.name:
        return f"{name} ({error.name})"
    return name


def _iterate_causes(error: BaseException) -> Iterator[BaseException]:
    """What is behind it: the first of a group, the cause, or what was being handled."""
    for _ in range(_causes_max):
        if isinstance(error, BaseExceptionGroup):
            behind: BaseException | None = error.exceptions[0]
        else:
            behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if behind is None:
            return
        yield behind
        error = behind


def _list_frames(error: BaseException) -> list[str]:
    """Where it came up: `module:line function`, the innermost first."""
    found: list[str] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        module = trace.tb_frame.f_globals.get("__name__", "?")
        found.append(f"{module}:{trace.tb_lineno} {code.co_name}")
        del found[:-_frames_max]
        trace = trace.tb_next
    return found[::-1]
