"""Who is gone, is somebody else, or was made: never on one answer alone (rules M8, M9, A12).

The same with the real command behind a proxy: tests/lies/test_evidence.py.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from wire import Fault, Rule, Send, answered, edited, lost_after
from world import World

from reconciler.errors import StalePlan
from reconciler.model.plans import Delete, Options, Plan, Update
from reconciler.service.client import EntityClient

JANE = "contact/default/jane"


def person(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "firstName": name,
        "lastName": "Example",
        "jobTitle": "Engineer",
        "workMobilePhone1": "+61491570156",
        "workEmailAddress1": f"{name.lower()}@example.com",
        **fields,
    }


def project(tmp_path: Path, **people: Mapping[str, Any]) -> World:
    world = World(tmp_path)
    world.write({"contacts": people})
    return world


def built(tmp_path: Path) -> World:
    """Jane, Sam and Zoe are there, and recorded."""
    world = project(tmp_path, jane=person("Jane"), sam=person("Sam"), zoe=person("Zoe"))
    world.apply()
    world.clock.pass_s(60)
    return world


def ids(world: World) -> dict[str, str]:
    async def look(client: EntityClient) -> dict[str, str]:
        return {row.body["firstName"]: row.remote_id for row in await client.contacts.list()}

    found: dict[str, str] = world.behind_our_back(look)
    return found


def at(remote_id: str, fault: Fault) -> Fault:
    """Let this happen to a look at one id alone."""

    async def only(request: httpx2.Request, send: Send) -> httpx2.Response:
        return await (fault(request, send) if request.url.path.endswith(f"/{remote_id}") else send())

    return only


def reasons(plan: Plan) -> dict[str, str]:
    return {str(skip.address): skip.reason for skip in plan.skips}


def without_jane(world: World) -> None:
    world.write({"contacts": {"sam": person("Sam"), "zoe": person("Zoe")}})


def test_a_leaver_whom_a_look_does_not_find_and_a_list_shows_stays_ours(tmp_path: Path) -> None:
    """Forgotten, she would stay reachable and be nobody's."""
    world = built(tmp_path)
    world.meets(at(ids(world)["Jane"], answered(404)), "GET")
    without_jane(world)

    planned, run = world.apply()

    assert reasons(planned.plan) == {JANE: "contradicted"}
    assert planned.plan.gone == ()
    assert run.exit_code == 5
    world.wire.rules.clear()
    assert [type(one) for one in world.plan().plan.changes] == [Delete]


def test_who_is_gone_from_list_and_look_is_forgotten(tmp_path: Path) -> None:
    """Deleted by hand, she has left: two witnesses say so."""
    world = built(tmp_path)
    jane = ids(world)["Jane"]
    world.behind_our_back(lambda client: client.contacts.delete(jane))
    without_jane(world)

    planned, run = world.apply()

    assert planned.plan.gone == (JANE,)
    assert run.exit_code == 0


def test_one_who_is_declared_and_contradicted_is_not_made_again(tmp_path: Path) -> None:
    """With devices in scope each contact is looked at, and a 404 would make her a second time."""
    world = built(tmp_path)
    jane = ids(world)["Jane"]
    world.write(
        {"contacts": {"jane": person("Jane", devices={}), "sam": person("Sam"), "zoe": person("Zoe")}}
    )
    world.meets(at(jane, answered(404)), "GET")

    assert reasons(world.plan().plan) == {JANE: "contradicted"}
    assert world.apply()[1].exit_code == 5
    assert len(ids(world)) == 3


def test_a_404_right_before_a_delete_is_a_conflict(tmp_path: Path) -> None:
    """The plan has seen her a moment ago."""
    world = built(tmp_path)
    jane, looks = ids(world)["Jane"], iter([False])
    fault = at(jane, answered(404))

    async def later(request: httpx2.Request, send: Send) -> httpx2.Response:
        first = request.url.path.endswith(f"/{jane}") and not next(looks, True)
        return await (send() if first else fault(request, send))

    without_jane(world)
    world.meets(later, "GET")

    _, run = world.apply()

    assert [one.result for one in run.outcomes] == ["conflict"]
    assert len(ids(world)) == 3


def test_a_delete_that_reads_back_as_gone_and_is_listed_is_in_doubt(tmp_path: Path) -> None:
    """The DELETE did nothing, and the look after it says that she is gone."""
    world = built(tmp_path)
    jane = ids(world)["Jane"]
    without_jane(world)
    world.meets(answered(204), "DELETE")
    deleted = Rule(
        "GET", at(jane, answered(404)), when=lambda: any(method == "DELETE" for method, _ in world.wire.sent)
    )
    world.wire.rules.append(deleted)
    world.wire.sent.clear()

    _, run = world.apply()

    assert [one.result for one in run.outcomes] == ["in doubt"]
    world.wire.rules.clear()
    assert world.apply()[1].exit_code == 0
    assert sorted(ids(world)) == ["Sam", "Zoe"]


