"""One description of a review, from which every form of a report is written.

A review is a plan with the guard's verdict, a drift, the run that carried a plan out, or what `validate`
found. `build_review` and `build_validation` choose what is shown, in which order and in which words; a form
only lays it out. Everything here is text as it is: each form escapes it by its own rules. Entries are made as
they are asked for, once for each walk: a review may have 100,000 of them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal, assert_never

from msgspec import Struct, structs

from reconciler.core.review.display_names import DisplayName, find_lookalikes, no_name
from reconciler.core.review.drift import (
    Drift,
    count_not_applied,
    find_drift,
    list_notices_beside_drift,
    summarize_drift,
)
from reconciler.core.review.guard import list_agreements
from reconciler.errors import Problem
from reconciler.model.address import Address
from reconciler.model.codes import CODES
from reconciler.model.documents import Fields, Scalar
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice
from reconciler.model.plans import (
    SECRET_NEEDED,
    UNCERTAIN,
    Change,
    Create,
    Delete,
    FieldChange,
    Plan,
    Skip,
    Update,
    Verdict,
    action_of,
)
from reconciler.model.runs import Outcome, Result, Run
from reconciler.report.lines import count
from reconciler.report.phrases import (
    count_below,
    count_by_kind,
    describe_agreement,
    describe_answer,
    describe_origin,
    describe_read,
    describe_read_limit,
    explain_drift,
    explain_notice,
    explain_skip,
    is_revived,
    limit_claim,
    list_record_changes,
    rename_hint,
)
from reconciler.report.values import DisplayedValue, display_change, display_value, short_fingerprint

# --- What a report is about ---------------------------------------------------------------------------


class Review(Struct, frozen=True):
    """A plan with the guard's verdict, and the run that carried it out, or None.

    `command` is the subcommand whose result this is: plan, drift, show, apply, resume. `exit_code` is what
    the command ends with (docs/guides/exit-codes.md). `next_step` is the command that carries the plan
    out, or "". Without `show_values` a report for many readers names fields and leaves values out; secrets
    are masked in the plan itself, in every case. `whom` says who an entity is: a value like any other.
    """

    command: str
    plan: Plan
    verdict: Verdict
    exit_code: int
    run: Run | None = None
    next_step: str = ""
    show_values: bool = False
    whom: DisplayName = no_name


class Validated(Struct, frozen=True):
    """What `validate` found: every mistake in file order, and every warning."""

    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...] = ()


Tone = Literal["delete", "warn", ""]

# Worst first: what a person has to look at stands on top.
WORST_FIRST: tuple[Result, ...] = ("in doubt", "failed", "conflict", "skipped", "not attempted", "applied")


# --- The document ---------------------------------------------------------------------------------------


class EntryField(Struct, frozen=True, gc=False):
    """One field of an entry. `form` says what `before` and `after` are.

    name: values are not shown, and none is here. value: `after` is the whole field. change: before and
    after a write. drift: what was left, what is live (before is not known where the manifest changed too).
    readback: what was sent, what the service shows.
    """

    kind: str
    path: str
    form: Literal["name", "value", "change", "drift", "readback"]
    before: Scalar | None
    after: Scalar | None
    cause: str = ""

    def texts(self, limit: int) -> tuple[DisplayedValue, ...]:
        """Return the value, or both, as inert text of at most `limit` characters (0: any length)."""
        match self.form:
            case "name":
                return ()
            case "value":
                return (display_value(self.kind, self.path, self.after, limit=limit),)
            case "readback":
                return (self._read_back(self.before, limit), self._read_back(self.after, limit))
            case "change" | "drift":
                cause: Any = self.cause
                both = display_change(
                    self.kind, FieldChange(self.path, self.before, self.after, cause), limit=limit
                )
                unknown = self.form == "drift" and self.cause == "both"
                return (DisplayedValue("(not known)", placeholder=True), both[1]) if unknown else both
        assert_never(self.form)

    def _read_back(self, value: Scalar | None, limit: int) -> DisplayedValue:
        if value is None:
            return DisplayedValue("nothing", placeholder=True)
        return display_value(self.kind, self.path, value, limit=limit)


class Note(Struct, frozen=True, gc=False):
    """A few words about an entry. `cause` can be filtered by; `warning` is what to look at."""

    text: str
    role: Literal["", "cause", "warning", "result", "place"] = ""
    tone: str = ""


class Entry(Struct, frozen=True):
    """One change, record, outcome, notice or mistake.

    `subject` is an address, or what else it is about; `who` is a person's name for it, where values are
    shown. `fields_title` is there where the fields may be folded, and `folded` where they begin so.
    """

    subject: str
    who: str = ""
    notes: tuple[Note, ...] = ()
    what: str = ""
    next: str = ""
    fields: tuple[EntryField, ...] = ()
    fields_title: str = ""
    folded: bool = False


class Section(Struct, frozen=True):
    """A list of entries, never empty in a document. `name` is its id, unique in the document.

    `parts` are the same entries in several lists, for a form in which one can be hidden by itself.
    """

    name: str
    title: str
    count: int
    make_entries: Callable[[], Iterator[Entry]]
    about: str = ""
    label: str = ""  # in place of a title that is too long
    parts: tuple["Section", ...] = ()


class Fact(Struct, frozen=True):
    """A name and a value. `notes` are counts beside it; `code` is set where a person copies the value."""

    name: str
    text: str
    code: bool = False
    notes: tuple[Note, ...] = ()


class Tally(Struct, frozen=True):
    """A table of counts: one column an action, the most frequent row first."""

    title: str
    head: str
    rows: tuple[tuple[str, Mapping[str, int]], ...]


class Choice(Struct, frozen=True):
    """Something that entries can be filtered by: its name, its label, and its values in order."""

    name: str
    label: str
    values: tuple[str, ...]


class Clause(Struct, frozen=True):
    """A part of a sentence, and whether it is a warning."""

    text: str
    tone: Tone = ""


class ReviewSummary(Struct, frozen=True):
    """`first` are the clauses of the headline, `grave` what makes deletes worse, `more` the rest."""

    first: tuple[Clause, ...]
    grave: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


class ReviewDocument(Struct, frozen=True):
    """Everything a review shows, most important first. What does not apply is empty.

    `example` says what there is to search for.
    """

    command: str
    subject: str
    target: str
    headline: tuple[Clause, ...]
    agreements: tuple[str, ...] = ()
    grave: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    refusals: tuple[Entry, ...] = ()
    next_step: str = ""
    hides_values: bool = False
    stopped: str = ""
    run: tuple[Fact, ...] = ()
    sections: tuple[Section, ...] = ()
    reading: tuple[Entry, ...] = ()
    facts: tuple[Fact, ...] = ()
    closing: str = ""
    actions: tuple[str, ...] = ()
    tallies: tuple[Tally, ...] = ()
    choices: tuple[Choice, ...] = ()
    example: str = "Name, field or value"

    @property
    def title(self) -> str:
        """The command and the headline."""
        return f"{self.command}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """The headline as one sentence."""
        return enumerate_words([clause.text for clause in self.headline]) + "."


# --- A review -------------------------------------------------------------------------------------------

_CAUSES = {"gone": "gone from the service"}
_ENDED: Mapping[Result, str] = {"in doubt": "bad", "failed": "bad", "applied": "good"}
_ACTIONS = ("delete", "update", "create", "drift", "mistake", "warning")  # columns of tallies, in this order
_DIMENSIONS = (("By kind", "Kind"), ("By cause", "Cause"), ("By workspace", "Workspace"))
_rows_max = 8  # of a tally; what is beyond them is counted together


def build_review(review: Review) -> ReviewDocument:
    """Return the document of a plan, a drift, or a run with its plan. It holds no secret and no salt."""
    plan, run = review.plan, review.run
    parts = summarize_review(review)
    counted = _count_drifts(plan) if review.command == "drift" else _count_changes(plan.changes)
    safe = review.verdict.safe
    return ReviewDocument(
        command=review.command,
        subject=plan.target.stack,
        target=plan.target.origin,
        agreements=tuple(describe_agreement(one) for one in list_agreements(plan)),
        headline=parts.first,
        grave=parts.grave,
        details=parts.more,
        refusals=tuple(Entry("", what=one.what, next=one.next) for one in review.verdict.reasons),
        next_step=review.next_step if safe else "",
        hides_values=not review.show_values,
        stopped=run.stopped if run else "",
        run=tuple(_run_facts(run)) if run else (),
        sections=tuple(one for one in _review_sections(review) if one.count),
        reading=tuple(_reading(plan)),
        facts=tuple(one for one in _review_facts(review) if one.text),
        actions=counted.actions,
        tallies=tuple(_name_kinds(one) for one in counted.tallies(*_DIMENSIONS)),
        choices=(
            *counted.choices(("kind", "Kind", 0), ("workspace", "Workspace", 2), ("cause", "Cause", 1)),
            *(
                [Choice("result", "Result", tuple(one for one in WORST_FIRST if run.count(one)))]
                if run
                else []
            ),
        ),
    )


def _review_sections(review: Review) -> Iterator[Section]:
    """Yield every list in its order: what went wrong, what goes away, then what is less grave."""
    plan, make = review.plan, _EntryMaker.of(review)
    if review.run:
        about = "Of this run, the worst first."
        yield _section("ended", "Not as planned", _unexpected(plan, review.run.outcomes), make.outcome, about)
    if review.command == "drift":
        about = "What the last apply left, then what is live now."
        yield _section("drift", "Changed by others", find_drift(plan), make.drift, about)
    else:
        ambiguous = [one for one in plan.skips if one.reason in UNCERTAIN]
        about = "It is not certain which entity is meant; none of them is written."
        yield _section("ambiguous", "Ambiguous", ambiguous, make.skip, about)
        yield from _change_sections(plan, make)
        records = list_record_changes(plan)
        yield _section(
            "records", "Records", records, make.record, "Kept by us; nothing changes at the service."
        )
        others = [one for one in plan.skips if one.reason not in UNCERTAIN]
        yield _section("skips", "Left alone", others, make.skip, "Seen, and not acted on.")
    about = "Good to know; nothing is done about it."
    yield _section("notices", "Notices", list_review_notices(review), make.notice, about)


def _section(
    name: str,
    title: str,
    items: Sequence[Any],
    entry: Callable[[Any], Entry],
    about: str = "",
    *,
    label: str = "",
) -> Section:
    return Section(name, title, len(items), partial(map, entry, items), about, label)


def _change_sections(plan: Plan, make: "_EntryMaker") -> Iterator[Section]:
    deletes = [one for one in plan.changes if isinstance(one, Delete)]
    ours, before = ([one for one in deletes if bool(one.adopted) is adopted] for adopted in (False, True))
    about = "Adopted by us, and not made by us."
    parts = (
        _section("deletes", "Deletes", ours, make.change),
        _section(
            "before",
            "Deletes of what existed before us",
            before,
            make.change,
            about,
            label="Existed before us",
        ),
    )
    whole = _section("deletes", "Deletes", deletes, make.change)
    yield structs.replace(whole, parts=tuple(one for one in parts if one.count))
    for name, title, kind in (("updates", "Updates", Update), ("creates", "Creates", Create)):
        yield _section(name, title, [one for one in plan.changes if isinstance(one, kind)], make.change)


def list_review_notices(review: Review) -> list[Notice]:
    """Return the notices; of a drift without those that its own entries tell."""
    if review.command != "drift":
        return [*review.plan.notices]
    return [*list_notices_beside_drift(review.plan, find_drift(review.plan))]


def _unexpected(plan: Plan, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes a person has to look at, worst first; then those of no change of this plan."""
    planned = {change.address for change in plan.changes}
    return [
        one
        for result in WORST_FIRST
        for one in outcomes
        if one.result == result and (result != "applied" or one.what or one.address not in planned)
    ]


