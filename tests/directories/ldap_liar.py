"""An LDAP server on loopback that says what a test wants: bytes, whatever they are.

    with Liar([[entry("cn=a"), done()]]) as liar: ...      its `url`; each request gets the next answer

Written from RFC 4511, and with nothing of the reader: sharing its BER would make both wrong in the same way.
"""

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

Said = Callable[[int], bytes]  # bytes of an answer, given the number of the request

PAGED = b"1.2.840.113556.1.4.319"
ENTRY, DONE, REFERENCE, BOUND, EXTENDED, INTERMEDIATE = 0x64, 0x65, 0x73, 0x61, 0x78, 0x79


def tlv(tag: int, *parts: bytes) -> bytes:
    """One element of BER, with the shortest length that there is."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + content


def integer(value: int, tag: int = 0x02) -> bytes:
    return tlv(tag, value.to_bytes(value.bit_length() // 8 + 1, signed=True))


def text(value: str | bytes, tag: int = 0x04) -> bytes:
    return tlv(tag, value if isinstance(value, bytes) else value.encode())


def message(*parts: bytes, number: int | None = None) -> Said:
    """A message whose parts follow its number."""
    return lambda asked: tlv(0x30, integer(asked if number is None else number), *parts)


def raw(data: bytes) -> Said:
    return lambda _: data


def attribute(name: str | bytes, *values: str | bytes) -> bytes:
    return tlv(0x30, text(name), tlv(0x31, *map(text, values)))


def entry(dn: str | bytes, *attributes: bytes) -> Said:
    return message(tlv(ENTRY, text(dn), tlv(0x30, *attributes)))


def reference(*urls: str) -> Said:
    return message(tlv(REFERENCE, *map(text, urls)))


def page(cookie: bytes = b"", *, oid: bytes = PAGED, size: int = 0) -> bytes:
    """The controls of a result: those of a page."""
    value = tlv(0x30, integer(size), text(cookie))
    return tlv(0xA0, tlv(0x30, text(oid), text(value)))


def done(code: int = 0, controls: bytes | None = None, *, tag: int = DONE, more: bytes = b"") -> Said:
    """A result, with words that nobody may see."""
    words = (text("dc=canary"), text("canary jane@example.com"))
    operation = tlv(tag, integer(code, 0x0A), *words, more)
    return message(operation, page() if controls is None else controls)


def bound(code: int = 0) -> Said:
    return done(code, b"", tag=BOUND)


def extended(code: int = 0) -> Said:
    return done(code, b"", tag=EXTENDED)


@dataclass
class Liar:
    """Gives each request the next answer, on every connection from the first one on; then it closes.

    `silent`: it stays silent instead. `drips`: a byte at a time, and between two of them it waits so long.
    """

    answers: Sequence[Sequence[Said]]
    silent: bool = False
    drips_s: float = 0.0
    pause_s: float = 0.0  # before each answer
    again: Sequence[Sequence[Said]] | None = None  # what the second connection gets, if something else
    asked: list[list[bytes]] = field(default_factory=list)  # the requests of each connection
    url: str = ""

    def __enter__(self) -> Self:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._over = threading.Event()
        self.url = f"ldap://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection:
                requests: list[bytes] = []
                self.asked.append(requests)
                with suppress(OSError):  # the reader went away, which is what some tests are about
                    self._play(connection, requests)

    def _play(self, connection: socket.socket, requests: list[bytes]) -> None:
        script = self.again if self.again is not None and len(self.asked) > 1 else self.answers
        for number, answer in enumerate(script, start=1):
            requests.append(_request(connection))
            if self._over.wait(self.pause_s):
                return
            data = b"".join(said(number) for said in answer)
            if self.drips_s:
                for byte in data:
                    connection.sendall(bytes([byte]))
                    if self._over.wait(self.drips_s):
                        return
            connection.sendall(data)
        if self.silent:
            self._over.wait()
        connection.shutdown(socket.SHUT_WR)
        while data := connection.recv(65_536):  # a goodbye, or what this server has no answer for
            requests.append(data)


def _request(connection: socket.socket) -> bytes:
    """Read one request."""
    head = _exactly(connection, 2)
    size, length = head[1], b""
    if size & 0x80:
        length = _exactly(connection, size & 0x7F)
        size = int.from_bytes(length)
    return head + length + _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise OSError
        data += more
    return data
