"""An ASGI application behind a port: in the foreground until a signal, or in a thread for a while.

Belongs here: sockets, uvicorn, signals, the thread. Not here: anything about the service.
"""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

loopback = "127.0.0.1"
keep_alive_s = 75  # seconds; uvicorn's 5 would close connections that a client is just about to use again
stop_wait_s = 5  # seconds that requests in flight get to end when the server is told to stop
close_extension = "sandbox.close"  # in a scope: a function that closes the connection of this request


class _Protocol(H11Protocol):
    """One connection, which the application may close under a request: it finds the way in the scope.

    What was written before is still sent. ASGI itself knows no way to end a request without an answer.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        app = self.app

        async def closable(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                scope["extensions"] = {**scope.get("extensions", {}), close_extension: self._close}
            await app(scope, receive, send)

        self.app = closable

    def _close(self) -> None:
        self.transport.close()


class _Server(uvicorn.Server):
    """uvicorn, telling when it is ready, and returning after a signal instead of raising it once more."""

    def __init__(self, app: ASGIApp, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                log_level=logging.ERROR,
                access_log=False,
                server_header=False,
                date_header=False,  # the application sends its own, from its own clock
                http=_Protocol,
                ws="none",
                timeout_graceful_shutdown=stop_wait_s,
                timeout_keep_alive=keep_alive_s,
            )
        )
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.handle_exit(number, frame)


def serve_app(make: Callable[[], ASGIApp], *, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serves what `make` makes until SIGINT or SIGTERM. Raises OSError, before that, for a taken port."""
    listening = _listen(host, port)
    try:
        _Server(make(), lambda: on_ready(_address(listening))).run(sockets=[listening])
    finally:
        listening.close()


@contextmanager
def running_app(make: Callable[[], ASGIApp]) -> Iterator[str]:
    """The application runs in its own thread on a free loopback port, and has stopped at the end."""
    app = make()
    ready = threading.Event()
    with _listen(loopback, 0) as listening:
        address = _address(listening)
        server = _Server(app, ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="sandbox")
        thread.start()
        try:
            while not ready.wait(0.05):
                if not thread.is_alive():
                    raise OSError(f"the sandbox did not start on {address}")
            yield address
        finally:
            server.should_exit = True
            thread.join()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere the same option would let two servers share the port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