def _reading(plan: Plan) -> Iterator[Entry]:
    """Yield how lists were read, where that limits what is known, and what is ours without a manifest."""
    for read in plan.reads:
        if read.how or not read.complete:
            incomplete = "" if read.complete else ", not complete"
            yield Entry(str(read.scope), what=f"{describe_read(read, plan.created_at)}{incomplete}")
    for scope, number in plan.outside.items():
        yield Entry(str(scope), what=f"{number:,} recorded, and no manifest declares them; left unchanged")


def _review_facts(review: Review) -> Iterator[Fact]:
    plan = review.plan
    names = (f"{one.alias} ({one.name})" if one.name else one.alias for one in plan.target.workspaces)
    yield Fact("Workspaces", ", ".join(names))
    chosen = [f"--only {one}" for one in plan.options.only]
    yield Fact("Selected by", " ".join([*chosen, *(f"--except {one}" for one in plan.options.excluded)]))
    yield Fact("Undoes run", plan.options.undo_of)
    yield Fact("Commit", plan.commit or "")
    yield Fact("Planned at", format_moment(plan.created_at))
    yield Fact("Expires at", format_moment(plan.expires_at))
    yield Fact("Fingerprint", short_fingerprint(plan.fingerprint))
    calls, avoided = (sum(getattr(read, name) for read in plan.reads) for name in ("calls", "avoided"))
    yield Fact(
        "Read with", f"{calls:,} calls{f' ({avoided:,} more avoided)' if avoided else ''}" if calls else ""
    )
    yield Fact("Exit code", str(review.exit_code))


