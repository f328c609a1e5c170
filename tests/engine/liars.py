"""A service that says yes and does something else: writes without effect, answers that name somebody else."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Literal

import httpx2
from wire import Fault, Send


def yes(status: int = 204) -> Fault:
    """Say that it is done, and do nothing."""

    async def fault(_: httpx2.Request, __: Send) -> httpx2.Response:
        return httpx2.Response(status, stream=httpx2.ByteStream(b""))

    return fault


def ignoring(inner: httpx2.AsyncBaseTransport, *fields: str, status: int = 0) -> Fault:
    """Carry out a POST or PUT, and leave these fields as they were."""

    async def fault(request: httpx2.Request, _: Send) -> httpx2.Response:
        body = json.loads(await request.aread())
        before = await _body(inner, request) if request.method == "PUT" else {}
        for field in fields:
            body.pop(field, None)
            if field in before:
                body[field] = before[field]
        answer = await inner.handle_async_request(_again(request, body))
        if not status:
            return answer
        return httpx2.Response(status, stream=httpx2.ByteStream(b""))

    return fault


def writing(inner: httpx2.AsyncBaseTransport, field: str, how: Callable[[str], str]) -> Fault:
    """Carry out a POST or PUT, and keep one field in another way than it was sent."""

    async def fault(request: httpx2.Request, _: Send) -> httpx2.Response:
        body = json.loads(await request.aread())
        if field in body:
            body[field] = how(body[field])
        return await inner.handle_async_request(_again(request, body))

    return fault


def swapped() -> Fault:
    """Carry out two POSTs, and give each the answer of the other."""
    first: list[asyncio.Future[httpx2.Response]] = []
    mine: list[httpx2.Response] = []

    async def fault(_: httpx2.Request, send: Send) -> httpx2.Response:
        answer = await _whole(await send())
        if not first:
            first.append(asyncio.get_running_loop().create_future())
            mine.append(answer)
            return await first[0]
        first[0].set_result(answer)
        return mine[0]

    return fault


def one_id(of: Literal["first", "second"], recorded: asyncio.Event) -> Fault:
    """Carry out two POSTs, and answer the id of one of them to both; the second one after `recorded`."""
    answers: list[httpx2.Response] = []
    both = asyncio.Event()

    async def fault(_: httpx2.Request, send: Send) -> httpx2.Response:
        own = await _whole(await send())
        answers.append(own)
        if own is answers[0]:
            if of == "first":
                return own
            await both.wait()
            return await _named_as(own, answers[1])
        both.set()
        await recorded.wait()
        return own if of == "second" else await _named_as(own, answers[0])

    return fault


async def _named_as(answer: httpx2.Response, other: httpx2.Response) -> httpx2.Response:
    """The same answer with the id of the other one, wherever it names one."""
    mine, its = (one.headers["location"].rsplit("/", 1)[-1].encode() for one in (answer, other))
    content = (await answer.aread()).replace(mine, its)
    headers = {**answer.headers, "location": other.headers["location"]}
    return httpx2.Response(answer.status_code, headers=headers, stream=httpx2.ByteStream(content))


def answering_with(body: dict[str, Any], location: str) -> Fault:
    """Do nothing, and answer 201 with somebody who is there already."""

    async def fault(_: httpx2.Request, __: Send) -> httpx2.Response:
        headers = {"location": location, "content-type": "application/json"}
        content = httpx2.ByteStream(json.dumps(body).encode())
        return httpx2.Response(201, headers=headers, stream=content)

    return fault


def _again(request: httpx2.Request, body: dict[str, Any]) -> httpx2.Request:
    headers = [(name, text) for name, text in request.headers.items() if name != "content-length"]
    return httpx2.Request(request.method, request.url, headers=headers, content=json.dumps(body).encode())


async def _body(inner: httpx2.AsyncBaseTransport, request: httpx2.Request) -> dict[str, Any]:
    headers = [(name, text) for name, text in request.headers.items() if not name.startswith("content")]
    url = (
        request.url.copy_with(query=b"customFields=true")
        if "/devices/" not in request.url.path
        else request.url
    )
    answer = await inner.handle_async_request(httpx2.Request("GET", url, headers=headers))
    found: dict[str, Any] = json.loads(await answer.aread())
    return found


async def _whole(answer: httpx2.Response) -> httpx2.Response:
    """The same answer with its body read, so that it can be given to another request."""
    content = await answer.aread()
    return httpx2.Response(answer.status_code, headers=answer.headers, stream=httpx2.ByteStream(content))


def answering_ok(body: dict[str, Any]) -> Fault:
    """Answer a GET with what was there."""

    async def fault(_: httpx2.Request, __: Send) -> httpx2.Response:
        content = httpx2.ByteStream(json.dumps(body).encode())
        return httpx2.Response(200, headers={"content-type": "application/json"}, stream=content)

    return fault


async def accepted(_: httpx2.Request, send: Send) -> httpx2.Response:
    """Carry it out, and say only that it was accepted."""
    await send()
    return httpx2.Response(202, stream=httpx2.ByteStream(b""))


async def bodiless(_: httpx2.Request, send: Send) -> httpx2.Response:
    """Carry it out, and answer with the address alone."""
    answer = await send()
    headers = {"location": answer.headers["location"]}
    return httpx2.Response(answer.status_code, headers=headers, stream=httpx2.ByteStream(b""))


def with_location(edit: Callable[[dict[str, Any]], None]) -> Fault:
    """Carry it out, and answer with another body under the right address."""

    async def fault(_: httpx2.Request, send: Send) -> httpx2.Response:
        answer = await send()
        body = json.loads(await answer.aread())
        edit(body)
        headers = {"location": answer.headers["location"], "content-type": "application/json"}
        return httpx2.Response(201, headers=headers, stream=httpx2.ByteStream(json.dumps(body).encode()))

    return fault
