"""What a person sees and is asked while a run writes, then its report: the same for each command that writes.

Loaded when a run is about to begin. pipeline.py does the work, report/ renders.
"""

import shlex
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from reconciler import pipeline
from reconciler.cli.console import output
from reconciler.cli.console.logs import Events
from reconciler.cli.console.progress import Bars
from reconciler.cli.planning import content_sizes
from reconciler.cli.results import ResultWork, RunReport
from reconciler.cli.review_files import Reviews
from reconciler.cli.session import Signals, make_dependencies, run_to_end
from reconciler.core.planning.deletes import find_unmarked
from reconciler.core.runs.recover import InterruptedRun
from reconciler.core.suggest import did_you_mean
from reconciler.errors import FileError, Refused, UnknownAddress
from reconciler.files.plan_file import write_plan
from reconciler.model.address import Address
from reconciler.model.codes import SKIP_CODES
from reconciler.model.plans import Change, Consent, Options, Plan, Verdict
from reconciler.model.runs import Context, Outcome, Run
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired
from reconciler.pipeline import PlanResult
from reconciler.report.lines import count
from reconciler.report.text import plan_lines, run_failure_lines, unfinished_lines, unplanned_change_lines

skips_told_max = 10  # lines of a note; beyond that it hides what it is about


class Screen:
    """What is shown, and asked, between the plan and the report."""

    def __init__(
        self,
        bars: Bars,
        signals: Signals,
        *,
        ask: bool,
        full: bool,
        as_json: bool,
        events: Events,
        hears: Callable[[PlanResult], None] | None = None,
    ) -> None:
        self._bars = bars
        self._events = events
        self._signals = signals
        self._ask = ask
        self._full = full
        self._silent = as_json or events.on_stdout
        self._hears = hears
        self._done = 0
        self._total = 0

    def unfinished(self, runs: tuple[InterruptedRun, ...]) -> None:
        """Say that an earlier run did not finish: looking for what it left in doubt may take a while."""
        self._bars.clear()
        self._events.unfinished(runs)
        output.note_lines(unfinished_lines(runs))
        output.note("first, the command finds out what became of earlier requests; nothing is sent twice.")
        self._bars.advance("settling", 0, None)

    def doubtful(self, why: str) -> None:
        """Say that the store may lack what was sent lately: that takes a while to be sure of."""
        self._bars.clear()
        self._events.waits(why)
        output.note(f"{why}.")
        output.note(
            "requests may be missing from this store: waiting until none of them can still take effect."
        )
        self._bars.advance("settling", 0, None)

    def beyond(self, changes: tuple[Change, ...]) -> None:
        """Name what would be to do besides what is resumed."""
        self._bars.clear()
        output.note_lines(unplanned_change_lines(changes, "reconciler plan", full=self._full))

    def planned(self, planned: PlanResult) -> None:
        """Show the plan. If it is refused, the error that follows says why."""
        self._bars.clear()
        self._events.planned(planned.plan, safe=planned.verdict.safe)
        if self._hears is not None:
            self._hears(planned)
        if not self._silent:
            shown = plan_lines(
                planned.plan, Verdict(), full=self._full, sizes=content_sizes(planned), whom=planned.whom
            )
            output.lines(shown[:-1])  # the last line speaks of what comes next, and that is now

    def waits(self, what: str) -> None:
        """Say that the run takes the lock in the service: nothing else is seen of it for a while."""
        self._bars.clear()
        self._events.waits(what)
        output.note(f"{what}.")

    def stale(self, saved: Plan, planned: PlanResult) -> None:
        """Show what the saved plan does not say of the present (planning rule A1)."""
        from reconciler.report.plan_difference import plan_difference  # noqa: PLC0415 - slow to load, seldom needed

        if self._hears is not None:
            self._hears(planned)
        if not self._silent:
            output.lines(plan_difference(saved, planned.plan, full=self._full))

    def agrees(self, planned: PlanResult) -> bool:
        """Ask where that is wanted, and say whether to go on."""
        question = self.question(planned)
        if self._ask and question and not output.confirm(question):
            return False
        self._signals.apply_begins()
        self._total = len(planned.plan.changes)
        self._events.begins(self._total)
        return True

    def question(self, planned: PlanResult) -> str:
        """Return what has to be agreed to, or "" where nothing is written to the service."""
        return "Carry out this plan?" if planned.plan.changes else ""

    def ended(self, outcome: Outcome) -> None:
        """Count one more change."""
        self._done += 1
        self._events.changed(outcome)
        self._bars.advance("applying", self._done, self._total)


class Resuming(Screen):
    """No question follows; the first write comes right after the plan is shown."""

    def planned(self, planned: PlanResult) -> None:
        """Show what is left of the plan, and let signals finish what is under way from now on."""
        super().planned(planned)
        self.agrees(planned)


def _explain_unowned(text: str, planned: PlanResult) -> UnknownAddress:
    """Return why nothing is forgotten under an address."""
    if text in planned.recorded.entities:
        return UnknownAddress(
            f"{text} is declared by another entry now, so it is not forgotten.",
            next="see which: reconciler plan; remove that entry from the manifest first",
        )
    otherwise = "compare it with the addresses that `reconciler history` shows"
    return UnknownAddress(
        f"{text} is not owned: nothing is recorded under this address.",
        next=did_you_mean("entity", text, map(str, planned.recorded.entities), otherwise),
    )


