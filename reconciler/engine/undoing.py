"""A saved undo, and what of it may be carried out now.

Not here: what undoes a run (core/runs/undo.py); that it is carried out like any other plan (carrying.py).
"""

from collections.abc import Collection

from reconciler.core.review.display_names import make_display_name
from reconciler.core.runs.undo import BY_MANIFEST, narrow_undo, undo_as_desired
from reconciler.engine.context import RunContext
from reconciler.engine.planning import PlanResult, judge_plan
from reconciler.engine.targets import resolve_target
from reconciler.errors import StalePlan
from reconciler.model.address import Address
from reconciler.model.plans import Consent, Plan
from reconciler.model.snapshots import Live, Recorded


async def make_undo(
    context: RunContext, saved: Plan, consent: Consent, done: Collection[Address] = ()
) -> PlanResult:
    """Return what of a saved undo may be carried out now; `done` was, by a run that did not finish.

    Raises StalePlan for one that is meant for another place.
    """
    target = await resolve_target(context, undo_as_desired(saved, Recorded({})))
    if target != saved.target:
        raise StalePlan("the undo belongs to another service, stack or workspace.", next=BY_MANIFEST)
    recorded = await context.ask(lambda store: store.recorded(target.workspaces))
    fit = narrow_undo(saved, recorded, done)
    verdict, desired = judge_plan(context, fit.plan, consent), undo_as_desired(fit.plan, recorded)
    calls = sum(context.client.calls.values())
    live = Live({})
    who = make_display_name(fit.plan, desired, live, recorded, context.rules)
    return PlanResult(fit.plan, verdict, desired, live, recorded, calls, conflicts=fit.conflicts, whom=who)
