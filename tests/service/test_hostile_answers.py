"""Claims about hostile answers at every call: a typed error, never an empty list, bounded memory and time."""

import asyncio
import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import httpx2
import pytest
import tally
from growth import bounded
from service.support import CALLS, ID, Chunks, Clock, Wire, answer, contact, failure, listing, with_client
from service.test_media import HOSTILE, SAMPLES
from waiting import patience_s

from reconciler.errors import InDoubt, Malformed, ServiceError, Unavailable
from reconciler.messaging.client import ServiceClient
from reconciler.service import answers
from reconciler.service.paging import Query

# By the cause: what to do about it is not the same for a cut body and for a page of something else.
ADVICE = {
    answers.CUT,
    answers.ITS_ERROR,
    answers.MISCOUNTED,
    answers.OTHER_SERVICE,
    answers.OVERSIZED,
    answers.RECODED,
    answers.UNKNOWN_FORM,
}

READS = {
    "list": lambda client: client.contacts.list(),
    "search": lambda client: client.contacts.search(Query({"firstName": "Jane"})),
    "page": lambda client: client.contacts.page(),
    "get": lambda client: client.contacts.get(ID),
    "get device": lambda client: client.devices.get(ID, parent=ID),
    "list devices": lambda client: client.devices.list(parent=ID),
    "get resource": lambda client: client.resources.get(ID),
    "list resources": lambda client: client.resources.list(),
    "workspaces": lambda client: client.workspaces.list(),
    "messages": lambda client: client.messages.list(),
    "message": lambda client: client.messages.get(ID),
    "statuses": lambda client: client.messages.status(ID),
    "responses": lambda client: client.messages.responses(ID),
    "callbacks": lambda client: client.callbacks.list(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_every_read_of_a_hostile_body_is_malformed(name: str) -> None:
    """Sixty bodies at every read: "nothing is there" is never the answer."""
    for read in READS.values():
        error = failure(Wire(answer(200, HOSTILE[name])), read)

        assert type(error) is Malformed
        assert (error.status, error.method) == (200, "GET")
        assert error.next in ADVICE
    tally.count("bad inputs", "answers to a read", len(READS))


def test_there_are_at_least_sixty_hostile_bodies() -> None:
    assert len(HOSTILE) >= 60


@pytest.mark.parametrize("name", [name for name in HOSTILE if HOSTILE[name].strip()])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_write_answered_by_a_hostile_body_is_in_doubt(method: str, name: str) -> None:
    """The status says yes, the rest is not the service's: somebody has to look."""
    wire = Wire(answer(201 if method == "POST" else 200, HOSTILE[name], location=f"/contacts/{ID}"))

    error = failure(wire, CALLS[method])

    assert type(error) is InDoubt
    assert len(wire.sent) == 1
    tally.count("bad inputs", "answers to a write")


@pytest.mark.parametrize("name", ["a page", "the end", "a contact"])
def test_a_list_cut_at_any_byte_is_an_error(name: str) -> None:
    """Without a length nobody but the body tells that it was cut."""
    whole = json.dumps(SAMPLES[name]).encode()

    async def work(client: ServiceClient) -> int:
        outcomes = await asyncio.gather(*(client.contacts.list() for _ in whole), return_exceptions=True)
        return sum(isinstance(outcome, Malformed | Unavailable) for outcome in outcomes)

    cuts = iter([whole[:end] for end in range(len(whole)) for _ in range(3)])

    async def cut(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Chunks(next(cuts, b"")))

    assert with_client(Wire(cut), work, clock=Clock()) == len(whole)


SHAPES = {
    "another kind": {"id": ID, "somethingElse": "x", "link": []},
    "a list": listing([contact(ID)], "1 to 1 of 1"),
    "the end of a list": {"status": "No records found", "link": []},
    "another entity": contact("OTHER"),
    "an error": {"errorSummary": "No.", "errorText": "No.", "link": []},
    "a contact and an error": {**contact(ID), "errorText": "No."},
    "nothing": {},
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_get_answered_by_anything_but_the_entity_is_malformed(name: str) -> None:
    assert type(failure(Wire(answer(200, SHAPES[name])), CALLS["GET"])) is Malformed


@pytest.mark.parametrize("status", [200, 201, 202, 203, 204, 206, 299])
def test_a_get_answered_without_a_body_is_malformed(status: int) -> None:
    assert type(failure(Wire(answer(status)), CALLS["GET"])) is Malformed


@pytest.mark.parametrize(
    "devices", [None, "none", {}, [None], ["x"], [{}], [{"id": "../x"}], [{"id": 1}], [contact("A"), {}]]
)
def test_devices_of_unknown_shape_are_malformed(devices: object) -> None:
    """Read as "no devices" they would all be created again, each with its pushes charged."""
    wire = Wire(answer(200, {**contact(ID), "devices": devices}))

    assert type(failure(wire, lambda client: client.devices.list(parent=ID))) is Malformed


def test_a_contact_without_the_word_devices_is_malformed_as_a_list_of_devices() -> None:
    assert type(failure(Wire(answer(200, contact(ID))), lambda c: c.devices.list(parent=ID))) is Malformed


@pytest.mark.parametrize("status", [202, 203, 204, 206, 226])
def test_a_create_that_was_not_said_to_be_done_is_in_doubt(status: int) -> None:
    """202 says that somebody will look into it: it may never be carried out."""
    assert type(failure(Wire(answer(status, location=f"/contacts/{ID}")), CALLS["POST"])) is InDoubt


@pytest.mark.parametrize(
    "location", ["", "/", "/contacts/", "/contacts/..", "/resources/X1", "https://evil.test"]
)
def test_a_create_that_does_not_tell_the_new_id_is_in_doubt(location: str) -> None:
    assert type(failure(Wire(answer(201, location=location)), CALLS["POST"])) is InDoubt


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_success_with_an_error_for_a_body_is_in_doubt(method: str) -> None:
    body = {"errorSummary": "Your request failed.", "errorText": "Not done"}
    wire = Wire(answer(200, body, location=f"/contacts/{ID}"))

    error = failure(wire, CALLS[method])

    assert type(error) is InDoubt
    assert "its status says yes (200) and its body is an error message" in str(error)


def bomb(mebibytes: int) -> bytes:
    """That many MiB of spaces, packed without ever holding them."""
    packer = zlib.compressobj(level=1, wbits=16 + zlib.MAX_WBITS)
    block = b" " * 1024 * 1024
    return b"".join([*(packer.compress(block) for _ in range(mebibytes)), packer.flush()])


BOMB = bomb(200)


ENCODED = {
    "200 MB in 200 KB": ("gzip", BOMB),
    "a bomb under its old name": ("x-gzip", BOMB),
    "a bomb in a bomb": ("gzip, gzip", gzip.compress(BOMB)),
    "deflate": ("deflate", zlib.compress(b"x" * 1_000_000)),
    "br": ("br", b"\x0b\x02\x80"),
    "zstd": ("zstd", b"\x28\xb5\x2f\xfd"),
    "not gzip": ("gzip", b"plain"),
    "gzip cut off": ("gzip", gzip.compress(b'{"status":"No records found"}')[:-9]),
    "empty gzip": ("gzip", b""),
    "gzip of nothing": ("gzip", gzip.compress(b"")),
    "unknown": ("x-evil", b"{}"),
}


@pytest.mark.parametrize("name", ENCODED)
def test_a_packed_body_never_unpacks_beyond_the_cap(name: str) -> None:
    """194 KB once became 200 MB in memory: what one read brings is unpacked piece by piece."""
    encoding, body = ENCODED[name]

    async def packed(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-encoding": encoding}, stream=Chunks(body))

    with bounded(5.0):
        tracemalloc.start()
        error = failure(Wire(packed), lambda client: client.contacts.list())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert isinstance(error, Unavailable | Malformed)
    assert peak < 64 * 1024 * 1024


def test_a_packed_page_is_read() -> None:
    body = gzip.compress(json.dumps(listing([contact(ID)], "1 to 1 of 1")).encode())

    async def packed(_request: httpx2.Request) -> httpx2.Response:
        pieces = [body[start : start + 7] for start in range(0, len(body), 7)]
        return httpx2.Response(200, headers={"content-encoding": "gzip"}, stream=Chunks(*pieces))

    assert len(with_client(Wire(packed), lambda client: client.contacts.list())) == 1


def test_an_endless_body_is_cut_at_the_cap() -> None:
    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                yield b" " * 1_000_000

    async def endless(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Endless())

    error = failure(Wire(endless), lambda client: client.contacts.list())

    assert "larger than 16 MiB" in str(error)


def _block(size: int) -> bytes:
    """A piece of a gzip body: `size` bytes of stored blocks that hold nothing."""
    return b"\x00\x00\x00\xff\xff" * (size // 5)


ENDLESS = {
    "bytes behind the end of gzip": (gzip.compress(b"{}"), b" ", 1),
    "another gzip behind the first": (gzip.compress(b"{}"), gzip.compress(b"{}"), 1),
    "blocks of gzip that hold nothing": (gzip.compress(b"")[:10], _block(1_000_000), 17),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_unpacks_to_nothing_is_read_no_further_than_the_cap(name: str) -> None:
    """The bytes on the wire count too: such a body once was read until the deadline."""
    head, piece, pieces_max = ENDLESS[name]
    given: list[int] = []

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield head
            while len(given) < 100:
                given.append(len(piece))
                yield piece

    async def endless(_request: httpx2.Request) -> httpx2.Response:
        given.clear()
        return httpx2.Response(200, headers={"content-encoding": "gzip"}, stream=Endless())

    error = failure(Wire(endless), lambda client: client.contacts.list())

    assert isinstance(error, Unavailable)
    assert len(given) <= pieces_max


@pytest.mark.parametrize(
    "date", [b"", b"yesterday", b"Wed, 99 Foo 2026", b"0", b"9" * 5000, b"\xd9\xa1", b"\xff"]
)
def test_a_date_that_is_none_leaves_the_rows_alone(date: bytes) -> None:
    body = json.dumps(listing([contact(ID)], "1 to 1 of 1")).encode()
    wire = Wire(httpx2.Response(200, headers=[(b"date", date)], content=body))

    [row] = with_client(wire, lambda client: client.contacts.list())

    assert row.date == ""


def test_whatever_the_status_the_error_is_one_of_ours() -> None:
    """No traceback of a library ever reaches a user."""
    statuses = iter([status for status in range(100, 1000) for _ in range(3 * len(CALLS))])

    async def next_status(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(next(statuses), content=b"\x00")

    async def work(client: ServiceClient) -> list[object]:
        calls = [call(client) for _ in range(900) for call in CALLS.values()]
        return [await asyncio.wait_for(call, patience_s) for call in map(_caught, calls)]

    results = with_client(Wire(next_status), work, clock=Clock())

    assert len(results) == 3600
    assert all(isinstance(result, ServiceError) for result in results)


async def _caught(call: Coroutine[Any, Any, object]) -> object:
    try:
        return await call
    except ServiceError as error:
        return error
