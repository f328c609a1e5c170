"""Who moves to another workspace: shown as a move, guarded, made before she is deleted (rules A5 and G8)."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from wire import Rule, answered, lost_after, lost_before
from world import PHONE, World, actions

from reconciler.model.address import contact_address
from reconciler.model.plans import Consent, Move, Verdict
from reconciler.model.settings import WorkspaceRef
from reconciler.report.html import html
from reconciler.report.json import plan_json
from reconciler.report.junit import junit
from reconciler.report.markdown import markdown
from reconciler.report.review_document import Review
from reconciler.report.sarif import sarif
from reconciler.report.text import plain, plan_lines
from reconciler.sandbox.app import SandboxConfig

IDS = {"ops": "4C8FE1A2B3D4E5F6", "lab": "5D9FE1A2B3D4E5F7"}
PERSON = {"firstName": "Kim", "workEmailAddress1": "kim@example.com", "workCountry": "Australia"}
LEE = {"firstName": "Lee", "workEmailAddress1": "lee@example.com", "workCountry": "Australia"}
MOBILE = "+61491570156"
BEFORE, AFTER = contact_address("ops", "kim"), contact_address("lab", "kim")
ALLOWED = Consent(deletes=9, creates=9, updates=9, moves=9)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Kim and Lee are ours in ops; Kim has a number and a title that others have written."""
    made = World(
        tmp_path,
        config=SandboxConfig(workspaces=(("Operations", IDS["ops"]), ("Laboratory", IDS["lab"]))),
        workspaces={"default": WorkspaceRef(), **{name: WorkspaceRef(id=one) for name, one in IDS.items()}},
    )
    declares(made, ops={"kim": PERSON, "lee": LEE}, lab={})
    made.apply()
    made.behind_our_back(writes(made, workMobilePhone1=MOBILE, jobTitle="Nurse"))
    return made


def declares(world: World, **workspaces: Any) -> None:
    for name, contacts in workspaces.items():
        world.write({"workspace": name, "contacts": contacts}, f"{name}.json")


def moves(world: World, *, name: str = "kim", **more: Any) -> None:
    """Declare Kim in lab and no longer in ops."""
    declares(world, ops={"lee": LEE}, lab={name: {**PERSON, **more}})


def writes(world: World, **fields: str) -> Any:
    remote_id = world.plan().recorded.entities[BEFORE].remote_id

    async def edit(client: Any) -> None:
        found = await client.contacts.get(remote_id, workspace=IDS["ops"])
        await client.contacts.replace(remote_id, {**found.body, **fields}, workspace=IDS["ops"])

    return edit


def people(world: World, workspace: str) -> list[dict[str, Any]]:
    """Return who is live in a workspace, as a user of the service sees them."""

    async def look() -> list[dict[str, Any]]:
        async with world.client() as client:
            page = await client.contacts.page(workspace=IDS[workspace])
            found = [await client.contacts.get(row.remote_id, workspace=IDS[workspace]) for row in page.rows]
            return [one.body for one in found]

    return world.run(look())


def kims(world: World, workspace: str) -> list[dict[str, Any]]:
    return [one for one in people(world, workspace) if one["firstName"] == "Kim"]


def test_a_delete_and_a_create_of_one_person_are_a_move_that_names_what_is_lost(world: World) -> None:
    """A live mobile number was lost, and the plan spoke of a create and a delete."""
    moves(world)

    planned = world.plan(consent=Consent(deletes=9))

    assert actions(planned.plan) == ["Create", "Delete"]
    assert planned.plan.moves == (Move(BEFORE, AFTER, ("jobTitle", "workMobilePhone1")),)
    (reason,) = planned.verdict.reasons
    assert (reason.rule, reason.count) == ("G8", 1)
    assert "--allow-moves 1" in reason.next
    assert MOBILE not in reason.what


def test_every_form_of_a_plan_shows_the_move(world: World) -> None:
    """A reviewer may read only one of them."""
    moves(world)
    planned = world.plan(consent=ALLOWED)
    review = Review("plan", planned.plan, planned.verdict, 0)

    text = plain(plan_lines(planned.plan, planned.verdict))
    assert f"moves to {AFTER}" in text
    assert f"moves from {BEFORE}" in text
    assert MOBILE in text  # the live value stands with the delete
    for form in (markdown, html, junit, sarif):
        made = form(review)
        said = made if isinstance(made, str) else "".join(made)
        assert "workMobilePhone1" in said, form
        assert "that are lost" in said, form
    told = json.loads(plan_json(planned.plan, Verdict(), 0))["plan"]
    assert told["moves"][0]["lost"] == ["jobTitle", "workMobilePhone1"]


def test_a_loss_that_is_allowed_is_carried_out_once(world: World) -> None:
    """Created first, and deleted after that was seen."""
    moves(world)

    _, run = world.apply(consent=ALLOWED)

    assert [(one.address, one.action, one.result) for one in run.outcomes] == [
        (AFTER, "create", "applied"),
        (BEFORE, "delete", "applied"),
    ]
    assert (len(kims(world, "ops")), len(kims(world, "lab"))) == (0, 1)
    assert world.plan().plan.empty


def test_carry_over_copies_what_nobody_declared_and_it_stays_nobodys(world: World) -> None:
    """Copied once; the next plan neither clears it nor takes it for drift."""
    moves(world, meta={"carryOver": True})

    planned = world.plan(consent=Consent(deletes=9))
    assert planned.verdict.safe
    assert planned.plan.moves == (Move(BEFORE, AFTER, (), (), ("jobTitle", "workMobilePhone1")),)
    assert "carried over though not declared" in plain(plan_lines(planned.plan, planned.verdict))
    world.apply(consent=ALLOWED)

    (kim,) = kims(world, "lab")
    assert (kim["workMobilePhone1"], kim["jobTitle"]) == (MOBILE, "Nurse")
    again = world.plan()
    assert again.plan.empty
    assert not {"jobTitle", "workMobilePhone1"} & again.recorded.entities[AFTER].sent.keys()