def _run_facts(run: Run) -> Iterator[Fact]:
    """Yield how a run ended: outcomes, time, calls by method, and what names it in a history."""
    ended = (
        Note(f"{run.count(one):,} {one}", "result", _ENDED.get(one, "fair"))
        for one in WORST_FIRST
        if run.count(one)
    )
    yield Fact("Outcome", run.outcome, notes=tuple(ended))
    yield Fact("Time", _run_time(run))
    kinds = ", ".join(f"{number:,} {method}" for method, number in sorted(run.calls.items()) if number)
    yield Fact("Calls", count(sum(run.calls.values()), "call") + (f" ({kinds})" if kinds else ""))
    if run.gap:
        again = f"; {count(run.gap.looked_again, 'write')} held back" if run.gap.looked_again else ""
        yield Fact(
            "From look to write",
            f"median {run.gap.median_ms:g} ms, 99 % within {run.gap.p99_ms:g} ms{again}",
        )
    if run.adopted or run.records:
        yield Fact("Records", f"{run.records:,} kept, {run.adopted:,} adopted")
    context = run.context
    for name, value in (
        ("Run", run.run), ("Resumes", run.resumes), ("Program", context.program), ("Commit", context.commit),
        ("Trace", context.trace_id), ("History", run.audit_head),
    ):  # fmt: skip
        if value:
            yield Fact(name, value, code=True)


