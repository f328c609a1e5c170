"""A day of somebody who changes three people among many: apply, plan, edit three, plan, apply, plan.

Everybody is live already and becomes ours with the first apply. The same steps for each form of the manifests
(people.FORMS): ten files, one roster, a file for each of many workspaces.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from people import FORMS, three_of
from processes import Measured, reconciler
from stages import Row, Stage, Stand

# What stands behind the name of a row, by the form of its manifests.
SUFFIX = {"yaml": "", "roster": ", one roster", "fleet": ", many workspaces"}
APPLY_FIRST = "apply, everybody becomes ours"
PLAN_AFTER_APPLY = "plan, after an apply"
PLAN_NOTHING = "plan, nothing to do"
PLAN_THREE = "plan, three people edited"
APPLY_THREE = "apply, three people edited"
PLAN_AFTER_THREE = "plan, after that apply"
PLAN_SETTLED = "plan, 15 s after that apply"
STEPS = (
    APPLY_FIRST,
    PLAN_AFTER_APPLY,
    PLAN_NOTHING,
    PLAN_THREE,
    APPLY_THREE,
    PLAN_AFTER_THREE,
    PLAN_SETTLED,
)
# What was written within the settle window and two seconds is read again: it may be shown late (R7).
_SETTLED_S = 15

Beside = Mapping[str, Sequence[Row]]


def plan(stand: Stand, *options: str, environ: Mapping[str, str] | None = None) -> Measured:
    """Plan, for a program that reads it."""
    return reconciler(stand.folder, "plan", "--format", "json", *options, environ=environ)


def apply(stand: Stand) -> Measured:
    """Apply without a question."""
    return reconciler(stand.folder, "apply", "--yes", "--format", "json")


def edit(stand: Stand, numbers: Sequence[int], form: str) -> None:
    """Give these people another job in the manifests, beside those that were given one before."""
    stand.edited.update(numbers)
    FORMS[form](stand.folder / "manifests", stand.count, edited=stand.edited)


def walk(stand: Stand, form: str, rounds: int, beside: Beside) -> Iterator[Stage]:
    """Yield the steps, with the rows that are measured `beside` some of them; three others in each round."""
    suffix = SUFFIX[form]

    def stage(step: str, run: Row, runs: int = 1) -> Stage:
        return Stage((run._replace(name=f"{step}{suffix}"), *beside.get(step, ())), runs)

    planned = Row("", partial(plan, stand), needed=True, changes=0)
    yield stage(APPLY_FIRST, Row("", partial(apply, stand), needed=True, changes=0))
    # The records have changed: the first plan after it loads them. Every later one finds this plan again.
    yield stage(PLAN_AFTER_APPLY, planned)
    yield stage(PLAN_NOTHING, planned, rounds)
    for turn in range(rounds):
        editing = partial(edit, stand, three_of(stand.count, turn), form)
        yield stage(PLAN_THREE, planned._replace(before=editing, changes=3))
        yield stage(APPLY_THREE, Row("", partial(apply, stand), needed=True, changes=3))
        yield stage(PLAN_AFTER_THREE, planned)
        yield stage(PLAN_SETTLED, planned._replace(before=partial(time.sleep, _SETTLED_S)))
