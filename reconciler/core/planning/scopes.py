"""The inputs of a plan, split into groups that are planned one by one, and what all groups share.

    Desired, Live, Recorded --split_into_groups-> one Group a scope, the devices of its contacts below it
                            --make_plan_context-> PlanContext: computed once, so that no group needs another
    ScopePlan, ScopePlan... --merge_parts-------> their sum; the order of parts never shows

Inputs, small questions about them, and the form of the result; what is planned is decided in plan.py and
deletes.py.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

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
from reconciler.model.kinds import KINDS, cache_by_kinds, child_kinds
from reconciler.model.notices import Notice
from reconciler.model.plans import Adoption, Change, Delete, Options, RecordChange, Skip
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


class PlanContext(Struct, frozen=True):
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


class DeviceGroups(Struct, frozen=True):
    """The devices of a scope's contacts: declared and recorded by the contact, live by the contact's id."""

    entities: Mapping[Address | None, Mapping[Address, Entity]] = {}
    records: Mapping[Address | None, Mapping[Address, RecordedEntity]] = {}
    rows: Mapping[str, Sequence[LiveEntity]] = {}


class RestCounts(Struct, frozen=True, gc=False):
    """How many of a scope are left out of a plan, because nothing is to be said of them (rule R11).

    `settled` are declared entities, each with its record and its live row; `strangers` rows of nobody here.
    """

    settled: int = 0
    strangers: int = 0


class Group(Struct, frozen=True, gc=False):
    """Entities that are matched with one another: one scope, or the devices of one contact.

    Maps are in the order of addresses. `total` is how many are live, as far as is known. `moved` maps
    addresses of `records` to those they are recorded under, where the contact was renamed (rule M6).
    `contradicted` are the ids of which the service says two things (M8). `rest` is left out of all of these
    but `total`.
    """

    scope: Scope
    entities: Mapping[Address, Entity]
    rows: Sequence[LiveEntity]
    records: Mapping[Address, RecordedEntity]
    total: int
    below: DeviceGroups = DeviceGroups()
    moved: Mapping[Address, Address] = {}
    contradicted: Mapping[str, ContradictedId] = {}
    rest: RestCounts = RestCounts()


class MatchedGroup(Struct, frozen=True, gc=False):
    """A group, and which live entities its declared ones are.

    `former` are the names before renames. `marked` is what only our mark tells to be ours, by the address in
    the mark. `held` are the ids of what is matched or recorded.
    """

    group: Group
    matches: Matches
    former: Mapping[Address, Address]
    marked: Mapping[Address, Sequence[LiveEntity]]
    held: frozenset[str]


def make_plan_context(
    desired: Desired, live: Live, recorded: Recorded, *, options: Options, rules: Rules, salt: str
) -> PlanContext:
    """Return what has to be known across scopes before any of them is planned."""
    return PlanContext(
        options,
        rules,
        Salts(store=recorded.salt, plan=salt),
        Selection(options.only, options.excluded),
        frozenset(read.scope for read in live.reads if not read.complete),
        recorded.doubts,
        recorded.under_way,
        _declared_tokens(desired, recorded.salt),
        # Who is declared stays, whatever else is said of it (M5): forgotten, it would be adopted again.
        {one: place for one, place in desired.removed.items() if one not in desired.entities},
    )


def split_into_groups(
    desired: Desired, live: Live, recorded: Recorded, rest: Mapping[Scope, RestCounts] = {}
) -> Iterator[Group]:
    """Yield the group of every scope that some manifest speaks of (rule S1).

    `rest` is left out of all three inputs.
    """
    entities, records = _group_by_contact(desired.entities), _group_by_contact(recorded.entities)
    for scope in sorted(desired.scopes):
        below = DeviceGroups()
        for kind in child_kinds(scope.kind):
            child = Scope(kind.name, scope.workspace)
            rows = _group_by_parent(live.entities.get(child, ()))
            below = DeviceGroups(entities.get(child, {}), records.get(child, {}), rows)
        known, there = records.get(scope, {}).get(None, {}), live.entities.get(scope, ())
        told = max((read.total for read in live.reads if read.scope == scope), default=0)
        left = rest.get(scope, RestCounts())
        total = max(told, len(there) + left.settled + left.strangers)
        doubtful = {one.remote_id: one for one in live.contradictions.get(scope, ())}
        declared = entities.get(scope, {}).get(None, {})
        yield Group(scope, declared, there, known, total, below, contradicted=doubtful, rest=left)


def device_group(group: Group, address: Address, row: LiveEntity | None, old: Address | None) -> Group:
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


def find_marked_rows(rules: Rules, group: Group, held: Collection[str]) -> dict[Address, list[LiveEntity]]:
    """Return what is ours by its mark alone and is not declared, by the address in the mark (X5)."""
    marked: dict[Address, list[LiveEntity]] = {}
    path = rules.mark_of(group.scope.kind)
    rows = {row.remote_id: row for row in group.rows if row.remote_id not in held} if path else {}
    for _, row in sorted(rows.items()):
        owner, _, name = trim_edges(str(row.fields.get(path, ""))).partition("/")
        address = make_address(row.kind, row.workspace, name)
        # A mark whose name no manifest could write belongs to no entry.
        if owner == rules.stack and ENTITY_NAME.fullmatch(name) and address not in group.entities:
            marked.setdefault(address, []).append(row)
    return marked


def _group_by_contact(values: Mapping[Address, V]) -> dict[Scope, dict[Address | None, dict[Address, V]]]:
    groups: dict[Scope, dict[Address | None, dict[Address, V]]] = {}
    for address in sorted(values):
        contacts = groups.setdefault(Scope.of(address), {})
        contacts.setdefault(address.above, {})[address] = values[address]
    return groups


def _group_by_parent(rows: Sequence[LiveEntity]) -> dict[str, list[LiveEntity]]:
    groups: dict[str, list[LiveEntity]] = {}
    for row in rows:
        groups.setdefault(row.parent_id, []).append(row)
    return groups


def _declared_tokens(desired: Desired, salt: str) -> dict[object, Address]:
    """Return the declared devices by the masks that a record would hold of their push tokens."""
    found: dict[object, Address] = {}
    for address in sorted(desired.entities):
        token = desired.entities[address].fields.get("pushToken", "")
        if address.kind == "device" and token:
            found.setdefault(mask_secret(identity_key("pushToken", token), salt), address)
    return found


# --- Waves: what may run together, and what has to wait for it ------------------------------------
#
# Creates and updates in the order of the kinds' waves: parents before children
# deletes the other way round, after all else


@cache_by_kinds
def _last_wave() -> int:
    # One more than twice the last wave, so that deletes count down after everything that is made: what goes
    # away last can be looked at longest (A5; tests/core/test_order.py).
    return 2 * max(kind.wave for kind in KINDS.values()) + 1


def wave_of(change: Change) -> int:
    """Return the number of the wave that a change belongs to (planning rule A5)."""
    number = KINDS[change.address.kind].wave
    return _last_wave() - number if isinstance(change, Delete) else number


def order_changes(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return the changes by wave, then by address: the order in which a plan holds them."""
    # Ties by address: the same changes are the same bytes, however they were found (law 3).
    return tuple(sorted(changes, key=lambda change: (wave_of(change), change.address)))


