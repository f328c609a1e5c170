"""Servers that take everything and say nothing: from the first word on, or from the moment when told to."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from threading import Event, Thread
from urllib.parse import urlsplit


class Deaf:
    """A port of this machine that accepts every call, reads, and never answers."""

    def __init__(self, port: int, called: Event) -> None:
        self.port = port
        self.called = called  # set with the first call

    def url(self, **options: object) -> str:
        said = "&".join(f"{name}={value}" for name, value in {"sslmode": "disable", **options}.items())
        return f"postgresql://somebody@127.0.0.1:{self.port}/store?{said}"


@contextmanager
def deaf() -> Iterator[Deaf]:
    """Give a server that never answers."""
    called = Event()
    with _listening(lambda _: called.set()) as port:
        yield Deaf(port, called)


class Proxy:
    """A way to a server that passes everything on until `silent` is set: then nothing comes back any more."""

    def __init__(self, url: str) -> None:
        self.silent = Event()
        self.asked = Event()  # set when something was asked in the silence
        self._url = urlsplit(url)
        self.port = 0
        self._servers: list[socket.socket] = []
        self.calls = 0  # connections that were asked for

    def close(self) -> None:
        for server in self._servers:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)  # closing alone ends nothing while a thread reads
            server.close()

    def url(self, **options: object) -> str:
        """The same database by this way."""
        login = self._url.netloc.rpartition("@")[0]
        said = "&".join(f"{name}={value}" for name, value in {"sslmode": "disable", **options}.items())
        return f"postgresql://{login}@127.0.0.1:{self.port}{self._url.path}?{said}"

    def call(self, caller: socket.socket) -> None:
        self.calls += 1
        server = socket.create_connection((self._url.hostname, self._url.port))
        self._servers.append(server)
        Thread(target=self._pass, args=(caller, server, Event(), self._heard), daemon=True).start()
        Thread(target=self._pass, args=(server, caller, self.silent), daemon=True).start()

    def _heard(self) -> None:
        if self.silent.is_set():
            self.asked.set()

    @staticmethod
    def _pass(
        source: socket.socket,
        target: socket.socket,
        silent: Event,
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                heard()
                if not silent.is_set():
                    target.sendall(data)
            if not silent.is_set():
                target.shutdown(socket.SHUT_WR)


@contextmanager
def proxy(url: str) -> Iterator[Proxy]:
    """Give a way to the server of `url` that can fall silent."""
    way = Proxy(url)
    with closing(way), _listening(way.call) as way.port:
        yield way


@contextmanager
def _listening(on_call: Callable[[socket.socket], object]) -> Iterator[int]:
    callers: list[socket.socket] = []

    def listen() -> None:
        with suppress(OSError):
            while True:
                caller, _ = server.accept()
                callers.append(caller)  # kept, or it would be closed, which is an answer
                on_call(caller)

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=listen, daemon=True).start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for caller in callers:
                caller.close()
