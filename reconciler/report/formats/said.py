"""Sentences that every format says alike: the one that matters first, and those that hold no values.

A report goes to many readers, so what somebody else can write (a value, a mark) stands in no sentence here
unless values are wanted. Not here: how a format escapes what it shows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from reconciler.core.review import drifts
from reconciler.core.review.drifts import Drift
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.notices import Notice
from reconciler.model.plans import (
    SECRET_NEEDED,
    UNCERTAIN,
    Change,
    Create,
    Delete,
    Plan,
    Skip,
    SkipReason,
    Update,
)
from reconciler.model.runs import Outcome, Result, Run
from reconciler.model.snapshots import Read
from reconciler.report.lines import count
from reconciler.report.plan.review import Review
from reconciler.report.reads import as_far_as_read, limited

# What is said of these quotes a value: the mark of another owner, or what a manifest declares.
_MARKED: Mapping[SkipReason, str] = {"foreign mark": "carries the mark of another owner; left alone."}
_NOTICED = {
    "value": "a declared value looks wrong; reconciler validate shows it.",
    "duplicate": "may be live twice; left alone.",
}

# Worst first.
TROUBLE: tuple[Result, ...] = ("in doubt", "failed", "conflict", "skipped", "not attempted")


def headline(review: Review) -> str:
    """Return the sentence that matters first: what is lost, then what it costs, then all else."""
    if review.run is not None:
        return _of_run(review.run)
    if review.command == "drift":
        limits = "" if drifts.drifts(review.plan) else as_far_as_read(review.plan.reads)
        return " ".join(filter(None, [drifts.summarize_drift(review.plan), limits]))
    if not review.verdict.safe:
        return f"Refused, and nothing is carried out: {_joined(_parts(review.plan, 'would be'))}."
    if review.command == "resume":  # without a run nothing was compared either
        return "Nothing to resume: every run of this stack has finished."
    return _of_plan(review.plan)


def _of_plan(plan: Plan) -> str:
    ambiguous = sum(1 for skip in plan.skips if skip.reason in UNCERTAIN)
    said = [*_parts(plan, "will be"), *([f"{ambiguous:,} ambiguous and left alone"] if ambiguous else [])]
    waiting = sum(1 for skip in plan.skips if skip.reason in SECRET_NEEDED)
    said += [f"{waiting:,} {'waits' if waiting == 1 else 'wait'} for a secret"] if waiting else []
    if plan.to_keep:
        said.append(f"{count(plan.to_keep, 'record')} to keep")
    if said:
        return f"{_joined(said)}."
    return "Nothing to undo." if plan.options.undo_of else _all(_MATCHES, plan.reads)


def _parts(plan: Plan, verb: str) -> list[str]:
    deletes = [one for one in plan.changes if isinstance(one, Delete)]
    revived = [one for one in plan.changes if is_revived(one)]
    updates = [one for one in plan.changes if isinstance(one, Update) and not is_revived(one)]
    creates = [one for one in plan.changes if isinstance(one, Create)]
    parts = []
    if deletes:
        parts.append(f"{by_kind(deletes)} {verb} deleted{with_below(deletes)}")
    if revived:
        parts.append(f"{by_kind(revived)} {verb} reactivated, and charged again")
    parts += [f"{by_kind(updates)} {verb} updated"] if updates else []
    return [*parts, *([f"{by_kind(creates)} {verb} created"] if creates else [])]


def with_below(deletes: Iterable[Delete]) -> str:
    """Return `, with 2 devices`, for what goes with entities that are deleted; "" for nothing."""
    kinds = Counter[str]()
    for one in deletes:
        kinds[one.address.kind] += len(one.cascades)
    parts = [below(name, number) for name, number in sorted(kinds.items()) if number]
    return f", with {' and '.join(parts)}" if parts else ""


def is_revived(change: Change) -> bool:
    """Whether a change enables what the service disabled, so that it is charged again."""
    return isinstance(change, Update) and any(field.cause == "reactivated" for field in change.fields)


def by_kind(changes: Iterable[Change | Outcome | Drift]) -> str:
    """Return `3 contacts and 1 device`, in the order of the table of kinds."""
    kinds = Counter(change.address.kind for change in changes)
    parts = [count(kinds[name], name, kind.plural) for name, kind in KINDS.items() if kinds[name]]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(parts) or "it changes nothing"


_MATCHES = "Nothing to do: the service matches the manifests"


def _all(sentence: str, reads: Iterable[Read]) -> str:
    """Return a sentence about all that is live, and what of it was read."""
    told = tuple(reads)
    return " ".join(filter(None, [f"{limited(sentence, told)}.", as_far_as_read(told)]))


def _of_run(run: Run) -> str:
    trouble = [f"{run.count(result):,} {result}" for result in TROUBLE if run.count(result)]
    done = [one for one in run.outcomes if one.result == "applied"]
    for action in ("delete", "update", "create"):
        ended = [one for one in done if one.action == action]
        trouble += [f"{by_kind(ended)} {action}d"] if ended else []
    trouble += [f"{count(run.records, 'record')} kept"] if run.records else []
    said = "; ".join(trouble) or ("nothing had to be written" if run.outcome == "done" else "nothing written")
    head = "" if trouble and trouble[0].endswith(run.outcome) else f"{run.outcome.capitalize()}: "
    return f"{head}{said}."


def below(kind: str, number: int) -> str:
    """Return `2 devices`, for so many entities that belong to one of this kind."""
    found = child_kinds(kind)
    return count(number, found[0].name, found[0].plural) if len(found) == 1 else f"{number:,} below it"


def skip_said(skip: Skip, *, values: bool) -> str:
    """Return why something is left alone; without values where the sentence would quote one."""
    return skip.what if values else _MARKED.get(skip.reason, skip.what)


def notice_said(notice: Notice, *, values: bool) -> tuple[str, str]:
    """Return what a person should know and what to do; without values where either would quote one."""
    if values or notice.kind not in _NOTICED:
        return notice.what, notice.next
    return _NOTICED[notice.kind], ""


def drift_said(drift: Drift, *, values: bool) -> str:
    """Return the sentence about a drift, without values where it would quote one."""
    return drift.what if values or drift.cause != "duplicate" else _NOTICED["duplicate"]
