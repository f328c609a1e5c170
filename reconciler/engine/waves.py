"""A plan carried out: wave by wave, so many changes at a time, and an end in good order.

    waves -> workers -> step (one change) -> outcome
                                |
    at the end: settle (what is in doubt) -> not attempted (what never began) -> Run

Every change of the plan ends in exactly one outcome, whatever happens (planning rule A7).
"""

from collections.abc import Callable, Iterable, Iterator

from reconciler.core.calls import summarize_gaps
from reconciler.core.compare.bodies import find_shared_secrets
from reconciler.core.planning.scopes import split_into_waves
from reconciler.engine.context import RunContext, format_utc
from reconciler.engine.endings import note_outcome
from reconciler.engine.exit_codes import run_exit_code
from reconciler.engine.first_create_gate import FirstCreateGate
from reconciler.engine.session import Session, collect_known_ids
from reconciler.engine.settle import settle_doubts
from reconciler.engine.stop import StopReason
from reconciler.engine.workers import run_workers, share_queue
from reconciler.engine.write import write_change
from reconciler.instrumentation import SpanNotes, record_span, start_stopwatch, step_log
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Change, Plan, Update, action_of
from reconciler.model.runs import EXIT_CODE_WORDS, Outcome, Run
from reconciler.model.snapshots import Desired, LiveEntity, Recorded

__all__ = ["execute_changes"]


async def execute_changes(
    context: RunContext,
    plan: Plan,
    desired: Desired,
    recorded: Recorded,
    *,
    on_outcome: Callable[[Outcome], None],
    live: Iterable[LiveEntity] = (),
) -> tuple[Run, dict[Address, LiveEntity]]:
    """Return how the run ended, with one outcome for every change of `plan`, in the plan's order.

    Beside it, by address, what the service showed of what was written, right after it.

    `desired` and `recorded` are what the plan was made from; what it adopts, renames and forgets is
    recorded already. The lock is held by the caller. `on_outcome` hears of each change once, when it
    has ended for good. `live` is what the plan saw, ours or not: what is made has none of their ids.
    Raises nothing that a user can meet: what ends the run stands in `stopped`.
    Cancelled from outside, it ends at once, records what is done, and raises CancelledError.
    """
    started_at = format_utc(context.now())
    # The store knows them by their new names already (rule M6): a kill from here on must find them so.
    records = {plan.renames.get(address, address): record for address, record in recorded.entities.items()}
    rows = list(live)
    known, alike = (
        collect_known_ids(plan, records, rows),
        find_shared_secrets(rows) if _may_carry_secrets(plan) else frozenset(),
    )
    run = Session(context, plan, desired, records, known, alike)
    carrying = _ChangeExecutor(run, on_outcome)
    try:
        # A wave begins when all of the one before has ended: a device needs the id of its contact.
        for number, wave in enumerate(split_into_waves(plan.changes), 1):
            step_log.info("wave %d begins; changes: %d", number, len(wave))
            took = start_stopwatch(context.timing.monotonic)
            shared = share_queue(run, wave, lambda: run.over() is None)
            with record_span("wave", number=number, changes=len(wave)):
                await run_workers(run, [carrying.work(queue) for queue in shared])
            step_log.info("wave %d ended, %.1f s", number, took())
        for outcome in await settle_doubts(run):
            carrying.ended(outcome)
        carrying.end_what_never_began()
    finally:
        # Before the end of the run is reported: whatever is reported is on disk.
        await run.ledger.close()
    return _report_run(run, started_at), run.shown


def _may_carry_secrets(plan: Plan) -> bool:
    """Whether anything is written that may have a secret which nobody declares."""
    return any(isinstance(one, Update) and KINDS[one.address.kind].readable_secrets for one in plan.changes)


class _ChangeExecutor:
    """The changes of one run on their way, and the outcomes as they come in."""

    def __init__(self, run: Session, on_outcome: Callable[[Outcome], None]) -> None:
        self.run = run
        self.on_outcome = on_outcome
        self.firsts = FirstCreateGate(run)

    async def work(self, queue: Iterator[Change]) -> None:
        """Carry out one change of the queue after the other, until it has no more."""
        for change in queue:
            async with self.firsts.turn(change) as may_begin:
                if may_begin:
                    took = start_stopwatch(self.run.context.timing.monotonic)
                    with record_span("change", **_note_change(change)) as notes:
                        outcome = await write_change(self.run, change)
                        notes.update(_note_outcome(outcome))
                    step_log.info(
                        "%s %s: %s, %.2f s", outcome.action, outcome.address, outcome.result, took()
                    )
                    self._stepped(outcome)

    def _stepped(self, outcome: Outcome) -> None:
        if outcome.result == "in doubt":
            self.run.outcomes[outcome.address] = outcome  # for its devices; how it ends is not known yet
        else:
            self.ended(outcome)
        if self.run.context.fail_fast and outcome.result in {"failed", "conflict", "in doubt"}:
            what = f"{outcome.address} ended as {outcome.result}, and --fail-fast was asked for."
            self.run.halt(StopReason("fail-fast", what, outcome.next or "plan again"))

    def ended(self, outcome: Outcome) -> None:
        """Record how a change has ended, and report it."""
        self.run.outcomes[outcome.address] = outcome
        self.on_outcome(outcome)

    def end_what_never_began(self) -> None:
        """Every change of the plan has its one outcome afterwards."""
        run = self.run
        left = [change for change in run.plan.changes if change.address not in run.outcomes]
        halt = run.over() if left else None
        what, hint = (halt.what, halt.next) if halt else ("", "")
        for change in left:
            outcome = Outcome(change.address, action_of(change), "not attempted", what, hint)
            self.ended(note_outcome(run, outcome))


def _note_change(change: Change) -> SpanNotes:
    """Return what a span says of a change: not whom it is about."""
    return {"action": action_of(change), "kind": change.address.kind, "workspace": change.address.workspace}


def _note_outcome(outcome: Outcome) -> SpanNotes:
    good = outcome.result in {"applied", "skipped"}
    return {"result": outcome.result, **({} if good else {"error": outcome.result})}


def _report_run(run: Session, started_at: str) -> Run:
    """Return how the run ended, as a value."""
    context, broken = run.context, run.ledger.broken
    if broken is not None:
        run.halt(StopReason("store", str(broken), broken.next))
    outcomes = tuple(run.outcomes[change.address] for change in run.plan.changes)
    halt = run.halted
    # A signal during the last answer kept nothing from being done: that run is as good as any.
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
