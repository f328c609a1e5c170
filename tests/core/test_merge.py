"""The bodies that are sent: exactly what is declared, and nothing lost of what nobody declared."""

import base64
from typing import Any

import pytest
from core.build import PHONE, at, contact, device, resource

from reconciler.core.compare.bodies import make_create_body, make_update_body
from reconciler.model.documents import Controls
from reconciler.model.plans import FieldChange, Update
from reconciler.model.snapshots import Entity

FRESH = {
    "id": "A1",
    "type": "PROJECT",
    "mri": "Jane_Doe.1.Operations@Contact.example.com",
    "lastModifiedTime": "2026-02-01T10:00:00Z",
    "locations": [{"longitude": 0.0, "latitude": 0.0}],
    "link": [{"rel": "self"}],
    "devices": [{"id": "D1"}],
    "firstName": "Jane",
    "jobTitle": "Clerk",
    "status": "A",
    "messagingoptions": [
        {"channel": "sms", "enabled": True, "primary": "WorkMobilePhone1", "secondary": "", "quiet": "22-06"},
        {"channel": "email", "primary": "WorkEmailAddress1"},
    ],
    "customFields": [
        {"fieldName": "Employee ID", "fieldValue": "1042", "searchKey": "custom_employeeId", "locked": True},
        {"fieldName": "Shoe size", "fieldValue": "38", "searchKey": "custom_shoeSize"},
    ],
    "newsletter": {"topics": ["a", {"b": None}]},
    "floor": 7,
}
SERVER_OWNED = ("id", "type", "mri", "lastModifiedTime", "locations", "link", "devices")


def updated(entity: Entity, *paths: str, fresh: dict[str, Any] | None = None) -> dict[str, Any]:
    """The body of an update that changes these paths."""
    changes = tuple(FieldChange(path, None, None, "declared") for path in paths)
    return make_update_body(
        FRESH if fresh is None else fresh, entity, Update(entity.address, "f:1", "A1", changes)
    )


def test_a_create_sends_what_is_declared_in_the_form_of_the_service() -> None:
    """As the author wrote it; the normal form is for comparing only."""
    entity = contact(
        "ops/jane",
        {
            "custom.employeeId": "1042",
            "messagingOptions.sms.enabled": True,
            "messagingOptions.sms.primary": "WorkMobilePhone1",
        },
        firstName=" Jane",
        status="Active",
        jobTitle="",
        password="hush",
    )

    assert make_create_body(entity) == {
        "firstName": " Jane",
        "status": "Active",
        "password": "hush",
        "customFields": [{"fieldName": "employeeId", "fieldValue": "1042", "searchKey": "custom_employeeId"}],
        "messagingoptions": [{"channel": "sms", "enabled": True, "primary": "WorkMobilePhone1"}],
    }


def test_a_resource_is_sent_with_its_payload_in_base64() -> None:
    """The digest stays with us."""
    body = make_create_body(resource("ops/staff", b"a,b\n"))

    assert body == {
        "name": "staff.csv",
        "scope": "private",
        "mimeType": "text/csv",
        "derefUri": base64.b64encode(b"a,b\n").decode(),
    }


def test_an_update_changes_its_paths_and_keeps_everything_else() -> None:
    """A4: also what this version has never heard of, nested or not; what is server-owned is not sent back."""
    body = updated(contact("ops/jane", jobTitle="Engineer", firstName="not changed"), "jobTitle")

    assert body == {
        **{key: value for key, value in FRESH.items() if key not in SERVER_OWNED},
        "jobTitle": "Engineer",
    }


def test_an_update_leaves_the_body_that_was_read_as_it_is() -> None:
    """It is also the image that the write is checked against."""
    before = repr(FRESH)

    updated(
        contact("ops/jane", {"custom.shoeSize": "39", "messagingOptions.sms.primary": "X"}),
        "custom.shoeSize",
        "messagingOptions.sms.primary",
    )

    assert repr(FRESH) == before


def test_one_custom_field_is_set_beside_the_others() -> None:
    """Custom fields that a PUT leaves out would be gone; the display name is the service's."""
    entity = contact("ops/jane", {"custom.employeeId": "7", "custom.desk": "12"})

    assert updated(entity, "custom.employeeId", "custom.desk")["customFields"] == [
        {"fieldName": "Employee ID", "fieldValue": "7", "searchKey": "custom_employeeId", "locked": True},
        {"fieldName": "Shoe size", "fieldValue": "38", "searchKey": "custom_shoeSize"},
        {"fieldName": "desk", "fieldValue": "12", "searchKey": "custom_desk"},
    ]


def test_a_cleared_custom_field_is_left_out() -> None:
    """S2: the service treats absent as removed."""
    body = updated(contact("ops/jane", {"custom.shoeSize": ""}), "custom.shoeSize")

    assert [one["fieldName"] for one in body["customFields"]] == ["Employee ID"]


