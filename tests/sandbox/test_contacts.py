"""Contacts: create, read, list rows, delete. Source: specification 2.2, docs/service.md on contacts."""

import re
from typing import Any

import pytest
from sandbox.asking import JANE, PIXEL, Clock, Sandbox, last_segment, named, origin, vendor_type

body_types = "application/vnd.service.contact-v1+xml,application/vnd.service.contact-v1+json"


def test_a_create_answers_201_with_the_address_and_the_whole_contact() -> None:
    """Recorded: 201, Location, and the full body."""
    answer = Sandbox().post("/contacts", JANE)

    assert answer.status_code == 201
    assert re.fullmatch(rf"{origin}/contacts/[0-9A-F]{{16}}", answer.headers["location"])
    assert answer.headers["content-type"] == vendor_type("contact")
    assert answer.json()["workEmailAddress1"] == "jane.doe@example.com"


def test_the_whole_contact_has_the_recorded_keys_in_their_order() -> None:
    """Recorded key order of the answer to a create; no id is among them."""
    document = Sandbox().post("/contacts", JANE).json()

    recorded = (
        "type firstName lastName locations lastModifiedTime status timezone workEmailAddress1 "
        "workMobilePhone1 workCountry mri messagingoptions devices link"
    )
    assert " ".join(document) == recorded


def test_the_service_fills_in_what_was_not_written() -> None:
    """Recorded defaults: status A, one location at zero, no options, no devices."""
    document = Sandbox().post("/contacts", JANE).json()

    assert document["status"] == "A"
    assert document["locations"] == [{"longitude": 0.0, "latitude": 0.0, "type": "CurrentLocation"}]
    assert document["messagingoptions"] == []
    assert document["devices"] == []


def test_a_created_contact_links_to_itself_its_update_and_its_delete() -> None:
    """Recorded: three links, the one that takes a body with its media types."""
    answer = Sandbox().post("/contacts", JANE)
    uri = answer.headers["location"]

    assert answer.json()["link"] == [
        {"uri": uri, "rel": "self", "method": "GET"},
        {"uri": uri, "rel": "updateContact", "method": "PUT", "type": body_types},
        {"uri": uri, "rel": "deleteContact", "method": "DELETE"},
    ]


def test_reading_one_contact_gives_no_id_and_only_the_self_link() -> None:
    """Recorded: the id must be taken from the last segment of the link."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)

    document = sandbox.get(path).json()

    assert "id" not in document
    assert document["link"] == [{"uri": f"{origin}{path}", "rel": "self", "method": "GET"}]
    assert document["workMobilePhone1"] == "+61491570156"


def test_reading_one_contact_may_give_the_id() -> None:
    """The older documentation shows an id there: an option."""
    sandbox = Sandbox(id_in_get=True)
    path = sandbox.created("/contacts", JANE)

    assert sandbox.get(path).json()["id"] == last_segment(path)


def test_links_may_name_another_host() -> None:
    """Recorded: links name another host than the one asked, so a client must not follow them as they are."""
    sandbox = Sandbox(link_base="https://global.example.org", contacts=30)

    answer = sandbox.post("/contacts", JANE)

    assert answer.headers["location"].startswith("https://global.example.org/contacts/")
    assert (
        sandbox.get("/contacts").json()["link"][0]["uri"].startswith("https://global.example.org/contacts?")
    )


def test_the_type_tells_the_default_workspace_from_a_named_one() -> None:
    """Recorded: COMPANY in the default workspace, PROJECT in a named one."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))

    assert sandbox.post("/contacts", JANE).json()["type"] == "COMPANY"
    assert sandbox.post(f"/workspaces/{named}/contacts", JANE).json()["type"] == "PROJECT"


