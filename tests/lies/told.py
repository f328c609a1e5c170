"""The table of lies: for which requests, and what is said instead of the truth.

Belongs here: what a broken service, gateway or cache answers. Not here: what the command has to do about it.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlencode

from lies.proxy import Answer, Lie, Request, Tell, Truth

CONTACT = ("Content-Type", "application/vnd.service.contact-v1+json")
PAGE = b"<!doctype html><title>404 Not Found</title><h1>Not Found</h1>"
ERROR = json.dumps({"errorSummary": "no", "errorText": "no", "link": []}).encode()
_PAGE_KEYS = ("limit", "offset", "fields", "customFields")
NOBODY = json.dumps({"status": "No records found", "link": []}).encode()

When = Callable[[Request], bool]


def asked(method: str, start: str = "/contacts", *, text: str = "") -> When:
    """Whether a request is one of these: its method, the start of its path, text in its body."""

    def fits(request: Request) -> bool:
        wanted = request.method == method and request.path.startswith(start)
        return wanted and text.encode() in request.body

    return fits


def is_list(request: Request) -> bool:
    """Whether the list of contacts is asked for, or searched."""
    return request.method == "GET" and request.path == "/contacts"


def every_third(when: When) -> When:
    """Whether a request is the first, fourth, seventh ... of those that fit."""
    turns = count()
    return lambda request: when(request) and next(turns) % 3 == 0


def instead(status: int, body: bytes = b"", *headers: tuple[str, str]) -> Tell:
    """Answer this, and carry nothing out."""
    return lambda _request, _truth: Answer(status, headers, body)


def after_all(status: int, body: bytes = b"", *headers: tuple[str, str]) -> Tell:
    """Carry it out, and answer this."""

    def tell(request: Request, truth: Truth) -> Answer:
        truth(request)
        return Answer(status, headers, body)

    return tell


def carried_out_and_lost(request: Request, truth: Truth) -> None:
    """Carry it out, and close the connection."""
    truth(request)


def with_fields(**other: str) -> Tell:
    """Carry a write out with these fields as they are here, whatever was sent."""
    return lambda request, truth: truth(request.saying({**request.values(), **other}))


def without_fields(*names: str) -> Tell:
    """Carry a write out without these fields."""

    def tell(request: Request, truth: Truth) -> Answer:
        kept = {name: value for name, value in request.values().items() if name not in names}
        return truth(request.saying(kept))

    return tell


def unfiltered(request: Request, truth: Truth) -> Answer:
    """Answer a search as if it had no filter."""
    asked_for = parse_qsl(request.address.partition("?")[2])
    kept = [(key, text) for key, text in asked_for if key in _PAGE_KEYS]
    return truth(replace(request, address=f"{request.path}?{urlencode(kept)}"))


def at_another(path: str) -> Tell:
    """Carry it out at another address."""
    return lambda request, truth: truth(replace(request, address=path))


def later(wait_s: float, status: int) -> Tell:
    """Answer at once, and carry it out after this many seconds."""

    def tell(request: Request, truth: Truth) -> Answer:
        threading.Timer(wait_s, truth, (request,)).start()
        return Answer(status)

    return tell


def with_status(status: int) -> Tell:
    """Answer the truth under another status."""
    return lambda request, truth: replace(truth(request), status=status)


def naming(remote_id: str, body: dict[str, Any] | None = None) -> Tell:
    """Answer a create with this id and body (otherwise an echo of what was sent), and carry nothing out."""
    link = [{"rel": "self", "uri": f"/contacts/{remote_id}"}]

    def tell(request: Request, _truth: Truth) -> Answer:
        shown = body or {**request.values(), "id": remote_id, "link": link}
        return Answer(201, (CONTACT, ("Location", f"/contacts/{remote_id}")), json.dumps(shown).encode())

    return tell


@dataclass
class Kept:
    """Holds the first request that fits back, loses its answer, and carries it out when told to."""

    when: When
    request: Request | None = None

    def lie(self, name: str) -> Lie:
        return Lie(name, self.when, self._hold, most=1)

    def land(self, truth: Truth) -> None:
        """Carry out what was held back."""
        assert self.request
        truth(self.request)

    def _hold(self, request: Request, _truth: Truth) -> None:
        self.request = request


@dataclass
class Pairs:
    """Two answers at a time change places: each request gets the other's."""

    wait_s: float = 1.0  # for the second one; alone it gets its own answer
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _waiting: "list[tuple[Answer, list[Answer], threading.Event]]" = field(default_factory=list)
    swapped: int = 0

    def tell(self, request: Request, truth: Truth) -> Answer:
        mine = truth(request)
        with self._lock:
            if self._waiting:
                other, got, ready = self._waiting.pop()
                got.append(mine)
                ready.set()
                self.swapped += 1
                return other
            me: tuple[Answer, list[Answer], threading.Event] = (mine, [], threading.Event())
            self._waiting.append(me)
        if me[2].wait(self.wait_s):
            return me[1][0]
        with self._lock:
            if me in self._waiting:
                self._waiting.remove(me)
                return mine
        return me[1][0]


@dataclass
class Merged:
    """Every create is carried out; all are answered with what the first one was answered."""

    first: Answer | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, request: Request, truth: Truth) -> Answer:
        with self._lock:
            mine = truth(request)
            self.first = self.first or mine
            return self.first


@dataclass
class Gateway:
    """Stores whole answers to GET by their address. `manner` is how honest it is about that.

    heeds: it asks again where `no-cache` is asked for; tells: it does not, and says how old an answer is;
    hides: neither, and it puts the present time into the date.
    """

    manner: str
    keep_s: float = 20.0
    _stored: dict[str, tuple[float, Answer]] = field(default_factory=dict)

    def when(self, request: Request) -> bool:
        return request.method == "GET" and not request.path.startswith("/_sandbox")

    def tell(self, request: Request, truth: Truth) -> Answer:
        stored_at, stored = self._stored.get(request.address, (0.0, None))
        age_s = time.monotonic() - stored_at
        asks = self.manner == "heeds" and "no-cache" in request.headers.get("cache-control", "")
        if stored is None or age_s > self.keep_s or asks:
            fresh = truth(request)
            if fresh.status == 200:
                self._stored[request.address] = (time.monotonic(), fresh)
            return fresh
        if self.manner == "hides":
            now = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
            kept = [pair for pair in stored.headers if pair[0].lower() != "date"]
            return replace(stored, headers=(*kept, ("Date", now)))
        return replace(stored, headers=(*stored.headers, ("Age", str(int(age_s)))))
