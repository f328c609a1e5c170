"""Claims about callbacks: configured in both spellings, their key never shown, every known payload read."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from sandbox.receiving import receiving
from service.support import (
    BASE,
    ID,
    PASSWORD,
    USER,
    Clock,
    Wire,
    answer,
    failure,
    sandbox_config,
    service,
    with_client,
)

from reconciler.errors import InDoubt, InputError, Malformed, NotFound, Rejected, ServiceError, Throttled
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.messaging.replies import parse_reply
from reconciler.messaging.values import (
    Callback,
    CallbackAuth,
    CallbackCall,
    Message,
    Reply,
    Respondent,
)
from reconciler.model.secrets import Secret
from reconciler.sandbox.app import create_app
from reconciler.service.xml import documents as xml

CALLBACK_KEY = "canary-callback-key/=+"
OPS = Callback(
    "ops",
    "https://hooks.example.com/replies",
    CallbackAuth("httpheader", Secret(CALLBACK_KEY)),
    callback_id=ID,
    email="ops@example.com",
)
WRITTEN: dict[str, Any] = {
    "name": "ops",
    "url": "https://hooks.example.com/replies",
    "auth": {"type": "httpheader", "key": CALLBACK_KEY},
    "contentType": "json",
    "retriesEnabled": True,
    "email": "ops@example.com",
    "callbacks": {"reply": "enabled", "undeliverable": "enabled"},
}
SHOWN = WRITTEN | {"id": ID, "removeHTML": "disabled", "link": []}
END = {"status": "No records found", "link": []}
ATTEMPT = {
    "id": "C1",
    "messageId": "A1",
    "messageLocation": "/messages/A1",
    "status": "FAILED",
    "from": {"name": "Jane Doe"},
    "responseMessage": {"content": "yes"},
    "callback": {"id": ID, "attemptedDate": "01/03/26 12:00", "statusCode": 503, "statusMessage": "busy"},
    "link": [{"uri": f"/callbacks/{ID}/calls?id=C1", "rel": "updateCall", "method": "PUT"}],
}


def callbacks(*rows: object) -> dict[str, Any]:
    return {"callbacks": list(rows), "status": f"1 to {len(rows)} of {len(rows)}    ", "link": []}


def calls(*rows: object) -> dict[str, Any]:
    return {"calls": list(rows), "status": f"1 to {len(rows)} of {len(rows)}    ", "link": []}


def facts(callback: Callback) -> dict[str, Any]:
    """All of a callback, its key revealed: two secrets are never equal by themselves."""
    auth = (callback.auth.type, callback.auth.key.reveal()) if callback.auth else None
    return {**structs.asdict(callback), "auth": auth}


# Configuration.


def test_a_callback_is_written_as_documented_and_told_with_its_id() -> None:
    wire = Wire(answer(201, SHOWN | {"id": "NEW1"}, location="https://elsewhere.test/callbacks/NEW1"))

    made = with_client(wire, lambda client: client.callbacks.create(OPS))

    assert made.callback_id == "NEW1"
    assert [(request.method, request.url.path) for request in wire.sent] == [("POST", "/callbacks")]
    assert wire.sent[0].headers["content-type"] == "application/vnd.service.api-callback-v1+json"
    assert json.loads(wire.sent[0].content) == WRITTEN


def test_a_callback_that_is_read_and_written_back_is_unchanged() -> None:
    """What this program has no name for is the service's business, and stays."""
    wire = Wire(answer(200, SHOWN), answer(204))

    async def work(client: ServiceClient) -> None:
        await client.callbacks.replace(await client.callbacks.get(ID))

    with_client(wire, work)

    assert (wire.sent[1].method, wire.sent[1].url.path) == ("PUT", f"/callbacks/{ID}")
    assert json.loads(wire.sent[1].content) == WRITTEN | {"removeHTML": "disabled"}


@pytest.mark.parametrize(
    ("shown", "read"),
    [
        ("httpheader", "httpheader"),
        ("querystring", "querystring"),
        ("queryparam", "querystring"),
        ("QueryParam", "querystring"),
        ("basicauth", "basicauth"),
        ("bearertoken", "bearertoken"),
    ],
)
def test_every_spelling_of_an_auth_type_is_read(shown: str, read: str) -> None:
    body = SHOWN | {"auth": {"type": shown, "key": "k"}}

    found = with_client(Wire(answer(200, body)), lambda client: client.callbacks.get(ID))

    assert found.auth is not None
    assert (found.auth.type, found.auth.key.reveal()) == (read, "k")