def test_the_mri_is_made_of_names_number_and_workspace() -> None:
    """Recorded: First_Last.<number>.<workspace_name>@Contact.<host>; the default has no such part."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))

    in_default = sandbox.post("/contacts", JANE).json()["mri"]
    in_named = sandbox.post(f"/workspaces/{named}/contacts", JANE).json()["mri"]

    assert re.fullmatch(r"Jane_Doe\.\d+@Contact\.[a-z.]+", in_default)
    assert re.fullmatch(r"Jane_Doe\.\d+\.Night_Shift@Contact\.[a-z.]+", in_named)


def test_times_are_whole_seconds_with_the_offset_of_the_server() -> None:
    """Recorded: +10:00 after a create; the clock here says 01:20:30.987654 UTC."""
    document = Sandbox(clock=Clock()).post("/contacts", JANE).json()

    assert document["lastModifiedTime"] == "2026-08-14T11:20:30+10:00"


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("Australia/Melbourne", "+10"),
        ("Europe/London", "0"),
        ("America/New_York", "-5"),
        ("Asia/Kolkata", "+5:30"),
    ],
)
def test_a_time_zone_name_becomes_an_offset(sent: str, shown: str) -> None:
    """Recorded for Melbourne; the standard offset, and the minutes, are assumed."""
    assert Sandbox().post("/contacts", {**JANE, "timezone": sent}).json()["timezone"] == shown


def test_messaging_options_are_completed() -> None:
    """Recorded: "true" becomes true, secondary and tertiary are filled with ""."""
    option = {"channel": "sms", "enabled": "true", "primary": "WorkMobilePhone1"}

    shown = Sandbox().post("/contacts", {**JANE, "messagingoptions": [option]}).json()["messagingoptions"]

    assert shown == [
        {"channel": "sms", "enabled": True, "primary": "WorkMobilePhone1", "secondary": "", "tertiary": ""}
    ]


def test_locations_are_shown_as_numbers() -> None:
    """Recorded as numbers; the older documentation sends strings."""
    place = {"longitude": "144.96", "latitude": "-37.81", "type": "Home"}

    shown = Sandbox().post("/contacts", {**JANE, "locations": [place]}).json()["locations"]

    assert shown == [{"longitude": 144.96, "latitude": -37.81, "type": "Home"}]


def test_a_contact_needs_a_name_and_nothing_else() -> None:
    """The sources differ on what is required; the lenient reading is the default: first or last name."""
    sandbox = Sandbox()

    assert sandbox.post("/contacts", {"lastName": "Doe"}).status_code == 201
    refused = sandbox.post("/contacts", {"workEmailAddress1": "jane.doe@example.com"})

    assert refused.status_code == 422
    assert "firstName" in refused.json()["errorText"]
    assert sandbox.get("/contacts").json()["status"] == "1 to 1 of 1    "


@pytest.mark.parametrize("missing", sorted(JANE))
def test_the_six_documented_fields_may_be_enforced_on_create(missing: str) -> None:
    """Documented as required on create: an option. The missing one is named."""
    sandbox = Sandbox(strict=True)

    refused = sandbox.post("/contacts", {name: value for name, value in JANE.items() if name != missing})

    assert refused.status_code == 422
    assert missing in refused.json()["errorText"]
    assert sandbox.get("/contacts").json()["status"] == "No records found"
    assert sandbox.post("/contacts", JANE).status_code == 201


def test_two_contacts_may_be_alike_in_everything() -> None:
    """Recorded: nothing enforces uniqueness, so a client needs its own identity."""
    sandbox = Sandbox()

    assert sandbox.created("/contacts", JANE) != sandbox.created("/contacts", JANE)


def test_a_portal_user_name_is_given_once_in_the_company() -> None:
    """Documented: username is unique in the company; it is free again when its contact is gone."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    path = sandbox.created("/contacts", {**JANE, "username": "jdoe"})

    refused = sandbox.post(f"/workspaces/{named}/contacts", {**JANE, "username": "jdoe"})
    assert refused.status_code == 422
    assert "username" in refused.json()["errorText"]

    assert sandbox.put(path, {**JANE, "username": "jdoe"}).status_code == 204
    sandbox.delete(path)
    assert sandbox.post(f"/workspaces/{named}/contacts", {**JANE, "username": "jdoe"}).status_code == 201


def test_portal_secrets_are_never_returned() -> None:
    """Documented as write-only; neither the answer, nor a read, nor a list, nor a search shows them."""
    sandbox = Sandbox(rows="full")
    secrets = {"password": "open-sesame", "secretQuestion": "Colour?", "secretAnswer": "ultramarine"}

    answer = sandbox.post("/contacts", {**JANE, **secrets})
    path = answer.headers["location"].removeprefix(origin)
    seen = [answer, sandbox.get(path), sandbox.get("/contacts?fields=password,secretAnswer")]

    assert all("open-sesame" not in one.text and "ultramarine" not in one.text for one in seen)
    assert sandbox.get(path).json()["secretQuestion"] == "Colour?"
    for guess in ("nothing-like-it", "ultramarine", "u"):
        for name in ("secretAnswer", "SECRETANSWER"):
            assert sandbox.get(f"/contacts?{name}={guess}").json()["status"] == "No records found"


