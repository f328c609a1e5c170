"""Callbacks as they are configured, and the list of calls. Source: specification 6; docs/service.md."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sandbox.asking import Clock, Sandbox, last_segment, named, origin, vendor_type
from sandbox.receiving import callback_body, delivered, failed, receiving, replied, sent

from reconciler.sandbox.callbacks import CALLBACK_FIELDS
from reconciler.sandbox.openapi import SCHEMAS

nothing_there = {"status": "No records found", "link": []}
xml_type = vendor_type("api-callback").replace("json", "xml")


def unasked(**options: Any) -> Sandbox:
    """A sandbox that takes addresses without asking them."""
    return Sandbox(callback_check=False, **options)


def test_a_create_answers_201_with_the_whole_callback() -> None:
    """Public sources: company level, 201, Location, the body with its links."""
    sandbox = unasked()

    answer = sandbox.post("/callbacks", callback_body(email="ops@example.com", retriesEnabled="true"))

    uri = answer.headers["location"]
    types = f"{xml_type},{vendor_type('api-callback')}"
    history = types.replace("api-callback", "api-call")
    expected = {
        "id": last_segment(uri),
        "name": "approvals",
        "url": "http://127.0.0.1:9/in",
        "auth": {"type": "httpheader", "key": "k3y"},
        "contentType": "json",
        "removeHTML": "disabled",
        "retriesEnabled": True,
        "email": "ops@example.com",
        "callbacks": {"reply": "enabled", "undeliverable": "enabled"},
        "link": [
            {"uri": uri, "rel": "self", "method": "GET"},
            {"uri": uri, "rel": "updateCallback", "method": "PUT", "type": types},
            {"uri": uri, "rel": "deleteCallback", "method": "DELETE"},
            {"uri": f"{uri}/calls", "rel": "retrieveCallbackHistory", "method": "GET"},
            {"uri": f"{uri}/calls", "rel": "updateCallbackHistory", "method": "PUT", "type": history},
        ],
    }
    assert (answer.status_code, answer.json()) == (201, expected)
    assert answer.headers["content-type"] == vendor_type("api-callback")
    assert sandbox.get(uri.removeprefix(origin)).json() == expected
    assert sandbox.get("/callbacks").json() == {
        "callbacks": [expected],
        "status": "1 to 1 of 1    ",
        "link": [],
    }


def test_a_callback_without_auth_and_options_has_the_defaults() -> None:
    """Assumed: both events on, JSON, no retries, no key."""
    sandbox = unasked()

    document = sandbox.post("/callbacks", {"name": "n", "url": "https://ops.example.com/in"}).json()

    assert "auth" not in document
    assert (document["contentType"], document["retriesEnabled"], document["email"]) == ("json", False, "")


SAMPLE = {
    "name": "Ops replies",
    "url": "https://hooks.example.com/replies",
    "auth": {"type": "querystring", "key": "sample-key"},
    "contentType": "json",
    "removeHTML": "enabled",
    "retriesEnabled": "true",
    "email": "me@example.com",
    "callbacks": {"reply": "enabled", "undeliverable": "enabled"},
}
SAMPLE_XML = b"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<ns2:companyapicallback xmlns:ns2="http://schemas.api.whispir.com"
                    xmlns:ns3="http://schemas.api.whispir.com/dap">
    <name>Ops replies</name>
    <url>https://hooks.example.com/replies</url>
    <auth>
      <key>sample-key</key>
      <type>querystring</type>
    </auth>
    <contentType>json</contentType>
    <removeHTML>enabled</removeHTML>
    <retriesEnabled>true</retriesEnabled>
    <email>me@example.com</email>
    <callbacks>
      <reply>enabled</reply>
      <undeliverable>enabled</undeliverable>
    </callbacks>
</ns2:companyapicallback>
"""
AUTH_XML = SAMPLE_XML[SAMPLE_XML.index(b"<auth>") : SAMPLE_XML.index(b"<contentType>")]


def samples(*, auth: bool) -> dict[str, tuple[str, bytes]]:
    """The public sample by the form it is written in: its media type, and the body."""
    fields = {name: value for name, value in SAMPLE.items() if auth or name != "auth"}
    return {
        "json": (vendor_type("api-callback"), json.dumps(fields).encode()),
        "xml": (xml_type, SAMPLE_XML if auth else SAMPLE_XML.replace(AUTH_XML, b"")),
    }


