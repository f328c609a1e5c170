"""`reconciler plan` and `drift`: what apply would do, and what others changed. Sends nothing but GET."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import prints_result
from reconciler.report.lines import notice_lines

if TYPE_CHECKING:
    from reconciler import pipeline

_FAILURES = {5, 7}  # exit codes of a plan that was made: somebody is ambiguous, the guard refuses


@click.command()
@options.settings_options
@options.cache_option
@options.selection_options
@options.consent_options
@click.option(
    "--output", "-o", "file", metavar="FILE", help="Write the plan to FILE, which only you can read."
)
@options.recipients_options
@options.same_service_option
@options.refresh_option
@options.detailed_option
@options.report_options
@options.full_option
@options.format_option
@prints_result
def plan_command(
    *, file: str | None, detailed_exitcode: bool, full: bool, as_json: bool, **given: Any
) -> int:
    """Compare the manifests with the service, and show what would change and why.

    Nothing is written to the service. With -o the plan can be reviewed and then applied with `reconciler
    apply FILE`, which refuses it if anything has changed since. With --encrypt-to, or plan.recipients in
    the settings, only those people can read FILE.

    Reads settings, manifests, the store and the service; writes FILE with -o and --report, and caches of
    large manifests and of lists in .reconciler/cache.

    Exit codes: 0 planned, 1 failed, 2 changes or adoptions found (--detailed-exitcode), 3 input invalid,
    5 planned, but an entity is ambiguous or waits for a secret, 7 refused by a guard.

    \b
    Examples:
        reconciler plan
        reconciler plan -o plan.json --only workspace:ops
        reconciler plan --report markdown=plan.md --report html=plan.html
        reconciler plan -o plan.age --recipients-file team.keys
    """
    from reconciler.cli.planning import exit_code, next_step, planned_for, recipients_of, sizes
    from reconciler.cli.review_files import Reviews, with_reports
    from reconciler.core.runs.recover import RunStatus
    from reconciler.files.plan_file import write_plan
    from reconciler.report.json import plan_pieces
    from reconciler.report.text import failure_lines, plan_lines

    before = time.monotonic()
    reviews = Reviews("plan", given, file)
    recipients = recipients_of(given, "-o FILE" if file is None else "")
    planned = planned_for(given)
    if file is not None and planned.verdict.safe:
        write_plan(Path(file), planned.plan, recipients)
    code = exit_code(planned, detailed=detailed_exitcode)
    step = next_step(file, given)
    whole = reviews.write(planned.plan, planned.verdict, code, next_step=step, whom=planned.whom)
    _note_runs(planned)
    if as_json:
        standing = RunStatus(planned.running, planned.unfinished)
        output.json_pieces(plan_pieces(planned.plan, planned.verdict, code, standing))
    else:
        output.lines(
            plan_lines(
                planned.plan,
                planned.verdict,
                full=full,
                next_step=step,
                seconds=time.monotonic() - before,
                sizes=sizes(planned),
                whom=planned.whom,
            )
        )
    if code in _FAILURES:
        output.explain_failure(failure_lines(planned.plan, planned.verdict))
    return with_reports(code, whole=whole)


def _note_runs(planned: "pipeline.PlanResult") -> None:
    """Say who writes now, and which runs did not end."""
    from reconciler.report.runs.runs import running_lines, unfinished_lines

    if planned.running is not None:
        output.note_lines(running_lines(planned.running))
    if planned.unfinished:
        output.note_lines(unfinished_lines(planned.unfinished, "reconciler resume"))


# --- reconciler drift: live against what we last applied --------------------------------------------------


@click.command()
@options.settings_options
@options.cache_option
@options.selection_options
@options.same_service_option
@options.refresh_option
@options.report_options
@options.full_option
@options.format_option
@prints_result
def drift_command(*, full: bool, as_json: bool, **given: Any) -> int:
    """Show what others changed on the service since the last apply.

    Changes in the manifests are not drift; `reconciler plan` shows them. A second live entity for a
    declared or recorded one is drift. Entities declared since the last apply count as not yet applied.

    Reads settings, manifests, the store and the service; writes nothing, except FILE of --report, and
    caches of large manifests and of lists in .reconciler/cache.

    Exit codes: 0 no drift, 1 failed, or nothing to compare with in a workspace, 2 drift found, 3 input
    invalid.

    \b
    Examples:
        reconciler drift
        reconciler drift --only kind:device --format json
    """
    from reconciler.cli.planning import planned_for
    from reconciler.cli.review_files import Reviews, with_reports
    from reconciler.core.review.drift import add_missing_baseline, drift_exit_code
    from reconciler.report.json import drift_pieces
    from reconciler.report.text import drift_lines

    reviews = Reviews("drift", given)
    planned = planned_for(given)
    found = add_missing_baseline(planned.plan)
    code = drift_exit_code(found)
    whole = reviews.write(found, planned.verdict, code, whom=planned.whom)
    if as_json:
        output.json_pieces(drift_pieces(found))
    else:
        output.lines(drift_lines(found, full=full, whom=planned.whom))
    if code == 1:
        told = [one for one in found.notices if one.kind == "unapplied"]
        output.explain_failure(notice_lines(told, full=full))
    return with_reports(code, whole=whole)
