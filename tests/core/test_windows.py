"""Windows of time: how they are written, and when they open."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from reconciler.core.review.windows import (
    Calendar,
    find_next_opening,
    is_open_at,
    make_calendar,
    parse_duration,
    parse_window,
)
from reconciler.model.settings import Windows

FRIDAY = datetime(2026, 11, 27, 6, 30, tzinfo=UTC)  # 17:30 in Melbourne


def calendar(*allow: str, deny: tuple[str, ...] = (), zone: str = "Australia/Melbourne") -> Calendar:
    return make_calendar(Windows(zone, allow, deny))


def test_a_window_is_a_cron_expression_and_how_long() -> None:
    window = parse_window(" 0  9 * * MON-FRI   for 8h ")

    assert (window.cron, window.length) == ("0 9 * * MON-FRI", timedelta(hours=8))
    assert [parse_duration(text) for text in ("90m", "2d")] == [timedelta(minutes=90), timedelta(days=2)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0 9 * * 1", "it is not five fields of cron, then `for` and how long"),
        ("@daily for 1h", "it is not five fields of cron, then `for` and how long"),
        ("0 9 * * for 8h", "'0 9 * *' has 4 fields, and not five"),
        ("0 0 9 * * 1 for 8h", "'0 0 9 * * 1' has 6 fields, and not five"),
        ("61 9 * * 1 for 8h", "'61 9 * * 1' is no cron expression: bad minute"),
        ("0 9 * * FRI-MON for 8h", "'0 9 * * FRI-MON' is no cron expression: bad day-of-week"),
        ("0 9 * * 1 for 8", "'8' is not a number of minutes, hours or days, such as 90m, 8h or 2d"),
        ("0 9 * * 1 for 0h", "'0h' is not a number of minutes, hours or days, such as 90m, 8h or 2d"),
        ("0 9 * * 1 for 400d", "400d is longer than a year"),
        ("0 0 31 4 * for 1h", "'0 0 31 4 *' is no cron expression: bad day-of-month"),
        ("0 0 */31 * MON#5 for 1h", "'0 0 */31 * MON#5' names a day that no year has, so it never opens"),
    ],
)
def test_what_is_no_window_is_refused_with_the_reason(text: str, why: str) -> None:
    """A window that never opens is a mistake too: nothing would ever be applied."""
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        parse_window(text)


def test_without_windows_it_is_always_open() -> None:
    assert is_open_at(calendar(), FRIDAY)
    assert find_next_opening(calendar(), FRIDAY) == FRIDAY


def test_it_opens_at_the_next_time_of_the_nearest_window() -> None:
    office = calendar("0 9 * * MON-FRI for 8h", "0 12 * * SAT for 1h")

    assert not is_open_at(office, FRIDAY)
    assert find_next_opening(office, FRIDAY) == datetime(2026, 11, 28, 1, 0, tzinfo=UTC)
    assert is_open_at(office, FRIDAY - timedelta(hours=1))


def test_deny_goes_before_allow() -> None:
    """A freeze over Christmas closes the windows of every working day in it."""
    office = calendar("0 9 * * MON-FRI for 8h", deny=("0 0 24 12 * for 3d",))
    eve = datetime(2026, 12, 23, 22, 30, tzinfo=UTC)  # 09:30 on the 24th

    assert not is_open_at(office, eve)
    assert find_next_opening(office, eve) == datetime(2026, 12, 27, 22, 0, tzinfo=UTC)


def test_windows_that_are_always_denied_never_open() -> None:
    """Found without a search that takes long."""
    assert find_next_opening(calendar(deny=("* * * * * for 366d",)), FRIDAY) is None
    assert find_next_opening(calendar(deny=("* * * * * for 1m",)), FRIDAY) is None
    assert find_next_opening(calendar("0 9 * * * for 1h", deny=("0 8 * * * for 3h",)), FRIDAY) is None


def test_a_window_lasts_hours_that_pass_and_not_those_of_the_clock() -> None:
    """In the night in which the clocks go forward, 8 hours from 22:00 end at 07:00."""
    night = calendar("0 22 * * * for 8h")
    end = datetime(2026, 10, 3, 20, 0, tzinfo=UTC)  # 07:00 in Melbourne, where 22:00 was 10 hours behind UTC

    assert is_open_at(night, end - timedelta(minutes=1))
    assert not is_open_at(night, end)
