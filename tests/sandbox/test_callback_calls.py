"""Callbacks as they are really sent. Source: specification 2.6 and 6; docs/service.md, callbacks."""

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from sandbox.asking import JANE, Clock, Sandbox, last_segment, origin, usual_headers
from sandbox.receiving import (
    MAIL,
    MOBILE,
    Receiver,
    callback_body,
    delivered,
    failed,
    message_body,
    receiving,
    replied,
    sent,
)
from waiting import patience_s, until

from reconciler.messaging.replies import parse_reply
from reconciler.sandbox import callback_calls, control_requests
from reconciler.sandbox.app import running_sandbox
from reconciler.sandbox.config import SandboxConfig

day = 24 * 3600


def with_callback(
    url: str, *, callback: dict[str, Any] | None = None, **options: Any
) -> tuple[Sandbox, str, str]:
    """A sandbox, the path of its callback, and a message that names it."""
    sandbox = Sandbox(callback_check=False, **{"clock": Clock(), **options})
    path = sandbox.created("/callbacks", callback_body(url, **(callback or {})))
    return sandbox, path, sent(sandbox, MOBILE, MAIL, callbackId="approvals")


def payloads(receiver: Receiver) -> list[dict[str, Any]]:
    """What arrived, as JSON."""
    return [json.loads(one.body) for one in receiver.calls]


def calls(sandbox: Sandbox, path: str) -> list[dict[str, Any]]:
    """The calls that were tried."""
    found: list[dict[str, Any]] = sandbox.get(f"{path}/calls").json().get("calls", [])
    return found


@pytest.mark.spec(
    "1/replies-callback",
    "2.6/json",
    "2.6/messageid",
    "2.6/messageid.type",
    "2.6/location",
    "2.6/location.type",
    "2.6/from",
    "2.6/from-name",
    "2.6/from-mri",
    "2.6/from-mobile",
    "2.6/from-email",
    "2.6/from-voice",
    "2.6/from.type",
    "2.6/responseMessage",
    "2.6/channel",
    "2.6/channel.type",
    "2.6/acknowledged",
    "2.6/acknowledged.form",
    "2.6/content",
    "2.6/content.type",
    "2.6/customParameters",
    "2.6/customParameters.texts",
    "6/post",
    "6/type",
    "6/reply",
    "6/rule-1",
    "6/rule-1.absent",
    "6/rule-2-json",
    "6/rule-3",
)
def test_a_reply_is_posted_with_the_payload_of_the_specification() -> None:
    """Specification 2.6 and 6, rules 1 and 3: all values texts, the parameters under customParameters."""
    sandbox = Sandbox(callback_check=False, clock=Clock())
    mri = sandbox.get(sandbox.created("/contacts", {**JANE, "workPhone1": "+12025550100"})).json()["mri"]
    with receiving() as receiver:
        sandbox.created("/callbacks", callback_body(receiver.url))
        parameters = {"plan": 7, "share": 1.5, "dry": True, "by": "Jöhn"}
        message = sent(sandbox, callbackId="approvals", callbackParameters=parameters)
        replied(sandbox, message, "Yes, go on")

        assert delivered(sandbox) == {"success": 1, "failed": 0, "waiting": 0}

    (call,) = receiver.calls
    assert (call.method, call.target, call.headers["content-type"]) == ("POST", "/in", "application/json")
    assert json.loads(call.body) == {
        "messageid": message,
        "location": f"{origin}/messages/{message}",
        "from": {
            "name": "Jane Doe",
            "mri": mri,
            "mobile": MOBILE,
            "email": MAIL,
            "voice": "+12025550100",
        },
        "responseMessage": {"channel": "SMS", "acknowledged": "14/08/26 01:20", "content": "Yes, go on"},
        "customParameters": {"plan": "7", "share": "1.5", "dry": "true", "by": "Jöhn"},
    }
    assert b"callbackParameters" not in call.body


