"""Claims about the client against the sandbox: every call of every kind, in both kinds of workspace."""

import asyncio
from typing import Any, get_args

import httpx2
import pytest
from msgspec import structs
from service.support import (
    BASE,
    CALLS,
    ID,
    KEY,
    PASSWORD,
    USER,
    Wire,
    answer,
    app_wire,
    contact,
    failure,
    listing,
    sandbox,
    sandbox_config,
    service,
    with_client,
)

from reconciler.errors import InDoubt, NotFound, Rejected, SettingsError, Unauthorized
from reconciler.messaging.client import ServiceClient, open_service_client
from reconciler.model.plans import Workspace
from reconciler.model.profile import Capabilities
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth, Limits, SendKey, Service
from reconciler.sandbox.app import create_app, running_sandbox
from reconciler.service.entities import Collection, ReadCollection
from reconciler.service.http.limiter import Timing
from reconciler.service.paging import Done, Query
from reconciler.service.profile import load_profile, parse_profile

OPS = "4C8FE1A2B3D4E5F6"
WORKSPACES = (("Operations", OPS), ("Night", "AB12"))
JANE = {
    "firstName": "Jane",
    "lastName": "Doe",
    "workMobilePhone1": "+61491570156",
    "workEmailAddress1": "jane.doe@example.com",
    "workCountry": "Australia",
    "timezone": "Australia/Melbourne",
    "customFields": [{"fieldName": "Employee", "fieldValue": "1042", "searchKey": "custom_employeeId"}],
}
PHONE = {
    "deviceName": "Jane's phone",
    "appId": "com.example.oncall",
    "platform": "GCM",
    "deviceOS": "Android",
    "deviceModel": "Pixel 9",
    "status": "Active",
    "pushToken": "invented",
}
STAFF = {"name": "staff.csv", "scope": "private", "mimeType": "text/csv", "derefUri": "YSxiCjEsMgo="}


@pytest.mark.parametrize("workspace", ["", OPS])
def test_a_contact_is_created_found_changed_and_deleted(workspace: str) -> None:
    async def work(client: ServiceClient) -> None:
        made = await client.contacts.create(JANE, workspace=workspace)
        assert made.body["mri"]
        assert made.date.endswith("Z")

        [row] = await client.contacts.search(Query({"workEmailAddress1": "jane.doe@"}), workspace=workspace)
        assert row.remote_id == made.remote_id

        body = (await client.contacts.get(made.remote_id, workspace=workspace)).body
        assert body["customFields"][0]["fieldValue"] == "1042"

        await client.contacts.replace(made.remote_id, {**JANE, "jobTitle": "Engineer"}, workspace=workspace)
        assert (await client.contacts.get(made.remote_id, workspace=workspace)).body["jobTitle"] == "Engineer"

        await client.contacts.delete(made.remote_id, workspace=workspace)
        with pytest.raises(NotFound):
            await client.contacts.get(made.remote_id, workspace=workspace)
        assert await client.contacts.list(workspace=workspace) == ()

    with_client(sandbox(workspaces=WORKSPACES), work)


@pytest.mark.parametrize("workspace", ["", OPS])
def test_a_device_is_created_listed_changed_and_deleted(workspace: str) -> None:
    async def work(client: ServiceClient) -> None:
        owner = (await client.contacts.create(JANE, workspace=workspace)).remote_id
        under = {"workspace": workspace, "parent": owner}
        assert await client.devices.list(workspace=workspace, parent=owner) == ()

        made = await client.devices.create(PHONE, **under)
        [row] = await client.devices.list(workspace=workspace, parent=owner)
        assert (row.remote_id, row.body["pushToken"]) == (made.remote_id, "invented")
        assert (await client.devices.get(made.remote_id, **under)).body["deviceModel"] == "Pixel 9"

        await client.devices.replace(made.remote_id, {**PHONE, "deviceModel": "Pixel 10"}, **under)
        assert (await client.devices.get(made.remote_id, **under)).body["deviceModel"] == "Pixel 10"

        await client.devices.delete(made.remote_id, **under)
        with pytest.raises(NotFound):
            await client.devices.get(made.remote_id, **under)

    with_client(sandbox(workspaces=WORKSPACES), work)


