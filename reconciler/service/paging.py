"""Pages of a list: what one page says, and walking all of them.

Every end-of-list form, offsets, parallel reads, and noticing that a walk went wrong. The request of a page
is in entities.py.

    total known       ▶ exactly the missing pages, in parallel
    total not known   ▶ a growing window of offsets in flight, until the end sign

Offsets are built from rows received, never from links and never from the limit asked for: a server may
cap the limit, and a next link may name another host or drop the offset. A link only says "more".
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Self

from reconciler.core.calls import parse_http_date
from reconciler.core.text import fold_case
from reconciler.errors import SettingsError
from reconciler.model.kind import Kind
from reconciler.model.profile import Profile
from reconciler.service.answers import (
    ENDLESS,
    ITS_ERROR,
    MISCOUNTED,
    OTHER_SERVICE,
    UNKNOWN_FORM,
    Answer,
    BadBody,
    Call,
)
from reconciler.service.http import urls
from reconciler.service.http.media import is_error
from reconciler.service.http.transport import Transport

# --- Rows, pages, and writes that were done -------------------------------------------------------


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
    for link in links_of(body):
        uri = link.get("uri")
        if link.get("rel") == "self" and isinstance(uri, str):
            return urls.id_of(uri, collection)
    return ""


def links_of(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The link objects of a document: an array of them, or one bare object (facts 1)."""
    match body.get("link"):
        # Facts 1: one link may stand there alone, without an array around it.
        case dict() as one:
            return (one,)
        case list() as several:
            return tuple(link for link in several if isinstance(link, dict))
        case _:
            return ()


def strip_queries(body: dict[str, Any]) -> None:
    """Cut the query off every link in a body and in what is inside it."""
    # Facts 1: the service writes the address that was asked into its links, and with it a key in the query.
    # Level by level, because a body may be nested deeper than calls should be.
    level: list[Any] = [body]
    while level:
        level = [inner for value in level for inner in _nested_values(value)]


def _nested_values(value: Any) -> list[Any]:
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
def to_iso_date(header: str) -> str:
    """A Date header as ISO 8601 text in UTC, or "" where it is none."""
    moment = parse_http_date(header)
    return "" if moment is None else moment.isoformat().replace("+00:00", "Z")


# --- Query parameters of a list -------------------------------------------------------------------
#
# Source: specification 4.2; docs/service.md, lists.


Parameters = tuple[tuple[str, str], ...]

# Parameters of every list (specification 4.2), and the key. A field of such a name would be taken for one.
_RESERVED = frozenset({"limit", "offset", "sortorder", "sortfields", "fields", "customfields", "apikey"})


@dataclass(frozen=True, slots=True)
class Query:
    """Which rows of a list are asked for, what each shows, and in which order.

    `filters` are field names and the text they must contain (`custom.<name>` for a custom field);
    the service may answer more than asked for. `fields` are added to brief rows; `custom` asks for
    custom fields. `sort` are fields, separated by commas, with one `-` before all of them for descending.
    """

    filters: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    custom: bool = True
    sort: str = ""


EVERYTHING = Query()


def add_custom_field(kind: Kind) -> Parameters:
    """The parameter without which a body has no custom fields, where the kind has any (facts 2)."""
    return (("customFields", "true"),) if kind.custom else ()


def query_parameters(query: Query, kind: Kind, profile: Profile) -> Parameters:
    """The query as parameters, with the names that this deployment has for fields.

    Raises SettingsError for a filter whose name is another parameter.
    """
    renamed = profile.names(kind)
    asked = [(_filter_parameter(name, kind, profile), text) for name, text in query.filters.items()]
    if query.fields:
        asked.append(("fields", ",".join(renamed.get(name, name) for name in query.fields)))
    if query.custom:
        asked += add_custom_field(kind)
    if query.sort:
        # Specification 4.2: one order for all fields of a list.
        names = query.sort.removeprefix("-").split(",")
        asked.append(("sortFields", ",".join(_query_name(renamed.get(name, name)) for name in names)))
        asked.append(("sortOrder", "desc" if query.sort.startswith("-") else "asc"))
    return tuple(asked)


def _filter_parameter(name: str, kind: Kind, profile: Profile) -> str:
    given = _query_name(name)
    if not given.isprintable() or not given or fold_case(given) in _RESERVED:
        raise SettingsError(
            f"{name[:40]!a} is no field that can be searched.",
            next="check identity in the settings: it names fields of an entity.",
        )
    return profile.searched(kind, given)


def _query_name(name: str) -> str:
    """A field as a query names it: a custom one by its prefix."""
    return f"custom_{name.removeprefix('custom.')}" if name.startswith("custom.") else name


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
class ListRequest:
    """What a page must be a page of: its collection key, where it was asked to begin, the service's date.

    `segment` stands before the id in a row's link to itself, where that is not the key.
    """

    collection: str
    offset: int
    profile: Profile
    date: str = ""
    segment: str = ""