@pytest.mark.spec("6/failure")
@pytest.mark.parametrize("key", ["acknowledged", "undeliverable"])
def test_a_failed_delivery_is_posted_too(key: str) -> None:
    """Specification 6: the time is under `acknowledged`; public sources have `undeliverable`."""
    options: dict[str, Any] = {} if key == "acknowledged" else {"callback_failure_key": key}
    with receiving() as receiver:
        sandbox, _, message = with_callback(receiver.url, **options)
        failed(sandbox, message, to=MAIL, reason="Mailbox full")
        delivered(sandbox)

    (payload,) = payloads(receiver)
    assert payload["responseMessage"] == {
        "channel": "EMAIL",
        key: "14/08/26 01:20",
        "content": "Mailbox full",
    }
    assert payload["from"]["email"] == MAIL
    assert "customParameters" not in payload


def test_a_recipient_that_leads_nowhere_is_a_failed_delivery() -> None:
    """Once the message is executed; nobody has to fail it by hand."""
    with receiving() as receiver:
        sandbox, _, _ = with_callback(receiver.url, message_cycle_s=60)
        sent(sandbox, "Nobody.9@Contact.service.example", callbackId="approvals")
        assert delivered(sandbox)["success"] == 0

        sandbox.post("/_sandbox/messages/run")
        assert delivered(sandbox)["success"] == 1

    assert payloads(receiver)[0]["responseMessage"]["content"].startswith("Delivery failed")


@pytest.mark.spec("6/rule-4")
def test_every_reply_of_a_conversation_is_posted_with_the_same_parameters() -> None:
    """Specification 6, rule 4; in the order in which they came."""
    with receiving() as receiver:
        sandbox, _, _ = with_callback(receiver.url)
        message = sent(sandbox, callbackId="approvals", callbackParameters={"plan": 7})
        for word in ("One", "Two", "Three"):
            replied(sandbox, message, word)
        delivered(sandbox)

    found = payloads(receiver)
    assert [one["responseMessage"]["content"] for one in found] == ["One", "Two", "Three"]
    assert [one["customParameters"] for one in found] == [{"plan": "7"}] * 3


@pytest.mark.spec("6/rule-2-xml")
def test_the_payload_is_sent_in_xml_if_the_callback_wants_that() -> None:
    """Specification 6, rule 2: in XML each pair is an entry element holding a key and a value."""
    with receiving() as receiver:
        sandbox, _, _ = with_callback(receiver.url, callback={"contentType": "xml"})
        message = sent(sandbox, callbackId="approvals", callbackParameters={"a<b": "x & y"})
        replied(sandbox, message, "1 < 2")
        delivered(sandbox)

    (call,) = receiver.calls
    text = call.body.decode()
    assert call.headers["content-type"] == "application/xml"
    assert ":deliveryResponse " in text
    assert f"<messageid>{message}</messageid><location>{origin}/messages/{message}</location>" in text
    assert "<entry><key>a&lt;b</key><value>x &amp; y</value></entry>" in text
    assert "<content>1 &lt; 2</content>" in text


@pytest.mark.parametrize(
    ("vendor", "header"), [("service", "X-Service-Callback-Key"), ("whispir", "X-Whispir-Callback-Key")]
)
def test_the_key_is_shown_in_a_header_named_for_the_vendor(vendor: str, header: str) -> None:
    """Public sources; the vendor word is an option."""
    config = SandboxConfig(callback_check=False, vendor=vendor)
    sandbox = Sandbox(config)
    kinds = {name: f"application/vnd.{vendor}.{name}-v1+json" for name in ("api-callback", "message")}
    with receiving() as receiver:
        made = sandbox.post(
            "/callbacks",
            callback_body(receiver.url),
            headers={"content-type": kinds["api-callback"], "accept": ""},
        )
        answer = sandbox.post(
            "/messages",
            {"to": MOBILE, "subject": "S", "callbackId": "approvals"},
            headers={"content-type": kinds["message"], "accept": ""},
        )
        replied(sandbox, answer.headers["location"].rsplit("/", 1)[1])
        delivered(sandbox)

    assert made.status_code == 201
    assert [one.headers[header] for one in receiver.calls] == ["k3y"]


