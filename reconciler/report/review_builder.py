"""How the document of a review is made: which lists there are, in which order, and what each entry says.

What matters first is review_summary.py.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, assert_never

from msgspec import Struct, structs

from reconciler.core.review.display_names import DisplayName, find_lookalikes, no_name
from reconciler.core.review.drift import Drift, find_drift, list_notices_beside_drift
from reconciler.core.review.guard import list_agreements
from reconciler.errors import Problem
from reconciler.model.address import Address
from reconciler.model.codes import CODES, SKIP_CODES
from reconciler.model.documents import Fields
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.notices import Notice
from reconciler.model.plans import (
    UNCERTAIN,
    Change,
    Create,
    Delete,
    Move,
    Plan,
    Skip,
    Update,
    action_of,
)
from reconciler.model.runs import Outcome, Result, Run
from reconciler.model.snapshots import NotPlanned
from reconciler.report.escaping import escape_control
from reconciler.report.lines import count
from reconciler.report.phrases import (
    count_children,
    describe_agreement,
    describe_answer,
    describe_origin,
    describe_read,
    explain_delete,
    explain_drift,
    explain_notice,
    explain_skip,
    list_record_changes,
    name_left_out,
    rename_hint,
    sum_up_left_out,
)
from reconciler.report.review_document import (
    Breakdown,
    Choice,
    Clause,
    Entry,
    EntryField,
    Fact,
    ListReading,
    Note,
    Review,
    ReviewDocument,
    RunDocument,
    Section,
    Tally,
    Tone,
    Validated,
)
from reconciler.report.review_summary import (
    WORST_FIRST,
    conclude_run,
    count_results,
    find_next_step,
    summarize_review,
)
from reconciler.report.values import format_size, short_digest, short_fingerprint

# --- A review -------------------------------------------------------------------------------------------

_CAUSES = {"gone": "gone from the service"}
_ENDED: Mapping[Result, str] = {"in doubt": "bad", "failed": "bad", "applied": "good"}
_ACTIONS = ("delete", "update", "create", "drift", "mistake", "warning")  # columns of tallies, in this order
_DIMENSIONS = (("By kind", "Kind"), ("By cause", "Cause"), ("By workspace", "Workspace"))
_rows_max = 8  # of a tally; what is beyond them is counted together


def build_review(review: Review) -> ReviewDocument:
    """Return the document of a plan, a drift, or a run with its plan. It holds no secret and no salt."""
    plan, run = review.plan, review.run
    drifts = find_drift(plan) if review.command == "drift" else ()
    make = _EntryMaker.of(review)
    return ReviewDocument(
        command=review.command,
        subject=plan.target.stack,
        target=plan.target.origin,
        missing=sum_up_left_out(plan.left_out),
        agreements=tuple(describe_agreement(one) for one in list_agreements(plan)),
        answers=tuple(describe_answer(one) for one in plan.answers),
        refusals=tuple(
            Entry("", what=one.what, next=one.next, code=one.rule) for one in review.verdict.reasons
        ),
        hides_values=not review.show_values,
        run=build_run(run, make) if run else None,
        sections=tuple(one for one in _list_review_sections(review, drifts, make) if one.count),
        reading=tuple(_list_read_limits(plan)),
        facts=tuple(one for one in _list_review_facts(review) if one.text),
        make_breakdown=partial(_break_down, review, drifts),
        **structs.asdict(summarize_review(review, drifts)),
    )


def _list_review_sections(review: Review, drifts: Sequence[Drift], make: "_EntryMaker") -> Iterator[Section]:
    """Yield every list in its order: what went wrong, what goes away, then what is less grave."""
    plan = review.plan
    about = "Nothing of these workspaces was compared or written."
    yield _make_section("missing", "Not planned", plan.left_out, _missing_entry, about, subject=name_left_out)
    if review.run:
        about = "Worst first."
        yield _make_section(
            "ended", "Not as planned", _list_unexpected(plan, review.run.outcomes), make.outcome, about
        )
    if review.command == "drift":
        about = "What the last apply left, then what is live now."
        yield _make_section("drift", "Changed by others", drifts, make.drift, about)
    else:
        ambiguous = [one for one in plan.skips if one.reason in UNCERTAIN]
        about = "It is not certain which live entity is meant; nothing is written."
        yield _make_section("ambiguous", "Ambiguous", ambiguous, make.skip, about)
        yield from _list_change_sections(plan, make)
        records = list_record_changes(plan)
        about = "Only our records change; nothing changes at the service."
        yield _make_section(
            "records", "Records to update", records, make.record, about, subject=itemgetter(0)
        )
        others = [one for one in plan.skips if one.reason not in UNCERTAIN]
        yield _make_section("skips", "Left alone", others, make.skip, "Found, and not changed.")
    about = "For information; no action is taken."
    notices = list_review_notices(review, drifts)
    yield _make_section("notices", "Notices", notices, make.notice, about, subject=attrgetter("subject"))


def _make_section(
    name: str,
    title: str,
    items: Sequence[Any],
    entry: Callable[[Any], Entry],
    about: str = "",
    *,
    label: str = "",
    subject: Callable[[Any], str] = attrgetter("address"),
) -> Section:
    entries, subjects = partial(map, entry, items), partial(map, subject, items)
    return Section(name, title, len(items), entries, subjects, about, label)


def _missing_entry(one: NotPlanned) -> Entry:
    return Entry(name_left_out(one), what=one.what, next=one.next, code=one.code)


def _list_change_sections(plan: Plan, make: "_EntryMaker") -> Iterator[Section]:
    deletes = [one for one in plan.changes if isinstance(one, Delete)]
    ours, before = ([one for one in deletes if bool(one.adopted) is adopted] for adopted in (False, True))
    about = "Adopted by us, not created by us."
    parts = (
        _make_section("deletes", "Deletes", ours, make.change),
        _make_section(
            "before",
            "Deletes of what existed before this stack",
            before,
            make.change,
            about,
            label="Existed before us",
        ),
    )
    whole = _make_section("deletes", "Deletes", deletes, make.change)
    yield structs.replace(whole, parts=tuple(one for one in parts if one.count))
    for name, title, kind in (("updates", "Updates", Update), ("creates", "Creates", Create)):
        yield _make_section(name, title, [one for one in plan.changes if isinstance(one, kind)], make.change)


def list_review_notices(review: Review, drifts: Sequence[Drift]) -> list[Notice]:
    """Return the notices; of a drift, without those that its own entries hold."""
    if review.command != "drift":
        return [*review.plan.notices]
    return [*list_notices_beside_drift(review.plan, drifts)]


def _list_unexpected(plan: Plan, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes a person has to look at, worst first; then those of no change of this plan."""
    planned = {change.address for change in plan.changes}
    return [
        one
        for result in WORST_FIRST
        for one in outcomes
        if one.result == result and (result != "applied" or one.what or one.address not in planned)
    ]


