"""A project that a program of another day left goes on: nobody is adopted anew, made twice or deleted."""

import json
from pathlib import Path
from typing import Any

import pytest
from store.dated import LABORATORY, copied_to_server, dated_plan, dated_world
from wire import Rule, lost_before
from world import World

from reconciler.engine.resources import open_run_store
from reconciler.model.address import contact_address
from reconciler.model.automation import Approvals
from reconciler.store.database import Store

NED = contact_address("lab", "ned-orr")
SAM = contact_address("ops", "sam-lee")


@pytest.fixture(params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """The project of 2026-11-26, with its store in each database."""
    if request.param == "sqlite":
        return dated_world(tmp_path)
    url: str = request.getfixturevalue("postgres_url")
    copied_to_server(url)
    return dated_world(tmp_path, changes={"store": url})


def in_store(world: World, look: Any) -> Any:
    """Return what `look(store)` returns of the project's store."""

    async def work() -> Any:
        async with open_run_store(world.settings, world.dependencies, create=False) as store:
            return look(store)

    return world.run(work())


def test_a_project_of_before_has_nobody_to_adopt_to_make_or_to_delete(world: World) -> None:
    """One line of it was not applied, and one create was in doubt: that is all its first plan holds."""
    plan = world.plan().plan

    assert [(change.address, type(change).__name__) for change in plan.changes] == [(SAM, "Update")]
    assert [(skip.address, skip.reason) for skip in plan.skips] == [(NED, "in doubt")]
    assert plan.to_keep == 0
    assert plan.unmanaged["contacts in ops"] == 1
    assert plan.owned["contacts in ops"] == 3
    assert plan.owned["devices in ops"] == 2


def test_a_store_of_before_knows_no_ticket_and_nobody_deleted(world: World) -> None:
    """Its tables for both come with its next version, and are empty."""
    assert in_store(world, lambda store: store.ticket_runs()) == frozenset()


def test_a_store_of_before_was_asked_nothing_and_is_not_paused(world: World) -> None:
    """Its tables for that come with its next version, and are empty: no plan of then is approved."""
    assert in_store(world, Store.paused) is None
    assert in_store(world, Store.approvals) == Approvals()
    assert in_store(world, Store.sync_results) == ()


def test_a_project_of_before_is_applied_and_its_doubt_is_settled(world: World) -> None:
    """What never landed is made once, the edit is sent, and the plan after it is empty."""
    _, run = world.apply()

    assert {one.address: one.action for one in run.outcomes if one.result == "applied"} == {
        NED: "create",
        SAM: "update",
    }
    assert (run.exit_code, world.sent()["POST"]) == (0, 1)
    assert world.plan().plan.empty


def test_a_create_that_was_in_doubt_before_and_landed_is_not_made_again(world: World) -> None:
    """The journal of an older program is as good as ours."""

    async def lands(client: Any) -> None:
        body = {"firstName": "Ned", "lastName": "Orr", "timezone": "Australia/Melbourne"}
        more = {"workMobilePhone1": "+61491570022", "workEmailAddress1": "ned.orr@example.com"}
        await client.contacts.create({**body, "workCountry": "Australia", **more}, workspace=LABORATORY)

    world.behind_our_back(lands)
    world.sent()
    _, run = world.apply()

    assert (run.exit_code, world.sent()["POST"]) == (0, 0)
    assert world.plan().plan.empty


def test_a_run_of_before_is_resumed(tmp_path: Path) -> None:
    """Its plan and its consent stand in the store in the form of that day; a server's clock is a real one."""
    world = dated_world(tmp_path)

    run = world.resume()

    assert run is not None
    assert [(one.address, one.result) for one in run.outcomes] == [(NED, "applied")]
    assert world.sent()["POST"] == 1


def test_a_plan_file_of_before_is_carried_out(tmp_path: Path) -> None:
    """A reviewed plan lives through an upgrade of the program that changes no version of plans."""
    world = dated_world(tmp_path)

    _, run = world.apply(saved=dated_plan(), options=dated_plan().options)

    assert [(one.address, one.action, one.result) for one in run.outcomes] == [(SAM, "update", "applied")]


def test_whoever_leaves_a_project_of_before_is_deleted(world: World) -> None:
    """In a workspace that is known by its id, and in one that is known by its name alone."""
    for name, who in (("ops", "jane-doe"), ("lab", "max-ray"), ("default", "ada-king")):
        path = world.root / "manifests" / f"{name}.json"
        manifest = json.loads(path.read_text("utf-8"))
        del manifest["contacts"][who]
        world.write(manifest, f"{name}.json")

    plan = world.plan().plan

    deleted = {change.address for change in plan.changes if type(change).__name__ == "Delete"}
    assert deleted == {
        contact_address("ops", "jane-doe"),
        contact_address("lab", "max-ray"),
        contact_address("default", "ada-king"),
    }


def test_the_history_of_before_holds_and_goes_on(world: World) -> None:
    """Entries that are written now are tied to those of then."""
    before = in_store(world, Store.head)
    world.apply()

    found = in_store(world, lambda store: store.verify(before))

    assert found.broken_at == 0
    assert found.entries > before.number
    assert in_store(world, lambda store: {one.workspace for one in store.history() if one.workspace}) == {
        "default",
        "lab",
        "ops",
    }


def test_another_doubt_of_before_stays_one(world: World) -> None:
    """An apply that is cut off as well leaves both runs to be settled, not one of them forgotten."""
    world.wire.rules.append(Rule("POST", lost_before))
    _, run = world.apply()

    assert run.exit_code == 8
    open_ = {
        entry.intent.address
        for left in in_store(world, Store.unfinished)
        for entry in left.entries
        if entry.open
    }
    assert open_ == {NED}
