"""Two live entities for one of ours: the other is deleted where it is provably ours, else only reported.

    recorded or matched --shares an identity--> a live row that nobody holds
        our mark names this very address, or we made that id under it    -> delete, `duplicate`
        anybody could have made it                                       -> notice, `twin`

A request that lands after we stopped waiting for it leaves such a second one. Rules T1 to T3 of
docs/planning.md. What is not certain is never deleted.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, structs

from reconciler.core.draft import Draft
from reconciler.core.match import Found, Index, Key, Matches, same_identity
from reconciler.core.normalize import masked
from reconciler.core.orphans import marked_name
from reconciler.model.address import REMOTE_ID, Address
from reconciler.model.changes import Delete
from reconciler.model.documents import Fields
from reconciler.model.entities import Entity
from reconciler.model.notices import Notice
from reconciler.model.plans import Plan
from reconciler.model.snapshots import Desired, LiveEntity, RecordedEntity, Scope


class _Ours(Struct, frozen=True):
    """One of ours that is live: what is known of it, and the declared entity where there is one."""

    address: Address
    row: LiveEntity
    looks: tuple[Fields, ...]
    record: RecordedEntity | None
    entity: Entity | None


def settled(
    draft: Draft,
    scope: Scope,
    entities: Sequence[Entity],
    *,
    rows: Sequence[LiveEntity],
    records: Mapping[Address, RecordedEntity],
    matches: Matches,
) -> Matches:
    """Return the matches, with every ambiguity resolved in which all candidates are provably ours (T2).

    The one that has stood unchanged for longest is kept: the service tells no time of creation.
    """
    by_id = {row.remote_id: row for row in rows}
    found, ambiguous = dict(matches.found), dict(matches.ambiguous)
    for entity in entities:
        if entity.address not in ambiguous or not _may_delete(draft, scope, entity):
            continue
        candidates = [by_id[one] for one in ambiguous[entity.address]]
        by = {row.remote_id: _by(draft, entity.fields, row) for row in candidates}
        record = records.get(entity.address)
        if all(by[row.remote_id] and _deletable(draft, row, entity, record) for row in candidates):
            kept = min(candidates, key=lambda row: (row.modified or "~", row.remote_id))
            found[entity.address] = Found(kept, by[kept.remote_id])
            del ambiguous[entity.address]
    return structs.replace(matches, found=found, ambiguous=ambiguous)


def find_twins(
    draft: Draft,
    scope: Scope,
    rows: Sequence[LiveEntity],
    records: Mapping[Address, RecordedEntity],
    matches: Matches,
) -> int:
    """Plan the duplicates of one scope (or of one contact's devices), note the twins; return how many go."""
    held = {hit.live.remote_id for hit in matches.found.values()}
    held.update(record.remote_id for record in records.values())
    held.update(one for ids in matches.ambiguous.values() for one in ids)
    keys = draft.rules.identity.of(scope.kind)
    # Our mark with a name that nobody declares is an orphan's (X5), and no second one of anybody.
    unheld = {one.remote_id: one for one in rows if one.remote_id not in held and not marked_name(draft, one)}
    free = Index(unheld.values(), keys)
    pairs: dict[str, list[tuple[_Ours, LiveEntity]]] = {}
    for ours in _ours(draft, rows, records, matches):
        shared = {row.remote_id: row for look in ours.looks for row in free.sharing(look)}
        for remote_id, row in shared.items():
            pairs.setdefault(remote_id, []).append((ours, row))
    deletes = 0
    for remote_id in sorted(pairs):
        (ours, row), *others = pairs[remote_id]
        if not others and _is_duplicate(draft, scope, ours, row, keys):
            draft.changes.append(_delete(draft, ours, row))
            deletes += 1
        else:
            draft.notices += (_notice(draft, one, row, keys) for one, _ in pairs[remote_id])
    return deletes


def ambiguous(plan: Plan, desired: Desired) -> tuple[Notice, ...]:
    """Say of each declared entity that several live ones could be it; nothing is done for it (M3)."""
    return tuple(
        Notice("ambiguous", str(skip.address), skip.what, skip.next)
        for skip in plan.skips
        if skip.reason == "ambiguous" and skip.address in desired.entities
    )


def seen(plan: Plan, desired: Desired) -> dict[str, int]:
    """Count the entities that are live twice (`twice`) and those that are `ambiguous`.

    A 0 is said only where the plan looked at everything: not after a selection or an incomplete read, and not
    of an undo, which reads no lists.
    """
    twice = {notice.subject for notice in plan.notices if notice.kind == "twin"}
    found = {"twice": len(twice), "ambiguous": len(ambiguous(plan, desired))}
    selected = plan.options.only or plan.options.excluded
    whole = plan.reads and all(read.complete for read in plan.reads) and not selected
    return found if whole else {word: number for word, number in found.items() if number}


def _ours(
    draft: Draft,
    rows: Sequence[LiveEntity],
    records: Mapping[Address, RecordedEntity],
    matches: Matches,
) -> Iterator[_Ours]:
    by_id = {row.remote_id: row for row in rows}
    for address, hit in sorted(matches.found.items()):
        record = records.get(hit.record or address)
        entity = draft.desired.entities[address]
        yield _Ours(address, hit.live, (entity.fields, hit.live.fields), record, entity)
    spoken_for = {hit.live.remote_id for hit in matches.found.values()}
    for address, record in sorted(records.items()):
        row = by_id.get(record.remote_id)
        if row is not None and record.remote_id not in spoken_for:
            yield _Ours(address, row, (record.shown, row.fields), record, None)


def _is_duplicate(draft: Draft, scope: Scope, ours: _Ours, row: LiveEntity, keys: tuple[Key, ...]) -> bool:
    """Whether `row` may be deleted as a second one of `ours`, which stays."""
    entity = ours.entity
    if entity is None or not _may_delete(draft, scope, entity):
        return False
    kept = ours.record is not None or draft.rules.adopt
    alike = all(same_identity(look, row.fields, keys) for look in (entity.fields, ours.row.fields))
    return kept and alike and not draft.foreign(ours.row) and _deletable(draft, row, entity, ours.record)


def _may_delete(draft: Draft, scope: Scope, entity: Entity) -> bool:
    """Whether the run is about the entity, and its scope was read completely (G4)."""
    unread = {read.scope for read in draft.live.reads if not read.complete}
    return draft.takes(entity) and not unread & {scope, Scope("contact", scope.workspace)}


def _deletable(draft: Draft, row: LiveEntity, entity: Entity, record: RecordedEntity | None) -> bool:
    """Whether a row is provably ours, and nothing that it holds would be lost with it (T2)."""
    address = entity.address
    marked = row.fields.get(draft.rules.mark_path) == f"{draft.rules.stack}/{address.name}"
    made = record is not None and row.remote_id in record.earlier
    if not (made or (marked and address.kind == "contact")) or draft.foreign(row):
        return False
    if address.kind == "contact":
        # A phone that somebody registered there since would go with it.
        with_devices = draft.device_rows.get((address.workspace, row.remote_id))
        if with_devices or not row.devices_known:
            return False
    known = row.known is None and REMOTE_ID.fullmatch(row.remote_id) is not None
    return known and not entity.controls.protect


def _by(draft: Draft, fields: Fields, row: LiveEntity) -> str:
    """Return how a row is recognized; our mark alone is not enough: a copied contact carries it, too."""
    by = same_identity(fields, row.fields, draft.rules.identity.of(row.kind))
    return draft.rules.mark_path if by and row.fields.get(draft.rules.mark_path) else by


def _delete(draft: Draft, ours: _Ours, row: LiveEntity) -> Delete:
    before = masked(row.kind, row.fields, draft.moment.salt)
    address = ours.address.duplicate(row.remote_id)
    return Delete(address, row.remote_id, before, row.parent_id, cause="duplicate", keeps=ours.row.remote_id)


def _notice(draft: Draft, ours: _Ours, row: LiveEntity, keys: tuple[Key, ...]) -> Notice:
    shared = next(filter(None, (same_identity(look, row.fields, keys) for look in ours.looks)), "")
    mark = draft.foreign(row)
    owner = f", and the mark of another owner ({mark})" if mark else ""
    return Notice(
        "twin",
        str(ours.address),
        f"is live as {ours.row.remote_id}; {row.remote_id} has the same {shared}{owner}; left alone.",
        f"look at both at the service, and remove the {row.kind} that is too many",
        str(ours.entity.place) if ours.entity else "",
    )
