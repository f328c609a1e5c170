"""Settles what earlier runs left in doubt: wait until it cannot land any more, look once. Only GET here.

    open intents -> none can land any more -> one look each -> found: recorded   (it was carried out)
                                                               absent: closed     (may be planned again)
                                                               unknown: stays open, with the reason

An intent is open when its run was killed, or ended without an answer to it. core/runs/recover.py decides
which ones are; pipeline.py goes on with what was never sent.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

from msgspec import structs

from reconciler.core.runs.recover import InterruptedRun, settle_wait_s, sort_out_run
from reconciler.core.runs.undo import undo_as_desired
from reconciler.engine import settle
from reconciler.engine.context import RunContext
from reconciler.engine.look import ContactGone, SeveralMatches
from reconciler.engine.resources import RunObserver
from reconciler.engine.session import RESUME, NotDone, Session, run_workers, share_queue
from reconciler.engine.settle import Listings, SentWrite
from reconciler.engine.targets import resolve_target
from reconciler.errors import Interrupted, LockHeld, ReconcilerError, StoreError, Unauthorized
from reconciler.instrumentation import record_span
from reconciler.model.address import Address
from reconciler.model.documents import Controls, Place
from reconciler.model.plans import Change, Consent, Create, Delete, Options, Plan, Target, Update, action_of
from reconciler.model.runs import Intent, Outcome
from reconciler.model.snapshots import Desired, Entity, Recorded, RecordedEntity
from reconciler.store.database import Store
from reconciler.store.records import Batch

# --- Before anything is planned -------------------------------------------------------------------


async def settle_earlier_runs(
    context: RunContext,
    unfinished: tuple[InterruptedRun, ...],
    observer: RunObserver,
    *,
    released: Collection[str] = (),
) -> tuple[Outcome, ...]:
    """Return the outcomes of what earlier runs left in doubt. Raises Interrupted where it was stopped before.

    `released` are addresses whose creates in doubt a person wants to be sent again. The same wait holds for a
    store that may lack such runs; it is accepted as it is afterwards.
    """
    doubtful = context.store.doubtful
    if not unfinished and not doubtful:
        return ()
    if doubtful:
        observer.doubtful(doubtful)
    if unfinished:
        observer.unfinished(unfinished)
    # The service is asked for its workspaces only where a plan cannot be read: all others name theirs.
    unread = any(one.plan is None for one in unfinished)
    target = await resolve_target(context, context.desired if unread else Desired({}, frozenset()))
    with record_span("settle") as notes:
        outcomes = await settle_unfinished(unfinished, context, target, released=released)
        notes["in_doubt"] = len(outcomes)
    if context.stop.asked:
        raise Interrupted("stopped before anything was written.", next="reconciler resume")
    await context.ask(Store.accept)
    return outcomes


# --- Each earlier run, oldest first ---------------------------------------------------------------


# Stands for the runs that a doubtful store may have lost: nothing is known of them.
_UNKNOWN_RUN = InterruptedRun("", "", "", None, Consent(), ())


# An open intent, and the change that it was for; None where that cannot be read.
_OpenIntent = tuple[Intent, Change | None]


async def settle_unfinished(
    unfinished: Sequence[InterruptedRun],
    context: RunContext,
    target: Target,
    *,
    released: Collection[str] = (),
) -> tuple[Outcome, ...]:
    """Return the outcome of everything that these runs left in doubt: applied, or still in doubt.

    Oldest run first. A change that was not carried out has no outcome: it may be planned again. Waits until
    none of them can land any more, nor any that a doubtful store may have lost; asked to stop, it leaves the
    rest as it is. Everything it returns is durable. `target` is where planning now would go: it stands in for
    a plan that cannot be read. `released` are addresses whose creates may be sent again because a person says
    so, whatever looks like them. Raises LockHeld, StoreError, Unauthorized.
    """
    doubts = {one.run: sort_out_run(one).in_doubt for one in unfinished}
    if not any(doubts.values()) and not context.store.doubtful:
        return ()
    runs = {one.run: await _make_session(one, context, target) for one in unfinished}
    waiting = next(iter(runs.values()), None) or await _make_session(_UNKNOWN_RUN, context, target)
    if not await _wait_out_intents(waiting, tuple(chain.from_iterable(doubts.values()))):
        return ()
    outcomes: list[Outcome] = []
    # Oldest first, each in full: what a later run did to the same entity is recorded over it.
    for name, run in runs.items():
        outcomes += await _settle_run(run, name, doubts[name], frozenset(released))
    return tuple(outcomes)


async def _wait_out_intents(run: Session, intents: Iterable[Intent]) -> bool:
    """Wait until none of these can land any more; false where the run may not look by then."""
    context = run.context
    # Counted from when the lock became ours: its previous holder could send until then, and no longer.
    locked_for_s = context.timing.monotonic() - context.locked_at
    missing = bool(context.store.doubtful)
    left_s = settle_wait_s(
        intents, locked_for_s=locked_for_s, settle_s=context.limits.settle_s, missing=missing
    )
    return await settle.wait_and_renew(run, left_s)


async def _settle_run(
    run: Session, name: str, intents: Iterable[Intent], released: frozenset[str]
) -> list[Outcome]:
    changes = {change.address: change for change in run.plan.changes}
    doubts = [(intent, _find_intended_change(run, changes.get(intent.address), intent)) for intent in intents]
    outcomes: dict[Address, Outcome | None] = {}
    listings = Listings()  # none of these can land any more: one list answers for all of them

    async def look_at(queue: Iterator[_OpenIntent]) -> None:
        for intent, change in queue:
            # By the clock of the store, which dated the intent.
            passed_s = (run.context.now() - datetime.fromisoformat(intent.at)).total_seconds()
            sent = SentWrite(
                max(0.0, passed_s),
                intent.remote_id if intent.action == "create" else "",
                released=str(intent.address) in released,
                reach="list",
                listings=listings,
            )
            outcomes[intent.address] = await _settle_intent(run, name, intent, change, sent)

    try:
        await run_workers(run, [look_at(queue) for queue in share_queue(run, doubts, run.may_look)])
    finally:
        await run.ledger.close()
    seen = [outcomes.get(intent.address) for intent, _ in doubts]
    return [outcome for outcome in seen if outcome is not None]


async def _settle_intent(
    run: Session, name: str, intent: Intent, change: Change | None, sent: SentWrite
) -> Outcome | None:
    """Return the outcome of one intent, which is durable then; None where it was not carried out."""
    if intent.address.workspace not in run.ids:
        return _keep_in_doubt(intent, name, "its workspace is in no manifest any more.")
    if change is None and intent.action == "create":
        return _keep_in_doubt(intent, name, "neither plan nor manifest says how to recognize it.", _DECLARE)
    try:
        landed = await settle.find_landed(run, change, intent.parent_id, sent) if change else None
    except ContactGone:
        landed = None  # without its contact there is no device
    except SeveralMatches as several:
        # It has landed, or others made both: that is for the next plan, which calls them ambiguous.
        await run.ledger.after_call(Batch(absent=(intent.address,), left_by=name))
        what = f"sent by run {name}, perhaps; {several.what}"
        return Outcome(intent.address, intent.action, "conflict", what, several.next)
    except NotDone as ended:
        return _keep_in_doubt(intent, name, ended.what, ended.next)
    except (LockHeld, StoreError, Unauthorized):
        raise
    except ReconcilerError as error:
        return _keep_in_doubt(intent, name, f"the lookup failed: {error}", error.next)
    if landed is None:
        # Durable before the plan is made: only an intent that is closed may be planned, and sent, again.
        await run.ledger.after_call(Batch(absent=(intent.address,), left_by=name))
        return None
    # Record and end of the intent in one transaction: killed in between, it would be looked for once more.
    await run.ledger.after_call(structs.replace(landed.batch, found=(intent.address,), left_by=name))
    what = f"sent by run {name}, but not recorded then; {landed.what}"
    return Outcome(intent.address, intent.action, "applied", what, remote_id=landed.remote_id)


_DECLARE = f"declare it again, then {RESUME}: its manifest says how to recognize it"


def _keep_in_doubt(intent: Intent, name: str, why: str, hint: str = "") -> Outcome:
    what = f"sent by run {name}, perhaps; {why}"
    return Outcome(intent.address, intent.action, "in doubt", what, hint or RESUME, intent.remote_id)


# --- The session of an earlier run: its plan, its records, and what it was about to send ----------


async def _make_session(unfinished: InterruptedRun, context: RunContext, target: Target) -> Session:
    """Return the session in which an earlier run is settled: with its plan, its salt, its workspaces."""
    # A plan of another version cannot be read; its intents still say what was sent, and where.
    nothing = Plan(target=target, options=Options(), manifest_digest="", salt="", changes=())
    plan = unfinished.plan or nothing
    recorded = await context.ask(lambda store: store.recorded(plan.target.workspaces))
    records = dict(recorded.entities)
    return Session(context, plan, _restore_sent_entities(plan, context.desired, records), records)


def _restore_sent_entities(plan: Plan, desired: Desired, records: dict[Address, RecordedEntity]) -> Desired:
    """Return what is declared now, with what the plan was about to send as it was declared then."""
    # The manifest may have changed since, but a created entity looks as it was declared then; one that has
    # left the manifest is ours all the same. Secrets are masks, equal to nothing live: not claimed as sent.
    if plan.options.undo_of:
        return undo_as_desired(plan, Recorded(records))
    entities = dict(desired.entities)
    for change in plan.changes:
        now = entities.get(change.address)
        if isinstance(change, Create):
            was = Entity(change.address, change.fields, Place("", 0), now.controls if now else Controls())
            entities[change.address] = was
        elif isinstance(change, Update) and now is None:
            before = records.get(change.address)
            after = {field.path: field.after for field in change.fields if field.after is not None}
            controls = Controls(protect=before.protected if before else False)
            fields = {**(before.sent if before else {}), **after}
            entities[change.address] = Entity(change.address, fields, Place("", 0), controls)
    return structs.replace(desired, entities=entities)


def _find_intended_change(run: Session, planned: Change | None, intent: Intent) -> Change | None:
    """Return the change that an intent was for: the plan's, or what is known of it without a plan."""
    address = intent.address
    if planned is not None and action_of(planned) == intent.action:
        return planned
    if intent.action == "delete":
        return Delete(address, intent.remote_id, {}, intent.parent_id)
    if intent.action == "create" and address in run.desired.entities:
        return Create(address, "", run.desired.entities[address].fields)
    return None
