"""The answer to a POST is believed when it shows what was sent, and nobody else."""

import shutil

import effort
import pytest
import tally
from lies.proxy import Lie, Tell
from lies.stage import Stage, crowd, person, said
from lies.told import (
    CONTACT,
    ERROR,
    NOBODY,
    PAGE,
    Merged,
    Pairs,
    after_all,
    asked,
    carried_out_and_lost,
    instead,
    is_list,
    naming,
    with_fields,
)

pytestmark = effort.proofs_only()
CREATE = asked("POST")
STRANGE = "Stranger"


def test_swapped_answers_record_nobody_as_another(place: Stage) -> None:
    """Recorded by the wrong id, a change of one person would go to another, and so would her delete."""
    number = effort.count(small=8, full=40)
    pairs = Pairs()
    place.declare(**crowd(number))

    with place.proxy.telling(Lie("two swapped 201s", CREATE, pairs.tell)):
        place.apply()

    assert pairs.swapped
    settled(place, number)
    place.remove("person-3")
    assert place.apply().returncode == 0
    assert place.ids_of("Person3") == []
    everybody_once(place, number - 1)


@pytest.mark.parametrize("shows", ["herself", "what was sent"])
def test_an_answer_that_names_a_stranger_never_makes_her_ours(place: Stage, shows: str) -> None:
    """Recorded as ours, she would be deleted with our line, and nobody had asked for that."""
    place.built(3)
    strange = place.stranger(STRANGE)
    whole = place.service.call("GET", f"/contacts/{strange}?customFields=true")
    place.declare(**crowd(3), new=person("New"))

    shown = whole if shows == "herself" else None
    with place.proxy.telling(
        Lie(f"a 201 with the id of a stranger and {shows}", CREATE, naming(strange, shown))
    ):
        done = place.apply()

    assert done.returncode == 8, said(done)
    place.declare(**crowd(3))
    place.apply()
    assert place.ids_of(STRANGE) == [strange]


def test_two_creates_answered_with_one_id_are_two_people(place: Stage) -> None:
    """Every create was done; one id for all of them makes nobody twice and loses nobody."""
    number = effort.count(small=6, full=30)
    place.declare(**crowd(number))

    with place.proxy.telling(Lie("one id for several creates", CREATE, Merged().tell)):
        place.apply()

    settled(place, number)


NOTHING_MADE = {
    "201 without anything": instead(201),
    "201 with an error as its body": instead(201, ERROR, CONTACT),
    "201 with a web page": instead(201, PAGE, ("Content-Type", "text/html")),
    "200": instead(200),
    "202": instead(202),
    "204": instead(204),
}


@effort.sample(1)
@pytest.mark.parametrize("tell", NOTHING_MADE.values(), ids=NOTHING_MADE.keys())
def test_a_create_without_effect_is_in_doubt_and_made_later(place: Stage, tell: Tell) -> None:
    """Neither recorded as made nor made at once again: it could have been."""
    place.declare(**crowd(2))

    with place.proxy.telling(Lie("a POST without effect", CREATE, tell)):
        done = place.apply()

    assert done.returncode in (1, 6, 8), said(done)
    assert place.live() == []
    settled(place, 2)


def test_an_answer_that_is_made_up_whole_is_shown_by_the_next_plan(place: Stage) -> None:
    """An id that nobody has, and all that was sent: the run stops at its first create."""
    place.declare(**crowd(5))

    with place.proxy.telling(Lie("a 201 that is made up", CREATE, naming("ABCDEF0123456789"))):
        done = place.apply()

    assert done.returncode == 6, said(done)
    assert len(place.proxy.writes()) == 1
    assert "gone from the service" in place.run("plan").stdout
    place.apply("--allow-creates", "1")
    settled(place, 5)


MADE = {
    "201 without anything": after_all(201),
    "201 with an error as its body": after_all(201, ERROR, CONTACT),
    "200": after_all(200),
    "202": after_all(202),
    "204": after_all(204),
    "408": after_all(408, ERROR, CONTACT),
    "409": after_all(409, ERROR, CONTACT),
    "429": after_all(429, ERROR, CONTACT),
    "500": after_all(500, ERROR, CONTACT),
    "502 with a web page": after_all(502, PAGE, ("Content-Type", "text/html")),
    "503": after_all(503, ERROR, CONTACT),
    "no answer": carried_out_and_lost,
}


@effort.sample(1)
@pytest.mark.parametrize("tell", MADE.values(), ids=MADE.keys())
def test_a_create_that_was_done_is_not_done_again_whatever_was_answered(place: Stage, tell: Tell) -> None:
    """A second POST makes a second person: the service has no key that would know it again."""
    number = effort.count(small=6, full=30)
    place.declare(**crowd(number))

    with place.proxy.telling(Lie("a POST that is done and answered otherwise", CREATE, tell)):
        place.apply()
        place.apply()

    settled(place, number)


def test_a_create_that_loses_a_field_is_ours_and_the_field_is_planned(place: Stage) -> None:
    place.declare(**crowd(2))

    with place.proxy.telling(Lie("a POST that ignores a field", CREATE, with_fields(workMobilePhone1=""))):
        done = place.apply()

    assert done.returncode != 0, said(done)
    assert "workMobilePhone1" in place.run("plan").stdout
    settled(place, 2)


def test_a_search_that_finds_nobody_makes_one_person_twice_at_most(place: Stage) -> None:
    """With a lost store everybody would be made again: a first one that its lookup misses ends the run."""
    number = effort.count(small=25, full=100)
    place.built(number)
    shutil.rmtree(place.project.folder / ".reconciler")

    with place.proxy.telling(Lie("a search that finds nobody", is_list, instead(200, NOBODY, CONTACT))):
        done = place.apply()

    assert done.returncode == 6, said(done)
    assert len(place.live()) <= number + 1


def settled(place: Stage, number: int) -> None:
    """An honest apply or two, and everybody is there once with nothing left to do."""
    for _ in range(2):
        done = place.apply()
    assert done.returncode == 0, said(done)
    everybody_once(place, number)
    ended = place.run("plan", "--detailed-exitcode")
    assert ended.returncode == 0, said(ended)


def everybody_once(place: Stage, number: int) -> None:
    found = place.mails()
    twice = sum(found.values()) - len(found)
    tally.count("duplicates", "lies", twice)
    assert not twice, found
    assert len(found) == number
