"""The shapes of good answers about messages: a row, a whole message, states, responses, an acceptance.

They are read strictly, and so are the numbers, shares and times in them.

Every function raises BadBody for a shape it does not know, so that "nobody answered" is never read
out of an answer that says something else. Source: docs/service.md, messages.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from reconciler.core.text import fold_case
from reconciler.messaging.values import (
    Delivery,
    MessageDetail,
    MessageRow,
    Respondent,
    Response,
    ResponseCount,
    StatusCount,
)
from reconciler.model.profile import Profile
from reconciler.service import entities
from reconciler.service.answers import Answer, BadBody
from reconciler.service.http import media, urls
from reconciler.service.paging import Found, ListRequest, Page, links_of, read_page, remote_id, strip_queries

messages_collection = "messages"
text_max = 100_000  # characters of one text; a message has at most some thousand
no_response = "noresponse"  # the type, and the category, of who has not answered (specification 2.5)
accepted_text_max = 1000  # bytes of the sentence that comes with an acceptance

_COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,15}", re.ASCII)
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}(?:Z|[+-][0-9]{2}:?[0-9]{2})?", re.ASCII)
_milliseconds_from = 100_000_000_000  # as seconds it were the year 5138, as milliseconds it is 1973
_year_10000_ms = 253_402_300_800_000
_percent_max = 100.0

# One of these and it is a message, whatever else it holds.
_MARKS = frozenset({"to", "subject", "body", "label", "direction", "email", "voice", "messageTemplateId"})
_NOTHING = "N/A"  # recorded: in the place of each part of a reply that was not given


def decode_accepted_id(answer: Answer) -> str:
    """The id of the message that the service took: from Location, else from the body.

    What looks like a document has to be a valid one, and all ids in the answer have to be the same.
    """
    # 202 comes with location and messageid (specification 4.5), or with a plain sentence under a JSON media
    # type and the id in Location alone (recorded); 200 and 201 with the message itself, or nothing.
    if answer.status not in (200, 201, 202):
        raise BadBody(f"{answer.status} does not say that it was accepted")
    document = _accepted_document(answer)
    told = {
        urls.id_of(answer.headers.get("location", ""), messages_collection),
        urls.id_of(_find_location(document), messages_collection),
        _find_own_id(document),
    } - {""}
    if len(told) != 1:
        what = "tells two ids" if told else "does not tell the new id"
        raise BadBody(f"it {what}")
    return told.pop()


def _find_location(document: Mapping[str, Any]) -> str:
    """Return the location that the specification puts into the answer (4.5), whatever the header says."""
    given = document.get("location")
    return given if isinstance(given, str) else ""


def _accepted_document(answer: Answer) -> Mapping[str, Any]:
    text = answer.body.strip()
    if not text:
        return {}
    if answer.status != 202 or text[:1] in b"{[<":  # noqa: PLR2004 - the only status with a bare sentence
        return entities.decode_success(answer)
    try:
        sentence = text.decode()
    except UnicodeDecodeError:
        sentence = "\0"
    if len(text) > accepted_text_max or not all(c.isprintable() or c.isspace() for c in sentence):
        raise BadBody("it is neither a sentence nor a document")
    return {}


def _find_own_id(document: Mapping[str, Any]) -> str:
    """The id that a document has of itself; the specification names messageid (4.5)."""
    for key in ("messageid", "messageId"):
        given = document.get(key)
        if isinstance(given, str) and urls.ID.fullmatch(given):
            return given
    return remote_id(document, messages_collection)


def parse_message_row(found: Found) -> MessageRow:
    """One row of the list."""
    body = found.body
    told = body.get("responseCount")
    return MessageRow(
        found.remote_id,
        get_text(body, "subject"),
        sender=get_text(body, "from"),
        direction=get_text(body, "direction"),
        created=parse_wire_time(body.get("createdTime")),
        responses=-1 if told in (None, "") else parse_wire_count(told),
    )


def decode_message_detail(answer: Answer, asked: str) -> MessageDetail:
    """One message, the one that was asked for."""
    document = entities.decode_raw(answer)
    if media.is_error(document) or not _MARKS & document.keys():
        raise BadBody("it is no message")
    # A message may show no id of its own; one that it shows has to be the one that was asked for.
    if (_find_own_id(document) or str(document.get("id") or "")) not in ("", asked):
        raise BadBody("it is another message")
    relations: dict[str, str] = {}
    for link in links_of(document):
        rel, uri = link.get("rel"), link.get("uri")
        path = _local_path(uri) if isinstance(uri, str) else ""
        if isinstance(rel, str) and path:
            # Of two links with one name the first: it is documented nowhere which is right.
            relations.setdefault(rel, path)
    fields = {key: value for key, value in document.items() if key != "link"}
    strip_queries(fields)
    return MessageDetail(asked, fields, relations)


def _local_path(uri: str) -> str:
    """Path and query of a link, "" for none; without its host, which is not ours, and without a key."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    if not parts.path.startswith("/") or not parts.path.isprintable():
        return ""
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0].lower() != "apikey"]
    return parts.path + (f"?{urlencode(query)}" if query else "")


