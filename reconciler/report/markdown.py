"""The report as Markdown: a comment on a pull request, or the summary of a CI job.

CommonMark in which nothing from outside acts, cut at an item where it gets too long. What came from outside
stands in code spans, where no service looks for mentions, links, emoji or commands; only plain words of
sentences do not. So nothing has to be escaped by rules that differ between GitHub, GitLab and others.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from reconciler.core.review.drift import Drift, find_drift
from reconciler.core.review.guard import list_agreements
from reconciler.model.notices import Notice
from reconciler.model.plans import UNCERTAIN, Create, Delete, FieldChange, Skip, Update
from reconciler.model.runs import FieldResult, Outcome, Run
from reconciler.report.escaping import escape_ci_commands, escape_control
from reconciler.report.lines import count
from reconciler.report.phrases import (
    AGREED_TITLE,
    TROUBLE,
    agreement_words,
    answer_words,
    below,
    drift_said,
    notice_said,
    read_words,
    review_headline,
    skip_said,
)
from reconciler.report.review_document import Review
from reconciler.report.text import bookkeeping, origin
from reconciler.report.values import pair, short_fingerprint, shown

name_max = 200  # characters of an address, a path or a place
text_max = 500  # characters of one sentence
_value_max = 100  # characters of one value; the JSON report has all of it
_fields_max = 40  # fields of one change

_frame_max = 150  # characters of a title with the line that says what was cut

# A word that no dialect of Markdown acts on. Anything else stands in a code span.
_PLAIN = re.compile(r"\(?(?:[A-Za-z]+[0-9]*(?:['-][A-Za-z]+)*|[0-9][0-9,.]*)\)?[.,;:!?]*")
_SENTENCE_WORDS = re.compile(r"`[^`]+`\S*|\S+")
_QUOTED = re.compile(r"`([^`]+)`([.,;:!?)]*)")  # our own sentences quote so
_AROUND = re.compile(r"^(\(?)(.+?)([.,;:!?)]*)$", re.DOTALL)  # a word, and what of the sentence touches it
_COMMIT = re.compile(r"[0-9a-fA-F]{7,}[.,;:!?]*")  # services make a link of what could be a commit


class Section(Struct, frozen=True):
    """A title, and an item for each of `number` things; they are written as far as they are needed.

    `short` are the same items in as few words as they can be, for where they do not all fit. All of them
    together have at most `most` characters.
    """

    title: str
    number: int
    items: Iterable[str]
    short: Iterable[str] = ()
    most: int = 0


def code(text: str, *, limit: int = name_max) -> str:
    """Return any text as a code span in which nothing acts, fenced by more backticks than it has in a row."""
    text = escape_ci_commands(escape_control(text, limit=limit)) or "(empty)"
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1) if "`" in text else "`"
    # A parser takes one space off both ends, unless there is nothing else.
    room = " " if text.strip(" ") and (text[0] in " `" or text[-1] in " `") else ""
    return f"{fence}{room}{text}{room}{fence}"


def prose(text: str) -> str:
    """Return a sentence in which every word that could act stands in a code span."""
    return " ".join(_word(word) for word in _SENTENCE_WORDS.findall(escape_control(text, limit=text_max)))


def _word(word: str) -> str:
    if _PLAIN.fullmatch(word) and not _COMMIT.fullmatch(word):
        return word
    quoted = _QUOTED.fullmatch(word)
    if quoted:
        return code(quoted[1]) + quoted[2]
    before, bare, after = _AROUND.findall(word)[0]
    return f"{before}{code(bare)}{after}"


def some(texts: Iterable[str], number: int) -> str:
    """Return the first of so many texts with commas between, and how many more there are."""
    more = number - _fields_max
    return ", ".join(islice(texts, _fields_max)) + (f" and {more:,} more" if more > 0 else "")


def names(texts: Sequence[str]) -> str:
    """Return names as code spans: the first ones, and how many more there are."""
    return some(map(code, texts), len(texts))


def rows(values: Iterable[tuple[str, ...]], number: int) -> str:
    """Return `path: value`, or `path: before → after, cause`, an item each, and how many more there are."""
    lines = []
    for path, *ends in islice(values, _fields_max):
        said = " → ".join(code(value, limit=_value_max) for value in ends[:2])
        lines.append(f"  - {code(path)}: {said}{f', {ends[2]}' if ends[2:] else ''}\n")
    more = number - _fields_max
    return "".join(lines) + (f"  - and {count(more, 'more field')}\n" if more > 0 else "")


def fitted(sections: Sequence[Section], budget: int) -> str:
    """Return the sections in at most `budget` characters, each of them named whatever is before it."""
    there = [section for section in sections if section.number]
    written = []
    for position, section in enumerate(there):
        kept_free = _frame_max * (len(there) - position)
        text = _section(section, min(section.most or budget, budget - kept_free))
        budget -= len(text)
        written.append(text)
    return "".join(written)


def _section(section: Section, room: int) -> str:
    kept = list(_fitting(section.items, room))
    if len(kept) < section.number and section.short:
        kept = list(_fitting(section.short, room))
    left = section.number - len(kept)
    rest = f"- **and {left:,} more that this report has no room for**\n" if left else ""
    return f"### {section.title} ({section.number:,})\n\n{''.join(kept)}{rest}\n"


def _fitting(items: Iterable[str], room: int) -> Iterator[str]:
    for item in items:
        room -= len(item)
        if room < 0:
            return
        yield item


# --- The report: deletes stand first, and nothing pushes them out -----------------------------------


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
    agreed = f"**{AGREED_TITLE}:**\n\n{agreed}\n" if agreed else ""
    title = f"## {review.command}: {where}"
    return f"{title}\n\n{agreed}**{prose(review_headline(review))}**\n\n{undo}{selected}{answers}"


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
        found = find_drift(review.plan)
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
