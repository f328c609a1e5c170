"""Callbacks on the network: the question to a new address, the calls, the background in which they are made.

Source: specification 6; docs/service.md, callbacks: only 200 is a success, 5 s to connect, 60 s to answer.
"""

import asyncio
import base64
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec

from reconciler.sandbox import message_endpoints
from reconciler.sandbox.callbacks import (
    callback_call_row,
    callback_document,
    mark_call_failed,
    read_callback,
    record_attempt,
    require_free_callback_name,
    settle_call,
)
from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.collections import CollectionRow
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.documents import View
from reconciler.sandbox.records import Body, Callback, CallbackCall
from reconciler.sandbox.refusals import body_choice, malformed, not_found
from reconciler.sandbox.state import DataFileError, State
from reconciler.sandbox.xml_codec import write_xml

look_every_s = 0.1  # seconds between two looks at the clock while something waits for it
head_bytes_max = 65_536  # of an answer more is not read before its status is known
interim_max = 5  # answers of the 1xx kind that may precede the real one
CALL_CONTENT_TYPES = {"json": "application/json", "xml": "application/xml"}


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How one request ended: the status, 0 without an answer, and the words that go with it."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class DeliveryCounts:
    """How many calls were tried, and how they ended."""

    success: int = 0
    failed: int = 0


@asynccontextmanager
async def deliver_in_background(state: State) -> AsyncIterator[None]:
    """While this context is open, queued messages and calls go out by themselves."""
    task = asyncio.create_task(_keep_delivering(state))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def deliver_due_calls(state: State) -> DeliveryCounts:
    """Every call that is due is made once: to each callback in their order, to different ones side by side.

    Calls to a callback that is being called already are left to that.
    """
    lines: dict[str, list[CallbackCall]] = {}
    for call in _due_calls(state):
        lines.setdefault(call.callback, []).append(call)
    loop = asyncio.get_running_loop()
    state.mail.busy |= lines.keys()
    state.mail.ends |= {name: loop.create_future() for name in lines}
    ended = await asyncio.gather(*(_deliver_to_callback(state, name, calls) for name, calls in lines.items()))
    codes = [code for line in ended for code in line]
    return DeliveryCounts(success=codes.count(200), failed=len(codes) - codes.count(200))


async def wait_for_calls(state: State) -> None:
    """Returns once no call is under way."""
    while state.mail.ends:
        await asyncio.wait(list(state.mail.ends.values()))


async def check_callback_address(config: SandboxConfig, url: str) -> CallOutcome:
    """What the address of a new callback answers to a plain GET, without the key."""
    return await _send_request(config, "GET", url)


async def _keep_delivering(state: State) -> None:
    mail = state.mail
    mail.news = asyncio.Event()  # of the loop that runs now
    async with asyncio.TaskGroup() as tasks:
        while True:
            if not mail.waiting and not mail.queued:
                await mail.news.wait()
            mail.news.clear()
            with suppress(DataFileError):  # nothing is lost: it waits on, and is tried again
                message_endpoints.execute_due_messages(state)
            if _due_calls(state):
                tasks.create_task(_deliver_quietly(state))
            with suppress(TimeoutError):
                async with asyncio.timeout(look_every_s):
                    await mail.news.wait()


async def _deliver_quietly(state: State) -> None:
    with suppress(DataFileError):  # the same
        await deliver_due_calls(state)


def _due_calls(state: State) -> list[CallbackCall]:
    now, mail = state.config.clock(), state.mail
    return [
        call
        for call in mail.waiting.values()
        if call.due is not None and call.due <= now and call.callback not in mail.busy
    ]


async def _deliver_to_callback(state: State, callback_id: str, calls: list[CallbackCall]) -> list[int]:
    """The codes of the attempts. What was dropped or settled meanwhile is left alone."""
    mail = state.mail
    codes = []
    try:
        for call in calls:
            callback = mail.callbacks.get(callback_id)
            if callback is None or call.id not in mail.waiting:
                continue
            outcome = await _post_call(state.config, callback, call)
            codes.append(outcome.code)
            _record_outcome(state, callback, call, outcome)
    finally:
        mail.busy.discard(callback_id)
        mail.ends.pop(callback_id).set_result(None)
    return codes


