"""The client's XML and the sandbox's, written apart from the same sources: each reads what the other writes.

Source: docs/service.md, XML.
"""

from typing import Any

import effort
import pytest
from hypothesis import HealthCheck, given, settings
from sandbox.test_xml_laws import documents

from reconciler.sandbox.xml_codec import XML_FORMS, read_xml, write_xml
from reconciler.service.xml import documents as client

laws = settings(
    max_examples=effort.count(small=30, full=200), deadline=None, suppress_health_check=list(HealthCheck)
)
WRITTEN_BY_CLIENTS = (
    "contact",
    "contactdevice",
    "resource",
    "workspace",
    "message",
    "importcontact",
    "api-callback",
    "api-call",
)


def plain(value: Any) -> Any:
    """Without empty lists of links: XML has no sign for them, and the client's reading shows one."""
    match value:
        case dict():
            kept = ((key, item) for key, item in value.items() if (key, item) != ("link", []))
            return {key: plain(item) for key, item in kept}
        case list():
            return [plain(item) for item in value]
        case _:
            return value


@pytest.mark.parametrize("kind", XML_FORMS)
def test_the_client_reads_what_the_sandbox_writes(kind: str) -> None:
    """Otherwise everything that is tested over XML would prove one table right by itself."""
    alone = kind not in ("messagestatus", "messageresponse")  # of these there are only lists
    asked = "contact" if kind == "error" else kind  # an error comes in the place of any document

    @laws
    @given(documents(kind).filter(lambda document: alone or XML_FORMS[kind].key in document))
    def law(document: dict[str, Any]) -> None:
        assert plain(client.decode_xml(write_xml(kind, document), asked)) == document

    law()


@pytest.mark.parametrize("kind", WRITTEN_BY_CLIENTS)
def test_the_sandbox_reads_what_the_client_writes(kind: str) -> None:
    """The other direction, for the kinds that have bodies."""

    @laws
    @given(documents(kind).filter(lambda document: XML_FORMS[kind].key not in document))
    def law(document: dict[str, Any]) -> None:
        written = {key: value for key, value in document.items() if key != "link"}
        assert read_xml(kind, client.encode_xml({"id": "AB", **written}, kind)) == {"id": "AB", **written}

    law()
