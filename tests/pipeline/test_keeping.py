"""Records to update are work, and a record says whether its entity existed before this stack."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from world import World

from reconciler.cli.planning import find_plan_exit_code
from reconciler.errors import UnsafePlan
from reconciler.model.plans import Consent, Delete
from reconciler.model.settings import GuardLimits
from reconciler.report.text import plain, plan_lines
from reconciler.service.paging import Query

JANE = {"firstName": "Jane", "lastName": "Doe", "workEmailAddress1": "jane.doe@example.com"}
SAM = {"firstName": "Sam", "lastName": "Lee", "workEmailAddress1": "sam.lee@example.com"}


def write(world: World, **contacts: dict[str, Any]) -> None:
    world.write({"contacts": contacts})


def made_by_hand(world: World, *people: dict[str, str]) -> None:
    """Somebody creates these people at the service."""

    async def create(client: Any) -> None:
        for person in people:
            await client.contacts.create(person, workspace="")

    world.behind_our_back(create)


def told(world: World) -> tuple[int, str]:
    """The exit code and the last line of a plan in CI."""
    planned = world.plan()
    return find_plan_exit_code(planned, detailed=True), plain(
        plan_lines(planned.plan, planned.verdict)
    ).splitlines()[-1]


def test_a_plan_that_only_protects_is_work_and_says_so(tmp_path: Path) -> None:
    """X2: skipped by CI, the protection would not hold when the entry leaves."""
    world = World(tmp_path)
    write(world, jane=JANE, sam=SAM)
    world.apply()
    write(world, jane={**JANE, "meta": {"protect": True}}, sam=SAM)

    code, last = told(world)
    assert code == 2
    assert last.startswith("1 record to update.  next: reconciler apply")

    _, run = world.apply()
    assert (run.records, run.exit_code, told(world)[0]) == (1, 0, 0)
    write(world, sam=SAM)
    assert [skip.reason for skip in world.plan().plan.skips] == ["protected"]
    assert world.plan().plan.changes == ()


def test_every_kind_of_record_counts_once(tmp_path: Path) -> None:
    """An adoption, a rename, a forgotten entry and a field that is declared as it is: four records."""
    world = World(tmp_path)
    write(world, jane=JANE, sam=SAM, kim={"firstName": "Kim", "workEmailAddress1": "kim@example.com"})
    world.apply()
    made_by_hand(world, {"firstName": "Ann", "workEmailAddress1": "ann@example.com"})

    async def remove_kim(client: Any) -> None:
        (kim,) = await client.contacts.search(Query({"workEmailAddress1": "kim@example.com"}), workspace="")
        await client.contacts.delete(kim.remote_id, workspace="")

    world.behind_our_back(remove_kim)
    write(
        world,
        jane={**JANE, "status": "active"},
        samuel={**SAM, "meta": {"renamedFrom": "sam"}},
        ann={"firstName": "Ann", "workEmailAddress1": "ann@example.com"},
    )

    planned = world.plan()

    assert planned.plan.changes == ()
    assert [(one.address, one.what, one.fields) for one in planned.plan.records] == [
        ("contact/default/jane", "fields", ("status",))
    ]
    assert told(world)[1].startswith("4 records to update.")
    world.apply()
    assert (world.plan().plan.to_keep, told(world)[0]) == (0, 0)


@pytest.mark.parametrize("meta", [{}, {"ignore": ["jobTitle"]}], ids=["at a glance", "field by field"])
def test_a_time_of_change_is_refreshed_and_is_no_work(tmp_path: Path, meta: dict[str, Any]) -> None:
    """Or the first plan after every apply would be work: a time of change is relied upon when it has aged."""
    world = World(tmp_path)
    write(world, jane={**JANE, "meta": meta})
    world.apply()
    world.clock.pass_s(60)

    assert told(world)[0] == 0
    world.apply()
    assert told(world)[0] == 0


def test_what_is_kept_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    """A1: a reviewed plan that protects nobody must not pass for one that does."""
    world = World(tmp_path)
    write(world, jane=JANE)
    world.apply()
    write(world, jane={**JANE, "meta": {"protect": True}})
    plan = world.plan().plan

    from reconciler.core.planning.fingerprint import fingerprint  # noqa: PLC0415 - beside its only use

    assert fingerprint(plan) != fingerprint(structs.replace(plan, records=()))


@pytest.mark.parametrize("differs", [False, True])
def test_a_delete_of_somebody_who_was_there_before_says_so(tmp_path: Path, *, differs: bool) -> None:
    """X6: adopted as she is, or with an update; made by us says nothing."""
    world = World(tmp_path)
    made_by_hand(world, JANE)
    write(world, jane={**JANE, "jobTitle": "Engineer"} if differs else JANE, sam=SAM)
    world.apply()
    write(world)

    planned = world.plan()
    deletes = {str(one.address): one for one in planned.plan.changes if isinstance(one, Delete)}

    assert deletes["contact/default/jane"].adopted.startswith("2026-03-01T12:01")
    assert deletes["contact/default/sam"].adopted == ""
    assert "existed before this stack, adopted on 2026-03-01" in plain(
        plan_lines(planned.plan, planned.verdict)
    )


def test_more_than_three_deletes_of_adopted_people_need_consent(tmp_path: Path) -> None:
    """G5: beside the limits for all deletes, and lifted by the same number."""
    world = World(tmp_path, changes={"guard": GuardLimits(deletes_max_percent=100)})
    people = [
        {"firstName": f"Pat{n}", "lastName": "Roe", "workEmailAddress1": f"pat{n}@example.com"}
        for n in range(4)
    ]
    made_by_hand(world, *people)
    write(world, sam=SAM, **{f"pat{n}": one for n, one in enumerate(people)})
    world.apply()
    write(world, sam=SAM)

    with pytest.raises(UnsafePlan) as caught:
        world.apply(consent=Consent(deletes=3))
    (reason,) = caught.value.reasons
    assert "deletes 4 entities that existed before this stack, or may have existed (the limit is 3)" in reason
    assert "contact/default/pat3 (adopted on 2026-03-01)" in reason
    assert "--allow-deletes 4" in caught.value.next

    _, run = world.apply(consent=Consent(deletes=4))
    assert run.count("applied") == 4


def test_what_was_made_again_keeps_the_id_that_was_lost_sight_of(tmp_path: Path) -> None:
    """X7: should it show up again, it is known to be ours."""
    world = World(tmp_path)
    write(world, jane=JANE, sam=SAM)
    _, run = world.apply()
    first = {str(outcome.address): outcome.remote_id for outcome in run.outcomes}["contact/default/jane"]

    async def remove(client: Any) -> None:
        await client.contacts.delete(first, workspace="")

    world.behind_our_back(remove)
    planned, _ = world.apply()
    record = world.plan().recorded.entities[planned.plan.changes[0].address]

    assert (record.earlier, record.adopted) == ((first,), "")
