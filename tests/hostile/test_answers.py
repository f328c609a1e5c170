"""Answers of the service at each call that reads: a typed error that quotes nothing, or these values."""

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx2
import pytest
import tally
from hostile import corpora
from hostile.corpora import Case
from msgspec import structs
from service.support import (
    BASE,
    ID,
    KEY,
    PASSWORD,
    Clock,
    Wire,
    answer,
    contact,
    failure,
    listing,
    service,
    with_client,
)

from reconciler.errors import ServiceError, Throttled
from reconciler.messaging.client import ServiceClient

XML = structs.replace(service(), format="xml")
PERSON = "Jane"

Read = Callable[[ServiceClient], Coroutine[Any, Any, object]]
READS: dict[str, Read] = {
    "contacts": lambda client: client.contacts.list(),
    "contact": lambda client: client.contacts.get(ID),
    "devices": lambda client: client.devices.list(parent=ID),
    "device": lambda client: client.devices.get(ID, parent=ID),
    "resources": lambda client: client.resources.list(),
    "resource": lambda client: client.resources.get(ID),
    "workspaces": lambda client: client.workspaces.list(),
    "workspace": lambda client: client.workspaces.get(ID),
    "messages": lambda client: client.messages.list(),
    "message": lambda client: client.messages.get(ID),
    "statuses": lambda client: client.messages.status(ID),
    "responses": lambda client: client.messages.responses(ID),
    "callbacks": lambda client: client.callbacks.list(),
}


def read(case: Case, call: Read, settings: Any = None, **headers: str) -> str:
    """What a call makes of an answer with this body: its value, or its error; only GET is ever sent."""
    wire = Wire(answer(200, case.data, **headers))
    try:
        found = with_client(wire, call, clock=Clock(), settings=settings)
        line = f"value: {_seen(found)}"
    except ServiceError as error:
        line, hint = corpora.told(error), error.next
        require_silent(f"{line} {hint}")
    assert set(wire.methods) == {"GET"}
    assert len(wire.sent) <= 5
    return line


def require_silent(text: str) -> None:
    """Nothing of the answer's people, nor of our secrets, stands in this text."""
    assert not any(word in text for word in (PERSON, KEY, PASSWORD))


def _seen(found: object) -> str:
    if isinstance(found, tuple):
        rows = ", ".join(str(getattr(row, "remote_id", "") or getattr(row, "id", "")) for row in found)
        return f"rows {rows}".strip() + ("" if getattr(found, "complete", True) else ", not complete")
    text = json.dumps(getattr(found, "body", ""), sort_keys=True)
    return text if len(text) < 200 else f"{text[:60]} and {len(text) - 60} characters"


def said_json(case: Case, _folder: Path) -> str:
    """A body in JSON as the answer to a list of contacts."""
    return read(case, READS["contacts"])


def said_xml(case: Case, _folder: Path) -> str:
    """A body in XML as the answer to a list of contacts."""
    return read(case, READS["contacts"], XML)


def said_contact(case: Case, _folder: Path) -> str:
    """A body in JSON as the answer to one contact."""
    return read(case, READS["contact"])


@corpora.each("pages")
def test_every_page_meets_its_line(case: Case, tmp_path: Path) -> None:
    """What is no page that we know is an error, never "nothing is there"."""
    corpora.claim(case, "pages of a list", lambda: said_json(case, tmp_path))


@corpora.each("pages-xml")
def test_every_page_in_xml_meets_its_line(case: Case, tmp_path: Path) -> None:
    """The same in the other form."""
    corpora.claim(case, "XML documents", lambda: said_xml(case, tmp_path))


@corpora.each("contacts")
def test_every_contact_meets_its_line(case: Case, tmp_path: Path) -> None:
    """What is written back has to be read whole; values that only look odd arrive as they are."""
    corpora.claim(case, "contacts of the service", lambda: said_contact(case, tmp_path))


KEYS = ("contacts", "devices", "resources", "workspaces", "messages", "callbacks")
STATED = (*KEYS, "messagestatuses", "messageresponses")
NAMES = ("firstName", "deviceName", "name", "projectName", "subject")
FOREIGN: dict[str, dict[str, Any]] = {
    "a page of nobody's": {"rows": [], "status": "", "link": []},
    "a status alone": {"status": "Please try again", "link": []},
    "rows that are no list": {**dict.fromkeys(STATED, "x"), "status": "1 to 1 of 1"},
    "rows that are texts": {key: ["x"] for key in STATED},
    "rows that are null": {key: [None] for key in STATED},
    "rows without ids": {key: [{"name": "x"}] for key in KEYS},
    "an error under a success": {"errorSummary": "No", "errorText": "No", "link": []},
    "another entity": {"id": "OTHER", **dict.fromkeys(NAMES, "x")},
    "ids that are numbers": {"id": 7, **dict.fromkeys(NAMES, "x")},
    "a range that makes no sense": {**{key: [] for key in KEYS}, "status": "20 to 1 of 5"},
}


@pytest.mark.parametrize("call", READS)
def test_a_foreign_document_is_never_an_empty_answer(call: str) -> None:
    """Read as "there is nothing", each of these would be everything created again."""
    for name, document in FOREIGN.items():
        case = Case("foreign", name, json.dumps(document), "")
        with corpora.bounded():
            line = read(case, READS[call])
        assert line.startswith(("Malformed: ", "Unavailable: ")), f"{name}: {line}"
    tally.count("bad inputs", "answers to a read", len(FOREIGN))


def said_header(case: Case, _folder: Path) -> str:
    """How long a write that was throttled asks to wait, with these headers; or the date of a read."""
    headers = [(name.encode(), _bytes(value)) for name, value in case.raw.items()]
    if "date" in case.raw and "retry-after" not in case.raw:
        body = json.dumps(listing([contact(ID)], "1 to 1 of 1")).encode()
        wire = Wire(httpx2.Response(200, headers=headers, content=body))
        rows = with_client(wire, lambda client: client.contacts.list(), clock=Clock())
        return f"value: {rows[0].date or 'no date'}"
    wire = Wire(httpx2.Response(429, headers=headers, content=b"{}"))
    error = failure(wire, lambda client: client.contacts.delete(ID))
    corpora.told(error)
    assert wire.methods == ["DELETE"]
    assert isinstance(error, Throttled)
    return f"value: {error.wait_s:g} s"


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8")


@corpora.each("headers")
def test_every_header_meets_its_line(case: Case, tmp_path: Path) -> None:
    """A wait is 0 to 60 s whatever the header says; a date is one moment or none."""
    corpora.claim(case, "headers", lambda: said_header(case, tmp_path))


def said_link(case: Case, _folder: Path) -> str:
    """The id that a row of a list has by its link alone; all requests stay where they belong."""
    row = {"firstName": "x", "link": [{"uri": case.text, "rel": "self", "method": "GET"}]}
    wire = Wire(answer(200, json.dumps(listing([row], "1 to 1 of 1")).encode()))
    try:
        (found,) = with_client(wire, lambda client: client.contacts.list(), clock=Clock())
        line = f"value: {found.remote_id}"
    except ServiceError as error:
        line = corpora.told(error)
    assert {f"{request.url.scheme}://{request.url.netloc.decode()}" for request in wire.sent} == {BASE}
    return line


@corpora.each("links")
def test_every_link_meets_its_line(case: Case, tmp_path: Path) -> None:
    """A link tells an id by its path, and nothing else: it is never followed."""
    corpora.claim(case, "links", lambda: said_link(case, tmp_path))
