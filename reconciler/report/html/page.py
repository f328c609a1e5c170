"""The page: what matters first, then counts, search, and the lists with deletes on top.

Belongs here: the order of everything. Not here: the file around it (frame.py), how one entry looks
(entries.py), and escaping (markup.py). The plan's salt is used by nothing here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from reconciler.core.review.drift import find_drift
from reconciler.core.review.guard import list_agreements
from reconciler.model.address import Address
from reconciler.model.notices import Notice
from reconciler.model.plans import Change, Create, Delete, Plan, Update, Verdict
from reconciler.model.runs import Outcome
from reconciler.report.html import entries
from reconciler.report.html.charts import Counted, charts, of_changes, of_drifts
from reconciler.report.html.controls import FilterChoice, controls
from reconciler.report.html.frame import EntryList, enumerated, framed, listed
from reconciler.report.html.markup import LINE, NOTHING, Html, code, joined, text
from reconciler.report.html.runs import moment, overview
from reconciler.report.phrases import AGREED_TITLE, WORST_FIRST, agreement_words, headline, sentences
from reconciler.report.review_document import Review
from reconciler.report.text import bookkeeping
from reconciler.report.values import short_fingerprint

T = TypeVar("T")


def html(review: Review) -> str:
    """Return the review as one HTML file that needs nothing else: the same bytes for the same review."""
    return "".join(html_pieces(review))


def html_pieces(review: Review) -> Iterator[str]:
    """Yield the same, no more than fifty entries at once."""
    return framed(f"{review.command}: {headline(sentences(review))}", _body(review))


def _body(review: Review) -> Iterator[Html]:
    sections = [section for section in _sections(review) if section.count]
    yield joined([*_above(review, sections), Html("<main id=main>")], LINE)
    for section in sections:
        yield from listed(section)
    yield joined([Html(f"{_reads(review.plan)}</main>"), _foot(review)], LINE)


def _above(review: Review, sections: Sequence[EntryList]) -> Iterator[Html]:
    """Yield what stands above the lists."""
    counted = _counted(review)
    total = sum(section.count for section in sections)
    parts = [(section.name, section.label or section.title, section.count) for section in sections]
    yield _head(review)
    yield overview(review.run) if review.run else NOTHING
    yield charts(counted)
    yield controls(parts, _choices(review, counted), total) if total > 1 else NOTHING


def _counted(review: Review) -> list[Counted]:
    return (
        of_drifts(find_drift(review.plan)) if review.command == "drift" else of_changes(review.plan.changes)
    )


def _choices(review: Review, counted: Sequence[Counted]) -> Iterator[FilterChoice]:
    yield FilterChoice("kind", "Kind", _values(one.address.kind for one in counted))
    yield FilterChoice("workspace", "Workspace", _values(one.address.workspace for one in counted))
    yield FilterChoice("cause", "Cause", _values(cause for one in counted for cause in one.causes))
    if review.run:
        ended = {one.result for one in review.run.outcomes}
        yield FilterChoice("result", "Result", tuple(one for one in WORST_FIRST if one in ended))


def _values(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def _sections(review: Review) -> Iterator[EntryList]:
    """Yield every list in its order: what went wrong, what goes away, then what is less grave."""
    plan = review.plan
    outcomes = review.run.outcomes if review.run else ()
    told = entries.told_of(plan, outcomes, show_values=review.show_values, whom=review.whom)
    if review.run:
        ended, about = _ended(plan, outcomes), "Of this run, the worst first."
        yield _list("ended", "Not as planned", about, ended, partial(entries.outcome_entry, told=told))
    if review.command == "drift":
        about = "What the last apply left, then what is live now."
        yield _list(
            "drift", "Changed by others", about, find_drift(plan), partial(entries.drift_entry, told=told)
        )
    else:
        yield from _changes(plan.changes, told)
        about = "Kept by us; nothing changes at the service."
        yield _list("records", "Records", about, bookkeeping(plan), partial(_record, told=told))
        about, skip = "Seen, and not acted on.", partial(entries.skip_entry, told=told)
        yield _list("skips", "Left alone", about, plan.skips, skip)
    about = "Good to know; nothing is done about it."
    yield _list("notices", "Notices", about, _notices(review), partial(entries.notice_entry, told=told))


def _list(
    name: str,
    title: str,
    about: str,
    items: Iterable[T],
    entry: Callable[[T], Html],
    *,
    label: str = "",
) -> EntryList:
    """Return a list with an entry for each item, made when it is asked for."""
    every = tuple(items)
    return EntryList(name, title, len(every), map(entry, every), about, label)


def _record(record: tuple[Address, str], told: entries.EntryContext) -> Html:
    return entries.record_entry(*record, told)


def _notices(review: Review) -> list[Notice]:
    """Return the notices; of drift without those that its entries tell."""
    if review.command != "drift":
        return [*review.plan.notices]
    told = {str(one.address) for one in find_drift(review.plan) if one.cause in {"duplicate", "ambiguous"}}
    twice = {"duplicate", "ambiguous"}
    return [one for one in review.plan.notices if one.kind not in twice or one.subject not in told]


def _changes(changes: Sequence[Change], told: entries.EntryContext) -> Iterator[EntryList]:
    ours = [one for one in changes if isinstance(one, Delete) and not one.adopted]
    before = [one for one in changes if isinstance(one, Delete) and one.adopted]
    lists: tuple[tuple[str, str, Sequence[Change], str], ...] = (
        ("deletes", "Deletes", ours, ""),
        ("before", "Deletes of what existed before us", before, "Adopted by us, and not made by us."),
        ("updates", "Updates", [one for one in changes if isinstance(one, Update)], ""),
        ("creates", "Creates", [one for one in changes if isinstance(one, Create)], ""),
    )
    for name, title, chosen, about in lists:
        label = "Existed before us" if name == "before" else ""
        yield _list(name, title, about, chosen, partial(entries.change_entry, told=told), label=label)


def _ended(plan: Plan, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes a person has to look at, worst first; then those of no change of this plan."""
    planned = {change.address for change in plan.changes}
    return [
        one
        for result in WORST_FIRST
        for one in outcomes
        if one.result == result and (result != "applied" or one.what or one.address not in planned)
    ]


