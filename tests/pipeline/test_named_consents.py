"""Consent in manifests, from the file to the delete: plan, saved plan, apply, delta plan and resume."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from pipeline.test_delta import Company
from world import World

from reconciler import pipeline
from reconciler.core.planning.fingerprint import fingerprint
from reconciler.errors import StalePlan
from reconciler.model.documents import NamedConsent
from reconciler.model.plans import Consent, Plan

NONE = Consent()
PEOPLE = ("ada", "jane", "kim", "lee", "may", "sam")


def people(*names: str, **more: Any) -> dict[str, Any]:
    entries = {
        name: {"firstName": name, "lastName": "Doe", "workEmailAddress1": f"{name}@example.com"}
        for name in names
    }
    return {"contacts": entries, **more}


def agreed(world: World, *names: str, days: int = 1) -> list[dict[str, Any]]:
    """Consent to these deletes, to the end of a day that is so many days ahead."""
    day = (world.clock.now.date() + timedelta(days=days)).isoformat()
    return [{"delete": [f"contact/default/{name}" for name in names], "until": day, "reason": "left"}]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Six people who are live and ours."""
    made = World(tmp_path)
    made.write(people(*PEOPLE))
    made.apply(consent=NONE)
    made.clock.pass_s(60)
    return made


def consent_notices(plan: Plan) -> list[str]:
    return [one.what for one in plan.notices if one.kind == "consent"]


def test_named_deletes_pass_the_guard_and_leave_a_line_to_remove(world: World) -> None:
    """Five of six without a number; the next plan says that the lines have done their work."""
    world.write(people("ada"))
    refused = world.plan(consent=NONE)
    world.write(people("ada", consent=agreed(world, *PEOPLE[1:])))
    planned = world.plan(consent=NONE)

    run = world.apply(consent=NONE)[1]
    world.clock.pass_s(60)
    after = world.plan(consent=NONE)

    assert [one.rule for one in refused.verdict.reasons] == ["G1"]
    assert planned.verdict.safe
    assert planned.plan.changes == refused.plan.changes
    assert run.exit_code == 0
    assert len(consent_notices(after.plan)) == 5
    assert all("is used up: run " in one for one in consent_notices(after.plan))
    assert after.plan.changes == ()


def test_a_saved_plan_is_refused_once_its_consent_has_ended(world: World) -> None:
    """What was reviewed was a consent to a day; the next day is another matter."""
    world.write(people("ada", consent=agreed(world, *PEOPLE[1:], days=0)))
    saved = world.plan(consent=NONE).plan
    world.clock.pass_s(13 * 3600)
    before = len(world.wire.sent)

    with pytest.raises(StalePlan, match="same changes, but `consent:` of the manifests allows others"):
        world.apply(consent=NONE, saved=saved)

    assert saved.named_consents
    assert {method for method, _ in world.wire.sent[before:]} == {"GET"}
    assert all("ended" in one for one in consent_notices(world.plan(consent=NONE).plan))


def test_a_saved_plan_carries_its_consent_and_is_applied(world: World) -> None:
    world.write(people("ada", consent=agreed(world, *PEOPLE[1:])))
    saved = world.plan(consent=NONE).plan
    world.clock.pass_s(60)

    assert world.apply(consent=NONE, saved=saved)[1].exit_code == 0


def test_a_line_that_was_taken_away_since_makes_a_saved_plan_stale(world: World) -> None:
    """Whoever takes consent back does so before the apply."""
    world.write(people("ada", "jane", "kim", "lee", "may", consent=agreed(world, "sam")))
    saved = world.plan(consent=NONE).plan
    world.write(people("ada", "jane", "kim", "lee", "may"))

    with pytest.raises(StalePlan):
        world.apply(consent=NONE, saved=saved)


def test_a_consent_that_is_only_in_the_plan_file_lifts_nothing(world: World) -> None:
    """Whoever can write the file can seal it again; the manifests decide."""
    world.write(people("ada"))
    saved = world.plan(consent=NONE).plan
    named = tuple(
        NamedConsent(one.address, "delete", "2026-12-31", "left", "manifests/main.json:1")
        for one in saved.changes
    )
    forged = structs.replace(saved, consented=named)
    forged = structs.replace(forged, fingerprint=fingerprint(forged))
    before = len(world.wire.sent)

    with pytest.raises(StalePlan):
        world.apply(consent=NONE, saved=forged)

    assert {method for method, _ in world.wire.sent[before:]} == {"GET"}


def test_a_protected_entity_stays_whoever_consents(world: World) -> None:
    entry = {"firstName": "sam", "lastName": "Doe", "workEmailAddress1": "sam@example.com"}
    world.write(
        {"contacts": {**people(*PEOPLE[:-1])["contacts"], "sam": {**entry, "meta": {"protect": True}}}}
    )
    world.apply(consent=NONE)
    world.clock.pass_s(60)
    world.write(people(*PEOPLE[:-1], consent=agreed(world, "sam")))

    plan = world.plan(consent=NONE).plan

    assert plan.changes == ()
    assert [(one.address, one.reason) for one in plan.skips] == [("contact/default/sam", "protected")]


def test_a_plan_that_found_nothing_is_not_found_again_once_a_consent_stands_there(world: World) -> None:
    """Rule R10: the notice that it has ended would be missing from it."""
    for days, what in ((1, "matches nothing"), (-1, "ended")):
        world.write(people(*PEOPLE, consent=agreed(world, "nobody", days=days)))
        for _ in range(2):
            plan = world.plan(consent=NONE, made_of=f"these manifests {days}")

            assert [what in one for one in consent_notices(plan.plan)] == [True]
            assert plan.recorded.entities, "the plan was found and not made"


def test_a_delta_plan_uses_consent_as_a_whole_plan_does(tmp_path: Path) -> None:
    """Rule R11: who did not move is declared all the same."""
    company = Company(tmp_path)
    names = sorted(company.manifest["contacts"])
    first, staying = names[0], names[-1]
    del company.manifest["contacts"][first]
    company.manifest["consent"] = agreed(company.world, first, staying, "nobody")
    company.write()

    plan, moved = company.plan()

    assert moved
    assert [one.address.name for one in plan.named_consents] == [first]
    assert [one.removeprefix("consent to delete it ").split(":")[0] for one in consent_notices(plan)] == [
        "has no effect" if name == staying else "matches nothing" for name in sorted((staying, "nobody"))
    ]


def test_validate_says_that_a_consent_waits_for_its_entry_to_go(world: World) -> None:
    """It has no moment and no service: what has ended and what is used up only a plan can say."""
    world.write(people(*PEOPLE, consent=agreed(world, "sam", "nobody")))

    notices = pipeline.validate(world.settings, {}).notices

    assert [(one.kind, one.subject) for one in notices] == [("consent", "contact/default/sam")]
