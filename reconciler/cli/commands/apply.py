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
    from reconciler.core.guard import Consent
    from reconciler.model.outcomes import Run
    from reconciler.model.plans import Options, Plan
    from reconciler.model.settings import Settings
    from reconciler.model.snapshots import Desired


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
    What an earlier run left in doubt is looked for first. The first Ctrl-C finishes what is under way
    and reports; the second stops at once.

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
    from reconciler.cli.screen import report  # noqa: PLC0415 - loads much that --help does not need

    return report(_carry_out(job), full=full, as_json=as_json)


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
    from reconciler.cli.screen import Screen  # noqa: PLC0415 - the same

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
                watch=Screen(bars, signals, ask=job.ask, full=job.full, as_json=job.as_json),
            )
        )
    if run is None:
        raise Refused("you did not agree; nothing was written.", next=job.again)
    return run
