"""Writes one change, in the order of planning rule A3, from the fresh look to the record; and its outcomes.

    turns due -> intent durable, lock ours -> fresh look -> as planned? -> one call -> read back -> recorded
                                                 |- at most 50 ms -|            | not as sent: looked at
                                                                                | again at the end

`write_change` never raises: every case ends in one outcome, which reaches the store once, together with what
was done. Where the run must not go on, it is halted.
"""

import asyncio
from http import HTTPStatus
from pathlib import Path
from typing import assert_never

from msgspec import structs

from reconciler.core.calls import retry_wait_s, tries_max
from reconciler.core.compare.bodies import make_create_body, make_update_body
from reconciler.core.compare.evidence import Presence
from reconciler.engine import look, readback, settle
from reconciler.engine.context import StopReason
from reconciler.engine.look import PLAN_AGAIN
from reconciler.engine.readback import GIVE_AGAIN, SHOWN_AGAIN, Proof
from reconciler.engine.session import GO_ON, IN_DOUBT, Attempt, Doubt, NotDone, Session
from reconciler.engine.settle import forget_deleted
from reconciler.errors import (
    InDoubt,
    LockHeld,
    NotFound,
    NotSent,
    ReconcilerError,
    ServiceError,
    StoreError,
    Throttled,
    Unauthorized,
)
from reconciler.instrumentation import step_log
from reconciler.model.plans import Change, Create, Delete, Update
from reconciler.model.runs import Outcome
from reconciler.model.snapshots import RecordedEntity
from reconciler.service.http.limiter import LookAgain
from reconciler.store.records import Batch

looks_max = 8  # of one write whose looks were too old; then nothing is sent
UNSEEN = "a read by its id does not find it, but the list may still show it"
SLOWER = "run it again with a lower service.limits.concurrency, or on a machine that is less busy"


async def write_change(run: Session, change: Change) -> Outcome:
    """Carry out one change and return how it ended; a write in doubt stands in `run.doubts` too."""
    attempt = Attempt(change, remote_id="" if isinstance(change, Create) else change.remote_id)
    # Only an outcome leaves this function: a worker that raised would not finish its queue (rule A7).
    try:
        run.check_moved(change)
        attempt.parent_id = run.parent_id(change)
        return await _write_with_retries(run, attempt)
    except NotDone as ended:
        return end_not_done(run, attempt, ended)
    except asyncio.CancelledError:
        return end_cut_off(run, attempt)
    except ReconcilerError as error:
        return end_with_error(run, attempt, error)
    except Exception as error:  # noqa: BLE001 - our own mistake: reported like a failure, and it ends the run
        return end_with_mistake(run, attempt, error)


async def _write_with_retries(run: Session, attempt: Attempt) -> Outcome:
    """Write once. Where the service said "slower", look whether it was done all the same, then try again."""
    for tries in range(1, tries_max + 1):
        try:
            return await _look_and_write(run, attempt)
        except NotSent:
            # Not a byte has left, so nothing can land: it may go again, on a fresh look, within A10's budget.
            attempt.stage = "looking"
            if not _may_try_again(run, tries):
                raise
            await run.pause(retry_wait_s(tries, run.context.timing.random()))
            continue
        except Throttled as error:
            if attempt.stage != "sending":
                raise
            # A service that says "slower" may have carried it out all the same: unsure until a look (A8).
            put_off, attempt.unsure = error, str(error)
        patience_s = _patience_s(run, attempt.change, tries, put_off)
        step_log.info("%s: put off by the service; looking in %.1f s", attempt.change.address, patience_s)
        await run.pause(patience_s)
        if run.over():
            raise put_off
        # A 503 may hide a create that was done: sent again without a look, it may exist twice (rule A8).
        passed_s = run.context.timing.monotonic() - attempt.began
        sent = settle.SentWrite(passed_s, released=_was_refused(put_off), reach="recent")
        landed = await settle.find_landed(run, attempt.change, attempt.parent_id, sent, attempt.before)
        if landed:
            attempt.done(landed.remote_id)
            return await _record_outcome(run, attempt, landed.batch, landed.outcome(attempt.change))
        attempt.stage, attempt.unsure = "looking", ""
        if not _may_try_again(run, tries):
            raise put_off
    raise AssertionError("the last try returns or raises")


def _may_try_again(run: Session, tries: int) -> bool:
    return tries < tries_max and run.context.client.may_repeat()


async def _look_and_write(run: Session, attempt: Attempt) -> Outcome:
    """Look and write, with at most `Timing.gap_s` between them; otherwise look again, so many times."""
    # Before the look: a slow digest between look and write would make every look of a password too old.
    await run.stretch_passwords(attempt.change.address)
    for _ in range(looks_max):
        try:
            async with run.context.client.at_once(look.count_look_calls(run, attempt.change)):
                match attempt.change:
                    case Create() as change:
                        return await _send_create(run, attempt, change)
                    case Update() as change:
                        return await _send_update(run, attempt, change)
                    case Delete() as change:
                        return await _send_delete(run, attempt, change)
                    case never:
                        assert_never(never)
        except LookAgain as error:
            attempt.stage, late = "looking", error
    raise NotDone("failed", f"{late} Nothing was sent.", SLOWER)


def _patience_s(run: Session, change: Change, tries: int, error: Throttled) -> float:
    """Return how long to wait before the look that decides whether a write is sent again.

    A proxy that answers 503 or 408 may have passed the request on, and lists may lag behind: a look that
    finds nothing proves that nothing was created only when the settle window is over (rule A9).
    """
    asked_s = retry_wait_s(tries, run.context.timing.random(), error.wait_s)
    at_once = _was_refused(error) or not isinstance(change, Create)
    return asked_s if at_once else max(asked_s, run.context.limits.settle_s)


def _was_refused(error: Throttled) -> bool:
    """Whether a rate limit in front of the service refused a write: nothing was done."""
    return error.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.FORBIDDEN)


async def _send_create(run: Session, attempt: Attempt, change: Create) -> Outcome:
    entity = run.desired.entities[change.address]
    body = make_create_body(entity)
    # Durable from here on: killed anywhere below, the next run knows what may be under way, and looks for it.
    await run.before_call(attempt)
    await look.check_absent(run, entity, attempt.parent_id)
    _mark_sending(run, attempt)
    made = await run.collection(change.address).create(
        body, workspace=run.workspace(change.address), parent=attempt.parent_id
    )
    attempt.stage = "answered"
    row = await readback.confirm_created(run, attempt, entity, made)
    attempt.done(row.remote_id)
    # Before the record is durable: another worker's answer with this id must not be believed meanwhile.
    run.claim(change.address, row.remote_id)
    return await _record_proof(run, attempt, readback.prove_create(run, entity, row))


async def _send_update(run: Session, attempt: Attempt, change: Update) -> Outcome:
    entity = run.desired.entities[change.address]
    await run.before_call(attempt)
    before = await look.read_unchanged(run, change, attempt.parent_id)
    attempt.before = before
    look.check_secrets_carried(run, entity, change, before)
    # Merged into what was just read: a PUT replaces the whole entity, and what it leaves out is gone.
    body = make_update_body(before.body, entity, change, run.records.get(change.address))
    _mark_sending(run, attempt)
    sent = await run.collection(change.address).replace(
        change.remote_id, body, workspace=run.workspace(change.address), parent=attempt.parent_id
    )
    attempt.stage = "answered"
    try:
        found = await look.read_entity(run, change.address, change.remote_id, attempt.parent_id)
    except ServiceError as error:
        # The service said yes, and success is what reads back: it is looked at again at the end of the run.
        return end_unproven(run, attempt, f"not read back: {error}", done=not sent.accepted, error=error)
    proof = readback.prove_update(run, change, before, found, attempt.parent_id)
    if not proof.complete:
        return end_unproven(run, attempt, proof.describe(), done=not sent.accepted)
    attempt.done(change.remote_id)
    return await _record_proof(run, attempt, proof)


async def _send_delete(run: Session, attempt: Attempt, change: Delete) -> Outcome:
    forget = settle.forget_deleted(run, change)
    try:
        await run.before_call(attempt)
        await look.check_untouched(run, change, attempt.parent_id)
    except NotFound:
        if await _judge_deleted(run, attempt, change) == "gone":
            return await _record_outcome(run, attempt, forget, _already_gone_outcome(attempt))
        raise look.make_conflict(f"{UNSEEN}; nothing was sent, and it stays ours.") from None
    said_done, was_there = True, True
    _mark_sending(run, attempt)
    try:
        sent = await run.collection(change.address).delete(
            change.remote_id, workspace=run.workspace(change.address), parent=attempt.parent_id
        )
        said_done = not sent.accepted
    except NotFound:
        # Not by a try of ours: one that was in doubt is never sent again. The look before it showed the
        # entity, so the 404 has to be confirmed: otherwise a live entity would no longer be ours.
        was_there = False
    attempt.stage = "answered"
    try:
        await look.read_entity(run, change.address, change.remote_id, attempt.parent_id)
    except NotFound:
        if await _judge_deleted(run, attempt, change) != "gone":
            attempt.unseen = True
            return end_unproven(run, attempt, f"{UNSEEN}.", done=said_done)
        attempt.done(change.remote_id)
        ended = attempt.outcome("applied") if was_there else _already_gone_outcome(attempt)
        return await _record_outcome(run, attempt, forget, ended)
    except ServiceError as error:
        return end_unproven(
            run, attempt, f"it is unclear whether it is gone: {error}", done=said_done, error=error
        )
    return end_unproven(run, attempt, "it is still there.", done=said_done)


