"""Messages: how a body becomes one, its recipients, when it is sent, which lists show it.

Source: specification 2.4, 4.5 and 8; docs/service.md, messages.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from reconciler.sandbox.records import Body, Contact, Message, Recipient, Reply, lower_letters
from reconciler.sandbox.refusals import (
    Refusal,
    body_text,
    given_values,
    invalid,
    malformed,
    query_choice,
    require_filled,
    require_texts,
)

to_max = 10_000  # characters of `to`, separators counted
list_window = timedelta(days=7)  # what a list shows when nothing is said about dates

PHONE_FIELDS = ("workMobilePhone1", "workMobilePhone2", "otherMobile")
MAIL_FIELDS = ("workEmailAddress1", "workEmailAddress2", "personalEmailAddress1", "personalEmailAddress2")
WINDOW_CRITERIA = ("criteriaFromDate", "criteriaFromTime", "criteriaToDate", "criteriaToTime")

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
    given = given_values(body, without=_NOT_WRITTEN)
    content = given.get("messageContent")
    if isinstance(content, dict):  # where bulk messages have their texts
        given = {**{name: content[name] for name in ("subject", "body") if name in content}, **given}
    require_filled(given, ("subject",) if bulk else ("to", "subject"))
    require_texts(given, ("to", "subject", "body", "callbackId"))
    to = body_text(given, "to", to_max)
    written = (part.strip() for part in re.split("[;,]", to) if part.strip())
    addresses = tuple(dict.fromkeys((*written, *bulk)))
    if not addresses:
        raise invalid("to names no recipient")
    return WrittenMessage(
        to=to,
        addresses=addresses,
        subject=body_text(given, "subject"),
        fields={name: value for name, value in given.items() if name not in _OWN_PLACE},
        callback_id=body_text(given, "callbackId"),
        parameters=_read_parameters(given.get("callbackParameters")),
        scheduled=_read_schedule(given),
    )


def resolve_addresses(addresses: Iterable[str], contacts: Iterable[Contact]) -> tuple[Recipient, ...]:
    """Whom the addresses mean, in their order, each person once; where several contacts fit, the oldest.

    A number or an e-mail address that no contact has is reached all the same. An MRI that nobody has, and
    what is none of the three, leads nowhere: channel and destination are empty.
    """
    wanted: dict[str, str] = {}
    for address in addresses:
        wanted.setdefault(_address_key(address), address)
    people: dict[str, Contact] = {}
    for contact in contacts:
        for key in _contact_keys(contact):
            if key in wanted:
                people.setdefault(key, contact)
    unique: dict[str, Recipient] = {}
    for key, address in wanted.items():
        recipient = _build_recipient(address, people.get(key))
        unique.setdefault(recipient.mri or key, recipient)
    return tuple(unique.values())


def execute_message(message: Message, now: datetime) -> Message:
    """The message after the cycle that took it from the queue; who leads nowhere has failed."""
    recipients = tuple(
        one
        if one.channel or one.failed
        else msgspec.structs.replace(one, failed=now, failure="Delivery failed: Invalid Destination Address")
        for one in message.recipients
    )
    return msgspec.structs.replace(message, executed=now, recipients=recipients)


def is_message_due(message: Message, now: datetime, cycle_s: float) -> bool:
    """Is the message queued, and has its cycle, or the time that it is scheduled for, come?"""
    if message.executed is not None:
        return False
    if message.scheduled is not None:
        return now >= message.scheduled
    return (now - message.created).total_seconds() >= cycle_s


def read_list_window(query: Mapping[str, str], now: datetime) -> tuple[datetime, datetime]:
    """From when to when a list shows messages, both included: the last seven days, or the four criteria.

    Three of the four are as good as none. Dates and times are taken in UTC (assumed); the minute named last
    is shown whole. Refuses (400) a date or a time in another form.
    """
    values = [query.get(name, "") for name in WINDOW_CRITERIA]
    if not all(values):
        return now - list_window, datetime.max.replace(tzinfo=UTC)
    from_date, from_time, to_date, to_time = values
    return _read_moment(from_date, from_time), _read_moment(to_date, to_time) + timedelta(
        seconds=59, microseconds=999_999
    )


def has_label(message: Message, query: Mapping[str, str]) -> bool:
    """Whether the message has the label that a query asks for: it contains it, whatever the letter case."""
    return lower_letters(query.get("label", "")) in lower_letters(str(message.fields.get("label", "")))


def _read_moment(date: str, time: str) -> datetime:
    shape = re.fullmatch(r"\d{2}/\d{2}/\d{4} \d{2}:\d{2}", f"{date} {time}", re.ASCII)
    try:
        return datetime.strptime(f"{shape[0] if shape else ''} +0000", "%d/%m/%Y %H:%M %z")
    except ValueError:
        raise malformed("the criteria must be dates as dd/mm/yyyy and times as hh:mm") from None


def _read_schedule(given: Body) -> datetime | None:
    """When a scheduled message is sent, as dd/mm/yyyy hh:mm in UTC or in ISO 8601; None for any other.

    Refuses (422) a scheduled message without such a time. Repetitions are kept and not carried out.
    """
    if str(given.get("messageType", "")).upper() != "SCHEDULED":
        return None
    written = str(given.get("scheduleDate", "")).strip()
    date, _, time = written.partition(" ")
    try:
        return _read_moment(date, time)
    except Refusal:
        pass
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        moment = None
    if moment is None:
        raise invalid("scheduleDate must be dd/mm/yyyy hh:mm, or a time in ISO 8601")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _read_parameters(given: object) -> Parameters | None:
    """Free-form (specification 2.4): any JSON value under any name, null included."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise invalid("callbackParameters must be an object")
    return given


