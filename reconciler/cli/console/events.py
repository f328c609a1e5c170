"""`--events FILE`: what a run does, a JSON line each, while it does it. `-` is standard output.

Belongs here: where the lines go, and when. Not here: what is in them (model/runs.py). Events never end
a command: when they cannot be written, that is said once, and the exit code of a good run is 1.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from reconciler.cli.console import output, streams
from reconciler.cli.console.appended import append_all, open_appended, why
from reconciler.core.runs.recover import Unfinished
from reconciler.errors import ReconcilerError
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

    def unfinished(self, runs: tuple[Unfinished, ...]) -> None:
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

    def nothing(self) -> None:
        """Tell that there was no run to be carried out."""
        self._tell(EndEvent, "end", run="", outcome=EXIT_CODE_WORDS[0], exit_code=0, results={})

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
        """Write one line at once: whoever watches sees it, and a kill leaves whole lines."""
        if not self._told:
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        event = msgspec.convert({"version": EVENTS_VERSION, "event": name, "at": at, **about}, kind)
        text = output.inert_json(msgspec.json.encode(event).decode())
        try:
            if self._handle is None:
                self._told = output.json(text)  # false: its reader has gone, and that is its affair
            else:
                append_all(self._handle, streams.hidden(text).encode())
        except (OSError, output.OutputLost) as error:
            self._told = self.whole = False
            output.note(f"events are not written any more ({why(error, f'{error}')}); the command goes on.")


def events_of(target: str | None, *, as_json: bool) -> Events:
    """Return the events that a command line asks for. Raises UsageError, FileError."""
    if target == STDOUT and as_json:
        raise click.UsageError("--events - and --format json both go to standard output: give --events FILE.")
    return Events(target)
