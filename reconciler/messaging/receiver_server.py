"""The receiver behind a port, in the foreground until it is asked to stop."""

import asyncio
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import h11
from starlette.types import ASGIApp

from reconciler.asgi_server import QuietServer, ServedConnection
from reconciler.messaging.receiver import admit_extension

head_deadline_s = 5.0  # seconds from the connection to the end of a request's head
# Connections at once, together below what a process may usually have open. A caller that has not shown the
# key takes a place of the strangers; where those are full, the one that came first is closed. A caller that
# has shown it gives that place back for one of the others, which no stranger can take.
strangers_max = 384
callers_max = 128  # more of them get a 503, and come again
head_bytes_max = 16_384  # bytes of a request's head
# Seconds: a whole stop takes less than 2. What is not answered by then comes again.
stop_wait_s = 1


class Closable(Protocol):
    """What can be turned away."""

    def turn_away(self) -> None:
        """Close it at once."""


class ConnectionSlots:
    """Who is connected: strangers in the order in which they came, and callers who have shown the key."""

    def __init__(self, strangers: int = strangers_max, callers: int = callers_max) -> None:
        self._strangers_max = strangers
        self._callers_max = callers
        self._strangers: dict[Closable, None] = {}
        self._callers: set[Closable] = set()

    def take(self, connection: Closable) -> None:
        """A stranger has come; where there is no place, the one that came first is turned away."""
        self._strangers[connection] = None
        if len(self._strangers) > self._strangers_max:
            first = next(iter(self._strangers))
            self.leave(first)
            first.turn_away()

    def admit(self, connection: Closable) -> bool:
        """It has shown the key: whether there is a place for it."""
        if len(self._callers) >= self._callers_max:
            return False
        self._strangers.pop(connection, None)
        self._callers.add(connection)
        return True

    def leave(self, connection: Closable) -> None:
        """It has gone."""
        self._strangers.pop(connection, None)
        self._callers.discard(connection)


class _DeadlineConnection(ServedConnection):
    """A connection that is closed where no request has arrived on it in time. It carries one request.

    The application finds in the scope how to say that its caller has shown the key.
    """

    places: ConnectionSlots  # those of the server; see _Server

    def extensions(self) -> Mapping[str, Callable[[], object]]:
        return {admit_extension: lambda: self.places.admit(self)}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it so too
        super().connection_made(transport)
        self.places.take(self)
        self.loop.call_later(head_deadline_s, self._hurry)

    def connection_lost(self, exc: Exception | None) -> None:
        self.places.leave(self)
        super().connection_lost(exc)

    def turn_away(self) -> None:
        self.transport.abort()

    def _hurry(self) -> None:
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


class _ReceiverServer(QuietServer):
    """One that asks whether it is to stop, and leaves signals alone."""

    def __init__(
        self, app: ASGIApp, on_ready: Callable[[], None], asked: Callable[[], bool], places: ConnectionSlots
    ) -> None:
        super().__init__(
            app,
            on_ready,
            connection=type("_Placed", (_DeadlineConnection,), {"places": places}),
            stop_wait_s=stop_wait_s,
            lifespan="off",
            proxy_headers=False,
            h11_max_incomplete_event_size=head_bytes_max,
        )
        self._asked = asked

    async def on_tick(self, counter: int) -> bool:
        return self._asked() or await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if sys.platform == "win32":
            with super().capture_signals():
                yield
        else:  # signals.py handles them
            yield


def serve_receiver(
    app: ASGIApp,
    listening: socket.socket,
    *,
    on_ready: Callable[[], None],
    asked: Callable[[], bool],
    places: ConnectionSlots | None = None,
) -> None:
    """Serve until `asked` says so, finish what is in flight, then return. The socket stays the caller's.

    `asked` is called ten times a second: whether to stop. `places` says how many may be connected.
    """
    _ReceiverServer(app, on_ready, asked, places or ConnectionSlots()).run(sockets=[listening])