def test_fields_of_no_table_are_kept_and_returned() -> None:
    """Assumed: a deployment may have fields that no table here knows; they must survive a round trip."""
    sandbox = Sandbox()
    extra = {"costCentre": "42", "badge": {"colour": "blue", "zones": [1, 2]}}

    path = sandbox.created("/contacts", {**JANE, **extra})

    document = sandbox.get(path).json()
    assert {name: document[name] for name in extra} == extra


def test_what_the_service_owns_cannot_be_written() -> None:
    """Assumed: id, type, mri, devices, link and lastModifiedTime in a body are ignored."""
    forged = {
        "id": "1",
        "type": "X",
        "mri": "x@y",
        "devices": [PIXEL],
        "link": [],
        "lastModifiedTime": "never",
    }

    document = Sandbox().post("/contacts", {**JANE, **forged}).json()

    assert document["type"] == "COMPANY"
    assert document["mri"].startswith("Jane_Doe.")
    assert document["devices"] == []
    assert len(document["link"]) == 3


def test_null_counts_as_absent() -> None:
    """Assumed; no source shows a null."""
    document = Sandbox().post("/contacts", {**JANE, "jobTitle": None, "messagingoptions": None}).json()

    assert "jobTitle" not in document
    assert document["messagingoptions"] == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("jobTitle", 7),
        ("status", True),
        ("workCountry", ["Australia"]),
        ("messagingoptions", {"sms": {}}),
        ("messagingoptions", ["sms"]),
        ("messagingoptions", [{"primary": "WorkMobilePhone1"}]),
        ("messagingoptions", [{"channel": "sms", "enabled": "perhaps"}]),
        ("messagingoptions", [{"channel": "sms", "primary": 5}]),
        ("locations", [{"longitude": "east"}]),
        ("locations", [{"latitude": True}]),
        ("locations", [{"latitude": []}]),
        ("customFields", {"employeeId": "1"}),
        ("customFields", [{"fieldValue": "1"}]),
        ("customFields", [{"fieldName": "employeeId", "fieldValue": 1}]),
        ("customFields", [{"fieldName": "employeeId", "fieldValue": "1", "searchKey": 1}]),
    ],
)
def test_a_field_of_the_wrong_form_is_refused_by_name(field: str, value: object) -> None:
    """422 for invalid fields, the field named in errorText; nothing is created."""
    sandbox = Sandbox()

    refused = sandbox.post("/contacts", {**JANE, field: value})

    assert refused.status_code == 422
    assert field in refused.json()["errorText"]
    assert sandbox.get("/contacts").json()["status"] == "No records found"


@pytest.mark.spec("1/custom-fields")
def test_custom_fields_are_hidden_unless_asked_for() -> None:
    """Known from the vendor's collection: customFields=true shows them, on one contact and in lists."""
    sandbox = Sandbox()
    field = {"fieldName": "Employee Id", "fieldValue": "1042", "searchKey": "custom_employeeId"}
    path = sandbox.created("/contacts", {**JANE, "customFields": [field]})

    assert "customFields" not in sandbox.get(path).json()
    assert "customFields" not in sandbox.get("/contacts").json()["contacts"][0]
    assert sandbox.get(f"{path}?customFields=true").json()["customFields"] == [field]
    assert sandbox.get("/contacts?customFields=true").json()["contacts"][0]["customFields"] == [field]


def test_a_custom_field_without_a_search_key_gets_one_from_its_name() -> None:
    """Assumed, after the vendor's sample: "Field Name" is searched as custom_fieldName."""
    sandbox = Sandbox()
    body = {**JANE, "customFields": [{"fieldName": "Employee Number", "fieldValue": "7"}]}

    shown = sandbox.post("/contacts?customFields=true", body).json()["customFields"]

    assert shown[0]["searchKey"] == "custom_employeeNumber"