class Adopting(Screen):
    """Asks though nothing is written to the service: from now on the manifest decides."""

    def question(self, planned: PlanResult) -> str:
        """Return what is asked: the number is what is adopted."""
        number = len(planned.plan.adoptions)
        return f"Adopt {count(number, 'entity', 'entities')}, unchanged?" if number else ""


class Forgetting(Screen):
    """Asks also where nothing is written to the service."""

    def planned(self, planned: PlanResult) -> None:
        """Show what is forgotten. Raises UnknownAddress for an address under which nothing is known."""
        plan = planned.plan
        known: set[Address | str] = {
            *plan.forgotten,
            *find_unmarked(plan),
            *(one.address for one in plan.skips),
        }
        known |= {notice.subject for notice in plan.notices}
        for text in plan.options.forget:
            if text not in known:
                raise _explain_unowned(text, planned)
        super().planned(planned)

    def question(self, planned: PlanResult) -> str:
        """Return what is asked: the number is what is forgotten, with what belongs to it."""
        number = len({*planned.plan.forgotten, *find_unmarked(planned.plan)})
        return f"Forget {count(number, 'recorded entity', 'recorded entities')}?" if number else ""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be applied, and how."""

    settings: Settings
    desired: Desired
    context: Context
    options: Options
    consent: Consent
    saved: Plan | None
    again: str  # the command line that asks once more
    undo: Path | None
    recipients: tuple[str, ...]
    fail_fast: bool


class Undo:
    """The undo of a run: known when the run has ended, written after its report was printed."""

    def __init__(self, path: Path | None, recipients: tuple[str, ...]) -> None:
        self._path = path
        self._recipients = recipients
        self._plan: Plan | None = None

    def hear(self, plan: Plan) -> None:
        """Keep the inverse of what was applied."""
        self._plan = plan

    def write(self) -> bool:
        """Write the file that was asked for, or say why there is none; false where it could not be."""
        if self._path is None:
            return True
        plan = self._plan
        if plan is None or not (plan.changes or plan.gone):
            why = (
                "nothing was applied"
                if plan is None or not plan.skips
                else "none of its changes can be undone"
            )
            output.note("\n".join([f"{self._path} was not written: {why}.", *_why_not_undone(plan)]))
            return True
        try:
            write_plan(self._path, plan, self._recipients)
        except FileError as error:
            output.note(f"{error} The run is over, and has no undo file.\n  next: {error.next}")
            return False
        output.note(f"{self._path} undoes this run.  next: reconciler show {shlex.quote(str(self._path))}")
        return True


def _why_not_undone(plan: Plan | None) -> list[str]:
    """Return why the first changes of a run cannot be undone, each with the code of its reason."""
    skips = plan.skips if plan else ()
    told = [f"  {one.address} {one.what} [{SKIP_CODES[one.reason]}]" for one in skips[:skips_told_max]]
    more = len(skips) - len(told)
    return [*told, *([f"  … and {more:,} more"] if more else [])]


def carry_out(
    job: Job,
    undo: Undo,
    events: Events,
    *,
    ask: bool,
    full: bool,
    as_json: bool,
    screen: type[Screen] = Screen,
    hears: Callable[[PlanResult], None] | None = None,
) -> Run:
    """Return the finished run, seen and agreed to on `screen`. Raises Refused where the person said no.

    `hears` is called with the plan, before it is judged.
    """
    with output.progress() as bars:
        bars.advance("reading the service", 0, None)
        run = run_to_end(
            lambda signals: _choose_work(
                job,
                undo,
                signals,
                screen(bars, signals, ask=ask, full=full, as_json=as_json, events=events, hears=hears),
            )
        )
    if run is None:
        raise Refused("not confirmed; nothing was written.", next=job.again)
    return run


def _choose_work(job: Job, undo: Undo, signals: Signals, observer: Screen) -> Coroutine[Any, Any, Run | None]:
    """Return the work of the pipeline: a plan of the manifests, or the undo of a run."""
    around = make_dependencies(job.settings, job.context)
    if job.saved is not None and job.saved.options.undo_of:
        return pipeline.undo(
            job.settings,
            job.saved,
            around,
            consent=job.consent,
            fail_fast=job.fail_fast,
            stop=signals.stop,
            observer=observer,
        )
    return pipeline.apply(
        job.settings,
        job.desired,
        around,
        options=job.options,
        consent=job.consent,
        saved=job.saved,
        fail_fast=job.fail_fast,
        stop=signals.stop,
        observer=observer,
        keep_undo=undo.hear if job.undo is not None else None,
    )


Report = TypeVar("Report", bound=RunReport)


def report_run(
    run: Run, kind: type[Report], *, events: Events, full: bool, reviews: Reviews
) -> ResultWork[Report]:
    """Yield how a run ended, to be printed; then return whether its other files were written.

    The files of `reviews` are written whatever becomes of the output.
    """
    whole = False
    events.ended(run)
    try:
        yield kind(run=run, full=full, verbose=output.is_verbose(), is_hidden=events.on_stdout)
    finally:
        whole = reviews.write_run(run)
        if run.exit_code:
            output.explain_failure(run_failure_lines(run))
    return whole and events.whole
