"""The receiver: the address that the service calls with replies, as an ASGI application.

What happens to a request, in this order:

1. path and key are compared, both and always, in constant time; who has shown them gets a place that no
   stranger can take, and 503 where all of those are taken;
2. the body is read, within a size and a time; from others it is thrown away, then 404, and nothing else;
3. the payload becomes a Reply, or 400;
4. the reply is kept in the inbox, on disk; a repeat ends here;
5. `create_receiver`: it is passed on to `on_reply`; when that has returned, the inbox notes it.
   `create_keeper`: another part of the program prints from the inbox, and notes it there;
6. 200, exactly: the service takes every other answer for a failure and comes again.

Sockets: receiver_server.py. Forms of the payload: replies.py. Nothing is logged: path, key and payload are
secrets and people's data.
"""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from reconciler.concurrency import run_in_thread, thread_threshold_bytes
from reconciler.errors import ReconcilerError, SettingsError
from reconciler.messaging.inbox import Inbox, StoredReply
from reconciler.messaging.replies import parse_reply
from reconciler.messaging.values import Reply
from reconciler.model.secrets import Secret

if TYPE_CHECKING:  # an application that serves it elsewhere needs none of our server
    from starlette.types import ASGIApp, Receive, Scope, Send

# Past its limit a body is read on for a while and thrown away, so that its sender sees the refusal and
# no broken connection.
oversize_factor = 4

# In a scope: a function that says whether there is a place for a caller who has shown the key
# (receiver_server.py).
admit_extension = "receiver.admit"

Why = Literal["unknown caller", "too many", "too slow", "too large", "compressed", "unreadable", "not kept"]


class ReceiverConfig(Struct, frozen=True):
    """Who may call, where, and how much of it is read.

    `key` None takes everybody who knows the path. `how` says where the key travels: in `header`, or
    in the query as `auth` (either letter case).
    """

    key: Secret | None
    how: Literal["header", "query"] = "header"
    header: str = "X-Service-Callback-Key"
    path: str = "/"
    body_max: int = 65_536  # bytes; a reply of the largest kind has about 10,000
    read_deadline_s: float = 5.0  # seconds from the head of a request to the end of its body


class RefusedRequest(Struct, frozen=True):
    """A request that was not answered with 200. `what` is for the operator, and holds nothing of it."""

    status: int
    why: Why
    what: str


def create_receiver(
    config: ReceiverConfig,
    inbox: Inbox,
    on_reply: Callable[[Reply], None],
    on_refused: Callable[[RefusedRequest], None] = lambda _refused: None,
) -> "ASGIApp":
    """Return the application. It answers 200 to a POST only when the reply is in the inbox and passed on.

    `on_reply` gets every reply once, one at a time, in a worker thread. After a crash, or where it
    raised, it gets that reply again with the next call of the service, or from `pass_on_waiting`. A
    ReconcilerError that it raises becomes 500; the service comes again. GET on the path is answered with
    200 to everybody, for the service looks so when a callback is created. Raises SettingsError for a
    key that cannot prove anything.
    """

    def keep(reply: Reply) -> None:
        kept = inbox.add(reply)
        if kept is not None:
            _pass_on_reply(inbox, kept, on_reply)

    return _Receiver(config, keep, on_refused)


def create_keeper(
    config: ReceiverConfig,
    inbox: Inbox,
    on_kept: Callable[[], None],
    on_refused: Callable[[RefusedRequest], None] = lambda _refused: None,
) -> "ASGIApp":
    """Return the application. It answers 200 to a POST when the reply is in the inbox, on disk.

    `on_kept` is called after that, in a worker thread: something is waiting, or was waiting before.
    What reads the inbox may be slow, or absent: nothing is lost by it. Everything else is
    as with `create_receiver`.
    """

    def keep(reply: Reply) -> None:
        if inbox.add(reply) is not None:
            on_kept()

    return _Receiver(config, keep, on_refused)


def pass_on_waiting(inbox: Inbox, on_reply: Callable[[Reply], None]) -> int:
    """Pass on what an earlier run kept and could not; return how many. To be called before serving."""
    waiting = inbox.waiting()
    for kept in waiting:
        _pass_on_reply(inbox, kept, on_reply)
    return len(waiting)


def _pass_on_reply(inbox: Inbox, kept: StoredReply, on_reply: Callable[[Reply], None]) -> None:
    on_reply(kept.reply)
    inbox.mark_delivered(kept.number)