@pytest.mark.parametrize("kind", ["querystring", "queryparam"])
@pytest.mark.parametrize(("query", "target"), [("", "/in?auth=k%263+y"), ("?a=b", "/in?a=b&auth=k%263+y")])
def test_the_key_is_shown_in_the_query(kind: str, query: str, target: str) -> None:
    """Public sources: auth=<key>, beside what the address has already; and in no header then."""
    with receiving() as receiver:
        auth = {"type": kind, "key": "k&3 y"}
        sandbox, _, message = with_callback(f"{receiver.url}{query}", callback={"auth": auth})
        replied(sandbox, message)
        delivered(sandbox)

    (call,) = receiver.calls
    assert call.target == target.replace("+", "%20")
    assert call.headers["x-service-callback-key"] is None


@pytest.mark.parametrize(
    ("kind", "key", "header"),
    [
        ("basicauth", "ops:k3y", "Basic b3BzOmszeQ=="),
        ("basicauth", "b3BzOmszeQ==", "Basic b3BzOmszeQ=="),
        ("bearertoken", "k3y", "Bearer k3y"),
    ],
)
def test_the_key_is_shown_as_credentials(kind: str, key: str, header: str) -> None:
    """A newer public source: an Authorization header, and nothing in the query."""
    with receiving() as receiver:
        sandbox, path, message = with_callback(receiver.url, callback={"auth": {"type": kind, "key": key}})
        replied(sandbox, message)
        delivered(sandbox)

    (call,) = receiver.calls
    assert (call.headers["authorization"], call.target) == (header, "/in")
    assert sandbox.get(path).json()["auth"] == {"type": kind, "key": key}


@pytest.mark.spec("2.4/callbackParameters.unchanged", "2.6/customParameters.texts")
@pytest.mark.parametrize("content_type", ["json", "xml"])
def test_nested_parameters_and_null_come_back_as_their_json_text(content_type: str) -> None:
    """Free-form, unchanged, and all texts: of a value that is no text that leaves its JSON text."""
    parameters: dict[str, Any] = {
        "who": {"name": "Jöhn", "shifts": [1, 2.5, None]},
        "none": None,
        "list": [],
        "text": "{}",
    }
    with receiving() as receiver:
        sandbox, _, _ = with_callback(receiver.url, callback={"contentType": content_type})
        message = sent(sandbox, callbackId="approvals", callbackParameters=parameters)
        replied(sandbox, message)
        delivered(sandbox)

    (call,) = receiver.calls
    reply = parse_reply(call.body, str(call.headers["content-type"]))
    assert reply.parameters == {
        "who": '{"name":"Jöhn","shifts":[1,2.5,null]}',
        "none": "null",
        "list": "[]",
        "text": "{}",
    }
    assert sandbox.get(f"/messages/{message}").json()["callbackParameters"] == parameters


def test_a_callback_without_auth_shows_no_key() -> None:
    """There is none to show."""
    with receiving() as receiver:
        sandbox, _, message = with_callback(receiver.url, callback={"auth": None})
        replied(sandbox, message)
        delivered(sandbox)

    assert (receiver.calls[0].target, receiver.calls[0].headers["x-service-callback-key"]) == ("/in", None)