@pytest.mark.parametrize("workspace", ["", OPS])
@pytest.mark.parametrize("id_in_get", [True, False])
def test_a_resource_is_created_listed_changed_and_deleted(workspace: str, *, id_in_get: bool) -> None:
    """List rows have no id where the specification is followed: it is read from the row's own link."""

    async def work(client: ServiceClient) -> None:
        made = await client.resources.create(STAFF, workspace=workspace)
        [row] = await client.resources.list(workspace=workspace)
        assert row.remote_id == made.remote_id
        assert [
            r.remote_id for r in await client.resources.search(Query({"name": "staff"}), workspace=workspace)
        ] == [made.remote_id]

        await client.resources.replace(made.remote_id, {**STAFF, "name": "people.csv"}, workspace=workspace)
        assert (await client.resources.get(made.remote_id, workspace=workspace)).body["name"] == "people.csv"

        await client.resources.delete(made.remote_id, workspace=workspace)
        assert await client.resources.list(workspace=workspace) == ()

    with_client(sandbox(workspaces=WORKSPACES, id_in_get=id_in_get), work)


def test_workspaces_are_listed_with_their_ids_and_names() -> None:
    found = with_client(sandbox(workspaces=WORKSPACES), lambda client: client.workspaces.list())

    assert sorted(found) == sorted([Workspace("", OPS, "Operations"), Workspace("", "AB12", "Night")])


def test_an_account_without_workspaces_has_none() -> None:
    assert with_client(sandbox(), lambda client: client.workspaces.list()) == ()


def test_workspaces_that_are_paged_all_the_same_are_all_read() -> None:
    """The specification says that they are not; newer pages of the service say that they are."""

    def pages(request: httpx2.Request) -> httpx2.Response:
        offset = int(request.url.params.get("offset", "0"))
        rows = [{"id": f"W{n}", "projectName": f"n{n}"} for n in range(offset, min(offset + 20, 45))]
        status = f"{offset + 1} to {offset + len(rows)} of 45"
        return answer(200, {"workspaces": rows, "status": status, "link": []})

    assert len(with_client(app_wire(pages), lambda client: client.workspaces.list())) == 45


def test_workspaces_without_a_count_are_one_answer() -> None:
    wire = Wire(answer(200, {"workspaces": [{"id": "W1"}], "status": "", "link": []}))

    assert with_client(wire, lambda client: client.workspaces.list()) == (Workspace("", "W1", ""),)
    assert len(wire.sent) == 1


def test_an_unknown_workspace_is_not_found() -> None:
    error = failure(sandbox(), lambda client: client.contacts.list(workspace="FFFF"))

    assert type(error) is NotFound


@pytest.mark.parametrize(
    ("username", "password", "key", "word"),
    [
        ("nobody", PASSWORD, KEY, "service.auth.username"),
        (USER, "wrong", KEY, "service.auth.password"),
        (USER, PASSWORD, "wrong", "service.auth.api_key"),
    ],
)
@pytest.mark.parametrize("method", CALLS)
def test_wrong_credentials_say_which_settings_to_check(
    method: str, username: str, password: str, key: str, word: str
) -> None:
    auth = Auth(Secret(username), Secret(password), Secret(key))

    error = failure(sandbox(), CALLS[method], settings=Service(base_url=BASE, auth=auth))

    assert type(error) is Unauthorized
    assert word in error.next


@pytest.mark.parametrize("send_key", get_args(SendKey))
def test_the_sandbox_accepts_the_key_in_either_place_and_in_both(send_key: SendKey) -> None:
    rows = with_client(
        sandbox(contacts=3), lambda client: client.contacts.list(), settings=service(send_key=send_key)
    )

    assert len(rows) == 3


def test_filters_fields_custom_and_order_reach_the_query_as_the_service_names_them() -> None:
    wire = Wire(answer(200, {"status": "No records found"}))
    filters = {
        "workEmailAddress1": "a+b@example.com",
        "custom.employeeId": "10 42",
        "custom_x": "1",
        "lastName": "&=",
    }

    async def work(client: ServiceClient) -> None:
        await client.contacts.page(Query(filters, ("mri", "jobTitle"), sort="-lastName"), offset=40)
        await client.contacts.page(Query(custom=False, sort="lastName,custom.employeeId"), limit=5)
        await client.resources.page(Query({"name": "x"}))

    with_client(wire, work)

    asked = [dict(request.url.params.multi_items()) for request in wire.sent]
    assert set(asked[0].pop("fields").split(",")) == {
        "mri",
        "jobTitle",
    }  # in any order: no cache knows the address
    assert asked == [
        {
            "limit": "20",
            "offset": "40",
            "workEmailAddressPrimary": "a+b@example.com",
            "custom_employeeId": "10 42",
            "custom_x": "1",
            "lastName": "&=",
            "customFields": "true",
            "sortFields": "lastName",
            "sortOrder": "desc",
        },
        {"limit": "5", "offset": "0", "sortFields": "lastName,custom_employeeId", "sortOrder": "asc"},
        {"limit": "20", "offset": "0", "name": "x"},
    ]


