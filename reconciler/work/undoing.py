"""A saved undo, and what of it may be carried out now.

Not here: what undoes a run (core/undo.py); that it is carried out like any other plan (carrying.py).
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from reconciler.core.guard import Consent, guard
from reconciler.core.undo import BY_MANIFEST, desired_of, fitting
from reconciler.errors import StalePlan
from reconciler.model.address import Address
from reconciler.model.outcomes import Outcome
from reconciler.model.plans import Plan, Target
from reconciler.model.snapshots import Live, Recorded
from reconciler.service.http.urls import origin
from reconciler.service.profile import load_profile
from reconciler.work.held import Work
from reconciler.work.planning import Planned, named_workspaces


@dataclass(frozen=True, slots=True)
class Undoing:
    """An undo about to be carried out: the work, with its entities; the plan; what is a conflict already."""

    work: Work
    planned: Planned
    conflicts: tuple[Outcome, ...]


async def make_undo(work: Work, saved: Plan, consent: Consent, done: Collection[Address] = ()) -> Undoing:
    """Return what of a saved undo may be carried out now; `done` was, by a run that did not finish.

    Raises StalePlan for one that is meant for another place.
    """
    settings = work.settings
    desired = desired_of(saved, Recorded({}))
    workspaces = await named_workspaces(work.client, settings, desired)
    target = Target(origin(settings.service.base_url), settings.stack, workspaces)
    if target != saved.target:
        raise StalePlan("the undo is meant for another service, stack or workspace.", next=BY_MANIFEST)
    recorded = await work.ask(lambda store: store.recorded(workspaces))
    fit = fitting(saved, recorded, done)
    missing = load_profile(settings.service.profile).missing
    verdict = guard(fit.plan, settings.guard, consent, missing)
    desired = desired_of(fit.plan, recorded)
    planned = Planned(fit.plan, verdict, desired, Live({}), recorded, sum(work.client.calls.values()))
    return Undoing(replace(work, desired=desired), planned, fit.conflicts)
