"""After a crash: what is settled, what is in doubt, what was never sent, and what is left to do.

    journal --sort_out_run--> settled | in doubt --wait, look--> found | absent
                                 | never sent
    old plan, fresh plan --find_remaining--> what of the old plan is still to be done, just as it says

Decisions only. Reading the journal is store/history.py, looking at the service is engine/.
"""

from collections.abc import Iterable

from msgspec import Struct, structs

from reconciler.core.planning.fingerprint import fingerprint, without_place
from reconciler.model.address import Address
from reconciler.model.notices import Notice
from reconciler.model.plans import Change, Consent, Create, Plan
from reconciler.model.runs import Intent, JournalEntry, Running


class InterruptedRun(Struct, frozen=True):
    """A run that has not ended, or that ended with something in doubt or not attempted.

    `plan` is None where it cannot be read: another version of this program wrote it. `entries` come oldest
    first, then by address.
    """

    run: str
    command: str
    started_at: str
    plan: Plan | None
    consent: Consent
    entries: tuple[JournalEntry, ...]


class RunStatus(Struct, frozen=True):
    """Who writes right now, and what earlier runs left. A run that is alive is in `running` alone."""

    running: Running | None
    left: tuple[InterruptedRun, ...]


class Recovery(Struct, frozen=True):
    """What the journal says of a run. Each address of its plan is in exactly one of the three."""

    settled: tuple[Address, ...]
    in_doubt: tuple[Intent, ...]
    never_sent: tuple[Address, ...]


class Remaining(Struct, frozen=True):
    """What is left of a plan, and what planning now would do besides."""

    plan: Plan
    beyond: tuple[Change, ...]


def sort_out_run(unfinished: InterruptedRun) -> Recovery:
    """Return how far a run came, by what it wrote down before and after each call (rule A3).

    An intent without an ending is in doubt: the request may have left. No intent: it did not leave.
    What the run wrote down and did not attempt was never sent either. Order: the plan's, then whatever
    the plan does not hold, as it was written down.
    """
    # Also what the plan does not hold: one of another version cannot be read, and its requests left.
    entries = {entry.intent.address: entry for entry in unfinished.entries}
    changes = unfinished.plan.changes if unfinished.plan else ()
    addresses = dict.fromkeys([*(change.address for change in changes), *entries])
    settled, in_doubt, never_sent = [], [], []
    for address in addresses:
        entry = entries.get(address)
        # Rule A3: the intent is on disk before its request leaves. Without one nothing was sent.
        if entry is None or entry.ending == "not attempted":
            never_sent.append(address)
        elif entry.open:
            in_doubt.append(entry.intent)
        else:
            settled.append(address)
    return Recovery(tuple(settled), tuple(in_doubt), tuple(never_sent))


def settle_wait_s(
    intents: Iterable[Intent], *, locked_for_s: float, settle_s: float, missing: bool = False
) -> float:
    """Return how many seconds it takes until none of these can land any more; 0 when there are none.

    `locked_for_s` is how long we have held the lock, on this process's monotonic clock. Whoever held it
    before sends nothing after that, so what was sent has landed one settle window later. The times in the
    intents do not shorten the wait: another machine's clock wrote them, or this one's before it was set.
    `missing`: there may be intents that are no longer known.
    """
    # Monotonic time alone: no clock that was set, here or elsewhere, may shorten it
    # (tests/core/test_recover.py). From the lock on, for until then the run before could go on sending.
    return max(0.0, settle_s - locked_for_s) if missing or any(True for _ in intents) else 0.0


def doubtful_store_notice(why: str) -> Notice:
    """Return what a plan says that was made with a store which may lack what was sent lately."""
    # A notice and no error: a plan writes nothing, and what it says is planned again by the apply that waits.
    return Notice(
        "store",
        "store",
        f"{why}: requests that were sent since then may be missing from it.",
        "apply waits until none of these requests can take effect any more, looks at the service, and "
        "continues",
    )


def is_store_doubtful(plan: Plan) -> bool:
    """Whether a plan was made with such a store: one that is made after the wait says something else."""
    return any((one.kind, one.subject) == ("store", "store") for one in plan.notices)


def find_remaining(old: Plan, fresh: Plan) -> Remaining:
    """Return `fresh` without every change that `old` does not hold just so, before-values and all.

    The place in the manifest does not count. Order as in `fresh`; its fingerprint is made anew. What is
    only recorded (adoptions, renames, what is gone) stays: nothing is sent for it. A device whose contact
    would have to be made beyond the old plan is beyond it too.
    """
    # The whole change, values before it included: only that was agreed to (A9).
    held = {change.address: without_place(change) for change in old.changes}
    outside = {
        change.address for change in fresh.changes if held.get(change.address) != without_place(change)
    }
    # What belongs to one of these would be sent below an id that there is not.
    homeless = {one.address for one in fresh.changes if isinstance(one, Create) and one.address in outside}
    outside |= {change.address for change in fresh.changes if change.address.above in homeless}
    left = tuple(one for one in fresh.changes if one.address not in outside)
    # What manifests consent to is judged as it was when the interrupted run began, like a number.
    plan = structs.replace(fresh, changes=left, consented=old.consented)
    beyond = tuple(change for change in fresh.changes if change.address in outside)
    return Remaining(structs.replace(plan, fingerprint=fingerprint(plan)), beyond)
