"""Everything that is known of a few addresses, and why a plan writes each field of them or leaves it alone.

    desired, recorded        --> what should be, and where that comes from; what the last apply sent
    live, plan (or neither)  --> what is, and what becomes of it

Nothing is decided here. The functions that plan an entity say which live one is meant, the plan says what is
written, and the comparison behind the plan says why a field is not.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from reconciler.core.compare.diff import compare_fields, is_ignored_path
from reconciler.core.compare.match import former_names
from reconciler.core.compare.normalize import WITHHELD, normalize_fields, redact_value_for_plan
from reconciler.core.desired.crosscheck import Declared
from reconciler.core.planning.plan import find_recorded_address, match_group
from reconciler.core.planning.scopes import (
    MatchedGroup,
    PlanContext,
    device_group,
    make_plan_context,
    split_into_groups,
)
from reconciler.core.planning.select import Selection
from reconciler.core.review.drift import find_drift
from reconciler.core.rules import Rules
from reconciler.core.views.inventory import planned_words
from reconciler.model.address import Address
from reconciler.model.documents import Fields, Place, Scalar
from reconciler.model.kinds import BUILT_IN_KINDS, KINDS, child_kinds
from reconciler.model.plans import (
    Cause,
    Control,
    Create,
    DecidingFact,
    Decision,
    Delete,
    EntitySources,
    ExplainedField,
    Explanation,
    FieldChange,
    FieldReason,
    FieldSource,
    LastWrite,
    Plan,
    RecordChange,
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


class ExplainRequest(Struct, frozen=True):
    """All inputs of an explanation. Without `seen` the service was not asked.

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


class _EntityFacts(Struct, frozen=True):
    """What one address is: declared, recorded, live, and how it was recognized."""

    address: Address
    entity: Entity | None = None
    record: RecordedEntity | None = None
    row: LiveEntity | None = None
    by: str = ""


def make_explanations(addresses: Iterable[Address], known: ExplainRequest) -> tuple[Explanation, ...]:
    """Return the explanation of each address, in the order given; all of them are declared or recorded.

    The plan is one of these addresses, made with the same snapshots. Same inputs, same result.
    """
    wanted = tuple(addresses)
    seen = known.seen
    across = _plan_context(known, seen) if seen else None
    found = dict(_facts_by_scope(wanted, known, seen, across)) if seen and across else {}
    drifted = {one.address for one in find_drift(seen.plan)} if seen else set()
    words = planned_words(seen.plan) if seen else {}
    former = {
        one: was for one, was in former_names(known.desired.entities.values()).items() if one in set(wanted)
    }
    made = []
    for address in wanted:
        one = found.get(address) or _facts_unread(known, address, former.get(address, address))
        state = _entity_state(known, one, drifted=address in drifted)
        made.append(_explain_entity(known, across, one, state, words.get(address, "")))
    return tuple(made)


def _plan_context(known: ExplainRequest, seen: PlanView) -> PlanContext:
    plan = seen.plan
    return make_plan_context(
        known.desired, seen.live, known.recorded, options=plan.options, rules=known.rules, salt=plan.salt
    )


def _facts_unread(known: ExplainRequest, address: Address, former: Address) -> _EntityFacts:
    entities, records = known.desired.entities, known.recorded.entities
    return _EntityFacts(address, entities.get(address), records.get(address) or records.get(former))


def _facts_by_scope(
    wanted: Iterable[Address], known: ExplainRequest, seen: PlanView, across: PlanContext
) -> Iterator[tuple[Address, _EntityFacts]]:
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
                yield address, _facts_in_group(at, address)
            elif above in group.entities:
                hit = at.matches.found.get(above)
                below = device_group(
                    group, above, hit.live if hit else None, find_recorded_address(at, above, hit)
                )
                yield address, _facts_in_group(match_group(across, below), address)
            else:
                record = known.recorded.entities.get(address)
                rows = seen.live.entities.get(Scope.of(address), ())
                yield address, _EntityFacts(address, None, record, _find_row(rows, record))


def _facts_in_group(at: MatchedGroup, address: Address) -> _EntityFacts:
    group, hit = at.group, at.matches.found.get(address)
    entity = group.entities.get(address)
    old = hit.record if hit else find_recorded_address(at, address, hit)
    record = group.records.get(old) if old else group.records.get(address)
    if entity is not None:
        return _EntityFacts(address, entity, record, hit.live if hit else None, hit.by if hit else "")
    marked = at.marked.get(address, ())
    row = _find_row(group.rows, record) or (marked[0] if len(marked) == 1 else None)
    return _EntityFacts(address, None, record, row, "record" if record and row else "")


