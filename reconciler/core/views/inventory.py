"""Desired x Live x Recorded x Plan -> rows: every entity of the scopes, whose it is, where it is declared.

    declared   a manifest has it, and it is not ours yet: to be created, or there already and to be adopted
    owned      ours, and as the last apply left it
    drifted    what `drift` reports: somebody else changed it, removed it, or made a second one
    unmanaged  live, and neither declared nor ours (rule X4)

The same functions that plan an entity say which live one it is. report/listing.py formats the rows.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct, structs

from reconciler.core.compare.match import Recognized
from reconciler.core.planning.plan import find_recorded_address, match_group
from reconciler.core.planning.scopes import MatchedGroup, device_group, make_plan_context, split_into_groups
from reconciler.core.planning.select import Selection, check_selection, list_addresses, may_select
from reconciler.core.planning.unplanned import is_left_out, list_scopes, select_not_planned
from reconciler.core.review.drift import find_drift
from reconciler.core.rules import Rules
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.notices import Notice
from reconciler.model.plans import Delete, Plan, action_of
from reconciler.model.snapshots import (
    Desired,
    Entity,
    Live,
    LiveEntity,
    NotPlanned,
    Recorded,
    RecordedEntity,
    Scope,
)

State = Literal["declared", "owned", "drifted", "unmanaged"]


class Listed(Struct, frozen=True):
    """One entity. `address` is "" where it has none, `remote_id` where it is not live.

    `headline` are the fields that tell who it is, by path: as they are live where they were read, else as
    they were recorded or declared. `place` is `file:line`, "" where it is not declared; `planned` the word
    for what an apply would do: create, update, delete, adopt, forget or "".
    """

    kind: str
    workspace: str
    address: str
    state: State
    owned: bool
    remote_id: str
    headline: Fields
    place: str = ""
    planned: str = ""


class Unread(Struct, frozen=True, order=True):
    """A kind in a workspace that no manifest has, so that nobody read it; `recorded` are ours there."""

    kind: str
    workspace: str
    recorded: int


class Inventory(Struct, frozen=True):
    """All rows, sorted by kind, workspace, address and id; what was not read, and what not completely.

    `notices` are those of the plan that tell by which records an entity is ours. `not_planned` are workspaces
    that are left out: nothing of them was read.
    """

    entities: tuple[Listed, ...]
    unread: tuple[Unread, ...] = ()
    incomplete: tuple[str, ...] = ()
    calls: int = 0
    notices: tuple[Notice, ...] = ()
    not_planned: tuple[NotPlanned, ...] = ()


# Why records count under another alias, or why those at another address do not: whose an entity is follows.
_OF_RECORDS = frozenset({"workspace", "origin"})


def narrow_desired(desired: Desired, selection: Selection) -> Desired:
    """Return what is declared in the scopes in which anything may be selected: no other has to be read."""
    scopes = {scope for scope in desired.scopes if any(_selected_kinds(selection, scope))}
    entities = {a: e for a, e in desired.entities.items() if Scope.of(a.above or a) in scopes}
    return structs.replace(desired, scopes=frozenset(scopes), entities=entities)


def make_inventory(
    desired: Desired,
    live: Live,
    recorded: Recorded,
    plan: Plan,
    *,
    rules: Rules,
    aliases: Iterable[str],
    selection: Selection,
) -> Inventory:
    """Return every selected entity of the scopes that were read, and what is ours beyond them.

    `live` and `plan` are those of `narrowed(desired, selection)`, planned whole; `aliases` are the workspaces
    of the settings. What the plan leaves out is in none of them, and not in `desired`. Who is unmanaged is
    known where `live` holds the others of its lists. Raises UnknownAddress.
    """
    whole = {Scope(kind.name, one.workspace) for one in desired.scopes for kind in _read_with(one.kind)}
    left = select_not_planned(plan.left_out, selection)
    known = list_addresses(desired, recorded) | {_wildcard_address(one): {} for one in whole}
    check_selection(selection, known, list_scopes(left, desired.unread))
    desired = narrow_desired(desired, selection)
    rows = [*_list_rows(desired, live, recorded, plan, rules)]
    chosen = [one for one in rows if selection.selects(*_selected_as(one, desired))]
    return Inventory(
        tuple(sorted(chosen, key=_sort_key)),
        tuple(
            sorted(
                one
                for one in _unread_kinds(desired, recorded, aliases, selection)
                if not is_left_out(Scope(one.kind, one.workspace), left)
            )
        ),
        tuple(sorted(str(read.scope) for read in live.reads if not read.complete)),
        sum(read.calls for read in live.reads),
        tuple(one for one in plan.notices if one.kind in _OF_RECORDS),
        left,
    )


def _selected_kinds(selection: Selection, scope: Scope) -> Iterator[bool]:
    return (may_select(selection, kind.name, scope.workspace) for kind in _read_with(scope.kind))


def _read_with(kind: str) -> Iterator[Kind]:
    yield KINDS[kind]
    yield from child_kinds(kind)


def _wildcard_address(scope: Scope) -> Address:
    """Return the address for an entity that has none: a selector of its whole scope selects it, too."""
    return Address(f"{scope.kind}/{scope.workspace}/*")


def _selected_as(row: Listed, desired: Desired) -> tuple[Address, Mapping[str, str]]:
    address = Address(row.address) if row.address else _wildcard_address(Scope(row.kind, row.workspace))
    entity = desired.entities.get(address)
    return address, entity.controls.tags if entity else {}


def _sort_key(row: Listed) -> tuple[str, str, bool, str, str]:
    return row.kind, row.workspace, not row.address, row.address, row.remote_id


def _unread_kinds(
    desired: Desired, recorded: Recorded, aliases: Iterable[str], selection: Selection
) -> Iterator[Unread]:
    """Yield the kinds and workspaces that no manifest has, but for those that nothing is asked of."""
    for kind in KINDS.values():
        for alias in {"default"} if kind.company else {"default", *aliases}:
            scope = Scope(kind.name, alias)
            if kind.parent or scope in desired.scopes or not any(_selected_kinds(selection, scope)):
                continue
            ours = sum(1 for one in recorded.entities if Scope.of(one.above or one) == scope)
            yield Unread(kind.name, alias, ours)


def planned_words(plan: Plan) -> dict[Address, str]:
    """Return the word for what an apply would do, by address; nothing stands there where it does nothing."""
    return {
        **dict.fromkeys(plan.gone, "forget"),
        **{one.address: "adopt" for one in plan.adoptions},
        **{one.address: action_of(one) for one in plan.changes},
    }


class _RowMaker:
    """Makes rows: what the plan says of an address stands beside it."""

    def __init__(self, plan: Plan) -> None:
        self.planned = planned_words(plan)
        self.drifted = {one.address for one in find_drift(plan)}

    def row(
        self, address: Address, remote_id: str, headline: Fields, *, owned: bool, place: str = ""
    ) -> Listed:
        state: State = "drifted" if address in self.drifted else "owned" if owned else "declared"
        planned = self.planned.get(address, "")
        kind, workspace = address.kind, address.workspace
        return Listed(kind, workspace, address, state, owned, remote_id, headline, place, planned)


def _list_rows(
    desired: Desired, live: Live, recorded: Recorded, plan: Plan, rules: Rules
) -> Iterator[Listed]:
    across = make_plan_context(desired, live, recorded, options=plan.options, rules=rules, salt=plan.salt)
    make = _RowMaker(plan)
    twice = {
        one.remote_id: one for one in plan.changes if isinstance(one, Delete) and one.cause == "duplicate"
    }
    for group in split_into_groups(desired, live, recorded):
        at = match_group(across, group)
        yield from _rows_of_group(make, at, rules, twice, live.others.get(group.scope, ()))
        for contact, hit in _entities_with_devices(at):
            below = device_group(
                group,
                contact.address,
                hit.live if hit else None,
                find_recorded_address(at, contact.address, hit),
            )
            yield from _rows_of_group(make, match_group(across, below), rules, twice, ())
    for one in twice.values():
        yield make.row(one.address, one.remote_id, _headline_fields(one.address.kind, one.before), owned=True)
    yield from _undeclared_rows(make, desired, live, recorded, plan)


def _undeclared_rows(
    make: _RowMaker, desired: Desired, live: Live, recorded: Recorded, plan: Plan
) -> Iterator[Listed]:
    """Yield what is recorded and no longer declared."""
    by_id = {(scope, row.remote_id): row for scope, rows in live.entities.items() for row in rows}
    read = {read.scope for read in live.reads}
    for recorded_as, record in recorded.entities.items():
        # A device of a renamed contact is known by its new name, also where it is not declared (M6).
        address = plan.renames.get(recorded_as, recorded_as)
        if address in desired.entities:
            continue
        scope = Scope.of(address)
        row = by_id.get((scope, record.remote_id))
        # Where the service was not read, what was recorded is what is known.
        seen = row is not None or (scope not in read and address not in plan.gone)
        yield make.row(
            address, record.remote_id if seen else "", _best_headline(address.kind, row, record), owned=True
        )


def _entities_with_devices(at: MatchedGroup) -> Iterator[tuple[Entity, Recognized | None]]:
    for entity in at.group.entities.values():
        if entity.devices_in_scope:
            yield entity, at.matches.found.get(entity.address)


def _rows_of_group(
    make: _RowMaker, at: MatchedGroup, rules: Rules, twice: Collection[str], others: Iterable[LiveEntity]
) -> Iterator[Listed]:
    """Yield who of a group is declared, who only carries our mark, and who is a stranger."""
    for entity in at.group.entities.values():
        yield _row_of_declared(make, at, entity, rules)
    marked = set()
    for address, rows in at.marked.items():
        for row in rows:
            marked.add(row.remote_id)
            yield make.row(address, row.remote_id, _best_headline(row.kind, row), owned=True)
    strangers = {row.remote_id: row for row in (*others, *at.group.rows)}
    for remote_id in strangers.keys() - at.held - marked - set(twice):
        row = strangers[remote_id]
        yield Listed(
            row.kind, row.workspace, "", "unmanaged", False, remote_id, _best_headline(row.kind, row)
        )


def _row_of_declared(make: _RowMaker, at: MatchedGroup, entity: Entity, rules: Rules) -> Listed:
    address, hit = entity.address, at.matches.found.get(entity.address)
    record = at.group.records.get(hit.record) if hit and hit.record else at.group.records.get(address)
    marked = hit is not None and bool(rules.mark) and hit.by == rules.mark_path
    headline = _best_headline(address.kind, hit.live if hit else None, record, entity)
    remote_id = hit.live.remote_id if hit else ""
    return make.row(address, remote_id, headline, owned=record is not None or marked, place=str(entity.place))


def _best_headline(
    kind: str, row: LiveEntity | None, record: RecordedEntity | None = None, entity: Entity | None = None
) -> Fields:
    """Return the headline by what is known best: live where it was read whole, else what lies behind it."""
    known: Fields = row.fields if row else {}
    if row is None or row.known is not None:
        known = {**(entity.fields if entity else {}), **(record.shown if record else {}), **known}
    return _headline_fields(kind, known)


def _headline_fields(kind: str, fields: Fields) -> Fields:
    return {path: fields[path] for path in KINDS[kind].presented if fields.get(path, "") != ""}
