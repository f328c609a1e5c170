"""An alias or an address that is spelt anew: what is ours stays ours, and it is said (rules S4 and X8)."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from store.dated import LABORATORY, OPERATIONS, WORKSPACES, copied_to_server, dated_world
from store.support import named_rows, seal_again
from world import World, actions

from reconciler import pipeline
from reconciler.core.planning.select import Selection
from reconciler.core.review import drift
from reconciler.core.views.inventory import Inventory
from reconciler.engine.resources import open_run_store
from reconciler.errors import InputError, LockHeld, Refused, SettingsError
from reconciler.model.address import contact_address, device_address
from reconciler.model.plans import Options
from reconciler.model.settings import WorkspaceRef
from reconciler.report.json import report_json
from reconciler.report.lines import plain
from reconciler.report.listing import listing_lines, listing_values, unread_lines
from reconciler.store.database import Store
from reconciler.store.schema import ENTITIES, known_table
from reconciler.store.sqlite import FileConnection

SAM = contact_address("ops", "sam-lee")
SAME = Options(same_service=True)
ELSEWHERE = "http://localhost:8480"


@pytest.fixture(params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """The project of 2026-11-26, applied once by the program of now: nothing of it is left to do."""
    if request.param == "sqlite":
        made = dated_world(tmp_path)
    else:
        url: str = request.getfixturevalue("postgres_url")
        copied_to_server(url)
        made = dated_world(tmp_path, changes={"store": url})
    made.apply()
    assert made.plan().plan.empty
    return made


def in_store(world: World, look: Any) -> Any:
    """Return what `look(store)` returns of the project's store."""

    async def work() -> Any:
        async with open_run_store(world.settings, world.dependencies, create=True) as store:
            return look(store)

    return world.run(work())


def renames(world: World, before: str, now: str, ref: WorkspaceRef | None = None) -> None:
    """Spell an alias anew, in the settings and in the manifest."""
    known = dict(WORKSPACES)
    old = known.pop(before)
    world.settings = structs.replace(world.settings, workspaces={**known, now: ref or old})
    path = world.root / "manifests" / f"{before}.json"
    manifest = json.loads(path.read_text("utf-8"))
    path.unlink()
    world.write({**manifest, "workspace": now}, f"{now}.json")


def edits(world: World, name: str, change: Any) -> None:
    """Edit a manifest in place."""
    path = world.root / "manifests" / f"{name}.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    world.write(manifest, f"{name}.json")


def moves_to(world: World, base: str) -> None:
    """Spell service.base_url anew; it leads to the same service."""
    service = structs.replace(world.settings.service, base_url=base)
    world.settings = structs.replace(world.settings, service=service)


@pytest.mark.parametrize(("before", "now"), [("ops", "operations"), ("lab", "laboratory"), ("ops", "a-9.b")])
def test_an_alias_that_is_spelt_anew_keeps_every_record(world: World, before: str, now: str) -> None:
    """A workspace is its id: one that is known by its id, and one that is known by its name."""
    renames(world, before, now)

    plan = world.plan().plan

    assert plan.empty
    (notice,) = plan.notices
    assert (notice.kind, notice.subject) == ("workspace", now)
    assert f"this workspace was called {before} at the last apply" in notice.what


def listed(world: World) -> Inventory:
    desired = pipeline.validate(world.settings, world.environ)
    return world.run(
        pipeline.list_entities(
            world.settings, desired, world.dependencies, selection=Selection(), everyone=False
        )
    )


def said_by_list(found: Inventory) -> dict[str, str]:
    """What every form of a list says beside its rows."""
    return {
        "text": plain(listing_lines(found, found.entities)),
        "json": json.dumps(json.loads(report_json(listing_values(found, found.entities)))["notices"]),
        "beside csv": plain(unread_lines(found)),
    }


@pytest.mark.parametrize(("before", "now"), [("ops", "operations"), ("lab", "laboratory")])
def test_a_list_says_that_an_alias_has_moved(world: World, before: str, now: str) -> None:
    """Everybody is owned under an address that nobody has seen before; plan and drift say why."""
    renames(world, before, now)

    found = listed(world)

    assert {one.state for one in found.entities if one.workspace == now and one.place} == {"owned"}
    for form, text in said_by_list(found).items():
        assert f"this workspace was called {before} at the last apply" in text, form
    world.apply()
    for form, text in said_by_list(listed(world)).items():
        assert "at the last apply" not in text, form