@pytest.mark.parametrize("auth", [None, {}, "", {"type": "", "key": ""}, {"type": None}])
def test_a_callback_without_proof_has_none(auth: object) -> None:
    body = SHOWN | {"auth": auth}

    assert with_client(Wire(answer(200, body)), lambda client: client.callbacks.get(ID)).auth is None


@pytest.mark.parametrize(
    ("shown", "read"),
    [(True, True), ("true", True), ("True", True), (False, False), ("false", False), (None, False)],
)
def test_retries_are_read_as_a_boolean_and_as_its_word(shown: object, read: bool) -> None:  # noqa: FBT001 - a table
    body = SHOWN | {"retriesEnabled": shown}

    assert with_client(Wire(answer(200, body)), lambda client: client.callbacks.get(ID)).retries is read


def test_the_list_names_all_callbacks() -> None:
    other = {**SHOWN, "name": "night", "contentType": "xml", "callbacks": {"reply": "disabled"}}
    del other["id"]
    other["link"] = [{"uri": "https://elsewhere.test/callbacks/B2?apikey=x", "rel": "self"}]

    first, second = with_client(
        Wire(answer(200, callbacks(SHOWN, other))), lambda client: client.callbacks.list()
    )

    assert facts(first) == facts(structs.replace(OPS, more={"removeHTML": "disabled"}))
    assert (second.callback_id, second.content_type) == ("B2", "xml")
    assert (second.on_reply, second.on_undeliverable) == (False, False)


@pytest.mark.parametrize("events", [None, {}, ""])
def test_events_that_are_not_told_are_both_meant(events: object) -> None:
    body = SHOWN | {"callbacks": events}

    found = with_client(Wire(answer(200, body)), lambda client: client.callbacks.get(ID))

    assert (found.on_reply, found.on_undeliverable) == (True, True)


def test_there_may_be_no_callbacks() -> None:
    assert with_client(Wire(answer(200, END)), lambda client: client.callbacks.list()) == ()


@pytest.mark.parametrize("status", [200, 202, 204])
def test_a_callback_is_deleted_by_any_success(status: int) -> None:
    """Sources say 204 and 200."""
    wire = Wire(answer(status))

    with_client(wire, lambda client: client.callbacks.delete(ID))

    assert [(request.method, request.url.path) for request in wire.sent] == [("DELETE", f"/callbacks/{ID}")]


@pytest.mark.parametrize(
    "callback",
    [
        structs.replace(OPS, name=""),
        structs.replace(OPS, name="n" * 51),
        structs.replace(OPS, name="a\nb"),
        structs.replace(OPS, url="hooks.example.com"),
        structs.replace(OPS, url="ftp://hooks.example.com"),
        structs.replace(OPS, email="e" * 65),
        structs.replace(OPS, auth=CallbackAuth("httpheader", Secret(""))),
        structs.replace(OPS, auth=CallbackAuth("httpheader", Secret("k" * 129))),
        structs.replace(OPS, auth=CallbackAuth("httpheader", Secret("k\r\nX-Evil: 1"))),
        structs.replace(OPS, auth=CallbackAuth("httpheader", Secret(" k"))),
    ],
    ids=lambda callback: f"{callback.name[:4]!r} {callback.url[:4]} {len(callback.email)}",
)
@pytest.mark.parametrize("write", ["create", "replace"])
def test_what_the_service_could_not_take_is_refused_before_it_is_sent(callback: Callback, write: str) -> None:
    wire = Wire(answer(204))

    with pytest.raises(InputError) as raised:
        with_client(wire, lambda client: getattr(client.callbacks, write)(callback))

    assert wire.sent == []
    assert "Evil" not in str(raised.value)


# The key.

WRITES: dict[str, Callable[[ServiceClient], Any]] = {
    "create": lambda client: client.callbacks.create(OPS),
    "replace": lambda client: client.callbacks.replace(OPS),
    "delete": lambda client: client.callbacks.delete(ID),
    "mark": lambda client: client.callbacks.mark_calls(ID, ["C1"], "SUCCESS"),
    "create workspace": lambda client: client.workspaces.create("Operations"),
    "replace workspace": lambda client: client.workspaces.replace(ID, {"projectName": "x"}),
}

