"""The client against both forms of the sandbox, in JSON and in XML: nothing that it tells depends on them."""

import asyncio
from typing import Any, get_args

import httpx2
import pytest
from msgspec import structs
from sandbox.asking import PIXEL
from sandbox.receiving import receiving
from service.support import BASE, PASSWORD, USER, Clock, sandbox_config, service

from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.messaging.replies import parse_reply
from reconciler.messaging.values import Callback, Message
from reconciler.sandbox.app import create_app
from reconciler.sandbox.config import FORMS as OPTIONS
from reconciler.sandbox.config import Like

JANE = {"firstName": "Jane", "lastName": "Doe", "workMobilePhone1": "+61491570156"}
STAFF = {"name": "staff.csv", "scope": "private", "mimeType": "text/csv", "derefUri": "YSxiCg=="}


async def told(client: ServiceClient, hook: str, control: httpx2.AsyncClient) -> dict[str, Any]:
    """One story through every part of the client; what it says, without ids and links."""
    jane = await client.contacts.create(JANE)
    await client.devices.create(PIXEL, parent=jane.remote_id)
    await client.resources.create(STAFF)
    for number in range(44):
        await client.contacts.create({"firstName": f"Person {number}"})
    callback = await client.callbacks.create(Callback("ops", hook))
    sent = await client.messages.send(
        Message(("+61491570156", "sam@example.com"), "Shift", "b", "ops", {"n": 7})
    )
    for what, body in (("reply", {"content": "Yes"}), ("fail", {"to": "sam@example.com", "reason": "Gone"})):
        answer = await control.post(f"/_sandbox/messages/{sent.message_id}/{what}", json=body)
        assert answer.status_code == 200, answer.text
    await control.post("/_sandbox/callbacks/deliver", json={})
    read = await client.contacts.get(jane.remote_id)
    [device] = await client.devices.list(parent=jane.remote_id)
    return {
        "people": [row.body["firstName"] for row in await client.contacts.list()],
        "jane": {key: read.body[key] for key in JANE},
        "device": {key: device.body[key] for key in PIXEL if key != "status"},
        "device status": device.body["status"].upper(),
        "resources": [row.body["name"] for row in await client.resources.list()],
        "messages": [
            (row.message_id == sent.message_id, row.subject) for row in await client.messages.list()
        ],
        "message": (await client.messages.get(sent.message_id)).fields["to"],
        "status": await client.messages.status(sent.message_id),
        "responses": await client.messages.responses(sent.message_id),
        "answers": await client.messages.response_details(sent.message_id),
        "calls": [
            (call.message_id == sent.message_id, call.status)
            for call in await client.callbacks.calls(callback.callback_id)
        ],
    }


def story(like: Like, form: str) -> dict[str, Any]:
    """The story with this form of the service, and what the callbacks told.

    The clock of the service stands still: it shows minutes, and one may begin between two stories.
    """
    clock = Clock()
    app = create_app(sandbox_config(**OPTIONS[like], clock=clock))
    wire = httpx2.ASGITransport(app=app)

    async def main(hook: str) -> dict[str, Any]:
        settings = structs.replace(service(), format=form)
        async with (
            httpx2.AsyncClient(transport=wire, base_url=BASE, auth=(USER, PASSWORD)) as control,
            open_service_client(settings, timing=clock.timing, connections=wire) as client,
        ):
            return await told(client, hook, control)

    with receiving() as receiver:
        found = asyncio.run(main(receiver.url))
    replies = [parse_reply(one.body, str(one.headers["content-type"])) for one in receiver.calls]
    for reply in replies:
        assert reply.location.endswith(f"/messages/{reply.message_id}")
    found["replies"] = [(one.content, one.channel, one.parameters["n"]) for one in replies]
    return found


@pytest.mark.parametrize("form", ["json", "xml"])
def test_the_client_tells_the_same_of_both_forms_of_the_service(form: str) -> None:
    """A send with or without an id in its answer, links elsewhere, other words at the end of a list."""
    one, other = (story(like, form) for like in get_args(Like))

    assert one == other
    assert len(one["people"]) == 45
    assert one["replies"] == [("Yes", "SMS", "7"), ("Gone", "EMAIL", "7")]
