"""A small TCP server whose connections are played by functions: for failures that HTTP has no word for."""

import asyncio
import selectors
import socket
import struct
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
Play = Callable[["Peer"], Awaitable[None]]


@dataclass
class Peer:
    """One accepted connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def request(self) -> bytes:
        """Read one request, body included, and return its first line."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                await self.reader.readexactly(int(line.split(b":")[1]))
        return head.split(b"\r\n")[0]

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@dataclass
class Server:
    """Plays its script, one entry for each connection, the last one for ever."""

    script: list[Play]
    accepted: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        play = self.script[min(self.accepted, len(self.script) - 1)]
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await play(Peer(reader, writer))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the test is over
        finally:
            self.tasks.discard(task)
            writer.close()


# Real seconds without a word on any socket, after which nobody has anything to say before the next timer:
# both ends are in this process, and what one end sends the other can read at once.
quiet_s = 0.02


class _Quiet(selectors.DefaultSelector):
    """Where nothing is said, time goes on to the next timer."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        found = super().select(min(timeout, quiet_s))
        if not found:
            self.now += timeout
        return found


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._quiet = _Quiet()
        super().__init__(self._quiet)

    def time(self) -> float:
        return self._quiet.now


def when_quiet(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns; a deadline comes when both ends of every connection are silent."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)


async def wait_s(seconds: float) -> None:
    """Let time pass where that takes a moment at most; a real wait is refused."""
    assert isinstance(asyncio.get_running_loop(), _Loop), "somebody would wait for this"
    await asyncio.sleep(seconds)


def free_port() -> int:
    """A loopback port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
