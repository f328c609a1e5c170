"""One form in which equal means equal."""

import unicodedata

import pytest

from reconciler.core.compare.identity import identity_key
from reconciler.core.compare.normalize import (
    custom_field_name,
    flatten_body,
    mask_secret,
    normalize_fields,
    normalize_value,
    redact_for_plan,
    reliable_modified,
)
from reconciler.core.text import marks_max, normalize_unicode, parse_instant
from reconciler.model.kinds import KINDS

# As the service answers a GET of one contact (docs/service.md, contacts).
WIRE_CONTACT = {
    "type": "PROJECT",
    "firstName": "Jane",
    "lastName": "Doe",
    "locations": [{"longitude": 0.0, "latitude": 0.0, "type": "CurrentLocation"}],
    "lastModifiedTime": "2026-02-01T10:00:00+11:00",
    "status": "A",
    "timezone": "+10",
    "workEmailAddress1": "jane@example.com",
    "workMobilePhone1": "+61491570156",
    "mri": "Jane_Doe.1.Operations@Contact.example.com",
    "messagingoptions": [
        {
            "channel": "SMS",
            "enabled": "true",
            "primary": "WorkMobilePhone1",
            "secondary": "",
            "tertiary": "",
        },
        {"channel": "email", "enabled": False, "primary": "WorkEmailAddress1"},
    ],
    "customFields": [
        {"fieldName": "Employee ID", "fieldValue": "1042", "searchKey": "custom_employeeId"},
        {"fieldName": "Shoe size", "fieldValue": "", "searchKey": "custom_shoeSize"},
    ],
    "devices": [{"id": "D1", "deviceName": "Phone"}],
    "link": [{"uri": "https://api.example.com/contacts/A1", "rel": "self", "method": "GET"}],
}


def test_a_contact_of_the_service_becomes_flat_fields() -> None:
    """D1: set-valued fields by channel and by name; server-owned and empty fields are not compared."""
    assert flatten_body("contact", WIRE_CONTACT) == {
        "firstName": "Jane",
        "lastName": "Doe",
        "status": "A",
        "timezone": "+10",
        "workEmailAddress1": "jane@example.com",
        "workMobilePhone1": "+61491570156",
        "messagingOptions.sms.enabled": True,
        "messagingOptions.sms.primary": "WorkMobilePhone1",
        "messagingOptions.email.enabled": False,
        "messagingOptions.email.primary": "WorkEmailAddress1",
        "custom.employeeId": "1042",
    }


@pytest.mark.parametrize("key", ["messagingoptions", "customFields"])
def test_the_order_of_a_list_says_nothing(key: str) -> None:
    """D1: compared as sets, never by position."""
    rows = WIRE_CONTACT[key]
    assert isinstance(rows, list)

    assert flatten_body("contact", {**WIRE_CONTACT, key: rows[::-1]}) == flatten_body("contact", WIRE_CONTACT)


def test_a_bare_object_is_a_list_of_one() -> None:
    """Samples of the service show lists of one without their brackets."""
    body = {
        "messagingoptions": {"channel": "sms", "primary": "WorkMobilePhone1"},
        "customFields": {"fieldName": "employeeId", "fieldValue": "1"},
    }

    assert flatten_body("contact", body) == {
        "messagingOptions.sms.primary": "WorkMobilePhone1",
        "custom.employeeId": "1",
    }


@pytest.mark.parametrize(("value", "text"), [(1042, "1042"), (True, "true"), (None, None), ("", None)])
def test_a_custom_field_may_come_as_a_number_or_a_truth(value: object, text: object) -> None:
    """A manifest holds text: what was taken for nothing, or for another thing, would be written again."""
    body = {"customFields": [{"searchKey": "custom_id", "fieldValue": value}]}

    assert flatten_body("contact", body).get("custom.id") == text


@pytest.mark.parametrize(
    "body",
    [
        {"customFields": None},
        {"customFields": "text"},
        {"customFields": [None, "text", 7, [], {}, {"fieldValue": "nameless"}]},
        {"messagingoptions": [None, "text", {}, {"channel": 7}, {"channel": "sms"}]},
        {"tags": {"nested": ["deep"]}, "jobTitle": None, "other": []},
    ],
)
def test_shapes_that_say_nothing_are_no_fields(body: dict[str, object]) -> None:
    """Live data of any shape is data, never a crash."""
    assert flatten_body("contact", body) == {}


def test_an_unknown_scalar_is_kept_and_a_number_is_text() -> None:
    """A deployment may have fields that the settings name and the schema does not."""
    assert flatten_body("contact", {"favouriteColour": "blue", "floor": 7, "vip": True}) == {
        "favouriteColour": "blue",
        "floor": "7",
        "vip": "true",
    }


def test_write_only_fields_of_an_answer_are_not_compared() -> None:
    """D3: what is never shown reliably is compared by its record."""
    assert flatten_body("contact", {"password": "hush", "secretAnswer": "Rex"}) == {}
    assert flatten_body(
        "resource", {"name": "a.csv", "content": "x", "url": "https://cdn.example.com/a"}
    ) == {"name": "a.csv"}


def test_declared_keeps_the_empty_value() -> None:
    """S2: absent is not ours, and "" is a wish of its own."""
    assert normalize_fields("contact", {"jobTitle": "", "firstName": " Jane "}) == {
        "jobTitle": "",
        "firstName": "Jane",
    }


@pytest.mark.parametrize("spelling", ["Active", "ACTIVE", "active", "A", "a", " active "])
def test_spellings_of_an_active_device_are_equal(spelling: str) -> None:
    """D4: Active, ACTIVE, active, A."""
    assert normalize_value("device", "status", spelling) == "ACTIVE"
    assert normalize_value("contact", "status", spelling) == "A"


