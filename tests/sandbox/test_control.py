"""The sandbox's own addresses below /_sandbox/: for tests and demonstrations, not part of the service."""

from typing import Any

import pytest
from sandbox.asking import JANE, PIXEL, Sandbox, last_segment, resource_body

no_credentials = {"authorization": "", "x-api-key": ""}


def served(sandbox: Sandbox) -> Any:
    """What the sandbox remembers of its requests."""
    return sandbox.get("/_sandbox/requests").json()


def test_requests_are_remembered_in_their_order() -> None:
    """So that a test can prove that a plan sent nothing but GET."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)
    sandbox.get(f"{path}?customFields=true")
    sandbox.get("/nowhere")

    assert served(sandbox) == {
        "total": 3,
        "under_way": 0,
        "requests": [
            {"method": "POST", "path": "/contacts", "query": {}, "status": 201},
            {"method": "GET", "path": path, "query": {"customFields": "true"}, "status": 200},
            {"method": "GET", "path": "/nowhere", "query": {}, "status": 404},
        ],
    }


def test_requests_that_were_turned_away_are_remembered_too() -> None:
    """They cost a call; the key is not shown."""
    sandbox = Sandbox()
    sandbox.get("/contacts?apikey=some-secret&limit=1", headers={"x-api-key": ""})

    assert served(sandbox)["requests"] == [
        {"method": "GET", "path": "/contacts", "query": {"limit": "1"}, "status": 403}
    ]


def test_the_memory_can_be_emptied() -> None:
    """Counting starts where the test wants it; control requests never count."""
    sandbox = Sandbox()
    sandbox.get("/contacts")

    assert sandbox.delete("/_sandbox/requests").status_code == 204

    assert served(sandbox) == {"total": 0, "under_way": 0, "requests": []}


def test_control_needs_the_credentials() -> None:
    """Another user of this machine, or a page in a browser, must not play the service's part."""
    sandbox = Sandbox()
    jane = sandbox.created("/contacts", JANE)
    pixel = last_segment(sandbox.created(f"{jane}/devices", PIXEL))

    answers = [
        sandbox.get("/_sandbox/requests", headers=no_credentials),
        sandbox.post(f"/_sandbox/devices/{pixel}/push", {"result": "ok"}, headers=no_credentials),
        sandbox.post("/_sandbox/resources/expire", {}, headers=no_credentials),
    ]

    assert [answer.status_code for answer in answers] == [401, 401, 401]
    assert sandbox.get("/_sandbox/requests", headers={"x-api-key": ""}).status_code == 200


def test_control_takes_a_token() -> None:
    """As every other address of the service does."""
    sandbox = Sandbox()
    token = sandbox.post("/auth").json()["token"]

    answer = sandbox.get("/_sandbox/requests", headers={"authorization": f"Bearer {token}"})

    assert answer.status_code == 200
    assert sandbox.get("/_sandbox/requests", headers={"authorization": "Bearer x"}).status_code == 401


@pytest.mark.parametrize(("scope", "status"), [("public", 200), ("private", 401)])
def test_only_the_content_of_a_public_resource_is_for_everybody(scope: str, status: int) -> None:
    """The service gives such a file an address without credentials; that of others needs them."""
    sandbox = Sandbox()
    path = sandbox.created("/resources", resource_body(scope=scope))

    answer = sandbox.get(f"/_sandbox{path}/content", headers=no_credentials)

    assert answer.status_code == status


@pytest.mark.parametrize(
    ("method", "path", "json", "status"),
    [
        ("GET", "/_sandbox/unheard-of", None, 404),
        ("GET", "/_sandbox/", None, 404),
        ("POST", "/_sandbox/requests", None, 405),
        ("GET", "/_sandbox/resources/expire", None, 405),
        ("POST", "/_sandbox/resources/{resource}/content", None, 405),
        ("GET", "/_sandbox/resources/0123/content", None, 404),
        ("POST", "/_sandbox/resources/expire", {"ids": "all"}, 422),
        ("POST", "/_sandbox/resources/expire", {"ids": ["{resource}", "0123"]}, 404),
        ("POST", "/_sandbox/resources/expire", ["{resource}"], 400),
        ("GET", "/_sandbox/devices/0123/push", None, 405),
        ("POST", "/_sandbox/devices/0123/push", {"result": "ok"}, 404),
        ("POST", "/_sandbox/devices/0123/push", {"result": "maybe"}, 422),
        ("POST", "/_sandbox/devices/0123/push", {}, 422),
    ],
)
def test_a_wrong_control_request_is_refused_and_does_nothing(
    method: str, path: str, json: object, status: int
) -> None:
    """A typing mistake in a test must be an error."""
    sandbox = Sandbox()
    resource = last_segment(sandbox.created("/resources", resource_body()))

    answer = sandbox.send(method, path.format(resource=resource), json)

    assert answer.status_code == status
    assert answer.json()["errorText"]
    assert sandbox.get("/resources").json()["status"] == "1 to 1 of 1    "


def test_somebody_can_edit_a_contact_behind_our_back() -> None:
    """What an operator does in the portal: one field changes, everything else stays as it was."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", {**JANE, "department": "Night"})
    before = sandbox.get(path).json()

    answer = sandbox.post(
        f"/_sandbox/contacts/{last_segment(path)}", {"jobTitle": "Night Watch", "department": None}
    )

    assert answer.status_code == 200
    after = sandbox.get(path).json()
    assert after.pop("jobTitle") == "Night Watch"
    assert "department" not in after
    kept = {key: value for key, value in before.items() if key not in {"jobTitle", "department"}}
    assert {**after, "lastModifiedTime": before["lastModifiedTime"]} == kept


def test_nobody_can_be_edited_who_is_not_there() -> None:
    """A slip in an id must not pass for an edit."""
    sandbox = Sandbox()

    assert sandbox.post("/_sandbox/contacts/FFFF", {"jobTitle": "x"}).status_code == 404
    assert sandbox.get("/_sandbox/contacts/FFFF").status_code == 405
