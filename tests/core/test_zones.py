"""The table of zones against the public database, and what it is used for."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from msgspec import structs

from reconciler.core import zones
from reconciler.core.diff import Salts, diff
from reconciler.model.address import contact
from reconciler.model.documents import Place
from reconciler.model.entities import Entity
from reconciler.model.snapshots import LiveEntity, RecordedEntity
from reconciler.model.zones import OFFSETS

JANE = Entity(contact("ops", "jane"), {"timezone": "Australia/Melbourne"}, Place("ops.yaml"))
SHOWN = LiveEntity("contact", "ops", "1", {"timezone": "+10"})


def offset(name: str, month: int) -> str:
    found = datetime(2026, month, 15, 12, tzinfo=ZoneInfo(name)).utcoffset()
    assert found is not None
    minutes = int(abs(found) / timedelta(minutes=1))
    text = f"{'-' if found < timedelta() else '+'}{minutes // 60}" + (
        f":{minutes % 60:02d}" if minutes % 60 else ""
    )
    return "0" if minutes == 0 else text


@pytest.mark.parametrize("name", OFFSETS)
def test_the_table_says_what_the_database_says(name: str) -> None:
    """It is data: whoever edits it by hand meets this."""
    assert set(OFFSETS[name]) == {offset(name, 1), offset(name, 7)}


@pytest.mark.parametrize(("shown", "name"), zones.NAMES.items())
def test_a_zone_that_is_written_back_has_its_offset_all_year(shown: str, name: str) -> None:
    """Else the service might show another number for it in summer."""
    assert OFFSETS[name] == (shown,)


def test_a_name_and_its_offset_are_the_same_where_nothing_is_recorded() -> None:
    """After a lost store every contact would be written once, to change nothing (rule D5)."""
    assert diff(JANE, SHOWN, None, salts=Salts("", "")).fields == ()


@pytest.mark.parametrize("shown", ["0", "+9", "+10:30", "", "-10"])
def test_another_offset_is_a_change(shown: str) -> None:
    """Only what the name can mean is the same."""
    live = structs.replace(SHOWN, fields={"timezone": shown} if shown else {})

    assert [field.path for field in diff(JANE, live, None, salts=Salts("", "")).fields] == ["timezone"]


def test_another_name_with_the_same_offset_is_a_change_of_what_we_sent() -> None:
    """A record says which name is behind the offset."""
    sent = {"timezone": "Australia/Brisbane"}
    record = RecordedEntity(JANE.address, "1", sent=sent, shown={"timezone": "+10"})

    assert [field.cause for field in diff(JANE, SHOWN, record, salts=Salts("", "")).fields] == ["declared"]


def test_the_name_that_we_sent_is_written_back() -> None:
    """The service may keep more of it than it shows."""
    record = RecordedEntity(JANE.address, "1", sent=dict(JANE.fields), shown={"timezone": "+10"})

    assert zones.writable("+10", JANE, record) == "Australia/Melbourne"
    assert zones.writable("+9", JANE, record) == "Asia/Tokyo"
    assert zones.writable("Mars/Olympus", JANE, None) == "Mars/Olympus"
