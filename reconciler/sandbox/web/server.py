"""An ASGI application behind a port: in the foreground until a signal, or in a thread for a while.

Belongs here: signals, the thread, how long to wait. Not here: the socket and uvicorn (serving.py), anything
about the service.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from starlette.types import ASGIApp

from reconciler.asgi_server import QuietServer, ServedConnection, open_listening_socket, socket_url

loopback = "127.0.0.1"
keep_alive_s = 75  # seconds; uvicorn's 5 would close connections that a client is just about to use again
stop_wait_s = 5  # seconds
close_extension = "sandbox.close"  # in a scope: a function that closes the connection of this request


class _Closable(ServedConnection):
    """A connection that the application may close under a request. What was written before is still sent."""

    def extensions(self) -> Mapping[str, Callable[[], object]]:
        return {close_extension: self.transport.close}


class _Server(QuietServer):
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
        _Server(make(), lambda: on_ready(socket_url(listening))).run(sockets=[listening])
    finally:
        listening.close()


@contextmanager
def running_app(make: Callable[[], ASGIApp]) -> Iterator[str]:
    """The application runs in its own thread on a free loopback port, and has stopped at the end."""
    app = make()
    ready = threading.Event()
    with open_listening_socket(loopback, 0) as listening:
        reached = socket_url(listening)
        server = _Server(app, ready.set)
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
