"""An LDAP directory as a table: one search, read in pages, whole or not at all.

Bytes, sockets and result codes are ldap_wire.py; requests are written by ldap_requests.py.

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

from reconciler.directories.answers import AnswerRows, ChangedError, DirectoryFailed, read_until_unchanged
from reconciler.directories.ldap_wire import (
    BOUND,
    DONE,
    ELSEWHERE,
    ENTRY,
    ENUMERATED,
    EXTENDED,
    INTEGER,
    OCTETS,
    REFERENCE,
    SEQUENCE,
    SET,
    STRANGE,
    SUCCESS,
    LdapMessage,
    LdapWire,
    NotBer,
    decode_integer,
    explain_result,
    match_elements,
    open_wire,
    split_elements,
)
from reconciler.extras import require_extra
from reconciler.model.directories import LdapDirectory

if TYPE_CHECKING:
    from reconciler.directories.ldap_requests import LdapRequests
import re
from collections.abc import Iterable

from reconciler.model.documents import CELLS_MAX, UNSAID
from reconciler.parsing.display import show_value

# --- Entries as rows ------------------------------------------------------------------------------
#
# The name of an attribute may have options (`cn;lang-de`). One that is asked for without them is taken
# without them: the server answers `cn;lang-de` beside `cn`, and it is another one.

DN = "dn"
NAME_MAX = 200  # characters of a DN in a place

_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9-]*(;[A-Za-z0-9-]+)*", re.ASCII)
_HINT = "write names such as mail, or cn;lang-de; only named attributes are requested"
_OTHER = -1  # the column of one that is asked for with other options
_RANGE = "range="  # an option of Active Directory: a part of the values, for there are too many


class EntryColumns:
    """The rows of a search, one entry after the other. Raises DirectoryFailed for names that are none."""

    def __init__(self, attributes: Iterable[str]) -> None:
        self.header = (DN, *attributes)
        self._columns: dict[str, int] = {}
        self._met: dict[bytes, tuple[int, bool]] = {}  # names as the server writes them: few, in every entry
        for index, name in enumerate(self.header):
            if not _ATTRIBUTE.fullmatch(name):
                raise DirectoryFailed(
                    f"{show_value(name)!r} in `attributes` is not the name of an attribute.", _HINT
                )
            if self._columns.setdefault(_normalize_attribute(name)[0], index) != index:
                raise DirectoryFailed(f"{name} is in `attributes` twice, or is the column `dn`.", _HINT)
        self._asked = frozenset(name.partition(";")[0] for name in self._columns)
        self.rows: list[list[str]] = []
        self._names: list[str] = []
        self._known: set[bytes] = set()
        self._unusable: dict[int, dict[int, str]] = {}

    def take(self, entry: bytes) -> bool:
        """Take a SearchResultEntry; whether its DN is a new one. Raises NotBer, and DirectoryFailed."""
        dn, attributes = match_elements(entry, OCTETS, SEQUENCE)
        folded = dn.lower()
        if folded in self._known:
            return False
        self._known.add(folded)
        cells: list[str | None] = [None] * len(self.header)
        self._put(cells, 0, [dn])
        for attribute in _split_alike(attributes, SEQUENCE):
            described, values = match_elements(attribute, OCTETS, SET)
            self._attribute(cells, described, _split_alike(values, OCTETS))
        self.rows.append([cell or "" for cell in cells])
        self._names.append(show_value(dn.decode("utf-8", "backslashreplace"), most=NAME_MAX))
        return True

    def limit(self, rows_max: int) -> None:
        """Raise DirectoryFailed where there are more rows, or more cells, than a table may have."""
        if len(self.rows) > rows_max:
            what = f"it returns more than {rows_max:,} entries, which is the limit."
            raise DirectoryFailed(what, "narrow `filter` or `base` in the settings")
        if len(self.rows) * len(self.header) > CELLS_MAX:
            what = f"its entries make more than {CELLS_MAX:,} cells, which is the limit."
            raise DirectoryFailed(what, "name fewer `attributes`, or narrow `filter`")

    def answer(self) -> AnswerRows:
        """Return what was taken."""
        return AnswerRows(self.header, tuple(self.rows), tuple(self._names), self._unusable)

    def _attribute(self, cells: list[str | None], described: bytes, values: list[bytes]) -> None:
        column, part = self._met.get(described) or self._meet(described)
        if column != _OTHER:
            self._put(cells, column, values, part=part)

    def _meet(self, described: bytes) -> tuple[int, bool]:
        """Return which column an attribute is, and whether what it holds is a part of its values."""
        name, part = _normalize_attribute(described.decode("ascii", "replace"))
        if name.partition(";")[0] not in self._asked:
            # Asked for `surname`, a server answers `sn`: the column would be empty in every row.
            what = f"it returns the attribute {show_value(name)}, which `attributes` does not name."
            raise DirectoryFailed(what, "name attributes as this server does")
        found = self._met[described] = self._columns.get(name, _OTHER), part
        return found

    def _put(self, cells: list[str | None], column: int, values: list[bytes], *, part: bool = False) -> None:
        """Fill a cell, which is None where nothing filled it before."""
        held = ""
        if part or len(values) > 1 or (values and cells[column] is not None):
            held = "several values"
        elif values:
            try:
                cells[column] = values[0].decode("utf-8")
            except UnicodeDecodeError:
                held = "bytes that are not UTF-8"
        if held:
            cells[column] = UNSAID
            self._unusable.setdefault(len(self.rows), {})[column] = held


def _normalize_attribute(name: str) -> tuple[str, bool]:
    """Return a name and its options in one form, and whether it stands for a part of the values only."""
    first, *options = name.lower().split(";")
    rest = sorted(option for option in options if not option.startswith(_RANGE))
    return ";".join([first, *rest]), len(rest) < len(options)


def _split_alike(data: bytes, tag: int) -> list[bytes]:
    """Return the contents of elements that all have one tag. Raises NotBer."""
    found = split_elements(data)
    if any(one != tag for one, _ in found):
        raise NotBer
    return [content for _, content in found]


# --- The search, page after page ------------------------------------------------------------------

PAGED_CONTROL = b"1.2.840.113556.1.4.319"  # the control of a page (RFC 2696)
EMPTY_PAGES_MAX = 100  # in a row; some servers send one where they search long


def read_ldap(_name: str, directory: LdapDirectory, *, rows_max: int) -> AnswerRows:
    """Return every entry that the search of an LDAP directory finds, in the order of the answer.

    The columns are `dn` and the attributes of the settings. An attribute that an entry lacks is an empty
    cell; one with several values, or whose value is not UTF-8, is unusable. A directory that changes while it
    is read is read once more. Raises DirectoryFailed, MissingExtra, and whatever revealing a secret raises.
    """
    require_extra("ldap")
    # Not ours to mend: names that a library of its own calls deprecated.
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"ldap3\b")
    from reconciler.directories.ldap_requests import LdapRequests  # noqa: PLC0415 - loads the extra

    ends_at = time.monotonic() + directory.timeout_s  # of both readings, where it is read twice
    return read_until_unchanged(lambda: _read_entries(directory, LdapRequests(directory), rows_max, ends_at))


def _read_entries(
    directory: LdapDirectory, requests: "LdapRequests", rows_max: int, ends_at: float
) -> AnswerRows:
    bind, columns = _prepare_bind(directory, requests), EntryColumns(directory.attributes)
    try:
        with open_wire(
            directory, lambda wire: _ask_once(wire, "StartTLS", requests.start_tls, EXTENDED), ends_at
        ) as wire:
            if bind is not None:
                _ask_once(wire, "the bind", bind, BOUND)
            _take_entries(_iterate_entries(wire, requests), columns, rows_max)
            with suppress(DirectoryFailed):  # the server may have closed by itself: the answer is whole
                wire.tell(requests.unbind)
    except NotBer:
        raise DirectoryFailed(*STRANGE) from None
    return columns.answer()


def _take_entries(entries: Iterator[bytes], columns: EntryColumns, rows_max: int) -> None:
    for entry in entries:
        if not columns.take(entry):
            raise ChangedError("it sends an entry twice.")
        columns.limit(rows_max)


def _prepare_bind(directory: LdapDirectory, requests: "LdapRequests") -> Callable[[int], bytes] | None:
    """Return the bind request; None for an anonymous search."""
    dn = directory.dn.reveal() if directory.dn is not None else ""
    password = directory.password.reveal() if directory.password is not None else ""
    # A DN without a password is an anonymous bind that succeeds (RFC 4513, 5.1.2), and then shows less.
    if bool(dn) != bool(password):
        raise DirectoryFailed("one of `dn` and `password` is missing.", "set both, or neither")
    if not dn:
        return None
    bind = partial(requests.bind, dn=dn, password=password)
    bind(1)  # what cannot be encoded fails before any call
    return bind


def _ask_once(wire: LdapWire, step: str, request: Callable[[int], bytes], answer: int) -> None:
    """Make a request that one message answers. Raises DirectoryFailed where the answer is no success."""
    *before, last = wire.ask(request)
    if before or last.tag != answer:
        raise NotBer
    _require_success(step, last)


def _require_success(step: str, done: LdapMessage) -> None:
    code, *_ = match_elements(done.body, ENUMERATED, OCTETS, OCTETS)
    if decode_integer(code) != SUCCESS:
        raise explain_result(step, decode_integer(code))


def _iterate_entries(wire: LdapWire, requests: "LdapRequests") -> Iterator[bytes]:
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
                _require_success("the search", message)
                cookie = _find_cookie(message)
        more = cookie != b""
        if more and empty > EMPTY_PAGES_MAX:
            raise DirectoryFailed("it sends empty pages without an end.", "ask the operator of the directory")


def _find_cookie(done: LdapMessage) -> bytes:
    """Return that of the next page, b"" after the last one."""
    for _, control in split_elements(done.controls):
        parts = split_elements(control)
        if parts[:1] == [(OCTETS, PAGED_CONTROL)] and parts[-1][0] == OCTETS:
            (page,) = match_elements(parts[-1][1], SEQUENCE)
            return match_elements(page, INTEGER, OCTETS)[1]
    # Without it the last page cannot be distinguished from others.
    what = "a page does not say whether another one follows (RFC 2696)."
    raise DirectoryFailed(what, "ask the operator of the directory")