def _run_time(run: Run) -> str:
    span = " to ".join(filter(None, [format_moment(run.started_at), format_moment(run.ended_at)]))
    try:
        took = datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at)
    except (ValueError, TypeError):  # an imported report may lack a time, or its zone
        return span
    return f"{took.total_seconds():,.1f} s ({span})"


def format_moment(at: str) -> str:
    """`2026-03-02 09:30:00 UTC`, of a time as plans and runs have it."""
    if at.endswith(("Z", "+00:00")):
        bare = at.removesuffix("Z").removesuffix("+00:00").partition(".")[0]
        return f"{bare.replace('T', ' ', 1)} UTC"
    return at


# --- Entries of a review --------------------------------------------------------------------------------


class _EntryMaker(Struct, frozen=True):
    """Makes entries; holds what those of one review share.

    `alike` are a delete and a create each that look like one entity under a new name, by both addresses;
    `moves` are those that are known to be one. Without values `whom` says nothing.
    """

    show_values: bool
    contents: Mapping[Address, str]
    results: Mapping[tuple[Address, str], Result]
    alike: Mapping[Address, Address]
    moves: Mapping[Address, Address]
    whom: DisplayName

    @classmethod
    def of(cls, review: Review) -> "_EntryMaker":
        plan, outcomes = review.plan, review.run.outcomes if review.run else ()
        moves = {one.before: one.after for one in plan.moves or ()}
        moves |= {one.after: one.before for one in plan.moves or ()}
        results = {(one.address, one.action): one.result for one in outcomes}
        who = review.whom if review.show_values else no_name
        return cls(review.show_values, plan.contents, results, find_lookalikes(plan), moves, who)

    def change(self, change: Change) -> Entry:
        """One change: whom it is about, why, and every field of it."""
        address, kind = change.address, change.address.kind
        result = self.results.get((address, action_of(change)))
        ended = [Note(result, "result", _ENDED.get(result, "fair"))] if result else []
        hint = rename_hint(self.alike, change)
        what, step = (hint.what, hint.next) if hint else ("", "")
        match change:
            case Delete():
                notes = (*ended, *self._deleted(change))
                title = f"{count(len(change.before), 'field')} lost" if change.before else ""
                rows, who = self._value_rows(kind, change.before), self._presented(kind, change.before)
                return Entry(address, who, notes, what, step, rows, title)
            case Update():
                adopts = [Note(f"adopted by {change.adopts}")] if change.adopts else []
                notes = (*ended, *_place(change.place), *adopts, *self._content(address))
                rows = tuple(
                    self._row(EntryField(kind, one.path, "change", one.before, one.after, one.cause))
                    for one in change.fields
                )
                return Entry(address, self.whom(address), notes, what, step, rows)
            case Create():
                cause = "" if change.cause == "declared" else _CAUSES.get(change.cause, change.cause)
                moved = self.moves.get(address)
                cause = f"moves from {moved}" if moved else cause
                notes = (*ended, *_place(change.place), *_cause(cause), *self._content(address))
                title = count(len(change.fields), "field") if change.fields else ""
                rows, who = self._value_rows(kind, change.fields), self._presented(kind, change.fields)
                return Entry(address, who, notes, what, step, rows, title, folded=True)
        assert_never(change)

    def _deleted(self, change: Delete) -> Iterator[Note]:
        why = f"duplicate of {change.address.base}" if change.cause == "duplicate" else change.cause
        moved = self.moves.get(change.address)
        yield from _cause(f"moves to {moved}" if moved else why)
        if change.adopted:
            yield Note(describe_origin(change), "warning")
        if change.keeps:
            yield Note(f"{change.keeps} stays")
        if change.cascades:
            # By device name, where it is not recorded: that is a value.
            named = f": {', '.join(change.cascades)}" if self.show_values else ""
            yield Note(f"with {count_below(change.address.kind, len(change.cascades))}{named}", "warning")

    def _presented(self, kind: str, fields: Fields) -> str:
        """What tells a person who or what this is: names and the strongest identity, no secret."""
        if not self.show_values:
            return ""
        paths = [path for path in KINDS[kind].presented if fields.get(path)]
        return " · ".join(display_value(kind, path, fields[path]).text for path in paths)

    def _row(self, row: EntryField) -> EntryField:
        """A document for many readers holds no value, so no form of it can show one."""
        if self.show_values:
            return row
        return EntryField(row.kind, row.path, "name", None, None, row.cause)

    def _value_rows(self, kind: str, fields: Fields) -> tuple[EntryField, ...]:
        return tuple(
            self._row(EntryField(kind, path, "value", None, value)) for path, value in sorted(fields.items())
        )

    def _content(self, address: Address) -> list[Note]:
        path = self.contents.get(address)
        return [Note(f"its content is sent from {path}")] if path else []

    def record(self, record: tuple[Address, str]) -> Entry:
        """What changes in our records of one entity, and nowhere else."""
        address, about = record
        return Entry(address, self.whom(address), (Note(about),))

    def skip(self, skip: Skip) -> Entry:
        """Something that is left alone: why, and what can be done."""
        what = explain_skip(skip, values=self.show_values)
        return Entry(skip.address, self.whom(skip.address), (*_cause(skip.reason),), what, skip.next)

    def notice(self, notice: Notice) -> Entry:
        """What a person should know beside the changes."""
        what, step = explain_notice(notice, values=self.show_values)
        return Entry(notice.subject, "", (*_cause(notice.kind), *_place(notice.place)), what, step)

    def drift(self, drift: Drift) -> Entry:
        """One entity that others changed: what we left, then what is live now."""
        kind, address = drift.address.kind, drift.address
        rows = tuple(
            self._row(EntryField(kind, one.path, "drift", one.before, one.after, one.cause))
            for one in drift.fields
        )
        what = explain_drift(drift, values=self.show_values)
        return Entry(address, self.whom(address), (*_cause(drift.cause),), what, "", rows)

    def outcome(self, outcome: Outcome) -> Entry:
        """How one change ended, and what to do."""
        kind, address = outcome.address.kind, outcome.address
        notes = (Note(outcome.result, "result", _ENDED.get(outcome.result, "fair")), Note(outcome.action))
        own, no = "the service writes it in its own way", "not taken by the service"
        rows = tuple(
            self._row(EntryField(kind, one.path, "readback", one.sent, one.shown, own if one.taken else no))
            for one in outcome.fields
        )
        return Entry(address, self.whom(address), notes, outcome.what, outcome.next, rows)


