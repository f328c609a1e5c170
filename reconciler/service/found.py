"""What calls give: an entity as found, a page of them, all pages of a list, and a write that was done.

Belongs here: those values, and the id of a found entity. Not here: fetching pages (paging.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Self

from reconciler.core.calls import parse_http_date
from reconciler.service.http import urls


@dataclass(frozen=True, slots=True)
class Found:
    """One entity as the service wrote it, and the service's clock then.

    `body` is a plain JSON dict; it may hold personal data and secrets, so it is never printed.
    `date` is ISO 8601 in UTC, or "" where the answer had no Date header.
    """

    remote_id: str
    body: dict[str, Any] = field(repr=False)
    date: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The success of a PUT or DELETE. `accepted`: a 202, taken and perhaps not carried out yet."""

    status: int

    @property
    def accepted(self) -> bool:
        """Whether the service says only that it will do it."""
        return self.status == HTTPStatus.ACCEPTED


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a list, in the service's order.

    `total` is the number of rows of the whole list as the service tells it, None if it does not.
    `last`: the service says that nothing follows. `more`: it shows a link to a next page.
    `trouble` says why the walk that ends with this page may have missed rows (rule G4); "" is none.
    """

    rows: tuple[Found, ...]
    total: int | None
    last: bool
    more: bool = False
    trouble: str = ""


class Rows(tuple[Found, ...]):  # noqa: SLOT001 - a tuple's subclass cannot have slots
    """All rows of a list. `complete` is false, and `trouble` says why, where rows may have been missed."""

    trouble: str
    total: int | None

    def __new__(cls, rows: Iterable[Found], *, total: int | None = None, trouble: str = "") -> Self:
        """Take the rows in order."""
        made = super().__new__(cls, rows)
        made.trouble = trouble
        made.total = total
        return made

    @property
    def complete(self) -> bool:
        """Whether nothing speaks against these being all rows."""
        return not self.trouble


def remote_id(body: Mapping[str, Any], collection: str) -> str:
    """The service's id of an entity: its `id`, else the end of its self link; "" where it has neither."""
    # Facts 1 and 4: a contact read alone has no `id`, and a resource in a list has none either.
    given = body.get("id")
    if isinstance(given, str) and urls.ID.fullmatch(given):
        return given
    for link in links(body):
        uri = link.get("uri")
        if link.get("rel") == "self" and isinstance(uri, str):
            return urls.id_of(uri, collection)
    return ""


def links(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The link objects of a document: an array of them, or one bare object (facts 1)."""
    match body.get("link"):
        # Facts 1: one link may stand there alone, without an array around it.
        case dict() as one:
            return (one,)
        case list() as several:
            return tuple(link for link in several if isinstance(link, dict))
        case _:
            return ()


def cut_queries(body: dict[str, Any]) -> None:
    """Cut the query off every link in a body and in what is inside it."""
    # Facts 1: the service writes the address that was asked into its links, and with it a key in the query.
    # Level by level, because a body may be nested deeper than calls should be.
    level: list[Any] = [body]
    while level:
        level = [inner for value in level for inner in _inside(value)]


def _inside(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return []
    uri = value.get("uri")
    if isinstance(uri, str):
        value["uri"] = uri.partition("?")[0]
    return list(value.values())


# Many pages come within one second.
@lru_cache(maxsize=64)
def iso_date(header: str) -> str:
    """A Date header as ISO 8601 text in UTC, or "" where it is none."""
    moment = parse_http_date(header)
    return "" if moment is None else moment.isoformat().replace("+00:00", "Z")
