"""Claims about messages: sent at most once, listed by four criteria or none, counted strictly, waited for."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from service.support import (
    BASE,
    ID,
    KEY,
    PASSWORD,
    USER,
    Clock,
    Wire,
    answer,
    app_wire,
    failure,
    sandbox_config,
    service,
    with_client,
)

from reconciler.errors import (
    InDoubt,
    InputError,
    Malformed,
    NotFound,
    Rejected,
    ServiceError,
    Throttled,
    Unauthorized,
    Unavailable,
)
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.messaging.message_shapes import parse_wire_count, parse_wire_percent, parse_wire_time
from reconciler.messaging.messages import Progress
from reconciler.messaging.values import Message, MessageRow, ResponseCount, StatusCount
from reconciler.sandbox.app import create_app
from reconciler.service.http.limiter import Timing

ACCEPTED = b"Your request has been accepted for processing"
HELLO = Message(("+61491570156",), "On call?", "Can you come in?")
END = {"status": "No records found", "link": []}
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def send(client: ServiceClient) -> Any:
    return client.messages.send(HELLO)


def sent_body(wire: Wire) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(wire.sent[-1].content)
    return found


# Sending.


@pytest.mark.parametrize(
    ("workspace", "path"), [("", "/messages"), (ID, f"/workspaces/{ID}/messages")], ids=["default", "named"]
)
def test_a_message_is_sent_and_its_id_is_the_end_of_location(workspace: str, path: str) -> None:
    """The body is a plain sentence under a JSON media type; whoever parses it breaks."""
    location = f"https://elsewhere.test/workspaces/X/messages/A1B2?apikey={KEY}"
    wire = Wire(
        answer(202, ACCEPTED, location=location, content_type="application/vnd.service.message-v1+json")
    )

    sent = with_client(wire, lambda client: client.messages.send(HELLO, workspace=workspace))

    assert (sent.message_id, sent.location) == ("A1B2", f"{path}/A1B2")
    assert [(request.method, request.url.path) for request in wire.sent] == [("POST", path)]
    assert wire.sent[0].headers["content-type"] == "application/vnd.service.message-v1+json"
    assert sent_body(wire) == {"to": "+61491570156", "subject": "On call?", "body": "Can you come in?"}


def test_everything_a_message_says_is_sent() -> None:
    wire = Wire(answer(202, location="/messages/A1"))
    message = Message(
        ("+61491570156", "jane.doe@example.com"),
        "s",
        callback_id="ops",
        callback_parameters={"shift": 7, "urgent": True, "who": "Jane"},
        more={"email": {"body": "b"}},
    )

    with_client(wire, lambda client: client.messages.send(message))

    assert sent_body(wire) == {
        "to": "+61491570156;jane.doe@example.com",
        "subject": "s",
        "callbackId": "ops",
        "callbackParameters": {"shift": 7, "urgent": True, "who": "Jane"},
        "email": {"body": "b"},
    }


def test_parameters_that_are_no_plain_values_travel_as_their_json_text() -> None:
    """All values come back as texts: so what comes back is what was sent, whatever the service would do."""
    wire = Wire(answer(202, {"messageid": "A1"}))
    parameters = {
        "who": {"name": "Jöhn", "shifts": [1, None]},
        "none": None,
        "n": 7,
        "on": True,
        "text": "{}",
    }
    message = Message(("+61491570156",), "s", callback_parameters=parameters)

    with_client(wire, lambda client: client.messages.send(message))

    assert sent_body(wire)["callbackParameters"] == {
        "who": '{"name":"Jöhn","shifts":[1,null]}',
        "none": "null",
        "n": 7,
        "on": True,
        "text": "{}",
    }


SELF = [{"uri": "https://elsewhere.test/messages/A1?x=y", "rel": "self", "method": "GET"}]
TAKEN = {
    "202 without a body": (202, b"", "/messages/A1"),
    "202 with an object": (202, {"messageid": "A1"}, "/messages/A1"),
    "202 with the id in the body alone": (202, {"messageid": "A1"}, ""),
    "202 with the location in the body alone": (202, {"location": "https://elsewhere.test/messages/A1"}, ""),
    "202 with all of them": (202, {"location": "/messages/A1", "messageid": "A1"}, "/messages/A1"),
    "200 with the scheduled message": (200, {"subject": "s", "link": SELF}, ""),
    "200 with both": (200, {"subject": "s", "link": SELF}, "/messages/A1"),
    "201": (201, b"", "/messages/A1"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_every_known_form_of_an_acceptance_tells_the_id(name: str) -> None:
    status, body, location = TAKEN[name]

    assert with_client(Wire(answer(status, body, location=location)), send).message_id == "A1"


DOUBTFUL: dict[str, tuple[int, object, str]] = {
    "202 without an id": (202, ACCEPTED, ""),
    "two ids in the body": (202, {"messageid": "A1", "location": "/messages/B2"}, ""),
    "an id that is none": (202, ACCEPTED, "/messages/.."),
    "the id of something else": (202, ACCEPTED, "/contacts/A1"),
    "two ids": (202, {"messageid": "B2"}, "/messages/A1"),
    "a page in HTML": (202, b"<!doctype html><title>Sign in</title>", "/messages/A1"),
    "an error": (202, {"errorSummary": "No.", "errorText": "No."}, "/messages/A1"),
    "200 with an error": (200, {"errorText": "No."}, "/messages/A1"),
    "200 with a sentence": (200, ACCEPTED, "/messages/A1"),
    "half a document": (202, b'{"messageid": "A1"', "/messages/A1"),
    "an array": (202, b"[]", "/messages/A1"),
    "bytes": (202, b"\xff\x00\x01", "/messages/A1"),
    "control characters": (202, b"ok\x00\x1b[2J", "/messages/A1"),
    "a novel": (202, b"a" * 2000, "/messages/A1"),
    "204": (204, b"", "/messages/A1"),
    "203": (203, b"", "/messages/A1"),
    "303": (303, b"", "/messages/A1"),
    "500": (500, b"", ""),
    "502": (502, b"<html>", ""),
    "504": (504, b"", ""),
    "a status nobody knows": (799, b"", ""),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_send_whose_answer_says_neither_yes_nor_no_is_in_doubt_and_never_repeated(name: str) -> None:
    """A message costs money and wakes people: somebody looks before it goes out a second time."""
    status, body, location = DOUBTFUL[name]
    wire = Wire(answer(status, body, location=location))

    error = failure(wire, send)

    assert type(error) is InDoubt
    assert len(wire.sent) == 1
    assert "messages list" in error.next


@pytest.mark.parametrize(
    "trouble",
    [httpx2.ReadTimeout(""), httpx2.ReadError(""), httpx2.RemoteProtocolError(""), OSError()],
    ids=lambda trouble: type(trouble).__name__,
)
def test_a_send_whose_answer_is_lost_is_in_doubt_and_never_repeated(trouble: Exception) -> None:
    wire = Wire(trouble)

    assert type(failure(wire, send)) is InDoubt
    assert len(wire.sent) == 1


def test_a_send_that_never_left_is_tried_again() -> None:
    """Without a connection nothing can have arrived."""
    wire = Wire(httpx2.ConnectError(""), answer(202, location="/messages/A1"))

    assert with_client(wire, send, clock=Clock()).message_id == "A1"
    assert len(wire.sent) == 2


NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
PLAYS: tuple[httpx2.Response | Exception, ...] = (
    *(kind("") for kind in NEVER_SENT),
    httpx2.ReadTimeout(""),
    httpx2.WriteTimeout(""),
    httpx2.ReadError(""),
    httpx2.WriteError(""),
    httpx2.RemoteProtocolError(""),
    OSError(),
    answer(202, ACCEPTED),
    answer(202, b"<html>", location="/messages/A1"),
    answer(204),
    answer(302, location="/messages"),
    answer(303, location="/messages"),
    answer(403, X_Error_Code="ERR_403_DEVELOPER_OVER_QPS"),
    answer(429, Retry_After="0"),
    answer(500),
    answer(503, Retry_After="0"),
)


def test_whatever_happens_to_a_send_at_most_one_arrives() -> None:
    """5,832 runs of trouble: every three of the ways in which a request can end, one after the other."""

    async def work(client: ServiceClient) -> int:
        for script in product(PLAYS, repeat=3):
            wire.script[:] = [*script, answer(500)]
            wire.sent.clear()
            with suppress(ServiceError):
                await client.messages.send(HELLO)
            arrived = len([play for play in script[: len(wire.sent)] if not isinstance(play, NEVER_SENT)])
            assert arrived <= 1, script
        return len(PLAYS) ** 3

    wire = Wire(answer(500))
    assert with_client(wire, work, clock=Clock(), settings=service(deadline_s=1e9)) >= 5000


@pytest.mark.parametrize(
    ("status", "headers", "error"),
    [
        (400, {}, Rejected),
        (401, {}, Unauthorized),
        (403, {}, Unauthorized),
        (403, {"X_Error_Code": "ERR_403_DEVELOPER_OVER_QPS"}, Throttled),
        (404, {}, NotFound),
        (405, {}, Rejected),
        (413, {}, Rejected),
        (415, {}, Rejected),
        (422, {}, Rejected),
        (429, {}, Throttled),
        (503, {"X_Error_Code": "ERR_503_DEVELOPER_OVER_QPS"}, Throttled),
        (408, {}, InDoubt),
        (503, {}, InDoubt),
        (503, {"Retry_After": "1"}, InDoubt),
    ],
)
def test_a_refused_send_is_told_as_such_and_not_repeated(
    status: int, headers: dict[str, str], error: type[Exception]
) -> None:
    wire = Wire(answer(status, {"errorSummary": "No.", "errorText": "to: required"}, **headers))

    raised = failure(wire, send)

    assert type(raised) is error
    assert len(wire.sent) == 1
    assert "manifest" not in raised.next


@pytest.mark.parametrize(
    "to", [(), ("",), (" ",), ("+61491570156;+61491570157",), ("a,b",), ("+61491570156\n",), ("a", "")]
)
def test_a_recipient_that_could_be_two_or_none_is_refused_before_anything_is_sent(
    to: tuple[str, ...],
) -> None:
    wire = Wire(answer(202, location="/messages/A1"))

    with pytest.raises(InputError) as raised:
        with_client(wire, lambda client: client.messages.send(Message(to, "s")))

    assert wire.sent == []
    assert "+61" not in str(raised.value)


@pytest.mark.parametrize(
    "message",
    [
        Message(("a",), "s", callback_parameters={"n": float("nan")}),
        Message(("a",), "s", callback_parameters={"n": float("inf")}),
        Message(("a",), "s", more={"to": "somebody else"}),
        Message(("a",), "s", "b", more={"body": "another"}),
    ],
)
def test_a_message_that_cannot_be_meant_is_refused_before_anything_is_sent(message: Message) -> None:
    wire = Wire(answer(202, location="/messages/A1"))

    with pytest.raises(InputError):
        with_client(wire, lambda client: client.messages.send(message))

    assert wire.sent == []


# Listing.


def row(number: int, created: object = None) -> dict[str, Any]:
    uri = f"https://elsewhere.test/messages/M{number}?limit=20&offset=0&apikey={KEY}"
    return {
        "subject": f"number {number}",
        "from": "Jane Doe",
        "direction": "OUTGOING",
        "responseCount": "2",
        **({} if created is None else {"createdTime": created}),
        "link": [{"uri": uri, "rel": "self", "method": "GET"}],
    }


def page(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"messages": list(rows), "status": "", "link": []}


def paging_server(rows: list[dict[str, Any]], end: object = END) -> Wire:
    """A server that honours limit and offset and tells no totals, as recorded."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked = request.url.params
        shown = rows[int(asked["offset"]) :][: int(asked["limit"])]
        return answer(200, page(*shown) if shown else end)

    return app_wire(handle)