@pytest.mark.parametrize("auth", [True, False], ids=["with a key", "without a key"])
@pytest.mark.parametrize("form", ["json", "xml"])
def test_the_public_sample_is_taken_by_post_and_by_put(form: str, *, auth: bool) -> None:
    """One body, both methods, both forms: the same callback each time, in every answer."""
    sandbox = unasked(strict=auth)  # the sample has all that is documented
    content_type, content = samples(auth=auth)[form]
    types = {"content-type": content_type}
    expected: dict[str, object] = {**SAMPLE, "retriesEnabled": True}
    if not auth:
        del expected["auth"]

    made = sandbox.post("/callbacks", content=content, headers=types)
    path = made.headers["location"].removeprefix(origin)
    first = sandbox.get(path).json()
    sandbox.put(path, {**SAMPLE, "name": "other", "removeHTML": "disabled", "callbacks": SILENT})
    other = sandbox.get(path).json()
    put = sandbox.put(path, content=content, headers=types)

    assert (made.status_code, put.status_code, put.content) == (201, 204, b"")
    assert {name: value for name, value in first.items() if name not in ("id", "link")} == expected
    assert sandbox.get(path).json() == first != other
    assert made.json() == first
    assert sandbox.get("/callbacks").json()["callbacks"] == [first]
    for address in (path, "/callbacks"):
        assert "<removeHTML>enabled</removeHTML>" in sandbox.get(address, headers={"accept": xml_type}).text


SILENT = {"reply": "disabled", "undeliverable": "disabled"}


@pytest.mark.parametrize("field", sorted(SAMPLE))
@pytest.mark.parametrize("form", ["json", "xml"])
def test_each_documented_field_is_required_where_the_sandbox_is_strict(form: str, field: str) -> None:
    """A vendor's description requires all eight, by POST and by PUT; without `strict` two are enough."""
    content_type, content = samples(auth=True)[form]
    start, end = f"<{field}>".encode(), f"</{field}>".encode()
    if form == "json":
        without = json.dumps({name: value for name, value in SAMPLE.items() if name != field}).encode()
    else:
        without = content[: content.index(start)] + content[content.index(end) + len(end) :]
    types = {"content-type": content_type}
    answers = []
    for strict in (True, False):
        sandbox = unasked(strict=strict)
        path = sandbox.created("/callbacks", {**SAMPLE, "name": "there already"})
        before = sandbox.get("/callbacks").json()
        asked = sandbox.post("/callbacks", content=without, headers=types)
        answers += [asked, sandbox.put(path, content=without, headers=types)]
        assert not strict or sandbox.get("/callbacks").json() == before

    refused = (422, f"{field}: required and missing")
    assert [(one.status_code, one.json()["errorText"]) for one in answers[:2]] == [refused] * 2
    # By PUT the name stays free: the create before it was refused, or has taken it.
    lenient = [422, 422] if field in ("name", "url") else [201, 400]
    assert [one.status_code for one in answers[2:]] == lenient


@pytest.mark.parametrize("form", ["json", "xml"])
def test_a_callback_is_taken_under_the_media_type_of_the_vendors_description(form: str) -> None:
    """It names api-callback for all requests but one, and callback for the body of a PUT."""
    sandbox = unasked()
    path = sandbox.created("/callbacks", callback_body())
    content_type, content = samples(auth=True)[form]
    content_type = content_type.replace("api-callback", "callback")

    put = sandbox.put(path, content=content, headers={"content-type": content_type})
    shown = sandbox.get(path, headers={"accept": content_type})

    assert put.status_code == 204
    assert (shown.status_code, shown.headers["content-type"]) == (200, content_type)
    assert "Ops replies" in shown.text


def test_the_description_has_what_a_callback_takes_and_shows() -> None:
    """A client made from it sends what the sandbox reads, and reads what it answers."""
    described: Any = SCHEMAS
    schemas = described["NewCallback"]["properties"], described["Callback"]["properties"]

    for properties in schemas:
        assert set(CALLBACK_FIELDS) <= set(properties)
        assert properties["removeHTML"] == {"type": "string", "enum": ["enabled", "disabled"]}


