"""Why a saved plan is not carried out, as the verdict of a report: the reason, and every change that moved.

Belongs here: which changes of two plans differ, in words without a value. Not here: whether a plan is stale
(core/seal.py), nor the difference in full, which a terminal shows (report/difference.py).
"""

from collections.abc import Iterator

from msgspec import structs

from reconciler.model.address import Address
from reconciler.model.changes import Change, Create, Update, action
from reconciler.model.plans import Plan, Reason, Verdict

RULE = "A1"  # docs/planning.md


def stale_verdict(saved: Plan, fresh: Plan | None, why: str, next_step: str) -> Verdict:
    """Return a verdict that refuses `saved`: first `why`, then a reason for each change that is another now.

    By address. `fresh` is what would be done now, None where nothing was planned: a plan that has expired.
    """
    moved = tuple(_moved(saved, fresh)) if fresh is not None else ()
    first = Reason(RULE, "", len(moved), 0, why, next_step)
    return Verdict((first, *(Reason(RULE, address, 1, 0, what, "") for address, what in moved)))


def _moved(saved: Plan, fresh: Plan) -> Iterator[tuple[Address, str]]:
    old, new = ({one.address: _placeless(one) for one in plan.changes} for plan in (saved, fresh))
    for address in sorted(old.keys() | new.keys()):
        before, after = old.get(address), new.get(address)
        if before != after:
            yield address, f"{address}: {_words(before, after)}"


def _placeless(change: Change) -> Change:
    """Lines of a manifest move without anything else."""
    return structs.replace(change, place="") if isinstance(change, Create | Update) else change


def _words(before: Change | None, after: Change | None) -> str:
    if before is None and after is not None:
        return f"{action(after)} now, and not in the saved plan."
    if before is not None and after is None:
        return f"{action(before)} in the saved plan, and nothing to do now."
    if before is not None and after is not None and action(before) != action(after):
        return f"{action(before)} in the saved plan, {action(after)} now."
    both = [_fields(one) for one in (before, after) if one is not None]
    paths = sorted({path for path, _ in set(both[0]) ^ set(both[-1])})
    of = f" ({', '.join(paths)})" if paths else ""
    return f"not as in the saved plan{of}."


def _fields(change: Change) -> Iterator[tuple[str, object]]:
    """Yield the path of each field, with what is planned for it."""
    if isinstance(change, Update):
        yield from ((one.path, one) for one in change.fields)
    else:
        yield from (change.fields if isinstance(change, Create) else change.before).items()