def decode_status_counts(answer: Answer, profile: Profile) -> tuple[StatusCount, ...]:
    """How many recipients are in each state."""
    summaries = _split_rows(answer, "messageStatuses", profile)
    # It is documented nowhere which of two is about this message; together they would count people twice.
    if len(summaries) > 1:
        raise BadBody("it shows more than one summary")
    return tuple(
        StatusCount(
            get_text(item, "name", needed=True),
            parse_wire_count(item.get("recipientCount")),
            parse_wire_percent(item.get("percentageTotal")),
        )
        for summary in summaries
        for item in get_objects(summary, "categories")
    )


def parse_deliveries(found: Found) -> tuple[Delivery, ...]:
    """What became of the message for one recipient: a value for each channel that was used, at least one."""
    # The service lists all three channels for every recipient, blank where one was not used (recorded). A
    # recipient for whom none was used yet is one value with an empty channel, so that none is left out.
    listed = [
        _parse_delivery(found.body, channel) for channel in get_objects(found.body, "status", empty=True)
    ]
    return tuple(each for each in listed if _is_used(each)) or (_parse_delivery(found.body, {}),)


def _parse_delivery(recipient: Mapping[str, Any], channel: Mapping[str, Any]) -> Delivery:
    # Recorded in this spelling; the other one may come with its correction.
    read = channel.get("acknowlegedTimestamp", channel.get("acknowledgedTimestamp"))
    return Delivery(
        recipient=get_text(recipient, "name").strip(),
        info=get_text(recipient, "info").strip(),
        channel=get_text(channel, "type"),
        status=get_text(channel, "status"),
        destination=get_text(channel, "destination"),
        sent=parse_wire_time(channel.get("sentTimestamp")),
        received=parse_wire_time(channel.get("receivedTimestamp")),
        acknowledged=parse_wire_time(read),
    )


def _is_used(delivery: Delivery) -> bool:
    """Does anything stand there but the name of the channel?"""
    told = (delivery.status, delivery.destination, delivery.sent, delivery.received, delivery.acknowledged)
    return any(part.strip() for part in told)


def decode_response_counts(answer: Answer, profile: Profile, *, everybody: bool) -> tuple[ResponseCount, ...]:
    """How many recipients answered in each way. Only where not `everybody` is counted there may be none."""
    return tuple(
        ResponseCount(
            get_text(item, "type", needed=True),
            parse_wire_count(item.get("responseCount")),
            parse_wire_percent(item.get("percentageTotal")),
        )
        for item in _split_rows(answer, "messageresponses", profile, empty=not everybody)
    )


