"""How a change ends that does not come to its end: an error, a stop, or a mistake of ours.

What was sent is never forgotten: a write without an answer is in doubt, a write that is done is
applied, whatever comes after. No call is made here.
"""

from pathlib import Path
from typing import assert_never

from reconciler.apply.attempt import Attempt, bare
from reconciler.apply.look import PLAN_AGAIN
from reconciler.apply.session import Doubt, Session
from reconciler.apply.settle import taken_along
from reconciler.apply.stop import Halt
from reconciler.errors import InDoubt, LockHeld, NotFound, ReconcilerError, StoreError, Unauthorized
from reconciler.model.changes import Create, Delete, Update
from reconciler.model.outcomes import Outcome
from reconciler.store.recorded import Batch

REPORT = "report it, with these words"


def failed(run: Session, attempt: Attempt, error: ReconcilerError) -> Outcome:
    """Return the outcome of a change that met `error`, and end the run where going on would be wrong."""
    match error:
        case InDoubt():
            return _doubted(run, attempt, str(error))
        case LockHeld():
            run.halt(Halt("lock", str(error), error.next))
            return attempt.outcome("not attempted", str(error), error.next)
        case StoreError():
            return _unrecorded(run, attempt, error)
        case Unauthorized():
            run.halt(Halt("credentials", str(error), error.next))
        case NotFound() if isinstance(attempt.change, Update):
            return attempt.outcome("conflict", "it was deleted a moment ago.", PLAN_AGAIN)
    return attempt.outcome("failed", str(error), error.next)


def _unrecorded(run: Session, attempt: Attempt, error: StoreError) -> Outcome:
    run.halt(Halt("store", str(error), error.next))
    if attempt.stage == "looking":
        return attempt.outcome("not attempted", str(error), error.next)
    return attempt.outcome("applied", f"done, but not recorded: {error}", error.next)


def _doubted(run: Session, attempt: Attempt, what: str) -> Outcome:
    """Write down that it may still land; what becomes of it is settled at the end of the run."""
    change, sent_at = attempt.change, attempt.sent_at or run.now()
    run.doubts.append(Doubt(change, attempt.parent_id, sent_at, what))
    if isinstance(change, Create):
        run.ledger.later(Batch(doubts={change.address: run.until(sent_at)}))
    return attempt.outcome("in doubt", what, f"plan again after {run.until(sent_at)}; nothing is sent twice")


def cut_off(run: Session, attempt: Attempt) -> Outcome:
    """Return the outcome of a change that was cancelled because the run has to end at once."""
    run.halt(Halt("interrupted", "the run was stopped.", "plan again, and apply"))
    match attempt.stage:
        case "looking":
            return attempt.outcome("not attempted", "the run was stopped.", "plan again, and apply")
        case "sending":
            return _doubted(run, attempt, "the run was stopped while the service had not answered yet.")
        case "done":
            return _left(run, attempt, "done, but not read back: the run was stopped.")
        case "kept":
            return attempt.outcome("applied")
        case never:
            assert_never(never)


def mistaken(run: Session, attempt: Attempt, error: Exception) -> Outcome:
    """Return the outcome after a mistake of ours: its kind and place; its text may hold data of people."""
    what = f"a mistake in this program ({type(error).__name__} in {_place(error)})."
    run.halt(Halt("mistake", what, REPORT))
    if attempt.stage == "looking":
        return attempt.outcome("failed", what, REPORT)
    if attempt.stage == "sending":
        return _doubted(run, attempt, what)
    return _left(run, attempt, f"done, and then {what}")


def _left(run: Session, attempt: Attempt, what: str) -> Outcome:
    """A write that is done and whose step cannot go on: ours, and nothing more is claimed of it."""
    change = attempt.change
    if isinstance(change, Delete):
        run.ledger.later(Batch(forget=taken_along(run, change)))
    else:
        run.ledger.later(Batch(remember=(bare(run, attempt),)))
    return attempt.outcome("applied", what)


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (
        f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "an unknown place"
    )
