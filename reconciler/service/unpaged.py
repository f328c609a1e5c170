"""Lists that tell no totals: all their rows, one page after the other.

Belongs here: noticing the end of such a list, and asking for its pages. Not here: lists that count their rows
(paging.py), what is asked for, and what a page looks like (whoever walks).
"""

import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from hashlib import sha256
from typing import Any

from reconciler.service.answers import ENDLESS, MISCOUNTED, Answer, BadBody, Call
from reconciler.service.found import Found, Page
from reconciler.service.http.transport import Transport
from reconciler.service.paging import ListBound

stale_pages_max = 3  # pages in a row without a new row, before a walk is called endless


async def walk(fetch: Callable[[int], Coroutine[Any, Any, Page]], *, named: bool) -> tuple[Found, ...]:
    """All rows of a list that tells no totals, up to its end sign, one page after the other.

    `named` rows have an id of their own; others are told by content. Where a total is told all the same, it
    bounds the pages. Raises BadBody for a list without an end.
    """
    # Such a list may know no offset and show everything each time. So a page with nothing new is held
    # against the first page as it is now: where they are alike, everything was shown; where they are not,
    # new rows have pushed the old ones down, and the walk goes on. New rows come first, and none ever
    # leaves, so none is missed.
    rows: dict[str, Found] = {}
    bound = ListBound()
    shown: set[bytes] = set()  # digests of the pages
    before: tuple[object, ...] = ()
    offset = stale = 0
    while True:
        page = await fetch(offset)
        new = {row.remote_id: row for row in page.rows if row.remote_id not in rows}
        bound.add(page, len(new))
        seen = _content(page, named=named)
        as_before = seen == before or not new
        # Rows without an id are new by their place: only what is in them tells that a page came earlier.
        digest = sha256(json.dumps(seen, sort_keys=True).encode()).digest()
        if seen and (as_before or digest in shown):
            stale += 1
            if stale > stale_pages_max:
                raise BadBody(f"it repeats itself and does not end, after {len(rows):,} rows", ENDLESS)
            if as_before and _content(await fetch(0), named=named) == seen:
                return tuple(rows.values())
        else:
            stale = 0
        rows.update(new)
        if page.trouble:
            raise BadBody(f"{page.trouble}, after {len(rows):,} rows", MISCOUNTED)
        if page.last or not page.rows:
            return tuple(rows.values())
        shown.add(digest)
        before = seen
        offset += len(page.rows)


async def fetched(
    transport: Transport, asked: Call, read: Callable[[Answer, int], Page], *, limit: int, named: bool
) -> tuple[Found, ...]:
    """All rows of the list that `asked` is about. `read` makes a page of the answer for one offset."""

    async def fetch(offset: int) -> Page:
        query = (*asked.query, ("limit", str(limit)), ("offset", str(offset)))
        return await transport.call(replace(asked, query=query), lambda answer: read(answer, offset))

    return await walk(fetch, named=named)


def _content(page: Page, *, named: bool) -> tuple[object, ...]:
    if named:
        return tuple(row.remote_id for row in page.rows)
    return tuple({key: value for key, value in row.body.items() if key != "id"} for row in page.rows)
