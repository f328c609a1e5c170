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
from reconciler.engine.stop import Halt
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


def noted(run: Session, outcome: Outcome) -> Outcome:
    """Return the outcome of a change of which nothing is left open, and write it down without waiting."""
    run.ledger.later(Batch(ended=(outcome,)))
    return outcome


def failed(run: Session, attempt: Attempt, error: ReconcilerError) -> Outcome:
    """Return the outcome of a change that met `error`, and end the run where going on would be wrong."""
    match error:
        case InDoubt():
            return _doubted(run, attempt, str(error))
        case LockHeld():
            # Nothing was sent: the lock is looked at in the very transaction that writes the intent down.
            run.halt(Halt("lock", str(error), error.next))
            return noted(run, attempt.outcome("not attempted", str(error), error.next))
        case StoreError():
            return _unrecorded(run, attempt, error)
        case Unauthorized():
            # Every further call would be refused too, and look like somebody who tries passwords.
            run.halt(Halt("credentials", str(error), error.next))
        case NotFound() if isinstance(attempt.change, Update) and not attempt.unsure:
            # Seen a moment ago by our look, so somebody has deleted it; nothing of ours can land on it.
            return noted(run, attempt.outcome("conflict", "it was deleted a moment ago.", PLAN_AGAIN))
    if attempt.unsure:  # the look that was to tell has failed
        return _doubted(run, attempt, attempt.unsure)
    if attempt.stage == "answered":
        return _doubted(run, attempt, str(error))
    if isinstance(error, ServiceError) and error.elsewhere:
        return noted(run, attempt.outcome("conflict", f"{error} Nothing was sent.", PLAN_AGAIN))
    return noted(run, attempt.outcome("failed", str(error), error.next))


def not_done(run: Session, attempt: Attempt, ended: NotDone) -> Outcome:
    """Return the outcome of a change for which nothing was sent, or about which a look could not tell."""
    if attempt.unsure:
        return _doubted(run, attempt, f"{attempt.unsure} Now {ended.what}")
    return noted(run, attempt.outcome(ended.result, ended.what, ended.next))


def _unrecorded(run: Session, attempt: Attempt, error: StoreError) -> Outcome:
    run.halt(Halt("store", str(error), error.next))
    if attempt.ending is None:
        return noted(run, attempt.outcome("not attempted", str(error), error.next))
    return _unkept(attempt.ending, str(error), error.next)


def _unkept(outcome: Outcome, why: str, hint: str) -> Outcome:
    # Not noted: the journal keeps it open, so that `resume` finds out what was done and records it.
    return structs.replace(outcome, what=f"done, but not recorded: {why}", next=hint)


def answered(
    run: Session, attempt: Attempt, what: str, *, done: bool, error: ServiceError | None = None
) -> Outcome:
    """Return the outcome, for now, of what was answered with yes and does not show; it is looked at again.

    `done`: the service said that it is done; otherwise it only accepted it (202).
    """
    if isinstance(error, Unauthorized):
        run.halt(Halt("credentials", str(error), error.next))
    said = (
        "the service said that it is done; " if done else "the service accepted it, and did not do it yet; "
    )
    return _doubted(run, attempt, said + what, answered=done)


def _doubted(run: Session, attempt: Attempt, what: str, *, answered: bool = False) -> Outcome:
    """Write down that it may still land; what becomes of it is settled at the end of the run."""
    run.doubts.append(Doubt(attempt, run.context.timing.monotonic(), what, answered))
    # No caller waits for it: the intent is durable already, and open until something is written that ends it.
    run.ledger.later(Batch(intents=(run.intent(attempt, run.context.limits.settle_s),)))
    return attempt.outcome("in doubt", what, IN_DOUBT)


def cut_off(run: Session, attempt: Attempt) -> Outcome:
    """Return the outcome of a change that was cancelled because the run has to end at once."""
    run.halt(Halt("interrupted", "the run was stopped.", GO_ON))
    if attempt.ending is not None:
        return attempt.ending  # it is in the ledger's hands, and written all the same
    match attempt.stage:
        case "looking":
            return noted(run, attempt.outcome("not attempted", "the run was stopped.", GO_ON))
        case "sending":
            return _doubted(run, attempt, "the run was stopped while the service had not answered yet.")
        case "answered":
            return _doubted(run, attempt, "the run was stopped before it was read back.")
        case "done":
            return _left(run, attempt, "done, but not recorded as a whole: the run was stopped.")
        case never:
            assert_never(never)


def mistaken(run: Session, attempt: Attempt, error: Exception) -> Outcome:
    """Return the outcome after a mistake of ours: its kind and place; its text may hold data of people."""
    what = f"a mistake in this program ({type(error).__name__} in {_place(error)})."
    run.halt(Halt("mistake", what, REPORT))
    if attempt.ending is not None:
        return _unkept(attempt.ending, what, REPORT)
    if attempt.stage == "looking":
        return noted(run, attempt.outcome("failed", what, REPORT))
    if attempt.stage in {"sending", "answered"}:
        return _doubted(run, attempt, what)
    return _left(run, attempt, f"done, and then {what}")


def _left(run: Session, attempt: Attempt, what: str) -> Outcome:
    """Return the outcome of a write that was seen to be done, and whose step cannot go on."""
    change, outcome = attempt.change, attempt.outcome("applied", what)
    match change:
        case Create():
            batch = run.keep(_bare(run, attempt))
        case Update():
            batch = Batch()  # as it was recorded: the next plan compares it anew
        case Delete():
            batch = forget_deleted(run, change)
        case never:
            assert_never(never)
    run.ledger.later(structs.replace(batch, ended=(outcome,)))
    return outcome


def _bare(run: Session, attempt: Attempt) -> RecordedEntity:
    """Return a record of what was made and is ours, and of which nothing more is claimed."""
    address = attempt.change.address
    entity = run.desired.entities.get(address)
    protected = entity is not None and entity.controls.protect
    return RecordedEntity(address, attempt.remote_id, attempt.parent_id, protected=protected)


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (
        f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "an unknown place"
    )
