"""Who is who, from the manifest to the service: mailboxes by letters and domains, phones by their numbers."""

from pathlib import Path
from typing import Any

import pytest
from world import World, actions

from reconciler.errors import ManifestError
from reconciler.model.plans import Update
from reconciler.model.settings import Checks, Identity
from reconciler.pipeline import validate

PEOPLE = {"firstName": "Jane", "lastName": "Doe"}
BY_NUMBER = {"identity": Identity({"contacts": ("workMobilePhone1",)})}
FORMS = ("+61 491 570 156", "61491570156", "0491 570 156", "+61 491-570-156", "(+61) 491570156")


def contacts(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"contacts": {f"one-{place}": {**PEOPLE, **one} for place, one in enumerate(entries)}}


def live(world: World, *bodies: dict[str, Any]) -> list[str]:
    """Make these contacts at the service, as somebody else does; return their ids."""

    async def work(client: Any) -> list[str]:
        return [(await client.contacts.create({**PEOPLE, **body})).remote_id for body in bodies]

    found: list[str] = world.behind_our_back(work)
    return found


def everybody(world: World) -> list[dict[str, Any]]:
    async def work(client: Any) -> list[dict[str, Any]]:
        return [dict(row.body) for row in await client.contacts.list()]

    found: list[dict[str, Any]] = world.behind_our_back(work)
    return found


@pytest.mark.parametrize(
    ("there", "declared"),
    [
        ("strauss@example.com", "strau\u00df@example.com"),
        ("jo@strasse.example", "jo@stra\u00dfe.example"),
        ("finn@example.com", "\ufb01nn@example.com"),
        ("ines@example.com", "\u0131nes@example.com"),
    ],
)
def test_a_stranger_who_looks_the_same_is_left_alone_and_named(
    tmp_path: Path, there: str, declared: str
) -> None:
    """Adopted, Josef Strauss would be renamed and lose his address."""
    world = World(tmp_path)
    (stranger,) = live(world, {"workEmailAddress1": there, "firstName": "Josef"})
    world.write(contacts({"workEmailAddress1": declared, "firstName": "Anna"}))

    planned = world.plan()

    assert actions(planned.plan) == ["Create"]
    (notice,) = [one for one in planned.plan.notices if "looks like that of the live contact" in one.what]
    assert stranger in notice.what
    assert there not in notice.what
    world.apply()
    assert sorted(one["firstName"] for one in everybody(world)) == ["Anna", "Josef"]
    assert world.plan().plan.changes == ()


@pytest.mark.parametrize(
    ("there", "declared"),
    [
        ("p9@xn--bcher-kva.example", "p9@b\u00fccher.example"),
        ("P9@B\u00dcCHER.example", "p9@b\u00fccher.example"),
        ("\u03bf\u03b4\u03c5\u03c2@example.com", "\u039f\u0394\u03a5\u03a3@example.com"),
        ("Jane@Example.COM", "jane@example.com"),
    ],
)
def test_another_spelling_of_a_mailbox_is_the_same_person(tmp_path: Path, there: str, declared: str) -> None:
    """Made a second time, she would get everything twice."""
    world = World(tmp_path)
    live(world, {"workEmailAddress1": there})
    world.write(contacts({"workEmailAddress1": declared}))

    (change,) = world.plan().plan.changes

    assert isinstance(change, Update)
    assert change.adopts == "workEmailAddress1"
    world.apply()
    assert len(everybody(world)) == 1
    assert world.plan().plan.changes == ()


@pytest.mark.parametrize(
    ("later", "declared"),
    [
        ("p9@xn--bcher-kva.example", "p9@b\u00fccher.example"),
        ("p9@b\u00fccher.example", "p9@xn--bcher-kva.example"),
        ("B\u00c4R@example.com", "b\u00e4r@example.com"),
    ],
)
def test_a_create_looks_for_every_spelling_of_a_mailbox(tmp_path: Path, later: str, declared: str) -> None:
    """The service searches texts: asked for the declared one alone, it would not show who came meanwhile."""
    world = World(tmp_path)
    world.write(contacts({"workEmailAddress1": declared}))
    saved = world.plan().plan
    live(world, {"workEmailAddress1": later})

    planned, run = world.apply()

    assert actions(saved) == ["Create"]
    assert actions(planned.plan) == ["Update"]
    assert len(everybody(world)) == 1
    assert run.exit_code == 0


@pytest.mark.parametrize("form", FORMS[1:])
def test_two_entries_with_one_number_are_a_mistake(tmp_path: Path, form: str) -> None:
    """Both would be one person at the service."""
    world = World(tmp_path, changes=BY_NUMBER)
    mobiles = ({"workMobilePhone1": one, "workCountry": "Australia"} for one in (FORMS[0], form))
    world.write(contacts(*mobiles))

    with pytest.raises(ManifestError) as caught:
        validate(world.settings, {})

    (problem,) = caught.value.problems
    assert "workMobilePhone1 is the same as in contact/default/one-0" in problem.what


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("declared", FORMS[:3])
def test_whoever_has_the_number_is_recognized(tmp_path: Path, form: str, declared: str) -> None:
    """Another spelling is the same telephone: a create would make her twice."""
    world = World(tmp_path, changes=BY_NUMBER)
    live(world, {"workMobilePhone1": form, "workCountry": "AU"})
    world.write(contacts({"workMobilePhone1": declared, "workCountry": "Australia"}))

    assert "Create" not in actions(world.plan().plan)

    world.apply()
    assert len(everybody(world)) == 1
    assert world.plan().plan.changes == ()


