"""Why an entity is left alone: it is not certain which one it is, or a secret is missing."""

from collections.abc import Iterator

from msgspec import structs

from reconciler.core.compare.evidence import describe_reuse, find_reuse
from reconciler.core.compare.identity import identity_of
from reconciler.core.compare.match import Recognized, shared_identity
from reconciler.core.planning.scopes import Group, MatchedGroup, PlanContext, ScopePlan
from reconciler.core.rules import Rules
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Create, Delete, Skip
from reconciler.model.snapshots import ContradictedId, Desired, Entity, LiveEntity, RecordedEntity

# --- Uncertain: an id is contradicted (rule M8), or may be somebody else now (rule M9) ------------
#
# Evidence is judged in core/compare/evidence.py.

_LOOK_AGAIN = "plan again; if it happens again, ask the operators of the service"
_MERGED = (
    "check at the service which entity this is now; to adopt the live entity that has its identity: "
    "reconciler adopt ADDRESS; to forget the id: remove its entry, then reconciler forget ADDRESS"
)


def skip_contradicted(
    across: PlanContext, at: MatchedGroup, entity: Entity, hit: Recognized | None
) -> Skip | None:
    """Return why a declared entity is not acted on where the service says two things of it (M8), or None.

    Asked to be adopted by name, it is looked for by its identity, whatever its recorded id is now.
    """
    address, doubtful = entity.address, at.group.contradicted
    if not doubtful or (hit is not None and hit.by == "record"):
        return None
    records = at.group.records
    record = records.get(address) or records.get(at.former.get(address, address))
    found = doubtful.get(record.remote_id) if record else None
    if found:
        if hit is not None and across.options.adopt and str(address) in across.options.only:
            return None
        return make_contradicted_skip(address, found)
    # Not recorded, and a list shows an entity with its identity that a look does not find: no second create.
    keys = across.rules.keys(address.kind)
    alike = [one for _, one in sorted(doubtful.items()) if shared_identity(entity.fields, one.fields, keys)]
    return make_contradicted_skip(address, alike[0]) if alike and hit is None else None


def find_contradiction(group: Group, address: Address) -> ContradictedId | None:
    """Return what speaks against the recorded id of an address, if anything does."""
    record = group.records.get(address)
    return group.contradicted.get(record.remote_id) if record else None


def make_contradicted_skip(address: Address, found: ContradictedId) -> Skip:
    """Return why an address is not acted on."""
    what = f"the service contradicts itself about it (id {found.remote_id}): {found.why}; left alone."
    step = _LOOK_AGAIN if found.says == "absent" else _MERGED.replace("ADDRESS", str(address))
    return Skip(address, "contradicted", what, step)


def skip_reused(
    across: PlanContext, address: Address, record: RecordedEntity, row: LiveEntity, entity: Entity | None
) -> Skip | None:
    """Return why an entity is not acted on whose recorded id may be somebody else now (M9), or None.

    Not where a person has confirmed it, nor where it is the entity that the manifest declares by now.
    """
    if str(address) in across.options.confirmed:
        return None
    keys, declared = across.rules.identity.of(address.kind), entity.fields if entity else None
    salt = across.salts.store
    found = find_reuse(address, record, row.fields, declared, keys=keys, salt=salt, known=row.known)
    if found is None:
        return None
    what, step = describe_reuse(address, row.remote_id, found, keys)
    return Skip(address, "somebody else", f"{what}; left alone.", step)


# --- Missing secrets: what cannot be made or written without one, and what waits for that ---------
#
#     a create without a secret that it needs       left alone (E160)
#     who or what would move, and lose it           neither made anew nor deleted where it is (E161)
#     a write without a secret under meta.ignore    left alone, where its variable is not set (E165)
#
# What exists is managed without: core/compare/bodies.py.


_BLOCKED = frozenset({"undeclared secret", "gone without its secret"})


