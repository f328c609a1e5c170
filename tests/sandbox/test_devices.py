"""Push devices: their fields, their limit, what failed pushes do. Source: specification 2.1, 3.1 and 4.1."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox.asking import JANE, PIXEL, Clock, Sandbox, last_segment, named, origin, vendor_type


def with_pixel(**options: Any) -> tuple[Sandbox, str, str]:
    """A sandbox, Jane's path and the path of her one device."""
    sandbox = Sandbox(**options)
    jane = sandbox.created("/contacts", JANE)
    return sandbox, jane, sandbox.created(f"{jane}/devices", PIXEL)


@pytest.mark.spec(
    "2.1/deviceName",
    "2.1/appId",
    "2.1/platform",
    "2.1/deviceOS",
    "2.1/deviceModel",
    "2.1/status",
    "2.1/pushToken",
    "2.1/link",
    "3.1/active",
)
def test_a_create_answers_201_with_the_whole_device() -> None:
    """Documented: id, the seven fields, two dates, and links to itself, its update and its delete."""
    sandbox = Sandbox(clock=Clock())
    jane = sandbox.created("/contacts", JANE)

    answer = sandbox.post(f"{jane}/devices", PIXEL)

    uri = answer.headers["location"]
    assert answer.status_code == 201
    assert uri.startswith(f"{origin}{jane}/devices/")
    assert answer.headers["content-type"] == vendor_type("contactdevice")
    types = "application/vnd.service.contactdevice-v1+xml,application/vnd.service.contactdevice-v1+json"
    assert answer.json() == {
        **PIXEL,
        "id": last_segment(uri),
        "registrationDate": "2026-08-14",
        "lastModifiedDate": "2026-08-14",
        "link": [
            {"uri": uri, "rel": "self", "method": "GET"},
            {"uri": uri, "rel": "updateDevice", "method": "PUT", "type": types},
            {"uri": uri, "rel": "deleteDevice", "method": "DELETE"},
        ],
    }


@pytest.mark.spec("1/devices", "2.1/belongs")
def test_a_device_is_read_alone_in_its_list_and_within_its_contact() -> None:
    """Specification 4.1 implies the read; the list document is assumed; the contact shows devices in full."""
    sandbox, jane, pixel = with_pixel()

    alone = sandbox.get(pixel).json()
    listed = sandbox.get(f"{jane}/devices").json()

    assert alone["pushToken"] == "token-1"
    assert listed == {"devices": [alone], "status": "1 to 1 of 1    ", "link": []}
    assert sandbox.get(jane).json()["devices"] == [alone]


def test_a_contact_without_devices_lists_none() -> None:
    """As every empty list."""
    sandbox = Sandbox()
    jane = sandbox.created("/contacts", JANE)

    assert sandbox.get(f"{jane}/devices").json() == {"status": "No records found", "link": []}


@pytest.mark.spec("8/rule-1")
def test_a_device_list_has_pages() -> None:
    """Specification 8, rule 1: multi-item requests are paginated."""
    sandbox = Sandbox(device_limit=10)
    jane = sandbox.created("/contacts", JANE)
    for number in range(25):
        sandbox.created(f"{jane}/devices", {**PIXEL, "appId": f"app-{number}"})

    page = sandbox.get(f"{jane}/devices?offset=20").json()

    assert [device["appId"] for device in page["devices"]] == [f"app-{number}" for number in range(20, 25)]
    assert page["status"] == "21 to 25 of 25    "


@pytest.mark.parametrize("missing", sorted(set(PIXEL) - {"status"}))
def test_a_create_needs_every_field_but_the_status(missing: str) -> None:
    """Documented; the status is Active when it is left out. The missing one is named."""
    sandbox = Sandbox()
    jane = sandbox.created("/contacts", JANE)

    refused = sandbox.post(
        f"{jane}/devices", {name: value for name, value in PIXEL.items() if name != missing}
    )
    assert refused.status_code == 422
    assert missing in refused.json()["errorText"]
    assert sandbox.get(jane).json()["devices"] == []

    made = sandbox.post(f"{jane}/devices", {name: value for name, value in PIXEL.items() if name != "status"})
    assert made.json()["status"] == "Active"


@pytest.mark.spec("2.1/required", "4.1/full", "4.1/no-partial")
@pytest.mark.parametrize("missing", sorted(PIXEL))
def test_an_update_needs_all_seven_fields(missing: str) -> None:
    """Specification 2.1 and 4.1: a device is updated whole or not at all."""
    sandbox, _, pixel = with_pixel()
    before = sandbox.get(pixel).json()

    refused = sandbox.put(pixel, {name: f"new {value}" for name, value in PIXEL.items() if name != missing})

    assert refused.status_code == 422
    assert missing in refused.json()["errorText"]
    assert sandbox.get(pixel).json() == before


