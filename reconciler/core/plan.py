"""Desired x Live x Recorded -> Plan: everything that must change, and nothing else.

In three steps for each scope: match declared with live (`match.py`), compare what matched (`diff.py`),
and look at what is ours and no longer declared (`orphans.py`). Contacts come before their devices,
because a device is looked for only within its contact. What was found is kept in a `Draft`.
"""

from collections.abc import Mapping, Sequence

from msgspec import structs

from reconciler.core.diff import diff
from reconciler.core.draft import Draft, Moment, Rules
from reconciler.core.match import Found, Matches, former_names, match
from reconciler.core.normalize import declared, masked
from reconciler.core.orphans import find_orphans
from reconciler.core.outside import left_behind, outside
from reconciler.core.twins import find_twins, settled
from reconciler.errors import Malformed
from reconciler.model.address import Address, device
from reconciler.model.changes import Create, Update
from reconciler.model.entities import Entity
from reconciler.model.plans import Adoption, Options, Plan, Skip, Target
from reconciler.model.snapshots import Desired, Live, LiveEntity, Recorded, RecordedEntity, Scope

__all__ = ["Moment", "Rules", "make_plan"]


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
    draft = Draft(desired, live, recorded, options=options, rules=rules, moment=moment)
    for scope in sorted(desired.scopes):
        _plan_scope(draft, scope)
    for entity in sorted(desired.entities.values(), key=lambda entity: entity.address):
        if entity.devices_in_scope:
            _plan_devices(draft, entity)
    draft.refuse_contested()
    draft.notices += left_behind(draft)
    return draft.finish(target, outside(draft))


def _plan_scope(draft: Draft, scope: Scope) -> None:
    """Plan the contacts, or the resources, of one workspace."""
    rows = draft.live.entities.get(scope, ())
    records = draft.records.get((scope.kind, scope.workspace), {})
    entities = draft.groups.get((scope.kind, scope.workspace), [])
    former = former_names(entities)
    total = max([read.total for read in draft.live.reads if read.scope == scope], default=-1)
    _plan(draft, scope, entities, rows, records, former=former, total=max(total, len(rows)))


def _plan_devices(draft: Draft, entity: Entity) -> None:
    """Plan the devices of one contact whose entry has a `devices:` key."""
    address = entity.address
    devices = draft.groups.get((address,), [])
    records = draft.records.get((address,), {})
    if not (any(map(draft.takes, devices)) or any(draft.selection.takes(one, {}) for one in records)):
        return
    row = draft.contacts.get(address)
    if row is None and address not in draft.new:
        for device_entity in devices:
            what = f"belongs to {address}, which is not acted on."
            step = "settle its contact first, or select it as well"
            draft.skip(device_entity, Skip(device_entity.address, "ambiguous", what, step))
        return
    former = former_names(devices)
    rows = draft.device_rows.get((address.workspace, row.remote_id), []) if row else []
    if row and not row.devices_known:
        raise Malformed(
            f"{address}: the service does not show the devices of this contact.",
            next="leave `devices:` out of its entry, so that they are not in scope",
        )
    _plan(draft, Scope("device", address.workspace), devices, rows, records, former=former, total=len(rows))


def _plan(
    draft: Draft,
    scope: Scope,
    entities: Sequence[Entity],
    rows: Sequence[LiveEntity],
    records: Mapping[Address, RecordedEntity],
    *,
    former: Mapping[Address, Address],
    total: int,
) -> None:
    """Match, compare, and look for orphans: one scope, or the devices of one contact."""
    matches = match(entities, rows, records, keys=draft.rules.keys(scope.kind), former=former)
    matches = settled(draft, scope, entities, rows=rows, records=records, matches=matches)
    draft.contested += matches.contested
    for entity in entities:
        _entity(draft, entity, matches, records, former)
    taken = {hit.live.remote_id for hit in matches.found.values()}
    marked = find_orphans(draft, scope, rows, records, matches, carried=_carried(records, matches, former))
    duplicates = find_twins(draft, scope, rows, records, matches)
    by_mark = sum(
        1 for hit in matches.found.values() if hit.record is None and hit.by == draft.rules.mark_path
    )
    ours = taken.union(record.remote_id for record in records.values())
    name = str(scope)
    draft.owned[name] = max(draft.owned[name], draft.held[name]) + marked + by_mark + duplicates
    if draft.options.only or draft.options.excluded:
        return  # only what was selected was read: who the others are is not known
    draft.unmanaged[name] += max(
        0, total - sum(1 for row in rows if row.remote_id in ours) - marked - duplicates
    )


