"""The report as plain text: what a terminal shows, unfolded and without colour; values included."""

from reconciler.report.inert import without_orders
from reconciler.report.lines import BLANK
from reconciler.report.plan.review import Review
from reconciler.report.plan.text import drift_lines, plain, plan_lines, run_lines


def text(review: Review) -> str:
    """Return the plan or the drift; of a run its plan without the last line, then how each change ended."""
    if review.command == "drift":
        return without_orders(plain(drift_lines(review.plan, full=True, whom=review.whom)))
    lines = plan_lines(review.plan, review.verdict, full=True, next_step=review.next_step, whom=review.whom)
    if review.run is not None:  # the last line speaks of what comes next, and that is over
        lines = (*lines[:-1], BLANK, *run_lines(review.run, full=True))
    return without_orders(plain(lines))
