"""What the tests of the client share: settings with canaries, a clock, and a wire that plays a script."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

import clock
import httpx2
from simulation.virtualloop import in_no_time

from reconciler.errors import ServiceError
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth, Limits, SendKey, Service
from reconciler.sandbox.app import SandboxConfig, create_app
from reconciler.service.http.limiter import Timing

KEY = "canary-key+7f3a91c2/="
PASSWORD = "canary-password"
USER = "canary-user"
BASE = "http://service.test"
ID = "4C8FE1A2B3D4E5F6"

T = TypeVar("T")
Play = httpx2.Response | Exception | Callable[[httpx2.Request], Awaitable[httpx2.Response]]


def service(base_url: str = BASE, *, send_key: SendKey = "header", key: str = KEY, **limits: Any) -> Service:
    """Settings with canary credentials and no spacing between requests."""
    auth = Auth(Secret(USER), Secret(PASSWORD), Secret(key), send_key)
    return Service(base_url=base_url, auth=auth, limits=Limits(**{"requests_per_second": 0, **limits}))


class Clock(clock.Clock):
    """The clock of the tests for one who sleeps, in any event loop: a sleep moves it, and is remembered."""

    def __init__(self, chance: float = 0.5) -> None:
        super().__init__()
        self.elapsed_s = 1000.0  # of a machine that was started before
        self.slept: list[float] = []
        self.chance = chance

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_s(seconds)
        await asyncio.sleep(0)

    @property
    def timing(self) -> Timing:
        return Timing(monotonic=self.monotonic, sleep=self.sleep, random=lambda: self.chance)


class Wire(httpx2.AsyncBaseTransport):
    """Plays a script, one entry for each request, the last one for ever; keeps what was sent."""

    def __init__(self, *script: Play) -> None:
        self.script = list(script)
        self.sent: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        play = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(play, Exception):
            raise play
        if isinstance(play, httpx2.Response):
            # A response can be read once only; the script may play it again.
            return httpx2.Response(play.status_code, headers=play.headers, content=play.content)
        return await play(request)

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.sent]


def answer(status: int, body: object = b"", **headers: str) -> httpx2.Response:
    """A response; a body that is no bytes is sent as JSON. Header names are written with _ for -."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, headers=named, content=content)


def app_wire(handle: Callable[[httpx2.Request], httpx2.Response]) -> Wire:
    """A wire on which a function answers."""

    async def play(request: httpx2.Request) -> httpx2.Response:
        return handle(request)

    return Wire(play)


def contact(remote_id: str, **fields: object) -> dict[str, Any]:
    """A contact's list row."""
    link = [{"uri": f"https://elsewhere.test/contacts/{remote_id}", "rel": "self", "method": "GET"}]
    return {"id": remote_id, "firstName": "Jane", "lastName": "Doe", **fields, "link": link}


def listing(rows: Iterable[dict[str, Any]], status: str = "", **more: object) -> dict[str, Any]:
    """A list document of contacts."""
    return {"contacts": list(rows), "status": status, "link": [], **more}


END = {"status": "No records found", "link": []}


def with_client(
    wire: httpx2.AsyncBaseTransport | None,
    work: Callable[[ServiceClient], Coroutine[Any, Any, T]],
    *,
    clock: Clock | None = None,
    settings: Service | None = None,
) -> T:
    """Run `work` with a client on this wire (None: the network), by this clock.

    Without a clock: by the real one on the network; on a wire, waiting takes no time.
    """

    async def main() -> T:
        timing = clock.timing if clock else Timing.real()
        if wire and not clock:
            loop = asyncio.get_running_loop()
            timing = Timing(monotonic=loop.time, sleep=asyncio.sleep, random=lambda: 0.5)
        async with open_service_client(settings or service(), timing=timing, connections=wire) as client:
            return await work(client)

    return in_no_time(main()) if wire and not clock else asyncio.run(main())


def failure(
    wire: httpx2.AsyncBaseTransport | None,
    work: Callable[[ServiceClient], Coroutine[Any, Any, object]],
    *,
    settings: Service | None = None,
    clock: Clock | None = None,
) -> ServiceError:
    """The ServiceError that `work` ends with; anything else is a broken claim."""
    try:
        result = with_client(wire, work, clock=clock or Clock(), settings=settings)
    except ServiceError as error:
        return error
    raise AssertionError(f"no error, but {result!r}")


CALLS: dict[str, Callable[[ServiceClient], Coroutine[Any, Any, object]]] = {
    "GET": lambda client: client.contacts.get(ID),
    "POST": lambda client: client.contacts.create({"firstName": "Jane"}),
    "PUT": lambda client: client.contacts.replace(ID, {"firstName": "Jane"}),
    "DELETE": lambda client: client.contacts.delete(ID),
}
"""One call of each method."""


def sandbox_config(**options: Any) -> SandboxConfig:
    """A sandbox that knows our canaries."""
    return SandboxConfig(username=USER, password=PASSWORD, api_key=KEY, **options)


def sandbox(**options: Any) -> httpx2.ASGITransport:
    """A sandbox in process."""
    return httpx2.ASGITransport(app=create_app(sandbox_config(**options)))


class Chunks(httpx2.AsyncByteStream):
    """A body that arrives piece by piece; an exception among the pieces is raised there."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece
