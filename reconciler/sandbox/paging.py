"""One page of a list: which rows, what the status says, which links lead on.

Belongs here: the paging rules and the exact texts. Not here: which rows there are.
Source: specification 8; docs/service.md, lists (recorded).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar
from urllib.parse import urlencode

from reconciler.sandbox.reading import asked
from reconciler.sandbox.records import Body
from reconciler.sandbox.refusals import malformed

rows_max = 20  # rows of one page; more are given for limit=0 alone, and fewer only when asked for

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows a request asks for; a limit of 0 is none."""

    offset: int
    limit: int

    def cut(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows of this page."""
        return rows[self.offset : self.offset + self.limit] if self.limit else rows[self.offset :]


def read_page(query: Mapping[str, str], *, zero: Literal["20", "all"]) -> Page:
    """The page that offset and limit name; refuses (400) what is no number, and a sortOrder that is none.

    More than 20 rows give 20. `zero` says what limit=0 gives, which older clients write for "all".
    """
    read_order(query)
    limit = min(_number(query, "limit", rows_max), rows_max)
    if limit == 0 and zero == "20":
        limit = rows_max
    return Page(offset=_number(query, "offset", 0), limit=limit)


def read_order(query: Mapping[str, str]) -> Literal["asc", "desc"]:
    """The order that a query asks for, asc when it does not say; refuses (400) any other."""
    return asked(query, "sortOrder", ("asc", "desc"))


def status_text(first: int, last: int, total: int) -> str:
    """Like "1 to 20 of 55", with the four spaces that the service sends behind it."""
    return f"{first} to {last} of {total}    "


def page_document(
    key: str,
    rows: list[Body],
    *,
    page: Page,
    total: int,
    address: str,
    query: Mapping[str, str],
    prev_rel: str,
) -> Body:
    """The list document: rows, status, links to other pages; past the end there is no collection key.

    Without a limit the last row counts as number 0: "1 to 0 of 203" (recorded).
    """
    if not rows:
        return {"status": "No records found", "link": []}
    last = page.offset + len(rows) if page.limit else 0
    status = status_text(page.offset + 1, last, total)
    return {key: rows, "status": status, "link": _links(page, total, address, query, prev_rel)}


def whole_document(key: str, rows: list[Body]) -> Body:
    """The document of a list that has no pages."""
    if not rows:
        return {"status": "No records found", "link": []}
    return {key: rows, "status": status_text(1, len(rows), len(rows)), "link": []}


def _links(page: Page, total: int, address: str, query: Mapping[str, str], prev_rel: str) -> list[Body]:
    others = {name: value for name, value in query.items() if name not in ("offset", "limit")}
    return [
        {
            "uri": f"{address}?{urlencode({'offset': offset, 'limit': page.limit, **others})}",
            "rel": rel,
            "method": "GET",
        }
        for rel, offset in _beside(page, total, prev_rel)
    ]


def _beside(page: Page, total: int, prev_rel: str) -> Iterator[tuple[str, int]]:
    """The pages that a page has links to, by the relation and the offset of each."""
    if page.limit and page.offset + page.limit < total:
        yield "next", page.offset + page.limit
    if page.limit and page.offset > 0:
        yield prev_rel, max(0, page.offset - page.limit)


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise malformed(f"{name} must be a whole number from 0")
    return int(text)
