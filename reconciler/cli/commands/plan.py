"""`reconciler plan` and `drift`: what apply would do, and what others changed. Sends nothing but GET."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import click
from msgspec import UNSET, Struct

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.report.lines import Line, notice_lines

if TYPE_CHECKING:
    from msgspec import UnsetType

    from reconciler.core.review.display_names import DisplayName
    from reconciler.core.review.drift import Drift
    from reconciler.core.review.guard import Agreement
    from reconciler.core.runs.recover import InterruptedRun
    from reconciler.model.address import Address
    from reconciler.model.notices import Notice
    from reconciler.model.plans import Plan, Target, Verdict
    from reconciler.model.runs import Running
    from reconciler.model.snapshots import NotPlanned, ReadLimit
    from reconciler.report.json import PlanCounts, PlanFields, VerdictShown
    from reconciler.report.phrases import Lookalike

# Exit codes of a plan that was made: a workspace is left out, somebody is ambiguous, the guard refuses.
_FAILURES = {1, 3, 5, 7}
_READ_LIMIT = "Lists of which only what changed last was read; null: all was read."


class UnfinishedRun(Struct):
    """A run that did not finish, and how many of its changes ended, are in doubt, or were never sent."""

    run: str
    command: str
    started_at: str
    ended: int
    in_doubt: int
    never_sent: int | None


class PlanReport(CommandResult, frozen=True, kw_only=True):
    """A plan, made now or read from a file. The fields after `unfinished` are for the text."""

    title: ClassVar[str] = "A plan and whether it is safe"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 1, 2, 3, 5, 7)  # 5: also the report of a plan that is stale
    agreements: Annotated[
        "tuple[Agreement, ...] | UnsetType",
        Doc("What a person has agreed to; not there where that is nothing."),
    ] = UNSET
    plan: Annotated["PlanFields", Doc("")]
    counts: Annotated["PlanCounts", Doc("")]
    lookalikes: Annotated["tuple[Lookalike, ...]", Doc("What may be a rename. No fingerprint covers it.")]
    as_far_as_read: Annotated["ReadLimit | None", Doc(_READ_LIMIT)]
    verdict: Annotated["VerdictShown", Doc("")]
    running: Annotated["Running | UnsetType | None", Doc("The run that writes right now.")] = UNSET
    unfinished: Annotated["tuple[UnfinishedRun, ...] | UnsetType", Doc("The runs that did not finish.")] = (
        UNSET
    )
    made: "Plan"
    judged: "Verdict"
    code: int
    full: bool
    next_step: str
    whom: "DisplayName"
    seconds: float | None = None
    sizes: "Mapping[Address, int] | None" = None
    interrupted: "tuple[InterruptedRun, ...]" = ()

    @property
    def exit_code(self) -> int:
        """What `--detailed-exitcode`, ambiguous entities and the guard make of the plan."""
        return self.code

    def notes(self, form: str) -> Sequence[Line]:  # noqa: ARG002 - the same for each
        """Say who writes now, and which runs did not end."""
        from reconciler.report.text import running_lines, unfinished_lines

        lines: list[Line] = []
        if self.running is not None and self.running is not UNSET:
            lines += running_lines(self.running)
        if self.interrupted:
            lines += unfinished_lines(self.interrupted, "reconciler resume")
        return lines

    def lines(self) -> Sequence[Line]:
        """Return the changes with their reasons, the verdict, and the next command."""
        from reconciler.report.text import plan_lines

        return plan_lines(
            self.made,
            self.judged,
            full=self.full,
            next_step=self.next_step,
            seconds=self.seconds,
            sizes=self.sizes,
            whom=self.whom,
        )

    def failure_lines(self) -> Sequence[Line]:
        """Return why the plan cannot be carried out as it is."""
        from reconciler.report.text import failure_lines

        return failure_lines(self.made, self.judged) if self.code in _FAILURES else ()


@click.command()
@click.option(
    "--output", "-o", "file", metavar="FILE", help="Write the plan to FILE. Only you can read FILE."
)
@options.selection_options
@options.detailed_option
@options.report_options
@options.consent_options
@options.refresh_option
@options.recipients_options
@options.same_service_option
@options.settings_options
@options.strict_option
@options.cache_option
@options.full_option
@options.format_option
@prints_result
def plan_command(*, file: str | None, detailed_exitcode: bool, full: bool, **given: Any) -> PlanReport:
    """Compare the manifests with the service, and show what would change and why.

    If a workspace cannot be read, or its manifests have mistakes, the plan leaves out this workspace and
    names it first; the other workspaces are planned. With --strict-scopes, the command stops instead.

    The guard refuses a plan that deletes, creates or updates too much. An option such as --allow-deletes
    lifts one limit of the guard for one run.

    Nothing is changed at the service. With -o, the plan is saved to FILE: review it, then carry it out with
    `reconciler apply FILE`, which refuses the plan if anything has changed since. With --encrypt-to, or
    plan.recipients in the settings, FILE is encrypted, and only the owners of the named keys can read it.

    Reads settings, manifests, the store and the service; writes FILE with -o and --report, and caches of
    large manifests and of lists in .reconciler/cache, and of lists in a PostgreSQL store.

    Exit codes: 0 planned; 1 failed, or a workspace cannot be read; 2 changes or adoptions found (with
    --detailed-exitcode); 3 the input or the manifests of a workspace are invalid; 5 planned, but an entity is
    ambiguous or waits for a secret; 7 the guard refused; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler plan
        reconciler plan -o plan.json --only workspace:ops
        reconciler plan --report markdown=plan.md --report html=plan.html
        reconciler plan -o plan.age --recipients-file team.keys
    """
    from reconciler.cli.planning import (
        content_sizes,
        find_plan_exit_code,
        make_next_step,
        make_plan_for_options,
        read_plan_recipients,
    )
    from reconciler.cli.review_files import Reviews
    from reconciler.core.runs.recover import RunStatus
    from reconciler.files.plan_file import write_plan
    from reconciler.report.json import plan_values

    before = time.monotonic()
    reviews = Reviews("plan", given, file)
    recipients = read_plan_recipients(given, "-o FILE" if file is None else "")
    planned = make_plan_for_options(given)
    plan, verdict = planned.plan, planned.verdict
    if file is not None and verdict.safe:
        write_plan(Path(file), plan, recipients)
    code = find_plan_exit_code(planned, detailed=detailed_exitcode)
    step = make_next_step(file, given)
    whole = reviews.write(plan, verdict, code, next_step=step, whom=planned.whom)
    return PlanReport(
        **plan_values(plan, verdict, RunStatus(planned.running, planned.unfinished)),
        made=plan,
        judged=verdict,
        code=code,
        full=full,
        next_step=step,
        whom=planned.whom,
        seconds=time.monotonic() - before,
        sizes=content_sizes(planned),
        interrupted=planned.unfinished,
        reports_missing=not whole,
    )


# --- reconciler drift: live against what we last applied --------------------------------------------------


class DriftReport(CommandResult, frozen=True):
    """What others changed. `found`, `full` and `whom` are for the text."""

    title: ClassVar[str] = "What others changed"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 1, 2, 3)
    target: Annotated["Target", Doc("The service and the workspaces that were compared.")]
    created_at: Annotated[str, Doc("When, ISO 8601 in UTC.")]
    drifts: Annotated["tuple[Drift, ...]", Doc("What others changed, by address.")]
    outside: Annotated[Mapping[str, int], Doc("By scope, how many recorded entities no manifest declares.")]
    unapplied: Annotated[
        tuple[str, ...],
        Doc("Workspaces in which nothing was compared: no record, no finished apply."),
    ]
    not_planned: Annotated[
        "tuple[NotPlanned, ...]", Doc("Workspaces that are left out, and why: nothing was compared there.")
    ]
    not_applied_yet: Annotated[int, Doc("Declared entities that have no record.")]
    as_far_as_read: Annotated["ReadLimit | None", Doc(_READ_LIMIT)]
    notices: Annotated["tuple[Notice, ...]", Doc("What else a person should know.")]
    found: "Plan"
    code: int
    full: bool
    whom: "DisplayName"

    @property
    def exit_code(self) -> int:
        """1 where nothing was compared, 2 for drift, else 0."""
        return self.code

    def lines(self) -> Sequence[Line]:
        """Return what others changed, by entity."""
        from reconciler.report.text import drift_lines

        return drift_lines(self.found, full=self.full, whom=self.whom)

    def failure_lines(self) -> Sequence[Line]:
        """Return the workspaces in which nothing was compared."""
        from reconciler.model.plans import Verdict
        from reconciler.report.text import failure_lines

        unapplied = [one for one in self.notices if one.kind == "unapplied"]
        missing = failure_lines(self.found, Verdict()) if self.not_planned else ()
        return (*missing, *notice_lines(unapplied, full=self.full)) if self.code in {1, 3} else ()


@click.command()
@options.selection_options
@options.same_service_option
@options.refresh_option
@options.report_options
@options.settings_options
@options.strict_option
@options.cache_option
@options.full_option
@options.format_option
@prints_result
def drift_command(*, full: bool, **given: Any) -> DriftReport:
    """Show what others changed on the service since the last apply.

    A change in the manifests is not drift; `reconciler plan` shows it. If an entity that is declared or
    recorded is live twice, that is drift. Entities that were declared after the last apply are counted as not
    yet applied.

    Reads settings, manifests, the store and the service; writes nothing, except FILE of --report, and
    caches of large manifests and of lists in .reconciler/cache, and of lists in a PostgreSQL store.

    Exit codes: 0 no drift; 1 failed, or a workspace cannot be read or has nothing to compare with; 2 drift
    found; 3 the input or the manifests of a workspace are invalid; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler drift
        reconciler drift --only kind:device --format json
    """
    from reconciler.cli.planning import make_plan_for_options
    from reconciler.cli.review_files import Reviews
    from reconciler.core.review.drift import add_missing_baseline, drift_exit_code
    from reconciler.report.json import drift_values

    reviews = Reviews("drift", given)
    planned = make_plan_for_options(given)
    found = add_missing_baseline(planned.plan)
    code = drift_exit_code(found)
    whole = reviews.write(found, planned.verdict, code, whom=planned.whom)
    return DriftReport(
        **drift_values(found),
        found=found,
        code=code,
        full=full,
        whom=planned.whom,
        reports_missing=not whole,
    )