def _carried(
    records: Mapping[Address, RecordedEntity], matches: Matches, former: Mapping[Address, Address]
) -> set[Address]:
    """Return the addresses whose records go to another name, in this plan or in a later one (M6)."""
    found = {hit.record for hit in matches.found.values() if hit.record}
    absent = {old for new, old in former.items() if new not in records and new not in matches.found}
    return found | absent


def _entity(
    draft: Draft,
    entity: Entity,
    matches: Matches,
    records: Mapping[Address, RecordedEntity],
    former: Mapping[Address, Address],
) -> None:
    address = entity.address
    if ids := matches.ambiguous.get(address):
        what = f"matches {len(ids)} live {address.kind}s: {', '.join(ids)}."
        step = "change or remove the others at the service, so that one is left; then plan again"
        draft.skip(entity, Skip(address, "ambiguous", what, step))
    elif holder := matches.claimed.get(address):
        what = f"looks like the live {address.kind} that is {holder}."
        draft.skip(entity, Skip(address, "ambiguous", what, "apply what is planned, then plan again"))
    elif found := matches.found.get(address):
        _found(draft, entity, found, records)
    else:
        _absent(draft, entity, records, former)


def _found(draft: Draft, entity: Entity, found: Found, records: Mapping[Address, RecordedEntity]) -> None:
    address, row = entity.address, found.live
    record = records.get(found.record) if found.record else None
    if mark := draft.foreign(row):
        what = f"carries the mark of another owner ({mark}); never written."
        draft.skip(entity, Skip(address, "foreign mark", what, "remove it here, or its mark there"))
        return
    if record is None and not draft.rules.adopt:
        what = f"exists already (id {row.remote_id}) and the settings say `adopt: never`."
        draft.skip(entity, Skip(address, "not adopted", what, "allow adoption, or remove one of the two"))
        return
    if address.kind == "contact":
        draft.contacts[address] = row
    if found.record and draft.moved.get(found.record, found.record) != address:
        _renamed(draft, found.record, address, selected=draft.takes(entity))
    if not draft.takes(entity):
        return
    result = diff(entity, row, record, salts=draft.salts, reactivate=str(address) in draft.options.reactivate)
    draft.skips += result.skips
    adopts = "" if record else found.by
    if result.fields:
        update = Update(address, str(entity.place), row.remote_id, result.fields, row.parent_id, adopts)
        draft.changes.append(update)
        return
    if adopts:
        draft.adoptions.append(Adoption(address, row.remote_id, adopts, row.parent_id))
    else:
        draft.unchanged[str(Scope.of(address))] += 1


def _absent(
    draft: Draft,
    entity: Entity,
    records: Mapping[Address, RecordedEntity],
    former: Mapping[Address, Address],
) -> None:
    address, old = entity.address, former.get(entity.address, entity.address)
    if address in draft.recorded.doubts:
        # However long ago: no clock says that it cannot have landed, only a look by who holds the lock.
        what = "was sent by an earlier run and its answer is not known; it may still appear."
        step = "reconciler resume, or apply: it waits, looks, and settles this first"
        if address in draft.recorded.under_way:
            what = "is being created by a run that is still writing."
            step = "wait until that run ends, then plan again"
        draft.skip(entity, Skip(address, "in doubt", what, step))
        return
    if draft.takes(entity):
        if old in records and address not in records:
            # Forgotten, the next plan would not know that somebody seems to be gone (G2), and a run that
            # was killed before this create would not recognize it as its own.
            _renamed(draft, old, address, selected=True)
        recorded = address in records or old in records
        draft.new.add(address)
        wanted = {path: v for path, v in declared(address.kind, entity.fields).items() if v != ""}
        fields = masked(address.kind, wanted, draft.moment.salt)
        draft.changes.append(Create(address, str(entity.place), fields, "gone" if recorded else "declared"))


def _renamed(draft: Draft, old: Address, new: Address, *, selected: bool) -> None:
    """Carry a record, and those of a contact's devices, to the new address (rule M6)."""
    if selected:
        draft.renames[draft.moved.get(old, old)] = new
    if new.kind != "contact":
        return
    own = draft.records.setdefault((new,), {})
    for one, record in draft.records.get((old,), {}).items():
        address = device(new.workspace, new.name, one.name)
        if address not in own:
            own[address] = structs.replace(record, address=address)
            draft.moved[address] = one
            if selected:
                draft.renames[one] = address
