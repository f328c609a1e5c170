"""`reconciler apply`: carries out a plan, and tells how each change ended."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options, output
from reconciler.errors import Refused

if TYPE_CHECKING:
    from reconciler.cli.running import Signals
    from reconciler.core.guard import Consent
    from reconciler.model.outcomes import Outcome, Run
    from reconciler.model.plans import Options, Plan
    from reconciler.model.settings import Settings
    from reconciler.model.snapshots import Desired
    from reconciler.pipeline import Planned


@click.command(short_help="Carry out a plan.")
@click.argument("file", required=False)
@options.settings_options
@options.selection_options
@options.consent_options
@click.option("--yes", is_flag=True, help="Do not ask; needed where nobody can answer.")
@click.option("--fail-fast", is_flag=True, help="Begin nothing new after the first failure.")
@options.full_option
@options.format_option
def command(
    *,
    file: str | None,
    yes: bool,
    fail_fast: bool,
    full: bool,
    format: str,  # noqa: A002 - the option's name
    **given: Any,
) -> int:
    """Bring the service to what the manifests say.

    Without FILE it plans, shows the plan and asks; where nobody can answer it needs --yes. With the
    FILE of `reconciler plan -o FILE` it plans afresh, and goes on only when the new plan is the same.
    The first Ctrl-C finishes what is under way and reports; the second stops at once.

    \b
    Reads settings, manifests, FILE, the store and the service; writes the service and the store.
    Exit codes: 0 done, 1 failed, 3 input invalid, 4 lock held, 5 stale plan or conflict,
    6 applied in part, 7 refused by a guard or by you, 8 in doubt, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler apply
        reconciler apply plan.json
        reconciler apply --yes --allow-deletes 41
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    if file is not None and (given["only"] or given["excluded"] or given["reactivate"]):
        raise click.UsageError(
            "--only, --except and --reactivate belong to the plan; FILE holds them already."
        )
    as_json = format == "json"
    if file is None and not yes and (as_json or not output.can_ask()):
        raise click.UsageError(
            "nobody can be asked here: give --yes, or the FILE of a reviewed plan (reconciler plan -o FILE)."
        )
    job = _job(file, given, fail_fast=fail_fast, ask=file is None and not yes, full=full, as_json=as_json)
    return _report(_carry_out(job), job)


def _job(file: str | None, given: Mapping[str, Any], **shown: bool) -> "Job":
    """Return what is to be done, from the options of the command line."""
    from reconciler import pipeline  # noqa: PLC0415 - loads everything, which --help does not need
    from reconciler.cli.commands.plan import consent_of, next_step, options_of  # noqa: PLC0415 - the same
    from reconciler.cli.planfile import read_plan  # noqa: PLC0415 - the same
    from reconciler.cli.running import settings_of  # noqa: PLC0415 - the same

    saved = read_plan(Path(file)) if file is not None else None
    settings = settings_of(given["config"], given["environment"], service=True)
    return Job(
        settings=settings,
        desired=pipeline.validate(settings, os.environ),
        options=saved.options if saved else options_of(given),
        consent=consent_of(given),
        saved=saved,
        again=next_step(file, given),
        **shown,
    )


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be applied, how, and how it is shown."""

    settings: "Settings"
    desired: "Desired"
    options: "Options"
    consent: "Consent"
    saved: "Plan | None"
    again: str  # the command line that asks once more
    fail_fast: bool
    ask: bool
    full: bool
    as_json: bool


def _carry_out(job: Job) -> "Run":
    """Return the finished run. Raises Refused where the person said no."""
    from reconciler import pipeline  # noqa: PLC0415 - loads everything, which --help does not need
    from reconciler.cli.running import finish, outside  # noqa: PLC0415 - the same

    with output.progress() as bars:
        bars.advance("reading the service", 0, None)
        run = finish(
            lambda signals: pipeline.apply(
                job.settings,
                job.desired,
                outside(job.settings),
                options=job.options,
                consent=job.consent,
                saved=job.saved,
                fail_fast=job.fail_fast,
                stop=signals.stop,
                watch=Screen(job, bars, signals),
            )
        )
    if run is None:
        raise Refused("you did not agree; nothing was written.", next=job.again)
    return run


class Screen:
    """What a person sees, and is asked, between the plan and the report."""

    def __init__(self, job: Job, bars: output.Bars, signals: "Signals") -> None:
        self._job = job
        self._bars = bars
        self._signals = signals
        self._done = 0
        self._total = 0

    def planned(self, planned: "Planned") -> None:
        """Show the plan. Why it may be refused is told by the error that follows."""
        from reconciler.cli.commands.plan import sizes  # noqa: PLC0415 - where text is shown
        from reconciler.model.plans import Verdict  # noqa: PLC0415 - the same
        from reconciler.report.text import plan_lines  # noqa: PLC0415 - the same

        self._bars.clear()
        if not self._job.as_json:
            shown = plan_lines(planned.plan, Verdict(), full=self._job.full, sizes=sizes(planned))
            output.lines(shown[:-1])  # the last line speaks of what comes next, and that is now

    def stale(self, saved: "Plan", planned: "Planned") -> None:
        """Show what the saved plan does not say of the present (planning rule A1)."""
        from reconciler.report.difference import plan_difference  # noqa: PLC0415 - slow to load, seldom needed

        if not self._job.as_json:
            output.lines(plan_difference(saved, planned.plan, full=self._job.full))

    def agrees(self, planned: "Planned") -> bool:
        """Ask where that is wanted, and say whether to go on."""
        if self._job.ask and planned.plan.changes and not output.confirm("Carry out this plan?"):
            return False
        self._signals.apply_begins()
        self._total = len(planned.plan.changes)
        return True

    def ended(self, _outcome: "Outcome") -> None:
        """Count one more change."""
        self._done += 1
        self._bars.advance("applying", self._done, self._total)


def _report(run: "Run", job: Job) -> int:
    from reconciler.report.json import run_json  # noqa: PLC0415 - where a run has ended
    from reconciler.report.text import run_lines  # noqa: PLC0415 - the same

    if job.as_json:
        output.json(run_json(run))
    else:
        output.lines(run_lines(run, full=job.full))
    return run.exit_code
