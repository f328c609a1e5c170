"""What a person sees, and is asked, while a run writes: the same for every command that does.

Loaded when a run is about to begin. Not here: what is done (pipeline.py) and how it reads (report/).
"""

from collections.abc import Callable

from reconciler.cli.console import output, streams
from reconciler.cli.console.events import Events
from reconciler.cli.files.reports import with_reports
from reconciler.cli.session import Signals
from reconciler.cli.verbs.reviewing.plan import sizes
from reconciler.cli.verbs.reviewing.reviews import Reviews
from reconciler.core.runs.recover import Unfinished
from reconciler.model.plans import Change, Plan, Verdict
from reconciler.model.runs import Outcome, Run
from reconciler.pipeline import PlanResult
from reconciler.report.json import run_pieces
from reconciler.report.runs.runs import run_failure_lines
from reconciler.report.runs.unfinished import beyond_lines, unfinished_lines
from reconciler.report.text import plan_lines, run_lines


class Screen:
    """What is shown, and asked, between the plan and the report."""

    def __init__(
        self,
        bars: streams.Bars,
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

    def unfinished(self, runs: tuple[Unfinished, ...]) -> None:
        """Say that an earlier run did not finish: looking for what it left in doubt may take a while."""
        self._bars.clear()
        self._events.unfinished(runs)
        output.note_lines(unfinished_lines(runs))
        output.note("changes in doubt are settled first; nothing is sent twice.")
        self._bars.advance("settling", 0, None)

    def doubtful(self, why: str) -> None:
        """Say that the store may lack what was sent lately: that takes a while to be sure of."""
        self._bars.clear()
        self._events.waits(why)
        output.note(f"{why}.")
        output.note("requests sent since may be missing from it: waiting until none can still arrive.")
        self._bars.advance("settling", 0, None)

    def beyond(self, changes: tuple[Change, ...]) -> None:
        """Name what would be to do besides what is resumed."""
        self._bars.clear()
        output.note_lines(beyond_lines(changes, "reconciler plan", full=self._full))

    def planned(self, planned: PlanResult) -> None:
        """Show the plan. If it is refused, the error that follows says why."""
        self._bars.clear()
        self._events.planned(planned.plan, safe=planned.verdict.safe)
        if self._hears is not None:
            self._hears(planned)
        if not self._silent:
            shown = plan_lines(
                planned.plan, Verdict(), full=self._full, sizes=sizes(planned), whom=planned.whom
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


def report(run: Run, *, events: Events, full: bool, as_json: bool, reviews: Reviews | None = None) -> int:
    """Print how a run ended, and return the exit code. Where the output is lost, say where to find it.

    The files of `reviews` are written whatever becomes of the output.
    """
    whole = False
    events.ended(run)
    try:
        if not events.on_stdout:
            _print(run, full=full, as_json=as_json)
    finally:
        whole = reviews is None or reviews.write_run(run)
        if run.exit_code:
            output.explain_failure(run_failure_lines(run))
    return with_reports(run.exit_code, whole=whole and events.whole)


def _print(run: Run, *, full: bool, as_json: bool) -> None:
    kept = f"reconciler history   (holds the run {run.run})"
    try:
        read = output.json_pieces(run_pieces(run)) if as_json else output.lines(run_lines(run, full=full))
    except output.OutputLost as error:
        raise output.OutputLost(f"the report could not be printed: {error}", next=kept) from error
    if not read:
        output.note(f"the reader of the report stopped before its end.\n  next: {kept}")