def _find_row(rows: Iterable[LiveEntity], record: RecordedEntity | None) -> LiveEntity | None:
    return next((row for row in rows if record and row.remote_id == record.remote_id), None)


def _entity_state(known: ExplainRequest, one: _EntityFacts, *, drifted: bool) -> State:
    """Return whose it is, as a list says it; one that no plan decides about is in no list of its scope."""
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


def _explain_entity(
    known: ExplainRequest, across: PlanContext | None, one: _EntityFacts, state: State, word: str
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
            entity_reasons(
                address,
                known.desired,
                plan,
                verdict,
                selection=known.selection,
                read=read,
                outside=state == "outside",
            )
        ),
        fields=tuple(_explain_fields(known, across, one, sources, read=read)),
        place=str(entity.place) if entity else "",
        remote_id=remote_id,
        found_by=one.by,
        recorded_as=recorded_as,
        read=read,
        recorded=record is not None,
        adopted=record.adopted if record else "",
        protected=bool(record and record.protected),
        last_write=known.writes.get(record.address) if record else None,
        controls=tuple(_list_controls(entity, sources)) if entity else (),
        own_kind=address.kind not in BUILT_IN_KINDS,
    )


def _list_controls(entity: Entity, sources: EntitySources) -> Iterator[Control]:
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


class _FieldFate(Struct, frozen=True):
    """What becomes of one field, and why."""

    decision: Decision
    reason: Cause | FieldReason
    after: Scalar | None = None


def _explain_fields(
    known: ExplainRequest,
    across: PlanContext | None,
    one: _EntityFacts,
    sources: EntitySources,
    *,
    read: bool,
) -> Iterator[ExplainedField]:
    """Yield every field that is declared, live or recorded, by path."""
    salt = across.salts.plan if across else ""
    kind, entity, record, row = one.address.kind, one.entity, one.record, one.row
    want = normalize_fields(kind, entity.fields) if entity else {}
    live: Fields = row.fields if row else {}
    sent: Fields = record.sent if record else {}
    shown: Fields = record.shown if record else {}
    why = _planned_fates(known, across, one) if across and read else {}
    # Of an undeclared secret nothing is shown, not even a digest that says whether it has changed.
    theirs = KINDS[kind].readable_secrets - want.keys() - sent.keys()
    for path in sorted(want.keys() | live.keys() | sent.keys()):
        shows = row is None or row.known is None or path in row.known
        seen = read and path not in KINDS[kind].write_only and shows
        found = why.get(path) or _fate_unplanned(one, path, read=read)
        yield ExplainedField(
            path=path,
            decision=found.decision,
            reason=found.reason,
            desired=_plan_value(kind, path, want.get(path), salt),
            source=sources.fields.get(path),
            live=_plan_value(kind, path, live.get(path), "" if path in theirs else salt) if seen else None,
            read=seen,
            sent=_recorded_value(kind, path, sent.get(path)),
            shown=_recorded_value(kind, path, shown.get(path)),
            after=found.after,
        )


def _planned_fates(known: ExplainRequest, across: PlanContext, one: _EntityFacts) -> dict[str, _FieldFate]:
    """Return what the plan makes of each field that it looks at."""
    assert known.seen is not None  # noqa: S101 - across comes from it
    change = next((each for each in known.seen.plan.changes if each.address == one.address), None)
    match change:
        case Create():
            return {path: _FieldFate("change", change.cause, value) for path, value in change.fields.items()}
        case Delete():
            return {path: _FieldFate("change", change.cause) for path in change.before}
    written = {each.path: each for each in change.fields} if isinstance(change, Update) else {}
    found = {path: _FieldFate("change", each.cause, each.after) for path, each in written.items()}
    if one.entity is None or one.row is None or _is_left_alone(known.seen.plan, one.address):
        return found
    for path, judged in compare_fields(one.entity, one.row, one.record, salts=across.salts):
        if not isinstance(judged, FieldChange):
            found.setdefault(
                path,
                _FieldFate("left", "disabled" if judged.reason == "disabled" else "taken over")
                if isinstance(judged, Skip)
                else _FieldFate("none", judged),
            )
    return found


