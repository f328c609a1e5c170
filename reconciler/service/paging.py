"""Pages of a list: what one page says, and walking all of them.

Belongs here: every end-of-list form, offsets, parallel reads, noticing that a walk went wrong.
Not here: the request of a page (entities.py), what an entity looks like.

    total known       ▶ exactly the missing pages, in parallel
    total not known   ▶ a growing window of offsets in flight, until the end sign

Offsets are built from rows received, never from links and never from the limit asked for: a server may
cap the limit, and a next link may name another host or drop the offset. A link only says "more".
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from reconciler.core.text import fold_case
from reconciler.model.profile import Profile
from reconciler.service.answers import ENDLESS, ITS_ERROR, MISCOUNTED, OTHER_SERVICE, UNKNOWN_FORM
from reconciler.service.found import Found, Page, Rows, links, remote_id
from reconciler.service.http.media import BadBody, is_error

spare_pages = 2  # more than a list counts rows: each page shows one at least, but for the end signs
pages_max = 100_000  # pages of one walk: two million rows; more is a list that never ends
# Of a list that tells no total. A million rows, 20 on a page, are an honest list, which may grow while it is
# read; where that takes longer than a run may, the run's deadline says so (service.limits.deadline_s).
untold_pages_max, untold_rows_max = 60_000, 1_200_000
# New rows beyond the first total: a list may grow while it is read, by a tenth, or by this many.
grown_rows_max = 1_000

# (what `status` says, what the collection key holds) -> what the page is; anything else is no page.
ROWS, END = "rows", "end"
FORMS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("range", "some"): (ROWS, "recorded: 1 to 20 of 55, four spaces behind it; specification 8"),
    ("nothing", "some"): (ROWS, "recorded: lists of messages have an empty status and no links"),
    ("end", "absent"): (END, "recorded: past the end there is no collection key"),
    ("end", "empty"): (END, "read liberally: the same words beside an empty list"),
    ("range", "empty"): (END, "assumed: only where the range says that nothing is left, as 0 to 0 of 0"),
}

_RANGE = re.compile(r"([0-9]{1,9}) to ([0-9]{1,9}) of ([0-9]{1,9})", re.ASCII)
_END_WORDS = frozenset({"no records found", "no messages found"})  # specification 7 and 8

Fetch = Callable[[int, int], Coroutine[Any, Any, Page]]


@dataclass(frozen=True, slots=True)
class List:
    """What a page must be a page of: its collection key, where it was asked to begin, the service's date.

    `segment` stands before the id in a row's link to itself, where that is not the key.
    """

    collection: str
    offset: int
    profile: Profile
    date: str = ""
    segment: str = ""


def read_page(document: dict[str, Any], asked: List) -> Page:
    """The page that a list document is. Raises BadBody for every other shape: it is never "no rows"."""
    # Nor is a 404 the end of a list, though one public client reads it so: a lost workspace would look empty.
    if is_error(document):
        raise BadBody("it is an error message under a status of success", ITS_ERROR)
    words, begins, total = _status(document)
    rows = _rows(document, asked)
    form = FORMS.get((words, rows if isinstance(rows, str) else "some"))
    if form is None:
        what = f"it is no page of {asked.collection} that we know"
        raise BadBody(what, UNKNOWN_FORM if document.keys() & {asked.collection, "status"} else OTHER_SERVICE)
    more = _leads(document, asked.profile.next_relations)
    # A page from the middle, taken for the first one: all rows before it would be missed.
    if asked.offset == 0 and _leads(document, asked.profile.previous_relations):
        raise BadBody("the first page was asked for and another one came", MISCOUNTED)
    if isinstance(rows, str):
        if total is not None and total > asked.offset:
            raise BadBody("it counts rows and shows none", MISCOUNTED)
        return Page((), total, last=True, more=more, trouble="its end has a link to more" if more else "")
    if begins not in (None, asked.offset + 1):
        raise BadBody("another page came than was asked for", MISCOUNTED)
    if total is not None and total < asked.offset + len(rows):
        raise BadBody("it shows more rows than it counts", MISCOUNTED)
    return Page(rows, total, last=total == asked.offset + len(rows) and not more, more=more)


async def walk(first: Page, fetch: Fetch, *, limit: int, window: int) -> AsyncGenerator[Page, None]:
    """All pages of the list that `first` begins, in order of offset; at most `window` requests at once.

    Rows that were seen before are dropped. The last page carries `trouble` when the list changed under
    the walk or its rows do not add up. Raises BadBody for a page that repeats another, and past the cap.
    """
    check = _Check(first.total)
    yield check.fresh(first)
    if first.rows and not first.last:
        step = len(first.rows)
        if first.total is None:
            pages = _open(step, limit, fetch, window)
        else:
            pages = _counted(first.total, step, fetch, window)
        async with aclosing(pages):
            async for page in pages:
                yield check.fresh(page)
    trouble = check.trouble()
    if trouble:
        yield Page((), first.total, last=True, trouble=trouble)


async def gather(pages: AsyncIterator[Page]) -> Rows:
    """The rows of all pages together."""
    rows: list[Found] = []
    total: int | None = None
    trouble = ""
    async for page in pages:
        rows.extend(page.rows)
        total = page.total if total is None else total
        trouble = trouble or page.trouble
    return Rows(rows, total=total, trouble=trouble)


class ListBound:
    """Bounds a walk by what its list said at first: a total and some rows more, or else two constants."""

    def __init__(self) -> None:
        self.rows = 0  # that were not seen before
        self._pages = 0
        self._largest = 1  # rows of the largest page
        self._total: int | None = None  # the first one; one that grows with the walk would never be reached
        self._pages_at_most, self._rows_at_most = untold_pages_max, untold_rows_max

    def add(self, page: Page, new_rows: int) -> None:
        """Count one page, of whose rows so many are new. Raises BadBody where it is too much."""
        self._pages += 1
        self.rows += new_rows
        self._largest = max(self._largest, len(page.rows))
        if self._total is None and page.total is not None:
            self._announce(page.total)
        if self._pages <= self._pages_at_most and self.rows <= self._rows_at_most:
            return
        said = "it tells no total" if self._total is None else f"it counted {self._total:,} at first"
        raise BadBody(f"the list does not end: {self.rows:,} rows on {self._pages:,} pages; {said}", ENDLESS)

    def _announce(self, total: int) -> None:
        # By the largest page, for the last one may be short.
        if total > pages_max * self._largest:
            what = f"it counts {total:,} rows, {self._largest} on a page: over {pages_max:,} pages"
            raise BadBody(what, MISCOUNTED)
        self._total = total
        self._pages_at_most = min(pages_max, max(self._pages, total + spare_pages))
        self._rows_at_most = max(self.rows, total + max(grown_rows_max, total // 10))


class _Check:
    """Watches a walk: which rows were seen, and whether the pages agree with each other."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._seen: set[str] = set()
        self._before: tuple[str, ...] = ()
        self._bound = ListBound()
        self._again = 0
        self._moved = ""

    def fresh(self, page: Page) -> Page:
        """The page without the rows that were shown before; raises BadBody where it shows nothing else."""
        rows = {row.remote_id: row for row in page.rows if row.remote_id not in self._seen}
        ids = tuple(row.remote_id for row in page.rows)
        self._bound.add(page, len(rows))
        # An offset that is not heeded: the same rows would come for ever.
        if ids and (ids == self._before or (len(ids) > 1 and not rows)):
            what = f"a page came twice, after {self._bound.rows:,} rows; the list cannot be walked"
            raise BadBody(what, ENDLESS)
        self._before = ids or self._before
        self._seen.update(rows)
        self._again += len(ids) - len(rows)
        # Rows that come or go move all that follow by one place, and one of them past the walk.
        if page.total not in (None, self._total) and not self._moved:
            self._moved = f"its total changed from {self._total} to {page.total}"
        self._moved = self._moved or page.trouble
        if len(rows) == len(ids) and not page.trouble:
            return page
        return replace(page, rows=tuple(rows.values()), trouble="")

    def trouble(self) -> str:
        """Why rows may have been missed; "" where nothing speaks for it."""
        if self._moved:
            return f"the list changed while it was read: {self._moved}"
        if self._again:
            return f"the list changed while it was read: {self._again} rows came twice"
        if self._total is not None and len(self._seen) != self._total:
            return f"the list counts {self._total} rows and showed {len(self._seen)}"
        return ""


