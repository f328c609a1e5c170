"""Nobody is forgotten on one answer, and one wrong answer about one person holds up nobody else."""

import json
from dataclasses import replace
from typing import Any

import effort
import pytest
from lies.proxy import Answer, Lie, Request, Tell, Truth
from lies.stage import Stage, crowd, person, said
from lies.told import CONTACT, ERROR, asked, instead, with_fields

pytestmark = effort.proofs_only()
ABSENT = instead(404, ERROR, CONTACT)


def showing(body: dict[str, Any]) -> Tell:
    """Answer with this contact."""
    return instead(200, json.dumps(body).encode(), CONTACT)


def looks_at(remote_id: str) -> Any:
    """Whether one entity is looked at by its id."""
    return lambda request: request.method == "GET" and request.path == f"/contacts/{remote_id}"


# 13: a look that finds nothing, beside a list that shows her


def test_a_leaver_whom_a_look_does_not_find_and_the_list_shows_stays_ours(place: Stage) -> None:
    """Forgotten, she would stay reachable, and no plan would ever name her again."""
    place.built(6)
    leaver = place.id_of("Person5")
    place.remove("person-5")

    with place.proxy.telling(Lie("a 404 for one who is listed", looks_at(leaver), ABSENT)):
        planned, done = place.run("plan"), place.apply()

    assert planned.returncode == 5, said(planned)
    assert "but the list" in planned.stdout
    assert done.returncode == 5, said(done)
    assert len(place.live()) == 6
    assert place.apply().returncode == 0
    assert len(place.live()) == 5


def test_a_404_between_plan_and_delete_forgets_nobody(place: Stage) -> None:
    """The look before a delete is one witness too."""
    place.built(6)
    leaver = place.id_of("Person5")
    place.remove("person-5")
    # The second look and those after it: the plan has seen her.
    looks = iter([False])
    when = looks_at(leaver)

    with place.proxy.telling(
        Lie("a 404 right before a delete", lambda one: when(one) and next(looks, True), ABSENT)
    ):
        done = place.apply()

    assert done.returncode == 5, said(done)
    assert len(place.live()) == 6
    assert place.apply().returncode == 0
    assert len(place.live()) == 5


def test_a_delete_without_effect_that_reads_back_as_gone_is_not_believed(place: Stage) -> None:
    """204, then 404 for the look, and the list goes on to show her."""
    place.built(6)
    leaver = place.id_of("Person5")
    place.remove("person-5")
    deleted: list[bool] = []

    def ignored(_request: Request, _truth: Truth) -> Answer:
        deleted.append(True)
        return Answer(204)

    when = looks_at(leaver)
    with place.proxy.telling(
        Lie("a DELETE that is ignored", asked("DELETE"), ignored),
        Lie("a 404 after a delete that was ignored", lambda one: when(one) and bool(deleted), ABSENT),
    ):
        done = place.apply()

    assert done.returncode == 8, said(done)
    assert len(place.live()) == 6
    assert place.apply().returncode == 0
    assert len(place.live()) == 5


def test_a_workspace_that_is_absent_for_a_while_forgets_nobody(place: Stage) -> None:
    """The list answers 404 as well: that says nothing of anybody in it."""
    place.built(6)
    place.remove("person-5")
    looks = 0
    is_look = asked("GET", "/contacts/")

    def gone(request: Request) -> bool:
        nonlocal looks
        looks += is_look(request)
        return looks > 1 and request.method == "GET"  # the first look is the plan's own

    with place.proxy.telling(Lie("a 404 for everything of a workspace", gone, ABSENT)):
        done = place.apply()

    assert done.returncode != 0, said(done)
    assert len(place.live()) == 6
    assert place.apply().returncode == 0
    assert len(place.live()) == 5


# 15: one who was merged with somebody else


def merged_answers(place: Stage, remote_id: str) -> dict[str, Tell]:
    other = place.id_of("Person1")
    whole = place.service.call("GET", f"/contacts/{other}?customFields=true")
    location = ("Location", f"/contacts/{other}")
    return {
        "another contact": showing(whole),
        "another id": showing({**whole, "link": [], "id": other}),
        "a redirect": instead(301, b"", location),
        "a temporary redirect": instead(307, b"", location),
        "see other": instead(303, b"", location),
        "gone for good": instead(410, ERROR, CONTACT),
    }


