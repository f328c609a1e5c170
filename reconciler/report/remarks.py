"""What of a review needs attention, the worst first: for the formats that list remarks.

JUnit, SARIF and annotations of GitHub show the same remarks, each in its own form.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from reconciler.core.review import saved_plans
from reconciler.core.review.drift import Drift, find_drift
from reconciler.core.review.guard import list_agreements
from reconciler.errors import Problem
from reconciler.model.address import Address
from reconciler.model.documents import Place, is_directory_row
from reconciler.model.encoding import encode_json
from reconciler.model.notices import Notice
from reconciler.model.plans import UNCERTAIN, Delete, Plan
from reconciler.model.runs import Result, Run
from reconciler.report.phrases import (
    AGREED_TITLE,
    count_children,
    describe_agreement,
    explain_delete,
    explain_drift,
    explain_notice,
    explain_skip,
    is_reactivation,
    name_left_out,
)
from reconciler.report.review_builder import list_review_notices, split_place
from reconciler.report.review_document import Review

Level = Literal["error", "warning", "note"]

# Every rule: how grave it is, and what it is about. A remark names one of them.
RULES: Mapping[str, tuple[Level, str]] = {
    "mistake": ("error", "A mistake in a manifest or in the settings."),
    "refused": ("error", "The guard refuses the plan."),
    "stale": ("error", "The plan is out of date; nothing of it is carried out."),
    "in-doubt": ("error", "A write was sent, and its result is unknown."),
    "failed": ("error", "A change was not made, or not as it was sent."),
    "conflict": ("error", "A live entity has changed since the plan; nothing was written."),
    "stopped": ("error", "The run ended early."),
    "not-planned": ("error", "A workspace is left out: nothing of it was compared or written."),
    "not-compared": ("error", "A workspace has no records, so drift compared nothing there."),
    "ambiguous": ("error", "It is not certain which live entity is meant; none is changed."),
    "agreed": ("warning", "Consent was given for this."),
    "delete": ("warning", "An entity is deleted."),
    "reactivate": ("warning", "An entity that the service disabled is enabled again, and charged."),
    "drift": ("warning", "The service was changed by others since the last apply."),
    "left-alone": ("warning", "An entity is left alone."),
    "skipped": ("warning", "A change of the plan was not made."),
    "not-attempted": ("warning", "A change of the plan was not made, because the run ended before it."),
    "notice": ("warning", "For information; no action is taken."),
}

_RESULTS: Mapping[Result, str] = {
    "in doubt": "in-doubt",
    "failed": "failed",
    "conflict": "conflict",
    "skipped": "skipped",
    "not attempted": "not-attempted",
}

# Rules about a change of the plan; all others are about something else.
OF_CHANGES = frozenset({"delete", "reactivate", *_RESULTS.values()})


class Remark(Struct, frozen=True):
    """One thing to look at, with its place.

    `subject` is an address, or what else it is about; `what` is a sentence about it. `file` may be empty;
    `line` and `column` count from 1, and 0 means that it is not known. `code` is that of a mistake, or "".
    """

    rule: str
    subject: str
    what: str
    next: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    code: str = ""

    @property
    def level(self) -> Level:
        """How grave it is."""
        return RULES[self.rule][0]

    @property
    def said(self) -> str:
        """The subject, the sentence, and what to do."""
        what = self.what or RULES[self.rule][1]  # no reader takes a message without text
        about = f"{self.subject}: {what}" if self.subject else what
        return f"{about}  next: {self.next}" if self.next else about

    @property
    def digest(self) -> str:
        """The same for the same remark of two runs, whatever its line."""
        return hashlib.sha256(encode_json((self.rule, self.subject, self.file, self.what))).hexdigest()


def list_remarks(review: Review) -> tuple[Remark, ...]:
    """Return everything that needs attention, the worst first; ties in the order of the review."""
    drifts = find_drift(review.plan) if review.command == "drift" else ()
    if review.run is not None:
        found = _list_run_remarks(review.run, _map_places(review.plan))
    elif review.command == "drift":
        found = _list_drift_remarks(review, drifts)
    else:
        found = _list_plan_remarks(review)
    agreed = (
        Remark("agreed", "", f"{AGREED_TITLE}: {describe_agreement(one)}.")
        for one in list_agreements(review.plan)
    )
    notices = list_review_notices(review, drifts)
    missing = (
        Remark("not-planned", name_left_out(one), f"{one.what} [{one.code}]", one.next)
        for one in review.plan.left_out
    )
    return sort_remarks(
        [*agreed, *missing, *found, *_list_notice_remarks(notices, values=review.show_values)]
    )


def list_check_remarks(problems: Sequence[Problem], notices: Sequence[Notice]) -> tuple[Remark, ...]:
    """Return the mistakes and warnings of manifests: values included, for they stand in the same files."""
    mistakes = [
        Remark(
            "mistake",
            "",
            one.what,
            one.next,
            one.file,
            one.line,
            one.column,
            one.code,
        )
        for one in problems
    ]
    return sort_remarks([*mistakes, *_list_notice_remarks(notices, values=True)])


def sort_remarks(found: Iterable[Remark]) -> tuple[Remark, ...]:
    """Return remarks in the order of the rules."""
    places = {rule: position for position, rule in enumerate(RULES)}
    return tuple(sorted(map(_drop_unopenable_file, found), key=lambda one: places[one.rule]))


def _drop_unopenable_file(found: Remark) -> Remark:
    """Return a remark without its file if that cannot be opened: a row of a directory becomes its subject."""
    if not is_directory_row(found.file):
        return found
    subject = found.subject or str(Place(found.file, found.line))
    return structs.replace(found, subject=subject, file="", line=0, column=0)


def _list_plan_remarks(review: Review) -> Iterator[Remark]:
    plan, values = review.plan, review.show_values
    places = _map_places(plan)
    for reason in review.verdict.reasons:
        rule = "stale" if reason.rule == saved_plans.RULE else "refused"
        yield Remark(rule, "", reason.what, reason.next)
    moves = {one.before: one for one in plan.moves or ()}
    for change in plan.changes:
        if isinstance(change, Delete):
            why = explain_delete(change, moves.get(change.address))
            below = count_children(change.address.kind, len(change.cascades)) if change.cascades else ""
            what = f"{why}; deleted, with {below}." if below else f"{why}; deleted."
            yield Remark("delete", change.address, what)
        elif is_reactivation(change):
            what = "is enabled again, and its pushes are charged."
            yield Remark("reactivate", change.address, what, "", *split_place(change.place))
    for skip in plan.skips:
        rule = "ambiguous" if skip.reason in UNCERTAIN else "left-alone"
        what = explain_skip(skip, values=values)
        yield Remark(rule, skip.address, what, skip.next, *split_place(places.get(skip.address, "")))


def _list_run_remarks(run: Run, places: Mapping[Address, str]) -> Iterator[Remark]:
    for one in run.outcomes:
        if one.result in _RESULTS:
            what = f"{one.action}, {one.result}" + (f": {one.what}" if one.what else ".")
            yield Remark(
                _RESULTS[one.result], one.address, what, one.next, *split_place(places.get(one.address, ""))
            )
    if run.stopped:
        yield Remark("stopped", "", run.stopped)


def _list_drift_remarks(review: Review, drifts: Sequence[Drift]) -> Iterator[Remark]:
    places = _map_places(review.plan)
    for one in drifts:
        fields = ", ".join(field.path for field in one.fields)
        said = [explain_drift(one, values=review.show_values), f"changed: {fields}" if fields else ""]
        what = "; ".join(filter(None, [one.cause, *said]))
        yield Remark("drift", one.address, what, "", *split_place(places.get(one.address, "")))


def _list_notice_remarks(notices: Sequence[Notice], *, values: bool) -> Iterator[Remark]:
    for one in notices:
        what, step = explain_notice(one, values=values)
        rule = "not-compared" if one.kind == "unapplied" else "notice"
        yield Remark(rule, one.subject, what, step, *split_place(one.place))


def _map_places(plan: Plan) -> Mapping[Address, str]:
    return {one.address: one.place for one in plan.changes if not isinstance(one, Delete)}