async def _counted(total: int, step: int, fetch: Fetch, window: int) -> AsyncGenerator[Page, None]:
    """The pages after the first of a list with a known total. A short page is filled up from its end on."""
    flight = _Flight(fetch, iter((offset, min(step, total - offset)) for offset in range(step, total, step)))
    more = total == step
    try:
        flight.fill(window)
        while flight:
            (offset, wanted), page = await flight.next()
            flight.fill(window)
            yield page
            got = len(page.rows)
            # A server may cap a page below the limit that was asked for.
            while page.rows and got < wanted:
                page = await fetch(offset + got, wanted - got)
                got += len(page.rows)
                yield page
            more = page.more
    finally:
        await flight.stop()
    if more:  # the numbers say that this was the last page, its link says that it was not
        page = await fetch(total, step)
        yield replace(page, trouble="rows follow behind its total") if page.rows else page


async def _open(begin: int, limit: int, fetch: Fetch, window: int) -> AsyncGenerator[Page, None]:
    """The pages after the first of a list that does not tell its total, up to the end sign.

    A short page is no end: the walk goes on right behind it. What was in flight beyond it began at
    wrong offsets and is thrown away; so is what lies beyond the end, once it proved to be empty.
    """
    step, position = begin, begin
    while True:
        flight = _Flight(fetch, _offsets(position, step, limit))
        # One at first, and twice as many after each full page: a short list costs no request beyond its end.
        width = 1
        flight.fill(width)
        try:
            while True:
                (offset, _), page = await flight.next()
                if page.last or not page.rows:
                    beyond = await flight.remaining_pages()
                    stray = any(later.rows for later in beyond)
                    yield replace(page, trouble="rows follow behind its end") if stray else page
                    return
                position = offset + len(page.rows)
                full = len(page.rows) == step
                if full:
                    width = min(window, width * 2)
                    flight.fill(width)
                yield page
                # All that is in flight began at offsets of full pages, which are wrong from here on.
                if not full:
                    step = len(page.rows)
                    break
        finally:
            await flight.stop()