def test_the_known_variants_of_the_payload_are_options() -> None:
    """Public sources disagree on two names, and add keys of the service's own; all values are texts."""
    with receiving() as receiver:
        sandbox, _, _ = with_callback(
            receiver.url,
            callback_location_key="messagelocation",
            callback_failure_key="undeliverable",
            callback_service_keys=True,
        )
        message = sent(sandbox, callbackId="approvals", callbackParameters={"plan": 7, "date": "mine"})
        failed(sandbox, message, reason="Gone")
        delivered(sandbox)

    (payload,) = payloads(receiver)
    assert payload["messagelocation"].endswith(message)
    assert "location" not in payload
    assert payload["responseMessage"]["undeliverable"] == "14/08/26 01:20"
    assert (
        payload["customParameters"].items()
        >= {"plan": "7", "date": "mine", "matchedCategory": "noresponse"}.items()
    )
    assert all(isinstance(value, str) for value in payload["customParameters"].values())


def test_markup_is_removed_if_the_callback_wants_that() -> None:
    """Public sources: removeHTML."""
    with receiving() as receiver:
        sandbox, _, message = with_callback(receiver.url, callback={"removeHTML": "enabled"})
        replied(sandbox, message, "<p>Yes, 1 < 2</p>")
        delivered(sandbox)

    assert payloads(receiver)[0]["responseMessage"]["content"] == "Yes, 1 < 2"


@pytest.mark.parametrize(("event", "word"), [("reply", "Gone"), ("undeliverable", "Yes")])
def test_an_event_that_is_disabled_is_not_sent(event: str, word: str) -> None:
    """Public sources: both can be switched off."""
    with receiving() as receiver:
        sandbox, _, message = with_callback(receiver.url, callback={"callbacks": {event: "disabled"}})
        replied(sandbox, message)
        failed(sandbox, message, to=MAIL, reason="Gone")
        delivered(sandbox)

    assert [one["responseMessage"]["content"] for one in payloads(receiver)] == [word]


def test_a_message_without_a_known_callback_calls_nobody() -> None:
    """None named, or one that does not exist (assumed); the reply itself is kept."""
    with receiving() as receiver:
        sandbox, _, _ = with_callback(receiver.url)
        answers = [replied(sandbox, sent(sandbox)), replied(sandbox, sent(sandbox, callbackId="unheard-of"))]

        assert [one["calls"] for one in answers] == [0, 0]
        assert delivered(sandbox) == {"success": 0, "failed": 0, "waiting": 0}
    assert receiver.calls == []


def test_a_callback_is_found_by_its_id_too() -> None:
    """One public source calls the callbackId an identifier."""
    with receiving() as receiver:
        sandbox, path, _ = with_callback(receiver.url)
        replied(sandbox, sent(sandbox, callbackId=path.rsplit("/", 1)[1]))

        assert delivered(sandbox)["success"] == 1


@pytest.mark.parametrize("status", [201, 202, 204, 301, 302, 400, 401, 404, 500, 503])
def test_anything_but_200_is_a_failure(status: int) -> None:
    """Public sources: exactly 200; a redirect is not followed."""
    with receiving(status) as receiver:
        sandbox, path, message = with_callback(receiver.url)
        replied(sandbox, message)

        assert delivered(sandbox) == {"success": 0, "failed": 1, "waiting": 0}
        assert len(receiver.arrived) == 1
    (call,) = calls(sandbox, path)
    assert (call["status"], call["callback"]["statusCode"]) == ("FAILED", status)


@pytest.mark.spec("6/gap")
def test_a_failed_call_is_tried_again_until_it_succeeds() -> None:
    """Public sources: about every five minutes, here every two seconds of the sandbox's clock."""
    clock = Clock()
    with receiving(500, 503) as receiver:
        sandbox, path, message = with_callback(receiver.url, callback={"retriesEnabled": True}, clock=clock)
        replied(sandbox, message)
        assert delivered(sandbox) == {"success": 0, "failed": 1, "waiting": 1}

        clock.pass_s(1.9)
        assert delivered(sandbox) == {"success": 0, "failed": 0, "waiting": 1}

        clock.pass_s(0.1)
        assert delivered(sandbox) == {"success": 0, "failed": 1, "waiting": 1}

        sandbox.post("/_sandbox/clock", {"advance_s": 2})
        assert delivered(sandbox) == {"success": 1, "failed": 0, "waiting": 0}

    assert len({one.body for one in receiver.calls}) == 1
    assert [(one["status"], one["callback"]["statusCode"]) for one in calls(sandbox, path)] == [
        ("SUCCESS", 200)
    ]