@pytest.mark.parametrize("number", [1, 19, 20, 21, 40, 65])
@pytest.mark.parametrize("words", ["No records found", "No messages found", "No records found    "])
def test_the_list_is_walked_until_the_end_is_told(number: int, words: str) -> None:
    wire = paging_server([row(n) for n in range(number)], {"status": words, "link": []})

    found = with_client(wire, lambda client: client.messages.list())

    assert [one.message_id for one in found] == [f"M{n}" for n in range(number)]
    assert found[0] == MessageRow("M0", "number 0", "Jane Doe", "OUTGOING", "", 2)


def test_no_messages_are_told_in_words() -> None:
    assert with_client(paging_server([]), lambda client: client.messages.list()) == ()


@pytest.mark.parametrize("number", [1, 20, 33])
def test_a_server_that_ignores_the_offset_has_shown_everything_at_once(number: int) -> None:
    """The specification says that the list knows no pages; it would never say that it has ended."""
    wire = Wire(answer(200, page(*[row(n) for n in range(number)])))

    found = with_client(wire, lambda client: client.messages.list())

    assert len(found) == number
    assert len(wire.sent) == 3  # the list, the list again, and a look at its beginning


def test_messages_that_arrive_during_the_walk_hide_none() -> None:
    """Twenty new ones push a whole page down: the same rows again, and yet not the end."""
    rows = [row(n) for n in range(50)]

    def handle(request: httpx2.Request) -> httpx2.Response:
        offset = int(request.url.params["offset"])
        if offset == 20 and len(rows) == 50:
            rows[:0] = [row(n) for n in range(100, 120)]
        shown = rows[offset : offset + 20]
        return answer(200, page(*shown) if shown else END)

    found = with_client(app_wire(handle), lambda client: client.messages.list())

    assert {f"M{n}" for n in range(50)} <= {one.message_id for one in found}
    assert len({one.message_id for one in found}) == len(found)


