"""Whatever is declared, live and recorded: a list leaves nobody out, and says what the plan says."""

from collections import Counter

import effort
from core.build import MOMENT, TARGET
from hypothesis import given, settings
from laws.test_planning import made
from laws.worlds import World, accepted, worlds

from reconciler.core.planning.select import Selection
from reconciler.core.review.drift import find_drift
from reconciler.core.views.inventory import Inventory, make_inventory
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Plan
from reconciler.model.snapshots import Scope

LAW = settings(max_examples=effort.count(small=60, full=200))


def listed(world: World) -> tuple[Inventory, Plan]:
    plan = made(world)
    assert (plan.target, plan.created_at) == (TARGET, MOMENT.now)
    found = make_inventory(
        world.desired,
        world.live,
        world.recorded,
        plan,
        rules=world.rules,
        aliases=("default", "ops", "lab"),
        selection=Selection(),
    )
    return found, plan


@LAW
@given(worlds())
def test_as_many_are_unmanaged_as_a_plan_counts_in_each_scope(world: World) -> None:
    """Rule X4: who is counted is who is named.

    Devices may be more: under a contact that is not acted on, or has none of ours, a plan counts none.
    """
    found, plan = listed(accepted(world))
    strangers = [Scope(one.kind, one.workspace) for one in found.entities if one.state == "unmanaged"]

    for kind in KINDS.values():
        for workspace in ("default", "lab", "ops"):
            scope = Scope(kind.name, workspace)
            named, counted = strangers.count(scope), plan.unmanaged.get(str(scope), 0)
            assert named == counted or (kind.parent and named > counted), scope


@LAW
@given(worlds())
def test_nobody_who_is_declared_live_or_recorded_is_left_out(world: World) -> None:
    """Devices of contacts whose devices are not in scope are nobody's business here."""
    world = accepted(world)
    found, plan = listed(world)
    addresses = Counter(one.address for one in found.entities if one.place)

    assert addresses == Counter(dict.fromkeys(map(str, world.desired.entities), 1))
    known = {one.address for one in found.entities}
    assert known >= {str(plan.renames.get(one, one)) for one in world.recorded.entities}
    shown = {(one.kind, one.workspace, one.remote_id) for one in found.entities}
    for scope in world.desired.scopes:
        for row in world.live.entities.get(scope, ()):
            assert (row.kind, row.workspace, row.remote_id) in shown


@LAW
@given(worlds())
def test_exactly_what_is_drift_is_listed_as_drifted(world: World) -> None:
    """`list --drifted` and `drift` are two views of one thing; and a state is never two."""
    found, plan = listed(accepted(world))

    assert {one.address for one in found.entities if one.state == "drifted"} == {
        str(one.address) for one in find_drift(plan)
    }
    for one in found.entities:
        assert (one.state == "unmanaged") == (not one.address)
        assert one.owned or one.state != "owned"
        assert not (one.owned and one.state in {"declared", "unmanaged"})


@LAW
@given(worlds())
def test_a_list_shows_no_secret(world: World) -> None:
    found, _ = listed(accepted(world))

    for one in found.entities:
        assert not one.headline.keys() & (KINDS[one.kind].secret | KINDS[one.kind].write_only)
