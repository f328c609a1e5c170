"""The report for programs: what `--format json` prints (schemas/output/, schemas/run.schema.json)."""

from collections.abc import Iterator

from reconciler.report.inert import json_without_orders
from reconciler.report.json import drift_pieces, plan_pieces, run_pieces
from reconciler.report.plan.review import Review


def json(review: Review) -> str:
    """Return the run where there was one, else the drift or the plan; values included."""
    return "".join(json_pieces(review))


def json_pieces(review: Review) -> Iterator[str]:
    """Yield the same, in pieces of whole lines."""
    if review.run is not None:
        pieces = run_pieces(review.run)
    elif review.command == "drift":
        pieces = drift_pieces(review.plan)
    else:
        pieces = plan_pieces(review.plan, review.verdict, review.exit_code)
    return map(json_without_orders, pieces)  # an order stands within one line
