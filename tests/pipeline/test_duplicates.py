"""Two live entities for one of ours: told by every way of reading, healed where both are ours (T1 to T3)."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pipeline.test_live import crowd, declared
from wire import Fault, Send, edited_list, lost_before, nobody, without_parameter
from world import PHONE, World

from reconciler.cli.planning import find_plan_exit_code
from reconciler.core.review.drift import find_drift
from reconciler.engine.resources import open_run_store
from reconciler.model.plans import Delete, Options
from reconciler.report.json import drift_json, plan_json, run_json
from reconciler.report.text import drift_lines, plain, plan_lines, run_lines

JANE = {"firstName": "Jane", "lastName": "Doe", "workEmailAddress1": "jane.doe@example.com"}
TIM = {"firstName": "Tim", "workEmailAddress1": "tim.hart@example.com"}
SAM = {"firstName": "Sam", "workEmailAddress1": "sam@example.com"}
MARKED = {"mark": "managedBy"}


def hiding(hidden: str, *, in_lists: bool = False) -> Fault:
    """The service does not show one contact by its id, and perhaps not in lists either."""

    async def fault(request: httpx2.Request, send: Send) -> httpx2.Response:
        if request.url.path.endswith(hidden):
            return httpx2.Response(404, json={"errorSummary": "not found", "errorText": "not found"})
        return await (edited_list(nobody)(request, send) if in_lists else send())

    return fault


def again(world: World, body: dict[str, Any]) -> str:
    """Create one more contact at the service, as a late request would; return its id."""

    async def create(client: Any) -> Any:
        return await client.contacts.create(body)

    made = world.behind_our_back(create)
    return str(made.remote_id)


def marked(name: str) -> dict[str, Any]:
    """What a request of ours looks like that lands late: Jane, with our mark."""
    mark = {"fieldName": "managedBy", "fieldValue": f"test/{name}", "searchKey": "custom_managedBy"}
    return {**JANE, "customFields": [mark]}


async def removed(remote_id: str, client: Any) -> None:
    await client.contacts.delete(remote_id)


def ids(world: World) -> set[str]:
    async def listed(client: Any) -> Any:
        return await client.contacts.list()

    return {row.remote_id for row in world.behind_our_back(listed)}


def duplicates(world: World) -> list[tuple[str, str]]:
    """Subject and sentence of every such notice."""
    return [(one.subject, one.what) for one in world.plan().plan.notices if one.kind == "duplicate"]


def with_jane(path: Path, **changes: Any) -> tuple[World, str]:
    """A world in which Jane is declared, live and ours; and her id."""
    world = World(path, changes=changes)
    world.write({"contacts": {"jane": JANE}})
    _, run = world.apply()
    world.clock.pass_s(60)
    return world, run.outcomes[0].remote_id


@pytest.mark.parametrize("way", ["scan", "search", "brief"])
def test_a_second_one_is_told_by_every_way_of_reading(tmp_path: Path, way: str) -> None:
    """T1: a late landing made her; matched by its record, the first one looks as if all were well."""
    world = crowd(tmp_path, 2_000 if way == "search" else 30)
    manifest = declared(2 if way == "search" else 25)
    world.write(manifest)
    world.apply()
    world.clock.pass_s(60)
    person = manifest["contacts"]["p1"]
    second = again(world, person)
    if way == "brief":
        world.meets(without_parameter("fields"))

    plan = world.plan().plan

    assert [read.how for read in plan.reads] == ["search" if way == "search" else "scan"]
    assert plan.changes == ()
    ((subject, what),) = duplicates(world)
    assert subject == "contact/default/p1"
    assert second in what
    assert "workEmailAddress1" in what
    assert person["workEmailAddress1"] not in what
    assert [one.cause for one in find_drift(plan)] == ["duplicate"]


def test_both_of_two_are_in_the_text_and_json_of_every_command(tmp_path: Path) -> None:
    """T1: whoever reads one report has to find both at the service, and a program has to find them too."""
    world, first = with_jane(tmp_path)
    second = again(world, JANE)

    planned = world.plan()
    begun, run = world.apply()

    reports = {
        "plan": plain(plan_lines(planned.plan, planned.verdict)),
        "plan, JSON": plan_json(planned.plan, planned.verdict, 0),
        "apply": plain(plan_lines(begun.plan, begun.verdict)),
        "apply, JSON": run_json(run),
        "drift": plain(drift_lines(planned.plan)),
        "drift, JSON": drift_json(planned.plan),
    }
    assert [name for name, text in reports.items() if first not in text or second not in text] == []
    for name in ("apply, JSON", "drift, JSON"):
        assert [one["kind"] for one in json.loads(reports[name])["notices"]] == ["duplicate"], name


def test_recorded_people_are_searched_in_as_many_calls_as_they_are(tmp_path: Path) -> None:
    """T1: the search by identity takes the place of the look by id; it costs nothing more."""
    world = crowd(tmp_path, 2_000)
    world.write(declared(10))
    world.apply()
    world.clock.pass_s(60)
    world.sent()

    world.plan()

    assert sum(world.sent().values()) <= 1 + 10


def test_an_ignored_filter_costs_two_calls_each_and_no_walk(tmp_path: Path) -> None:
    """T1: a service that answers a search with its whole list must not be read once for each person."""
    world = crowd(tmp_path, 2_000)
    world.write(declared(4, every=100))
    world.apply()
    world.clock.pass_s(60)
    world.meets(without_parameter("workEmailAddress1"))
    world.sent()

    assert world.plan().plan.changes == ()
    assert sum(world.sent().values()) <= 1 + 2 * 4


def test_a_second_one_of_somebody_protected_and_no_longer_declared_is_told(tmp_path: Path) -> None:
    """T1: recorded is enough."""
    world, _ = with_jane(tmp_path)
    world.write({"contacts": {"jane": {**JANE, "meta": {"protect": True}}}})
    world.apply()
    world.write({"contacts": {}})
    again(world, JANE)

    assert [subject for subject, _ in duplicates(world)] == ["contact/default/jane"]


def test_a_late_landing_with_our_mark_is_deleted_and_the_recorded_one_stays(tmp_path: Path) -> None:
    """T2: the mark names her very address, so nobody else has made her."""
    world, first = with_jane(tmp_path, **MARKED)
    second, third = again(world, marked("jane")), again(world, marked("jane"))

    planned, run = world.apply()

    assert [(str(one.address), one.cause) for one in planned.plan.changes if isinstance(one, Delete)] == [
        (f"contact/default/jane@{one}", "duplicate") for one in sorted([second, third])
    ]
    assert "duplicate of contact/default/jane" in plain(plan_lines(planned.plan, planned.verdict))
    assert (run.exit_code, ids(world)) == (0, {first})
    assert world.plan().plan.changes == ()
    assert {str(one) for one in world.plan().recorded.entities} == {"contact/default/jane"}


def test_what_seemed_gone_and_comes_back_is_deleted_without_a_mark(tmp_path: Path) -> None:
    """T2: we made that id under this address before; a list that lost sight of it made us make another."""
    world, first = with_jane(tmp_path)
    world.meets(hiding(first, in_lists=True), "GET")
    world.apply()
    world.wire.rules.clear()
    world.clock.pass_s(60)
    assert len(ids(world)) == 2

    planned, run = world.apply()

    assert [str(one.address) for one in planned.plan.changes] == [f"contact/default/jane@{first}"]
    assert run.count("applied") == 1
    assert first not in ids(world)
    assert len(ids(world)) == 1


def test_both_of_two_are_ours_without_a_store_and_one_is_kept(tmp_path: Path) -> None:
    """T2: with nothing recorded the one that stood unchanged for longest stays."""
    world, first = with_jane(tmp_path, **MARKED)
    again(world, marked("jane"))
    for file in tmp_path.glob("store.db*"):
        file.unlink()

    world.apply()

    assert ids(world) == {first}


@pytest.mark.parametrize(
    "body",
    [
        JANE,
        {**marked("jane"), "workEmailAddress1": "kim@example.com"},
        marked("kim"),
    ],
    ids=["no mark", "another person", "another name"],
)
def test_one_that_somebody_else_could_have_made_is_never_deleted(
    tmp_path: Path, body: dict[str, Any]
) -> None:
    """T3: a copied contact that was edited since keeps our mark and is somebody else."""
    world, first = with_jane(tmp_path, **MARKED)
    second = again(world, body)

    planned, _ = world.apply()

    deleted = {str(one.address) for one in planned.plan.changes if isinstance(one, Delete)}
    assert f"contact/default/jane@{second}" not in deleted
    assert first in ids(world)


def test_a_duplicate_with_a_phone_of_its_own_is_only_told(tmp_path: Path) -> None:
    """T3: somebody registered there since, and would not be reached any more."""
    world, _ = with_jane(tmp_path, **MARKED)
    second = again(world, marked("jane"))
    phone = {**PHONE, "pushToken": "token"}

    async def register(client: Any) -> None:
        await client.devices.create(phone, parent=second)

    world.behind_our_back(register)

    assert world.plan().plan.changes == ()
    assert [subject for subject, _ in duplicates(world)] == ["contact/default/jane"]


def test_where_the_other_has_gone_meanwhile_the_duplicate_stays(tmp_path: Path) -> None:
    """T2: somebody healed it by hand and removed the one that we keep; else nobody would be left."""
    world, first = with_jane(tmp_path, **MARKED)
    second = again(world, marked("jane"))
    world.meets(hiding(first), "GET")

    _, run = world.apply()

    assert [(str(one.address), one.result) for one in run.outcomes] == [
        (f"contact/default/jane@{second}", "conflict")
    ]
    assert "no longer exists; nothing was deleted" in run.outcomes[0].what
    assert second in ids(world)


def test_an_ambiguous_person_is_never_nothing_to_do(tmp_path: Path) -> None:
    """M3: exit 5 and named first, by plan and by apply; all else is carried out."""
    world = World(tmp_path)
    for _ in range(2):
        again(world, JANE)
    world.write(
        {"contacts": {"jane": JANE, "sam": {"firstName": "Sam", "workEmailAddress1": "sam@example.com"}}}
    )

    planned = world.plan()
    text = plain(plan_lines(planned.plan, planned.verdict))
    _, run = world.apply()

    assert find_plan_exit_code(planned, detailed=False) == 5
    assert text.index("contact/default/jane matches 2 live contacts") < text.index("+ contact/default/sam")
    assert (run.exit_code, run.outcome, run.count("applied")) == (5, "stale", 1)
    assert [one.kind for one in run.notices] == ["ambiguous"]
    assert "matches 2 live contacts" in plain(run_lines(run))

    _, second = world.apply()
    again_planned = world.plan()
    assert (second.exit_code, find_plan_exit_code(again_planned, detailed=True)) == (5, 5)
    assert "Nothing to do" not in plain(plan_lines(again_planned.plan, again_planned.verdict))
    assert [one.cause for one in find_drift(again_planned.plan)] == ["ambiguous"]


def last_look(world: World) -> tuple[str, dict[str, int]] | None:
    """The run that `doctor` names, and its numbers; the whole history has to hold."""

    async def look() -> tuple[str, dict[str, int]] | None:
        async with open_run_store(world.settings, world.dependencies, create=False) as store:
            assert store.verify(None).broken_at == 0
            looked = store.last_look()
            return (looked.run, dict(looked.seen)) if looked else None

    return world.run(look())


def test_a_run_keeps_how_many_it_saw_twice_until_one_looks_at_everything(tmp_path: Path) -> None:
    """T1: `doctor` reads no lists. A run that looks at a part says nothing of the rest."""
    world, _ = with_jane(tmp_path)
    assert last_look(world) == ("00000000-0000-4000-8000-000000000001", {"twice": 0, "ambiguous": 0})
    second, tim, _ = again(world, JANE), again(world, TIM), again(world, TIM)
    world.write({"contacts": {"jane": JANE, "tim": TIM, "sam": SAM}})

    _, run = world.apply()
    assert last_look(world) == (run.run, {"twice": 1, "ambiguous": 1})
    assert run.seen == {"twice": 1, "ambiguous": 1}

    _, part = world.apply(options=Options(only=("contact/default/sam",)))
    assert part.seen == {}
    assert last_look(world) == (run.run, {"twice": 1, "ambiguous": 1})

    _, part = world.apply(options=Options(excluded=("contact/default/tim",)))
    assert last_look(world) == (part.run, {"twice": 1})

    for one in (second, tim):
        world.behind_our_back(partial(removed, one))
    _, whole = world.apply()
    assert last_look(world) == (whole.run, {"twice": 0, "ambiguous": 0})


def test_a_run_that_read_an_incomplete_list_does_not_say_that_nobody_is_there_twice(tmp_path: Path) -> None:
    """T1: what the list did not show may be the second one. An undo reads no list at all."""
    world, _ = with_jane(tmp_path)
    undo = world.apply_with_undo()
    world.meets(edited_list(nobody), "GET")

    _, run = world.apply()
    world.wire.rules.clear()

    assert run.seen == {}
    assert world.undo(undo).seen == {}


@pytest.mark.parametrize("command", ["apply", "resume"])
def test_after_a_doubt_that_became_two_apply_and_resume_say_the_same(tmp_path: Path, command: str) -> None:
    """A9: it is not in doubt any more whether she is there, and no look can tell which of the two is ours."""
    world = World(tmp_path)
    world.write({"contacts": {"jane": JANE}})
    world.meets(lost_before, "POST", nth=1)
    _, run = world.apply()
    assert run.exit_code == 8
    world.clock.pass_s(3_600)
    again(world, JANE)
    again(world, JANE)

    left = world.resume() if command == "resume" else world.apply()[1]

    assert left is not None
    assert left.exit_code == 5
    assert len(ids(world)) == 2
