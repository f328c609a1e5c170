"""The common formats of values: what is written in one of them comes back as it was, wherever text may stand.

No field of the service has one of these formats, so nothing is refused for its form; what can be claimed is
that no value of theirs is changed on its way: in custom fields, in callback parameters, in JSON and in XML.
The samples reach the edges of each format: its shortest and longest values, all of its letters and signs.
"""

import re
from string import ascii_letters, digits

import pytest
from sandbox.asking import JANE, Sandbox
from sandbox.receiving import callback_body, delivered, receiving, replied, sent
from service.support import BASE, sandbox, service, with_client

from reconciler.messaging.client import ServiceClient
from reconciler.messaging.replies import parse_reply
from reconciler.service.paging import Query

SEMANTIC = (
    r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
FORMATS = {
    "region": r"[a-z]{2}-[a-z]+-[1-9]\d*",
    "tag-key": r"[A-Za-z0-9 +=._:/@-]{1,128}",
    "tag-value": r".{0,256}",
    "container-long": r"[0-9a-f]{64}",
    "container-short": r"[0-9A-Za-z]{12}",
    "commit": r"[0-9a-f]{40}",
    "version": SEMANTIC,
    "severity": r"DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL|ALERT|EMERGENCY",
    "uuid": r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "trace": r"1-[a-fA-F0-9]{8}-[a-fA-F0-9]{24}",
}
"""Name -> the format, as the specification gives it or names its source."""

SAMPLES: dict[str, list[str]] = {
    "region": ["ap-southeast-2", "us-gov-1", "eu-central-10"],
    "tag-key": ["k", "k" * 128, f"{ascii_letters} +=._:/@-", digits],
    "tag-value": ["", "v" * 256, " spaced  out ", "a=b;c,d"],
    "container-long": ["0123456789abcdef" * 4],
    "container-short": ["0123456789ab", "abcdefABCDEF"],
    "commit": ["da39a3ee5e6b4b0d3255bfef95601890afd80709", "0" * 39 + "1"],
    "version": ["1.0.0", "0.0.1-alpha.1+build.5", "10.20.30-rc.1", "1.10.0+001"],
    "severity": ["DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY"],
    "uuid": [
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
        "00000000-0000-0000-0000-000000000000",
    ],
    "trace": ["1-5759e988-bd862e3fe1be46a994272793", "1-FFFFFFFF-0123456789ABCDEF01234567"],
}


def comes_back(name: str) -> None:
    """Every sample of the format comes back through client and sandbox, and is found again by its text."""
    for value in SAMPLES[name]:
        assert re.fullmatch(FORMATS[name], value)
        assert stored_and_found(value) == (value, 1)


def stored_and_found(value: str) -> tuple[str, int]:
    """What a custom field shows that was created with this value and written back, and how many it finds."""
    custom = [{"fieldName": "ref", "fieldValue": value, "searchKey": "custom_ref"}]

    async def work(client: ServiceClient) -> tuple[str, int]:
        made = await client.contacts.create({**JANE, "customFields": custom})
        await client.contacts.replace(made.remote_id, (await client.contacts.get(made.remote_id)).body)
        found = await client.contacts.search(Query({"custom.ref": value}))
        shown = (await client.contacts.get(made.remote_id)).body["customFields"]
        assert [(one["fieldName"], one["searchKey"]) for one in shown] == [("ref", "custom_ref")]
        return shown[0]["fieldValue"], len(found)

    return with_client(sandbox(), work, settings=service(BASE))


@pytest.mark.spec("2.7/region")
def test_codes_of_cloud_regions_come_back() -> None:
    comes_back("region")


@pytest.mark.spec("2.7/tag-key")
def test_keys_of_tags_come_back() -> None:
    comes_back("tag-key")


@pytest.mark.spec("2.7/tag-value")
def test_values_of_tags_come_back() -> None:
    comes_back("tag-value")


@pytest.mark.spec("2.7/container-long")
def test_long_ids_of_containers_come_back() -> None:
    comes_back("container-long")


@pytest.mark.spec("2.7/container-short")
def test_short_ids_of_containers_come_back() -> None:
    comes_back("container-short")


@pytest.mark.spec("2.7/commit")
def test_hashes_of_commits_come_back() -> None:
    comes_back("commit")


@pytest.mark.spec("2.7/version")
def test_semantic_versions_come_back() -> None:
    comes_back("version")


@pytest.mark.spec("2.7/severity")
def test_severities_come_back() -> None:
    comes_back("severity")


@pytest.mark.spec("2.7/uuid")
def test_uuids_come_back() -> None:
    comes_back("uuid")


@pytest.mark.spec("2.7/trace")
def test_trace_ids_come_back() -> None:
    comes_back("trace")


@pytest.mark.spec("2.7/tags")
@pytest.mark.parametrize("form", ["json", "xml"])
def test_tags_come_back_as_callback_parameters(form: str) -> None:
    """An object of keys and values, told to the callback as it was, in both forms."""
    tags = dict(zip(SAMPLES["tag-key"], SAMPLES["tag-value"], strict=True))
    town = Sandbox(callback_check=False)
    with receiving() as receiver:
        town.created("/callbacks", callback_body(receiver.url, contentType=form))
        message = sent(town, callbackId="approvals", callbackParameters=tags)
        replied(town, message)
        delivered(town)

    (call,) = receiver.calls
    assert parse_reply(call.body, str(call.headers["content-type"])).parameters == tags
