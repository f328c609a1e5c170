"""Requests of the specification that no other test names: each address, each parameter, each header."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import msgspec
import pytest
from sandbox.asking import JANE, PIXEL, Sandbox, last_segment, named, origin, resource_body, vendor_type
from sandbox.receiving import callback_body, delivered, message_body, receiving, replied, sent
from service.support import Wire, answer, service, with_client

from reconciler.messaging.replies import parse_reply
from reconciler.sandbox.app import running_sandbox
from reconciler.sandbox.config import SandboxConfig

within = f"/workspaces/{named}"
ROOT = Path(__file__).parents[2]
MANIFEST = msgspec.json.decode((ROOT / "schemas" / "manifest.schema.json").read_bytes())
FIELDS = sorted(
    name
    for name, field in MANIFEST["$defs"]["contact"]["properties"].items()
    if field.get("$ref") == "#/$defs/text"
    and not field.get("writeOnly")
    # The first is shown as an offset; of the second no source says that it is a field (docs/service.md).
    and name not in ("timezone", "personalMobilePhone1")
)
"""The fields of a contact that come back as they were written."""


def town() -> Sandbox:
    """A sandbox with a named workspace beside the default one."""
    return Sandbox(workspaces=(("Night Shift", named),))


@pytest.mark.spec("0/base")
def test_every_address_in_an_answer_begins_with_the_base_address() -> None:
    """The base is whatever address the sandbox is reached under."""
    with running_sandbox(SandboxConfig(contacts=2)) as base, httpx2.Client() as client:
        headers = {"authorization": "Basic ZGVtbzpkZW1v", "x-api-key": "demo-key"}
        types = {"content-type": vendor_type("contact")}
        made = client.post(f"{base}/contacts", json=JANE, headers={**headers, **types})
        assert made.headers["location"].startswith(f"{base}/contacts/")
        root = client.get(f"{base}/", headers=headers)
        page = client.get(f"{base}/contacts?limit=1", headers=headers)
        contact = client.get(made.headers["location"], headers=headers)

        assert contact.json()["firstName"] == "Jane"
        for answer in (made, root, page, contact):
            links = [link for found in every_link(answer.json()) for link in found]
            assert links
            assert all(link["uri"].startswith(f"{base}/") for link in links)


def every_link(document: dict[str, Any]) -> list[list[dict[str, str]]]:
    """The links of a document, and those of its rows."""
    return [document["link"], *(row["link"] for row in document.get("contacts", []))]


@pytest.mark.spec("0/workspace-prefix", "4.2/get-workspace", "4.2/rule-1", "4.2/rule-2")
@pytest.mark.parametrize("path", ["/contacts", "/resources", "/messages"])
def test_a_path_within_a_workspace_sees_that_workspace_alone(path: str) -> None:
    """And one without sees the default workspace alone; no address sees both."""
    bodies = {"/contacts": JANE, "/resources": resource_body(), "/messages": message_body()}
    sandbox = town()

    assert sandbox.post(f"{within}{path}", bodies[path]).status_code in (201, 202)

    key = path.removeprefix("/")
    assert key not in sandbox.get(path).json()
    assert len(sandbox.get(f"{within}{path}").json()[key]) == 1


@pytest.mark.spec("4/workspace-prefix")
def test_each_path_of_the_specification_is_there_within_a_workspace_too() -> None:
    sandbox = town()
    contact = sandbox.created(f"{within}/contacts", JANE)
    device = sandbox.created(f"{contact}/devices", PIXEL)
    resource = sandbox.created(f"{within}/resources", resource_body())
    accepted = sandbox.post(f"{within}/messages", message_body())
    message = accepted.headers["location"].removeprefix(origin)
    lists = [f"{within}/{name}" for name in ("contacts", "resources", "messages")]
    counts = [f"{message}/{name}?view=summary" for name in ("messageresponses", "messagestatus")]

    for path in (contact, device, resource, message, *lists, *counts):
        assert path.startswith(f"{within}/")
        assert sandbox.get(path).status_code == 200
        assert f"{origin}{path.partition('?')[0]}" in sandbox.get(path).text


@pytest.mark.spec("4/media-json", "4/media-xml", "9/form-json", "9/form-xml")
@pytest.mark.parametrize("form", ["json", "xml"])
def test_the_types_of_every_kind_end_in_their_version_and_form(form: str) -> None:
    """Every address, also those that the specification does not show; and nothing but the type is another."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),), callback_check=False)
    paths = {
        "contact": "/contacts",
        "contactdevice": f"{sandbox.created('/contacts', JANE)}/devices",
        "resource": "/resources",
        "message": "/messages",
        "messagestatus": f"/messages/{sent(sandbox)}/messagestatus",
        "messageresponse": f"/messages/{sent(sandbox)}/messageresponses",
        "workspace": "/workspaces",
        "api-callback": "/callbacks",
        "api-call": f"{sandbox.created('/callbacks', callback_body())}/calls",
        "company": "/",
    }

    for kind, path in paths.items():
        asked = f"application/vnd.service.{kind}-v1+{form}"
        answer = sandbox.get(path, headers={"accept": asked})
        assert (answer.status_code, answer.headers["content-type"]) == (200, asked)
        assert answer.text.startswith("{" if form == "json" else "<?xml")