REPEATED = {
    "the key": CALLBACK_KEY,
    "its beginning": f"{CALLBACK_KEY[:6]}...",
    "the key encoded": "canary-callback-key%2F%3D%2B",
    "the key behind three hundred characters": "x" * 280 + CALLBACK_KEY,
}


@pytest.mark.parametrize("name", REPEATED)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429, 500, 503, 200])
def test_no_error_repeats_the_key_that_the_service_repeats(name: str, status: int) -> None:
    body = {"errorSummary": "No.", "errorText": f"key: {REPEATED[name]} is too short"}
    wire = Wire(answer(status, body, X_Error_Code=REPEATED[name]))

    for write in ("create", "replace"):
        error = failure(wire, WRITES[write])
        told = f"{error} {error.next} {error!r} {error.code}"
        assert CALLBACK_KEY[:5] not in told
        assert CALLBACK_KEY[:5].upper() not in told


@pytest.mark.parametrize("write", ["create", "replace"])
@pytest.mark.parametrize(
    "told",
    [
        CALLBACK_KEY.encode().hex(),
        b64encode(f"x{CALLBACK_KEY}".encode()).decode(),
        "".join(f"%{sign:02x}" for sign in CALLBACK_KEY.encode()),
    ],
    ids=["hex", "base64", "percent"],
)
def test_no_error_repeats_the_key_in_another_spelling(told: str, write: str) -> None:
    """Whoever reads the error decodes it in a moment; and what was left out cannot be read above."""
    wire = Wire(answer(400, {"errorSummary": "No.", "errorText": f"bad: {told}"}))

    error = failure(wire, WRITES[write])

    assert told[8:20] not in f"{error} {error!r}"
    assert "above" not in error.next


def test_a_callback_shows_no_key_of_itself() -> None:
    assert CALLBACK_KEY not in f"{OPS} {OPS!r} {OPS.auth}"


@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_callback_is_told_in_the_service_s_words(status: int) -> None:
    """The service looks at the url first, and says what it saw."""
    body = {"errorSummary": "No.", "errorText": "url must answer 200 to a GET"}

    error = failure(Wire(answer(status, body)), lambda client: client.callbacks.create(OPS))

    assert type(error) is Rejected
    assert "url must answer 200" in str(error)
    assert "fix the callback" in error.next


