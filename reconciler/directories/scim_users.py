"""The users of a SCIM 2.0 service as a table: every page of one list, whole or not at all.

Calls, statuses and retries are scim_http.py.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from reconciler.directories.answers import AnswerRows, ChangedError, DirectoryFailed, read_until_unchanged
from reconciler.directories.scim_http import ScimCalls, ScimQuery
from reconciler.model.directories import ScimDirectory
from reconciler.model.documents import CELLS_MAX, COLUMNS_MAX, UNSAID
from reconciler.parsing.display import show_value
from reconciler.parsing.json_reader import JSON_TEXTS, flatten_object

# --- Users as rows --------------------------------------------------------------------------------
#
# Of {"userName": "jane", "name": {"givenName": "Jane"}, "emails": [{"type": "work", "value": "..."}]}
# the columns are userName, name.givenName and emails.work.value.
#
# Of an attribute with several values, each value has the columns of its `type`, and the one that is `primary`
# those of that name as well (RFC 7643, 2.4). The list itself is a column that no field can use.


PRIMARY = "primary"
NAME_MAX = 100  # characters of an id in a place

_USER = "urn:ietf:params:scim:schemas:core:2.0:user"
_TYPE = re.compile(r"[a-z0-9_-]{1,64}", re.ASCII)
# What the protocol says of a resource, and nothing of the person: its version changes by itself.
_ABOUT = frozenset({"schemas", "meta"})
_LIST, _SEVERAL = "a list", "several values"
_USERS_HINT = "ask the operator of the directory: it does not answer as RFC 7643 says"
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
            raise DirectoryFailed("a user has no `id`.", _USERS_HINT)
        if identity in self._ids:
            return False
        self._ids[identity] = None
        schemas = resource.get("schemas")
        if schemas is not None and not _names_schema(schemas, _USER):
            raise DirectoryFailed("it sends resources that are not users.", _USERS_HINT)
        try:
            self.rows.append(self._cells(resource))
        except ValueError as error:
            raise DirectoryFailed(f"of one of its users: {error}", _USERS_HINT) from error
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
        for path, text, held in _iterate_cells(resource, self._left_out):
            index = columns.setdefault(path, len(columns))
            if index in seen:
                raise ValueError("an attribute is given twice: by its path, and within another one.")
            seen.add(index)
            if index == len(cells):  # each new column is the next one
                cells.append(text)
            else:
                cells[index] = text
            if held:
                self._unusable.setdefault(len(self.rows), {})[index] = held
        return cells


def _iterate_cells(resource: dict[str, Any], left_out: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each column of a user, its text, and what it holds instead of one, "" where it holds one."""
    kept = {key: value for key, value in resource.items() if key.lower() not in left_out}
    for path, value in flatten_object(kept):
        yield path, *_format_value(value)
        if type(value) is list and all(isinstance(one, dict) for one in value):
            yield from _iterate_by_type(path, value)


def _format_value(value: Any) -> tuple[str, str]:
    """Return the text of a value, and what it is instead of one, "" where it is one."""
    kind = type(value)
    if kind is str:  # as nearly every value is
        return value, ""
    if kind is list:  # an empty one is the same as none (RFC 7643, 2.5)
        return (JSON_TEXTS[kind](value), _LIST) if value else ("", "")
    return JSON_TEXTS[kind](value), ""


