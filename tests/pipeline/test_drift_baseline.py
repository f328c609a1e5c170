"""Drift says what it was compared with: nothing recorded and nothing applied is never "no drift"."""

import json
from pathlib import Path
from typing import Any

import pytest
from world import World

from reconciler.core.review.drift import add_missing_baseline, drift_exit_code, summarize_drift
from reconciler.model.plans import Options, Plan, Verdict
from reconciler.model.settings import WorkspaceRef
from reconciler.report.html import html
from reconciler.report.json import drift_json
from reconciler.report.junit import junit
from reconciler.report.markdown import markdown
from reconciler.report.metrics import prometheus
from reconciler.report.review_document import Review
from reconciler.report.sarif import sarif
from reconciler.report.text import drift_lines, plain
from reconciler.sandbox.app import SandboxConfig

OPERATIONS = "4C8FE1A2B3D4E5F6"
PEOPLE = {"kim": {"firstName": "Kim", "workEmailAddress1": "kim@example.com", "workCountry": "Australia"}}
MORE = {"lee": {"firstName": "Lee", "workEmailAddress1": "lee@example.com", "workCountry": "Australia"}}
NO_DRIFT = "No drift: everything is as the last apply left it."


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two workspaces; one person is declared in the default one, and nothing was applied."""
    made = World(
        tmp_path,
        config=SandboxConfig(workspaces=(("Operations", OPERATIONS),)),
        workspaces={"default": WorkspaceRef(), "ops": WorkspaceRef(id=OPERATIONS)},
    )
    made.write({"contacts": PEOPLE})
    return made


def drift(world: World, options: Options | None = None) -> Plan:
    return add_missing_baseline(world.plan(options=options).plan)


def test_drift_without_a_store_compares_nothing_and_says_so(world: World) -> None:
    """A CI job without its cache would be green for ever."""
    world.apply()
    assert (drift_exit_code(drift(world)), summarize_drift(drift(world))) == (0, NO_DRIFT)
    for path in world.root.glob("store.db*"):
        path.unlink()

    found = drift(world)

    assert drift_exit_code(found) == 1
    assert found.unapplied == ("default",)
    assert "Nothing was compared in default" in summarize_drift(found)
    assert NO_DRIFT not in plain(drift_lines(found))


def test_every_report_of_drift_says_that_nothing_was_compared(world: World) -> None:
    """Somebody reads only one of them."""
    review = Review("drift", drift(world), Verdict(), 1)

    for form in (markdown, html, junit, sarif):
        text = form(review)
        said = text if isinstance(text, str) else "".join(text)
        assert NO_DRIFT.removesuffix(".") not in said, form
        assert "nothing was compared" in said.casefold(), form
    assert "<failure" in junit(review)
    numbers = prometheus(review)
    assert 'reconciler_unapplied{stack="test",command="drift"} 1' in numbers
    assert 'reconciler_not_applied_yet{stack="test",command="drift"} 1' in numbers
    told = json.loads(drift_json(drift(world)))
    assert (told["exit_code"], told["unapplied"], told["not_applied_yet"]) == (1, ["default"], 1)


def test_a_workspace_that_was_never_applied_is_named_beside_others_that_drift(world: World) -> None:
    """A part that was compared must not make all of it look so."""
    world.apply()
    world.write({"workspace": "ops", "contacts": MORE}, "ops.json")

    found = drift(world)

    assert (drift_exit_code(found), found.unapplied) == (1, ("ops",))
    assert [one.subject for one in found.notices if one.kind == "unapplied"] == ["ops"]


def test_what_was_declared_since_is_counted_and_is_no_drift(world: World) -> None:
    """Somebody merged a line; nobody changed anything at the service."""
    world.apply()
    world.write({"contacts": {**PEOPLE, **MORE}})

    found = drift(world)

    assert drift_exit_code(found) == 0
    assert summarize_drift(found) == f"{NO_DRIFT} 1 not yet applied."
    assert json.loads(drift_json(found))["not_applied_yet"] == 1


def test_what_is_not_applied_yet_stands_beside_real_drift(world: World) -> None:
    """And exit code 2 stays what it is."""
    world.apply()
    remote_id = next(iter(world.plan().recorded.entities.values())).remote_id

    async def retitle(client: Any) -> None:
        found = await client.contacts.get(remote_id, workspace="")
        await client.contacts.replace(remote_id, {**found.body, "firstName": "Kimberly"}, workspace="")

    world.behind_our_back(retitle)
    world.write({"contacts": {**PEOPLE, **MORE}})

    found = drift(world)

    assert drift_exit_code(found) == 2
    assert summarize_drift(found) == "1 entity changed since the last apply. 1 not yet applied."


def test_an_apply_of_nothing_is_an_apply(world: World) -> None:
    """Nobody is declared yet, and that was applied: who is declared later is not yet applied."""
    world.write({"contacts": {}})
    world.apply()
    world.write({"contacts": PEOPLE})

    found = drift(world)

    assert (drift_exit_code(found), found.unapplied or ()) == (0, ())


def test_an_apply_of_a_part_counts_where_it_recorded_something(world: World) -> None:
    """`--only` leaves the rest not yet applied, and another workspace without anything to compare with."""
    world.write({"contacts": {**PEOPLE, **MORE}})
    world.write({"workspace": "ops", "contacts": MORE}, "ops.json")
    world.apply(options=Options(only=("contact/default/kim",)))

    found = drift(world)

    assert (drift_exit_code(found), found.unapplied) == (1, ("ops",))
    assert drift_exit_code(drift(world, Options(only=("workspace:default",)))) == 0


def test_a_workspace_in_which_nothing_is_declared_lacks_nothing(world: World) -> None:
    """`contacts: {}` of somebody who has not begun is no lost store."""
    world.write({"contacts": {}})

    assert drift_exit_code(drift(world)) == 0


def test_a_plan_says_nothing_of_it(world: World) -> None:
    """The first plan of everybody would warn of it."""
    plan = world.plan().plan

    assert plan.notices == ()
    assert plan.count("create") == 1
