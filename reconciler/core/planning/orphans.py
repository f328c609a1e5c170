"""What is ours and no longer declared: deleted, left alone for a reason, or only forgotten (X7: leaving.py).

Ours is what a record points at, or what carries our mark (planning rules X1 to X5). Whatever is not
certain is left alone and said.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from reconciler.core.compare.normalize import redact_for_plan
from reconciler.core.planning.leaving import leave
from reconciler.core.planning.parts import NOTHING, ScopePlan
from reconciler.core.planning.scopes import Group, Matched, Shared
from reconciler.core.planning.secrets_needed import without_undeclared_secrets
from reconciler.core.planning.uncertain import contradicted_record, reused, skip_of
from reconciler.model.address import Address
from reconciler.model.plans import Delete, Skip
from reconciler.model.snapshots import UNKNOWN, LiveEntity, RecordedEntity


def orphans(across: Shared, at: Matched) -> Iterator[ScopePlan]:
    """Yield the plan of each address of a group that is ours and no longer declared."""
    group, carried = at.group, _carried(at)
    # After a rename only our mark can still speak of somebody under the old name (rule M6).
    undeclared = ((group.records.keys() - carried) | at.marked.keys()) - group.entities.keys()
    if not undeclared:
        return
    by_id, uncertain = {row.remote_id: row for row in group.rows}, _uncertain(at)
    taken = {hit.live.remote_id for hit in at.matches.found.values()}
    # What is no longer declared has no tags, so a tag never selects a delete.
    for address in sorted(one for one in undeclared if across.selection.selects(one, {})):
        candidates = _candidates(at, address, by_id, carried)
        if address in across.removed:
            live = [row for row in candidates if row.remote_id not in taken]
            yield leave(across, at, address, live, _records(group, address, carried), uncertain=uncertain)
        elif not candidates and (found := contradicted_record(group, address)):
            yield ScopePlan(skips=(skip_of(address, found),))
        elif not candidates or candidates[0].remote_id in taken:
            yield _gone(across, at, address)
        elif len(candidates) > 1 or candidates[0].remote_id in uncertain:
            yield ScopePlan(skips=(_not_certain(address, candidates),))
        else:
            yield _orphan(across, at, address, candidates[0], _records(group, address, carried))


def _candidates(
    at: Matched, address: Address, by_id: Mapping[str, LiveEntity], carried: Collection[Address]
) -> list[LiveEntity]:
    """Return every live entity that an address may stand for: by its record, and by our mark."""
    record = None if address in carried else at.group.records.get(address)
    row = by_id.get(record.remote_id) if record else None
    return [*([row] if row else []), *at.marked.get(address, [])]


def _records(group: Group, address: Address, carried: Collection[Address]) -> dict[Address, RecordedEntity]:
    """Return the record of an address, if it has one, and those of the devices that would go with it."""
    # The devices that are recorded under a name that was given up went with it.
    devices = {} if address in carried else group.below.records.get(address, {})
    own = {} if address in carried or address not in group.records else {address: group.records[address]}
    return {**own, **devices}


def _carried(at: Matched) -> set[Address]:
    """Return the addresses whose records go to another name, in this plan or in a later one (M6)."""
    records, found = at.group.records, at.matches.found
    moved = {hit.record for hit in found.values() if hit.record}
    return moved | {old for new, old in at.former.items() if new not in records and new not in found}


def _uncertain(at: Matched) -> set[str]:
    """Return the ids that may be somebody else: candidates of an ambiguity (M3), and those recorded twice."""
    holders = Counter(record.remote_id for record in at.group.records.values())
    doubled = {one for one, count in holders.items() if count > 1}
    return doubled.union(*at.matches.ambiguous.values())


def _not_certain(address: Address, candidates: Sequence[LiveEntity]) -> Skip:
    ids = ", ".join(sorted(one.remote_id for one in candidates))
    what = f"is no longer declared, and it is not certain which one it is ({ids}); left alone."
    return Skip(address, "ambiguous", what, "remove at the service what is too many")


def _gone(across: Shared, at: Matched, address: Address) -> ScopePlan:
    """Forget what is not there, or only another name of something declared; its devices with it."""
    if across.unsure(at.group.scope):
        return NOTHING
    return ScopePlan(gone=(address, *at.group.below.records.get(address, {})))


def _orphan(
    across: Shared, at: Matched, address: Address, row: LiveEntity, records: Mapping[Address, RecordedEntity]
) -> ScopePlan:
    """Delete it, unless it carries another mark (X5), or it or a device of it is protected (X2)."""
    if mark := across.foreign_mark(row):
        what = f"is no longer declared, and carries the mark of another owner ({mark}); left alone."
        step = "leave it to its owner, or remove it by hand"
        return ScopePlan(skips=(Skip(address, "foreign mark", what, step),))
    record = records.get(address)
    of_record = record is not None and record.remote_id == row.remote_id
    if record and of_record and (why := reused(across, address, record, row, None)):
        return ScopePlan(skips=(why,))
    if protected := sorted(one for one, record in records.items() if record.protected):
        holds = f" (its device {protected[0]} is protected)" if address not in protected else ""
        what = f"is no longer declared, and protected{holds}; left alone."
        step = "declare it again, or declare it once without `protect` and apply, then remove it"
        return ScopePlan(skips=(Skip(address, "protected", what, step),))
    assert row.known is None, f"{address}: to be deleted and not read whole"  # noqa: S101 - our own mistake
    seen = without_undeclared_secrets(address.kind, row.fields, record if of_record else None)
    before = redact_for_plan(address.kind, seen, across.salts.plan)
    # Only a mark tells that it is ours: nobody wrote down whether it existed before us (X6).
    adopted = records[address].adopted if address in records else UNKNOWN
    cascades = _cascade(at, row, records)
    return ScopePlan((Delete(address, row.remote_id, before, row.parent_id, cascades, adopted=adopted),))


def _cascade(at: Matched, row: LiveEntity, records: Mapping[Address, RecordedEntity]) -> tuple[str, ...]:
    """Return the live devices that go with a contact: by address where recorded, else by name (X3)."""
    # Kinds may count their ids alike, so the contact's own id must not name a device.
    known = {record.remote_id: str(one) for one, record in records.items() if one.above}
    rows = at.group.below.rows.get(row.remote_id, ())
    names = (known.get(one.remote_id, str(one.fields.get("deviceName", one.remote_id))) for one in rows)
    return tuple(sorted(names))
