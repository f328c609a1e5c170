"""Desired x Live x Recorded -> Plan: everything that must change, and nothing else.

    split --> each scope: match (match.py), compare (diff.py), look for what is no longer declared
              (orphans.py) and for duplicates (duplicates.py); devices are planned with their contact
          --> merge (parts.py) --> finished (finish.py)

Each part is a value, planned without knowing another. Not here: whether the plan is safe (guard.py).
"""

from collections.abc import Iterator

from msgspec import structs

from reconciler.core.compare.diff import diff_entity, unchanged_since_apply
from reconciler.core.compare.match import Recognized, former_names, match_entities
from reconciler.core.compare.normalize import normalize_fields, redact_for_plan
from reconciler.core.planning.duplicates import duplicates, keep_oldest
from reconciler.core.planning.finish import finished
from reconciler.core.planning.leaving import outside_leaving, unknown_names
from reconciler.core.planning.orphans import orphans
from reconciler.core.planning.outside import outside, stray_devices, unlisted_devices
from reconciler.core.planning.parts import ScopePlan, merge
from reconciler.core.planning.records import to_keep
from reconciler.core.planning.scopes import (
    Group,
    Matched,
    Moment,
    Shared,
    devices_of,
    marked_rows,
    shared,
    split,
)
from reconciler.core.planning.secrets_needed import why_not_created, why_not_written
from reconciler.core.planning.similar import warn_of_similar_live
from reconciler.core.planning.uncertain import contradicted, reused
from reconciler.core.rules import Rules
from reconciler.errors import Malformed
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Adoption, Create, Options, Plan, Skip, Target, Update
from reconciler.model.snapshots import Desired, Entity, Live, LiveEntity, Recorded


def make_plan(
    desired: Desired,
    live: Live,
    recorded: Recorded,
    *,
    target: Target,
    options: Options,
    rules: Rules,
    moment: Moment,
) -> Plan:
    """Return everything that must change so that live equals desired, and nothing else.

    Shapes: `desired` and `recorded` keyed by address, `live` by scope. `live` may hold entities nobody
    declared; only what is recorded, or carries our mark, is ours to delete.
    Order: changes by wave, then by address. Same inputs, same bytes, whatever order the maps were built in.
    Errors: ManifestError where two declared entities are one live entity (M4).
    Source: docs/planning.md, S, M, D and X.
    """
    across = shared(desired, live, recorded, options=options, rules=rules, salt=moment.salt)
    total = merge(scope_plans(across, desired, live, recorded))
    return finished(across, total, desired, live, recorded, target=target, moment=moment)


def scope_plans(across: Shared, desired: Desired, live: Live, recorded: Recorded) -> Iterator[ScopePlan]:
    """Yield the plan of each scope. The three may be those of some scopes; `across` is of all."""
    for group in split(desired, live, recorded):
        yield merge(group_plans(across, group))
    yield ScopePlan(notices=desired.notices, outside=outside(across, desired, recorded))
    yield from outside_leaving(across, desired, recorded)


def group_plans(across: Shared, group: Group) -> Iterator[ScopePlan]:
    """Yield the parts of a group's plan: each declared entity, what is declared no longer, and the counts."""
    at = matched(across, group)
    if at.matches.contested:
        yield ScopePlan(contested=at.matches.contested)
    quiet, creates = 0, []
    for entity in group.entities.values():
        if _as_recorded(across, at, entity):
            quiet += 1
            continue
        for part in _declared(across, at, entity):
            made = (one for one in part.changes if isinstance(one, Create))
            creates += [one for one in made if one.address in group.entities]
            yield part
    yield from warn_of_similar_live(across, at, creates)
    if quiet:
        yield ScopePlan(unchanged={str(group.scope): quiet})
    undeclared, doubled = tuple(orphans(across, at)), tuple(duplicates(across, at))
    yield from (*undeclared, *doubled)
    yield _counts(across, at, duplicates=sum(len(one.changes) for one in doubled))
    yield from stray_devices(across, group, undeclared)
    yield from unknown_names(across, at, undeclared)


def matched(across: Shared, group: Group) -> Matched:
    """Return which live entities the declared ones of a group are, and which others are ours."""
    entities = tuple(group.entities.values())
    former = former_names(entities)
    keys = across.rules.keys(group.scope.kind)
    matches = match_entities(entities, group.rows, group.records, keys=keys, former=former)
    matches = keep_oldest(across, group, matches)
    held = {hit.live.remote_id for hit in matches.found.values()}
    held.update(record.remote_id for record in group.records.values())
    return Matched(group, matches, former, marked_rows(across.rules, group, held), frozenset(held))


