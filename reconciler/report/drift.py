"""Drift: what changed live against what we last applied, apart from what git wants.

Belongs here: which parts of a plan are drift, and how they are shown. Not here: finding it out, which
planning did (docs/planning.md, D2), nor what would repair it, which is the plan itself.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct, structs

from reconciler.model.address import Address, parse
from reconciler.model.changes import Create, Delete, FieldChange, Update
from reconciler.model.plans import Plan
from reconciler.report.fields import ShownField, columns, row_lines, rows
from reconciler.report.lines import (
    BLANK,
    Line,
    count,
    fold,
    line,
    notice_lines,
    outside_lines,
    pad,
    sentence,
    width,
)
from reconciler.report.values import Shown

DriftCause = Literal["drifted", "both", "gone", "taken over", "duplicate", "ambiguous"]

_address_max = 64  # columns


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


def drifts(plan: Plan) -> tuple[Drift, ...]:
    """Return everything in the plan that somebody else caused, by address. Empty: no drift."""
    # A duplicate may be both a change of the plan and a notice: it is one thing, and told once.
    found: dict[tuple[Address, DriftCause], Drift] = {}
    for drift in _drifts(plan):
        found.setdefault((drift.address, drift.cause), drift)
    return tuple(sorted(found.values(), key=lambda drift: (drift.address, drift.cause)))


def _drifts(plan: Plan) -> Iterator[Drift]:
    for change in plan.changes:
        if isinstance(change, Create) and change.cause == "gone":
            yield Drift(change.address, "gone", what="it was recorded, and no longer exists")
        if isinstance(change, Update):
            yield from _fields(change)
        if isinstance(change, Delete) and change.cause == "duplicate":
            what = f"{change.remote_id} is live beside {change.keeps}; made by us, and deleted by an apply"
            yield Drift(change.address, "duplicate", what=what)
    for notice in plan.notices:
        if notice.kind == "duplicate" and (address := parse(notice.subject)):
            yield Drift(address, "duplicate", what=f"{notice.what}  next: {notice.next}")
    for address in plan.gone:
        yield Drift(address, "gone", what="no longer exists, and is no longer declared")
    for skip in plan.skips:
        if skip.reason in {"taken over", "ambiguous"}:
            yield Drift(skip.address, skip.reason, what=skip.what)


# What is said beside the fields. What we left stands in the plan only where the manifest still says it.
_SAID: Mapping[Literal["drifted", "both"], str] = {
    "drifted": "",
    "both": "the manifest changed too; the value of the last apply is not known here",
}


def _fields(change: Update) -> Iterator[Drift]:
    for cause, said in _SAID.items():
        fields = tuple(
            FieldChange(one.path, one.after if cause == "drifted" else None, one.before, cause)
            for one in change.fields
            if one.cause == cause
        )
        if fields:
            yield Drift(change.address, cause, fields, said)


def drift_lines(plan: Plan, *, full: bool = False) -> tuple[Line, ...]:
    """Return what others changed, as lines: what we left, then what is live now."""
    found = drifts(plan)
    told_above = {str(drift.address) for drift in found if drift.cause in {"duplicate", "ambiguous"}}
    others = [
        one
        for one in plan.notices
        if one.kind not in {"duplicate", "ambiguous"} or one.subject not in told_above
    ]
    told = [*notice_lines(others, full=full), *outside_lines(plan.outside)]
    if not found:
        return (
            line(("No drift: everything is as the last apply left it.", "bold")),
            *([BLANK, *told] if told else []),
        )
    listed, rest = fold(found, full=full)
    tables = [_rows(drift, full=full) for drift in listed]
    shared = columns([row for table in tables for row in table], full=full)
    at = min(max(width(drift.address) for drift in listed), _address_max)
    lines: list[Line] = [_counts(found), BLANK]
    for drift, table in zip(listed, tables, strict=True):
        lines.append(line(("! ", "warn"), (pad(drift.address, at), "warn"), "   ", (drift.cause, "dim")))
        lines += [line("    ", drift.what)] if drift.what else []
        lines += [each for row in table for each in row_lines(row, shared)]
    repair = "reconciler plan   (shows what would be written; a manifest edit keeps what is live)"
    about = [BLANK, *told] if told else []
    return *lines, *rest, *about, BLANK, *sentence("", "Nothing was written.", repair)


def _rows(drift: Drift, *, full: bool) -> list[ShownField]:
    table = rows(drift.address.kind, drift.fields, full=full)
    if drift.cause != "both":
        return table
    return [structs.replace(row, before=Shown("(not known)", placeholder=True)) for row in table]


def _counts(found: tuple[Drift, ...]) -> Line:
    entities = len({drift.address for drift in found})
    return line(
        (count(entities, "entity", "entities") + " changed since the last apply", "bold"),
        "   applied → live now",
    )
