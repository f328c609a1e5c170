"""The inputs of a plan, split into groups that are planned one by one, and what all groups share.

    Desired, Live, Recorded --split--> one Group a scope, the devices of its contacts below it
                            --shared-> Shared: computed once, so that no group has to know another

Inputs and small questions about them only; what is planned is decided in plan.py, orphans.py, duplicates.py.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from reconciler.core.compare.diff import Salts
from reconciler.core.compare.identity import identity_key
from reconciler.core.compare.match import Matches
from reconciler.core.compare.normalize import mask_secret
from reconciler.core.planning.select import Selection
from reconciler.core.rules import Rules
from reconciler.core.text import trim_edges
from reconciler.model.address import ENTITY_NAME, Address, make_address
from reconciler.model.documents import Place
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.plans import Options
from reconciler.model.snapshots import (
    ContradictedId,
    Desired,
    Entity,
    Live,
    LiveEntity,
    Recorded,
    RecordedEntity,
    Scope,
)

V = TypeVar("V")


class Moment(Struct, frozen=True):
    """What a plan gets from outside: a salt for its masks, and its time and end (ISO 8601, UTC)."""

    salt: str
    now: str
    expires: str = ""


class Shared(Struct, frozen=True):
    """What every group is planned with. `tokens` are the declared devices by their masked push tokens."""

    options: Options
    rules: Rules
    salts: Salts
    selection: Selection
    unread: frozenset[Scope]  # read incompletely: nothing there may be deleted or forgotten (G4)
    doubts: Mapping[Address, str]
    under_way: frozenset[Address]
    tokens: Mapping[object, Address]
    removed: Mapping[Address, Place] = {}  # what leaves while what is live stays (rule X7)

    def lets_go(self, address: Address) -> bool:
        """Whether an address leaves, or what it belongs to does, and the run is about it."""
        named = next((one for one in (address, address.above) if one in self.removed), None)
        # What is no longer declared has no tags, so a tag selects nothing of it.
        return named is not None and self.selection.selects(named, {})

    def selects(self, entity: Entity) -> bool:
        """Whether the run is about this entity."""
        return self.selection.selects(entity.address, entity.controls.tags)

    def foreign_mark(self, row: LiveEntity) -> str:
        """Return the mark of somebody else, or "" (rule X5)."""
        mark = trim_edges(str(row.fields.get(self.rules.mark_path, "")))
        return "" if mark.startswith(self.rules.mark_text("")) else mark

    def unsure(self, scope: Scope) -> bool:
        """Whether something of the scope may exist unseen (G4). Devices are read with their contacts."""
        return not self.unread.isdisjoint({scope, Scope(KINDS[scope.kind].parent, scope.workspace)})


class Below(Struct, frozen=True):
    """The devices of a scope's contacts: declared and recorded by the contact, live by the contact's id."""

    entities: Mapping[Address | None, Mapping[Address, Entity]] = {}
    records: Mapping[Address | None, Mapping[Address, RecordedEntity]] = {}
    rows: Mapping[str, Sequence[LiveEntity]] = {}


class Group(Struct, frozen=True, gc=False):
    """Entities that are matched with one another: one scope, or the devices of one contact.

    Maps are in the order of addresses. `total` is how many are live, as far as anybody knows. `moved` maps
    addresses of `records` to those they are recorded under, where the contact was renamed (rule M6).
    `contradicted` are the ids of which the service says two things (M8).
    """

    scope: Scope
    entities: Mapping[Address, Entity]
    rows: Sequence[LiveEntity]
    records: Mapping[Address, RecordedEntity]
    total: int
    below: Below = Below()
    moved: Mapping[Address, Address] = {}
    contradicted: Mapping[str, ContradictedId] = {}


class Matched(Struct, frozen=True, gc=False):
    """A group, and which live entities its declared ones are.

    `former` are the names before renames. `marked` is what only our mark tells to be ours, by the address in
    the mark. `held` are the ids of what is matched or recorded.
    """

    group: Group
    matches: Matches
    former: Mapping[Address, Address]
    marked: Mapping[Address, Sequence[LiveEntity]]
    held: frozenset[str]


def shared(
    desired: Desired, live: Live, recorded: Recorded, *, options: Options, rules: Rules, salt: str
) -> Shared:
    """Return what has to be known across scopes before any of them is planned."""
    return Shared(
        options,
        rules,
        Salts(store=recorded.salt, plan=salt),
        Selection(options.only, options.excluded),
        frozenset(read.scope for read in live.reads if not read.complete),
        recorded.doubts,
        recorded.under_way,
        _tokens(desired, recorded.salt),
        # Who is declared stays, whatever else is said of it (M5): forgotten, it would be adopted again.
        {one: place for one, place in desired.removed.items() if one not in desired.entities},
    )


def split(desired: Desired, live: Live, recorded: Recorded) -> Iterator[Group]:
    """Yield the group of every scope that some manifest speaks of (rule S1)."""
    entities, records = _by_contact(desired.entities), _by_contact(recorded.entities)
    for scope in sorted(desired.scopes):
        below = Below()
        for kind in child_kinds(scope.kind):
            child = Scope(kind.name, scope.workspace)
            rows = _by_parent(live.entities.get(child, ()))
            below = Below(entities.get(child, {}), records.get(child, {}), rows)
        known, there = records.get(scope, {}).get(None, {}), live.entities.get(scope, ())
        told = max((read.total for read in live.reads if read.scope == scope), default=0)
        total = max(told, len(there))
        doubtful = {one.remote_id: one for one in live.contradictions.get(scope, ())}
        declared = entities.get(scope, {}).get(None, {})
        yield Group(scope, declared, there, known, total, below, contradicted=doubtful)


def devices_of(group: Group, address: Address, row: LiveEntity | None, old: Address | None) -> Group:
    """Return the group of the devices of one contact. `old` is the address that it was renamed from."""
    below = group.below
    records = dict(below.records.get(address, {}))
    moved = {}
    for was, record in below.records.get(old, {}).items() if old else ():
        now = make_address(was.kind, address.workspace, was.name, parent=address.name)
        if now not in records:
            records[now], moved[now] = structs.replace(record, address=now), was
    rows = below.rows.get(row.remote_id, ()) if row else ()
    (kind,) = child_kinds(address.kind)
    scope = Scope(kind.name, address.workspace)
    return Group(scope, below.entities.get(address, {}), rows, records, len(rows), moved=moved)


def marked_rows(rules: Rules, group: Group, held: Collection[str]) -> dict[Address, list[LiveEntity]]:
    """Return what only our mark tells to be ours and nobody declares, by the address in the mark (X5)."""
    marked: dict[Address, list[LiveEntity]] = {}
    path = rules.mark_of(group.scope.kind)
    rows = {row.remote_id: row for row in group.rows if row.remote_id not in held} if path else {}
    for _, row in sorted(rows.items()):
        owner, _, name = trim_edges(str(row.fields.get(path, ""))).partition("/")
        address = make_address(row.kind, row.workspace, name)
        # A mark whose name no manifest could write is nobody's.
        if owner == rules.stack and ENTITY_NAME.fullmatch(name) and address not in group.entities:
            marked.setdefault(address, []).append(row)
    return marked


def _by_contact(values: Mapping[Address, V]) -> dict[Scope, dict[Address | None, dict[Address, V]]]:
    groups: dict[Scope, dict[Address | None, dict[Address, V]]] = {}
    for address in sorted(values):
        contacts = groups.setdefault(Scope.of(address), {})
        contacts.setdefault(address.above, {})[address] = values[address]
    return groups


def _by_parent(rows: Sequence[LiveEntity]) -> dict[str, list[LiveEntity]]:
    groups: dict[str, list[LiveEntity]] = {}
    for row in rows:
        groups.setdefault(row.parent_id, []).append(row)
    return groups


def _tokens(desired: Desired, salt: str) -> dict[object, Address]:
    """Return the declared devices by the masks that a record would hold of their push tokens."""
    found: dict[object, Address] = {}
    for address in sorted(desired.entities):
        token = desired.entities[address].fields.get("pushToken", "")
        if address.kind == "device" and token:
            found.setdefault(mask_secret(identity_key("pushToken", token), salt), address)
    return found
