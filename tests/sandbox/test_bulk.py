"""The two uses of a resource: messages to everybody in it, and imports. Source: specification 1, docs."""

from typing import Any

import pytest
from sandbox.asking import JANE, Sandbox, last_segment, named, resource_body, vendor_type
from sandbox.receiving import MOBILE

STAFF = (
    b"name,to_mobile,to_email\nJane,+61491570156,jane.doe@example.com\n"
    b"Sam,,sam.lee@example.com\nTwin,+61491570156,\n"
)
PEOPLE = b"First Name,Mobile,Mail\nJane,+61491570157,JANE.doe@example.com\nKim,+447700900001,\n"
MAPPING = {"firstName": "First Name", "workMobilePhone1": "Mobile", "workEmailAddress1": "Mail"}


def uploaded(sandbox: Sandbox, content: bytes, prefix: str = "", **changed: str) -> str:
    """The id of a resource with this content."""
    return last_segment(sandbox.created(f"{prefix}/resources", resource_body(content, **changed)))


def bulk(resource: str, **changed: Any) -> dict[str, Any]:
    """A message to everybody in the resource."""
    mapping = {"resourceId": resource, "smsMappingField": "to_mobile", "emailMappingField": "to_email"}
    return {"resource": {**mapping, **changed}, "subject": "Shift", "body": "Tonight?"}


def reached(sandbox: Sandbox, location: str) -> list[str]:
    """The destinations of a message."""
    rows = sandbox.get(f"/messages/{last_segment(location)}/messagestatus?view=detailed").json()
    return [one["destination"] for row in rows["messageStatuses"] for one in row["status"] if one["status"]]


@pytest.mark.spec("1/resources-use")
@pytest.mark.parametrize("kind", ["message", "bulkmessage"])
def test_a_message_to_a_resource_reaches_everybody_in_it(kind: str) -> None:
    """Of each row counts the first column that is filled; the same address twice is one recipient."""
    sandbox = Sandbox()
    headers = {"content-type": vendor_type(kind), "accept": vendor_type(kind)}

    answer = sandbox.post("/messages", bulk(uploaded(sandbox, STAFF)), headers=headers)

    assert (answer.status_code, answer.headers["content-type"]) == (202, vendor_type(kind))
    assert reached(sandbox, answer.json()["location"]) == ["+61491570156", "sam.lee@example.com"]


@pytest.mark.spec("1/resources-use")
def test_the_texts_of_a_bulk_message_may_stand_in_its_content() -> None:
    """As public sources write it; and the file may be JSON."""
    sandbox = Sandbox()
    people = b'[{"phone": "+61491570156"}, {"phone": 447700900001}, {"name": "nobody"}]'
    resource = uploaded(sandbox, people, name="staff.json", mimeType="application/json")
    body = {
        "resource": {"resourceId": resource, "smsMappingField": "phone"},
        "messageContent": {"subject": "Shift", "body": "Tonight?"},
    }

    location = sandbox.post("/messages", body).json()["location"]

    assert reached(sandbox, location) == ["+61491570156", "447700900001"]
    shown = sandbox.get(f"/messages/{last_segment(location)}").json()
    assert (shown["subject"], shown["body"], shown["to"]) == ("Shift", "Tonight?", "")


@pytest.mark.parametrize(
    "changed",
    [
        {"resourceId": "0123456789ABCDEF"},
        {"resourceId": None},
        {"resourceId": "elsewhere"},
        {"smsMappingField": "", "emailMappingField": ""},
        {"smsMappingField": "fax"},
    ],
)
@pytest.mark.parametrize("to", [{}, {"to": MOBILE}])
def test_a_resource_that_cannot_be_used_is_refused(changed: dict[str, Any], to: dict[str, str]) -> None:
    """An unknown one, one of another workspace, no column, a column that is not there: nothing is sent."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    elsewhere = uploaded(sandbox, STAFF, f"/workspaces/{named}")
    changed = {**changed, **({"resourceId": elsewhere} if "elsewhere" in changed.values() else {})}
    body = {**bulk(uploaded(sandbox, STAFF), **changed), **to}

    refused = sandbox.post("/messages", body)

    only_named = "to" in to and "resourceId" not in changed and not changed["smsMappingField"]
    assert refused.status_code == (202 if only_named else 422)
    assert ("messages" in sandbox.get("/messages").json()) is only_named


def imported(resource: str, mode: str = "replace", **fields: str) -> dict[str, Any]:
    """The import of this resource."""
    options = {"fieldMapping": fields or MAPPING, "importMode": mode}
    return {"resourceId": resource, "importType": "contact", "importOptions": options}


def ask(sandbox: Sandbox, body: object, prefix: str = "", kind: str = "importcontact") -> int:
    """The status of an import."""
    headers = {"content-type": vendor_type(kind), "accept": vendor_type(kind)}
    return sandbox.post(f"{prefix}/imports", body, headers=headers).status_code


def people(sandbox: Sandbox, prefix: str = "") -> list[tuple[str, str, str]]:
    """First name, job title and number of everybody."""
    rows = sandbox.get(f"{prefix}/contacts?fields=jobTitle,workMobilePhone1").json().get("contacts", [])
    return [(row["firstName"], row.get("jobTitle", ""), row.get("workMobilePhone1", "")) for row in rows]


@pytest.mark.spec("1/resources-use")
@pytest.mark.parametrize("kind", ["importcontact", "import"])
@pytest.mark.parametrize("prefix", ["", f"/workspaces/{named}"])
def test_an_import_adds_and_updates_contacts(prefix: str, kind: str) -> None:
    """Jane is known by her mail address and keeps what the file does not name; Kim is new; nobody goes."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    sandbox.created(f"{prefix}/contacts", {**JANE, "jobTitle": "Nurse"})
    sandbox.created(f"{prefix}/contacts", {"firstName": "Zoe"})

    assert ask(sandbox, imported(uploaded(sandbox, PEOPLE, prefix)), prefix, kind) == 202

    assert people(sandbox, prefix) == [
        ("Jane", "Nurse", "+61491570157"),
        ("Zoe", "", ""),
        ("Kim", "", "+447700900001"),
    ]
    other = f"/workspaces/{named}" if not prefix else ""
    assert people(sandbox, other) == []


