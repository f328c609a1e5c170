"""How a whole run ended, from how its changes ended: the exit code, as one table."""

from collections.abc import Collection, Iterable

from reconciler.apply.stop import Reason
from reconciler.model.outcomes import Outcome, Result

DONE, FAILED, LOCKED, STALE, PARTIAL, IN_DOUBT, INTERRUPTED = 0, 1, 4, 5, 6, 8, 130


def exit_code(outcomes: Iterable[Outcome], stopped: Reason | None) -> int:
    """Return the exit code of a run. The first line that fits decides.

    =====================================================  ===
    ended by a signal or by the run's deadline             130
    anything in doubt                                        8
    everything applied, or skipped as done already           0
    something applied, and something not                     6
    nothing applied: the lock was lost                       4
    nothing applied: anything failed, or the run was ended   1
    nothing applied: only conflicts                          5
    =====================================================  ===

    A skipped change is harmless by itself (it was gone already); one that was skipped because of
    another stands beside that other, which decides.
    """
    results: Collection[Result] = {outcome.result for outcome in outcomes}
    if stopped in {"interrupted", "deadline"}:
        return INTERRUPTED
    if "in doubt" in results:
        return IN_DOUBT
    if stopped is None and not {"failed", "conflict", "not attempted"} & set(results):
        return DONE
    if "applied" in results:
        return PARTIAL
    if stopped == "lock":
        return LOCKED
    return STALE if stopped is None and "failed" not in results else FAILED
