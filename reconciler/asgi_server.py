"""A port that an ASGI application serves: the socket, its address, and uvicorn on it without logs.

Belongs here: what the receiver and the sandbox do alike. Not here: what is answered, what a signal does.
It knows nothing of the service, so that the sandbox may use it (docs/architecture.md).
"""

import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

waiting_max = 2048  # connections that wait to be accepted; a system may hold fewer


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that takes connections; port 0 is any free one. Raises OSError as it came."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere the same option would let two servers share the port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(waiting_max)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def socket_url(listening: socket.socket) -> str:
    """Return `http://host:port` of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class ServedConnection(H11Protocol):
    """One connection; the application finds its `extensions` in the scope of each request.

    ASGI itself knows no way to close the connection of a request, or to say who its caller is.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        app = self.app

        async def extended(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                scope["extensions"] = {**scope.get("extensions", {}), **self.extensions()}
            await app(scope, receive, send)

        self.app = extended

    def extensions(self) -> Mapping[str, Callable[[], object]]:
        """What the application may do to this connection, by the name that it knows."""
        return {}


class QuietServer(uvicorn.Server):
    """uvicorn that reports when it is ready. It writes no logs: they would hold paths, and keys in a query.

    `stop_wait_s`: seconds that requests in flight get to end when the server has to stop.
    """

    def __init__(
        self,
        app: ASGIApp,
        on_ready: Callable[[], None],
        *,
        connection: type[ServedConnection],
        stop_wait_s: int,
        **options: Any,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=connection,
                log_config=None,
                log_level=logging.ERROR,
                access_log=False,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=stop_wait_s,
                **options,
            )
        )
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections, then say so; not where another part of uvicorn's start failed."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()