def _offsets(position: int, step: int, limit: int) -> Iterator[tuple[int, int]]:
    for number in range(pages_max):
        yield position + number * step, limit


class _Flight:
    """Requests for pages under way, answered in the order of their offsets."""

    def __init__(self, fetch: Fetch, asks: Iterator[tuple[int, int]]) -> None:
        self._fetch = fetch
        self._asks = asks
        self._under_way: deque[tuple[tuple[int, int], asyncio.Task[Page]]] = deque()

    def __bool__(self) -> bool:
        return bool(self._under_way)

    def fill(self, width: int) -> None:
        """Start requests until `width` are under way, or none is left to start."""
        while len(self._under_way) < width:
            ask = next(self._asks, None)
            if ask is None:
                return
            self._under_way.append((ask, asyncio.create_task(self._fetch(*ask))))

    async def next(self) -> tuple[tuple[int, int], Page]:
        """The first page still under way, and what was asked for."""
        ask, task = self._under_way[0]
        page = await task
        self._under_way.popleft()
        return ask, page

    async def remaining_pages(self) -> list[Page]:
        """All pages still under way."""
        return [(await self.next())[1] for _ in range(len(self._under_way))]

    async def stop(self) -> None:
        """Give up what is still under way; reads may be left alone."""
        tasks = [task for _, task in self._under_way]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _status(document: Mapping[str, Any]) -> tuple[str, int | None, int | None]:
    """What `status` says: nothing, the end, a range (with its first row and the total), or other words."""
    text = document.get("status", "")
    if not isinstance(text, str):
        return "other", None, None
    text = text.strip()
    found = _RANGE.fullmatch(text)
    if found:
        return "range", int(found[1]), int(found[3])
    if not text:
        return "nothing", None, None
    return ("end" if fold_case(text) in _END_WORDS else "other"), None, None


def _rows(document: Mapping[str, Any], asked: List) -> tuple[Found, ...] | str:
    """The rows, or the word for having none: `absent`, `empty`."""
    if asked.collection not in document:
        return "absent"
    items = document[asked.collection]
    if not isinstance(items, list):
        raise BadBody(f"its {asked.collection} are no list")
    return tuple(_row(item, asked) for item in items) or "empty"


def _row(item: object, asked: List) -> Found:
    if not isinstance(item, dict):
        raise BadBody(f"one of its {asked.collection} is no object")
    found = remote_id(item, asked.segment or asked.collection)
    # What has no id can be neither looked at nor recorded (facts 1).
    if not found:
        raise BadBody(f"one of its {asked.collection} has neither an id nor a link to itself")
    return Found(found, item, asked.date)


def _leads(document: Mapping[str, Any], relations: frozenset[str]) -> bool:
    told = (link.get("rel") for link in links(document))
    return any(isinstance(relation, str) and relation in relations for relation in told)
