"""The laws of secrets that nobody declares: never lost, never changed, never shown, and in nobody's way."""

from collections import Counter

import effort
from hypothesis import event, given, settings
from hypothesis import strategies as st
from laws.test_planning import made
from laws.worlds import CANARY, World, worlds
from msgspec import structs

from reconciler.core.compare.identity import identity_of
from reconciler.core.compare.normalize import SECRET
from reconciler.model.address import Address
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.plans import SECRET_NEEDED, Create, Delete, Plan, Update
from reconciler.model.snapshots import Scope

LAW = settings(max_examples=effort.count(small=60, full=400, landing=60))
DEVICE = KINDS["device"]


def undeclared(world: World, data: st.DataObject, *, all_of_them: bool = False) -> set[Address]:
    """Devices whose entries do not speak of their token any more, or never did."""
    able = sorted(one for one in world.desired.entities if one.kind == DEVICE.name)
    some = st.sets(st.sampled_from(able), min_size=1) if able else st.just(set[Address]())
    chosen = set(able) if all_of_them else data.draw(some)
    entities = dict(world.desired.entities)
    for address in chosen:
        left = {path: one for path, one in entities[address].fields.items() if path != "pushToken"}
        entities[address] = structs.replace(entities[address], fields=left)
        # As if it had been so for ever, for some of them.
        record = world.records.get(address)
        if record is not None and data.draw(st.booleans()):
            sent = {path: one for path, one in record.sent.items() if path != "pushToken"}
            shown = {path: one for path, one in record.shown.items() if path != "pushToken"}
            world.records[address] = structs.replace(record, sent=sent, shown=shown)
    world.desired = structs.replace(world.desired, entities=entities)
    return chosen


def tokens(world: World) -> dict[str, object]:
    """The token of every live device, by its id."""
    return {one: row.body.get("pushToken") for one, row in world.rows.items() if row.kind == DEVICE.name}


def written(plan: Plan) -> set[str]:
    """The ids of devices whose token the plan changes, because it is declared."""
    updates = (one for one in plan.changes if isinstance(one, Update))
    return {one.remote_id for one in updates if any(field.path == "pushToken" for field in one.fields)}


@LAW
@given(worlds(), st.data())
def test_no_token_that_nobody_declares_is_lost_or_changed(world: World, data: st.DataObject) -> None:
    """Whatever else is written: only a delete takes a device away, and only a declared token replaces one."""
    chosen = undeclared(world, data)
    plan, before = made(world), tokens(world)
    parents = {one: row.parent for one, row in world.rows.items()}

    world.apply(plan)

    after = tokens(world)
    updates = [one for one in plan.changes if isinstance(one, Update) and one.address in chosen]
    event("updated without its token" if updates else "none updated without its token")
    assert all(field.path != "pushToken" for one in updates for field in one.fields)
    assert {one: after[one] for one in after.keys() & before.keys() - written(plan)} == {
        one: before[one] for one in after.keys() & before.keys() - written(plan)
    }
    deleted = {one.remote_id for one in plan.changes if isinstance(one, Delete)}
    assert all(one in deleted or parents[one] in deleted for one in before.keys() - after.keys())


@LAW
@given(worlds(), st.data())
def test_what_was_applied_without_tokens_is_planned_no_more(world: World, data: st.DataObject) -> None:
    """Plan, apply, plan: the second one changes nothing, and says again what waits for a token."""
    undeclared(world, data)
    first = made(world)

    world.apply(first)
    second = made(world)

    waited = {skip.address for skip in first.skips if skip.reason == "ambiguous"}
    if not waited and not one_is_declared_twice(world):
        event("waits for a token" if any(one.reason in SECRET_NEEDED for one in first.skips) else "whole")
        assert (second.changes, second.adoptions, second.gone, second.renames) == ((), (), (), {})
        waits = {one.address for one in first.skips if one.reason == "undeclared secret"}
        again = {one.address for one in second.skips if one.reason == "undeclared secret"}
        assert waits - twice(world) <= again


def one_is_declared_twice(world: World) -> bool:
    """Whether two contacts of a workspace share an identity, which no manifest may say: one is made first."""
    counts = Counter(
        (Scope.of(address), key, identity_of(key, entity.fields))
        for address, entity in world.desired.entities.items()
        for key in world.rules.keys(address.kind)
        if not address.above and identity_of(key, entity.fields)
    )
    return any(number > 1 for number in counts.values())


def twice(world: World) -> set[Address]:
    """Devices that another one of their contact is too, which no manifest may say."""
    names = {
        one: (one.above, entity.fields.get("deviceName")) for one, entity in world.desired.entities.items()
    }
    counts = Counter(names.values())
    return {one for one, name in names.items() if counts[name] > 1}


@LAW
@given(worlds(), st.data())
def test_without_its_token_a_device_is_never_made(world: World, data: st.DataObject) -> None:
    """The service would refuse it, or reach nobody by it; and each that is not made is told."""
    chosen = undeclared(world, data)
    plan = made(world)

    created = {one.address for one in plan.changes if isinstance(one, Create)}
    assert created.isdisjoint(chosen)
    speaks_of = {one.address for one in (*plan.changes, *plan.adoptions, *plan.skips)}
    live = {record.remote_id for record in world.records.values()} & world.rows.keys()
    known = {one for one, record in world.records.items() if record.remote_id in live}
    assert chosen <= speaks_of | known | {*plan.renames.values()}


@LAW
@given(worlds(), st.data())
def test_nothing_holds_a_token_that_nobody_ever_declared(world: World, data: st.DataObject) -> None:
    """No plan and no record, in clear or as a digest: its live value may be anything."""
    chosen = undeclared(world, data, all_of_them=True)
    for address, record in [*world.records.items()]:
        if address.kind == DEVICE.name:
            sent = {path: one for path, one in record.sent.items() if path != "pushToken"}
            shown = {path: one for path, one in record.shown.items() if path != "pushToken"}
            world.records[address] = structs.replace(record, sent=sent, shown=shown)
    plan = made(world)

    world.keep(plan)

    assert CANARY not in encode_json(plan).decode()
    for change in plan.changes:
        held = change.before if isinstance(change, Delete) else {}
        assert not (change.address.kind == DEVICE.name and "pushToken" in held)
    for address in chosen & world.records.keys():
        assert not any(str(one).startswith(SECRET) for one in world.records[address].sent.values())
        assert "pushToken" not in world.records[address].shown


@LAW
@given(worlds(), st.data(), st.sampled_from([f"{CANARY}renewed-{n}" for n in range(3)]))
def test_a_renewed_token_changes_no_plan(world: World, data: st.DataObject, renewed: str) -> None:
    """An app renews its token by itself: the same bytes before and after, for whoever has approved them."""
    undeclared(world, data, all_of_them=True)
    for address, record in [*world.records.items()]:
        sent = {path: one for path, one in record.sent.items() if path != "pushToken"}
        world.records[address] = structs.replace(record, sent=sent)
    before = encode_json(made(world))

    for row in world.rows.values():
        if row.kind == DEVICE.name:
            row.body = {**row.body, "pushToken": renewed}

    assert encode_json(made(world)) == before