def read_page(document: dict[str, Any], asked: ListRequest) -> Page:
    """The page that a list document is. Raises BadBody for every other shape: it is never "no rows"."""
    # Nor is a 404 the end of a list, though one public client reads it so: a lost workspace would look empty.
    if is_error(document):
        raise BadBody("it is an error message under a status of success", ITS_ERROR)
    words, begins, total = _page_status(document)
    rows = _read_rows(document, asked)
    form = FORMS.get((words, rows if isinstance(rows, str) else "some"))
    if form is None:
        what = f"it is no page of {asked.collection} that we know"
        raise BadBody(what, UNKNOWN_FORM if document.keys() & {asked.collection, "status"} else OTHER_SERVICE)
    more = _leads_to_next(document, asked.profile.next_relations)
    # A page from the middle, taken for the first one: all rows before it would be missed.
    if asked.offset == 0 and _leads_to_next(document, asked.profile.previous_relations):
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


async def walk_pages(first: Page, fetch: Fetch, *, limit: int, window: int) -> AsyncGenerator[Page, None]:
    """All pages of the list that `first` begins, in order of offset; at most `window` requests at once.

    Rows that were seen before are dropped. The last page carries `trouble` when the list changed under
    the walk or its rows do not add up. Raises BadBody for a page that repeats another, and past the cap.
    """
    check = _Check(first.total)
    yield check.fresh(first)
    if first.rows and not first.last:
        step = len(first.rows)
        if first.total is None:
            pages = _walk_to_end_sign(step, limit, fetch, window)
        else:
            pages = _walk_with_total(first.total, step, fetch, window)
        async with aclosing(pages):
            async for page in pages:
                yield check.fresh(page)
    trouble = check.trouble()
    if trouble:
        yield Page((), first.total, last=True, trouble=trouble)


async def gather_pages(pages: AsyncIterator[Page]) -> Rows:
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


async def _walk_with_total(total: int, step: int, fetch: Fetch, window: int) -> AsyncGenerator[Page, None]:
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


async def _walk_to_end_sign(begin: int, limit: int, fetch: Fetch, window: int) -> AsyncGenerator[Page, None]:
    """The pages after the first of a list that does not tell its total, up to the end sign.

    A short page is no end: the walk goes on right behind it. What was in flight beyond it began at
    wrong offsets and is thrown away; so is what lies beyond the end, once it proved to be empty.
    """
    step, position = begin, begin
    while True:
        flight = _Flight(fetch, _offsets_to_fetch(position, step, limit))
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


def _offsets_to_fetch(position: int, step: int, limit: int) -> Iterator[tuple[int, int]]:
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


def _page_status(document: Mapping[str, Any]) -> tuple[str, int | None, int | None]:
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


def _read_rows(document: Mapping[str, Any], asked: ListRequest) -> tuple[Found, ...] | str:
    """The rows, or the word for having none: `absent`, `empty`."""
    if asked.collection not in document:
        return "absent"
    items = document[asked.collection]
    if not isinstance(items, list):
        raise BadBody(f"its {asked.collection} are no list")
    return tuple(_read_row(item, asked) for item in items) or "empty"


def _read_row(item: object, asked: ListRequest) -> Found:
    if not isinstance(item, dict):
        raise BadBody(f"one of its {asked.collection} is no object")
    found = remote_id(item, asked.segment or asked.collection)
    # What has no id can be neither looked at nor recorded (facts 1).
    if not found:
        raise BadBody(f"one of its {asked.collection} has neither an id nor a link to itself")
    return Found(found, item, asked.date)


def _leads_to_next(document: Mapping[str, Any], relations: frozenset[str]) -> bool:
    told = (link.get("rel") for link in links_of(document))
    return any(isinstance(relation, str) and relation in relations for relation in told)


# --- Lists without totals -------------------------------------------------------------------------


stale_pages_max = 3  # pages in a row without a new row, before a walk is called endless


async def walk_without_totals(
    fetch: Callable[[int], Coroutine[Any, Any, Page]], *, named: bool
) -> tuple[Found, ...]:
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
        seen = _page_content(page, named=named)
        as_before = seen == before or not new
        # Rows without an id are new by their place: only what is in them tells that a page came earlier.
        digest = sha256(json.dumps(seen, sort_keys=True).encode()).digest()
        if seen and (as_before or digest in shown):
            stale += 1
            if stale > stale_pages_max:
                raise BadBody(f"it repeats itself and does not end, after {len(rows):,} rows", ENDLESS)
            if as_before and _page_content(await fetch(0), named=named) == seen:
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


async def fetch_without_totals(
    transport: Transport, asked: Call, read: Callable[[Answer, int], Page], *, limit: int, named: bool
) -> tuple[Found, ...]:
    """All rows of the list that `asked` is about. `read` makes a page of the answer for one offset."""

    async def fetch(offset: int) -> Page:
        query = (*asked.query, ("limit", str(limit)), ("offset", str(offset)))
        return await transport.call(replace(asked, query=query), lambda answer: read(answer, offset))

    return await walk_without_totals(fetch, named=named)


def _page_content(page: Page, *, named: bool) -> tuple[object, ...]:
    if named:
        return tuple(row.remote_id for row in page.rows)
    return tuple({key: value for key, value in row.body.items() if key != "id"} for row in page.rows)
