"""A review as lines of text for a terminal: counts first, deletes on top, for every field why it changes.

A walk over the document of a review (review_document.py), which says what is shown, in which order and in
which words. Here is how it looks: columns, styles, what is folded and cut. Returned are lines of styled spans
(lines.py); printing and colour codes are the console's.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from msgspec import Struct, structs

from reconciler.core.review.display_names import DisplayName, no_name
from reconciler.core.runs.recover import InterruptedRun, sort_out_run
from reconciler.errors import Problem
from reconciler.model.address import Address
from reconciler.model.plans import Change, Plan, Verdict, action_of
from reconciler.model.runs import Run, Running
from reconciler.model.snapshots import NotPlanned
from reconciler.report.escaping import escape_ci_commands, escape_control
from reconciler.report.lines import (
    ACTIONS,
    BLANK,
    Line,
    Span,
    Style,
    count,
    cut_text,
    flow_parts,
    fold_items,
    line,
    notice_lines,
    pad_text,
    plain,
    screen_columns,
    sentence_lines,
    width,
)
from reconciler.report.phrases import AGREED_TITLE, name_left_out, sum_up_left_out
from reconciler.report.review_builder import build_review, build_run
from reconciler.report.review_document import (
    Clause,
    Entry,
    EntryField,
    Fact,
    ListReading,
    NextStep,
    Review,
    ReviewDocument,
    RunDocument,
    Section,
    Validated,
)
from reconciler.report.values import DisplayedValue, value_max

__all__ = ["Line", "Span", "Style", "drift_lines", "plain", "plan_lines", "problem_lines", "run_lines"]

_head_columns = 50  # where the calls stand in the head line
_address_min, _address_max = 40, 64  # columns of an address in a headline; longer ones push their own line
_screen_lines = 40  # a plan longer than this repeats its counts at the end, which is what a terminal shows
_who_max = 60  # columns of a name and an identity

# --- What a command prints ------------------------------------------------------------------------------


def plan_lines(
    plan: Plan,
    verdict: Verdict,
    *,
    full: bool = False,
    next_step: str = "reconciler apply",
    seconds: float | None = None,
    sizes: Mapping[Address, int] | None = None,
    whom: DisplayName = no_name,
) -> tuple[Line, ...]:
    """Return the whole plan as lines: consent, head, counts, changes, what is left alone, refusals.

    `full` folds nothing and cuts nothing. `next_step` is the command that would carry the plan out.
    `seconds` is how long planning took; `sizes` are octets of content by address, where known;
    `whom` says who the entities are of which the plan holds no fields; it is asked of what is shown.
    """
    review = Review(
        "plan", plan, verdict, 0, next_step=next_step, show_values=True, whom=whom, sizes=sizes or {}
    )
    return _lay_out_plan(build_review(review), full=full, seconds=seconds)


def drift_lines(plan: Plan, *, full: bool = False, whom: DisplayName = no_name) -> tuple[Line, ...]:
    """Return what others changed, as lines: what we left, then what is live now; `whom` says of whom."""
    review = Review("drift", plan, Verdict(), 0, show_values=True, whom=whom)
    return _lay_out_drift(build_review(review), full=full)


def run_lines(run: Run, *, full: bool = False, verbose: bool = False) -> tuple[Line, ...]:
    """Return the whole run as lines. Every change is in it once: counted, and listed unless folded.

    `verbose` adds the lines with which it is traced: its ids, the head of the history, the gap of its writes.
    """
    return _lay_out_run(build_run(run), full=full, verbose=verbose)


def failure_lines(plan: Plan, verdict: Verdict) -> tuple[Line, ...]:
    """Return why a plan that was made is no success: what the guard refuses, and who is ambiguous.

    For a log that does not hold the plan itself.
    """
    document = build_review(Review("plan", plan, verdict, 0, show_values=True))
    lines = [*_missing_lines(document, full=False), *_refusal_lines(document)]
    for section in document.sections:
        if section.name == "ambiguous":
            lines += _sentence_lines(section, full=False, named=False)
        if section.name == "notices":
            ambiguous = [one for one in section.make_entries() if one.cause == "ambiguous"]
            listed, rest = fold_items(ambiguous, full=False)
            lines += [*chain.from_iterable(_entry_sentence(one) for one in listed), *rest]
    if not verdict.safe:
        lines.append(line(document.conclusion.text))
    return tuple(lines)


def run_failure_lines(run: Run) -> tuple[Line, ...]:
    """Return what did not end well in a run, and what to do: for a log that does not hold its report."""
    document = build_run(run)
    bad = [section for section in document.sections if section.name != "applied"]
    lines = [*_missing_run_lines(document), *_outcome_lines(bad, document, full=False)]
    lines += _uncertain_lines(document)
    lines += [line(("stopped: ", "warn"), document.stopped)] if document.stopped else []
    said = f"{document.outcome}: {document.conclusion}"
    return (
        *lines,
        *sentence_lines("", said, _step_text(document.next_step)),
        line((f"run {run.run}", "dim")),
    )


def problem_lines(problems: Sequence[Problem]) -> tuple[Line, ...]:
    """Return every problem in its given order: the place and the mistake, then what to do."""
    return tuple(
        each
        for problem in problems
        for each in sentence_lines(f"{problem.where}: ", problem.what, problem.next, style="bold")
    )


# --- `--report text=FILE`: what a terminal shows, unfolded and without colour; values included -------------


def text(review: Review) -> str:
    """Return the plan or the drift; of a run its plan without the last line, then how each change ended."""
    shown = structs.replace(review, show_values=True)
    document = build_review(shown)
    if review.command == "drift":
        return escape_ci_commands(plain(_lay_out_drift(document, full=True)))
    lines = _lay_out_plan(document, full=True)
    if document.run is not None:  # the last line speaks of what comes next, and that is over
        lines = (*lines[:-1], BLANK, *_lay_out_run(document.run, full=True, verbose=True))
    return escape_ci_commands(plain(lines))


def text_of_checks(result: Validated) -> str:
    """Return the mistakes, the warnings and their number as plain text."""
    lines = [*problem_lines(result.problems), *notice_lines(result.notices, full=True)]
    mistakes = count(len(result.problems), "mistake") if result.problems else "No mistakes"
    return escape_ci_commands(plain(lines)) + f"{mistakes}, {count(len(result.notices), 'warning')}.\n"


# --- A plan -------------------------------------------------------------------------------------------------


def _lay_out_plan(document: ReviewDocument, *, full: bool, seconds: float | None = None) -> tuple[Line, ...]:
    facts = {fact.name: fact for fact in document.facts}
    counts = _count_lines(document.counts)
    agreed = [line("  ", (one, "warn")) for one in document.agreements]
    body: list[Line] = [
        *_missing_lines(document, full=full),
        *([line((f"{AGREED_TITLE}:", "bold")), *agreed, BLANK] if agreed else []),
        _plan_head(document, facts.get("Read with"), seconds),
        *_origin_lines(document, facts),
        BLANK,
        *counts,
        BLANK,
    ]
    blocks = [_LAYOUTS[one.name](one, full=full) for one in document.sections if one.name in _LAYOUTS]
    for block in (*blocks, _reading_lines(document.reading, full=full), _refusal_lines(document)):
        body += [*block, BLANK] if block else []
    body += [] if full else _cut_values(body)
    if len(body) > _screen_lines:
        body += [*counts, BLANK]
    if document.limits:
        body += [line((document.limits, "dim")), BLANK]
    step = f"  next: {document.next_step.command}" if document.next_step else ""
    code = facts["Fingerprint"].text if "Fingerprint" in facts else ""
    last = line(
        (f"{document.conclusion.text}{step}", "bold"), ("   fingerprint " + code if code else "", "dim")
    )
    return *body, last


def left_out_lines(left: Sequence[NotPlanned]) -> tuple[Line, ...]:
    """Return which workspaces are left out, and why; nothing where none is."""
    said = (
        each
        for one in left
        for each in sentence_lines("! ", f"{name_left_out(one)}: {one.what} [{one.code}]", one.next)
    )
    return (line((sum_up_left_out(left), "delete")), *said) if left else ()


def _missing_lines(document: ReviewDocument, *, full: bool) -> list[Line]:
    """Return which workspaces are left out, and why: before all else, for nothing that follows is of them."""
    sections = [one for one in document.sections if one.name == "missing"]
    said = [each for one in sections for each in _sentence_lines(one, full=full, named=False)]
    return [line((document.missing, "delete")), *said, BLANK] if document.missing else []


def _missing_run_lines(document: RunDocument) -> list[Line]:
    names = ", ".join(dict.fromkeys(one.subject for one in document.missing))
    said = [each for one in document.missing for each in _entry_sentence(one)]
    return [line((f"Not planned: {names}", "delete")), *said] if names else []


def _plan_head(document: ReviewDocument, read: Fact | None, seconds: float | None) -> Line:
    took = f"{seconds:.1f} s" if seconds is not None else ""
    about = ", ".join(filter(None, [read.text if read else "", took]))
    about += "".join(f"; {note.text}" for note in read.notes) if read else ""
    return line(
        (pad_text(f"{document.subject} → {document.target}", _head_columns), "bold"), "  ", (about, "dim")
    )


def _origin_lines(document: ReviewDocument, facts: Mapping[str, Fact]) -> Iterator[Line]:
    """Yield what a plan was made of: a selection, a run to undo, answers of directories, a commit."""
    if chosen := facts.get("Selected by"):
        yield line((f"selected by {chosen.text}", "dim"))
    if undone := facts.get("Undoes run"):
        yield line((f"undoes run {undone.text}", "bold"))
    for one in document.answers:
        yield line((one, "dim"))
    if commit := facts.get("Commit"):
        yield line((f"commit {commit.text}", "dim" if "+" not in commit.text else "warn"))


def _count_lines(counts: Sequence[Clause]) -> list[Line]:
    changed = any(clause.tone in {"delete", "update", "create"} for clause in counts)
    parts: list[tuple[str, Style]] = [] if changed else [("no changes", "")]
    return flow_parts([*parts, *((clause.text, clause.tone) for clause in counts)])


def _cut_values(body: Sequence[Line]) -> list[Line]:
    """Explain an ellipsis within a line, if there is one; lines that count a rest explain themselves."""
    texts = ("".join(span.text for span in spans) for spans in body)
    cut = any("…" in text and not text.lstrip().startswith("… and ") for text in texts)
    return [line(("… marks a shortened value; --full shows all of it", "dim")), BLANK] if cut else []


def _reading_lines(reading: Sequence[ListReading], *, full: bool) -> list[Line]:
    """Return how lists were read, then the kinds of which something is recorded and nothing declared.

    An empty `contacts: {}` in a manifest would mean deletes.
    """
    listed, rest = fold_items([one for one in reading if one.how], full=full)
    lines = [
        line((f"{one.scope}: {one.how}", "dim"), (f", {one.limit}" if one.limit else "", "warn"))
        for one in listed
    ]
    return [*lines, *rest, *_undeclared_lines(reading)]


def _undeclared_lines(reading: Sequence[ListReading]) -> list[Line]:
    return [line((f"{one.scope}: {one.limit}", "warn")) for one in reading if not one.how]


def _refusal_lines(document: ReviewDocument) -> list[Line]:
    return [
        each
        for one in document.refusals
        for each in sentence_lines("refused: ", one.coded, one.next, style="delete")
    ]


# --- Lists of entries: an address and what it is about, then its fields; or a sentence ---------------------


def _list_entries(section: Section, *, full: bool) -> tuple[Iterator[Entry], tuple[Line, ...]]:
    """Return the entries to list, and a line that counts the others; no more entries are made than these."""
    listed, rest = fold_items(range(section.count), full=full)
    return islice(section.make_entries(), len(listed)), rest


def _delete_lines(section: Section, *, full: bool) -> list[Line]:
    entries, rest = _list_entries(section, full=full)
    at = _address_columns(section, full=full)
    lines: list[Line] = []
    for entry in entries:
        lines += [_headline("-", "delete", entry, at, full=full), *_detail_lines(entry)]
        lines += [*_value_lines(entry, full=full), *_hint_lines(entry)]
    return [*lines, *rest]


def _update_lines(section: Section, *, full: bool) -> list[Line]:
    listed, rest = _list_entries(section, full=full)
    entries = [*listed]
    tables = [_field_rows(entry, full=full) for entry in entries]
    shared = fit_columns([row for table in tables for row in table], full=full)
    at = _address_columns(section, full=full)
    lines: list[Line] = []
    for entry, table in zip(entries, tables, strict=True):
        lines.append(_headline("~", "update", entry, at, full=full))
        lines += [each for row in table for each in row_lines(row, shared)]
        lines += [*_detail_lines(entry), *_hint_lines(entry)]
    return [*lines, *rest]


def _create_lines(section: Section, *, full: bool) -> list[Line]:
    entries, rest = _list_entries(section, full=full)
    at = _address_columns(section, full=full)
    lines: list[Line] = []
    for entry in entries:
        lines += [_headline("+", "create", entry, at, full=full), *_value_lines(entry, full=full)]
        lines += [*_detail_lines(entry), *_hint_lines(entry)]
    return [*lines, *rest]


def _record_lines(section: Section, *, full: bool) -> list[Line]:
    entries, rest = _list_entries(section, full=full)
    at = _address_columns(section, full=full)
    return [*(_headline("=", "dim", entry, at, full=full) for entry in entries), *rest]


def _sentence_lines(section: Section, *, full: bool, named: bool = True) -> list[Line]:
    entries, rest = _list_entries(section, full=full)
    return [*chain.from_iterable(_entry_sentence(one, full=full, named=named) for one in entries), *rest]


_LAYOUTS = {
    "ambiguous": _sentence_lines,
    "deletes": _delete_lines,
    "updates": _update_lines,
    "creates": _create_lines,
    "records": _record_lines,
    "skips": _sentence_lines,
    "notices": _sentence_lines,
}


def _entry_sentence(entry: Entry, *, full: bool = False, named: bool = True) -> list[Line]:
    who = _short_who(entry, full=full) if named else ""
    joint = " " if entry.predicate else ": "
    place = "".join(f" ({note.text})" for note in entry.notes if note.role == "place")
    subject = f"{entry.subject} ({who})" if who else entry.subject
    return sentence_lines("! ", f"{subject}{joint}{entry.coded}{place}", entry.next)


def _headline(sign: str, style: Style, entry: Entry, columns: int, *, full: bool) -> Line:
    who = _short_who(entry, full=full)
    notes = (note.words for note in entry.notes if note.role in {"", "place", "cause"})
    about = ", ".join(filter(None, [who, *notes]))
    return line((f"{sign} ", style), (pad_text(entry.subject, columns), style), "  ", (about, "dim"))


def _short_who(entry: Entry, *, full: bool) -> str:
    who = escape_control(entry.who)
    return who if full else cut_text(who, _who_max)


def _address_columns(section: Section, *, full: bool) -> int:
    return min(max(_longest_subject(section, full=full), _address_min), _address_max)


def _longest_subject(section: Section, *, full: bool) -> int:
    """Return the columns of the longest subject that is listed."""
    listed, _ = fold_items(range(section.count), full=full)
    return max(map(width, islice(section.list_subjects(), len(listed))), default=0)


def _detail_lines(entry: Entry) -> Iterator[Line]:
    for note in entry.notes:
        if note.role == "detail":
            yield line("    ", (note.lead, "dim"), note.text)
        if note.role == "warning":
            yield from (line("    ", note.lead, (text, "delete")) for text in note.each or (note.text,))


def _hint_lines(entry: Entry) -> Iterator[Line]:
    if entry.what:
        yield line("    ", (entry.what, "warn"))
    if entry.next:
        yield line("      next: ", entry.next)


# --- Fields as aligned lines: `path  before  →  after   cause`, or `path  value` --------------------------

_indent = 4
_path_max = 32  # columns; a longer path pushes its own row to the right and no other
_arrow = "  →  "


class ShownField(Struct, frozen=True, gc=False):
    """One field of a change, before and after as they are shown."""

    path: str
    before: DisplayedValue
    after: DisplayedValue
    cause: str


class Columns(Struct, frozen=True, gc=False):
    """The widths that all rows of a report share.

    `value` is the widest value that stays in its column, `screen` where a broken row ends (0: nowhere).
    """

    path: int
    before: int
    after: int
    value: int
    screen: int


def _field_rows(entry: Entry, *, full: bool) -> list[ShownField]:
    limit = 0 if full else value_max
    rows = []
    for row in entry.fields:
        before, after = row.texts(limit)
        rows.append(ShownField(escape_control(row.path), before, after, row.cause))
    return rows


def fit_columns(all_rows: Sequence[ShownField], *, full: bool) -> Columns:
    """Return widths with which ordinary rows fit a screen; rows that cannot are broken at the arrow."""
    path = min(max((width(row.path) for row in all_rows), default=0), _path_max)
    cause = max((len(row.cause) for row in all_rows), default=0)
    value = (screen_columns - _indent - path - 2 - len(_arrow) - 3 - cause) // 2
    short = [row for row in all_rows if _fits_column(row, value)]
    return Columns(
        path=path,
        before=max((width(row.before.text) for row in short), default=0),
        after=max((width(row.after.text) for row in short), default=0),
        value=value,
        screen=0 if full else screen_columns,
    )


def _fits_column(row: ShownField, value: int) -> bool:
    return max(width(row.before.text), width(row.after.text)) <= value


def row_lines(row: ShownField, at: Columns) -> list[Line]:
    """Return one line, or two where a value is too long to stand beside the other."""
    path = " " * _indent + pad_text(row.path, at.path) + "  "
    cause: tuple[str, Style] = (row.cause, "warn" if row.cause in {"drifted", "both"} else "dim")
    if _fits_column(row, at.value):
        before = _style_value(row.before, at.before)
        return [line(path, before, (_arrow, "dim"), _style_value(row.after, at.after), "   ", cause)]
    under = " " * (width(path) - len(_arrow) + 2)
    room = at.screen - width(path) - 3 - len(row.cause) if at.screen else 0
    return [
        line(path, _style_value(row.before, cut_at=room)),
        line(under, (_arrow[2:], "dim"), _style_value(row.after, cut_at=room), "   ", cause),
    ]


def _style_value(value: DisplayedValue, columns: int = 0, *, cut_at: int = 0) -> tuple[str, Style]:
    text = cut_text(value.text, cut_at) if cut_at else value.text
    return pad_text(text, columns), "dim" if value.placeholder else ""


def _value_lines(entry: Entry, *, full: bool) -> list[Line]:
    """Return the fields of what is made or goes away: the important ones, or all of them."""
    rows: Sequence[EntryField]
    rows, left = (entry.fields, 0) if full else entry.first_fields()
    columns = min(max((width(escape_control(row.path)) for row in rows), default=0), _path_max)
    limit = 0 if full else value_max
    lines = [
        line(" " * _indent, pad_text(row.path, columns), "  ", _style_value(row.texts(limit)[0]))
        for row in rows
    ]
    more = f"… and {count(left, 'more field')} (--full shows all)"
    return [*lines, line((" " * _indent + more, "dim"))] if left else lines


# --- A drift ------------------------------------------------------------------------------------------------


def _lay_out_drift(document: ReviewDocument, *, full: bool) -> tuple[Line, ...]:
    sections = {one.name: one for one in document.sections}
    besides = _sentence_lines(sections["notices"], full=full) if "notices" in sections else []
    besides += _undeclared_lines(document.reading)
    others = [BLANK, *besides] if besides else []
    missing = _missing_lines(document, full=full)
    head = document.conclusion
    style: Style = head.tone or "bold"
    if "drift" not in sections:
        limits = [line((document.limits, "dim"))] if document.limits else []
        return *missing, line((head.text, style)), *limits, *others
    listed, rest = _list_entries(sections["drift"], full=full)
    entries = [*listed]
    tables = [_field_rows(entry, full=full) for entry in entries]
    shared = fit_columns([row for table in tables for row in table], full=full)
    at = min(_longest_subject(sections["drift"], full=full), _address_max)
    lines: list[Line] = [
        *missing,
        line((head.text.removesuffix("."), style), "   applied → live now"),
        BLANK,
    ]
    for entry, table in zip(entries, tables, strict=True):
        about = ", ".join(filter(None, [_short_who(entry, full=full), entry.cause]))
        lines.append(line(("! ", "warn"), (pad_text(entry.subject, at), "warn"), "   ", (about, "dim")))
        lines += [line("    ", entry.what)] if entry.what else []
        lines += [each for row in table for each in row_lines(row, shared)]
    repair = sentence_lines("", "Nothing was written.", _step_text(document.next_step))
    return *lines, *rest, *others, BLANK, *repair


def _step_text(step: NextStep | None) -> str:
    if step is None:
        return ""
    return f"{step.command}   ({step.about})" if step.about else step.command


# --- A run: the counts, everything that did not end well with what to do, then the rest --------------------

_SIGNS: Mapping[str, tuple[str, Style]] = {
    "in doubt": ("?", "delete"),
    "failed": ("x", "delete"),
    "conflict": ("!", "warn"),
    "skipped": ("·", "warn"),
    "not attempted": ("·", "warn"),
}


def _lay_out_run(document: RunDocument, *, full: bool, verbose: bool) -> tuple[Line, ...]:
    facts = {fact.name: fact for fact in document.facts}
    about = ", ".join(filter(None, [facts["Calls"].text, document.took]))
    missing = _missing_run_lines(document)
    lines: list[Line] = [
        *([*missing, BLANK] if missing else []),
        line((pad_text(document.outcome, _head_columns), "bold"), "  ", (about, "dim")),
        BLANK,
    ]
    if document.counts:
        lines += [*flow_parts([(clause.text, clause.tone) for clause in document.counts]), BLANK]
    lines += _outcome_lines(document.sections, document, full=full)
    if document.sections:
        lines.append(BLANK)
    # The other notices stand with the plan, which is shown before the run begins.
    uncertain = _uncertain_lines(document)
    lines += [*uncertain, BLANK] if uncertain else []
    if document.stopped:
        lines += [line(("stopped: ", "warn"), document.stopped), BLANK]
    lines += sentence_lines("", document.conclusion, _step_text(document.next_step))
    return *lines, *(_trace_lines(facts) if verbose else ())


def _uncertain_lines(document: RunDocument) -> list[Line]:
    return [
        each
        for one in document.uncertain
        for each in sentence_lines("ambiguous: ", f"{one.subject} {one.what}", one.next)
    ]


def _trace_lines(facts: Mapping[str, Fact]) -> Iterator[Line]:
    """Yield the ids of the run, the head of the history, and how soon its writes followed their looks."""
    ids = [facts[name] for name in ("Run", "Resumes", "Fingerprint", "Trace") if name in facts]
    yield line(("   ".join(f"{one.name.lower()} {one.text}" for one in ids), "dim"))
    if head := facts.get("History"):
        yield line((f"history {head.text}", "dim"))
    if gap := facts.get("From look to write"):
        yield line((f"from look to write: {gap.text}", "dim"))


def _outcome_lines(sections: Sequence[Section], document: RunDocument, *, full: bool) -> list[Line]:
    """Return the outcomes of these sections; those that say the same stand together, and say it once."""
    subjects = chain.from_iterable(section.list_subjects() for section in document.sections)
    at = min(max(map(width, subjects), default=0), _address_max)
    lines: list[Line] = []
    for section in sections:
        entries, rest = _list_entries(section, full=full)
        for alike in _group_alike(entries):
            *others, last = alike
            lines += [_outcome_head(entry, at, section.name) for entry in others]
            lines += _outcome_entry_lines(last, at, section.name, alike=len(alike))
        lines += rest
    return lines


def _group_alike(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return the entries with those together that say the same, but for the ids in it; in their order."""
    groups: dict[object, list[Entry]] = {}
    for number, entry in enumerate(entries):
        groups.setdefault(entry.gist or number, []).append(entry)
    return list(groups.values())