def _cause(why: str) -> list[Note]:
    return [Note(why, "cause")] if why else []


def _place(place: str) -> list[Note]:
    return [Note(place, "place")] if place else []


# --- What a reader has to know first: what goes away and what costs, then what else happens ---------


_TENSES = {"will": ("will be", "will be"), "would": ("would be", "would be"), "did": ("was", "were")}


def summarize_review(review: Review) -> ReviewSummary:
    """Return what matters of a review, most important first."""
    if review.run is not None:
        return _summarize_run(review.plan, review.run)
    if review.command == "drift":
        return _summarize_drift(review.plan)
    return _summarize_plan(review)


def enumerate_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _summarize_plan(review: Review) -> ReviewSummary:
    plan = review.plan
    if review.command == "resume" and not plan.changes:  # without a run nothing was compared either
        return ReviewSummary((Clause("Nothing to resume: every run of this stack has finished"),))
    tense = "will" if review.verdict.safe else "would"
    grave, other = _grave(plan.changes, tense), _milder(plan.changes, tense)
    first = grave or other or [Clause(_say_nothing_changes(plan))]
    more = [f"{enumerate_words([clause.text for clause in other])}."] if grave and other else []
    deletes = [change for change in plan.changes if isinstance(change, Delete)]
    return ReviewSummary(tuple(first), _worsens(deletes, tense), (*more, *_other_facts(plan)))


