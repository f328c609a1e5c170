"""When a recorded id is taken for somebody else: the table of M9, from the outside."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.compare.evidence import judge_reuse

MAIL = (("workEmailAddress1",),)
JANE: Mapping[str, str | bool] = {
    "firstName": "Jane",
    "lastName": "Doe",
    "jobTitle": "Engineer",
    "workMobilePhone1": "+61491570156",
    "workEmailAddress1": "jane.doe@example.com",
    "workCountry": "Australia",
    "timezone": "+10",
    "status": "A",
    "messagingOptions.sms.enabled": True,
    "messagingOptions.sms.primary": "WorkMobilePhone1",
}
SAM: Mapping[str, str | bool] = {
    "firstName": "Sam",
    "lastName": "Roe",
    "jobTitle": "Duty Manager",
    "workMobilePhone1": "+61491570157",
    "workEmailAddress1": "sam.roe@example.com",
    "workCountry": "New Zealand",
    "timezone": "+12",
    "status": "D",
    "messagingOptions.sms.enabled": False,
    "messagingOptions.sms.primary": "WorkMobilePhone2",
}
TELLING = ("firstName", "lastName", "jobTitle", "workMobilePhone1", "workEmailAddress1")


def judged(*changed: str, keys: tuple[tuple[str, ...], ...] = MAIL) -> str:
    found = judge_reuse("contact", JANE, {**JANE, **{path: SAM[path] for path in changed}}, keys=keys)
    return str(found) if found else ""


def test_another_name_address_number_and_title_are_somebody_else() -> None:
    """The contact of one who left was used for a new colleague."""
    assert judged(*TELLING) == "5 of 5 values"
    assert judged("firstName", "workMobilePhone1", "workEmailAddress1") == "3 of 5 values"


@pytest.mark.parametrize(
    "changed",
    [
        ("lastName",),
        ("workEmailAddress1",),
        ("lastName", "workEmailAddress1"),  # after a marriage
        ("workMobilePhone1", "workEmailAddress1"),
        ("workEmailAddress1", "workCountry", "timezone", "status", "messagingOptions.sms.primary"),  # moved
    ],
)
def test_ordinary_drift_is_drift(changed: tuple[str, ...]) -> None:
    """A conflict for each of them would be confirmed unread."""
    assert judged(*changed) == ""


def test_two_values_of_three_are_drift() -> None:
    """A manifest that says little of her: a marriage changes most of it."""
    little = {path: JANE[path] for path in ("firstName", "lastName", "workEmailAddress1")}
    married = {**little, "lastName": "Roe", "workEmailAddress1": "jane.roe@example.com"}

    assert judge_reuse("contact", little, married, keys=MAIL) is None


def test_whoever_keeps_an_identity_is_herself() -> None:
    """Everything else may be mended by hand at once."""
    assert judged("firstName", "lastName", "jobTitle", "workMobilePhone1") == ""
    assert judged(*TELLING, keys=(*MAIL, ("workCountry",))) == ""


def test_what_a_brief_row_does_not_show_does_not_count() -> None:
    """It has not changed: it was not read."""
    shown = {path: SAM[path] for path in ("firstName", "lastName", "workEmailAddress1")}

    assert judge_reuse("contact", JANE, shown, keys=MAIL, known=shown.keys()) is not None
    assert judge_reuse("contact", JANE, shown, keys=MAIL, known={"firstName", "workEmailAddress1"}) is None


def test_a_contact_that_was_emptied_is_nobody_else() -> None:
    """No identity is no other identity: the plan fills it in again."""
    assert judge_reuse("contact", JANE, {"firstName": "Sam"}, keys=MAIL) is None


def test_another_spelling_is_no_change() -> None:
    """The digits of a number, the letter case of an address."""
    shown = {**JANE, "workMobilePhone1": "+61 491 570 156", "workEmailAddress1": "Jane.Doe@example.com"}

    assert judge_reuse("contact", JANE, {**shown, "firstName": "S", "lastName": "R"}, keys=MAIL) is None


@given(st.sets(st.sampled_from(sorted(JANE))))
def test_law_somebody_else_is_another_address_and_most_of_what_tells_people_apart(changed: set[str]) -> None:
    """Any drift: it is a question exactly where the address and most of five values have changed."""
    told = changed.intersection(TELLING)

    assert bool(judged(*changed)) == ("workEmailAddress1" in changed and len(told) >= 3)


@given(st.sets(st.sampled_from(TELLING), max_size=2), st.sets(st.sampled_from(sorted(JANE.keys() - TELLING))))
def test_law_one_or_two_values_that_tell_people_apart_are_drift(told: set[str], others: set[str]) -> None:
    """Whatever else changes with them that many colleagues share."""
    assert judged(*told, *others) == ""
