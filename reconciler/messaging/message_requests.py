"""What a request about messages says: the body of a new one, the time span of a list.

What the service could misread is refused. Pure.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from reconciler.core.desired.value_forms import suggest_zone
from reconciler.errors import InputError
from reconciler.messaging.values import BulkResource, Message, Repeat, Schedule
from reconciler.model import geography
from reconciler.service.http import urls

recipients_max = 10_000  # characters of `to`, separators counted (docs/service.md, messages)
separator = ";"  # between recipients; public sources show `;` and `,`, so neither may stand in one
zone_pad = timedelta(days=1)  # the zone of the four criteria is documented nowhere; none is further from UTC


def build_message_body(message: Message, now: Callable[[], datetime]) -> dict[str, Any]:
    """The body that sends `message`. Raises InputError for what the service could misread.

    `now` returns UTC; it is called for a scheduled message alone.
    """
    _check_recipients(message)
    parameters = {name: _encode_parameter(value) for name, value in message.callback_parameters.items()}
    body: dict[str, Any] = {**_recipient_fields(message), "subject": message.subject}
    if message.body:
        body["body"] = message.body
    if message.callback_id:
        body["callbackId"] = message.callback_id
    if parameters:
        body["callbackParameters"] = parameters
    if message.schedule:
        body |= schedule_fields(message.schedule, now())
    # It is unknown which of the two is right, and one of them would be sent to people.
    twice = sorted(body.keys() & message.more.keys())
    if twice:
        raise InputError(
            f"`more` names {', '.join(twice)}, which the message has already.", next="leave it out of `more`."
        )
    return {**body, **message.more}


def _encode_parameter(value: Any) -> str | int | float | bool:
    """A plain value as it is, any other as its JSON text."""
    # It is documented nowhere what the service makes of an object. All values come back as texts
    # (specification 2.6), so a text that was sent comes back unchanged.
    try:
        written = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            "a callback parameter is not a value of JSON.",
            next="give a text, a finite number, true, false, null, or a list or an object of those.",
        ) from None
    return value if isinstance(value, str | int | float) else written


def _recipient_fields(message: Message) -> dict[str, Any]:
    """`to`, or the resource whose rows address everybody."""
    bulk = message.resource
    if bulk is None:
        return {"to": separator.join(message.to)}
    columns = {"smsMappingField": bulk.sms, "emailMappingField": bulk.email, "voiceMappingField": bulk.voice}
    return {
        "resource": {
            "resourceId": bulk.resource_id,
            **{name: column for name, column in columns.items() if column},
        }
    }


def _check_bulk(bulk: BulkResource, recipients: Sequence[str]) -> None:
    if recipients or not (bulk.sms or bulk.email or bulk.voice):
        raise InputError(
            "a message to a resource has recipients in `to`, or no column with recipients.",
            next="leave `to` empty, and name at least one of the columns sms, email and voice.",
        )
    urls.check_id(bulk.resource_id)


def _check_recipients(message: Message) -> None:
    """Raise InputError for recipients that the service would refuse, or read as others."""
    # A message costs money and wakes people: what is in doubt is refused before anything is sent.
    recipients = message.to
    if message.resource is not None:
        _check_bulk(message.resource, recipients)
        return
    if not recipients:
        raise InputError("the message has no recipient.", next="name at least one number, address or MRI.")
    for place, each in enumerate(recipients, 1):
        # One with a separator in it would be two recipients, the second by mistake.
        if not each.strip() or not each.isprintable() or ";" in each or "," in each:
            raise InputError(
                f"recipient {place} is empty, or contains a separator or a control character.",
                next="give each recipient as a text of its own.",
            )
    if (size := len(separator.join(recipients))) > recipients_max:
        raise InputError(
            f"the recipients are {size:,} characters in all; the service accepts {recipients_max:,}.",
            next="send several messages, each to some of them.",
        )


def build_time_criteria(start: datetime, end: datetime) -> tuple[tuple[str, str], ...]:
    """All four of them, in UTC and a day wider on both sides."""
    # Specification 8, rule 4: with three of them the service does not filter at all.
    first, last = _shift_moment(start, -zone_pad), _shift_moment(end, zone_pad)
    return (
        ("criteriaFromDate", _format_day(first)),
        ("criteriaFromTime", f"{first:%H:%M}"),
        ("criteriaToDate", _format_day(last)),
        ("criteriaToTime", f"{last:%H:%M}"),
    )


def _shift_moment(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment.astimezone(UTC) + by
    except OverflowError:  # the first or the last day that there is
        return moment.replace(tzinfo=UTC)


def _format_day(moment: datetime) -> str:
    return f"{moment.day:02}/{moment.month:02}/{moment.year:04}"


def resolve_time_span(
    start: datetime | None, end: datetime | None, now: Callable[[], datetime]
) -> tuple[datetime, datetime] | tuple[None, None]:
    """The first and the last moment of the time span, or none at all; an end left out is now.

    Raises InputError for an invalid time span.
    """
    if start is None:
        if end is None:
            return None, None
        raise InputError(
            "an end date needs a start date.",
            next="give the start too; without both, the last seven days are listed.",
        )
    last = end or now()
    if start.tzinfo is None or last.tzinfo is None:
        raise InputError(
            "a date without a time zone cannot be compared.",
            next="give dates with a time zone, as datetime(2026, 3, 1, tzinfo=UTC).",
        )
    if start > last:
        raise InputError("the start is after the end.", next="swap them, or leave the end out.")
    return start, last


# --- When a scheduled message is sent, as the service writes it -----------------------------------
#
# A time that the service could misread is refused. Source: docs/service.md, messages. A date is `dd/mm/yyyy
# hh:mm` and names no zone: the service reads it in the zone of the user who sends.


times_max = 1000  # repetitions of one message; more is a slip
ahead_max = timedelta(days=366)  # a date beyond it is most likely a slip in the year

_LIMITS = {"days": 366, "hours": 23, "minutes": 59}


def schedule_fields(schedule: Schedule, now: datetime) -> dict[str, str]:
    """The fields of the body that make a message wait. Raises InputError for an invalid time."""
    local = _to_service_zone(schedule, now)
    found = {
        "messageType": "SCHEDULED",
        "scheduleType": "REPEAT" if schedule.repeat else "ONCE",
        "scheduleDate": f"{local.day:02}/{local.month:02}/{local.year:04} {local.hour:02}:{local.minute:02}",
    }
    return found | (_repeat_fields(schedule.repeat) if schedule.repeat else {})


def _to_service_zone(schedule: Schedule, now: datetime) -> datetime:
    """The moment in the zone in which the service reads it."""
    at = schedule.at
    _require_future(at, now)
    local = at.astimezone(_load_zone(schedule.zone))
    # PEP 495: `fold` tells apart the two moments of one reading, when clocks are put back.
    if local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset():
        raise InputError(
            f"{local:%d/%m/%Y %H:%M} occurs twice in {schedule.zone}, when its clocks are put back; "
            "the service cannot tell which of the two is meant.",
            next="choose a time outside of that hour.",
        )
    return local


def _require_future(at: datetime, now: datetime) -> None:
    if at.tzinfo is None or at.second or at.microsecond:
        raise InputError(
            "the time of a scheduled message needs a zone and whole minutes.",
            next="write it as 2026-03-02T22:00+11:00, or with Z for UTC.",
        )
    if not now < at <= now + ahead_max:
        what = "is in the past" if at <= now else f"is more than {ahead_max.days} days ahead"
        raise InputError(
            f"the time of the scheduled message, {at.isoformat(timespec='minutes')}, {what}.",
            next="check date and zone; nothing was sent.",
        )


def _load_zone(name: str) -> ZoneInfo:
    if name not in geography.zone_names():
        what = (
            f"{name!r} is not a time zone."
            if name
            else "no setting says in which time zone the service reads"
        )
        otherwise = "set service.schedule_zone to the zone of the API user's profile, as Australia/Melbourne."
        raise InputError(what if name else f"{what} the date.", next=suggest_zone(name) or otherwise)
    return geography.load_zone(name)


def _repeat_fields(repeat: Repeat) -> dict[str, str]:
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


def format_utc_minute(moment: datetime) -> str:
    """A moment as reports write it: ISO 8601 in UTC, to the minute."""
    return moment.astimezone(UTC).isoformat(timespec="minutes").replace("+00:00", "Z")