MERGED = ("another contact", "another id", "a redirect", "a temporary redirect", "see other", "gone for good")


@pytest.mark.parametrize("how", MERGED)
def test_one_who_was_merged_is_one_conflict_and_the_others_are_applied(place: Stage, how: str) -> None:
    """Before, one such contact ended plan, apply and forget with 1 for everybody."""
    place.built(4)
    merged = place.id_of("Person0")
    tell = merged_answers(place, merged)[how]
    place.remove("person-0")
    place.set("person-2", jobTitle="Pilot")

    with place.proxy.telling(Lie(f"a look that shows {how}", looks_at(merged), tell)):
        planned = place.run("plan")
        done = place.apply()
        left = place.run("forget", "--yes", "contact/default/person-0")
        after = place.apply()

    assert planned.returncode == 5, said(planned)
    assert "reconciler forget contact/default/person-0" in planned.stdout
    assert "update" in planned.stdout
    assert done.returncode == 5, said(done)
    assert place.field_of("Person2", "jobTitle") == "Pilot"
    assert left.returncode == 0, said(left)
    assert after.returncode == 0, said(after)
    assert len(place.live()) == 4


def test_one_who_is_declared_and_was_merged_is_adopted_by_name(place: Stage) -> None:
    """The way out without touching the manifest: who has her identity now is she."""
    place.built(3)
    merged = place.id_of("Person0")
    whole = place.service.call("GET", f"/contacts/{place.id_of('Person1')}?customFields=true")
    place.service.call("DELETE", f"/contacts/{merged}")
    place.service.call("POST", "/contacts", person("Person0"))
    now = place.id_of("Person0")

    with place.proxy.telling(Lie("a look at a merged id", looks_at(merged), showing(whole))):
        planned = place.run("plan")
        adopted = place.run("adopt", "--yes", "contact/default/person-0")

    assert planned.returncode == 5, said(planned)
    assert adopted.returncode == 0, said(adopted)
    assert place.run("plan", "--detailed-exitcode").returncode == 0
    assert place.ids_of("Person0") == [now]


def test_where_every_look_is_wrong_the_address_is(place: Stage) -> None:
    """Then it is no conflict of one: nothing is planned."""
    place.built(5)
    place.declare(**{name: one for name, one in crowd(5).items() if name == "person-4"})

    def another(request: Request, truth: Truth) -> Answer:
        found = truth(request)
        body = {**json.loads(found.body), "id": "ABCDEF0123456789", "link": []}
        return replace(found, body=json.dumps(body).encode())

    with place.proxy.telling(Lie("another contact at every look", asked("GET", "/contacts/"), another)):
        done = place.run("plan")

    assert done.returncode == 1, said(done)
    assert "service.base_url" in said(done)


# 16: a recorded id that has become somebody else

NEW = {
    "firstName": "Sam",
    "lastName": "Roe",
    "workEmailAddress1": "sam.roe@example.com",
    "workMobilePhone1": "+61491570157",
    "jobTitle": "Duty Manager",
}


def reused(place: Stage) -> str:
    """Let somebody use the contact of Person0 for a new colleague; return its id."""
    place.declare(**{name: {**one, "jobTitle": "Engineer"} for name, one in crowd(4).items()})
    assert place.apply().returncode == 0
    remote_id = place.id_of("Person0")
    whole = place.service.call("GET", f"/contacts/{remote_id}?customFields=true")
    place.service.call("PUT", f"/contacts/{remote_id}", {**whole, **NEW})
    return remote_id


def test_a_record_that_was_used_anew_is_not_overwritten_without_a_word(place: Stage) -> None:
    """The new colleague would get the alarms of the old one."""
    reused(place)
    place.set("person-2", jobTitle="Pilot")

    done = place.apply()

    assert done.returncode == 5, said(done)
    assert "somebody else" in said(done)
    assert place.field_of("Sam", "workEmailAddress1") == "sam.roe@example.com"
    assert place.field_of("Person2", "jobTitle") == "Pilot"
    assert place.apply("--confirm-same", "contact/default/person-0").returncode == 0
    assert place.ids_of("Sam") == []
    assert len(place.live()) == 4


