"""The real client against every fault, on loopback: a typed error or the whole truth, never an empty list."""

from collections.abc import Callable, Coroutine
from typing import Any, Literal, NamedTuple

import httpx2
import pytest
from msgspec import structs
from sandbox.asking import JANE
from service.support import BASE, Clock, sandbox, sandbox_config, service, with_client
from simulation.virtualloop import in_no_time

from reconciler.errors import InDoubt, Malformed, ServiceError, Throttled, Unavailable
from reconciler.messaging.client import ServiceClient
from reconciler.messaging.values import Message
from reconciler.sandbox.app import running_sandbox
from reconciler.sandbox.faults import FAULTS, FaultRule
from reconciler.service.paging import Query, Rows, gather_pages

people = 50


class Seen(NamedTuple):
    """What came of one call, and what the sandbox then had."""

    error: ServiceError | None
    value: Any
    contacts: int
    posts: int


Form = Literal["json", "xml"]
FORMS = pytest.mark.parametrize("form", ["json", "xml"])


def seen(
    rule: FaultRule, work: Callable[[ServiceClient], Coroutine[Any, Any, object]], *, form: Form = "json"
) -> Seen:
    """One call to a sandbox with 50 contacts in which this fault is armed; it is disarmed before counting.

    Latency is played within this process, where nobody really waits for it.
    """

    async def main(client: ServiceClient) -> tuple[ServiceError | None, Any, int]:
        try:
            return None, await work(client), client.calls["POST"]
        except ServiceError as error:
            return error, None, client.calls["POST"]

    if rule.fault == "latency":
        return _in_process(rule, main, form)
    with running_sandbox(sandbox_config(contacts=people, faults=(rule,))) as base:
        settings = structs.replace(service(base), format=form)
        error, value, posts = with_client(None, main, clock=Clock(), settings=settings)
        known = sandbox_config()
        httpx2.delete(f"{base}/_sandbox/faults", auth=(known.username, known.password))
        there = with_client(None, lambda client: client.contacts.list(), settings=settings)
        return Seen(error, value, len(there), posts)


def _in_process(
    rule: FaultRule,
    main: Callable[[ServiceClient], Coroutine[Any, Any, tuple[ServiceError | None, Any, int]]],
    form: Form,
) -> Seen:
    wire = sandbox(contacts=people, faults=(rule,))
    settings = structs.replace(service(), format=form)
    error, value, posts = with_client(wire, main, settings=settings)

    async def disarm() -> None:
        known = sandbox_config()
        control = (known.username, known.password)
        async with httpx2.AsyncClient(transport=wire, base_url=BASE, auth=control) as client:
            await client.delete("/_sandbox/faults")

    in_no_time(disarm())
    there = with_client(wire, lambda client: client.contacts.list(), settings=settings)
    return Seen(error, value, len(there), posts)


def everybody(client: ServiceClient) -> Coroutine[Any, Any, Rows]:
    return client.contacts.list(Query(sort="firstName"))


def jane(client: ServiceClient) -> Coroutine[Any, Any, object]:
    return client.contacts.create(JANE)


# A fault on every GET -> what a list of contacts ends with.
LISTS: dict[str, tuple[dict[str, Any], type[ServiceError]]] = {
    "latency": ({"seconds": 3600}, Unavailable),
    "drop-before": ({}, Unavailable),
    "drop-after": ({}, Unavailable),
    "land-late": ({}, Unavailable),
    "truncate": ({}, Unavailable),
    "malformed": ({}, Malformed),
    "html": ({}, Malformed),
    "empty-page": ({}, Malformed),
    "refused-before": ({"status": 500}, Unavailable),
    "refused-after": ({"status": 503}, Throttled),
    "repeated-page": ({"nth": 2}, Malformed),
}

# Faults under which a list is still told completely.
HARMLESS = (
    "ignored-filter",
    "ignored-order",
    "wrong-order",
    "wrong-times",
    "short-page",
    "duplicate",
    "normaliser",
    "index-lag",
    "foreign-links",
    "extra-fields",
)


@FORMS
@pytest.mark.parametrize("fault", LISTS)
def test_a_list_under_a_fault_is_a_typed_error_and_never_empty(fault: str, form: Form) -> None:
    options, expected = LISTS[fault]

    result = seen(FaultRule(fault=fault, method="GET", **{"times": None, **options}), everybody, form=form)

    assert (type(result.error), result.value, result.contacts) == (expected, None, people)


@FORMS
@pytest.mark.parametrize("fault", HARMLESS)
def test_a_list_under_a_harmless_fault_is_whole(fault: str, form: Form) -> None:
    """Short pages are filled up, links are hints, unknown fields are kept."""
    result = seen(FaultRule(fault=fault, times=None, field="firstName"), everybody, form=form)

    assert result.error is None
    assert (len(result.value), result.value.complete) == (people, True)


def test_every_fault_stands_in_one_of_the_two_tables_of_lists() -> None:
    assert sorted([*LISTS, *HARMLESS]) == sorted(FAULTS)


