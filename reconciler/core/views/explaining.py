"""Everything that is known of a few addresses, and why a plan writes each field of them or leaves it alone.

    desired, recorded        --> what should be, and where that comes from; what the last apply sent
    live, plan (or neither)  --> what is, and what becomes of it

Nothing is decided here. Which live entity is meant is asked of the functions that plan it, what is written of
the plan, and why a field is not of the comparison that the plan was made by. Not here: reading, wording.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from reconciler.core.compare.diff import Unchanged, compare_fields, is_ignored_path
from reconciler.core.compare.match import former_names
from reconciler.core.compare.normalize import WITHHELD, normalize_fields, redact_value_for_plan
from reconciler.core.planning.plan import find_recorded_address, match_group
from reconciler.core.planning.scopes import (
    MatchedGroup,
    PlanContext,
    device_group,
    make_plan_context,
    split_into_groups,
)
from reconciler.core.planning.select import Selection
from reconciler.core.review.drifts import drifts
from reconciler.core.rules import Rules
from reconciler.core.views.listing import planned_words
from reconciler.core.views.reasons import reasons
from reconciler.model.address import Address
from reconciler.model.documents import Fields, Scalar
from reconciler.model.kinds import BUILT_IN_KINDS, KINDS
from reconciler.model.plans import (
    Cause,
    Control,
    Create,
    Decision,
    Delete,
    EntitySources,
    ExplainedField,
    Explanation,
    FieldChange,
    FieldReason,
    LastWrite,
    Plan,
    Skip,
    Update,
    Verdict,
)
from reconciler.model.snapshots import Desired, Entity, Live, LiveEntity, Recorded, RecordedEntity, Scope

State = Literal["declared", "owned", "drifted", "removed", "outside"]


class PlanView(Struct, frozen=True):
    """What a plan of these addresses saw, and what it is."""

    live: Live
    plan: Plan
    verdict: Verdict = Verdict()


class Evidence(Struct, frozen=True):
    """Everything that explaining takes. Without `seen` nobody was asked.

    `sources` are where declared values come from, `writes` who wrote the records last, both by address.
    `selection` is the one that a plan is asked about; these addresses are explained all the same.
    """

    desired: Desired
    recorded: Recorded
    rules: Rules
    sources: Mapping[Address, EntitySources] = {}
    writes: Mapping[Address, LastWrite] = {}
    seen: PlanView | None = None
    selection: Selection = Selection()


class _Found(Struct, frozen=True):
    """What one address is: declared, recorded, live, and how it was recognized."""

    address: Address
    entity: Entity | None = None
    record: RecordedEntity | None = None
    row: LiveEntity | None = None
    by: str = ""


def explanations(addresses: Iterable[Address], known: Evidence) -> tuple[Explanation, ...]:
    """Return the explanation of each address, in the order given; all of them are declared or recorded.

    The plan is one of these addresses, made with the same snapshots. Same inputs, same result.
    """
    wanted = tuple(addresses)
    seen = known.seen
    across = _shared(known, seen) if seen else None
    found = dict(_live(wanted, known, seen, across)) if seen and across else {}
    drifted = {one.address for one in drifts(seen.plan)} if seen else set()
    words = planned_words(seen.plan) if seen else {}
    former = {
        one: was for one, was in former_names(known.desired.entities.values()).items() if one in set(wanted)
    }
    made = []
    for address in wanted:
        one = found.get(address) or _unseen(known, address, former.get(address, address))
        state = _state(known, one, drifted=address in drifted)
        made.append(_explained(known, across, one, state, words.get(address, "")))
    return tuple(made)


def _shared(known: Evidence, seen: PlanView) -> PlanContext:
    plan = seen.plan
    return make_plan_context(
        known.desired, seen.live, known.recorded, options=plan.options, rules=known.rules, salt=plan.salt
    )


def _unseen(known: Evidence, address: Address, former: Address) -> _Found:
    entities, records = known.desired.entities, known.recorded.entities
    return _Found(address, entities.get(address), records.get(address) or records.get(former))


def _live(
    wanted: Iterable[Address], known: Evidence, seen: PlanView, across: PlanContext
) -> Iterator[tuple[Address, _Found]]:
    """Yield what each address is, by the functions that planning asks, where its scope was read."""
    by_scope: dict[Scope, list[Address]] = {}
    for address in wanted:
        by_scope.setdefault(Scope.of(address.above or address), []).append(address)
    for group in split_into_groups(known.desired, seen.live, known.recorded):
        if group.scope not in by_scope:
            continue
        at = match_group(across, group)
        for address in by_scope[group.scope]:
            above = address.above
            if above is None:
                yield address, _in(at, address)
            elif above in group.entities:
                hit = at.matches.found.get(above)
                below = device_group(
                    group, above, hit.live if hit else None, find_recorded_address(at, above, hit)
                )
                yield address, _in(match_group(across, below), address)
            else:
                record = known.recorded.entities.get(address)
                rows = seen.live.entities.get(Scope.of(address), ())
                yield address, _Found(address, None, record, _by_id(rows, record))


def _in(at: MatchedGroup, address: Address) -> _Found:
    group, hit = at.group, at.matches.found.get(address)
    entity = group.entities.get(address)
    old = hit.record if hit else find_recorded_address(at, address, hit)
    record = group.records.get(old) if old else group.records.get(address)
    if entity is not None:
        return _Found(address, entity, record, hit.live if hit else None, hit.by if hit else "")
    marked = at.marked.get(address, ())
    row = _by_id(group.rows, record) or (marked[0] if len(marked) == 1 else None)
    return _Found(address, None, record, row, "record" if record and row else "")


def _by_id(rows: Iterable[LiveEntity], record: RecordedEntity | None) -> LiveEntity | None:
    return next((row for row in rows if record and row.remote_id == record.remote_id), None)


def _state(known: Evidence, one: _Found, *, drifted: bool) -> State:
    """Return whose it is, as a list says it; what nobody decides about is not in a list of its scope."""
    address = one.address
    if one.entity is not None:
        marked = one.by != "" and one.by == known.rules.mark_of(address.kind)
        return "drifted" if drifted else "owned" if one.record or marked else "declared"
    if {address, address.above} & known.desired.removed.keys():
        return "removed"
    above = known.desired.entities.get(address.above) if address.above else None
    read = Scope.of(address.above or address) in known.desired.scopes
    if not read or (above is not None and not above.devices_in_scope):
        return "outside"
    return "drifted" if drifted else "owned"


def _explained(
    known: Evidence, across: PlanContext | None, one: _Found, state: State, word: str
) -> Explanation:
    address = one.address
    sources, record, entity = known.sources.get(address, EntitySources()), one.record, one.entity
    recorded_as = record.address if record and record.address != address else ""
    read = known.seen is not None and Scope.of(address.above or address) in known.desired.scopes
    remote_id = one.row.remote_id if one.row else record.remote_id if record and not read else ""
    plan = known.seen.plan if known.seen else None
    verdict = known.seen.verdict if known.seen else Verdict()
    return Explanation(
        address=address,
        state=state,
        planned=word,
        said=tuple(
            reasons(
                address,
                known.desired,
                plan,
                verdict,
                selection=known.selection,
                read=read,
                outside=state == "outside",
            )
        ),
        fields=tuple(_fields(known, across, one, sources, read=read)),
        place=str(entity.place) if entity else "",
        remote_id=remote_id,
        found_by=one.by,
        recorded_as=recorded_as,
        read=read,
        recorded=record is not None,
        adopted=record.adopted if record else "",
        protected=bool(record and record.protected),
        last_write=known.writes.get(record.address) if record else None,
        controls=tuple(_controls(entity, sources)) if entity else (),
        own_kind=address.kind not in BUILT_IN_KINDS,
    )


def _controls(entity: Entity, sources: EntitySources) -> Iterator[Control]:
    said, at = entity.controls, sources.controls
    if said.protect:
        yield Control("protect", "true", at.get("protect"))
    if said.reactivate:
        yield Control("reactivate", "true", at.get("reactivate"))
    if said.carry_over:
        yield Control("carryOver", "true", at.get("carryOver"))
    if said.renamed_from:
        yield Control("renamedFrom", said.renamed_from, at.get("renamedFrom"))
    if said.ignore:
        yield Control("ignore", ", ".join(sorted(said.ignore)), at.get("ignore"))
    for key, value in sorted(said.tags.items()):
        yield Control("tag", f"{key}={value}", at.get("tags"))


class _Why(Struct, frozen=True):
    """What becomes of one field, and why."""

    decision: Decision
    reason: Cause | FieldReason
    after: Scalar | None = None


def _fields(
    known: Evidence, across: PlanContext | None, one: _Found, sources: EntitySources, *, read: bool
) -> Iterator[ExplainedField]:
    """Yield every field that is declared, live or recorded, by path."""
    salt = across.salts.plan if across else ""
    kind, entity, record, row = one.address.kind, one.entity, one.record, one.row
    want = normalize_fields(kind, entity.fields) if entity else {}
    live: Fields = row.fields if row else {}
    sent: Fields = record.sent if record else {}
    shown: Fields = record.shown if record else {}
    why = _why(known, across, one) if across and read else {}
    # Of a secret that nobody declares nothing is shown, not even a digest that says whether it has changed.
    theirs = KINDS[kind].readable_secrets - want.keys() - sent.keys()
    for path in sorted(want.keys() | live.keys() | sent.keys()):
        seen = read and path not in KINDS[kind].write_only and _was_read(row, path)
        found = why.get(path) or _otherwise(one, path, read=read)
        yield ExplainedField(
            path=path,
            decision=found.decision,
            reason=found.reason,
            desired=_plan_value(kind, path, want.get(path), salt),
            source=sources.fields.get(path),
            live=_plan_value(kind, path, live.get(path), "" if path in theirs else salt) if seen else None,
            read=seen,
            sent=_kept_value(kind, path, sent.get(path)),
            shown=_kept_value(kind, path, shown.get(path)),
            after=found.after,
        )


def _was_read(row: LiveEntity | None, path: str) -> bool:
    return row is None or row.known is None or path in row.known


def _why(known: Evidence, across: PlanContext, one: _Found) -> dict[str, _Why]:
    """Return what the plan makes of each field that it looks at."""
    assert known.seen is not None  # noqa: S101 - across comes from it
    change = next((each for each in known.seen.plan.changes if each.address == one.address), None)
    match change:
        case Create():
            return {path: _Why("change", change.cause, value) for path, value in change.fields.items()}
        case Delete():
            return {path: _Why("change", change.cause) for path in change.before}
    written = {each.path: each for each in change.fields} if isinstance(change, Update) else {}
    found = {path: _Why("change", each.cause, each.after) for path, each in written.items()}
    if one.entity is None or one.row is None or _left_alone(known.seen.plan, one.address):
        return found
    for path, judged in compare_fields(one.entity, one.row, one.record, salts=across.salts):
        if not isinstance(judged, FieldChange):
            found.setdefault(path, _judged(judged))
    return found


def _judged(judged: Skip | Unchanged) -> _Why:
    if not isinstance(judged, Skip):
        return _Why("none", judged)
    return _Why("left", "disabled" if judged.reason == "disabled" else "taken over")


def _left_alone(plan: Plan, address: Address) -> bool:
    """Whether the plan leaves the whole entity alone, and not a field of it."""
    return any(one.address == address and one.reason not in ("disabled", "taken over") for one in plan.skips)


def _otherwise(one: _Found, path: str, *, read: bool) -> _Why:
    """Return why the plan does not even look at a field."""
    if not read:
        return _Why("unknown", "not read")
    if one.entity is None:
        return _Why("left", "not declared")
    if is_ignored_path(one.entity, path):
        return _Why("left", "ignored")
    if path in one.entity.fields:
        # Of something new, "" has nothing to clear; of what is left alone nobody knows.
        nothing = one.row is None and one.entity.fields[path] == ""
        return _Why("none", "as declared") if nothing else _Why("unknown", "not compared")
    if one.record is None or path not in one.record.sent:
        return _Why("left", "not declared")
    if path in KINDS[one.entity.address.kind].readable_secrets:
        return _Why("left", "not declared")
    hidden = path in KINDS[one.entity.address.kind].write_only
    return _Why("left", "not readable" if hidden else "not clearable")


def _plan_value(kind: str, path: str, value: Scalar | None, salt: str) -> Scalar | None:
    """Return a value as a plan shows it. Without a plan no digest of a secret is made at all."""
    if value is None or salt:
        return value if value is None else redact_value_for_plan(kind, path, value, salt)
    return WITHHELD if value and path in KINDS[kind].secret else value


def _kept_value(kind: str, path: str, value: Scalar | None) -> Scalar | None:
    """Return a recorded value: the store's own digest of a secret leaves the store for nobody."""
    return WITHHELD if value and path in KINDS[kind].secret else value
