"""The law of leaving: what is removed stays live as it is, and is not ours in any later plan (X7)."""

import effort
from core.build import MARK, MARKED, STACK
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.test_planning import made
from laws.worlds import World, worlds
from msgspec import structs

from reconciler.core.compare.match import former_names
from reconciler.core.planning.deletes import find_unmarked
from reconciler.model.address import Address
from reconciler.model.documents import Place
from reconciler.model.plans import Create, Delete

LAW = settings(max_examples=effort.count(small=40, full=150))
HERE = Place("ops.yaml", 1, 1)


def leaving(world: World, data: st.DataObject) -> set[Address]:
    """Some of what is recorded and not declared, and now under `removed:`."""
    former = set(former_names(world.desired.entities.values()).values())
    able = sorted(world.records.keys() - world.desired.entities.keys() - former)
    chosen = data.draw(st.sets(st.sampled_from(able))) if able else set()
    world.desired = structs.replace(world.desired, removed=dict.fromkeys(sorted(chosen), HERE))
    return chosen


def bodies(world: World) -> dict[str, dict[str, object]]:
    """Everything live by its id, without our mark."""
    found = {}
    for remote_id, row in world.rows.items():
        body = dict(row.body)
        kept = [one for one in body.pop("customFields", ()) if one["fieldName"] != MARK]
        found[remote_id] = {**body, **({"customFields": kept} if kept else {})}
    return found


@LAW
@given(worlds(), st.data())
def test_what_leaves_is_live_as_it_was_and_never_planned_for_again(world: World, data: st.DataObject) -> None:
    chosen = leaving(world, data)
    plan = made(world)
    gone = set(plan.forgotten)
    assert gone.isdisjoint(world.desired.entities)
    assert chosen.isdisjoint(one.address for one in plan.changes if isinstance(one, Delete))
    ids = {world.records[one].remote_id for one in gone & world.records.keys()}
    others = {
        one.remote_id
        for one in plan.changes
        if not isinstance(one, Create) and one.address not in find_unmarked(plan)
    }
    # Deleting a contact takes its devices with it, whatever is said of them (X3).
    others |= {one for one, row in world.rows.items() if row.parent in others}
    before = bodies(world)

    world.apply(plan)

    assert gone.isdisjoint(world.records)
    after = bodies(world)
    assert all(after.get(one) == before[one] for one in ids - others if one in before)
    again = made(world)
    assert gone.isdisjoint(again.forgotten)
    assert gone.isdisjoint(one.address for one in again.changes)


@LAW
@given(worlds(), st.data())
def test_nothing_that_leaves_carries_our_mark_afterwards(world: World, data: st.DataObject) -> None:
    """It would be found by it, and pruned."""
    world.rules = MARKED
    leaving(world, data)
    plan = made(world)
    gone = {one for one in plan.forgotten if one.kind == "contact"}
    ids = {world.records[one].remote_id for one in gone & world.records.keys()}
    declared = {world.records[one].remote_id for one in world.records if one in world.desired.entities}

    world.apply(plan)

    held = {record.remote_id for record in world.records.values()}
    for one in ids - declared - held:
        fields = world.rows[one].body.get("customFields", ()) if one in world.rows else ()
        assert not any(f["fieldName"] == MARK and f["fieldValue"].startswith(f"{STACK}/") for f in fields)