def _outcome_head(entry: Entry, at: int, result: str) -> Line:
    action = next(note.text for note in entry.notes if not note.role)
    sign, style = _SIGNS.get(result) or ACTIONS.get(action, (" ", ""))
    ended = action if result == "applied" else f"{action}, {result}"
    return line((f"{sign} ", style), (pad_text(entry.subject, at), style), "   ", (ended, "dim"))


def _outcome_entry_lines(entry: Entry, at: int, result: str, *, alike: int) -> list[Line]:
    head = _outcome_head(entry, at, result)
    fields = [_read_back_line(row) for row in entry.fields]
    if not entry.what:
        return [head, *fields, *([line("    next: ", entry.next)] if entry.next else [])]
    these = f"each of these {alike:,}: " if alike > 1 else ""
    what, *step = sentence_lines("", these + entry.what, entry.next, indent="    ")
    return [head, what, *fields, *step]


def _read_back_line(row: EntryField) -> Line:
    """Say what was sent and what the service shows instead."""
    sent, now = (value.text for value in row.texts(value_max))
    if row.accepted:
        return line("      ", (f"{row.path}: ", "dim"), f"the service writes {sent} as {now}")
    return line("      ", (f"{row.path}: ", "warn"), f"sent {sent}, the service shows {now}")


