"""Entries of LDAP as rows: which attribute is which column, and what of a cell is no text.

The name of an attribute may have options (`cn;lang-de`). One that is asked for without them is taken without
them: the server answers `cn;lang-de` beside `cn`, and it is another one.
"""

import re
from collections.abc import Iterable

from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.directories.ldap.ber import OCTETS, SEQUENCE, SET, NotBer, elements, shaped
from reconciler.model.documents import CELLS_MAX, UNSAID
from reconciler.parsing.display import show_value

DN = "dn"
NAME_MAX = 200  # characters of a DN in a place

_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9-]*(;[A-Za-z0-9-]+)*", re.ASCII)
_HINT = "write names such as mail, or cn;lang-de; nobody gets more of a directory than what is named"
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
                    f"{show_value(name)!r} in `attributes` is no name of an attribute.", _HINT
                )
            if self._columns.setdefault(_described(name)[0], index) != index:
                raise DirectoryFailed(f"{name} is in `attributes` twice, or is the column `dn`.", _HINT)
        self._asked = frozenset(name.partition(";")[0] for name in self._columns)
        self.rows: list[list[str]] = []
        self._names: list[str] = []
        self._known: set[bytes] = set()
        self._unusable: dict[int, dict[int, str]] = {}

    def take(self, entry: bytes) -> bool:
        """Take a SearchResultEntry; whether its DN is a new one. Raises NotBer, and DirectoryFailed."""
        dn, attributes = shaped(entry, OCTETS, SEQUENCE)
        folded = dn.lower()
        if folded in self._known:
            return False
        self._known.add(folded)
        cells: list[str | None] = [None] * len(self.header)
        self._put(cells, 0, [dn])
        for attribute in _each(attributes, SEQUENCE):
            described, values = shaped(attribute, OCTETS, SET)
            self._attribute(cells, described, _each(values, OCTETS))
        self.rows.append([cell or "" for cell in cells])
        self._names.append(show_value(dn.decode("utf-8", "backslashreplace"), most=NAME_MAX))
        return True

    def limit(self, rows_max: int) -> None:
        """Raise DirectoryFailed where there are more rows, or more cells, than a table may have."""
        if len(self.rows) > rows_max:
            what = f"it answers more than {rows_max:,} entries, which is the limit."
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
        name, part = _described(described.decode("ascii", "replace"))
        if name.partition(";")[0] not in self._asked:
            # Asked for `surname`, a server answers `sn`: the column would be empty for everybody.
            what = f"it answers the attribute {show_value(name)}, which `attributes` does not name."
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


def _described(name: str) -> tuple[str, bool]:
    """Return a name and its options in one form, and whether it stands for a part of the values only."""
    first, *options = name.lower().split(";")
    rest = sorted(option for option in options if not option.startswith(_RANGE))
    return ";".join([first, *rest]), len(rest) < len(options)


def _each(data: bytes, tag: int) -> list[bytes]:
    """Return the contents of elements that all have one tag. Raises NotBer."""
    found = elements(data)
    if any(one != tag for one, _ in found):
        raise NotBer
    return [content for _, content in found]