def test_one_option_of_one_channel_is_set_beside_the_others() -> None:
    """The list is always sent: leaving it out would keep it as it was."""
    body = updated(contact("ops/jane", {"messagingOptions.sms.primary": "X"}), "messagingOptions.sms.primary")

    assert body["messagingoptions"] == [
        {"channel": "sms", "enabled": True, "primary": "X", "secondary": "", "quiet": "22-06"},
        {"channel": "email", "primary": "WorkEmailAddress1"},
    ]


def test_a_channel_that_holds_nothing_any_more_is_taken_off_the_list() -> None:
    """S2: and a new one is put on it."""
    entity = contact(
        "ops/jane", {"messagingOptions.email.primary": "", "messagingOptions.voice.enabled": False}
    )

    body = updated(entity, "messagingOptions.email.primary", "messagingOptions.voice.enabled")

    assert [one["channel"] for one in body["messagingoptions"]] == ["sms", "voice"]
    assert body["messagingoptions"][1] == {"channel": "voice", "enabled": False}


def test_the_letter_case_of_a_channel_is_the_service_s_own() -> None:
    """A second row beside SMS would say two things about one channel."""
    fresh = {"messagingoptions": [{"channel": "SMS", "primary": "A"}]}
    entity = contact("ops/jane", {"messagingOptions.sms.primary": "B"})

    assert updated(entity, "messagingOptions.sms.primary", fresh=fresh) == {
        "messagingoptions": [{"channel": "SMS", "primary": "B"}]
    }


@pytest.mark.parametrize("path", ["custom.employeeId", "messagingOptions.sms.primary"])
@pytest.mark.parametrize("odd", [None, "text", 7, [None, "text"]])
def test_an_odd_shape_does_not_stop_a_write(path: str, odd: object) -> None:
    """What cannot hold a field of its kind is replaced by what can."""
    key = "customFields" if path.startswith("custom") else "messagingoptions"

    assert len(updated(contact("ops/jane", {path: "X"}), path, fresh={key: odd})[key]) == 1


def test_a_bare_object_is_kept_as_the_list_of_one_that_it_is() -> None:
    """Dropping it would clear a field that nobody declared."""
    fresh = {"customFields": {"fieldName": "Shoe size", "fieldValue": "38", "searchKey": "custom_shoeSize"}}

    body = updated(contact("ops/jane", {"custom.desk": "12"}), "custom.desk", fresh=fresh)

    assert [one["fieldValue"] for one in body["customFields"]] == ["38", "12"]


def test_a_field_that_is_no_longer_declared_is_left_out() -> None:
    """D2: the change names it, and the entity does not speak of it any more."""
    assert "jobTitle" not in updated(contact("ops/jane"), "jobTitle")


@pytest.mark.parametrize("status", ["ACTIVE", "Disabled", "DISABLED"])
def test_every_device_put_carries_the_status_just_read(status: str) -> None:
    """D4: a stale or a declared status would re-enable it, and pushes would be charged again."""
    fresh = {**PHONE, "id": "D1", "status": status, "registrationDate": "2026-01-01", "badge": 3}
    entity = device("ops/jane/phone", status="ACTIVE", deviceOS="Android 16")

    assert updated(entity, "deviceOS", fresh=fresh) == {
        **PHONE,
        "status": status,
        "deviceOS": "Android 16",
        "badge": 3,
    }


@pytest.mark.parametrize(
    "entity",
    [
        device("ops/jane/phone", status="A"),
        device("ops/jane/phone"),
        device("ops/jane/phone", status="Disabled", controls=Controls(ignore=frozenset({"status"}))),
    ],
)
def test_a_reactivation_sends_the_active_status(entity: Entity) -> None:
    """D4: whatever the manifest says of the status, or does not say."""
    change = Update(
        at("device/ops/jane/phone"),
        "f:1",
        "D1",
        (FieldChange("status", "DISABLED", "ACTIVE", "reactivated"),),
    )

    assert make_update_body({**PHONE, "status": "DISABLED"}, entity, change)["status"] == "ACTIVE"


def test_a_secret_is_sent_in_clear_though_the_change_holds_a_mask() -> None:
    """A change is safe to show; the entity has the value."""
    entity = device("ops/jane/phone", pushToken="new")

    assert updated(entity, "pushToken", fresh={**PHONE, "status": "ACTIVE"})["pushToken"] == "new"


def test_what_cannot_be_read_back_travels_with_every_put() -> None:
    """A PUT without it would remove it: a payload is mandatory, a password would be lost."""
    fresh = {
        "id": "R1",
        "name": "old.csv",
        "scope": "private",
        "mimeType": "text/csv",
        "url": "x",
        "link": [],
    }

    body = updated(resource("ops/staff", b"a,b\n"), "name", fresh=fresh)

    assert sorted(body) == ["derefUri", "mimeType", "name", "scope"]
    assert updated(contact("ops/jane", password="hush", jobTitle="X"), "jobTitle")["password"] == "hush"
    assert "password" not in updated(contact("ops/jane", password="", jobTitle="X"), "jobTitle")
