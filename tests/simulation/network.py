"""The way between a run and the model of the service, and everything that can happen on it.

A request that has left is the network's: it arrives though its sender dies. What arrives, when, how often,
and what of the answer comes back is drawn from the seed. Nothing is judged here (oracle.py).
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import Context
from dataclasses import dataclass, replace
from datetime import timedelta
from email.utils import format_datetime
from random import Random
from typing import Protocol

import httpx2
from simulation import liar, modelwire
from simulation.cache import Cache
from simulation.faults import Faults, active_share
from simulation.modelservice import EPOCH, Model
from simulation.modelwire import Answer
from simulation.virtualloop import Killed, Process, VirtualLoop

HOST = "service.example.com"
held_s = 2.0  # how long an answer waits for another one to be swapped with
tries = 7  # kinds of trouble that one request is exposed to, of those there are

NEVER_SENT = ("refused", "no name", "connect timeout")
LOST = ("reset before", "reset after", "no answer before", "no answer after", "cut body", "cut silently")
REFUSED = (
    "500 before",
    "500 after",
    "502 before",
    "502 after",
    "503 before",
    "503 after",
    "429",
    "over rate",
)
STOPPED = ("401", "403", "quota")
STRANGE = ("html 200", "empty 200", "error 200", "twice")
READ_ONLY = ("repeated page", "foreign link", "foreign 404")
WRITE_ONLY = ("late", "late beyond")
# The service says that it was done, and it was not, or not all of it, or not yet, or it names another entity.
LIES = {
    "GET": ("absent though there", "shows another"),  # of a look at one entity; a list is told truly
    "POST": ("swapped answers", "names another"),
    "PUT": ("no effect", "field ignored", "done later"),
    "DELETE": ("no effect", "done later"),
}
GET_KINDS = (*NEVER_SENT, *LOST, *REFUSED, *STOPPED, *STRANGE, *READ_ONLY)
WRITE_KINDS = (*NEVER_SENT, *LOST, *REFUSED, *STOPPED, *STRANGE, *WRITE_ONLY)
KINDS: dict[str, tuple[str, ...]] = {
    method: (*(GET_KINDS if method == "GET" else WRITE_KINDS), *lies) for method, lies in LIES.items()
}
RARE = {"401": 0.06, "403": 0.06, "quota": 0.06, "late beyond": 0.2, "twice": 0.1}
# The worlds in which these may happen are more than those of other faults: few requests are a PUT, a DELETE
# or one of several creates, and in as many worlds as others have a whole run met some twenty, now nine and
# now thirty.
MANY = dict.fromkeys(("no effect", "field ignored", "done later", "names another", "swapped answers"), 0.6)
LYING = {
    "no effect": liar.no_effect,
    "field ignored": liar.field_ignored,
    "names another": liar.names_another,
    "absent though there": liar.absent_though_there,
    "shows another": liar.shows_another,
}
AFTER = frozenset({"reset after", "no answer after", "500 after", "502 after", "503 after", "twice"})
RETRY_AFTER = ("", "1", "7", "100000", "-5", "soon", "date")


@dataclass(frozen=True, slots=True)
class Request:
    """A request on the wire. `late` is the fault by which it arrives long after its sender gave up."""

    process: Process
    number: int
    method: str
    host: str
    path: str
    query: str
    content: bytes
    task: int = 0  # of its sender: one task goes about one change at a time
    late: str = ""
    copy: bool = False  # made by the network, not by the sender
    no_cache: bool = False  # asks caches for the service's own answer

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def address(self) -> str:
        return f"{self.path}?{self.query}"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Judge(Protocol):
    """Whoever hears of everything on the wire."""

    def effect(self, process: Process, what: str) -> None:
        """Count a side effect of the process that is about to happen, or has; it may die of it."""

    def leaves(self, request: Request) -> None:
        """Hear of a request at the moment in which it leaves its sender."""

    def arrived(self, request: Request, answer: Answer) -> None:
        """Hear of a request that the service has dealt with."""

    def told(self, request: Request, status: int) -> None:
        """Hear of an answer that has reached its sender."""


class Network:
    """One service and the wires to it."""

    def __init__(self, loop: VirtualLoop, model: Model, faults: Faults, judge: Judge, chance: Random) -> None:
        self.loop = loop
        self.model = model
        self.faults = faults
        self.judge = judge
        self.settle_s = 10.0
        self._chance = chance
        self._outside = Context()
        self._sent = 0
        self.cache = Cache(loop.time, faults, chance)
        # The path of a create whose answer waits for another one -> that answer, and who waits for it.
        self._held: dict[str, tuple[Answer, asyncio.Future[Answer]]] = {}
        self.scripted: dict[int, str] = {}  # number of a write (from 1) -> the trouble that it meets
        self.writes = 0
        self.meanwhile: Callable[[Request], None] | None = (
            None  # called when a request arrives, before it counts
        )

    def wire(self, process: Process) -> "Wire":
        """The way of one run to the service."""
        return Wire(self, process)

    async def carry(self, request: Request) -> httpx2.Response:
        """What its sender gets. Raises the library's errors, as the library does."""
        trouble = self._trouble(request)
        if trouble in NEVER_SENT:
            self.faults.count(trouble)
            await asyncio.sleep(self._delay())
            raise _not_sent(trouble)
        self.judge.effect(request.process, f"before {request}")
        self.judge.leaves(request)
        if trouble:
            self.faults.count(trouble)
        answer: asyncio.Future[Answer] = self.loop.create_future()
        if trouble in WRITE_ONLY:
            await self._lands_late(request, trouble)
        cached = self._cached(request)
        if cached is not None:
            self.faults.count("cached answer")
            self._later(self._delay(), lambda: _given(answer, cached))
        else:
            self._send(request, trouble, answer)
        status = await self._answered(request, trouble, answer)
        self.judge.told(request, status.status_code)
        return status

    def pick(self, method: str) -> str:
        """The trouble that a request meets now, or ""."""
        for kind in self.faults.chance.sample(KINDS[method], tries):
            share = RARE.get(kind, self.faults.strike_share)
            if (
                self.faults.on
                and self.faults.active(f"{kind}:{method}", MANY.get(kind, active_share))
                and self.faults.chance.random() < share
            ):
                return kind
        return ""

    def _trouble(self, request: Request) -> str:
        self.writes += request.writes
        if request.writes and self.writes in self.scripted:
            return self.scripted[self.writes]
        return self.pick(request.method) if self.faults.on else ""

    def _delay(self) -> float:
        return self._chance.uniform(0.001, 0.05)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        """Let something happen that belongs to no process."""
        self.loop.call_later(seconds, call, context=self._outside.copy())

    def _send(self, request: Request, trouble: str, answer: "asyncio.Future[Answer]") -> None:
        """The service deals with it a little later, and a little later still its answer is there."""

        def arrives() -> None:
            found = self._dealt(request, trouble)
            if not request.writes:
                self.cache.keep(request.address, found)
            if request.method == "POST" and self._swapped(request, trouble, found, answer):
                return
            self._later(self._delay(), lambda: _given(answer, found))

        self._later(self._delay(), arrives)

    def _cached(self, request: Request) -> Answer | None:
        if request.writes or not self.faults.on:
            return None
        fresh = modelwire.dated(self.model.now())
        return self.cache.answer(request.address, no_cache=request.no_cache, fresh=fresh)

    def _swapped(
        self, request: Request, trouble: str, found: Answer, answer: "asyncio.Future[Answer]"
    ) -> bool:
        """Hold the answer to a create until there is another one like it, and exchange the two."""
        place = request.path
        held = self._held.pop(place, None)
        if held is not None and not held[1].done():
            held[1].set_result(found)
            answer.set_result(held[0])
            return True
        if trouble != "swapped answers" or found.write is None:
            return False
        self._held[place] = (found, answer)
        self._later(held_s, lambda: _given(answer, found))
        return True

    def _dealt(self, request: Request, trouble: str) -> Answer:
        early = self._early(trouble)
        if early is not None:
            return early
        if trouble in ("reset before", "no answer before"):
            return Answer(0)
        asked = self._page_before(request) if trouble == "repeated page" else request
        found = self._deal(asked, trouble)
        if trouble == "twice":
            self._later(self._delay(), lambda: self._again(request))
        return self._late_refusal(trouble) or found

    def _deal(self, request: Request, trouble: str = "") -> Answer:
        if self.meanwhile is not None:
            self.meanwhile(request)
        found = self._answer(request, trouble)
        self.judge.arrived(request, found)
        if request.writes and not request.late and not request.copy:
            self.judge.effect(request.process, f"after {request}")
        return found

    def _answer(self, request: Request, trouble: str) -> Answer:
        """What the service does, and says; where it lies, it does something else."""
        if trouble in LYING:
            return LYING[trouble](self.model, request, self._chance)
        if trouble == "done later":
            later = replace(request, late=trouble)
            wait_s = self._chance.uniform(0.1, self.settle_s * 0.9)
            self._later(wait_s, lambda: self._arrives_late(later))
            return Answer(202, b"", modelwire.dated(self.model.now()))
        return modelwire.answer(self.model, request.method, request.path, request.query, request.content)

    def _again(self, request: Request) -> None:
        self._deal(replace(request, copy=True))

    def _early(self, trouble: str) -> Answer | None:
        """A refusal before anything was done."""
        status, code = {
            "500 before": (500, ""),
            "502 before": (502, ""),
            "503 before": (503, ""),
            "429": (429, ""),
            "over rate": (403, "ERR_403_DEVELOPER_OVER_QPS"),
            "quota": (403, "ERR_403_DEVELOPER_OVER_QPD"),
            "401": (401, ""),
            "403": (403, ""),
            "422": (422, ""),  # scripted only
            "foreign 404": (404, ""),
        }.get(trouble, (0, ""))
        if not status:
            return None
        if trouble == "foreign 404":
            return Answer(404, b"<html><body>nothing here</body></html>")
        headers = {"x-error-code": code} if code else {}
        return self._refusal(status, headers)

    def _late_refusal(self, trouble: str) -> Answer | None:
        """A failure that is told after all was done."""
        status = {"500 after": 500, "502 after": 502, "503 after": 503}.get(trouble, 0)
        return self._refusal(status, {}) if status else None

    def _refusal(self, status: int, headers: Mapping[str, str]) -> Answer:
        asked = self._chance.choice(RETRY_AFTER)
        if asked == "date":
            asked = format_datetime(EPOCH + timedelta(seconds=self.model.now() + 3), usegmt=True)
        more = {"retry-after": asked} if asked and status in (429, 503) else {}
        return modelwire.refusal(
            self.model.switches, status, "not now", self.model.now(), {**headers, **more}
        )

    def _page_before(self, request: Request) -> Request:
        """The same question with an offset that was answered already."""
        parts = request.query.split("&")
        moved = ["offset=0" if part.startswith("offset=") else part for part in parts]
        return replace(request, query="&".join(moved))

    async def _lands_late(self, request: Request, trouble: str) -> None:
        """The sender hears that the connection broke, and the request arrives seconds later."""
        window = self.settle_s
        wait = self._chance.uniform(0.1, window * 0.9) if trouble == "late" else window * 2 + 400
        late = replace(request, late=trouble)
        self._later(wait, lambda: self._arrives_late(late))
        await asyncio.sleep(self._delay())
        raise httpx2.ReadError("lost")

    def _arrives_late(self, request: Request) -> None:
        self._deal(request)

    async def _answered(
        self, request: Request, trouble: str, answer: "asyncio.Future[Answer]"
    ) -> httpx2.Response:
        if trouble in ("no answer before", "no answer after"):
            await self.loop.create_future()  # until the client's own deadline
        found = await answer
        if not request.process.alive:
            raise Killed
        if trouble in ("reset before", "reset after"):
            raise httpx2.ReadError("the connection was reset")
        return _response(found, trouble)


