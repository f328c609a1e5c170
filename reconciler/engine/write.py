"""One change, in the order of planning rule A3: from the fresh look to the record.

    turns due -> intent durable, lock ours -> fresh look -> as planned? -> one call -> read back -> recorded
                                                 |- at most 50 ms -|            | not as sent: looked at
                                                                                | again at the end

A step never raises: whatever happens ends in one outcome, which reaches the store once: together
with what was done, or by itself where nothing was. It says too whether the run may go on.
What becomes of several changes, and of those in doubt, is elsewhere.
"""

import asyncio
from http import HTTPStatus
from typing import assert_never

from msgspec import structs

from reconciler.core.calls import retry_wait_s, tries_max
from reconciler.core.compare.bodies import make_create_body, make_update_body
from reconciler.core.compare.evidence import Verdict
from reconciler.engine import look, readback, settle
from reconciler.engine.attempt import Attempt
from reconciler.engine.endings import (
    end_cut_off,
    end_not_done,
    end_unproven,
    end_with_error,
    end_with_mistake,
)
from reconciler.engine.readback import GIVE_AGAIN, SHOWN_AGAIN, Proof
from reconciler.engine.session import NotDone, Session
from reconciler.errors import NotFound, NotSent, ReconcilerError, ServiceError, Throttled
from reconciler.instrumentation import step_log
from reconciler.model.plans import Change, Create, Delete, Update
from reconciler.model.runs import Outcome
from reconciler.service.client import LookAgain
from reconciler.store.recorded import Batch

looks_max = 8  # of one write whose looks were too old; then nothing is sent
UNSEEN = "a look at its id finds nothing, and its list does not say the same"
SLOWER = "run it again with a lower service.limits.concurrency, or on a machine that is less busy"


async def write_change(run: Session, change: Change) -> Outcome:
    """Carry out one change and return how it ended; a write in doubt stands in `run.doubts` too."""
    attempt = Attempt(change, remote_id="" if isinstance(change, Create) else change.remote_id)
    # Nothing gets out of here but an outcome: a worker that raised would leave its queue undone (rule A7).
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
    except Exception as error:  # noqa: BLE001 - our own mistake: told like a failure, and it ends the run
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
            # Who says "slower" may have carried it out all the same: unsure until somebody has looked (A8).
            put_off, attempt.unsure = error, str(error)
        patience_s = _patience_s(run, attempt.change, tries, put_off)
        step_log.info("%s: put off by the service; looking in %.1f s", attempt.change.address, patience_s)
        await run.pause(patience_s)
        if run.over():
            raise put_off
        # A 503 may hide a create that was done: sent again unseen, it makes somebody twice (rule A8).
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
    await run.stretch(attempt.change.address)
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

    Whoever says 503 or 408 may have passed the request on, and lists may lag behind: a look that finds
    nothing says that nothing was made only when the settle window is over (rule A9).
    """
    asked_s = retry_wait_s(tries, run.context.timing.random(), error.wait_s)
    at_once = _was_refused(error) or not isinstance(change, Create)
    return asked_s if at_once else max(asked_s, run.context.limits.settle_s)


def _was_refused(error: Throttled) -> bool:
    """Whether a limit before the service has refused a write: nothing was done."""
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
        return end_unproven(run, attempt, proof.said(), done=not sent.accepted)
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
        # entity, so the 404 has to be seen too: otherwise somebody who is there would no longer be ours.
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
            run, attempt, f"whether it is gone cannot be told: {error}", done=said_done, error=error
        )
    return end_unproven(run, attempt, "it is still there.", done=said_done)


async def _judge_deleted(run: Session, attempt: Attempt, change: Delete) -> Verdict:
    """Return whether the entity of a delete is gone, which a look at its id did not find (M8)."""
    return await look.judge_missing(run, change.address, change.remote_id, attempt.parent_id, change.before)


def _already_gone_outcome(attempt: Attempt) -> Outcome:
    return attempt.outcome("skipped", "it was gone already; only its record was removed.")


def _mark_sending(run: Session, attempt: Attempt) -> None:
    """From now on the write may have left."""
    run.check_may_send(attempt.began)  # the look may have taken a while
    # Set before the call and not after it: cut off in between, the write counts as sent.
    attempt.stage = "sending"


async def _record_proof(run: Session, attempt: Attempt, proof: Proof) -> Outcome:
    """Return the outcome of what is there: applied, or failed where a field of it was not taken."""
    if proof.complete:
        outcome = attempt.outcome("applied", proof.said(), fields=proof.fields)
    else:
        step = GIVE_AGAIN if proof.lost else SHOWN_AGAIN
        outcome = attempt.outcome("failed", proof.said(), step, fields=proof.fields)
    return await _record_outcome(run, attempt, run.keep(proof.record, proof.row), outcome)


async def _record_outcome(run: Session, attempt: Attempt, batch: Batch, outcome: Outcome) -> Outcome:
    """Return `outcome` when it is durable, together with what it did."""
    # Set first: cut off while it waits for the disk, the change has ended so; the ledger writes it anyway.
    attempt.ending = outcome
    # One transaction: an ending without its record would leave what we made without an owner.
    await run.ledger.after_call(structs.replace(batch, ended=(outcome,)))
    return outcome
