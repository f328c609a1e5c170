"""The reports that a command was asked for besides its own output, from options to files.

Not here: how a report looks (report/report_formats.py), and how a file is written (cli/files/reports.py).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from reconciler.cli.files.reports import Reports
from reconciler.cli.telemetry.recording import telemetry
from reconciler.core.review.stale import stale_verdict
from reconciler.core.review.whom import Whom, nobody
from reconciler.errors import StalePlan, UnsafePlan
from reconciler.model.plans import Options, Plan, Target, Verdict
from reconciler.model.runs import Run
from reconciler.model.settings import Settings
from reconciler.pipeline import PlanResult
from reconciler.report.metrics import metrics_of
from reconciler.report.report_formats import FORMATS, IN_PIECES
from reconciler.report.review_document import Review
from reconciler.service.http.urls import origin_of

UNASKED: Mapping[str, Any] = {"reports": (), "show_values": False}  # of a command that has no --report


class Reviews:
    """What `--report` asks for of one command. Raises UsageError, FileError before anything is done.

    `beside` are other files of the same command line, which no report may replace. `given` may be UNASKED.
    """

    def __init__(self, command: str, given: Mapping[str, Any], *beside: str | None) -> None:
        if given["show_values"] and not given["reports"]:
            raise click.UsageError("--show-values is about a report: give --report FORMAT=FILE.")
        self._command = command
        self._values: bool = given["show_values"]
        self._reports = Reports[Review].asked(given["reports"], {**FORMATS, **IN_PIECES}, *beside)
        self._heard: PlanResult | None = None

    def write(
        self, plan: Plan, verdict: Verdict, exit_code: int, *, next_step: str = "", whom: Whom = nobody
    ) -> bool:
        """Write the reports of a plan; false where one is missing, which is told."""
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
        telemetry().measured(metrics_of(review), review.run.run if review.run else "")
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
                verdict = stale_verdict(saved, fresh, str(error), error.next)
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
        """Write the reports where there was nothing to do, so that whoever collects them finds them."""
        target = Target(origin_of(settings.service.base_url), settings.stack, ())
        return self.write(Plan(target, Options(), "", "", ()), Verdict(), 0)
