"""What a `sync` found, as the store keeps it for `status`: of the stack, and of each workspace.

No sentence here names anybody: neither a person at the service nor one who works with it.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec import structs

from reconciler.core.planning.deletes import uncertain_notices
from reconciler.core.planning.unplanned import not_planned_exit_code
from reconciler.core.review.decide import ACTION_EXIT_CODES, Decision
from reconciler.core.review.guard import plan_exit_code
from reconciler.errors import ReconcilerError
from reconciler.model.automation import SyncResult
from reconciler.model.codes import CODES
from reconciler.model.plans import Change, Plan, Verdict, action_of
from reconciler.model.runs import EXIT_CODE_WORDS, Run
from reconciler.model.snapshots import Desired


def find_sync_exit_code(
    plan: Plan, verdict: Verdict, desired: Desired, decision: Decision, run: Run | None
) -> int:
    """Return what a sync ends with: as its run, as a plan with nothing to do, or as its decision says."""
    if run is not None:
        return run.exit_code
    if decision.action in {"nothing", "report"}:
        several = bool(uncertain_notices(plan, desired))
        return plan_exit_code(plan, verdict, ambiguous=several, detailed=True)
    return ACTION_EXIT_CODES[decision.action]


_ENDED_WELL = frozenset({"applied", "skipped"})


def list_sync_results(
    plan: Plan,
    decision: Decision,
    run: Run | None,
    *,
    exit_code: int,
    at: str,
    next_window: str = "",
    expect_every_s: int = 0,
) -> tuple[SyncResult, ...]:
    """Return what a sync that came to a decision found: the stack first, then its workspaces by alias.

    The counts are of changes that are still to be made. A workspace without any ended well.
    """
    ended = {one.address for one in run.outcomes if one.result in _ENDED_WELL} if run else frozenset()
    left = [one for one in plan.changes if one.address not in ended]
    whole = SyncResult(
        workspace="",
        at=at,
        outcome=EXIT_CODE_WORDS[exit_code],
        exit_code=exit_code,
        commit=plan.commit or "",
        fingerprint=plan.fingerprint,
        counts=Counter(map(action_of, left)),
        next_window=next_window,
        run=run.run if run else "",
        decision=decision.action,
        reason=decision.reason,
        expect_every_s=expect_every_s,
    )
    left_out = {one.workspace: not_planned_exit_code([one]) for one in plan.left_out}
    names = sorted({one.alias for one in plan.target.workspaces} | left_out.keys())
    return (whole, *(_of_workspace(whole, name, left_out.get(name), left) for name in names))


def _of_workspace(
    whole: SyncResult, workspace: str, not_planned: int | None, left: Iterable[Change]
) -> SyncResult:
    counts = Counter(action_of(one) for one in left if one.address.workspace == workspace)
    code = whole.exit_code if counts else 0
    code = not_planned if not_planned is not None else code
    return structs.replace(
        whole,
        workspace=workspace,
        outcome=EXIT_CODE_WORDS[code],
        exit_code=code,
        counts=counts,
        reason=whole.reason if code else "",
        expect_every_s=0,
    )


def make_failed_sync(error: ReconcilerError, *, at: str, commit: str, expect_every_s: int = 0) -> SyncResult:
    """Return what is kept of a sync that an error ended: its code and title, and nothing of its text."""
    return SyncResult(
        workspace="",
        at=at,
        outcome=error.outcome,
        exit_code=error.exit_code,
        commit=commit,
        decision="",
        reason=f"{CODES[error.error_code].title} [{error.error_code}]",
        expect_every_s=expect_every_s,
    )
