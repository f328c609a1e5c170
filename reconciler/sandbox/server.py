"""An ASGI application behind a port: in the foreground until a signal, or in a thread for a while."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from ipaddress import ip_address
from types import FrameType
from urllib.parse import urlsplit

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from reconciler.asgi_server import QuietServer, ServedConnection, open_listening_socket, socket_url

loopback = "127.0.0.1"
keep_alive_s = 75  # seconds; uvicorn's 5 would close connections that a client is just about to use again
stop_wait_s = 5  # seconds
close_extension = "sandbox.close"  # in a scope: a function that closes the connection of this request


class _Closable(ServedConnection):
    """A connection that the application may close under a request. What was written before is still sent."""

    def extensions(self) -> Mapping[str, Callable[[], object]]:
        return {close_extension: self.transport.close}


class _SandboxServer(QuietServer):
    """One that returns after a signal instead of raising it once more."""

    def __init__(self, app: ASGIApp, on_ready: Callable[[], None]) -> None:
        super().__init__(
            app,
            on_ready,
            connection=_Closable,
            stop_wait_s=stop_wait_s,
            date_header=False,  # the application sends its own, from its own clock
            timeout_keep_alive=keep_alive_s,
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self._stop)
            for number in (signal.SIGINT, signal.SIGTERM)
            if signal.getsignal(number) != signal.SIG_IGN  # behind `&`, or after `trap "" TERM`
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.handle_exit(number, frame)


def serve_app(make: Callable[[], ASGIApp], *, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serves what `make` makes until SIGINT or SIGTERM. Raises OSError, before that, for a taken port."""
    listening = open_listening_socket(host, port)
    try:
        _SandboxServer(make(), lambda: on_ready(socket_url(listening))).run(sockets=[listening])
    finally:
        listening.close()


@contextmanager
def running_app(make: Callable[[], ASGIApp]) -> Iterator[str]:
    """The application runs in its own thread on a free loopback port, and has stopped at the end."""
    app = make()
    ready = threading.Event()
    with open_listening_socket(loopback, 0) as listening:
        reached = socket_url(listening)
        server = _SandboxServer(app, ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="sandbox")
        thread.start()
        try:
            while not ready.wait(0.05):
                if not thread.is_alive():
                    raise OSError(f"the sandbox did not start on {reached}")
            yield reached
        finally:
            server.should_exit = True
            thread.join()


# --- Requests behind a port: from programs on this machine, not from web pages --------------------
#
# A browser on the same machine reaches loopback for every page that it shows. A page names us by its own
# name,
# which its owner lets lead here (DNS rebinding), and then may read everything; or it sends a request across
# origins, and may read nothing, but the request arrives. The first shows in Host, the second in Origin and
# Sec-Fetch-Site, which no page can change.


_own_names = frozenset({"localhost"})
_fetched_here = frozenset(
    {"", "none", "same-origin"}
)  # a program, an address that was typed in, our own page

OriginRefusal = tuple[HTTPStatus, str]


def refuse_web_pages(app: ASGIApp, also: frozenset[str] = frozenset()) -> ASGIApp:
    """The application, which refuses requests of web pages; `also` are further names of this host."""
    names = _own_names | {name.lower() for name in also}

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        refused = _check_scope(scope, names) if scope["type"] == "http" else None
        if refused is None:
            await app(scope, receive, send)
        else:
            await _send_refusal(send, *refused)

    return answer


def check_origin(headers: Mapping[str, str], names: frozenset[str] = _own_names) -> OriginRefusal | None:
    """Why a request with these headers (names in lower case) is not answered; None for one that is.

    An address of digits is always ours: only a name can lead elsewhere today and here tomorrow.
    """
    host = headers.get("host", "")
    if not _is_own_host(host, names):
        text = "the sandbox is asked by another name than that of this machine; ask 127.0.0.1 or localhost"
        return HTTPStatus.MISDIRECTED_REQUEST, text
    origin = headers.get("origin")
    if (origin is not None and origin.lower() != f"http://{host}".lower()) or (
        headers.get("sec-fetch-site", "") not in _fetched_here
    ):
        return HTTPStatus.FORBIDDEN, "a page of another origin asks; the sandbox is for programs"
    return None


def _check_scope(scope: Scope, names: frozenset[str]) -> OriginRefusal | None:
    pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    if sum(name == "host" for name, _ in pairs) > 1:
        return HTTPStatus.BAD_REQUEST, "the request has several Host headers"
    return check_origin(dict(pairs), names)


def _is_own_host(host: str, names: frozenset[str]) -> bool:
    try:
        name = urlsplit(f"http://{host}").hostname or ""
        ip_address(name)
    except ValueError:
        return _host_name(host) in names
    return True


def _host_name(host: str) -> str:
    return host.partition(":")[0].lower().removesuffix(".")


async def _send_refusal(send: Send, status: HTTPStatus, text: str) -> None:
    content = msgspec.json.encode({"errorSummary": "Your request was not accepted.", "errorText": text})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": content})
