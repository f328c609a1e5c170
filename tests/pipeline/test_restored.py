"""What we deleted and is live again, as after a restore of the service, is named, and nothing more."""

from pathlib import Path
from typing import Any

from store.support import store_at
from world import BASE, World

from reconciler.model.address import contact
from reconciler.model.plan.plans import Workspace
from reconciler.model.run.outcomes import Outcome
from reconciler.store.recorded import Batch

ANN = {"firstName": "Ann", "lastName": "Example", "workEmailAddress1": "ann@example.com"}
BOB = {"firstName": "Bob", "lastName": "Example", "workEmailAddress1": "bob@example.com"}


def with_bob_back(root: Path) -> tuple[World, str]:
    """Ann is ours; Bob was deleted by a run of ours, and is live under his old id. Return that id."""
    world = World(root)
    world.write({"contacts": {"ann": ANN}})
    assert world.apply()[1].exit_code == 0
    made: list[str] = []

    async def work(client: Any) -> None:
        made.append((await client.contacts.create(BOB)).remote_id)

    world.behind_our_back(work)
    gone = Outcome(contact("default", "bob"), "delete", "applied", remote_id=made[0])
    with store_at(root / "store.db", stack=world.settings.stack, origin=BASE) as store:
        store.record([Batch(ended=(gone,))], (Workspace("default", ""),))
    return world, made[0]


def test_a_leaver_whom_a_backup_brings_back_is_named_and_left_alone(tmp_path: Path) -> None:
    """She would be "not ours" among thousands, and reachable for ever."""
    world, remote_id = with_bob_back(tmp_path)

    plan = world.plan().plan

    (told,) = [notice for notice in plan.notices if notice.kind == "restored"]
    assert told.subject == "contact/default/bob"
    assert remote_id in told.what
    assert "declare it again" in told.next
    assert plan.changes == ()


def test_declared_again_she_is_adopted_and_not_named_any_more(tmp_path: Path) -> None:
    world, _ = with_bob_back(tmp_path)
    world.write({"contacts": {"ann": ANN, "bob": BOB}})

    plan = world.plan().plan

    assert [one.address.name for one in plan.adoptions] == ["bob"]
    assert [notice for notice in plan.notices if notice.kind == "restored"] == []


def test_who_was_deleted_and_is_gone_is_not_named(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write({"contacts": {"ann": ANN, "bob": BOB}})
    world.apply()
    world.write({"contacts": {"ann": ANN}})
    world.apply()
    with store_at(tmp_path / "store.db", stack=world.settings.stack, origin=BASE) as store:
        assert [one.address.name for one in store.deleted((Workspace("default", ""),))] == ["bob"]

    assert world.plan().plan.notices == ()
