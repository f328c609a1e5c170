"""A create and a delete of one person: a move to another workspace, which loses fields that others wrote.

    Create + Delete with the same identity --find_moves--> Move: which live fields are not declared
    meta.carryOver: true of the new entry  --carry_over_fields--> the create sends these fields too

The delete waits for the create, and is left out where that did not succeed (engine/session.py). Decisions
over a plan's changes; whether a loss is allowed is decided by the guard (G8).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import UNSET, UnsetType, structs

from reconciler.core.compare.identity import identity_of
from reconciler.core.compare.normalize import SECRET
from reconciler.core.rules import Rules
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.kind import Key
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.notices import Notice
from reconciler.model.plans import Change, Create, Delete, Move
from reconciler.model.snapshots import Entity

# What the service gives to everything new: not lost where the live one has it.
_GIVEN = {"status": frozenset({"A", "ACTIVE", "Active", "active"})}


def find_moves(changes: Sequence[Change], rules: Rules) -> tuple[Move, ...]:
    """Return the moves among the changes, by the address that is created; each delete is of one move at most.

    `lost` are the live fields that the create does not send, by path, `devices` those of the deleted one that
    are not made below the new one.
    """
    deletes = _deletes_by_identity(changes, rules)
    found, taken = [], set[Address]()
    # What is nested goes with its parent: a device moves with its contact.
    creates = (one for one in changes if isinstance(one, Create) and one.address.above is None)
    for change in sorted(creates, key=lambda one: one.address):
        for key in rules.keys(change.address.kind):
            value = identity_of(key, change.fields)
            gone = deletes.get((change.address.kind, key, value)) if value is not None else None
            if gone is not None and gone.address not in taken:
                taken.add(gone.address)
                found.append(_make_move(change, gone, changes))
                break
    return tuple(found)


def carry_over_fields(
    changes: Iterable[Change], moves: Iterable[Move], entities: Mapping[Address, Entity]
) -> Iterator[Change]:
    """Yield the changes; a create whose entry says `meta.carryOver` sends what would be lost of the live one.

    What cannot be read, or not be written as it reads, is not among it, and stays lost.
    """
    wanted = {one.after: one for one in moves if entities[one.after].controls.carry_over is True}
    deletes = {one.address: one for one in changes if isinstance(one, Delete)}
    for change in changes:
        move = wanted.get(change.address) if isinstance(change, Create) else None
        if move is None or not isinstance(change, Create):
            yield change
            continue
        before = deletes[move.before].before
        carried = tuple(path for path in move.lost if _can_carry(change.address.kind, path, before))
        fields = dict(sorted({**change.fields, **{path: before[path] for path in carried}}.items()))
        yield structs.replace(change, fields=fields, carried=carried or UNSET)


def add_carried_fields(entity: Entity, change: Create) -> Entity:
    """Return the entity as it is sent: with what the create carries over, which is not ours."""
    paths = change.carried or ()
    if not paths:
        return entity
    fields = {**entity.fields, **{path: change.fields[path] for path in paths}}
    return structs.replace(entity, fields=fields, unowned_paths=entity.unowned_paths | frozenset(paths))


def move_notices(moves: Iterable[Move] | UnsetType) -> Iterator[Notice]:
    """Yield a notice for each move that loses something: names of fields and no value."""
    for one in moves or ():
        if not one.loses:
            continue
        parts = [f"the fields {', '.join(one.lost)}"] if one.lost else []
        parts += [f"the devices {', '.join(one.devices)}"] if one.devices else []
        what = (
            f"moves here from {one.before}, which is then deleted. "
            f"Undeclared live values that are lost: {' and '.join(parts)}."
        )
        step = (
            "declare them, or copy the fields with `meta: {carryOver: true}`, or apply with --allow-moves N"
        )
        yield Notice("move", str(one.after), what, step)


def _deletes_by_identity(
    changes: Iterable[Change], rules: Rules
) -> dict[tuple[str, Key, tuple[str, ...]], Delete]:
    found: dict[tuple[str, Key, tuple[str, ...]], Delete] = {}
    for change in changes:
        if not isinstance(change, Delete) or change.cause == "duplicate" or change.address.above is not None:
            continue
        for key in rules.keys(change.address.kind):
            value = identity_of(key, change.before)
            if value is not None:
                found.setdefault((change.address.kind, key, value), change)
    return found


def _make_move(change: Create, gone: Delete, changes: Iterable[Change]) -> Move:
    kind = KINDS[change.address.kind]
    lost = tuple(
        path
        for path, value in sorted(gone.before.items())
        if value != ""
        and path not in change.fields
        and path.partition(".")[0] not in kind.server_owned
        and str(value) not in _GIVEN.get(path, ())
    )
    made = [one for one in changes if isinstance(one, Create) and one.address.above == change.address]
    names = {one.address.name for one in made} | {str(one.fields.get("deviceName", "")) for one in made}
    below = child_kinds(kind.name)
    devices = tuple(one for one in gone.cascades if one.rpartition("/")[2] not in names) if below else ()
    return Move(gone.address, change.address, lost, devices, change.carried or ())


def _can_carry(kind: str, path: str, before: Fields) -> bool:
    """Whether a live value can be sent as it reads: no secret, no zone that is shown as its offset."""
    value, row = str(before[path]), KINDS[kind]
    if path in row.write_only or value.startswith(SECRET):
        return False
    field = row.by_name.get(path)
    return not (field is not None and field.type == "zone" and value[:1] in {"+", "-"})