def _address_key(address: str) -> str:
    """What two spellings of one address have in common: letter case, and how a number is written."""
    digits = re.sub(r"[\s().-]", "", address)
    return digits.removeprefix("+") if _NUMBER.fullmatch(digits) else lower_letters(address)


def _contact_keys(contact: Contact) -> Iterable[str]:
    named = (contact.fields.get(name) for name in (*PHONE_FIELDS, *MAIL_FIELDS))
    return (_address_key(value) for value in (contact.mri, *named) if isinstance(value, str) and value)


def _unknown_recipient(address: str, *, by_number: bool) -> Recipient:
    """Somebody who is no contact, and is told by the address alone, if it is one."""
    if by_number:
        return Recipient(address, "sms", address, address, mobile=address)
    if re.fullmatch(r"[^@\s]+@[^@\s]+", address) and "@contact." not in lower_letters(address):
        return Recipient(address, "email", address, address, email=address)
    return Recipient(address, "", "", address)


def _build_recipient(address: str, contact: Contact | None) -> Recipient:
    by_number = bool(_NUMBER.fullmatch(re.sub(r"[\s().-]", "", address)))
    if contact is None:
        return _unknown_recipient(address, by_number=by_number)
    mobile, mail = _first_filled(contact, PHONE_FIELDS), _first_filled(contact, MAIL_FIELDS)
    by_mri = lower_letters(address) == lower_letters(contact.mri)
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
        voice=_first_filled(contact, ("workPhone1", "personalPhone1", "otherPhone1")),
    )


def _first_filled(contact: Contact, names: Iterable[str]) -> str:
    return next((str(contact.fields[name]) for name in names if contact.fields.get(name)), "")


# --- What people answer, what does not arrive, and how both are counted ---------------------------
#
# Source: specification 2.5, 3.2 and 4.4; docs/service.md, messages.


ReplyCategory = Literal["noresponse", "notmatched"]
REPLY_CATEGORIES: tuple[ReplyCategory, ...] = ("noresponse", "notmatched")
REPLY_FILTERS: Mapping[str, tuple[ReplyCategory, ...]] = {
    "default": REPLY_CATEGORIES,
    "responserule": REPLY_CATEGORIES,  # without rules, and there are none here, every reply matches none
    "noresponse": ("noresponse",),
    "notmatched": ("notmatched",),
}
"""What filter= may say -> the categories that are shown."""

RECIPIENT_STATES = ("Sent", "Pending", "Received", "Acknowledged", "Undeliverable")
"""The categories of a status summary: always all five, each recipient in exactly one."""

_CHANNEL_NAMES = {"sms": "SMS", "email": "EMAIL"}


def reply_category(recipient: Recipient) -> ReplyCategory:
    """Who has not answered is noresponse. A reply meets no response rule, for there are none here."""
    return "notmatched" if recipient.replies else "noresponse"


def recipient_state(message: Message, recipient: Recipient) -> str:
    """The one of STATES that this recipient counts under."""
    if recipient.failed:
        return "Undeliverable"
    if recipient.replies:
        return "Acknowledged"
    return "Received" if message.executed else "Pending"