def test_a_record_that_was_used_anew_is_not_deleted_without_a_word(place: Stage) -> None:
    """The new colleague would be reached by nobody."""
    reused(place)
    place.remove("person-0")

    done = place.apply()

    assert done.returncode == 5, said(done)
    assert len(place.live()) == 4
    assert place.run("forget", "--yes", "contact/default/person-0").returncode == 0
    assert place.apply().returncode == 0
    assert place.ids_of("Sam") != []


@pytest.mark.parametrize("path", ["lastName", "workEmailAddress1", "jobTitle"])
def test_ordinary_drift_is_still_mended(place: Stage, path: str) -> None:
    """One field, as after a marriage, makes nobody somebody else."""
    place.declare(**{name: {**one, "jobTitle": "Engineer"} for name, one in crowd(4).items()})
    assert place.apply().returncode == 0
    remote_id = place.id_of("Person0")
    whole = place.service.call("GET", f"/contacts/{remote_id}?customFields=true")
    place.service.call("PUT", f"/contacts/{remote_id}", {**whole, path: NEW[path]})

    done = place.apply()

    assert done.returncode == 0, said(done)
    assert place.field_of("Person0", path) != NEW[path]


# 14: the service writes an identity in its own way

WRITTEN = {
    "without what is behind a plus": ("p9+night@example.com", "p9@example.com"),
    "another domain of a provider": ("p9@googlemail.example", "p9@gmail.example"),
    "with something before it": ("p9@example.com", "smtp:p9@example.com"),
}


def people(place: Stage) -> int:
    return len(place.live())


@pytest.mark.parametrize(("ours", "theirs"), WRITTEN.values(), ids=WRITTEN.keys())
def test_an_identity_that_the_service_writes_in_its_own_way_makes_one_person(
    place: Stage, ours: str, theirs: str
) -> None:
    """Before, each apply made one more, and ended with 8."""
    place.declare(p9=person("Nine", workEmailAddress1=ours))

    with place.proxy.telling(
        Lie("a create that is written in another way", asked("POST"), with_fields(workEmailAddress1=theirs))
    ):
        done = place.apply()

    assert done.returncode == 0, said(done)
    assert "in its own way" in said(done)
    again = place.apply()
    assert again.returncode == 0, said(again)
    assert place.run("plan", "--detailed-exitcode").returncode == 0
    assert people(place) == 1
    place.declare()
    assert place.apply("--allow-deletes", "1").returncode == 0
    assert people(place) == 0


UNTOLD = {
    "201 without anything": 201,
    "a lost answer": 0,
    "500": 500,
    "202": 202,
}


@pytest.mark.parametrize("status", UNTOLD.values(), ids=UNTOLD.keys())
def test_a_create_in_doubt_that_may_be_there_is_sent_again_by_a_word_alone(place: Stage, status: int) -> None:
    """Nobody is found by the identity that was sent, and somebody is there who is alike in all else."""
    place.declare(p9=person("Nine", workEmailAddress1="p9+night@example.com"))
    change = with_fields(workEmailAddress1="p9@example.com")

    def tell(request: Request, truth: Truth) -> Answer | None:
        change(request, truth)
        return Answer(status) if status else None

    with place.proxy.telling(Lie("a create that is written in another way, untold", asked("POST"), tell)):
        codes = [place.apply().returncode for _ in range(3)]
        resumed = place.run("resume")

    assert codes == [8, 8, 8]
    assert resumed.returncode == 8, said(resumed)
    assert "--create-again contact/default/p9" in said(resumed)
    assert people(place) == 1
    place.apply("--create-again", "contact/default/p9")
    assert people(place) == 2


LOST = {
    **{how: pair for how, pair in WRITTEN.items() if ":" not in pair[1]},
    "at another name of the company": ("p9@mail.example.com", "p9@example.com"),
}