@pytest.mark.parametrize(
    ("mode", "jane"), [("ignore", ["+61491570156"]), ("duplicate", ["+61491570156", "+61491570157"])]
)
def test_who_is_there_may_be_left_alone_or_made_again(mode: str, jane: list[str]) -> None:
    """The other two modes; Kim is new in each."""
    sandbox = Sandbox()
    sandbox.created("/contacts", JANE)

    assert ask(sandbox, imported(uploaded(sandbox, PEOPLE), mode)) == 202

    assert [number for name, _, number in people(sandbox) if name == "Jane"] == jane
    assert people(sandbox)[-1][0] == "Kim"


def test_columns_without_a_mapping_have_the_names_of_fields() -> None:
    sandbox = Sandbox()
    resource = uploaded(sandbox, b"firstName,jobTitle\nJane,Nurse\n")

    assert ask(sandbox, {"resourceId": resource, "importType": "contact"}) == 202
    assert people(sandbox) == [("Jane", "Nurse", "")]


@pytest.mark.parametrize(
    "change",
    [
        {"resourceId": "0123456789ABCDEF"},
        {"resourceId": None},
        {"importType": "message"},
        {"importType": None},
        {"importOptions": {"importMode": "delete"}},
        {"importOptions": {"fieldMapping": {"firstName": "Vorname"}}},
        {"importOptions": {"fieldMapping": {"jobTitle": "Mail"}}},
        {"importOptions": "all"},
    ],
)
def test_an_import_that_cannot_be_is_refused_and_changes_nothing(change: dict[str, Any]) -> None:
    """An unknown resource, a column that is not there, a row without a name: all rows, or none."""
    sandbox = Sandbox()

    assert ask(sandbox, {**imported(uploaded(sandbox, PEOPLE)), **change}) == 422
    assert people(sandbox) == []


@pytest.mark.parametrize(
    "people_of_file",
    [
        b"firstName,username\nAda,ada\nKim,jane\n",
        b"firstName,username\nAda,ada\nKim,kim\nLee,kim\n",
        b"firstName,username,workEmailAddress1\nAda,ada,\nZoe,jane,zoe@example.com\n",
    ],
    ids=["of somebody who is there", "of another row", "of an update"],
)
def test_an_import_with_a_username_that_is_taken_changes_nobody(people_of_file: bytes) -> None:
    """The row that cannot be is not the first one: those before it are not kept either."""
    sandbox = Sandbox()
    sandbox.created("/contacts", {"firstName": "Jane", "username": "jane"})
    sandbox.created("/contacts", {"firstName": "Zoe", "workEmailAddress1": "zoe@example.com"})
    body = {"resourceId": uploaded(sandbox, people_of_file), "importType": "contact"}

    assert ask(sandbox, body) == 422

    assert [name for name, _, _ in people(sandbox)] == ["Jane", "Zoe"]
    assert sandbox.post("/contacts", {"firstName": "Ada", "username": "ada"}).status_code == 201


def test_an_import_may_hand_a_username_on() -> None:
    """Jane gives up the name that Kim gets in the same file; what counts is how it is afterwards."""
    sandbox = Sandbox()
    sandbox.created("/contacts", {**JANE, "username": "night"})
    rows = (
        "firstName,username,workEmailAddress1\n"
        f"Kim,night,kim@example.com\nJane,day,{JANE['workEmailAddress1']}\n"
    )
    resource = uploaded(sandbox, rows.encode())

    assert ask(sandbox, {"resourceId": resource, "importType": "contact"}) == 202

    taken = [sandbox.post("/contacts", {"firstName": "Lee", "username": name}) for name in ("night", "day")]
    assert [one.status_code for one in taken] == [422, 422]


@pytest.mark.parametrize(
    ("content", "mime_type"),
    [
        (b"<x/>", "application/xml"),
        (b"[1]", "application/json"),
        (b"a,b\n1,2,3\n", "text/csv"),
        (b"a,b\n", "text/csv"),
    ],
)
def test_a_file_that_is_no_table_is_refused(content: bytes, mime_type: str) -> None:
    """CSV with a heading, or a JSON list of objects (assumed)."""
    sandbox = Sandbox()
    resource = uploaded(sandbox, content, mimeType=mime_type)

    assert ask(sandbox, {"resourceId": resource, "importType": "contact"}) == 422
    assert sandbox.post("/messages", bulk(resource)).status_code == 422