def _as_recorded(across: Shared, at: Matched, entity: Entity) -> bool:
    """Whether all that there is to say of an entity, and of what belongs to it, is that nothing changes."""
    address, group = entity.address, at.group
    hit, record = at.matches.found.get(address), group.records.get(address)
    if hit is None or record is None or hit.record != address or group.moved:
        return False
    if entity.devices_in_scope or address in group.below.records or not across.selects(entity):
        return False
    if _why_not(across, at, entity, hit):
        return False
    reactivate = str(address) in across.options.reactivate
    return unchanged_since_apply(entity, hit.live, record, reactivate=reactivate)


def _declared(across: Shared, at: Matched, entity: Entity) -> Iterator[ScopePlan]:
    """Plan one declared entity, and the devices of a contact."""
    hit, selected = at.matches.found.get(entity.address), across.selects(entity)
    why_not = _why_not(across, at, entity, hit)
    if selected and why_not:
        yield ScopePlan(skips=(why_not,))
    elif selected:
        yield _found(across, at, entity, hit) if hit else _absent(across, at, entity)
    if entity.devices_in_scope or at.group.below.records:
        known = why_not is None and (selected or hit is not None)
        yield from _devices(across, at, entity, hit, known=known)


def _why_not(across: Shared, at: Matched, entity: Entity, hit: Recognized | None) -> Skip | None:
    """Return why an entity is not acted on, or None (rules M3, M5, M8, M9, X5, A9)."""
    address = entity.address
    if why := contradicted(across, at, entity, hit) or _ambiguous(at, address):
        return why
    if hit is None:
        return _in_doubt(across, address)
    if mark := across.foreign_mark(hit.live):
        what = f"carries the mark of another owner ({mark}); never written."
        return Skip(address, "foreign mark", what, "remove it here, or its mark there")
    record = at.group.records.get(hit.record) if hit.record and hit.by == "record" else None
    if record and (why := reused(across, address, record, hit.live, entity)):
        return why
    if hit.record is None and not across.rules.adopt:
        # Neither is another one created: two of one would be worse (M5).
        what = f"exists already (id {hit.live.remote_id}) and the settings say `adopt: never`."
        return Skip(address, "not adopted", what, "allow adoption, or remove one of the two")
    return None


def _ambiguous(at: Matched, address: Address) -> Skip | None:
    if ids := at.matches.ambiguous.get(address):
        what = f"matches {len(ids)} live {KINDS[address.kind].plural}: {', '.join(ids)}."
        step = "change or remove the others at the service, so that one is left; then plan again"
        return Skip(address, "ambiguous", what, step)
    if holder := at.matches.claimed.get(address):
        # So an e-mail address moves from one person to another in two plans: docs/planning.md, M, "Ours".
        what = f"looks like the live {address.kind} that is {holder}."
        return Skip(address, "ambiguous", what, "apply what is planned, then plan again")
    return None


def _in_doubt(across: Shared, address: Address) -> Skip | None:
    """Return why nothing is created yet: an earlier create of it may still land (rule A9)."""
    if address not in across.doubts or str(address) in across.options.released:
        return None
    if address in across.under_way:
        what = "is being created by a run that is still writing."
        return Skip(address, "in doubt", what, "wait until that run ends, then plan again")
    # However long ago: no clock says that it cannot have landed, only a look by who holds the lock.
    what = "was sent by an earlier run and its answer is not known; it may still appear."
    step = "reconciler resume, or apply: it waits, looks, and settles this first"
    return Skip(address, "in doubt", what, step)


def _found(across: Shared, at: Matched, entity: Entity, hit: Recognized) -> ScopePlan:
    """Compare a declared entity with the live one that it is (rules D1 to D5)."""
    address, row = entity.address, hit.live
    record = at.group.records.get(hit.record) if hit.record else None
    reactivate = str(address) in across.options.reactivate
    result = diff_entity(entity, row, record, salts=across.salts, reactivate=reactivate)
    part = ScopePlan(skips=result.skips, renames=_renamed(at, address, hit))
    if result.fields and (why := why_not_written(entity)):
        return structs.replace(part, skips=(*part.skips, why))
    if result.fields:
        adopts = "" if record else hit.by
        update = Update(address, str(entity.place), row.remote_id, result.fields, row.parent_id, adopts)
        return structs.replace(part, changes=(update,))
    if record is None:
        # Without a difference an adoption is no change: it is only recorded (M5).
        return structs.replace(part, adoptions=(Adoption(address, row.remote_id, hit.by, row.parent_id),))
    kept = tuple(to_keep(entity, row, record, across.salts.store))
    return structs.replace(part, records=kept, unchanged={str(at.group.scope): 1})