async def _judge_deleted(run: Session, attempt: Attempt, change: Delete) -> Presence:
    """Return whether the entity of a delete is gone, which a look at its id did not find (M8)."""
    return await look.judge_missing(run, change.address, change.remote_id, attempt.parent_id, change.before)


def _already_gone_outcome(attempt: Attempt) -> Outcome:
    return attempt.outcome("skipped", "it was gone already; only its record was removed.")


def _mark_sending(run: Session, attempt: Attempt) -> None:
    """Note that the write may have been sent from now on. Raises NotDone where it may not be sent."""
    run.check_may_send(attempt.began)  # the look may have taken a while
    # Set before the call and not after it: cut off in between, the write counts as sent.
    attempt.stage = "sending"


async def _record_proof(run: Session, attempt: Attempt, proof: Proof) -> Outcome:
    """Return the outcome of what is there: applied, or failed where a field of it was not taken."""
    if proof.complete:
        outcome = attempt.outcome("applied", proof.describe(), fields=proof.fields)
    else:
        step = GIVE_AGAIN if proof.lost else SHOWN_AGAIN
        outcome = attempt.outcome("failed", proof.describe(), step, fields=proof.fields)
    return await _record_outcome(run, attempt, run.keep(proof.record, proof.row), outcome)


async def _record_outcome(run: Session, attempt: Attempt, batch: Batch, outcome: Outcome) -> Outcome:
    """Return `outcome` when it is durable, together with what it did."""
    # Set first: where this is cancelled during the wait for the disk, the ledger writes the outcome anyway.
    attempt.ending = outcome
    # One transaction: an ending without its record would leave what we made without an owner.
    await run.ledger.after_call(structs.replace(batch, ended=(outcome,)))
    return outcome


# --- Outcomes of changes that an error, a stop or a mistake of ours has cut short -----------------
#
# What was sent is never forgotten: a write without an answer is in doubt, a write that is done is applied,
# whatever comes after. Each outcome is recorded here, once. No call is made here.


REPORT = "report it, with these words"


def note_outcome(run: Session, outcome: Outcome) -> Outcome:
    """Return the final outcome of a change, and record it without waiting."""
    run.ledger.later(Batch(ended=(outcome,)))
    return outcome


def end_with_error(run: Session, attempt: Attempt, error: ReconcilerError) -> Outcome:
    """Return the outcome of a change that met `error`, and end the run where going on would be wrong."""
    match error:
        case InDoubt():
            return _put_in_doubt(run, attempt, str(error))
        case LockHeld():
            # Nothing was sent: the lock is looked at in the very transaction that writes the intent down.
            run.halt(StopReason("lock", str(error), error.next))
            return note_outcome(run, attempt.outcome("not attempted", str(error), error.next))
        case StoreError():
            return _end_unrecorded(run, attempt, error)
        case Unauthorized():
            # Every further call would be refused too, and look like an attack on passwords.
            run.halt(StopReason("credentials", str(error), error.next))
        case NotFound() if isinstance(attempt.change, Update) and not attempt.unsure:
            # Our look saw it a moment ago, so it was deleted since; nothing of ours can land on it.
            return note_outcome(run, attempt.outcome("conflict", "it was deleted a moment ago.", PLAN_AGAIN))
    if attempt.unsure:  # the look that was to tell has failed
        return _put_in_doubt(run, attempt, attempt.unsure)
    if attempt.stage == "answered":
        return _put_in_doubt(run, attempt, str(error))
    if isinstance(error, ServiceError) and error.elsewhere:
        return note_outcome(run, attempt.outcome("conflict", f"{error} Nothing was sent.", PLAN_AGAIN))
    return note_outcome(run, attempt.outcome("failed", str(error), error.next))


