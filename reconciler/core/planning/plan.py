"""Desired x Live x Recorded -> Plan: everything that must change, and nothing else.

    split_into_groups --> each scope: match (compare/match.py), compare (compare/diff.py), look for what is no
                          longer declared and for duplicates (deletes.py); devices go with their contact
                      --> merge_parts (scopes.py) --> finish_plan

Each part is a value, planned without knowing another. Whether the plan is safe is decided in review/guard.py.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from msgspec import UNSET, Struct, UnsetType, structs

from reconciler.core.compare.diff import diff_entity, unchanged_since_apply
from reconciler.core.compare.match import Recognized, former_names, match_entities
from reconciler.core.compare.normalize import normalize_fields, redact_for_plan
from reconciler.core.planning.deletes import (
    count_outside,
    keep_oldest,
    plan_duplicates,
    plan_undeclared,
    plan_unlisted_devices,
    plan_unread_leaving,
    stray_device_notices,
    unknown_name_notices,
)
from reconciler.core.planning.fingerprint import fingerprint, manifest_digest
from reconciler.core.planning.moves import carry_over_fields, find_moves, move_notices
from reconciler.core.planning.notices import flapping_notices, shared_notices, similar_live_notices
from reconciler.core.planning.records import (
    alias_notices,
    count_postponed,
    elsewhere_notices,
    find_elsewhere,
    find_unapplied,
    keep_only_adoptions,
    record_changes,
)
from reconciler.core.planning.scopes import (
    Counts,
    Group,
    MatchedGroup,
    PlanContext,
    RestCounts,
    ScopePlan,
    device_group,
    find_marked_rows,
    make_plan_context,
    merge_parts,
    order_changes,
    split_into_groups,
)
from reconciler.core.planning.select import Selection
from reconciler.core.planning.skips import (
    hold_back_moves,
    skip_contradicted,
    skip_reused,
    why_not_created,
    why_not_written,
)
from reconciler.core.planning.unplanned import (
    NOTHING_LEFT_OUT,
    LeftOutEntities,
    PlanInputs,
    hold_back_pairs,
    leave_out,
    leave_out_workspace,
    select_left_out,
    why_nothing_is_planned,
)
from reconciler.core.rules import Rules
from reconciler.errors import Malformed, ManifestError
from reconciler.model.address import Address, parse_address
from reconciler.model.documents import DirectoryAnswer
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice
from reconciler.model.plans import (
    Adoption,
    Change,
    Create,
    Delete,
    Options,
    Plan,
    PlanMoment,
    Skip,
    Target,
    Update,
)
from reconciler.model.snapshots import Desired, Entity, Live, LiveEntity, NotPlannedBy, Recorded, Scope


def make_plan(
    desired: Desired,
    live: Live,
    recorded: Recorded,
    *,
    target: Target,
    options: Options,
    rules: Rules,
    moment: PlanMoment,
    left_out: LeftOutEntities = NOTHING_LEFT_OUT,
) -> Plan:
    """Return everything that must change so that live equals desired, and nothing else.

    Shapes: `desired` and `recorded` keyed by address, `live` by scope. `live` may hold entities that are not
    declared; only what is recorded, or carries our mark, is ours to delete. `left_out` is in none of them.
    Order: changes by wave, then by address. Same inputs, same bytes, whatever order the maps were built in.
    Errors: ManifestError where two declared entities are one live entity (M4), Malformed where the service
    does not show the devices of a contact; both with their workspaces.
    Source: docs/planning.md, S, M, D and X.
    """
    planning = partial(make_plan_of_moved, desired, live, recorded, target=target, options=options)
    return planning(rules=rules, moment=moment, left_out=left_out).plan


class MovedPlan(Struct, frozen=True):
    """A plan, and the declared entities that it compared and of which it has nothing to say."""

    plan: Plan
    settled: tuple[Address, ...]


def make_plan_of_moved(
    desired: Desired,
    live: Live,
    recorded: Recorded,
    *,
    target: Target,
    options: Options,
    rules: Rules,
    moment: PlanMoment,
    rest: Mapping[Scope, RestCounts] = {},
    digest: str = "",
    left_out: LeftOutEntities = NOTHING_LEFT_OUT,
) -> MovedPlan:
    """Return what `make_plan` would of everything, where `rest` is left out of all three inputs (rule R11).

    `digest` is the `manifest_digest` of everything; "" where `desired` is everything.
    """
    across = make_plan_context(desired, live, recorded, options=options, rules=rules, salt=moment.salt)
    total = merge_parts(plan_scopes(across, desired, live, recorded, rest))
    finish = partial(finish_plan, across, total, desired, live, recorded, target=target, moment=moment)
    return MovedPlan(finish(rest=rest, digest=digest, left_out=left_out), total.settled)


def make_usable_plan(
    inputs: PlanInputs, *, options: Options, rules: Rules, moment: PlanMoment, strict: bool = False
) -> tuple[MovedPlan, PlanInputs]:
    """Return the plan of these inputs without the workspaces of which only planning sees a mistake.

    The second value is what it was made from. With `strict`, or where nothing else would be planned, raises
    what `make_plan` raises.
    """
    selection = Selection(options.only, options.excluded)
    while True:
        try:
            made = make_plan_of_moved(
                inputs.desired,
                inputs.live,
                inputs.recorded,
                target=inputs.target,
                options=options,
                rules=rules,
                moment=moment,
                left_out=select_left_out(inputs.left_out, selection),
            )
        except (ManifestError, Malformed) as error:
            by: NotPlannedBy = "service" if isinstance(error, Malformed) else "manifests"
            more = [leave_out_workspace(name, by, error) for name in sorted(error.workspaces)]
            rest = leave_out(inputs, more)
            if strict or not more or why_nothing_is_planned(more, selection, rest.desired):
                raise
            inputs = rest  # fewer workspaces each time
        else:
            return made, inputs


def plan_scopes(
    across: PlanContext,
    desired: Desired,
    live: Live,
    recorded: Recorded,
    rest: Mapping[Scope, RestCounts] = {},
) -> Iterator[ScopePlan]:
    """Yield the plan of each scope. The three may be those of some scopes; `across` is of all.

    `rest` is left out of all three, and only counted (core/planning/delta.py).
    """
    for group in split_into_groups(desired, live, recorded, rest):
        yield merge_parts(plan_group(across, group))
    yield ScopePlan(notices=desired.notices, outside=count_outside(across, desired, recorded))
    yield from plan_unread_leaving(across, desired, recorded)


def plan_group(across: PlanContext, group: Group) -> Iterator[ScopePlan]:
    """Yield the parts of a group's plan: each declared entity, what is declared no longer, and the counts."""
    at = match_group(across, group)
    if at.matches.contested:
        yield ScopePlan(contested=at.matches.contested)
    settled, creates = list[Address](), []
    for entity in group.entities.values():
        if _is_unchanged(across, at, entity):
            settled.append(entity.address)
            continue
        for part in _plan_entity(across, at, entity):
            made = (one for one in part.changes if isinstance(one, Create))
            creates += [one for one in made if one.address in group.entities]
            yield part
    yield from similar_live_notices(across, at, creates)
    if quiet := len(settled) + group.rest.settled:
        yield ScopePlan(settled=tuple(settled), unchanged={str(group.scope): quiet})
    undeclared, doubled = tuple(plan_undeclared(across, at)), tuple(plan_duplicates(across, at))
    yield from (*undeclared, *doubled)
    yield _count_group(across, at, duplicates=sum(len(one.changes) for one in doubled))
    yield from stray_device_notices(across, group, undeclared)
    yield from unknown_name_notices(across, at, undeclared)


