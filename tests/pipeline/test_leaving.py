"""What leaves the manifests and stays at the service: its record goes, and nothing live but our mark (X7)."""

from pathlib import Path
from typing import Any

import pytest
import tally
from engine.liars import yes
from pipeline.test_resume import PHONE, gone_on, person
from world import World

from reconciler.cli.planning import find_plan_exit_code
from reconciler.cli.sandbox_collections import build_own_collections
from reconciler.core.review.drift import find_drift
from reconciler.engine.resources import open_run_store
from reconciler.errors import ManifestError, StalePlan
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Consent, Delete, Options, Update
from reconciler.report.text import plain, plan_lines
from reconciler.service.profile import load_profile

OWN = Path(__file__).parents[2] / "examples" / "own-kinds" / "profile.yaml"
MARK = {"mark": "managedBy"}
PEOPLE = {"jane": person("jane", devices=PHONE), "sam": person("sam"), "lee": person("lee")}
WITHOUT_JANE = {"sam": person("sam"), "lee": person("lee")}
GONE = ["contact/default/jane", "device/default/jane/pixel"]
MARKS = pytest.mark.parametrize("changes", [{}, MARK], ids=["no mark", "mark"])


def built(folder: Path, changes: dict[str, Any]) -> World:
    """A world in which three people are ours, and one of them is about to leave."""
    folder.mkdir(exist_ok=True)
    world = World(folder, changes=changes)
    world.write({"contacts": PEOPLE})
    world.apply()
    world.clock.pass_s(60)
    world.write({"contacts": WITHOUT_JANE, "removed": {"contacts": ["jane"]}})
    return world


def live(world: World) -> dict[str, Any]:
    """Every contact at the service by first name, but for our mark and what the service alone owns."""

    async def look(client: Any) -> list[Any]:
        return [(await client.contacts.get(row.remote_id)).body for row in await client.contacts.list()]

    bodies = world.behind_our_back(look)
    for body in bodies:
        for name in KINDS["contact"].server_owned:
            body.pop(name, None)
        body["customFields"] = [
            one for one in body.get("customFields", []) if one["fieldName"] != "managedBy"
        ]
    return {body["firstName"]: body for body in bodies}


def ours(world: World) -> list[str]:
    return sorted(world.plan().recorded.entities)


def sent(world: World, since: int) -> list[str]:
    return [method for method, _ in world.wire.sent[since:] if method != "GET"]


def history(world: World) -> list[tuple[str, str]]:
    async def work() -> list[tuple[str, str]]:
        async with open_run_store(world.settings, world.dependencies, create=False) as store:
            found = store.history(limit=20, run="")
            return [(one.action, one.entity) for one in found if one.action == "forget"]

    return world.run(work())