def _say_nothing_changes(plan: Plan) -> str:
    ambiguous = sum(1 for skip in plan.skips if skip.reason in UNCERTAIN)
    if ambiguous:
        return f"Nothing can be written: {count(ambiguous, 'entity is', 'entities are')} ambiguous"
    waiting = sum(1 for skip in plan.skips if skip.reason in SECRET_NEEDED)
    if waiting:
        return f"Nothing can be written: {count(waiting, 'entity waits', 'entities wait')} for a secret"
    if plan.to_keep:
        return f"{count(plan.to_keep, 'record')} to keep; nothing changes at the service"
    if plan.options.undo_of:
        return "Nothing to undo"
    return limit_claim("Nothing to do: the service matches the manifests", plan.reads)


def _other_facts(plan: Plan) -> list[str]:
    """Return what a plan says besides its changes."""
    postponed = [count(number, word) for word, number in plan.postponed.items() if number]
    unread = sum(1 for read in plan.reads if not read.complete)
    unchanged, strangers = sum(plan.unchanged.values()), sum(plan.unmanaged.values())
    facts = [
        f"{count(plan.to_keep, 'record')} to keep" if plan.to_keep and plan.changes else "",
        f"{enumerate_words(postponed)} left for an apply" if postponed else "",
        f"{count(len(plan.skips), 'entity', 'entities')} left alone" if plan.skips else "",
        count(len(plan.notices), "notice") if plan.notices else "",
        f"{unchanged:,} unchanged" if unchanged else "",
        f"{strangers:,} unmanaged" if strangers else "",
    ]
    told = [fact for fact in facts if fact]
    lists = count(unread, "list was", "lists were")
    answers = [f"{describe_answer(one).capitalize()}." for one in plan.answers]
    unread_too = [f"{lists} not read completely."] if unread else []
    limits = describe_read_limit(plan.reads)
    known = [limits] if limits and not plan.changes else []
    return ([f"{enumerate_words(told)}."] if told else []) + unread_too + known + answers


def _summarize_drift(plan: Plan) -> ReviewSummary:
    found = {drift.address: drift for drift in find_drift(plan)}
    if plan.unapplied or not found:
        said, limits = summarize_drift(plan).removesuffix("."), describe_read_limit(plan.reads)
        more = (limits,) if limits and not plan.unapplied else ()
        return ReviewSummary((Clause(said, "warn" if plan.unapplied else ""),), more=more)
    number = count_not_applied(plan)
    return ReviewSummary(
        (Clause(f"{count_by_kind(found.values())} changed since the last apply", "warn"),),
        more=("Nothing was written.", *([f"{number:,} not yet applied."] if number else [])),
    )


def _summarize_run(plan: Plan, run: Run) -> ReviewSummary:
    done = {(one.address, one.action) for one in run.outcomes if one.result == "applied"}
    applied = [change for change in plan.changes if (change.address, action_of(change)) in done]
    told = [*_grave(applied, "did"), *_milder(applied, "did")]
    past = enumerate_words([clause.text for clause in told])
    kept = [f"{count(run.records, 'record')} kept."] if run.records else []
    if run.outcomes and run.count("applied") == len(run.outcomes):
        everything = Clause(f"{count(len(run.outcomes), 'change')} applied: the service now matches the plan")
        return ReviewSummary((everything,), more=(*([f"{past}."] if past else []), *kept))
    if not run.outcomes:
        return ReviewSummary((Clause(_nothing_written(run)),), more=tuple(kept))
    return ReviewSummary(_summarize_troubles(run), more=(*([f"{past}."] if past else []), *kept))


