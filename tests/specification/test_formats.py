"""The common formats of values: what is written in one of them comes back as it was, wherever text may stand.

No field of the service has one of these formats, so nothing is refused for its form; what can be claimed is
that no value of theirs is changed on its way: in custom fields, in callback parameters, in JSON and in XML.
"""

from string import ascii_letters, digits

import pytest
from sandbox.asking import JANE, Sandbox
from sandbox.receiving import callback_body, delivered, receiving, replied, sent
from service.support import BASE, sandbox, service, with_client

from reconciler.service.client import ServiceClient

SAMPLES: dict[str, list[str]] = {
    "region": ["ap-southeast-2", "us-gov-1", "eu-central-10"],
    "tag-key": ["k", "k" * 128, f"{ascii_letters} +=._:/@-", digits],
    "tag-value": ["", "v" * 256, " spaced  out ", "a=b;c,d"],
    "container-long": ["0123456789abcdef" * 4],
    "container-short": ["0123456789ab", "abcdefABCDEF"],
    "commit": ["da39a3ee5e6b4b0d3255bfef95601890afd80709"],
    "version": ["1.0.0", "0.0.1-alpha.1+build.5", "10.20.30-rc.1"],
    "severity": ["DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY"],
    "uuid": ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "00000000-0000-0000-0000-000000000000"],
    "trace": ["1-5759e988-bd862e3fe1be46a994272793", "1-FFFFFFFF-0123456789ABCDEF01234567"],
}
EVERY = [
    pytest.param(value, id=f"{name} {at}")
    for name, found in SAMPLES.items()
    for at, value in enumerate(found)
]


@pytest.mark.spec(
    "2.7/region",
    "2.7/tag-key",
    "2.7/tag-value",
    "2.7/container-long",
    "2.7/container-short",
    "2.7/commit",
    "2.7/version",
    "2.7/severity",
    "2.7/uuid",
    "2.7/trace",
)
@pytest.mark.parametrize("value", EVERY)
def test_a_value_of_a_common_format_comes_back_through_client_and_sandbox(value: str) -> None:
    """As a custom field, exact to the character, and found again by it."""
    custom = [{"fieldName": "ref", "fieldValue": value, "searchKey": "custom_ref"}]

    async def work(client: ServiceClient) -> tuple[object, int]:
        made = await client.contacts.create({**JANE, "customFields": custom})
        await client.contacts.replace(made.remote_id, (await client.contacts.get(made.remote_id)).body)
        found = await client.contacts.search({"custom.ref": value})
        return (await client.contacts.get(made.remote_id)).body["customFields"], len(found)

    assert with_client(sandbox(), work, settings=service(BASE)) == (custom, 1)


@pytest.mark.spec("2.7/tags", "2.7/tag-key", "2.7/tag-value")
@pytest.mark.parametrize("form", ["json", "xml"])
def test_tags_come_back_as_callback_parameters(form: str) -> None:
    """An object of keys and values, told to the callback as it was, in both forms."""
    tags = {key: f"{value}!" for key in SAMPLES["tag-key"] for value in SAMPLES["tag-value"][1:2]}
    town = Sandbox(callback_check=False)
    with receiving() as receiver:
        town.created("/callbacks", callback_body(receiver.url, contentType=form))
        message = sent(town, callbackId="approvals", callbackParameters=tags)
        replied(town, message)
        delivered(town)

    body = receiver.calls[0].body.decode()
    assert message in body
    assert all(key in body and value in body for key, value in tags.items())