@MARKS
def test_what_is_removed_stays_and_is_ours_no_longer(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Live is as before but for the mark, the next plan is empty; devices leave with their contact."""
    world = built(tmp_path, changes)
    before, since = live(world), len(world.wire.sent)

    planned, run = world.apply()

    assert list(map(str, planned.plan.forgotten)) == GONE
    assert sent(world, since) == (["PUT"] if changes else [])
    assert run.exit_code == 0, run.outcomes
    assert live(world) == before
    assert ours(world) == ["contact/default/lee", "contact/default/sam"]
    left = world.plan().plan
    assert (left.changes, left.to_keep, left.skips, left.notices) == ((), 0, (), ())
    assert left.unmanaged == {"contacts in default": 1}
    assert len(history(world)) == len(GONE)


@MARKS
def test_declared_again_it_is_adopted(tmp_path: Path, changes: dict[str, Any]) -> None:
    """It is a stranger by then, and existed before: so a later delete of it says (X6)."""
    world = built(tmp_path, changes)
    world.apply()
    world.clock.pass_s(60)
    world.write({"contacts": PEOPLE})

    planned, run = world.apply()

    by = [one.adopts for one in planned.plan.changes if isinstance(one, Update) and one.adopts]
    by += [one.by for one in planned.plan.adoptions]
    assert by == (["workEmailAddress1", "appId+deviceName"]), planned.plan
    assert run.exit_code == 0, run.outcomes
    world.write({"contacts": WITHOUT_JANE})
    (change,) = world.plan().plan.changes
    assert isinstance(change, Delete)
    assert change.adopted


def test_records_that_leave_are_work_that_is_told_and_approved(tmp_path: Path) -> None:
    """Skipped by CI, the entry would be pruned when its name is taken out of `removed:` again."""
    world = built(tmp_path, {})

    planned = world.plan()

    text = plain(plan_lines(planned.plan, planned.verdict))
    assert "2 records to update.  next: reconciler apply" in text
    said = "removed from the manifests; no longer owned, and the live entity stays"
    assert text.count(said) == len(GONE)
    assert find_plan_exit_code(planned, detailed=True) == 2
    assert find_drift(planned.plan) == ()
    world.write({"contacts": WITHOUT_JANE})
    with pytest.raises(StalePlan):
        world.apply(saved=planned.plan)


def test_a_removed_name_is_not_deleted_by_the_guards_leave(tmp_path: Path) -> None:
    """Two leave, and one is to be deleted: that one would be the last of its kind."""
    world = built(tmp_path, {})
    world.write({"contacts": {}, "removed": {"contacts": ["jane", "sam"]}})

    verdict = world.plan(consent=Consent()).verdict

    assert [reason.rule for reason in verdict.reasons] == ["G1"]
    assert "none would be left" in verdict.reasons[0].what


def test_a_device_alone_may_leave(tmp_path: Path) -> None:
    """Its contact stays declared, with a list of devices or without one."""
    both: list[dict[str, Any]] = [{"devices": {}}, {}]
    for number, devices in enumerate(both):
        world = built(tmp_path / str(number), {})
        people = {**WITHOUT_JANE, "jane": person("jane", **devices)}
        world.write({"contacts": people, "removed": {"devices": ["jane/pixel"]}})
        before = live(world)

        planned, _ = world.apply()

        assert list(map(str, planned.plan.forgotten)) == ["device/default/jane/pixel"]
        assert live(world) == before
        assert "device/default/jane/pixel" not in ours(world)
        assert world.plan().plan.notices == ()


def test_protection_ends_where_the_name_leaves(tmp_path: Path) -> None:
    """What is not ours is never deleted, so nothing is left to protect it from."""
    world = built(tmp_path, {})
    world.write({"contacts": {**WITHOUT_JANE, "jane": person("jane", meta={"protect": True})}})
    world.apply()
    world.write({"contacts": WITHOUT_JANE, "removed": {"contacts": ["jane"]}})

    planned, _ = world.apply()

    assert "contact/default/jane" in planned.plan.forgotten
    assert planned.plan.skips == ()


def test_what_nobody_knows_says_nothing_and_brings_no_scope_in(tmp_path: Path) -> None:
    """The name stays in git for other environments; `removed: contacts` prunes nobody."""
    world = built(tmp_path, {})
    world.write({"resources": {}, "removed": {"contacts": ["nobody"]}})

    planned = world.plan()

    assert (planned.plan.changes, planned.plan.to_keep, planned.plan.notices) == ((), 0, ())
    assert planned.plan.outside == {"contacts in default": 3, "devices in default": 1}


def test_what_leaves_without_a_section_of_its_kind_is_forgotten_unseen(tmp_path: Path) -> None:
    """Nothing of it is read or written, so the section need not come back for it."""
    world = built(tmp_path, {})
    world.write({"removed": {"contacts": ["jane"]}})
    since = len(world.wire.sent)

    planned, _ = world.apply()

    assert list(map(str, planned.plan.forgotten)) == GONE
    assert world.wire.sent[since:] == []
    assert world.plan().plan.to_keep == 0


def test_a_mark_without_a_section_of_its_kind_stays_and_is_told(tmp_path: Path) -> None:
    """Forgotten without it, she would be found by her mark, and pruned (X5)."""
    world = built(tmp_path, MARK)
    world.write({"removed": {"contacts": ["jane"]}})

    planned = world.plan()

    assert planned.plan.to_keep == 0
    assert [one.subject for one in planned.plan.notices] == GONE


def test_a_mark_stays_where_its_write_would_lose_a_password(tmp_path: Path) -> None:
    """A PUT without what cannot be read back removes it (A4)."""
    world = World(tmp_path, changes=MARK)
    world.write({"contacts": {"jane": person("jane", password="invented-1"), "sam": person("sam")}})
    world.apply()
    world.write({"contacts": {"sam": person("sam")}, "removed": {"contacts": ["jane"]}})

    plan = world.plan().plan

    assert [skip.reason for skip in plan.skips] == ["still marked"]
    assert "password" in plan.skips[0].what
    assert (plan.changes, plan.to_keep) == ((), 0)


def test_a_mark_that_the_service_keeps_keeps_the_record(tmp_path: Path) -> None:
    """Forgotten all the same, she would be found by her mark, and pruned."""
    world = built(tmp_path, MARK)
    world.meets(yes(), "PUT")

    _, run = world.apply()

    assert [one.result for one in run.outcomes] == ["failed"]
    assert "contact/default/jane" in ours(world)
    assert [type(one) for one in world.plan().plan.changes] == [Update]


@pytest.mark.parametrize(
    ("manifest", "what"),
    [
        ({"contacts": PEOPLE, "removed": {"contacts": ["jane"]}}, "is removed here, but still declared"),
        (
            {
                "contacts": {"jo": person("jo", meta={"renamedFrom": "jane"})},
                "removed": {"contacts": ["jane"]},
            },
            "contact/default/jane is removed",
        ),
        ({"removed": {"contacts": ["Jane Doe"]}}, "removed.contacts[1]"),
        ({"removed": {"devices": ["pixel"]}}, "removed.devices[1]"),
        ({"removed": {"contacts": {"jane": {}}}}, "removed.contacts"),
        ({"removed": {"people": ["jane"]}}, "people"),
    ],
)
def test_a_contradiction_is_told_at_its_line(tmp_path: Path, manifest: dict[str, Any], what: str) -> None:
    """A name that is declared would be adopted again at once; any other form means nothing."""
    world = World(tmp_path)
    world.write(manifest)

    with pytest.raises(ManifestError) as caught:
        world.plan()

    (problem,) = caught.value.problems
    assert what in problem.what
    assert (problem.file, problem.line) == ("manifests/main.json", 1)


def test_an_undo_does_not_make_it_ours_again(tmp_path: Path) -> None:
    """The mark alone would make it so, and the next apply would prune her."""
    world = built(tmp_path, MARK)

    undo = world.apply_with_undo()

    assert undo.changes == ()
    assert [skip.reason for skip in undo.skips] == ["not restored"]
    assert undo.owned.get("contacts in default", 2) == 2


@MARKS
def test_killed_at_any_effect_she_is_live_and_not_ours_in_the_end(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    """Between the record and the mark too: what the one forgot, the other must not prune."""
    before = live(built(tmp_path / "before", changes))
    for world, _, _ in gone_on(lambda name: built(tmp_path / name, changes)):
        assert live(world).keys() == before.keys()
        assert ours(world) == ["contact/default/lee", "contact/default/sam"]
        left = world.plan().plan
        assert (left.changes, left.to_keep) == ((), 0)
        tally.count("crash points", "while somebody leaves")


def test_a_kind_of_ones_own_leaves_alike(tmp_path: Path) -> None:
    """Nothing of it knows a kind."""
    world = World(
        tmp_path, service={"profile": str(OWN)}, collections=build_own_collections(load_profile(str(OWN)))
    )
    entry = {"name": "hello", "subject": "A word", "body": "Good morning", "type": "defaultReply"}
    try:
        world.write({"templates": {"hello": entry}})
        world.apply()
        world.write({"templates": {}, "removed": {"templates": ["hello"]}})
        since = len(world.wire.sent)

        planned, _ = world.apply()

        assert list(map(str, planned.plan.forgotten)) == ["template/default/hello"]
        assert sent(world, since) == []
        assert world.plan().plan.to_keep == 0
    finally:
        KINDS.bring(())


def test_the_command_line_says_the_same_for_once(tmp_path: Path) -> None:
    """`forget`: as if the name stood under `removed:`, and part of what was approved."""
    world = built(tmp_path, {})
    world.write({"contacts": WITHOUT_JANE})
    options = Options(only=("contact/default/jane",), forget=("contact/default/jane",))
    before = live(world)

    planned, run = world.apply(options=options)

    assert (list(map(str, planned.plan.forgotten)), run.exit_code) == (GONE, 0)
    assert live(world) == before
    assert world.plan().plan.to_keep == 0


def test_what_is_declared_is_not_forgotten_whatever_the_options_say(tmp_path: Path) -> None:
    """It would be adopted again at once; nor do the devices of which its entry says nothing."""
    world = built(tmp_path, {})
    world.write({"contacts": {**WITHOUT_JANE, "jane": person("jane")}})

    plan = world.plan(options=Options(forget=("contact/default/jane",))).plan

    assert plan.to_keep == 0
