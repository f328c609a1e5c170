"""How a change ends that does not come to its end: an error, a stop, or a mistake of ours.

What was sent is never forgotten: a write without an answer is in doubt, a write that is done is
applied, whatever comes after. Each ending is written down here, once. No call is made here.
"""

from pathlib import Path
from typing import assert_never

from msgspec import structs

from reconciler.engine.attempt import Attempt
from reconciler.engine.look import PLAN_AGAIN
from reconciler.engine.session import GO_ON, IN_DOUBT, Doubt, NotDone, Session
from reconciler.engine.settle import forget_deleted
from reconciler.engine.stop import StopReason
from reconciler.errors import (
    InDoubt,
    LockHeld,
    NotFound,
    ReconcilerError,
    ServiceError,
    StoreError,
    Unauthorized,
)
from reconciler.model.plans import Create, Delete, Update
from reconciler.model.runs import Outcome
from reconciler.model.snapshots import RecordedEntity
from reconciler.store.recorded import Batch

REPORT = "report it, with these words"


def note_outcome(run: Session, outcome: Outcome) -> Outcome:
    """Return the outcome of a change of which nothing is left open, and write it down without waiting."""
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
            # Every further call would be refused too, and look like somebody who tries passwords.
            run.halt(StopReason("credentials", str(error), error.next))
        case NotFound() if isinstance(attempt.change, Update) and not attempt.unsure:
            # Seen a moment ago by our look, so somebody has deleted it; nothing of ours can land on it.
            return note_outcome(run, attempt.outcome("conflict", "it was deleted a moment ago.", PLAN_AGAIN))
    if attempt.unsure:  # the look that was to tell has failed
        return _put_in_doubt(run, attempt, attempt.unsure)
    if attempt.stage == "answered":
        return _put_in_doubt(run, attempt, str(error))
    if isinstance(error, ServiceError) and error.elsewhere:
        return note_outcome(run, attempt.outcome("conflict", f"{error} Nothing was sent.", PLAN_AGAIN))
    return note_outcome(run, attempt.outcome("failed", str(error), error.next))


def end_not_done(run: Session, attempt: Attempt, ended: NotDone) -> Outcome:
    """Return the outcome of a change for which nothing was sent, or about which a look could not tell."""
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
    """Return the outcome, for now, of what was answered with yes and does not show; it is looked at again.

    `done`: the service said that it is done; otherwise it only accepted it (202).
    """
    if isinstance(error, Unauthorized):
        run.halt(StopReason("credentials", str(error), error.next))
    said = (
        "the service said that it is done; " if done else "the service accepted it, and did not do it yet; "
    )
    return _put_in_doubt(run, attempt, said + what, answered=done)


def _put_in_doubt(run: Session, attempt: Attempt, what: str, *, answered: bool = False) -> Outcome:
    """Write down that it may still land; what becomes of it is settled at the end of the run."""
    run.doubts.append(Doubt(attempt, run.context.timing.monotonic(), what, answered))
    # No caller waits for it: the intent is durable already, and open until something is written that ends it.
    run.ledger.later(Batch(intents=(run.intent(attempt, run.context.limits.settle_s),)))
    return attempt.outcome("in doubt", what, IN_DOUBT)


def end_cut_off(run: Session, attempt: Attempt) -> Outcome:
    """Return the outcome of a change that was cancelled because the run has to end at once."""
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
            return _end_after_write(run, attempt, "done, but not recorded as a whole: the run was stopped.")
        case never:
            assert_never(never)


def end_with_mistake(run: Session, attempt: Attempt, error: Exception) -> Outcome:
    """Return the outcome after a mistake of ours: its kind and place; its text may hold data of people."""
    what = f"a mistake in this program ({type(error).__name__} in {_find_error_place(error)})."
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
    """Return a record of what was made and is ours, and of which nothing more is claimed."""
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
