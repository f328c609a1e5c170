"""What a writing run does: settle what earlier runs left in doubt, then carry out its plan, and report.

Which of these steps make up a verb, and in which order, is said in pipeline.py.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import chain

from msgspec import structs

from reconciler.apply import engine
from reconciler.apply.exits import cut_short, with_notices, with_settled
from reconciler.apply.opening import close_all, end
from reconciler.apply.recovery import Settling, settle_unfinished
from reconciler.core.guard import Consent
from reconciler.core.plan import Moment
from reconciler.core.proofs import needed, proofs
from reconciler.core.records import refreshed
from reconciler.core.recover import Unfinished
from reconciler.core.twins import ambiguous, seen
from reconciler.core.undo import inverse
from reconciler.errors import Interrupted, StoreError
from reconciler.model.address import Address
from reconciler.model.outcomes import Outcome, Run
from reconciler.model.plans import Plan, Target
from reconciler.model.snapshots import LiveEntity
from reconciler.service.http.urls import origin
from reconciler.store.database import Store
from reconciler.work.held import Watch, Work
from reconciler.work.planning import Planned, named_workspaces, utc_text

KeepUndo = Callable[[Plan], None]


async def settle(work: Work, unfinished: tuple[Unfinished, ...], watch: Watch) -> tuple[Outcome, ...]:
    """Return what became of what earlier runs left in doubt. Raises Interrupted where there was no time.

    A store that may lack such runs is waited for in the same way, and accepted as it is afterwards.
    """
    if not unfinished and not work.store.doubtful:
        return ()
    if work.store.doubtful:
        watch.doubtful(work.store.doubtful)
    if unfinished:
        watch.unfinished(unfinished)
    settings, outside = work.settings, work.outside
    unread = any(one.plan is None for one in unfinished)
    workspaces = await named_workspaces(work.client, settings, work.desired) if unread else ()
    how = Settling(
        target=Target(origin(settings.service.base_url), settings.stack, workspaces),
        client=work.client,
        store=work.store,
        lock=work.lock,
        locked_at=work.locked_at,
        options=work.options(),
        timing=outside.timing,
        now=work.lock.now,
        stop=work.stop,
        offload=outside.offload,
    )
    outcomes = await settle_unfinished(unfinished, work.desired, how)
    if work.stop.asked:
        raise Interrupted("stopped before anything was written.", next="reconciler resume")
    await work.ask(Store.accept)
    return outcomes


async def carry_out(
    work: Work,
    planned: Planned,
    watch: Watch,
    *,
    command: str,
    consent: Consent,
    unfinished: tuple[Unfinished, ...],
    left: Plan | None = None,
    settled: tuple[Outcome, ...] = (),
    keep_undo: KeepUndo | None = None,
) -> Run:
    """Return the finished run: its row has ended, and the earlier runs are closed whose place it takes.

    `left` is what of the plan is carried out, where that is not all of it; `settled` is what was found out
    about the earlier runs, and belongs to the report of this one. `keep_undo` gets the plan that undoes what
    was applied, however the run ended.
    """
    store, made, context = work.store, left or planned.plan, work.outside.context()
    # Its calls count from the lock on, planning and settling included: so does its time.
    held_s = max(0.0, work.outside.timing.monotonic() - work.locked_at)
    began = utc_text(work.lock.now() - timedelta(seconds=held_s))
    # The new run stands before the old ones are closed: killed in between, there is one to resume.
    await work.ask(lambda store: store.begin(work.run, command, made, consent, context))
    await work.ask(partial(close_all, unfinished))
    await work.ask(lambda store: _keep_records(store, planned))
    shown: dict[Address, LiveEntity] = {}
    result = await _applied(work, made, planned, watch, shown)
    if keep_undo is not None:
        undo = inverse(made, result, shown, planned.recorded, moment=_moment(work), key=store.salt)
        keep_undo(undo)
    own = {outcome.address for outcome in result.outcomes}
    for outcome in settled:
        if outcome.address not in own:
            watch.ended(outcome)
    resumes = unfinished[-1].run if command == "resume" else ""
    result = with_settled(result, settled)
    result = structs.replace(
        result, context=context, resumes=resumes, records=planned.plan.to_keep, started_at=began
    )
    result = structs.replace(result, seen=seen(planned.plan, planned.desired))
    result = with_notices(result, planned.plan.notices, ambiguous(planned.plan, planned.desired))
    with suppress(StoreError):  # what was done is recorded; that it ended must not hide how it ended
        head = await work.ask(partial(end, result))
        result = structs.replace(result, audit_head=str(head or ""))
        await _prove(work, planned)
    return result


async def _prove(work: Work, planned: Planned) -> None:
    """Keep what spares the next plan to compare passwords one by one, of all that are known to be as sent.

    When the run has ended, over what is recorded now. Killed before that, the next plan is slower. Raises
    StoreError.
    """
    workspaces, desired = planned.plan.target.workspaces, work.desired.entities
    if work.stop.asked or not needed(desired):
        return
    recorded = await work.ask(lambda store: store.recorded(workspaces))
    found = {**recorded.proofs, **await work.outside.offload(partial(proofs, desired, recorded))}
    if found != recorded.proofs:
        await work.ask(lambda store: store.prove(found, workspaces))


def _moment(work: Work) -> Moment:
    now = work.lock.now()
    expires = now + timedelta(hours=work.settings.plan_expires_h)
    return Moment(work.outside.token(), utc_text(now), utc_text(expires))


async def _applied(
    work: Work, made: Plan, planned: Planned, watch: Watch, shown: dict[Address, LiveEntity]
) -> Run:
    outside, heard = work.outside, dict[Address, Outcome]()

    def ended(outcome: Outcome) -> None:
        heard[outcome.address] = outcome
        watch.ended(outcome)

    try:
        return await engine.apply(
            made,
            work.desired,
            planned.recorded,
            client=work.client,
            store=work.store,
            lock=work.lock,
            options=work.options(),
            timing=outside.timing,
            now=work.lock.now,
            stop=work.stop,
            on_outcome=ended,
            offload=outside.offload,
            shown=shown,
            lost=work.turn.lost,
            live=chain.from_iterable(planned.live.entities.values()),
        )
    except BaseException:
        now = utc_text(work.lock.now())
        with suppress(StoreError):
            await work.ask(lambda store: store.end(cut_short(made, heard, run=work.run, at=now)))
        raise


def _keep_records(store: Store, planned: Planned) -> None:
    """Bring the store to what the plan found, before anything is written to the service."""
    made, workspaces = planned.plan, planned.plan.target.workspaces
    store.rename(made.renames.items(), workspaces)
    store.forget(made.gone, workspaces)
    store.remember(refreshed(made, planned.desired, planned.live, planned.recorded), workspaces)