def split_into_waves(changes: Iterable[Change]) -> tuple[tuple[Change, ...], ...]:
    """Return the non-empty waves in order; inside a wave nothing depends on anything."""
    groups: dict[int, list[Change]] = {}
    for change in order_changes(changes):
        groups.setdefault(wave_of(change), []).append(change)
    return tuple(tuple(group) for group in groups.values())


# --- Parts: a plan is the sum of the plans of its parts -------------------------------------------
#
#     (a + b) + c = a + (b + c),  nothing + a = a,  and `finish_plan` sorts, so that no order of parts shows
#
# So a part may be planned anywhere, without knowing another. core/planning/plan.py decides what is in a part.


Counts = Mapping[str, int]  # by scope as text; a 0 says that it was counted


class ScopePlan(Struct, frozen=True, gc=False):
    """The plan of one scope, or of a part of it; the fields are those of Plan, in any order.

    `owned` are the entities that are ours though nothing is recorded of them. `contested` are groups of
    declared addresses that are one live entity (rule M4): with any of them there is no plan. `settled` are
    declared entities of which there is nothing to say but that they are unchanged.
    """

    changes: tuple[Change, ...] = ()
    adoptions: tuple[Adoption, ...] = ()
    skips: tuple[Skip, ...] = ()
    gone: tuple[Address, ...] = ()
    records: tuple[RecordChange, ...] = ()
    renames: tuple[tuple[Address, Address], ...] = ()
    notices: tuple[Notice, ...] = ()
    contested: tuple[tuple[Address, ...], ...] = ()
    settled: tuple[Address, ...] = ()
    unchanged: Counts = {}
    outside: Counts = {}
    unmanaged: Counts = {}
    owned: Counts = {}


EMPTY_PART = ScopePlan()
# By the types of the fields, so that one that is added later cannot be left out of the sum.
_LISTS = tuple(name for name, value in structs.asdict(EMPTY_PART).items() if isinstance(value, tuple))
_COUNTS = tuple(name for name in structs.asdict(EMPTY_PART) if name not in _LISTS)


def merge_parts(parts: Iterable[ScopePlan]) -> ScopePlan:
    """Return the sum of the parts: what they list one after the other, and what they count added up."""
    lists: dict[str, list[Any]] = {name: [] for name in _LISTS}
    counts: dict[str, dict[str, int]] = {name: {} for name in _COUNTS}
    for part in parts:
        for name, values in lists.items():
            values.extend(getattr(part, name))
        # No Counter: its `+` drops every 0, and a 0 says that a scope was counted.
        for name, total in counts.items():
            for scope, number in getattr(part, name).items():
                total[scope] = total.get(scope, 0) + number
    fields: dict[str, Any] = {**{name: tuple(values) for name, values in lists.items()}, **counts}
    return ScopePlan(**fields)
