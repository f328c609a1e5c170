"""What every check of `reconciler doctor` starts from, and how a check that fails becomes a line."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

from reconciler.errors import InputError, ReconcilerError, SettingsError
from reconciler.model.notices import CheckResult
from reconciler.model.settings import Settings
from reconciler.settings.reader import ReadSettings, read_settings, working_folder

_mistakes_max = 5  # mistakes of one file that are shown here; `reconciler validate` shows all


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every look starts from. `read` is None where the settings cannot be read.

    `complete` are the settings with their secrets; None where one is missing.
    """

    environ: Mapping[str, str]
    cwd: Path | None  # None: it was removed
    config: str | None
    environment: str | None
    timeout_s: float
    read: ReadSettings | None = None
    complete: Settings | None = None

    def readable(self, *, service: bool) -> ReadSettings:
        """Return the settings. Raises SettingsError."""
        return read_settings(
            config=self.config,
            environment=self.environment,
            cwd=self.cwd or working_folder(),
            environ=self.environ,
            service=service,
        )


def find_surroundings(
    environ: Mapping[str, str], config: str | None, environment: str | None, timeout_s: float
) -> Surroundings:
    """Return what all checks start from. A working folder that is gone is reported with the settings."""
    cwd = None
    with suppress(SettingsError):
        cwd = working_folder()
    return Surroundings(environ, cwd, config, environment, timeout_s)


def make_unchecked(name: str, needed: str) -> CheckResult:
    """Return the line of a check that cannot run until something else is fixed."""
    return CheckResult(name, "unchecked", f"not checked: needs {needed} first")


def describe_mistakes(name: str, error: ReconcilerError) -> tuple[CheckResult, ...]:
    """Return a failure for each problem of an error, or for the error itself."""
    problems = error.problems if isinstance(error, InputError) else ()
    shown = tuple(
        CheckResult(name, "fail", f"{one.where}: {one.what}", one.next) for one in problems[:_mistakes_max]
    )
    if len(problems) > _mistakes_max:
        shown += (CheckResult(name, "fail", f"and {len(problems) - _mistakes_max:,} more mistakes"),)
    return shown or (CheckResult(name, "fail", str(error), error.next),)


def run_guarded(name: str, look: Callable[[], tuple[CheckResult, ...]]) -> tuple[CheckResult, ...]:
    """Return the findings of a check; an exception becomes a line, so that it hides no other check."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - the one command that has to work when everything else does not
        return describe_broken_check(name, error)


def describe_broken_check(name: str, error: Exception) -> tuple[CheckResult, ...]:
    """Return lines for an exception. Of an unknown one only the name is shown: its text may hold anything."""
    told = _find_known_error(error)
    if told is not None:
        return describe_mistakes(name, told)
    what = f"this could not be checked ({type(error).__name__})"
    return (CheckResult(name, "fail", what, "run the command that needs it for details"),)


def _find_known_error(error: BaseException) -> ReconcilerError | None:
    """Return the first error for users in a group of errors, as reads that run side by side raise them."""
    if isinstance(error, ReconcilerError):
        return error
    below = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for one in below if (found := _find_known_error(one))), None)


# --- Work with a deadline, in threads, so that a call that hangs delays nothing else -----------------------
#
# A thread cannot be ended from outside: a late one is left behind and ends with the process. So this is only
# for work that changes nothing.


T = TypeVar("T")


def run_within(work: Mapping[str, Callable[[], T]], timeout_s: float) -> dict[str, T]:
    """Return the result of each function, run at the same time. One that is late or raises is missing."""
    done: SimpleQueue[tuple[str, T]] = SimpleQueue()
    for name, each in work.items():
        # Bound as defaults: the loop's names change before a thread has looked at them.
        Thread(target=lambda name=name, each=each: done.put((name, each())), daemon=True).start()
    ends_at = time.monotonic() + timeout_s
    found: dict[str, T] = {}
    while len(found) < len(work):
        try:
            name, result = done.get(timeout=max(0.0, ends_at - time.monotonic()))
        except Empty:
            break
        found[name] = result
    return found
