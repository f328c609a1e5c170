"""What -v, -vv, --log-file and --events write: steps, calls to the service, and events of a run.

What is logged is decided where it happens: no secret, and of a person the address at most. Imported where one
of the options is given. A log never ends a command: if it cannot be written, that is said once.
"""

import json
import logging
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
from msgspec import Struct

from reconciler import instrumentation
from reconciler.cli.console import output
from reconciler.core.runs.recover import InterruptedRun
from reconciler.errors import FileError, ReconcilerError
from reconciler.model.plans import Plan
from reconciler.model.runs import (
    EVENTS_VERSION,
    EXIT_CODE_WORDS,
    BeginEvent,
    ChangeEvent,
    EndEvent,
    ErrorEvent,
    Outcome,
    PlanEvent,
    Run,
    RunEvent,
    UnfinishedEvent,
    WaitEvent,
)
from reconciler.ownership import find_fault
from reconciler.service.http.exchange import TriedCall

# --- Files that grow line by line while a command runs: logs and events. Only this user can read them


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
        raise _make_unwritable_error(
            path, what, describe_system_error(error, "it is not a path"), "name another file"
        ) from error
    return handle


def _require_ours(path: str, what: str, option: str, about: os.stat_result | None = None) -> None:
    if fault := find_fault(Path(path), option, about, closed=False):
        raise _make_unwritable_error(path, what, *fault)


def append_all(handle: int, data: bytes) -> None:
    """Write all of it. Raises OSError."""
    while data:
        data = data[os.write(handle, data) :]


def describe_system_error(error: Exception, otherwise: str) -> str:
    """Return the system's words for what went wrong, which name no file; `otherwise` where it has none."""
    return os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else otherwise


def _make_unwritable_error(path: str, what: str, reason: str, hint: str) -> FileError:
    return FileError(f"{path}: {what} cannot be written: {reason}.", next=hint)


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
    """Writes records until that fails: then says so once, and writes nothing more."""

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
                reason = describe_system_error(error, "a mistake")
                output.note(f"the log is no longer written ({reason}); the command goes on.")


def log_to_stderr(verbosity: int) -> None:
    """Show steps on stderr, and with 2 or more each call as well."""
    if verbosity:
        output.set_verbose(wanted=True)
        _add_handler(Listener(output.note, logging.LogRecord.getMessage), calls=verbosity > 1)


def log_to_file(path: str) -> None:
    """Append steps and calls to a file that only this user can read, a JSON line each. Raises FileError."""
    handle = open_appended(path, "the log", "--log-file")

    def write(text: str) -> None:
        append_all(handle, output.hide_secrets(output.inert_json(text)).encode())

    _add_handler(Listener(write, _format_json_line, handle), calls=True)


def stop_logging() -> None:
    """Stop listening; the next command of this process has options of its own."""
    while _added:
        logger, handler = _added.pop()
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
        if not any(handler is other for _, other in _added):
            handler.close()


def _add_handler(handler: logging.Handler, *, calls: bool) -> None:
    for logger in (
        (instrumentation.step_log, instrumentation.call_log) if calls else (instrumentation.step_log,)
    ):
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        _added.append((logger, handler))


def _format_json_line(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    told = record.args[0] if isinstance(record.args, tuple) and record.args else None
    line: LogLine = (
        CallLine(1, at, told) if isinstance(told, TriedCall) else StepLine(1, at, record.getMessage())
    )
    # A name of a file may hold what is no character: msgspec encodes none of it, json as an escape.
    return json.dumps(msgspec.to_builtins(line))


# --- `--events FILE`: what a run does, a JSON line each, while it does it. `-` is standard output -
#
# model/runs.py says what is in them. Events never end a command: if they cannot be written, that is said
# once, and the exit code of a good run is 1.


STDOUT = "-"


class Events:
    """The lines of one command; without a `target` nothing is told. Raises FileError."""

    def __init__(self, target: str | None) -> None:
        self.on_stdout = target == STDOUT
        self.file = None if self.on_stdout else target
        self.whole = True  # whether every line was written
        self._handle = None if self.file is None else open_appended(self.file, "events", "--events")
        self._told = target is not None
        self._done = 0

    def unfinished(self, runs: tuple[InterruptedRun, ...]) -> None:
        """Earlier runs are settled first."""
        self._tell(UnfinishedEvent, "unfinished", runs=tuple(one.run for one in runs))

    def waits(self, what: str) -> None:
        """Say why nothing else is seen for a while."""
        self._tell(WaitEvent, "wait", what=what)

    def planned(self, plan: Plan, *, safe: bool) -> None:
        """Tell what is to be done."""
        numbers = {f"{word}s": plan.count(word) for word in ("create", "update", "delete")}
        numbers |= {"records": plan.to_keep, "skipped": len(plan.skips)}
        commit = {"commit": plan.commit} if plan.commit else {}
        self._tell(PlanEvent, "plan", fingerprint=plan.fingerprint, safe=safe, **numbers, **commit)

    def begins(self, total: int) -> None:
        """From now on something may be written."""
        self._tell(BeginEvent, "begin", total=total)

    def changed(self, outcome: Outcome) -> None:
        """Tell how one change ended; its fields hold values, and are in the report alone."""
        self._done += 1
        self._tell(
            ChangeEvent,
            "change",
            address=str(outcome.address),
            action=outcome.action,
            result=outcome.result,
            what=outcome.what,
            next=outcome.next,
            done=self._done,
        )

    def ended(self, run: Run) -> None:
        """Tell how the run ended."""
        results = Counter(one.result for one in run.outcomes)
        told = {"run": run.run, "outcome": run.outcome, "exit_code": run.exit_code}
        self._tell(EndEvent, "end", **told, results=dict(sorted(results.items())))

    def nothing(self, exit_code: int = 0) -> None:
        """Tell that there was no run to be carried out."""
        told = {"run": "", "outcome": EXIT_CODE_WORDS[exit_code], "exit_code": exit_code}
        self._tell(EndEvent, "end", **told, results={})

    @contextmanager
    def of_command(self) -> Iterator[None]:
        """Tell of an error that ends what is inside; let go of the file afterwards."""
        try:
            yield
        except ReconcilerError as error:
            told = {"outcome": error.outcome, "exit_code": error.exit_code, "message": str(error)}
            self._tell(ErrorEvent, "error", **told, code=error.error_code, next=error.next)
            raise
        finally:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None

    def _tell(self, kind: type[RunEvent], name: str, **about: Any) -> None:
        """Write one line at once: a reader sees it immediately, and a kill leaves whole lines."""
        if not self._told:
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        event = msgspec.convert({"version": EVENTS_VERSION, "event": name, "at": at, **about}, kind)
        text = output.inert_json(msgspec.json.encode(event).decode())
        try:
            if self._handle is None:
                self._told = output.json(text)  # false: its reader has gone, and that is its affair
            else:
                append_all(self._handle, output.hide_secrets(text).encode())
        except (OSError, output.OutputLost) as error:
            self._told = self.whole = False
            reason = describe_system_error(error, str(error))
            output.note(f"events are no longer written ({reason}); the command goes on.")


def open_events(target: str | None, *, as_json: bool) -> Events:
    """Return the events that a command line asks for. Raises UsageError, FileError."""
    if target == STDOUT and as_json:
        raise click.UsageError("--events - and --format json both go to standard output: give --events FILE.")
    return Events(target)
