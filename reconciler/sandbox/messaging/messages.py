"""What happens to a message: how a body becomes one, whom it reaches, when it is sent, which lists show it.

Belongs here: acceptance, recipients, the queue, the window of the list, as pure functions over values.
Not here: replies and failures (replies.py), documents (mailwire.py), storage.
Source: specification 2.4, 4.5 and 8; docs/service.md, messages.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from reconciler.sandbox.casing import small
from reconciler.sandbox.keeping.mail import Message, Recipient
from reconciler.sandbox.reading import present, require, require_texts, text
from reconciler.sandbox.records import Body, Contact
from reconciler.sandbox.refusals import Refusal, invalid, malformed

to_max = 10_000  # characters of `to`, separators counted
window = timedelta(days=7)  # what a list shows when nothing is said about dates

PHONE_FIELDS = ("workMobilePhone1", "workMobilePhone2", "otherMobile")
MAIL_FIELDS = ("workEmailAddress1", "workEmailAddress2", "personalEmailAddress1", "personalEmailAddress2")
CRITERIA = ("criteriaFromDate", "criteriaFromTime", "criteriaToDate", "criteriaToTime")

_NOT_WRITTEN = frozenset(
    {
        *("id", "from", "link", "direction", "createdTime", "responseCount"),
        *("validBody", "validSubject", "whatsappValidMessage"),  # what newer servers find out about the texts
    }
)
_OWN_PLACE = frozenset({"to", "subject", "callbackId", "callbackParameters"})
_NUMBER = re.compile(r"\+?[0-9]{3,15}")

Parameters = dict[str, object]


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """The body of a message as the service understood it."""

    to: str
    addresses: tuple[str, ...]
    subject: str
    fields: Body
    callback_id: str
    parameters: Parameters | None
    scheduled: datetime | None = None


def read_message(body: Body, *, bulk: tuple[str, ...] = ()) -> WrittenMessage:
    """What the body says; refuses (422) a missing or wrong field, by name. null counts as absent.

    `bulk`: whom a resource addresses, beside those in `to`, which may then be absent.
    """
    given = present(body, without=_NOT_WRITTEN)
    content = given.get("messageContent")
    if isinstance(content, dict):  # where bulk messages have their texts
        given = {**{name: content[name] for name in ("subject", "body") if name in content}, **given}
    require(given, ("subject",) if bulk else ("to", "subject"))
    require_texts(given, ("to", "subject", "body", "callbackId"))
    to = text(given, "to", to_max)
    written = (part.strip() for part in re.split("[;,]", to) if part.strip())
    addresses = tuple(dict.fromkeys((*written, *bulk)))
    if not addresses:
        raise invalid("to names no recipient")
    return WrittenMessage(
        to=to,
        addresses=addresses,
        subject=text(given, "subject"),
        fields={name: value for name, value in given.items() if name not in _OWN_PLACE},
        callback_id=text(given, "callbackId"),
        parameters=_parameters(given.get("callbackParameters")),
        scheduled=_scheduled(given),
    )


def resolve(addresses: Iterable[str], contacts: Iterable[Contact]) -> tuple[Recipient, ...]:
    """Whom the addresses mean, in their order, each person once; where several contacts fit, the oldest.

    A number or an e-mail address that no contact has is reached all the same. An MRI that nobody has, and
    what is none of the three, leads nowhere: channel and destination are empty.
    """
    wanted: dict[str, str] = {}
    for address in addresses:
        wanted.setdefault(_key(address), address)
    people: dict[str, Contact] = {}
    for contact in contacts:
        for key in _keys(contact):
            if key in wanted:
                people.setdefault(key, contact)
    unique: dict[str, Recipient] = {}
    for key, address in wanted.items():
        recipient = _recipient(address, people.get(key))
        unique.setdefault(recipient.mri or key, recipient)
    return tuple(unique.values())


def executed(message: Message, now: datetime) -> Message:
    """The message after the cycle that took it from the queue; who leads nowhere has failed."""
    recipients = tuple(
        one
        if one.channel or one.failed
        else msgspec.structs.replace(one, failed=now, failure="Delivery failed: Invalid Destination Address")
        for one in message.recipients
    )
    return msgspec.structs.replace(message, executed=now, recipients=recipients)


def is_due(message: Message, now: datetime, cycle_s: float) -> bool:
    """Is the message queued, and has its cycle, or the time that it is scheduled for, come?"""
    if message.executed is not None:
        return False
    if message.scheduled is not None:
        return now >= message.scheduled
    return (now - message.created).total_seconds() >= cycle_s


def read_window(query: Mapping[str, str], now: datetime) -> tuple[datetime, datetime]:
    """From when to when a list shows messages, both included: the last seven days, or the four criteria.

    Three of the four are as good as none. Dates and times are taken in UTC (assumed); the minute named last
    is shown whole. Refuses (400) a date or a time in another form.
    """
    values = [query.get(name, "") for name in CRITERIA]
    if not all(values):
        return now - window, datetime.max.replace(tzinfo=UTC)
    from_date, from_time, to_date, to_time = values
    return _moment(from_date, from_time), _moment(to_date, to_time) + timedelta(
        seconds=59, microseconds=999_999
    )


def has_label(message: Message, query: Mapping[str, str]) -> bool:
    """Whether the message has the label that a query asks for: it contains it, whatever the letter case."""
    return small(query.get("label", "")) in small(str(message.fields.get("label", "")))


def _moment(date: str, time: str) -> datetime:
    shape = re.fullmatch(r"\d{2}/\d{2}/\d{4} \d{2}:\d{2}", f"{date} {time}", re.ASCII)
    try:
        return datetime.strptime(f"{shape[0] if shape else ''} +0000", "%d/%m/%Y %H:%M %z")
    except ValueError:
        raise malformed("the criteria must be dates as dd/mm/yyyy and times as hh:mm") from None


def _scheduled(given: Body) -> datetime | None:
    """When a scheduled message is sent, as dd/mm/yyyy hh:mm in UTC or in ISO 8601; None for any other.

    Refuses (422) a scheduled message without such a time. Repetitions are kept and not carried out.
    """
    if str(given.get("messageType", "")).upper() != "SCHEDULED":
        return None
    written = str(given.get("scheduleDate", "")).strip()
    date, _, time = written.partition(" ")
    try:
        return _moment(date, time)
    except Refusal:
        pass
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        moment = None
    if moment is None:
        raise invalid("scheduleDate must be dd/mm/yyyy hh:mm, or a time in ISO 8601")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parameters(given: object) -> Parameters | None:
    """Free-form (specification 2.4): any JSON value under any name, null included."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise invalid("callbackParameters must be an object")
    return given