@pytest.mark.parametrize(("ours", "theirs"), LOST.values(), ids=LOST.keys())
def test_a_lost_create_that_is_written_in_another_way_makes_one_person(
    place: Stage, ours: str, theirs: str
) -> None:
    """Neither her address nor her name is found: who is new, nobody's and like her is asked about."""
    place.built(3)
    place.declare(**crowd(3), p9=person("Nine", jobTitle="Pilot", workEmailAddress1=ours))
    change = with_fields(workEmailAddress1=theirs, firstName="9")

    def tell(request: Request, truth: Truth) -> None:
        change(request, truth)

    with place.proxy.telling(Lie("a create that is written in another way, lost", asked("POST"), tell)):
        codes = [place.apply().returncode for _ in range(3)]
    after = place.run("resume")

    assert codes == [8, 8, 8]
    assert "--create-again contact/default/p9" in said(after)
    assert people(place) == 4
    place.set("p9", workEmailAddress1=theirs)
    assert place.apply().returncode == 0
    assert people(place) == 4
    assert place.mails()[theirs] == 1


def test_a_lost_create_of_a_resource_that_is_renamed_makes_one(place: Stage) -> None:
    """Its name is all that it is known by; what it is and who may load it are as they were sent."""
    place.built(1)
    rota = {"scope": "private", "mimeType": "text/csv", "content": {"rows": [{"a": "1"}]}}

    def declare(name: str) -> None:
        manifest = {"version": "1", "workspace": "default", "contacts": crowd(1)}
        resources = {"rota": {"name": name, **rota}}
        place.project.manifest.write_text(json.dumps({**manifest, "resources": resources}), "utf-8")

    change = with_fields(name="upload-0001.csv")

    def tell(request: Request, truth: Truth) -> None:
        change(request, truth)

    declare("rota.csv")
    lie = Lie("a resource that is renamed, lost", asked("POST", "/resources"), tell)
    with place.proxy.telling(lie):
        codes = [place.apply().returncode for _ in range(3)]

    assert codes == [8, 8, 8]
    names = [one["name"] for one in place.service.call("GET", "/resources")["resources"]]
    assert names == ["upload-0001.csv"]
    declare("upload-0001.csv")
    assert place.apply().returncode == 0
    assert place.run("plan", "--detailed-exitcode").returncode == 0
    assert len(place.service.call("GET", "/resources")["resources"]) == 1


@pytest.mark.parametrize("name", ["Stranger", "Nina"])
def test_a_lost_create_that_was_not_made_is_sent_again_beside_strangers(place: Stage, name: str) -> None:
    """Who is like nobody that was sent holds nothing up."""
    place.built(2)
    place.declare(**crowd(2), p9=person("Nine", jobTitle="Pilot"))
    with place.proxy.telling(Lie("a create that never arrives", asked("POST"), lambda *_: None, most=1)):
        assert place.apply().returncode == 8
    place.stranger(name, lastName="Roe", jobTitle="Pilot", workMobilePhone1="+61491570158")

    done = place.apply()

    assert done.returncode == 0, said(done)
    assert len(place.ids_of("Nine")) == 1


def test_a_create_that_shows_another_entity_ends_the_run_and_is_sent_once(place: Stage) -> None:
    """Another name as well: that is more than its identity, so a person has to look."""
    place.declare(p9=person("Nine"), p8=person("Eight"))
    other = with_fields(workEmailAddress1="x@example.com", firstName="Somebody")

    with place.proxy.telling(Lie("a create that makes somebody else", asked("POST"), other)):
        codes = [place.apply().returncode for _ in range(3)]

    assert set(codes) == {8}
    assert len(place.proxy.writes()) == 2  # one an apply at most, and each entry once


def test_who_is_written_in_the_manifest_as_the_service_does_is_adopted(place: Stage) -> None:
    """The way out of the doubt that takes no option."""
    place.declare(p9=person("Nine", workEmailAddress1="p9+night@example.com"))
    change = with_fields(workEmailAddress1="p9@example.com")

    def tell(request: Request, truth: Truth) -> None:
        change(request, truth)

    with place.proxy.telling(Lie("a create that is written in another way, lost", asked("POST"), tell)):
        assert place.apply().returncode == 8
    place.set("p9", workEmailAddress1="p9@example.com")

    assert place.apply().returncode == 0
    assert people(place) == 1
