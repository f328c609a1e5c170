"""One change, in the order of planning rule A3: from the fresh look to the record.

    fresh look -> still as planned? -> intent durable, lock ours -> one call -> read back -> recorded

A step never raises: whatever happens ends in one outcome, which reaches the store once: together
with what was done, or by itself where nothing was. It says too whether the run may go on.
What becomes of several changes, and of those in doubt, is elsewhere.
"""

import asyncio
from http import HTTPStatus
from typing import assert_never

from msgspec import structs

from reconciler.apply import look, settle
from reconciler.apply.attempt import Attempt, bare, row_of
from reconciler.apply.endings import cut_off, failed, mistaken, not_done
from reconciler.apply.look import Gone
from reconciler.apply.session import NotDone, Session
from reconciler.apply.stop import Halt
from reconciler.core.merge import create_body, update_body
from reconciler.core.records import proven, record_of
from reconciler.core.retry import tries_max, wait_s
from reconciler.errors import NotFound, ReconcilerError, ServiceError, Throttled, Unauthorized
from reconciler.model.changes import Change, Create, Delete, Update
from reconciler.model.documents import Fields
from reconciler.model.kinds import KINDS
from reconciler.model.outcomes import Outcome
from reconciler.model.snapshots import LiveEntity, RecordedEntity
from reconciler.store.recorded import Batch


async def step(run: Session, change: Change) -> Outcome:
    """Carry out one change and return how it ended; a write in doubt stands in `run.doubts` too."""
    attempt = Attempt(change, remote_id="" if isinstance(change, Create) else change.remote_id)
    try:
        attempt.parent_id = run.parent_id(change)
        return await _tried(run, attempt)
    except NotDone as ended:
        return not_done(run, attempt, ended)
    except asyncio.CancelledError:
        return cut_off(run, attempt)
    except ReconcilerError as error:
        return failed(run, attempt, error)
    except Exception as error:  # noqa: BLE001 - our own mistake: told like a failure, and it ends the run
        return mistaken(run, attempt, error)


async def _tried(run: Session, attempt: Attempt) -> Outcome:
    """Write once. Where the service said "slower", look whether it was done all the same, then try again."""
    for tries in range(1, tries_max + 1):
        try:
            return await _written(run, attempt)
        except Throttled as error:
            if attempt.stage != "sending":
                raise
            put_off, attempt.unsure = error, str(error)
        await run.pause(_patience_s(run, attempt.change, tries, put_off))
        if run.over():
            raise put_off
        landed = await settle.landed(run, attempt.change, attempt.parent_id)
        if landed:
            attempt.done(landed.remote_id)
            return await _kept(run, attempt, landed.batch, attempt.outcome("applied", landed.what))
        attempt.stage, attempt.unsure = "looking", ""
        if tries == tries_max or not run.client.may_repeat():
            raise put_off
    raise AssertionError("the last try returns or raises")


def _patience_s(run: Session, change: Change, tries: int, error: Throttled) -> float:
    """Return how long to wait before the look that decides whether a write is sent again.

    Whoever says 503 or 408 may have passed the request on, and lists may lag behind: a look that finds
    nothing says that nothing was made only when the settle window is over (rule A9).
    """
    asked_s = wait_s(tries, run.timing.random(), error.wait_s)
    turned_away = error.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.FORBIDDEN)
    return asked_s if turned_away or not isinstance(change, Create) else max(asked_s, run.options.settle_s)


async def _written(run: Session, attempt: Attempt) -> Outcome:
    match attempt.change:
        case Create() as change:
            return await _create(run, attempt, change)
        case Update() as change:
            return await _update(run, attempt, change)
        case Delete() as change:
            return await _delete(run, attempt, change)
        case never:
            assert_never(never)


async def _create(run: Session, attempt: Attempt, change: Create) -> Outcome:
    entity = run.desired.entities[change.address]
    await look.absent(run, entity, attempt.parent_id)
    body = create_body(entity)
    await _before_call(run, attempt)
    made = await run.collection(change.address).create(
        body, workspace=run.workspace(change.address), parent=attempt.parent_id
    )
    attempt.done(made.remote_id)
    row = row_of(attempt, made)
    if _unseen(entity.fields, row, change):  # the answer to a POST may show less than the entity has
        read, note = await _read_back(run, attempt)
        if read is None:
            return await _applied(run, attempt, bare(run, attempt), note)
        row = read
    record = record_of(entity, row, salt=run.salt, created=True)
    return await _applied(run, attempt, record, _unseen(entity.fields, row, change), row)