def _record_outcome(state: State, callback: Callback, call: CallbackCall, outcome: CallOutcome) -> None:
    waiting = state.mail.waiting.get(call.id)
    if waiting is not None:
        after = record_attempt(
            waiting,
            callback,
            code=outcome.code,
            reason=outcome.reason,
            now=state.config.clock(),
            retry_s=state.config.callback_retry_s,
        )
        state.put_calls([after])


async def _post_call(config: SandboxConfig, callback: Callback, call: CallbackCall) -> CallOutcome:
    if callback.content_type == "xml":
        body = write_xml("deliveryResponse", call.payload)
    else:
        body = msgspec.json.encode(call.payload)
    url, headers = _address_and_headers(config, callback)
    return await _send_request(config, "POST", url, headers, body)


def _address_and_headers(config: SandboxConfig, callback: Callback) -> tuple[str, dict[str, str]]:
    """Return the address and the headers of a call, the key in whichever of them it belongs into."""
    headers = {"Content-Type": CALL_CONTENT_TYPES[callback.content_type]}
    url = callback.url
    match callback.auth_type:
        case "httpheader":
            headers[f"X-{config.vendor.title()}-Callback-Key"] = callback.key
        case "basicauth":
            # user:password, or the same in base64 already: no base64 holds a colon (assumed).
            words = callback.key
            encoded = base64.b64encode(words.encode()).decode() if ":" in words else words
            headers["Authorization"] = f"Basic {encoded}"
        case "bearertoken":
            headers["Authorization"] = f"Bearer {callback.key}"
        case "querystring" | "queryparam":
            page, hash_sign, fragment = url.partition("#")
            joint = "&" if urlsplit(page).query else "?"
            url = f"{page.rstrip('?')}{joint}auth={quote(callback.key, safe='')}{hash_sign}{fragment}"
    return url, headers


async def _send_request(
    config: SandboxConfig, method: str, url: str, headers: dict[str, str] | None = None, body: bytes = b""
) -> CallOutcome:
    """One request on a connection of its own. Only the status of the answer is read; nothing is followed."""
    if config.callback_targets == "loopback" and not _is_loopback(urlsplit(url).hostname or ""):
        return CallOutcome(0, "not called: this sandbox calls addresses of its own machine alone")
    try:
        async with asyncio.timeout(config.callback_connect_s):
            reader, writer = await _open_connection(url)
    except TimeoutError:
        return CallOutcome(0, f"no connection in {config.callback_connect_s:g} s")
    except (OSError, ValueError) as cause:  # ValueError: a host name that cannot be one
        return CallOutcome(0, f"no connection: {type(cause).__name__}")
    try:
        async with asyncio.timeout(config.callback_answer_s):
            writer.write(_request_head(method, url, headers or {}, body) + body)
            await writer.drain()
            return await _read_status(reader)
    except TimeoutError:
        return CallOutcome(0, f"no answer in {config.callback_answer_s:g} s")
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
        return CallOutcome(0, "no answer that is HTTP")
    finally:
        writer.close()