def other(body: dict[str, Any]) -> None:
    body |= {"id": "ABCDEF0123456789", "link": []}


@pytest.mark.parametrize("fault", [edited(other), answered(301), answered(410)], ids=["body", "301", "410"])
def test_one_who_was_merged_is_one_conflict(tmp_path: Path, fault: Fault) -> None:
    """Everybody else is planned, and `forget` is a way out."""
    world = built(tmp_path)
    world.meets(at(ids(world)["Jane"], fault), "GET")
    world.write({"contacts": {"sam": person("Sam", jobTitle="Pilot"), "zoe": person("Zoe")}})

    planned = world.plan()

    assert reasons(planned.plan) == {JANE: "contradicted"}
    assert [type(one) for one in planned.plan.changes] == [Update]
    assert f"reconciler forget {JANE}" in planned.plan.skips[0].next
    left = Options(only=(JANE,), forget=(JANE,))
    assert world.plan(options=left).plan.forgotten == (JANE,)


def used_anew(world: World) -> None:
    """Let somebody make the contact of Jane one of a new colleague."""
    jane = ids(world)["Jane"]

    async def edit(client: EntityClient) -> None:
        body = (await client.contacts.get(jane)).body
        anew = person("Ann", lastName="Roe", jobTitle="Porter", workMobilePhone1="+61491570157")
        await client.contacts.replace(jane, {**body, **anew})

    world.behind_our_back(edit)


def test_somebody_else_is_neither_overwritten_nor_deleted(tmp_path: Path) -> None:
    """The new colleague would get the alarms of the old one, or none."""
    world = built(tmp_path)
    used_anew(world)

    assert reasons(world.plan().plan) == {JANE: "somebody else"}
    assert world.apply()[1].exit_code == 5
    without_jane(world)
    assert reasons(world.plan().plan) == {JANE: "somebody else"}
    assert world.plan().plan.changes == ()
    assert "Ann" in ids(world)


def test_a_person_can_say_that_it_is_the_same(tmp_path: Path) -> None:
    """The word is part of the plan: a plan without it is another one."""
    world = built(tmp_path)
    used_anew(world)
    said = Options(same=(JANE,))

    confirmed = world.plan(options=said).plan

    assert [type(one) for one in confirmed.changes] == [Update]
    assert confirmed.fingerprint != world.plan().plan.fingerprint
    assert world.apply(options=said)[1].exit_code == 0
    assert "Ann" not in ids(world)
    assert world.plan().plan.empty


def test_whom_the_manifest_declares_by_now_is_nobody_else(tmp_path: Path) -> None:
    """Changed in both places by the same hand."""
    world = built(tmp_path)
    used_anew(world)
    ann = person("Ann", lastName="Roe", jobTitle="Porter", workMobilePhone1="+61491570157")
    world.write({"contacts": {"jane": ann, "sam": person("Sam"), "zoe": person("Zoe")}})

    assert world.plan().plan.skips == ()


def written_as(request: httpx2.Request, address: str) -> None:
    """Let a create of Jane arrive with another address than was sent."""
    sent = request.content.replace(b"jane@example.com", address.encode())
    request.stream = httpx2.ByteStream(sent)
    request.headers["Content-Length"] = str(len(sent))


def test_an_identity_that_is_written_in_another_way_makes_one_person(tmp_path: Path) -> None:
    """Recorded as it is shown, she is nothing to do for the next plan."""
    world = project(tmp_path, jane=person("Jane"))

    async def rewriting(request: httpx2.Request, send: Send) -> httpx2.Response:
        written_as(request, "jane@mail.example.com")
        return await send()

    world.meets(rewriting, "POST")

    _, run = world.apply()

    assert run.exit_code == 0
    assert "in its own way" in run.outcomes[0].what
    assert world.plan().plan.empty


def test_a_create_in_doubt_is_sent_again_by_a_word_alone(tmp_path: Path) -> None:
    """Whatever the run: an apply, a resume. Her address differs there, and all else is as it was sent."""
    world = project(tmp_path, jane=person("Jane"))

    async def rewriting(request: httpx2.Request, send: Send) -> httpx2.Response:
        written_as(request, "jane@mail.example.com")
        return await lost_after(request, send)

    world.meets(rewriting, "POST")

    codes = [world.apply()[1].exit_code for _ in range(3)]
    resumed = world.resume()

    assert codes == [8, 8, 8]
    assert resumed is not None
    assert resumed.exit_code == 8
    assert f"--create-again {JANE}" in resumed.outcomes[0].next
    assert world.sent()["POST"] == 1
    world.wire.rules.clear()
    assert world.apply(options=Options(again=(JANE,)))[1].exit_code == 0
    assert world.sent()["POST"] == 1


