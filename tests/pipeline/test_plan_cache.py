"""A plan that said nothing is found again where nothing has changed, and made anew where anything has.

What is claimed here of one list is a law over thousands of histories in tests/laws/test_feed.py.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tally
from msgspec import structs
from pipeline.test_feed import COUNT, crowd, declared, edit
from wire import answered
from world import World

from reconciler.core.planning.fingerprint import is_noop_plan
from reconciler.model.plans import Consent, Options, Plan
from reconciler.model.settings import Refresh
from reconciler.pipeline import PlanResult

MADE_OF = "these manifests"


def quiet(path: Path, **changes: Any) -> World:
    """Return a project whose plan said nothing and was kept."""
    world = crowd(path, **changes)
    assert not found_again(world.plan(made_of=MADE_OF))
    world.clock.pass_s(60)
    return world


def found_again(planned: PlanResult) -> bool:
    """Whether a plan was found and not made: then nothing that is recorded was loaded."""
    return not planned.recorded.entities


def kept_plan(world: World) -> Path:
    """Return the file in which a plan is kept: the smallest."""
    folder = Path(world.settings.root, ".reconciler", "cache", "lists")
    return min(folder.iterdir(), key=lambda path: path.stat().st_size)


def of_no_moment(plan: Plan) -> Plan:
    """Return a plan without when it was made, and without how long before its list was read."""
    return structs.replace(plan, created_at="", expires_at="")


def test_a_list_that_cannot_be_read_is_judged_by_a_plan_that_is_made(tmp_path: Path) -> None:
    """It may be that of one workspace of many, which is left out."""
    world, failed = quiet(tmp_path), [0]

    def count_failures() -> bool:
        failed[0] += 1
        return failed[0] <= 3  # every try of one call

    world.meets(answered(500), "GET")
    world.wire.rules[-1].when = count_failures

    made = world.plan(made_of=MADE_OF)

    assert not found_again(made)
    assert made.plan.empty


def test_a_plan_that_said_nothing_is_found_again_by_one_call(tmp_path: Path) -> None:
    """It is the one that would have been made, and its records and its list are left where they are."""
    world = quiet(tmp_path)

    world.sent()
    again = world.plan(made_of=MADE_OF)

    assert found_again(again)
    assert sum(world.sent().values()) == again.calls == 1
    made = world.plan()
    assert not found_again(made)
    assert of_no_moment(again.plan) == of_no_moment(made.plan)
    assert again.verdict == made.verdict


def test_it_is_found_at_every_later_moment(tmp_path: Path) -> None:
    """What is kept is not used up, and each plan has a salt, times and a fingerprint of its own."""
    world = quiet(tmp_path)
    salts = iter(("one", "two", "three"))
    world.dependencies = replace(world.dependencies, token=lambda: next(salts))

    plans = []
    for _ in range(3):
        world.clock.pass_s(60)
        planned = world.plan(made_of=MADE_OF, consent=Consent())  # which would make it anew
        assert found_again(planned)
        plans.append(planned.plan)

    assert [plan.salt for plan in plans] == ["one", "two", "three"]
    assert len({plan.fingerprint for plan in plans}) == 3
    assert len({plan.created_at for plan in plans}) == 3


def _another_job(world: World) -> PlanResult:
    edit(world, 7)
    return world.plan(made_of=MADE_OF)


def _deleted(world: World) -> PlanResult:
    async def work(client: Any) -> None:
        await client.contacts.delete((await client.contacts.list())[7].remote_id)

    world.behind_our_back(work)
    return world.plan(made_of=MADE_OF)


def _other_manifests(world: World) -> PlanResult:
    world.write(declared(range(COUNT - 1)))
    return world.plan(made_of="others")


def _manifests_of_an_unknown_making(world: World) -> PlanResult:
    world.write(declared(range(COUNT - 1)))
    return world.plan()


def _applied_elsewhere(world: World) -> PlanResult:
    world.write(declared(range(COUNT - 2)))
    world.apply()
    world.write(declared())
    return world.plan(made_of=MADE_OF)


def _asked_for_all(world: World) -> PlanResult:
    world.settings = structs.replace(world.settings, refresh=Refresh("full"))
    return world.plan(made_of=MADE_OF)


def _too_old(world: World) -> PlanResult:
    world.clock.pass_s(25 * 3600)
    return world.plan(made_of=MADE_OF)


def _without_its_list(world: World) -> PlanResult:
    kept = kept_plan(world)
    for path in kept.parent.iterdir():
        if path != kept:
            path.unlink()
    return world.plan(made_of=MADE_OF)


def _selected(world: World) -> PlanResult:
    return world.plan(options=Options(only=("contact/default/p3",)), made_of=MADE_OF)


@pytest.mark.parametrize(
    "change",
    [
        _another_job,
        _deleted,
        _other_manifests,
        _manifests_of_an_unknown_making,
        _applied_elsewhere,
        _asked_for_all,
        _too_old,
        _without_its_list,
        _selected,
    ],
)
def test_where_anything_has_changed_it_is_made_anew(
    tmp_path: Path, change: Callable[[World], PlanResult]
) -> None:
    """Else a change would not be in the plan, and whoever waits for it would not be reached."""
    world = quiet(tmp_path)

    planned = change(world)

    assert not found_again(planned)
    options = planned.plan.options
    assert of_no_moment(planned.plan).changes == world.plan(options=options).plan.changes


def test_what_a_later_complete_read_showed_counts(tmp_path: Path) -> None:
    """It may have shown a row that changed without its time, which no first page ever will."""
    world = quiet(tmp_path)
    by_default = world.settings
    world.settings = structs.replace(world.settings, refresh=Refresh("full"))
    world.plan()
    world.settings = by_default

    assert not found_again(world.plan(made_of=MADE_OF))
    assert found_again(world.plan(made_of=MADE_OF))


def test_a_plan_that_says_anything_is_not_kept(tmp_path: Path) -> None:
    """A difference, a person left alone, a notice: each has to be judged as it is now."""
    world = crowd(tmp_path)
    edit(world, 7)

    for _ in range(3):
        world.clock.pass_s(60)
        planned = world.plan(made_of=MADE_OF)
        assert not is_noop_plan(planned.plan)
        assert not found_again(planned)


def test_no_damage_to_what_is_kept_is_believed(tmp_path: Path) -> None:
    """Bits flipped, cut, added, the file of a list in its place: the plan is made anew, and is the same."""
    world = quiet(tmp_path)
    file, made = kept_plan(world), of_no_moment(world.plan().plan)
    whole, chance = file.read_bytes(), Random(7)
    flipped = [(at, 1 << chance.randrange(8)) for at in (chance.randrange(len(whole)) for _ in range(12))]
    states = [whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :] for at, bit in flipped]
    others = [path.read_bytes() for path in file.parent.iterdir() if path != file]
    states += [whole[: chance.randrange(len(whole))] for _ in range(6)]
    states += [whole + b"\0", whole[1:], whole[32:], bytes(32) + whole[32:], b"", *others]

    for number, state in enumerate(states):
        file.write_bytes(state)
        planned = world.plan(made_of=MADE_OF)
        assert not found_again(planned), number
        assert of_no_moment(planned.plan) == made, number
        tally.count("feeds", "hostile states of a file")
