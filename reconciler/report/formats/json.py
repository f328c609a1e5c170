"""The report for programs: what `--format json` prints (schemas/output/, schemas/run.schema.json)."""

from reconciler.report.inert import json_without_orders
from reconciler.report.json import drift_json, plan_json, run_json
from reconciler.report.plan.review import Review


def json(review: Review) -> str:
    """Return the run where there was one, else the drift or the plan; values included."""
    if review.run is not None:
        text = run_json(review.run)
    elif review.command == "drift":
        text = drift_json(review.plan)
    else:
        text = plan_json(review.plan, review.verdict, review.exit_code)
    return json_without_orders(text).rstrip("\n") + "\n"