UNSURE: dict[str, tuple[int, object]] = {
    "500": (500, b""),
    "303": (303, b""),
    "a gateway that is not ready": (503, b""),
    "a gateway that waited too long": (408, b""),
    "an error under 200": (200, {"errorSummary": "No.", "errorText": "No."}),
    "a page": (200, b"<!doctype html><title>Sign in</title>"),
    "half an object": (200, b'{"id": "A1"'),
    "an array": (200, b"[]"),
    "words": (200, b"done"),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", UNSURE)
def test_a_write_whose_answer_says_neither_yes_nor_no_is_in_doubt(write: str, name: str) -> None:
    status, body = UNSURE[name]
    wire = Wire(answer(status, body, location=f"/callbacks/{ID}"))

    assert type(failure(wire, WRITES[write])) is InDoubt
    assert len(wire.sent) == 1


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("headers", [{}, {"X_Error_Code": "ERR_403_DEVELOPER_OVER_QPS"}])
def test_a_write_that_a_limit_turned_away_is_in_no_doubt(write: str, headers: dict[str, str]) -> None:
    """The limit stands before the service: what it refuses was not carried out."""
    wire = Wire(answer(403 if headers else 429, **headers))

    assert type(failure(wire, WRITES[write])) is Throttled
    assert len(wire.sent) == 1


# Calls.


def test_the_calls_of_a_callback_are_told() -> None:
    wire = Wire(answer(200, calls(ATTEMPT, ATTEMPT | {"id": "C2", "status": "SUCCESS", "callback": None})))

    found = with_client(wire, lambda client: client.callbacks.calls(ID))

    assert found == (
        CallbackCall("C1", "A1", "FAILED", "01/03/26 12:00", 503, "busy"),
        CallbackCall("C2", "A1", "SUCCESS"),
    )
    assert wire.sent[0].url.path == f"/callbacks/{ID}/calls"
    assert wire.sent[0].headers["accept"] == "application/vnd.service.api-call-v1+json"


def test_calls_of_one_status_are_asked_for_and_compared_again() -> None:
    """A service that ignores the question answers with all of them."""
    wire = Wire(answer(200, calls(ATTEMPT, ATTEMPT | {"id": "C2", "status": "SUCCESS"})))

    found = with_client(wire, lambda client: client.callbacks.calls(ID, "SUCCESS"))

    assert [one.call_id for one in found] == ["C2"]
    assert wire.sent[0].url.params["status"] == "SUCCESS"


def test_calls_are_marked_by_their_ids_in_the_address() -> None:
    wire = Wire(answer(204))

    with_client(wire, lambda client: client.callbacks.mark_calls(ID, ["C1", "C2", "C1"], "SUCCESS"))

    assert (wire.sent[0].method, wire.sent[0].url.path) == ("PUT", f"/callbacks/{ID}/calls")
    assert wire.sent[0].url.params.get_list("id") == ["C1", "C2"]
    assert json.loads(wire.sent[0].content) == {"status": "SUCCESS"}


@pytest.mark.parametrize("ids", [[], [""], ["../x"], ["a b"], [f"C{n}" for n in range(101)]])
def test_calls_that_cannot_be_named_are_not_marked(ids: list[str]) -> None:
    """No id at all might mean every call."""
    wire = Wire(answer(204))

    with pytest.raises(InputError):
        with_client(wire, lambda client: client.callbacks.mark_calls(ID, ids, "SUCCESS"))

    assert wire.sent == []


# Hostile answers.

READS: dict[str, Callable[[ServiceClient], Any]] = {
    "list": lambda client: client.callbacks.list(),
    "get": lambda client: client.callbacks.get(ID),
    "calls": lambda client: client.callbacks.calls(ID),
    "workspace": lambda client: client.workspaces.get(ID),
}
BAD: dict[str, tuple[str, object]] = {
    "an empty list without words": ("list", {"callbacks": [], "status": "", "link": []}),
    "a list without its key": ("list", {"status": "1 to 1 of 1"}),
    "a callback of no id": ("list", callbacks({"name": "ops", "url": "x"})),
    "a callback that is a text": ("list", callbacks("ops")),
    "a callback without a name": ("list", callbacks(SHOWN | {"name": None})),
    "a callback without a url": ("list", callbacks(SHOWN | {"url": ""})),
    "a proof of unknown type": ("list", callbacks(SHOWN | {"auth": {"type": "hmac", "key": "k"}})),
    "a proof without a type": ("list", callbacks(SHOWN | {"auth": {"key": "k"}})),
    "a proof that is a text": ("list", callbacks(SHOWN | {"auth": "httpheader"})),
    "a key that is a number": ("list", callbacks(SHOWN | {"auth": {"type": "httpheader", "key": 7}})),
    "retries at times": ("get", SHOWN | {"retriesEnabled": "sometimes"}),
    "retries by number": ("get", SHOWN | {"retriesEnabled": 1}),
    "a content in YAML": ("get", SHOWN | {"contentType": "yaml"}),
    "events in words": ("get", SHOWN | {"callbacks": "all"}),
    "an event in other words": ("get", SHOWN | {"callbacks": {"reply": "perhaps"}}),
    "another callback": ("get", SHOWN | {"id": "B2"}),
    "an error": ("get", SHOWN | {"errorText": "No."}),
    "a contact": ("get", {"firstName": "Jane", "link": []}),
    "the end of a list": ("get", END),
    "a call without an id": ("calls", calls({key: value for key, value in ATTEMPT.items() if key != "id"})),
    "a call without a status": ("calls", calls(ATTEMPT | {"status": ""})),
    "a call of half a status": ("calls", calls(ATTEMPT | {"callback": {"statusCode": 200.5}})),
    "a call of a status in words": ("calls", calls(ATTEMPT | {"callback": {"statusCode": "OK"}})),
    "a call of a list": ("calls", calls(ATTEMPT | {"callback": []} | {"status": []})),
    "callbacks for calls": ("calls", callbacks(SHOWN)),
    "no calls and no words": ("calls", {"calls": [], "link": []}),
    "a workspace without a name": ("workspace", {"id": ID, "status": "A"}),
    "another workspace": ("workspace", {"id": "B2", "projectName": "x"}),
}


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_answer_about_callbacks_is_malformed(name: str) -> None:
    call, body = BAD[name]

    error = failure(Wire(answer(200, body)), READS[call])

    assert type(error) is Malformed
    assert "hmac" not in str(error)


@pytest.mark.parametrize("call", READS)
def test_a_read_of_what_is_not_there_is_told(call: str) -> None:
    assert type(failure(Wire(answer(404, {"errorText": "Not Found"})), READS[call])) is NotFound


# Payloads.

REPLY = Reply(
    "A1B2",
    "https://api.example.com/messages/A1B2",
    Respondent("Jane Doe", "Jane_Doe.1@Contact.example.com", "+61491570156", "jane.doe@example.com", "x"),
    channel="SMS",
    content="yes, 7 o'clock \U0001f642",
    acknowledged="09/01/13 13:22",
    parameters={"shift": "7", "recipient_mobile": "+61491570156"},
)
SENDER = {
    "name": "Jane Doe",
    "mri": "Jane_Doe.1@Contact.example.com",
    "mobile": "+61491570156",
    "email": "jane.doe@example.com",
    "voice": "x",
}
SAID = {"channel": "SMS", "acknowledged": "09/01/13 13:22", "content": "yes, 7 o'clock \U0001f642"}
PARAMETERS = {"shift": "7", "recipient_mobile": "+61491570156"}
LOCATION = "https://api.example.com/messages/A1B2"
ENTRIES = [{"key": "shift", "value": "7"}, {"key": "recipient_mobile", "value": "+61491570156"}]
PAYLOAD = {
    "messageid": "A1B2",
    "location": LOCATION,
    "from": SENDER,
    "responseMessage": SAID,
    "customParameters": PARAMETERS,
}


def variant(**changes: object) -> dict[str, object]:
    """The payload with keys taken away (None) or put in."""
    return {key: value for key, value in {**PAYLOAD, **changes}.items() if value is not None}


VARIANTS = {
    "the specification's": PAYLOAD,
    "messagelocation": variant(location=None, messagelocation=LOCATION),
    "messageLocation": variant(location=None, messageLocation=LOCATION),
    "messageId": variant(messageid=None, messageId="A1B2"),
    "the id in the location alone": variant(messageid=None),
    "both spellings": variant(messageId="A1B2", messagelocation=LOCATION),
    "a key behind the location": variant(location=f"{LOCATION}?apikey=canary"),
    "a lower-case responsemessage": variant(responseMessage=None, responsemessage=SAID),
    "the misspelt array of entries": variant(customParameters=None, customParamters=ENTRIES),
    "the misspelt array of pairs": variant(
        customParameters=None, customParamters=[{k: v} for k, v in PARAMETERS.items()]
    ),
    "entries": variant(customParameters={"entry": ENTRIES}),
    "numbers instead of texts": variant(customParameters=PARAMETERS | {"shift": 7}),
    "more than we know": variant(future={"a": [1]}),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_known_form_of_a_reply_in_json_is_read(name: str) -> None:
    assert parse_reply(json.dumps(VARIANTS[name]).encode(), "application/json; charset=utf-8") == REPLY


def element(name: str, inside: str) -> str:
    return f"<{name}>{inside}</{name}>"


def payload_xml(
    *, location: str = "location", prefix: str = "ns2", said: str = "", parameters: str = ""
) -> bytes:
    sender = element("from", "".join(element(key, value) for key, value in SENDER.items()))
    said = said or "".join(element(key, value) for key, value in SAID.items())
    entries = "".join(
        element("entry", element("key", key) + element("value", value)) for key, value in PARAMETERS.items()
    )
    parameters = parameters or element("customParameters", entries)
    parts = element("messageid", "A1B2") + element(location, LOCATION) + sender
    whole = parts + element("responseMessage", said) + parameters
    root = f"{prefix}:deliveryResponse" if prefix else "deliveryResponse"
    declared = f"xmlns:{prefix}" if prefix else "xmlns"
    return (
        f'<?xml version="1.0"?><{root} {declared}="http://schemas.api.whispir.com">{whole}</{root}>'.encode()
    )


XML_VARIANTS = {
    "as documented": payload_xml(),
    "another prefix": payload_xml(prefix="evil"),
    "messagelocation": payload_xml(location="messagelocation"),
    "messageLocation": payload_xml(location="messageLocation"),
}


@pytest.mark.parametrize("name", XML_VARIANTS)
@pytest.mark.parametrize(
    "content_type", ["application/xml", "text/xml; charset=UTF-8", "application/vnd.x+xml", ""]
)
def test_every_known_form_of_a_reply_in_xml_is_read(name: str, content_type: str) -> None:
    assert parse_reply(XML_VARIANTS[name], content_type) == REPLY


@pytest.mark.parametrize("form", ["json", "xml"])
def test_a_failed_delivery_says_so(form: str) -> None:
    """It carries `undeliverable` in the place of `acknowledged`."""
    said = {"channel": "SMS", "undeliverable": "09/01/13 13:22", "content": "no such number"}
    if form == "json":
        found = parse_reply(json.dumps(variant(responseMessage=said)).encode(), "application/json")
    else:
        text = "".join(element(key, value) for key, value in said.items())
        found = parse_reply(payload_xml(said=text), "application/xml")

    assert (found.undeliverable, found.acknowledged) == ("09/01/13 13:22", "")
    assert found.content == "no such number"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (variant(customParameters=None), ""),
        (variant(customParameters={}), ""),
        (variant(customParameters=[]), ""),
    ],
)
def test_a_reply_without_parameters_has_none(body: object, content_type: str) -> None:
    assert parse_reply(json.dumps(body).encode(), content_type).parameters == {}