def test_an_end_in_the_middle_of_a_list_makes_it_incomplete() -> None:
    """The documented words at the wrong time: rows are missing, and the walk says so."""

    async def work(client: ServiceClient) -> Rows:
        return await gather_pages(client.contacts.pages())

    result = seen(FaultRule(fault="empty-page", method="GET", nth=2, times=None, words=True), work)

    assert (len(result.value), result.value.complete) == (20, False)


def test_an_ignored_filter_finds_everybody_and_not_nobody() -> None:
    """So that every row is compared again by whoever searched."""
    result = seen(
        FaultRule(fault="ignored-filter", times=None),
        lambda client: client.contacts.search(Query({"lastName": "Zulu"})),
    )

    assert len(result.value) == people


# A fault on a create -> the error, and how many contacts there are more.
CREATES: dict[str, tuple[dict[str, Any], type[ServiceError] | None, int]] = {
    "latency": ({"seconds": 3600}, InDoubt, 0),  # done when nobody waits any more
    "drop-before": ({}, InDoubt, 0),
    "drop-after": ({}, InDoubt, 1),
    "refused-before": ({"status": 429}, Throttled, 0),
    "refused-after": ({"status": 502}, InDoubt, 1),
    "land-late": ({"seconds": 3600}, InDoubt, 0),
    "truncate": ({}, InDoubt, 1),
    "malformed": ({}, InDoubt, 1),
    "html": ({}, InDoubt, 1),
    "duplicate": ({}, None, 2),
    "normaliser": ({"field": "lastName"}, None, 1),
    "index-lag": ({"seconds": 3600}, None, 0),
    "foreign-links": ({}, None, 1),
    "wrong-times": ({}, None, 1),
    "extra-fields": ({}, None, 1),
}


@FORMS
@pytest.mark.parametrize("fault", CREATES)
def test_a_create_under_a_fault_is_in_doubt_or_done_and_sent_once(fault: str, form: Form) -> None:
    """Sent again it would be there twice; only a service that does things twice by itself makes two."""
    options, expected, more = CREATES[fault]

    result = seen(FaultRule(fault=fault, method="POST", **options), jane, form=form)

    found = None if result.error is None else type(result.error)
    assert (found, result.contacts - people, result.posts) == (expected, more, 1)


def test_every_fault_stands_in_the_table_of_creates_or_is_one_of_lists() -> None:
    of_lists = {"ignored-filter", "ignored-order", "wrong-order", "short-page", "repeated-page", "empty-page"}
    assert set(FAULTS) - set(CREATES) == of_lists


def test_a_new_contact_that_lists_do_not_show_is_found_by_its_id() -> None:
    """A search right after a write proves nothing about absence."""

    async def work(client: ServiceClient) -> tuple[str, int]:
        made = await client.contacts.create(JANE)
        again = await client.contacts.get(made.remote_id)
        listed = await client.contacts.search(Query({"workEmailAddress1": JANE["workEmailAddress1"]}))
        return str(again.body["firstName"]), len(listed)

    assert seen(FaultRule(fault="index-lag", method="POST", seconds=3600), work).value == ("Jane", 0)


def test_links_to_another_host_are_not_followed() -> None:
    """Everything is asked of the address in the settings; the id is taken from the path of the link."""

    async def work(client: ServiceClient) -> str:
        made = await client.contacts.create(JANE)
        await client.contacts.replace(made.remote_id, {**JANE, "title": "Dr"})
        return str((await client.contacts.get(made.remote_id)).body["title"])

    assert seen(FaultRule(fault="foreign-links", times=None), work).value == "Dr"


def test_what_the_service_normalised_is_seen_in_the_answer() -> None:
    """A difference between what was sent and what is there must be visible to whoever compares."""

    async def work(client: ServiceClient) -> object:
        return (await client.contacts.create(JANE)).body["lastName"]

    assert seen(FaultRule(fault="normaliser", field="lastName"), work).value == "DOE"


# A fault on sending a message -> the error, and how many messages there are afterwards.
SENDS: dict[str, tuple[type[ServiceError] | None, int]] = {
    "drop-before": (InDoubt, 0),
    "drop-after": (InDoubt, 1),
    "refused-before": (InDoubt, 0),
    "refused-after": (InDoubt, 1),
    "land-late": (InDoubt, 0),
    "truncate": (InDoubt, 1),
    "html": (InDoubt, 1),
    "malformed": (InDoubt, 1),
    "duplicate": (None, 2),
    "foreign-links": (None, 1),
    "extra-fields": (None, 1),
}


@FORMS
@pytest.mark.parametrize("fault", SENDS)
def test_a_message_under_a_fault_is_sent_once_and_never_again(fault: str, form: Form) -> None:
    """An SMS cannot be taken back: whatever happens, one request leaves us."""
    expected, there = SENDS[fault]

    async def work(client: ServiceClient) -> object:
        return await client.messages.send(Message(("+61491570156",), "Maintenance"))

    async def count(client: ServiceClient) -> int:
        found: type[ServiceError] | None = None
        try:
            await work(client)
        except ServiceError as error:
            found = type(error)
        assert found is expected
        assert client.calls["POST"] == 1
        return len(await client.messages.list())

    rule = FaultRule(fault=fault, method="POST", path="/messages", seconds=3600)
    assert seen(rule, count, form=form).value == there
