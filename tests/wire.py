"""The wire of the tests, between a client and a sandbox in process: it counts, and plays what goes wrong.

    world.wire.rules.append(Rule("POST", lost_after, nth=1))

A fault is a function of a request and of what would carry it out; what it returns is the answer. A rule says
to which requests it happens. What plays a script, and has no service behind it, is service/support.py.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

Send = Callable[[], Awaitable[httpx2.Response]]
Fault = Callable[[httpx2.Request, Send], Awaitable[httpx2.Response]]


@dataclass
class Rule:
    """What happens to the `nth` request (from 1) of a method, of those made `when`; 0, "": to every one."""

    method: str
    fault: Fault
    nth: int = 0
    when: Callable[[], bool] = lambda: True
    seen: int = 0

    def fits(self, request: httpx2.Request) -> bool:
        if self.method not in ("", request.method) or not self.when():
            return False
        self.seen += 1
        return self.nth in (0, self.seen)


@dataclass
class Wire(httpx2.AsyncBaseTransport):
    """Passes requests on, counts them, and plays the rules."""

    inner: httpx2.AsyncBaseTransport
    rules: list[Rule] = field(default_factory=list)
    sent: list[tuple[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append((request.method, request.url.path))
        self.bodies.append(await request.aread())

        async def send() -> httpx2.Response:
            return await self.inner.handle_async_request(request)

        for rule in self.rules:
            if rule.fits(request):
                return await rule.fault(request, send)
        return await send()

    def count(self) -> Counter[str]:
        return Counter(method for method, _ in self.sent)

    def writes(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path in self.sent if method != "GET"]


async def lost_before(request: httpx2.Request, send: Send) -> httpx2.Response:
    """The request never arrives, and nobody can tell."""
    raise httpx2.ReadError("lost", request=request)


async def lost_after(request: httpx2.Request, send: Send) -> httpx2.Response:
    """The request is carried out, and its answer is lost."""
    await send()
    raise httpx2.ReadError("lost", request=request)


async def wrong(request: httpx2.Request, send: Send) -> httpx2.Response:
    """The request is carried out, and then a mistake of ours shows, whose text holds what it should not."""
    await send()
    raise ZeroDivisionError("canary")


def answered(status: int, headers: Mapping[str, str] | None = None, *, done: bool = False) -> Fault:
    """The request is refused with this status, or is carried out and looks refused."""

    async def fault(request: httpx2.Request, send: Send) -> httpx2.Response:
        if done:
            await send()
        return httpx2.Response(status, headers=dict(headers or {}), stream=httpx2.ByteStream(b"{}"))

    return fault


def at_paths(faults: Mapping[str, Fault]) -> Fault:
    """Requests meet the fault of the part that their URL has; all others are carried out."""

    async def fault_there(request: httpx2.Request, send: Send) -> httpx2.Response:
        found = next((one for part, one in faults.items() if part in str(request.url)), None)
        return await (found(request, send) if found else send())

    return fault_there


def shown_without(field: str) -> Fault:
    """The answer lacks a field that the entity, or each of a list, has."""

    def without(body: dict[str, Any]) -> None:
        body.pop(field, None)
        for row in body.get("contacts", []):
            row.pop(field, None)

    return edited(without)


def without_parameter(name: str) -> Fault:
    """The service has never heard of a parameter of the query."""

    async def fault(request: httpx2.Request, send: Send) -> httpx2.Response:
        request.url = request.url.copy_remove_param(name)
        return await send()

    return fault


def edited_list(edit: Callable[[dict[str, Any]], dict[str, Any]]) -> Fault:
    """A list of contacts is not quite what the service said; one contact is."""
    edits = edited(lambda body: _become(body, edit(body)))

    async def fault(request: httpx2.Request, send: Send) -> httpx2.Response:
        return await (send() if "contacts/" in request.url.path else edits(request, send))

    return fault


def _become(body: dict[str, Any], other: dict[str, Any]) -> None:
    body.clear()
    body.update(other)


def nobody(_: dict[str, Any]) -> dict[str, Any]:
    """A list in which nobody is, for `edited_list`."""
    return {"status": "No records found", "link": []}


def edited(edit: Callable[[dict[str, Any]], None]) -> Fault:
    """The answer is not quite what the service said."""

    async def fault(_: httpx2.Request, send: Send) -> httpx2.Response:
        response = await send()
        body = json.loads(await response.aread())
        edit(body)
        content = json.dumps(body).encode()
        headers = {"content-type": response.headers["content-type"], "date": response.headers["date"]}
        return httpx2.Response(response.status_code, headers=headers, stream=httpx2.ByteStream(content))

    return fault
