"""A SCIM 2.0 service on loopback that tests write: honest, until it is told to lie.

    with serving(ScimService(users(7))) as service: ...      its `url`, and what it was `asked`

`bend` gets each honest answer before it is sent, and gives what is sent instead: an object, or a Reply.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"

Document = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer as it goes over the wire. `cut`: so many bytes of the body are sent. `hangs`: none is."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    cut: int | None = None
    hangs: bool = False


def error(status: int, word: str = "", **headers: str) -> Reply:
    """An error as RFC 7644 writes it, with a detail that nobody may see."""
    document = {"schemas": [ERROR], "status": str(status), "detail": "canary jane@example.com"}
    body = json.dumps({**document, **({"scimType": word} if word else {})}).encode()
    return Reply(status, body, tuple((name.replace("_", "-"), text) for name, text in headers.items()))


def user(number: int, **more: Any) -> Document:
    """One user, with the attributes that most have."""
    return {
        "schemas": [USER],
        "id": f"id-{number}",
        "userName": f"p{number:04}",
        "name": {"givenName": f"Zoë {number}", "familyName": "Doe"},
        "active": number % 2 == 0,
        "emails": [{"value": f"p{number}@example.com", "type": "work", "primary": True}],
        "meta": {"resourceType": "User", "version": f'W/"{number}"'},
        **more,
    }


def users(count: int) -> list[Document]:
    return [user(number) for number in range(count)]


def honest(_number: int, _query: dict[str, str], document: Document) -> "Document | Reply":
    return document


@dataclass
class ScimService:
    """What it holds, how it pages, and what it does to its answers. `url` while it is served."""

    people: list[Document]
    page_max: int = 1000
    default: Literal["index", "cursor"] = "index"
    totals: bool = True  # whether a page by cursor says how many there are
    bend: Callable[[int, dict[str, str], Document], object] = honest
    asked: list[dict[str, str]] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def answer(self, query: dict[str, str]) -> Document:
        """The honest answer to a query."""
        count = min(int(query.get("count", "100")), self.page_max)
        by_cursor = "cursor" in query or ("startIndex" not in query and self.default == "cursor")
        at = int(query.get("cursor") or 0) if by_cursor else int(query.get("startIndex", "1")) - 1
        rows = self.people[at : at + count]
        document: Document = {"schemas": [LIST], "itemsPerPage": len(rows), "Resources": rows}
        if self.totals or not by_cursor:
            document["totalResults"] = len(self.people)
        if by_cursor and at + count < len(self.people):
            document["nextCursor"] = str(at + count)
        if not by_cursor:
            document["startIndex"] = at + 1
        return document


@contextmanager
def serving(service: ScimService) -> Iterator[ScimService]:
    """Serve it in threads, until the end of the block."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 64 * 1024  # head and body leave together, and no side waits for the other

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            number = len(service.asked)
            service.asked.append({"path": parts.path, **query})
            service.heads.append({name.lower(): text for name, text in self.headers.items()})
            found = service.bend(number, query, service.answer(query))
            self.send(found if isinstance(found, Reply) else Reply(body=json.dumps(found).encode()))

        def send(self, reply: Reply) -> None:
            if reply.hangs:
                over.wait()
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, text in reply.headers:
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[: reply.cut])
            self.close_connection = self.close_connection or reply.cut is not None

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            pass  # the client went away, which is what some tests are about

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True).start()
        service.url = f"http://127.0.0.1:{server.server_address[1]}/scim/v2"
        try:
            yield service
        finally:
            over.set()
            server.shutdown()