def why_not_created(entity: Entity, *, recorded: bool) -> Skip | None:
    """Return why an entity cannot be made: a secret that only its manifest can give. None where it can."""
    address, kind = entity.address, KINDS[entity.address.kind]
    missing = [path for path in kind.needed_to_create if not entity.fields.get(path)]
    if missing:
        paths = ", ".join(missing)
        is_there = "was recorded and no longer exists" if recorded else "does not exist"
        what = f"{is_there}, and cannot be created: its {paths} is not declared ({entity.place})."
        step = f"declare {paths}, or remove the {kind.name} from the manifests"
        return Skip(address, "gone without its secret" if recorded else "undeclared secret", what, step)
    return _why_unset(entity, "created", sorted(entity.unset_paths))


def why_not_written(entity: Entity) -> Skip | None:
    """Return why an entity cannot be updated: a PUT would remove a secret that cannot be read."""
    kind = KINDS[entity.address.kind]
    return _why_unset(entity, "written", sorted(entity.unset_paths & kind.write_only))


def _why_unset(entity: Entity, done: str, paths: list[str]) -> Skip | None:
    if not paths:
        return None
    what = (
        f"cannot be {done}: {', '.join(paths)} is under meta.ignore, and its variable is not set "
        f"({entity.place})."
    )
    return Skip(entity.address, "unset variable", what, "set the variable for the command that writes it")


def without_undeclared_secrets(kind: str, fields: Fields, record: RecordedEntity | None) -> Fields:
    """Return what a plan may hold of a live entity: no digest of a secret that was never declared."""
    unknown = KINDS[kind].readable_secrets - (record.sent.keys() if record else frozenset())
    if unknown.isdisjoint(fields):
        return fields
    return {path: value for path, value in fields.items() if path not in unknown}


def hold_back_moves(total: ScopePlan, desired: Desired, rules: Rules) -> ScopePlan:
    """Return the parts without the changes by which something would be lost that cannot be made elsewhere.

    That is what has the identity of something that is not created for want of a secret; and who it belongs
    to: the delete of a contact takes her devices along, so she is not made elsewhere without them either.
    """
    blocked = [desired.entities[one.address] for one in total.skips if one.reason in _BLOCKED]
    if not blocked:
        return total
    held = dict(_held_changes(total, blocked, desired, rules))
    below = {
        one.address: held[one.address.above]
        for one in total.changes
        if isinstance(one, Create) and one.address.above in held
    }
    held |= below
    if not held:
        return total
    skips = tuple(_skip_move(address, wants) for address, wants in held.items())
    changes = tuple(one for one in total.changes if one.address not in held)
    return structs.replace(total, changes=changes, skips=(*total.skips, *skips))


def _held_changes(
    total: ScopePlan, blocked: list[Entity], desired: Desired, rules: Rules
) -> Iterator[tuple[Address, Entity]]:
    """Yield each change that waits, with the entity that cannot be made."""
    wanted: dict[tuple[str, object, object], Entity] = {}
    for entity in blocked:
        above = desired.entities.get(entity.address.above) if entity.address.above else None
        for one in filter(None, (entity, above)):
            for key in rules.keys(one.address.kind):
                value = identity_of(key, one.fields)
                if value is not None:
                    wanted.setdefault((one.address.kind, key, value), entity)
    moved: set[Address] = set()
    for change in total.changes:
        if not isinstance(change, Delete) or change.cause == "duplicate":
            continue
        kind = change.address.kind
        values = ((key, identity_of(key, change.before)) for key in rules.keys(kind))
        wants = next((wanted[kind, key, one] for key, one in values if (kind, key, one) in wanted), None)
        # Who has nothing of this kind where she leaves loses nothing of it there.
        whole = wants is not None and change.address.kind != wants.address.kind
        if wants is not None and (not whole or change.cascades):
            yield change.address, wants
            if whole and wants.address.above is not None:
                moved.add(wants.address.above)
    for change in total.changes:
        if isinstance(change, Create) and change.address in moved:
            yield change.address, next(one for one in blocked if one.address.above == change.address)


def _skip_move(address: Address, wants: Entity) -> Skip:
    paths = ", ".join(KINDS[wants.address.kind].needed_to_create)
    what = f"waits: it is part of a move, and {wants.address} cannot be created without its {paths}."
    step = f"declare {paths} of {wants.address}, or remove that entry from the manifests"
    return Skip(address, "move without its secret", what, step)
