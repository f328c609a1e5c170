"""Who may call. Source: specification 5, docs/service.md on credentials."""

import asyncio
import base64
from collections.abc import MutableMapping
from typing import Any

import pytest
from sandbox.asking import Sandbox


def basic(text: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


@pytest.mark.spec("5/authorization")
@pytest.mark.parametrize(
    "headers",
    [
        basic("demo:wrong"),
        basic("nobody:demo"),
        basic("demo:demo:"),
        basic("demo"),
        {"authorization": ""},
        {"authorization": "Basic"},
        {"authorization": "Basic ???"},
        {"authorization": "Bearer ZGVtbzpkZW1v"},
    ],
)
def test_a_wrong_user_is_401_with_an_empty_detail_and_no_links(headers: dict[str, str]) -> None:
    """Known error body: errorSummary, errorText, errorDetail "" and no link. Nothing is done."""
    sandbox = Sandbox()

    answer = sandbox.post("/contacts", {"firstName": "Jane"}, headers=headers)

    assert answer.status_code == 401
    assert list(answer.json()) == ["errorSummary", "errorText", "errorDetail"]
    assert answer.json()["errorDetail"] == ""
    assert answer.headers["www-authenticate"].startswith("Basic")
    assert sandbox.get("/contacts").json()["status"] == "No records found"


@pytest.mark.spec("5/x-api-key")
@pytest.mark.parametrize("key", ["", "wrong", "demo-ke", "demo-key2", "dëmo"])
def test_a_bad_or_missing_key_is_forbidden(key: str) -> None:
    """Known gateway body. Nothing is done."""
    sandbox = Sandbox()

    answer = sandbox.post("/contacts", {"firstName": "Jane"}, headers={"x-api-key": key})

    assert answer.status_code == 403
    assert answer.json() == {"message": "Forbidden"}
    assert answer.headers["content-type"] == "application/json"
    assert sandbox.get("/contacts").json()["status"] == "No records found"


def test_the_gateway_asks_for_the_key_before_the_service_asks_for_the_user() -> None:
    """Both wrong: 403. The order is assumed from where each body comes from."""
    answer = Sandbox().get("/contacts", headers={"x-api-key": "wrong", **basic("x:y")})

    assert answer.status_code == 403


@pytest.mark.spec("5/apikey")
def test_the_key_may_be_a_query_parameter() -> None:
    """Specification 5 names header and query; alternatives here."""
    assert Sandbox().get("/contacts?apikey=demo-key", headers={"x-api-key": ""}).status_code == 200
    assert Sandbox().get("/contacts?apikey=wrong", headers={"x-api-key": ""}).status_code == 403


@pytest.mark.spec("5/gap")
def test_the_header_counts_before_the_query() -> None:
    """Suggested: prefer the header."""
    assert Sandbox().get("/contacts?apikey=demo-key", headers={"x-api-key": "wrong"}).status_code == 403
    assert Sandbox().get("/contacts?apikey=wrong").status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/workspaces", "/contacts", "/resources", "/nowhere", "/contacts/1/devices/2"]
)
def test_every_address_wants_both(path: str) -> None:
    """Nobody learns without credentials which addresses exist."""
    sandbox = Sandbox()

    assert sandbox.get(path, headers={"x-api-key": ""}).status_code == 403
    assert sandbox.get(path, headers={"authorization": ""}).status_code == 401


@pytest.mark.spec("5/case-requests")
def test_header_names_may_be_written_in_any_case() -> None:
    """Specification 5: headers are case-insensitive."""
    usual = {"authorization": "", "x-api-key": "", "accept": ""}
    odd = {"AUTHORIZATION": basic("demo:demo")["authorization"], "X-Api-Key": "demo-key", "ACCEPT": "*/*"}

    assert Sandbox().get("/contacts", headers={**usual, **odd}).status_code == 200
    assert answered(Sandbox(), odd) == 200


def answered(sandbox: Sandbox, headers: dict[str, str]) -> int:
    """The status of a request whose header names arrive as they are here; the client here lowers them."""
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": "/contacts", "query_string": b"", "headers": raw}
    statuses = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        statuses.append(message.get("status"))

    asyncio.run(sandbox.app(scope, receive, send))
    return int(statuses[0] or 0)


def test_the_scheme_may_be_written_in_any_case() -> None:
    """As HTTP has it."""
    encoded = basic("demo:demo")["authorization"].removeprefix("Basic ")

    assert Sandbox().get("/contacts", headers={"authorization": f"bAsIc {encoded}"}).status_code == 200


def test_credentials_are_chosen_by_the_configuration() -> None:
    """Also such that are no ASCII, compared as the bytes of UTF-8."""
    sandbox = Sandbox(username="zoë", password="pass:wörd", api_key="k-2")

    assert sandbox.get("/contacts", headers={**basic("zoë:pass:wörd"), "x-api-key": "k-2"}).status_code == 200
    assert sandbox.get("/contacts", headers={**basic("demo:demo"), "x-api-key": "k-2"}).status_code == 401
    assert sandbox.get("/contacts", headers=basic("zoë:pass:wörd")).status_code == 403
