"""Roads to a service on loopback: one that speaks TLS, and a proxy that knows CONNECT and keeps what it saw.

    async with Front(port) as service, HttpProxy() as proxy: ...          # in the loop of the test
    with beside(Front(port), HttpProxy()) as (service, proxy): ...        # for a command, in a thread

The proxy connects whatever name it is asked for to `leads_to`: tests ask for names that nobody resolves.
"""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

TRUSTED = Path(__file__).with_name("trusted.pem")  # proves 127.0.0.1 and service.example.com
STRANGER = Path(__file__).with_name("untrusted.pem")  # proves 127.0.0.1, by another authority


def proving(certificate: Path) -> ssl.SSLContext:
    """The server's side of TLS with a certificate of the tests."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate)
    return made


@dataclass
class _Listener:
    """Listens on loopback while its context lasts."""

    tls: ssl.SSLContext | None = None
    port: int = 0
    accepted: int = 0
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self.play(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError


@dataclass
class Front(_Listener):
    """TLS before a service that speaks plain HTTP on a port of loopback, and answers to no other name."""

    behind: int = 0

    async def play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.behind)
        try:
            await asyncio.gather(self._renamed(reader, back), _passed(there, writer, []))
        finally:
            back.close()

    async def _renamed(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            target.write(data.replace(b"Host: service.example.com", b"Host: 127.0.0.1"))
            await target.drain()
        target.close()


@dataclass
class Answers(_Listener):
    """A service that gives every request this answer, or none, and keeps what it heard."""

    answer: bytes = b""
    heard: list[bytes] = field(default_factory=list)

    async def play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heard.append(head)
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    await reader.readexactly(int(line.split(b":")[1]))
            if not self.answer:
                return
            writer.write(self.answer)
            await writer.drain()


@dataclass
class HttpProxy(_Listener):
    """A proxy. `says` is its answer to everything; with b"" it connects, with None it stays silent."""

    leads_to: int = 0
    says: bytes | None = b""
    asked: list[str] = field(default_factory=list)  # the first line of everything that it was asked
    logins: list[str] = field(default_factory=list)
    seen: list[bytes] = field(default_factory=list)  # whatever passed it, both ways

    async def play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.asked.append(head[0])
        self.logins += [line for line in head if line.lower().startswith("proxy-authorization:")]
        if self.says is None:
            await reader.read(-1)
        elif self.says:
            writer.write(self.says)
            await writer.drain()
        else:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _joined(reader, writer, self.leads_to, self.seen)


async def _joined(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, seen: list[bytes]
) -> None:
    """Pass bytes on between a caller and a port of loopback, until both are done."""
    there, back = await asyncio.open_connection("127.0.0.1", port)
    try:
        await asyncio.gather(_passed(reader, back, seen), _passed(there, writer, seen))
    finally:
        back.close()


async def _passed(source: asyncio.StreamReader, target: asyncio.StreamWriter, seen: list[bytes]) -> None:
    while data := await source.read(65_536):
        seen.append(data)
        target.write(data)
        await target.drain()
    target.close()


@contextmanager
def beside(*listeners: _Listener) -> Iterator[None]:
    """Let them listen in a thread of their own, in the order given."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    stack = AsyncExitStack()

    async def entered() -> None:
        for one in listeners:
            await stack.enter_async_context(one)

    try:
        asyncio.run_coroutine_threadsafe(entered(), loop).result()
        yield
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
