"""Users of SCIM as rows: which attribute is which column, and what of a cell is no text.

    {"userName": "jane", "name": {"givenName": "Jane"}, "emails": [{"type": "work", "value": "..."}]}

     userName   name.givenName   emails.work.value

Of an attribute with several values, each value has the columns of its `type`, and the one that is `primary`
those of that name as well (RFC 7643, 2.4). The list itself is a column from which nobody can take.
"""

import re
from collections.abc import Collection, Iterator
from typing import Any

from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.model.documents import CELLS_MAX, COLUMNS_MAX, UNSAID
from reconciler.parsing.display import show_value
from reconciler.parsing.json_reader import JSON_TEXTS, flatten_object

PRIMARY = "primary"
NAME_MAX = 100  # characters of an id in a place

_USER = "urn:ietf:params:scim:schemas:core:2.0:user"
_TYPE = re.compile(r"[a-z0-9_-]{1,64}", re.ASCII)
# What the protocol says of a resource, and nothing of the person: its version changes by itself.
_ABOUT = frozenset({"schemas", "meta"})
_LIST, _SEVERAL = "a list", "several values"
_SERVER = "ask who runs the directory: it does not answer as RFC 7643 says"
_FEWER = "name the few that are needed in `attributes`"


_ABOUT_VALUE = frozenset({"type", PRIMARY})  # what a value is, and no part of it


class ResourceColumns:
    """The rows of a list of users, one after the other. Raises DirectoryFailed for what is no user."""

    def __init__(self, attributes: Collection[str]) -> None:
        asked = {name.lower().partition(".")[0] for name in attributes}
        self._left_out = _ABOUT - asked
        self._columns: dict[str, int] = {}
        self.rows: list[list[str]] = []
        self._ids: dict[str, None] = {}
        self._unusable: dict[int, dict[int, str]] = {}

    def take(self, resource: dict[str, Any]) -> bool:
        """Take a user; whether the id is a new one."""
        identity = resource.get("id")
        if type(identity) is not str or not identity:
            raise DirectoryFailed("a user has no `id`.", _SERVER)
        if identity in self._ids:
            return False
        self._ids[identity] = None
        schemas = resource.get("schemas")
        if schemas is not None and not _is_user(schemas):
            raise DirectoryFailed("what it sends are no users.", _SERVER)
        try:
            self.rows.append(self._cells(resource))
        except ValueError as error:
            raise DirectoryFailed(f"of one of its users: {error}", _SERVER) from error
        columns = len(self._columns)
        if columns > COLUMNS_MAX or columns * len(self.rows) > CELLS_MAX:
            found = f"{len(self.rows):,} of its users have {columns:,} different attributes"
            limits = f"{COLUMNS_MAX:,} columns or {CELLS_MAX:,} cells"
            raise DirectoryFailed(f"{found}: a table beyond {limits}, which is the limit.", _FEWER)
        return True

    def answer(self) -> AnswerRows:
        """Return what was taken: each row as long as the header."""
        header = tuple(self._columns)
        for row in self.rows:
            row.extend([""] * (len(header) - len(row)))
        names = tuple(f"Users/{show_value(one, most=NAME_MAX)}" for one in self._ids)
        return AnswerRows(header, tuple(self.rows), names, self._unusable)

    def _cells(self, resource: dict[str, Any]) -> list[str]:
        """Return the cells of a user, and give each new attribute a column. Raises ValueError."""
        columns = self._columns
        cells = [""] * len(columns)
        seen: set[int] = set()
        for path, text, held in _said(resource, self._left_out):
            index = columns.setdefault(path, len(columns))
            if index in seen:
                raise ValueError("an attribute says the same as those within another one.")
            seen.add(index)
            if index == len(cells):  # each new column is the next one
                cells.append(text)
            else:
                cells[index] = text
            if held:
                self._unusable.setdefault(len(self.rows), {})[index] = held
        return cells


def _is_user(schemas: Any) -> bool:
    return isinstance(schemas, list) and any(isinstance(one, str) and one.lower() == _USER for one in schemas)


def _said(resource: dict[str, Any], left_out: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each column of a user, its text, and what it holds instead of one, "" where it holds one."""
    kept = {key: value for key, value in resource.items() if key.lower() not in left_out}
    for path, value in flatten_object(kept):
        yield path, *_cell(value)
        if type(value) is list and all(isinstance(one, dict) for one in value):
            yield from _by_type(path, value)


def _cell(value: Any) -> tuple[str, str]:
    """Return the text of a value, and what it is instead of one, "" where it is one."""
    kind = type(value)
    if kind is str:  # as nearly every value is
        return value, ""
    if kind is list:  # an empty one is the same as none (RFC 7643, 2.5)
        return (JSON_TEXTS[kind](value), _LIST) if value else ("", "")
    return JSON_TEXTS[kind](value), ""


def _by_type(path: str, values: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield the columns of an attribute with several values, by their types."""
    groups: dict[str, list[tuple[bool, dict[str, Any]]]] = {}
    for one in values:
        if names := [*_names(one)]:
            said = dict(flatten_object({key: value for key, value in one.items() if key not in _ABOUT_VALUE}))
            for name in names:
                groups.setdefault(name, []).append((one.get(PRIMARY) is True, said))
    for name, group in groups.items():
        rows = [said for primary, said in group if primary] or [said for _, said in group]
        for key in dict.fromkeys(key for row in rows for key in row):
            if len(rows) > 1:
                yield f"{path}.{name}{key}", UNSAID, _SEVERAL
            else:
                yield f"{path}.{name}{key}", *_cell(rows[0][key])


def _names(one: dict[str, Any]) -> Iterator[str]:
    """Yield under which names a value stands: that of its type, which has no letter case, and `primary`."""
    kind = one.get("type")
    if one.get(PRIMARY) is True:
        yield f"{PRIMARY}."
    if kind is None or kind == "":
        yield ""
    elif type(kind) is str and _TYPE.fullmatch(kind.lower()) and kind.lower() != PRIMARY:
        yield f"{kind.lower()}."
