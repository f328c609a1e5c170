"""Claims about scheduled messages: what the service reads is the moment that is meant, or nothing is sent."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.support import Clock, Wire, answer, service, with_client

from reconciler.errors import InputError
from reconciler.messaging.client import open_service_client
from reconciler.messaging.message_requests import ahead_max, schedule_fields
from reconciler.messaging.values import Message, Repeat, Schedule

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
MELBOURNE = "Australia/Melbourne"
TONIGHT = datetime(2026, 3, 2, 22, tzinfo=timezone(timedelta(hours=1)))


@given(
    # From more than a day after NOW on: midnight is up to 14 hours earlier east of Greenwich.
    st.datetimes(datetime(2026, 3, 4), datetime(2027, 3, 1), timezones=st.timezones()),  # noqa: DTZ001 - its zone follows
    st.sampled_from(["UTC", MELBOURNE, "Europe/London", "America/New_York", "Asia/Kathmandu"]),
)
def test_the_date_is_the_moment_in_the_zone_of_the_service(at: datetime, zone: str) -> None:
    """Whatever zone it was written in; or it is refused, where the clocks of the service show it twice."""
    at = at.astimezone(UTC).replace(second=0, microsecond=0)

    try:
        written = schedule_fields(Schedule(at, zone), NOW)["scheduleDate"]
    except InputError as error:
        assert "occurs twice" in str(error)  # noqa: PT017 - the other half of the law
        return

    read = datetime.strptime(written, "%d/%m/%Y %H:%M").replace(tzinfo=ZoneInfo(zone))
    assert read.astimezone(UTC) == at


REFUSED: dict[str, tuple[Schedule, str]] = {
    "past": (Schedule(NOW - timedelta(minutes=1), "UTC"), "is in the past"),
    "now": (Schedule(NOW, "UTC"), "is in the past"),
    "a year ahead": (Schedule(NOW + ahead_max + timedelta(minutes=1), "UTC"), "more than 366 days ahead"),
    "without a zone": (Schedule(datetime(2026, 3, 3, 9), "UTC"), "needs a zone"),  # noqa: DTZ001 - that is the case
    "with seconds": (Schedule(NOW + timedelta(seconds=90), "UTC"), "whole minutes"),
    "in an hour that comes twice": (
        Schedule(datetime(2026, 4, 4, 15, 30, tzinfo=UTC), MELBOURNE),
        "occurs twice",
    ),
    "in no zone of the service": (Schedule(TONIGHT, ""), "no setting says in which time zone"),
    "in a zone that is none": (Schedule(TONIGHT, "Australia/Melburne"), "not a time zone"),
    "repeated never": (Schedule(TONIGHT, "UTC", Repeat(0, hours=1)), "1 to 1,000 times"),
    "repeated without a pause": (Schedule(TONIGHT, "UTC", Repeat(3)), "with a pause"),
    "repeated after 25 hours": (Schedule(TONIGHT, "UTC", Repeat(3, hours=25)), "after 25 hours"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_time_that_cannot_be_meant_is_refused_unsent(case: str) -> None:
    """An hour off, somebody is woken in the night; in the past, it would go out at once."""
    schedule, words = REFUSED[case]
    wire = Wire(answer(202, {"messageid": "A1"}))
    message = Message(("+61491570156",), "s", schedule=schedule)

    with pytest.raises(InputError, match=words):
        schedule_fields(schedule, NOW)
    with pytest.raises(InputError, match=words):
        asyncio.run(_send(wire, message))
    assert wire.sent == []


async def _send(wire: Wire, message: Message) -> None:
    timing = replace(Clock().timing, now=lambda: NOW)
    async with open_service_client(service(), timing=timing, connections=wire) as client:
        await client.messages.send(message)


def test_a_scheduled_message_waits_in_the_form_of_the_public_sources() -> None:
    once = schedule_fields(Schedule(TONIGHT, MELBOURNE), NOW)
    often = schedule_fields(Schedule(TONIGHT, MELBOURNE, Repeat(10, days=1, hours=2, minutes=3)), NOW)

    assert once == {
        "messageType": "SCHEDULED",
        "scheduleType": "ONCE",
        "scheduleDate": "03/03/2026 08:00",
    }
    assert often == once | {
        "scheduleType": "REPEAT",
        "repetitionCount": "10",
        "repeatDays": "1",
        "repeatHrs": "2",
        "repeatMin": "3",
    }


def test_more_recipients_than_the_service_takes_are_refused_unsent() -> None:
    """At most 10,000 characters of `to`: what is beyond might be cut off, and nobody would know."""
    wire = Wire(answer(202, {"messageid": "A1"}))
    most = tuple("1" * 9 for _ in range(1000))  # with their separators 9,999 characters

    with_client(wire, lambda client: client.messages.send(Message(most, "s")))
    with pytest.raises(InputError, match="the service accepts 10,000"):
        with_client(wire, lambda client: client.messages.send(Message((*most, "1"), "s")))

    assert len(json.loads(wire.sent[0].content)["to"]) == 9_999
    assert len(wire.sent) == 1
