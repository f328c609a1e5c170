"""The receiver behind a port, in the foreground until it is told to stop.

Belongs here: the socket, uvicorn, and what a caller may cost before there is a request. Not
here: what is answered (app.py), what a signal does (it is the caller's to tell us to stop).
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

head_deadline_s = 5.0  # seconds from the connection to the end of a request's head
connections_max = 512  # more are told 503 at once; below what a process may usually have open
head_bytes_max = 16_384  # bytes of a request's head
# Seconds that requests in flight get to end when the server is told to stop: a whole stop takes less than 2.
# What is not answered by then comes again.
stop_wait_s = 1


class _Hurried(H11Protocol):
    """A connection that is closed where no request has arrived on it in time. It carries one request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it so too
        super().connection_made(transport)
        self.loop.call_later(head_deadline_s, self._hurry)

    def _hurry(self) -> None:
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


class _Server(uvicorn.Server):
    """uvicorn, telling when it is ready, asking whether it is to stop, and leaving signals alone."""

    def __init__(self, app: ASGIApp, on_ready: Callable[[], None], asked: Callable[[], bool]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Hurried,
                log_config=None,
                log_level=logging.ERROR,
                access_log=False,  # it would hold the path, and the key where that is in the query
                server_header=False,
                ws="none",
                lifespan="off",
                proxy_headers=False,
                limit_concurrency=connections_max,
                h11_max_incomplete_event_size=head_bytes_max,
                timeout_graceful_shutdown=stop_wait_s,
            )
        )
        self._on_ready = on_ready
        self._asked = asked

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        return self._asked() or await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if sys.platform == "win32":
            with super().capture_signals():
                yield
        else:  # the process has an ear of its own for them (cli/signals.py)
            yield


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that takes connections; port 0 is any free one. Raises OSError as it came."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere the same option would let two servers share the port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(1024)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def address(listening: socket.socket) -> str:
    """Return `http://host:port` of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    app: ASGIApp, listening: socket.socket, *, on_ready: Callable[[], None], asked: Callable[[], bool]
) -> None:
    """Serve until `asked` says so, finish what is in flight, then return. The socket stays the caller's.

    `asked` is called ten times a second: whether to stop.
    """
    _Server(app, on_ready, asked).run(sockets=[listening])