def test_a_list_that_turns_in_circles_is_malformed() -> None:
    turns = iter(range(10_000))

    def handle(_request: httpx2.Request) -> httpx2.Response:
        return answer(200, page(row(next(turns) % 2)))

    assert type(failure(app_wire(handle), lambda client: client.messages.list())) is Malformed


CRITERIA = {"criteriaFromDate", "criteriaFromTime", "criteriaToDate", "criteriaToTime"}


@pytest.mark.spec("8/rule-4.all")
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("start", [None, NOON - timedelta(days=30)])
@pytest.mark.parametrize("end", [None, NOON])
def test_all_four_criteria_are_sent_or_none(
    start: datetime | None, end: datetime | None, *, shared: bool
) -> None:
    """With three of them the service does not filter at all, and says nothing about it."""
    wire = paging_server([])

    async def work(client: ServiceClient) -> object:
        return await client.messages.list(start, end, shared=shared)

    if end and not start:
        with pytest.raises(InputError):
            with_client(wire, work)
        assert wire.sent == []
        return
    with_client(wire, work)
    asked = wire.sent[0].url.params
    assert CRITERIA & set(asked) == (CRITERIA if start else set())
    assert asked.get("viewType") == ("shared" if shared else None)


def test_the_dates_are_asked_a_day_wider_and_in_the_service_s_form() -> None:
    """In which zone it reads them is told nowhere."""
    wire = paging_server([])
    start = datetime(2026, 3, 1, 9, 5, tzinfo=timezone(timedelta(hours=10)))

    with_client(wire, lambda client: client.messages.list(start, NOON))

    asked = wire.sent[0].url.params
    assert [asked[name] for name in sorted(CRITERIA)] == ["27/02/2026", "23:05", "03/03/2026", "12:00"]