def match_group(across: PlanContext, group: Group) -> MatchedGroup:
    """Return which live entities the declared ones of a group are, and which others are ours."""
    entities = tuple(group.entities.values())
    former = former_names(entities)
    keys = across.rules.keys(group.scope.kind)
    matches = match_entities(entities, group.rows, group.records, keys=keys, former=former)
    matches = keep_oldest(across, group, matches)
    held = {hit.live.remote_id for hit in matches.found.values()}
    held.update(record.remote_id for record in group.records.values())
    return MatchedGroup(group, matches, former, find_marked_rows(across.rules, group, held), frozenset(held))


def _is_unchanged(across: PlanContext, at: MatchedGroup, entity: Entity) -> bool:
    """Whether all that there is to say of an entity, and of what belongs to it, is that nothing changes."""
    address, group = entity.address, at.group
    hit, record = at.matches.found.get(address), group.records.get(address)
    if hit is None or record is None or hit.record != address or group.moved:
        return False
    if entity.devices_in_scope or address in group.below.records or not across.selects(entity):
        return False
    if _why_not_planned(across, at, entity, hit):
        return False
    reactivate = str(address) in across.options.reactivate
    return unchanged_since_apply(entity, hit.live, record, reactivate=reactivate)


def _plan_entity(across: PlanContext, at: MatchedGroup, entity: Entity) -> Iterator[ScopePlan]:
    """Plan one declared entity, and the devices of a contact."""
    hit, selected = at.matches.found.get(entity.address), across.selects(entity)
    why_not = _why_not_planned(across, at, entity, hit)
    if selected and why_not:
        yield ScopePlan(skips=(why_not,))
    elif selected:
        yield _plan_found(across, at, entity, hit) if hit else _plan_absent(across, at, entity)
    if entity.devices_in_scope or at.group.below.records:
        known = why_not is None and (selected or hit is not None)
        yield from _plan_devices(across, at, entity, hit, known=known)


