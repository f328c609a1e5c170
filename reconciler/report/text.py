"""A plan, a drift and mistakes as lines of text for a terminal.

Counts first, deletes on top, and for every field why it changes. Returned are lines of styled spans
(lines.py); printing and colour codes are the console's. Runs are in runs/runs.py.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, structs

from reconciler.core.review.display_names import DisplayName, find_lookalikes, no_name
from reconciler.core.review.drift import Drift, find_drift, list_notices_beside_drift, summarize_drift
from reconciler.core.review.guard import list_agreements
from reconciler.errors import Problem
from reconciler.model.address import Address
from reconciler.model.codes import SKIP_CODES
from reconciler.model.documents import Fields
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.plans import (
    SECRET_NEEDED,
    UNCERTAIN,
    Create,
    Delete,
    FieldChange,
    Plan,
    Skip,
    Update,
    Verdict,
)
from reconciler.model.snapshots import Read
from reconciler.report.escaping import escape_ci_commands, escape_control
from reconciler.report.lines import (
    BLANK,
    Line,
    Span,
    Style,
    count,
    cut,
    flow,
    fold,
    line,
    notice_lines,
    outside_lines,
    pad,
    plain,
    screen_columns,
    sentence,
    width,
)
from reconciler.report.phrases import (
    AGREED_TITLE,
    describe_agreement,
    describe_answer,
    describe_origin,
    describe_read,
    describe_read_limit,
    limit_claim,
    list_record_changes,
    rename_hint_lines,
)
from reconciler.report.review_document import Review, Validated
from reconciler.report.runs.runs import run_lines
from reconciler.report.values import (
    DisplayedValue,
    display_change,
    display_value,
    format_size,
    short_digest,
    short_fingerprint,
    value_max,
)

# --- Fields of changes as aligned lines: `path  before  →  after   cause`, or `path  value` -------
#
# Belongs here: columns, and which fields of a create matter at first sight. Not here: headlines, order.


_indent = 4
_path_max = 32  # columns; a longer path pushes its own row to the right and no other
_arrow = "  →  "

# A create shows its kind's headline first. The rest is counted, and shown with --full.
_few = 4  # fields that are shown whatever their names are


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


def make_field_rows(kind: str, fields: Iterable[FieldChange], *, full: bool) -> list[ShownField]:
    """Return the fields of one update, ready for `fit_columns` and `row_lines`."""
    limit = 0 if full else value_max
    return [
        ShownField(escape_control(field.path), *display_change(kind, field, limit=limit), field.cause)
        for field in fields
    ]


def fit_columns(all_rows: Sequence[ShownField], *, full: bool) -> Columns:
    """Return widths with which ordinary rows fit a screen; rows that cannot are broken at the arrow."""
    path = min(max((width(row.path) for row in all_rows), default=0), _path_max)
    cause = max((len(row.cause) for row in all_rows), default=0)
    value = (screen_columns - _indent - path - 2 - len(_arrow) - 3 - cause) // 2
    short = [row for row in all_rows if _fits(row, value)]
    return Columns(
        path=path,
        before=max((width(row.before.text) for row in short), default=0),
        after=max((width(row.after.text) for row in short), default=0),
        value=value,
        screen=0 if full else screen_columns,
    )


def _fits(row: ShownField, value: int) -> bool:
    return max(width(row.before.text), width(row.after.text)) <= value


def row_lines(row: ShownField, at: Columns) -> list[Line]:
    """Return one line, or two where a value is too long to stand beside the other."""
    path = " " * _indent + pad(row.path, at.path) + "  "
    cause: tuple[str, Style] = (row.cause, "warn" if row.cause in {"drifted", "both"} else "dim")
    if _fits(row, at.value):
        before = _styled(row.before, at.before)
        return [line(path, before, (_arrow, "dim"), _styled(row.after, at.after), "   ", cause)]
    under = " " * (width(path) - len(_arrow) + 2)
    room = at.screen - width(path) - 3 - len(row.cause) if at.screen else 0
    return [
        line(path, _styled(row.before, cut_at=room)),
        line(under, (_arrow[2:], "dim"), _styled(row.after, cut_at=room), "   ", cause),
    ]


def _styled(value: DisplayedValue, columns: int = 0, *, cut_at: int = 0) -> tuple[str, Style]:
    text = cut(value.text, cut_at) if cut_at else value.text
    return pad(text, columns), "dim" if value.placeholder else ""


def create_lines(
    change: Create, *, full: bool, sizes: Mapping[Address, int], contents: Mapping[Address, str]
) -> list[Line]:
    """Return the fields of what is made: the important ones, or all of them.

    `sizes` are octets of content by address, where the caller knows them; `contents` the files it is in.
    """
    kind = change.address.kind
    paths = list(change.fields) if full else _important(kind, change.fields)
    columns = min(max((width(escape_control(path)) for path in paths), default=0), _path_max)
    lines = []
    for path in sorted(paths) if full else paths:
        value = _content(change, sizes, contents) if path == KINDS[kind].content else ""
        about = (
            DisplayedValue(value)
            if value
            else display_value(kind, path, change.fields[path], limit=0 if full else value_max)
        )
        lines.append(line(" " * _indent, pad(path, columns), "  ", _styled(about)))
    left = (
        len(change.fields)
        - len(paths)
        - (not full and KINDS[kind].content in paths and "mimeType" in change.fields)
    )
    if left > 0:
        lines.append(_more(left))
    return lines


def _more(left: int) -> Line:
    return line((" " * _indent + f"… and {count(left, 'more field')} (--full shows all)", "dim"))


def _important(kind: str, fields: Fields) -> list[str]:
    """Return the paths to show of a create: the important ones, else the first few by name."""
    named = [path for path in KINDS[kind].headline if path in fields]
    others = [path for path in sorted(fields) if path not in named and path != "mimeType"]
    return named + others[: max(_few - len(named), 0)] if len(fields) > _few else named + others


def _content(change: Create, sizes: Mapping[Address, int], contents: Mapping[Address, str]) -> str:
    """Return `manifests/sites.csv, 12.4 KiB, text/csv`; the digest where the size is not known."""
    octets = sizes.get(change.address)
    digest = str(change.fields[KINDS[change.address.kind].content])
    first = short_digest(digest) if octets is None else format_size(octets)
    return ", ".join(
        filter(
            None,
            [escape_control(contents.get(change.address, "")), first, str(change.fields.get("mimeType", ""))],
        )
    )


def delete_lines(before: Fields, kind: str, *, full: bool) -> list[Line]:
    """Return what goes away, as it is now: the important fields, or all of them."""
    paths = sorted(before) if full else _important(kind, before)
    columns = min(max((width(escape_control(path)) for path in paths), default=0), _path_max)
    limit = 0 if full else value_max
    lines = [
        line(
            " " * _indent,
            pad(path, columns),
            "  ",
            _styled(display_value(kind, path, before[path], limit=limit)),
        )
        for path in paths
    ]
    return [*lines, _more(len(before) - len(paths))] if len(before) > len(paths) else lines


_drift_address_max = 64  # columns
_who_max = 60  # columns of a name and an identity


def shorten_names(whom: DisplayName, *, full: bool) -> DisplayName:
    """Return what says the same in a line: nothing of it acts, and without `full` a long one is cut."""
    return lambda address: (
        escape_control(whom(address)) if full else cut(escape_control(whom(address)), _who_max)
    )


def drift_lines(plan: Plan, *, full: bool = False, whom: DisplayName = no_name) -> tuple[Line, ...]:
    """Return what others changed, as lines: what we left, then what is live now; `whom` says of whom."""
    found = find_drift(plan)
    told = [*notice_lines(list_notices_beside_drift(plan, found), full=full), *outside_lines(plan.outside)]
    others_told = [BLANK, *told] if told else []
    style: Style = "warn" if plan.unapplied else "bold"
    if not found:
        limits = describe_read_limit(plan.reads)
        more = [line((limits, "dim"))] if limits else []
        return line((summarize_drift(plan), style)), *more, *others_told
    listed, rest = fold(found, full=full)
    tables = [_drift_rows(drift, full=full) for drift in listed]
    shared = fit_columns([row for table in tables for row in table], full=full)
    at = min(max(width(drift.address) for drift in listed), _drift_address_max)
    who = shorten_names(whom, full=full)
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


def _drift_rows(drift: Drift, *, full: bool) -> list[ShownField]:
    table = make_field_rows(drift.address.kind, drift.fields, full=full)
    if drift.cause != "both":
        return table
    return [structs.replace(row, before=DisplayedValue("(not known)", placeholder=True)) for row in table]


# --- A plan as lines for a terminal: counts first, deletes on top, and for every field why it changes
#
# Belongs here: the order and the wording of a plan. Runs are in `runs.py`, drift in `drift.py`; both are
# named here too, so that a caller needs this module alone. Not here: printing, colour codes, decisions.


__all__ = ["Line", "Span", "Style", "drift_lines", "plain", "plan_lines", "problem_lines", "run_lines"]

_head_columns = 50  # where the calls stand in the head line
_address_min, _address_max = 40, 64  # columns of an address in a headline; longer ones push their own line
_screen_lines = 40  # a plan longer than this repeats its counts at the end, where the reader stands


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
    counts, alike = _counts(plan), find_lookalikes(plan)
    who = shorten_names(whom, full=full)
    ambiguous = [skip for skip in plan.skips if skip.reason in UNCERTAIN]
    others = [skip for skip in plan.skips if skip.reason not in UNCERTAIN]
    blocks = [
        _skips(ambiguous, who, full=full),
        _deletes(plan, alike, full=full),
        _updates(plan, who, full=full),
        _creates(plan, alike, full=full, sizes=sizes or {}),
        _bookkeeping(plan, who, full=full),
        _skips(others, who, full=full),
        notice_lines(plan.notices, full=full),
        [*_reads(plan, full=full), *outside_lines(plan.outside)],
        _refusals(verdict),
    ]
    body: list[Line] = [*_agreed(plan), _head(plan, seconds), *_selection(plan), BLANK, *counts, BLANK]
    for block in blocks:
        body += [*block, BLANK] if block else []
    body += [] if full else _cut_values(body)
    if len(body) > _screen_lines:
        body += [*counts, BLANK]
    if not plan.changes and (limits := describe_read_limit(plan.reads)):
        body += [line((limits, "dim")), BLANK]
    return *body, _last(plan, verdict, next_step)


def _agreed(plan: Plan) -> list[Line]:
    """Say what a person has agreed to, before anything else."""
    agreements = list_agreements(plan)
    lines = [line("  ", (describe_agreement(one), "warn")) for one in agreements]
    return [line((f"{AGREED_TITLE}:", "bold")), *lines, BLANK] if lines else []


def _cut_values(body: Sequence[Line]) -> list[Line]:
    """Say what an ellipsis within a line means, where one stands; lines that count a rest say it already."""
    texts = ("".join(span.text for span in spans) for spans in body)
    cut = any("…" in text and not text.lstrip().startswith("… and ") for text in texts)
    return (
        [line(("… stands for the rest of a long value; --full shows all of it", "dim")), BLANK] if cut else []
    )


def _head(plan: Plan, seconds: float | None) -> Line:
    title = f"{plan.target.stack} → {plan.target.origin}"
    calls = [count(sum(read.calls for read in plan.reads), "call")] if plan.counted else []
    if seconds is not None:
        calls.append(f"{seconds:.1f} s")
    avoided = sum(read.avoided for read in plan.reads)
    about = ", ".join(calls) + (f"; {avoided:,} more avoided" if avoided else "")
    return line((pad(title, _head_columns), "bold"), "  ", (about, "dim"))


def _selection(plan: Plan) -> list[Line]:
    chosen = [f"--only {text}" for text in plan.options.only]
    chosen += [f"--except {text}" for text in plan.options.excluded]
    lines = [line(("selected by " + " ".join(chosen), "dim"))] if chosen else []
    if plan.options.undo_of:
        lines.append(line((f"undoes run {plan.options.undo_of}", "bold")))
    lines += [line((describe_answer(one), "dim")) for one in plan.answers]
    if plan.commit:
        lines.append(line((f"commit {plan.commit}", "dim" if "+" not in plan.commit else "warn")))
    return lines


def _counts(plan: Plan) -> list[Line]:
    """Every entity that was looked at, by what happens to it; what does not occur is not named."""
    skipped = Counter(skip.reason for skip in plan.skips)
    numbers: list[tuple[int, str, Style]] = [
        (plan.count("delete"), "delete", "delete"),
        (plan.count("update"), "update", "update"),
        (plan.count("create"), "create", "create"),
        (sum(plan.unchanged.values()), "unchanged", ""),
        (len(plan.adoptions), "adopted", ""),
        *((number, _left(word, number), "") for word, number in plan.postponed.items()),
        (len(plan.renames), "renamed", ""),
        (len(plan.gone) + len(plan.forgotten), "forgotten", ""),
        (len(plan.records) - len(plan.forgotten), "recorded anew", ""),
        (skipped.pop("protected", 0), "protected", ""),
        *((number, reason, "warn") for reason, number in sorted(skipped.items())),
        (len(plan.notices), "notice" if len(plan.notices) == 1 else "notices", "warn"),
        (sum(plan.unmanaged.values()), "unmanaged", "dim"),
    ]
    parts: list[tuple[str, Style]] = [] if plan.changes else [("no changes", "")]
    for number, word, style in numbers:
        if number:
            text = count(number, word) if style in {"delete", "update", "create"} else f"{number:,} {word}"
            parts.append((text, style))
    return flow(parts)


def _headline(sign: str, style: Style, address: Address, about: str, columns: int) -> Line:
    return line((f"{sign} ", style), (pad(address, columns), style), "  ", (about, "dim"))


def _address_columns(addresses: Sequence[Address]) -> int:
    longest = max((width(address) for address in addresses), default=0)
    return min(max(longest, _address_min), _address_max)


def _deletes(plan: Plan, alike: Mapping[Address, Address], *, full: bool) -> list[Line]:
    changes = [change for change in plan.changes if isinstance(change, Delete)]
    listed, rest = fold(changes, full=full)
    at = _address_columns([change.address for change in listed])
    lines: list[Line] = []
    for change in listed:
        why = f"duplicate of {change.address.base}" if change.cause == "duplicate" else change.cause
        moves = {one.before: one.after for one in plan.moves or ()}
        why = f"moves to {moves[change.address]}" if change.address in moves else why
        lines.append(_headline("-", "delete", change.address, why, at))
        lines += [line("    ", change.keeps, " stays")] if change.keeps else []
        lines += [line("    ", (describe_origin(change), "delete"))] if change.adopted else []
        below = " or ".join(child.name for child in child_kinds(change.address.kind))
        lines += [line(f"    and its {below} ", (name, "delete")) for name in change.cascades]
        lines += delete_lines(change.before, change.address.kind, full=full)
        lines += rename_hint_lines(alike, change)
    return [*lines, *rest]


def _updates(plan: Plan, whom: DisplayName, *, full: bool) -> list[Line]:
    changes = [change for change in plan.changes if isinstance(change, Update)]
    listed, rest = fold(changes, full=full)
    tables = [make_field_rows(change.address.kind, change.fields, full=full) for change in listed]
    shared = fit_columns([row for table in tables for row in table], full=full)
    at = _address_columns([change.address for change in listed])
    lines: list[Line] = []
    for change, table in zip(listed, tables, strict=True):
        lines += _update(change, table, at, shared, who=whom(change.address))
        if path := plan.contents.get(change.address):
            lines.append(line(("    its content is sent from ", "dim"), path))
    return [*lines, *rest]


def _update(change: Update, table: list[ShownField], at: int, shared: Columns, *, who: str) -> list[Line]:
    adopts = f"adopted by {change.adopts}" if change.adopts else ""
    about = ", ".join(filter(None, [who, change.place, adopts]))
    fields = [each for row in table for each in row_lines(row, shared)]
    return [_headline("~", "update", change.address, about, at), *fields]


def _creates(
    plan: Plan, alike: Mapping[Address, Address], *, full: bool, sizes: Mapping[Address, int]
) -> list[Line]:
    changes = [change for change in plan.changes if isinstance(change, Create)]
    listed, rest = fold(changes, full=full)
    at = _address_columns([change.address for change in listed])
    lines: list[Line] = []
    for change in listed:
        why = "gone from the service" if change.cause == "gone" else change.cause
        moved = next((one for one in plan.moves or () if one.after == change.address), None)
        came = f"moves from {moved.before}" if moved else why
        about = (
            change.place
            if change.cause == "declared" and not moved
            else ", ".join(filter(None, [change.place, came]))
        )
        lines.append(_headline("+", "create", change.address, about, at))
        lines += create_lines(change, full=full, sizes=sizes, contents=plan.contents)
        if moved and moved.carried:
            lines.append(line(("    carried over, declared by nobody: ", "dim"), ", ".join(moved.carried)))
        lines += rename_hint_lines(alike, change)
    return [*lines, *rest]


def _bookkeeping(plan: Plan, whom: DisplayName, *, full: bool) -> list[Line]:
    listed, rest = fold(list_record_changes(plan), full=full)
    at = _address_columns([address for address, _ in listed])
    texts = [(one, ", ".join(filter(None, [whom(one), text]))) for one, text in listed]
    return [*(_headline("=", "dim", address, text, at) for address, text in texts), *rest]


def _left(word: str, number: int) -> str:
    return f"{word}{'' if number == 1 else 's'} left for an apply"


def _skips(skips: Sequence[Skip], whom: DisplayName, *, full: bool) -> list[Line]:
    listed, rest = fold(skips, full=full)
    return [each for skip in listed for each in _skip(skip, whom(skip.address))] + list(rest)


def _skip(skip: Skip, who: str) -> list[Line]:
    # What is said of one field names that field first; anything else has the address as its subject.
    joint = ": " if skip.reason == "taken over" else " "
    named = f" ({who})" if who else ""
    what = f"{skip.address}{named}{joint}{skip.what} [{SKIP_CODES[skip.reason]}]"
    return sentence("! ", what, skip.next)


def _reads(plan: Plan, *, full: bool) -> list[Line]:
    listed, rest = fold([read for read in plan.reads if read.how or not read.complete], full=full)
    return [*(_read(read, plan.created_at) for read in listed), *rest]


def _read(read: Read, at: str) -> Line:
    unread = "" if read.complete else ", not complete"
    return line((f"{read.scope}: {describe_read(read, at)}", "dim"), (unread, "warn"))


def _refusals(verdict: Verdict) -> list[Line]:
    return [
        each
        for reason in verdict.reasons
        for each in sentence(
            "refused: ",
            f"{reason.what} [{reason.rule}]",
            reason.next,
            style="delete",
        )
    ]


def failure_lines(plan: Plan, verdict: Verdict) -> tuple[Line, ...]:
    """Return why a plan that was made is no success: what the guard refuses, and who is ambiguous.

    For a log that does not hold the plan itself.
    """
    uncertain = [skip for skip in plan.skips if skip.reason in UNCERTAIN]
    told = [notice for notice in plan.notices if notice.kind == "ambiguous"]
    lines = [*_refusals(verdict), *_skips(uncertain, no_name, full=False), *notice_lines(told, full=False)]
    if not verdict.safe:
        lines.append(line("Refused; nothing was written."))
    return tuple(lines)


def _last(plan: Plan, verdict: Verdict, next_step: str) -> Line:
    if not verdict.safe:
        said = "Refused; nothing was written."
    elif plan.changes:
        said = f"Nothing was written.  next: {next_step}"
    elif any(skip.reason in UNCERTAIN for skip in plan.skips):
        said = "Nothing was written: resolve what is ambiguous at the service first."
    elif any(skip.reason in SECRET_NEEDED for skip in plan.skips):
        said = "Nothing was written: some entities wait for a secret; declare it first."
    elif plan.to_keep:
        said = f"{count(plan.to_keep, 'record')} to keep; apply needed.  next: {next_step}"
    else:
        said = (
            "Nothing to undo."
            if plan.options.undo_of
            else f"{limit_claim('Nothing to do: the service matches the manifests', plan.reads)}."
        )
    code = short_fingerprint(plan.fingerprint)
    return line((said, "bold"), ("   fingerprint " + code if code else "", "dim"))


def problem_lines(problems: Sequence[Problem]) -> tuple[Line, ...]:
    """Return every problem in its given order: the place and the mistake, then what to do."""
    return tuple(
        each
        for problem in problems
        for each in sentence(f"{problem.where}: ", problem.what, problem.next, style="bold")
    )


# --- The report as plain text: what a terminal shows, unfolded and without colour; values included


def text(review: Review) -> str:
    """Return the plan or the drift; of a run its plan without the last line, then how each change ended."""
    if review.command == "drift":
        return escape_ci_commands(plain(drift_lines(review.plan, full=True, whom=review.whom)))
    lines = plan_lines(review.plan, review.verdict, full=True, next_step=review.next_step, whom=review.whom)
    if review.run is not None:  # the last line speaks of what comes next, and that is over
        lines = (*lines[:-1], BLANK, *run_lines(review.run, full=True, verbose=True))
    return escape_ci_commands(plain(lines))


def text_of_checks(result: Validated) -> str:
    """Return the mistakes, the warnings and their number as plain text."""
    lines = [*problem_lines(result.problems), *notice_lines(result.notices, full=True)]
    mistakes = count(len(result.problems), "mistake") if result.problems else "No mistakes"
    return escape_ci_commands(plain(lines)) + f"{mistakes}, {count(len(result.notices), 'warning')}.\n"
