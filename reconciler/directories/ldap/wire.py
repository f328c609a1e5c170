"""A connection to an LDAP server: TLS, messages with their limits in time and size, and how it breaks.

Belongs here: sockets, certificates, which message answers which. Not here: what requests say
(requests.py) and what entries are (columns.py).
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from reconciler.core.calls import is_loopback
from reconciler.directories.answers import DirectoryFailed
from reconciler.directories.ldap.ber import INTEGER, SEQUENCE, NotBer, elements, header, number
from reconciler.directories.origin import plain_url, trusted
from reconciler.model.documents import CHARACTERS_MAX
from reconciler.model.settings import LdapDirectory

# What answers, by its tag (RFC 4511, appendix B).
BOUND, ENTRY, DONE, REFERENCE, EXTENDED = 0x61, 0x64, 0x65, 0x73, 0x78
_LAST = frozenset({BOUND, DONE, EXTENDED})  # no message of the same request comes after one of these
_CONTROLS = 0xA0
_UNASKED = 0  # the number of what answers no request: the server says that it will close (RFC 4511, 4.4)

MESSAGE_MAX = 16 * 1024 * 1024  # bytes; an entry with a photo has some 100 thousand
_AT_ONCE = 64 * 1024  # bytes that are read at once
_PORTS = {"ldap": 389, "ldaps": 636}

_URL = "check `url` in the settings, and the network"
STRANGE = ("what answers does not speak LDAP as it should.", "check `url`: its port, and ldap:// or ldaps://")
_CLOSED = (
    "the server closed the connection before its answer was complete.",
    "run it again later; where it never answers, check the port in `url`, and ldap:// or ldaps://",
)
# What the system says -> what happened, what to do next. The first that fits.
_BROKEN: tuple[tuple[type[OSError], str, str], ...] = (
    (TimeoutError, "it gave no complete answer in time.", "raise `timeout_s` if it is known to be slow"),
    (socket.gaierror, "its name cannot be resolved.", _URL),
    (ConnectionRefusedError, "it refuses the connection.", _URL),
    (ssl.SSLError, "the TLS handshake failed.", "check `url`: its port, and ldap:// or ldaps://"),
    (OSError, "the connection broke.", _URL),
)


@dataclass(frozen=True, slots=True)
class LdapMessage:
    """One message of a server: the tag of what it is, its content, and that of its controls."""

    tag: int
    body: bytes
    controls: bytes


class LdapWire:
    """One connection, one request at a time. Raises DirectoryFailed, and is of no use after that.

    All answers together have the time up to `ends_at`, of the monotonic clock, and `bytes_max`.
    """

    def __init__(self, connection: socket.socket, ends_at: float, *, bytes_max: int = CHARACTERS_MAX) -> None:
        self._socket = connection
        self._until = ends_at
        self._number = 0
        self._data = bytearray()  # that was read, and belongs to no message yet
        self._left = self._bytes_max = bytes_max

    def ask(self, request: Callable[[int], bytes]) -> Iterator[LdapMessage]:
        """Send a request, given its number, and yield what answers it, up to the last message."""
        self.tell(request)
        tag = 0
        while tag not in _LAST:
            message = self._message()
            tag = message.tag
            yield message

    def tell(self, request: Callable[[int], bytes]) -> None:
        """Send a request, given its number."""
        self._number += 1
        data = request(self._number)
        with _told():
            self._socket.settimeout(_left_s(self._until))
            self._socket.sendall(data)

    def secure(self, trust: ssl.SSLContext, host: str) -> None:
        """Speak TLS from now on, with whoever proves to be `host`."""
        # What came in the clear behind the answer would be read as if it had come encrypted.
        if self._data:
            raise DirectoryFailed(*STRANGE)
        with _told():
            self._socket.settimeout(_left_s(self._until))
            self._socket = trust.wrap_socket(self._socket, server_hostname=host)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _message(self) -> LdapMessage:
        try:
            answered, message = parsed_message(self._frame())
        except NotBer:
            raise DirectoryFailed(*STRANGE) from None
        if answered == _UNASKED:
            raise DirectoryFailed(*_CLOSED)
        if answered != self._number:
            raise DirectoryFailed(*STRANGE)
        return message

    def _frame(self) -> bytes:
        """Return the content of the next message. Raises NotBer."""
        while True:
            start, end = header(self._data)
            if self._data and self._data[0] != SEQUENCE:
                raise NotBer
            if end > MESSAGE_MAX:
                what = f"it sends an entry of more than {MESSAGE_MAX // 1024 // 1024} MiB."
                raise DirectoryFailed(what, "leave large attributes, such as photos, out of `attributes`")
            if len(self._data) >= end:
                found = bytes(self._data[start:end])
                del self._data[:end]
                return found
            self._data += self._read()

    def _read(self) -> bytes:
        with _told():
            # Counted from the request on: a server that sends a byte a minute is late as well.
            self._socket.settimeout(max(self._until - time.monotonic(), 0.001))
            data = self._socket.recv(_AT_ONCE)
        self._left -= len(data)
        if not data:
            raise DirectoryFailed(*_CLOSED)
        if self._left < 0:
            what = f"it answers more than {self._bytes_max:,} bytes, which is the limit."
            raise DirectoryFailed(what, "narrow `filter` or `base`, or leave large attributes out")
        return data


def parsed_message(frame: bytes) -> tuple[int, LdapMessage]:
    """Return the number of a message, and the message. Raises NotBer."""
    parts = elements(frame)
    tags = [tag for tag, _ in parts]
    if len(tags) not in (2, 3) or tags[0] != INTEGER or tags[2:] not in ([], [_CONTROLS]):
        raise NotBer
    return number(parts[0][1]), LdapMessage(*parts[1], controls=parts[2][1] if parts[2:] else b"")


def _left_s(ends_at: float) -> float:
    """Return the seconds that are left. Raises TimeoutError where none are."""
    left_s = ends_at - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


@contextmanager
def connected(
    directory: LdapDirectory, secured: Callable[[LdapWire], None], ends_at: float
) -> Iterator[LdapWire]:
    """Give a connection to a directory, encrypted unless the directory is on this machine.

    `secured` asks the server for TLS where the settings say `start_tls`. Raises DirectoryFailed.
    """
    scheme, host, port = _address(directory)
    trust = trusted(directory.ca) if scheme == "ldaps" or directory.start_tls else None
    with _told():
        connection = socket.create_connection((host, port), _left_s(ends_at))
    wire = LdapWire(connection, ends_at)
    try:
        if trust is not None:
            if directory.start_tls:
                secured(wire)
            wire.secure(trust, host)
        yield wire
    finally:
        wire.close()


def _address(directory: LdapDirectory) -> tuple[str, str, int]:
    """Return scheme, host and port of the URL."""
    hint = "write it like ldaps://ldap.example.com, or ldap:// with `start_tls: true`"
    try:
        parts = urlsplit(plain_url(directory.url))
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise DirectoryFailed("its `url` is no address of an LDAP server.", hint) from None
    if not parts.hostname or "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment:
        raise DirectoryFailed("its `url` holds more, or less, than scheme, host and port.", hint)
    if parts.scheme == "ldaps" and directory.start_tls:
        raise DirectoryFailed("ldaps:// is encrypted from the start, so `start_tls` asks for nothing.", hint)
    if parts.scheme == "ldap" and not directory.start_tls and not is_loopback(parts.hostname):
        raise DirectoryFailed("everybody on the way could read what is sent to this `url`.", hint)
    return parts.scheme, parts.hostname, port


@contextmanager
def _told() -> Iterator[None]:
    """Raise DirectoryFailed where the system says that a connection broke."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        what = f"its certificate is not trusted ({error.verify_message})."
        raise DirectoryFailed(what, "check `ca`, and the name in `url`") from error
    except OSError as error:
        what, hint = next((what, hint) for kind, what, hint in _BROKEN if isinstance(error, kind))
        raise DirectoryFailed(what, hint) from error
