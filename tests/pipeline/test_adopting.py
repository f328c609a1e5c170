"""adopt: what is declared and live becomes ours as it is, and nothing is written to the service."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import tally
from pipeline.test_resume import PHONE, gone_on, person
from world import World

from reconciler.core.planning.records import RefreshedRecord
from reconciler.engine.execute import remember_batch
from reconciler.model.address import Address
from reconciler.model.documents import Place
from reconciler.model.plans import Delete, Options, Update, Workspace
from reconciler.model.snapshots import Entity, LiveEntity, RecordedEntity
from reconciler.store.database import Store

ADOPT = Options(adopt=True)


def built(folder: Path) -> World:
    """Three people live that nobody owns, one of them with a device; two are declared, one otherwise."""
    folder.mkdir(exist_ok=True)
    world = World(folder)
    world.write({"contacts": {}})
    world.apply()  # there is a store

    async def create(client: Any) -> None:
        for name in ("jane", "sam", "lee"):
            made = await client.contacts.create(person(name, jobTitle="Nurse"), workspace="")
            if name == "jane":
                await client["device"].create(PHONE["pixel"], workspace="", parent=made.remote_id)

    world.behind_our_back(create)
    people = {
        "jane": person("jane", jobTitle="Engineer", devices=PHONE),
        "sam": person("sam", jobTitle="Nurse"),
        "zoe": person("zoe"),
    }
    world.write({"contacts": people})
    return world


def writes(world: World) -> list[tuple[str, str]]:
    return [one for one in world.wire.sent if one[0] != "GET"]


def test_an_adoption_writes_nothing_and_the_rest_is_planned_as_before(tmp_path: Path) -> None:
    """What differs was never sent by us, so the next plan shows it as declared."""
    world = built(tmp_path)
    before, plan_before = writes(world), world.plan().plan

    planned, run = world.apply(options=ADOPT)

    assert writes(world) == before
    assert [str(one.address) for one in planned.plan.adoptions] == [
        "contact/default/jane",
        "contact/default/sam",
        "device/default/jane/pixel",
    ]
    assert (planned.plan.changes, planned.plan.postponed) == ((), {"create": 1, "update": 1})
    assert (run.exit_code, run.adopted) == (0, 3)
    plan = world.plan().plan
    assert plan.to_keep == 0
    assert [one.address for one in plan.changes] == [one.address for one in plan_before.changes]
    (update,) = (one for one in plan.changes if isinstance(one, Update))
    (field,) = update.fields
    assert (field.path, field.before, field.after) == ("jobTitle", "Nurse", "Engineer")
    assert (field.cause, update.adopts) == ("declared", "")


def test_a_second_adoption_has_nothing_to_do(tmp_path: Path) -> None:
    """D5 holds for the store too."""
    world = built(tmp_path)
    world.apply(options=ADOPT)

    planned, run = world.apply(options=ADOPT)

    assert (planned.plan.to_keep, run.adopted) == (0, 0)


def test_what_was_adopted_existed_before_us(tmp_path: Path) -> None:
    """A later delete of it says so (X6), and an undo of the adoption only forgets."""
    world = built(tmp_path)
    undo: list[Any] = []
    world.apply(options=ADOPT, keep_undo=undo.append)
    assert [str(one) for one in undo[0].gone] == [
        "contact/default/jane",
        "contact/default/sam",
        "device/default/jane/pixel",
    ]
    world.write({"contacts": {"sam": person("sam", jobTitle="Nurse")}})
    (change,) = world.plan().plan.changes
    assert isinstance(change, Delete)
    assert change.adopted


def test_an_adoption_leaves_the_other_records_as_they_are(tmp_path: Path) -> None:
    """Who drifted meanwhile must not be recorded as if we had sent what is live now."""
    world = built(tmp_path)
    world.apply(options=Options(only=("contact/default/sam",)))

    async def edit(client: Any) -> None:
        (row,) = [r for r in await client.contacts.list() if r.body["firstName"] == "Sam"]
        body = dict((await client.contacts.get(row.remote_id)).body)
        await client.contacts.replace(row.remote_id, {**body, "jobTitle": "Cook"}, workspace="")

    world.behind_our_back(edit)
    world.apply(options=ADOPT)

    causes = {f.cause for one in world.plan().plan.changes if isinstance(one, Update) for f in one.fields}
    assert causes == {"declared", "drifted"}


def test_killed_at_any_effect_all_are_adopted_in_the_end(tmp_path: Path) -> None:
    """And nothing is written on the way there."""
    for world, died, after in gone_on(lambda name: built(tmp_path / name), options=ADOPT):
        assert [m for w in (died, after) for m, _ in w.arrived if m != "GET"] == []
        assert world.plan().plan.adoptions == ()
        tally.count("crash points", "of an adoption")


def test_many_records_are_kept_some_at_a_time(tmp_path: Path) -> None:
    """A million adopted in one transaction took longer than the 12 s that a store may be silent."""
    workspaces = (Workspace("default", ""),)
    names = (Address(f"contact/default/p{number}") for number in range(25))
    found = (
        RefreshedRecord(
            RecordedEntity(one, one.name),
            Entity(one, {}, Place("")),
            LiveEntity("contact", "default", one.name, {}),
        )
        for one in names
    )
    kept = []
    with Store.open(
        f"sqlite:///{tmp_path}/store.db",
        origin="https://service.example.com",
        stack="many",
        now=lambda: datetime(2026, 3, 1, 9, tzinfo=UTC),
        token=lambda: "0" * 32,
    ) as store:
        while remember_batch(store, found, workspaces, at_once=10):
            kept.append(len(store.recorded(workspaces).entities))

    assert kept == [10, 20, 25]


@pytest.mark.parametrize("name", ["sam", "jane"])
def test_a_selected_one_is_adopted_alone(tmp_path: Path, name: str) -> None:
    world = built(tmp_path)

    planned, _ = world.apply(options=Options(only=(f"contact/default/{name}",), adopt=True))

    assert [str(one.address) for one in planned.plan.adoptions] == [f"contact/default/{name}"]
