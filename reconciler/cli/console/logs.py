"""What -v, -vv and --log-file show: the steps of a command, and each call to the service.

Belongs here: who listens to the loggers of logbook.py, and how it is written. Not here: what is told, which
is decided where it happens: no secret, and of a person the address at most. Imported where one of the options
is given. A log never ends a command: when it cannot be written, that is said once.
"""

import json
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal

import msgspec
from msgspec import Struct

from reconciler import instrumentation
from reconciler.cli.console import output, streams
from reconciler.cli.console.appended import append_all, open_appended, why
from reconciler.service.http.exchange import TriedCall

_added: list[tuple[logging.Logger, logging.Handler]] = []


class StepLine(Struct, frozen=True):
    """A line of the log: a step that the command took. `at` is when it was told, ISO 8601 in UTC."""

    version: Literal[1]
    at: str
    step: str


class CallLine(Struct, frozen=True):
    """A line of the log: a try of a call to the service, when it had ended."""

    version: Literal[1]
    at: str
    call: TriedCall


LogLine = StepLine | CallLine


class Listener(logging.Handler):
    """Writes what is told, until that fails: then says so once, and nothing more."""

    def __init__(
        self,
        write: Callable[[str], None],
        form: Callable[[logging.LogRecord], str],
        handle: int | None = None,
    ) -> None:
        super().__init__()
        self._handle = handle
        self._write = write
        self._form = form
        self._broken = False

    def close(self) -> None:
        """Close the file, where it is one."""
        super().close()
        if self._handle is not None:
            os.close(self._handle)
        self._handle = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line at once; another thread or a signal may end the process after any of them."""
        if self._broken:
            return
        try:
            self._write(self._form(record))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a log, the command goes on
            self._broken = True
            with suppress(Exception):
                output.note(
                    f"the log is not written any more ({why(error, 'a mistake')}); the command goes on."
                )


def to_stderr(verbosity: int) -> None:
    """Show steps on stderr, and with 2 or more each call as well."""
    if verbosity:
        streams.tell_on_stderr(wanted=True)
        _listen(Listener(output.note, _as_line), calls=verbosity > 1)


def to_file(path: str) -> None:
    """Append steps and calls to a file that only this user can read, a JSON line each. Raises FileError."""
    handle = open_appended(path, "the log", "--log-file")

    def write(text: str) -> None:
        append_all(handle, streams.hidden(output.inert_json(text)).encode())

    _listen(Listener(write, _as_json, handle), calls=True)


def end() -> None:
    """Stop listening; the next command of this process has options of its own."""
    while _added:
        logger, handler = _added.pop()
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
        if not any(handler is other for _, other in _added):
            handler.close()


def _listen(handler: logging.Handler, *, calls: bool) -> None:
    for logger in (
        (instrumentation.step_log, instrumentation.call_log) if calls else (instrumentation.step_log,)
    ):
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        _added.append((logger, handler))


def _as_line(record: logging.LogRecord) -> str:
    return record.getMessage()


def _as_json(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    told = record.args[0] if isinstance(record.args, tuple) and record.args else None
    line: LogLine = (
        CallLine(1, at, told) if isinstance(told, TriedCall) else StepLine(1, at, record.getMessage())
    )
    # A name of a file may hold what is no character: msgspec encodes none of it, json as an escape.
    return json.dumps(msgspec.to_builtins(line))