def test_retries_end_after_a_day() -> None:
    """Public sources: up to 24 hours; the call stays FAILED and can be looked at."""
    clock = Clock()
    with receiving(*[500] * 10) as receiver:
        sandbox, path, message = with_callback(
            receiver.url, callback={"retriesEnabled": True}, clock=clock, callback_retry_s=day / 2
        )
        replied(sandbox, message)
        for _ in range(5):
            delivered(sandbox)
            clock.pass_s(day / 2)

        assert len(receiver.calls) == 3  # at once, after half a day, after a day
    assert [one["status"] for one in calls(sandbox, path)] == ["FAILED"]


def test_what_was_dealt_with_is_not_tried_again() -> None:
    """By PUT of the call, or with the callback itself."""
    clock = Clock()
    with receiving(500, 500) as receiver:
        sandbox, path, message = with_callback(receiver.url, callback={"retriesEnabled": True}, clock=clock)
        replied(sandbox, message, "One")
        replied(sandbox, message, "Two")
        assert delivered(sandbox) == {"success": 0, "failed": 2, "waiting": 2}

        sandbox.put(f"{path}/calls?id={calls(sandbox, path)[0]['id']}", {"status": "SUCCESS"})
        clock.pass_s(2)
        assert delivered(sandbox) == {"success": 1, "failed": 0, "waiting": 0}

        replied(sandbox, message, "Three")
        sandbox.delete(path)
        assert delivered(sandbox) == {"success": 0, "failed": 0, "waiting": 0}
    assert [one["responseMessage"]["content"] for one in payloads(receiver)] == ["One", "Two", "Two"]


@contextmanager
def speaking(words: bytes) -> Iterator[str]:
    """Something on a port that says this to whoever connects, and then nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(patience_s)

        def speak() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):  # who has heard enough may hang up
                connection.settimeout(patience_s)
                connection.sendall(words)
                while connection.recv(65_536):
                    pass

        thread = threading.Thread(target=speak)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/in"
        thread.join()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (b"", "no answer in 0.2 s"),
        (b"HTTP/1.1 200", "no answer in 0.2 s"),
        (b"220 mail.example.com ESMTP\r\n\r\n", "no answer that is HTTP"),
        (b"HTTP/1.1 OK\r\n\r\n", "no answer that is HTTP"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "no answer that is HTTP"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 9, "no answer that is HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, "no answer that is HTTP"),
    ],
)
def test_whatever_does_not_answer_in_time_and_in_http_is_a_failure(words: bytes, reason: str) -> None:
    """Public sources: no answer in 60 s fails; here the time is shortened. Nothing else may hang or fail."""
    answer_s = 0.2 if "0.2 s" in reason else patience_s
    with speaking(words) as url:
        sandbox, path, message = with_callback(url, callback_answer_s=answer_s)
        replied(sandbox, message)
        assert delivered(sandbox)["failed"] == 1

    (call,) = calls(sandbox, path)
    assert (call["callback"]["statusCode"], call["callback"]["statusMessage"]) == (0, reason)


def test_interim_answers_are_passed_over() -> None:
    """A 1xx precedes the answer; it is none."""
    with speaking(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n") as url:
        sandbox, _, message = with_callback(url)
        replied(sandbox, message)

        assert delivered(sandbox)["success"] == 1


@pytest.mark.parametrize(
    "url", ["http://ops.example.com/in", "http://192.0.2.1/in", "http://127.0.0.1.example.com/in"]
)
def test_calls_do_not_leave_the_machine(url: str) -> None:
    """A sandbox for tests must not call strangers; not even their names are looked up."""
    sandbox, path, message = with_callback(url)
    replied(sandbox, message)

    assert delivered(sandbox)["failed"] == 1
    assert "its own machine" in calls(sandbox, path)[0]["callback"]["statusMessage"]


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextmanager
def port() -> Iterator[tuple[socket.socket, str]]:
    """A socket for `asyncio.start_server`, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening, f"http://127.0.0.1:{listening.getsockname()[1]}/in"


