"""The plan of the other workspaces is what it is without the one that is left out; nothing writes to that."""

import json
from pathlib import Path
from random import Random
from typing import Any

import effort
import pytest
import tally
from core.build import MOMENT, TARGET
from hypothesis import event, given, settings
from laws.test_planning import made, options
from laws.worlds import World as Values
from laws.worlds import accepted, worlds
from msgspec import structs
from pipeline.test_unplanned import IDS
from wire import Fault, answered, at_paths, edited_list, lost_before
from world import ALLOWED, World

from reconciler.core.planning.plan import make_plan
from reconciler.core.planning.unplanned import PlanInputs, leave_out
from reconciler.model.plans import Options, Plan
from reconciler.model.settings import WorkspaceRef
from reconciler.model.snapshots import Live, NotPlanned, Recorded
from reconciler.sandbox.app import SandboxConfig

LAW = settings(max_examples=effort.count(small=60, full=600))
SICK = NotPlanned("ops", "service", "it cannot be read.")
# What a plan says of the others: all but what it was made of and when.
COMPARED = (
    *("adoptions", "gone", "records", "renames", "postponed", "unchanged", "outside", "unmanaged"),
    *("owned", "notices", "unapplied", "elsewhere"),
)


def same_without(plan: Plan, other: Plan) -> int:
    """Claim that `other`, of the healthy workspaces alone, says the same; return the halves of moves."""
    for name in COMPARED:
        assert getattr(plan, name) == getattr(other, name), name
    held = {one.address for one in plan.skips if one.reason == "move not planned"}
    assert plan.changes == tuple(one for one in other.changes if one.address not in held)
    assert tuple(one for one in plan.skips if one.address not in held) == other.skips
    assert held <= {one.address for one in other.changes}
    return len(held)


@LAW
@given(worlds(), options)
def test_what_is_left_out_changes_nothing_of_the_rest(world: Values, chosen: Options) -> None:
    """For any declared, live and recorded entities: names, marks, devices and identities of both meet."""
    world = accepted(world)
    made(world, chosen)
    desired, live, recorded = world.desired, world.live, world.recorded
    alone = (
        structs.replace(
            desired,
            entities={one: entity for one, entity in desired.entities.items() if one.workspace == "lab"},
            scopes=frozenset(one for one in desired.scopes if one.workspace == "lab"),
        ),
        Live({scope: rows for scope, rows in live.entities.items() if scope.workspace == "lab"}),
        Recorded(
            {one: row for one, row in recorded.entities.items() if one.workspace == "lab"}, recorded.salt
        ),
    )
    inputs = leave_out(PlanInputs(desired, live, recorded, TARGET), [SICK])

    plan = make_plan(
        inputs.desired,
        inputs.live,
        inputs.recorded,
        target=TARGET,
        options=chosen,
        rules=world.rules,
        moment=MOMENT,
        left_out=inputs.left_out,
    )

    other = make_plan(*alone, target=TARGET, options=chosen, rules=world.rules, moment=MOMENT)
    event(f"halves of moves: {same_without(plan, other)}")
    assert all(change.address.workspace == "lab" for change in plan.changes)


# --- The same with a service and files in between ---------------------------------------------------

ALL = structs.replace(ALLOWED, moves=10_000)
PEOPLE = ("ann", "ben", "cas", "dot", "eve")
TITLES = ("", "Nurse", "Cook", "Driver")
WORDS = ("value", "broken", "service", "alias")


def answer_garbled(body: dict[str, Any]) -> dict[str, Any]:
    return {"contactz": list(body)}


FAULTS: tuple[Fault, ...] = (
    *(answered(status) for status in (500, 404, 403, 422, 301)),
    lost_before,
    edited_list(answer_garbled),
)


