"""Where a delete is decided: what is ours and no longer declared, and duplicates of what is ours.

    owned, not declared            --plan_undeclared--> deleted (X1 to X5), or left alone for a reason
    named by `removed:`, `forget`  --plan_leaving-----> forgotten, and what is live stays (X7)
    no manifest speaks of it       --count_outside----> left as it is, and said (S1)
    live twice                     --plan_duplicates--> the other is deleted where it is provably ours (T)

Ours is what a record points at, or what carries our mark. Whatever is not certain is left alone and said.
Whether a plan may delete so many is decided by the guard (core/review/guard.py).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from reconciler.core.compare.match import IdentityIndex, Matches, Recognized, shared_identity
from reconciler.core.compare.normalize import redact_for_plan
from reconciler.core.planning.scopes import EMPTY_PART, Group, MatchedGroup, PlanContext, ScopePlan
from reconciler.core.planning.skips import (
    find_contradiction,
    make_contradicted_skip,
    skip_reused,
    without_undeclared_secrets,
)
from reconciler.core.suggest import did_you_mean
from reconciler.model.address import REMOTE_ID, Address
from reconciler.model.documents import Controls, Fields, Place
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.notices import Notice
from reconciler.model.plans import (
    SECRET_NEEDED,
    UNCERTAIN,
    Delete,
    FieldChange,
    Plan,
    RecordChange,
    Skip,
    Update,
)
from reconciler.model.snapshots import UNKNOWN, Desired, Entity, LiveEntity, Recorded, RecordedEntity, Scope

# --- Owned and no longer declared (rules X1 to X5) ------------------------------------------------


def plan_undeclared(across: PlanContext, at: MatchedGroup) -> Iterator[ScopePlan]:
    """Yield the plan of each address of a group that is ours and no longer declared."""
    group, carried = at.group, _carried_addresses(at)
    # After a rename only our mark can still speak of somebody under the old name (rule M6).
    undeclared = ((group.records.keys() - carried) | at.marked.keys()) - group.entities.keys()
    if not undeclared:
        return
    by_id, uncertain = {row.remote_id: row for row in group.rows}, _uncertain_ids(at)
    taken = {hit.live.remote_id for hit in at.matches.found.values()}
    # What is no longer declared has no tags, so a tag never selects a delete.
    for address in sorted(one for one in undeclared if across.selection.selects(one, {})):
        candidates = _live_candidates(at, address, by_id, carried)
        if address in across.removed:
            live = [row for row in candidates if row.remote_id not in taken]
            yield plan_leaving(
                across, at, address, live, _records_with_devices(group, address, carried), uncertain=uncertain
            )
        elif not candidates and (found := find_contradiction(group, address)):
            yield ScopePlan(skips=(make_contradicted_skip(address, found),))
        elif not candidates or candidates[0].remote_id in taken:
            yield _plan_gone(across, at, address)
        elif len(candidates) > 1 or candidates[0].remote_id in uncertain:
            yield ScopePlan(skips=(_skip_uncertain(address, candidates),))
        else:
            yield _plan_delete(
                across, at, address, candidates[0], _records_with_devices(group, address, carried)
            )


def _live_candidates(
    at: MatchedGroup, address: Address, by_id: Mapping[str, LiveEntity], carried: Collection[Address]
) -> list[LiveEntity]:
    """Return every live entity that an address may stand for: by its record, and by our mark."""
    record = None if address in carried else at.group.records.get(address)
    row = by_id.get(record.remote_id) if record else None
    return [*([row] if row else []), *at.marked.get(address, [])]


def _records_with_devices(
    group: Group, address: Address, carried: Collection[Address]
) -> dict[Address, RecordedEntity]:
    """Return the record of an address, if it has one, and those of the devices that would go with it."""
    # The devices that are recorded under a name that was given up went with it.
    devices = {} if address in carried else group.below.records.get(address, {})
    own = {} if address in carried or address not in group.records else {address: group.records[address]}
    return {**own, **devices}


def _carried_addresses(at: MatchedGroup) -> set[Address]:
    """Return the addresses whose records go to another name, in this plan or in a later one (M6)."""
    records, found = at.group.records, at.matches.found
    moved = {hit.record for hit in found.values() if hit.record}
    return moved | {old for new, old in at.former.items() if new not in records and new not in found}


def _uncertain_ids(at: MatchedGroup) -> set[str]:
    """Return the ids that may be somebody else: candidates of an ambiguity (M3), and those recorded twice."""
    holders = Counter(record.remote_id for record in at.group.records.values())
    doubled = {one for one, count in holders.items() if count > 1}
    return doubled.union(*at.matches.ambiguous.values())


def _skip_uncertain(address: Address, candidates: Sequence[LiveEntity]) -> Skip:
    what = (
        "is no longer declared, and it is not clear which live entity it is "
        f"({_join_ids(candidates)}); left alone."
    )
    return Skip(address, "ambiguous", what, "remove the extra ones at the service")


def _plan_gone(across: PlanContext, at: MatchedGroup, address: Address) -> ScopePlan:
    """Forget what is not there, or only another name of something declared; its devices with it."""
    if across.unsure(at.group.scope):
        return EMPTY_PART
    return ScopePlan(gone=(address, *at.group.below.records.get(address, {})))


def _plan_delete(
    across: PlanContext,
    at: MatchedGroup,
    address: Address,
    row: LiveEntity,
    records: Mapping[Address, RecordedEntity],
) -> ScopePlan:
    """Delete it, unless it carries another mark (X5), or it or a device of it is protected (X2)."""
    if mark := across.foreign_mark(row):
        what = f"is no longer declared, and has the mark of another owner ({mark}); left alone."
        step = "leave it to its owner, or remove it by hand"
        return ScopePlan(skips=(Skip(address, "foreign mark", what, step),))
    record = records.get(address)
    of_record = record is not None and record.remote_id == row.remote_id
    if record and of_record and (why := skip_reused(across, address, record, row, None)):
        return ScopePlan(skips=(why,))
    if protected := sorted(one for one, record in records.items() if record.protected):
        holds = f" (its device {protected[0]} is protected)" if address not in protected else ""
        what = f"is no longer declared, but it is protected{holds}; left alone."
        step = (
            "to keep it, declare it again; to delete it, declare it without `protect`, apply, then "
            "remove the entry"
        )
        return ScopePlan(skips=(Skip(address, "protected", what, step),))
    assert row.known is None, f"{address}: to be deleted, but not read completely"  # noqa: S101 - our own mistake
    seen = without_undeclared_secrets(address.kind, row.fields, record if of_record else None)
    before = redact_for_plan(address.kind, seen, across.salts.plan)
    # Only a mark says that it is ours: it is not recorded whether it existed before this stack (X6).
    adopted = records[address].adopted if address in records else UNKNOWN
    cascades = _cascaded_devices(at, row, records)
    return ScopePlan((Delete(address, row.remote_id, before, row.parent_id, cascades, adopted=adopted),))


def _cascaded_devices(
    at: MatchedGroup, row: LiveEntity, records: Mapping[Address, RecordedEntity]
) -> tuple[str, ...]:
    """Return the live devices that go with a contact: by address where recorded, else by name (X3)."""
    # Kinds may count their ids alike, so the contact's own id must not name a device.
    known = {record.remote_id: str(one) for one, record in records.items() if one.above}
    rows = at.group.below.rows.get(row.remote_id, ())
    names = (known.get(one.remote_id, str(one.fields.get("deviceName", one.remote_id))) for one in rows)
    return tuple(sorted(names))


# --- Recorded as ours, and outside of what any manifest decides: left as it is (rule S1) ----------
#
# A kind that left the manifests of a workspace is counted. A device whose contact is still declared, but
# without `devices:`, is named: the manifest does not show that it still gets pushes.


def count_outside(across: PlanContext, desired: Desired, recorded: Recorded) -> dict[str, int]:
    """Count, by scope, what is recorded where no manifest speaks of its kind; devices go by contacts.

    What leaves is not among it: that is said of each by itself (`plan_unread_leaving`).
    """
    unread = (one for one in recorded.entities if Scope.of(one.above or one) not in desired.scopes)
    return dict(Counter(str(Scope.of(one)) for one in unread if not across.lets_go(one)))


def plan_unlisted_devices(
    across: PlanContext, contact: Entity, records: Mapping[Address, RecordedEntity]
) -> ScopePlan:
    """Return a notice for each recorded device of a contact without `devices:` that does not leave."""
    why = f"the entry of {contact.address} has no `devices:`."
    plan = _plan_left_behind(across, records, contact.address, why)
    placed = tuple(structs.replace(one, place=str(contact.place)) for one in plan.notices)
    return structs.replace(plan, notices=placed)


def stray_device_notices(
    across: PlanContext, group: Group, undeclared: Iterable[ScopePlan]
) -> Iterator[ScopePlan]:
    """Yield a notice for each recorded device of a contact that is neither declared nor recorded.

    Not where the contact is deleted for its mark, which `undeclared` says: its devices go with it.
    """
    leaving = {one.address for plan in undeclared for one in plan.changes if isinstance(one, Delete)}
    for contact, records in group.below.records.items():
        if contact in group.entities or contact in group.records or contact in leaving:
            continue
        why = f"{contact} is neither declared nor recorded."
        yield _plan_left_behind(across, records, contact, why)


def _plan_left_behind(
    across: PlanContext, records: Mapping[Address, RecordedEntity], contact: Address | None, why: str
) -> ScopePlan:
    staying = {one: record for one, record in records.items() if not across.lets_go(one)}
    notices = tuple(_left_behind_notice(across, *one, contact, why) for one in staying.items())
    return ScopePlan(notices=notices, records=forget_records(records.keys() - staying.keys()))


def _left_behind_notice(
    across: PlanContext, address: Address, record: RecordedEntity, contact: Address | None, why: str
) -> Notice:
    what = f"recorded as ours and left as it is: {why}"
    if other := across.tokens.get(record.sent.get("pushToken", "")):
        what += f" {other} has the same push token, so pushes to either contact reach one phone."
    step = f"list it under `devices:` of {contact}, or write `devices: {{}}` there to delete it"
    return Notice("left behind", str(address), what, step)


# --- Duplicates: two live entities for one of ours (rules T1 to T3) -------------------------------
#
# The other one is deleted where it is provably ours; else it is only reported.
#
#     recorded or matched --shares an identity--> a live row that no entry holds
#         our mark names this very address, or we made that id under it    -> delete, `duplicate`
#         somebody else may have made it                                   -> notice, `duplicate`
#
# A request that lands after we stopped waiting for it leaves such a duplicate. Rules T1 to T3 of
# docs/planning.md. What is not certain is never deleted.


class _OwnedRow(Struct, frozen=True):
    """One of ours that is live: what is known of it, and the declared entity where there is one."""

    address: Address
    row: LiveEntity
    looks: tuple[Fields, ...]
    record: RecordedEntity | None
    entity: Entity | None


def keep_oldest(across: PlanContext, group: Group, matches: Matches) -> Matches:
    """Return the matches, with every ambiguity resolved in which all candidates are provably ours (T2)."""
    if not matches.ambiguous:
        return matches
    by_id = {row.remote_id: row for row in group.rows}
    each = {
        one: _find_oldest(across, group, group.entities[one], [by_id[each] for each in ids])
        for one, ids in matches.ambiguous.items()
    }
    kept = {one: found for one, found in each.items() if found}
    ambiguous = {one: ids for one, ids in matches.ambiguous.items() if one not in kept}
    return structs.replace(matches, found={**matches.found, **kept}, ambiguous=ambiguous)


def _find_oldest(
    across: PlanContext, group: Group, entity: Entity, candidates: Sequence[LiveEntity]
) -> Recognized | None:
    """Return the one that has stood unchanged for longest, if all are provably ours; else None."""
    record = group.records.get(entity.address)
    by = {row.remote_id: _recognized_by(across, entity.fields, row) for row in candidates}
    ours = all(by[row.remote_id] and _is_deletable(across, group, row, entity, record) for row in candidates)
    if not ours or not _may_delete(across, entity):
        return None
    # The service tells no time of creation; ties by id, so that the order of the list never shows.
    oldest = min(candidates, key=lambda row: (row.modified or "~", row.remote_id))
    return Recognized(oldest, by[oldest.remote_id])


def plan_duplicates(across: PlanContext, at: MatchedGroup) -> Iterator[ScopePlan]:
    """Yield the delete of each duplicate in a group that is provably ours, and a notice for any other."""
    for (ours, row), *others in _pair_by_identity(across, at):
        if not others and _is_duplicate(across, at.group, ours, row):
            yield ScopePlan((_delete_duplicate(across, ours, row),))
        else:
            every = (ours, *(one for one, _ in others))
            yield ScopePlan(notices=tuple(_duplicate_notice(across, one, row) for one in every))


def uncertain_notices(plan: Plan, desired: Desired) -> tuple[Notice, ...]:
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


def count_uncertain(plan: Plan, desired: Desired) -> dict[str, int]:
    """Count the entities that are live twice (`twice`) and those that are `uncertain_notices`.

    A 0 is said only where the plan looked at everything: not after a selection or an incomplete read, and not
    of an undo, which reads no lists.
    """
    twice = {notice.subject for notice in plan.notices if notice.kind == "duplicate"}
    found = {
        "twice": len(twice),
        "ambiguous": sum(one.kind == "ambiguous" for one in uncertain_notices(plan, desired)),
    }
    selected = plan.options.only or plan.options.excluded
    whole = plan.reads and all(read.complete for read in plan.reads) and not selected
    return found if whole else {word: number for word, number in found.items() if number}


def _pair_by_identity(across: PlanContext, at: MatchedGroup) -> Iterator[list[tuple[_OwnedRow, LiveEntity]]]:
    """Yield, for each live row that no entry holds, all of ours that share an identity with it, if any."""
    held = at.held.union(*at.matches.ambiguous.values())
    # Our mark with a name that is not declared is an orphan's (X5), and not a duplicate.
    held = held.union(row.remote_id for rows in at.marked.values() for row in rows)
    unheld = {row.remote_id: row for row in at.group.rows if row.remote_id not in held}
    if not unheld:
        return
    free = IdentityIndex(unheld.values(), across.rules.identity.of(at.group.scope.kind))
    pairs: dict[str, list[tuple[_OwnedRow, LiveEntity]]] = {}
    for ours in _owned_rows(at):
        shared = {row.remote_id: row for look in ours.looks for row in free.sharing(look)}
        for remote_id, row in shared.items():
            pairs.setdefault(remote_id, []).append((ours, row))
    yield from (found for _, found in sorted(pairs.items()))


def _owned_rows(at: MatchedGroup) -> Iterator[_OwnedRow]:
    group, found = at.group, at.matches.found
    for address, hit in sorted(found.items()):
        record, entity = group.records.get(hit.record or address), group.entities[address]
        yield _OwnedRow(address, hit.live, (entity.fields, hit.live.fields), record, entity)
    by_id = {row.remote_id: row for row in group.rows}
    for hit in found.values():
        by_id.pop(hit.live.remote_id, None)
    for address, record in group.records.items():
        if row := by_id.get(record.remote_id):
            yield _OwnedRow(address, row, (record.shown, row.fields), record, None)


def _is_duplicate(across: PlanContext, group: Group, ours: _OwnedRow, row: LiveEntity) -> bool:
    """Whether `row` may be deleted as a duplicate of `ours`, which stays."""
    entity, keys = ours.entity, across.rules.identity.of(row.kind)
    if entity is None or not _may_delete(across, entity) or across.foreign_mark(ours.row):
        return False
    kept = ours.record is not None or across.rules.adopt
    alike = all(shared_identity(look, row.fields, keys) for look in ours.looks)
    return kept and alike and _is_deletable(across, group, row, entity, ours.record)


def _may_delete(across: PlanContext, entity: Entity) -> bool:
    """Whether the run is about the entity, and its scope was read completely (G4)."""
    return across.selects(entity) and not across.unsure(Scope.of(entity.address))


def _is_deletable(
    across: PlanContext, group: Group, row: LiveEntity, entity: Entity, record: RecordedEntity | None
) -> bool:
    """Whether a row is provably ours, and nothing that it holds would be lost with it (T2)."""
    address = entity.address
    mark = across.rules.mark_of(address.kind)
    marked = bool(mark) and row.fields.get(mark) == across.rules.mark_text(address.name)
    # Of an adopted entity we know no earlier id: it proves nothing (T3).
    made = record is not None and row.remote_id in record.earlier
    if not (made or marked) or across.foreign_mark(row):
        return False
    return not entity.controls.protect and _is_known_whole(group, row)


def _is_known_whole(group: Group, row: LiveEntity) -> bool:
    """Whether nothing is unknown of a row, and nothing stands below it that would go with it (T3)."""
    if child_kinds(row.kind):
        # A phone that somebody registered there since would go with it.
        with_devices = group.below.rows.get(row.remote_id)
        if with_devices or not row.devices_known:
            return False
    # The id becomes part of an address, so it has to be one that an address can carry.
    return row.known is None and REMOTE_ID.fullmatch(row.remote_id) is not None


def _recognized_by(across: PlanContext, fields: Fields, row: LiveEntity) -> str:
    """Return how a row is recognized; our mark alone is not enough: a copied contact carries it, too."""
    by = shared_identity(fields, row.fields, across.rules.identity.of(row.kind))
    return across.rules.mark_path if by and row.fields.get(across.rules.mark_path) else by


def _delete_duplicate(across: PlanContext, ours: _OwnedRow, row: LiveEntity) -> Delete:
    seen = without_undeclared_secrets(row.kind, row.fields, ours.record)
    before = redact_for_plan(row.kind, seen, across.salts.plan)
    address = ours.address.duplicate(row.remote_id)
    return Delete(address, row.remote_id, before, row.parent_id, cause="duplicate", keeps=ours.row.remote_id)


def _duplicate_notice(across: PlanContext, ours: _OwnedRow, row: LiveEntity) -> Notice:
    keys = across.rules.identity.of(row.kind)
    shared = next(filter(None, (shared_identity(look, row.fields, keys) for look in ours.looks)), "")
    mark = across.foreign_mark(row)
    owner = f", and the mark of another owner ({mark})" if mark else ""
    what = (
        f"is live as {ours.row.remote_id}; {row.remote_id} may be a duplicate of it, with "
        f"the same {shared}{owner}; left alone."
    )
    step = f"compare both at the service, and remove the extra {row.kind}"
    place = str(ours.entity.place) if ours.entity else ""
    return Notice("duplicate", str(ours.address), what, step, place)


# --- Removed from the manifests, kept at the service: forgotten, and our mark taken off (rule X7) -
#
# Nothing else of it is written: without a mark only the record goes. With one the record goes when the
# service shows that the mark is gone, or the next plan would find it by its mark and prune it (X5).


_TAKE_OFF = "remove the mark by hand, then plan again"


def forget_records(records: Iterable[Address]) -> tuple[RecordChange, ...]:
    """Return the keeping of what is recorded and leaves: no record of it any more."""
    return tuple(RecordChange(one, "forgotten") for one in records)


def plan_leaving(
    across: PlanContext,
    at: MatchedGroup,
    address: Address,
    candidates: Sequence[LiveEntity],
    records: Mapping[Address, RecordedEntity],
    *,
    uncertain: Collection[str],
) -> ScopePlan:
    """Return the plan of an address that leaves. `candidates` are what is live and may be it.

    `records` are its own and those of what belongs to it, `uncertain` ids that may be another entity.
    Protection does not apply here: what is no longer ours is never deleted.
    """
    path = across.rules.mark_of(address.kind)
    # A mark of ours under any name: another name's would be pruned.
    mark = across.rules.mark_text("")
    ours = [row for row in candidates if path and str(row.fields.get(path, "")).startswith(mark)]
    if not ours:
        if path and (found := find_contradiction(at.group, address)) and found.says == "absent":
            return _still_marked(address, f"is under `removed:`, and {found.why}.")
        unseen = path and not candidates and across.unsure(at.group.scope)
        return EMPTY_PART if unseen else ScopePlan(records=forget_records(records))
    if len(ours) > 1 or ours[0].remote_id in uncertain:
        return _still_marked(
            address, f"is under `removed:`, and it is not clear which live entity it is ({_join_ids(ours)})."
        )
    row = ours[0]
    if hidden := sorted(path for one in records.values() for path in _unreadable_paths(one, address)):
        # A PUT without a password removes it, and it cannot be read (rule A4).
        what = f"is under `removed:` and has our mark, but a write would remove its {', '.join(hidden)}."
        return _still_marked(address, what)
    place = str(across.removed[address])
    field = FieldChange(path, row.fields[path], None, "forgotten")
    return ScopePlan(
        (Update(address, place, row.remote_id, (field,), row.parent_id),), records=forget_records(records)
    )


def _join_ids(rows: Iterable[LiveEntity]) -> str:
    return ", ".join(sorted(one.remote_id for one in rows))


def _unreadable_paths(record: RecordedEntity, address: Address) -> frozenset[str]:
    """Return what an entity holds by its record and no read shows; of what belongs to it, nothing."""
    kind = KINDS[address.kind]
    held = record.sent.keys() | frozenset(kind.required)
    return kind.write_only & held if record.address == address else frozenset()


def _still_marked(address: Address, what: str) -> ScopePlan:
    return ScopePlan(skips=(Skip(address, "still marked", f"{what} It stays ours.", _TAKE_OFF),))


def plan_unread_leaving(across: PlanContext, desired: Desired, recorded: Recorded) -> Iterator[ScopePlan]:
    """Yield the plan of what leaves where no manifest speaks of its kind: nothing of it was read (S1)."""
    for address in sorted(recorded.entities):
        if Scope.of(address.above or address) in desired.scopes or not across.lets_go(address):
            continue
        if across.rules.mark_of((address.above or address).kind):
            plural = KINDS[(address.above or address).kind].plural
            what = f"removed, but its mark cannot be removed: no manifest has `{plural}:`."
            yield ScopePlan(notices=(Notice("left behind", str(address), what, _TAKE_OFF),))
        else:
            yield ScopePlan(records=forget_records((address,)))


def unknown_name_notices(
    across: PlanContext, at: MatchedGroup, undeclared: Iterable[ScopePlan]
) -> Iterator[ScopePlan]:
    """Yield a notice for each unknown name that leaves, where something of its kind is deleted.

    One of them may be a slip of what is deleted. Alone they say nothing: other stores may know them.
    """
    doomed = [str(one.address) for plan in undeclared for one in plan.changes if isinstance(one, Delete)]
    if not doomed or KINDS[at.group.scope.kind].parent:
        return
    for address, place in across.removed.items():
        if Scope.of(address) == at.group.scope and address not in {*at.group.records, *at.marked}:
            what = (
                "removed, but nothing is known under this name; the plan deletes other entities of its kind."
            )
            step = did_you_mean(
                "entity",
                address,
                doomed,
                f"compare the name with what the plan deletes: {_first_names(doomed)}",
            )
            yield ScopePlan(notices=(Notice("value", str(address), what, step, str(place)),))


def find_unmarked(plan: Plan) -> frozenset[Address]:
    """Return the addresses whose mark a plan takes off."""
    updates = (one for one in plan.changes if isinstance(one, Update))
    return frozenset(one.address for one in updates if any(f.cause == "forgotten" for f in one.fields))


def forgotten_at_once(plan: Plan) -> tuple[Address, ...]:
    """Return what is forgotten before anything is written: all but what a write has to unmark first."""
    later = find_unmarked(plan)
    return tuple(one for one in plan.forgotten if one not in later and one.above not in later)


def add_unmarked(plan: Plan, desired: Desired) -> Desired:
    """Return what is desired, with an entity for each change that only takes our mark off."""
    entities = {
        one.address: Entity(one.address, {f.path: "" for f in one.fields}, Place(one.place), Controls())
        for one in plan.changes
        if isinstance(one, Update) and one.address in find_unmarked(plan)
    }
    return structs.replace(desired, entities={**desired.entities, **entities}) if entities else desired


def _first_names(names: Sequence[str]) -> str:
    """Return the first of these names, and how many more there are."""
    more = len(names) - _named_max
    return ", ".join(names[:_named_max]) + (f" and {more:,} more" if more > 0 else "")


_named_max = 3
