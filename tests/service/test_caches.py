"""Claims about answers that are no evidence: from a cache, or a success that says something else."""

from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.support import CALLS, END, ID, Clock, Wire, answer, contact, failure, listing, with_client

from reconciler.errors import Cached, InDoubt, Malformed, NotFound
from reconciler.messaging.client import ServiceClient
from reconciler.service.http import urls
from reconciler.service.http.exchange import cache_evidence, date_tolerance_s
from reconciler.service.http.refusals import SUCCESSES
from reconciler.service.paging import Query

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

STORED: dict[str, Mapping[str, str]] = {
    "an age": {"age": "1"},
    "an age of days": {"age": "172800"},
    "an age that is no number": {"age": "old"},
    "an age below zero": {"age": "-1"},
    "one of two ages": {"age": "0, 12"},
    "RFC 9211": {"cache-status": "edge; hit; ttl=12"},
    "RFC 9211, the nearer cache": {"cache-status": "origin; fwd=miss, edge;hit"},
    "nginx": {"x-cache-status": "HIT"},
    "nginx, stale": {"x-cache-status": "STALE"},
    "a content network": {"x-cache": "Hit from cloudfront"},
    "two levels": {"x-cache": "MISS, HIT"},
    "another one": {"cf-cache-status": "UPDATING"},
}
LIVE: dict[str, Mapping[str, str]] = {
    "nothing": {},
    "no age": {"age": "0"},
    "an empty age": {"age": ""},
    "RFC 9211": {"cache-status": "edge; fwd=uri-miss; stored"},
    "a cache named so": {"cache-status": "hit; fwd=miss"},
    "nginx": {"x-cache-status": "MISS"},
    "asked again": {"x-cache-status": "REVALIDATED"},
    "bypassed": {"cf-cache-status": "DYNAMIC"},
    "a content network": {"x-cache": "Miss from cloudfront"},
}


def dated(after_s: float) -> str:
    return format_datetime(NOON + timedelta(seconds=after_s), usegmt=True)


def found(after_s: float | None = None, **headers: str) -> httpx2.Response:
    date = {} if after_s is None else {"date": dated(after_s)}
    return answer(200, contact(ID), **date, **headers)


@pytest.mark.parametrize("name", STORED)
def test_an_answer_that_a_cache_has_stored_is_no_evidence(name: str) -> None:
    """It was true once. "Not there" of ten seconds ago makes a person twice."""
    for stored in (answer(200, contact(ID)), answer(404, {"errorText": "Not Found"}), answer(200, END)):
        stored.headers.update(STORED[name])
        wire = Wire(stored)

        error = failure(wire, CALLS["GET"])

        assert type(error) is Cached
        assert len(wire.sent) == 3
        assert "cache" in str(error)
        assert "service.base_url" in error.next
    assert cache_evidence(STORED[name])


@pytest.mark.parametrize("name", LIVE)
def test_headers_that_say_that_the_service_was_asked_are_no_trouble(name: str) -> None:
    live = answer(200, contact(ID))
    live.headers.update(LIVE[name])

    assert with_client(Wire(live), CALLS["GET"])
    assert not cache_evidence(LIVE[name])


def test_a_stored_answer_is_asked_for_again_and_the_service_believed() -> None:
    stored = answer(404, {"errorText": "Not Found"}, Age="7")
    wire = Wire(stored, stored, found())

    assert with_client(wire, CALLS["GET"], clock=Clock())
    assert wire.methods == ["GET"] * 3


def test_every_get_asks_caches_to_stand_aside_and_no_write_does() -> None:
    for method, call in CALLS.items():
        good = {"GET": found(), "POST": answer(201, location=f"/contacts/{ID}")}.get(method, answer(204))
        wire = Wire(good)
        with_client(wire, call, clock=Clock())
        asked = {name: wire.sent[0].headers.get(name) for name in ("cache-control", "pragma")}
        assert asked == dict.fromkeys(asked, "no-cache" if method == "GET" else None)


def addresses(
    call: Callable[[ServiceClient], Coroutine[Any, Any, object]], good: httpx2.Response
) -> list[httpx2.URL]:
    """The addresses of one call, made forty times by each of two clients that draw the same chance."""
    wire = Wire(good)

    async def work(client: ServiceClient) -> None:
        for _ in range(40):
            await call(client)

    with_client(wire, work, clock=Clock())
    return [request.url for request in wire.sent]


LOOKS: dict[str, tuple[Callable[[ServiceClient], Coroutine[Any, Any, object]], httpx2.Response]] = {
    "a contact": (CALLS["GET"], answer(200, contact(ID))),
    "the devices of one": (
        lambda client: client.devices.list(parent=ID),
        answer(200, {**contact(ID), "devices": []}),
    ),
    "a lookup of a contact": (
        lambda client: client.contacts.search(Query({"workEmailAddress1": "jane@example.com"})),
        answer(200, END),
    ),
}


def meaning(url: httpx2.URL) -> list[tuple[str, str]]:
    """What a cache that decodes and sorts queries sees."""
    return sorted(url.params.multi_items())


@pytest.mark.parametrize("look", LOOKS)
def test_the_address_of_a_look_is_new_each_time_however_a_cache_reads_it(look: str) -> None:
    seen = addresses(*LOOKS[look])

    assert len({str(url) for url in seen}) == len(seen)
    assert len({str(meaning(url)) for url in seen}) == len(seen)
    asked = {frozenset(url.params["fields"].split(",")) for url in seen if "fields" in url.params}
    assert len(asked) <= 1
    assert {url.params.get("workEmailAddress1", "jane@example.com") for url in seen} == {"jane@example.com"}