@pytest.mark.parametrize("key", ["two words", "k\u00fc", "\u043a\u043b\u044e\u0447"])
def test_a_key_of_other_printable_characters_is_shown_as_the_description_says(key: str) -> None:
    """They are taken, so that the description must not exclude them from answers."""
    sandbox = unasked()
    path = sandbox.created("/callbacks", callback_body(auth={"type": "httpheader", "key": key}))

    shown = sandbox.get(path).json()["auth"]

    assert shown == {"type": "httpheader", "key": key}
    Draft202012Validator(SCHEMAS["CallbackAuth"]).validate(shown)


def test_callbacks_belong_to_the_company() -> None:
    """Public sources: no workspace in their addresses."""
    sandbox = unasked(workspaces=(("Night Shift", named),))
    path = sandbox.created("/callbacks", callback_body())

    for address in ("/callbacks", path, f"{path}/calls"):
        assert sandbox.get(f"/workspaces/{named}{address}").status_code == 404
    assert sandbox.post(f"/workspaces/{named}/callbacks", callback_body(name="other")).status_code == 404


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", None),
        ("name", ""),
        ("name", 5),
        ("name", "n" * 51),
        ("url", None),
        ("url", "/in"),
        ("url", "ftp://127.0.0.1/in"),
        ("url", "http://"),
        ("url", "http://127.0.0.1:99999/in"),
        ("url", "http://[::1/in"),
        ("url", "http://127.0.0.1/in\r\nX-Other: 1"),
        ("url", "http://127.0.0.1/a b"),
        ("auth", "k3y"),
        ("auth", {"type": "signature", "key": "k3y"}),
        ("auth", {"type": ["httpheader"], "key": "k3y"}),
        ("auth", {"type": "httpheader"}),
        ("auth", {"type": "httpheader", "key": "k" * 129}),
        ("auth", {"type": "httpheader", "key": "k\r\nX-Other: 1"}),
        ("contentType", "text"),
        ("removeHTML", True),
        ("retriesEnabled", "sometimes"),
        ("email", "e" * 65),
        ("callbacks", ["reply"]),
        ("reply", "on"),
        ("undeliverable", "off"),
    ],
)
def test_a_wrong_field_is_refused_by_name(name: str, value: object) -> None:
    """Public sources for lengths and words. Neither a create nor an update takes it."""
    sandbox = unasked()
    path = sandbox.created("/callbacks", callback_body(name="first"))
    before = sandbox.get("/callbacks").json()
    wrong = {"callbacks": {name: value}} if name in ("reply", "undeliverable") else {name: value}

    answers = [sandbox.post("/callbacks", callback_body(**wrong)), sandbox.put(path, callback_body(**wrong))]

    assert [one.status_code for one in answers] == [422, 422]
    assert all(name in one.json()["errorText"] for one in answers)
    assert sandbox.get("/callbacks").json() == before


@pytest.mark.parametrize("kind", ["httpheader", "querystring", "queryparam"])
def test_the_key_is_shown_by_header_or_by_query(kind: str) -> None:
    """The second way has two names in the sources; both are taken, and shown as they were written."""
    sandbox = unasked()

    path = sandbox.created("/callbacks", callback_body(auth={"type": kind, "key": "k" * 128}))

    assert sandbox.get(path).json()["auth"] == {"type": kind, "key": "k" * 128}


def test_names_are_unique() -> None:
    """Messages mean a callback by its name; documented as 400. Its own name an update may keep."""
    sandbox = unasked()
    path = sandbox.created("/callbacks", callback_body())
    other = sandbox.created("/callbacks", callback_body(name="other"))

    refused = [sandbox.post("/callbacks", callback_body()), sandbox.put(other, callback_body())]

    assert [(one.status_code, "name" in one.json()["errorText"]) for one in refused] == [(400, True)] * 2
    assert sandbox.put(path, callback_body()).status_code == 204
    assert [one["name"] for one in sandbox.get("/callbacks").json()["callbacks"]] == ["approvals", "other"]


def test_an_update_replaces_the_whole_callback() -> None:
    """Public sources: PUT, 204. What is absent has its default again."""
    sandbox = unasked()
    path = sandbox.created("/callbacks", callback_body(email="ops@example.com", contentType="xml"))

    answer = sandbox.put(path, {"name": "renamed", "url": "http://127.0.0.1:9/other"})

    document = sandbox.get(path).json()
    assert (answer.status_code, answer.content) == (204, b"")
    assert (document["name"], document["email"], document["contentType"]) == ("renamed", "", "json")
    assert "auth" not in document


