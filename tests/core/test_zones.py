"""Time zones and their offsets, and what they are used for."""

import pytest
from msgspec import structs

from reconciler.core.compare import normalize
from reconciler.core.compare.diff import Salts, diff_entity
from reconciler.model.address import contact_address
from reconciler.model.documents import Place
from reconciler.model.geography import zone_names, zone_offsets
from reconciler.model.snapshots import Entity, LiveEntity, RecordedEntity

JANE = Entity(contact_address("ops", "jane"), {"timezone": "Australia/Melbourne"}, Place("ops.yaml"))
SHOWN = LiveEntity("contact", "ops", "1", {"timezone": "+10"})


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Australia/Melbourne", ("+10", "+11")),
        ("America/St_Johns", ("-3:30", "-2:30")),
        ("Asia/Kathmandu", ("+5:45",)),
        ("Europe/London", ("0", "+1")),
        ("US/Eastern", ("-5", "-4")),
        ("Etc/UTC", ("0",)),
        ("Mars/Olympus", ()),
        ("../zones", ()),
        ("", ()),
    ],
)
def test_a_zone_has_the_offsets_of_the_public_database(name: str, found: tuple[str, ...]) -> None:
    """Smallest first, hours and minutes as the service writes them; none for what is no name."""
    assert zone_offsets(name) == found


def test_every_zone_of_the_database_has_offsets() -> None:
    """Nothing falls through, also old and odd names."""
    assert [name for name in zone_names() if not 1 <= len(zone_offsets(name)) <= 3] == []


@pytest.mark.parametrize(("shown", "name"), normalize.FIXED_OFFSET_ZONES.items())
def test_a_zone_that_is_written_back_has_its_offset_all_year(shown: str, name: str) -> None:
    """Else the service might show another number for it in summer."""
    assert zone_offsets(name) == (shown,)


def test_a_name_and_its_offset_are_the_same_where_nothing_is_recorded() -> None:
    """After a lost store every contact would be written once, to change nothing (rule D5)."""
    assert diff_entity(JANE, SHOWN, None, salts=Salts("", "")).fields == ()


@pytest.mark.parametrize("shown", ["0", "+9", "+10:30", "", "-10"])
def test_another_offset_is_a_change(shown: str) -> None:
    """Only what the name can mean is the same."""
    live = structs.replace(SHOWN, fields={"timezone": shown} if shown else {})

    assert [field.path for field in diff_entity(JANE, live, None, salts=Salts("", "")).fields] == ["timezone"]


def test_another_name_with_the_same_offset_is_a_change_of_what_we_sent() -> None:
    """A record says which name is behind the offset."""
    sent = {"timezone": "Australia/Brisbane"}
    record = RecordedEntity(JANE.address, "1", sent=sent, shown={"timezone": "+10"})

    assert [field.cause for field in diff_entity(JANE, SHOWN, record, salts=Salts("", "")).fields] == [
        "declared"
    ]


def test_the_name_that_we_sent_is_written_back() -> None:
    """The service may keep more of it than it shows."""
    record = RecordedEntity(JANE.address, "1", sent=dict(JANE.fields), shown={"timezone": "+10"})

    assert normalize.zone_to_write("+10", JANE, record) == "Australia/Melbourne"
    assert normalize.zone_to_write("+11", JANE, record) == "Australia/Melbourne"
    assert normalize.zone_to_write("+11", JANE, None) == "Australia/Melbourne"
    assert normalize.zone_to_write("+9", JANE, record) == "Asia/Tokyo"
    assert normalize.zone_to_write("Mars/Olympus", JANE, None) == "Mars/Olympus"