async def _open_connection(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    return await asyncio.open_connection(
        parts.hostname,
        parts.port or (443 if secure else 80),
        ssl=_client_tls_context() if secure else None,
        limit=head_bytes_max,
    )


def _client_tls_context() -> ssl.SSLContext:
    """Return a context that writes no session keys to the file that SSLKEYLOGFILE names."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.load_default_certs()
    return made


def _request_head(method: str, url: str, headers: dict[str, str], body: bytes) -> bytes:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = {
        "Host": parts.netloc.rpartition("@")[2],
        "Accept": "*/*",
        "Connection": "close",
        **headers,
        **({"Content-Length": str(len(body))} if method == "POST" else {}),
    }
    written = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {target} HTTP/1.1\r\n{written}\r\n".encode()


async def _read_status(reader: asyncio.StreamReader) -> CallOutcome:
    """The status of the answer; raises ValueError for what is none, EOFError where it ends too early."""
    for _ in range(interim_max):
        head = await reader.readuntil(b"\r\n\r\n")
        version, code, *phrase = head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
        if not version.startswith("HTTP/1.") or not (code.isascii() and code.isdigit() and len(code) == 3):  # noqa: PLR2004  a status has three digits
            raise ValueError
        if not code.startswith("1"):
            return CallOutcome(int(code), phrase[0][:200] if phrase else "")
    raise ValueError


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


# --- What the addresses of callbacks do: the row of their configuration, and the calls that were made


CALL_STATUSES = ("SUCCESS", "FAILED")


class CallbackCollection(CollectionRow[Callback]):
    """Callbacks of the company, with unique names; their key is shown to all who may read them."""

    def read(self, call: Call, before: Callback | None) -> Callback:
        """A callback of a name that is free."""
        known = (before.id, before.number) if before else call.state.new_id("callback")
        callback = read_callback(call.body(), known, strict=call.config.strict)
        require_free_callback_name(callback.name, callback.id, self.records(call).values())
        return callback

    async def check(self, call: Call, record: Callback) -> None:
        """A new one must have answered 200 to a GET, if so configured; refuses (400) any other."""
        if not call.config.callback_check:
            return
        outcome = await check_callback_address(call.config, record.url)
        if outcome.code != HTTPStatus.OK:
            raise malformed(f"url must answer 200 to a GET, and did not: {outcome.code} {outcome.reason}")
        require_free_callback_name(
            record.name, record.id, self.records(call).values()
        )  # others came meanwhile

    def drop(self, call: Call, record: Callback) -> None:
        """Its calls go with it."""
        call.state.drop_callback(record)

    def shown(self, call: Call, record: Callback, view: View) -> Body:  # noqa: ARG002  the same everywhere
        """The whole callback."""
        return callback_document(call.writer, record)


CALLBACKS = CallbackCollection(
    name="callback",
    plural="callbacks",
    media="api-callback",
    in_workspaces=False,
    says={
        "list": "One page of the company's callbacks, in the order of creation.",
        "create": "A new callback, whose address has answered 200 to a GET; the answer is the whole of it.",
        "put": "The callback is replaced; its new address is not asked (no source says that it is).",
        "delete": "The callback is gone, with its calls.",
    },
)


def list_calls(call: Call) -> Answer:
    """One page of the calls that were tried, oldest first; of one status, or these alone, when asked for."""
    callback = CALLBACKS.one(call)
    status = call.query.get("status", "").upper()
    if status not in ("", *CALL_STATUSES):
        raise malformed("status must be SUCCESS or FAILED")
    wanted = _named_calls(call)
    found = [
        one
        for one in call.state.mail.calls_of(callback)
        if one.status and status in ("", one.status) and (not wanted or one.id in wanted)
    ]
    return call.paged("calls", found, lambda one: callback_call_row(call.writer, callback, one))


def put_calls(call: Call) -> Answer:
    """The calls that the query names are dealt with, and not tried again; or they count as failed."""
    callback = CALLBACKS.one(call)
    status = body_choice(call.body(), "status", CALL_STATUSES)
    wanted = _named_calls(call)
    if not wanted:
        raise malformed("id: the query names no call")
    known = {one.id: one for one in call.state.mail.calls_of(callback) if one.status}
    if not wanted.keys() <= known.keys():
        raise not_found()
    mark = settle_call if status == "SUCCESS" else mark_call_failed
    call.state.put_calls(mark(known[one]) for one in wanted)
    return no_content


def _named_calls(call: Call) -> dict[str, None]:
    """The ids in the query, each once, in their order."""
    return dict.fromkeys(value for name, value in parse_qsl(call.incoming.query_text) if name == "id")