def test_a_callback_can_be_deleted() -> None:
    """Public sources: 204; then it is not there."""
    sandbox = unasked()
    path = sandbox.created("/callbacks", callback_body())

    assert sandbox.delete(path).status_code == 204

    assert [sandbox.get(one).status_code for one in (path, f"{path}/calls")] == [404, 404]
    assert [sandbox.put(path, callback_body()).status_code, sandbox.delete(path).status_code] == [404, 404]
    assert sandbox.get("/callbacks").json() == nothing_there


def test_methods_that_callbacks_do_not_have_are_refused() -> None:
    """Specification 7: METHOD not supported."""
    sandbox = unasked()
    path = sandbox.created("/callbacks", callback_body())

    answers = [
        sandbox.put("/callbacks", {}),
        sandbox.delete("/callbacks"),
        sandbox.post(path, {}),
        sandbox.post(f"{path}/calls", {}),
        sandbox.delete(f"{path}/calls"),
    ]

    assert {(one.status_code, one.json()["errorText"]) for one in answers} == {(405, "METHOD not supported")}


def test_a_list_of_callbacks_has_pages() -> None:
    """Specification 8."""
    sandbox = unasked()
    for number in range(21):
        sandbox.created("/callbacks", callback_body(name=f"number {number}"))

    page = sandbox.get("/callbacks?offset=20").json()

    assert [one["name"] for one in page["callbacks"]] == ["number 20"]
    assert page["status"] == "21 to 21 of 21    "


def test_a_new_address_is_asked_and_has_to_answer_200() -> None:
    """Public sources: a GET; anything but 200 is 400. The key is not shown with it (assumed)."""
    sandbox = Sandbox()
    with receiving(200, 204, 404, 302) as receiver:
        made = sandbox.post("/callbacks", callback_body(f"{receiver.url}?a=b"))
        refused = [sandbox.post("/callbacks", callback_body(receiver.url, name=f"{at}")) for at in range(3)]

        assert made.status_code == 201
        assert [one.status_code for one in refused] == [400] * 3
        assert [(one.method, one.target) for one in receiver.arrived[:2]] == [
            ("GET", "/in?a=b"),
            ("GET", "/in"),
        ]
        assert all(one.headers["x-service-callback-key"] is None for one in receiver.arrived)
    assert len(sandbox.get("/callbacks").json()["callbacks"]) == 1


def test_an_address_that_nobody_answers_is_refused() -> None:
    """Nothing listens there any more; and another machine is not even asked."""
    sandbox = Sandbox()
    with receiving() as receiver:
        gone = receiver.url

    answers = [sandbox.post("/callbacks", callback_body(url)) for url in (gone, "http://ops.example.com/in")]

    assert [one.status_code for one in answers] == [400, 400]
    assert "no connection" in answers[0].json()["errorText"]
    assert "its own machine" in answers[1].json()["errorText"]
    assert sandbox.get("/callbacks").json() == nothing_there


def with_calls(sandbox: Sandbox, url: str) -> tuple[str, str, list[dict[str, Any]]]:
    """A callback that was called twice, its message, and its calls."""
    path = sandbox.created("/callbacks", callback_body(url))
    message = sent(sandbox, "+61491570156", "+447700900001", callbackId="approvals")
    replied(sandbox, message)
    failed(sandbox, message, to="+447700900001", reason="Number disconnected")
    delivered(sandbox)
    calls: list[dict[str, Any]] = sandbox.get(f"{path}/calls").json()["calls"]
    return path, message, calls


def test_calls_are_listed_with_their_last_attempt() -> None:
    """Public sources: id, message, status, who and what, and how the attempt at the callback ended."""
    sandbox = Sandbox(clock=Clock())
    with receiving(200, 500, 200) as receiver:  # the first one answers the question to the new address
        path, message, calls = with_calls(sandbox, receiver.url)

    call_id = calls[0]["id"]
    uri = f"{origin}{path}/calls?id={call_id}"
    types = f"{vendor_type('api-call').replace('json', 'xml')},{vendor_type('api-call')}"
    assert calls[0] == {
        "id": call_id,
        "messageId": message,
        "messageLocation": f"{origin}/messages/{message}",
        "status": "FAILED",
        "from": {
            "name": "+61491570156",
            "mri": "",
            "mobile": "+61491570156",
            "email": "",
            "voice": "",
        },
        "responseMessage": {"channel": "SMS", "acknowledged": "14/08/26 01:20", "content": "Yes"},
        "callback": {
            "id": last_segment(path),
            "name": "approvals",
            "url": receiver.url,
            "attemptedDate": "14/08/26 01:20",
            "statusCode": 500,
            "statusMessage": "Internal Server Error",
        },
        "link": [
            {"uri": uri, "rel": "self", "method": "GET"},
            {"uri": uri, "rel": "updateCall", "method": "PUT", "type": types},
        ],
    }
    assert (calls[1]["status"], calls[1]["callback"]["statusCode"]) == ("SUCCESS", 200)
    assert calls[1]["responseMessage"]["acknowledged"] == "14/08/26 01:20"


