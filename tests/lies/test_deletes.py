"""A success of a DELETE is believed when the contact is gone."""

import threading

import effort
import pytest
from lies.proxy import Answer, Lie, Request, Tell, Truth
from lies.stage import SETTLE_S, Stage, said
from lies.told import CONTACT, ERROR, PAGE, after_all, asked, at_another, instead, later
from waiting import until

pytestmark = effort.proofs_only()
DELETE = asked("DELETE")
WITHOUT_EFFECT = {
    "204": instead(204),
    "202": instead(202),
    "200": instead(200),
    "200 with an error as its body": instead(200, ERROR, CONTACT),
    "404": instead(404, ERROR, CONTACT),
    "404 of another web server": instead(404, PAGE, ("Content-Type", "text/html")),
}


@effort.sample(1)
@pytest.mark.parametrize("tell", WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT.keys())
def test_a_delete_without_effect_leaves_the_person_ours(place: Stage, tell: Tell) -> None:
    """Called deleted, she would be alerted for ever and be nobody's: the plan has to show her again."""
    place.built(6)
    place.remove("person-5")

    with place.proxy.telling(Lie("a DELETE without effect", DELETE, tell)):
        done = place.apply()

    assert done.returncode != 0, said(done)
    assert len(place.live()) == 6
    planned = place.run("plan", "--detailed-exitcode")
    assert planned.returncode == 2, said(planned)
    assert "person-5" in planned.stdout
    assert place.apply().returncode == 0
    assert len(place.live()) == 5


@pytest.mark.parametrize("status", [200, 202, 204])
def test_a_delete_that_comes_a_moment_later_is_done(place: Stage, status: int) -> None:
    """Within the settle window it shows: that is no failure."""
    place.built(6)
    place.remove("person-5")

    with place.proxy.telling(Lie("a DELETE that is done later", DELETE, later(SETTLE_S / 3, status))):
        done = place.apply()

    assert done.returncode == 0, said(done)
    assert len(place.live()) == 5


def test_a_delete_that_comes_after_the_window_is_not_done_and_then_nothing_to_do(place: Stage) -> None:
    """It is said to be not done; once it has landed, the next apply has nothing left to delete."""
    place.built(6)
    place.remove("person-5")

    with place.proxy.telling(Lie("a DELETE that is done much later", DELETE, later(SETTLE_S * 8, 204))):
        done = place.apply()
        assert done.returncode != 0, said(done)
        until(lambda: len(place.live()) < 6, "the delete")

    place.apply()
    assert place.run("plan", "--detailed-exitcode").returncode == 0
    assert len(place.live()) == 5


def test_a_web_page_is_no_proof_that_somebody_is_gone(place: Stage) -> None:
    """The read-back gets the 404 of another web server: the service has said nothing."""
    place.built(6)
    gone = place.id_of("Person5")
    place.remove("person-5")
    deleted = threading.Event()

    def forgotten(_request: Request, _truth: Truth) -> Answer:
        deleted.set()
        return Answer(204)

    def of_her(request: Request) -> bool:
        return deleted.is_set() and request.path.endswith(gone)

    with place.proxy.telling(
        Lie("a DELETE without effect", DELETE, forgotten),
        Lie("a web page for a contact", of_her, instead(404, PAGE, ("Content-Type", "text/html"))),
    ):
        done = place.apply()

    assert done.returncode != 0, said(done)
    assert len(place.live()) == 6
    place.apply()
    assert len(place.live()) == 5


def test_a_delete_of_another_contact_is_noticed_at_both(place: Stage) -> None:
    """The planned one is there and not called deleted; the one who is gone is planned again."""
    place.built(6)
    other = place.id_of("Person2")
    place.remove("person-5")

    with place.proxy.telling(Lie("a DELETE that lands at another", DELETE, at_another(f"/contacts/{other}"))):
        done = place.apply()

    assert done.returncode != 0, said(done)
    planned = place.run("plan")
    assert "person-5" in planned.stdout
    assert "person-2" in planned.stdout
    assert place.apply().returncode == 0
    assert sorted(place.mails()) == [f"person{at}@example.com" for at in range(5)]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_delete_that_was_refused_and_done_deletes_nobody_else(place: Stage, status: int) -> None:
    """Looking finds her gone; the refusal is no reason to delete anything again."""
    place.built(6)
    place.remove("person-5")

    with place.proxy.telling(
        Lie("a DELETE that is done and refused", DELETE, after_all(status, ERROR, CONTACT), most=1)
    ):
        done = place.apply()

    assert "Traceback" not in said(done)
    place.apply()
    assert sorted(place.mails()) == [f"person{at}@example.com" for at in range(5)]
    assert place.run("plan", "--detailed-exitcode").returncode == 0