def _head(review: Review) -> Html:
    said = sentences(review)
    marked = [
        Html(f'<strong class="{clause.tone}">{text(clause.text)}</strong>')
        if clause.tone
        else text(clause.text)
        for clause in said.first
    ]
    grave = f"<p class=grave>{text(' '.join(said.grave))}</p>" if said.grave else ""
    more = f"<p class=more>{text(' '.join(said.more))}</p>" if said.more else ""
    target = review.plan.target
    return Html(
        f"<header class=top><p class=about><b>{text(review.command)}</b> {text(target.stack)} "
        f"<span>→ {text(target.origin)}</span></p>"
        f"{_agreed(review.plan)}<h1>{enumerated(marked)}.</h1>{grave}{more}{_refusals(review.verdict)}{_next(review)}{_hidden(review)}"
        "</header>"
    )


def _agreed(plan: Plan) -> Html:
    agreements = "".join(f"<li>{text(agreement_words(one))}" for one in list_agreements(plan))
    return (
        Html(f"<div class=agreed><h2>{text(AGREED_TITLE)}</h2><ul>{agreements}</ul></div>")
        if agreements
        else NOTHING
    )


def _refusals(verdict: Verdict) -> Html:
    if verdict.safe:
        return NOTHING
    reasons = "".join(
        f"<li>{text(reason.what)}<p class=next><span>next:</span> {text(reason.next)}</p>"
        for reason in verdict.reasons
    )
    return Html(f"<div class=alert><h2>Refused: nothing is written</h2><ul>{reasons}</ul></div>")


def _next(review: Review) -> Html:
    if not review.next_step or not review.verdict.safe:
        return NOTHING
    return Html(f"<p class=step><span>Next</span> {code(review.next_step)}</p>")


def _hidden(review: Review) -> Html:
    if review.show_values:
        return NOTHING
    return Html(
        "<p class=hint>Fields are named without their values. <code>--show-values</code> shows them.</p>"
    )


def _reads(plan: Plan) -> Html:
    """Return what was not read whole, and what is ours without a manifest."""
    told = [f"{read.scope}: not read completely" for read in plan.reads if not read.complete]
    told += [
        f"{scope}: {number:,} recorded, and no manifest declares them; left unchanged"
        for scope, number in plan.outside.items()
    ]
    lines = "".join(f"<li>{text(one)}" for one in told)
    return Html(f"<section class=reads><h2>Also seen</h2><ul>{lines}</ul></section>") if told else NOTHING


def _foot(review: Review) -> Html:
    facts = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in _facts(review) if value
    )
    return Html(f"<footer><h2>About this report</h2><dl class=facts>{facts}</dl></footer>")


def _facts(review: Review) -> Iterator[tuple[str, str]]:
    plan = review.plan
    yield (
        "Workspaces",
        ", ".join(f"{one.alias} ({one.name})" if one.name else one.alias for one in plan.target.workspaces),
    )
    chosen = [f"--only {one}" for one in plan.options.only]
    yield "Selected by", " ".join([*chosen, *(f"--except {one}" for one in plan.options.excluded)])
    yield "Undoes run", plan.options.undo_of
    yield "Planned at", moment(plan.created_at)
    yield "Expires at", moment(plan.expires_at)
    yield "Fingerprint", short_fingerprint(plan.fingerprint)
    yield "Read with", _read_with(plan)
    yield "Exit code", str(review.exit_code)


def _read_with(plan: Plan) -> str:
    calls, avoided = (sum(getattr(read, name) for read in plan.reads) for name in ("calls", "avoided"))
    return f"{calls:,} calls" + (f" ({avoided:,} more avoided)" if avoided else "") if calls else ""
