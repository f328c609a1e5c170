"""A run that has ended: what its report says beside its outcomes, and what the store keeps of it.

Not here: how one change ended (applying/endings.py), the exit code (applying/exits.py).
"""

from contextlib import suppress
from functools import partial

from msgspec import UNSET, structs

from reconciler.core.compare.password_digests import declares_passwords, prove_digests
from reconciler.core.planning.deletes import count_uncertain, uncertain_notices
from reconciler.engine.context import RunContext
from reconciler.engine.exit_codes import add_run_notices
from reconciler.engine.planning import PlanResult
from reconciler.errors import StoreError
from reconciler.model.plans import Options, Plan, Workspace
from reconciler.model.runs import ROWS_OF, Head, Run
from reconciler.store.database import Store


async def finish_run(context: RunContext, planned: PlanResult, run: Run) -> Run:
    """Return the report of a run that has ended, with what its plan noticed; the store has it too."""
    plan, desired = planned.plan, planned.desired
    run = structs.replace(
        run, records=plan.to_keep, seen=count_uncertain(plan, desired) | _count_directory_rows(plan)
    )
    run = add_run_notices(run, plan.notices, uncertain_notices(plan, desired))
    with suppress(StoreError):  # what was done is recorded; that it ended must not hide how it ended
        head = await context.ask(partial(_record_end, run, _whole_workspaces(plan)))
        run = structs.replace(run, audit_head=str(head or ""))
        await _store_proofs(context, planned)
    return run


def _count_directory_rows(plan: Plan) -> dict[str, int]:
    """Count the rows of each directory, for the next plan to be compared with (rule G7).

    Of a whole plan alone: what a selection leaves out is not applied.
    """
    if not _is_whole_plan(plan):
        return {}
    return {f"{ROWS_OF}{one.name}": one.rows for one in plan.answers}


def _is_whole_plan(plan: Plan) -> bool:
    """Whether a plan is of everything, and not of a selection, of adoptions alone, or an undo."""
    return (
        structs.replace(plan.options, reactivate=(), same_service=UNSET, same=UNSET, again=UNSET) == Options()
    )


def _whole_workspaces(plan: Plan) -> tuple[Workspace, ...]:
    """Return the workspaces that a run has applied, which a selection applies in part."""
    return plan.target.workspaces if _is_whole_plan(plan) else ()


def _record_end(run: Run, whole: tuple[Workspace, ...], store: Store) -> Head | None:
    store.end(run, whole)
    return store.head()


async def _store_proofs(context: RunContext, planned: PlanResult) -> None:
    """Keep what spares the next plan to compare passwords one by one, of all that are known to be as sent.

    When the run has ended, over what is recorded now. Killed before that, the next plan is slower. Raises
    StoreError.
    """
    workspaces, desired = planned.plan.target.workspaces, planned.desired.entities
    if context.stop.asked or not declares_passwords(desired):
        return
    recorded = await context.ask(lambda store: store.recorded(workspaces))
    found = {**recorded.proofs, **await context.outside.offload(partial(prove_digests, desired, recorded))}
    if found != recorded.proofs:
        await context.ask(lambda store: store.prove(found, workspaces))
