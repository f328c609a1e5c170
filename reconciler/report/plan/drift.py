"""Drift: what changed live against what we last applied, apart from what git wants.

Belongs here: how it is shown. Not here: which parts of a plan are drift (core/review/drifts.py), nor what
would repair it, which is the plan itself.
"""

from collections.abc import Iterable

from msgspec import structs

from reconciler.core.review.drifts import Drift, drifts, summarize_drift
from reconciler.core.review.whom import Whom, nobody
from reconciler.model.notices import Notice
from reconciler.model.plans import Plan
from reconciler.report.inert import inert
from reconciler.report.lines import (
    BLANK,
    Line,
    Style,
    cut,
    fold,
    line,
    notice_lines,
    outside_lines,
    pad,
    sentence,
    width,
)
from reconciler.report.plan.fields import ShownField, columns, row_lines, rows
from reconciler.report.reads import as_far_as_read
from reconciler.report.values import Shown

_address_max = 64  # columns
_who_max = 60  # columns of a name and an identity
_TOLD_AS_DRIFT = frozenset({"duplicate", "ambiguous"})  # kinds of notices, and causes of drift


def called(whom: Whom, *, full: bool) -> Whom:
    """Return what says the same in a line: nothing of it acts, and without `full` a long one is cut."""
    return lambda address: inert(whom(address)) if full else cut(inert(whom(address)), _who_max)


def drift_lines(plan: Plan, *, full: bool = False, whom: Whom = nobody) -> tuple[Line, ...]:
    """Return what others changed, as lines: what we left, then what is live now; `whom` says of whom."""
    found = drifts(plan)
    told = [*notice_lines(_besides(plan, found), full=full), *outside_lines(plan.outside)]
    others_told = [BLANK, *told] if told else []
    style: Style = "warn" if plan.unapplied else "bold"
    if not found:
        limits = as_far_as_read(plan.reads)
        more = [line((limits, "dim"))] if limits else []
        return line((summarize_drift(plan), style)), *more, *others_told
    listed, rest = fold(found, full=full)
    tables = [_rows(drift, full=full) for drift in listed]
    shared = columns([row for table in tables for row in table], full=full)
    at = min(max(width(drift.address) for drift in listed), _address_max)
    who = called(whom, full=full)
    lines: list[Line] = [
        line((summarize_drift(plan).removesuffix("."), style), "   applied → live now"),
        BLANK,
    ]
    for drift, table in zip(listed, tables, strict=True):
        about = ", ".join(filter(None, [who(drift.address), drift.cause]))
        lines.append(line(("! ", "warn"), (pad(drift.address, at), "warn"), "   ", (about, "dim")))
        lines += [line("    ", drift.what)] if drift.what else []
        lines += [each for row in table for each in row_lines(row, shared)]
    repair = "reconciler plan   (shows what would be written; a manifest edit keeps what is live)"
    return *lines, *rest, *others_told, BLANK, *sentence("", "Nothing was written.", repair)


def _besides(plan: Plan, found: Iterable[Drift]) -> list[Notice]:
    """Return the notices of a plan that say more than its drift does."""
    told = {str(drift.address) for drift in found if drift.cause in _TOLD_AS_DRIFT}
    return [one for one in plan.notices if one.kind not in _TOLD_AS_DRIFT or one.subject not in told]


def _rows(drift: Drift, *, full: bool) -> list[ShownField]:
    table = rows(drift.address.kind, drift.fields, full=full)
    if drift.cause != "both":
        return table
    return [structs.replace(row, before=Shown("(not known)", placeholder=True)) for row in table]
