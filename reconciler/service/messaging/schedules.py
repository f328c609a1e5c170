"""When a scheduled message is sent, as the service writes it.

Belongs here: the fields of a schedule, and refusing a time that the service could not mean. Pure.
Source: docs/service.md, messages. A date is `dd/mm/yyyy hh:mm` and names no zone: the service reads it in
the zone of the user who sends.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from reconciler.core.desired.value_forms import suggest_zone
from reconciler.errors import InputError
from reconciler.model import geography
from reconciler.model.messages import Repeat, Schedule

times_max = 1000  # repetitions of one message; nobody means more
ahead_max = timedelta(days=366)  # a date beyond it is most likely a slip in the year

_LIMITS = {"days": 366, "hours": 23, "minutes": 59}


def fields(schedule: Schedule, now: datetime) -> dict[str, str]:
    """The fields of the body that make a message wait. Raises InputError for a time that cannot be meant."""
    local = _local(schedule, now)
    found = {
        "messageType": "SCHEDULED",
        "scheduleType": "REPEAT" if schedule.repeat else "ONCE",
        "scheduleDate": f"{local.day:02}/{local.month:02}/{local.year:04} {local.hour:02}:{local.minute:02}",
    }
    return found | (_repeats(schedule.repeat) if schedule.repeat else {})


def _local(schedule: Schedule, now: datetime) -> datetime:
    """The moment in the zone in which the service reads it."""
    at = schedule.at
    _require_ahead(at, now)
    local = at.astimezone(_zone(schedule.zone))
    # PEP 495: `fold` tells apart the two moments of one reading, when clocks are put back.
    if local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset():
        raise InputError(
            f"{local:%d/%m/%Y %H:%M} occurs twice in {schedule.zone}, when its clocks are put back; "
            "the service could not tell which one is meant.",
            next="choose a time outside of that hour.",
        )
    return local


def _require_ahead(at: datetime, now: datetime) -> None:
    if at.tzinfo is None or at.second or at.microsecond:
        raise InputError(
            "the time of a scheduled message needs a zone and whole minutes.",
            next="write it as 2026-03-02T22:00+11:00, or with Z for UTC.",
        )
    if not now < at <= now + ahead_max:
        what = "is over" if at <= now else f"is more than {ahead_max.days} days ahead"
        raise InputError(
            f"the time of the scheduled message, {at.isoformat(timespec='minutes')}, {what}.",
            next="check date and zone; nothing was sent.",
        )


def _zone(name: str) -> ZoneInfo:
    if name not in geography.zone_names():
        what = (
            f"{name!r} is not a time zone." if name else "it is not said in which time zone the service reads"
        )
        otherwise = (
            "name the zone of the API user's profile in service.schedule_zone, as Australia/Melbourne."
        )
        raise InputError(what if name else f"{what} the date.", next=suggest_zone(name) or otherwise)
    return geography.load_zone(name)


def _repeats(repeat: Repeat) -> dict[str, str]:
    pause = {"days": repeat.days, "hours": repeat.hours, "minutes": repeat.minutes}
    for name, value in pause.items():
        if not 0 <= value <= _LIMITS[name]:
            raise InputError(
                f"a message cannot be repeated after {value} {name}.",
                next=f"write 0 to {_LIMITS[name]} {name}.",
            )
    if not 1 <= repeat.times <= times_max or not any(pause.values()):
        raise InputError(
            f"a message is repeated 1 to {times_max:,} times, with a pause of a minute or more.",
            next="correct the number of times, or give the pause in days, hours and minutes.",
        )
    return {
        "repetitionCount": str(repeat.times),
        "repeatDays": str(repeat.days),
        "repeatHrs": str(repeat.hours),
        "repeatMin": str(repeat.minutes),
    }


def in_utc(moment: datetime) -> str:
    """A moment as reports write it: ISO 8601 in UTC, to the minute."""
    return moment.astimezone(UTC).isoformat(timespec="minutes").replace("+00:00", "Z")
