"""Sentences that every form of a report shares.

How lists were read, what a directory answered, what a person agreed to, what looks like a rename, what is
left alone, and the sentence that matters most. They are text: each form escapes them by its own rules.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from reconciler.core.feed import parse_seconds, read_limit
from reconciler.core.review.display_names import find_lookalikes
from reconciler.core.review.drift import Drift, count_not_applied, find_drift, summarize_drift
from reconciler.core.review.guard import Agreement
from reconciler.model.address import Address
from reconciler.model.documents import DirectoryAnswer, InputDifference
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
    action_of,
)
from reconciler.model.runs import Outcome, Result, Run
from reconciler.model.snapshots import Read
from reconciler.parsing.display import show_value
from reconciler.report.lines import Line, count, line
from reconciler.report.review_document import Review

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))  # seconds, and how they are written


def read_words(read: Read, at: str) -> str:
    """Return `feed, 2 calls, 4,998 avoided; complete 3 h ago`. `at` is when the plan was made (ISO 8601)."""
    parts = ["read"] if not read.how else [read.how, count(read.calls, "call")]
    parts.append(f"{read.avoided:,} avoided" if read.avoided else "")
    told = ", ".join(filter(None, parts))
    if read.completed:
        return f"{told}; complete {ago(read.completed, at)}"
    return f"{told}; not a feed: {read.why}" if read.why else told


def as_far_as_read(reads: Iterable[Read]) -> str:
    """Return what was read of lists that were followed, and as of when the rest is known; "" where all was.

    A change that moves no time of change is not seen before the next complete read: whoever says that
    nothing is to be done has to say that, too.
    """
    limit = read_limit(reads)
    if limit is None:
        return ""
    scopes = ", ".join(f"{KINDS[one.kind].plural} in {one.workspace}" for one in limit.scopes)
    when = f"{limit.complete_at[:10]} {limit.complete_at[11:16]} UTC"
    return (
        f"Of {scopes} {count(limit.pages, 'page')} of what changed last were read; the rest is as of the "
        f"complete read on {when}. A change that moves no time of change shows at the next one "
        "(--refresh full)."
    )


def limited(sentence: str, reads: Iterable[Read]) -> str:
    """Return a sentence about all that is live, without its full stop, limited to what was read."""
    return f"{sentence}, as far as was read" if as_far_as_read(reads) else sentence


def ago(moment: str, at: str) -> str:
    """Return how long before `at` a moment was (both ISO 8601): `3 h ago`, rounded down."""
    then, present = parse_seconds(moment), parse_seconds(at)
    if then is None or present is None:
        return "at an unknown time"
    age = max(0, int(present - then))
    size, unit = next((one for one in _UNITS if age >= one[0]), _UNITS[-1])
    return f"{age // size} {unit} ago"


# --- What a directory answered ---------------------------------------------------------------------


_answer_digits = 12  # hexadecimal digits: enough to tell two answers apart by eye


def answer_words(answer: DirectoryAnswer) -> str:
    """Return `from directory staff: 1,234 rows, sha256 ab12cd34ef56`, and the rows before."""
    told = (
        f"from directory {answer.name}: {count(answer.rows, 'row')}, sha256 {answer.digest[:_answer_digits]}"
    )
    return f"{told} ({answer.before:,} at the last apply)" if answer.before not in (0, answer.rows) else told


# --- What a person agreed to with a plan (core/review/guard.py): the first thing in every review -


AGREED_TITLE = "Agreed to, for this plan alone"
_subjects_max = 20  # subjects of one word; the plan itself shows them all


def agreement_words(one: Agreement) -> str:
    """Return what was agreed to, how it was said, and what of the plan it concerns."""
    number = f" {one.at_most}" if one.at_most else ""
    allows = f"up to {one.at_most:,} {one.allows}" if one.at_most else one.allows
    said = f"{allows} ({one.flag}{number})"
    return (
        f"{said}: {_name_subjects(one.subjects)}" if one.subjects else f"{said}; this plan needs none of it"
    )


def _name_subjects(subjects: Sequence[str]) -> str:
    more = f" and {len(subjects) - _subjects_max:,} more" if len(subjects) > _subjects_max else ""
    return ", ".join(subjects[:_subjects_max]) + more


# --- What a run read and a commit does not hold -----------------------------------------------------


_files_max = 10  # files that a sentence names


def difference_words(differences: Sequence[InputDifference]) -> str:
    """Return the files and why each of them differs, as a part of a sentence; of many the first ones."""
    named = [f"{show_value(one.path, most=400)} {one.why}" for one in differences[:_files_max]]
    more = len(differences) - len(named)
    return "; ".join([*named, *([f"and {more:,} more"] if more else [])])


# --- The hint that a delete and a create of a plan may be one entity under a new name -------------
#
# Hints decide nothing. Which entities look alike is core/review/display_names.py.


_WITH_META = (".yaml", ".yml", ".json")  # an entry in one of these may have a `meta:`; a row of a roster not


class RenameHint(NamedTuple):
    """What a change looks like, and what to write where that is so ("": the other one says it)."""

    what: str
    next: str = ""


def rename_hint(alike: Mapping[Address, Address], change: Change) -> RenameHint | None:
    """Return the hint about a change, where `alike`, the `find_lookalikes` of its plan, has one."""
    other = alike.get(change.address)
    if other is None:
        return None
    if not isinstance(change, Create):
        return RenameHint(f"looks like {other}, which is created: see there")
    file, _, _ = change.place.rpartition(":")
    step = f"if it is one: `meta: {{renamedFrom: {other.name}}}` at {change.place}"
    if not file.endswith(_WITH_META):
        step = "the rows of a roster cannot say so: keep the name, or declare it as an entry of a manifest"
    return RenameHint(f"looks like a rename of {other}, which is deleted", step)


class Lookalike(Struct, frozen=True):
    """A delete and a create that may be one entity under a new name; `next` is what to do where they are."""

    deleted: Address
    created: Address
    next: str


def lookalike_values(plan: Plan) -> tuple[Lookalike, ...]:
    """Return the hints of a plan for the JSON form, by the address of the create."""
    alike = find_lookalikes(plan)
    found = [
        Lookalike(alike[change.address], change.address, hint.next)
        for change in plan.changes
        if isinstance(change, Create) and (hint := rename_hint(alike, change))
    ]
    return tuple(sorted(found, key=lambda one: one.created))


def rename_hint_lines(alike: Mapping[Address, Address], change: Change) -> list[Line]:
    """Return the hint about a change as lines below it; none where there is nothing to say."""
    hint = rename_hint(alike, change)
    if hint is None:
        return []
    step = [line("      next: ", hint.next)] if hint.next else []
    return [line("    ", (hint.what, "warn")), *step]


# --- Sentences that hold no values -------------------------------------------------------------------
#
# A report goes to many readers, so what somebody else can write (a value, a mark) stands in no sentence here
# unless values are wanted.


# What is said of these quotes a value: the mark of another owner, or what a manifest declares.
_MARKED: Mapping[SkipReason, str] = {"foreign mark": "carries the mark of another owner; left alone."}
_NOTICED = {
    "value": "a declared value looks wrong; reconciler validate shows it.",
    "duplicate": "may be live twice; left alone.",
}

# Worst first.
TROUBLE: tuple[Result, ...] = ("in doubt", "failed", "conflict", "skipped", "not attempted")


def review_headline(review: Review) -> str:
    """Return the sentence that matters first: what is lost, then what it costs, then all else."""
    if review.run is not None:
        return _run_headline(review.run)
    if review.command == "drift":
        limits = "" if find_drift(review.plan) else as_far_as_read(review.plan.reads)
        return " ".join(filter(None, [summarize_drift(review.plan), limits]))
    if not review.verdict.safe:
        return f"Refused, and nothing is carried out: {_joined(_parts(review.plan, 'would be'))}."
    if review.command == "resume":  # without a run nothing was compared either
        return "Nothing to resume: every run of this stack has finished."
    return _plan_headline(review.plan)


def _plan_headline(plan: Plan) -> str:
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


def _run_headline(run: Run) -> str:
    trouble = [f"{run.count(result):,} {result}" for result in TROUBLE if run.count(result)]
    done = [one for one in run.outcomes if one.result == "applied"]
    for word in ("delete", "update", "create"):
        ended = [one for one in done if one.action == word]
        trouble += [f"{by_kind(ended)} {word}d"] if ended else []
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


# --- What a reader has to know first: what goes away and what costs, then what else happens ---------


Tone = Literal["delete", "warn", ""]

# Worst first: what a person has to look at stands on top.
WORST_FIRST: tuple[Result, ...] = ("in doubt", "failed", "conflict", "skipped", "not attempted", "applied")

_TENSES = {"will": ("will be", "will be"), "would": ("would be", "would be"), "did": ("was", "were")}


class Clause(Struct, frozen=True):
    """A part of a sentence, and whether it is a warning."""

    text: str
    tone: Tone = ""


class Sentences(Struct, frozen=True):
    """`first` are the clauses of the headline, `grave` what makes deletes worse, `more` the rest."""

    first: tuple[Clause, ...]
    grave: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


def sentences(review: Review) -> Sentences:
    """Return what matters of a review, most important first."""
    if review.run is not None:
        return _of_run(review.plan, review.run)
    if review.command == "drift":
        return _of_drift(review.plan)
    return _of_plan(review)


def headline(parts: Sentences) -> str:
    """Return the headline as one text."""
    return listed([clause.text for clause in parts.first]) + "."


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _of_plan(review: Review) -> Sentences:
    plan = review.plan
    tense = "will" if review.verdict.safe else "would"
    grave, other = _grave(plan.changes, tense), _other(plan.changes, tense)
    first = grave or other or [Clause(_nothing(plan))]
    more = [f"{listed([clause.text for clause in other])}."] if grave and other else []
    deletes = [change for change in plan.changes if isinstance(change, Delete)]
    return Sentences(tuple(first), _of_deletes(deletes, tense), (*more, *_beside(plan)))


def _nothing(plan: Plan) -> str:
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
    return limited("Nothing to do: the service matches the manifests", plan.reads)


def _beside(plan: Plan) -> list[str]:
    """Return what a plan says besides its changes."""
    postponed = [count(number, word) for word, number in plan.postponed.items() if number]
    unread = sum(1 for read in plan.reads if not read.complete)
    unchanged, strangers = sum(plan.unchanged.values()), sum(plan.unmanaged.values())
    facts = [
        f"{count(plan.to_keep, 'record')} to keep" if plan.to_keep and plan.changes else "",
        f"{listed(postponed)} left for an apply" if postponed else "",
        f"{count(len(plan.skips), 'entity', 'entities')} left alone" if plan.skips else "",
        count(len(plan.notices), "notice") if plan.notices else "",
        f"{unchanged:,} unchanged" if unchanged else "",
        f"{strangers:,} not ours" if strangers else "",
    ]
    told = [fact for fact in facts if fact]
    lists = count(unread, "list was", "lists were")
    answers = [f"{answer_words(one).capitalize()}." for one in plan.answers]
    unread_too = [f"{lists} not read completely."] if unread else []
    limits = as_far_as_read(plan.reads)
    known = [limits] if limits and not plan.changes else []
    return ([f"{listed(told)}."] if told else []) + unread_too + known + answers


def _of_drift(plan: Plan) -> Sentences:
    found = {drift.address: drift for drift in find_drift(plan)}
    if plan.unapplied or not found:
        said, limits = summarize_drift(plan).removesuffix("."), as_far_as_read(plan.reads)
        more = (limits,) if limits and not plan.unapplied else ()
        return Sentences((Clause(said, "warn" if plan.unapplied else ""),), more=more)
    number = count_not_applied(plan)
    return Sentences(
        (Clause(f"{by_kind(found.values())} changed since the last apply", "warn"),),
        more=("Nothing was written.", *([f"{number:,} not yet applied."] if number else [])),
    )


def _of_run(plan: Plan, run: Run) -> Sentences:
    done = {(one.address, one.action) for one in run.outcomes if one.result == "applied"}
    applied = [change for change in plan.changes if (change.address, action_of(change)) in done]
    told = [*_grave(applied, "did"), *_other(applied, "did")]
    past = listed([clause.text for clause in told])
    kept = [f"{count(run.records, 'record')} kept."] if run.records else []
    if run.outcomes and run.count("applied") == len(run.outcomes):
        everything = Clause(f"{count(len(run.outcomes), 'change')} applied: the service now matches the plan")
        return Sentences((everything,), more=(*([f"{past}."] if past else []), *kept))
    if not run.outcomes:
        return Sentences((Clause(_nothing_written(run)),), more=tuple(kept))
    return Sentences(_troubles(run), more=(*([f"{past}."] if past else []), *kept))


def _nothing_written(run: Run) -> str:
    return "Nothing had to be written" if run.outcome == "done" else "Nothing was written"


def _troubles(run: Run) -> tuple[Clause, ...]:
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
    clauses = [Clause(_deleted(deletes, tense), "delete")] if deletes else []
    for name in KINDS:
        number = sum(1 for address in revived if address.kind == name)
        if number:
            what = count(number, f"disabled {name}", f"disabled {KINDS[name].plural}")
            clauses.append(Clause(f"{what} {_be(tense, number)} enabled again and charged", "warn"))
    return clauses


def _deleted(deletes: Sequence[Delete], tense: str) -> str:
    return f"{by_kind(deletes)} {_be(tense, len(deletes))} deleted"


def _of_deletes(deletes: Sequence[Delete], tense: str) -> tuple[str, ...]:
    """Return what makes deletes worse than their number: who was there before us, and what goes with them."""
    before = sum(1 for change in deletes if change.adopted)
    taken = Counter[str]()
    for change in deletes:
        taken[change.address.kind] += len(change.cascades)
    parts = listed([below(name, taken[name]) for name in KINDS if taken[name]])
    told = (
        f"{before:,} of the {len(deletes):,} deleted existed before us." if before else "",
        f"{parts} {_be(tense, taken.total())} deleted with {'it' if len(deletes) == 1 else 'them'}."
        if parts
        else "",
    )
    return tuple(filter(None, told))


def _other(changes: Sequence[Change], tense: str) -> list[Clause]:
    clauses = []
    for made, word in ((Update, "updated"), (Create, "created")):
        chosen = [change for change in changes if isinstance(change, made) and not is_revived(change)]
        if chosen:
            clauses.append(Clause(f"{by_kind(chosen)} {_be(tense, len(chosen))} {word}"))
    return clauses


def _be(tense: str, number: int) -> str:
    one, many = _TENSES[tense]
    return one if number == 1 else many