def _is_left_alone(plan: Plan, address: Address) -> bool:
    """Whether the plan leaves the whole entity alone, and not a field of it."""
    return any(one.address == address and one.reason not in ("disabled", "taken over") for one in plan.skips)


def _fate_unplanned(one: _EntityFacts, path: str, *, read: bool) -> _FieldFate:
    """Return why the plan does not even look at a field."""
    if not read:
        return _FieldFate("unknown", "not read")
    if one.entity is None:
        return _FieldFate("left", "not declared")
    if is_ignored_path(one.entity, path):
        return _FieldFate("left", "ignored")
    if path in one.entity.fields:
        # Of something new, "" has nothing to clear; of what is left alone it is not known.
        nothing = one.row is None and one.entity.fields[path] == ""
        return _FieldFate("none", "as declared") if nothing else _FieldFate("unknown", "not compared")
    if one.record is None or path not in one.record.sent:
        return _FieldFate("left", "not declared")
    if path in KINDS[one.entity.address.kind].readable_secrets:
        return _FieldFate("left", "not declared")
    hidden = path in KINDS[one.entity.address.kind].write_only
    return _FieldFate("left", "not readable" if hidden else "not clearable")


def _plan_value(kind: str, path: str, value: Scalar | None, salt: str) -> Scalar | None:
    """Return a value as a plan shows it. Without a plan no digest of a secret is made at all."""
    if value is None or salt:
        return value if value is None else redact_value_for_plan(kind, path, value, salt)
    return WITHHELD if value and path in KINDS[kind].secret else value


def _recorded_value(kind: str, path: str, value: Scalar | None) -> Scalar | None:
    """Return a recorded value: the store's own digest of a secret never leaves the store."""
    return WITHHELD if value and path in KINDS[kind].secret else value


# --- Reasons: why an address is written or left alone as a whole, sentence by sentence ------------


def entity_reasons(
    address: Address,
    desired: Desired,
    plan: Plan | None,
    verdict: Verdict,
    *,
    selection: Selection,
    read: bool,
    outside: bool,
) -> Iterator[DecidingFact]:
    """Yield what decides about an address, the weightiest first. Never nothing."""
    entity = desired.entities.get(address)
    if not selection.selects(address, entity.controls.tags if entity else {}):
        yield DecidingFact("not selected", "--only or --except leaves it out; if it were selected:")
    if place := desired.removed.get(address) or desired.removed.get(address.above or address):
        what = "it is removed from the manifests; the live entity stays."
        yield DecidingFact("removed", what, "", str(place))
    if outside:
        yield _reason_outside(address, desired)
    elif plan is None:
        what = "the service was not read, so the live state and what an apply would do are unknown."
        yield DecidingFact("not read", what, f"reconciler explain {address}")
    if plan is None or not read:
        return
    told = [
        *_reasons_of_changes(address, plan),
        *_reasons_of_records(address, plan),
        *_reasons_left_alone(address, plan, desired),
    ]
    yield from told
    if told and any(one.word in ("create", "update", "delete") for one in told):
        for reason in verdict.reasons:
            yield DecidingFact("refused", reason.what, reason.next)
    if not told and not outside:
        yield DecidingFact("unchanged", "it is as declared; an apply writes nothing.")


def _reason_outside(address: Address, desired: Desired) -> DecidingFact:
    above = address.above
    contact = desired.entities.get(above) if above else None
    if contact is not None:
        plurals = " or ".join(child.plural for child in child_kinds(contact.address.kind))
        what = f"the entry of {contact.address} has no `{plurals}:`, so they are left unchanged."
        step = f"list it there, or write `{plurals}: {{}}` there to delete it"
        return DecidingFact("not in scope", what, step, str(contact.place))
    scope = Scope.of(above or address)
    what = f"no manifest declares {scope}, so none of them are read or changed."
    step = f"declare it, or stop owning it: reconciler forget {address}"
    return DecidingFact("not in scope", what, step)


def _reasons_of_changes(address: Address, plan: Plan) -> Iterator[DecidingFact]:
    for change in plan.changes:
        if change.address.base != address:
            goes = isinstance(change, Delete) and str(address) in change.cascades
            if goes:
                yield DecidingFact("delete", f"it belongs to {change.address} and is deleted with it.")
            continue
        match change:
            case Create():
                again = change.cause == "gone"
                what = "it was recorded and no longer exists; an apply creates it again."
                yield DecidingFact("create", what if again else "it does not exist yet; an apply creates it.")
            case Update():
                yield _reason_of_update(change)
            case Delete():
                yield _reason_of_delete(change)


