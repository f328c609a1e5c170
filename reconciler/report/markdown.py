"""The report as Markdown: a comment on a pull request, or the summary of a CI job, with names or without.

CommonMark in which no text from outside acts, cut between items where it gets too long. Text from outside is
in code spans, where no service looks for mentions, links, emoji or commands; only plain words of sentences
are not. So nothing has to be escaped by rules that differ between GitHub, GitLab and others.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from reconciler.core.review.drift import find_drift
from reconciler.core.review.guard import list_agreements
from reconciler.model.codes import CODES
from reconciler.model.kinds import KINDS
from reconciler.model.plans import action_of
from reconciler.model.snapshots import Scope
from reconciler.report.escaping import escape_ci_commands, escape_control
from reconciler.report.lines import count
from reconciler.report.phrases import AGREED_TITLE, name_left_out
from reconciler.report.review_builder import build_review, build_validation, list_causes
from reconciler.report.review_document import (
    Entry,
    EntryField,
    Fact,
    Review,
    ReviewDocument,
    Section,
    Validated,
)
from reconciler.report.values import value_max

name_max = 200  # characters of an address, a path or a place
text_max = 500  # characters of one sentence
_value_max = 100  # characters of one value; the JSON report has all of it
_fields_max = 40  # fields of one change

_frame_max = 150  # characters of a title with the line that says what was cut

# A word that no dialect of Markdown acts on. Anything else becomes a code span.
_PLAIN = re.compile(r"\(?(?:[A-Za-z]+[0-9]*(?:['-][A-Za-z]+)*|[0-9][0-9,.]*)\)?[.,;:!?]*")
_SENTENCE_WORDS = re.compile(r"`[^`]+`\S*|\S+")
_QUOTED = re.compile(r"`([^`]+)`([.,;:!?)]*)")  # our own sentences quote so
_AROUND = re.compile(r"^(\(?)(.+?)([.,;:!?)]*)$", re.DOTALL)  # a word, and what of the sentence touches it
_COMMIT = re.compile(r"[0-9a-fA-F]{7,}[.,;:!?]*")  # services make a link of what could be a commit


class _List(Struct, frozen=True):
    """A title, and an item for each of `number` things; they are written as far as they are needed.

    `short` are the same items in as few words as they can be, for where they do not all fit. All of them
    together have at most `most` characters.
    """

    title: str
    number: int
    items: Iterable[str]
    short: Iterable[str] = ()
    most: int = 0


def format_code_span(text: str, *, limit: int = name_max) -> str:
    """Return any text as a code span in which nothing acts, fenced by more backticks than it has in a row."""
    text = escape_ci_commands(escape_control(text, limit=limit)) or "(empty)"
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1) if "`" in text else "`"
    # A parser takes one space off both ends, unless there is nothing else.
    room = " " if text.strip(" ") and (text[0] in " `" or text[-1] in " `") else ""
    return f"{fence}{room}{text}{room}{fence}"


def format_prose(text: str) -> str:
    """Return a sentence in which every word that could act is a code span."""
    return " ".join(
        _format_word(word) for word in _SENTENCE_WORDS.findall(escape_control(text, limit=text_max))
    )


def _format_word(word: str) -> str:
    if _PLAIN.fullmatch(word) and not _COMMIT.fullmatch(word):
        return word
    quoted = _QUOTED.fullmatch(word)
    if quoted:
        return format_code_span(quoted[1]) + quoted[2]
    before, bare, after = _AROUND.findall(word)[0]
    return f"{before}{format_code_span(bare)}{after}"


def join_names(texts: Sequence[str]) -> str:
    """Return names as code spans: the first ones, and how many more there are."""
    more = len(texts) - _fields_max
    return ", ".join(map(format_code_span, texts[:_fields_max])) + (f" and {more:,} more" if more > 0 else "")


def fit_sections(sections: Sequence[_List], budget: int) -> str:
    """Return the sections in at most `budget` characters, each of them named whatever is before it."""
    there = [section for section in sections if section.number]
    written = []
    for position, section in enumerate(there):
        kept_free = _frame_max * (len(there) - position)
        text = _write_section(section, min(section.most or budget, budget - kept_free))
        budget -= len(text)
        written.append(text)
    return "".join(written)


def _write_section(section: _List, room: int) -> str:
    kept = list(_take_fitting(section.items, room))
    if len(kept) < section.number and section.short:
        kept = list(_take_fitting(section.short, room))
    left = section.number - len(kept)
    rest = f"- **and {left:,} more that this report has no room for**\n" if left else ""
    return f"### {section.title} ({section.number:,})\n\n{''.join(kept)}{rest}\n"


def _take_fitting(items: Iterable[str], room: int) -> Iterator[str]:
    for item in items:
        room -= len(item)
        if room < 0:
            return
        yield item


# --- The report -------------------------------------------------------------------------------------------

markdown_max = 60_000  # characters; GitHub takes 65,536 in a comment, and a template adds some

# Characters of these sections: what went wrong or is refused has to fit beside any number of them.
_section_max = {"deletes": 40_000, "ended": 30_000}


def markdown(review: Review) -> str:
    """Return a review of at most 60,000 characters; what was cut is counted. Names, and no values.

    With `show_values` values too, each of them cut where it is long.
    """
    return render_markdown(build_review(review))


def markdown_of_checks(result: Validated) -> str:
    """Return the mistakes, then the warnings, with the same limit."""
    return render_markdown(build_validation(result))


def render_markdown(document: ReviewDocument) -> str:
    """Return a document with the deletes first: where it is cut, they are what is left."""
    head, foot = _write_head(document), _write_foot(document)
    return head + fit_sections([*_list_sections(document)], markdown_max - len(head) - len(foot)) + foot


def _write_head(document: ReviewDocument) -> str:
    where = (
        f"{format_code_span(document.subject)} → {format_code_span(document.target)}"
        if document.target
        else format_prose(document.subject)
    )
    agreed = "".join(f"- {format_prose(one)}\n" for one in document.agreements)
    agreed = f"**{AGREED_TITLE}:**\n\n{agreed}\n" if agreed else ""
    refused = "Refused; nothing is written: " if document.refusals else ""
    said = [format_prose(one) for one in (*document.grave, *document.more_sentences)]
    more = f"{' '.join(said)}\n\n" if said else ""
    return (
        f"## {document.command}: {where}\n\n{agreed}**{refused}{format_prose(document.sentence)}**\n\n{more}"
    )


def _write_foot(document: ReviewDocument) -> str:
    run = document.run.facts if document.run else ()
    facts = [_write_fact(one) for one in (*run, *document.facts)]
    parts = [f"### About this report\n\n{''.join(facts)}\n"] if facts else []
    parts += [f"{format_prose(document.closing)}\n"] if document.closing else []
    if step := document.next_step:
        about = f" ({format_prose(step.about)})" if step.about else ""
        parts.append(f"Next: {format_code_span(step.command, limit=text_max)}{about}\n")
    return "".join(parts)


def _write_fact(fact: Fact) -> str:
    texts = (fact.text, *(note.text for note in fact.notes))
    return f"- {fact.name}: {', '.join(format_code_span(one, limit=text_max) for one in texts)}\n"


def _list_sections(document: ReviewDocument) -> Iterator[_List]:
    deletes = [one for one in document.sections if one.name == "deletes"]
    yield from (_make_section_list(one) for one in deletes)
    refused = (f"- refused: {format_prose(one.coded)}\n{_write_next(one.next)}" for one in document.refusals)
    yield _List("Refused", len(document.refusals), refused)
    if document.run and document.run.stopped:
        yield _List("Stopped", 1, [f"- stopped: {format_prose(document.run.stopped)}\n"])
    yield from (_make_section_list(one) for one in document.sections if one.name != "deletes")
    read = (f"- {format_code_span(one.scope)}: {format_prose(one.text)}\n" for one in document.reading)
    yield _List("How it was read", len(document.reading), read)


def _make_section_list(section: Section) -> _List:
    items = (_write_entry(one) for one in section.make_entries())
    most = _section_max.get(section.name, 0)
    short = (f"- {format_code_span(one)}\n" for one in section.list_subjects()) if most else ()
    return _List(section.title, section.count, items, short, most)


def _write_entry(entry: Entry) -> str:
    name = entry.name
    who = f" ({format_code_span(name)})" if name else ""
    who += "".join(f" at {format_code_span(one.text)}" for one in entry.notes if one.role == "place")
    notes = "; ".join(format_prose(one.words) for one in entry.notes if one.role != "place")
    if notes or not entry.what:
        what = f"  - {format_prose(entry.coded)}\n" if entry.what else ""
        text = f"- {format_code_span(entry.subject)}{who}{f': {notes}' if notes else ''}\n{what}"
    else:
        text = f"- {format_code_span(entry.subject)}{who}: {format_prose(entry.coded)}\n"
    return text + _write_next(entry.next) + _write_fields(entry)


def _write_fields(entry: Entry) -> str:
    rows = entry.fields
    if not rows:
        return ""
    title = f"{entry.fields_title}: " if entry.fields_title else ""
    if rows[0].form == "name":
        by_cause: dict[str, list[str]] = {}
        for row in rows:
            by_cause.setdefault(row.cause, []).append(row.path)
        return "".join(
            f"  - {title}{f'{cause}: ' if cause else ''}{join_names(paths)}\n"
            for cause, paths in by_cause.items()
        )
    more = len(rows) - _fields_max
    return (
        (f"  - {entry.fields_title}\n" if title else "")
        + "".join(f"  - {format_code_span(row.path)}: {_format_values(row)}\n" for row in rows[:_fields_max])
        + (f"  - and {count(more, 'more field')}\n" if more > 0 else "")
    )


def _format_values(row: EntryField) -> str:
    texts = " → ".join(format_code_span(one.text, limit=_value_max) for one in row.texts(value_max))
    return f"{texts}, {row.cause}" if row.cause and row.form != "drift" else texts


def _write_next(step: str) -> str:
    return f"  - next: {format_prose(step)}\n" if step else ""


# --- A comment that names nobody --------------------------------------------------------------------------
#
# More people read a pull request than may read who is in a workspace. So this form has the head of the
# report, and then counts by kind, workspace and cause, rules and codes: no address, no field, no sentence
# about one entity. The files of a job choose between it and `markdown`.

_lines_max = 200  # of counts: each action, kind, workspace and cause has one

# A diff is what forges colour: what goes away, what changes, what comes.
_DIFF_SIGNS: Mapping[str, str] = {"delete": "-", "update": "!", "drift": "!", "create": "+"}
_NAMELESS_FACTS = frozenset({"Outcome", "Run", "Exit code"})


def comment(review: Review) -> str:
    """Return how many entities change in which way and why, and which rules refuse it; no names."""
    document = build_review(review)
    plan, reasons = review.plan, review.verdict.reasons
    agreed = tuple(f"{one.flag} {one.at_most or len(one.subjects)}" for one in list_agreements(plan))
    head = _write_head(structs.replace(document, agreements=agreed))
    facts = [*(document.run.facts if document.run else ()), *document.facts]
    shown = (_write_fact(one) for one in facts if one.name in _NAMELESS_FACTS)
    missing = (f"- {format_code_span(name_left_out(one))}: {_name_code(one.code)}\n" for one in plan.left_out)
    refused = (
        f"- {_name_code(one.rule)}: {one.count:,}{f' (the limit is {one.limit:,})' if one.limit else ''}\n"
        f"{_write_meaning(one.rule)}"
        for one in reasons
    )
    lists = [_List("Not planned", len(plan.left_out), missing), _List("Refused", len(reasons), refused)]
    return (
        head + fit_sections(lists, markdown_max // 2) + _fold_changes(_count_changes(review)) + "".join(shown)
    )


def comment_of_checks(result: Validated) -> str:
    """Return how many mistakes there are of each code; what was declared is not quoted."""
    mistakes = Counter(one.code for one in result.problems)
    counted = (f"- {_name_code(code)}: {number:,}\n" for code, number in sorted(mistakes.items()))
    lists = [_List("Mistakes", len(mistakes), counted)]
    return _write_head(build_validation(result)) + fit_sections(lists, markdown_max // 2)


def _name_code(code: str) -> str:
    title = f" {format_prose(CODES[code].title)}" if code in CODES else ""
    return f"{format_code_span(code)}{title}"


def _write_meaning(code: str) -> str:
    return f"  - {format_prose(CODES[code].means)}\n" if code in CODES else ""


def _count_changes(review: Review) -> list[str]:
    """Return `- 2 contacts in ops: no longer declared` for each action, kind, workspace and cause."""
    items: Iterable[tuple[str, Scope, str]]
    if review.command == "drift":
        items = (("drift", Scope.of(one.address), one.cause) for one in find_drift(review.plan))
    else:
        items = (
            (action_of(one), Scope.of(one.address), ", ".join(list_causes(one)))
            for one in review.plan.changes
        )
    order = [*_DIFF_SIGNS]
    counted = sorted(Counter(items).items(), key=lambda one: (order.index(one[0][0]), one[0]))
    return [
        f"{_DIFF_SIGNS[action]} {count(number, scope.kind, KINDS[scope.kind].plural)} in {scope.workspace}: "
        f"{cause}"
        for (action, scope, cause), number in counted
    ]


def _fold_changes(lines: Sequence[str]) -> str:
    """Return lines as a diff in a part that a reader unfolds. None of them begins with what ends a fence."""
    if not lines:
        return ""
    more = len(lines) - _lines_max
    shown = [escape_ci_commands(escape_control(one, limit=name_max)) for one in lines[:_lines_max]]
    shown += [f"  and {more:,} more lines"] if more > 0 else []
    text = "\n".join(shown)
    return f"<details><summary>What changes, and why</summary>\n\n```diff\n{text}\n```\n\n</details>\n\n"