@pytest.mark.parametrize(
    "name", ["limit", "OFFSET", "apikey", "fields", "customFields", "sortFields", "", "a\nb"]
)
def test_a_filter_cannot_be_a_parameter_of_the_list_itself(name: str) -> None:
    """Identity fields come from the settings: `limit` there would cut every lookup short."""
    wire = Wire(answer(200, {"status": "No records found"}))

    with pytest.raises(SettingsError, match="no field that can be searched"):
        with_client(wire, lambda client: client.contacts.search(Query({name: "1"})))

    assert wire.sent == []


def test_contacts_are_always_read_with_their_custom_fields() -> None:
    """Absent is removed: a PUT of a body that was read without them would wipe them."""
    wire = Wire(answer(200, contact(ID)))

    with_client(wire, lambda client: client.contacts.get(ID))

    assert wire.sent[0].url.params["customFields"] == "true"


@pytest.mark.parametrize("status", [200, 201])
def test_a_create_is_accepted_with_200_and_201(status: int) -> None:
    made = with_client(Wire(answer(status, location=f"/contacts/{ID}")), CALLS["POST"])

    assert (getattr(made, "remote_id", ""), getattr(made, "body", None)) == (ID, {})


def test_an_answer_that_names_two_ids_names_none() -> None:
    """Which of the two was made is not known, so neither is recorded as ours."""
    with pytest.raises(InDoubt, match="name two ids"):
        with_client(Wire(answer(201, {"id": "OTHER"}, location=f"/contacts/{ID}")), CALLS["POST"])


@pytest.mark.parametrize(
    ("location", "body"),
    [
        (f"https://elsewhere.test/workspaces/W/contacts/{ID}?apikey=x", {}),
        ("", contact(ID)),
        ("", {"id": ID, "firstName": "Jane"}),
        ("", {"link": [{"rel": "self", "uri": f"https://elsewhere.test/contacts/{ID}"}]}),
        ("", {"link": {"rel": "self", "uri": f"/contacts/{ID}"}}),
        ("/somewhere/else", {"id": ID}),
    ],
)
def test_the_new_id_comes_from_the_location_else_from_the_body(location: str, body: dict[str, Any]) -> None:
    made = with_client(Wire(answer(201, body, location=location)), CALLS["POST"])

    assert getattr(made, "remote_id", "") == ID


@pytest.mark.parametrize("status", [200, 202, 204])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_change_tells_whether_it_is_done_or_only_accepted(method: str, status: int) -> None:
    assert with_client(Wire(answer(status)), CALLS[method]) == Done(status)
    assert Done(status).accepted is (status == 202)


def test_a_replace_may_answer_with_the_entity() -> None:
    """One source says 204 for resources, another 200 with the representation."""
    assert with_client(Wire(answer(200, contact(ID))), CALLS["PUT"]) == Done(200)


def test_a_refused_change_is_rejected_in_the_services_words() -> None:
    async def work(client: ServiceClient) -> None:
        owner = (await client.contacts.create(JANE)).remote_id
        made = await client.devices.create(PHONE, parent=owner)
        await client.devices.replace(made.remote_id, {"deviceName": "half"}, parent=owner)

    error = failure(sandbox(), work)

    assert type(error) is Rejected
    assert error.status == 422
    assert "appId" in str(error)


def test_the_counter_counts_what_the_service_counts() -> None:
    app = create_app(sandbox_config(contacts=45))

    async def work(client: ServiceClient) -> dict[str, int]:
        await client.contacts.list()
        made = await client.contacts.create(JANE)
        await client.contacts.delete(made.remote_id)
        return dict(client.calls)

    counted = with_client(httpx2.ASGITransport(app=app), work)

    assert counted == {"GET": 3, "POST": 1, "DELETE": 1}


def test_the_whole_client_works_over_loopback() -> None:
    async def work(base_url: str) -> tuple[int, int]:
        async with open_service_client(service(base_url), timing=Timing.real()) as client:
            rows = await client.contacts.list()
            made = await client.contacts.create(JANE)
            await client.contacts.replace(made.remote_id, JANE)
            await client.contacts.delete(made.remote_id)
            return len(rows), sum(client.calls.values())

    with running_sandbox(sandbox_config(contacts=101)) as base_url:
        assert asyncio.run(work(base_url)) == (101, 9)


def test_many_creates_at_once_make_each_exactly_once() -> None:
    async def work(client: ServiceClient) -> int:
        people = ({**JANE, "workEmailAddress1": f"p{n}@example.com"} for n in range(200))
        made = await asyncio.gather(*(client.contacts.create(person) for person in people))
        rows = await client.contacts.list()
        assert {one.remote_id for one in made} == {row.remote_id for row in rows}
        return len(rows)

    assert with_client(sandbox(), work) == 200