def test_a_list_says_that_records_are_at_a_former_address(world: World) -> None:
    """Nobody is owned, and everybody was an hour ago."""
    moves_to(world, ELSEWHERE)

    found = listed(world)

    assert not any(one.owned for one in found.entities)
    for form, text in said_by_list(found).items():
        assert "14 entities are recorded as ours at http://127.0.0.1:8480" in text, form


def test_who_leaves_while_the_alias_moves_is_deleted(world: World) -> None:
    """She was made by us: as `not ours` she would stay reachable, and nobody would be told."""
    edits(world, "ops", lambda manifest: manifest["contacts"].pop("sam-lee"))
    renames(world, "ops", "operations")

    plan = world.plan().plan

    assert actions(plan) == ["Delete"]
    assert plan.changes[0].address == contact_address("operations", "sam-lee")
    _, run = world.apply()
    assert (run.exit_code, world.plan().plan.empty) == (0, True)


def test_devices_follow_the_alias_of_their_contact(world: World) -> None:
    """Their records have the same key."""
    edits(world, "ops", lambda manifest: manifest["contacts"]["jane-doe"]["devices"].pop("tablet"))
    renames(world, "ops", "operations")

    plan = world.plan().plan

    assert [change.address for change in plan.changes] == [device_address("operations", "jane-doe", "tablet")]
    assert actions(plan) == ["Delete"]


def test_an_alias_that_moved_is_said_until_an_apply_and_stands_in_the_history(world: World) -> None:
    """A later reader of the history has to know why addresses change."""
    renames(world, "ops", "operations")
    world.apply()

    assert world.plan().plan.notices == ()
    (entry,) = [one for one in in_store(world, Store.history) if one.event == "renamed"]
    assert (entry.workspace, entry.before, entry.counts["records"]) == ("operations", "ops", 6)
    assert in_store(world, lambda store: store.verify(store.head())).broken_at == 0
    known = set(in_store(world, lambda store: store.addresses()).values())
    assert contact_address("operations", "jane-doe") in known
    assert contact_address("ops", "jane-doe") not in known


def test_the_history_of_before_names_the_entities_of_now(world: World) -> None:
    """Its hashes were made with the alias of that day."""
    then = {one.entity for one in in_store(world, lambda store: store.history(500)) if one.kind == "contact"}
    renames(world, "ops", "operations")
    world.apply()

    known = in_store(world, lambda store: store.addresses())

    jane = [
        hashed for hashed, address in known.items() if address == contact_address("operations", "jane-doe")
    ]
    assert then & set(jane)


def test_an_alias_of_another_workspace_takes_no_record_with_it(world: World) -> None:
    """Pointed at another id, and back again: each workspace keeps its own."""
    others = {**WORKSPACES, "ops": WorkspaceRef(id=LABORATORY), "lab": WorkspaceRef(id=OPERATIONS)}
    world.settings = structs.replace(world.settings, workspaces=others)

    plan = world.plan().plan
    assert plan.adoptions == ()
    assert plan.owned["contacts in lab"] == 3  # those of Operations
    assert plan.owned["contacts in ops"] == 3
    assert plan.count("delete") == 6  # the guard has its say about these
    world.settings = structs.replace(world.settings, workspaces=WORKSPACES)
    assert world.plan().plan.empty


def test_two_aliases_of_one_workspace_are_refused(world: World) -> None:
    """One has its id and the other its name: each would delete what the other declares."""
    both = {**WORKSPACES, "ops": WorkspaceRef(id=OPERATIONS), "twin": WorkspaceRef(name="Operations")}
    world.settings = structs.replace(world.settings, workspaces=both)

    with pytest.raises(
        SettingsError, match="the workspaces ops and twin are the same workspace at the service"
    ):
        world.plan()


def test_a_doubt_of_before_holds_under_the_new_alias(tmp_path: Path) -> None:
    """A create that may still land must not be sent again because somebody spelt an alias anew."""
    world = dated_world(tmp_path)
    renames(world, "lab", "laboratory")

    plan = world.plan().plan

    assert [(skip.address, skip.reason) for skip in plan.skips] == [
        (contact_address("laboratory", "ned-orr"), "in doubt")
    ]
    assert plan.count("create") == 0
    _, run = world.apply()
    assert (run.exit_code, world.sent()["POST"]) == (0, 1)
    assert world.plan().plan.empty


