"""What counts as taken: as sent after normalizing, and what a service can only show in its own way."""

import pytest

from reconciler.core.compare.readback import judge_identity, judge_read_back, reads_back_as
from reconciler.model.documents import Scalar
from reconciler.model.settings import Identity

ENABLED = "messagingOptions.sms.enabled"


@pytest.mark.parametrize(
    ("path", "sent", "shown"),
    [
        ("jobTitle", "Nurse", "Nurse"),
        ("timezone", "Australia/Melbourne", "+10"),
        ("workMobilePhone1", "+61 491 570 156", "61491570156"),
        ("workEmailAddress1", "Jane.Doe@Example.com", "jane.doe@example.com"),
        (ENABLED, "", False),
    ],
)
def test_another_spelling_of_what_was_sent_is_taken(path: str, sent: Scalar, shown: Scalar) -> None:
    """Such a value would be sent again and again."""
    assert reads_back_as("contact", path, sent, shown)


@pytest.mark.parametrize(
    ("path", "sent", "shown"),
    [
        ("jobTitle", "Nurse", "Porter"),
        ("jobTitle", "", "false"),
        ("timezone", "Australia/Melbourne", "0"),
        ("workMobilePhone1", "+61 491 570 156", "+61 491 570 157"),
        ("workMobilePhone1", "+61491570156", "0491570156"),
        ("workMobilePhone1", "+6561234567", "6561234567"),  # ten digits: a number in the United States
        ("workMobilePhone1", "+00491570156", "00491570156"),
        ("workMobilePhone1", "call me", "callme"),
        (ENABLED, "", True),
    ],
)
def test_another_value_is_not_what_was_sent(path: str, sent: Scalar, shown: Scalar) -> None:
    """A number with one other digit calls somebody else."""
    assert not reads_back_as("contact", path, sent, shown)


@pytest.mark.parametrize("before", [{}, {"workSuburb": "Fitzroy"}])
def test_no_value_is_a_way_of_writing_none(before: dict[str, Scalar]) -> None:
    """Somebody else wrote it right after us: once learnt, it would stand there for ever, in silence."""
    found = judge_read_back(
        "contact", {"workSuburb": ""}, {"workSuburb": "by hand"}, before=before, salt="salt"
    )

    assert found.taken == frozenset()
    assert found.rewritten == ()
    assert [(one.path, one.sent, one.shown) for one in found.refused] == [("workSuburb", None, "by hand")]


@pytest.mark.parametrize("before", [{}, {"workSuburb": "Fitzroy"}])
def test_an_absent_value_is_no_way_of_writing_one(before: dict[str, Scalar]) -> None:
    """The number that nobody can see is the call that is lost."""
    found = judge_read_back("contact", {"workSuburb": "Carlton"}, {}, before=before, salt="salt")

    assert found.rewritten == ()
    assert [(one.path, one.sent, one.shown) for one in found.refused] == [("workSuburb", "Carlton", None)]


@pytest.mark.parametrize(
    ("path", "before", "sent", "shown"),
    [
        ("workMobilePhone1", "+61491570156", "+61491570157", "61491570156"),
        ("workMobilePhone1", "61491570156", "+61491570157", "+61 491 570 156"),
        ("workEmailAddress2", "jane@example.com", "jane.doe@example.com", "Jane@Example.com"),
        ("timezone", "Australia/Melbourne", "Asia/Tokyo", "+10"),
        ("jobTitle", "Clerk", "Nurse", "Clerk "),
        (ENABLED, "", True, False),
    ],
)
def test_the_value_of_before_in_another_spelling_is_not_taken(
    path: str, before: Scalar, sent: Scalar, shown: Scalar
) -> None:
    """Learnt as a way of writing the new number, the old one would be called for ever."""
    found = judge_read_back("contact", {path: sent}, {path: shown}, before={path: before}, salt="salt")

    assert found.rewritten == ()
    assert [(one.path, one.sent, one.shown) for one in found.refused] == [(path, sent, shown)]


@pytest.mark.parametrize("before", [True, False])
def test_a_cleared_flag_that_shows_false_is_taken(before: bool) -> None:  # noqa: FBT001 - the flag itself
    """A channel that keeps another option has the flag, whatever was sent: not taken for ever otherwise."""
    found = judge_read_back("contact", {ENABLED: ""}, {ENABLED: False}, before={ENABLED: before}, salt="salt")

    assert found.taken == {ENABLED}
    assert found.refused == ()


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ({"workEmailAddress1": "JANE@example.com", "custom.id": "7"}, "same"),
        ({"workEmailAddress1": "jane@example.com", "custom.id": "8"}, "other"),
        ({"workEmailAddress1": "sam@example.com"}, "other"),
        ({"workEmailAddress1": "jane@example.com"}, "hidden"),
        ({}, "hidden"),
    ],
)
def test_one_identity_that_differs_is_another_entity(shown: dict[str, Scalar], found: str) -> None:
    """A mark, an e-mail address: each was sent, so each has to be shown before the entity is ours."""
    sent = {"workEmailAddress1": "jane@example.com", "custom.id": "7"}

    assert judge_identity("contact", sent, shown, (("custom.id",), ("workEmailAddress1",))) == found


def test_what_cannot_be_read_is_taken_only_beside_something_that_was() -> None:
    """A PUT that did nothing visible did not set the password either."""
    sent = {"password": "secret", "jobTitle": "Engineer"}
    before = {"jobTitle": "Clerk"}

    taken = judge_read_back("contact", sent, {"jobTitle": "Engineer"}, before=before, salt="salt")
    ignored = judge_read_back("contact", sent, {"jobTitle": "Clerk"}, before=before, salt="salt")

    assert taken.taken == {"password", "jobTitle"}
    assert ignored.taken == frozenset()
    assert [field.path for field in ignored.refused] == ["jobTitle", "password"]


@pytest.mark.parametrize(
    ("path", "sent", "shown"),
    [
        ("workEmailAddress1", "p9@b\u00fccher.example", "p9@xn--bcher-kva.example"),
        ("workEmailAddress1", "\u00c4nne@example.com", "a\u0308nne@example.com"),
        ("workMobilePhone1", "0491 570 156", "61491570156"),
        ("workMobilePhone1", "+61 491 570 156", "0491570156"),
    ],
)
def test_an_identity_in_the_spelling_of_the_service_is_the_entity_that_was_sent(
    path: str, sent: str, shown: str
) -> None:
    """Taken for somebody else, it would stay in doubt, and the next apply would make her again."""
    keys = Identity({"contacts": (path,)}).of("contact")

    assert judge_identity("contact", {path: sent, "workCountry": "Australia"}, {path: shown}, keys) == "same"
    assert judge_identity("contact", {path: sent}, {path: f"7{shown}"}, keys) == "other"
