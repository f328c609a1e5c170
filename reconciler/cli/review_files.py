"""The files of `--report FORMAT=FILE`: checked before the work, written whole and private after it.

Formats are in report/report_formats.py.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

import click

from reconciler.cli.console import output
from reconciler.cli.console.output import hide_secrets_in_pieces
from reconciler.cli.telemetry.recording import current_telemetry
from reconciler.core.review.display_names import DisplayName, no_name
from reconciler.core.review.saved_plans import make_stale_verdict
from reconciler.errors import FileError, StalePlan, UnsafePlan
from reconciler.files.atomic_files import require_writable_place, write_pieces
from reconciler.instrumentation import step_log
from reconciler.model.plans import Options, Plan, Target, Verdict
from reconciler.model.runs import Run
from reconciler.model.settings import Settings
from reconciler.pipeline import PlanResult
from reconciler.report.metrics import metrics_of
from reconciler.report.report_formats import FORMATS, IN_PIECES, SHARED
from reconciler.report.review_document import Review
from reconciler.service.http.urls import origin_of

# --- Files, whatever is in them ---------------------------------------------------------------------------
#
# Reports contain names of people, as plans do; those of SHARED (report/report_formats.py) do not.


Subject = TypeVar("Subject")


class Reports(Generic[Subject]):
    """What `--report` asks for, each file with the function that renders it: a text, or its pieces."""

    def __init__(self, wanted: Sequence[tuple[Callable[[Subject], Iterable[str]], Path, int]]) -> None:
        self._wanted = tuple(wanted)

    @classmethod
    def asked(
        cls,
        texts: Sequence[str],
        formats: Mapping[str, Callable[[Subject], Iterable[str]]],
        *beside: str | None,
    ) -> "Reports[Subject]":
        """Return what these options ask for; `beside` are other files of the same command line.

        Raises UsageError for an unknown format and for two that are one file, FileError where a file could
        not be written.
        """
        taken = {_file_identity(Path(file)) for file in beside if file is not None}
        wanted = []
        for text in texts:
            name, _, file = text.partition("=")
            if name not in formats or not file:
                known = ", ".join(formats)
                raise click.UsageError(f"--report {text}: give FORMAT=FILE, with one of the formats {known}.")
            path = Path(file)
            if _file_identity(path) in taken:
                raise click.UsageError(f"--report {text}: another option names the same file.")
            taken.add(_file_identity(path))
            require_writable_place(path)
            wanted.append((formats[name], path, 0o644 if name in SHARED else 0o600))
        return cls(wanted)

    def write(self, subject: Subject) -> bool:
        """Write every file that can be written, and say of each other one why; false where there was one.

        No error is raised: what the command did stands, and its own report follows.
        """
        whole = True
        for render, path, mode in self._wanted:
            try:
                size = _write_report(path, render(subject), mode)
                step_log.info("report written: %s, %d bytes", path, size)
            except FileError as error:
                output.note(f"{error} The rest of this command is not affected.\n  next: {error.next}")
                whole = False
        return whole


def _write_report(path: Path, rendered: Iterable[str], mode: int) -> int:
    """Write one file, whole or not at all, and return its bytes. Raises FileError."""
    pieces = (rendered,) if isinstance(rendered, str) else rendered
    size = 0

    def fill(file: BinaryIO) -> None:
        nonlocal size
        file.writelines(piece.encode("utf-8", "backslashreplace") for piece in hide_secrets_in_pieces(pieces))
        size = file.tell()

    write_pieces(path, fill, mode=mode)
    return size


def _file_identity(path: Path) -> tuple[Path, str]:
    """What two names of one file share. A link as the last part is replaced, so it is not followed."""
    return path.parent.resolve(), path.name


UNASKED: Mapping[str, Any] = {"reports": (), "show_values": False}  # of a command that has no --report


class Reviews:
    """What `--report` asks for of one command. Raises UsageError, FileError before anything is done.

    `beside` are other files of the same command line, which no report may replace. `given` may be UNASKED.
    """

    def __init__(self, command: str, given: Mapping[str, Any], *beside: str | None) -> None:
        if given["show_values"] and not given["reports"]:
            raise click.UsageError("--show-values needs a report: pass --report FORMAT=FILE.")
        self._command = command
        self._values: bool = given["show_values"]
        self._reports = Reports[Review].asked(given["reports"], {**FORMATS, **IN_PIECES}, *beside)
        self._heard: PlanResult | None = None

    def write(
        self,
        plan: Plan,
        verdict: Verdict,
        exit_code: int,
        *,
        next_step: str = "",
        whom: DisplayName = no_name,
    ) -> bool:
        """Write the reports of a plan; false where one is missing, which is noted."""
        return self._write(
            Review(
                self._command,
                plan,
                verdict,
                exit_code,
                next_step=next_step,
                show_values=self._values,
                whom=whom,
            )
        )

    def _write(self, review: Review) -> bool:
        current_telemetry().measured(metrics_of(review), review.run.run if review.run else "")
        return self._reports.write(review)

    def hear(self, planned: PlanResult) -> None:
        """Keep the plan that a run is about to carry out."""
        self._heard = planned

    @contextmanager
    def of_refused(self, saved: Plan | None = None) -> Iterator[None]:
        """Write the reports of a plan that is refused inside: by the guard, or, if `saved`, as stale.

        Nothing of it was carried out.
        """
        try:
            yield
        except UnsafePlan as error:
            if heard := self._heard:
                self.write(heard.plan, heard.verdict, error.exit_code, whom=heard.whom)
            raise
        except StalePlan as error:
            if saved is not None:
                fresh = self._heard.plan if self._heard else None
                verdict = make_stale_verdict(saved, fresh, str(error), error.next)
                self.write(saved, verdict, error.exit_code)
            raise

    def write_run(self, run: Run) -> bool:
        """Write the reports of a finished run; false where one is missing, which is told."""
        assert self._heard is not None  # noqa: S101 - every run shows its plan first
        plan, verdict, whom = self._heard.plan, self._heard.verdict, self._heard.whom
        return self._write(
            Review(self._command, plan, verdict, run.exit_code, run, show_values=self._values, whom=whom)
        )

    def write_nothing(self, settings: Settings) -> bool:
        """Write the reports where there was nothing to do: a job that collects them expects the files."""
        target = Target(origin_of(settings.service.base_url), settings.stack, ())
        return self.write(Plan(target, Options(), "", "", ()), Verdict(), 0)