def _absent(across: Shared, at: Matched, entity: Entity) -> ScopePlan:
    """Create what is declared and not there: again, where it was recorded (rule D6)."""
    address, records = entity.address, at.group.records
    recorded = address in records or at.former.get(address) in records
    # Forgotten, the next plan would not know that somebody seems to be gone (G2), and a run that was killed
    # before this create would not recognize it as its own.
    part = ScopePlan(renames=_renamed(at, address, None))
    if why := why_not_created(entity, recorded=recorded):
        return structs.replace(part, skips=(why,))
    # On something new, "" has nothing to clear, and is not sent: docs/planning.md, S, "Ours".
    wanted = {path: v for path, v in normalize_fields(address.kind, entity.fields).items() if v != ""}
    fields = redact_for_plan(address.kind, wanted, across.salts.plan)
    create = Create(address, str(entity.place), fields, "gone" if recorded else "declared")
    return structs.replace(part, changes=(create,))


def _renamed(at: Matched, address: Address, hit: Recognized | None) -> tuple[tuple[Address, Address], ...]:
    """Return the rename that carries a record to this address, if any (rule M6)."""
    old = old_name(at, address, hit)
    # A device of a renamed contact has moved already: what counts is where it is recorded.
    was = at.group.moved.get(old, old) if old else None
    return ((was, address),) if was and was != address else ()


def old_name(at: Matched, address: Address, hit: Recognized | None) -> Address | None:
    """Return the address whose record is the one of this entity (rule M6)."""
    if hit:
        return hit.record
    former = at.former.get(address)
    return former if former in at.group.records and address not in at.group.records else None


def _devices(
    across: Shared, at: Matched, contact: Entity, hit: Recognized | None, *, known: bool
) -> Iterator[ScopePlan]:
    """Plan the devices of a contact. `known`: it is certain which one it is, or that it will be created."""
    old = old_name(at, contact.address, hit) if known else None
    row = hit.live if hit else None
    group = devices_of(at.group, contact.address, row, old)
    # Not selected, the contact keeps its old name in the records, and so do its devices (M6).
    carried = group.moved if across.selects(contact) else {}
    parts: tuple[ScopePlan, ...] = ()
    if not contact.devices_in_scope:
        left = {
            one: group.records[one] for one in group.records.keys() - (group.moved.keys() - carried.keys())
        }
        parts = (unlisted_devices(across, contact, left),)
    elif _concerned(across, group):
        _require_devices(contact, row)
        parts = tuple(group_plans(across, group)) if known else (_unplanned(across, contact, group),)
    yield from parts
    if carried:
        # A device that was renamed as well goes from its old contact to its new name at once.
        renamed = {was for part in parts for was, _ in part.renames}
        yield ScopePlan(renames=tuple((was, now) for now, was in carried.items() if was not in renamed))


def _concerned(across: Shared, group: Group) -> bool:
    """Whether the run is about anything in the group, declared or recorded."""
    return any(map(across.selects, group.entities.values())) or any(
        across.selection.selects(one, {}) for one in group.records
    )


def _require_devices(contact: Entity, row: LiveEntity | None) -> None:
    if row and not row.devices_known:
        raise Malformed(
            f"{contact.address}: the service does not show the devices of this contact.",
            next="leave `devices:` out of its entry, so that they are not in scope",
        )


def _unplanned(across: Shared, contact: Entity, group: Group) -> ScopePlan:
    what = f"belongs to {contact.address}, which is not acted on."
    step = "settle its contact first, or select it as well"
    left = [one.address for one in group.entities.values() if across.selects(one)]
    return ScopePlan(skips=tuple(Skip(address, "ambiguous", what, step) for address in left))


def _counts(across: Shared, at: Matched, *, duplicates: int) -> ScopePlan:
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
    ours = sum(1 for row in rows if row.remote_id in at.held) + marked + duplicates
    ours += sum(1 for one in at.group.contradicted if one in at.held)
    return ScopePlan(owned=owned, unmanaged={name: max(0, at.group.total - ours)})
