"""What counts as taken: as sent after normalizing, and what a service can only show in its own way."""

import pytest

from reconciler.core.taken import reading, same
from reconciler.model.documents import Scalar

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
    assert same("contact", path, sent, shown)


@pytest.mark.parametrize(
    ("path", "sent", "shown"),
    [
        ("jobTitle", "Nurse", "Porter"),
        ("jobTitle", "", "false"),
        ("timezone", "Australia/Melbourne", "0"),
        ("workMobilePhone1", "+61 491 570 156", "+61 491 570 157"),
        (ENABLED, "", True),
    ],
)
def test_another_value_is_not_what_was_sent(path: str, sent: Scalar, shown: Scalar) -> None:
    """A number with one other digit calls somebody else."""
    assert not same("contact", path, sent, shown)


@pytest.mark.parametrize("before", [True, False])
def test_a_cleared_flag_that_shows_false_is_taken(before: bool) -> None:  # noqa: FBT001 - the flag itself
    """A channel that keeps another option has the flag, whatever was sent: not taken for ever otherwise."""
    found = reading("contact", {ENABLED: ""}, {ENABLED: False}, before={ENABLED: before}, salt="salt")

    assert found.taken == {ENABLED}
    assert found.refused == ()