@pytest.mark.spec("1/default-workspace", "1/contacts")
def test_without_a_workspace_in_the_path_the_default_one_is_used() -> None:
    """What is written there is read there."""
    sandbox = town()
    jane = sandbox.created("/contacts", JANE)

    assert jane.startswith("/contacts/")
    assert sandbox.get(jane).json()["firstName"] == "Jane"
    assert sandbox.get(f"{within}{jane}").status_code == 404


@pytest.mark.spec("2.4/gap")
def test_a_message_shows_the_resource_that_it_names() -> None:
    """As every field that the specification does not show."""
    sandbox = Sandbox()
    resource = {"resourceId": last_segment(sandbox.created("/resources", resource_body()))}

    message = sent(sandbox, resource=resource)

    assert sandbox.get(f"/messages/{message}").json()["resource"] == resource


@pytest.mark.spec("4.1/put-workspace", "4.1/success")
def test_a_device_is_updated_within_a_workspace_too() -> None:
    sandbox = town()
    pixel = sandbox.created(f"{sandbox.created(f'{within}/contacts', JANE)}/devices", PIXEL)

    updated = sandbox.put(pixel, {**PIXEL, "pushToken": "token-2"})

    assert pixel.startswith(f"{within}/contacts/")
    assert (updated.status_code, updated.content) == (204, b"")
    assert sandbox.get(pixel).json()["pushToken"] == "token-2"


@pytest.mark.spec(
    "2.1/deviceName.type",
    "2.1/appId.type",
    "2.1/platform.type",
    "2.1/deviceOS.type",
    "2.1/deviceModel.type",
    "2.1/status.type",
    "2.1/pushToken.type",
)
@pytest.mark.parametrize("value", [7, True, ["x"], {"x": "y"}])
@pytest.mark.parametrize("field", sorted(PIXEL))
def test_every_field_of_a_device_is_a_text(field: str, value: object) -> None:
    """Shown as text, and nothing else is taken; nothing moves."""
    sandbox = Sandbox()
    pixel = sandbox.created(f"{sandbox.created('/contacts', JANE)}/devices", PIXEL)
    before = sandbox.get(pixel).json()

    refused = sandbox.put(pixel, {**PIXEL, field: value})

    assert (refused.status_code, field in refused.json()["errorText"]) == (422, True)
    assert sandbox.get(pixel).json() == before
    assert isinstance(before[field], str)


@pytest.mark.spec("2.2/role", "2.2/phone", "2.2/lastName", "2.2/email", "2.2/jobTitle", "4.2/fieldname.type")
@pytest.mark.parametrize(
    "query",
    [
        "role1=captain",
        "workMobilePhone1=61491570156",
        "lastName=Doe",
        "workEmailAddress1=jane.doe@example.com",
        "jobTitle=nurse",
    ],
)
def test_each_searchable_field_finds_its_contact_alone(query: str) -> None:
    """The value is text, compared as text."""
    sandbox = Sandbox()
    sandbox.created("/contacts", {**JANE, "role1": "Captain", "jobTitle": "Nurse"})
    sandbox.created(
        "/contacts", {"firstName": "Zoe", "lastName": "Abbott", "workMobilePhone1": "+447700900001"}
    )

    rows = sandbox.get(f"/contacts?{query}").json()["contacts"]

    assert [row["firstName"] for row in rows] == ["Jane"]


@pytest.mark.spec("4.2/get", "4.2/no-body", "4.4/no-body")
def test_a_read_needs_no_body_and_no_content_type() -> None:
    """Nor does one that came all the same change anything."""
    sandbox = Sandbox(contacts=3)
    message = sent(sandbox)

    for path in ("/contacts", f"/messages/{message}/messageresponses?view=summary"):
        bare = sandbox.get(path, headers={"content-type": ""}, content=b"")
        odd = sandbox.get(path, headers={"content-type": "text/plain"}, content=b"{")

        assert (bare.status_code, odd.status_code) == (200, 200)
        assert bare.json() == odd.json()