@pytest.mark.spec("4.2/gap")
def test_a_brief_row_is_exactly_as_recorded() -> None:
    """Recorded list item: seven keys and the link; the empty lists do not mean that there is nothing."""
    sandbox = Sandbox(clock=Clock())
    option = {"channel": "sms", "enabled": "true", "primary": "WorkMobilePhone1"}
    path = sandbox.created("/contacts", {**JANE, "messagingoptions": [option]})
    sandbox.created(f"{path}/devices", PIXEL)

    rows = sandbox.get("/contacts").json()["contacts"]

    assert rows == [
        {
            "id": last_segment(path),
            "firstName": "Jane",
            "lastName": "Doe",
            "lastModifiedTime": "2026-08-14T11:20:30+10:00",
            "status": "A",
            "messagingoptions": [],
            "devices": [],
            "link": [{"uri": f"{origin}{path}", "rel": "self", "method": "GET"}],
        }
    ]


def test_asked_for_fields_are_added_to_each_row() -> None:
    """Documented: fields=a,b adds contact fields to list items; devices are no field of a contact."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", {**JANE, "costCentre": "42"})
    sandbox.created(f"{path}/devices", PIXEL)

    row = sandbox.get(
        "/contacts?fields=lastModifiedTime,workEmailAddress1,MRI,timezone,costCentre,jobTitle,devices"
    ).json()["contacts"][0]

    assert row["workEmailAddress1"] == "jane.doe@example.com"
    assert row["mri"].startswith("Jane_Doe.")
    assert row["timezone"] == "+10"
    assert row["costCentre"] == "42"
    assert "jobTitle" not in row
    assert row["devices"] == []


def test_asked_for_messaging_options_are_the_real_ones() -> None:
    """The empty list of a brief row gives way to the field itself."""
    sandbox = Sandbox()
    sandbox.created("/contacts", {**JANE, "messagingoptions": [{"channel": "email", "enabled": "false"}]})

    row = sandbox.get("/contacts?fields=messagingOptions").json()["contacts"][0]

    assert row["messagingoptions"][0]["channel"] == "email"


def test_rows_may_be_whole_contacts() -> None:
    """The newer documentation shows full items: an option; each has its id, custom fields stay hidden."""
    sandbox = Sandbox(rows="full")
    path = sandbox.created("/contacts", {**JANE, "customFields": [{"fieldName": "a", "fieldValue": "b"}]})
    sandbox.created(f"{path}/devices", PIXEL)

    row = sandbox.get("/contacts").json()["contacts"][0]

    assert row == {"id": last_segment(path), **sandbox.get(path).json()}
    assert row["devices"][0]["pushToken"] == "token-1"
    assert "customFields" not in row


def test_a_deleted_contact_is_gone() -> None:
    """Recorded: 204 without content, then 404."""
    sandbox = Sandbox(contacts=3)
    path = sandbox.created("/contacts", JANE)

    answer = sandbox.delete(path)

    assert (answer.status_code, answer.content) == (204, b"")
    assert sandbox.get(path).status_code == 404
    assert sandbox.delete(path).status_code == 404
    assert sandbox.get("/contacts").json()["status"] == "1 to 3 of 3    "


def test_an_id_is_never_given_again() -> None:
    """Ids are opaque and stable; one that came back would point at another person."""
    sandbox = Sandbox()
    first = sandbox.created("/contacts", JANE)
    sandbox.delete(first)

    assert sandbox.created("/contacts", JANE) != first


@pytest.mark.spec("1/workspaces", "4.2/rule-1", "4.2/rule-2")
def test_workspaces_do_not_see_each_others_contacts() -> None:
    """Specification 4.2, rules 1 and 2: no workspace is the default one, and nothing runs across all."""
    sandbox = Sandbox(workspaces=(("Night Shift", named), ("Day Shift", "AA")))
    path = sandbox.created(f"/workspaces/{named}/contacts", JANE)
    contact = last_segment(path)

    assert path.startswith(f"/workspaces/{named}/contacts/")
    elsewhere: list[Any] = [f"/contacts/{contact}", f"/workspaces/AA/contacts/{contact}"]
    assert [sandbox.get(address).status_code for address in elsewhere] == [404, 404]
    assert [sandbox.delete(address).status_code for address in elsewhere] == [404, 404]
    assert sandbox.get("/contacts?firstName=Jane").json()["status"] == "No records found"
    assert sandbox.get(path).status_code == 200