def _list_read_limits(plan: Plan) -> Iterator[ListReading]:
    """Yield how lists were read, where that limits what is known, and what is ours without a manifest."""
    for read in plan.reads:
        if read.how or not read.complete:
            limit = "" if read.complete else "not complete"
            yield ListReading(str(read.scope), describe_read(read, plan.created_at), limit)
    for scope, number in plan.outside.items():
        limit = f"{number:,} recorded, but not declared by any manifest; left unchanged"
        yield ListReading(str(scope), "", limit)


def _list_review_facts(review: Review) -> Iterator[Fact]:
    plan = review.plan
    names = (f"{one.alias} ({one.name})" if one.name else one.alias for one in plan.target.workspaces)
    yield Fact("Workspaces", ", ".join(names))
    chosen = [f"--only {one}" for one in plan.options.only]
    yield Fact("Selected by", " ".join([*chosen, *(f"--except {one}" for one in plan.options.excluded)]))
    yield Fact("Undoes run", plan.options.undo_of)
    yield Fact("Commit", plan.commit or "")
    yield Fact("Planned at", format_moment(plan.created_at))
    yield Fact("Expires at", format_moment(plan.expires_at))
    if not review.run:  # which has the same one
        yield Fact("Fingerprint", short_fingerprint(plan.fingerprint))
    calls, avoided = (sum(getattr(read, name) for read in plan.reads) for name in ("calls", "avoided"))
    more = (Note(f"{avoided:,} more avoided"),) if avoided else ()
    yield Fact("Read with", count(calls, "call") if plan.counted else "", notes=more)
    yield Fact("Exit code", str(review.exit_code))


# --- A run ----------------------------------------------------------------------------------------------