def _why_not_planned(
    across: PlanContext, at: MatchedGroup, entity: Entity, hit: Recognized | None
) -> Skip | None:
    """Return why an entity is not acted on, or None (rules M3, M5, M8, M9, X5, A9)."""
    address = entity.address
    if why := skip_contradicted(across, at, entity, hit) or _skip_ambiguous(at, address):
        return why
    if hit is None:
        return _skip_in_doubt(across, address)
    if mark := across.foreign_mark(hit.live):
        what = f"has the mark of another owner ({mark}); never written."
        return Skip(address, "foreign mark", what, "remove it here, or its mark there")
    record = at.group.records.get(hit.record) if hit.record and hit.by == "record" else None
    if record and (why := skip_reused(across, address, record, hit.live, entity)):
        return why
    if hit.record is None and not across.rules.adopt:
        # Neither is another one created: two of one would be worse (M5).
        what = f"exists already (id {hit.live.remote_id}) and the settings say `adopt: never`."
        return Skip(address, "not adopted", what, "allow adoption, or remove one of the two")
    return None


def _skip_ambiguous(at: MatchedGroup, address: Address) -> Skip | None:
    if ids := at.matches.ambiguous.get(address):
        what = f"matches {len(ids)} live {KINDS[address.kind].plural}: {', '.join(ids)}."
        step = "change or remove the others at the service until one is left; then plan again"
        return Skip(address, "ambiguous", what, step)
    if holder := at.matches.claimed.get(address):
        # So an e-mail address moves from one person to another in two plans: docs/planning.md, M3.
        what = f"looks like the live {address.kind} that is {holder}."
        return Skip(address, "ambiguous", what, "apply what is planned, then plan again")
    return None


def _skip_in_doubt(across: PlanContext, address: Address) -> Skip | None:
    """Return why nothing is created yet: an earlier create of it may still land (rule A9)."""
    if address not in across.doubts or str(address) in across.options.released:
        return None
    if address in across.under_way:
        what = "is being created by a run that is still writing."
        return Skip(address, "in doubt", what, "wait until that run ends, then plan again")
    # However long ago: no clock says that it cannot have landed, only a look by who holds the lock.
    what = "was sent by an earlier run and its answer is unknown; it may still appear."
    step = "run reconciler resume or apply: both wait, and then look at the service to find out"
    return Skip(address, "in doubt", what, step)


