"""Pages of SCIM: what a ListResponse says, which page comes next, and whether all of them are the whole.

Pure: nothing here calls anybody. Sources: RFC 7644, 3.4.2 and 3.4.2.4; RFC 9865.

    ListResponse ─▶ list_page ─▶ ListPage ─▶ PageWalk.after ─▶ the query of the next page, or None: the whole
"""

from dataclasses import dataclass
from typing import Any, Literal

from reconciler.directories.answers import DirectoryFailed
from reconciler.directories.whole import ChangedError

Query = tuple[tuple[str, str], ...]
Paging = Literal["auto", "index", "cursor"]

_LIST = "urn:ietf:params:scim:api:messages:2.0:listresponse"
_DIGITS_MAX = 12  # of a number that counts something
_CURSOR_MAX = 4096  # characters; it travels in an address
_STRANGE = "check `url`: it is the base of a SCIM 2.0 service, and /Users is below it"
_SERVER = "ask who runs the directory: it does not answer as RFC 7644 and RFC 9865 say"


@dataclass(frozen=True, slots=True)
class ListPage:
    """One ListResponse. What it does not say is None."""

    resources: list[dict[str, Any]]
    total: int | None
    start: int | None
    cursor: str | None


def list_page(document: Any, count: int) -> ListPage:
    """Return what the answer to a request for `count` users says. Raises DirectoryFailed where it is none."""
    if not isinstance(document, dict):
        raise DirectoryFailed("its answer is no object.", _STRANGE)
    # Names of attributes have no letter case in SCIM (RFC 7643, 2.1).
    found = {key.lower(): value for key, value in document.items()}
    if len(found) < len(document):
        raise DirectoryFailed("its answer says something twice.", _SERVER)
    if not _is_of(found.get("schemas"), _LIST):
        raise DirectoryFailed("its answer is no ListResponse.", _STRANGE)
    total, resources = _count(found, "totalResults"), found.get("resources")
    if resources is None:
        if total != 0:
            raise DirectoryFailed("its answer says how many users there are, and holds none.", _SERVER)
        resources = []
    if not isinstance(resources, list) or not all(isinstance(one, dict) for one in resources):
        raise DirectoryFailed("its `Resources` is no list of objects.", _SERVER)
    if len(resources) > count:
        raise DirectoryFailed(f"it sends {len(resources)} users, asked for {count} at most.", _SERVER)
    # Many services repeat here how many were asked for, as the example of RFC 7644, 3.4.2.4 does. The total
    # proves that nobody is missing; where there is none, nothing else would show a page that was cut.
    if total is None and (per_page := _count(found, "itemsPerPage")) not in (None, len(resources)):
        raise DirectoryFailed(f"it sends {len(resources)} users, and says {per_page}.", _SERVER)
    return ListPage(resources, total, _count(found, "startIndex"), _cursor(found.get("nextcursor")))


def _is_of(schemas: Any, wanted: str) -> bool:
    """Whether a list of schemas names one, in any letter case."""
    return isinstance(schemas, list) and any(
        isinstance(one, str) and one.lower() == wanted for one in schemas
    )


def _count(found: dict[str, Any], name: str) -> int | None:
    value = found.get(name.lower())
    if value is None:
        return None
    # Some services write it in quotes: "7" is the number 7, and nothing else.
    digits = isinstance(value, str) and value.isascii() and value.isdecimal()
    if not digits or len(value) > _DIGITS_MAX:
        raise DirectoryFailed(f"its `{name}` is no whole number.", _SERVER)
    return int(value)


def _cursor(value: Any) -> str | None:
    # Left out on the last page, and only there (RFC 9865, 2): what else it may mean, nobody knows.
    if value is not None and (type(value) is not str or not 0 < len(value) <= _CURSOR_MAX):
        raise DirectoryFailed("its `nextCursor` is no cursor.", _SERVER)
    return value


class PageWalk:
    """All pages of one list, in turn: `first`, then `after` each page."""

    def __init__(self, paging: Paging, count: int, *, rows_max: int) -> None:
        self._by_cursor = {"auto": None, "index": False, "cursor": True}[paging]
        self._count: Query = (("count", str(count)),)
        self._rows_max = rows_max
        self._total: int | None = None
        self._got = 0
        self._pages = 0
        self._cursors: set[str] = set()

    def first(self) -> Query:
        """The query of the first page. One that is left open leaves the way of paging to the service."""
        start = {None: (), False: (("startIndex", "1"),), True: (("cursor", ""),)}
        return (*start[self._by_cursor], *self._count)

    def after(self, page: ListPage) -> Query | None:
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
                f"it answers from user {page.start} on, asked from {self._got + 1}.", _SERVER
            )

    def _limit(self) -> None:
        if max(self._got, self._total or 0) > self._rows_max:
            what = f"it has more than {self._rows_max:,} users, which is the limit."
            raise DirectoryFailed(what, "narrow `filter` in the settings")
        if self._total is not None and self._got > self._total:
            raise ChangedError("it sends more users than it says there are.")

    def _by_index_after(self, page: ListPage) -> Query | None:
        if self._got == self._total:
            return None
        if not page.resources:
            raise ChangedError("it sends fewer users than it says there are.")
        return (("startIndex", str(self._got + 1)), *self._count)

    def _by_cursor_after(self, page: ListPage) -> Query | None:
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