def _given(answer: "asyncio.Future[Answer]", found: Answer) -> None:
    if not answer.done():
        answer.set_result(found)


class Wire(httpx2.AsyncBaseTransport):
    """The transport of one run's client. `sent` counts what left."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network = network
        self._process = process

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not self._process.alive:
            raise Killed
        self._network._sent += 1
        content = await request.aread()
        path, _, query = request.url.raw_path.decode("ascii").partition("?")
        return await self._network.carry(
            Request(
                self._process,
                self._network._sent,
                request.method,
                request.url.host,
                path,
                query,
                content,
                hash(asyncio.current_task()),
                no_cache="no-cache" in request.headers.get("cache-control", ""),
            )
        )


class _Cut(httpx2.AsyncByteStream):
    """A body that breaks off, with an error or as if that were all of it."""

    def __init__(self, content: bytes, *, silently: bool) -> None:
        self._content = content
        self._silently = silently

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content[: len(self._content) // 2]
        if not self._silently:
            raise httpx2.RemoteProtocolError("the peer closed the connection")


def _response(found: Answer, trouble: str) -> httpx2.Response:
    headers = dict(found.headers)
    success = 200 <= found.status < 300
    match trouble:
        case "html 200":
            return httpx2.Response(200, stream=httpx2.ByteStream(b"<html><body>welcome</body></html>"))
        case "empty 200":
            return httpx2.Response(200, stream=httpx2.ByteStream(b""))
        case "error 200" if success:
            body = b'{"errorSummary":"no","errorText":"no","link":[]}'
            return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(body))
        case "foreign link":
            body = found.body.replace(modelwire.LINKS.encode(), b"https://collector.example.net")
            return httpx2.Response(found.status, headers=headers, stream=httpx2.ByteStream(body))
        case "cut body" | "cut silently" if found.body:
            stream = _Cut(found.body, silently=trouble == "cut silently")
            return httpx2.Response(found.status, headers=headers, stream=stream)
    return httpx2.Response(found.status, headers=headers, stream=httpx2.ByteStream(found.body))


def _not_sent(trouble: str) -> httpx2.TransportError:
    if trouble == "connect timeout":
        return httpx2.ConnectTimeout("no connection in time")
    error = httpx2.ConnectError("no connection")
    error.__cause__ = ConnectionRefusedError() if trouble == "refused" else socket.gaierror()
    return error