@pytest.mark.parametrize("spelling", ["Disabled", "DISABLED", "disabled", "D", "d"])
def test_spellings_of_a_disabled_device_are_equal(spelling: str) -> None:
    """D4: the same for the other state."""
    assert normalize_value("device", "status", spelling) == "DISABLED"
    assert normalize_value("contact", "status", spelling) == "D"


def test_a_status_that_nobody_has_heard_of_stays_as_it_is() -> None:
    """A fold is a table of known spellings, not a guess."""
    assert normalize_value("device", "status", "Paused") == "Paused"


@pytest.mark.parametrize("path", ["firstName", "custom.status", "statusText"])
def test_only_the_status_itself_is_folded(path: str) -> None:
    """A person may be called A."""
    assert normalize_value("contact", path, "A") == "A"
    assert normalize_value("contact", path, "active") == "active"


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("false", False), ("maybe", "maybe")]
)
def test_enabled_is_a_truth_however_it_is_written(text: str, value: object) -> None:
    """Samples send the string, recorded answers hold the boolean."""
    assert normalize_value("contact", "messagingOptions.sms.enabled", text) == value
    assert normalize_value("contact", "custom.enabled", text) == text


def test_unicode_forms_of_one_text_are_equal() -> None:
    """A name typed on another keyboard is the same name."""
    composed, split = "Zoë", unicodedata.normalize("NFD", "Zoë")

    assert composed != split
    assert normalize_value("contact", "firstName", split) == normalize_value(
        "contact", "firstName", f" {composed}\u00a0"
    )


def test_letter_case_of_a_name_is_a_difference() -> None:
    """Normal form is for what the service treats as equal, and for nothing else."""
    assert normalize_value("contact", "firstName", "jane") != normalize_value("contact", "firstName", "Jane")


def test_identity_is_compared_after_one_key_function() -> None:
    """M2: trimmed, NFC, and e-mail without letter case."""
    assert identity_key("workEmailAddress1", " Jané@Example.COM ") == identity_key(
        "workEmailAddress1", unicodedata.normalize("NFD", "jané@example.com")
    )
    assert identity_key("custom.employeeId", "ab") != identity_key("custom.employeeId", "AB")
    assert identity_key("name", "Staff.csv") != identity_key("name", "staff.csv")


@pytest.mark.parametrize("value", ["token", "secret:token", "secret:0123456789abcdef", "ünï"])
def test_a_mask_hides_every_secret(value: str) -> None:
    """Also one that happens to look like a mask."""
    hidden = mask_secret(value, "salt")

    assert isinstance(hidden, str)
    assert hidden.startswith("secret:")
    assert value not in hidden
    assert hidden == mask_secret(value, "salt") != mask_secret(value, "other salt")


def test_a_mask_of_nothing_is_nothing() -> None:
    """S2: clearing a secret is no secret."""
    assert mask_secret("", "salt") == ""


def test_only_secret_fields_are_masked() -> None:
    """A plan that hides everything cannot be reviewed."""
    fields = {"pushToken": "t", "deviceName": "Phone"}

    hidden = redact_for_plan("device", fields, "salt")

    assert hidden == {"pushToken": mask_secret("t", "salt"), "deviceName": "Phone"}
    assert all(
        redact_for_plan(kind, {path: "x"}, "s")[path] != "x" for kind in KINDS for path in KINDS[kind].secret
    )


@pytest.mark.parametrize(
    ("modified", "seen", "kept"),
    [
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:02Z", True),
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:01.999Z", False),
        ("2026-03-01T23:00:00+11:00", "2026-03-01T12:00:02+00:00", True),
        ("2026-03-01T12:00:00Z", "2026-03-01T11:00:00Z", False),
        ("2026-03-01T12:00:00", "2026-03-01T13:00:00Z", False),
        ("2026-03-01T12:00:00Z", "", False),
        ("", "2026-03-01T13:00:00Z", False),
        ("yesterday", "2026-03-01T13:00:00Z", False),
    ],
)
def test_a_time_of_change_is_relied_upon_only_when_it_was_two_seconds_old(
    modified: str, seen: str, *, kept: bool
) -> None:
    """The service counts whole seconds: an edit in the same second leaves the same time behind."""
    assert reliable_modified(modified, seen) == (modified if kept else "")


def test_a_moment_without_a_zone_names_no_moment() -> None:
    """Two clocks cannot be compared by guessing where they hang."""
    assert parse_instant("2026-03-01T12:00:00") is None
    assert parse_instant("2026-03-01T12:00:00Z") == parse_instant("2026-03-01T23:00:00+11:00")


def test_a_custom_field_is_known_by_its_search_key_first() -> None:
    """The display name may be changed by the vendor; the key is what searches use."""
    assert custom_field_name({"fieldName": "Employee ID", "searchKey": "custom_employeeId"}) == "employeeId"
    assert custom_field_name({"fieldName": "employeeId", "searchKey": "other"}) == "employeeId"
    assert custom_field_name({}) == ""


def test_a_text_with_too_many_marks_on_a_letter_stays_as_it_is() -> None:
    """Sorting them takes the square of their number: a cell of a roster would take half a minute."""
    marks = "\u0301\u0327"  # in the wrong order: an acute before a cedilla

    assert normalize_unicode("NFC", f"e{marks * (marks_max // 2)}") != f"e{marks * (marks_max // 2)}"
    assert normalize_unicode("NFC", f"e{marks * marks_max}") == f"e{marks * marks_max}"
    assert normalize_unicode("NFC", "e\u0301" * marks_max) == "\u00e9" * marks_max
    assert normalize_unicode("NFKD", "\u00e9" * 1000) == "e\u0301" * 1000
