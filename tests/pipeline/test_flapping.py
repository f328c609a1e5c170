"""Two repositories that own the same person find out: from the second time a field comes back it is named."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from world import World

from reconciler.core.review.drift import add_missing_baseline
from reconciler.model.notices import Notice
from reconciler.report.json import drift_json, plan_json
from reconciler.report.text import drift_lines, plain, plan_lines

PERSON = {"firstName": "Kim", "workEmailAddress1": "kim@example.com", "workCountry": "Australia"}
KIM = "contact/default/kim"


@pytest.fixture
def ours(tmp_path: Path) -> World:
    """One repository, applied once."""
    (tmp_path / "ours").mkdir()
    made = World(tmp_path / "ours")
    declares(made, jobTitle="Nurse")
    made.apply()
    return made


@pytest.fixture
def theirs(tmp_path: Path, ours: World) -> World:
    """Another one with a stack and a store of its own, at the same service and in the same time."""
    (tmp_path / "theirs").mkdir()
    return beside(ours, tmp_path / "theirs", store="sqlite:///store.db")


def beside(ours: World, root: Path, *, store: str) -> World:
    made = World(root, changes={"stack": "theirs", "store": store})
    made.clock, made.wire = ours.clock, ours.wire
    made.dependencies = replace(ours.dependencies, connections=ours.wire)
    declares(made, jobTitle="Manager")
    return made


def declares(world: World, **fields: str) -> None:
    world.write({"contacts": {"kim": {**PERSON, **fields}}})


def applies(world: World) -> None:
    """Apply, and let a day pass."""
    world.apply()
    world.clock.pass_s(86_400)


def flapping(world: World) -> list[Notice]:
    return [one for one in world.plan().plan.notices if one.kind == "flapping"]


def test_a_field_that_comes_back_is_named_from_the_second_time_on(ours: World, theirs: World) -> None:
    """Once may be a person in the portal; each apply would hide the other repository for ever."""
    applies(theirs)
    assert flapping(ours) == []  # the first time
    applies(ours)
    assert flapping(ours) == []
    applies(theirs)

    (notice,) = flapping(ours)

    assert notice.subject == KIM
    assert notice.what == (
        "jobTitle was set back once since 2026-03-02, and has changed again: something else writes it too."
    )
    applies(ours)
    (notice,) = flapping(ours)
    assert notice.what == "jobTitle was set back twice since 2026-03-02: something else writes it too."


def test_plan_drift_and_json_name_it(ours: World, theirs: World) -> None:
    """Whoever looks at one of them alone has to find out."""
    for _ in range(2):
        applies(theirs)
        applies(ours)
    applies(theirs)
    planned = ours.plan()
    plan, said = planned.plan, "something else writes it"

    assert said in plain(plan_lines(plan, planned.verdict))
    assert said in plain(drift_lines(add_missing_baseline(plan)))
    assert said in json.dumps(json.loads(plan_json(plan, planned.verdict, 0))["plan"]["notices"])
    assert said in json.dumps(json.loads(drift_json(plan))["notices"])


def test_the_other_repository_is_told_as_well(ours: World, theirs: World) -> None:
    """Both count what comes back to them."""
    for _ in range(2):
        applies(theirs)
        applies(ours)

    assert [one.subject for one in flapping(theirs)] == [KIM]


def test_an_edit_of_our_own_begins_anew(ours: World, theirs: World) -> None:
    """What we meant to change came back to nobody."""
    applies(theirs)
    applies(ours)
    declares(ours, jobTitle="Head Nurse")
    applies(ours)
    applies(theirs)

    assert flapping(ours) == []


def test_another_field_that_is_changed_once_is_not_named(ours: World, theirs: World) -> None:
    """The sentence names what came back, and no more."""
    for _ in range(2):
        applies(theirs)
        applies(ours)
    declares(ours, jobTitle="Nurse", lastName="Park")
    applies(ours)
    declares(theirs, jobTitle="Manager", lastName="Parker")
    applies(theirs)

    (notice,) = flapping(ours)

    assert "jobTitle" in notice.what
    assert "lastName" not in notice.what


def test_what_is_calm_for_a_month_is_named_no_more(ours: World, theirs: World) -> None:
    """A plan that warns for ever is read by nobody."""
    for _ in range(2):
        applies(theirs)
        applies(ours)
    assert flapping(ours) != []
    ours.clock.pass_s(31 * 86_400)

    assert flapping(ours) == []


def test_who_adopts_what_another_stack_of_the_store_owns_is_told_so(ours: World, tmp_path: Path) -> None:
    """A shared store knows both; with a store each nobody can see it before a field comes back."""
    (tmp_path / "other").mkdir()
    other = beside(ours, tmp_path / "other", store=f"sqlite:///{ours.root / 'store.db'}")

    (notice,) = flapping(other)

    assert notice.subject == KIM
    assert "stack test also owns it" in notice.what
    declares(other, jobTitle="Nurse")
    (notice,) = flapping(other)  # adopted as it is
    applies(other)
    assert flapping(other) == []
    other.write({"contacts": {}})
    (notice,) = flapping(other)
    assert "this stack deletes it" in notice.what


def test_counts_are_kept_through_applies_that_change_nothing(ours: World, theirs: World) -> None:
    """A time of change is refreshed in the record, and the counts stay."""
    applies(theirs)
    applies(ours)
    applies(ours)
    applies(theirs)

    assert [one.subject for one in flapping(ours)] == [KIM]


def test_counts_come_back_from_the_store_as_they_were_written(ours: World, theirs: World) -> None:
    """By path: how often, since when, and when last."""
    for _ in range(2):
        applies(theirs)
        applies(ours)

    (record,) = ours.plan().recorded.entities.values()

    assert {path: flap.times for path, flap in record.flaps.items()} == {"jobTitle": 2}
    assert record.flaps["jobTitle"].since < record.flaps["jobTitle"].last