def test_an_end_left_out_is_now() -> None:
    wire = paging_server([])
    clock = Clock()
    timing = Timing(clock.timing.monotonic, clock.sleep, lambda: 0.5, now=lambda: NOON)

    async def work() -> None:
        async with open_service_client(service(), timing=timing, connections=wire) as client:
            await client.messages.list(NOON - timedelta(hours=1))

    asyncio.run(work())

    assert wire.sent[0].url.params["criteriaToDate"] == "03/03/2026"


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_first_and_the_last_day_of_all_can_be_asked_for(moment: datetime) -> None:
    wire = paging_server([])
    bounds = sorted([moment, NOON])

    assert with_client(wire, lambda client: client.messages.list(*bounds)) == ()


def test_rows_outside_the_span_are_left_out_here() -> None:
    """The service was asked for a day more on both sides, or it ignored the question."""
    inside, early, late = (
        int(each.timestamp() * 1000) for each in (NOON, NOON - timedelta(1), NOON + timedelta(1))
    )
    wire = paging_server([row(1, late), row(2, inside), row(3, early), row(4)])

    found = with_client(
        wire, lambda client: client.messages.list(NOON - timedelta(hours=1), NOON + timedelta(hours=1))
    )

    assert [one.message_id for one in found] == ["M2", "M4"]  # what has no time is kept


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (NOON, NOON - timedelta(seconds=1)),
        (NOON.replace(tzinfo=None), NOON),
        (NOON, NOON.replace(tzinfo=None)),
        (None, NOON),
    ],
)
def test_dates_that_cannot_be_meant_are_refused_before_anything_is_sent(
    start: datetime | None, end: datetime
) -> None:
    wire = paging_server([])

    with pytest.raises(InputError):
        with_client(wire, lambda client: client.messages.list(start, end))

    assert wire.sent == []


# Counts, shares and times.


@pytest.mark.parametrize(
    ("text", "number"), [("50%", 50.0), ("0.0%", 0.0), ("100%", 100.0), ("33.33%", 33.33)]
)
def test_a_share_is_read(text: str, number: float) -> None:
    assert parse_wire_percent(text) == number


NO_SHARES = [
    "",
    "%",
    "50",
    "50 %",
    " 50%",
    "50%\n",
    "+50%",
    "-1%",
    "1_0%",
    "101%",
    "100.1%",
    ".5%",
    "5.%",
    "1e1%",
    "0x1%",
    "\u0665\u0660%",
    "50\uff05",
    "\uff15\uff10%",
    "9" * 5000 + "%",
    "1." + "0" * 5000 + "%",
    "NaN%",
    "50%%",
    50,
    50.0,
    None,
    True,
    [],
    {},
    "1,5%",
]


@pytest.mark.parametrize("text", NO_SHARES, ids=lambda text: repr(text)[:12])
def test_whatever_else_is_no_share(text: object) -> None:
    """The usual conversions take underscores, other scripts' digits and spaces, and choke on long ones."""
    with pytest.raises(ValueError, match="percentages"):
        parse_wire_percent(text)


NO_COUNTS = [
    "",
    "1_0",
    " 1",
    "1 ",
    "1\n",
    "+1",
    "-1",
    "1.0",
    "1e3",
    "\u0661",
    "\uff11",
    "\u00b2",
    "9" * 5000,
    "9" * 10,
    "0x1",
    -1,
    1.0,
    10**9,
    True,
    None,
    [],
    {},
    "one",
]


@pytest.mark.parametrize("value", NO_COUNTS, ids=lambda value: repr(value)[:12])
def test_whatever_else_is_no_count(value: object) -> None:
    with pytest.raises(ValueError, match="counts"):
        parse_wire_count(value)


@given(st.integers(0, 10**9 - 1))
def test_a_count_is_read_as_a_number_and_as_text(number: int) -> None:
    assert parse_wire_count(number) == parse_wire_count(str(number)) == number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1534118400123, "2018-08-13T00:00:00.123Z"),
        ("1534118400123", "2018-08-13T00:00:00.123Z"),
        ("1460070991", "2016-04-07T23:16:31Z"),
        ("2012-09-24T15:36:16+10:00", "2012-09-24T05:36:16Z"),
        ("2012-09-24T15:36:16Z", "2012-09-24T15:36:16Z"),
        ("2012-09-24T15:36:16", ""),  # of no zone: when was it?
        ("", ""),
        (None, ""),
        (0, ""),
        ("N/A", ""),
    ],
)
def test_every_known_form_of_a_time_is_read(value: object, text: str) -> None:
    """Sources show milliseconds as numbers, seconds as text, and ISO 8601 in XML."""
    assert parse_wire_time(value) == text