def _plan_found(across: PlanContext, at: MatchedGroup, entity: Entity, hit: Recognized) -> ScopePlan:
    """Compare a declared entity with the live one that it is (rules D1 to D5)."""
    address, row = entity.address, hit.live
    record = at.group.records.get(hit.record) if hit.record else None
    reactivate = str(address) in across.options.reactivate
    result = diff_entity(entity, row, record, salts=across.salts, reactivate=reactivate)
    part = ScopePlan(skips=result.skips, renames=_plan_rename(at, address, hit))
    if result.fields and (why := why_not_written(entity)):
        return structs.replace(part, skips=(*part.skips, why))
    if result.fields:
        adopts = "" if record else hit.by
        update = Update(address, str(entity.place), row.remote_id, result.fields, row.parent_id, adopts)
        return structs.replace(part, changes=(update,))
    if record is None:
        # Without a difference an adoption is no change: it is only recorded (M5).
        return structs.replace(part, adoptions=(Adoption(address, row.remote_id, hit.by, row.parent_id),))
    kept = tuple(record_changes(entity, row, record, across.salts.store))
    return structs.replace(part, records=kept, unchanged={str(at.group.scope): 1})


def _plan_absent(across: PlanContext, at: MatchedGroup, entity: Entity) -> ScopePlan:
    """Create what is declared and not there: again, where it was recorded (rule D6)."""
    address, records = entity.address, at.group.records
    recorded = address in records or at.former.get(address) in records
    # Forgotten, the next plan would not know that somebody seems to be gone (G2), and a run that was killed
    # before this create would not recognize it as its own.
    part = ScopePlan(renames=_plan_rename(at, address, None))
    if why := why_not_created(entity, recorded=recorded):
        return structs.replace(part, skips=(why,))
    # On something new, "" has nothing to clear, and is not sent: docs/planning.md, S2.
    wanted = {path: v for path, v in normalize_fields(address.kind, entity.fields).items() if v != ""}
    fields = redact_for_plan(address.kind, wanted, across.salts.plan)
    create = Create(address, str(entity.place), fields, "gone" if recorded else "declared")
    return structs.replace(part, changes=(create,))


def _plan_rename(
    at: MatchedGroup, address: Address, hit: Recognized | None
) -> tuple[tuple[Address, Address], ...]:
    """Return the rename that carries a record to this address, if any (rule M6)."""
    old = find_recorded_address(at, address, hit)
    # A device of a renamed contact has moved already: what counts is where it is recorded.
    was = at.group.moved.get(old, old) if old else None
    return ((was, address),) if was and was != address else ()


def find_recorded_address(at: MatchedGroup, address: Address, hit: Recognized | None) -> Address | None:
    """Return the address whose record is the one of this entity (rule M6)."""
    if hit:
        return hit.record
    former = at.former.get(address)
    return former if former in at.group.records and address not in at.group.records else None


def _plan_devices(
    across: PlanContext, at: MatchedGroup, contact: Entity, hit: Recognized | None, *, known: bool
) -> Iterator[ScopePlan]:
    """Plan the devices of a contact. `known`: it is certain which one it is, or that it will be created."""
    old = find_recorded_address(at, contact.address, hit) if known else None
    row = hit.live if hit else None
    group = device_group(at.group, contact.address, row, old)
    # Not selected, the contact keeps its old name in the records, and so do its devices (M6).
    carried = group.moved if across.selects(contact) else {}
    parts: tuple[ScopePlan, ...] = ()
    if not contact.devices_in_scope:
        left = {
            one: group.records[one] for one in group.records.keys() - (group.moved.keys() - carried.keys())
        }
        parts = (plan_unlisted_devices(across, contact, left),)
    elif _is_concerned(across, group):
        _require_devices(contact, row)
        parts = tuple(plan_group(across, group)) if known else (_skip_devices(across, contact, group),)
    yield from parts
    if carried:
        # A device that was renamed as well goes from its old contact to its new name at once.
        renamed = {was for part in parts for was, _ in part.renames}
        yield ScopePlan(renames=tuple((was, now) for now, was in carried.items() if was not in renamed))