async def _update(run: Session, attempt: Attempt, change: Update) -> Outcome:
    entity = run.desired.entities[change.address]
    before = await look.unchanged(run, change, attempt.parent_id)
    body = update_body(before.body, entity, change, run.records.get(change.address))
    await _before_call(run, attempt)
    await run.collection(change.address).replace(
        change.remote_id, body, workspace=run.workspace(change.address), parent=attempt.parent_id
    )
    attempt.done(change.remote_id)
    row, note = await _read_back(run, attempt)
    if row is None:
        return await _applied(run, attempt, bare(run, attempt), note)
    known = run.records.get(change.address)
    just_sent = {field.path for field in change.fields} | KINDS[change.address.kind].write_only
    record = proven(record_of(entity, row, salt=run.salt, before=known), known, just_sent=just_sent)
    sent = {field.path: entity.fields.get(field.path, "") for field in change.fields}
    notes = (_unseen(sent, row, change), _also(row_of(attempt, before).fields, row.fields, sent))
    return await _applied(run, attempt, record, " ".join(note for note in notes if note), row)


async def _delete(run: Session, attempt: Attempt, change: Delete) -> Outcome:
    forget = Batch(forget=settle.taken_along(run, change))
    try:
        await look.untouched(run, change, attempt.parent_id)
        await _before_call(run, attempt)
        await run.collection(change.address).delete(
            change.remote_id, workspace=run.workspace(change.address), parent=attempt.parent_id
        )
    except (Gone, NotFound):
        # Not by a try of ours: one that was in doubt is never sent again.
        gone = attempt.outcome("skipped", "it was gone already; only forgotten.")
        return await _kept(run, attempt, forget, gone)
    attempt.done(change.remote_id)
    return await _kept(run, attempt, forget, attempt.outcome("applied"))


async def _before_call(run: Session, attempt: Attempt) -> None:
    attempt.at = run.now()
    await run.before_call(attempt.change, attempt.parent_id, attempt.at)
    attempt.stage = "sending"


async def _applied(
    run: Session, attempt: Attempt, record: RecordedEntity, what: str, row: LiveEntity | None = None
) -> Outcome:
    return await _kept(run, attempt, run.keep(record, row), attempt.outcome("applied", what))


async def _kept(run: Session, attempt: Attempt, batch: Batch, outcome: Outcome) -> Outcome:
    """Return `outcome` when it is durable, together with what it did."""
    attempt.ending = outcome
    await run.ledger.after_call(structs.replace(batch, ended=(outcome,)))
    return outcome


async def _read_back(run: Session, attempt: Attempt) -> tuple[LiveEntity | None, str]:
    """Return what the service shows now, or None and why not: the write is done either way."""
    try:
        found = await look.get(run, attempt.change.address, attempt.remote_id, attempt.parent_id)
    except ServiceError as error:
        if isinstance(error, Unauthorized):
            run.halt(Halt("credentials", str(error), error.next))
        return None, f"done, but not read back: {error}"
    return row_of(attempt, found), ""


def _unseen(sent: Fields, row: LiveEntity, change: Change) -> str:
    """Say which of the fields that were sent the service does not show, and which it shows though cleared."""
    kind = KINDS[change.address.kind]
    readable = {path: value for path, value in sent.items() if path not in kind.write_only}
    missing = sorted(path for path, value in readable.items() if value != "" and path not in row.fields)
    kept = sorted(
        path
        for path, value in readable.items()
        if value == "" and path in row.fields and path not in kind.sticky and isinstance(change, Update)
    )
    notes = [f"sent, but not shown by the service: {look.names(missing)}."] if missing else []
    notes += [f"cleared, but still shown by the service: {look.names(kept)}."] if kept else []
    return " ".join(notes)


def _also(before: Fields, after: Fields, sent: Fields) -> str:
    """Say which fields that we did not change are not what they were a moment before."""
    moved = sorted(path for path in before.keys() | after if before.get(path) != after.get(path))
    others = [path for path in moved if path not in sent]
    return f"changed at the same time, and not by us: {look.names(others)}." if others else ""
