"""`reconciler undo`: undoes a run of the history, from what that run kept in the store."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from reconciler.cli import options
from reconciler.cli.commands.apply import STILL_IN_GIT
from reconciler.cli.commands.show import SavedPlanReport, make_saved_plan_report
from reconciler.cli.console import output
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import ResultWork, RunReport
from reconciler.model.plans import Plan
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired

if TYPE_CHECKING:
    from reconciler.cli.run_screen import Job


class UndoReport(RunReport, frozen=True):
    """How the run ended that undid another one."""

    title: ClassVar[str] = "What was undone"


class WrittenUndo(SavedPlanReport, frozen=True):
    """The undo that was written to a file."""

    title: ClassVar[str] = "An undo that was written"
    schema: ClassVar[str] = ""


@click.command()
@click.argument("run")
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    help="Write the undo to FILE and show it, and change nothing. `reconciler apply FILE` carries it out.",
)
@options.yes_option
@options.undo_consent_options
@options.fail_fast_option
@options.lock_option
@options.report_options
@options.events_option
@options.recipients_options
@options.settings_options
@options.full_option
@options.format_option
@prints_result
def undo_command(
    *, run: str, out: str | None, yes: bool, events: str | None, full: bool, as_json: bool, **given: Any
) -> ResultWork[UndoReport | WrittenUndo]:
    """Undo a run of the history: delete what it created, set back what it updated, create what it deleted.

    RUN is the id that `reconciler history` shows, or its first characters. The command shows what it is about
    to do and asks you; where there is no terminal, pass --yes. Each entity is looked at before it is written:
    if a later run or somebody else has changed it, it is left alone, as a conflict. Secrets, deleted devices
    and deleted resources are not kept, so they are not restored; the plan says so of each.

    The store keeps what undoes each of the last 20 runs, for `undo_days` of the settings (7 days). A run can
    be undone once, and an undo cannot be undone. Git still contains what the run did: revert the commit too,
    or the next apply does it again.

    Reads settings, the store and the service; writes the service and the store, FILE, and FILE of --report.

    Exit codes: 0 done; 1 failed; 3 the run is not known, or other input is invalid; 4 another run holds the
    lock; 5 undone before, or an entity is in conflict; 6 undone in part; 7 the run cannot be undone, the
    guard refused, or you declined; 8 in doubt: the outcome of a write is not known; 64 usage error; 130
    interrupted.

    \b
    Examples:
        reconciler undo 3f2a9c41
        reconciler undo 3f2a9c41 -o undo.json
        reconciler undo 3f2a9c41 --yes --allow-deletes 5
    """
    from reconciler.cli.console.logs import open_events
    from reconciler.cli.planning import make_consent, read_plan_recipients
    from reconciler.cli.review_files import Reviews
    from reconciler.cli.run_screen import Undo, carry_out, report_run
    from reconciler.files.plan_file import write_plan

    told, ask = open_events(events, as_json=as_json), out is None and not yes
    recipients = read_plan_recipients(given, "-o FILE" if out is None else "")
    if ask and (as_json or told.on_stdout or not output.can_ask()):
        raise click.UsageError("not a terminal: pass --yes, or -o FILE to review the undo first.")
    reviews = Reviews("apply" if out is None else "show", given, out, told.file)
    with told.of_command():
        settings, saved = _load_undo(run, given)
        if out is not None:
            write_plan(Path(out), saved, recipients)
            consent = make_consent(given)
            yield make_saved_plan_report(
                saved, out, reviews, settings, full=full, consent=consent, kind=WrittenUndo
            )
            return True
        job = _make_undo_job(settings, saved, run, given)
        with reviews.of_refused(saved):
            done = carry_out(
                job, Undo(None, ()), told, ask=ask, full=full, as_json=as_json, hears=reviews.hear
            )
        whole = yield from report_run(done, UndoReport, events=told, full=full, reviews=reviews)
        if done.count("applied"):
            output.note(STILL_IN_GIT)
    return whole


# --- `reconciler undo` at work: the undo that a run kept is carried out as one from a file --------


def _load_undo(run: str, given: Mapping[str, Any]) -> tuple[Settings, Plan]:
    """Return the settings, and the plan that undoes this run. Nothing is asked of the service."""
    from reconciler import pipeline
    from reconciler.cli.session import load_settings, make_dependencies, run_to_end, with_lock_timeout
    from reconciler.model.runs import Context

    settings = with_lock_timeout(
        load_settings(given["config"], given["environment"], service=True), given["lock_timeout"]
    )
    around = make_dependencies(settings, Context())
    return settings, run_to_end(lambda _signals: pipeline.load_undo(settings, around, run))


def _make_undo_job(settings: Settings, saved: Plan, run: str, given: Mapping[str, Any]) -> "Job":
    from reconciler.cli.planning import make_consent
    from reconciler.cli.run_screen import Job
    from reconciler.cli.session import read_run_context

    return Job(
        settings=settings,
        desired=Desired({}, frozenset()),
        context=read_run_context(settings),
        options=saved.options,
        consent=make_consent(given),
        saved=saved,
        again=shlex.join(["reconciler", "undo", run]),
        undo=None,
        recipients=(),
        fail_fast=given["fail_fast"],
    )
