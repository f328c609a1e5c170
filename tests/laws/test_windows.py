"""Law: windows open as the clocks of their zone say, also when those change, and `deny` goes first."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.core.review.windows import Calendar, TimeWindow, find_next_opening, is_open_at

# Two hours, one hour and half an hour; in both hemispheres; one without summer time.
ZONES = ("Australia/Melbourne", "Europe/Berlin", "Australia/Lord_Howe", "Antarctica/Troll", "UTC")
# Around both changes of 2026 of each zone, and days on which nothing happens.
NIGHTS = [
    datetime(2026, month, day, tzinfo=UTC)
    for month, day in ((3, 28), (3, 29), (4, 4), (4, 5), (10, 3), (10, 4), (10, 24), (10, 25), (7, 15))
]
minute = timedelta(minutes=1)
moments = st.builds(
    lambda night, minutes: night + minutes * minute, st.sampled_from(NIGHTS), st.integers(0, 48 * 60)
)


def opens(hour: int, at: int, length: int) -> TimeWindow:
    return TimeWindow(f"{at} {hour} * * *", length * minute)


windows = st.builds(opens, st.integers(0, 23), st.sampled_from((0, 30, 45)), st.integers(1, 30 * 60))
calendars = st.builds(
    Calendar,
    st.sampled_from(ZONES).map(ZoneInfo),
    st.lists(windows, max_size=2).map(tuple),
    st.lists(windows, max_size=2).map(tuple),
)


def openings(window: TimeWindow, zone: ZoneInfo, around: datetime) -> Iterator[datetime]:
    """When a daily window opens, by the clock on the wall: the first time that it shows, or later."""
    at, hour = window.cron.split(" ")[:2]
    for days in range(-3, 3):
        day = (around.astimezone(zone) + timedelta(days=days)).date()
        wall = datetime(day.year, day.month, day.day, int(hour), int(at), tzinfo=zone)
        shown = wall.astimezone(UTC).astimezone(zone)
        while shown.replace(tzinfo=None) != wall.replace(tzinfo=None):  # the clocks leave it out
            wall += minute
            shown = wall.astimezone(UTC).astimezone(zone)
        yield shown.astimezone(UTC)


def is_open(window: TimeWindow, zone: ZoneInfo, moment: datetime) -> bool:
    return any(one <= moment < one + window.length for one in openings(window, zone, moment))


@given(calendars, moments)
@example(
    Calendar(ZoneInfo("Australia/Melbourne"), (opens(2, 30, 30),)), datetime(2026, 4, 4, 16, 45, tzinfo=UTC)
)
@example(
    Calendar(ZoneInfo("Australia/Melbourne"), (opens(2, 30, 30),)), datetime(2026, 10, 3, 16, 0, tzinfo=UTC)
)
def test_a_window_is_open_as_the_clocks_of_its_zone_say(calendar: Calendar, moment: datetime) -> None:
    """Compared with the wall clock: what it leaves out opens later, what comes twice opens once."""
    zone = calendar.zone
    assert isinstance(zone, ZoneInfo)
    allowed = not calendar.allow or any(is_open(one, zone, moment) for one in calendar.allow)
    denied = any(is_open(one, zone, moment) for one in calendar.deny)

    assert is_open_at(calendar, moment) is (allowed and not denied)


@given(calendars, moments)
@example(Calendar(ZoneInfo("UTC"), (), (TimeWindow("*/5 * * * *", 10 * minute),)), NIGHTS[0])
def test_the_next_opening_is_the_first_moment_at_which_it_is_open(
    calendar: Calendar, moment: datetime
) -> None:
    """Nothing between is open, looked at minute by minute; None only where none is open for two days."""
    found = find_next_opening(calendar, moment)

    end = min(found or moment + timedelta(days=2), moment + timedelta(days=2))
    steps = int((end - moment) / minute)
    assert not any(is_open_at(calendar, moment + step * minute) for step in range(0, steps, 7))
    assert found is None or (is_open_at(calendar, found) and moment <= found)
    if found is not None and found != moment:
        assert not is_open_at(calendar, found - minute)
