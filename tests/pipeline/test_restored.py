"""What we deleted and is live again, as after a restore of the service, is named, and nothing more."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from store.support import store_at
from wire import Rule, answered, lost_after
from world import BASE, World

from reconciler.model.address import contact_address
from reconciler.model.plans import Workspace
from reconciler.model.runs import Outcome
from reconciler.store.records import Batch

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
    gone = Outcome(contact_address("default", "bob"), "delete", "applied", remote_id=made[0])
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


def deleted_and_back(root: Path, **changes: Any) -> tuple[World, str, str]:
    """Bob was deleted by an apply, and a restore brought him back under a new id. Return both ids."""
    world = World(root)
    world.write({"contacts": {"ann": ANN, "bob": BOB}})
    world.apply()
    old = _id_of(world, "Bob")
    world.write({"contacts": {"ann": ANN}})
    assert world.apply()[1].exit_code == 0
    world.behind_our_back(lambda client: client.contacts.create({**BOB, **changes}))
    return world, old, _id_of(world, "Bob")


def _id_of(world: World, name: str) -> str:
    async def look(client: Any) -> str:
        rows = await client.contacts.list()
        found: str = next(row.remote_id for row in rows if row.body["firstName"] == name)
        return found

    found: str = world.behind_our_back(look)
    return found


@pytest.mark.parametrize(
    "changes", [{}, {"lastName": "Roe", "jobTitle": "Pilot"}, {"workEmailAddress1": "BOB@EXAMPLE.com"}]
)
def test_a_leaver_who_comes_back_under_a_new_id_is_known_by_the_identity(
    tmp_path: Path, changes: Mapping[str, str]
) -> None:
    """A restore may give new ids; compared by the id alone, nobody would name the leaver."""
    world, old, now = deleted_and_back(tmp_path, **changes)
    assert old != now

    plan = world.plan().plan

    (told,) = [notice for notice in plan.notices if notice.kind == "restored"]
    assert told.subject == "contact/default/bob"
    assert now in told.what
    assert old in told.what
    assert "bob@example.com" not in told.what.lower()
    assert plan.changes == ()


def test_another_of_the_same_name_is_not_back(tmp_path: Path) -> None:
    """A new colleague called Bob is nobody whom we deleted."""
    world, _, _ = deleted_and_back(tmp_path, workEmailAddress1="another.bob@example.com")

    assert world.plan().plan.notices == ()


def test_who_is_back_under_a_new_id_and_declared_is_ours(tmp_path: Path) -> None:
    world, _, now = deleted_and_back(tmp_path)
    world.write({"contacts": {"ann": ANN, "robert": BOB}})

    plan = world.plan().plan

    assert [one.remote_id for one in plan.adoptions] == [now]
    assert [notice for notice in plan.notices if notice.kind == "restored"] == []


def test_among_many_who_are_searched_one_by_one_the_leaver_is_named_where_shown(tmp_path: Path) -> None:
    """Few of ours in a long list: what the first page and the searches show is all that is known."""
    world, _, now = deleted_and_back(tmp_path)

    async def crowd(client: Any) -> None:
        for number in range(90):
            body = {
                "firstName": "Guest",
                "lastName": f"G{number}",
                "workEmailAddress1": f"g{number}@example.com",
            }
            await client.contacts.create(body)

    world.behind_our_back(crowd)

    planned = world.plan()

    assert [read.how for read in planned.plan.reads] == ["search"]
    assert [now in notice.what for notice in planned.plan.notices if notice.kind == "restored"] == [True]


def test_the_store_keeps_no_address_of_whom_it_deleted(tmp_path: Path) -> None:
    """What is kept tells whether somebody is the same, and not who it is."""
    world, _, _ = deleted_and_back(tmp_path)

    with store_at(tmp_path / "store.db", stack=world.settings.stack, origin=BASE) as store:
        (kept,) = store.deleted((Workspace("default", ""),))

    assert kept.identities.keys() == {"workEmailAddress1"}
    assert "bob" not in str(dict(kept.identities)).lower()


def test_a_delete_that_a_later_run_found_done_is_kept_too(tmp_path: Path) -> None:
    """Killed, or without an answer: who is gone then was deleted by us."""
    world = World(tmp_path)
    world.write({"contacts": {"ann": ANN, "bob": BOB}})
    world.apply()
    world.write({"contacts": {"ann": ANN}})
    deaf = Rule("GET", answered(500), when=lambda: any(way == "DELETE" for way, _ in world.wire.sent))
    world.meets(lost_after, "DELETE")
    world.wire.rules.append(deaf)
    world.sent()
    assert world.apply()[1].exit_code == 8
    world.wire.rules.clear()
    assert world.apply()[1].exit_code == 0
    world.behind_our_back(lambda client: client.contacts.create(BOB))

    assert [notice.kind for notice in world.plan().plan.notices] == ["restored"]


def test_who_was_deleted_and_is_gone_is_not_named(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write({"contacts": {"ann": ANN, "bob": BOB}})
    world.apply()
    world.write({"contacts": {"ann": ANN}})
    world.apply()
    with store_at(tmp_path / "store.db", stack=world.settings.stack, origin=BASE) as store:
        assert [one.address.name for one in store.deleted((Workspace("default", ""),))] == ["bob"]

    assert world.plan().plan.notices == ()