def end_not_done(run: Session, attempt: Attempt, ended: NotDone) -> Outcome:
    """Return the outcome of a change for which nothing was sent, or whose write a look could not confirm."""
    if attempt.unsure:
        return _put_in_doubt(run, attempt, f"{attempt.unsure} Now {ended.what}")
    return note_outcome(run, attempt.outcome(ended.result, ended.what, ended.next))


def _end_unrecorded(run: Session, attempt: Attempt, error: StoreError) -> Outcome:
    run.halt(StopReason("store", str(error), error.next))
    if attempt.ending is None:
        return note_outcome(run, attempt.outcome("not attempted", str(error), error.next))
    return _report_not_recorded(attempt.ending, str(error), error.next)


def _report_not_recorded(outcome: Outcome, why: str, hint: str) -> Outcome:
    # Not noted: the journal keeps it open, so that `resume` finds out what was done and records it.
    return structs.replace(outcome, what=f"done, but not recorded: {why}", next=hint)


def end_unproven(
    run: Session, attempt: Attempt, what: str, *, done: bool, error: ServiceError | None = None
) -> Outcome:
    """Return the preliminary outcome of a write that was confirmed and does not show; it is looked at again.

    `done`: the service said that it is done; otherwise it only accepted it (202).
    """
    if isinstance(error, Unauthorized):
        run.halt(StopReason("credentials", str(error), error.next))
    said = (
        "the service said that it is done; " if done else "the service accepted it, and did not do it yet; "
    )
    return _put_in_doubt(run, attempt, said + what, answered=done)


def _put_in_doubt(run: Session, attempt: Attempt, what: str, *, answered: bool = False) -> Outcome:
    """Record that it may still land; the doubt is settled at the end of the run."""
    run.doubts.append(Doubt(attempt, run.context.timing.monotonic(), what, answered))
    # No caller waits for it: the intent is durable already, and open until an outcome is recorded.
    run.ledger.later(Batch(intents=(run.intent(attempt, run.context.limits.settle_s),)))
    return attempt.outcome("in doubt", what, IN_DOUBT)


def end_cut_off(run: Session, attempt: Attempt) -> Outcome:
    """Return the outcome of a change that was cancelled because the run has to stop at once."""
    run.halt(StopReason("interrupted", "the run was stopped.", GO_ON))
    if attempt.ending is not None:
        return attempt.ending  # it is in the ledger's hands, and written all the same
    match attempt.stage:
        case "looking":
            return note_outcome(run, attempt.outcome("not attempted", "the run was stopped.", GO_ON))
        case "sending":
            return _put_in_doubt(run, attempt, "the run was stopped while the service had not answered yet.")
        case "answered":
            return _put_in_doubt(run, attempt, "the run was stopped before it was read back.")
        case "done":
            return _end_after_write(run, attempt, "done, but recorded only in part: the run was stopped.")
        case never:
            assert_never(never)


def end_with_mistake(run: Session, attempt: Attempt, error: Exception) -> Outcome:
    """Return the outcome after a mistake of ours: its type and place; its text may hold personal data."""
    what = f"a bug in this program ({type(error).__name__} in {_find_error_place(error)})."
    run.halt(StopReason("mistake", what, REPORT))
    if attempt.ending is not None:
        return _report_not_recorded(attempt.ending, what, REPORT)
    if attempt.stage == "looking":
        return note_outcome(run, attempt.outcome("failed", what, REPORT))
    if attempt.stage in {"sending", "answered"}:
        return _put_in_doubt(run, attempt, what)
    return _end_after_write(run, attempt, f"done, and then {what}")


def _end_after_write(run: Session, attempt: Attempt, what: str) -> Outcome:
    """Return the outcome of a write that was seen to be done, and whose step cannot go on."""
    change, outcome = attempt.change, attempt.outcome("applied", what)
    match change:
        case Create():
            batch = run.keep(_make_bare_record(run, attempt))
        case Update():
            batch = Batch()  # as it was recorded: the next plan compares it anew
        case Delete():
            batch = forget_deleted(run, change)
        case never:
            assert_never(never)
    run.ledger.later(structs.replace(batch, ended=(outcome,)))
    return outcome


def _make_bare_record(run: Session, attempt: Attempt) -> RecordedEntity:
    """Return a record that an entity is ours, without any claim about its fields."""
    address = attempt.change.address
    entity = run.desired.entities.get(address)
    protected = entity is not None and entity.controls.protect
    return RecordedEntity(address, attempt.remote_id, attempt.parent_id, protected=protected)


def _find_error_place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (
        f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "an unknown place"
    )