def test_a_second_one_with_the_number_is_ambiguous(tmp_path: Path) -> None:
    """Which of the two is meant nobody can say: neither is touched, and both are named."""
    world = World(tmp_path, changes=BY_NUMBER)
    both = live(world, *({"workMobilePhone1": one, "workCountry": "Australia"} for one in FORMS[1:3]))
    world.write(contacts({"workMobilePhone1": FORMS[0], "workCountry": "Australia"}))

    plan = world.plan().plan

    assert plan.changes == ()
    (skip,) = plan.skips
    assert skip.reason == "ambiguous"
    assert all(one in skip.what for one in both)


def test_a_twin_of_a_recorded_one_is_named_by_its_number(tmp_path: Path) -> None:
    """Somebody made her a second time, in another spelling."""
    world = World(tmp_path, changes=BY_NUMBER)
    world.write(contacts({"workMobilePhone1": FORMS[0], "workCountry": "Australia"}))
    world.apply()
    (twin,) = live(world, {"workMobilePhone1": FORMS[2], "workCountry": "Australia"})

    (notice,) = world.plan().plan.notices

    assert notice.kind == "duplicate"
    assert twin in notice.what


def test_the_same_digits_in_another_country_are_somebody_else(tmp_path: Path) -> None:
    """0491 570 156 rings in Melbourne, or in Germany."""
    world = World(tmp_path, changes=BY_NUMBER)
    live(world, {"workMobilePhone1": "0491 570 156", "workCountry": "Germany"})
    world.write(contacts({"workMobilePhone1": "+61491570156"}))

    assert actions(world.plan().plan) == ["Create"]


def test_the_setting_says_in_which_country_a_number_without_one_is(tmp_path: Path) -> None:
    world = World(tmp_path, changes={**BY_NUMBER, "checks": Checks(region="AU")})
    live(world, {"workMobilePhone1": "0491 570 156"})
    world.write(contacts({"workMobilePhone1": "+61491570156"}))

    assert "Create" not in actions(world.plan().plan)


@pytest.mark.parametrize("form", FORMS)
def test_a_create_looks_for_every_spelling_of_a_number(tmp_path: Path, form: str) -> None:
    """Between plan and create somebody made her, and wrote the number in another way."""
    world = World(tmp_path, changes=BY_NUMBER)
    world.write(contacts({"workMobilePhone1": FORMS[0], "workCountry": "Australia"}))
    came: list[str] = []

    async def meanwhile(request: Any, send: Any) -> Any:
        if not came and b"workMobilePhone1=" in request.url.query:
            came.append(form)
            async with world.client() as client:
                body = {**PEOPLE, "workMobilePhone1": form, "workCountry": "Australia"}
                await client.contacts.create(body)
        return await send()

    world.meets(meanwhile, "GET")
    _, run = world.apply()

    assert [one.result for one in run.outcomes] == ["conflict"]
    assert len(everybody(world)) == 1


def test_entries_that_only_look_the_same_are_named_with_both_places(tmp_path: Path) -> None:
    """Perhaps a slip, perhaps two people: validate says so and refuses neither."""
    world = World(tmp_path)
    world.write(contacts({"workEmailAddress1": "strauss@example.com"}), "a.json")
    world.write({"contacts": {"anna": {**PEOPLE, "workEmailAddress1": "strau\u00df@example.com"}}}, "b.json")

    (notice,) = validate(world.settings, {}).notices

    assert notice.subject == "contact/default/anna"
    assert "looks like that of contact/default/one-0, manifests/a.json:" in notice.what
    assert notice.place.startswith("manifests/b.json:")
    assert actions(world.plan().plan) == ["Create", "Create"]


@pytest.mark.parametrize("shown", ["p9@xn--bcher-kva.example", "p9@buecher.example"])
def test_whoever_is_recorded_stays_who_she_is(tmp_path: Path, shown: str) -> None:
    """A record knows the id and no identity: nobody is adopted anew or made twice by a new way to compare."""
    world = World(tmp_path)
    world.write(contacts({"workEmailAddress1": "p9@b\u00fccher.example"}))
    world.apply()

    async def respell(client: Any) -> None:
        (row,) = await client.contacts.list()
        whole = await client.contacts.get(row.remote_id)
        await client.contacts.replace(row.remote_id, {**whole.body, "workEmailAddress1": shown})

    world.behind_our_back(respell)

    assert actions(world.plan().plan) == ["Update"]
    world.apply()
    assert len(everybody(world)) == 1
    assert world.plan().plan.changes == ()
