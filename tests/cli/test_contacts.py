"""contacts search, as processes against a sandbox, and in process against services that answer otherwise."""

import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from cli.hands import Project, Service
from cli.listener import done
from service.support import END, answer, app_wire, contact, listing, with_client

from reconciler.messaging.client import ServiceClient
from reconciler.messaging.contact_search import find_contacts
from reconciler.messaging.values import ContactQuery, ContactsFound
from reconciler.sandbox.app import SandboxConfig, running_sandbox

SHOWN = ("username", "firstName", "lastName")


def person(service: Service, first: str, **fields: Any) -> str:
    """The id of a contact that somebody made by hand."""
    made = service.call("POST", "/contacts", {"firstName": first, "lastName": "Doe", **fields})
    uri: str = made["link"][0]["uri"]
    return uri.rpartition("/")[2]


def found(project: Project, service: Service, *arguments: str) -> list[dict[str, Any]]:
    """Who is found, as JSON."""
    rows: list[dict[str, Any]] = done(project, service, "contacts", "search", *arguments)["contacts"]
    return rows


def test_a_contact_is_found_by_any_field_and_shown_without_numbers(
    project: Project, service: Service
) -> None:
    """Personal data is shown where it was asked for, and nowhere else; nothing is written."""
    custom = [{"fieldName": "Badge", "fieldValue": "4711", "searchKey": "custom_badge"}]
    fields = {
        "username": "jane",
        "password": "canary-1",
        "workMobilePhone1": "+61491570156",
        "jobTitle": "Nurse",
    }
    jane = person(service, "Jane", **fields, customFields=custom)
    person(service, "Kim", jobTitle="Driver")
    before = service.writes()

    by_title = project.run(service, "contacts", "search", "jobTitle=nurse")
    by_number = found(project, service, "workMobilePhone1=570156", "--field", "workMobilePhone1")
    by_custom = found(project, service, "custom.badge=471", "--field", "custom.badge")

    assert (by_title.returncode, by_title.stderr) == (0, "")
    assert by_title.stdout.splitlines() == [
        f"{'contact':{len(jane)}}  address  username  firstName  lastName",
        f"{jane}  -        jane      Jane       Doe",
        "1 contact",
    ]
    names = {"username": "jane", "firstName": "Jane", "lastName": "Doe"}
    row = {"contact_id": jane, "address": None}
    assert by_number == [{**row, "fields": {**names, "workMobilePhone1": "+61491570156"}}]
    assert by_custom == [{**row, "fields": {**names, "custom.badge": "4711"}}]
    assert service.writes() == before


def test_a_contact_of_ours_is_shown_with_its_address(project: Project, service: Service) -> None:
    """What the manifest calls somebody is how every other command names them."""
    assert project.run(service, "apply", "--yes").returncode == 0
    person(service, "Kim")

    rows = found(project, service, "--sort", "firstName", "--order", "desc")

    assert [(one["fields"]["firstName"], one["address"]) for one in rows] == [
        ("Sam", "contact/default/sam-lee"),
        ("Kim", None),
        ("Jane", "contact/default/jane-doe"),
        ("Ada", "contact/default/ada-king"),
    ]


def test_a_store_that_cannot_be_read_costs_the_addresses_alone(project: Project, service: Service) -> None:
    """Somebody is looked for at night; what the service says is shown, and what is missing is said."""
    person(service, "Jane")
    (project.folder / ".reconciler").mkdir(mode=0o700, exist_ok=True)
    (project.folder / ".reconciler" / "store.db").write_bytes(b"no database at all" * 100)

    ended = project.run(service, "contacts", "search", "--format", "json")

    assert [one["fields"]["firstName"] for one in json.loads(ended.stdout)["contacts"]] == ["Jane"]
    assert ended.returncode == 0
    assert ended.stderr.startswith("addresses are not shown: ")
    assert "  next: " in ended.stderr


def test_nobody_found_is_said_and_is_no_failure(project: Project, service: Service) -> None:
    ended = project.run(service, "contacts", "search", "lastName=Nobody")

    assert (ended.returncode, ended.stdout) == (0, "no contact of workspace default matches\n")
    assert found(project, service, "custom.nowhere=x") == []