@pytest.mark.spec("4.2/apikey", "4.4/apikey", "5/apikey")
@pytest.mark.parametrize("path", ["/contacts", "/messages/{message}/messageresponses?view=summary"])
def test_the_key_may_stand_in_the_query_of_a_search_and_of_a_summary(path: str) -> None:
    sandbox = Sandbox(contacts=3)
    address = path.format(message=sent(sandbox))
    keyed = f"{address}{'&' if '?' in address else '?'}apikey="

    found = [sandbox.get(f"{keyed}{key}", headers={"x-api-key": ""}) for key in ("demo-key", "other")]

    assert [one.status_code for one in found] == [200, 403]
    assert shown(found[0]) == shown(sandbox.get(address))


def shown(answer: httpx2.Response) -> dict[str, object]:
    """The document without its links, which repeat the query."""
    return {name: value for name, value in answer.json().items() if name != "link"}


@pytest.mark.spec("4.2/sortOrder.type", "4.2/sortFields.type")
@pytest.mark.parametrize(("order", "names"), [("asc", ["Ada", "Bo", "Cy"]), ("desc", ["Cy", "Bo", "Ada"])])
def test_two_words_and_commas_say_how_rows_are_sorted(order: str, names: list[str]) -> None:
    sandbox = Sandbox()
    for first, last in (("Cy", "Z"), ("Bo", "A"), ("Ada", "A")):
        sandbox.created("/contacts", {"firstName": first, "lastName": last})

    rows = sandbox.get(f"/contacts?sortFields=lastName,firstName&sortOrder={order}").json()["contacts"]

    assert [row["firstName"] for row in rows] == names
    assert sandbox.get("/contacts?sortOrder=up").status_code == 400


@pytest.mark.spec(
    "4.3/list-workspace",
    "4.3/get-workspace",
    "4.3/create-workspace",
    "4.3/update-workspace",
    "4.3/delete-workspace",
)
def test_all_of_resources_works_within_a_workspace_too() -> None:
    sandbox = town()

    path = sandbox.created(f"{within}/resources", resource_body())
    read = sandbox.get(path)
    listed = sandbox.get(f"{within}/resources").json()["resources"]
    updated = sandbox.put(path, resource_body(name="new.csv"))

    assert path.startswith(f"{within}/resources/")
    assert (read.status_code, read.json()["name"]) == (200, "staff.csv")
    assert listed[0]["link"][0]["uri"] == f"{origin}{path}"
    assert (updated.status_code, sandbox.get(path).json()["name"]) == (204, "new.csv")
    assert sandbox.delete(path).status_code == 204
    assert sandbox.get(path).status_code == 404


@pytest.mark.spec("4.4/messagestatus")
def test_the_status_of_a_message_has_a_summary_as_well() -> None:
    """Another document under another address; only the words of the view are the same."""
    sandbox = Sandbox()
    message = sent(sandbox)

    status = sandbox.get(f"/messages/{message}/messagestatus?view=summary").json()
    responses = sandbox.get(f"/messages/{message}/messageresponses?view=summary").json()

    assert set(status) == {"messageStatuses", "link"}
    assert set(responses) == {"messageresponses", "link"}


@pytest.mark.spec("4.5/body")
@pytest.mark.parametrize(
    "more", [{}, {"callbackId": "ops"}, {"callbackId": "ops", "callbackParameters": {"a": 1}}]
)
def test_callback_and_parameters_of_a_message_are_optional(more: dict[str, object]) -> None:
    sandbox = Sandbox()

    document = sandbox.get(f"/messages/{sent(sandbox, **more)}").json()

    given = {name: document[name] for name in ("callbackId", "callbackParameters") if name in document}
    assert given == more


@pytest.mark.spec("4.6/lists")
@pytest.mark.parametrize("path", ["/contacts/UNKNOWN", "/messages/UNKNOWN"])
def test_parameters_of_lists_mean_nothing_elsewhere(path: str) -> None:
    """One record has neither pages nor a window of days."""
    sandbox = Sandbox()
    made = {"contacts": sandbox.created("/contacts", JANE), "messages": f"/messages/{sent(sandbox)}"}
    address = made[path.split("/")[1]]

    odd = sandbox.get(f"{address}?offset=99&limit=x&criteriaFromDate=nonsense")

    assert (odd.status_code, odd.json()["link"][0]["rel"]) == (200, "self")


