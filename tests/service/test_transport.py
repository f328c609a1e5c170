"""Claims about one call: which failures are repeated, which are in doubt, and what leaves us."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import httpx2
import pytest
from service.support import (
    BASE,
    CALLS,
    ID,
    KEY,
    PASSWORD,
    USER,
    Chunks,
    Clock,
    Wire,
    answer,
    app_wire,
    contact,
    failure,
    service,
    with_client,
)
from simulation.virtualloop import pause
from waiting import for_ever

from reconciler.errors import (
    InDoubt,
    Malformed,
    NotFound,
    Rejected,
    ServiceError,
    SettingsError,
    Throttled,
    Unauthorized,
    Unavailable,
)
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth, Service
from reconciler.service.answers import Call
from reconciler.service.client import Reader, open_reader
from reconciler.service.http.limiter import Timing
from reconciler.service.paging import Query

REQUEST = httpx2.Request("GET", BASE)
NEVER_SENT = {
    "refused, DNS, TLS": httpx2.ConnectError("no", request=REQUEST),
    "connect timeout": httpx2.ConnectTimeout("no", request=REQUEST),
    "pool timeout": httpx2.PoolTimeout("no", request=REQUEST),
}
LOST: dict[str, httpx2.Response | Exception] = {
    "read timeout": httpx2.ReadTimeout("no", request=REQUEST),
    "write timeout": httpx2.WriteTimeout("no", request=REQUEST),
    "read error": httpx2.ReadError("no", request=REQUEST),
    "write error": httpx2.WriteError("no", request=REQUEST),
    "close error": httpx2.CloseError("no", request=REQUEST),
    "short body": httpx2.RemoteProtocolError("no", request=REQUEST),
    "local protocol error": httpx2.LocalProtocolError("no", request=REQUEST),
    "decoding error": httpx2.DecodingError("no", request=REQUEST),
    "stray OSError": ConnectionResetError("no"),
    "stray timeout": TimeoutError("no"),
    "500": answer(500),
    "502": answer(502, b"<html>Bad Gateway</html>"),
    "504": answer(504),
    "520": answer(520),
    "200 in HTML": answer(200, b"<html>Welcome</html>"),
    "200 with an error body": answer(200, {"errorSummary": "No.", "errorText": "No."}),
    "303": answer(303, location="http://elsewhere.test/"),
    "status 999": answer(999),
}
THROTTLED = {
    "429": answer(429),
    "503": answer(503),
    "408": answer(408),
    "403 over queries per second": answer(403, x_error_code="ERR_403_DEVELOPER_OVER_QPS"),
    "403 of the old gateway": answer(403, x_mashery_error_code="ERR_403_DEVELOPER_OVER_QPS"),
}
STOP = {
    "401": answer(401),
    "403": answer(403, {"message": "Forbidden"}),
    "403 over queries per day": answer(403, x_error_code="ERR_403_DEVELOPER_OVER_QPD"),
    "429 over queries per day": answer(429, x_error_code="ERR_429_DEVELOPER_OVER_QPD"),
}
ERRORS = {
    f"{status}": answer(status) for status in (400, 402, 405, 406, 409, 412, 413, 415, 422, 451, 501, 505)
}
REDIRECTS = {
    f"{status}": answer(status, location="http://elsewhere.test/")
    for status in (300, 301, 302, 304, 307, 308)
}

good_get = answer(200, contact(ID))


def good(method: str) -> httpx2.Response:
    if method == "GET":
        return good_get
    return answer(201, location=f"/contacts/{ID}") if method == "POST" else answer(204)


@pytest.mark.parametrize("seen", NEVER_SENT)
@pytest.mark.parametrize("method", CALLS)
def test_what_was_never_sent_is_tried_again_whatever_the_method(method: str, seen: str) -> None:
    wire = Wire(NEVER_SENT[seen], NEVER_SENT[seen], good(method))

    with_client(wire, CALLS[method], clock=Clock())

    assert wire.methods == [method] * 3


@pytest.mark.parametrize("method", CALLS)
def test_what_is_never_sent_in_three_tries_is_unavailable_and_not_in_doubt(method: str) -> None:
    wire = Wire(NEVER_SENT["connect timeout"])

    error = failure(wire, CALLS[method])

    assert type(error) is Unavailable
    assert (error.status, error.method, len(wire.sent)) == (0, method, 3)
    assert "nothing was sent" in error.next


@pytest.mark.parametrize("seen", LOST)
def test_a_lost_answer_to_a_get_is_asked_for_again(seen: str) -> None:
    wire = Wire(LOST[seen], LOST[seen], good_get)

    found = with_client(wire, CALLS["GET"], clock=Clock())

    assert found is not None
    assert wire.methods == ["GET"] * 3


@pytest.mark.parametrize("seen", LOST)
def test_a_get_without_an_answer_ends_after_three_tries(seen: str) -> None:
    wire = Wire(LOST[seen])

    error = failure(wire, CALLS["GET"])

    assert type(error) in (Unavailable, Malformed)
    assert len(wire.sent) == 3
    assert "tried 3 times" in str(error)


@pytest.mark.parametrize("seen", LOST)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_write_whose_answer_is_lost_is_in_doubt_and_was_sent_once(method: str, seen: str) -> None:
    """It may have been carried out, or still be under way: sending it again makes two."""
    wire = Wire(LOST[seen], good(method))

    error = failure(wire, CALLS[method])

    assert type(error) is InDoubt
    assert wire.methods == [method]
    assert error.next


@pytest.mark.parametrize("seen", THROTTLED)
def test_a_throttled_get_waits_and_asks_again(seen: str) -> None:
    wire = Wire(THROTTLED[seen], good_get)

    with_client(wire, CALLS["GET"], clock=Clock())

    assert len(wire.sent) == 2


@pytest.mark.parametrize("seen", THROTTLED)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_throttled_write_is_told_to_its_caller_and_not_repeated(method: str, seen: str) -> None:
    """Most likely it was not carried out; the caller looks before it sends again."""
    wire = Wire(THROTTLED[seen], good(method))

    error = failure(wire, CALLS[method])

    assert type(error) is Throttled
    assert wire.methods == [method]


@pytest.mark.parametrize("seen", STOP)
@pytest.mark.parametrize("method", CALLS)
def test_refused_credentials_and_a_spent_quota_are_final(method: str, seen: str) -> None:
    wire = Wire(STOP[seen])

    error = failure(wire, CALLS[method])

    assert type(error) is Unauthorized
    assert len(wire.sent) == 1


@pytest.mark.parametrize("method", CALLS)
def test_a_404_is_not_found_and_final(method: str) -> None:
    wire = Wire(answer(404, {"errorSummary": "No such record. ", "errorText": "Not Found", "link": []}))

    error = failure(wire, CALLS[method])

    assert type(error) is NotFound
    assert len(wire.sent) == 1


@pytest.mark.parametrize("seen", [*ERRORS, *REDIRECTS])
@pytest.mark.parametrize("method", CALLS)
def test_every_other_refusal_is_final(method: str, seen: str) -> None:
    wire = Wire({**ERRORS, **REDIRECTS}[seen])

    error = failure(wire, CALLS[method])

    assert type(error) is Rejected
    assert (error.status, len(wire.sent)) == (int(seen), 1)


@pytest.mark.parametrize("seen", [*REDIRECTS, "303"])
def test_a_redirect_is_refused_in_its_own_words_and_never_followed(seen: str) -> None:
    """It would carry the credentials to wherever it points, and repeat a POST there."""
    wire = Wire({**REDIRECTS, **LOST}[seen])

    error = failure(wire, CALLS["GET"])

    assert "redirects, which is never followed" in str(error)
    assert "elsewhere" not in str(error) + error.next
    assert {request.url.host for request in wire.sent} == {"service.test"}


def test_retry_after_is_waited_for_and_slows_everybody() -> None:
    clock = Clock(chance=0.0)
    wire = Wire(answer(429, retry_after="7"), good_get)

    with_client(wire, CALLS["GET"], clock=clock)

    assert sum(clock.slept) == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("dates", "until", "wanted_s"),
    [
        ([], "Thu, 01 Jan 2026 00:00:09 GMT", 9.0),  # by our clock
        (["Fri, 01 Feb 2041 00:00:00 GMT"], "Fri, 01 Feb 2041 00:00:05 GMT", 5.0),  # as it said before
        (["Fri, 01 Feb 2041 00:00:00 GMT"], "Thu, 01 Jan 2026 00:00:09 GMT", 1.0),  # over
        (["Fri, 31 Dec 9999 23:59:59 GMT"], "Thu, 01 Jan 2026 00:00:09 GMT", 1.0),  # no clock says this
        ([], "soon", 0.0),
    ],
)
def test_retry_after_as_a_date_is_obeyed_where_the_answer_has_none(
    dates: list[str], until: str, wanted_s: float
) -> None:
    """The service's clock is known from its earlier answers; else ours has to do."""
    clock = Clock(chance=0.0)
    before = [answer(200, contact(ID), date=date) for date in dates]
    wire = Wire(*before, answer(429, retry_after=until), good_get)

    async def work(client: ServiceClient) -> None:
        for _ in [*dates, "the one that is refused"]:
            await client.contacts.get(ID)

    timing = replace(clock.timing, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    async def main() -> None:
        async with open_service_client(service(), timing=timing, connections=wire) as client:
            await work(client)

    asyncio.run(main())
    assert sum(clock.slept) == pytest.approx(wanted_s, abs=0.01)


def test_one_throttled_call_slows_the_others_too() -> None:
    """The service counts all of us together: the next call would be refused as well."""
    clock = Clock()
    wire = Wire(answer(429, retry_after="7"), good_get)

    async def work(client: ServiceClient) -> float:
        with pytest.raises(Throttled):
            await client.contacts.delete(ID)
        await client.contacts.get(ID)
        return clock.elapsed_s - 1000.0

    assert with_client(wire, work, clock=clock) == 7.0


def test_too_many_in_one_second_waits_for_the_next_second() -> None:
    clock = Clock(chance=0.0)

    with_client(Wire(THROTTLED["403 over queries per second"], good_get), CALLS["GET"], clock=clock)

    assert sum(clock.slept) == pytest.approx(1.0)


def test_a_wish_beyond_the_deadline_is_not_waited_for() -> None:
    clock = Clock()
    wire = Wire(answer(503, retry_after="31536000"))

    error = failure(wire, CALLS["GET"], clock=clock)

    assert isinstance(error, Throttled)
    assert (error.wait_s, clock.slept, len(wire.sent)) == (60.0, [], 1)


def test_a_throttled_write_tells_how_long_to_wait() -> None:
    error = failure(Wire(answer(429, retry_after="9")), CALLS["PUT"])

    assert isinstance(error, Throttled)
    assert error.wait_s == 9.0


def test_a_dead_service_sees_the_calls_and_a_tenth_more() -> None:
    """Retrying everything three times is how an outage is kept alive."""
    wire = Wire(LOST["500"])

    async def work(client: Reader) -> None:
        for _ in range(1000):
            with pytest.raises(Unavailable):
                await client.contacts.get(ID)

    with_client(wire, work, clock=Clock(), settings=service(deadline_s=1e9))

    assert len(wire.sent) <= 1000 * 1.1 + 10


def test_a_slow_drip_ends_at_the_calls_deadline() -> None:
    """The library's own timeouts count from byte to byte: they would never end this call."""

    class Drip(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for _second in range(10_000):
                yield b" "
                await pause(1)

    async def drip(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Drip())

    with pytest.raises(Unavailable, match="no complete answer within"):
        with_client(Wire(drip), CALLS["GET"], settings=service())


def test_a_write_that_stalls_is_in_doubt_at_its_deadline() -> None:
    async def stall(_request: httpx2.Request) -> httpx2.Response:
        await for_ever()

    wire = Wire(stall)
    with pytest.raises(InDoubt):
        with_client(wire, CALLS["PUT"])

    assert len(wire.sent) == 1


def test_one_stalled_connection_leaves_time_to_ask_again() -> None:
    """A connection that a firewall forgot must not cost the whole plan."""

    async def stall(_request: httpx2.Request) -> httpx2.Response:
        await for_ever()

    wire = Wire(stall, good_get)

    with_client(wire, CALLS["GET"])

    assert len(wire.sent) == 2


def test_nothing_is_sent_after_the_runs_deadline() -> None:
    clock = Clock()
    wire = Wire(good_get)

    async def work(client: Reader) -> None:
        await client.contacts.get(ID)
        clock.pass_s(3601)
        with pytest.raises(Unavailable, match="not sent, because the run reaches its deadline"):
            await client.contacts.get(ID)

    with_client(wire, work, clock=clock)

    assert len(wire.sent) == 1


def test_a_write_that_waited_too_long_for_its_turn_is_not_sent() -> None:
    """Its intent was written down before; meanwhile another run may have looked for it in vain."""
    clock = Clock()
    wire = Wire(good_get)

    async def work(client: ServiceClient) -> None:
        await client.contacts.get(ID)
        with pytest.raises(Unavailable, match="not sent, because it waited for its turn for 200 s"):
            await client.contacts.delete(ID)
        await client.contacts.get(ID)

    with_client(wire, work, clock=clock, settings=service(requests_per_second=0.005))

    assert [request.method for request in wire.sent] == ["GET", "GET"]


def test_requests_are_counted_by_method_when_they_were_sent() -> None:
    wire = Wire(NEVER_SENT["connect timeout"], LOST["500"], good_get, answer(204))

    async def work(client: Reader) -> dict[str, int]:
        await CALLS["GET"](client)  # type: ignore[arg-type] # a GET needs no more than a Reader
        await CALLS["DELETE"](client)  # type: ignore[arg-type] # the client is one that writes
        return dict(client.calls)

    assert with_client(wire, work, clock=Clock()) == {"GET": 2, "DELETE": 1}


def test_a_reader_has_no_method_that_writes() -> None:
    """The planner gets a Reader: what it cannot call it cannot send by mistake."""

    async def work() -> None:
        async with open_reader(service(), timing=Timing.real(), connections=Wire(good_get)) as reader:
            for collection in (reader.contacts, reader.devices, reader.resources, reader.workspaces):
                assert not {"create", "replace", "delete", "update", "post", "put"} & set(dir(collection))

    asyncio.run(work())


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_readers_transport_refuses_to_write_even_when_asked(method: str) -> None:
    """The second lock: a Reader's own transport, reached around its methods."""
    wire = Wire(good(method))

    async def work() -> None:
        async with open_reader(service(), timing=Timing.real(), connections=wire) as reader:
            with pytest.raises(AssertionError, match="opened to read"):
                await reader.contacts._transport.call(Call(method, "/contacts", "contact"), lambda _: None)

    asyncio.run(work())
    assert wire.sent == []


@pytest.mark.spec("5/authorization", "5/x-api-key", "9/form-json")
def test_the_key_travels_in_the_header_and_the_media_type_is_the_vendors() -> None:
    wire = Wire(good("POST"))

    with_client(wire, CALLS["POST"])

    [sent] = wire.sent
    assert sent.headers["x-api-key"] == KEY
    assert sent.headers["authorization"] == httpx2.BasicAuth(USER, PASSWORD)._auth_header
    assert sent.headers["accept"] == sent.headers["content-type"] == "application/vnd.service.contact-v1+json"
    assert str(sent.url) == f"{BASE}/contacts?customFields=true"


@pytest.mark.spec("5/apikey")
def test_the_key_travels_in_the_query_when_the_settings_say_so() -> None:
    wire = Wire(good_get)

    with_client(wire, CALLS["GET"], settings=service(send_key="query"))

    [sent] = wire.sent
    assert "x-api-key" not in sent.headers
    query = dict(sent.url.params.multi_items())
    assert query.pop("offset").isdigit()
    assert query == {"customFields": "true", "apikey": KEY}


@pytest.mark.spec("5/apikey")
@pytest.mark.parametrize("method", CALLS)
def test_the_key_travels_in_both_places_when_the_settings_say_so(method: str) -> None:
    """One source of the service's wants it in the header and in the query, of every request."""
    wire = Wire(good_get)

    with suppress(ServiceError):  # an answer that fits a GET need not fit the others
        with_client(wire, CALLS[method], settings=service(send_key="both"))

    assert wire.sent
    assert {sent.headers["x-api-key"] for sent in wire.sent} == {KEY}
    assert {tuple(sent.url.params.get_list("apikey")) for sent in wire.sent} == {(KEY,)}


@pytest.mark.parametrize(
    ("base_url", "wanted"),
    [
        ("http://service.test:8480", "http://service.test:8480/contacts/"),
        ("https://SERVICE.test/", "https://service.test/contacts/"),
        ("https://service.test/api/v1/", "https://service.test/api/v1/contacts/"),
        ("http://[::1]:8480/x", "http://[::1]:8480/x/contacts/"),
    ],
)
def test_every_request_stays_below_the_base_address(base_url: str, wanted: str) -> None:
    wire = Wire(good_get)

    with_client(wire, CALLS["GET"], settings=service(base_url))

    assert str(wire.sent[0].url).partition("?")[0] == f"{wanted}{ID}"


def test_no_cookie_is_kept() -> None:
    """State that the service keeps on us would make two runs differ."""
    wire = Wire(answer(200, contact(ID), set_cookie="session=1; Path=/"))

    async def work(client: Reader) -> None:
        await client.contacts.get(ID)
        await client.contacts.get(ID)

    with_client(wire, work)

    assert all("cookie" not in request.headers for request in wire.sent)


def test_a_body_cut_after_a_401_still_stops_the_run() -> None:
    async def cut(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(401, stream=Chunks(b"{", httpx2.ReadError("cut")))

    assert type(failure(Wire(cut), CALLS["GET"])) is Unauthorized


def test_a_body_cut_after_a_404_says_nothing_about_absence() -> None:
    async def cut(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(404, stream=Chunks(b"{", httpx2.ReadError("cut")))

    assert type(failure(Wire(cut), CALLS["GET"])) is Unavailable


def test_a_404_of_another_server_does_not_make_an_entity_look_deleted() -> None:
    """A proxy's page, or a wrong path prefix: nobody may conclude that an entity is gone."""
    error = failure(Wire(answer(404, b"<html>404 Not Found</html>")), CALLS["GET"])

    assert type(error) is Malformed
    assert "base_url" in error.next


def test_cancelling_a_call_cancels_it() -> None:
    async def stall(_request: httpx2.Request) -> httpx2.Response:
        await for_ever()

    async def work(client: Reader) -> bool:
        task = asyncio.create_task(client.contacts.get(ID))
        await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task])
        return task.cancelled() and done == {task}

    assert with_client(Wire(stall), work)


@pytest.mark.parametrize(
    "bad", ["", "\n", "key\n", "key\r\nX-Evil: 1", "k\x00ey", "k\x7fey", "k\tey", "k\u202eey"]
)
@pytest.mark.parametrize("name", ["username", "password", "api_key"])
def test_a_control_character_in_a_credential_is_refused_unseen(name: str, bad: str) -> None:
    """HTTP libraries raise an error that quotes the header: the key on the screen."""
    secrets = {"username": Secret("u"), "password": Secret("p"), "api_key": Secret("k"), name: Secret(bad)}
    auth = Auth(secrets["username"], secrets["password"], secrets["api_key"])
    settings = Service(base_url=BASE, auth=auth)
    wire = Wire(good_get)

    with pytest.raises(SettingsError, match=rf"service\.auth\.{name}") as raised:
        with_client(wire, CALLS["GET"], settings=settings)

    assert wire.sent == []
    assert "Evil" not in str(raised.value)


def test_errors_name_the_call_without_its_query() -> None:
    """The query holds what people searched for, and may hold the key."""
    wire = app_wire(lambda _: answer(500))

    async def work(client: Reader) -> object:
        return await client.contacts.search(
            Query({"workEmailAddress1": "jane.doe@example.com"}), workspace=ID
        )

    error = failure(wire, work)

    assert isinstance(error, ServiceError)
    assert (error.method, error.path) == ("GET", f"/workspaces/{ID}/contacts")
    assert "jane" not in str(error) + error.next + repr(error)
