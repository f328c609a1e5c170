"""What a service does not show is not gone, and what it shows twice is said."""

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
    Gateway,
    When,
    asked,
    carried_out_and_lost,
    every_third,
    instead,
    is_list,
    unfiltered,
    with_status,
)

pytestmark = effort.proofs_only()
GET = asked("GET")
NO_PAGE: dict[str, tuple[When, Tell]] = {
    "206 for a list": (is_list, with_status(206)),
    "206 for everything": (GET, with_status(206)),
    "a web page": (GET, instead(200, PAGE, ("Content-Type", "text/html"))),
    "an error with 200": (GET, instead(200, ERROR, CONTACT)),
    "nothing with 200": (GET, instead(200, b"", CONTACT)),
    "204": (GET, instead(204)),
    "a list that is null": (is_list, instead(200, b'{"contacts": null, "link": []}', CONTACT)),
    "304": (GET, instead(304)),
}


@effort.sample(1)
@pytest.mark.parametrize(("when", "tell"), NO_PAGE.values(), ids=NO_PAGE.keys())
def test_what_is_no_whole_page_is_an_error_and_nothing_is_written(
    place: Stage, when: When, tell: Tell
) -> None:
    """Read as an empty list, everybody would be made again; nobody may be deleted for it either."""
    place.built(3)
    place.declare(**{**crowd(2), "new": person("New")})
    written = len(place.proxy.writes())

    with place.proxy.telling(Lie("an answer that is no page", when, tell)):
        planned, done = place.run("plan"), place.apply()

    assert planned.returncode == 1, said(planned)
    assert done.returncode == 1, said(done)
    assert "next:" in said(done)
    assert "Traceback" not in said(done)
    assert len(place.proxy.writes()) == written


def test_a_list_without_anybody_is_refused_as_a_reason_to_create(place: Stage) -> None:
    """Of everybody whom we recorded nobody is there any more: that is a question, not a plan."""
    place.built(30)
    written = len(place.proxy.writes())

    with place.proxy.telling(
        Lie("an empty service", is_list, instead(200, NOBODY, CONTACT)),
        Lie("nobody at an address", asked("GET", "/contacts/"), instead(404, ERROR, CONTACT)),
    ):
        done = place.apply()

    assert done.returncode != 0, said(done)
    assert len(place.proxy.writes()) == written
    assert len(place.live()) == 30


def test_a_search_that_shows_somebody_else_adopts_nobody(place: Stage) -> None:
    """The filter was ignored: a stranger in the answer is not the one who was looked for."""
    strange = place.stranger("Stranger")
    place.declare(**crowd(2))

    with place.proxy.telling(Lie("a filter that is ignored", is_list, unfiltered)):
        place.apply()

    assert place.apply().returncode == 0
    assert place.ids_of("Stranger") == [strange]
    assert len(place.live()) == 3


@pytest.mark.parametrize("manner", ["heeds", "tells", "hides"])
def test_a_gateway_that_stores_answers_and_loses_some_makes_nobody_twice(place: Stage, manner: str) -> None:
    """An answer from before a create is no evidence that it did not land."""
    number = effort.count(small=9, full=30)
    place.declare(**crowd(number))
    gateway = Gateway(manner)
    with place.proxy.telling(
        Lie(f"stored answers by a gateway that {manner}", gateway.when, gateway.tell, counted=False),
        Lie("every third answer to a create is lost", every_third(asked("POST")), carried_out_and_lost),
    ):
        for _ in range(3):
            place.apply()

    twice = len(place.live()) - len(place.mails())
    tally.count("duplicates", "lies", twice)
    assert not twice, place.mails()
    place.apply()
    assert sorted(place.mails()) == sorted(one["workEmailAddress1"] for one in crowd(number).values())


def test_a_lost_store_beside_duplicates_deletes_nobody(place: Stage) -> None:
    """Without a store nothing is ours: of two alike neither may go."""
    place.built(3)
    place.stranger("Person1")
    shutil.rmtree(place.project.folder / ".reconciler")

    place.apply()

    assert len(place.live()) == 4


def test_the_stage_tells_the_truth_when_nobody_lies(place: Stage) -> None:
    """Otherwise every test here could be green for a reason of the proxy's own."""
    place.built(4)

    assert len(place.mails()) == 4
    assert place.run("plan", "--detailed-exitcode").returncode == 0