def _reason_of_update(change: Update) -> DecidingFact:
    number = len(change.fields)
    fields = "1 field" if number == 1 else f"{number:,} fields"
    what = f"an apply writes {fields}."
    if change.adopts:
        what = f"found by {change.adopts} and adopted; {what}"
    return DecidingFact("update", what)


def _reason_of_delete(change: Delete) -> DecidingFact:
    if change.cause == "duplicate":
        what = f"{change.remote_id} is a duplicate of {change.keeps} that we created; an apply deletes it."
        return DecidingFact("delete", what)
    what = "we own it and no manifest declares it any more; an apply deletes it."
    if change.cascades:
        what += f" Deleted with it: {', '.join(change.cascades)}."
    step = "declare it again; or keep it and stop owning it: reconciler forget, or `removed:`"
    return DecidingFact("delete", what, step)


def _reasons_of_records(address: Address, plan: Plan) -> Iterator[DecidingFact]:
    for adoption in plan.adoptions:
        if adoption.address == address:
            by = f" by {adoption.by}" if adoption.by else ""
            yield DecidingFact("adopt", f"it exists as declared and was found{by}; an apply only records it.")
    for old, new in plan.renames.items():
        if address in (old, new):
            yield DecidingFact("rename", f"recorded as {old}; an apply records it as {new}.")
    if address in plan.gone:
        yield DecidingFact("forget", "it no longer exists and is no longer declared; an apply forgets it.")
    yield from (_reason_of_record(one) for one in plan.records if one.address == address)


def _reason_of_record(one: RecordChange) -> DecidingFact:
    match one.what:
        case "protected":
            return DecidingFact("record", "it is protected from now on; an apply records that.")
        case "no longer protected":
            return DecidingFact("record", "it is no longer protected; an apply records that.")
        case "fields":
            return DecidingFact(
                "record", f"the live value is the declared one; an apply records {', '.join(one.fields)}."
            )
        case "forgotten":
            return DecidingFact("forget", "an apply forgets it; the live entity stays.")


def _reasons_left_alone(address: Address, plan: Plan, desired: Desired) -> Iterator[DecidingFact]:
    for skip in plan.skips:
        if skip.address == address:
            yield DecidingFact(skip.reason, skip.what, skip.next)
    for notice in plan.notices:
        if notice.subject == address:
            yield DecidingFact("notice", notice.what, notice.next, notice.place)
    scope = Scope.of(address.above or address)
    unread = any(one.scope == scope and not one.complete for one in plan.reads)
    if unread:
        yield DecidingFact(
            "incomplete", f"the list of {scope} is incomplete: nothing in it is deleted or forgotten."
        )
    contact = desired.entities.get(address.above) if address.above else None
    if contact is not None and any(one.address == contact.address for one in plan.skips):
        what = f"it belongs to {contact.address}, which is left alone."
        yield DecidingFact("contact", what, f"reconciler explain {contact.address}")


# --- Sources: where each value comes from: a document, the defaults of its file, a roster, us -----


def sources_of(one: Declared, rules: Rules) -> EntitySources:
    """Return where everything comes from that an entity declares."""
    found = {path: _field_source(one, path, rules) for path in sorted(one.entity.fields)}
    return EntitySources(found, dict(one.document.control_places))


def _field_source(one: Declared, path: str, rules: Rules) -> FieldSource:
    document = one.document
    if path == rules.mark_of(document.kind):
        return FieldSource("mark", document.place)
    default = one.defaults.get(path)
    if path not in document.fields and default is not None:
        return FieldSource("defaults", default, variables=_variables_at(one, default))
    place, origin = one.place(path), document.origin
    if origin is None or path not in origin.templates:
        content = document.content
        # The value of a field of content is the digest of its payload.
        file = content.path if content is not None and content.digest == one.entity.fields[path] else ""
        return FieldSource("entry", place, variables=_variables_at(one, place), file=file, default=default)
    template = origin.templates[path]
    variables = _variables_at(one, template)
    if path not in origin.columns:
        return FieldSource("roster", template, variables=variables, default=default)
    return FieldSource("cell", place, origin.columns[path], template, variables, default=default)


def _variables_at(one: Declared, place: Place) -> tuple[str, ...]:
    return one.hidden.get(place, ())
