"""A plan carried out: wave by wave, so many changes at a time, and an end in good order.

    waves -> workers -> step (one change) -> outcome
                                |
    at the end: settle (what is in doubt) -> not attempted (what never began) -> Run

Every change of the plan ends in exactly one outcome, whatever happens (planning rule A7).
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from reconciler.apply.endings import noted
from reconciler.apply.exits import exit_code
from reconciler.apply.firsts import Firsts
from reconciler.apply.ledger import Ledger
from reconciler.apply.session import ApplyOptions, Session, by_contact, known_contacts, known_ids, renamed
from reconciler.apply.settle import settle
from reconciler.apply.step import step
from reconciler.apply.stop import Halt, StopFlag
from reconciler.apply.workers import work_through
from reconciler.aside import aside
from reconciler.core.gaps import gap_of
from reconciler.core.order import waves
from reconciler.model.address import Address
from reconciler.model.changes import Change, action
from reconciler.model.outcomes import WORDS, Outcome, Run
from reconciler.model.plans import Plan
from reconciler.model.snapshots import Desired, LiveEntity, Recorded
from reconciler.service.client import ServiceClient
from reconciler.service.http.timing import Timing
from reconciler.store.aside import Offload
from reconciler.store.database import Store
from reconciler.store.lock import Lock

__all__ = ["ApplyOptions", "StopFlag", "apply"]


async def apply(
    plan: Plan,
    desired: Desired,
    recorded: Recorded,
    *,
    client: ServiceClient,
    store: Store,
    lock: Lock,
    options: ApplyOptions,
    timing: Timing,
    now: Callable[[], datetime],
    stop: StopFlag,
    on_outcome: Callable[[Outcome], None],
    offload: Offload = aside,
    shown: dict[Address, LiveEntity] | None = None,
    lost: Callable[[], str] = str,
    live: Iterable[LiveEntity] = (),
) -> Run:
    """Return how the run ended, with one outcome for every change of `plan`, in the plan's order.

    `desired` and `recorded` are what the plan was made from; what it adopts, renames and forgets is
    recorded already. The lock is held by the caller. `on_outcome` hears of each change once, when it
    has ended for good. `offload` runs what waits for the disk, beside the event loop or in place.
    `lost` says why the lock in the service is not ours any more, or "".
    `shown` receives, by address, what the service showed of what was written, right after it. `live` is what
    the plan saw, ours or not: nothing that is made can have one of its ids.
    Raises nothing that a user can meet: what ends the run stands in `stopped`.
    Cancelled from outside, it ends at once, records what is done, and raises CancelledError.
    """
    started_at = now()
    records = renamed(recorded, plan)
    run = Session(
        plan=plan,
        desired=desired,
        client=client,
        ledger=Ledger(store, lock, plan.target.workspaces, offload=offload),
        options=options,
        timing=timing,
        now=now,
        stop=stop,
        salt=store.salt,
        records=records,
        ids={workspace.alias: workspace.id for workspace in plan.target.workspaces},
        contacts=known_contacts(plan, records),
        devices=by_contact(records),
        ends_at=timing.monotonic() + options.deadline_s,
        shown={} if shown is None else shown,
        lost=lost,
        known=known_ids(plan, records, live),
    )
    engine = _Engine(run, on_outcome)
    try:
        await engine.carry_out()
    finally:
        await run.ledger.close()
    return engine.report(started_at.isoformat(timespec="seconds"), now().isoformat(timespec="seconds"))


class _Engine:
    """The waves of one run, and the outcomes as they come in."""

    def __init__(self, run: Session, on_outcome: Callable[[Outcome], None]) -> None:
        self.run = run
        self.on_outcome = on_outcome
        self.firsts = Firsts(run)

    async def carry_out(self) -> None:
        """Every change has its one outcome afterwards."""
        run = self.run
        for wave in waves(run.plan.changes):
            await work_through(run, wave, self._change)
        for outcome in await settle(run):
            self._ended(outcome)
        left = [change for change in run.plan.changes if change.address not in run.outcomes]
        halt = run.over() if left else None
        for change in left:
            what, hint = (halt.what, halt.next) if halt else ("", "")
            outcome = Outcome(change.address, action(change), "not attempted", what, hint)
            self._ended(noted(run, outcome))

    async def _change(self, change: Change) -> None:
        await self.firsts.carry_out(change, lambda: self._done(change))

    async def _done(self, change: Change) -> Outcome:
        outcome = await step(self.run, change)
        if outcome.result == "in doubt":
            self.run.outcomes[change.address] = outcome  # for its devices; how it ends is not known yet
        else:
            self._ended(outcome)
        if self.run.options.fail_fast and outcome.result in {"failed", "conflict", "in doubt"}:
            what = f"{change.address} ended as {outcome.result}, and --fail-fast was asked for."
            self.run.halt(Halt("fail-fast", what, outcome.next or "plan again"))
        return outcome

    def _ended(self, outcome: Outcome) -> None:
        self.run.outcomes[outcome.address] = outcome
        self.on_outcome(outcome)

    def report(self, started_at: str, ended_at: str) -> Run:
        """How the run ended, as a value."""
        run = self.run
        broken = run.ledger.broken
        if broken is not None:
            run.halt(Halt("store", str(broken), broken.next))
        outcomes = tuple(run.outcomes[change.address] for change in run.plan.changes)
        halt = run.halted
        if halt and halt.reason in {"interrupted", "deadline"} and exit_code(outcomes, None) == 0:
            halt = None  # it came too late to keep anything from being done
        code = exit_code(outcomes, halt.reason if halt else None)
        return Run(
            run=run.options.run,
            fingerprint=run.plan.fingerprint,
            started_at=started_at,
            ended_at=ended_at,
            outcome=WORDS[code],
            exit_code=code,
            outcomes=outcomes,
            adopted=len(run.plan.adoptions),
            calls=dict(run.client.calls),
            stopped=halt.what if halt else "",
            gap=gap_of(run.client.gaps.seconds, run.client.gaps.again),
        )
