"""The update of a contact: a full replacement, with the exceptions that were recorded."""

import pytest
from sandbox.asking import JANE, PIXEL, Clock, Sandbox, named

OPTION = {"channel": "sms", "enabled": True, "primary": "WorkMobilePhone1", "secondary": "", "tertiary": ""}
PLACE = {"longitude": 144.96, "latitude": -37.81, "type": "Home"}


def test_an_update_answers_204_without_content() -> None:
    """Recorded: empty, and yet with the content type of JSON and a length of 0."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)

    answer = sandbox.put(path, JANE)

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-length"] == "0"


def test_fields_left_out_are_gone() -> None:
    """Recorded: a PUT with four fields went through and the mobile number and the e-mail were gone."""
    sandbox = Sandbox(strict=True)
    path = sandbox.created("/contacts", {**JANE, "jobTitle": "Engineer", "costCentre": "42"})
    four = {name: JANE[name] for name in ("firstName", "lastName", "timezone", "workCountry")}

    assert sandbox.put(path, four).status_code == 204

    document = sandbox.get(path).json()
    assert not {"workMobilePhone1", "workEmailAddress1", "jobTitle", "costCentre"} & set(document)
    assert document["workCountry"] == "Australia"


def test_status_options_locations_and_devices_survive_omission() -> None:
    """Recorded: the options even go on naming fields that are gone."""
    sandbox = Sandbox()
    body = {**JANE, "status": "D", "messagingoptions": [OPTION], "locations": [PLACE]}
    path = sandbox.created("/contacts", body)
    sandbox.created(f"{path}/devices", PIXEL)

    sandbox.put(path, {"firstName": "Jane"})

    document = sandbox.get(path).json()
    assert document["status"] == "D"
    assert document["messagingoptions"] == [OPTION]
    assert document["locations"] == [PLACE]
    assert [device["pushToken"] for device in document["devices"]] == ["token-1"]


def test_status_options_and_locations_that_are_written_are_replaced() -> None:
    """Surviving is for what was left out; an empty list is a value."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", {**JANE, "messagingoptions": [OPTION], "locations": [PLACE]})

    sandbox.put(path, {**JANE, "status": "D", "messagingoptions": [], "locations": []})

    document = sandbox.get(path).json()
    assert (document["status"], document["messagingoptions"], document["locations"]) == ("D", [], [])


def test_custom_fields_left_out_are_gone() -> None:
    """Known: hidden on read, removed when absent, so a plain read that is written back loses them."""
    sandbox = Sandbox()
    body = {**JANE, "customFields": [{"fieldName": "employeeId", "fieldValue": "1042"}]}
    path = sandbox.created("/contacts", body)

    sandbox.put(path, sandbox.get(path).json())

    assert sandbox.get(f"{path}?customFields=true").json()["customFields"] == []


def test_custom_fields_read_and_written_back_stay() -> None:
    """The way round that loss."""
    sandbox = Sandbox()
    body = {**JANE, "customFields": [{"fieldName": "employeeId", "fieldValue": "1042"}]}
    path = sandbox.created("/contacts", body)
    read = sandbox.get(f"{path}?customFields=true").json()

    sandbox.put(path, read)

    assert sandbox.get(f"{path}?customFields=true").json()["customFields"] == read["customFields"]


def test_the_type_disappears() -> None:
    """Recorded; also when the type is sent along."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)

    sandbox.put(path, sandbox.get(path).json())

    assert "type" not in sandbox.get(path).json()


def test_the_mri_follows_the_name_and_keeps_its_number() -> None:
    """Recorded: so the mri is no stable key, the id is."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    path = sandbox.created(f"/workspaces/{named}/contacts", JANE)
    before = sandbox.get(path).json()["mri"]

    sandbox.put(path, {**JANE, "lastName": "van Dyk"})

    after = sandbox.get(path).json()["mri"]
    assert before.startswith("Jane_Doe.")
    assert after == before.replace("Jane_Doe", "Jane_van_Dyk")


def test_the_time_changes_its_form() -> None:
    """Recorded: +10:00 after the create, Z after an update; whole seconds in both."""
    clock = Clock()
    sandbox = Sandbox(clock=clock)
    path = sandbox.created("/contacts", JANE)
    assert sandbox.get(path).json()["lastModifiedTime"] == "2026-08-14T11:20:30+10:00"

    clock.pass_s(60)
    sandbox.put(path, JANE)

    assert sandbox.get(path).json()["lastModifiedTime"] == "2026-08-14T01:21:30Z"


@pytest.mark.parametrize(
    ("sent", "shown"), [("Australia/Melbourne", "+10"), ("+10", "0"), ("0", "0"), ("Mars", "0")]
)
def test_only_a_zone_name_survives_an_update(sent: str, shown: str) -> None:
    """Recorded: "+10" sent back reads "0", so writing back what was read moves the contact to Greenwich."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)

    sandbox.put(path, {**JANE, "timezone": sent})

    assert sandbox.get(path).json()["timezone"] == shown


def test_an_update_in_the_default_and_in_a_named_workspace_is_the_same() -> None:
    """Specification 4: every path may carry the workspace."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    path = sandbox.created(f"/workspaces/{named}/contacts", JANE)

    assert sandbox.put(path, {"firstName": "Joan"}).status_code == 204
    assert sandbox.get(path).json()["firstName"] == "Joan"


def test_a_refused_update_changes_nothing() -> None:
    """422 means not written: also not in part."""
    sandbox = Sandbox()
    path = sandbox.created("/contacts", JANE)
    before = sandbox.get(path).json()

    assert sandbox.put(path, {"workCountry": "Australia"}).status_code == 422
    assert sandbox.put(path, {**JANE, "firstName": "Joan", "jobTitle": 7}).status_code == 422

    assert sandbox.get(path).json() == before


def test_an_unknown_contact_cannot_be_updated() -> None:
    """PUT does not create: 404, and nothing more than before."""
    sandbox = Sandbox()

    assert sandbox.put("/contacts/0123456789ABCDEF", JANE).status_code == 404
    assert sandbox.get("/contacts").json()["status"] == "No records found"