def _key(address: str) -> str:
    """What two spellings of one address have in common: letter case, and how a number is written."""
    digits = re.sub(r"[\s().-]", "", address)
    return digits.removeprefix("+") if _NUMBER.fullmatch(digits) else small(address)


def _keys(contact: Contact) -> Iterable[str]:
    named = (contact.fields.get(name) for name in (*PHONE_FIELDS, *MAIL_FIELDS))
    return (_key(value) for value in (contact.mri, *named) if isinstance(value, str) and value)


def _stranger(address: str, *, by_number: bool) -> Recipient:
    """Somebody who is no contact, and is told by the address alone, if it is one."""
    if by_number:
        return Recipient(address, "sms", address, address, mobile=address)
    if re.fullmatch(r"[^@\s]+@[^@\s]+", address) and "@contact." not in small(address):
        return Recipient(address, "email", address, address, email=address)
    return Recipient(address, "", "", address)


def _recipient(address: str, contact: Contact | None) -> Recipient:
    by_number = bool(_NUMBER.fullmatch(re.sub(r"[\s().-]", "", address)))
    if contact is None:
        return _stranger(address, by_number=by_number)
    mobile, mail = _first(contact, PHONE_FIELDS), _first(contact, MAIL_FIELDS)
    by_mri = small(address) == small(contact.mri)
    destination = (mobile or mail) if by_mri else address
    by_sms = bool(mobile) if by_mri else by_number
    return Recipient(
        written=address,
        channel=("sms" if by_sms else "email") if destination else "",
        destination=destination,
        name=" ".join(
            str(contact.fields[part]) for part in ("firstName", "lastName") if contact.fields.get(part)
        ),
        mri=contact.mri,
        mobile=address if by_number else mobile,
        email=address if not by_number and not by_mri else mail,
        voice=_first(contact, ("workPhone1", "personalPhone1", "otherPhone1")),
    )


def _first(contact: Contact, names: Iterable[str]) -> str:
    return next((str(contact.fields[name]) for name in names if contact.fields.get(name)), "")
