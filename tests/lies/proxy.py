"""A proxy between the command and the service that lies. It knows HTTP, and nothing of the client.

    proxy = Proxy(sandbox_address)
    with proxy.running(), proxy.telling(Lie("a PUT without effect", is_put, nothing(204))):
        ...  # the command, against proxy.address

Belongs here: sockets, passing requests on, and who counts the lies. Not here: which lies there are (told.py).
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import tally

# What belongs to one connection and not to the message; each side has its own.
_HOP = frozenset({"connection", "content-length", "host", "transfer-encoding", "accept-encoding"})
_timeout_s = 60.0  # seconds for one exchange with the service behind


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came; header names in lower case, `at` seconds on the monotonic clock."""

    method: str
    address: str  # path and query
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def path(self) -> str:
        return self.address.partition("?")[0]

    def values(self) -> dict[str, Any]:
        """The JSON object of the body; empty where there is none."""
        found: dict[str, Any] = json.loads(self.body) if self.body else {}
        return found

    def saying(self, values: dict[str, Any]) -> "Request":
        """Return the same request with another body."""
        return replace(self, body=json.dumps(values).encode())


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as it is sent."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


Truth = Callable[[Request], Answer]
Tell = Callable[[Request, Truth], Answer | None]


@dataclass(frozen=True, slots=True)
class Lie:
    """What is answered instead of the truth: which requests, how, and how often at most.

    `tell` gets the request and a way to the service; None closes the connection without an answer.
    """

    name: str
    when: Callable[[Request], bool]
    tell: Tell
    most: int = 1_000_000
    counted: bool = True  # in the tally; not where most of what is told is true


@dataclass
class Proxy:
    """A port of its own on loopback; every request is passed on to `target`, or lied about."""

    target: str  # http://127.0.0.1:PORT
    address: str = ""
    latency_s: float = 0.0  # added to every exchange, half of it on the way there
    seen: list[Request] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    _lies: tuple[Lie, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        """Take connections until the end of the context."""
        server = _Server(("127.0.0.1", 0), _handler(self))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        self.address = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    @contextmanager
    def telling(self, *lies: Lie) -> Iterator[None]:
        """Tell these lies until the end of the context, in which each has to be told at least once."""
        before = Counter(self.told)
        self._lies = lies
        try:
            yield
        finally:
            self._lies = ()
        for lie in lies:
            times = self.told[lie.name] - before[lie.name]
            assert times, f"nobody was told this: {lie.name}"
            if lie.counted:
                tally.count("lies told", lie.name, times)

    def answer(self, request: Request) -> Answer | None:
        """Return what is answered: the truth, or the first lie that is meant for this request."""
        time.sleep(self.latency_s / 2)
        with self._lock:
            self.seen.append(replace(request, at=time.monotonic()))
            lie = next((one for one in self._lies if self._fits(one, request)), None)
            if lie:
                self.told[lie.name] += 1
        found = lie.tell(request, self.truth) if lie else self.truth(request)
        time.sleep(self.latency_s / 2)
        return found

    def truth(self, request: Request) -> Answer:
        """Return what the service answers. It carries the request out."""
        connection = HTTPConnection(self.target.removeprefix("http://"), timeout=_timeout_s)
        headers = {name: text for name, text in request.headers.items() if name not in _HOP}
        try:
            connection.request(request.method, request.address, request.body or None, headers)
            answer = connection.getresponse()
            return Answer(answer.status, tuple(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def writes(self) -> list[Request]:
        """What came that is no GET, oldest first."""
        with self._lock:
            return [one for one in self.seen if one.method != "GET"]

    def _fits(self, lie: Lie, request: Request) -> bool:
        return self.told[lie.name] < lie.most and lie.when(request)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    block_on_close = False

    def handle_error(self, *_: Any) -> None:
        """A client that went away is none of our business; some tests kill it."""


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing: the command's output is what the tests read."""

        def handle_one(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): text for name, text in self.headers.items()}
            body = self.rfile.read(length)
            found = proxy.answer(Request(self.command, self.path, headers, body, time.monotonic()))
            if found is None:
                self.close_connection = True
                return
            self.send_response_only(found.status)
            for name, text in found.headers:
                if name.lower() not in _HOP:
                    self.send_header(name, text)
            empty = found.status == 204
            if not empty:
                self.send_header("Content-Length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(b"" if empty else found.body)

        do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815 - the names that the base class looks for

    return Handler
