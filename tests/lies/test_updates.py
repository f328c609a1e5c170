"""A success of a PUT is believed when it reads back."""

import effort
import pytest
from lies.proxy import Lie, Tell
from lies.stage import Stage, said
from lies.told import CONTACT, ERROR, PAGE, asked, at_another, instead, with_fields, without_fields

pytestmark = effort.proofs_only()
BEFORE, SENT, OTHER = "+61491570156", "+61491570157", "+61491570158"
PUT = asked("PUT")

WITHOUT_EFFECT = {
    "204": instead(204),
    "200 without a body": instead(200),
    "200 with an error as its body": instead(200, ERROR, CONTACT),
    "200 with a web page": instead(200, PAGE, ("Content-Type", "text/html")),
    "201": instead(201),
    "202": instead(202),
}


@effort.sample(1)
@pytest.mark.parametrize("tell", WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT.keys())
def test_an_update_without_effect_is_never_called_done(place: Stage, tell: Tell) -> None:
    """Believed once, the old number would stay live for ever: the next plan would compare it with itself."""
    place.built(3)
    place.set("person-1", jobTitle="Nurse", workMobilePhone1=SENT)

    with place.proxy.telling(Lie("a PUT without effect", PUT, tell)):
        done = place.apply()

    assert done.returncode in (1, 6, 8), said(done)
    assert place.field_of("Person1", "workMobilePhone1") == BEFORE
    comes_right(place, "workMobilePhone1", "jobTitle")


def test_an_update_that_leaves_one_field_out_says_which(place: Stage) -> None:
    """The other fields were taken, and are not planned again; both values of the one are shown."""
    place.built(3)
    place.set("person-1", jobTitle="Nurse", workMobilePhone1=SENT)

    with place.proxy.telling(Lie("a PUT that ignores a field", PUT, with_fields(workMobilePhone1=BEFORE))):
        done = place.apply()

    assert done.returncode != 0
    assert "not stored" in said(done), said(done)
    assert BEFORE in said(done), said(done)
    assert SENT in said(done), said(done)
    planned = said(place.run("plan"))
    assert "workMobilePhone1" in planned
    assert "jobTitle" not in planned
    comes_right(place, "workMobilePhone1")


def test_an_update_that_is_ignored_and_shown_in_another_spelling_is_not_taken(place: Stage) -> None:
    """A gateway that formats numbers shows the old one as it likes: that is no way of writing the new one."""
    place.built(3)
    place.set("person-1", workMobilePhone1=SENT)

    told = with_fields(workMobilePhone1=BEFORE.removeprefix("+"))
    with place.proxy.telling(Lie("a PUT that ignores a field and spells it otherwise", PUT, told)):
        done = place.apply()

    assert done.returncode != 0
    assert "not stored" in said(done), said(done)
    comes_right(place, "workMobilePhone1")


def test_a_field_that_an_update_loses_is_planned_again(place: Stage) -> None:
    """A PUT carries everything: a service that drops one field of it clears what nobody changed."""
    place.built(3)
    place.set("person-1", jobTitle="Nurse")

    with place.proxy.telling(Lie("a PUT that clears a field", PUT, without_fields("workMobilePhone1"))):
        done = place.apply()

    assert "workMobilePhone1" in said(done), said(done)
    comes_right(place, "workMobilePhone1")


def test_an_update_that_changes_another_field_names_it(place: Stage) -> None:
    """The field that we sent reads back, another one moved: the report and the next plan say so."""
    place.built(3)
    place.set("person-1", jobTitle="Nurse")

    with place.proxy.telling(
        Lie("a PUT that changes another field", PUT, with_fields(workMobilePhone1=OTHER))
    ):
        done = place.apply()

    assert "workMobilePhone1" in said(done), said(done)
    comes_right(place, "workMobilePhone1")


def test_an_update_of_another_contact_is_noticed_at_both(place: Stage) -> None:
    """The planned one did not change. The other one shows as changed outside, and both come right."""
    place.built(3)
    elsewhere = place.id_of("Person2")
    place.set("person-1", jobTitle="Nurse")

    with place.proxy.telling(
        Lie("a PUT that lands at another contact", PUT, at_another(f"/contacts/{elsewhere}"))
    ):
        done = place.apply()

    assert done.returncode != 0, said(done)
    assert place.run("drift").returncode == 2
    for _ in range(2):
        place.apply()
    assert place.run("plan", "--detailed-exitcode").returncode == 0, said(place.run("plan"))
    assert sorted(place.mails()) == [f"person{at}@example.com" for at in range(3)]


def test_many_updates_without_effect_are_all_planned_again(place: Stage) -> None:
    """None of them is recorded as done: an honest apply does them all."""
    number = effort.count(small=6, full=60)
    place.built(number)
    for at in range(number):
        place.set(f"person-{at}", jobTitle="Nurse")

    with place.proxy.telling(Lie("a PUT without effect", PUT, instead(204))):
        done = place.apply()

    assert done.returncode != 0
    assert said(done).count("not stored") >= 1, said(done)
    comes_right(place, *[f"person-{at}" for at in range(number)])


def comes_right(place: Stage, *shown: str) -> None:
    """The next plan shows these, an honest apply does them, and then there is nothing to do."""
    planned = place.run("plan", "--detailed-exitcode", "--format", "json")
    assert planned.returncode == 2, said(planned)
    assert not [one for one in shown if one not in planned.stdout], said(planned)
    done = place.apply()
    assert done.returncode == 0, said(done)
    ended = place.run("plan", "--detailed-exitcode")
    assert ended.returncode == 0, said(ended)
