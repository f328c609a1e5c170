"""Two live entities for one of ours: the other is deleted where it is provably ours, else only reported.

    recorded or matched --shares an identity--> a live row that nobody holds
        our mark names this very address, or we made that id under it    -> delete, `duplicate`
        anybody could have made it                                       -> notice, `duplicate`

A request that lands after we stopped waiting for it leaves such a duplicate. Rules T1 to T3 of
docs/planning.md. What is not certain is never deleted.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from reconciler.core.compare.match import IdentityIndex, Matches, Recognized, shared_identity
from reconciler.core.compare.normalize import redact_for_plan
from reconciler.core.planning.parts import ScopePlan
from reconciler.core.planning.scopes import Group, Matched, Shared
from reconciler.core.planning.secrets_needed import without_undeclared_secrets
from reconciler.model.address import REMOTE_ID, Address
from reconciler.model.documents import Fields
from reconciler.model.kinds import child_kinds
from reconciler.model.notices import Notice
from reconciler.model.plans import SECRET_NEEDED, UNCERTAIN, Delete, Plan
from reconciler.model.snapshots import Desired, Entity, LiveEntity, RecordedEntity, Scope


class _Ours(Struct, frozen=True):
    """One of ours that is live: what is known of it, and the declared entity where there is one."""

    address: Address
    row: LiveEntity
    looks: tuple[Fields, ...]
    record: RecordedEntity | None
    entity: Entity | None


def keep_oldest(across: Shared, group: Group, matches: Matches) -> Matches:
    """Return the matches, with every ambiguity resolved in which all candidates are provably ours (T2)."""
    if not matches.ambiguous:
        return matches
    by_id = {row.remote_id: row for row in group.rows}
    each = {
        one: _oldest(across, group, group.entities[one], [by_id[each] for each in ids])
        for one, ids in matches.ambiguous.items()
    }
    kept = {one: found for one, found in each.items() if found}
    ambiguous = {one: ids for one, ids in matches.ambiguous.items() if one not in kept}
    return structs.replace(matches, found={**matches.found, **kept}, ambiguous=ambiguous)


def _oldest(
    across: Shared, group: Group, entity: Entity, candidates: Sequence[LiveEntity]
) -> Recognized | None:
    """Return the one that has stood unchanged for longest, if all are provably ours; else None."""
    record = group.records.get(entity.address)
    by = {row.remote_id: _recognized_by(across, entity.fields, row) for row in candidates}
    ours = all(by[row.remote_id] and _deletable(across, group, row, entity, record) for row in candidates)
    if not ours or not _may_delete(across, entity):
        return None
    # The service tells no time of creation; ties by id, so that the order of the list never shows.
    oldest = min(candidates, key=lambda row: (row.modified or "~", row.remote_id))
    return Recognized(oldest, by[oldest.remote_id])


def duplicates(across: Shared, at: Matched) -> Iterator[ScopePlan]:
    """Yield the delete of each duplicate in a group that is provably ours, and a notice for any other."""
    for (ours, row), *others in _pairs(across, at):
        if not others and _is_duplicate(across, at.group, ours, row):
            yield ScopePlan((_delete(across, ours, row),))
        else:
            every = (ours, *(one for one, _ in others))
            yield ScopePlan(notices=tuple(_notice(across, one, row) for one in every))


def ambiguous(plan: Plan, desired: Desired) -> tuple[Notice, ...]:
    """Say of each entity for which nothing is done because it is not certain who it is (M3, M8, M9).

    Several live ones for what is declared no longer are no more than shown in the plan. So is said of what
    waits for a secret.
    """
    return tuple(
        Notice("ambiguous" if skip.reason in UNCERTAIN else "secret", str(skip.address), skip.what, skip.next)
        for skip in plan.skips
        if skip.reason in UNCERTAIN | SECRET_NEEDED
        and (skip.reason != "ambiguous" or skip.address in desired.entities)
    )


def seen(plan: Plan, desired: Desired) -> dict[str, int]:
    """Count the entities that are live twice (`twice`) and those that are `ambiguous`.

    A 0 is said only where the plan looked at everything: not after a selection or an incomplete read, and not
    of an undo, which reads no lists.
    """
    twice = {notice.subject for notice in plan.notices if notice.kind == "duplicate"}
    found = {
        "twice": len(twice),
        "ambiguous": sum(one.kind == "ambiguous" for one in ambiguous(plan, desired)),
    }
    selected = plan.options.only or plan.options.excluded
    whole = plan.reads and all(read.complete for read in plan.reads) and not selected
    return found if whole else {word: number for word, number in found.items() if number}


def _pairs(across: Shared, at: Matched) -> Iterator[list[tuple[_Ours, LiveEntity]]]:
    """Yield, for each live row that nobody holds, everybody of ours with an identity of it, if any."""
    held = at.held.union(*at.matches.ambiguous.values())
    # Our mark with a name that nobody declares is an orphan's (X5), and no duplicate of anybody.
    held = held.union(row.remote_id for rows in at.marked.values() for row in rows)
    unheld = {row.remote_id: row for row in at.group.rows if row.remote_id not in held}
    if not unheld:
        return
    free = IdentityIndex(unheld.values(), across.rules.identity.of(at.group.scope.kind))
    pairs: dict[str, list[tuple[_Ours, LiveEntity]]] = {}
    for ours in _ours(at):
        shared = {row.remote_id: row for look in ours.looks for row in free.sharing(look)}
        for remote_id, row in shared.items():
            pairs.setdefault(remote_id, []).append((ours, row))
    yield from (found for _, found in sorted(pairs.items()))


def _ours(at: Matched) -> Iterator[_Ours]:
    group, found = at.group, at.matches.found
    for address, hit in sorted(found.items()):
        record, entity = group.records.get(hit.record or address), group.entities[address]
        yield _Ours(address, hit.live, (entity.fields, hit.live.fields), record, entity)
    by_id = {row.remote_id: row for row in group.rows}
    for hit in found.values():
        by_id.pop(hit.live.remote_id, None)
    for address, record in group.records.items():
        if row := by_id.get(record.remote_id):
            yield _Ours(address, row, (record.shown, row.fields), record, None)


def _is_duplicate(across: Shared, group: Group, ours: _Ours, row: LiveEntity) -> bool:
    """Whether `row` may be deleted as a duplicate of `ours`, which stays."""
    entity, keys = ours.entity, across.rules.identity.of(row.kind)
    if entity is None or not _may_delete(across, entity) or across.foreign_mark(ours.row):
        return False
    kept = ours.record is not None or across.rules.adopt
    alike = all(shared_identity(look, row.fields, keys) for look in ours.looks)
    return kept and alike and _deletable(across, group, row, entity, ours.record)


def _may_delete(across: Shared, entity: Entity) -> bool:
    """Whether the run is about the entity, and its scope was read completely (G4)."""
    return across.selects(entity) and not across.unsure(Scope.of(entity.address))


def _deletable(
    across: Shared, group: Group, row: LiveEntity, entity: Entity, record: RecordedEntity | None
) -> bool:
    """Whether a row is provably ours, and nothing that it holds would be lost with it (T2)."""
    address = entity.address
    mark = across.rules.mark_of(address.kind)
    marked = bool(mark) and row.fields.get(mark) == across.rules.mark_text(address.name)
    # Of an adopted entity we know no earlier id: it proves nothing (T3).
    made = record is not None and row.remote_id in record.earlier
    if not (made or marked) or across.foreign_mark(row):
        return False
    return not entity.controls.protect and _known_whole(group, row)


def _known_whole(group: Group, row: LiveEntity) -> bool:
    """Whether nothing is unknown of a row, and nothing stands below it that would go with it (T3)."""
    if child_kinds(row.kind):
        # A phone that somebody registered there since would go with it.
        with_devices = group.below.rows.get(row.remote_id)
        if with_devices or not row.devices_known:
            return False
    # The id becomes part of an address, so it has to be one that an address can carry.
    return row.known is None and REMOTE_ID.fullmatch(row.remote_id) is not None


def _recognized_by(across: Shared, fields: Fields, row: LiveEntity) -> str:
    """Return how a row is recognized; our mark alone is not enough: a copied contact carries it, too."""
    by = shared_identity(fields, row.fields, across.rules.identity.of(row.kind))
    return across.rules.mark_path if by and row.fields.get(across.rules.mark_path) else by


def _delete(across: Shared, ours: _Ours, row: LiveEntity) -> Delete:
    seen = without_undeclared_secrets(row.kind, row.fields, ours.record)
    before = redact_for_plan(row.kind, seen, across.salts.plan)
    address = ours.address.duplicate(row.remote_id)
    return Delete(address, row.remote_id, before, row.parent_id, cause="duplicate", keeps=ours.row.remote_id)


def _notice(across: Shared, ours: _Ours, row: LiveEntity) -> Notice:
    keys = across.rules.identity.of(row.kind)
    shared = next(filter(None, (shared_identity(look, row.fields, keys) for look in ours.looks)), "")
    mark = across.foreign_mark(row)
    owner = f", and the mark of another owner ({mark})" if mark else ""
    what = (
        f"is live as {ours.row.remote_id}; {row.remote_id} may be a duplicate of it: "
        f"it has the same {shared}{owner}; left alone."
    )
    step = f"look at both at the service, and remove the {row.kind} that is too many"
    place = str(ours.entity.place) if ours.entity else ""
    return Notice("duplicate", str(ours.address), what, step, place)
