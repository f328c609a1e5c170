"""Executes a plan: show it, check it, ask, carry it out wave by wave, and report.

    execute_plan -> guard, agreement -> run begins in the store -> execute_changes -> finish_run
    execute_changes: waves -> workers -> write_change (one change) -> outcome
        at the end: settle what is in doubt -> the rest was not attempted -> Run

The steps before it are in pipeline.py, one change in write.py.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import chain, islice
from typing import Literal

from msgspec import structs

from reconciler.core.compare.bodies import find_shared_secrets
from reconciler.core.planning.deletes import add_unmarked, forgotten_at_once
from reconciler.core.planning.delta import MovedScope
from reconciler.core.planning.records import RefreshedRecord, refresh_records
from reconciler.core.planning.scopes import split_into_waves
from reconciler.core.runs.kept_undo import undo_changes_max
from reconciler.core.runs.recover import InterruptedRun
from reconciler.core.runs.undo import make_undo_plan
from reconciler.engine.context import RunContext, StopReason, format_utc
from reconciler.engine.first_create_gate import FirstCreateGate
from reconciler.engine.outcomes import INTERRUPTED, add_settled, finish_run, report_cut_short, run_exit_code
from reconciler.engine.planning import PlanResult, check_plan_safe, make_moment, take_over_records
from reconciler.engine.resources import RunObserver
from reconciler.engine.session import Session, collect_known_ids, run_workers, share_queue
from reconciler.engine.settle import settle_doubts
from reconciler.engine.write import note_outcome, write_change
from reconciler.errors import StalePlan, StoreError
from reconciler.instrumentation import SpanNotes, record_span, start_stopwatch, step_log
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Change, Consent, Create, Plan, Update, Workspace, action_of
from reconciler.model.runs import EXIT_CODE_WORDS, Context, Outcome, Run, summarize_gaps
from reconciler.model.snapshots import Desired, LiveEntity, Recorded, Scope
from reconciler.store.database import Store

# --- A plan, from the guard to the finished run ---------------------------------------------------


KeepUndo = Callable[[Plan], None]


# Of one transaction: some 0.3 s, where a store that is silent for 12 s is given up.
records_per_transaction = 10_000


@dataclass(frozen=True, slots=True)
class Execution:
    """What a verb has decided to carry out.

    `command` is the verb as the history shows it. `left` is the part of the plan that is carried out, where
    that is not all of it. `unfinished` are the earlier runs whose place this one takes, and `settled` their
    outcomes. `saved` is a reviewed plan, which is carried out once. `keep_undo` gets the plan that undoes
    what was applied, however the run ended. `question` is the one that approved the plan, and is used up.
    """

    command: Literal["apply", "adopt", "forget", "resume", "undo", "sync"]
    planned: PlanResult
    consent: Consent
    unfinished: tuple[InterruptedRun, ...]
    left: Plan | None = None
    settled: tuple[Outcome, ...] = ()
    saved: Plan | None = None
    keep_undo: KeepUndo | None = None
    question: str = ""

    @property
    def plan(self) -> Plan:
        """What is carried out."""
        return self.left or self.planned.plan


async def execute_plan(context: RunContext, task: Execution, observer: RunObserver) -> Run | None:
    """Return the finished run, whose row has ended; None where `observer` disagreed, and nothing was written.

    Raises UnsafePlan, StalePlan before any write.
    """
    plan, planned, outcomes = task.plan, task.planned, list[Outcome]()
    observer.planned(replace(planned, plan=plan))
    check_plan_safe(planned.verdict)
    # A resumed run was confirmed when it began, and that consent still holds.
    if task.command != "resume" and not observer.agrees(planned):
        return None
    about, began = await _begin_run(context, task)
    step_log.info("run %s begins; changes to carry out: %d", context.run, len(plan.changes))

    def report_ended(outcome: Outcome) -> None:
        outcomes.append(outcome)
        observer.ended(outcome)

    live = chain.from_iterable(planned.live.entities.values())
    try:
        run, shown = await execute_changes(
            context,
            plan,
            add_unmarked(plan, planned.desired),
            planned.recorded,
            on_outcome=report_ended,
            live=live,
            rest=planned.rest,
        )
    except BaseException:
        now = format_utc(context.now())
        with suppress(StoreError):
            cut_short = report_cut_short(plan, outcomes, run=context.run, at=now)
            await context.ask(lambda store: store.end(cut_short))
        raise
    undo: Plan | None = None
    if task.keep_undo is not None or _is_undo_kept(context, plan):
        moment = make_moment(context, context.now(), context.dependencies.token())
        undo = make_undo_plan(plan, run, shown, planned.recorded, moment=moment, key=context.store.salt)
    if task.keep_undo is not None and undo is not None:
        task.keep_undo(undo)
    own = {outcome.address for outcome in outcomes}
    for outcome in task.settled:
        if outcome.address not in own:
            observer.ended(outcome)
    resumes = task.unfinished[-1].run if task.command == "resume" else ""
    run = structs.replace(add_settled(run, task.settled), context=about, resumes=resumes, started_at=began)
    kept = undo if undo is not None and _is_undo_kept(context, plan) else None
    run = await finish_run(context, planned, run, kept if kept and _undoes_anything(kept) else None)
    if planned.baseline and not context.stop.asked:
        with suppress(StoreError):  # the next plan compares everything then
            await planned.baseline.keep()
    step_log.info("run %s ended: %s", run.run, run.outcome)
    return run


def _is_undo_kept(context: RunContext, plan: Plan) -> bool:
    """Whether the store keeps what undoes this plan: not of an undo, nor of very many changes."""
    return (
        context.settings.undo_days > 0 and not plan.options.undo_of and len(plan.changes) <= undo_changes_max
    )


def _undoes_anything(undo: Plan) -> bool:
    """Whether something can be undone, or is to be said of what cannot."""
    return bool(undo.changes or undo.gone or undo.skips)


async def _begin_run(context: RunContext, task: Execution) -> tuple[Context, str]:
    """Write down that the run begins, and what it takes over. Return where it runs, and since when.

    Raises StalePlan for a reviewed plan that was applied before.
    """
    saved, planned, about = task.saved, task.planned, context.dependencies.context()
    if saved and not await context.ask(lambda store: store.use_plan(saved.salt, context.run)):
        what = "undo" if task.command == "undo" else "plan"
        raise StalePlan(f"this {what} was applied before.", next="reconciler plan, then reconciler apply")
    # Its calls count from the lock on, planning and settling included: so does its time.
    held_s = max(0.0, context.timing.monotonic() - context.locked_at)
    began = format_utc(context.now() - timedelta(seconds=held_s))
    # The new run stands before the old ones are closed: killed in between, there is one to resume.
    terms = (task.command, task.plan, task.consent, about)
    await context.ask(lambda store: store.begin(context.run, *terms, question=task.question))
    await context.ask(lambda store: _close_runs(store, task.unfinished))
    if planned.plan.options.same_service is True:
        await take_over_records(context, planned.plan.target)
    await context.ask(lambda store: _update_record_names(store, planned))
    found = refresh_records(planned.plan, planned.desired, planned.live, planned.recorded)
    remembering = partial(remember_batch, found=found, workspaces=planned.plan.target.workspaces)
    while written := await context.ask(remembering):
        if planned.baseline:
            await planned.baseline.take(written)
    if planned.baseline:
        await planned.baseline.finish(planned.desired, planned.live)
    return about, began


def _close_runs(store: Store, unfinished: Iterable[InterruptedRun]) -> None:
    for one in unfinished:
        store.close_run(one.run, EXIT_CODE_WORDS[INTERRUPTED])


def _update_record_names(store: Store, planned: PlanResult) -> None:
    """Rename and drop records as the plan found them, before anything is written to the service."""
    plan, workspaces = planned.plan, planned.plan.target.workspaces
    store.rename(plan.renames.items(), workspaces)
    store.forget(plan.gone, workspaces)
    store.leave(forgotten_at_once(plan), workspaces)


def remember_batch(
    store: Store,
    found: Iterator[RefreshedRecord],
    workspaces: tuple[Workspace, ...],
    at_once: int = records_per_transaction,
) -> list[tuple[RefreshedRecord, bytes]]:
    """Store the next batch of these records in a transaction of its own; return it, with the digests.

    Nothing is returned where none was left. A million in one would take longer than a store may be silent. A
    later run finds what a killed one has not stored.
    """
    some = tuple(islice(found, at_once))
    digests = store.remember((one.record for one in some), workspaces) if some else {}
    return [(one, digests[one.record.address]) for one in some]


# --- The changes, wave by wave --------------------------------------------------------------------
#
# Every change of the plan ends in exactly one outcome, whatever happens (planning rule A7).


async def execute_changes(
    context: RunContext,
    plan: Plan,
    desired: Desired,
    recorded: Recorded,
    *,
    on_outcome: Callable[[Outcome], None],
    live: Iterable[LiveEntity] = (),
    rest: Mapping[Scope, MovedScope] = {},
) -> tuple[Run, dict[Address, LiveEntity]]:
    """Return how the run ended, with one outcome for every change of `plan`, in the plan's order.

    The second value is what the service showed of each written entity right after the write, by address.

    `desired` and `recorded` are what the plan was made from; its adoptions, renames and forgotten records
    are stored already. The caller holds the lock. `on_outcome` is called once for each change, when its
    outcome is final. `live` are the entities that the plan saw, ours or not, and `rest` those that it left
    out: nothing new has one of their ids. No error of the service or the store is raised: `Run.stopped`
    says why a run ended early. Cancelled from outside, it ends at once, records what is done, and raises
    CancelledError.
    """
    started_at = format_utc(context.now())
    # The store knows them by their new names already (rule M6): a kill from here on must find them so.
    records = {plan.renames.get(address, address): record for address, record in recorded.entities.items()}
    creates = any(isinstance(one, Create) for one in plan.changes)
    secrets = _may_carry_secrets(plan)
    rows = list(live) if creates or secrets else []
    known = collect_known_ids(plan, records, rows, rest) if creates else {}
    alike = find_shared_secrets(rows) if secrets else frozenset()
    run = Session(context, plan, desired, records, known, alike, rest)
    executor = _ChangeExecutor(run, on_outcome)
    try:
        # A wave begins when all of the one before has ended: a device needs the id of its contact.
        for number, wave in enumerate(split_into_waves(plan.changes), 1):
            step_log.info("wave %d begins; changes: %d", number, len(wave))
            took = start_stopwatch(context.timing.monotonic)
            shared = share_queue(run, wave, lambda: run.over() is None)
            with record_span("wave", number=number, changes=len(wave)):
                await run_workers(run, [executor.work(queue) for queue in shared])
            step_log.info("wave %d ended, %.2f s", number, took())
        for outcome in await settle_doubts(run):
            executor.report_ended(outcome)
        executor.end_unattempted()
    finally:
        # Before the end of the run is reported: whatever is reported is on disk.
        await run.ledger.close()
    return _report_run(run, started_at), run.shown


def _may_carry_secrets(plan: Plan) -> bool:
    """Whether an update may have to carry over a readable secret that is not declared."""
    return any(isinstance(one, Update) and KINDS[one.address.kind].readable_secrets for one in plan.changes)


class _ChangeExecutor:
    """Carries out the changes of one run, and takes their outcomes."""

    def __init__(self, run: Session, on_outcome: Callable[[Outcome], None]) -> None:
        self.run = run
        self.on_outcome = on_outcome
        self.first_create_gate = FirstCreateGate(run)

    async def work(self, queue: Iterator[Change]) -> None:
        """Carry out one change of the queue after the other, until it has no more."""
        for change in queue:
            async with self.first_create_gate.turn(change) as may_begin:
                if may_begin:
                    self._take_outcome(await self._write_in_span(change))

    async def _write_in_span(self, change: Change) -> Outcome:
        took, address = start_stopwatch(self.run.context.timing.monotonic), change.address
        # Nothing in a span says which entity it is about.
        about: SpanNotes = {"action": action_of(change), "kind": address.kind, "workspace": address.workspace}
        with record_span("change", **about) as notes:
            outcome = await write_change(self.run, change)
            notes["result"] = outcome.result
            if outcome.result not in {"applied", "skipped"}:
                notes["error"] = outcome.result
        step_log.info("%s %s: %s, %.2f s", outcome.action, outcome.address, outcome.result, took())
        return outcome

    def _take_outcome(self, outcome: Outcome) -> None:
        if outcome.result == "in doubt":
            self.run.outcomes[outcome.address] = outcome  # for its devices; how it ends is not known yet
        else:
            self.report_ended(outcome)
        if self.run.context.fail_fast and outcome.result in {"failed", "conflict", "in doubt"}:
            what = f"{outcome.address} ended as {outcome.result}, and --fail-fast is set."
            self.run.halt(StopReason("fail-fast", what, outcome.next or "plan again"))

    def report_ended(self, outcome: Outcome) -> None:
        """Record the final outcome of a change, and report it."""
        self.run.outcomes[outcome.address] = outcome
        self.on_outcome(outcome)

    def end_unattempted(self) -> None:
        """Give every change that never began its outcome."""
        run = self.run
        left = [change for change in run.plan.changes if change.address not in run.outcomes]
        halt = run.over() if left else None
        what, hint = (halt.what, halt.next) if halt else ("", "")
        for change in left:
            outcome = Outcome(change.address, action_of(change), "not attempted", what, hint)
            self.report_ended(note_outcome(run, outcome))


def _report_run(run: Session, started_at: str) -> Run:
    """Return how the run ended, as a value."""
    context, broken = run.context, run.ledger.broken
    if broken is not None:
        run.halt(StopReason("store", str(broken), broken.next))
    outcomes = tuple(run.outcomes[change.address] for change in run.plan.changes)
    halt = run.halted
    # A signal during the last answer prevented nothing: that run has ended well.
    if halt and halt.reason in {"interrupted", "deadline"} and run_exit_code(outcomes, None) == 0:
        halt = None
    code = run_exit_code(outcomes, halt.reason if halt else None)
    return Run(
        run=context.run,
        fingerprint=run.plan.fingerprint,
        started_at=started_at,
        ended_at=format_utc(context.now()),
        outcome=EXIT_CODE_WORDS[code],
        exit_code=code,
        outcomes=outcomes,
        adopted=len(run.plan.adoptions),
        calls=dict(context.client.calls),
        stopped=halt.what if halt else "",
        gap=summarize_gaps(context.client.gaps.seconds, context.client.gaps.again),
    )