# --- Runs that did not finish and what is left of them, and the run that still lasts ----------------------


def unfinished_lines(runs: Sequence[InterruptedRun], next_step: str = "") -> tuple[Line, ...]:
    """Return for each run a sentence that says how far it came; `next_step` follows the last."""
    lines: list[Line] = []
    for number, run in enumerate(runs, start=1):
        lines += sentence_lines("", _describe_progress(run), next_step if number == len(runs) else "")
    return tuple(lines)


def running_lines(running: Running) -> tuple[Line, ...]:
    """Say that a run has not ended, whose it is, its progress, and that the reader has to wait."""
    who = f"run {running.run} has been writing since {running.since}, by {running.holder}: {running.how_far}."
    return tuple(
        sentence_lines(
            "", who, "wait until it ends and plan again: this plan may include changes that it still makes"
        )
    )


def _describe_progress(run: InterruptedRun) -> str:
    found = sort_out_run(run)
    parts = [f"{len(found.settled):,} ended", f"{len(found.in_doubt):,} in doubt"]
    parts += [f"{len(found.never_sent):,} never sent"] if run.plan else []
    return f"run {run.run} ({run.command}, {run.started_at}) did not finish: {', '.join(parts)}."


def unplanned_change_lines(
    changes: Sequence[Change], next_step: str, *, full: bool = False
) -> tuple[Line, ...]:
    """Return what there would be to do besides what is resumed, and where to see it."""
    listed, rest = fold_items(changes, full=full)
    head = f"{count(len(changes), 'change')} not in the old plan will not be made:"
    lines = [line((head, "warn"))]
    lines += [line("    ", (action_of(change), "dim"), "  ", str(change.address)) for change in listed]
    return *lines, *rest, *flow_parts([(f"    next: {next_step}", "")])