NO_TIMES = [
    "yesterday",
    "13/08/2018 10:00",
    "2018-13-01T00:00:00Z",
    "2018-01-01T99:00:00Z",
    "9" * 40,
    -1,
    1.5,
    True,
    [],
    {},
    10**18,
    "\u0661" * 10,
    "2018-01-01T00:00:00+99:99",
    "0001-01-01T00:00:00+10:00",
]


@pytest.mark.parametrize("value", NO_TIMES, ids=lambda value: repr(value)[:20])
def test_whatever_else_is_no_time(value: object) -> None:
    with pytest.raises(ValueError, match="times"):
        parse_wire_time(value)


# Hostile bodies.

COUNTED = {"type": "noresponse", "responseCount": "1", "percentageTotal": "50%", "link": []}
CATEGORY = {"name": "Sent", "recipientCount": 1, "percentageTotal": "0.0%"}
ANSWERED = {
    "from": {"name": "Jane Doe"},
    "responseCategory": "notmatched",
    "responseMessage": {"content": "yes", "acknowledged": "28/09/12 08:48", "channel": "SMS"},
}
DELIVERED = {
    "name": "Jane Doe",
    "info": " ok ",
    "status": [{"type": "sms", "status": "READ", "destination": "x"}],
}

CALLS: dict[str, Callable[[ServiceClient], Any]] = {
    "list": lambda client: client.messages.list(),
    "get": lambda client: client.messages.get(ID),
    "status": lambda client: client.messages.status(ID),
    "status detailed": lambda client: client.messages.status(ID, "detailed"),
    "responses": lambda client: client.messages.responses(ID),
    "response details": lambda client: client.messages.response_details(ID),
}
GOOD: dict[str, object] = {
    "list": page(row(1)),
    "get": {"subject": "s", "to": "x", "link": []},
    "status": {"messageStatuses": [{"categories": [CATEGORY]}], "link": []},
    "status detailed": {"messageStatuses": [DELIVERED], "status": "1 to 1 of 1    ", "link": []},
    "responses": {"messageresponses": [COUNTED], "link": []},
    "response details": {"messageresponses": [ANSWERED], "status": "1 to 1 of 1", "link": []},
}
BAD: dict[str, tuple[str, object]] = {
    "a list without its key": ("list", {"status": "", "link": []}),
    "an empty list without words": ("list", page()),
    "a list of words": ("list", page() | {"messages": ["M1"]}),
    "a list that is an object": ("list", {"messages": {"0": row(1)}, "status": ""}),
    "a row without a link": ("list", page({"subject": "s"})),
    "a row that leads elsewhere": (
        "list",
        page({"subject": "s", "link": [{"rel": "self", "uri": "/contacts/A1"}]}),
    ),
    "a row whose subject is a list": ("list", page(row(1) | {"subject": ["s"]})),
    "a row of a million responses": ("list", page(row(1) | {"responseCount": "1_000_000"})),
    "a row of Arabic responses": ("list", page(row(1) | {"responseCount": "\u0665"})),
    "a row of no time": ("list", page(row(1, "soon"))),
    "a list of contacts": ("list", {"contacts": [{"id": "A1"}], "status": "1 to 1 of 1", "link": []}),
    "a list and an error": ("list", page(row(1)) | {"errorText": "No."}),
    "other words": ("list", {"status": "Please log in", "link": []}),
    "a contact": ("get", {"firstName": "Jane", "link": []}),
    "nothing": ("get", {}),
    "the end of a list": ("get", END),
    "another message": ("get", {"subject": "s", "link": SELF}),
    "a message of another id": ("get", {"subject": "s", "messageid": "B2"}),
    "an error with a subject": ("get", {"subject": "s", "errorSummary": "No."}),
    "no states": ("status", {"messageStatuses": [], "link": []}),
    "states of nothing": ("status", {"messageStatuses": [{"categories": []}]}),
    "two summaries": ("status", {"messageStatuses": [{"categories": [CATEGORY]}] * 2}),
    "the detailed view": ("status", GOOD["status detailed"]),
    "a state without a name": ("status", {"messageStatuses": [{"categories": [CATEGORY | {"name": ""}]}]}),
    "a state of half a person": (
        "status",
        {"messageStatuses": [{"categories": [CATEGORY | {"recipientCount": 0.5}]}]},
    ),
    "a state of minus one": (
        "status",
        {"messageStatuses": [{"categories": [CATEGORY | {"recipientCount": -1}]}]},
    ),
    "a share above all": (
        "status",
        {"messageStatuses": [{"categories": [CATEGORY | {"percentageTotal": "101%"}]}]},
    ),
    "states in words": ("status", {"messageStatuses": "none", "link": []}),
    "states that are absent": ("status", {"link": []}),
    "responses for states": ("status", GOOD["responses"]),
    "an error for states": ("status", {"errorText": "No.", "messageStatuses": [{"categories": [CATEGORY]}]}),
    "the summary": ("status detailed", GOOD["status"]),
    "deliveries in words": ("status detailed", {"messageStatuses": [DELIVERED | {"status": "READ"}]}),
    "a delivery that is a list": ("status detailed", {"messageStatuses": [DELIVERED | {"status": [[]]}]}),
    "a delivery of no time": (
        "status detailed",
        {"messageStatuses": [DELIVERED | {"status": [{"sentTimestamp": "soon"}]}]},
    ),
    "no deliveries and no words": ("status detailed", {"messageStatuses": [], "status": ""}),
    "a name that is none": ("status detailed", {"messageStatuses": [DELIVERED | {"name": 7}]}),
    "more deliveries than counted": (
        "status detailed",
        {"messageStatuses": [DELIVERED] * 3, "status": "1 to 2 of 2"},
    ),
    "no responses": ("responses", {"messageresponses": [], "link": []}),
    "responses that are absent": ("responses", {"link": []}),
    "responses that are null": ("responses", {"messageresponses": None}),
    "a response without a type": ("responses", {"messageresponses": [COUNTED | {"type": None}]}),
    "a count in words": ("responses", {"messageresponses": [COUNTED | {"responseCount": "one"}]}),
    "a count without end": ("responses", {"messageresponses": [COUNTED | {"responseCount": "1" * 5000}]}),
    "a share without a sign": ("responses", {"messageresponses": [COUNTED | {"percentageTotal": "50"}]}),
    "a share in full width": ("responses", {"messageresponses": [COUNTED | {"percentageTotal": "\uff15%"}]}),
    "details for a summary": ("responses", GOOD["response details"]),
    "statuses for responses": ("responses", GOOD["status"]),
    "an answer of nobody": ("response details", {"messageresponses": [ANSWERED | {"from": None}]}),
    "an answer from a text": ("response details", {"messageresponses": [ANSWERED | {"from": "Jane"}]}),
    "an answer without words": (
        "response details",
        {"messageresponses": [ANSWERED | {"responseMessage": "yes"}]},
    ),
    "an answer without a category": (
        "response details",
        {"messageresponses": [ANSWERED | {"responseCategory": ""}]},
    ),
    "a summary for details": ("response details", GOOD["responses"]),
    "another page": ("response details", {"messageresponses": [ANSWERED], "status": "21 to 21 of 40"}),
    "a page that counts rows and shows none": (
        "response details",
        {"messageresponses": [], "status": "1 to 2 of 2"},
    ),
    "a page of words": ("response details", {"messageresponses": ["yes"], "status": "1 to 1 of 1"}),
}