def test_every_kind_is_reached_by_its_name() -> None:
    async def work(client: ServiceClient) -> None:
        await asyncio.sleep(0)
        for kind in ("contact", "device", "resource"):
            found = client[kind]
            assert (found.kind.name, type(found)) == (kind, Collection)
            assert isinstance(found, ReadCollection)

    with_client(sandbox(), work)


@pytest.mark.parametrize("plural", ["contacts", "devices"])
def test_a_deployment_without_a_write_is_never_sent_one(plural: str) -> None:
    """These writes are in no specification: a profile can switch them off. Replacing a device is in it."""
    wire = Wire(answer(204))
    switched = {"contacts_write": plural != "contacts", "devices_write": plural != "devices"}
    profile = structs.replace(load_profile("service"), capabilities=Capabilities(**switched))

    async def work(client: ServiceClient) -> None:
        collection = getattr(client, plural)
        collection._profile = profile
        writes = {"create": collection.create({}, parent=ID), "delete": collection.delete(ID, parent=ID)}
        if plural == "contacts":
            writes["update"] = collection.replace(ID, {})
        for action, write in writes.items():
            with pytest.raises(SettingsError, match=f"does not {action} {plural}"):
                await write
        assert wire.sent == []
        if plural == "devices":
            await collection.replace(ID, {}, parent=ID)

    with_client(wire, work)

    assert wire.methods == (["PUT"] if plural == "devices" else [])


def test_an_unknown_profile_lists_the_known_ones() -> None:
    settings = Service(base_url=BASE, auth=service().auth, profile="../secrets")

    with pytest.raises(SettingsError, match=r"service\.profile '\.\./secrets' is not known") as raised:
        with_client(Wire(answer(204)), CALLS["GET"], settings=settings)

    assert raised.value.next == "use one of: service, whispir; or the path of a file that ends in .yaml."


def test_the_shipped_profile_is_the_specifications() -> None:
    profile = load_profile("service")

    assert (profile.vendor, profile.page_max) == ("service", 20)
    assert profile.missing == frozenset()


def test_a_profile_with_an_unknown_key_is_refused() -> None:
    """A misspelt capability would be a write that nobody allowed."""
    lists = "next_relations: [], previous_relations: [], search_names: {}, unpaged: []"
    capabilities = "{contacts_write: true, devices_write: true, contact_write: true}"
    text = f"{{vendor: v, page_max: 20, {lists}, capabilities: {capabilities}}}"
    with pytest.raises(SettingsError, match="unknown field"):
        parse_profile(text.encode(), "ours.yaml")


def test_a_doubtful_create_may_have_been_carried_out() -> None:
    """The sandbox makes the contact and the answer is lost: one contact, one request, one doubt."""
    app = httpx2.ASGITransport(app=create_app(sandbox_config()))

    async def lose(request: httpx2.Request) -> httpx2.Response:
        found = await app.handle_async_request(request)
        if request.method == "POST":
            raise httpx2.ReadError("reset", request=request)
        return found

    async def work(client: ServiceClient) -> int:
        with pytest.raises(InDoubt):
            await client.contacts.create(JANE)
        return len(await client.contacts.list())

    assert with_client(Wire(lose), work) == 1


def test_a_page_tells_total_and_end() -> None:
    async def work(client: ServiceClient) -> list[tuple[int, int | None, bool, bool]]:
        pages = [await client.contacts.page(offset=offset) for offset in (0, 20, 40)]
        return [(len(page.rows), page.total, page.last, page.more) for page in pages]

    assert with_client(sandbox(contacts=41), work) == [
        (20, 41, False, True),
        (20, 41, False, True),
        (1, 41, True, False),
    ]


def test_limits_of_the_settings_are_kept() -> None:
    """Twenty a second: the fourth request leaves three twentieths after the first."""
    begins: list[float] = []

    async def note(_request: httpx2.Request) -> httpx2.Response:
        begins.append(asyncio.get_running_loop().time())
        return answer(200, contact(ID))

    async def work(client: ServiceClient) -> None:
        await asyncio.gather(*(client.contacts.get(ID) for _ in range(4)))

    settings = Service(base_url=BASE, auth=service().auth, limits=Limits(requests_per_second=20))
    with_client(Wire(note), work, settings=settings)

    assert begins == pytest.approx([0, 1 / 20, 2 / 20, 3 / 20])


def test_rows_are_listed_as_they_came() -> None:
    rows = [contact("B"), contact("A"), contact("C")]
    found = with_client(
        Wire(answer(200, listing(rows, "1 to 3 of 3"))), lambda client: client.contacts.list()
    )

    assert [row.remote_id for row in found] == ["B", "A", "C"]
    assert (found.total, found.complete) == (3, True)