def delivery_word(message: Message, recipient: Recipient) -> str:
    """The same for one delivery, in the words of the detailed status."""
    words = {"Undeliverable": "FAILED", "Acknowledged": "READ", "Received": "DELIVRD", "Pending": "PENDING"}
    return words[recipient_state(message, recipient)]


def read_reply_filter(query: Mapping[str, str]) -> tuple[ReplyCategory, ...]:
    """The categories that a query asks for; refuses (400) an unknown filter."""
    asked = query.get("filter", "default").lower()
    if asked not in REPLY_FILTERS:
        raise malformed(f"filter must be one of {', '.join(REPLY_FILTERS)}")
    return REPLY_FILTERS[asked]


def read_view(query: Mapping[str, str]) -> Literal["summary", "detailed"]:
    """Which view a query asks for, summary when it does not say; refuses (400) any other."""
    return query_choice(query, "view", ("summary", "detailed"))


def apportion(counts: Sequence[int], whole: int) -> list[int]:
    """The counts as parts of `whole` (100 for per cent), which add up to it.

    Rounded down; what is left over goes, one each, to those that lost most by that, the first among equals.
    All 0 where nothing was counted.
    """
    total = sum(counts)
    if not total:
        return [0] * len(counts)
    parts = [count * whole // total for count in counts]
    by_loss = sorted(range(len(counts)), key=lambda at: -(counts[at] * whole % total))
    for at in by_loss[: whole - sum(parts)]:
        parts[at] += 1
    return parts


def count_categories(message: Message) -> list[tuple[ReplyCategory, int, str]]:
    """Category, recipients and percentage, adding up to 100%; only what counts somebody."""
    found = Counter(reply_category(one) for one in message.recipients)
    counts = [found[name] for name in REPLY_CATEGORIES]
    return [
        (name, count, f"{share}%")
        for name, count, share in zip(REPLY_CATEGORIES, counts, apportion(counts, 100), strict=True)
        if count
    ]


def count_states(message: Message) -> list[tuple[str, int, str]]:
    """State, recipients and percentage with one decimal, adding up to 100.0%; always all five."""
    found = Counter(recipient_state(message, one) for one in message.recipients)
    counts = [found[name] for name in RECIPIENT_STATES]
    return [
        (name, count, f"{share // 10}.{share % 10}%")
        for name, count, share in zip(RECIPIENT_STATES, counts, apportion(counts, 1000), strict=True)
    ]


def find_recipient(message: Message, named: str) -> int:
    """The place of the recipient with this address, number, MRI or name; the first one for "".

    Refuses (422) somebody to whom the message was not sent.
    """
    if not named:
        return 0
    for at, one in enumerate(message.recipients):
        names = (one.written, one.destination, one.mri, one.mobile, one.email, one.name)
        if _comparable_name(named) in {_comparable_name(name) for name in names if name}:
            return at
    raise invalid("this is none of the message's recipients")


def add_reply(message: Message, at: int, content: str, *, channel: str, now: datetime) -> Message:
    """The message with one more reply of this recipient; refuses (422) while there is nothing to reply to."""
    recipient = message.recipients[at]
    if message.executed is None:
        raise invalid("the message is still queued: nobody has it yet")
    if recipient.failed:
        raise invalid("the message did not reach this recipient")
    reply = Reply(content, (channel or _CHANNEL_NAMES[recipient.channel]).upper(), now)
    return _put_recipient(
        message, at, msgspec.structs.replace(recipient, replies=(*recipient.replies, reply))
    )


def fail_delivery(message: Message, at: int, reason: str, *, now: datetime) -> Message:
    """The message with this recipient's delivery failed; refuses (422) when that is so, or was answered."""
    recipient = message.recipients[at]
    if recipient.failed or recipient.replies:
        raise invalid("the delivery to this recipient failed already, or was answered")
    return _put_recipient(message, at, msgspec.structs.replace(recipient, failed=now, failure=reason))


def channel_name(recipient: Recipient) -> str:
    """The recipient's channel as responses and callbacks write it."""
    return _CHANNEL_NAMES.get(recipient.channel, "")


def _put_recipient(message: Message, at: int, recipient: Recipient) -> Message:
    before, after = message.recipients[:at], message.recipients[at + 1 :]
    return msgspec.structs.replace(message, recipients=(*before, recipient, *after))


def _comparable_name(text: str) -> str:
    return lower_letters(re.sub(r"[\s().+-]", "", text))
