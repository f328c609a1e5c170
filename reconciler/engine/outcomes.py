"""The end of a run, from the outcomes of its changes: exit code, report, and what the store keeps of it."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import partial

from msgspec import UNSET, structs

from reconciler.core.compare.password_digests import declares_passwords, prove_digests
from reconciler.core.planning.deletes import count_uncertain, uncertain_notices
from reconciler.core.planning.unplanned import find_wholly_planned, not_planned_exit_code
from reconciler.engine.context import RunContext, StopCause
from reconciler.engine.planning import PlanResult
from reconciler.errors import StoreError
from reconciler.model.notices import Notice
from reconciler.model.plans import Options, Plan, Workspace, action_of
from reconciler.model.runs import EXIT_CODE_WORDS, ROWS_OF, Head, Outcome, Result, Run
from reconciler.model.snapshots import NotPlanned
from reconciler.store.database import Store

DONE, FAILED, LOCKED, STALE, PARTIAL, IN_DOUBT, INTERRUPTED = 0, 1, 4, 5, 6, 8, 130


def run_exit_code(outcomes: Iterable[Outcome], stopped: StopCause | None) -> int:
    """Return the exit code of a run. The first line that fits decides.

    =====================================================  ===
    ended by a signal or by the run's deadline             130
    anything in doubt                                        8
    everything applied, or skipped as done already           0
    something applied, and something not                     6
    nothing applied: the lock was lost                       4
    nothing applied: anything failed, or the run was ended   1
    nothing applied: only conflicts                          5
    =====================================================  ===

    A skipped change is harmless by itself (it was gone already); one that was skipped because of
    another stands beside that other, which decides. A create that lost a field has applied something.
    """
    ended = tuple(outcomes)
    results: Collection[Result] = {outcome.result for outcome in ended}
    # Before a doubt: the person who stopped the run, or set its deadline, knows that it is not complete.
    if stopped in {"interrupted", "deadline"}:
        return INTERRUPTED
    if "in doubt" in results:
        return IN_DOUBT
    if stopped is None and not {"failed", "conflict", "not attempted"} & set(results):
        return DONE
    if "applied" in results or any(one.written and one.action == "create" for one in ended):
        return PARTIAL
    if stopped == "lock":
        return LOCKED
    return STALE if stopped is None and "failed" not in results else FAILED


def add_settled(run: Run, settled: Iterable[Outcome]) -> Run:
    """Return the run with the outcomes of settled earlier changes before its own, and the exit code of both.

    Where a change was settled and then carried out, only the second outcome counts.
    """
    own = {outcome.address for outcome in run.outcomes}
    before = tuple(outcome for outcome in settled if outcome.address not in own)
    results = {outcome.result for outcome in before}
    code = run.exit_code
    if "in doubt" in results and code != INTERRUPTED:
        code = IN_DOUBT
    elif "applied" in results and code in {FAILED, LOCKED, STALE}:
        code = PARTIAL
    elif "conflict" in results and code == DONE:  # of an undo: what a later run has made of it
        code = PARTIAL if run.count("applied") else STALE
    return structs.replace(
        run, outcomes=(*before, *run.outcomes), exit_code=code, outcome=EXIT_CODE_WORDS[code]
    )


def add_run_notices(run: Run, notices: tuple[Notice, ...], uncertain: tuple[Notice, ...]) -> Run:
    """Return the run with its notices; exit code 5 where an entity is ambiguous and all else went well."""
    # Not 6: there is nothing that another apply could go on with. A person has to look at the service.
    run = structs.replace(run, notices=(*uncertain, *notices))
    names = {notice.subject for notice in uncertain}
    others = (outcome for outcome in run.outcomes if outcome.address not in names)
    well = not run.stopped and run.exit_code in {DONE, PARTIAL} and run_exit_code(others, None) == DONE
    return structs.replace(run, exit_code=STALE, outcome=EXIT_CODE_WORDS[STALE]) if names and well else run


def add_not_planned(run: Run, left: tuple[NotPlanned, ...]) -> Run:
    """Return the run with what its plan left out; a run that did well otherwise ends with its exit code."""
    did = bool(run.count("applied") or run.records)
    code = run.exit_code
    if code in {DONE, STALE}:
        code = not_planned_exit_code(left, applied=did) or code
    return structs.replace(run, not_planned=left, exit_code=code, outcome=EXIT_CODE_WORDS[code])


def report_cut_short(plan: Plan, heard: Iterable[Outcome], *, run: str, at: str) -> Run:
    """Return the report of a run that was cancelled: changes without an outcome were not attempted."""
    # A change that was under way is in doubt by the journal, whatever this report says.
    ended = {outcome.address: outcome for outcome in heard}
    outcomes = (
        ended.get(change.address) or Outcome(change.address, action_of(change), "not attempted")
        for change in plan.changes
    )
    return Run(
        run=run,
        fingerprint=plan.fingerprint,
        started_at=at,
        ended_at=at,
        outcome=EXIT_CODE_WORDS[INTERRUPTED],
        exit_code=INTERRUPTED,
        outcomes=tuple(outcomes),
    )


# --- The report, and what the store keeps ---------------------------------------------------------


async def finish_run(context: RunContext, planned: PlanResult, run: Run, undo: Plan | None = None) -> Run:
    """Return the report of a run that has ended, with the notices of its plan, and store it.

    `undo` undoes what it applied.
    """
    plan, desired = planned.plan, planned.desired
    # A selection is not all of a directory and not all of a workspace. The rows are for the next plan (G7).
    whole = _is_whole_plan(plan)
    rows = {f"{ROWS_OF}{one.name}": one.rows for one in plan.answers} if whole else {}
    seen = {} if plan.left_out else count_uncertain(plan, desired)
    run = structs.replace(run, records=plan.to_keep, seen=seen | rows)
    run = add_run_notices(run, plan.notices, uncertain_notices(plan, desired))
    run = add_not_planned(run, plan.left_out)
    with suppress(StoreError):  # what was done is recorded: a store that fails here must not hide the outcome
        applied = find_wholly_planned(plan).workspaces if whole else ()
        days = context.settings.undo_days
        head = await context.ask(partial(_record_end, run, applied, undo, days))
        run = structs.replace(run, audit_head=str(head or ""))
        await _store_proofs(context, planned)
    return run


def _is_whole_plan(plan: Plan) -> bool:
    """Whether a plan covers everything: no selection, no adoptions alone, no undo."""
    return (
        structs.replace(plan.options, reactivate=(), same_service=UNSET, same=UNSET, again=UNSET) == Options()
    )


def _record_end(
    run: Run, whole: tuple[Workspace, ...], undo: Plan | None, undo_days: int, store: Store
) -> Head | None:
    store.end(run, whole, undo=undo, undo_days=undo_days)
    return store.head()


async def _store_proofs(context: RunContext, planned: PlanResult) -> None:
    """Store the password digests that let the next plan compare passwords together, not one by one.

    At the end of the run, from its records; where it is killed before, the next plan is slower. Raises
    StoreError.
    """
    workspaces, desired = planned.plan.target.workspaces, planned.desired.entities
    if context.stop.asked or not declares_passwords(desired):
        return
    recorded = await context.ask(lambda store: store.recorded(workspaces))
    found = {
        **recorded.proofs,
        **await context.dependencies.offload(partial(prove_digests, desired, recorded)),
    }
    if found != recorded.proofs:
        await context.ask(lambda store: store.prove(found, workspaces))
