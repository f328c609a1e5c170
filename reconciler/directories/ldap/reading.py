"""An LDAP directory as a table: one search, read in pages, whole or not at all.

Belongs here: the order of the requests, and when an answer is not the whole one. Not here: bytes and sockets
(wire.py), how requests are written (requests.py), what an entry is as a row (columns.py), what
the codes of results mean (results.py).

    connect ─▶ TLS ─▶ bind ─▶ search, a page ─▶ entries ─▶ rows
                                  ▲      │
                                  └cookie┘ until there is none

Loads `ldap3`, an extra that may be missing, and no earlier than something is read.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.directories.ldap.ber import (
    ENUMERATED,
    INTEGER,
    OCTETS,
    SEQUENCE,
    NotBer,
    elements,
    number,
    shaped,
)
from reconciler.directories.ldap.columns import EntryColumns
from reconciler.directories.ldap.results import ELSEWHERE, SUCCESS, refusal
from reconciler.directories.ldap.wire import (
    BOUND,
    DONE,
    ENTRY,
    EXTENDED,
    REFERENCE,
    STRANGE,
    LdapMessage,
    LdapWire,
    connected,
)
from reconciler.directories.whole import ChangedError, whole
from reconciler.extras import require_extra
from reconciler.model.settings import LdapDirectory

if TYPE_CHECKING:
    from reconciler.directories.ldap.requests import LdapRequests

PAGED = b"1.2.840.113556.1.4.319"  # the control of a page (RFC 2696)
EMPTY_PAGES_MAX = 100  # in a row; some servers send one where they search long


def read_ldap(_name: str, directory: LdapDirectory, *, rows_max: int) -> AnswerRows:
    """Return every entry that the search of an LDAP directory finds, in the order of the answer.

    The columns are `dn` and the attributes of the settings. An attribute that an entry lacks is an empty
    cell; one with several values, or whose value is not UTF-8, is unusable. A directory that changes while it
    is read is read once more. Raises DirectoryFailed, MissingExtra, and whatever revealing a secret raises.
    """
    require_extra("ldap")
    # Nobody here can mend it: names that another library of its own calls old.
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"ldap3\b")
    from reconciler.directories.ldap.requests import LdapRequests  # noqa: PLC0415 - loads the extra

    ends_at = time.monotonic() + directory.timeout_s  # of both readings, where it is read twice
    return whole(lambda: _read(directory, LdapRequests(directory), rows_max, ends_at))


def _read(directory: LdapDirectory, requests: "LdapRequests", rows_max: int, ends_at: float) -> AnswerRows:
    bind, columns = _bind(directory, requests), EntryColumns(directory.attributes)
    try:
        with connected(
            directory, lambda wire: _ask(wire, "StartTLS", requests.start_tls, EXTENDED), ends_at
        ) as wire:
            if bind is not None:
                _ask(wire, "the bind", bind, BOUND)
            _take(_entries(wire, requests), columns, rows_max)
            with suppress(DirectoryFailed):  # the server may have closed by itself: the answer is whole
                wire.tell(requests.unbind)
    except NotBer:
        raise DirectoryFailed(*STRANGE) from None
    return columns.answer()


def _take(entries: Iterator[bytes], columns: EntryColumns, rows_max: int) -> None:
    for entry in entries:
        if not columns.take(entry):
            raise ChangedError("it sends an entry twice.")
        columns.limit(rows_max)


def _bind(directory: LdapDirectory, requests: "LdapRequests") -> Callable[[int], bytes] | None:
    """Return the request to be taken for somebody; None where nobody asks for that."""
    dn = directory.dn.reveal() if directory.dn is not None else ""
    password = directory.password.reveal() if directory.password is not None else ""
    # A DN without a password is an anonymous bind that succeeds (RFC 4513, 5.1.2), and then shows less.
    if bool(dn) != bool(password):
        raise DirectoryFailed("of `dn` and `password`, one is missing.", "set both, or neither")
    if not dn:
        return None
    bind = partial(requests.bind, dn=dn, password=password)
    bind(1)  # what cannot be sent is told before anybody is called
    return bind


def _ask(wire: LdapWire, step: str, request: Callable[[int], bytes], answer: int) -> None:
    """Make a request that one message answers. Raises DirectoryFailed where the answer is no success."""
    *before, last = wire.ask(request)
    if before or last.tag != answer:
        raise NotBer
    _succeed(step, last)


def _succeed(step: str, done: LdapMessage) -> None:
    code, *_ = shaped(done.body, ENUMERATED, OCTETS, OCTETS)
    if number(code) != SUCCESS:
        raise refusal(step, number(code))


def _entries(wire: LdapWire, requests: "LdapRequests") -> Iterator[bytes]:
    """Yield every entry of every page."""
    cookie, empty, more = b"", 0, True
    while more:
        empty += 1
        for message in wire.ask(partial(requests.page, cookie=cookie)):
            if message.tag == ENTRY:
                empty = 0
                yield message.body
            elif message.tag == REFERENCE:
                raise DirectoryFailed(*ELSEWHERE)
            elif message.tag != DONE:
                raise NotBer
            else:
                _succeed("the search", message)
                cookie = _cookie(message)
        more = cookie != b""
        if more and empty > EMPTY_PAGES_MAX:
            raise DirectoryFailed("it sends empty pages without an end.", "ask who runs the directory")


def _cookie(done: LdapMessage) -> bytes:
    """Return that of the next page, b"" after the last one."""
    for _, control in elements(done.controls):
        parts = elements(control)
        if parts[:1] == [(OCTETS, PAGED)] and parts[-1][0] == OCTETS:
            (page,) = shaped(parts[-1][1], SEQUENCE)
            return shaped(page, INTEGER, OCTETS)[1]
    # Without it nobody can tell the last page from one that others follow.
    what = "a page does not say whether another one follows (RFC 2696)."
    raise DirectoryFailed(what, "ask who runs the directory")
