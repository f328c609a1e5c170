"""Messages, statuses and responses as documents.

Source: specification 2.4 and 2.5; docs/service.md, messages.
"""

from collections.abc import Iterable
from datetime import datetime

from reconciler.sandbox.documents import DocumentWriter, make_link
from reconciler.sandbox.messages import (
    ReplyCategory,
    channel_name,
    count_categories,
    count_states,
    delivery_word,
    reply_category,
)
from reconciler.sandbox.records import Body, Message, Recipient, Reply

STATUS_CHANNELS = (
    "email",
    "sms",
    "voice",
)  # each recipient has all of them in a detailed status, recorded so
no_answer = "N/A"  # what stands for the answer of somebody who gave none

# What a message shows of the parts that nobody has written (recorded).
_DLR: Body = {
    **dict.fromkeys(("period", "rule", "type"), ""),
    "publishToWeb": False,
    **dict.fromkeys(("expiryDay", "expiryHour", "expiryMin"), 0),
    "feedIds": "",
    "bool": False,
}
_SOCIAL: Body = {"social": [{"id": "social"}, {"id": "social_long"}]}

_RELATIONS = (
    ("summaryStatus", "messagestatus?view=summary"),
    ("detailedStatus", "messagestatus?view=detailed"),
    ("summaryResponses", "messageresponses?view=summary&filter=default"),
    ("detailedResponses", "messageresponses?view=detailed&filter=default"),
    ("summaryResponsesWithResponseRule", "messageresponses?view=summary&filter=responserule"),
    ("detailedResponsesWithResponseRule", "messageresponses?view=detailed&filter=responserule"),
)


def message_row(writer: DocumentWriter, message: Message, query: str) -> Body:
    """One item of the list: no id; its own link carries the query of the list (recorded)."""
    uri = writer.address("messages", message.id) + query
    return {**_message_frame(message, sender=message.user), "link": [make_link(uri, "self")]}


def message_document(writer: DocumentWriter, message: Message) -> Body:
    """The whole message, with its seven links. Its sender is an MRI here, and a name in lists (recorded)."""
    uri = writer.address("messages", message.id)
    more = {"label": "", "type": "default", "dlr": _DLR, "voice": {}, "social": _SOCIAL, **message.fields}
    if isinstance(mail := more.get("email"), dict):  # what is attached is taken, and not shown again
        more["email"] = {name: value for name, value in mail.items() if name != "resources"}
    if message.callback_id:
        more["callbackId"] = message.callback_id
    if message.parameters is not None:
        more["callbackParameters"] = message.parameters
    return {
        **({"id": message.id} if writer.config.id_in_get else {}),
        "to": message.to,
        **_message_frame(message, sender=f"{message.user}@User.service.example"),
        **more,
        "link": [make_link(uri, "self"), *(make_link(f"{uri}/{path}", rel) for rel, path in _RELATIONS)],
    }


def status_summary(message: Message, uri: str) -> Body:
    """How many recipients are in each of the five states; `uri` is the address asked, with its query."""
    categories = [
        {"name": name, "recipientCount": count, "percentageTotal": share}
        for name, count, share in count_states(message)
    ]
    return {"messageStatuses": [{"link": [make_link(uri, "self")], "categories": categories}], "link": []}


def status_row(writer: DocumentWriter, message: Message, recipient: Recipient, uri: str) -> Body:
    """What became of the message for one recipient: all three channels, blank where not used (recorded).

    That which was used comes first, so that the first destination is that of the recipient; or the order is
    the recorded one, whatever was used.
    """
    used = recipient.channel or ("email" if "@" in recipient.written else "sms")
    blank: Body = {"status": "", "destination": ""}
    first = used if writer.config.status_order == "used" else STATUS_CHANNELS[0]
    return {
        "name": recipient.name,
        "info": f" {_delivery_sentence(message, recipient)} ",
        "link": [make_link(uri, "self")],
        "status": [
            {"type": channel, **(_delivery(message, recipient) if channel == used else blank)}
            for channel in sorted(STATUS_CHANNELS, key=lambda channel: channel != first)
        ],
    }


def _delivery(message: Message, recipient: Recipient) -> Body:
    """The channel that was used. A time that there is none of is left out."""
    reached = message.executed if recipient.channel and not recipient.failed else None
    answered = recipient.replies[0].at if recipient.replies else None
    delivery: Body = {
        "status": delivery_word(message, recipient),
        "destination": recipient.destination or recipient.written,
        "sentTimestamp": _milliseconds(message.executed if recipient.channel else None),
        "receivedTimestamp": _milliseconds(reached),
        "acknowlegedTimestamp": _milliseconds(answered),  # misspelt by the service (recorded)
    }
    return {name: value for name, value in delivery.items() if value is not None}


def _delivery_sentence(message: Message, recipient: Recipient) -> str:
    """One sentence about the delivery; recorded for e-mail, documented for SMS."""
    if recipient.failed:
        return recipient.failure
    if message.executed is None:
        return "Message queued."
    return "Email message sent OK." if recipient.channel == "email" else "Out bound SMS text message sent OK."


def response_summary(message: Message, wanted: Iterable[ReplyCategory], uri: str) -> Body:
    """Specification 2.5: an entry for each category that counts somebody. All numbers are texts."""
    entries = [
        {"type": name, "responseCount": str(count), "percentageTotal": share, "link": []}
        for name, count, share in count_categories(message)
        if name in wanted
    ]
    return {"messageresponses": entries, "link": [make_link(uri, "self")]}


def response_rows(message: Message, wanted: Iterable[ReplyCategory]) -> list[Body]:
    """A row for each reply, and one for each recipient without any."""
    wanted = tuple(wanted)
    return [
        {
            "from": responder_document(one),
            "responseCategory": reply_category(one),
            "responseMessage": _response_message(one, reply),
        }
        for one in message.recipients
        if reply_category(one) in wanted
        for reply in one.replies or (None,)
    ]


def responder_document(recipient: Recipient) -> Body:
    """Specification 2.6: who answers, five texts."""
    return {
        "name": recipient.name,
        "mri": recipient.mri,
        "mobile": recipient.mobile,
        "email": recipient.email,
        "voice": recipient.voice,
    }


def short_time(moment: datetime) -> str:
    """Specification 2.6: dd/mm/yy hh:mm. In UTC (assumed)."""
    return f"{moment:%d/%m/%y %H:%M}"


def _message_frame(message: Message, *, sender: str) -> Body:
    return {
        "subject": message.subject,
        "repetitionCount": 0,
        "repeatDays": 0,
        "repeatHrs": 0,
        "repeatMin": 0,
        "from": sender,
        "direction": "OUTGOING",
        "responseCount": str(sum(len(one.replies) for one in message.recipients)),
        "createdTime": _milliseconds(message.created),
    }


def _response_message(recipient: Recipient, reply: Reply | None) -> Body:
    if reply is None:
        return {
            "channel": channel_name(recipient) or no_answer,
            "acknowledged": no_answer,
            "content": no_answer,
        }
    return {"channel": reply.channel, "acknowledged": short_time(reply.at), "content": reply.content}


def _milliseconds(moment: datetime | None) -> int | None:
    """Milliseconds since 1970: what messages and statuses count their times in (recorded)."""
    return None if moment is None else round(moment.timestamp() * 1000)