def test_a_list_of_resources_has_thousands_of_addresses() -> None:
    """The lock in the service reads it again and again; a stored one would show who waited a moment ago."""
    pairs = (("limit", "20"), ("offset", "0"))

    addresses = {urls.encode_query(pairs, number) for number in range(7, 7 + 10_000)}

    assert len(addresses) == 10_000
    assert all(parse_qsl(address) == list(pairs) for address in addresses)


def test_a_lookup_of_a_resource_is_spelled_anew_and_asks_the_same() -> None:
    """Its list takes no fields; an unknown parameter might be taken for a filter."""
    seen = addresses(lambda client: client.resources.search(Query({"name": "rules.json"})), answer(200, END))

    assert len({str(url) for url in seen}) == len(seen)
    assert {str(meaning(url)) for url in seen} == {
        "[('limit', '20'), ('name', 'rules.json'), ('offset', '0')]"
    }


@given(
    st.lists(st.tuples(st.sampled_from(["limit", "name", "fields"]), st.text(max_size=12)), max_size=3),
    st.integers(0, 2**48),
)
def test_an_address_means_the_same_however_it_is_spelled(pairs: list[tuple[str, str]], number: int) -> None:
    pairs = [(name, text.encode("utf-8", "replace").decode()) for name, text in pairs]
    spelled = urls.encode_query(tuple(pairs), number)

    assert parse_qsl(spelled, keep_blank_values=True) == pairs
    assert len(spelled) <= len(urls.encode_query(tuple(pairs))) + 2 * urls.spelled_max
    assert spelled.isascii()


async def twice(client: ServiceClient, clock: Clock, wait_s: float) -> None:
    await client.contacts.get(ID)
    await clock.sleep(wait_s)
    await client.contacts.get(ID)


@pytest.mark.parametrize("after_s", [3, 8, 30, 3000])
def test_a_date_that_has_not_moved_on_is_that_of_a_stored_answer(after_s: int) -> None:
    """The service's clock is compared with itself over ours; nobody's wall clock is believed."""
    clock = Clock()
    wire = Wire(found(0))

    error = failure(wire, lambda client: twice(client, clock, after_s), clock=clock)

    assert type(error) is Cached
    assert "Date" in str(error)


@pytest.mark.parametrize("behind_s", [-3600, -1, 0, 1, date_tolerance_s])
def test_a_date_within_the_tolerance_is_believed(behind_s: float) -> None:
    """Dates have whole seconds, and the machines behind one address differ a little."""
    clock = Clock()
    wire = Wire(found(0), found(10 - behind_s))

    with_client(wire, lambda client: twice(client, clock, 10), clock=clock)

    assert len(wire.sent) == 2


def test_the_date_of_a_write_teaches_what_the_clock_shows() -> None:
    """No cache answers a write, so what it tells is the service's own time."""
    clock = Clock()
    wire = Wire(answer(201, location=f"/contacts/{ID}", date=dated(60)), found(0))

    async def work(client: ServiceClient) -> None:
        await client.contacts.create({"firstName": "Jane"})
        await client.contacts.get(ID)

    assert type(failure(wire, work, clock=clock)) is Cached


@pytest.mark.parametrize("date", ["", "soon", "Sun, 99 Foo 2026 12:00:00 GMT"])
def test_a_service_that_tells_no_time_is_believed(date: str) -> None:
    clock = Clock()
    wire = Wire(found(0), answer(200, contact(ID), date=date))

    with_client(wire, lambda client: twice(client, clock, 60), clock=clock)

    assert len(wire.sent) == 2


def test_a_list_is_not_read_from_a_cache_either() -> None:
    error = failure(Wire(answer(200, listing([]), Age="20")), lambda client: client.contacts.list())

    assert type(error) is Cached


@pytest.mark.parametrize("status", sorted({*range(200, 210), 218, 226, 250, 299}))
@pytest.mark.parametrize("method", CALLS)
def test_a_success_is_one_of_the_statuses_that_the_sources_name(method: str, status: int) -> None:
    """206 is a part of an entity, 203 is what a proxy made of it, 207 says nothing by itself."""
    body = contact(ID) if method == "GET" else b""
    wire = Wire(answer(status, body, location=f"/contacts/{ID}"))

    if status in SUCCESSES[method] and (method, status) != ("POST", HTTPStatus.ACCEPTED):
        with_client(wire, CALLS[method], clock=Clock())
        assert len(wire.sent) == 1
        return
    error = failure(wire, CALLS[method])
    assert type(error) is (Malformed if method == "GET" else InDoubt)
    assert error.status == status
    assert len(wire.sent) == (3 if method == "GET" else 1)


def test_a_part_of_a_list_is_no_page() -> None:
    part = answer(206, listing([contact(ID)], "1 to 1 of 1"), content_range="bytes 0-99/2000")

    assert type(failure(Wire(part), lambda client: client.contacts.list())) is Malformed


def test_an_absence_that_the_service_itself_tells_is_one() -> None:
    assert type(failure(Wire(answer(404, {"errorText": "Not Found"}, Age="0")), CALLS["GET"])) is NotFound
