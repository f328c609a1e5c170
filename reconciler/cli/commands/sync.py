"""`reconciler sync`: what a timer calls. Plans, and does with the plan what the policy says."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import click
from msgspec import Struct

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc, ResultWork
from reconciler.errors import ReconcilerError, SettingsError
from reconciler.model.plans import ACTION_WORDS
from reconciler.report.lines import Line, line

if TYPE_CHECKING:
    from reconciler.cli.review_files import Reviews
    from reconciler.model.settings import Settings
    from reconciler.model.snapshots import NotPlanned
    from reconciler.pipeline import Synced


class SyncRun(Struct):
    """The run that applied the plan, and how many of its changes ended in which way."""

    run: str
    results: dict[str, int]
    audit_head: str


class SyncReport(CommandResult, frozen=True):
    """What was decided, and what came of it. `synced` and what follows are for the text."""

    title: ClassVar[str] = "What a sync did, and why"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 130)
    decision: Annotated[str, Doc("apply, ask, wait, report, refuse or nothing.")]
    reason: Annotated[str, Doc("Why, in a sentence.")]
    until: Annotated[str, Doc("When a pause ends or a window opens, ISO 8601 in UTC; empty if not known.")]
    commit: Annotated[str, Doc("The commit of the manifests; empty if not known.")]
    fingerprint: Annotated[str, Doc("The fingerprint of the plan.")]
    counts: Annotated[dict[str, int], Doc("How many creates, updates and deletes the plan has.")]
    check: Annotated[str | None, Doc("The end of what policy.check printed; null where it did not run.")]
    question: Annotated[str, Doc("The id of the question to the approvers; empty where nobody is asked.")]
    run: Annotated[SyncRun | None, Doc("The run that applied the plan.")]
    not_planned: Annotated["tuple[NotPlanned, ...]", Doc("Workspaces that were left out, and why.")]
    synced: "Synced"
    full: bool
    is_hidden: bool

    @property
    def exit_code(self) -> int:
        """That of the run, or of the decision."""
        return self.synced.exit_code

    def lines(self) -> Sequence[Line]:
        """Return the plan and what was decided; where it was applied, how its changes ended."""
        from reconciler.report.text import plan_lines, run_lines

        if self.is_hidden:
            return ()
        planned, run = self.synced.planned, self.synced.run
        if run is not None:
            return run_lines(run, full=self.full, verbose=output.is_verbose())
        shown = plan_lines(planned.plan, planned.verdict, full=self.full, whom=planned.whom)
        if planned.plan.empty or not planned.verdict.safe:
            return shown
        return (*shown[:-1], *self._decision_lines())  # the last line speaks of what comes next

    def failure_lines(self) -> Sequence[Line]:
        """Return why the plan was not applied, or what of it failed."""
        from reconciler.report.text import failure_lines, run_failure_lines

        planned, run = self.synced.planned, self.synced.run
        if run is not None:
            return run_failure_lines(run) if run.exit_code else ()
        if planned.plan.empty or not planned.verdict.safe:
            return failure_lines(planned.plan, planned.verdict) if self.exit_code else ()
        missing = failure_lines(planned.plan, planned.verdict) if planned.plan.left_out else ()
        return (*missing, *self._decision_lines())

    def _decision_lines(self) -> tuple[Line, ...]:
        until = f" until {self.until}" if self.until else ""
        said = [line(f"  {text}") for text in (self.check or "").splitlines()]
        asked = self.synced.asked
        if asked is not None:
            said += [line(f"  question {asked.question.question}; messages sent now: {len(asked.sent)}")]
            said += [line(f"  not asked: {name}: {why}") for name, why in asked.failed.items()]
        step = _NEXT[self.decision]
        return (
            line((f"{self.decision}{until}", "bold"), f": {self.reason}."),
            *said,
            *([line(("  next: ", "bold"), step)] if step else []),
        )


# What a person does about each decision.
_NEXT: Mapping[str, str] = {
    "apply": "",
    "ask": "reconciler approvals list   (who has to approve); sync applies the plan once they have",
    "wait": "",
    "report": "reconciler apply   (shows the plan and asks), or set policy.mode",
    "refuse": "reconciler plan   (shows what is refused, and what would allow it)",
    "nothing": "",
}


@click.command()
@options.lock_option
@click.option(
    "--allow-dirty", is_flag=True, help="Apply even if the files differ from the commit that the run records."
)
@click.option(
    "--allow-rewind",
    is_flag=True,
    help="Apply a commit that does not descend from the one that was applied last.",
)
@options.report_options
@options.events_option
@options.refresh_option
@options.settings_options
@options.strict_option
@options.cache_option
@options.full_option
@options.format_option
@prints_result
def sync_command(*, events: str | None, full: bool, as_json: bool, **given: Any) -> ResultWork[SyncReport]:
    """Compare the manifests with the service, and do what the policy allows without a person.

    Meant for a timer: it never asks on the terminal, and may be called as often as you like. What an earlier
    run left in doubt is settled first. Then it plans, and `policy` of the settings decides: the plan is
    applied, waits for approval or for a window, is only reported, or is refused. By default it is reported.
    What is applied is exactly the plan that was decided about; `reconciler history` shows it as sync.

    The files must be as in the commit that is checked out, unless you pass --allow-dirty. The commit must
    descend from the one that was applied last, unless you pass --allow-rewind. What the command found is
    recorded in the store, for `reconciler status`.

    Reads settings, manifests, the store and the service; writes the service and the store, FILE of
    --report, and caches of large manifests and of lists in .reconciler/cache.

    Exit codes: 0 done, or nothing to do; 1 failed; 2 changes were found and only reported; 3 the input is
    invalid; 4 another run holds the lock: normal for the second of two timers; 5 the service changed
    meanwhile, a conflict, or an ambiguous entity; 6 applied in part; 7 refused by the guard, by
    policy.check, by an approver, or because of the commit; 8 in doubt; 9 waits for approval; 10 paused, or
    outside of a window; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler sync
        reconciler sync --format json --report markdown=sync.md
    """
    from reconciler import pipeline
    from reconciler.cli.commit_checks import note_unchecked, require_committed
    from reconciler.cli.console.logs import open_events
    from reconciler.cli.review_files import Reviews
    from reconciler.cli.run_screen import Screen
    from reconciler.cli.session import (
        make_dependencies,
        read_declaration,
        read_project_checkout,
        read_run_context,
        run_to_end,
    )

    told = open_events(events, as_json=as_json)
    reviews = Reviews("sync", given, told.file)
    with told.of_command():
        settings = _load_settings(given)
        try:
            declared = read_declaration(settings)
            checkout = read_project_checkout(settings, declared.inputs)
            context = read_run_context(settings, checkout=checkout)
            if not given["allow_dirty"]:
                require_committed(checkout, "sync applies what is committed")
        except ReconcilerError as error:
            _record_failure(settings, error)
            raise
        note_unchecked(checkout, context)
        with output.progress() as bars, reviews.of_refused():
            bars.advance("reading the service", 0, None)
            synced = run_to_end(
                lambda signals: pipeline.sync(
                    settings,
                    declared.desired,
                    make_dependencies(settings, context),
                    made_of=declared.made_of,
                    stop=signals.stop,
                    allow_rewind=given["allow_rewind"],
                    observer=Screen(
                        bars, signals, ask=False, full=full, as_json=as_json, events=told, hears=reviews.hear
                    ),
                )
            )
        result = _report_sync(synced, full=full, is_hidden=told.on_stdout)
        if synced.run is None:
            told.planned(synced.planned.plan, safe=synced.planned.verdict.safe)
            told.nothing(synced.exit_code)
        else:
            told.ended(synced.run)
        whole = False
        try:
            yield result
        finally:
            whole = _write_reviews(reviews, synced)
    return whole and told.whole


def _load_settings(given: Mapping[str, Any]) -> "Settings":
    """Return the settings. Where they have mistakes, `status` learns of it, if the store can be found."""
    from reconciler.cli.session import load_settings, with_lock_timeout, with_refresh_mode
    from reconciler.settings.reader import read_settings, working_folder

    try:
        settings = load_settings(given["config"], given["environment"], service=True)
    except SettingsError as error:
        with suppress(SettingsError):
            named = {"config": given["config"], "environment": given["environment"]}
            found = read_settings(
                **named, cwd=working_folder(), environ=os.environ, service=False, without="policy"
            )
            _record_failure(found.settings, error)
        raise
    return with_refresh_mode(with_lock_timeout(settings, given["lock_timeout"]), given["refresh"])


def _record_failure(settings: "Settings", error: ReconcilerError) -> None:
    """Let `status` know that a sync failed before it could plan."""
    from reconciler import pipeline
    from reconciler.cli.session import make_dependencies, run_to_end

    if settings.service.base_url:
        run_to_end(lambda _signals: pipeline.end_failed_sync(settings, make_dependencies(settings), error))


def _report_sync(synced: "Synced", *, full: bool, is_hidden: bool) -> SyncReport:
    plan, run = synced.planned.plan, synced.run
    results = Counter[str](one.result for one in run.outcomes) if run else {}
    return SyncReport(
        decision=synced.decision.action,
        reason=synced.decision.reason,
        until=synced.decision.until,
        commit=plan.commit or "",
        fingerprint=plan.fingerprint,
        counts={f"{word}s": plan.count(word) for word in ACTION_WORDS.values()},
        check=synced.check.what if synced.check else None,
        question=synced.asked.question.question if synced.asked else "",
        run=SyncRun(run.run, dict(sorted(results.items())), run.audit_head) if run else None,
        not_planned=plan.left_out,
        synced=synced,
        full=full,
        is_hidden=is_hidden,
    )


def _write_reviews(reviews: "Reviews", synced: "Synced") -> bool:
    """Write what --report asks for; false where a file could not be written."""
    if synced.run is not None:
        return reviews.write_run(synced.run)
    planned = synced.planned
    return reviews.write(planned.plan, planned.verdict, synced.exit_code, whom=planned.whom)