def _is_concerned(across: PlanContext, group: Group) -> bool:
    """Whether the run is about anything in the group, declared or recorded."""
    return any(map(across.selects, group.entities.values())) or any(
        across.selection.selects(one, {}) for one in group.records
    )


def _require_devices(contact: Entity, row: LiveEntity | None) -> None:
    if row and not row.devices_known:
        error = Malformed(
            f"{contact.address}: the service does not show the devices of this contact.",
            next="remove `devices:` from the entry of this contact to leave its devices alone",
        )
        error.workspaces = frozenset({contact.address.workspace})
        raise error


def _skip_devices(across: PlanContext, contact: Entity, group: Group) -> ScopePlan:
    what = f"belongs to {contact.address}, which this plan leaves alone."
    step = "solve the problem of the contact first, or select the contact as well"
    left = [one.address for one in group.entities.values() if across.selects(one)]
    return ScopePlan(skips=tuple(Skip(address, "ambiguous", what, step) for address in left))


def _count_group(across: PlanContext, at: MatchedGroup, *, duplicates: int) -> ScopePlan:
    """Count what is ours though nothing is recorded of it, and who else is there (rule X4)."""
    name, rows = str(at.group.scope), at.group.rows
    found, mark = at.matches.found.values(), across.rules.mark_path
    marked = sum(map(len, at.marked.values()))
    # Without a store our mark tells what is ours, and the guard measures deletes against it (X5, G1).
    by_mark = sum(1 for hit in found if hit.record is None and hit.by == mark)
    owned = {name: marked + by_mark + duplicates}
    if across.options.only or across.options.excluded:
        return ScopePlan(owned=owned)  # only what was selected was read: who the others are is not known
    # The list may be longer than what was read of it: the service tells its length.
    ours = sum(1 for row in rows if row.remote_id in at.held) + at.group.rest.settled + marked + duplicates
    ours += sum(1 for one in at.group.contradicted if one in at.held)
    return ScopePlan(owned=owned, unmanaged={name: max(0, at.group.total - ours)})


# --- The sum of all parts -> the plan: sorted, with its fingerprint, or refused -------------------


def finish_plan(
    across: PlanContext,
    total: ScopePlan,
    desired: Desired,
    live: Live,
    recorded: Recorded,
    *,
    target: Target,
    moment: PlanMoment,
    rest: Mapping[Scope, RestCounts] = {},
    digest: str = "",
    left_out: LeftOutEntities = NOTHING_LEFT_OUT,
) -> Plan:
    """Return the plan that these parts are, in any order (laws 3 and 10). Raises ManifestError (M4).

    `rest` and `digest` are as in `make_plan_of_moved`.
    """
    _check_declared_once(total, desired)
    postpones = count_postponed(total) if across.options.adopt else {}
    total = (
        keep_only_adoptions(total) if across.options.adopt else hold_back_moves(total, desired, across.rules)
    )
    total = hold_back_pairs(total, left_out, across.rules)
    changes = order_changes(total.changes)
    moves = find_moves(changes, across.rules)
    if any(desired.entities[one.after].controls.carry_over is True for one in moves):
        changes = tuple(carry_over_fields(changes, moves, desired.entities))
        moves = find_moves(changes, across.rules)
    left = find_elsewhere(recorded, live, total)
    back = flapping_notices(total.changes, recorded, moment.now)
    notices = (
        *total.notices,
        *back,
        *shared_notices(total, recorded),
        *move_notices(moves),
        *alias_notices(recorded),
        *elsewhere_notices(left, target),
    )
    plan = Plan(
        target=target,
        options=across.options,
        manifest_digest=digest or manifest_digest(desired, moment.salt),
        salt=moment.salt,
        changes=changes,
        adoptions=tuple(sorted(total.adoptions, key=lambda one: one.address)),
        skips=tuple(sorted(total.skips, key=lambda one: (one.address, one.what))),
        gone=tuple(sorted(total.gone)),
        records=tuple(sorted(total.records, key=structs.astuple)),
        postponed=postpones,
        renames=dict(sorted(total.renames)),
        unchanged=dict(sorted(total.unchanged.items())),
        outside=dict(sorted(total.outside.items())),
        unmanaged=dict(sorted(total.unmanaged.items())),
        owned=_count_owned(total.owned, recorded, rest),
        contents=dict(_content_files(changes, desired)),
        notices=tuple(sorted(_select_notices(across, notices, desired), key=structs.astuple)),
        reads=tuple(sorted(live.reads, key=structs.astuple)),
        directories=_directory_answers(desired, recorded),
        unapplied=find_unapplied(across, desired, recorded),
        not_planned=left_out.not_planned or UNSET,
        moves=moves or UNSET,
        elsewhere=left,
        created_at=moment.now,
        expires_at=moment.expires,
    )
    return structs.replace(plan, fingerprint=fingerprint(plan))  # made last, over everything else (rule A1)