@pytest.mark.spec("4.1/put", "4.1/success", "4.1/type-json")
def test_an_update_answers_204_and_replaces_the_device() -> None:
    """Specification 4.1: 204, no content; the registration date stays, the other one moves."""
    clock = Clock()
    sandbox, _, pixel = with_pixel(clock=clock)
    clock.pass_s(3 * 86_400)

    answer = sandbox.put(pixel, {**PIXEL, "pushToken": "token-2"})

    document = sandbox.get(pixel).json()
    assert (answer.status_code, answer.content) == (204, b"")
    assert document["pushToken"] == "token-2"
    assert (document["registrationDate"], document["lastModifiedDate"]) == ("2026-08-14", "2026-08-17")


@pytest.mark.spec("4.1/process")
def test_what_was_read_can_be_written_back() -> None:
    """Specification 4.1, standard process: retrieve, change, PUT the whole object."""
    sandbox, _, pixel = with_pixel()
    read = sandbox.get(pixel).json()

    assert sandbox.put(pixel, {**read, "deviceModel": "Pixel 10"}).status_code == 204
    assert sandbox.get(pixel).json() == {**read, "deviceModel": "Pixel 10"}


@pytest.mark.parametrize(
    ("field", "value"), [("deviceModel", 9), ("status", "sleeping"), ("status", "DELETED")]
)
def test_a_field_of_the_wrong_form_is_refused(field: str, value: object) -> None:
    """Specification 2.1: strings throughout; only Active and Disabled can be written (assumed)."""
    sandbox, _, pixel = with_pixel()

    refused = sandbox.put(pixel, {**PIXEL, field: value})

    assert refused.status_code == 422
    assert field in refused.json()["errorText"]
    assert sandbox.get(pixel).json()["status"] == PIXEL["status"]


def test_app_version_and_other_fields_are_optional_and_kept() -> None:
    """Documented as required on create, and in no sample: optional here; an update without it drops it."""
    sandbox = Sandbox()
    jane = sandbox.created("/contacts", JANE)
    pixel = sandbox.created(f"{jane}/devices", {**PIXEL, "appVersion": "2.1"})
    assert sandbox.get(pixel).json()["appVersion"] == "2.1"

    sandbox.put(pixel, PIXEL)

    assert "appVersion" not in sandbox.get(pixel).json()


def test_a_deleted_device_is_gone() -> None:
    """Documented: 204, irreversible, never returned again; the contact and its other devices stay."""
    sandbox, jane, pixel = with_pixel()
    tablet = sandbox.created(f"{jane}/devices", {**PIXEL, "deviceName": "Tablet of Jane"})

    assert sandbox.delete(pixel).status_code == 204

    assert sandbox.get(pixel).status_code == 404
    assert sandbox.put(pixel, PIXEL).status_code == 404
    assert sandbox.delete(pixel).status_code == 404
    assert [device["id"] for device in sandbox.get(jane).json()["devices"]] == [last_segment(tablet)]


@pytest.mark.spec("2.1/link-known")
def test_a_device_is_found_under_its_own_contact_alone() -> None:
    """Specification 2.1, the link: another contact, or another workspace, has no such device."""
    sandbox, _, pixel = with_pixel(workspaces=(("Night Shift", named),))
    other = sandbox.created("/contacts", JANE)
    abroad = sandbox.created(f"/workspaces/{named}/contacts", JANE)

    for contact in (other, abroad, "/contacts/0123456789ABCDEF"):
        address = f"{contact}/devices/{last_segment(pixel)}"
        assert [sandbox.get(address).status_code, sandbox.put(address, PIXEL).status_code] == [404, 404]
        assert sandbox.delete(address).status_code == 404
    assert sandbox.get(pixel).status_code == 200


@pytest.mark.spec("2.1/belongs")
def test_devices_go_with_their_contact() -> None:
    """A device belongs to a contact."""
    sandbox, jane, pixel = with_pixel()

    sandbox.delete(jane)

    assert sandbox.get(pixel).status_code == 404
    assert sandbox.post(f"/_sandbox/devices/{last_segment(pixel)}/push", {"result": "ok"}).status_code == 404


def test_an_app_has_three_devices_on_a_contact_at_most() -> None:
    """Documented: the app's device limit, 3 by default; other apps and other contacts count separately."""
    sandbox, jane, _ = with_pixel()
    for number in (2, 3):
        sandbox.created(f"{jane}/devices", {**PIXEL, "deviceName": f"Phone {number}"})
    elsewhere = sandbox.created(f"{jane}/devices", {**PIXEL, "appId": "com.example.other"})

    refused = sandbox.post(f"{jane}/devices", {**PIXEL, "deviceName": "Phone 4"})
    moved = sandbox.put(elsewhere, PIXEL)

    assert (refused.status_code, moved.status_code) == (422, 422)
    assert "appId" in refused.json()["errorText"]
    assert len(sandbox.get(jane).json()["devices"]) == 4
    assert sandbox.post(f"{sandbox.created('/contacts', JANE)}/devices", PIXEL).status_code == 201