async def deliver(sandbox: Sandbox, *servers: tuple[socket.socket, Serve]) -> callback_calls.DeliveryCounts:
    """Make the calls that are due, to receivers in the same event loop."""
    async with AsyncExitStack() as held:
        for listening, serve in servers:
            await held.enter_async_context(await asyncio.start_server(serve, sock=listening))
        return await callback_calls.deliver_due_calls(sandbox.app.state.sandbox)


def test_a_hanging_receiver_does_not_hold_up_the_others() -> None:
    """To different callbacks side by side: here neither answers before both are called."""

    async def story() -> callback_calls.DeliveryCounts:
        both = asyncio.Barrier(2)

        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"Yes")
            await both.wait()
            await say(writer, b"HTTP/1.1 200 OK\r\n\r\n")

        return await deliver(sandbox, (one, hang), (other, hang))

    with port() as (one, hanging), port() as (other, url):
        sandbox, _, message = with_callback(hanging, callback_answer_s=patience_s)
        sandbox.created("/callbacks", callback_body(url, name="other"))
        replied(sandbox, message)
        replied(sandbox, sent(sandbox, callbackId="other"))

        assert asyncio.run(story()) == callback_calls.DeliveryCounts(success=2)


async def say(writer: asyncio.StreamWriter, words: bytes) -> None:
    """Say this, and hang up."""
    writer.write(words)
    await writer.drain()
    writer.close()


def test_due_calls_can_be_delivered_within_a_running_loop() -> None:
    """For a test whose receiver lives in the same event loop; two at once make each call once."""

    async def both() -> list[callback_calls.DeliveryCounts]:
        state = sandbox.app.state.sandbox
        return list(
            await asyncio.gather(
                callback_calls.deliver_due_calls(state), callback_calls.deliver_due_calls(state)
            )
        )

    with receiving() as receiver:
        sandbox, _, message = with_callback(receiver.url)
        replied(sandbox, message)

        assert asyncio.run(both()) == [
            callback_calls.DeliveryCounts(success=1),
            callback_calls.DeliveryCounts(),
        ]
    assert len(receiver.calls) == 1


def test_deliver_answers_when_the_calls_under_way_have_ended() -> None:
    """Whoever asks for it reads the outcome next; a call that the sandbox made by itself counts too."""

    async def asked_meanwhile() -> list[str]:
        state = sandbox.app.state.sandbox
        by_itself = asyncio.create_task(callback_calls.deliver_due_calls(state))
        await asyncio.sleep(0)  # now its call is under way
        assert state.mail.busy
        await control_requests.deliver_calls(state)
        seen = [one.status for one in state.mail.calls.values()]
        await by_itself
        return seen

    with receiving() as receiver:
        sandbox, _, message = with_callback(receiver.url)
        replied(sandbox, message)

        assert asyncio.run(asked_meanwhile()) == ["SUCCESS"]


def test_a_running_sandbox_calls_by_itself_and_comes_again() -> None:
    """Behind a port nobody has to ask for it: the reply arrives, fails once, and arrives again."""
    with receiving(500) as receiver:
        config = SandboxConfig(callback_check=False, callback_retry_s=0.05)
        with running_sandbox(config) as base, httpx2.Client(base_url=base) as client:
            body = callback_body(receiver.url, retriesEnabled=True)
            client.post("/callbacks", json=body, headers=usual_headers("/callbacks"))
            body = message_body(callbackId="approvals")
            location = client.post("/messages", json=body, headers=usual_headers("/messages")).headers[
                "location"
            ]
            path = f"/_sandbox/messages/{last_segment(location)}/reply"
            client.post(path, json={"content": "Yes"}, headers=usual_headers(path))
            until(lambda: len(receiver.calls) >= 2, "the second call")

    assert [one["responseMessage"]["content"] for one in payloads(receiver)] == ["Yes", "Yes"]


