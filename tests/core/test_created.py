"""What a create has made, by what it shows: the table of A12, from the outside."""

from typing import Any

import pytest

from reconciler.core.compare.normalize import redact_for_plan
from reconciler.core.compare.readback import (
    is_older_than_request,
    judge_created,
    judge_read_back,
    may_have_created,
)
from reconciler.model.documents import Fields

MAIL = (("workEmailAddress1",),)
SENT = {
    "firstName": "Nine",
    "lastName": "Example",
    "workEmailAddress1": "p9+night@example.com",
    "workMobilePhone1": "+61491570156",
}
THEIRS = "p9@example.com"


def judged(shown: Fields, *, of_another: bool = False, old: bool = False, sent: Fields = SENT) -> str:
    said = judge_read_back("contact", sent, shown, before={}, salt="salt")
    return judge_created("contact", sent, said, shown, keys=MAIL, of_another=of_another, old=old)


def test_an_identity_alone_that_differs_is_written_in_another_way() -> None:
    """Taken for somebody else, she would be made again at each apply."""
    assert judged({**SENT, "workEmailAddress1": THEIRS}) == "rewritten"


@pytest.mark.parametrize("path", ["firstName", "lastName", "workMobilePhone1"])
@pytest.mark.parametrize("shown", ["", "something else"])
def test_one_more_field_that_differs_makes_it_another(path: str, shown: str) -> None:
    """A stranger differs in more than an address."""
    assert judged({**SENT, "workEmailAddress1": THEIRS, path: shown}) == "other"


def test_the_identity_of_another_of_ours_is_hers() -> None:
    """Two answers that changed places between two of the same name."""
    assert judged({**SENT, "workEmailAddress1": THEIRS}, of_another=True) == "other"


def test_what_was_there_before_was_not_made() -> None:
    """An answer that names a stranger of the same name."""
    assert judged({**SENT, "workEmailAddress1": THEIRS}, old=True) == "other"


def test_an_identity_alone_tells_nobody() -> None:
    """Nothing but the address was sent, and another one is shown: nothing is known of it."""
    alone = {"workEmailAddress1": SENT["workEmailAddress1"]}

    assert judged({"workEmailAddress1": THEIRS}, sent=alone) == "other"


def test_a_create_that_lost_a_field_is_the_same() -> None:
    """The field is planned again, and nobody is made again."""
    assert judged({**SENT, "workMobilePhone1": ""}) == "same"


def test_a_hidden_identity_is_taken_for_it_where_nothing_differs() -> None:
    """A service that shows no address of anybody."""
    shown = {path: value for path, value in SENT.items() if path != "workEmailAddress1"}

    assert judged(shown) == "hidden"
    assert judged({**shown, "firstName": "Sam"}) == "other"


@pytest.mark.parametrize(
    ("modified", "seen", "old"),
    [
        ("2026-05-01T10:00:00Z", "2026-05-01T10:00:05Z", False),
        ("2026-05-01T09:59:00Z", "2026-05-01T10:00:05Z", True),
        ("2026-05-01T19:59:00+10:00", "2026-05-01T10:00:05Z", True),
        ("", "2026-05-01T10:00:05Z", False),  # nothing is said of it
        ("2026-05-01T09:59:00Z", "", False),
        ("2026-05-01 09:59", "2026-05-01T10:00:05Z", False),
    ],
)
def test_what_is_older_than_the_request_was_there_before(modified: str, seen: str, *, old: bool) -> None:
    """Both times are the service's own: no clock of this machine is in it."""
    assert is_older_than_request(modified, seen, within_s=5.0) == old


DEVICE = (("appId", "deviceName"),)
PHONE: Fields = {
    "deviceName": "Jane's phone",
    "appId": "com.example.oncall",
    "platform": "GCM",
    "deviceOS": "Android 15",
    "deviceModel": "Pixel 9",
    "pushToken": "token-of-jane",
}
FILE: Fields = {"name": "staff.csv", "scope": "private", "mimeType": "text/csv", "content": "sha256:1"}


def may_be(
    shown: Fields, *, sent: Fields = SENT, kind: str = "contact", keys: Any = MAIL, fresh: bool = True
) -> bool:
    return may_have_created(kind, sent, shown, keys=keys, salt="salt", fresh=fresh)


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("address", [THEIRS, "p9@gmail.example", "someone@else.example"])
def test_nobodys_entity_that_agrees_in_all_else_may_be_it(address: str, *, fresh: bool) -> None:
    """Sent again, she would be there twice; however the service makes its addresses."""
    assert may_be({**SENT, "workEmailAddress1": address}, fresh=fresh)


def test_what_is_not_shown_says_nothing() -> None:
    """A row of a list shows less than was sent, and a service may keep less."""
    assert may_be({"firstName": "Nine", "lastName": "Example"})


def test_names_in_another_letter_case_agree() -> None:
    """A service that writes addresses in its own way may do so with names."""
    assert may_be({**SENT, "firstName": "NINE", "lastName": "EXAMPLE", "workEmailAddress1": THEIRS})


@pytest.mark.parametrize("path", ["firstName", "lastName", "workMobilePhone1"])
def test_one_value_that_differs_is_somebody_else_unless_three_agree(path: str) -> None:
    """A colleague of the same family name is not she; one whose number alone is rewritten may be."""
    other = {**SENT, "workEmailAddress1": THEIRS, path: "+61491570157"}

    assert not may_be(other)
    more = {"jobTitle": "Engineer", "department": "Night"}
    assert may_be({**other, **more}, sent={**SENT, **more})
    assert not may_be({**other, **more}, sent={**SENT, **more}, fresh=False)


@pytest.mark.parametrize(
    "shared",
    [
        {"workCountry": "Australia", "timezone": "Australia/Melbourne"},
        {"lastName": "Example"},
        {"workEmailAddress1": SENT["workEmailAddress1"]},
        {},
    ],
)
def test_what_tells_nobody_apart_makes_nobody_it(shared: Fields) -> None:
    """Half a company has one country; one value alone is too little."""
    sent = {**SENT, "workCountry": "Australia", "timezone": "Australia/Melbourne"}

    assert not may_be(shared, sent=sent)


def test_where_the_identity_is_all_that_was_sent_nothing_is_known() -> None:
    alone: Fields = {"workEmailAddress1": THEIRS}

    assert not may_be({"workEmailAddress1": "p9@example.net"}, sent=alone)


@pytest.mark.parametrize("token", ["token-of-jane", redact_for_plan("device", PHONE, "salt")["pushToken"]])
def test_a_device_under_another_name_is_known_by_its_token(token: str) -> None:
    """Also after a kill, where a plan holds the token as a digest."""
    sent = {**PHONE, "pushToken": token}

    assert may_be({**PHONE, "deviceName": "JANES-PHONE"}, sent=sent, kind="device", keys=DEVICE, fresh=False)
    other = {**PHONE, "deviceName": "Tablet", "pushToken": "token-of-another"}
    assert not may_be(other, sent=sent, kind="device", keys=DEVICE, fresh=False)


@pytest.mark.parametrize(("scope", "found"), [("private", True), ("public", False)])
def test_a_resource_under_another_name_is_known_by_all_that_there_is(scope: str, *, found: bool) -> None:
    """Its type and who may load it: not much, so a person is asked; of another scope it is another one."""
    shown = {"name": "staff_1.csv", "scope": scope, "mimeType": "text/csv"}

    assert may_be(shown, sent=FILE, kind="resource", keys=(("name",),), fresh=False) == found
