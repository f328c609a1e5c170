"""What a reader has to know first, in words: what goes away and what costs, then what else happens.

Belongs here: sentences, as text. Not here: markup, lists, numbers of charts.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from reconciler.core.review.drifts import drifts, not_applied_yet, summarize_drift
from reconciler.model.kinds import KINDS
from reconciler.model.plans import SECRET_NEEDED, UNCERTAIN, Change, Create, Delete, Plan, Update, action_of
from reconciler.model.runs import Result, Run
from reconciler.report.answers import answer_words
from reconciler.report.formats.said import below, by_kind, is_revived
from reconciler.report.lines import count
from reconciler.report.plan.review import Review
from reconciler.report.reads import as_far_as_read, limited

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
    found = {drift.address: drift for drift in drifts(plan)}
    if plan.unapplied or not found:
        said, limits = summarize_drift(plan).removesuffix("."), as_far_as_read(plan.reads)
        more = (limits,) if limits and not plan.unapplied else ()
        return Sentences((Clause(said, "warn" if plan.unapplied else ""),), more=more)
    number = not_applied_yet(plan)
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
