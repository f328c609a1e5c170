"""The service over HTTP: one ASGI application, usable in process or behind a port."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from inspect import isawaitable
from urllib.parse import parse_qsl, urlsplit

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from reconciler.sandbox import callback_calls, openapi, server
from reconciler.sandbox import control_requests as control
from reconciler.sandbox.authentication import accepts_user
from reconciler.sandbox.calls import (
    Answer,
    AnswerType,
    Call,
    Headers,
    Incoming,
    Outgoing,
    choose_refusal_type,
    encode_document,
    require_answer_type,
    require_body_type,
)
from reconciler.sandbox.collections import PLAIN_COLLECTIONS, Collection
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.contacts import invent_contacts
from reconciler.sandbox.documents import DocumentWriter
from reconciler.sandbox.faults import Course
from reconciler.sandbox.gateway import Cache, Gateway, stored_statuses
from reconciler.sandbox.openapi import row_schemas
from reconciler.sandbox.refusals import Refusal, error_body, not_found, storage_failed, unauthorized
from reconciler.sandbox.routing import ROUTES, Place, Route, find_place, own_routes
from reconciler.sandbox.server import refuse_web_pages
from reconciler.sandbox.state import DataFileError, State

__all__ = ["SandboxConfig", "create_app", "running_sandbox", "serve_sandbox"]

# A body over the limit is read to this multiple of it, so that the sender gets the refusal and no broken
# pipe.
oversize_factor = 8


def create_app(config: SandboxConfig, *, collections: Sequence[Collection] = ()) -> Starlette:
    """The service with its state, ready for requests. Callbacks are called while its lifespan lasts.

    `collections` are served beside those of the service. Raises ValueError for one that cannot be, and
    DataFileError (an OSError) when the data file cannot be used. The file is closed when the application
    shuts down, or is no longer referred to.
    """
    added = ServedCollections((*PLAIN_COLLECTIONS, *collections))
    state = State(config)
    state.add_invented(config.contacts, lambda last: invent_contacts(config.contacts, after=last))
    service = SandboxService(state, added)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with callback_calls.deliver_in_background(state):
            yield
        state.close()

    app = Starlette(lifespan=lifespan)
    app.router.default = service  # a mount would answer paths with a line break in them itself
    app.state.sandbox = state
    return app


def serve_sandbox(
    config: SandboxConfig,
    *,
    collections: Sequence[Collection] = (),
    host: str = "127.0.0.1",
    port: int,
    on_ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; call `on_ready` with the address once connections are accepted.

    Port 0 is any free port. Raises OSError for a port in use, DataFileError for the data file.
    """
    server.serve_app(lambda: _guarded_app(config, collections), host=host, port=port, on_ready=on_ready)


def running_sandbox(
    config: SandboxConfig, *, collections: Sequence[Collection] = ()
) -> AbstractContextManager[str]:
    """A context in which the sandbox runs in a thread of its own; its value is the base address."""
    return server.running_app(lambda: _guarded_app(config, collections))


def _guarded_app(config: SandboxConfig, collections: Sequence[Collection]) -> ASGIApp:
    """The application for a port. It may also be reached by the host name of its links."""
    named = urlsplit(config.link_base).hostname if config.link_base else None
    return refuse_web_pages(create_app(config, collections=collections), frozenset({named} if named else ()))


class ServedCollections:
    """What rows add to the service: addresses, XML forms, links at the root and in workspaces."""

    def __init__(self, collections: Sequence[Collection]) -> None:
        self.collections = collections
        self.routes = {**ROUTES, **own_routes(collections)}
        row_schemas(collections)  # refuses a name that a document of the service has
        self.forms = {row.kind: row.form for row in collections}
        self.entrances = tuple(
            tuple(row.entrance for row in collections if row.in_workspaces == inside)
            for inside in (False, True)
        )


