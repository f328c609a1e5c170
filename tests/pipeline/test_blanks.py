"""Blanks around live values: a difference, once, and no endless one."""

import json
from pathlib import Path
from typing import Any

import pytest
from wire import Rule, edited
from world import World

from reconciler.core.compare.readback import judge_read_back, reads_back_as
from reconciler.model.plans import Update

JANE: dict[str, Any] = {"firstName": "Jane", "workEmailAddress1": "jane@example.com", "jobTitle": "Nurse"}


def _world(root: Path, **fields: str) -> World:
    world = World(root)
    world.write({"contacts": {"jane": {**JANE, **fields}}})
    return world


def _edit(world: World, **fields: str) -> None:
    """Write these values by hand, as the service took them from an older version."""

    async def edit(client: Any) -> None:
        (row,) = await client.contacts.list(workspace="")
        found = await client.contacts.get(row.remote_id, workspace="")
        body = {key: value for key, value in found.body.items() if key not in ("id", "link", "type", "mri")}
        await client.contacts.replace(row.remote_id, {**body, **fields}, workspace="")

    world.behind_our_back(edit)


def _live(world: World) -> dict[str, Any]:
    async def look(client: Any) -> dict[str, Any]:
        (row,) = await client.contacts.list(workspace="")
        body: dict[str, Any] = (await client.contacts.get(row.remote_id, workspace="")).body
        return body

    found: dict[str, Any] = world.behind_our_back(look)
    return found


def _changes(world: World) -> list[tuple[str, object, object, str]]:
    return [
        (field.path, field.before, field.after, field.cause)
        for change in world.plan().plan.changes
        if isinstance(change, Update)
        for field in change.fields
    ]


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u200b"])
def test_what_is_sent_has_no_blanks_at_its_edges(tmp_path: Path, blank: str) -> None:
    """The plan shows it so, and the service keeps what it is sent."""
    world = _world(tmp_path, jobTitle=f"Nurse{blank}", firstName=f"{blank}Jane")

    world.apply()

    assert {path: _live(world)[path] for path in JANE} == JANE
    assert _changes(world) == []


@pytest.mark.parametrize("live", ["Nurse ", "\u00a0Nurse", "Nurse\u200b", "Nurse\n"])
def test_a_live_value_with_blanks_is_written_once(tmp_path: Path, live: str) -> None:
    """An older version sent it so. Nobody has changed it since, so it is no drift."""
    world = _world(tmp_path)
    world.apply()
    _edit(world, jobTitle=live)

    assert _changes(world) == [("jobTitle", live, "Nurse", "declared")]
    world.apply()

    assert _live(world)["jobTitle"] == "Nurse"
    assert _changes(world) == []


def test_a_person_is_recognized_whatever_blanks_are_around_the_address(tmp_path: Path) -> None:
    """She must not be made a second time."""
    world = _world(tmp_path)
    world.apply()
    _edit(world, workEmailAddress1="jane@example.com ")
    for file in tmp_path.glob("store.db*"):
        file.unlink()

    planned, _ = world.apply()

    assert [type(one) for one in planned.plan.changes] == [Update]
    assert _live(world)["workEmailAddress1"] == "jane@example.com"
    assert _changes(world) == []


def test_a_service_that_writes_the_blank_back_is_asked_once(tmp_path: Path) -> None:
    """That is its way of writing: said, remembered, and no change from then on."""
    world = _world(tmp_path)

    def padded(body: dict[str, Any]) -> None:
        for row in [body, *body.get("contacts", [])]:
            if "jobTitle" in row:
                row["jobTitle"] = row["jobTitle"].rstrip() + " "

    world.wire.rules.append(Rule("", edited(padded)))
    _, run = world.apply()

    (outcome,) = run.outcomes
    assert outcome.result == "applied"
    assert "jobTitle" in outcome.what
    assert _changes(world) == []
    world.sent()
    _, again = world.apply()
    assert again.outcomes == ()
    assert world.sent().keys() == {"GET"}


def test_a_service_that_pads_what_it_had_before_is_asked_once(tmp_path: Path) -> None:
    """A record of an older version lacks the blank, so the value is sent once more, and then known."""
    world = _world(tmp_path)
    world.apply()

    def padded(body: dict[str, Any]) -> None:
        for row in [body, *body.get("contacts", [])]:
            if "jobTitle" in row:
                row["jobTitle"] = f" {row['jobTitle'].strip()}"

    world.wire.rules.append(Rule("GET", edited(padded)))

    assert _changes(world) == [("jobTitle", " Nurse", "Nurse", "declared")]
    _, run = world.apply()
    assert [one.result for one in run.outcomes] == ["applied"]
    assert _changes(world) == []


def test_a_password_with_a_blank_is_sent_and_compared_with_it(tmp_path: Path) -> None:
    """Compared without it, a correction would never be sent."""
    world = _world(tmp_path, password="secret ")
    world.apply()
    assert _changes(world) == []

    world.write({"contacts": {"jane": {**JANE, "password": "secret"}}})

    assert [path for path, *_ in _changes(world)] == ["password"]
    world.apply()
    bodies = [json.loads(body) for body in world.wire.bodies if body]
    assert [body.get("password") for body in bodies] == ["secret ", "secret"]


@pytest.mark.parametrize(("sent", "shown"), [("Nurse", "Nurse "), ("Nurse", "\u00a0Nurse")])
@pytest.mark.parametrize("before", ["", "Nurse ", "Porter"])
def test_blanks_around_what_was_sent_are_a_way_of_writing_it(sent: str, shown: str, before: str) -> None:
    """Refused, the value would be sent with each apply."""
    found = judge_read_back(
        "contact", {"jobTitle": sent}, {"jobTitle": shown}, before={"jobTitle": before}, salt="s"
    )

    assert [one.path for one in found.rewritten] == ["jobTitle"]
    assert found.taken == {"jobTitle"}
    assert not reads_back_as("contact", "jobTitle", sent, shown)
