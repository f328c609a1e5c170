"""Callbacks on the network: the question to a new address, the calls, the background in which they are made.

Belongs here: one HTTP request at a time over asyncio, and when which call is made. Not here: what is sent
and whether it is tried again (callbacks.py).
Source: specification 6; docs/service.md, callbacks: only 200 is a success, 5 s to connect, 60 s to answer.
"""

import asyncio
import base64
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import msgspec

from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.keeping.mail import Callback, CallbackCall
from reconciler.sandbox.keeping.state import State
from reconciler.sandbox.keeping.storage import DataFileError
from reconciler.sandbox.messaging import posting
from reconciler.sandbox.messaging.callbacks import after_attempt
from reconciler.sandbox.xml.forms import write_xml

look_every_s = 0.1  # seconds between two looks at the clock while something waits for it
head_bytes_max = 65_536  # of an answer more is not read before its status is known
interim_max = 5  # answers of the 1xx kind that may precede the real one
TYPES = {"json": "application/json", "xml": "application/xml"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one request ended: the status, 0 without an answer, and the words that go with it."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """How many calls were tried, and how they ended."""

    success: int = 0
    failed: int = 0


@asynccontextmanager
async def delivering(state: State) -> AsyncIterator[None]:
    """While this context is open, queued messages and calls go out by themselves."""
    task = asyncio.create_task(_keep_delivering(state))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def deliver_due(state: State) -> Delivered:
    """Every call that is due is made once: to each callback in their order, to different ones side by side.

    Calls to a callback that is being called already are left to that.
    """
    lines: dict[str, list[CallbackCall]] = {}
    for call in _due(state):
        lines.setdefault(call.callback, []).append(call)
    loop = asyncio.get_running_loop()
    state.mail.busy |= lines.keys()
    state.mail.ends |= {name: loop.create_future() for name in lines}
    ended = await asyncio.gather(*(_deliver(state, name, calls) for name, calls in lines.items()))
    codes = [code for line in ended for code in line]
    return Delivered(success=codes.count(200), failed=len(codes) - codes.count(200))


async def under_way_ended(state: State) -> None:
    """Returns once no call is under way."""
    while state.mail.ends:
        await asyncio.wait(list(state.mail.ends.values()))


async def ask(config: SandboxConfig, url: str) -> Outcome:
    """What the address of a new callback answers to a plain GET, without the key."""
    return await _request(config, "GET", url)


async def _keep_delivering(state: State) -> None:
    mail = state.mail
    mail.news = asyncio.Event()  # of the loop that runs now
    async with asyncio.TaskGroup() as tasks:
        while True:
            if not mail.waiting and not mail.queued:
                await mail.news.wait()
            mail.news.clear()
            with suppress(DataFileError):  # nothing is lost: it waits on, and is tried again
                posting.execute_due(state)
            if _due(state):
                tasks.create_task(_deliver_quietly(state))
            with suppress(TimeoutError):
                async with asyncio.timeout(look_every_s):
                    await mail.news.wait()


async def _deliver_quietly(state: State) -> None:
    with suppress(DataFileError):  # the same
        await deliver_due(state)


def _due(state: State) -> list[CallbackCall]:
    now, mail = state.config.clock(), state.mail
    return [
        call
        for call in mail.waiting.values()
        if call.due is not None and call.due <= now and call.callback not in mail.busy
    ]


async def _deliver(state: State, callback_id: str, calls: list[CallbackCall]) -> list[int]:
    """The codes of the attempts. What was dropped or settled meanwhile is left alone."""
    mail = state.mail
    codes = []
    try:
        for call in calls:
            callback = mail.callbacks.get(callback_id)
            if callback is None or call.id not in mail.waiting:
                continue
            outcome = await _post(state.config, callback, call)
            codes.append(outcome.code)
            _noted(state, callback, call, outcome)
    finally:
        mail.busy.discard(callback_id)
        mail.ends.pop(callback_id).set_result(None)
    return codes


def _noted(state: State, callback: Callback, call: CallbackCall, outcome: Outcome) -> None:
    waiting = state.mail.waiting.get(call.id)
    if waiting is not None:
        after = after_attempt(
            waiting,
            callback,
            code=outcome.code,
            reason=outcome.reason,
            now=state.config.clock(),
            retry_s=state.config.callback_retry_s,
        )
        state.put_calls([after])


async def _post(config: SandboxConfig, callback: Callback, call: CallbackCall) -> Outcome:
    if callback.content_type == "xml":
        body = write_xml("deliveryResponse", call.payload)
    else:
        body = msgspec.json.encode(call.payload)
    url, headers = _with_key(config, callback)
    return await _request(config, "POST", url, headers, body)


def _with_key(config: SandboxConfig, callback: Callback) -> tuple[str, dict[str, str]]:
    """Return the address and the headers of a call, the key in whichever of them it belongs into."""
    headers = {"Content-Type": TYPES[callback.content_type]}
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


async def _request(
    config: SandboxConfig, method: str, url: str, headers: dict[str, str] | None = None, body: bytes = b""
) -> Outcome:
    """One request on a connection of its own. Only the status of the answer is read; nothing is followed."""
    if config.callback_targets == "loopback" and not _is_loopback(urlsplit(url).hostname or ""):
        return Outcome(0, "not called: this sandbox calls addresses of its own machine alone")
    try:
        async with asyncio.timeout(config.callback_connect_s):
            reader, writer = await _connect(url)
    except TimeoutError:
        return Outcome(0, f"no connection in {config.callback_connect_s:g} s")
    except (OSError, ValueError) as cause:  # ValueError: a host name that cannot be one
        return Outcome(0, f"no connection: {type(cause).__name__}")
    try:
        async with asyncio.timeout(config.callback_answer_s):
            writer.write(_head(method, url, headers or {}, body) + body)
            await writer.drain()
            return await _status(reader)
    except TimeoutError:
        return Outcome(0, f"no answer in {config.callback_answer_s:g} s")
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
        return Outcome(0, "no answer that is HTTP")
    finally:
        writer.close()


async def _connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    return await asyncio.open_connection(
        parts.hostname,
        parts.port or (443 if secure else 80),
        ssl=_trusting() if secure else None,
        limit=head_bytes_max,
    )


def _trusting() -> ssl.SSLContext:
    """Return a context that writes no session keys to the file that SSLKEYLOGFILE names."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.load_default_certs()
    return made


def _head(method: str, url: str, headers: dict[str, str], body: bytes) -> bytes:
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


async def _status(reader: asyncio.StreamReader) -> Outcome:
    """The status of the answer; raises ValueError for what is none, EOFError where it ends too early."""
    for _ in range(interim_max):
        head = await reader.readuntil(b"\r\n\r\n")
        version, code, *phrase = head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
        if not version.startswith("HTTP/1.") or not (code.isascii() and code.isdigit() and len(code) == 3):  # noqa: PLR2004  a status has three digits
            raise ValueError
        if not code.startswith("1"):
            return Outcome(int(code), phrase[0][:200] if phrase else "")
    raise ValueError


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
