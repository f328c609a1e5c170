"""One page of a list: which rows, what the status says, which links lead on.

Belongs here: the paging rules and the exact texts. Not here: which rows there are.
Source: specification 8; docs/service.md, lists (recorded).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from reconciler.sandbox.records import Body
from reconciler.sandbox.refusals import malformed

rows_max = 20  # rows of one page; more are never given, and fewer only when asked for


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows a request asks for."""

    offset: int
    limit: int


def read_page(query: Mapping[str, str]) -> Page:
    """The page that offset and limit name; refuses (400) what is no number.

    More than 20 rows, and 0, which old clients write for "all", give 20.
    """
    limit = min(_number(query, "limit", rows_max), rows_max)
    return Page(offset=_number(query, "offset", 0), limit=limit or rows_max)


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
    """The list document: rows, status, links next and previous; past the end there is no collection key."""
    if not rows:
        return {"status": "No records found", "link": []}
    status = status_text(page.offset + 1, page.offset + len(rows), total)
    return {key: rows, "status": status, "link": _links(page, total, address, query, prev_rel)}


def whole_document(key: str, rows: list[Body]) -> Body:
    """The document of a list that has no pages."""
    if not rows:
        return {"status": "No records found", "link": []}
    return {key: rows, "status": status_text(1, len(rows), len(rows)), "link": []}


def _links(page: Page, total: int, address: str, query: Mapping[str, str], prev_rel: str) -> list[Body]:
    others = {name: value for name, value in query.items() if name not in ("offset", "limit")}
    targets = []
    if page.offset + page.limit < total:
        targets.append(("next", page.offset + page.limit))
    if page.offset > 0:
        targets.append((prev_rel, max(0, page.offset - page.limit)))
    return [
        {
            "uri": f"{address}?{urlencode({'offset': offset, 'limit': page.limit, **others})}",
            "rel": rel,
            "method": "GET",
        }
        for rel, offset in targets
    ]


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise malformed(f"{name} must be a whole number from 0")
    return int(text)