def test_a_doubt_in_another_workspace_keeps_nobody_back(tmp_path: Path) -> None:
    """The alias means another workspace now, and the create there was never sent."""
    world = dated_world(tmp_path)
    edits(
        world, "lab", lambda manifest: manifest.update(contacts={"ned-orr": manifest["contacts"]["ned-orr"]})
    )
    (world.root / "manifests" / "ops.json").unlink()
    others = {"default": WorkspaceRef(), "lab": WorkspaceRef(id=OPERATIONS)}
    world.settings = structs.replace(world.settings, workspaces=others)

    plan = world.plan().plan

    assert contact_address("lab", "ned-orr") in {change.address for change in plan.changes}


def test_of_two_records_of_before_with_one_name_the_later_stays(tmp_path: Path) -> None:
    """An alias was spelt anew before records went with it: who was adopted anew is recorded twice."""
    world = dated_world(tmp_path)
    with closing(sqlite3.connect(world.root / "store.db")) as raw, raw:
        connection = FileConnection(raw)
        found = connection.execute("SELECT * FROM entities WHERE address = :address", {"address": str(SAM)})
        entities = known_table("entities", found.columns)  # as it was then
        (row,) = named_rows(found)
        former = {"address": "contact/former/sam-lee", "remote_id": "00FF", "updated_at": "2026-01-01"}
        connection.execute(entities.insert, {**row, **former})
        connection.execute(
            "UPDATE entities SET address = 'contact/former/kim-park' WHERE address = 'contact/ops/kim-park'"
        )
        seal_again(connection, entities)

    planned = world.plan()

    assert planned.recorded.entities[SAM].remote_id != "00FF"
    assert contact_address("ops", "kim-park") in planned.recorded.entities
    assert (planned.plan.to_keep, planned.plan.count("delete")) == (0, 0)


# The address of the service


@pytest.mark.parametrize("base", ["http://localhost:8480", "http://[::1]:8480", "http://127.0.0.2:8480/"])
def test_records_at_a_former_address_are_named_and_nobody_is_adopted(world: World, base: str) -> None:
    """Adopted anew in silence, everybody who leaves from then on would stay reachable as `not ours`."""
    moves_to(world, base)

    planned = world.plan()

    (notice,) = [one for one in planned.plan.notices if one.kind == "origin"]
    assert "14 entities are recorded as ours at http://127.0.0.1:8480" in notice.what
    assert "--same-service" in notice.next
    assert {reason.rule for reason in planned.verdict.reasons} == {"X8"}
    assert drift.drift_exit_code(planned.plan) == 1


@pytest.mark.parametrize("base", ["http://127.0.0.1:8480/", "HTTP://127.0.0.1:8480", "http://127.0.0.1:8480"])
def test_another_spelling_of_the_same_address_is_the_same(world: World, base: str) -> None:
    """A slash at the end, other case: nobody has to say anything."""
    moves_to(world, base)

    assert world.plan().plan.empty


def test_same_service_takes_the_records_over_and_who_left_is_deleted(world: World) -> None:
    """In one transaction with a line in both histories; planned first without a write."""
    edits(world, "ops", lambda manifest: manifest["contacts"].pop("sam-lee"))
    moves_to(world, ELSEWHERE)
    plan = world.plan(options=SAME)
    assert actions(plan.plan) == ["Delete"]
    assert (plan.verdict.safe, plan.plan.adoptions) == (True, ())

    _, run = world.apply(options=SAME)

    assert [(one.address, one.action) for one in run.outcomes] == [
        (contact_address("ops", "sam-lee"), "delete")
    ]
    after = world.plan().plan
    assert (after.empty, after.notices) == (True, ())
    (entry,) = [one for one in in_store(world, Store.history) if one.event == "moved"]
    assert (entry.before, entry.counts["records"]) == ("http://127.0.0.1:8480", 14)
    moves_to(world, "http://127.0.0.1:8480")
    (back,) = [one for one in in_store(world, Store.history) if one.event == "moved"]
    assert (back.before, back.counts["records"]) == (ELSEWHERE, -14)
    assert in_store(world, lambda store: store.verify(store.head())).broken_at == 0