def test_what_is_declared_is_not_lost_and_wins_over_what_is_carried(world: World) -> None:
    """The manifest says what she is called; only the rest is copied."""
    moves(world, jobTitle="Chemist", meta={"carryOver": True})

    world.apply(consent=ALLOWED)

    (kim,) = kims(world, "lab")
    assert (kim["jobTitle"], kim["workMobilePhone1"]) == ("Chemist", MOBILE)


def test_a_move_that_loses_nothing_asks_nobody(world: World) -> None:
    """Everything live is declared: the delete has its own limits."""
    moves(world, workMobilePhone1=MOBILE, jobTitle="Nurse")

    planned = world.plan(consent=Consent(deletes=9))

    assert planned.plan.moves == (Move(BEFORE, AFTER),)
    assert planned.verdict.safe
    assert [one.kind for one in planned.plan.notices] == []


def test_a_move_under_another_name_is_one(world: World) -> None:
    """The identity decides, as everywhere."""
    moves(world, name="kim-park")

    assert [one.after for one in world.plan().plan.moves or ()] == [contact_address("lab", "kim-park")]


def test_two_people_who_change_places_with_a_stranger_are_no_move(world: World) -> None:
    """Another address is another person, whatever she is called."""
    declares(world, ops={"lee": LEE}, lab={"kim": {**PERSON, "workEmailAddress1": "kim.park@example.com"}})

    assert not world.plan().plan.moves


def test_a_device_that_others_registered_is_named_as_lost(world: World) -> None:
    """She would get no push any more, and no field says so."""
    remote_id = world.plan().recorded.entities[BEFORE].remote_id

    async def register(client: Any) -> None:
        await client.devices.create({**PHONE, "pushToken": "a-token"}, workspace=IDS["ops"], parent=remote_id)

    world.behind_our_back(register)
    moves(world, workMobilePhone1=MOBILE, jobTitle="Nurse")

    planned = world.plan(consent=Consent(deletes=9))

    (move,) = planned.plan.moves or ()
    assert (move.lost, move.devices) == ((), ("phone",))
    assert [reason.rule for reason in planned.verdict.reasons] == ["G8"]


@pytest.mark.parametrize("fault", [answered(422), answered(500), lost_before])
def test_nobody_is_deleted_before_she_is_made(world: World, fault: Any) -> None:
    """Refused, failed or in doubt: who is there stays there."""
    moves(world)
    world.meets(fault, "POST")

    _, run = world.apply(consent=ALLOWED)

    assert [(one.address, one.result) for one in run.outcomes if one.action == "delete"] == [
        (BEFORE, "skipped")
    ]
    assert len(kims(world, "ops")) == 1


def test_a_move_whose_create_lost_its_answer_is_finished_by_the_next_apply(world: World) -> None:
    """It landed: nobody is made twice, and then the old one goes."""
    moves(world)
    world.meets(lost_after, "POST")
    world.apply(consent=ALLOWED)
    world.wire.rules.clear()

    _, run = world.apply(consent=ALLOWED)

    assert run.exit_code == 0
    assert (len(kims(world, "ops")), len(kims(world, "lab"))) == (0, 1)
    assert world.plan().plan.empty


def test_a_move_that_was_cut_off_between_its_writes_is_finished_by_resume(world: World) -> None:
    """Both are there then; the consent that was given holds."""
    moves(world)
    world.wire.rules.append(Rule("DELETE", answered(503)))
    world.apply(consent=ALLOWED)
    assert (len(kims(world, "ops")), len(kims(world, "lab"))) == (1, 1)
    world.wire.rules.clear()
    world.clock.pass_s(60)

    world.resume()
    world.apply(consent=ALLOWED)

    assert (len(kims(world, "ops")), len(kims(world, "lab"))) == (0, 1)
    assert world.plan().plan.empty


def test_the_undo_of_a_move_makes_her_again_before_it_deletes_her(world: World) -> None:
    """With what others had written: the run kept what it deleted."""
    moves(world)
    kept: list[Any] = []
    world.apply(consent=ALLOWED, keep_undo=kept.append)
    world.clock.pass_s(60)
    assert kept[0].moves == (Move(AFTER, BEFORE),)

    run = world.undo(kept[0], consent=ALLOWED)

    assert {(one.address, one.action, one.result) for one in run.outcomes} == {
        (BEFORE, "create", "applied"),
        (AFTER, "delete", "applied"),
    }
    (kim,) = kims(world, "ops")
    assert (kim["workMobilePhone1"], kim["jobTitle"]) == (MOBILE, "Nurse")
    assert kims(world, "lab") == []


def test_an_undo_that_cannot_make_her_again_deletes_nobody(world: World) -> None:
    """Or a mistake would be undone by a worse one."""
    moves(world)
    kept: list[Any] = []
    world.apply(consent=ALLOWED, keep_undo=kept.append)
    world.clock.pass_s(60)
    world.meets(answered(422), "POST")

    world.undo(kept[0], consent=ALLOWED)

    assert len(kims(world, "lab")) == 1


def test_a_plan_file_holds_the_move_and_what_it_loses(world: World) -> None:
    """What a reviewer read is what is done: one more live field makes it stale."""
    moves(world)
    saved = world.plan(consent=ALLOWED).plan
    assert structs.replace(saved, moves=()) != saved

    _, run = world.apply(saved=saved, consent=ALLOWED)

    assert run.exit_code == 0
