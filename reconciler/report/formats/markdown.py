"""The report as Markdown: a comment on a pull request, or the summary of a CI job.

Deletes stand first, and nothing pushes them out. How text becomes Markdown that does not act, and where it is
cut, is said in commonmark.py.
"""

from collections.abc import Iterator, Sequence

from reconciler.core.review.consents import list_agreements
from reconciler.core.review.drifts import Drift, drifts
from reconciler.model.notices import Notice
from reconciler.model.plans import UNCERTAIN, Create, Delete, FieldChange, Skip, Update
from reconciler.model.runs import FieldResult, Outcome, Run
from reconciler.report.answers import answer_words
from reconciler.report.consents import TITLE, agreement_words
from reconciler.report.formats.commonmark import Section, code, fitted, names, prose, rows, some, text_max
from reconciler.report.formats.said import (
    TROUBLE,
    below,
    drift_said,
    headline,
    notice_said,
    skip_said,
)
from reconciler.report.plan.review import Review
from reconciler.report.plan.text import bookkeeping, origin
from reconciler.report.reads import read_words
from reconciler.report.values import pair, short_fingerprint, shown

markdown_max = 60_000  # characters; GitHub takes 65,536 in a comment, and a template adds some

_deletes_max = 40_000  # characters: what went wrong or is refused has to fit beside any number of deletes


def markdown(review: Review) -> str:
    """Return the report, at most 60,000 characters; where it is cut, that is said. Names, and no values.

    With `show_values` values too, each of them cut where it is long.
    """
    head, foot = _head(review), _foot(review)
    return head + fitted([*_sections(review)], markdown_max - len(head) - len(foot)) + foot


def _head(review: Review) -> str:
    target = review.plan.target
    where = f"{code(target.stack)} → {code(target.origin)}"
    undo = f"Undoes run {code(review.plan.options.undo_of)}.\n\n" if review.plan.options.undo_of else ""
    chosen = [f"--only {text}" for text in review.plan.options.only]
    chosen += [f"--except {text}" for text in review.plan.options.excluded]
    selected = f"Selected by {names(chosen)}.\n\n" if chosen else ""
    answers = "".join(f"{prose(answer_words(one).capitalize())}.\n\n" for one in review.plan.answers)
    agreed = "".join(f"- {prose(agreement_words(one))}\n" for one in list_agreements(review.plan))
    agreed = f"**{TITLE}:**\n\n{agreed}\n" if agreed else ""
    title = f"## {review.command}: {where}"
    return f"{title}\n\n{agreed}**{prose(headline(review))}**\n\n{undo}{selected}{answers}"


def _foot(review: Review) -> str:
    plan, run = review.plan, review.run
    parts = [f"Fingerprint {code(short_fingerprint(plan.fingerprint))}."] if plan.fingerprint else []
    if run is not None:
        parts.append(f"Run {code(run.run)}.")
    elif review.next_step and review.verdict.safe and not plan.empty:
        parts.append(f"Next: {code(review.next_step, limit=text_max)}")
    return " ".join(parts) + "\n" if parts else ""


def _sections(review: Review) -> Iterator[Section]:
    if review.command == "drift":
        found = drifts(review.plan)
        yield Section("Drift", len(found), (_drift(review, one) for one in found))
    elif review.run is not None:
        yield from _run(review, review.run)
    else:
        yield from _plan(review)
    notices = review.plan.notices
    yield Section("Notices", len(notices), (_notice(review, one) for one in notices))


def _plan(review: Review) -> Iterator[Section]:
    plan, reasons = review.plan, review.verdict.reasons
    deletes = [one for one in plan.changes if isinstance(one, Delete)]
    yield Section(
        "Deletes",
        len(deletes),
        (_delete(review, one) for one in deletes),
        (f"- {code(one.address)}\n" for one in deletes),
        _deletes_max,
    )
    refused = (f"- refused: {prose(one.what)}\n{_next(one.next)}" for one in reasons)
    yield Section("Refused", len(reasons), refused)
    ambiguous = [skip for skip in plan.skips if skip.reason in UNCERTAIN]
    yield Section("Ambiguous", len(ambiguous), (_skip(review, one) for one in ambiguous))
    updates = [one for one in plan.changes if isinstance(one, Update)]
    yield Section("Updates", len(updates), (_update(review, one) for one in updates))
    creates = [one for one in plan.changes if isinstance(one, Create)]
    yield Section("Creates", len(creates), (_create(review, one) for one in creates))
    yield from _beside(review)


def _beside(review: Review) -> Iterator[Section]:
    """What no change expresses."""
    plan, records = review.plan, bookkeeping(review.plan)
    yield Section(
        "Only recorded", len(records), (f"- {code(address)}: {prose(what)}\n" for address, what in records)
    )
    others = [skip for skip in plan.skips if skip.reason not in UNCERTAIN]
    yield Section("Left alone", len(others), (_skip(review, one) for one in others))
    about = [
        f"- {code(str(read.scope))} was not read completely\n" for read in plan.reads if not read.complete
    ]
    about += [
        f"- {code(scope)}: {number:,} recorded, and no manifest declares them; left unchanged\n"
        for scope, number in plan.outside.items()
    ]
    yield Section("Not compared", len(about), about)
    told = [
        f"- {code(str(read.scope))}: {read_words(read, plan.created_at)}\n"
        for read in plan.reads
        if read.completed or read.why
    ]
    yield Section("Read by what changed", len(told), told)