@pytest.mark.spec("5/authorization", "5/x-api-key")
@pytest.mark.parametrize("missing", ["authorization", "x-api-key"])
def test_a_request_without_one_of_the_two_headers_is_refused(missing: str) -> None:
    """With both it is answered; each alone is not enough."""
    sandbox = Sandbox()

    assert sandbox.get("/contacts").status_code == 200
    assert sandbox.get("/contacts", headers={missing: ""}).status_code in (401, 403)


@pytest.mark.spec("5/case-responses")
@pytest.mark.parametrize("name", ["Location", "location", "LOCATION", "lOcAtIoN"])
def test_the_client_reads_the_headers_of_an_answer_in_any_case(name: str) -> None:
    """The new id stands in one, and must not be lost over its spelling."""
    wire = Wire(answer(201, **{name: "/contacts/4C8FE1A2B3D4E5F6"}))

    made = with_client(wire, lambda client: client.contacts.create(JANE), settings=service())

    assert made.remote_id == "4C8FE1A2B3D4E5F6"


@pytest.mark.spec(
    "9/contactdevice", "9/contact", "9/resource", "9/message", "9/form-json", "9/form-xml", "9/v1"
)
@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("contact", "/contacts"),
        ("contactdevice", "{contact}/devices"),
        ("resource", "/resources"),
        ("message", "/messages"),
    ],
)
def test_each_kind_has_its_type_in_version_one_alone(kind: str, path: str, form: str) -> None:
    """Asked for in version 1 it is answered so, in either form; other versions are not to be had."""
    sandbox = Sandbox()
    address = path.format(contact=sandbox.created("/contacts", JANE))
    asked = vendor_type(kind).replace("json", form)

    good = sandbox.get(address, headers={"accept": asked})
    others = [sandbox.get(address, headers={"accept": asked.replace("v1", v)}) for v in ("v0", "v2")]

    assert (good.status_code, good.headers["content-type"]) == (200, asked)
    assert [one.status_code for one in others] == [406, 406]


@pytest.mark.spec("8/offset.default", "8/limit.default", "8/limit.max")
def test_a_list_without_parameters_begins_at_the_first_record_and_has_twenty() -> None:
    sandbox = Sandbox(contacts=45)

    plain = sandbox.get("/contacts").json()

    assert plain == sandbox.get("/contacts?offset=0").json() | {"link": plain["link"]}
    assert [row["id"] for row in plain["contacts"]] == [
        row["id"] for row in sandbox.get("/contacts?offset=0&limit=20").json()["contacts"]
    ]
    assert len(sandbox.get("/contacts?limit=21").json()["contacts"]) == 20


@pytest.mark.spec(
    "2.4/callbackParameters", "2.4/callbackParameters.many", "2.4/callbackParameters.unchanged", "6/rule-1"
)
@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.parametrize("count", [1, 500])
def test_any_number_of_parameters_comes_back_in_the_callback_as_it_was(count: int, form: str) -> None:
    """And when the message is read; both in their order, to the last character."""
    parameters = {f"key {number}": f" välue <{number}> " for number in range(count)}
    sandbox = Sandbox(callback_check=False)
    with receiving() as receiver:
        sandbox.created("/callbacks", callback_body(receiver.url, contentType=form))
        message = sent(sandbox, callbackId="approvals", callbackParameters=parameters)
        replied(sandbox, message)
        delivered(sandbox)

    (call,) = receiver.calls
    told = parse_reply(call.body, str(call.headers["content-type"])).parameters
    assert list(told.items()) == list(parameters.items())
    assert sandbox.get(f"/messages/{message}").json()["callbackParameters"] == parameters


@pytest.mark.spec("2.2/query-names", "4.2/fieldname", "2.2/gap")
def test_every_field_of_a_contact_is_a_text_and_finds_its_contact_alone() -> None:
    """All that a manifest may say of a contact in plain text, each under its own name."""
    sandbox = Sandbox()
    for field in FIELDS:
        made = sandbox.post("/contacts", {"firstName": "Zoe", field: value_of(field)})
        refused = sandbox.post("/contacts", {"firstName": "Zoe", field: 7})
        answers = made.status_code, refused.status_code, field in refused.text
        assert answers == (201, 422, True), f"{field}: is it no text? then leave it out of FIELDS"

    for field in FIELDS:
        rows = sandbox.get(f"/contacts?fields={field}&{urlencode({field: value_of(field)})}").json()[
            "contacts"
        ]
        assert [row[field] for row in rows] == [value_of(field)]


def value_of(field: str) -> str:
    """A value that no other field has."""
    return f"Only in {field}."
