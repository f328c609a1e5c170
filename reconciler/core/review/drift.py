"""Drift: what of a plan somebody else caused at the service, apart from what git wants.

Why a field is "drifted" is decided by the comparison (core/compare/diff.py, rule D2).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct, structs

from reconciler.core.feed import read_limit
from reconciler.core.planning.unplanned import not_planned_exit_code
from reconciler.model.address import Address, parse_address
from reconciler.model.notices import Notice
from reconciler.model.plans import UNCERTAIN, Change, Create, Delete, FieldChange, Plan, Update

DriftCause = Literal["drifted", "both", "gone", "taken over", "duplicate", "ambiguous"]


class Drift(Struct, frozen=True):
    """One entity that others changed.

    `fields` read as time does: before is what we left, after is what is live now. For the cause
    *both* what we left is not in the plan, and before is None. `what` is a sentence where there are
    no fields to show.
    """

    address: Address
    cause: DriftCause
    fields: tuple[FieldChange, ...] = ()
    what: str = ""


def find_drift(plan: Plan) -> tuple[Drift, ...]:
    """Return everything in the plan that somebody else caused, by address. Empty: no drift."""
    # A duplicate may be both a change of the plan and a notice: it is reported once.
    found: dict[tuple[Address, DriftCause], Drift] = {}
    for drift in _each_drift(plan):
        found.setdefault((drift.address, drift.cause), drift)
    return tuple(sorted(found.values(), key=lambda drift: (drift.address, drift.cause)))


_TOLD_AS_DRIFT = frozenset({"duplicate", "ambiguous"})  # kinds of notices, and causes of drift


def list_notices_beside_drift(plan: Plan, found: Iterable[Drift]) -> tuple[Notice, ...]:
    """Return the notices of a plan that say more than its drift does, in their order."""
    told = {str(drift.address) for drift in found if drift.cause in _TOLD_AS_DRIFT}
    return tuple(one for one in plan.notices if one.kind not in _TOLD_AS_DRIFT or one.subject not in told)


def drift_exit_code(plan: Plan) -> int:
    """Return 1 where a workspace has nothing to compare with, 2 for drift, else 0.

    Before all that 1 or 3 where a workspace is left out.
    """
    if code := not_planned_exit_code(plan.left_out):
        return code
    if plan.unapplied:
        return 1
    return 2 if find_drift(plan) else 0


def count_not_applied(plan: Plan) -> int:
    """Return how many declared entities have no record: they were declared since the last apply."""
    made = sum(1 for one in plan.changes if isinstance(one, Create) and one.cause == "declared")
    adopted = sum(1 for one in plan.changes if isinstance(one, Update) and one.adopts)
    return made + adopted + len(plan.adoptions)


def summarize_drift(plan: Plan) -> str:
    """Return the sentence that matters first: what was not compared, changed by others, not applied."""
    entities = len({drift.address for drift in find_drift(plan)})
    parts = []
    if plan.unapplied:
        where = ", ".join(plan.unapplied)
        parts.append(
            f"Nothing was compared in {where}: no record and no finished apply is known in this store."
        )
    if entities:
        changed = "1 entity" if entities == 1 else f"{entities:,} entities"
        parts.append(f"{changed} changed since the last apply.")
    elif not plan.unapplied:
        # A list that was followed hides an edit that moves no time of change, until the next complete read.
        limit = ", as far as was read" if read_limit(plan.reads) else ""
        where = "everything in the other workspaces" if plan.left_out else "everything"
        parts.append(f"No drift: {where} is as the last apply left it{limit}.")
    if number := count_not_applied(plan):
        parts.append(f"{number:,} not yet applied.")
    return " ".join(parts)


def add_missing_baseline(plan: Plan) -> Plan:
    """Return the plan with a notice for each workspace that has nothing to compare with; for `drift` alone.

    A first plan or apply says nothing of it.
    """
    found = tuple(_unapplied_notice(alias) for alias in plan.unapplied or ())
    return structs.replace(plan, notices=(*found, *plan.notices)) if found else plan


def _unapplied_notice(alias: str) -> Notice:
    what = "nothing is recorded there and no finished apply is known in this store, so nothing was compared."
    step = (
        "check which store was used (reconciler config) and restore it, or reconciler plan and apply: that "
        "recognizes and records what is live"
    )
    return Notice("unapplied", alias, what, step)


def _each_drift(plan: Plan) -> Iterator[Drift]:
    for change in plan.changes:
        yield from _drift_of_change(change)
    for notice in plan.notices:
        if notice.kind == "duplicate" and (address := parse_address(notice.subject)):
            yield Drift(address, "duplicate", what=f"{notice.what}  next: {notice.next}")
    for address in plan.gone:
        yield Drift(address, "gone", what="no longer exists, and is no longer declared")
    for skip in plan.skips:
        if skip.reason == "taken over":
            yield Drift(skip.address, skip.reason, what=skip.what)
        if skip.reason == "gone without its secret":
            yield Drift(skip.address, "gone", what="it was recorded, and no longer exists")
        if skip.reason in UNCERTAIN:
            yield Drift(skip.address, "ambiguous", what=skip.what)


def _drift_of_change(change: Change) -> Iterator[Drift]:
    if isinstance(change, Create) and change.cause == "gone":
        yield Drift(change.address, "gone", what="it was recorded, and no longer exists")
    if isinstance(change, Update):
        yield from _drift_of_fields(change)
    if isinstance(change, Delete) and change.cause == "duplicate":
        what = f"{change.remote_id} is live beside {change.keeps}; we created it, and an apply deletes it"
        yield Drift(change.address, "duplicate", what=what)


# What is said beside the fields. What we left stands in the plan only where the manifest still says it.
_SAID: Mapping[Literal["drifted", "both"], str] = {
    "drifted": "",
    "both": "the manifest changed too; the value of the last apply is not known here",
}


def _drift_of_fields(change: Update) -> Iterator[Drift]:
    for cause, said in _SAID.items():
        fields = tuple(
            FieldChange(one.path, one.after if cause == "drifted" else None, one.before, cause)
            for one in change.fields
            if one.cause == cause
        )
        if fields:
            yield Drift(change.address, cause, fields, said)