def test_the_clock_goes_on_when_it_is_told_to() -> None:
    """So that days of retries and windows can be shown in a moment."""
    sandbox = Sandbox()

    answer = sandbox.post("/_sandbox/clock", {"advance_s": day})

    shown = datetime.fromisoformat(answer.json()["now"])
    assert day - 60 < (shown - datetime.now(UTC)).total_seconds() <= day


year = 366 * 86_400


@pytest.mark.parametrize(
    "body", [{}, {"advance_s": "60"}, {"advance_s": -1}, {"advance_s": True}, {"advance_s": 1e12}]
)
def test_the_clock_is_not_moved_by_a_slip(body: dict[str, Any]) -> None:
    """Only forward, and by a number of seconds."""
    clock = Clock()
    before = clock.now

    answer = Sandbox(clock=clock).post("/_sandbox/clock", body)

    assert answer.status_code == 422
    assert answer.json()["errorText"] in (
        "advance_s must be a number of seconds",
        f"advance_s must be 0 to {year}",
    )
    assert clock.now == before


def test_a_clock_that_cannot_be_moved_says_so() -> None:
    """A test that brought its own clock moves it itself."""
    sandbox = Sandbox(clock=lambda: datetime(2026, 8, 14, tzinfo=UTC))

    answer = sandbox.post("/_sandbox/clock", {"advance_s": 1})

    assert (answer.status_code, "cannot be moved" in answer.json()["errorText"]) == (422, True)


@pytest.mark.parametrize("path", ["clock", "messages/run", "callbacks/deliver"])
def test_control_addresses_are_posted_to(path: str) -> None:
    """A GET that changes something would surprise."""
    assert Sandbox().get(f"/_sandbox/{path}").status_code == 405


def test_a_callback_that_goes_while_it_is_called_is_called_no_more() -> None:
    """The call in flight ends unnoted; the one behind it is not made, and nothing of both comes back."""
    bodies: list[bytes] = []

    async def drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        bodies.append(await reader.readuntil(b"}}"))
        (callback,) = state.mail.callbacks.values()
        state.drop_callback(callback)
        await say(writer, b"HTTP/1.1 500 Oops\r\n\r\n")

    with port() as (listening, url):
        sandbox, _, message = with_callback(url)
        state = sandbox.app.state.sandbox
        replied(sandbox, message, "One")
        replied(sandbox, message, "Two")

        assert asyncio.run(deliver(sandbox, (listening, drop))) == callback_calls.DeliveryCounts(failed=1)
    assert len(bodies) == 1
    assert (state.mail.calls, state.mail.waiting, state.mail.busy) == ({}, {}, set())


def test_an_address_that_should_be_encrypted_and_is_not_is_a_failure() -> None:
    """What is to be encrypted stays so: there is no second attempt without it."""
    with receiving() as receiver:
        sandbox, path, message = with_callback(receiver.url.replace("http:", "https:"))
        replied(sandbox, message)
        assert delivered(sandbox)["failed"] == 1

    assert receiver.arrived == []
    assert "no connection" in calls(sandbox, path)[0]["callback"]["statusMessage"]


def test_an_address_that_takes_no_connection_in_time_is_a_failure() -> None:
    """Public sources: 5 s to connect; here it is shortened. Its queue of connections is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening, ExitStack() as held:
        for _ in range(4):
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/in"
        sandbox, path, message = with_callback(url, callback_connect_s=0.2)
        replied(sandbox, message)
        assert delivered(sandbox)["failed"] == 1

    assert calls(sandbox, path)[0]["callback"]["statusMessage"].startswith("no connection")
