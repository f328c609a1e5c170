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

from reconciler.core.planning.leaving import forgotten_at_once, with_leaving
from reconciler.core.planning.records import refreshed
from reconciler.core.runs.recover import Unfinished
from reconciler.core.runs.undo import inverse
from reconciler.engine import waves
from reconciler.engine.context import RunContext, utc_text
from reconciler.engine.exit_codes import INTERRUPTED, cut_short, with_settled
from reconciler.engine.finish import end
from reconciler.engine.planning import Planned, check_safe, moment_of
from reconciler.engine.rehoming import take_over
from reconciler.engine.resources import Observer
from reconciler.errors import StalePlan, StoreError
from reconciler.instrumentation import step_log
from reconciler.model.plans import Consent, Plan, Workspace
from reconciler.model.runs import EXIT_CODE_WORDS, Context, Outcome, Run
from reconciler.model.snapshots import RecordedEntity
from reconciler.store.database import Store

KeepUndo = Callable[[Plan], None]
# Of one transaction: some 0.3 s, where a store that is silent for 12 s is given up.
records_at_once = 10_000


@dataclass(frozen=True, slots=True)
class Task:
    """What a verb has found that there is to do.

    `command` is the verb as the history shows it. `left` is what of the plan is carried out, where that is
    not all of it; `unfinished` are the earlier runs whose place this one takes, and `settled` is what was
    found out about them. `saved` is a reviewed plan, which is carried out once. `keep_undo` gets the plan
    that undoes what was applied, however the run ended.
    """

    command: Literal["apply", "adopt", "forget", "resume", "undo"]
    planned: Planned
    consent: Consent
    unfinished: tuple[Unfinished, ...]
    left: Plan | None = None
    settled: tuple[Outcome, ...] = ()
    saved: Plan | None = None
    keep_undo: KeepUndo | None = None

    @property
    def plan(self) -> Plan:
        """What is carried out."""
        return self.left or self.planned.plan


async def carry_out(context: RunContext, task: Task, observer: Observer) -> Run | None:
    """Return the finished run, whose row has ended; None where `observer` disagreed, and nothing was written.

    Raises UnsafePlan, StalePlan before any write.
    """
    plan, planned, heard = task.plan, task.planned, list[Outcome]()
    observer.planned(replace(planned, plan=plan))
    check_safe(planned.verdict)
    # A resumed run was confirmed when it began, and that consent still holds.
    if task.command != "resume" and not observer.agrees(planned):
        return None
    about, began = await _begin(context, task)
    step_log.info("run %s begins; changes to carry out: %d", context.run, len(plan.changes))

    def ended(outcome: Outcome) -> None:
        heard.append(outcome)
        observer.ended(outcome)

    live = chain.from_iterable(planned.live.entities.values())
    try:
        run, shown = await waves.apply(
            context, plan, with_leaving(plan, planned.desired), planned.recorded, on_outcome=ended, live=live
        )
    except BaseException:
        now = utc_text(context.now())
        with suppress(StoreError):
            await context.ask(lambda store: store.end(cut_short(plan, heard, run=context.run, at=now)))
        raise
    if task.keep_undo is not None:
        moment = moment_of(context, context.now(), context.outside.token())
        task.keep_undo(inverse(plan, run, shown, planned.recorded, moment=moment, key=context.store.salt))
    own = {outcome.address for outcome in heard}
    for outcome in task.settled:
        if outcome.address not in own:
            observer.ended(outcome)
    resumes = task.unfinished[-1].run if task.command == "resume" else ""
    run = structs.replace(with_settled(run, task.settled), context=about, resumes=resumes, started_at=began)
    run = await end(context, planned, run)
    step_log.info("run %s ended: %s", run.run, run.outcome)
    return run


async def _begin(context: RunContext, task: Task) -> tuple[Context, str]:
    """Write down that the run begins, and what it takes over. Return where it runs, and since when.

    Raises StalePlan for a reviewed plan that was carried out before.
    """
    saved, planned, about = task.saved, task.planned, context.outside.context()
    if saved and not await context.ask(lambda store: store.use_plan(saved.salt)):
        what = "undo" if task.command == "undo" else "plan"
        raise StalePlan(f"this {what} was carried out before.", next="reconciler plan, then reconciler apply")
    # Its calls count from the lock on, planning and settling included: so does its time.
    held_s = max(0.0, context.timing.monotonic() - context.locked_at)
    began = utc_text(context.now() - timedelta(seconds=held_s))
    # The new run stands before the old ones are closed: killed in between, there is one to resume.
    await context.ask(lambda store: store.begin(context.run, task.command, task.plan, task.consent, about))
    await context.ask(lambda store: _close_all(store, task.unfinished))
    if planned.plan.options.same_service is True:
        await take_over(context, planned.plan.target)
    await context.ask(lambda store: _keep_names(store, planned))
    found = refreshed(planned.plan, planned.desired, planned.live, planned.recorded)
    while await context.ask(lambda store: keep_some(store, found, planned.plan.target.workspaces)):
        pass
    return about, began


def _close_all(store: Store, unfinished: Iterable[Unfinished]) -> None:
    for one in unfinished:
        store.close_run(one.run, EXIT_CODE_WORDS[INTERRUPTED])


def _keep_names(store: Store, planned: Planned) -> None:
    """Bring the names of the records to what the plan found, before anything is written to the service."""
    plan, workspaces = planned.plan, planned.plan.target.workspaces
    store.rename(plan.renames.items(), workspaces)
    store.forget(plan.gone, workspaces)
    store.leave(forgotten_at_once(plan), workspaces)


def keep_some(
    store: Store,
    found: Iterator[RecordedEntity],
    workspaces: tuple[Workspace, ...],
    at_once: int = records_at_once,
) -> bool:
    """Remember the next of these records in a transaction of their own; whether there were any.

    A million in one take longer than a store may be silent. What a killed run has not kept is found anew.
    """
    some = tuple(islice(found, at_once))
    if some:
        store.remember(some, workspaces)
    return bool(some)