def _nothing_written(run: Run) -> str:
    return "Nothing had to be written" if run.outcome == "done" else "Nothing was written"


def _summarize_troubles(run: Run) -> tuple[Clause, ...]:
    """Return what did not go as planned, the gravest words alone where there are some, and how far it got."""
    bad: list[Result] = [one for one in ("in doubt", "failed", "conflict") if run.count(one)]
    told: list[Result] = bad or [one for one in ("skipped", "not attempted") if run.count(one)]
    clauses = [
        Clause(f"{run.count(one):,} {one}", "warn" if one not in ("in doubt", "failed") else "delete")
        for one in told
    ]
    total = Clause(f"{run.count('applied'):,} of {count(len(run.outcomes), 'change')} applied")
    return (*clauses, total)


def _grave(changes: Sequence[Change], tense: str) -> list[Clause]:
    """Return what goes away, and what costs money from now on."""
    deletes = [change for change in changes if isinstance(change, Delete)]
    revived = [change.address for change in changes if is_revived(change)]
    clauses = [Clause(_say_deleted(deletes, tense), "delete")] if deletes else []
    for name in KINDS:
        number = sum(1 for address in revived if address.kind == name)
        if number:
            what = count(number, f"disabled {name}", f"disabled {KINDS[name].plural}")
            clauses.append(Clause(f"{what} {_verb(tense, number)} enabled again and charged", "warn"))
    return clauses


def _say_deleted(deletes: Sequence[Delete], tense: str) -> str:
    return f"{count_by_kind(deletes)} {_verb(tense, len(deletes))} deleted"


def _worsens(deletes: Sequence[Delete], tense: str) -> tuple[str, ...]:
    """Return what makes deletes worse than their number: who was there before us, and what goes with them."""
    before = sum(1 for change in deletes if change.adopted)
    taken = Counter[str]()
    for change in deletes:
        taken[change.address.kind] += len(change.cascades)
    parts = enumerate_words([count_below(name, taken[name]) for name in KINDS if taken[name]])
    told = (
        f"{before:,} of the {len(deletes):,} deleted existed before us." if before else "",
        f"{parts} {_verb(tense, taken.total())} deleted with {'it' if len(deletes) == 1 else 'them'}."
        if parts
        else "",
    )
    return tuple(filter(None, told))


def _milder(changes: Sequence[Change], tense: str) -> list[Clause]:
    clauses = []
    for made, word in ((Update, "updated"), (Create, "created")):
        chosen = [change for change in changes if isinstance(change, made) and not is_revived(change)]
        if chosen:
            clauses.append(Clause(f"{count_by_kind(chosen)} {_verb(tense, len(chosen))} {word}"))
    return clauses


def _verb(tense: str, number: int) -> str:
    one, many = _TENSES[tense]
    return one if number == 1 else many


# --- Counting ---------------------------------------------------------------------------------------------


class _Counted(Struct, frozen=True):
    """How many of each action there are, by the names in each of several dimensions."""

    dimensions: tuple[Mapping[str, Counter[str]], ...]
    actions: tuple[str, ...]

    @classmethod
    def of(cls, size: int, items: Iterable[tuple[str, tuple[Iterable[str], ...]]]) -> "_Counted":
        """Count items: an action, and for each of `size` dimensions the names that it counts under."""
        found: tuple[dict[str, Counter[str]], ...] = tuple({} for _ in range(size))
        seen = set()
        for action, names in items:
            seen.add(action)
            for dimension, these in zip(found, names, strict=True):
                for name in these:
                    dimension.setdefault(name, Counter())[action] += 1
        return cls(found, tuple(one for one in _ACTIONS if one in seen))

    def tallies(self, *titles: tuple[str, str]) -> tuple[Tally, ...]:
        """Return a table for each dimension; none where nothing was counted."""
        if not self.actions:
            return ()
        pairs = zip(titles, self.dimensions, strict=True)
        return tuple(Tally(title, head, _most_frequent(found)) for (title, head), found in pairs)

    def choices(self, *wanted: tuple[str, str, int]) -> tuple[Choice, ...]:
        """Return what can be chosen: each a name, a label, and its dimension."""
        return tuple(Choice(name, label, tuple(sorted(self.dimensions[at]))) for name, label, at in wanted)


