"""Which field would recognize those whom no identity field does."""

import pytest
from core.build import RULES
from msgspec import structs

from reconciler.core.export import IdentityAdvice, Omission, describe_live, identity_advice
from reconciler.model.documents import Scalar
from reconciler.model.settings import Identity
from reconciler.model.snapshots import LiveEntity, Scope

OPS = Scope("contact", "ops")
PLAIN = structs.replace(RULES, mark="managedBy", identity=Identity())
PHONES = ("+61491570156", "+61491570157", "+61491570158")


def person(number: int, **fields: Scalar) -> LiveEntity:
    return LiveEntity("contact", "ops", f"A{number}", {"firstName": f"Ann {number}", **fields})


def advice(*rows: LiveEntity, strange: int) -> tuple[IdentityAdvice, ...]:
    """What is said where nothing recognizes the first so many rows."""
    return identity_advice(
        {OPS: rows}, [Omission("identity", describe_live(one)) for one in rows[:strange]], PLAIN
    )


def test_the_field_that_most_of_them_have_is_named_behind_those_of_the_settings() -> None:
    """300 people without an e-mail address have telephones: one line of the settings, and not 300 edits."""
    rows = [
        person(1, workMobilePhone1=PHONES[0], **{"custom.badge": "1"}),
        person(2, workMobilePhone1=PHONES[1]),
        person(3),
        person(4, workEmailAddress1="d@example.com"),
    ]

    assert advice(*rows, strange=3) == (
        IdentityAdvice("contacts", ("workEmailAddress1", "workMobilePhone1"), 2, 3),
    )


def test_a_field_whose_value_two_share_is_not_named() -> None:
    """It would make people ambiguous who are recognized now."""
    rows = [
        person(1, workMobilePhone1=PHONES[0], personalEmailAddress1="Ann@example.com"),
        person(2, workMobilePhone1=PHONES[1]),
        person(3, workMobilePhone1=PHONES[1], workEmailAddress1="c@example.com"),
    ]

    assert advice(*rows, strange=2) == (
        IdentityAdvice("contacts", ("workEmailAddress1", "personalEmailAddress1"), 1, 2),
    )


def test_whoever_is_there_twice_already_makes_no_field_unfit() -> None:
    """Whoever was typed twice has the same e-mail address and the same telephone, and is told for it."""
    again = {"workEmailAddress1": "c@example.com", "workMobilePhone1": PHONES[2]}
    rows = [person(1, workMobilePhone1=PHONES[0]), person(2, **again), person(3, **again)]
    shared = [person(1, workMobilePhone1=PHONES[2]), *rows[1:]]
    left = [
        Omission("identity", describe_live(rows[0])),
        *(Omission("twice", describe_live(one)) for one in rows[1:]),
    ]

    assert [one.number for one in identity_advice({OPS: rows}, left, PLAIN)] == [1]
    assert identity_advice({OPS: shared}, left, PLAIN) == ()


@pytest.mark.parametrize("fields", [{}, {"jobTitle": "Nurse"}, {"custom.managedBy": "default/ann"}])
def test_names_jobs_and_our_own_mark_recognize_nobody(fields: dict[str, Scalar]) -> None:
    """Today only one is a nurse; and what we wrote ourselves is known without the settings."""
    assert advice(person(1, **fields), person(2), strange=1) == ()
    assert advice(person(1, workMobilePhone1=PHONES[0]), strange=0) == ()
