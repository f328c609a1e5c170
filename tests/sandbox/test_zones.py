"""The rewriting of time zones."""

import pytest

from reconciler.sandbox.contacts import zone_offset


@pytest.mark.parametrize(
    "sent", ["+10", "10", "0", "AEST!", "Mars/Olympus", "../../secret", "a\0b", "x" * 5000, "é"]
)
def test_what_is_no_zone_name_becomes_zero(sent: str) -> None:
    """Recorded for "+10"; assumed for everything else that is no name."""
    assert zone_offset(sent) == "0"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Australia/Melbourne", "+10"),
        ("Asia/Kathmandu", "+5:45"),
        ("America/St_Johns", "-3:30"),
        ("Europe/London", "0"),
        ("Etc/GMT", "0"),
    ],
)
def test_a_name_is_shown_as_its_standard_offset(name: str, shown: str) -> None:
    """Recorded for Melbourne; hours, and minutes where there are some (assumed)."""
    assert zone_offset(name) == shown
