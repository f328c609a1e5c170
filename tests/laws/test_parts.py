"""A plan is the sum of its parts: planned apart, merged in any order and bracketing, it is the same plan."""

from collections.abc import Collection

import effort
from core.build import MOMENT, RULES, TARGET, at, contact, desired, live, recorded
from hypothesis import event, given, settings
from hypothesis import strategies as st
from laws.test_planning import made, options
from laws.worlds import World, accepted, worlds
from msgspec import structs

from reconciler.core.planning.plan import finish_plan, make_plan, plan_group, plan_scopes
from reconciler.core.planning.scopes import (
    EMPTY_PART,
    PlanContext,
    ScopePlan,
    make_plan_context,
    merge_parts,
    split_into_groups,
)
from reconciler.model.encoding import encode_json
from reconciler.model.notices import Notice
from reconciler.model.plans import Adoption, Create, Options, Plan, RecordChange, Skip
from reconciler.model.snapshots import Desired, Live, Read, Recorded, Scope

LAW = settings(max_examples=effort.count(small=30, full=150))

Inputs = tuple[Desired, Live, Recorded]
WARNING = Notice("value", "contact/ops/ann", "looks wrong.")


def inputs_of(world: World, data: st.DataObject) -> Inputs:
    """The inputs of a world, each scope read completely or not, and a warning about something declared."""
    live = world.live
    reads = tuple(
        Read(scope, "scan", 1, 0, len(rows) + 2, data.draw(st.booleans()))
        for scope, rows in sorted(live.entities.items())
    )
    desired = structs.replace(world.desired, notices=(WARNING,))
    return desired, structs.replace(live, reads=reads), world.recorded


def shared_of(inputs: Inputs, world: World, chosen: Options) -> PlanContext:
    return make_plan_context(*inputs, options=chosen, rules=world.rules, salt=MOMENT.salt)


def part_of(inputs: Inputs, scopes: Collection[Scope]) -> Inputs:
    """The inputs of some scopes; devices go with their contacts."""
    desired, live, recorded = inputs
    declared = {
        one: entity for one, entity in desired.entities.items() if Scope.of(one.above or one) in scopes
    }
    above = {Scope("device", one.workspace): one for one in scopes if one.kind == "contact"}
    rows = {scope: rows for scope, rows in live.entities.items() if above.get(scope, scope) in scopes}
    records = {
        one: record for one, record in recorded.entities.items() if Scope.of(one.above or one) in scopes
    }
    return (
        structs.replace(
            desired,
            entities=declared,
            scopes=desired.scopes & frozenset(scopes),
            notices=desired.notices if Scope("contact", "ops") in scopes else (),
        ),
        structs.replace(live, entities=rows),
        structs.replace(recorded, entities=records),
    )


def whole(inputs: Inputs, world: World, chosen: Options) -> Plan:
    return make_plan(*inputs, target=TARGET, options=chosen, rules=world.rules, moment=MOMENT)


def merged(parts: list[ScopePlan], data: st.DataObject) -> ScopePlan:
    """The sum of the parts, in a drawn order and bracketing."""
    left = list(data.draw(st.permutations(parts)))
    while len(left) > 1:
        at = data.draw(st.integers(0, len(left) - 2))
        left[at : at + 2] = [merge_parts(left[at : at + 2])]
    return merge_parts(left)


def same(plan: Plan, total: ScopePlan, across: PlanContext, inputs: Inputs) -> bool:
    other = finish_plan(across, total, *inputs, target=TARGET, moment=MOMENT)
    return (encode_json(other), other.fingerprint) == (encode_json(plan), plan.fingerprint)