def test_the_device_limit_goes_up_to_ten() -> None:
    """Documented: at most 10; an option."""
    sandbox = Sandbox(device_limit=10)
    jane = sandbox.created("/contacts", JANE)

    answers = [sandbox.post(f"{jane}/devices", PIXEL).status_code for _ in range(11)]

    assert answers == [201] * 10 + [422]


def test_two_devices_may_share_a_token() -> None:
    """Documented: allowed, and pushed twice."""
    sandbox, jane, _ = with_pixel()

    assert sandbox.post(f"{jane}/devices", {**PIXEL, "deviceName": "Second"}).status_code == 201


@pytest.mark.spec("3.1/active.spellings", "3.1/reactivate", "3.1/reactivate.pushes", "3.1/gap")
@pytest.mark.parametrize("spelling", ["ACTIVE", "Active", "active", "A", "a"])
def test_every_spelling_of_active_wakes_a_disabled_device(spelling: str) -> None:
    """Specification 3.1: a PUT that says ACTIVE; two spellings stand there, letters in other sources."""
    sandbox, _, pixel = with_pixel()
    disable(sandbox, pixel)

    sandbox.put(pixel, {**PIXEL, "status": spelling})

    assert sandbox.get(pixel).json()["status"] == spelling
    assert sandbox.push(pixel, "ok")["delivered"] is True


@pytest.mark.spec("3.1/active.spellings")
@pytest.mark.parametrize("spelling", ["ACTIVE", "Active", "active", "A", "DISABLED", "d"])
def test_a_status_is_shown_as_it_was_written_or_in_its_usual_spelling(spelling: str) -> None:
    """The specification shows two spellings and changes none; public sources show one: a switch."""
    usual = "Active" if spelling.lower().startswith("a") else "Disabled"
    for form, shown in (("written", spelling), ("normalized", usual)):
        sandbox = Sandbox(device_status=form)
        jane = sandbox.created("/contacts", JANE)

        pixel = sandbox.created(f"{jane}/devices", {**PIXEL, "status": spelling})

        assert sandbox.get(pixel).json()["status"] == shown
        assert sandbox.get(jane).json()["devices"][0]["status"] == shown
        assert sandbox.push(pixel, "ok")["status"] == shown


@pytest.mark.spec("3.1/stays-disabled")
@pytest.mark.parametrize("spelling", ["Disabled", "DISABLED", "D"])
def test_an_update_that_leaves_disabled_does_not_wake_it(spelling: str) -> None:
    """Specification 3.1, last row: other fields may change, the device sleeps on."""
    sandbox, _, pixel = with_pixel()
    disable(sandbox, pixel)

    sandbox.put(pixel, {**PIXEL, "pushToken": "token-2", "status": spelling})

    assert sandbox.push(pixel, "ok")["delivered"] is False
    assert sandbox.get(pixel).json()["pushToken"] == "token-2"


@pytest.mark.spec("3.1/first-failure", "3.1/charged")
def test_the_first_failure_changes_no_status() -> None:
    """Specification 3.1; the push is charged, for the device was Active."""
    sandbox, _, pixel = with_pixel()

    answer = sandbox.push(pixel, "fail")

    assert (answer["status"], answer["delivered"], answer["charged"]) == ("ACTIVE", False, True)
    assert sandbox.get(pixel).json()["status"] == "ACTIVE"


@pytest.mark.spec("3.1/second-failure", "3.1/disabled", "8/rule-6")
def test_the_second_failure_disables() -> None:
    """Specification 3.1 and 8, rule 6: the second failure, the device not updated after the first."""
    sandbox, jane, pixel = with_pixel()

    answers = [sandbox.push(pixel, "fail")["status"] for _ in range(2)]

    assert answers == ["ACTIVE", "Disabled"]
    assert sandbox.get(jane).json()["devices"][0]["status"] == "Disabled"


@pytest.mark.spec("3.1/not-updated", "8/rule-6")
@pytest.mark.parametrize(
    "between",
    [
        pytest.param(lambda sandbox, pixel: sandbox.put(pixel, PIXEL), id="an update"),
        pytest.param(lambda sandbox, pixel: sandbox.push(pixel, "ok"), id="a delivered push"),
    ],
)
def test_failures_that_do_not_follow_each_other_do_not_disable(
    between: Callable[[Sandbox, str], object],
) -> None:
    """Specification 3.1 and 8, rule 6: consecutive failures, with no update in between."""
    sandbox, _, pixel = with_pixel()

    sandbox.push(pixel, "fail")
    between(sandbox, pixel)

    assert sandbox.push(pixel, "fail")["status"] == "ACTIVE"
    assert sandbox.push(pixel, "fail")["status"] == "Disabled"