class _Receiver:
    """The ASGI application itself."""

    def __init__(
        self,
        config: ReceiverConfig,
        keep: Callable[[Reply], None],
        on_refused: Callable[[RefusedRequest], None],
    ) -> None:
        self._config = config
        self._keep = keep
        self._on_refused = on_refused
        self._path = _digest_value(config.path.encode())
        self._key = None if config.key is None else _digest_value(_check_key(config.key))
        self._header = config.header.lower().encode()
        self._turn = asyncio.Lock()  # replies are kept and passed on in the order in which they came

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        match scope["type"]:
            case "http":
                status = await self._answer(scope, receive)
                if status:
                    await _send_empty(send, status)
            case "lifespan":
                await _answer_lifespan(receive, send)
            case _:
                await send({"type": "websocket.close"})

    async def _answer(self, scope: "Scope", receive: "Receive") -> int:
        """Return the status of the answer; 0 where the connection was closed before it."""
        method = scope["method"]
        here, authentic = self._is_here(scope), self._is_authentic(scope)
        if method in ("GET", "HEAD"):
            return HTTPStatus.OK if here else self._refuse(_UNKNOWN)
        welcome = here and authentic and method == "POST"
        if welcome and not scope.get("extensions", {}).get(admit_extension, lambda: True)():
            return self._refuse(_MANY)
        body = await self._read_body(receive, keep=welcome)
        if body is None:
            return 0
        if not welcome:
            return self._refuse(_UNKNOWN)
        if isinstance(body, RefusedRequest):
            return self._refuse(body)
        if _find_header(scope, b"content-encoding").lower() not in (b"", b"identity"):
            return self._refuse(_COMPRESSED)
        return await self._keep_reply(body, _find_header(scope, b"content-type").decode("latin-1"))

    async def _keep_reply(self, body: bytes, content_type: str) -> int:
        try:
            if len(body) > thread_threshold_bytes:  # only a larger body_max lets one in
                reply = await run_in_thread(lambda: parse_reply(body, content_type))
            else:
                reply = parse_reply(body, content_type)
        except ReconcilerError as error:
            return self._refuse(RefusedRequest(HTTPStatus.BAD_REQUEST, "unreadable", str(error)))
        try:
            async with self._turn:
                await asyncio.to_thread(self._keep, reply)
        except ReconcilerError as error:
            return self._refuse(RefusedRequest(HTTPStatus.INTERNAL_SERVER_ERROR, "not kept", str(error)))
        return HTTPStatus.OK

    async def _read_body(self, receive: "Receive", *, keep: bool) -> "bytes | RefusedRequest | None":
        """Return the body (empty without `keep`), or why it was not read; None where the caller left."""
        chunks: list[bytes] = []
        size = 0
        limit = self._config.body_max
        try:
            async with asyncio.timeout(self._config.read_deadline_s):
                more = True
                while more and size <= limit * oversize_factor:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    if keep and size <= limit:
                        chunks.append(chunk)
                    more = message.get("more_body", False)
        except TimeoutError:
            return _SLOW
        return b"".join(chunks) if size <= limit else _LARGE

    def _refuse(self, refused: RefusedRequest) -> int:
        self._on_refused(refused)
        return refused.status

    def _is_here(self, scope: "Scope") -> bool:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        return compare_digest(_digest_value(path.encode("utf-8", "surrogatepass")), self._path)

    def _is_authentic(self, scope: "Scope") -> bool:
        given = _digest_value(self._find_given_key(scope))
        return self._key is None or compare_digest(given, self._key)

    def _find_given_key(self, scope: "Scope") -> bytes:
        """Return the key that the caller shows; b"" where there is none, or more than one."""
        if self._config.how == "header":
            return _find_header(scope, self._header)
        pairs = (pair.partition(b"=") for pair in scope["query_string"].split(b"&"))
        # A plus is a plus: no key holds a space, and not every sender writes %2B.
        values = [unquote_to_bytes(value) for name, _, value in pairs if name.lower() == b"auth"]
        return values[0] if len(values) == 1 else b""


_MANY = RefusedRequest(HTTPStatus.SERVICE_UNAVAILABLE, "too many", "too many connections at once")
_UNKNOWN = RefusedRequest(HTTPStatus.NOT_FOUND, "unknown caller", "wrong path, method or key")
_SLOW = RefusedRequest(HTTPStatus.REQUEST_TIMEOUT, "too slow", "the body did not arrive in time")
_LARGE = RefusedRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too large", "the body is over the limit")
_COMPRESSED = RefusedRequest(
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "compressed", "the body has a Content-Encoding"
)


def _check_key(key: Secret) -> bytes:
    text = key.reveal()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise SettingsError(
            "the callback key is empty, or contains a character that a header cannot carry.",
            next="use visible ASCII characters only: openssl rand -hex 32",
        )
    return text.encode()


def _digest_value(value: bytes) -> bytes:
    """Two values of any length become two of one length: comparing them reveals not even that."""
    return sha256(value).digest()


def _find_header(scope: "Scope", name: bytes) -> bytes:
    """Return the header of that name; b"" where there is none, or more than one."""
    found = [value for key, value in scope["headers"] if key.lower() == name]
    return found[0] if len(found) == 1 else b""


async def _send_empty(send: "Send", status: int) -> None:
    """Answer with an empty body. One request a connection: a slow second one could otherwise hold it open."""
    headers = [(b"content-length", b"0"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _answer_lifespan(receive: "Receive", send: "Send") -> None:
    for _ in range(2):
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