def _most_frequent(found: Mapping[str, Counter[str]]) -> tuple[tuple[str, Mapping[str, int]], ...]:
    rows = sorted(found.items(), key=lambda row: (-row[1].total(), row[0]))
    if len(rows) <= _rows_max:
        return tuple(rows)
    together = sum((counts for _, counts in rows[_rows_max - 1 :]), Counter[str]())
    return (*rows[: _rows_max - 1], (f"{len(rows) - _rows_max + 1} others", together))


def _name_kinds(tally: Tally) -> Tally:
    if tally.head != "Kind":
        return tally
    rows = ((KINDS[name].plural if name in KINDS else name, counts) for name, counts in tally.rows)
    return structs.replace(tally, rows=tuple(rows))


def _count_changes(changes: Iterable[Change]) -> _Counted:
    return _Counted.of(3, ((action_of(one), _names_of(one.address, _causes(one))) for one in changes))


def _count_drifts(plan: Plan) -> _Counted:
    return _Counted.of(3, (("drift", _names_of(one.address, (one.cause,))) for one in find_drift(plan)))


def _names_of(address: Address, causes: Iterable[str]) -> tuple[Iterable[str], ...]:
    return (address.kind,), causes, (address.workspace,)


def _causes(change: Change) -> Iterable[str]:
    return sorted({field.cause for field in change.fields}) if isinstance(change, Update) else (change.cause,)


# --- What validate found: values are quoted, for they stand in the same repository ------------------------

_WARNING = "warning"  # in place of a code: a warning has none


def build_validation(result: Validated) -> ReviewDocument:
    """Return the document of what `validate` found: mistakes first, each with its place and its code."""
    problems, notices = result.problems, result.notices
    files = [split_place(one.where)[0] or one.where for one in problems]
    warned = [split_place(place)[0] or place for place in (one.place or one.subject for one in notices)]
    counted = _Counted.of(
        2,
        [
            *(("mistake", ((one.code,), (file,))) for one, file in zip(problems, files, strict=True)),
            *(("warning", ((_WARNING,), (file,))) for file in warned),
        ],
    )
    where = f"In {count(len({*files, *warned}), 'file')}." if files or warned else "The manifests are valid."
    verdict = "Fix every mistake, then plan." if problems else "Ready to plan."
    mistakes = Clause(count(len(problems), "mistake"), "delete") if problems else Clause("No mistakes")
    warnings = [Clause(count(len(notices), "warning"), "warn")] if notices else []
    sections = (
        _section("mistakes", "Mistakes", problems, _mistake),
        _section("warnings", "Warnings", notices, _warning, "Probably wrong, and accepted."),
    )
    return ReviewDocument(
        command="validate",
        subject="settings and manifests",
        target="",
        headline=(mistakes, *warnings),
        details=(where, verdict),
        sections=tuple(one for one in sections if one.count),
        closing="`reconciler explain CODE` says what a code means, with a wrong and a right example."
        if any(one.code in CODES for one in problems)
        else "",
        actions=counted.actions,
        tallies=counted.tallies(("By code", "Code"), ("By file", "File")),
        choices=counted.choices(("file", "File", 1), ("cause", "Code", 0)),
        example="Place, code or word",
    )


def _mistake(one: Problem) -> Entry:
    known = CODES.get(one.code)
    title = [Note(known.title)] if known else []
    return Entry(one.where, notes=(*_cause(one.code), *title), what=one.what, next=one.next)


def _warning(one: Notice) -> Entry:
    what = f"{one.subject}: {one.what}" if one.place else one.what
    return Entry(one.place or one.subject, notes=(*_cause(_WARNING),), what=what, next=one.next)


_PLACE = re.compile(r"(?P<file>.+?)(?::(?P<line>\d{1,9}))?(?::(?P<column>\d{1,9}))?", re.DOTALL)


def split_place(place: str) -> tuple[str, int, int]:
    """Return file, line and column of `manifests/ops.yaml:14:7`; 0 for what it does not say."""
    found = _PLACE.fullmatch(place)
    if found is None:
        return "", 0, 0
    return found["file"], int(found["line"] or 0), int(found["column"] or 0)
