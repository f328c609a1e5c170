"""A connection to an LDAP server: BER, TLS, messages with limits in time and size, what results mean.

What requests say is ldap_requests.py, what entries are ldap_search.py.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from reconciler.core.calls import is_loopback
from reconciler.directories.answers import DirectoryFailed, load_directory_trust, require_plain_url
from reconciler.model.directories import LdapDirectory
from reconciler.model.documents import CHARACTERS_MAX

# --- BER as LDAP uses it (RFC 4511, 5.1) ----------------------------------------------------------
#
# Definite lengths, one byte for a tag. What does not fit is refused: `ldap3` reads answers too, and cuts off
# without a word what is longer than what it stands in.


INTEGER, OCTETS, ENUMERATED, SEQUENCE, SET = 0x02, 0x04, 0x0A, 0x30, 0x31

BerElement = tuple[int, bytes]  # the tag, and what stands in it

_TAG = (
    0x1F  # the bits of the number of a tag: all of them, and its number is in further bytes, as none of LDAP
)
_LONG = 0x80  # a length from here on says in how many bytes the length stands
_LENGTH_MAX = 4  # bytes in which a length is written: 4 GiB, and far more than any limit of ours
_INTEGER_MAX = 8  # bytes


class NotBer(ValueError):
    """These bytes are no elements of BER."""


def split_elements(data: bytes) -> list[BerElement]:
    """Return the elements that stand side by side in `data`, which they fill. Raises NotBer."""
    found: list[BerElement] = []
    at, end = 0, len(data)
    while at < end:
        start, tag = at + 2, data[at]
        # What `read_header` says of nearly every element, without a call: an entry has thirty.
        if start <= end and data[at + 1] < _LONG and tag & _TAG != _TAG:
            stop = start + data[at + 1]
        else:
            start, stop = read_header(data, at)
        if stop > end:
            raise NotBer
        found.append((tag, data[start:stop]))
        at = stop
    return found


def read_header(data: bytes | bytearray, at: int = 0) -> tuple[int, int]:
    """Return where the content of the element at `at` begins and ends, which may be behind the end of `data`.

    Where not all of its header is there, so is the beginning. Raises NotBer.
    """
    start = at + 2
    if len(data) < start:
        return start, start
    length = data[at + 1]
    if data[at] & _TAG == _TAG:
        raise NotBer
    if length < _LONG:
        return start, start + length
    size = length & ~_LONG
    if not 1 <= size <= _LENGTH_MAX:  # without one it is of indefinite length (RFC 4511, 5.1)
        raise NotBer
    start += size
    return start, start + int.from_bytes(data[start - size : start])


def match_elements(data: bytes, *tags: int) -> list[bytes]:
    """Return the contents of the elements with which `data` begins, which have these tags. Raises NotBer."""
    found = split_elements(data)
    if [tag for tag, _ in found[: len(tags)]] != [*tags]:
        raise NotBer
    return [content for _, content in found]


def decode_integer(content: bytes) -> int:
    """Return what an INTEGER or ENUMERATED holds. Raises NotBer."""
    if not 1 <= len(content) <= _INTEGER_MAX:
        raise NotBer
    return int.from_bytes(content, signed=True)


# --- Messages over a socket -----------------------------------------------------------------------

# What answers, by its tag (RFC 4511, appendix B).
BOUND, ENTRY, DONE, REFERENCE, EXTENDED = 0x61, 0x64, 0x65, 0x73, 0x78
_LAST = frozenset({BOUND, DONE, EXTENDED})  # no message of the same request comes after one of these
_CONTROLS = 0xA0
_UNASKED = 0  # the number of what answers no request: the server says that it will close (RFC 4511, 4.4)

MESSAGE_MAX = 16 * 1024 * 1024  # bytes; an entry with a photo has some 100 thousand
_AT_ONCE = 64 * 1024  # bytes that are read at once
_PORTS = {"ldap": 389, "ldaps": 636}

_URL = "check `url` in the settings, and the network"
STRANGE = ("the server does not answer as LDAP requires.", "check `url`: its port, and ldap:// or ldaps://")
_CLOSED = (
    "the server closed the connection before its answer was complete.",
    "run it again later; if it never answers, check the port in `url`, and ldap:// or ldaps://",
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
        with _translate_errors():
            self._socket.settimeout(_remaining_s(self._until))
            self._socket.sendall(data)

    def secure(self, trust: ssl.SSLContext, host: str) -> None:
        """Speak TLS from now on, with a server whose certificate is for `host`."""
        # What came in the clear behind the answer would be read as if it had come encrypted.
        if self._data:
            raise DirectoryFailed(*STRANGE)
        with _translate_errors():
            self._socket.settimeout(_remaining_s(self._until))
            self._socket = trust.wrap_socket(self._socket, server_hostname=host)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _message(self) -> LdapMessage:
        try:
            answered, message = parse_message(self._frame())
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
            start, end = read_header(self._data)
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
        with _translate_errors():
            # Counted from the request on: a server that sends a byte a minute is late as well.
            self._socket.settimeout(max(self._until - time.monotonic(), 0.001))
            data = self._socket.recv(_AT_ONCE)
        self._left -= len(data)
        if not data:
            raise DirectoryFailed(*_CLOSED)
        if self._left < 0:
            what = f"it returns more than {self._bytes_max:,} bytes, which is the limit."
            raise DirectoryFailed(what, "narrow `filter` or `base`, or leave large attributes out")
        return data


def parse_message(frame: bytes) -> tuple[int, LdapMessage]:
    """Return the number of a message, and the message. Raises NotBer."""
    parts = split_elements(frame)
    tags = [tag for tag, _ in parts]
    if len(tags) not in (2, 3) or tags[0] != INTEGER or tags[2:] not in ([], [_CONTROLS]):
        raise NotBer
    return decode_integer(parts[0][1]), LdapMessage(*parts[1], controls=parts[2][1] if parts[2:] else b"")


def _remaining_s(ends_at: float) -> float:
    """Return the seconds that are left. Raises TimeoutError where none are."""
    left_s = ends_at - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


@contextmanager
def open_wire(
    directory: LdapDirectory, secured: Callable[[LdapWire], None], ends_at: float
) -> Iterator[LdapWire]:
    """Give a connection to a directory, encrypted unless the directory is on this machine.

    `secured` asks the server for TLS where the settings say `start_tls`. Raises DirectoryFailed.
    """
    scheme, host, port = _parse_address(directory)
    trust = load_directory_trust(directory.ca) if scheme == "ldaps" or directory.start_tls else None
    with _translate_errors():
        connection = socket.create_connection((host, port), _remaining_s(ends_at))
    wire = LdapWire(connection, ends_at)
    try:
        if trust is not None:
            if directory.start_tls:
                secured(wire)
            wire.secure(trust, host)
        yield wire
    finally:
        wire.close()


def _parse_address(directory: LdapDirectory) -> tuple[str, str, int]:
    """Return scheme, host and port of the URL."""
    hint = "write it like ldaps://ldap.example.com, or ldap:// with `start_tls: true`"
    try:
        parts = urlsplit(require_plain_url(directory.url))
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise DirectoryFailed("its `url` is not the address of an LDAP server.", hint) from None
    if not parts.hostname or "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment:
        raise DirectoryFailed("its `url` has to be scheme, host and port, and nothing else.", hint)
    if parts.scheme == "ldaps" and directory.start_tls:
        raise DirectoryFailed("ldaps:// is encrypted from the start, so `start_tls` asks for nothing.", hint)
    if parts.scheme == "ldap" and not directory.start_tls and not is_loopback(parts.hostname):
        raise DirectoryFailed(
            "this `url` is not encrypted: anyone on the network could read what is sent.", hint
        )
    return parts.scheme, parts.hostname, port


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise DirectoryFailed where the system says that a connection broke."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        what = f"its certificate is not trusted ({error.verify_message})."
        raise DirectoryFailed(what, "check `ca`, and the name in `url`") from error
    except OSError as error:
        what, hint = next((what, hint) for kind, what, hint in _BROKEN if isinstance(error, kind))
        raise DirectoryFailed(what, hint) from error


# --- Result codes ---------------------------------------------------------------------------------
#
# Source: RFC 4511, A.2, and appendix A. The server's own words are never shown: they may hold a DN, or a
# value of somebody.


SUCCESS = 0

_ASK = "ask the operator of the directory"
_LOGIN = "check `dn` and `password` in the settings"
_NARROW = "narrow `filter` or `base`, or ask the operator of the directory for a higher limit for this user"
_RIGHTS = "check what the user of `dn` may read there"
_LATER = "run it again later"
_BASE = "check `base` in the settings: it is a DN, such as ou=people,dc=example,dc=com"

ELSEWHERE = (
    "a part of the tree is on another server; reconciler follows no referrals.",
    "name a `base` below which everything is on this server, or ask a server that holds all of it",
)

# Code -> what happened, what to do next.
LDAP_RESULTS: dict[int, tuple[str, str]] = {
    1: ("the server refuses the order of requests.", f"check whether it requires a user (`dn`); or {_ASK}"),
    2: ("the server does not understand the request.", "check `url`: it may speak another protocol"),
    3: ("the server's time limit was reached; its partial answer is not used.", _NARROW),
    4: ("the server's limit of entries was reached; its partial answer is not used.", _NARROW),
    7: ("the server does not accept passwords.", _ASK),
    8: ("the server requires stronger authentication.", "use ldaps:// or `start_tls`; or " + _ASK),
    10: ELSEWHERE,
    11: ("an administrative limit was reached; the partial answer is not used.", _NARROW),
    12: (
        "the server does not support paged results (RFC 2696).",
        f"{_ASK} to allow the control 1.2.840.113556.1.4.319",
    ),
    13: ("the server requires encryption.", "use ldaps:// or `start_tls`"),
    14: ("the server requires an authentication method that is not supported.", _ASK),
    16: ("the server does not know one of the attributes.", "check `attributes` and `filter`"),
    17: ("the server does not know one of the attributes.", "check `attributes` and `filter`"),
    18: ("the filter compares an attribute in a way that the server does not support.", "check `filter`"),
    19: ("the server refuses the value: it breaks a rule of the directory.", _ASK),
    21: ("the filter has a value that its attribute cannot have.", "check `filter`"),
    32: ("there is no such `base`, or this user may not see it.", _BASE),
    33: ("an alias points to nothing.", _ASK),
    34: ("a DN of the settings is invalid.", "check `base` and `dn`"),
    36: ("an alias could not be followed.", _ASK),
    48: ("the server refuses this user with a password.", _LOGIN),
    49: ("the server does not accept the DN and password.", _LOGIN),
    50: ("this user may not read it.", _RIGHTS),
    51: ("the server is busy.", _LATER),
    52: ("the server is not available.", _LATER),
    53: ("the server refuses to do it.", _ASK),
    54: ("the server detected a loop.", _ASK),
    71: ("the answer would come from several servers.", _ASK),
    80: ("the server failed.", _LATER),
}


def explain_result(step: str, code: int) -> DirectoryFailed:
    """Return why a step, such as "the search", did not succeed."""
    what, hint = LDAP_RESULTS.get(code, ("the server refuses, with an unknown result code.", _ASK))
    return DirectoryFailed(f"{step}: {what} (LDAP result {code})", hint)