def test_calls_can_be_asked_for_by_status() -> None:
    """Public sources: `status=`. Another word is refused (assumed)."""
    sandbox = Sandbox()
    with receiving(200, 500, 200) as receiver:
        path, _, calls = with_calls(sandbox, receiver.url)

    for status, call in (("FAILED", calls[0]), ("SUCCESS", calls[1])):
        assert sandbox.get(f"{path}/calls?status={status}").json()["calls"] == [call]
    assert sandbox.get(f"{path}/calls?status=LOST").status_code == 400


def test_calls_can_be_declared_dealt_with() -> None:
    """Public sources: PUT with repeated ids, 204."""
    sandbox = Sandbox()
    with receiving(200, 500, 500) as receiver:
        path, _, calls = with_calls(sandbox, receiver.url)
    ids = "&".join(f"id={call['id']}" for call in calls)

    answer = sandbox.put(f"{path}/calls?{ids}", {"status": "SUCCESS"})

    assert (answer.status_code, answer.content) == (204, b"")
    assert [one["status"] for one in sandbox.get(f"{path}/calls").json()["calls"]] == ["SUCCESS", "SUCCESS"]


@pytest.mark.parametrize(
    ("query", "body", "status"),
    [
        ("", {"status": "SUCCESS"}, 400),
        ("id={call}", {"status": "DONE"}, 422),
        ("id={call}", {}, 422),
        ("id={call}&id=0123", {"status": "SUCCESS"}, 404),
    ],
)
def test_a_wrong_declaration_changes_no_call(query: str, body: dict[str, str], status: int) -> None:
    """Assumed; all of them or none."""
    sandbox = Sandbox()
    with receiving(200, 500, 500) as receiver:
        path, _, calls = with_calls(sandbox, receiver.url)

    answer = sandbox.put(f"{path}/calls?{query.format(call=calls[0]['id'])}", body)

    assert answer.status_code == status
    assert sandbox.get(f"{path}/calls").json()["calls"] == calls


def test_a_callback_is_made_and_read_in_xml() -> None:
    """Public sources: the root is companyapicallback; what was shown can be sent back."""
    sandbox = unasked()
    types = {"accept": xml_type, "content-type": xml_type}
    path = sandbox.created("/callbacks", callback_body(retriesEnabled=True))
    before = sandbox.get(path).json()

    shown = sandbox.get(path, headers=types)
    again = sandbox.put(path, headers=types, content=shown.content)
    listed = sandbox.get("/callbacks", headers=types)

    assert ":companyapicallback" in shown.text
    assert "<callbacks><reply>enabled</reply><undeliverable>enabled</undeliverable></callbacks>" in shown.text
    assert (again.status_code, sandbox.get(path).json()) == (204, before)
    assert ":return" in listed.text
    assert ":callback>" in listed.text


def test_callbacks_and_calls_survive_a_restart(tmp_path: Path) -> None:
    """Also the call that is still to be made; a deleted callback takes its calls with it."""
    options: dict[str, Any] = {"data": tmp_path / "sandbox.db", "clock": Clock()}
    sandbox = Sandbox(**options)
    with receiving() as receiver:
        path, message, _ = with_calls(sandbox, receiver.url)
        gone = sandbox.created("/callbacks", callback_body(receiver.url, name="gone"))
        replied(sandbox, sent(sandbox, callbackId="gone"))
        sandbox.delete(gone)
        replied(sandbox, message, "Again")
        before = [sandbox.get(one).json() for one in (path, f"{path}/calls")]
        sandbox.app.state.sandbox.close()

        again = Sandbox(**options)

        assert [again.get(one).json() for one in (path, f"{path}/calls")] == before
        assert delivered(again) == {"success": 1, "failed": 0, "waiting": 0}
        assert b"Again" in receiver.calls[-1].body