@pytest.mark.parametrize("name", GOOD)
def test_the_shapes_that_the_hostile_ones_vary_are_read(name: str) -> None:
    """Or the claims below would hold for any reader that refuses everything."""
    assert with_client(Wire(answer(200, GOOD[name]), answer(200, END)), CALLS[name])


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_answer_about_messages_is_malformed(name: str) -> None:
    """Fifty bodies of the right form and the wrong shape; "nobody answered" is read out of none of them."""
    call, body = BAD[name]

    assert type(failure(Wire(answer(200, body)), CALLS[call])) is Malformed


def test_there_are_at_least_forty_hostile_bodies() -> None:
    assert len(BAD) >= 40


@pytest.mark.parametrize("call", CALLS)
def test_a_read_of_what_is_not_there_is_told(call: str) -> None:
    assert type(failure(Wire(answer(404, {"errorText": "Not Found"})), CALLS[call])) is NotFound


# Reading.


def test_a_message_is_shown_whole_with_its_relations_on_our_own_origin() -> None:
    """Links name another host and may carry the key; neither is ours to pass on."""
    links = [
        {"uri": f"https://elsewhere.test/messages/{ID}?apikey={KEY}", "rel": "self"},
        {
            "uri": f"https://elsewhere.test/messages/{ID}/messagestatus?view=summary&apikey=k",
            "rel": "summaryStatus",
        },
    ]
    wire = Wire(answer(200, {"subject": "s", "createdTime": 1, "link": links}))

    found = with_client(wire, lambda client: client.messages.get(ID))

    assert found.fields == {"subject": "s", "createdTime": 1}
    assert found.relations == {
        "self": f"/messages/{ID}",
        "summaryStatus": f"/messages/{ID}/messagestatus?view=summary",
    }
    assert KEY not in repr(found)


@pytest.mark.parametrize(
    "uri", ["http://[::1", "javascript:alert(1)", "mailto:x", "", "/a\x1b[2J", 7, None, ["/a"]]
)
def test_a_relation_that_leads_nowhere_is_left_out(uri: object) -> None:
    wire = Wire(
        answer(200, {"subject": "s", "link": [{"uri": uri, "rel": "next"}, {"uri": "/a", "rel": ["x"]}]})
    )

    assert with_client(wire, lambda client: client.messages.get(ID)).relations == {}


