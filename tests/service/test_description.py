"""The client through a validator of the shipped OpenAPI description: every request, every answer, both forms.

The sandbox and the description are two texts about one thing; the client is a third. A form that only two of
them know is found here.
"""

import asyncio
import base64
import json
import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator
from msgspec import structs
from sandbox.asking import PIXEL
from sandbox.receiving import receiving
from service.support import BASE, PASSWORD, USER, Clock, sandbox_config, service

from reconciler.errors import NotFound, Rejected
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.messaging.values import BulkResource, Callback, CallbackAuth, Message
from reconciler.model.secrets import Secret
from reconciler.sandbox.app import create_app
from reconciler.sandbox.xml_codec import read_xml
from reconciler.service.paging import Query

SHIPPED: Any = json.loads(
    (Path(__file__).parents[2] / "schemas" / "openapi.json").read_text(encoding="utf-8")
)
# The client has no use for these addresses; tests/sandbox/test_openapi.py asks them.
NOT_USED = {
    "get_company",
    "create_token",
    "verify_token",
    "list_devices",
}
WITHIN = "4C8FE1A2B3D4E5F6"


@cache
def components(form: str) -> Any:
    """The components for one form: an empty list of links leaves no trace in XML."""
    found = deepcopy(SHIPPED["components"])
    if form == "xml":
        for schema in found["schemas"].values():
            for one in (schema, *schema.get("anyOf", ())):
                one["required"] = [name for name in one.get("required", ()) if name != "link"]
    return found