@pytest.mark.spec("3.1/no-pushes", "3.1/charged")
def test_a_disabled_device_is_sent_nothing_and_charged_nothing() -> None:
    """Specification 3.1: no pushes for a Disabled device, and charges for an Active one alone."""
    sandbox, _, pixel = with_pixel()
    disable(sandbox, pixel)

    first, second = sandbox.push(pixel, "ok"), sandbox.push(pixel, "fail")

    assert (first["delivered"], first["charged"], first["status"]) == (False, False, "Disabled")
    assert (first["pushesCharged"], second["pushesCharged"]) == (2, 2)
    assert second["pushesNotDelivered"] == 2


def test_a_device_may_be_disabled_by_its_owner() -> None:
    """The status is a field like the others."""
    sandbox, _, pixel = with_pixel()

    sandbox.put(pixel, {**PIXEL, "status": "Disabled"})

    assert sandbox.push(pixel, "ok")["delivered"] is False


@pytest.mark.spec("3.1/second-failure", "3.1/reactivate", "3.1/stays-disabled")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["ok", "fail", "ACTIVE", "Disabled", "as read"]), max_size=12))
def test_the_status_follows_the_table(script: list[str]) -> None:
    """Law: any sequence of pushes and updates, against specification 3.1 written once more."""
    sandbox, _, pixel = with_pixel()
    status, failures = "ACTIVE", 0
    for step in script:
        if step in ("ok", "fail"):
            sandbox.push(pixel, step)
            failures = failures + 1 if step == "fail" and status == "ACTIVE" else 0
            status = "Disabled" if failures == 2 else status
        else:
            wanted = status if step == "as read" else step
            sandbox.put(pixel, {**PIXEL, "status": wanted})
            status, failures = wanted, 0
        assert sandbox.get(pixel).json()["status"] == status


@pytest.mark.parametrize(("options", "times_seen"), [({}, 1), ({"device_touches_contact": True}, 5)])
def test_a_device_change_may_move_the_time_of_its_contact(options: dict[str, Any], times_seen: int) -> None:
    """No source says whether it does: assumed not, an option turns it on."""
    clock = Clock()
    sandbox = Sandbox(clock=clock, **options)
    jane = sandbox.created("/contacts", JANE)

    times = [sandbox.get(jane).json()["lastModifiedTime"]]
    for change in (
        lambda: sandbox.created(f"{jane}/devices", PIXEL),
        lambda: sandbox.put(first_device(sandbox, jane), PIXEL),
        lambda: disable(sandbox, first_device(sandbox, jane)),
        lambda: sandbox.delete(first_device(sandbox, jane)),
    ):
        clock.pass_s(60)
        change()
        times.append(sandbox.get(jane).json()["lastModifiedTime"])

    assert len(set(times)) == times_seen


@pytest.mark.parametrize(("options", "shown"), [({}, "IOS 7"), ({"short_device_os": True}, "IOS")])
def test_the_operating_system_may_be_shortened(options: dict[str, Any], shown: str) -> None:
    """One sample shows a create that did so: an option."""
    sandbox = Sandbox(**options)
    jane = sandbox.created("/contacts", JANE)

    path = sandbox.created(f"{jane}/devices", {**PIXEL, "deviceOS": "IOS 7"})

    assert sandbox.get(path).json()["deviceOS"] == shown


def first_device(sandbox: Sandbox, contact: str) -> str:
    """The path of the contact's first device."""
    return f"{contact}/devices/{sandbox.get(contact).json()['devices'][0]['id']}"


def disable(sandbox: Sandbox, device: str) -> None:
    """Two failed pushes in a row."""
    sandbox.push(device, "fail")
    assert sandbox.push(device, "fail")["status"] == "Disabled"


@pytest.mark.parametrize(
    ("shows", "seen"),
    [("shown", PIXEL["pushToken"]), ("masked", f"************{PIXEL['pushToken'][-4:]}"), ("omitted", None)],
)
def test_a_look_shows_the_token_a_mask_or_nothing(shows: str, seen: str | None) -> None:
    """No source shows a GET of a device, so a client has to live with each; the token itself stays there."""
    sandbox, jane, pixel = with_pixel(device_token=shows)

    alone, within = sandbox.get(pixel).json(), sandbox.get(jane).json()["devices"][0]

    assert alone.get("pushToken") == within.get("pushToken") == seen
    assert alone["deviceName"] == PIXEL["deviceName"]