def _directory_answers(desired: Desired, recorded: Recorded) -> tuple[DirectoryAnswer, ...] | UnsetType:
    """Return what directories answered, each with its rows at the last applied plan."""
    known = recorded.answered
    return tuple(structs.replace(one, before=known.get(one.name, 0)) for one in desired.answers) or UNSET


def _check_declared_once(total: ScopePlan, desired: Desired) -> None:
    """Raise ManifestError where one live entity is behind two names (M4).

    Each would undo what is written for the other, in every run.
    """
    if not total.contested:
        return
    problems = []
    for group in total.contested:
        places = [desired.entities[address].place for address in group]
        what = f"{group[0]} and {group[1]} ({places[1]}) are the same live {group[0].kind}."
        hint = "declare it once, or give each its own identity"
        problems.append(places[0].problem(what, hint, code="E100"))
    problems.sort(key=lambda one: (one.file, one.line, one.column, one.what))
    error = ManifestError("The manifests declare the same live entity twice.", problems=tuple(problems))
    error.workspaces = frozenset(group[0].workspace for group in total.contested)
    raise error


def _count_owned(beyond: Counts, recorded: Recorded, rest: Mapping[Scope, RestCounts]) -> dict[str, int]:
    """Return how many are ours in each scope: those of its records, and those that only a mark tells."""
    # Devices are counted over the workspace, whichever contacts list theirs: docs/planning.md, G.
    records = {str(scope): number for scope, number in Counter(map(Scope.of, recorded.entities)).items()}
    left = {str(scope): counts.settled for scope, counts in rest.items()}
    return {name: records.get(name, 0) + left.get(name, 0) + more for name, more in sorted(beyond.items())}


def _content_files(changes: Iterable[Change], desired: Desired) -> Iterator[tuple[Address, str]]:
    """Yield the file of each content that is sent, so that a reviewer sees what becomes public."""
    for change in changes:
        # What only loses our mark is not declared (rule X7), and nothing else of it is sent.
        entity = None if isinstance(change, Delete) else desired.entities.get(change.address)
        if entity and entity.content and entity.content.path:
            yield change.address, entity.content.path


def _select_notices(across: PlanContext, notices: Iterable[Notice], desired: Desired) -> Iterator[Notice]:
    """Yield the notices about what the run is about (rule N1)."""
    for notice in notices:
        address = parse_address(notice.subject)
        entity = desired.entities.get(address) if address else None
        # What is declared no longer has no tags (docs/planning.md, Selection); what is no address, like the
        # store, concerns every run.
        if entity is not None:
            selected = across.selects(entity)
        else:
            selected = address is None or across.selection.selects(address, {})
        if selected:
            yield notice
