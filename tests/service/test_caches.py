"""Claims about answers that are no evidence: from a cache, or a success that says something else."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus

import httpx2
import pytest
from service.support import CALLS, END, ID, Clock, Wire, answer, contact, failure, listing, with_client

from reconciler.errors import Cached, InDoubt, Malformed, NotFound
from reconciler.service.caches import date_tolerance_s, told
from reconciler.service.client import ServiceClient
from reconciler.service.refusals import SUCCESSES

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
    assert told(STORED[name])


@pytest.mark.parametrize("name", LIVE)
def test_headers_that_say_that_the_service_was_asked_are_no_trouble(name: str) -> None:
    live = answer(200, contact(ID))
    live.headers.update(LIVE[name])

    assert with_client(Wire(live), CALLS["GET"])
    assert not told(LIVE[name])


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
