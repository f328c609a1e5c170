"""What people answer, what does not arrive, and how both are counted.

Belongs here: replies and failed deliveries as changes of a message, categories, percentages. Pure functions.
Not here: callbacks (callbacks.py), documents (mailwire.py), storage.
Source: specification 2.5, 3.2 and 4.4; docs/service.md, messages.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from reconciler.sandbox.casing import small
from reconciler.sandbox.keeping.mail import Message, Recipient, Reply
from reconciler.sandbox.reading import asked
from reconciler.sandbox.refusals import invalid, malformed

Category = Literal["noresponse", "notmatched"]
CATEGORIES: tuple[Category, ...] = ("noresponse", "notmatched")
FILTERS: Mapping[str, tuple[Category, ...]] = {
    "default": CATEGORIES,
    "responserule": CATEGORIES,  # without rules, and there are none here, every reply matches none
    "noresponse": ("noresponse",),
    "notmatched": ("notmatched",),
}
"""What filter= may say -> the categories that are shown."""

STATES = ("Sent", "Pending", "Received", "Acknowledged", "Undeliverable")
"""The categories of a status summary: always all five, each recipient in exactly one."""

_CHANNELS = {"sms": "SMS", "email": "EMAIL"}


def category(recipient: Recipient) -> Category:
    """Who has not answered is noresponse. A reply meets no response rule, for there are none here."""
    return "notmatched" if recipient.replies else "noresponse"


def state(message: Message, recipient: Recipient) -> str:
    """The one of STATES that this recipient counts under."""
    if recipient.failed:
        return "Undeliverable"
    if recipient.replies:
        return "Acknowledged"
    return "Received" if message.executed else "Pending"


def delivery_word(message: Message, recipient: Recipient) -> str:
    """The same for one delivery, in the words of the detailed status."""
    words = {"Undeliverable": "FAILED", "Acknowledged": "READ", "Received": "DELIVRD", "Pending": "PENDING"}
    return words[state(message, recipient)]


def read_filter(query: Mapping[str, str]) -> tuple[Category, ...]:
    """The categories that a query asks for; refuses (400) a filter that nobody knows."""
    asked = query.get("filter", "default").lower()
    if asked not in FILTERS:
        raise malformed(f"filter must be one of {', '.join(FILTERS)}")
    return FILTERS[asked]


def read_view(query: Mapping[str, str]) -> Literal["summary", "detailed"]:
    """Which view a query asks for, summary when it does not say; refuses (400) any other."""
    return asked(query, "view", ("summary", "detailed"))


def shares(counts: Sequence[int], whole: int) -> list[int]:
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


def count_categories(message: Message) -> list[tuple[Category, int, str]]:
    """Category, recipients and percentage, adding up to 100%; only what counts somebody."""
    found = Counter(category(one) for one in message.recipients)
    counts = [found[name] for name in CATEGORIES]
    return [
        (name, count, f"{share}%")
        for name, count, share in zip(CATEGORIES, counts, shares(counts, 100), strict=True)
        if count
    ]


def count_states(message: Message) -> list[tuple[str, int, str]]:
    """State, recipients and percentage with one decimal, adding up to 100.0%; always all five."""
    found = Counter(state(message, one) for one in message.recipients)
    counts = [found[name] for name in STATES]
    return [
        (name, count, f"{share // 10}.{share % 10}%")
        for name, count, share in zip(STATES, counts, shares(counts, 1000), strict=True)
    ]


def find_recipient(message: Message, named: str) -> int:
    """The place of the recipient with this address, number, MRI or name; the first one for "".

    Refuses (422) somebody to whom the message was not sent.
    """
    if not named:
        return 0
    for at, one in enumerate(message.recipients):
        names = (one.written, one.destination, one.mri, one.mobile, one.email, one.name)
        if _plain(named) in {_plain(name) for name in names if name}:
            return at
    raise invalid("this is none of the message's recipients")


def replied(message: Message, at: int, content: str, *, channel: str, now: datetime) -> Message:
    """The message with one more reply of this recipient; refuses (422) while there is nothing to reply to."""
    recipient = message.recipients[at]
    if message.executed is None:
        raise invalid("the message is still queued: nobody has it yet")
    if recipient.failed:
        raise invalid("the message did not reach this recipient")
    reply = Reply(content, (channel or _CHANNELS[recipient.channel]).upper(), now)
    return _with(message, at, msgspec.structs.replace(recipient, replies=(*recipient.replies, reply)))


def failed(message: Message, at: int, reason: str, *, now: datetime) -> Message:
    """The message with this recipient's delivery failed; refuses (422) when that is so, or was answered."""
    recipient = message.recipients[at]
    if recipient.failed or recipient.replies:
        raise invalid("the delivery to this recipient failed already, or was answered")
    return _with(message, at, msgspec.structs.replace(recipient, failed=now, failure=reason))


def shown_channel(recipient: Recipient) -> str:
    """The recipient's channel as responses and callbacks write it."""
    return _CHANNELS.get(recipient.channel, "")


def _with(message: Message, at: int, recipient: Recipient) -> Message:
    before, after = message.recipients[:at], message.recipients[at + 1 :]
    return msgspec.structs.replace(message, recipients=(*before, recipient, *after))


def _plain(text: str) -> str:
    return small(re.sub(r"[\s().+-]", "", text))