def build_run(run: Run, make: "_EntryMaker | None" = None) -> RunDocument:
    """Return the document of a run by itself, values included, or with the entries of its review."""
    make = make or _EntryMaker(show_values=True)
    sections = (
        _make_section(result, result, [one for one in run.outcomes if one.result == result], make.outcome)
        for result in WORST_FIRST
    )
    counts = [Clause(text, _RESULT_TONES.get(result, "")) for result, text in count_results(run)]
    counts += [Clause(f"{run.adopted:,} adopted")] if run.adopted else []
    uncertain = [one for one in run.notices if one.kind == "ambiguous"]
    return RunDocument(
        outcome=run.outcome,
        counts=tuple(counts),
        took=_format_duration(run),
        facts=tuple(one for one in _list_run_facts(run) if one.text),
        stopped=run.stopped,
        sections=tuple(one for one in sections if one.count),
        uncertain=tuple(
            Entry(one.subject, what=one.what, next=one.next, predicate=True) for one in uncertain
        ),
        missing=tuple(map(_missing_entry, run.not_planned)),
        conclusion=conclude_run(run),
        next_step=find_next_step(run),
    )


_RESULT_TONES: Mapping[Result, Tone] = {
    "in doubt": "delete", "failed": "delete", "conflict": "warn", "skipped": "warn", "not attempted": "warn",
}  # fmt: skip


def _list_run_facts(run: Run) -> Iterator[Fact]:
    """Yield how a run ended: outcomes, time, calls by method, and what names it in a history."""
    ended = (Note(text, "result", _ENDED.get(result, "fair")) for result, text in count_results(run))
    yield Fact("Outcome", run.outcome, notes=tuple(ended))
    took = _format_duration(run)
    span = " to ".join(filter(None, [format_moment(run.started_at), format_moment(run.ended_at)]))
    yield Fact("Time", f"{took} ({span})" if took else span)
    kinds = ", ".join(f"{number:,} {method}" for method, number in sorted(run.calls.items()) if number)
    yield Fact("Calls", count(sum(run.calls.values()), "call") + (f" ({kinds})" if kinds else ""))
    if run.gap:
        again = f", {count(run.gap.looked_again, 'write')} held back" if run.gap.looked_again else ""
        yield Fact(
            "From look to write",
            f"median {run.gap.median_ms:g} ms, 99 % within {run.gap.p99_ms:g} ms{again}",
        )
    if run.adopted or run.records:
        yield Fact("Records", f"{run.records:,} updated, {run.adopted:,} adopted")
    context = run.context
    yield Fact("Run", run.run, code=True)
    yield Fact("Resumes", run.resumes, code=True)
    yield Fact("Fingerprint", short_fingerprint(run.fingerprint))
    yield Fact("Program", context.program, code=True)
    yield Fact("Commit", context.commit, code=True)
    yield Fact("Trace", context.trace_id, code=True)
    yield Fact("History", run.audit_head, code=True)