@LAW
@given(worlds(), options, st.data())
def test_scopes_that_are_planned_apart_are_the_plan_of_the_whole(
    world: World, chosen: Options, data: st.DataObject
) -> None:
    """Each part is given the inputs of its scopes alone, as another machine would be."""
    world = accepted(world)
    made(world, chosen)
    inputs = inputs_of(world, data)
    across = shared_of(inputs, world, chosen)
    scopes = [Scope(kind, workspace) for kind in ("contact", "resource") for workspace in ("lab", "ops")]
    machine = {scope: data.draw(st.integers(0, 2)) for scope in scopes}
    shares = [[scope for scope in scopes if machine[scope] == number] for number in range(3)]
    event(f"shares with something in them: {len(list(filter(None, shares)))}")

    parts = [plan for share in shares for plan in plan_scopes(across, *part_of(inputs, share))]

    assert same(whole(inputs, world, chosen), merged(parts, data), across, inputs)


@LAW
@given(worlds(), options, st.data())
def test_no_order_of_the_parts_of_a_scope_shows(world: World, chosen: Options, data: st.DataObject) -> None:
    """Down to single contacts, which bring their devices along."""
    world = accepted(world)
    made(world, chosen)
    inputs = inputs_of(world, data)
    across = shared_of(inputs, world, chosen)
    groups = list(split_into_groups(*inputs))

    parts = [part for group in groups for part in plan_group(across, group)]
    beside = list(plan_scopes(across, *inputs))[len(groups) :]

    assert same(whole(inputs, world, chosen), merged([*parts, *beside], data), across, inputs)


@LAW
@given(worlds(), options, st.data())
def test_merge_is_associative_and_nothing_is_its_neutral_part(
    world: World, chosen: Options, data: st.DataObject
) -> None:
    """So that what was merged elsewhere can be merged again."""
    inputs = inputs_of(world, data)
    across = shared_of(inputs, world, chosen)
    parts = [part for group in split_into_groups(*inputs) for part in plan_group(across, group)]
    first, second = sorted(data.draw(st.tuples(*[st.integers(0, len(parts))] * 2)))
    one, two, three = parts[:first], parts[first:second], parts[second:]

    total = merge_parts(parts)

    assert merge_parts((merge_parts((merge_parts(one), merge_parts(two))), merge_parts(three))) == total
    assert merge_parts((merge_parts(one), merge_parts((merge_parts(two), merge_parts(three))))) == total
    assert merge_parts((EMPTY_PART, total)) == merge_parts((total, EMPTY_PART)) == total
    assert merge_parts(()) == EMPTY_PART


def test_no_list_of_a_finished_plan_shows_the_order_of_its_parts() -> None:
    """The laws meet two of a list in one plan by chance; here there are two in every list."""
    ann, ben = at("contact/ops/ann"), at("contact/ops/ben")
    both = [
        ScopePlan(
            changes=(Create(one, "", {}),),
            adoptions=(Adoption(one, "9A01", by),),
            skips=(Skip(one, "in doubt", "is in doubt."),),
            gone=(one,),
            records=(RecordChange(one, "protected"),),
            renames=((one, at(f"{one}-now")),),
            notices=(Notice("value", one, "looks wrong."),),
            unchanged={f"contacts in {one.name}": 1},
        )
        for one, by in ((ann, "workEmailAddress1"), (ben, "workMobilePhone1"))
    ]
    inputs = desired(contact("ops/ann"), contact("ops/ben")), live(), recorded()
    across = make_plan_context(*inputs, options=Options(), rules=RULES, salt=MOMENT.salt)

    one = finish_plan(across, merge_parts(both), *inputs, target=TARGET, moment=MOMENT)
    other = finish_plan(across, merge_parts(reversed(both)), *inputs, target=TARGET, moment=MOMENT)

    assert encode_json(one) == encode_json(other)


def test_what_parts_count_is_added_up() -> None:
    """Also a 0, which says that somebody counted."""
    one = ScopePlan(unchanged={"contacts in ops": 1}, owned={"contacts in ops": 0})
    two = ScopePlan(unchanged={"contacts in lab": 1, "contacts in ops": 2})

    total = merge_parts((one, two))

    assert total.unchanged == {"contacts in ops": 3, "contacts in lab": 1}
    assert total.owned == {"contacts in ops": 0}