def test_all_pages_are_read_up_to_the_limit(project: Project) -> None:
    """55 contacts are three pages; a search that ends at its limit says so, and reads no page too many."""
    with running_sandbox(SandboxConfig(contacts=55)) as address:
        service = Service(address)
        everybody = done(project, service, "contacts", "search")
        some = done(project, service, "contacts", "search", "--limit", "25")
        shown = project.run(service, "contacts", "search", "--limit", "20")
        asked = [path for _, path in service.requests() if path == "/contacts"]

    assert (len(everybody["contacts"]), everybody["more"]) == (55, False)
    assert (some["contacts"], some["more"]) == (everybody["contacts"][:25], True)
    assert shown.stdout.splitlines()[-1] == "20 contacts; there may be more: raise --limit"
    assert len(asked) == 3 + 2 + 1


WRONG: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no text": (("lastName",), 64, "filter 1 is not FIELD=TEXT"),
    "an empty text": (("lastName=Doe", "firstName="), 64, "filter 2 is not FIELD=TEXT"),
    "a field twice": (("lastName=a", "lastName=canary"), 64, "repeats a field"),
    "an unknown field": (("lastNam=canary",), 3, "did you mean lastName?"),
    "a secret": (("password=canary",), 3, "password is never shown"),
    "a secret to show": (("--field", "secretAnswer"), 3, "secretAnswer is never shown"),
    "an unknown order": (("--sort", "lastNam"), 3, "did you mean lastName?"),
    "an order of nothing": (("--order", "desc"), 64, "--order needs --sort"),
    "no limit": (("--limit", "0"), 64, "--limit"),
    "an unknown workspace": (("--workspace", "opz"), 3, "opz"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_searched_is_refused_unasked(case: str, project: Project, service: Service) -> None:
    """Nothing is asked of the service, and no text is repeated."""
    arguments, code, words = WRONG[case]

    ended = project.run(service, "contacts", "search", *arguments)

    assert (ended.returncode, ended.stdout) == (code, "")
    assert words in ended.stderr
    assert "  next: " in ended.stderr
    assert "canary" not in ended.stderr
    assert service.requests() == []


def searched(wire: httpx2.AsyncBaseTransport, limit: int = 100, **filters: str) -> ContactsFound:
    """Who is found on this wire."""

    async def work(client: ServiceClient) -> ContactsFound:
        return await find_contacts(
            client.contacts, ContactQuery(filters, SHOWN, (), limit=limit), workspace=""
        )

    return with_client(wire, work)


def serving(
    people: Mapping[str, dict[str, Any]], *, brief: bool, shown: int = 20
) -> httpx2.AsyncBaseTransport:
    """A service that ignores every filter; with `brief` it ignores `fields=` too."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        name = request.url.path.removeprefix("/contacts").strip("/")
        if name:
            return answer(200, contact(name, mri=f"{name}@x", **people[name]))
        offset = int(request.url.params["offset"])
        names = list(people)[offset : offset + shown]
        rows = [contact(one) if brief else contact(one, mri=f"{one}@x", **people[one]) for one in names]
        return (
            answer(200, listing(rows, f"{offset + 1} to {offset + len(rows)} of {len(people)}"))
            if rows
            else answer(200, END)
        )

    return app_wire(handle)


@pytest.mark.parametrize("brief", [False, True])
def test_a_service_that_ignores_the_filter_shows_nobody_else(brief: bool) -> None:  # noqa: FBT001 - a column of the table
    """An ignored filter answers everybody: each is compared here, read alone where the list is brief."""
    people = {f"A{number}": {"jobTitle": "Nurse" if number % 9 == 0 else "Driver"} for number in range(45)}

    hit = searched(serving(people, brief=brief), jobTitle="nurse")

    assert [one.contact_id for one in hit.contacts] == ["A0", "A9", "A18", "A27", "A36"]
    assert (hit.more, hit.trouble) == (False, "")


def test_a_list_that_does_not_add_up_is_read_again_and_then_told() -> None:
    """Somebody may be missing; the answer says so."""
    asked = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.params["offset"])
        if request.url.params["offset"] == "0":
            return answer(200, listing([contact("A1", mri="a@x")], "1 to 1 of 2"))
        return answer(200, END)

    hit = searched(app_wire(handle))

    assert [one.contact_id for one in hit.contacts] == ["A1"]
    assert "counts 2 rows and showed 1" in hit.trouble
    assert asked == ["0", "1", "0", "1"]