class SandboxService:
    """The ASGI application itself."""

    def __init__(self, state: State, added: ServedCollections) -> None:
        self._state = state
        self._added = added
        self._config = state.config
        self._log = control.RequestLog()
        self._gateway = Gateway(state.config)
        self._cache = Cache[Outgoing](state.config.caching) if state.config.caching else None
        self._late: list[tuple[datetime, Incoming]] = []  # delayed by a fault, with their times

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request."""
        incoming = await self._read_request(scope, receive)
        await self._carry_out_late()
        if incoming.path.startswith(control.control_prefix):
            await self._send_answer(await self._serve_control(incoming), send)
            return
        if incoming.path == openapi.openapi_path and incoming.method == "GET":
            described = openapi.encode_openapi(
                self._config, server=incoming.base, own=self._added.collections
            )
            await self._send_answer(Outgoing(HTTPStatus.OK, described), send)
            return
        with self._log.arriving():
            await self._serve(incoming, scope, receive, send)

    async def _serve(self, incoming: Incoming, scope: Scope, receive: Receive, send: Send) -> None:
        stored = self._find_stored(incoming)
        if stored is not None:  # the service does not see the request
            await self._send_answer(stored, send)
            return
        course = self._state.faults.course(incoming.method, incoming.path)
        wait_s = self._config.latency_ms / 1000 + course.wait_s
        if wait_s:
            await asyncio.sleep(wait_s)
        outgoing = await self._follow_course(course, incoming)
        status = int(outgoing.status) if outgoing else 0
        self._log.add(control.ServedRequest(incoming.method, incoming.path, incoming.query, status))
        if outgoing:
            self._store_answer(incoming, outgoing)
            await self._send_answer(outgoing, send, keep=course.keep)
        if outgoing is None or course.keep is not None:
            await _close_connection(scope, receive)

    def _find_stored(self, incoming: Incoming) -> Outgoing | None:
        if self._cache is None or incoming.method != "GET":
            return None
        now = self._config.clock()
        found = self._cache.find(incoming.address, incoming.headers, now)
        if found is None:
            return None
        outgoing, given_at = found
        shown = tuple(self._cache.headers(given_at, now).items())
        return replace(outgoing, headers=(*outgoing.headers, *shown))

    def _store_answer(self, incoming: Incoming, outgoing: Outgoing) -> None:
        if self._cache is not None and incoming.method == "GET" and outgoing.status in stored_statuses:
            self._cache.keep(incoming.address, incoming.headers, outgoing, self._config.clock())

    async def _follow_course(self, course: Course, incoming: Incoming) -> Outgoing | None:
        """The answer to a request under these faults; None closes the connection."""
        base = course.origin or incoming.base
        struck = replace(incoming, course=course, base=base, query=course.ask(incoming.query))
        if course.late_s is not None:
            self._late.append((self._config.clock() + timedelta(seconds=course.late_s), struck))
            return None
        answers = [await self._answer(struck) for _ in range(course.done)]
        if course.status is not None and course.answered:
            return Outgoing(course.status)
        if not answers or not course.answered:
            return None
        outgoing = answers[0]
        if course.page is not None:
            return Outgoing(HTTPStatus.OK, course.page, "text/html; charset=utf-8")
        if course.broken:
            return replace(outgoing, content=outgoing.content[: len(outgoing.content) // 2])
        return outgoing

    async def _carry_out_late(self) -> None:
        """Carry out requests that a fault delayed and that are due. Called before every request."""
        now = self._config.clock()
        due = [incoming for when, incoming in self._late if when <= now]
        self._late = [(when, incoming) for when, incoming in self._late if when > now]
        for incoming in due:
            await self._answer(incoming)

    async def _answer(self, incoming: Incoming) -> Outgoing:
        config = self._config
        stopped = self._gateway.refusal(incoming.headers, incoming.query)
        if stopped is not None:
            return stopped
        if incoming.body is None:
            return Outgoing(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"Request size limit exceeded", "text/plain")
        route: Route | None = None
        try:
            if not accepts_user(config, incoming.headers):
                raise unauthorized()
            self._state.expire_resources()
            place = find_place(incoming.path, self._added.routes)
            route = place.route
            return await self._carry_out(incoming, place)
        except Refusal as refusal:
            return self._write_refusal(incoming, refusal, route)
        except DataFileError as cause:
            return self._write_refusal(incoming, storage_failed(cause), route)

    async def _carry_out(self, incoming: Incoming, place: Place) -> Outgoing:
        endpoint = place.route.endpoint(incoming.method)
        shelf = self._state.shelves.get(place.workspace)
        if shelf is None:
            raise not_found()
        kind, config = place.route.kind, self._config
        shown = require_answer_type(incoming.headers, config, kind)
        has_body = incoming.method in ("POST", "PUT") and place.route.takes_body
        form = require_body_type(incoming.headers, config, kind) if has_body else shown.form
        prefix = f"/workspaces/{shelf.id}" if shelf.id else ""
        writer = DocumentWriter(config, incoming.base, prefix, *self._added.entrances)
        hidden = self._state.faults.hidden(config.clock())
        own = self._added.forms
        call = Call(self._state, shelf, place.ids, incoming, writer, hidden, kind, form, own)
        found = endpoint(call)
        answer = await found if isawaitable(found) else found
        self._delay_in_lists(incoming, answer)
        return self._write_answer(incoming, answer, kind, shown)

    def _delay_in_lists(self, incoming: Incoming, answer: Answer) -> None:
        """Hide a new record from lists for a while, where a fault says so."""
        if incoming.course.lag_s and answer.location:
            self._state.faults.hide(
                answer.location.rpartition("/")[2],
                until=self._config.clock() + timedelta(seconds=incoming.course.lag_s),
            )

    def _write_answer(self, incoming: Incoming, answer: Answer, kind: str, shown: AnswerType) -> Outgoing:
        headers: Headers = (("location", answer.location),) if answer.location else ()
        if answer.text is not None:
            content = answer.text.encode()
        elif answer.document is not None:
            document = incoming.course.show(answer.document)
            content = encode_document(document, kind, shown, self._config, self._added.forms)
        else:
            return Outgoing(answer.status)
        return Outgoing(answer.status, content, shown.type, headers)

    def _write_refusal(self, incoming: Incoming, refusal: Refusal, route: Route | None) -> Outgoing:
        accept = incoming.headers.get("accept", "")
        shown = choose_refusal_type(accept, self._config, route.kind if route else None)
        content = encode_document(error_body(refusal.status, refusal.text), "error", shown, self._config)
        return Outgoing(refusal.status, content, shown.type, refusal.headers)

    async def _serve_control(self, incoming: Incoming) -> Outgoing:
        try:
            if not (self._is_public(incoming) or accepts_user(self._config, incoming.headers)):
                raise unauthorized()
            self._state.expire_resources()
            return await control.carry_out_control(
                self._state, self._log, incoming.method, incoming.path, incoming.body or b""
            )
        except Refusal as refusal:
            return self._write_refusal(incoming, refusal, None)
        except DataFileError as cause:
            return self._write_refusal(incoming, storage_failed(cause), None)

    def _is_public(self, incoming: Incoming) -> bool:
        """Is it the content of a public resource? The real service shows everybody that too."""
        return incoming.method == "GET" and control.is_public_content(self._state, incoming.path)

    async def _read_request(self, scope: Scope, receive: Receive) -> Incoming:
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        query = scope["query_string"].decode("latin-1")
        origin = f"{scope.get('scheme', 'http')}://{headers.get('host', 'localhost')}"
        return Incoming(
            method=scope["method"],
            path=scope["path"],
            headers=headers,
            query=dict(parse_qsl(query, keep_blank_values=True)) if query else {},
            query_text=query,
            base=self._config.link_base or origin,
            body=await _read_body(receive, self._config.request_bytes_max),
            address=f"{scope.get('raw_path', b'').decode('latin-1') or scope['path']}?{query}",
        )

    async def _send_answer(self, outgoing: Outgoing, send: Send, *, keep: int | None = None) -> None:
        """Send the answer; with `keep`, only so many bytes of its body (-1: half), without its end."""
        headers = [
            ("content-type", outgoing.content_type),
            ("content-length", str(len(outgoing.content))),
            *outgoing.headers,
        ]
        if not any(name == "date" for name, _ in headers):
            headers.append(("date", format_datetime(self._config.clock(), usegmt=True)))
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await send({"type": "http.response.start", "status": int(outgoing.status), "headers": raw})
        if keep is None:
            await send({"type": "http.response.body", "body": outgoing.content})
        else:
            part = outgoing.content[: keep if keep >= 0 else len(outgoing.content) // 2]
            await send({"type": "http.response.body", "body": part, "more_body": True})


async def _close_connection(scope: Scope, receive: Receive) -> None:
    """The connection is closed as it is, without an answer or in the middle of one.

    A server that can do so offers it in the scope (server.py). In process nobody does: there the request
    ends with ConnectionResetError, which an in-process transport hands on to its client as it is.
    """
    close = scope.get("extensions", {}).get(server.close_extension)
    if close is None:
        raise ConnectionResetError("the sandbox closed the connection, as a fault told it to")
    close()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read_body(receive: Receive, bytes_max: int) -> bytes | None:
    """The whole body; None when it is larger than allowed."""
    chunks: list[bytes] = []
    size = 0
    while size <= bytes_max * oversize_factor:
        message = await receive()
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= bytes_max:
            chunks.append(chunk)
        if not message.get("more_body", False):
            break
    return b"".join(chunks) if size <= bytes_max else None