def test_same_service_twice_moves_nothing_more(world: World) -> None:
    """A run that was killed after the records had come is just started again."""
    moves_to(world, ELSEWHERE)
    world.apply(options=SAME)
    world.apply(options=SAME)

    assert len([one for one in in_store(world, Store.history) if one.event == "moved"]) == 1


def test_a_create_in_doubt_comes_with_the_records(tmp_path: Path) -> None:
    """It may still land, whatever the service is called."""
    world = dated_world(tmp_path)
    moves_to(world, ELSEWHERE)

    plan = world.plan(options=SAME).plan
    assert (plan.count("create"), [skip.reason for skip in plan.skips]) == (0, ["in doubt"])
    world.apply(options=SAME)
    assert [skip.reason for skip in world.plan().plan.skips] == ["in doubt"]
    _, run = world.apply()

    assert [(one.address, one.result) for one in run.outcomes] == [
        (contact_address("lab", "ned-orr"), "applied")
    ]
    assert world.plan().plan.empty


def test_records_are_not_taken_from_under_a_run(world: World) -> None:
    """Somebody may still write under the old address: two would own the same people."""
    former = world.settings
    moves_to(world, ELSEWHERE)
    workspaces = world.plan().plan.target.workspaces

    async def work() -> None:
        async with open_run_store(former, world.dependencies, create=True) as theirs:
            with theirs.lock("another-run"):
                async with open_run_store(world.settings, world.dependencies, create=True) as ours:
                    ours.take_over("http://127.0.0.1:8480", workspaces)

    with pytest.raises(LockHeld, match=r"a run writes under http://127\.0\.0\.1:8480"):
        world.run(work())
    assert in_store(world, lambda store: store.recorded(workspaces).entities) == {}


def test_a_service_of_another_company_is_refused(world: World) -> None:
    """`GET /` names the company where it answers; it is asked only with --same-service."""
    moves_to(world, ELSEWHERE)
    world.sent()
    world.plan()
    assert ("GET", "/") not in world.wire.sent
    world.plan(options=SAME)
    assert ("GET", "/") in world.wire.sent
    in_store(world, lambda store: _write_company(store, "http://127.0.0.1:8480", "ANOTHER"))

    with pytest.raises(Refused, match="GET / names another company"):
        world.plan(options=SAME)


def test_several_former_addresses_are_not_guessed_between(world: World) -> None:
    """Only one of them can be this service."""
    moves_to(world, ELSEWHERE)
    in_store(world, lambda store: _copy_records(store, "https://third.example.com"))

    with pytest.raises(InputError, match="records at several other addresses"):
        world.plan(options=SAME)


def test_a_new_service_beside_another_one_is_none_of_this(tmp_path: Path) -> None:
    """A stack may have two services and one store, as for staging: their ids are not the same."""
    world = dated_world(tmp_path)
    world.apply()
    in_store(world, _new_ids)
    moves_to(world, ELSEWHERE)

    planned = world.plan()

    assert planned.verdict.safe
    world.apply()
    assert world.plan().plan.notices == ()  # recorded here now, and nothing tells that both are one


def _write_company(store: Store, origin: str, company: str) -> None:
    def work(connection: Any) -> None:
        connection.execute(
            f"INSERT INTO meta (key, value) VALUES ('company {origin}', '{company}')"  # noqa: S608 - our own words
        )

    store._database.write(work)


def _copy_records(store: Store, origin: str) -> None:
    def work(connection: Any) -> None:
        columns = (
            "stack, workspace_id, address, remote_id, parent_id, sent, shown, modified, protected, adopted, "
            "earlier, flaps, updated_at, run"
        )
        connection.execute(
            f"INSERT INTO entities (origin, {columns}) SELECT '{origin}', {columns} FROM entities"  # noqa: S608 - our own words
        )
        seal_again(connection, ENTITIES)

    store._database.write(work)


def _new_ids(store: Store) -> None:
    def work(connection: Any) -> None:
        connection.execute("UPDATE entities SET remote_id = 'FF' || remote_id")
        seal_again(connection, ENTITIES)

    store._database.write(work)