@pytest.mark.parametrize(
    ("sent", "told"),
    [(7, "7"), (2.5, "2.5"), (True, "true"), (False, "false"), (None, ""), ("", ""), (-1, "-1")],
)
def test_a_parameter_that_is_no_text_becomes_one(sent: object, told: str) -> None:
    """The specification says that all are text; a reply is not thrown away over one that is none."""
    body = json.dumps(variant(customParameters={"n": sent})).encode()

    assert parse_reply(body, "application/json").parameters == {"n": told}


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
xml_texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn"], exclude_characters="\ufffe\uffff"), max_size=40
)


@given(st.dictionaries(texts, texts, max_size=8), texts.filter(bool))
def test_whatever_somebody_answers_comes_through_json_unchanged(
    parameters: dict[str, str], said: str
) -> None:
    body = variant(responseMessage={"content": said}, customParameters=parameters)

    found = parse_reply(json.dumps(body).encode(), "application/json")

    assert (found.content, found.parameters) == (said, parameters)


@given(st.dictionaries(xml_texts, xml_texts, max_size=8), xml_texts.filter(bool))
def test_whatever_somebody_answers_comes_through_xml_unchanged(parameters: dict[str, str], said: str) -> None:
    body = variant(responseMessage={"content": said}, customParameters=parameters)

    found = parse_reply(xml.encode_xml(body, "deliveryResponse"), "application/xml")

    assert (found.content, found.parameters) == (said, parameters)


