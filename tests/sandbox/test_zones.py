"""The rewriting of time zones."""

from zoneinfo import available_timezones

import pytest

from reconciler.sandbox.zones import STANDARD_OFFSETS, database_offset, shown_zone


def test_the_own_table_agrees_with_the_time_zone_database() -> None:
    """The table only spares the database, which some machines lack: it must not know better."""
    common = sorted(set(STANDARD_OFFSETS) & available_timezones())

    assert {name: STANDARD_OFFSETS[name] for name in common} == {
        name: database_offset(name) for name in common
    }


@pytest.mark.parametrize(
    "sent", ["+10", "10", "0", "AEST!", "Mars/Olympus", "../../secret", "a\0b", "x" * 5000, "é"]
)
def test_what_is_no_zone_name_becomes_zero(sent: str) -> None:
    """Recorded for "+10"; assumed for everything else that is no name."""
    assert shown_zone(sent) == "0"


@pytest.mark.parametrize(
    ("name", "shown"), [("Asia/Kathmandu", "+5:45"), ("America/St_Johns", "-3:30"), ("Etc/GMT", "0")]
)
def test_other_names_are_looked_up_where_there_is_a_database(name: str, shown: str) -> None:
    """Hours, and minutes where there are some (assumed); without a database they are unknown names."""
    assert shown_zone(name) == (shown if name in available_timezones() else "0")
