"""The invented people and the options."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from growth import RATIO_MAX, ratio
from sandbox.asking import Sandbox

from reconciler.sandbox.app import create_app
from reconciler.sandbox.config import SandboxConfig, workspace_id
from reconciler.sandbox.contacts import invent_contacts


def test_the_same_people_stand_there_every_time() -> None:
    """Two runs with the same options show the same bytes, so that outputs can be compared."""
    first, second = (
        Sandbox(contacts=40, rows="full").get("/contacts?offset=20&customFields=true").text for _ in range(2)
    )

    assert first == second


def test_more_people_are_the_same_people_and_others() -> None:
    """The nth person does not depend on how many there are."""
    few, many = (list(invent_contacts(count, after=0)) for count in (10, 30))

    assert many[:10] == few


def test_nobody_real_is_among_them() -> None:
    """Addresses at example.com; numbers from the ranges reserved for fiction; an employee number each."""
    people = list(invent_contacts(3000, after=0))

    mails = {str(person.fields["workEmailAddress1"]) for person in people}
    phones = [str(person.fields["workMobilePhone1"]) for person in people]
    assert len(mails) == 3000
    assert all(mail.endswith("@example.com") for mail in mails)
    assert all(phone.startswith(("+61491570", "+447700900", "+120255501")) for phone in phones)
    assert len({str(person.custom[0]["fieldValue"]) for person in people}) == 3000
    assert len({(person.fields["firstName"], person.fields["lastName"]) for person in people}) > 1500


def test_an_invented_contact_can_be_found_and_updated_like_any_other() -> None:
    """They are ordinary contacts of the default workspace."""
    sandbox = Sandbox(contacts=10)
    row = sandbox.get("/contacts?custom_employeeId=1007&customFields=true").json()["contacts"][0]
    path = f"/contacts/{row['id']}"

    assert row["customFields"] == [
        {"fieldName": "employeeId", "fieldValue": "1007", "searchKey": "custom_employeeId"}
    ]
    assert sandbox.put(path, {**sandbox.get(path).json(), "jobTitle": "Lead"}).status_code == 204
    assert sandbox.get("/contacts?jobTitle=lead").json()["status"] == "1 to 1 of 1    "


@pytest.mark.parametrize("kept", [False, True])
def test_eight_times_the_people_are_made_in_about_eight_times_the_time(tmp_path: Path, *, kept: bool) -> None:
    """A trial with 100,000 people must not wait for them; also where they go into a file."""
    numbers = count()

    def made(size: int) -> None:
        data = tmp_path / f"{next(numbers)}.db" if kept else None
        create_app(SandboxConfig(contacts=size, data=data)).state.sandbox.close()

    assert ratio(made, lambda size: size, 250) <= RATIO_MAX


def test_workspace_ids_follow_from_names() -> None:
    """Known in advance, so that settings can be written before the sandbox runs."""
    assert workspace_id("Operations") == workspace_id("Operations") != workspace_id("Support")
    assert SandboxConfig(workspaces=(("a", "4C"), ("b", None))).named_workspaces() == (
        ("a", "4C"),
        ("b", workspace_id("b")),
    )


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"username": "a:b"}, "username"),
        ({"vendor": "Not A Token"}, "vendor"),
        ({"contacts": -1}, "contacts"),
        ({"latency_ms": -1}, "latency_ms"),
        ({"rows": "long"}, "rows"),
        ({"prev_rel": "back"}, "prev_rel"),
        ({"device_limit": 11}, "device_limit"),
        ({"device_limit": 0}, "device_limit"),
        ({"workspaces": (("ops", "4c8f"),)}, "workspaces"),
        ({"workspaces": (("ops", "AA"), ("more", "AA"))}, "workspaces"),
        ({"workspaces": (("ops", None), ("ops", None))}, "workspaces"),
    ],
)
def test_an_option_that_cannot_be_meant_is_named(options: dict[str, Any], names: str) -> None:
    """ValueError before anything starts."""
    with pytest.raises(ValueError, match=f"^{names}: "):
        SandboxConfig(**options)
