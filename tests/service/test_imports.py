"""Messages to a resource, and imports: what the client sends, and what it makes of the answers."""

import asyncio
import json

import httpx2
import pytest
from msgspec import structs
from service.support import Clock, Wire, answer, failure, sandbox_config, service, with_client

from reconciler.errors import InDoubt, InputError, Rejected
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.messaging.values import BulkResource, Message
from reconciler.sandbox.app import create_app

STAFF = {
    "name": "staff.csv",
    "scope": "private",
    "mimeType": "text/csv",
    "derefUri": "bmFtZSxwaG9uZQpKYW5lLCs2MTQ5MTU3MDE1NgpTYW0sKzQ0NzcwMDkwMDAwMQo=",
}
TO_STAFF = Message((), "Shift", "Tonight?", resource=BulkResource("A1", sms="phone"))


def sent_body(wire: Wire) -> object:
    return json.loads(wire.sent[0].content)


def test_a_message_to_a_resource_names_it_and_nobody_else() -> None:
    """Under a media type of its own, and sent once."""
    wire = Wire(answer(202, {"messageid": "B1"}))

    sent = with_client(wire, lambda client: client.messages.send(TO_STAFF))

    assert sent.message_id == "B1"
    assert wire.sent[0].headers["content-type"] == "application/vnd.service.bulkmessage-v1+json"
    assert sent_body(wire) == {
        "resource": {"resourceId": "A1", "smsMappingField": "phone"},
        "subject": "Shift",
        "body": "Tonight?",
    }


@pytest.mark.parametrize(
    "message",
    [
        structs.replace(TO_STAFF, to=("+61491570156",)),
        structs.replace(TO_STAFF, resource=BulkResource("A1")),
        structs.replace(TO_STAFF, resource=BulkResource("../A1", sms="phone")),
        structs.replace(TO_STAFF, resource=None),
    ],
)
def test_a_message_to_a_resource_that_cannot_be_meant_is_not_sent(message: Message) -> None:
    wire = Wire(answer(202, {"messageid": "B1"}))

    with pytest.raises(InputError):
        with_client(wire, lambda client: client.messages.send(message))

    assert wire.sent == []


def test_an_import_names_the_resource_the_mapping_and_the_mode() -> None:
    wire = Wire(answer(202))

    with_client(
        wire, lambda client: client.imports.contacts("A1", fields={"firstName": "name"}, workspace="AB12")
    )

    assert (wire.sent[0].method, wire.sent[0].url.path) == ("POST", "/workspaces/AB12/imports")
    assert wire.sent[0].headers["content-type"] == "application/vnd.service.importcontact-v1+json"
    assert sent_body(wire) == {
        "resourceId": "A1",
        "importType": "contact",
        "importOptions": {"fieldMapping": {"firstName": "name"}, "importMode": "replace"},
    }


@pytest.mark.parametrize(
    "told",
    [
        answer(503),
        answer(500),
        answer(204),
        answer(202, {"errorSummary": "No.", "errorText": "No."}),
        httpx2.ReadError("gone"),
    ],
)
def test_an_import_that_may_have_begun_is_in_doubt_and_not_sent_again(
    told: httpx2.Response | Exception,
) -> None:
    """An import adds people: sent twice, it may add them twice."""
    wire = Wire(told)

    error = failure(wire, lambda client: client.imports.contacts("A1"))

    assert type(error) is InDoubt
    assert "list the contacts" in error.next
    assert len(wire.sent) == 1


@pytest.mark.parametrize("form", ["json", "xml"])
def test_a_resource_is_sent_to_and_imported_in_the_sandbox(form: str) -> None:
    """Both uses, and a resource that is not there, in both forms."""
    wire = httpx2.ASGITransport(app=create_app(sandbox_config()))

    async def work(client: ServiceClient) -> None:
        resource = await client.resources.create(STAFF)
        bulk = BulkResource(resource.remote_id, sms="phone")
        sent = await client.messages.send(structs.replace(TO_STAFF, resource=bulk))
        each = await client.messages.status(sent.message_id, "detailed")
        assert [one.destination for one in each] == ["+61491570156", "+447700900001"]
        fields = {"firstName": "name", "workMobilePhone1": "phone"}
        for _ in range(2):
            await client.imports.contacts(resource.remote_id, fields=fields)
        rows = await client.contacts.list()
        assert [row.body["firstName"] for row in rows] == ["Jane", "Sam"]
        with pytest.raises(Rejected):
            await client.imports.contacts("0123456789ABCDEF", fields=fields)
        with pytest.raises(Rejected):
            await client.messages.send(TO_STAFF)

    async def main() -> None:
        settings = structs.replace(service(), format=form)
        async with open_service_client(settings, timing=Clock().timing, connections=wire) as client:
            await work(client)

    asyncio.run(main())