def _run(review: Review, run: Run) -> Iterator[Section]:
    deletes = [one for one in run.outcomes if one.action == "delete"]
    yield Section(
        "Deletes",
        len(deletes),
        (_outcome(review, one) for one in deletes),
        (f"- {code(one.address)}: {one.result}\n" for one in deletes),
        _deletes_max,
    )
    if run.stopped:
        yield Section("Stopped", 1, [f"- stopped: {prose(run.stopped)}\n"])
    for result in (*TROUBLE, "applied"):
        alike = [one for one in run.outcomes if one.result == result and one.action != "delete"]
        yield Section(result.capitalize(), len(alike), [_outcome(review, one) for one in alike])


def _delete(review: Review, change: Delete) -> str:
    why = f"duplicate of {code(change.address.base)}" if change.cause == "duplicate" else prose(change.cause)
    moves = {one.before: one.after for one in review.plan.moves or ()}
    why = f"moves to {code(moves[change.address])}" if change.address in moves else why
    about = [why, *([f"{code(change.keeps)} stays"] if change.keeps else [])]
    about += [prose(origin(change))] if change.adopted else []
    text = f"- {code(change.address)}: {'; '.join(about)}\n"
    if change.cascades:
        # By device name, where it is not recorded: that is a value.
        those = f": {names(change.cascades)}" if review.show_values else ""
        text += f"  - with {below(change.address.kind, len(change.cascades))}{those}\n"
    if review.show_values:
        kind, before = change.address.kind, sorted(change.before.items())
        return text + rows(((path, shown(kind, path, value).text) for path, value in before), len(before))
    return text + (f"  - lost: {names(sorted(change.before))}\n" if change.before else "")


def _update(review: Review, change: Update) -> str:
    adopted = f", adopted by {code(change.adopts)}" if change.adopts else ""
    fields = _fields(review, change.address.kind, change.fields)
    return f"- {code(change.address)}{_at(change.place)}{adopted}\n{fields}{_sent(review, change)}"


def _fields(review: Review, kind: str, fields: Sequence[FieldChange]) -> str:
    if review.show_values:
        pairs = ((one, *pair(kind, one)) for one in fields)
        values = ((one.path, before.text, after.text, one.cause) for one, before, after in pairs)
        return rows(values, len(fields))
    return "".join(
        f"  - {cause}: {names([one.path for one in fields if one.cause == cause])}\n"
        for cause in dict.fromkeys(one.cause for one in fields)
    )


def _create(review: Review, change: Create) -> str:
    why = "" if change.cause == "declared" else f": {prose(change.cause)}"
    moves = {one.after: one.before for one in review.plan.moves or ()}
    why = f": moves from {code(moves[change.address])}" if change.address in moves else why
    text = f"- {code(change.address)}{_at(change.place)}{why}\n"
    kind, fields = change.address.kind, sorted(change.fields.items())
    if review.show_values:
        text += rows(((path, shown(kind, path, value).text) for path, value in fields), len(fields))
    elif fields:
        text += f"  - {names([path for path, _ in fields])}\n"
    return text + _sent(review, change)


def _sent(review: Review, change: Create | Update) -> str:
    file = review.plan.contents.get(change.address)
    return f"  - its content is sent from {code(file)}\n" if file else ""


def _outcome(review: Review, outcome: Outcome) -> str:
    ended = outcome.action if outcome.result == "applied" else f"{outcome.action}, {outcome.result}"
    text = f"- {code(outcome.address)}: {prose(ended)}\n"
    text += f"  - why: {prose(outcome.what)}\n" if outcome.what else ""
    if outcome.fields:
        those = (_field_result(review, outcome.address.kind, one) for one in outcome.fields)
        text += f"  - not as sent: {some(those, len(outcome.fields))}\n"
    return text + _next(outcome.next)


def _field_result(review: Review, kind: str, field: FieldResult) -> str:
    if not review.show_values:
        return code(field.path)
    sent, now = (
        "nothing" if one is None else code(shown(kind, field.path, one).text)
        for one in (field.sent, field.shown)
    )
    return f"{code(field.path)} (sent {sent}, shown {now})"


def _drift(review: Review, drift: Drift) -> str:
    said = prose(drift_said(drift, values=review.show_values))
    fields = _fields(review, drift.address.kind, drift.fields)
    return f"- {code(drift.address)}: {prose(drift.cause)}{f'; {said}' if said else ''}\n{fields}"


def _skip(review: Review, skip: Skip) -> str:
    said = prose(skip_said(skip, values=review.show_values))
    return f"- {code(skip.address)}: {prose(skip.reason)}; {said}\n{_next(skip.next)}"


def _notice(review: Review, notice: Notice) -> str:
    what, step = notice_said(notice, values=review.show_values)
    return f"- {code(notice.subject)}{_at(notice.place)}: {prose(what)}\n{_next(step)}"


def _at(place: str) -> str:
    return f" at {code(place)}" if place else ""


def _next(step: str) -> str:
    return f"  - next: {prose(step)}\n" if step else ""
