"""What a reader has to know of a review first: what goes away and what costs, then what else happens.

The headline, the counts, and what comes of it with the next step, for a plan, a drift and a run; which lists
follow is decided in review_builder.py.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from reconciler.core.review.drift import Drift, count_not_applied, summarize_drift
from reconciler.model.kinds import KINDS
from reconciler.model.plans import (
    SECRET_NEEDED,
    UNCERTAIN,
    Change,
    Create,
    Delete,
    Plan,
    Update,
    Verdict,
    action_of,
)
from reconciler.model.runs import Result, Run
from reconciler.report.lines import count
from reconciler.report.phrases import (
    count_by_kind,
    count_children,
    describe_read_limit,
    is_reactivation,
    limit_claim,
)
from reconciler.report.review_document import Clause, NextStep, Review, Tone, enumerate_words

# Worst first: what a person has to look at comes first.
WORST_FIRST: tuple[Result, ...] = ("in doubt", "failed", "conflict", "skipped", "not attempted", "applied")

_TENSES = {"will": ("will be", "will be"), "would": ("would be", "would be"), "did": ("was", "were")}


class ReviewSummary(Struct, frozen=True):
    """What matters of a review, most important first: fields of ReviewDocument with the same names."""

    headline: tuple[Clause, ...]
    conclusion: Clause
    grave: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    counts: tuple[Clause, ...] = ()
    limits: str = ""
    next_step: NextStep | None = None


def summarize_review(review: Review, drifts: Sequence[Drift]) -> ReviewSummary:
    """Return what matters of a plan or a run; of a drift, which `drifts` is then."""
    if review.run is not None:
        return _summarize_run(review.plan, review.verdict, review.run)
    if review.command == "drift":
        return _summarize_drift(review.plan, drifts)
    return _summarize_plan(review)


# --- A plan -------------------------------------------------------------------------------------------------


def _summarize_plan(review: Review) -> ReviewSummary:
    plan, safe = review.plan, review.verdict.safe
    nothing, conclusion, goes_on = _conclude_plan(plan, review.verdict)
    if review.command == "resume" and not plan.changes:  # without a run nothing was compared either
        nothing = "Nothing to resume: every run of this stack has finished"
    tense = "will" if safe else "would"
    grave, other = _list_grave_clauses(plan.changes, tense), _list_mild_clauses(plan.changes, tense)
    counts = count_entities(plan)
    besides = [clause.text for clause in counts if clause.tone not in _CHANGES]
    unread = sum(1 for read in plan.reads if not read.complete)
    details = [
        f"{enumerate_words([clause.text for clause in other])}." if grave and other else "",
        f"{enumerate_words(besides)}." if besides else "",
        f"{count(unread, 'list was', 'lists were')} not read completely." if unread else "",
    ]
    return ReviewSummary(
        headline=tuple(grave or other or [Clause(nothing)]),
        conclusion=Clause(conclusion),
        grave=_describe_losses([change for change in plan.changes if isinstance(change, Delete)], tense),
        details=tuple(filter(None, details)),
        counts=counts,
        limits="" if plan.changes else describe_read_limit(plan.reads),
        next_step=NextStep(review.next_step) if goes_on and review.next_step else None,
    )


def _conclude_plan(plan: Plan, verdict: Verdict) -> tuple[str, str, bool]:
    """Return what a plan without changes says, what comes of the plan, and whether an apply comes next."""
    ambiguous = sum(1 for skip in plan.skips if skip.reason in UNCERTAIN)
    waiting = sum(1 for skip in plan.skips if skip.reason in SECRET_NEEDED)
    if ambiguous:
        nothing = f"Nothing can be written: {count(ambiguous, 'entity is', 'entities are')} ambiguous"
        conclusion = "Nothing was written: first resolve the ambiguous entities at the service."
    elif waiting:
        nothing = f"Nothing can be written: {count(waiting, 'entity waits', 'entities wait')} for a secret"
        conclusion = "Nothing was written: some entities wait for a secret; declare it first."
    elif plan.to_keep:
        nothing = f"{count(plan.to_keep, 'record')} to update; nothing changes at the service"
        conclusion = f"{count(plan.to_keep, 'record')} to update."
    else:
        nothing = "Nothing to undo" if plan.options.undo_of else limit_claim(_match_claim(plan), plan.reads)
        conclusion = f"{nothing}."
    if not verdict.safe:
        return nothing, "Refused; nothing was written.", False
    if plan.changes:
        return nothing, "Nothing was written.", True
    return nothing, conclusion, bool(plan.to_keep and not ambiguous and not waiting)


def _match_claim(plan: Plan) -> str:
    others = " of the other workspaces" if plan.left_out else ""
    return f"Nothing to do: the service matches the manifests{others}"


_CHANGES: frozenset[Tone] = frozenset({"delete", "update", "create"})


def count_entities(plan: Plan) -> tuple[Clause, ...]:
    """Count every entity that was looked at by what happens to it; what does not occur is not named."""
    skipped = Counter(skip.reason for skip in plan.skips)
    numbers: list[tuple[int, str, Tone]] = [
        (plan.count("delete"), "delete", "delete"),
        (plan.count("update"), "update", "update"),
        (plan.count("create"), "create", "create"),
        (sum(plan.unchanged.values()), "unchanged", ""),
        (len(plan.adoptions), "adopted", ""),
        *(
            (number, f"{word}{'' if number == 1 else 's'} left for an apply", "")
            for word, number in plan.postponed.items()
        ),
        (len(plan.renames), "renamed", ""),
        (len(plan.gone) + len(plan.forgotten), "forgotten", ""),
        (len(plan.records) - len(plan.forgotten), "recorded again", ""),
        (skipped.pop("protected", 0), "protected", ""),
        *((number, reason, "warn") for reason, number in sorted(skipped.items())),
        (len(plan.notices), "notice" if len(plan.notices) == 1 else "notices", "warn"),
        (sum(plan.unmanaged.values()), "unmanaged", "dim"),
    ]
    return tuple(
        Clause(count(number, word) if tone in _CHANGES else f"{number:,} {word}", tone)
        for number, word, tone in numbers
        if number
    )


# --- A drift ------------------------------------------------------------------------------------------------


def _summarize_drift(plan: Plan, drifts: Sequence[Drift]) -> ReviewSummary:
    said = summarize_drift(plan)
    conclusion = Clause(said, "warn" if plan.unapplied else "")
    if plan.unapplied or not drifts:
        return ReviewSummary(
            headline=(Clause(said.removesuffix("."), conclusion.tone),),
            conclusion=conclusion,
            limits="" if drifts else describe_read_limit(plan.reads),
            next_step=_REPAIR if drifts else None,
        )
    found = {drift.address: drift for drift in drifts}
    number = count_not_applied(plan)
    return ReviewSummary(
        headline=(Clause(f"{count_by_kind(found.values())} changed since the last apply", "warn"),),
        conclusion=conclusion,
        details=("Nothing was written.", *([f"{number:,} not yet applied."] if number else [])),
        next_step=_REPAIR,
    )


_REPAIR = NextStep("reconciler plan", "shows what would be written; a manifest edit keeps what is live")


# --- A run --------------------------------------------------------------------------------------------------

# What to do after a run that is not done. Each of these commands looks before it writes, so nothing is done
# twice.
_NEXT_STEPS: Mapping[str, NextStep] = {
    "in doubt": NextStep(
        "reconciler resume", "checks what became of each request, then continues; nothing is sent twice"
    ),
    "stale": NextStep("reconciler plan", "shows what has changed at the service since"),
    "partial": NextStep(
        "reconciler apply", "continues with the remaining changes; finished ones are not repeated"
    ),
    "failed": NextStep("reconciler apply", "once the cause is fixed; finished changes are not repeated"),
    "interrupted": NextStep(
        "reconciler resume", "continues with the remaining changes; finished ones are not repeated"
    ),
}


_AFTER_LEFT_OUT = NextStep("reconciler apply", "once what is left out can be planned; the rest is done")


def find_next_step(run: Run) -> NextStep | None:
    """Return what to do after a run, or None where it is done."""
    if run.not_planned and run.outcome == "partial" and run.count("applied") == len(run.outcomes):
        return _AFTER_LEFT_OUT
    return _NEXT_STEPS.get(run.outcome)


def conclude_run(run: Run) -> str:
    """Return how much of a run was written, as a sentence."""
    applied, planned = run.count("applied"), len(run.outcomes)
    if not planned:
        if run.outcome != "done":
            return "Nothing was written."
        kept = f"; {count(run.records, 'record')} updated" if run.records else ""
        return f"Nothing had to be written{kept}."
    if applied == planned:
        return f"{count(applied, 'change')} applied: the service now matches the plan."
    return f"{applied:,} of {count(planned, 'change')} applied."


def count_results(run: Run) -> list[tuple[Result, str]]:
    """Return each result that changes of a run ended with, the worst first, and how many there are of it."""
    return [(result, f"{run.count(result):,} {result}") for result in WORST_FIRST if run.count(result)]


def _summarize_run(plan: Plan, verdict: Verdict, run: Run) -> ReviewSummary:
    done = {(one.address, one.action) for one in run.outcomes if one.result == "applied"}
    applied = [change for change in plan.changes if (change.address, action_of(change)) in done]
    past = enumerate_words(
        [
            clause.text
            for clause in (*_list_grave_clauses(applied, "did"), *_list_mild_clauses(applied, "did"))
        ]
    )
    kept = [f"{count(run.records, 'record')} updated."] if run.records and run.outcomes else []
    conclusion = conclude_run(run)
    if run.outcomes and run.count("applied") < len(run.outcomes):
        headline = _summarize_troubles(run, conclusion.removesuffix("."))
    else:
        headline = (Clause(conclusion.removesuffix(".")),)
    return ReviewSummary(
        headline=headline,
        conclusion=Clause(_conclude_plan(plan, verdict)[1]),
        details=(*([f"{past}."] if past else []), *kept),
        counts=count_entities(plan),
        limits="" if plan.changes else describe_read_limit(plan.reads),
        next_step=find_next_step(run),
    )


def _summarize_troubles(run: Run, how_far: str) -> tuple[Clause, ...]:
    """Return what did not go as planned, the gravest words alone where there are some, and how far it got."""
    bad: list[Result] = [one for one in ("in doubt", "failed", "conflict") if run.count(one)]
    shown: list[Result] = bad or [one for one in ("skipped", "not attempted") if run.count(one)]
    clauses = [
        Clause(f"{run.count(one):,} {one}", "warn" if one not in ("in doubt", "failed") else "delete")
        for one in shown
    ]
    return (*clauses, Clause(how_far))


# --- What goes away, what costs, and what is milder ---------------------------------------------------------


def _list_grave_clauses(changes: Sequence[Change], tense: str) -> list[Clause]:
    """Return what goes away, and what costs money from now on."""
    deletes = [change for change in changes if isinstance(change, Delete)]
    revived = [change.address for change in changes if is_reactivation(change)]
    clauses = (
        [Clause(f"{count_by_kind(deletes)} {_inflect_verb(tense, len(deletes))} deleted", "delete")]
        if deletes
        else []
    )
    for name in KINDS:
        number = sum(1 for address in revived if address.kind == name)
        if number:
            what = count(number, f"disabled {name}", f"disabled {KINDS[name].plural}")
            clauses.append(Clause(f"{what} {_inflect_verb(tense, number)} enabled again and charged", "warn"))
    return clauses


def _describe_losses(deletes: Sequence[Delete], tense: str) -> tuple[str, ...]:
    """Return what makes deletes worse than their number: who was there before us, and what goes with them."""
    before = sum(1 for change in deletes if change.adopted)
    taken = Counter[str]()
    for change in deletes:
        taken[change.address.kind] += len(change.cascades)
    parts = enumerate_words([count_children(name, taken[name]) for name in KINDS if taken[name]])
    sentences = (
        f"{before:,} of the {len(deletes):,} deleted existed before this stack." if before else "",
        f"{parts} {_inflect_verb(tense, taken.total())} deleted with {'it' if len(deletes) == 1 else 'them'}."
        if parts
        else "",
    )
    return tuple(filter(None, sentences))


def _list_mild_clauses(changes: Sequence[Change], tense: str) -> list[Clause]:
    clauses = []
    for made, word in ((Update, "updated"), (Create, "created")):
        chosen = [change for change in changes if isinstance(change, made) and not is_reactivation(change)]
        if chosen:
            clauses.append(Clause(f"{count_by_kind(chosen)} {_inflect_verb(tense, len(chosen))} {word}"))
    return clauses


def _inflect_verb(tense: str, number: int) -> str:
    one, many = _TENSES[tense]
    return one if number == 1 else many