def test_deliveries_are_told_for_each_channel_that_was_used() -> None:
    """The service lists all three for everybody, and leaves those blank that it did not use (recorded)."""
    sms = {
        "type": "sms",
        "status": "READ",
        "destination": "+61491570156",
        "acknowlegedTimestamp": 1534118400000,
    }
    email, voice = ({"type": kind, "status": "", "destination": ""} for kind in ("email", "voice"))
    failed = {"type": "email", "status": "FAILED", "destination": "jane.doe@example.com"}
    people = {"Jane Doe": [email, sms, voice], "Jane again": [failed, sms, voice], "Sam": [email, voice]}
    rows = [{"name": name, "info": " sent OK. ", "link": [], "status": used} for name, used in people.items()]
    body = {"messageStatuses": rows}

    found = with_client(
        Wire(answer(200, body), answer(200, END)), lambda client: client.messages.status(ID, "detailed")
    )

    assert [(one.recipient, one.channel, one.status, one.acknowledged) for one in found] == [
        ("Jane Doe", "sms", "READ", "2018-08-13T00:00:00Z"),
        ("Jane again", "email", "FAILED", ""),
        ("Jane again", "sms", "READ", "2018-08-13T00:00:00Z"),
        ("Sam", "", "", ""),
    ]
    assert {one.info for one in found} == {"sent OK."}


def test_recipients_beyond_the_first_page_are_read() -> None:
    """One source asks for them with a limit of its own, so there are pages."""
    people = [{**DELIVERED, "name": f"person {n}"} for n in range(45)]

    def handle(request: httpx2.Request) -> httpx2.Response:
        offset = int(request.url.params["offset"])
        return answer(200, {"messageStatuses": people[offset : offset + 20]} if offset < 45 else END)

    found = with_client(app_wire(handle), lambda client: client.messages.status(ID, "detailed"))

    assert [one.recipient for one in found] == [f"person {n}" for n in range(45)]


def test_who_has_not_answered_says_nothing() -> None:
    """`N/A` stands for it; somebody who does write N/A has said so."""
    none = {"content": "N/A", "acknowledged": "N/A", "channel": "N/A"}
    rows = [
        ANSWERED | {"responseCategory": "noresponse", "responseMessage": none},
        ANSWERED | {"responseMessage": none | {"channel": "SMS"}},
    ]
    body = {"messageresponses": rows, "status": "1 to 2 of 2    ", "link": []}

    silent, said = with_client(Wire(answer(200, body)), lambda client: client.messages.response_details(ID))

    assert (silent.content, silent.channel, silent.acknowledged) == ("", "", "")
    assert (said.content, said.channel) == ("N/A", "SMS")


def test_a_filter_that_counts_nobody_counts_nobody() -> None:
    """Only the default filter counts everybody, so only there an empty answer is none."""
    wire = Wire(answer(200, {"messageresponses": [], "link": []}))

    assert with_client(wire, lambda client: client.messages.responses(ID, "notmatched")) == ()


# Waiting, against the sandbox.


class World:
    """A sandbox, its control interface, and a clock that runs only while somebody waits."""

    def __init__(self, **options: Any) -> None:
        self.clock = Clock()
        began = self.clock.elapsed_s
        # The service's clock goes on with ours: an answer whose Date stands still comes from a cache.
        now = lambda: datetime.now(UTC) + timedelta(seconds=self.clock.elapsed_s - began)  # noqa: E731 - one expression
        self.app = create_app(sandbox_config(**{"clock": now, **options}))
        self.wire = httpx2.ASGITransport(app=self.app)

    async def control(self, path: str, **body: object) -> None:
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=self.app), base_url=BASE, auth=(USER, PASSWORD)
        ) as control:
            told = await control.post(f"/_sandbox/{path}", json=body)
            assert told.status_code == 200, told.text

    def run(self, work: Callable[[ServiceClient], Any], form: str) -> Any:
        async def main() -> Any:
            settings = structs.replace(service(), format=form)
            async with open_service_client(
                settings, timing=self.clock.timing, connections=self.wire
            ) as client:
                return await work(client)

        return asyncio.run(main())


FORMS = pytest.mark.parametrize("form", ["json", "xml"])


@FORMS
@pytest.mark.parametrize("workspace", ["", ID])
def test_a_message_is_sent_listed_answered_and_counted(form: str, workspace: str) -> None:
    world = World(workspaces=(("Operations", ID),))
    both = Message(("+61491570156", "+61491570157"), "On call?", "Come?", callback_parameters={"shift": 7})

    async def work(client: ServiceClient) -> None:
        sent = await client.messages.send(both, workspace=workspace)
        [listed] = await client.messages.list(workspace=workspace)
        assert (listed.message_id, listed.subject, listed.responses) == (sent.message_id, "On call?", 0)
        assert await client.messages.list(datetime.now(UTC) - timedelta(hours=1), workspace=workspace) == (
            listed,
        )
        shown = await client.messages.get(sent.message_id, workspace=workspace)
        assert shown.fields["body"] == "Come?"
        assert shown.relations["summaryResponses"].endswith("messageresponses?view=summary&filter=default")

        await world.control(f"messages/{sent.message_id}/reply", content="yes, 7 o'clock \U0001f642")
        counts = await client.messages.responses(sent.message_id, workspace=workspace)
        assert counts == (ResponseCount("noresponse", 1, 50.0), ResponseCount("notmatched", 1, 50.0))
        statuses = await client.messages.status(sent.message_id, workspace=workspace)
        assert StatusCount("Acknowledged", 1, 50.0) in statuses
        assert sum(each.recipients for each in statuses) == 2
        deliveries = await client.messages.status(sent.message_id, "detailed", workspace=workspace)
        assert sorted(each.status for each in deliveries) == ["DELIVRD", "READ"]
        details = await client.messages.response_details(sent.message_id, workspace=workspace)
        assert sorted(each.content for each in details) == ["", "yes, 7 o'clock \U0001f642"]

    world.run(work, form)