DEEP = '{"a":' * 5000 + "1" + "}" * 5000
BAD_PAYLOADS: dict[str, object] = {
    "empty": b"",
    "words": b"yes",
    "an array": b"[]",
    "null": b"null",
    "a text": b'"A1B2"',
    "half of it": json.dumps(PAYLOAD).encode()[:-2],
    "not UTF-8": json.dumps(PAYLOAD).encode()[:-1] + b'"\xff"',
    "two of them": json.dumps(PAYLOAD).encode() * 2,
    "nested without end": DEEP.encode(),
    "too large": json.dumps(variant(future="x" * 1024 * 1024)).encode(),
    "a key twice": b'{"messageid": "A1", "messageid": "B2"}',
    "nothing": {},
    "an error": {"errorSummary": "No.", "errorText": "No."},
    "no message": variant(messageid=None, location=None),
    "a message id with a path": variant(messageid="../contacts"),
    "a message id of another line": variant(messageid="A1\n"),
    "an empty message id and no location": variant(messageid="", location=None),
    "a message id that is a number": variant(messageid=7),
    "a message id that is a list": variant(messageid=["A1B2"]),
    "two message ids": variant(messageId="C3D4"),
    "two locations": variant(messagelocation="https://api.example.com/messages/C3D4"),
    "a location that is an object": variant(location={}),
    "no responseMessage": variant(responseMessage=None),
    "a responseMessage in words": variant(responseMessage="yes"),
    "a responseMessage of nothing": variant(responseMessage={}),
    "a responseMessage of another kind": variant(responseMessage={"channel": "SMS"}),
    "content that is a number": variant(responseMessage=SAID | {"content": 1}),
    "content that is a list": variant(responseMessage=SAID | {"content": ["yes"]}),
    "content without end": variant(responseMessage=SAID | {"content": "x" * 100_001}),
    "content twice": variant(responseMessage=SAID | {"Content": "no"}),
    "a sender in words": variant(**{"from": "Jane"}),
    "a sender that is a list": variant(**{"from": [SENDER]}),
    "a sender's number that is a number": variant(**{"from": SENDER | {"mobile": 61491570156}}),
    "parameters in words": variant(customParameters="shift=7"),
    "parameters by number": variant(customParameters=7),
    "parameters of lists": variant(customParameters={"shift": [7]}),
    "parameters of objects": variant(customParameters={"shift": {"n": 7}}),
    "parameters of words": variant(customParameters=["shift"]),
    "parameters without a key": variant(customParameters=[{"key": 7, "value": "x"}]),
    "one parameter twice": variant(customParameters=[{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]),
    "parameters without end": variant(customParameters={f"k{n}": "" for n in range(1001)}),
    "a parameter without end": variant(customParameters={"k": "x" * 100_001}),
    "parameters twice": variant(customParamters={"shift": "8"}),
}
BAD_XML: dict[str, bytes] = {
    "half of it": payload_xml()[:-5],
    "a document type": b'<!DOCTYPE x [<!ENTITY a "aaaa">]>' + payload_xml().partition(b"?>")[2],
    "a page": b"<html><body>Sign in</body></html>",
    "another root": payload_xml().replace(b"deliveryResponse", b"message"),
    "no namespace": payload_xml().replace(b"http://schemas.api.whispir.com", b"http://evil.test"),
    "two messages": payload_xml().replace(b"<from>", b"<messageid>C3D4</messageid><from>"),
    "no message": payload_xml().replace(b"messageid", b"other").replace(b"location", b"else"),
    "elements for a text": payload_xml(said="<content><b>yes</b></content>"),
    "nothing said": payload_xml(said="<channel>SMS</channel>"),
    "parameters without entries": payload_xml(
        parameters="<customParameters><shift>7</shift></customParameters>"
    ),
    "JSON": json.dumps(PAYLOAD).encode(),
}


@pytest.mark.parametrize("name", BAD_PAYLOADS)
def test_a_hostile_payload_in_json_is_malformed(name: str) -> None:
    body = BAD_PAYLOADS[name]

    with pytest.raises(Malformed) as raised:
        parse_reply(body if isinstance(body, bytes) else json.dumps(body).encode(), "application/json")

    assert len(str(raised.value)) < 120
    assert "61491570156" not in str(raised.value)


@pytest.mark.parametrize("name", BAD_XML)
def test_a_hostile_payload_in_xml_is_malformed(name: str) -> None:
    with pytest.raises(Malformed):
        parse_reply(BAD_XML[name], "application/xml")


@pytest.mark.parametrize(
    "content_type", ["text/html", "multipart/form-data", "application/x-www-form-urlencoded", "x"]
)
def test_a_payload_of_another_type_is_malformed(content_type: str) -> None:
    with pytest.raises(Malformed):
        parse_reply(json.dumps(PAYLOAD).encode(), content_type)


@given(st.binary(max_size=300), st.sampled_from(["application/json", "application/xml", ""]))
def test_whatever_is_sent_there_is_a_reply_or_one_error(body: bytes, content_type: str) -> None:
    try:
        parse_reply(body, content_type)
    except ServiceError as error:
        assert type(error) is Malformed  # noqa: PT017 - a reply is as good


# Against the sandbox.


FORMS = pytest.mark.parametrize("form", ["json", "xml"])


class World:
    """A sandbox with its control interface."""

    def __init__(self, form: str, **options: Any) -> None:
        self.app = create_app(sandbox_config(**options))
        self.form = form

    async def control(self, path: str, **body: object) -> None:
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=self.app), base_url=BASE, auth=(USER, PASSWORD)
        ) as control:
            told = await control.post(f"/_sandbox/{path}", json=body)
            assert told.status_code == 200, told.text

    def run(self, work: Callable[[ServiceClient], Any]) -> Any:
        async def main() -> Any:
            settings = structs.replace(service(), format=self.form)
            wire = httpx2.ASGITransport(app=self.app)
            async with open_service_client(settings, timing=Clock().timing, connections=wire) as client:
                return await work(client)

        return asyncio.run(main())


