"""Claims about what to do where an answer cannot be used: each cause has an advice that helps."""

import json

import pytest
from msgspec import structs
from service.support import CALLS, ID, Wire, answer, contact, failure, listing, service

from reconciler.errors import ServiceError
from reconciler.messaging.client import ServiceClient

JANE = contact(ID)
TEXT = json.dumps(JANE)
MARK = "\N{BYTE ORDER MARK}"

# Body of a success -> what its advice speaks of.
BODIES: dict[str, tuple[bytes, str]] = {
    "UTF-8 with a mark": ((MARK + TEXT).encode(), "without a byte order mark"),
    "UTF-16 with a mark": (TEXT.encode("utf-16"), "UTF-8"),
    "UTF-16, big end first, with a mark": ((MARK + TEXT).encode("utf-16-be"), "UTF-8"),
    "UTF-16, little end first": (TEXT.encode("utf-16-le"), "UTF-8"),
    "UTF-16, big end first": (TEXT.encode("utf-16-be"), "UTF-8"),
    "UTF-32": (TEXT.encode("utf-32"), "UTF-8"),
    "UTF-32, big end first": (TEXT.encode("utf-32-be"), "UTF-8"),
    "Latin-1": ('{"firstName": "Zoë"}'.encode("latin-1"), "UTF-8"),
    "cut": (TEXT[:-5].encode(), "cuts or changes answers"),
    "empty": (b" ", "cuts or changes answers"),
    "nested": (b'{"id":' + b"[" * 99 + b"]" * 99 + b"}", "something adds to them"),
    "a key twice": (b'{"id":"A","id":"B"}', "its specification has no answer of this form"),
    "an error": (json.dumps({"errorSummary": "no", "errorText": "no"}).encode(), "form"),
}

LISTS: dict[str, tuple[dict[str, object], str]] = {
    "a total below its rows": (listing([JANE], "1 to 1 of 0"), "counts wrong"),
    "a total and no rows": ({"contacts": [], "status": "1 to 20 of 55", "link": []}, "counts wrong"),
    "another page": (listing([JANE], "21 to 21 of 55"), "counts wrong"),
    "a total of a million": (listing([JANE], "1 to 1 of 900000000"), "counts wrong"),
    "an error under 200": ({"errorSummary": "no", "errorText": "no"}, "ask the operators"),
    "words that nobody knows": ({"contacts": [], "status": "nothing here", "link": []}, "specification"),
}

# Where something else answers, the address is what to check.
ELSEWHERE: dict[str, bytes] = {
    "a page": b"<!doctype html><html></html>",
    "a list": b"[]",
    "a text": b'"hello"',
    "an object of another program": b'{"ok": true, "version": "1.2.3"}',
}


async def rows(client: ServiceClient) -> object:
    return await client.contacts.list()


def advice(body: bytes, *, lists: bool = False, form: str = "json") -> ServiceError:
    settings = structs.replace(service(), format=form)
    return failure(Wire(answer(200, body)), rows if lists else CALLS["GET"], settings=settings)


@pytest.mark.parametrize("case", BODIES)
def test_a_body_that_cannot_be_read_says_what_helps_and_blames_no_address(case: str) -> None:
    body, wanted = BODIES[case]

    error = advice(body)

    assert wanted in error.next
    assert "base_url" not in error.next


@pytest.mark.parametrize("case", [case for case in BODIES if case.startswith("UTF")])
def test_the_encoding_is_named(case: str) -> None:
    """Who reads "not well-formed" looks for a bracket."""
    name, _, _ = case.partition(",")[0].partition(" with")

    assert f"it is {name}" in str(advice(BODIES[case][0]))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_an_encoding_is_blamed_in_xml_too(encoding: str) -> None:
    body = '<?xml version="1.0"?><contact xmlns="http://service.example/v1"/>'.encode(encoding)

    assert "UTF-8" in advice(body, form="xml").next


@pytest.mark.parametrize("case", LISTS)
def test_a_list_that_counts_wrong_says_so_and_blames_no_address(case: str) -> None:
    document, wanted = LISTS[case]

    error = advice(json.dumps(document).encode(), lists=True)

    assert wanted in error.next
    assert "base_url" not in error.next


@pytest.mark.parametrize("case", ELSEWHERE)
def test_where_something_else_answers_the_address_is_to_be_checked(case: str) -> None:
    assert "check service.base_url" in advice(ELSEWHERE[case], lists=True).next
