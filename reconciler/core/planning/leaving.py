"""What leaves the manifests and stays at the service: forgotten, and our mark taken off it (rule X7).

Nothing else of it is written: without a mark only the record goes. With one the record goes when the
service shows that the mark is gone, or the next plan would find it by its mark and prune it (X5).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from reconciler.core.planning.parts import NOTHING, ScopePlan
from reconciler.core.planning.scopes import Matched, Shared
from reconciler.core.planning.uncertain import contradicted_record
from reconciler.core.suggest import did_you_mean
from reconciler.model.address import Address
from reconciler.model.documents import Controls, Place
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice
from reconciler.model.plans import Delete, FieldChange, Plan, RecordChange, Skip, Update
from reconciler.model.snapshots import Desired, Entity, LiveEntity, Recorded, RecordedEntity, Scope

_TAKE_OFF = "take the mark off it by hand, then plan again"


def forgotten(records: Iterable[Address]) -> tuple[RecordChange, ...]:
    """Return the keeping of what is recorded and leaves: no record of it any more."""
    return tuple(RecordChange(one, "forgotten") for one in records)


def leave(
    across: Shared,
    at: Matched,
    address: Address,
    candidates: Sequence[LiveEntity],
    records: Mapping[Address, RecordedEntity],
    *,
    uncertain: Collection[str],
) -> ScopePlan:
    """Return the plan of an address that leaves. `candidates` are what is live and may be it.

    `records` are its own and those of what belongs to it, `uncertain` ids that may be somebody else.
    Protection holds nothing back here: what is not ours any more is never deleted.
    """
    path = across.rules.mark_of(address.kind)
    ours = [row for row in candidates if path and _marked(across, row, path)]
    if not ours:
        if path and (found := contradicted_record(at.group, address)) and found.says == "absent":
            return _still_marked(address, f"leaves, and {found.why}.")
        unseen = path and not candidates and across.unsure(at.group.scope)
        return NOTHING if unseen else ScopePlan(records=forgotten(records))
    if len(ours) > 1 or ours[0].remote_id in uncertain:
        return _still_marked(address, f"leaves, and it is not certain which one it is ({_ids(ours)}).")
    row = ours[0]
    if hidden := sorted(path for one in records.values() for path in _unreadable(one, address)):
        # A PUT without a password removes it, and nobody can read it (rule A4).
        what = f"leaves and carries our mark, and a write would remove its {', '.join(hidden)}."
        return _still_marked(address, what)
    place = str(across.removed[address])
    field = FieldChange(path, row.fields[path], None, "forgotten")
    return ScopePlan(
        (Update(address, place, row.remote_id, (field,), row.parent_id),), records=forgotten(records)
    )


def _marked(across: Shared, row: LiveEntity, path: str) -> bool:
    """Whether a live entity carries a mark of ours, under whatever name: another name's would be pruned."""
    return str(row.fields.get(path, "")).startswith(across.rules.mark_text(""))


def _ids(rows: Iterable[LiveEntity]) -> str:
    return ", ".join(sorted(one.remote_id for one in rows))


def _unreadable(record: RecordedEntity, address: Address) -> frozenset[str]:
    """Return what an entity holds by its record and no read shows; of what belongs to it, nothing."""
    kind = KINDS[address.kind]
    held = record.sent.keys() | frozenset(kind.required)
    return kind.write_only & held if record.address == address else frozenset()


def _still_marked(address: Address, what: str) -> ScopePlan:
    return ScopePlan(skips=(Skip(address, "still marked", f"{what} It stays ours.", _TAKE_OFF),))


def outside_leaving(across: Shared, desired: Desired, recorded: Recorded) -> Iterator[ScopePlan]:
    """Yield the plan of what leaves where no manifest speaks of its kind: nothing of it was read (S1)."""
    for address in sorted(recorded.entities):
        if Scope.of(address.above or address) in desired.scopes or not across.lets_go(address):
            continue
        if across.rules.mark_of((address.above or address).kind):
            plural = KINDS[(address.above or address).kind].plural
            what = f"removed, and its mark cannot be taken off it: no manifest has `{plural}:`."
            yield ScopePlan(notices=(Notice("left behind", str(address), what, _TAKE_OFF),))
        else:
            yield ScopePlan(records=forgotten((address,)))


def unknown_names(across: Shared, at: Matched, undeclared: Iterable[ScopePlan]) -> Iterator[ScopePlan]:
    """Yield a notice for each name that leaves and that nobody knows, where something of its kind is deleted.

    One of them may be a slip of what is deleted. Alone they say nothing: other stores may know them.
    """
    doomed = [str(one.address) for plan in undeclared for one in plan.changes if isinstance(one, Delete)]
    if not doomed or KINDS[at.group.scope.kind].parent:
        return
    for address, place in across.removed.items():
        if Scope.of(address) == at.group.scope and address not in {*at.group.records, *at.marked}:
            what = "removed, and nothing is known under this name; the plan deletes others of its kind."
            step = did_you_mean(
                "entity", address, doomed, f"compare the name with what the plan deletes: {_few(doomed)}"
            )
            yield ScopePlan(notices=(Notice("value", str(address), what, step, str(place)),))


def unmarking(plan: Plan) -> frozenset[Address]:
    """Return the addresses whose mark a plan takes off."""
    updates = (one for one in plan.changes if isinstance(one, Update))
    return frozenset(one.address for one in updates if any(f.cause == "forgotten" for f in one.fields))


def forgotten_at_once(plan: Plan) -> tuple[Address, ...]:
    """Return what is forgotten before anything is written: all but what a write has to unmark first."""
    later = unmarking(plan)
    return tuple(one for one in plan.forgotten if one not in later and one.above not in later)


def with_leaving(plan: Plan, desired: Desired) -> Desired:
    """Return what is desired, with an entity for each change that only takes our mark off."""
    entities = {
        one.address: Entity(one.address, {f.path: "" for f in one.fields}, Place(one.place), Controls())
        for one in plan.changes
        if isinstance(one, Update) and one.address in unmarking(plan)
    }
    return structs.replace(desired, entities={**desired.entities, **entities}) if entities else desired


def _few(names: Sequence[str]) -> str:
    """Return the first of these names, and how many more there are."""
    more = len(names) - _named_max
    return ", ".join(names[:_named_max]) + (f" and {more:,} more" if more > 0 else "")


_named_max = 3