@FORMS
def test_a_callback_is_listed_replaced_and_deleted_in_the_sandbox(form: str) -> None:
    async def work(client: ServiceClient) -> None:
        assert await client.callbacks.list() == ()
        made = await client.callbacks.create(structs.replace(OPS, callback_id="", url=hook.url))
        [listed] = await client.callbacks.list()
        assert facts(structs.replace(listed, more={})) == facts(made)
        await client.callbacks.replace(
            structs.replace(made, name="night", on_reply=False, content_type="xml")
        )
        changed = await client.callbacks.get(made.callback_id)
        assert (changed.name, changed.on_reply, changed.content_type) == ("night", False, "xml")
        assert await client.callbacks.calls(made.callback_id) == ()
        await client.callbacks.delete(made.callback_id)
        with pytest.raises(NotFound):
            await client.callbacks.get(made.callback_id)

    with receiving() as hook:
        World(form).run(work)


@pytest.mark.spec("6/rule-3")
@FORMS
@pytest.mark.parametrize("content_type", ["json", "xml"])
def test_a_reply_arrives_with_its_parameters_as_text_and_its_call_is_told(
    form: str, content_type: str
) -> None:
    """The specification's own example: what was sent as a number comes back as a text."""
    world = World(form)

    async def work(client: ServiceClient) -> None:
        xml_or_json: Any = content_type
        made = await client.callbacks.create(
            structs.replace(OPS, callback_id="", url=hook.url, content_type=xml_or_json)
        )
        message = Message(("+61491570156",), "s", "b", "ops", {"shift": 7, "who": "Jane"})
        sent = await client.messages.send(message)
        await world.control(f"messages/{sent.message_id}/reply", content="yes \U0001f642")
        await world.control("callbacks/deliver")

        [arrived] = hook.calls
        reply = parse_reply(arrived.body, str(arrived.headers["content-type"]))
        assert (reply.message_id, reply.content) == (sent.message_id, "yes \U0001f642")
        assert (reply.parameters["shift"], reply.parameters["who"]) == ("7", "Jane")
        assert reply.sender.mobile == "+61491570156"
        [call] = await client.callbacks.calls(made.callback_id)
        assert (call.message_id, call.status, call.http_status) == (sent.message_id, "SUCCESS", 200)

    with receiving() as hook:
        world.run(work)