@FORMS
def test_a_list_of_many_is_walked_in_both_forms(form: str) -> None:
    world = World()

    async def work(client: ServiceClient) -> None:
        for number in range(45):
            await client.messages.send(Message(("+61491570156",), f"number {number}"))
        found = await client.messages.list()
        assert sorted(one.subject for one in found) == sorted(f"number {n}" for n in range(45))
        assert await client.messages.list(shared=True) == ()
        old = datetime.now(UTC) - timedelta(days=300)
        assert await client.messages.list(old, old + timedelta(days=1)) == ()

    world.run(work, form)


@FORMS
def test_waiting_ends_when_everybody_has_answered(form: str) -> None:
    world = World()

    async def work(client: ServiceClient) -> None:
        sent = await client.messages.send(HELLO)
        looks: list[Progress] = []
        async for look in client.messages.follow(sent.message_id, every_s=5, limit_s=3600):
            looks.append(look)
            if len(looks) == 3:
                await world.control(f"messages/{sent.message_id}/reply", content="yes")
        assert [look.complete for look in looks] == [False, False, False, True]
        assert [one.content for one in looks[-1].responses] == ["yes"]
        assert [one.content for one in await client.messages.wait_for_responses(sent.message_id)] == ["yes"]

    world.run(work, form)
    assert world.clock.slept == [5, 5, 5]


def test_waiting_ends_with_its_time_and_tells_what_has_come() -> None:
    world = World()

    async def work(client: ServiceClient) -> Any:
        sent = await client.messages.send(Message(("+61491570156", "+61491570157"), "s"))
        await world.control(f"messages/{sent.message_id}/reply", content="yes")
        return await client.messages.wait_for_responses(sent.message_id, every_s=4, limit_s=10)

    assert [one.content for one in world.run(work, "json")] == ["yes"]
    assert world.clock.slept == [4, 4, 2]


def test_waiting_ends_when_the_caller_has_enough() -> None:
    world = World()

    async def work(client: ServiceClient) -> Any:
        sent = await client.messages.send(Message(("+61491570156", "+61491570157"), "s"))
        await world.control(f"messages/{sent.message_id}/reply", content="yes")
        return await client.messages.wait_for_responses(
            sent.message_id, until=lambda seen: len(seen.responses) > 0
        )

    assert len(world.run(work, "json")) == 1
    assert world.clock.slept == []


def test_a_message_that_is_not_shown_yet_is_waited_for() -> None:
    """It is queued; nobody says that it can be read at once."""
    absent = answer(404, {"errorText": "Not Found"})
    counts = {"messageresponses": [COUNTED | {"type": "notmatched", "percentageTotal": "100%"}]}
    script = [
        absent,
        absent,
        answer(200, GOOD["status"]),
        answer(200, counts),
        answer(200, GOOD["response details"]),
    ]
    clock = Clock()

    found = with_client(Wire(*script), lambda client: client.messages.wait_for_responses(ID), clock=clock)

    assert [one.content for one in found] == ["yes"]
    assert clock.slept == [2, 2]


@pytest.mark.parametrize(
    ("play", "error"),
    [
        (answer(404, {"errorText": "Not Found"}), NotFound),
        (answer(500), Unavailable),
        (answer(200, {}), Malformed),
    ],
    ids=["absent", "failing", "malformed"],
)
def test_trouble_that_does_not_pass_is_raised_in_the_end(
    play: httpx2.Response, error: type[Exception]
) -> None:
    clock = Clock()

    raised = failure(
        Wire(play), lambda client: client.messages.wait_for_responses(ID, limit_s=10), clock=clock
    )

    assert type(raised) is error
    assert clock.elapsed_s - 1000 < 20


@pytest.mark.parametrize(
    ("every_s", "limit_s"),
    [(0, 60), (-1, 60), (float("nan"), 60), (1, float("inf")), (1, -1), (1, float("nan"))],
)
def test_a_wait_that_cannot_be_meant_is_refused(every_s: float, limit_s: float) -> None:
    """A pause of nothing would be a storm of requests."""
    wire = Wire(answer(200, {}))

    with pytest.raises(InputError):
        with_client(wire, lambda c: c.messages.wait_for_responses(ID, every_s=every_s, limit_s=limit_s))

    assert wire.sent == []
