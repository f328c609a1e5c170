"""Claims about lists: every row once, the service's own end sign, and a word when rows may be missing."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service.support import (
    END,
    ID,
    Clock,
    Wire,
    answer,
    app_wire,
    contact,
    failure,
    listing,
    sandbox,
    service,
    with_client,
)
from simulation.virtualloop import pause
from waiting import for_ever

from reconciler.errors import Malformed, NotFound
from reconciler.messaging.client import ServiceClient
from reconciler.service import paging
from reconciler.service.http.media import BadBody
from reconciler.service.paging import Found, Page, Rows
from reconciler.service.profile import load_profile

SIZES = (0, 1, 2, 19, 20, 21, 39, 40, 41, 55, 100, 1000)


@dataclass
class Lists:
    """A server with a list of contacts, and the habits that servers have."""

    size: int
    counts: bool = True  # does `status` tell the total?
    clamp: Callable[[int, int], int] = lambda _offset, limit: limit  # rows given for an offset and a limit
    links: bool = True
    change: Callable[[list[str], int], None] = lambda _ids, _call: None  # what happens before each answer
    asked: list[tuple[int, int]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ids = [f"ID{number:05d}" for number in range(self.size)]

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        params = request.url.params
        offset, limit = int(params["offset"]), int(params["limit"])
        self.change(self.ids, len(self.asked))
        self.asked.append((offset, limit))
        rows = self.ids[offset : offset + self.clamp(offset, min(limit, 20))]
        if not rows:
            return answer(200, END)
        end = offset + len(rows)
        status = f"{offset + 1} to {end} of {len(self.ids)}    " if self.counts else ""
        more = self.links and self.counts and end < len(self.ids)
        link = (
            [{"uri": "https://evil.test/contacts?offset=0", "rel": "next", "method": "GET"}] if more else []
        )
        return answer(200, listing((contact(one) for one in rows), status, link=link))

    def read(self, **limits: Any) -> Rows:
        return with_client(app_wire(self), lambda client: client.contacts.list(), settings=service(**limits))

    def fails(self) -> Malformed:
        error = failure(app_wire(self), lambda client: client.contacts.list())
        assert isinstance(error, Malformed)
        return error


def ids(rows: Rows) -> list[str]:
    return [row.remote_id for row in rows]


@pytest.mark.parametrize("size", SIZES)
def test_with_a_total_exactly_the_missing_pages_are_fetched(size: int) -> None:
    """Calls are the time: no page beyond the end, none twice."""
    server = Lists(size)

    rows = server.read()

    assert ids(rows) == server.ids
    assert rows.complete
    assert server.asked[0] == (0, 20)
    assert len(server.asked) == max(1, -(-size // 20))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("concurrency", [1, 2, 8, 64])
def test_without_a_total_the_end_sign_ends_the_walk(size: int, concurrency: int) -> None:
    """At most the window is wasted beyond the end, and one look behind a last page that is not full."""
    server = Lists(size, counts=False)

    rows = server.read(concurrency=concurrency)

    assert ids(rows) == server.ids
    assert rows.complete
    assert len(server.asked) <= -(-size // 20) + 2 + concurrency


@pytest.mark.parametrize("size", [0, 1, 20, 55, 199])
@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("clamp", [1, 3, 5, 7, 19])
def test_a_server_that_gives_fewer_rows_than_asked_for_loses_none(
    size: int, *, counts: bool, clamp: int
) -> None:
    """The step is what came, not what was asked for: 20 rows a step would skip three quarters here."""
    server = Lists(size, counts=counts, clamp=lambda _offset, limit: min(limit, clamp))

    rows = server.read()

    assert ids(rows) == server.ids
    assert rows.complete


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("short", [0, 20, 40, 60])
def test_a_short_page_in_the_middle_is_no_end(short: int, *, counts: bool) -> None:
    """Twenty rows, then three, then twenty: the seventeen between are fetched."""
    server = Lists(
        100, counts=counts, clamp=lambda offset, limit: min(limit, 3) if offset == short else limit
    )

    rows = server.read()

    assert ids(rows) == server.ids
    assert rows.complete


@given(
    size=st.integers(0, 120), counts=st.booleans(), gives=st.lists(st.integers(1, 20), min_size=1, max_size=9)
)
@settings(max_examples=150, deadline=None)
def test_any_server_that_makes_progress_is_read_to_its_end(
    size: int, *, counts: bool, gives: list[int]
) -> None:
    server = Lists(size, counts=counts, clamp=lambda offset, limit: min(limit, gives[offset % len(gives)]))

    rows = server.read()

    assert ids(rows) == server.ids
    assert rows.complete


def test_links_are_hints_and_never_followed() -> None:
    """A next link names another host, and drops the offset where a key is a default parameter."""
    wire = app_wire(Lists(55))

    with_client(wire, lambda client: client.contacts.list())

    assert {request.url.host for request in wire.sent} == {"service.test"}
    assert sorted(request.url.params["offset"] for request in wire.sent) == ["0", "20", "40"]


def test_a_list_without_links_is_walked_by_its_total() -> None:
    assert len(Lists(55, links=False).read()) == 55


@pytest.mark.parametrize("counts", [True, False])
def test_a_server_that_ignores_the_offset_is_noticed(*, counts: bool) -> None:
    """The endless first page: without this the walk would fill the memory with it."""
    rows = [contact(f"ID{number}") for number in range(20)]
    status = "1 to 20 of 55    " if counts else ""
    wire = Wire(answer(200, listing(rows, status)))

    error = failure(wire, lambda client: client.contacts.list(), clock=Clock())

    assert isinstance(error, Malformed)
    assert len(wire.sent) <= 12


def test_a_page_with_the_right_numbers_and_the_rows_of_another_is_noticed() -> None:
    def lie(request: httpx2.Request) -> httpx2.Response:
        offset = int(request.url.params["offset"])
        rows = [contact(f"ID{number}") for number in range(20)]
        return answer(200, listing(rows, f"{offset + 1} to {offset + 20} of 60"))

    error = failure(app_wire(lie), lambda client: client.contacts.list())

    assert "a page came twice" in str(error)


def test_one_row_repeated_for_ever_is_noticed() -> None:
    """The smallest loop: a page of one row, without a total."""
    error = failure(Wire(answer(200, listing([contact("ONE")]))), lambda client: client.contacts.list())

    assert "a page came twice" in str(error)


def test_a_list_that_never_ends_is_ended_by_the_cap() -> None:
    """New ids for ever: nothing repeats, and no end sign comes."""

    async def work() -> int:
        async def fetch(offset: int, _limit: int) -> Page:
            await asyncio.sleep(0)
            return Page((row(offset),), None, last=False)

        pages = 0
        try:
            async for _ in paging.walk_pages(await fetch(0, 20), fetch, limit=20, window=64):
                pages += 1
        except BadBody as error:
            assert "60,001 rows on 60,001 pages; it tells no total" in str(error)  # noqa: PT017 - the pages before it are counted too
        return pages

    assert asyncio.run(work()) == paging.untold_pages_max


def row(number: int) -> Found:
    return Found(f"N{number}", {})


def test_a_total_beyond_the_cap_is_refused_before_the_walk() -> None:
    wire = Wire(answer(200, listing([contact("ONE")], "1 to 1 of 999999999")))

    error = failure(wire, lambda client: client.contacts.list())

    assert isinstance(error, Malformed)
    assert len(wire.sent) == 1


def shrink(ids: list[str], call: int) -> None:
    if call % 3 == 1:
        del ids[0]


def grow(ids: list[str], call: int) -> None:
    if call % 3 == 1:
        ids.insert(0, f"NEW{call}")


def touch(ids: list[str], call: int) -> None:
    if call % 3 == 1:
        ids.insert(0, ids.pop())


@pytest.mark.parametrize("change", [shrink, grow, touch])
def test_a_list_that_changes_under_the_walk_says_so(change: Callable[[list[str], int], None]) -> None:
    """A scan that may have missed rows must not lead to creates or deletes (rule G4)."""
    rows = Lists(200, change=change).read(concurrency=1)

    assert not rows.complete
    assert rows.trouble
    assert len(set(ids(rows))) == len(rows)


@pytest.mark.parametrize("change", [grow, touch])
def test_a_row_that_comes_twice_says_so_even_without_a_total(
    change: Callable[[list[str], int], None],
) -> None:
    """What moved back to be seen twice may have pushed another one past us."""
    rows = Lists(200, counts=False, change=change).read(concurrency=1)

    assert not rows.complete
    assert "came twice" in rows.trouble
    assert len(set(ids(rows))) == len(rows)


def test_a_list_that_changed_once_is_read_once_more() -> None:
    def once(ids: list[str], call: int) -> None:
        if call == 1:
            del ids[0]

    server = Lists(60, change=once)

    rows = server.read()

    assert rows.complete
    assert ids(rows) == server.ids


def test_a_list_that_is_empty_at_the_second_look_is_not_believed() -> None:
    """Rows were there a moment ago: nobody is gone because the service says so once."""
    pages = [answer(200, listing([contact("A")], "1 to 1 of 2")), answer(200, END), answer(200, END)]

    rows = with_client(Wire(*pages), lambda client: client.contacts.list())

    assert (len(rows), rows.complete) == (0, False)
    assert "none now" in rows.trouble


def test_rows_that_do_not_add_up_to_the_total_say_so() -> None:
    """Hidden rows, or a wrong count: nobody can tell, so nothing may be deleted."""

    def hides(request: httpx2.Request) -> httpx2.Response:
        offset = int(request.url.params["offset"])
        if offset >= 22:
            return answer(200, END)
        rows = [contact(f"ID{n}") for n in range(offset, min(22, offset + 20))]
        return answer(200, listing(rows, f"{offset + 1} to {offset + len(rows)} of 25"))

    rows = with_client(app_wire(hides), lambda client: client.contacts.list())

    assert (len(rows), rows.complete) == (22, False)
    assert "counts 25 rows and showed 22" in rows.trouble


def test_a_next_link_behind_the_last_row_is_looked_into() -> None:
    """The total and the link must agree: where they do not, one more call decides."""

    def one_more(request: httpx2.Request) -> httpx2.Response:
        offset = int(request.url.params["offset"])
        link = [{"uri": "/contacts?offset=20", "rel": "next", "method": "GET"}]
        if offset == 0:
            return answer(200, listing([contact(f"A{n}") for n in range(20)], "1 to 20 of 20", link=link))
        return answer(200, listing([contact("B")], "21 to 21 of 21"))

    rows = with_client(app_wire(one_more), lambda client: client.contacts.list())

    assert (len(rows), rows.complete) == (21, False)


def test_a_next_link_behind_the_last_row_that_leads_nowhere_is_harmless() -> None:
    def stale(request: httpx2.Request) -> httpx2.Response:
        if int(request.url.params["offset"]):
            return answer(200, END)
        link = {"uri": "/contacts?offset=2", "rel": "next", "method": "GET"}
        return answer(200, listing([contact("A"), contact("B")], "1 to 2 of 2", link=link))

    rows = with_client(app_wire(stale), lambda client: client.contacts.list())

    assert (len(rows), rows.complete) == (2, True)


def test_rows_behind_the_end_sign_say_so() -> None:
    """Without a total: an empty page in the middle, and rows beyond it."""

    def hole(request: httpx2.Request) -> httpx2.Response:
        offset = int(request.url.params["offset"])
        if offset == 60:
            return answer(200, END)
        return answer(200, listing([contact(f"ID{offset + n}") for n in range(20)]))

    rows = with_client(app_wire(hole), lambda client: client.contacts.list())

    assert not rows.complete


def test_a_404_on_a_list_is_never_an_empty_list() -> None:
    """A lost workspace would look empty, and everything in it would be created again."""
    wire = Wire(answer(404, {"errorSummary": "No.", "errorText": "Not Found", "link": []}))

    error = failure(wire, lambda client: client.contacts.list(workspace="W1"))

    assert type(error) is NotFound
    assert "workspace" in error.next


def test_pages_come_in_order_while_they_are_fetched_side_by_side() -> None:
    """Answers overtake each other; the plan's bytes must not depend on it."""
    under_way = most = 0
    server = Lists(400)

    async def slow(request: httpx2.Request) -> httpx2.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        offset = int(request.url.params["offset"])
        await pause(2 if (offset // 20) % 2 else 1)
        under_way -= 1
        return server(request)

    async def work(client: ServiceClient) -> list[str]:
        return [row.remote_id async for page in client.contacts.pages() for row in page.rows]

    assert with_client(Wire(slow), work, settings=service(concurrency=5)) == server.ids
    assert most == 5


def test_a_walk_may_begin_with_a_page_that_is_there_already() -> None:
    server = Lists(55)

    async def work(client: ServiceClient) -> int:
        first = await client.contacts.page()
        return sum([len(page.rows) async for page in client.contacts.pages(first=first)])

    assert with_client(app_wire(server), work) == 55
    assert len(server.asked) == 3


def test_a_walk_that_is_left_early_leaves_nothing_running() -> None:
    server = Lists(2000)

    async def slow(request: httpx2.Request) -> httpx2.Response:
        if server.asked:
            await for_ever()
        return server(request)

    async def work(client: ServiceClient) -> int:
        pages = client.contacts.pages()
        async for _ in pages:
            break
        await pages.aclose()
        return len(asyncio.all_tasks())

    assert with_client(Wire(slow), work) == 1


def test_an_error_on_one_page_ends_the_walk_and_leaves_nothing_running() -> None:
    server = Lists(2000)

    def broken(request: httpx2.Request) -> httpx2.Response:
        return answer(401) if request.url.params["offset"] == "60" else server(request)

    async def work(client: ServiceClient) -> int:
        try:
            await client.contacts.list()
        finally:
            assert len(asyncio.all_tasks()) == 1
        return 0

    failure(app_wire(broken), work)
    assert len(server.asked) < 30


def test_the_same_row_twice_on_one_page_is_kept_once_and_told() -> None:
    rows = with_client(
        Wire(answer(200, listing([contact("ONE"), contact("ONE")], "1 to 2 of 2"))),
        lambda client: client.contacts.list(),
    )

    assert (len(rows), rows.complete) == (1, False)


@pytest.mark.parametrize("size", [0, 1, 19, 20, 21, 55, 1000])
@pytest.mark.parametrize("rows", ["brief", "full"])
def test_the_sandbox_is_read_completely_in_the_least_calls(size: int, rows: Any) -> None:
    wire = sandbox(contacts=size, rows=rows)

    async def work(client: ServiceClient) -> tuple[Rows, int]:
        return await client.contacts.list(), sum(client.calls.values())

    found, calls = with_client(wire, work)

    assert (len(set(ids(found))), found.complete) == (size, True)
    assert calls == max(1, -(-size // 20))


def test_the_relations_of_links_come_from_the_profile() -> None:
    profile = load_profile("service")

    assert profile.next_relations == {"next"}
    assert profile.previous_relations == {"prev", "previous"}


def test_a_total_that_grows_with_the_walk_is_never_followed() -> None:
    """A page more for each page that was read: 2 pages more than rows were counted first, and no further."""
    asked: list[int] = []

    async def work() -> int:
        async def fetch(offset: int, _limit: int) -> Page:
            asked.append(offset)
            await asyncio.sleep(0)
            return Page((row(offset),), offset + 10 if offset else None, last=False)

        first = await fetch(0, 20)
        with pytest.raises(
            BadBody, match="14 rows on 14 pages; it counted 11 at first"
        ):  # the second page says 11
            await paging.gather_pages(paging.walk_pages(first, fetch, limit=20, window=1))
        return len(asked)

    assert asyncio.run(work()) == 14  # the one that was one too many


def test_two_rows_in_turns_are_read_no_further_than_the_total() -> None:
    """Neither the page before nor a full page of known rows: only the number of pages tells."""
    asked: list[int] = []

    def turns(request: httpx2.Request) -> httpx2.Response:
        offset = int(request.url.params["offset"])
        asked.append(offset)
        return answer(200, listing([contact(f"ID{offset % 2}")], f"{offset + 1} to {offset + 1} of 40"))

    rows = with_client(app_wire(turns), lambda client: client.contacts.list())

    assert not rows.complete
    assert len(asked) <= 2 * (40 + paging.spare_pages)  # a list that is not complete is read twice


def test_a_list_without_pages_and_total_is_ended_by_the_cap() -> None:
    """New rows for ever; a run would walk it until its deadline."""
    asked = 0

    async def fetch(offset: int) -> Page:
        nonlocal asked
        asked += 1
        return Page((row(offset),), None, last=False)

    with pytest.raises(BadBody, match="60,001 rows on 60,001 pages; it tells no total"):
        asyncio.run(paging.walk_without_totals(fetch, named=True))

    assert asked == paging.untold_pages_max + 1


def test_a_list_without_pages_is_read_no_further_than_its_total() -> None:
    """Messages, states and responses: new rows at every page, and a total that grows with them."""
    asked: list[int] = []

    async def fetch(offset: int) -> Page:
        asked.append(offset)
        return Page((row(offset),), 5 + offset, last=False)

    with pytest.raises(BadBody, match="8 rows on 8 pages; it counted 5 at first"):
        asyncio.run(paging.walk_without_totals(fetch, named=True))

    assert len(asked) == 8


@pytest.mark.parametrize("size", [1_000_000, 1_000_001])
@pytest.mark.parametrize("told", [True, False])
def test_a_million_rows_are_an_honest_list(size: int, *, told: bool) -> None:
    """Also where its last page has a single row, and where it tells no total."""
    total = size if told else None
    rows = [Found("ONE", {})] * 20
    bound = paging.ListBound()

    for offset in range(0, size, 20):
        page = rows[: size - offset]
        bound.add(Page(tuple(page), total, last=False), len(page))

    assert bound.rows == size


def test_a_short_last_page_is_judged_by_the_larger_ones() -> None:
    """150,001 rows and one of them on the last page: not a list of 150,001 pages."""

    async def work() -> int:
        async def fetch(offset: int, _limit: int) -> Page:
            await asyncio.sleep(0)
            rows = range(offset, min(offset + 1000, 150_001))
            return Page(tuple(map(row, rows)), 150_001, last=False)

        return len(
            await paging.gather_pages(paging.walk_pages(await fetch(0, 1000), fetch, limit=1000, window=4))
        )

    assert asyncio.run(work()) == 150_001


@pytest.mark.parametrize("named", [True, False])
def test_large_pages_without_a_total_are_ended_by_their_rows(*, named: bool) -> None:
    """60,000 pages of 5,000 rows would fill the memory long before their number is reached."""
    pages = 0

    async def fetch(offset: int) -> Page:
        nonlocal pages
        pages += 1
        found = (Found(f"N{number}", {"name": number}) for number in range(offset, offset + 5000))
        return Page(tuple(found), None, last=False)

    with pytest.raises(BadBody, match="1,205,000 rows on 241 pages"):
        asyncio.run(paging.walk_without_totals(fetch, named=named))

    assert pages == 241


def test_pages_larger_than_the_total_allows_are_ended_by_their_rows() -> None:
    """A total of 40 that only the first page tells, and pages of 1,000 rows behind it."""

    async def fetch(offset: int) -> Page:
        rows = tuple(row(offset + number) for number in range(1000 if offset else 20))
        return Page(rows, None if offset else 40, last=False)

    with pytest.raises(BadBody, match="2,020 rows on 3 pages"):
        asyncio.run(paging.walk_without_totals(fetch, named=True))


def test_a_list_that_grows_while_it_is_read_is_read_to_its_end() -> None:
    """New rows come first and push the others down: 100 more than it counted."""
    size = 400

    async def fetch(offset: int) -> Page:
        nonlocal size
        size += 5 if size < 500 else 0
        shown = [row(number) for number in range(size, 0, -1)][offset : offset + 20]
        return Page(tuple(shown), size, last=offset + len(shown) >= size)

    assert len(asyncio.run(paging.walk_without_totals(fetch, named=True))) >= 400


def test_a_total_without_measure_that_comes_late_is_refused_at_once() -> None:
    """The first pages tell none; a walk of 100,000 pages is not begun for it."""
    asked = 0

    async def work() -> None:
        async def fetch(offset: int, _limit: int) -> Page:
            nonlocal asked
            asked += 1
            await asyncio.sleep(0)
            rows = tuple(row(offset + number) for number in range(20))
            return Page(rows, 999_999_999 if offset else None, last=False)

        await paging.gather_pages(paging.walk_pages(await fetch(0, 20), fetch, limit=20, window=4))

    with pytest.raises(BadBody, match="it counts 999,999,999 rows"):
        asyncio.run(work())

    assert asked < 6


def test_two_pages_without_ids_in_turns_end_soon() -> None:
    """States and answers have no id, so every row of them is new by its place."""
    calls = 0

    async def fetch(offset: int) -> Page:
        nonlocal calls
        calls += 1
        rows = (Found(f"{offset}-{number}", {"recipient": f"{calls % 2}-{number}"}) for number in range(20))
        # Bounded here too: without the rule this would be read a million rows far.
        return Page(tuple(rows), None, last=calls > 100)

    with pytest.raises(BadBody, match="it repeats itself and does not end"):
        asyncio.run(paging.walk_without_totals(fetch, named=False))

    assert calls <= 10


# What a list shows that never ends: the collection's rows at an offset, on the how manieth call -> the page.
Endless = Callable[[int, int], tuple[range, str]]
ENDLESS: dict[str, Endless] = {
    "the same page": lambda _offset, _call: (range(20), ""),
    "two pages in turns": lambda _offset, call: (range(20 * (call % 2), 20 * (call % 2) + 20), ""),
    "the same page beside a total": lambda _offset, _call: (range(20), "1 to 20 of 55"),
    "a total that grows": lambda at, _call: (range(at, at + 20), f"{at + 1} to {at + 20} of {at + 40}"),
    "a total that is reached by each page": lambda at, _call: (
        range(at, at + 20),
        f"{at + 1} to {at + 20} of {at + 20}",
    ),
    "a total without measure": lambda at, _call: (
        range(at, at + 20),
        f"{at + 1} to {at + 20} of 999999999",
    ),
    "empty pages": lambda _offset, _call: (range(0), ""),
    "an end that leads on": lambda _offset, _call: (range(0), "No records found"),
    "a page, and an end that leads on": lambda at, _call: (
        range(0 if at else 20),
        "No records found" if at else "",
    ),
}
READERS: dict[str, tuple[str, Callable[[ServiceClient], Any]]] = {
    "contacts": ("contacts", lambda client: client.contacts.list()),
    "resources": ("resources", lambda client: client.resources.list()),
    "workspaces": ("workspaces", lambda client: client.workspaces.list()),
    "callbacks": ("callbacks", lambda client: client.callbacks.list()),
    "calls": ("calls", lambda client: client.callbacks.calls(ID)),
    "messages": ("messages", lambda client: client.messages.list()),
    "states": ("messageStatuses", lambda client: client.messages.status(ID, "detailed")),
    "responses": ("messageresponses", lambda client: client.messages.response_details(ID)),
}
# Lists that know no pages show everything each time; that is their end, and not a lie.
UNPAGED = {"callbacks", "calls", "messages", "states", "responses"}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("lie", ENDLESS)
def test_a_list_that_never_ends_is_an_error_of_the_service(reader: str, lie: str) -> None:
    """After a few pages, in a sentence that names the call, and never as a mistake of this program.

    Lists of entities may say instead that rows may be missing: who reads them decides what follows from it.
    """
    key, read = READERS[reader]
    calls = 0

    def endless(request: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        shown, status = ENDLESS[lie](int(request.url.params.get("offset", "0")), calls)
        calls += 1
        link = [{"rel": "next", "uri": str(request.url), "method": "GET"}]
        rows = [_any_row(key, f"ID{number}") for number in shown]
        return answer(200, {key: rows, "status": status, "link": link})

    error, complete = _outcome(app_wire(endless), read)

    assert error or not complete or (reader in UNPAGED and lie == "the same page")
    assert not error or (str(error).startswith("GET /") and error.next)
    assert calls <= 100


def _outcome(wire: Wire, read: Callable[[ServiceClient], Any]) -> tuple[Malformed | None, bool]:
    """What reading ends with: an error of the service, or rows, and whether they count as all."""
    try:
        found = with_client(wire, read)
    except Malformed as error:
        return error, False
    return None, getattr(found, "complete", True)


def _any_row(key: str, remote_id: str) -> dict[str, Any]:
    """A row of any list: what one list does not know of it is not read."""
    return contact(
        remote_id,
        name=f"{remote_id}.txt",
        projectName=remote_id,
        url=f"https://example.com/{remote_id}",
        contentType="json",
        recipient=remote_id,
        status="sent",
        link=[{"uri": f"https://elsewhere.test/{key}/{remote_id}", "rel": "self", "method": "GET"}],
    )
