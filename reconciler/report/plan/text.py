"""A plan as lines for a terminal: counts first, deletes on top, and for every field why it changes.

Belongs here: the order and the wording of a plan. Runs are in `runs.py`, drift in `drift.py`; both are
named here too, so that a caller needs this module alone. Not here: printing, colour codes, decisions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import assert_never

from reconciler.core.review.consents import list_agreements
from reconciler.core.review.lookalikes import lookalikes
from reconciler.core.review.whom import Whom, nobody
from reconciler.errors import Problem
from reconciler.model.address import Address
from reconciler.model.codes import SKIP_CODES
from reconciler.model.kinds import child_kinds
from reconciler.model.plans import (
    SECRET_NEEDED,
    UNCERTAIN,
    Adoption,
    Create,
    Delete,
    Plan,
    RecordChange,
    Skip,
    Update,
    Verdict,
)
from reconciler.model.snapshots import UNKNOWN, Read
from reconciler.report.answers import answer_words
from reconciler.report.consents import TITLE, agreement_words
from reconciler.report.lines import (
    BLANK,
    Line,
    Span,
    Style,
    count,
    flow,
    fold,
    line,
    notice_lines,
    outside_lines,
    pad,
    plain,
    sentence,
    width,
)
from reconciler.report.plan.drift import called, drift_lines
from reconciler.report.plan.fields import (
    Columns,
    ShownField,
    columns,
    create_lines,
    delete_lines,
    row_lines,
    rows,
)
from reconciler.report.plan.hints import hint_lines
from reconciler.report.reads import as_far_as_read, limited, read_words
from reconciler.report.runs.runs import run_lines
from reconciler.report.values import short_fingerprint

__all__ = ["Line", "Span", "Style", "drift_lines", "plain", "plan_lines", "problem_lines", "run_lines"]

_head_columns = 50  # where the calls stand in the head line
_address_min, _address_max = 40, 64  # columns of an address in a headline; longer ones push their own line
_paths_max = 3  # paths of fields in one line about a record
_screen_lines = 40  # a plan longer than this repeats its counts at the end, where the reader stands


def plan_lines(
    plan: Plan,
    verdict: Verdict,
    *,
    full: bool = False,
    next_step: str = "reconciler apply",
    seconds: float | None = None,
    sizes: Mapping[Address, int] | None = None,
    whom: Whom = nobody,
) -> tuple[Line, ...]:
    """Return the whole plan as lines: consent, head, counts, changes, what is left alone, refusals.

    `full` folds nothing and cuts nothing. `next_step` is the command that would carry the plan out.
    `seconds` is how long planning took; `sizes` are octets of content by address, where known;
    `whom` says who the entities are of which the plan holds no fields; it is asked of what is shown.
    """
    counts, alike = _counts(plan), lookalikes(plan)
    who = called(whom, full=full)
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
    if not plan.changes and (limits := as_far_as_read(plan.reads)):
        body += [line((limits, "dim")), BLANK]
    return *body, _last(plan, verdict, next_step)


def _agreed(plan: Plan) -> list[Line]:
    """Say what a person has agreed to, before anything else."""
    agreements = list_agreements(plan)
    lines = [line("  ", (agreement_words(one), "warn")) for one in agreements]
    return [line((f"{TITLE}:", "bold")), *lines, BLANK] if lines else []


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
    lines += [line((answer_words(one), "dim")) for one in plan.answers]
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
        (sum(plan.unmanaged.values()), "not ours", "dim"),
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
        lines += [line("    ", (origin(change), "delete"))] if change.adopted else []
        below = " or ".join(child.name for child in child_kinds(change.address.kind))
        lines += [line(f"    and its {below} ", (name, "delete")) for name in change.cascades]
        lines += delete_lines(change.before, change.address.kind, full=full)
        lines += hint_lines(alike, change)
    return [*lines, *rest]


def origin(change: Delete) -> str:
    """Return whether what is deleted existed before it was ours, as far as anybody wrote that down."""
    if change.adopted == UNKNOWN:
        return "whether it existed before us is not known"
    return f"existed before us, adopted on {change.adopted[:10]}"


def _updates(plan: Plan, whom: Whom, *, full: bool) -> list[Line]:
    changes = [change for change in plan.changes if isinstance(change, Update)]
    listed, rest = fold(changes, full=full)
    tables = [rows(change.address.kind, change.fields, full=full) for change in listed]
    shared = columns([row for table in tables for row in table], full=full)
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
        lines += hint_lines(alike, change)
    return [*lines, *rest]


def _bookkeeping(plan: Plan, whom: Whom, *, full: bool) -> list[Line]:
    listed, rest = fold(bookkeeping(plan), full=full)
    at = _address_columns([address for address, _ in listed])
    texts = [(one, ", ".join(filter(None, [whom(one), text]))) for one, text in listed]
    return [*(_headline("=", "dim", address, text, at) for address, text in texts), *rest]


def bookkeeping(plan: Plan) -> list[tuple[Address, str]]:
    """Return what changes in our records and nowhere else: the address, and what of it."""
    state = "as it is; adopted" if plan.options.adopt else "is there as declared; adopted"
    about = [(one.address, _adopted(one, state)) for one in plan.adoptions]
    about += [(new, f"renamed from {old}") for old, new in sorted(plan.renames.items())]
    about += [(one.address, _kept(one)) for one in plan.records]
    forgotten = "gone and no longer declared; forgotten"
    if plan.options.undo_of:
        forgotten = "adopted by that run; ours no longer"
    return [*about, *((address, forgotten) for address in plan.gone)]


def _kept(change: RecordChange) -> str:
    match change.what:
        case "protected":
            return "protected from now on"
        case "no longer protected":
            return "no longer protected"
        case "fields":
            more = f" and {len(change.fields) - _paths_max} more" if len(change.fields) > _paths_max else ""
            return f"recorded anew: {', '.join(change.fields[:_paths_max])}{more}"
        case "forgotten":
            return "removed from the manifests; ours no longer, and what is live stays"
    assert_never(change.what)


def _adopted(adoption: Adoption, state: str) -> str:
    return f"{state} by {adoption.by}" if adoption.by else state


def _left(word: str, number: int) -> str:
    return f"{word}{'' if number == 1 else 's'} left for an apply"


def _skips(skips: Sequence[Skip], whom: Whom, *, full: bool) -> list[Line]:
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
    return line((f"{read.scope}: {read_words(read, at)}", "dim"), (unread, "warn"))


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
    lines = [*_refusals(verdict), *_skips(uncertain, nobody, full=False), *notice_lines(told, full=False)]
    if not verdict.safe:
        lines.append(line("Nothing was written, and this plan will not be."))
    return tuple(lines)


def _last(plan: Plan, verdict: Verdict, next_step: str) -> Line:
    if not verdict.safe:
        said = "Nothing was written, and this plan will not be."
    elif plan.changes:
        said = f"Nothing was written.  next: {next_step}"
    elif any(skip.reason in UNCERTAIN for skip in plan.skips):
        said = "Nothing was written: what is ambiguous has to be settled at the service first."
    elif any(skip.reason in SECRET_NEEDED for skip in plan.skips):
        said = "Nothing was written: what waits for a secret has to be given it first."
    elif plan.to_keep:
        said = f"{count(plan.to_keep, 'record')} to keep; apply needed.  next: {next_step}"
    else:
        said = (
            "Nothing to undo."
            if plan.options.undo_of
            else f"{limited('Nothing to do: the service matches the manifests', plan.reads)}."
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
