"""What a request about messages says: the body of a new one, the time span of a list.

Belongs here: building both from values, and refusing what the service could misread. Pure. Not here:
sending (messages.py), the shapes of answers (message_shapes.py).
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from reconciler.errors import InputError
from reconciler.model.messages import BulkResource, Message
from reconciler.service.http import urls
from reconciler.service.messaging import schedules

recipients_max = 10_000  # characters of `to`, separators counted (docs/service.md, messages)
separator = ";"  # between recipients; public sources show `;` and `,`, so neither may stand in one
zone_pad = timedelta(days=1)  # the zone of the four criteria is told nowhere; none is further from UTC


def body_of(message: Message, now: Callable[[], datetime]) -> dict[str, Any]:
    """The body that sends `message`. Raises InputError for what the service could misread.

    `now` tells UTC; it is asked for a scheduled message alone.
    """
    _check_recipients(message)
    parameters = {name: _parameter(value) for name, value in message.callback_parameters.items()}
    body: dict[str, Any] = {**_recipients(message), "subject": message.subject}
    if message.body:
        body["body"] = message.body
    if message.callback_id:
        body["callbackId"] = message.callback_id
    if parameters:
        body["callbackParameters"] = parameters
    if message.schedule:
        body |= schedules.fields(message.schedule, now())
    # Which of the two was meant cannot be told, and one of them would be sent to people.
    twice = sorted(body.keys() & message.more.keys())
    if twice:
        raise InputError(
            f"`more` names {', '.join(twice)}, which the message has already.", next="leave it out of `more`."
        )
    return {**body, **message.more}


def _parameter(value: Any) -> str | int | float | bool:
    """A plain value as it is, any other as its JSON text."""
    # Nobody tells what the service makes of an object. All values come back as texts (specification 2.6), so
    # a text that was sent comes back unchanged.
    try:
        written = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            "a callback parameter is neither a text, a finite number nor anything else that JSON has.",
            next="give a text, a finite number, true, false, null, or a list or an object of those.",
        ) from None
    return value if isinstance(value, str | int | float) else written


def _recipients(message: Message) -> dict[str, Any]:
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
            "a message to a resource has recipients of its own, or no column that addresses somebody.",
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
        # One that holds a separator would be two people, and nobody would have meant the second.
        if not each.strip() or not each.isprintable() or ";" in each or "," in each:
            raise InputError(
                f"recipient {place} is empty, or holds a separator or a control character.",
                next="give each recipient as a text of its own.",
            )
    if (size := len(separator.join(recipients))) > recipients_max:
        raise InputError(
            f"the recipients have {size:,} characters together; the service takes {recipients_max:,}.",
            next="send several messages, each to some of them.",
        )


def criteria(start: datetime, end: datetime) -> tuple[tuple[str, str], ...]:
    """All four of them, in UTC and a day wider on both sides."""
    # Specification 8, rule 4: with three of them the service does not filter at all.
    first, last = _moved(start, -zone_pad), _moved(end, zone_pad)
    return (
        ("criteriaFromDate", _day(first)),
        ("criteriaFromTime", f"{first:%H:%M}"),
        ("criteriaToDate", _day(last)),
        ("criteriaToTime", f"{last:%H:%M}"),
    )


def _moved(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment.astimezone(UTC) + by
    except OverflowError:  # the first or the last day that there is
        return moment.replace(tzinfo=UTC)


def _day(moment: datetime) -> str:
    return f"{moment.day:02}/{moment.month:02}/{moment.year:04}"


def span(
    start: datetime | None, end: datetime | None, now: Callable[[], datetime]
) -> tuple[datetime, datetime] | tuple[None, None]:
    """The first and the last moment that are meant, or none at all; an end left out is now.

    Raises InputError for dates that cannot be meant.
    """
    if start is None:
        if end is None:
            return None, None
        raise InputError(
            "an end without a start names no time span.",
            next="give the start too; without both, the last seven days are listed.",
        )
    last = end or now()
    if start.tzinfo is None or last.tzinfo is None:
        raise InputError(
            "a date without a time zone cannot be compared.",
            next="give dates that know their zone, as datetime(2026, 3, 1, tzinfo=UTC).",
        )
    if start > last:
        raise InputError("the start is after the end.", next="exchange them, or leave the end out.")
    return start, last