def draw_contacts(chance: Random, shared: float) -> dict[str, dict[str, dict[str, str]]]:
    """Return contacts by workspace and name; each person is in one workspace, or seldom in two."""
    found: dict[str, dict[str, dict[str, str]]] = {name: {} for name in IDS}
    for person in PEOPLE:
        for name in chance.sample(sorted(IDS), 2 if chance.random() < shared else 1):
            if chance.random() < 0.8:
                mail = f"{person}@example.com"
                found[name][person] = {
                    "firstName": person,
                    "workEmailAddress1": mail,
                    "workCountry": "Australia",
                }
                if title := chance.choice(TITLES):
                    found[name][person]["jobTitle"] = title
    return found


def write_manifest(world: World, name: str, contacts: Any, *, mistake: str = "") -> None:
    if mistake == "value":
        contacts = {**contacts, "wrong": {"fristName": "Max"}}
    text = json.dumps({"version": "1", "workspace": name, "contacts": contacts})
    (world.root / "manifests").mkdir(exist_ok=True)
    text = text[:-3] if mistake == "broken" else text
    (world.root / "manifests" / f"{name}.json").write_text(text, "utf-8")


def make_world(path: Path) -> World:
    return World(
        path,
        config=SandboxConfig(workspaces=tuple((name.title(), one) for name, one in IDS.items())),
        workspaces={"default": WorkspaceRef(), **{name: WorkspaceRef(id=one) for name, one in IDS.items()}},
    )


def recorded_in(world: World, names: frozenset[str]) -> Any:
    """Return what is recorded in these workspaces."""
    found = world.plan().recorded.entities
    return {one: row for one, row in found.items() if one.workspace in names}


@effort.sample(20)
@pytest.mark.parametrize("seed", range(effort.count(small=60, full=400)))
def test_a_sick_workspace_changes_nothing_of_the_others_and_is_not_written(tmp_path: Path, seed: int) -> None:
    """Whatever is wrong with it; and once it is well, an apply ends where it would have ended."""
    chance, world = Random(seed), make_world(tmp_path)
    for name, contacts in draw_contacts(chance, 0.3).items():
        write_manifest(world, name, contacts)
    world.apply(consent=ALL)
    world.clock.pass_s(60)
    wanted = draw_contacts(chance, 0.3)
    for name, contacts in wanted.items():
        write_manifest(world, name, contacts)
    sick = frozenset(chance.sample(sorted(IDS), chance.choice((1, 1, 2))))
    healthy = world.settings
    kept = recorded_in(world, sick)
    faults: dict[str, Fault] = {}
    for name in sorted(sick):
        what = chance.choice(WORDS)
        tally.count("workspaces left out", what)
        if what == "service":
            faults[IDS[name]] = chance.choice(FAULTS)
        elif what == "alias":
            gone = WorkspaceRef(id="7FBFE1A2B3D4E5F9" if name != "zoo" else "8ACFE1A2B3D4E5F9")
            workspaces = {**world.settings.workspaces, name: gone}
            world.settings = structs.replace(world.settings, workspaces=workspaces)
        else:
            write_manifest(world, name, wanted[name], mistake=what)
    faulty = world.settings
    files = tuple(f"manifests/{name}.json" for name in IDS if name not in sick)
    world.settings = structs.replace(healthy, manifests=files)
    other = world.plan().plan
    world.settings = faulty
    world.meets(at_paths(faults))
    world.wire.sent.clear()

    planned, run = world.apply(consent=ALL)

    assert {one.workspace for one in planned.plan.left_out} == sick
    tally.count("workspaces left out", "halves of moves", same_without(planned.plan, other))
    assert not [path for _, path in world.wire.writes() if any(IDS[name] in path for name in sick)]
    assert run.exit_code in {1, 3, 6}
    world.wire.rules.clear()
    world.settings = healthy
    for name, contacts in wanted.items():
        write_manifest(world, name, contacts)
    assert recorded_in(world, sick) == kept
    assert world.apply(consent=ALL)[1].exit_code == 0
    assert world.plan().plan.empty
