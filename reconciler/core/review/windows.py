"""When `sync` may write: windows that open at the times of a cron expression, and stay open for a while.

The clock and the zone are arguments. A window begins at a time of its zone's clocks and lasts for hours that
pass: one of 8 hours that opens at 22:00 ends at 06:00, or an hour earlier or later where the clocks change in
that night. What opens in the hour that is left out in spring opens right after it; what opens in the hour
that comes twice in autumn opens once, the first time.

Changes may be made where a window of `allow` is open, or none is written, and none of `deny` is.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError
from msgspec import Struct

from reconciler.model.geography import load_zone
from reconciler.model.settings import Windows

_DURATION = re.compile(r"([1-9][0-9]{0,4})([mhd])")
_WINDOW = re.compile(r"(?P<cron>[0-9A-Za-z*/,#\- ]+?) +for +(?P<length>\S+)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_minute = timedelta(minutes=1)  # windows open at whole minutes
_fields = 5  # of a cron expression; cronsim would take one of seconds too
_length_max = timedelta(days=366)
# How far ahead an opening is looked for. A step goes to the next moment at which a window opens or ends, so
# only windows of `deny` that follow each other without a gap need many.
_horizon = timedelta(days=5 * 366)
_steps_max = 5_000


class TimeWindow(Struct, frozen=True):
    """It opens at each time of `cron`, and is open until `length` has passed."""

    cron: str
    length: timedelta


class Calendar(Struct, frozen=True):
    """All windows of a policy, and the zone whose clocks open them."""

    zone: tzinfo
    allow: tuple[TimeWindow, ...] = ()
    deny: tuple[TimeWindow, ...] = ()


def parse_duration(text: str) -> timedelta:
    """Return the time that `90m`, `8h` or `2d` says. Raises ValueError, which says what is wrong."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a number of minutes, hours or days, such as 90m, 8h or 2d")
    return int(found[1]) * _UNITS[found[2]]


def parse_window(text: str) -> TimeWindow:
    """Return the window that `0 9 * * MON-FRI for 8h` says. Raises ValueError, which says what is wrong."""
    found = _WINDOW.fullmatch(text.strip())
    if found is None:
        raise ValueError("it is not five fields of cron, then `for` and how long")
    cron = " ".join(found["cron"].split())
    if len(cron.split(" ")) != _fields:
        raise ValueError(f"{cron!r} has {len(cron.split(' '))} fields, and not five")
    length = parse_duration(found["length"])
    if length > _length_max:
        raise ValueError(f"{found['length']} is longer than a year")
    try:
        # Cronsim refuses 30 February itself, and looks 50 years ahead for a fifth Monday on the first.
        next(CronSim(cron, datetime(2000, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        raise ValueError(f"{cron!r} is no cron expression: {str(error).lower()}") from error
    except StopIteration as error:
        raise ValueError(f"{cron!r} names a day that no year has, so it never opens") from error
    return TimeWindow(cron, length)


def make_calendar(windows: Windows) -> Calendar:
    """Return the windows of the settings. Raises KeyError for an unknown zone, ValueError for a window."""
    allow, deny = (tuple(map(parse_window, texts)) for texts in (windows.allow, windows.deny))
    return Calendar(load_zone(windows.time_zone), allow, deny)


def is_open_at(calendar: Calendar, moment: datetime) -> bool:
    """Whether changes may be made at a moment. The moment has a zone; which one does not matter."""
    allowed = not calendar.allow or any(_is_open(one, calendar.zone, moment) for one in calendar.allow)
    return allowed and not any(_is_open(one, calendar.zone, moment) for one in calendar.deny)


def find_next_opening(calendar: Calendar, moment: datetime) -> datetime | None:
    """Return the first moment from this one on at which changes may be made, in UTC.

    None where none is found: there is none within five years, or windows of `deny` follow each other without
    a gap.
    """
    at = moment.astimezone(UTC)
    end = at + _horizon
    for _ in range(_steps_max):
        if at > end:
            return None
        denied = [one for one in calendar.deny if _is_open(one, calendar.zone, at)]
        if denied:
            at = max(_find_last_opening(one, calendar.zone, at) + one.length for one in denied)
        elif not is_open_at(calendar, at):
            openings = [_find_next_tick(one.cron, calendar.zone, at) for one in calendar.allow]
            at = min(filter(None, openings), default=end + _horizon)
        else:
            return at
    return None


def _is_open(window: TimeWindow, zone: tzinfo, moment: datetime) -> bool:
    opened = _find_next_tick(window.cron, zone, moment - window.length)
    return opened is not None and opened <= moment


def _find_last_opening(window: TimeWindow, zone: tzinfo, moment: datetime) -> datetime:
    """Return when a window that is open at a moment was opened last, in UTC.

    Looks only forward, in halves: cronsim names other times when it looks back over the hour that the clocks
    leave out.
    """
    opened = _find_next_tick(window.cron, zone, moment - window.length)
    assert opened is not None  # noqa: S101 - it is open
    last, before = opened, moment  # nothing opens between the second and the moment
    while before - last >= _minute:
        middle = last + (before - last) / 2
        opened = _find_next_tick(window.cron, zone, middle)
        if opened is not None and opened <= moment:
            last = opened
        else:
            before = middle
    return last


def _find_next_tick(cron: str, zone: tzinfo, after: datetime) -> datetime | None:
    """Return the first time of a cron expression after a moment, in UTC; None for none in 50 years."""
    # In the hour that comes twice cronsim goes by the clock on the wall, and names what has been.
    ticks = (one.astimezone(UTC) for one in CronSim(cron, after.astimezone(zone)))
    return next((one for one in ticks if one > after), None)
