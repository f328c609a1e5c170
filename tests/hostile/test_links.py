"""Links and redirects to elsewhere: no request, and no byte of a credential, ever leaves for another origin.

Each hostile address comes in every place where the service may show one, to every method, with the key in
the header and in the query. What is counted is what arrives at the wire, below everything of ours that
could be wrong; some are sent over real sockets, past a listener that nobody may call.
"""

import asyncio
import base64
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, get_args
from urllib.parse import quote

import effort
import httpx2
import pytest
import tally
from hostile import corpora
from service.support import (
    BASE,
    CALLS,
    ID,
    KEY,
    PASSWORD,
    USER,
    Clock,
    Wire,
    answer,
    contact,
    listing,
    service,
)
from waiting import patience_s, readable

from reconciler.errors import ServiceError
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.messaging.values import Callback
from reconciler.model.settings import SendKey

ADDRESSES = [case.text for case in corpora.cases("links") if len(case.text) < 1000]
SECRETS = (
    *(
        KEY,
        quote(KEY, safe=""),
        KEY[::-1],
        KEY[:8],
        KEY.encode().hex(),
        base64.b64encode(KEY.encode()).decode(),
    ),
    *(PASSWORD, PASSWORD.encode().hex(), base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()),
)


def _header(text: str) -> str:
    """The address as a header can carry it at all."""
    return quote(text, safe="/:?#[]@!$&'()*+,;=%\\~ ").strip()


def _redirect(status: int, address: str) -> httpx2.Response:
    return answer(status, {"link": [{"uri": address, "rel": "next"}]}, location=_header(address))


def _page(address: str) -> httpx2.Response:
    rows = [contact(ID, link=[{"uri": address, "rel": "self", "method": "GET"}])]
    links = [{"uri": address, "rel": rel, "method": "GET"} for rel in ("next", "last", "first")]
    return answer(
        200, {**listing(rows, "1 to 1 of 2"), "link": links}, link=_header(f"<{address}>; rel=next")
    )


def _entity(address: str) -> httpx2.Response:
    return answer(200, contact(ID, link=[{"uri": address, "rel": "self"}]), content_location=_header(address))


def _created(address: str) -> httpx2.Response:
    return answer(201, {}, location=_header(address), refresh=f"0; url={_header(address)}")


PLACES = {
    "redirect 301": lambda address: _redirect(301, address),
    "redirect 302": lambda address: _redirect(302, address),
    "redirect 303": lambda address: _redirect(303, address),
    "redirect 307": lambda address: _redirect(307, address),
    "redirect 308": lambda address: _redirect(308, address),
    "next link": _page,
    "own link": _entity,
    "location of what was created": _created,
}


@effort.sample(5)
@pytest.mark.parametrize("send_key", get_args(SendKey))
@pytest.mark.parametrize("place", PLACES)
def test_no_request_and_no_credential_leaves_our_origin(place: str, send_key: SendKey) -> None:
    """Every hostile address, in this place, at a list and at one call of each method."""
    settings = service(send_key=send_key)
    for address in ADDRESSES:
        wire = Wire(PLACES[place](address))
        said = asyncio.run(_everything(wire, settings))
        origins = {f"{request.url.scheme}://{request.url.netloc.decode()}" for request in wire.sent}
        assert origins == {BASE}, address
        assert not [secret for secret in SECRETS if secret in said], address
        paths = {request.url.path.split("/")[1] for request in wire.sent}
        assert paths <= {"contacts", "messages", "callbacks"}, address
        assert all(request.headers["host"] == "service.test" for request in wire.sent), address
    tally.count("hostile links", place, len(ADDRESSES))


async def _everything(wire: Wire, settings: Any) -> str:
    """What every call of ours says or returns, as one text."""
    said: list[str] = []
    async with open_service_client(settings, timing=Clock().timing, connections=wire) as client:
        calls = [
            client.contacts.list(),
            client.messages.get(ID),
            client.callbacks.create(Callback("a", "https://replies.example.com/")),
        ]
        for call in [*(make(client) for make in CALLS.values()), *calls]:
            try:
                said.append(repr(await call))
            except ServiceError as error:
                said += [str(error), error.next, error.path, error.code, repr(error.__cause__)]
    return "\n".join(said)


look_s = 0.1  # seconds between two looks at whether the listener is to end


@contextmanager
def _listener() -> Iterator[tuple[int, list[bytes]]]:
    """A port that keeps whatever anybody sends to it."""
    heard: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))
    ending = threading.Event()

    def listen() -> None:
        while not ending.is_set():
            if not readable(server, look_s):
                continue
            connection, _ = server.accept()
            with closing(connection):
                connection.settimeout(patience_s)
                heard.append(connection.recv(65_536))

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield server.getsockname()[1], heard
    finally:
        ending.set()
        thread.join()
        server.close()


class _Luring:
    """A service on a real socket whose every answer leads to another port."""

    def __init__(self, port: int) -> None:
        self.forms = [
            f"http://127.0.0.1:{port}/contacts/{ID}",
            f"//127.0.0.1:{port}/contacts/{ID}",
            f"http://127.0.0.1:{port}/?apikey={quote(KEY, safe='')}",
            f"http://{USER}:{PASSWORD}@127.0.0.1:{port}/contacts/{ID}",
            f"http://localhost:{port}/contacts/{ID}",
            f"http://[::ffff:127.0.0.1]:{port}/contacts/{ID}",
        ]
        self.asked = 0
        self.left = asyncio.Semaphore(0)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                address = self.forms[self.asked % len(self.forms)]
                status = (200, 301, 302, 303, 307, 308)[self.asked // len(self.forms) % 6]
                self.asked += 1
                row = contact(ID, link=[{"uri": address, "rel": "self"}])
                page = {**listing([row], "1 to 1 of 5"), "link": [{"uri": address, "rel": "next"}]}
                body = json.dumps(page).encode()
                head = f"HTTP/1.1 {status} X\r\nLocation: {address}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()
            self.left.release()


def test_no_byte_arrives_where_a_link_leads_over_real_sockets() -> None:
    """The wire of the other tests is ours; here the system's own sockets tell."""
    with _listener() as (port, heard):
        asked = asyncio.run(_lured(_Luring(port)))

    assert asked >= 36
    assert heard == []
    tally.count("hostile links", "over real sockets", asked)


async def _lured(luring: _Luring) -> int:
    server = await asyncio.start_server(luring, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        for _ in range(6):
            async with open_service_client(service(base), timing=Clock().timing) as client:
                for _ in range(4):
                    await _quietly(client)
        for _ in range(6):  # its own ends of the connections, before the loop goes
            await luring.left.acquire()
    return luring.asked


async def _quietly(client: ServiceClient) -> None:
    try:
        await client.contacts.list()
    except ServiceError as error:
        corpora.told(error)
