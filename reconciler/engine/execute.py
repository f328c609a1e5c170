"""The end of every verb that writes: its plan is shown, judged, agreed to, carried out, and reported.

Which steps lead there, and in which order, is said in pipeline.py. Not here: one change (applying/step.py).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain, islice
from typing import Literal

from msgspec import structs

from reconciler.core.planning.deletes import add_unmarked, forgotten_at_once
from reconciler.core.planning.records import refresh_records
from reconciler.core.runs.recover import InterruptedRun
from reconciler.core.runs.undo import make_undo_plan
from reconciler.engine import waves
from reconciler.engine.context import RunContext, format_utc
from reconciler.engine.exit_codes import INTERRUPTED, add_settled, report_cut_short
from reconciler.engine.finish import finish_run
from reconciler.engine.planning import PlanResult, check_plan_safe, make_moment
from reconciler.engine.rehoming import take_over_records
from reconciler.engine.resources import RunObserver
from reconciler.errors import StalePlan, StoreError
from reconciler.instrumentation import step_log
from reconciler.model.plans import Consent, Plan, Workspace
from reconciler.model.runs import EXIT_CODE_WORDS, Context, Outcome, Run
from reconciler.model.snapshots import RecordedEntity
from reconciler.store.database import Store

KeepUndo = Callable[[Plan], None]
# Of one transaction: some 0.3 s, where a store that is silent for 12 s is given up.
records_per_transaction = 10_000


@dataclass(frozen=True, slots=True)
class Execution:
    """What a verb has found that there is to do.

    `command` is the verb as the history shows it. `left` is what of the plan is carried out, where that is
    not all of it; `unfinished` are the earlier runs whose place this one takes, and `settled` is what was
    found out about them. `saved` is a reviewed plan, which is carried out once. `keep_undo` gets the plan
    that undoes what was applied, however the run ended.
    """

    command: Literal["apply", "adopt", "forget", "resume", "undo"]
    planned: PlanResult
    consent: Consent
    unfinished: tuple[InterruptedRun, ...]
    left: Plan | None = None
    settled: tuple[Outcome, ...] = ()
    saved: Plan | None = None
    keep_undo: KeepUndo | None = None

    @property
    def plan(self) -> Plan:
        """What is carried out."""
        return self.left or self.planned.plan


async def execute_plan(context: RunContext, task: Execution, observer: RunObserver) -> Run | None:
    """Return the finished run, whose row has ended; None where `observer` disagreed, and nothing was written.

    Raises UnsafePlan, StalePlan before any write.
    """
    plan, planned, heard = task.plan, task.planned, list[Outcome]()
    observer.planned(replace(planned, plan=plan))
    check_plan_safe(planned.verdict)
    # A resumed run was confirmed when it began, and that consent still holds.
    if task.command != "resume" and not observer.agrees(planned):
        return None
    about, began = await _begin_run(context, task)
    step_log.info("run %s begins; changes to carry out: %d", context.run, len(plan.changes))

    def ended(outcome: Outcome) -> None:
        heard.append(outcome)
        observer.ended(outcome)

    live = chain.from_iterable(planned.live.entities.values())
    try:
        run, shown = await waves.execute_changes(
            context, plan, add_unmarked(plan, planned.desired), planned.recorded, on_outcome=ended, live=live
        )
    except BaseException:
        now = format_utc(context.now())
        with suppress(StoreError):
            await context.ask(lambda store: store.end(report_cut_short(plan, heard, run=context.run, at=now)))
        raise
    if task.keep_undo is not None:
        moment = make_moment(context, context.now(), context.outside.token())
        task.keep_undo(
            make_undo_plan(plan, run, shown, planned.recorded, moment=moment, key=context.store.salt)
        )
    own = {outcome.address for outcome in heard}
    for outcome in task.settled:
        if outcome.address not in own:
            observer.ended(outcome)
    resumes = task.unfinished[-1].run if task.command == "resume" else ""
    run = structs.replace(add_settled(run, task.settled), context=about, resumes=resumes, started_at=began)
    run = await finish_run(context, planned, run)
    step_log.info("run %s ended: %s", run.run, run.outcome)
    return run


async def _begin_run(context: RunContext, task: Execution) -> tuple[Context, str]:
    """Write down that the run begins, and what it takes over. Return where it runs, and since when.

    Raises StalePlan for a reviewed plan that was carried out before.
    """
    saved, planned, about = task.saved, task.planned, context.outside.context()
    if saved and not await context.ask(lambda store: store.use_plan(saved.salt)):
        what = "undo" if task.command == "undo" else "plan"
        raise StalePlan(f"this {what} was carried out before.", next="reconciler plan, then reconciler apply")
    # Its calls count from the lock on, planning and settling included: so does its time.
    held_s = max(0.0, context.timing.monotonic() - context.locked_at)
    began = format_utc(context.now() - timedelta(seconds=held_s))
    # The new run stands before the old ones are closed: killed in between, there is one to resume.
    await context.ask(lambda store: store.begin(context.run, task.command, task.plan, task.consent, about))
    await context.ask(lambda store: _close_runs(store, task.unfinished))
    if planned.plan.options.same_service is True:
        await take_over_records(context, planned.plan.target)
    await context.ask(lambda store: _update_record_names(store, planned))
    found = refresh_records(planned.plan, planned.desired, planned.live, planned.recorded)
    while await context.ask(lambda store: remember_batch(store, found, planned.plan.target.workspaces)):
        pass
    return about, began


def _close_runs(store: Store, unfinished: Iterable[InterruptedRun]) -> None:
    for one in unfinished:
        store.close_run(one.run, EXIT_CODE_WORDS[INTERRUPTED])


def _update_record_names(store: Store, planned: PlanResult) -> None:
    """Bring the names of the records to what the plan found, before anything is written to the service."""
    plan, workspaces = planned.plan, planned.plan.target.workspaces
    store.rename(plan.renames.items(), workspaces)
    store.forget(plan.gone, workspaces)
    store.leave(forgotten_at_once(plan), workspaces)


def remember_batch(
    store: Store,
    found: Iterator[RecordedEntity],
    workspaces: tuple[Workspace, ...],
    at_once: int = records_per_transaction,
) -> bool:
    """Remember the next of these records in a transaction of their own; whether there were any.

    A million in one take longer than a store may be silent. What a killed run has not kept is found anew.
    """
    some = tuple(islice(found, at_once))
    if some:
        store.remember(some, workspaces)
    return bool(some)