@FORMS
@pytest.mark.parametrize("key", ["acknowledged", "undeliverable"])
def test_a_call_that_failed_is_marked_in_the_sandbox(form: str, key: str) -> None:
    """With `undeliverable` it is told to be a failure; with the specification's key nothing tells that."""
    world = World(form, callback_failure_key=key)

    async def work(client: ServiceClient) -> None:
        made = await client.callbacks.create(
            structs.replace(OPS, callback_id="", url=hook.url, retries=False)
        )
        sent = await client.messages.send(Message(("+61491570156",), "s", "b", "ops"))
        hook.answers.append(503)
        await world.control(f"messages/{sent.message_id}/fail", reason="no such number")
        await world.control("callbacks/deliver")

        [failed] = await client.callbacks.calls(made.callback_id, "FAILED")
        assert failed.http_status == 503
        await client.callbacks.mark_calls(made.callback_id, [failed.call_id], "SUCCESS")
        assert await client.callbacks.calls(made.callback_id, "FAILED") == ()
        [told] = hook.calls
        reply = parse_reply(told.body, str(told.headers["content-type"]))
        assert (bool(reply.undeliverable), bool(reply.acknowledged)) == (
            key == "undeliverable",
            key == "acknowledged",
        )
        assert reply.content == "no such number"

    with receiving() as hook:
        world.run(work)


@FORMS
def test_a_workspace_is_created_read_and_replaced_in_the_sandbox(form: str) -> None:
    async def work(client: ServiceClient) -> None:
        made = await client.workspaces.create("Operations", number="7", cost_centre="C 1")
        assert await client.workspaces.list() == (made,)
        found = await client.workspaces.get(made.id)
        assert (found.body["projectName"], found.body["projectNumber"]) == ("Operations", "7")
        await client.workspaces.replace(made.id, {"projectName": "Night", "status": "A"})
        assert [one.name for one in await client.workspaces.list()] == ["Night"]

    World(form).run(work)


@pytest.mark.parametrize("name", ["", " ", "a\nb"])
def test_a_workspace_without_a_name_is_not_created(name: str) -> None:
    wire = Wire(answer(201))

    with pytest.raises(InputError):
        with_client(wire, lambda client: client.workspaces.create(name))

    assert wire.sent == []