def become_somebody_else(body: dict[str, Any]) -> None:
    """Show a new colleague under the id of Jane; the time of change stays as it was."""
    body |= person("Ann", lastName="Roe", workMobilePhone1="+61491570157")


def as_jane(**fields: Any) -> Mapping[str, Any]:
    return {"contacts": {"jane": person("Jane", **fields), "sam": person("Sam"), "zoe": person("Zoe")}}


def test_an_id_that_became_somebody_else_after_the_plan_is_not_written_over(tmp_path: Path) -> None:
    """The field that changes is as the plan saw it; whose it is, is not. Everybody else is written."""
    world = built(tmp_path)
    world.meets(at(ids(world)["Jane"], edited(become_somebody_else)), "GET")
    people = as_jane(division="Night")
    people["contacts"]["sam"]["division"] = "Night"
    world.write(people)
    world.sent()

    planned, run = world.apply()

    assert planned.plan.skips == ()
    assert {one.address.name: one.result for one in run.outcomes} == {"jane": "conflict", "sam": "applied"}
    (told,) = [one for one in run.outcomes if one.result == "conflict"]
    assert "may be another entity now" in told.what
    assert f"--confirm-same {JANE}" in told.next
    assert world.sent()["PUT"] == 1


def test_a_person_can_say_it_of_an_id_that_changed_after_the_plan(tmp_path: Path) -> None:
    """The same word as for the plan; it answers the look as well."""
    world = built(tmp_path)
    world.meets(at(ids(world)["Jane"], edited(become_somebody_else)), "GET")
    world.write(as_jane(division="Night"))
    world.sent()

    _, run = world.apply(options=Options(same=(JANE,)))

    assert [one.result for one in run.outcomes if one.address.name == "jane"] != ["conflict"]
    assert world.sent()["PUT"] == 1


def test_an_id_that_became_somebody_else_after_the_plan_is_not_deleted(tmp_path: Path) -> None:
    """The new colleague would be reached by nobody; the look is the last moment to see it."""
    world = built(tmp_path)
    jane, looks = ids(world)["Jane"], iter([False])
    fault = at(jane, edited(become_somebody_else))

    async def later(request: httpx2.Request, send: Send) -> httpx2.Response:
        first = request.url.path.endswith(f"/{jane}") and not next(looks, True)
        return await (send() if first else fault(request, send))

    without_jane(world)
    world.meets(later, "GET")

    planned, run = world.apply()

    assert [type(one) for one in planned.plan.changes] == [Delete]
    assert [one.result for one in run.outcomes] == ["conflict"]
    assert "may be another entity now" in run.outcomes[0].what
    assert len(ids(world)) == 3


@pytest.mark.parametrize("leaves", [False, True], ids=["update", "delete"])
def test_a_plan_file_writes_nothing_over_who_came_after_it(tmp_path: Path, *, leaves: bool) -> None:
    """Seen by the plan that is made afresh, the file is stale; seen by the look alone, it is a conflict."""
    world = built(tmp_path)
    if leaves:
        without_jane(world)
    else:
        world.write(as_jane(division="Night"))
    saved = world.plan().plan
    jane, looks = ids(world)["Jane"], iter([False] * leaves)
    fault = at(jane, edited(become_somebody_else))

    async def later(request: httpx2.Request, send: Send) -> httpx2.Response:
        first = request.url.path.endswith(f"/{jane}") and not next(looks, True)
        return await (send() if first else fault(request, send))

    world.meets(later, "GET")
    world.sent()

    _, run = world.apply(saved=saved)

    assert [one.result for one in run.outcomes] == ["conflict"]
    assert world.sent().keys() == {"GET"}
    world.wire.rules.clear()
    used_anew(world)
    world.sent()
    with pytest.raises(StalePlan):
        world.apply(saved=saved)
    assert world.sent().keys() == {"GET"}


def test_who_was_to_be_adopted_and_became_another_is_left_alone(tmp_path: Path) -> None:
    """There is no record to compare with: the identity by which she was recognized has to be there still."""
    world = project(tmp_path, jane=person("Jane", division="Night"))
    world.behind_our_back(lambda client: client.contacts.create(person("Jane")))
    world.meets(at(ids(world)["Jane"], edited(become_somebody_else)), "GET")

    planned, run = world.apply()

    assert [type(one) for one in planned.plan.changes] == [Update]
    assert [one.result for one in run.outcomes] == ["conflict"]
    assert world.sent()["PUT"] == 0
