"""One change, record, notice or outcome as an entry of a list: its address, why, and its fields.

Belongs here: what stands in an entry. Not here: the order of the lists (page.py), and escaping (markup.py).
End tags that HTML lets out are left out: a report may have 10,000 entries.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from msgspec import Struct

from reconciler.core.review.display_names import DisplayName, find_lookalikes, no_name
from reconciler.core.review.drift import Drift
from reconciler.model.address import Address
from reconciler.model.documents import Fields, Scalar
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice
from reconciler.model.plans import Change, Create, Delete, FieldChange, Plan, Skip, Update, action_of
from reconciler.model.runs import FieldResult, Outcome, Result
from reconciler.report.html import markup
from reconciler.report.html.difference import difference, piece_max
from reconciler.report.html.markup import NOTHING, Html, joined, text
from reconciler.report.lines import count
from reconciler.report.phrases import below, drift_said, notice_said, rename_hint, skip_said
from reconciler.report.text import origin
from reconciler.report.values import Shown, pair, shown

_CAUSES = {"gone": "gone from the service"}
_DOT = Html(" · ")
_ENDED: Mapping[Result, str] = {"in doubt": "bad", "failed": "bad", "applied": "good"}


class EntryContext(Struct, frozen=True):
    """What the entries of one report share: whether they show values, files of contents, results of a run.

    `alike` are a delete and a create each that look like one entity under a new name, by both addresses;
    `moves` are those that are known to be one. `whom` says who an entity is of which an entry has no fields;
    without values it says nothing.
    """

    show_values: bool
    contents: Mapping[Address, str]
    results: Mapping[tuple[Address, str], Result]
    alike: Mapping[Address, Address]
    whom: DisplayName = no_name
    moves: Mapping[Address, Address] = {}


def told_of(
    plan: Plan, outcomes: Sequence[Outcome], *, show_values: bool, whom: DisplayName = no_name
) -> EntryContext:
    """Return what the entries of a plan share."""
    results = {(one.address, one.action): one.result for one in outcomes}
    moves = {one.before: one.after for one in plan.moves or ()}
    moves |= {one.after: one.before for one in plan.moves or ()}
    alike, who = find_lookalikes(plan), whom if show_values else no_name
    return EntryContext(show_values, plan.contents, results, alike, who, moves)


def change_entry(change: Change, told: EntryContext) -> Html:
    """Return one change: whom it is about, why, and every field of it."""
    match change:
        case Delete():
            return _delete(change, told)
        case Update():
            return _update(change, told)
        case Create():
            return _create(change, told)
    assert_never(change)


def _delete(change: Delete, told: EntryContext) -> Html:
    kind = change.address.kind
    why = f"duplicate of {change.address.base}" if change.cause == "duplicate" else change.cause
    notes = [
        _warned(origin(change)) if change.adopted else NOTHING,
        text(f"{change.keeps} stays") if change.keeps else NOTHING,
        _warned(f"with {below(kind, len(change.cascades))}: {', '.join(change.cascades)}")
        if change.cascades
        else NOTHING,
    ]
    lost = _values(kind, change.before, told, f"{count(len(change.before), 'field')} lost", "open")
    why = f"moves to {told.moves[change.address]}" if change.address in told.moves else why
    about = [_result(change, told), _cause(why), *notes]
    return _entry(change.address, _whom(kind, change.before, told), about, Html(_hint(change, told) + lost))


def _update(change: Update, told: EntryContext) -> Html:
    adopts = text(f"adopted by {change.adopts}") if change.adopts else NOTHING
    about = [_result(change, told), text(change.place), adopts, _content(change.address, told)]
    kind = change.address.kind
    rows = (_changed(kind, field, told) for field in change.fields)
    return _entry(change.address, text(told.whom(change.address)), about, _list_of_fields(rows))


def _create(change: Create, told: EntryContext) -> Html:
    kind = change.address.kind
    cause = NOTHING if change.cause == "declared" else _cause(_CAUSES.get(change.cause, change.cause))
    if moved := told.moves.get(change.address):
        cause = _cause(f"moves from {moved}")
    about = [_result(change, told), text(change.place), cause, _content(change.address, told)]
    fields = _values(kind, change.fields, told, count(len(change.fields), "field"), "")
    return _entry(change.address, _whom(kind, change.fields, told), about, Html(_hint(change, told) + fields))


def _hint(change: Change, told: EntryContext) -> Html:
    hint = rename_hint(told.alike, change)
    return _sentence(hint.what, hint.next) if hint else NOTHING


def record_entry(address: Address, about: str, told: EntryContext) -> Html:
    """Return what changes in our records of one entity, and nowhere else."""
    return _entry(address, text(told.whom(address)), [text(about)], NOTHING)


def skip_entry(skip: Skip, told: EntryContext) -> Html:
    """Return something that is left alone: why, and what can be done."""
    said = _sentence(skip_said(skip, values=told.show_values), skip.next)
    return _entry(skip.address, text(told.whom(skip.address)), [_cause(skip.reason)], said)


def notice_entry(notice: Notice, told: EntryContext) -> Html:
    """Return what a person should know beside the changes."""
    about = [_cause(notice.kind), text(notice.place)]
    return _entry(notice.subject, NOTHING, about, _sentence(*notice_said(notice, values=told.show_values)))


def drift_entry(drift: Drift, told: EntryContext) -> Html:
    """Return one entity that others changed: what we left, then what is live now."""
    kind = drift.address.kind
    rows = [_drifted(kind, field, told) for field in drift.fields]
    fields = _list_of_fields(rows) if rows else NOTHING
    said = _sentence(drift_said(drift, values=told.show_values), "")
    who = text(told.whom(drift.address))
    return _entry(drift.address, who, [_cause(drift.cause)], Html(said + fields))


def outcome_entry(outcome: Outcome, told: EntryContext) -> Html:
    """Return how one change ended, and what to do."""
    kind = outcome.address.kind
    rows = [_read_back(kind, field, told) for field in outcome.fields]
    fields = _list_of_fields(rows) if rows else NOTHING
    about = [_ended(outcome.result), text(outcome.action)]
    who = text(told.whom(outcome.address))
    return _entry(outcome.address, who, about, Html(_sentence(outcome.what, outcome.next) + fields))


def _entry(address: str, whom: Html, about: Iterable[Html], rest: Html) -> Html:
    """Return an entry; its heading is the address, with the name in it set off."""
    above, slash, name = address.rpartition("/")
    notes = joined(about, _DOT)
    line = f"<p class=w>{notes}</p>" if notes else ""
    who = f"<p class=who>{whom}</p>" if whom else ""
    return Html(f"<li><h3>{text(above + slash)}<b>{text(name)}</b></h3>{who}{line}{rest}")


def _cause(why: str) -> Html:
    return Html(f"<i>{text(why)}</i>")


def _warned(what: str) -> Html:
    return Html(f"<strong>{text(what)}</strong>")


def _result(change: Change, told: EntryContext) -> Html:
    result = told.results.get((change.address, action_of(change)))
    return _ended(result) if result else NOTHING


def _ended(result: Result) -> Html:
    return Html(f'<em class="{_ENDED.get(result, "fair")}">{text(result)}</em>')


def _content(address: Address, told: EntryContext) -> Html:
    path = told.contents.get(address)
    return text(f"its content is sent from {path}") if path else NOTHING


def _sentence(what: str, step: str) -> Html:
    said = f"<p>{text(what)}</p>" if what else ""
    return Html(f"{said}<p class=next><span>next:</span> {text(step)}</p>" if step else said)


def _whom(kind: str, fields: Fields, told: EntryContext) -> Html:
    """Return what tells a person who or what this is: names and the strongest identity, no secret."""
    if not told.show_values:
        return NOTHING
    paths = [path for path in KINDS[kind].presented if fields.get(path)]
    return text(" · ".join(shown(kind, path, fields[path]).text for path in paths))


def _values(kind: str, fields: Fields, told: EntryContext, summary: str, opened: str) -> Html:
    if not fields:
        return NOTHING
    rows = (
        f"<dt>{markup.path(path)}<dd>{_value(kind, path, value) if told.show_values else ''}"
        for path, value in sorted(fields.items())
    )
    head = f"<details{' open' if opened else ''}><summary>{text(summary)}</summary>"
    return Html(f"{head}{_list_of_fields(map(Html, rows), names_only=not told.show_values)}</details>")


def _value(kind: str, path: str, value: Scalar) -> Html:
    left = len(value) - piece_max if isinstance(value, str) else 0
    about = shown(kind, path, value, limit=piece_max)
    more = f" <small>{left:,} more characters</small>" if left > 0 and not about.placeholder else ""
    return Html(f"{_shown(about)}{more}")


def _shown(value: Shown) -> Html:
    return Html(f"<s>{text(value.text)}</s>") if value.placeholder else text(value.text)


def _changed(kind: str, field: FieldChange, told: EntryContext) -> Html:
    """Return a field before and after, with why it changes."""
    values = _both(*pair(kind, field, limit=0)) if told.show_values else NOTHING
    return Html(f"<dt>{markup.path(field.path)}<dd>{values} {_cause(field.cause)}")


def _drifted(kind: str, field: FieldChange, told: EntryContext) -> Html:
    """Return a field as we left it and as it is; the first is not known where the manifest changed too."""
    before, after = pair(kind, field, limit=0)
    if field.cause == "both":
        before = Shown("(not known)", placeholder=True)
    return Html(f"<dt>{markup.path(field.path)}<dd>{_both(before, after) if told.show_values else ''}")


def _both(before: Shown, after: Shown) -> Html:
    if not before.placeholder and not after.placeholder:
        return difference(before.text, after.text)
    return Html(f"{_end('del', before)} {_end('ins', after)}")


def _end(tag: str, value: Shown) -> Html:
    if value.placeholder:
        return Html(f"<{tag}><s>{text(value.text)}</s></{tag}>")
    left = len(value.text) - piece_max
    more = f" <small>{left:,} more characters</small>" if left > 0 else ""
    return Html(f"<{tag}>{text(value.text[:piece_max])}{more}</{tag}>")


def _read_back(kind: str, field: FieldResult, told: EntryContext) -> Html:
    said = "the service writes it in its own way" if field.taken else "not taken by the service"
    values = f"{_end('del', _read(kind, field, field.sent))} {_end('ins', _read(kind, field, field.shown))}"
    return Html(f"<dt>{markup.path(field.path)}<dd>{values if told.show_values else ''} {_cause(said)}")


def _read(kind: str, field: FieldResult, value: Scalar | None) -> Shown:
    return Shown("nothing", placeholder=True) if value is None else shown(kind, field.path, value, limit=0)


def _list_of_fields(rows: Iterable[Html], *, names_only: bool = False) -> Html:
    return Html(f"<dl{' class=names' if names_only else ''}>{''.join(rows)}</dl>")