def _iterate_by_type(path: str, values: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield the columns of an attribute with several values, by their types."""
    groups: dict[str, list[tuple[bool, dict[str, Any]]]] = {}
    for one in values:
        if names := [*_list_value_names(one)]:
            said = dict(flatten_object({key: value for key, value in one.items() if key not in _ABOUT_VALUE}))
            for name in names:
                groups.setdefault(name, []).append((one.get(PRIMARY) is True, said))
    for name, group in groups.items():
        rows = [said for primary, said in group if primary] or [said for _, said in group]
        for key in dict.fromkeys(key for row in rows for key in row):
            if len(rows) > 1:
                yield f"{path}.{name}{key}", UNSAID, _SEVERAL
            else:
                yield f"{path}.{name}{key}", *_format_value(rows[0][key])


def _list_value_names(one: dict[str, Any]) -> Iterator[str]:
    """Yield under which names a value stands: that of its type, which has no letter case, and `primary`."""
    kind = one.get("type")
    if one.get(PRIMARY) is True:
        yield f"{PRIMARY}."
    if kind is None or kind == "":
        yield ""
    elif type(kind) is str and _TYPE.fullmatch(kind.lower()) and kind.lower() != PRIMARY:
        yield f"{kind.lower()}."


# --- Pages: which comes next, and whether all of them are the whole -------------------------------
#
# Pure. Sources: RFC 7644, 3.4.2 and 3.4.2.4; RFC 9865.
#
#     ListResponse ─▶ parse_list_page ─▶ ListPage ─▶ PageWalk.after ─▶ the query of the next page, or None


Paging = Literal["auto", "index", "cursor"]

_LIST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:listresponse"
_DIGITS_MAX = 12  # of a number that counts something
_CURSOR_MAX = 4096  # characters; it travels in an address
_STRANGE = "check `url`: it is the base of a SCIM 2.0 service, and /Users is below it"
_PAGES_HINT = "ask the operator of the directory: it does not answer as RFC 7644 and RFC 9865 say"


@dataclass(frozen=True, slots=True)
class ListPage:
    """One ListResponse. What it does not say is None."""

    resources: list[dict[str, Any]]
    total: int | None
    start: int | None
    cursor: str | None


def parse_list_page(document: Any, count: int) -> ListPage:
    """Return what the answer to a request for `count` users says. Raises DirectoryFailed where it is none."""
    if not isinstance(document, dict):
        raise DirectoryFailed("its answer is not an object.", _STRANGE)
    # Names of attributes have no letter case in SCIM (RFC 7643, 2.1).
    found = {key.lower(): value for key, value in document.items()}
    if len(found) < len(document):
        raise DirectoryFailed("its answer has an attribute twice.", _PAGES_HINT)
    if not _names_schema(found.get("schemas"), _LIST_SCHEMA):
        raise DirectoryFailed("its answer is not a ListResponse.", _STRANGE)
    total, resources = _read_count(found, "totalResults"), found.get("resources")
    if resources is None:
        if total != 0:
            raise DirectoryFailed("its answer gives a number of users, but no users.", _PAGES_HINT)
        resources = []
    if not isinstance(resources, list) or not all(isinstance(one, dict) for one in resources):
        raise DirectoryFailed("its `Resources` is not a list of objects.", _PAGES_HINT)
    if len(resources) > count:
        raise DirectoryFailed(f"it sends {len(resources)} users; the request allowed {count}.", _PAGES_HINT)
    # Many services repeat here how many were asked for, as the example of RFC 7644, 3.4.2.4 does. The total
    # proves that no user is missing; where there is none, nothing else would show a page that was cut.
    if total is None and (per_page := _read_count(found, "itemsPerPage")) not in (None, len(resources)):
        raise DirectoryFailed(f"it sends {len(resources)} users, and says {per_page}.", _PAGES_HINT)
    return ListPage(resources, total, _read_count(found, "startIndex"), _read_cursor(found.get("nextcursor")))


def _names_schema(schemas: Any, wanted: str) -> bool:
    """Whether a list of schemas names one, in any letter case."""
    return isinstance(schemas, list) and any(
        isinstance(one, str) and one.lower() == wanted for one in schemas
    )


def _read_count(found: dict[str, Any], name: str) -> int | None:
    value = found.get(name.lower())
    if value is None:
        return None
    # Some services write it in quotes: "7" is the number 7, and nothing else.
    digits = isinstance(value, str) and value.isascii() and value.isdecimal()
    if not digits or len(value) > _DIGITS_MAX:
        raise DirectoryFailed(f"its `{name}` is not a whole number.", _PAGES_HINT)
    return int(value)


def _read_cursor(value: Any) -> str | None:
    # Left out on the last page, and only there (RFC 9865, 2); no other meaning is defined.
    if value is not None and (type(value) is not str or not 0 < len(value) <= _CURSOR_MAX):
        raise DirectoryFailed("its `nextCursor` is not a cursor.", _PAGES_HINT)
    return value


class PageWalk:
    """All pages of one list, in turn: `first`, then `after` each page."""

    def __init__(self, paging: Paging, count: int, *, rows_max: int) -> None:
        self._by_cursor = {"auto": None, "index": False, "cursor": True}[paging]
        self._count: ScimQuery = (("count", str(count)),)
        self._rows_max = rows_max
        self._total: int | None = None
        self._got = 0
        self._pages = 0
        self._cursors: set[str] = set()

    def first(self) -> ScimQuery:
        """The query of the first page. One that is left open leaves the way of paging to the service."""
        start = {None: (), False: (("startIndex", "1"),), True: (("cursor", ""),)}
        return (*start[self._by_cursor], *self._count)

    def after(self, page: ListPage) -> ScimQuery | None:
        """The query of the next page, None after the last one.

        Raises ChangedError where the pages do not belong together, and DirectoryFailed.
        """
        if self._by_cursor is None:
            self._by_cursor = page.cursor is not None
        self._agree(page)
        self._pages += 1
        self._got += len(page.resources)
        self._limit()
        return self._by_cursor_after(page) if self._by_cursor else self._by_index_after(page)

    def _agree(self, page: ListPage) -> None:
        """Hold what a page says of all of them against what was said before."""
        if page.total is None and not self._by_cursor:
            what = "it does not say how many users there are."
            raise DirectoryFailed(what, "set `paging: cursor` if it is one of RFC 9865")
        if self._pages and page.total != self._total:
            raise ChangedError("the number of its users changes while they are read.")
        self._total = page.total
        if not self._by_cursor and page.total and page.start not in (None, self._got + 1):
            raise DirectoryFailed(
                f"it returns users from number {page.start} on; the request asked for {self._got + 1} on.",
                _PAGES_HINT,
            )

    def _limit(self) -> None:
        if max(self._got, self._total or 0) > self._rows_max:
            what = f"it has more than {self._rows_max:,} users, which is the limit."
            raise DirectoryFailed(what, "narrow `filter` in the settings")
        if self._total is not None and self._got > self._total:
            raise ChangedError("it sends more users than it says there are.")

    def _by_index_after(self, page: ListPage) -> ScimQuery | None:
        if self._got == self._total:
            return None
        if not page.resources:
            raise ChangedError("it sends fewer users than it says there are.")
        return (("startIndex", str(self._got + 1)), *self._count)

    def _by_cursor_after(self, page: ListPage) -> ScimQuery | None:
        if page.cursor is None:
            if self._total not in (None, self._got):
                raise ChangedError("it sends fewer users than it says there are.")
            return None
        if not page.resources:
            raise ChangedError("it sends an empty page before the last one.")
        if page.cursor in self._cursors:
            raise ChangedError("it repeats a cursor.")
        self._cursors.add(page.cursor)
        return (("cursor", page.cursor), *self._count)


# --- The walk over the pages ----------------------------------------------------------------------


def read_scim(
    _name: str,
    directory: ScimDirectory,
    *,
    rows_max: int,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> AnswerRows:
    """Return every user of a SCIM service that its filter finds, in the order of the answer.

    Columns are attributes, those within others joined by dots, and values by their types
    (`emails.work.value`). A list is unusable, and so is a value that has another one of its type beside it. A
    service that changes while it is read is read once more. Raises DirectoryFailed, and whatever revealing a
    secret raises.
    """
    ends_at = time.monotonic() + directory.timeout_s  # of both readings, where it is read twice

    def read() -> AnswerRows:
        # In a thread: manifests may be read within an event loop, where no second one can run.
        with ThreadPoolExecutor(1, "scim") as beside:
            return beside.submit(asyncio.run, _read_pages(directory, rows_max, sleep, ends_at)).result()

    return read_until_unchanged(read)


async def _read_pages(
    directory: ScimDirectory, rows_max: int, sleep: Callable[[float], Awaitable[object]], ends_at: float
) -> AnswerRows:
    columns = ResourceColumns(directory.attributes)
    walk = PageWalk(directory.paging, directory.page, rows_max=rows_max)
    async with ScimCalls(directory, sleep, ends_at) as calls:
        query: ScimQuery | None = walk.first()
        while query is not None:
            page = parse_list_page(await calls.page(query), directory.page)
            for resource in page.resources:
                if not columns.take(resource):
                    raise ChangedError("it sends a user twice.")
            query = walk.after(page)
    return columns.answer()
