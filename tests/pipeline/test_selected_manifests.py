"""A selection reads what it needs: the manifests, lists and records of its workspaces, and the same plan."""

from pathlib import Path
from random import Random

import effort
import pytest
from core.test_select import ALL
from laws.test_unplanned import COMPARED, draw_contacts, make_world, write_manifest
from msgspec import structs
from pipeline.test_unplanned import IDS, KIM, MISTAKE, declares, left, write_text
from world import ALLOWED, World

from reconciler import pipeline
from reconciler.core.planning.select import Selection, find_selected_workspaces
from reconciler.errors import ManifestError, UnknownAddress
from reconciler.model.plans import Options, Plan

SELECTORS = (
    *("workspace:lab", "workspace:ops", "contact/lab/ann", "contact/ops/*", "contact/lab/[a-c]*"),
    *("kind:contact", "*/lab/*", "contact/l*", "contact/*/ann"),
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Three workspaces with people in them, and nothing to do."""
    made = make_world(tmp_path)
    for name, contacts in draw_contacts(Random(1), 0.3).items():
        write_manifest(made, name, contacts)
    made.apply()
    made.clock.pass_s(60)
    return made


def plan_only(world: World, *only: str, excluded: tuple[str, ...] = (), narrow: bool = True) -> Plan:
    """Return the plan of a selection, from the manifests that it needs or from all."""
    selection = Selection(only, excluded) if narrow else Selection()
    declared = pipeline.load_declaration(world.settings, {}, selection=selection)
    options, consent = Options(only, excluded), structs.replace(ALLOWED, moves=10_000)
    planning = pipeline.plan(
        world.settings, declared.desired, world.dependencies, options=options, consent=consent
    )
    return world.run(planning).plan


@pytest.mark.parametrize(
    ("only", "workspaces"),
    [
        ((), set()),
        (("workspace:ops",), {"ops"}),
        (("workspace:ops", "contact/lab/ann"), {"lab", "ops"}),
        (("device/ops/ann/phone",), {"ops"}),
        (("contact/ops/*",), {"ops"}),
        (("contact/ops*",), set()),
        (("*/ops/ann",), set()),  # a glob reaches over slashes: contact/lab/ops/ann would fit
        (("contact/ops",), set()),
        (("kind:contact",), set()),
        (("tag:team=sre",), set()),
        (("workspace:ops", "tag:team=sre"), set()),
        (("nonsense",), set()),
    ],
)
def test_a_selection_names_its_workspaces_or_may_be_about_any(
    only: tuple[str, ...], workspaces: set[str]
) -> None:
    """Whatever an address of another workspace can fit reads everything."""
    found = find_selected_workspaces(Selection(only))

    assert found == workspaces
    fitting = [one.workspace for one in ALL if Selection(only).selects(one, ALL[one])]
    assert not found or found.issuperset(fitting)


def test_the_other_manifests_are_not_read(world: World) -> None:
    """Their mistakes, a file that cannot be parsed and their lists are none of its business."""
    write_text(world, "ops.json", '{"version": "1", "workspace": "ops", "contacts": {')
    declares(world, zoo={"max": MISTAKE})
    world.wire.sent.clear()

    declared = pipeline.load_declaration(world.settings, {}, selection=Selection(("workspace:lab",)))
    made = plan_only(world, "workspace:lab")

    assert declared.desired.unread == {"ops", "zoo"}
    assert {one.workspace for one in declared.desired.entities} == {"lab"}
    assert left(made) == []
    assert [one.alias for one in made.target.workspaces] == ["lab"]
    assert all(IDS["lab"] in path for _, path in world.wire.sent if "contacts" in path)


def test_a_file_of_which_it_is_not_known_is_read(world: World) -> None:
    """It may be about the selected workspace."""
    write_text(world, "more.yaml", 'contacts: {}\nversion: "1"\nworkspace: zoo\n')
    write_text(world, "worse.yaml", "contacts: {}\n")

    with pytest.raises(ManifestError):
        plan_only(world, "workspace:lab")


def test_a_workspace_without_a_manifest_reads_all(world: World) -> None:
    """So a mistake in its name is recognized beside all names."""
    declared = pipeline.load_declaration(world.settings, {}, selection=Selection(("workspace:labs",)))

    assert not declared.desired.unread
    with pytest.raises(UnknownAddress):
        plan_only(world, "workspace:labs")


def test_no_payload_is_a_manifest_that_is_not_read(world: World) -> None:
    """A manifest may hold what its readers may not publish."""
    content = {"file": "ops.json"}
    resource = {"name": "x.json", "scope": "private", "mimeType": "application/json", "content": content}
    world.write({"workspace": "lab", "contacts": {"kim": KIM}, "resources": {"x": resource}}, "lab.json")
    for only in ((), ("workspace:lab",)):
        with pytest.raises(ManifestError) as caught:
            pipeline.validate(world.settings, {}) if not only else pipeline.load_declaration(
                world.settings, {}, selection=Selection(only)
            )
        assert "ops.json" in str(caught.value.problems[0])


@effort.sample(10)
@pytest.mark.parametrize("seed", range(effort.count(small=30, full=200)))
def test_the_plan_is_that_of_all_manifests(tmp_path: Path, seed: int) -> None:
    """For any people, moves between workspaces, and selectors."""
    chance, world = Random(seed), make_world(tmp_path)
    for name, contacts in draw_contacts(chance, 0.3).items():
        write_manifest(world, name, contacts)
    world.apply(consent=structs.replace(ALLOWED, moves=10_000))
    world.clock.pass_s(60)
    for name, contacts in draw_contacts(chance, 0.3).items():
        write_manifest(world, name, contacts)
    only = tuple(chance.sample(SELECTORS, chance.choice((1, 1, 2))))
    excluded = tuple(chance.sample(("contact/lab/ben", "workspace:zoo"), chance.choice((0, 0, 1))))
    try:
        whole = plan_only(world, *only, excluded=excluded, narrow=False)
    except UnknownAddress:
        return  # nobody of that name

    narrow = plan_only(world, *only, excluded=excluded)

    for name in (*COMPARED, "changes", "skips", "reads", "moves"):
        if name != "owned":
            assert getattr(narrow, name) == getattr(whole, name), name
    # What is owned elsewhere is compared with nothing.
    assert narrow.owned.items() <= whole.owned.items()
    assert narrow.owned.keys() >= {str(read.scope) for read in whole.reads}
