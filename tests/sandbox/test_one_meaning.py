"""One body means one thing: in JSON and in XML, by POST and by PUT. Source: specification 4 and 9."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from sandbox.asking import JANE, PIXEL, Sandbox, origin, resource_body, vendor_type
from sandbox.receiving import MOBILE, callback_body

from reconciler.sandbox.xml_codec import write_xml

OPTION = {"channel": "sms", "enabled": "true", "primary": "WorkMobilePhone1", "secondary": "", "tertiary": ""}
CUSTOM = {"fieldName": "Shift", "fieldValue": "night", "searchKey": "custom_shift"}
BODIES: dict[str, Any] = {
    "contact": {**JANE, "status": "A", "messagingoptions": [OPTION], "customFields": [CUSTOM]},
    "contactdevice": PIXEL,
    "resource": resource_body(),
    "api-callback": callback_body(
        removeHTML="enabled", retriesEnabled="true", email="me@example.com", callbacks={"reply": "enabled"}
    ),
    "workspace": {"projectName": "Night Shift", "status": "A", "projectNumber": "7"},
    "message": {"to": MOBILE, "subject": "Shift", "body": "Tonight?", "callbackParameters": {"shift": "7"}},
}
LISTS = {"resource": "/resources", "api-callback": "/callbacks", "workspace": "/workspaces"}
TEXTS = [
    "",
    " ",
    "x",
    "0",
    "true",
    "TRUE",
    "1.5",
    "null",
    "enabled",
    "private",
    "Disabled",
    "\u00e9",
    "A" * 300,
]
Path = tuple[str | int, ...]


def places(node: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in the body, the outer ones first."""
    for key in node if isinstance(node, dict) else range(len(node)):
        yield (*path, key)
        if isinstance(node[key], dict | list):
            yield from places(node[key], (*path, key))


def changed(body: Any, path: Path, text: str | None) -> Any:
    """The body with this text there; None: without what stands there."""
    body = deepcopy(body)
    inner = body
    for key in path[:-1]:
        inner = inner[key]
    if text is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = text
    return body


def is_taken(kind: str, method: str, form: str, body: Any) -> bool:
    """Does a sandbox that has one of this kind take the body?"""
    sandbox = Sandbox(callback_check=False)
    contact = sandbox.created("/contacts", JANE) if kind == "contactdevice" else ""
    path = LISTS.get(kind) or f"{contact}/devices" * bool(contact) or f"/{kind}s"
    if method == "PUT":
        path = sandbox.created(path, BODIES[kind])
    content_type = vendor_type(kind).replace("json", form)
    content = json.dumps(body).encode() if form == "json" else write_xml(kind, body)
    answer = sandbox.send(method, path, content=content, headers={"content-type": content_type})
    assert answer.status_code in (201, 202, 204, 400, 422), answer.text
    assert answer.status_code != 201 or answer.headers["location"].startswith(origin)
    return answer.status_code < 300


@pytest.mark.parametrize("kind", BODIES)
def test_what_is_taken_in_json_is_taken_in_xml_and_nothing_else(kind: str) -> None:
    """Every field left out, or with texts that fit or do not. A blank list is an empty one in XML alone."""
    methods = ("POST",) if kind == "message" else ("POST", "PUT")
    for path in places(BODIES[kind]):
        stands = BODIES[kind]
        for key in path:
            stands = stands[key]
        for text in (None, *TEXTS):
            if isinstance(stands, dict | list) and text is not None and not text.strip():
                continue
            body = changed(BODIES[kind], path, text)
            found = {
                (method, form): is_taken(kind, method, form, body) for method in methods for form in FORMS
            }

            # A create alone may leave out the status of a device (docs/service.md, devices).
            if (kind, path, text) == ("contactdevice", ("status",), None):
                assert found == {(method, form): method == "POST" for method, form in found}
            else:
                assert len(set(found.values())) == 1, (path, text, found)


FORMS = ("json", "xml")