def _format_duration(run: Run) -> str:
    """Return `4.2 s`, or "" where it is not known."""
    try:
        took = datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at)
    except (ValueError, TypeError):  # an imported report may lack a time, or its zone
        return ""
    seconds = round(took.total_seconds(), 1)  # most reports hold whole seconds
    return f"{seconds:,g} s" if seconds >= 1 else "under 1 s"


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
    `moves_from` and `moves_to` are those that are known to be one, by the old and by the new address. Without
    values `whom` says nothing.
    """

    show_values: bool
    contents: Mapping[Address, str] = {}
    sizes: Mapping[Address, int] = {}
    results: Mapping[tuple[Address, str], Result] = {}
    alike: Mapping[Address, Address] = {}
    moves_from: Mapping[Address, Move] = {}
    moves_to: Mapping[Address, Move] = {}
    whom: DisplayName = no_name

    @classmethod
    def of(cls, review: Review) -> "_EntryMaker":
        plan, outcomes = review.plan, review.run.outcomes if review.run else ()
        return cls(
            show_values=review.show_values,
            contents=plan.contents,
            sizes=review.sizes,
            results={(one.address, one.action): one.result for one in outcomes},
            alike={} if review.command == "drift" else find_lookalikes(plan),
            moves_from={one.before: one for one in plan.moves or ()},
            moves_to={one.after: one for one in plan.moves or ()},
            whom=review.whom if review.show_values else no_name,
        )

    def change(self, change: Change) -> Entry:
        """Return one change: its entity, why, and every field."""
        address, kind = change.address, change.address.kind
        result = self.results.get((address, action_of(change)))
        ended = [Note(result, "result", _ENDED.get(result, "fair"))] if result else []
        hint = rename_hint(self.alike, change)
        what, step = (hint.what, hint.next) if hint else ("", "")
        match change:
            case Delete():
                notes = (*ended, *self._deleted(change))
                title = f"{count(len(change.before), 'field')} lost" if change.before else ""
                rows = self._value_rows(kind, change.before)
                return Entry(address, "", notes, what, step, rows, title)
            case Update():
                adopts = [Note(f"adopted by {change.adopts}")] if change.adopts else []
                notes = (*ended, *_place_notes(change.place), *adopts, *self._content(address))
                rows = tuple(
                    self._row(EntryField(kind, one.path, "change", one.before, one.after, one.cause))
                    for one in change.fields
                )
                return Entry(address, self.whom(address), notes, what, step, rows)
            case Create():
                notes = (*ended, *_place_notes(change.place), *self._created(change))
                title = count(len(change.fields), "field") if change.fields else ""
                rows = self._create_rows(change)
                return Entry(address, "", notes, what, step, rows, title, folded=True)
        assert_never(change)

    def _deleted(self, change: Delete) -> Iterator[Note]:
        yield from _cause_notes(explain_delete(change, self.moves_from.get(change.address)))
        if change.keeps:
            yield Note(f"{change.keeps} stays", "detail")
        if change.adopted:
            yield Note(describe_origin(change), "warning")
        if change.cascades:
            text = f"with {count_children(change.address.kind, len(change.cascades))}"
            below = " or ".join(child.name for child in child_kinds(change.address.kind))
            # By device name, where it is not recorded: that is a value.
            yield (
                Note(
                    f"{text}: {', '.join(change.cascades)}",
                    "warning",
                    lead=f"and its {below} ",
                    each=change.cascades,
                )
                if self.show_values
                else Note(text, "warning")
            )

    def _created(self, change: Create) -> Iterator[Note]:
        moved = self.moves_to.get(change.address)
        cause = "" if change.cause == "declared" else _CAUSES.get(change.cause, change.cause)
        yield from _cause_notes(f"moves from {moved.before}" if moved else cause)
        if not self.show_values:  # else the row of the content says it
            yield from self._content(change.address)
        if moved and moved.carried:
            yield Note(", ".join(moved.carried), "detail", lead="carried over though not declared: ")

    def _row(self, row: EntryField) -> EntryField:
        """Remove the values of a row where they are not wanted, so that no form can show one."""
        if self.show_values:
            return row
        return EntryField(row.kind, row.path, "name", None, None, row.cause)

    def _value_rows(self, kind: str, fields: Fields) -> tuple[EntryField, ...]:
        return tuple(
            self._row(EntryField(kind, path, "value", None, value)) for path, value in sorted(fields.items())
        )

    def _create_rows(self, change: Create) -> tuple[EntryField, ...]:
        """Return the fields of what is made; content by its file, its size and its type."""
        rows = self._value_rows(change.address.kind, change.fields)
        content = KINDS[change.address.kind].content
        if not (self.show_values and content and content in change.fields):
            return rows
        text = self._describe_content(change, str(change.fields[content]))
        return tuple(structs.replace(row, text=text) if row.path == content else row for row in rows)

    def _describe_content(self, change: Create, digest: str) -> str:
        """Return `manifests/sites.csv, 12.4 KiB, text/csv`; the digest where the size is not known."""
        octets = self.sizes.get(change.address)
        size = short_digest(digest) if octets is None else format_size(octets)
        parts = (self.contents.get(change.address, ""), size, str(change.fields.get("mimeType", "")))
        return escape_control(", ".join(filter(None, parts)))

    def _content(self, address: Address) -> list[Note]:
        path = self.contents.get(address)
        return [Note(path, "detail", lead="its content is sent from ")] if path else []

    def record(self, record: tuple[Address, str]) -> Entry:
        """Return what changes in our record of one entity, and nowhere else."""
        address, about = record
        return Entry(address, self.whom(address), (Note(about),))

    def skip(self, skip: Skip) -> Entry:
        """Return an entity that is left alone: why, and what can be done."""
        return Entry(
            skip.address,
            self.whom(skip.address),
            (*_cause_notes(skip.reason),),
            explain_skip(skip, values=self.show_values),
            skip.next,
            # A sentence about one field begins with the field; any other has the address as its subject.
            predicate=skip.reason != "taken over",
            code=SKIP_CODES[skip.reason],
        )

    def notice(self, notice: Notice) -> Entry:
        """Return what a person should know beside the changes."""
        what, step = explain_notice(notice, values=self.show_values)
        return Entry(
            notice.subject, "", (*_cause_notes(notice.kind), *_place_notes(notice.place)), what, step
        )

    def drift(self, drift: Drift) -> Entry:
        """Return one entity that others changed: what we left, then what is live now."""
        kind, address = drift.address.kind, drift.address
        rows = tuple(
            self._row(EntryField(kind, one.path, "drift", one.before, one.after, one.cause))
            for one in drift.fields
        )
        what = explain_drift(drift, values=self.show_values)
        return Entry(address, self.whom(address), (*_cause_notes(drift.cause),), what, "", rows)

    def outcome(self, outcome: Outcome) -> Entry:
        """Return how one change ended, and what to do."""
        kind, address = outcome.address.kind, outcome.address
        notes = (Note(outcome.result, "result", _ENDED.get(outcome.result, "fair")), Note(outcome.action))
        own, no = "the service writes it in its own way", "not stored by the service"
        rows = tuple(
            self._row(
                EntryField(
                    kind, one.path, "readback", one.sent, one.shown, own if one.taken else no, "", one.taken
                )
            )
            for one in outcome.fields
        )
        gist = _find_gist(outcome)
        return Entry(address, self.whom(address), notes, outcome.what, outcome.next, rows, gist=gist)


def _find_gist(outcome: Outcome) -> tuple[str, ...]:
    """Return what an outcome says without the ids in it; empty where it cannot be joined with others."""
    if not outcome.what or outcome.fields:
        return ()
    said = outcome.what
    for own in filter(None, (outcome.remote_id, str(outcome.address))):
        said = said.replace(own, "")
    return said, outcome.next.replace(str(outcome.address), ""), outcome.action


def _cause_notes(why: str) -> list[Note]:
    return [Note(why, "cause")] if why else []


def _place_notes(place: str) -> list[Note]:
    return [Note(place, "place")] if place else []


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


def _break_down(review: Review, drifts: Sequence[Drift]) -> Breakdown:
    """Count the changes, or the drifts, by kind, cause and workspace."""
    run = review.run
    items: Iterable[tuple[str, Address, Iterable[str]]]
    if review.command == "drift":
        items = (("drift", one.address, (one.cause,)) for one in drifts)
    else:
        items = ((action_of(one), one.address, list_causes(one)) for one in review.plan.changes)
    counted = _Counted.of(
        3, ((action, ((at.kind,), causes, (at.workspace,))) for action, at, causes in items)
    )
    results = tuple(one for one in WORST_FIRST if run.count(one)) if run else ()
    return Breakdown(
        counted.actions,
        tuple(_name_kinds(one) for one in counted.tallies(*_DIMENSIONS)),
        (
            *counted.choices(("kind", "Kind", 0), ("workspace", "Workspace", 2), ("cause", "Cause", 1)),
            *([Choice("result", "Result", results)] if run else []),
        ),
    )


def list_causes(change: Change) -> Iterable[str]:
    """Return why an entity changes, each cause once, in alphabetical order."""
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
        _make_section("mistakes", "Mistakes", problems, _mistake_entry, subject=attrgetter("where")),
        _make_section(
            "warnings",
            "Warnings",
            notices,
            _warning_entry,
            "Probably wrong, but accepted.",
            subject=lambda one: one.place or one.subject,
        ),
    )
    return ReviewDocument(
        command="validate",
        subject="settings and manifests",
        target="",
        headline=(mistakes, *warnings),
        conclusion=Clause(verdict),
        details=(where, verdict),
        sections=tuple(one for one in sections if one.count),
        closing="`reconciler explain CODE` says what a code means, with a wrong and a right example."
        if any(one.code in CODES for one in problems)
        else "",
        example="Place, code or word",
        make_breakdown=lambda: Breakdown(
            counted.actions,
            counted.tallies(("By code", "Code"), ("By file", "File")),
            counted.choices(("file", "File", 1), ("cause", "Code", 0)),
        ),
    )


def _mistake_entry(one: Problem) -> Entry:
    known = CODES.get(one.code)
    title = [Note(known.title)] if known else []
    return Entry(one.where, notes=(*_cause_notes(one.code), *title), what=one.what, next=one.next)


def _warning_entry(one: Notice) -> Entry:
    what = f"{one.subject}: {one.what}" if one.place else one.what
    return Entry(one.place or one.subject, notes=(*_cause_notes(_WARNING),), what=what, next=one.next)


_PLACE = re.compile(r"(?P<file>.+?)(?::(?P<line>\d{1,9}))?(?::(?P<column>\d{1,9}))?", re.DOTALL)


def split_place(place: str) -> tuple[str, int, int]:
    """Return file, line and column of `manifests/ops.yaml:14:7`; 0 for what it does not say."""
    found = _PLACE.fullmatch(place)
    if found is None:
        return "", 0, 0
    return found["file"], int(found["line"] or 0), int(found["column"] or 0)