class Validated(httpx2.AsyncBaseTransport):
    """Passes requests on to the sandbox; `seen` are the operations, `wrong` is what no description allows."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self.inner = inner
        self.seen: set[str] = set()
        self.wrong: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        operation = self._operation(request)
        if "requestBody" in operation:
            content = operation["requestBody"]["content"]
            self._check(request.method, request.url.path, content, request.headers, request.content)
        elif request.content:
            self.wrong.append(f"{request.method} {request.url.path}: a body")
        self._check_query(operation, request)
        answer = await self.inner.handle_async_request(request)
        body = await answer.aread()
        described = operation["responses"].get(str(answer.status_code))
        if described is None:
            self.wrong.append(f"{request.method} {request.url.path}: {answer.status_code}")
        else:
            described = self._resolved(described)
            for header in described.get("headers", {}):
                if header not in answer.headers:
                    self.wrong.append(f"{request.url.path}: no {header}")
            if "content" in described:
                self._check(
                    str(answer.status_code), request.url.path, described["content"], answer.headers, body
                )
            elif body:
                self.wrong.append(f"{request.url.path}: {answer.status_code} with a body")
        return httpx2.Response(answer.status_code, headers=answer.headers, content=body)

    def _operation(self, request: httpx2.Request) -> Any:
        for template, methods in SHIPPED["paths"].items():
            pattern = re.sub(r"\{[^}]*\}", "[^/]+", template)
            if re.fullmatch(pattern, request.url.path) and request.method.lower() in methods:
                found = methods[request.method.lower()]
                self.seen.add(found["operationId"])
                return found
        raise AssertionError(f"not described: {request.method} {request.url.path}")

    def _check_query(self, operation: Any, request: httpx2.Request) -> None:
        described = {one["name"]: one["schema"] for one in operation.get("parameters", ())}
        for name, value in request.url.params.multi_items():
            schema = described.get(name, {})
            given: Any = int(value) if schema.get("type") == "integer" else value
            given = [value] if schema.get("type") == "array" else given
            self._judge(f"{request.url.path}?{name}", schema, given, "json")

    def _check(self, what: str, path: str, content: Any, headers: Any, body: bytes) -> None:
        kind = headers.get("content-type", "")
        if kind not in content:
            self.wrong.append(f"{what} {path}: {kind} is not described")
            return
        form = "xml" if kind.endswith("xml") else "json"
        word = re.sub(r"^application/vnd\.[a-z]+\.|-v1\+[a-z]+$", "", kind)
        schema = content[kind.replace("xml", "json")].get("schema", {})
        schema = {"$ref": "#/components/schemas/Error"} if what[0] in "45" else schema
        word = "error" if what[0] in "45" else word
        document = json.loads(body) if form == "json" else read_xml(word.removeprefix("bulk"), body)
        self._judge(f"{what} {path}", schema, document, form)

    def _judge(self, what: str, schema: Any, value: Any, form: str) -> None:
        validator = Draft202012Validator({**schema, "components": components(form)})
        self.wrong += [
            f"{what}: {one.json_path}: {one.message[:300]}" for one in validator.iter_errors(value)
        ]

    def _resolved(self, described: Any) -> Any:
        name = described.get("$ref", "").rpartition("/")[2]
        return SHIPPED["components"]["responses"][name] if name else described


async def everything(client: ServiceClient, control: httpx2.AsyncClient, hook: str, workspace: str) -> None:
    """Every call that the client has, and some that the service refuses."""
    jane = {
        "firstName": "Jane",
        "lastName": "Doe",
        "workMobilePhone1": "+61491570156",
        "timezone": "Australia/Melbourne",
        "messagingoptions": [{"channel": "sms", "enabled": "true", "primary": "WorkMobilePhone1"}],
        "customFields": [{"fieldName": "Badge", "fieldValue": "7", "searchKey": "custom_badge"}],
    }
    pixel = {**PIXEL, "status": "active"}
    where: Any = {"workspace": workspace}
    made = await client.contacts.create(jane, **where)
    for number in range(24):
        await client.contacts.create({"firstName": f"Person {number}"}, **where)
    await client.contacts.replace(made.remote_id, {**jane, "jobTitle": "Nurse"}, **where)
    device = await client.devices.create(pixel, parent=made.remote_id, **where)
    there: Any = {"parent": made.remote_id, **where}
    await client.devices.replace(device.remote_id, {**pixel, "status": "Disabled"}, **there)
    await client.devices.get(device.remote_id, **there)
    await client.devices.list(**there)
    assert len(await client.contacts.list(**where)) == 25
    await client.contacts.search(Query({"workMobilePhone1": "+61491570156"}), **where)
    await client.contacts.get(made.remote_id, **where)
    for encoded in ("YQ==", "YWE=", "YWFh"):  # one, two and three bytes: with and without padding
        file = {"name": "staff.csv", "scope": "private", "mimeType": "text/csv", "derefUri": encoded}
        resource = await client.resources.create(file, **where)
        await client.resources.replace(resource.remote_id, {**file, "scope": "public"}, **where)
        await client.resources.get(resource.remote_id, **where)
    await client.resources.list(**where)
    await uses(client, workspace)
    await client.resources.delete(resource.remote_id, **where)
    await messages(client, control, hook, workspace)
    await client.devices.delete(device.remote_id, **there)
    await client.contacts.delete(made.remote_id, **where)
    with pytest.raises(NotFound):
        await client.contacts.get(made.remote_id, **where)
    await client.workspaces.list()


async def workspaces(client: ServiceClient) -> None:
    """A workspace is made, read and replaced; nothing deletes one."""
    made = await client.workspaces.create("Day Shift", number="7", cost_centre="Operations")
    found = await client.workspaces.get(made.id)
    await client.workspaces.replace(made.id, {**found.body, "billingcostcentre": "Nights"})
    with pytest.raises(NotFound):
        await client.workspaces.get("0" * 16)


async def uses(client: ServiceClient, workspace: str) -> None:
    """A message to a resource, and its import."""
    content = base64.b64encode(b"name,phone\nKim,+447700900001\n").decode()
    file = {"name": "kim.csv", "scope": "private", "mimeType": "text/csv", "derefUri": content}
    resource = await client.resources.create(file, workspace=workspace)
    bulk = BulkResource(resource.remote_id, sms="phone")
    await client.messages.send(Message((), "Shift", resource=bulk), workspace=workspace)
    fields = {"firstName": "name", "workMobilePhone1": "phone"}
    await client.imports.contacts(resource.remote_id, fields=fields, workspace=workspace)


async def messages(client: ServiceClient, control: httpx2.AsyncClient, hook: str, workspace: str) -> None:
    auth = CallbackAuth("httpheader", Secret("k3y"))
    callback = await client.callbacks.create(Callback(f"ops{workspace}", hook, auth))
    await client.callbacks.replace(structs.replace(callback, email="ops@example.com"))
    await client.callbacks.get(callback.callback_id)
    await client.callbacks.list()
    parameters = {"n": 7, "who": {"name": "Jane"}, "none": None}
    message = Message(("+61491570156", "sam@example.com"), "Shift", "b", callback.name, parameters)
    sent = await client.messages.send(message, workspace=workspace)
    for what, body in (("reply", {"content": "Yes"}), ("fail", {"to": "sam@example.com"})):
        answer = await control.post(f"/_sandbox/messages/{sent.message_id}/{what}", json=body)
        assert answer.status_code == 200, answer.text
    await control.post("/_sandbox/callbacks/deliver", json={})
    await client.messages.list(workspace=workspace)
    await client.messages.list(shared=True, workspace=workspace)
    await client.messages.get(sent.message_id, workspace=workspace)
    await client.messages.status(sent.message_id, workspace=workspace)
    await client.messages.status(sent.message_id, "detailed", workspace=workspace)
    await client.messages.responses(sent.message_id, workspace=workspace)
    await client.messages.response_details(sent.message_id, workspace=workspace)
    calls = await client.callbacks.calls(callback.callback_id)
    assert len(calls) == 2
    await client.callbacks.mark_calls(callback.callback_id, [calls[0].call_id], "SUCCESS")
    with pytest.raises(Rejected):
        await client.callbacks.create(structs.replace(callback, callback_id=""))
    await client.callbacks.delete(callback.callback_id)


@pytest.mark.parametrize("form", ["json", "xml"])
def test_every_request_and_every_answer_of_the_client_is_described(form: str) -> None:
    """Each address that the client uses, with and without a workspace; what it sends and what it gets."""
    app = create_app(sandbox_config(workspaces=(("Night Shift", WITHIN),)))
    wire = httpx2.ASGITransport(app=app)
    validated = Validated(wire)

    async def main(hook: str) -> None:
        settings = structs.replace(service(), format=form)
        async with (
            httpx2.AsyncClient(transport=wire, base_url=BASE, auth=(USER, PASSWORD)) as control,
            open_service_client(settings, timing=Clock().timing, connections=validated) as client,
        ):
            for workspace in ("", WITHIN):
                await everything(client, control, hook, workspace)
            await workspaces(client)

    with receiving() as receiver:
        asyncio.run(main(receiver.url))

    assert validated.wrong == []
    operations = {
        one["operationId"]
        for path in SHIPPED["paths"].values()
        for name, one in path.items()
        if name != "parameters"
    }
    unseen = {name.removesuffix("_in_workspace") for name in operations - validated.seen}
    assert unseen == NOT_USED