def parse_response(found: Found) -> Response:
    """One recipient's answer, or that there is none: then its parts are empty."""
    category = get_text(found.body, "responseCategory", needed=True)
    told = get_object(found.body, "responseMessage")
    unsaid = _NOTHING if fold_case(category) == no_response else None
    said = {
        key: "" if (part := get_text(told, key)) == unsaid else part
        for key in ("content", "channel", "acknowledged")
    }
    return Response(
        Respondent(
            **{
                key: get_text(get_object(found.body, "from"), key)
                for key in ("name", "mri", "mobile", "email", "voice")
            }
        ),
        category,
        **said,
    )


def decode_row_page(answer: Answer, key: str, offset: int, profile: Profile) -> Page:
    """One page of a list whose rows have no id: each is named by its place."""
    document = entities.decode_document(answer)
    items = document.get(key)
    if isinstance(items, list) and all(isinstance(item, dict) for item in items):
        document[key] = [{**item, "id": str(offset + place)} for place, item in enumerate(items)]
    return read_page(document, ListRequest(key, offset, profile))


def _split_rows(
    answer: Answer, key: str, profile: Profile, *, empty: bool = False
) -> tuple[Mapping[str, Any], ...]:
    """The entries of a summary; none only where the service says in its words that there are none."""
    document = entities.decode_document(answer)
    # read_page raises for everything but the words that say that there are none.
    if media.is_error(document) or key not in document:
        read_page(document, ListRequest(key, 0, profile))
        return ()
    return get_objects(document, key, empty=empty)


# Parts of a document.


def parse_wire_count(value: object) -> int:
    """A number of people: 0 to 999,999,999, as a number or in ASCII digits."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return value
    if isinstance(value, str) and _COUNT.fullmatch(value):
        return int(value)
    raise BadBody("one of its counts is none")


def parse_wire_percent(value: object) -> float:
    """A share as `50%` or `0.0%`, from 0 to 100."""
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if found is None or float(found[1]) > _percent_max:
        raise BadBody("one of its percentages is none")
    return float(found[1])


def parse_wire_time(value: object) -> str:
    """A time in ISO 8601 and UTC; "" for none, and for one without a zone."""
    # docs/service.md, messages: milliseconds as a number, seconds as text, ISO 8601 in XML.
    if value in (None, "", 0, "0", _NOTHING):
        return ""
    if isinstance(value, str) and _ISO.fullmatch(value):
        return _parse_iso_time(value)
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < _year_10000_ms:
        raise BadBody("one of its times is none")
    seconds = value / 1000 if value >= _milliseconds_from else value
    return _format_time(datetime.fromtimestamp(seconds, UTC))


def _parse_iso_time(value: str) -> str:
    try:
        found = datetime.fromisoformat(value)
        return _format_time(found.astimezone(UTC)) if found.tzinfo else ""
    except (ValueError, OverflowError):
        raise BadBody("one of its times is none") from None


def _format_time(found: datetime) -> str:
    return found.isoformat(timespec="milliseconds").replace(".000", "").replace("+00:00", "Z")


def get_text(body: Mapping[str, Any], key: str, *, needed: bool = False) -> str:
    """A text of the document; "" where it is absent or null, unless it is `needed`."""
    value = body.get(key)
    if value is None:
        value = ""
    if not isinstance(value, str) or len(value) > text_max or (needed and not value.strip()):
        raise BadBody(f"its {key} is no text")
    return value


def get_object(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object within the document."""
    value = body.get(key)
    if not isinstance(value, dict):
        raise BadBody(f"its {key} is no object")
    return value


def get_objects(body: Mapping[str, Any], key: str, *, empty: bool = False) -> tuple[Mapping[str, Any], ...]:
    """A list of objects within the document, at least one unless it may be `empty`."""
    value = body.get(key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadBody(f"its {key} are no list of objects")
    if not value and not empty:
        raise BadBody(f"its {key} are empty")
    return tuple(value)
