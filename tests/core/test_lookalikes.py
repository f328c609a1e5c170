"""A delete and a create that look like one entity: a hint beside both, and nothing is done about it."""

import json

import pytest
from core.build import at
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from report import cases

from reconciler.core.review.display_names import find_lookalikes
from reconciler.model.documents import Fields
from reconciler.model.plans import Change, Create, Delete, Plan, Verdict
from reconciler.report.json import plan_json
from reconciler.report.lines import plain
from reconciler.report.text import plan_lines

PLACE = "manifests/ops.yaml:12"
JANE: Fields = {
    "firstName": "Jane",
    "lastName": "Doe",
    "workEmailAddress1": "jane.doe@example.com",
    "workMobilePhone1": "+61 491 570 110",
}


def gone(address: str, fields: Fields = JANE, /, **changes: str) -> Delete:
    return Delete(at(address), "9A07", {**fields, **changes})


def made(address: str, fields: Fields = JANE, /, *, place: str = PLACE, **changes: str) -> Create:
    return Create(at(address), place, {**fields, **changes})


def plan_of(*changes: Change) -> Plan:
    return structs.replace(cases.EMPTY, changes=changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"workEmailAddress1": "jane@example.net", "workMobilePhone1": "+61491570110"},
        {"workEmailAddress1": "JANE.DOE@example.net", "lastName": "Roe", "workMobilePhone1": "+61491570156"},
        {"lastName": "Roe", "workMobilePhone1": ""},
    ],
    ids=["name and phone", "local part of the address", "the same address"],
)
def test_who_looks_like_somebody_who_goes_is_told_beside_both(changes: dict[str, str]) -> None:
    """Deleted and made again, a person loses what the service keeps of her."""
    old, new = gone("contact/ops/jane-doe"), made("contact/ops/jane-roe", **changes)

    assert find_lookalikes(plan_of(old, new)) == {old.address: new.address, new.address: old.address}


@pytest.mark.parametrize(
    "other",
    [
        made("contact/lab/jane-doe"),
        made("contact/ops/sam", {"firstName": "Jane", "lastName": "Doe", "workMobilePhone1": "+61491570156"}),
        made("contact/ops/sam", {"firstName": "Sam", "workEmailAddress1": "sam@example.com"}),
        made("contact/ops/sam", {"firstName": "Sam", "lastName": "Lee", "workMobilePhone1": "+61491570110"}),
    ],
    ids=["another workspace", "a namesake", "somebody else", "a shared phone"],
)
def test_nobody_is_taken_for_somebody_else(other: Create) -> None:
    assert find_lookalikes(plan_of(gone("contact/ops/jane-doe"), other)) == {}


def test_a_trait_of_several_tells_nobody() -> None:
    """Which of two it is would be a guess; a shared mailbox is no person."""
    changes = (
        gone("contact/ops/a", {"workEmailAddress1": "info@example.com"}),
        gone("contact/ops/b", {"workEmailAddress1": "info@example.org"}),
        made("contact/ops/c", {"workEmailAddress1": "info@example.net"}),
    )

    assert find_lookalikes(plan_of(*changes)) == {}


def test_a_device_with_the_same_token_is_the_same_device() -> None:
    """The masks of one plan are comparable. A withheld password is the same word for everybody."""
    token, withheld = {"pushToken": "secret:0123456789abcdef"}, {"password": "secret:withheld"}
    old, new = gone("device/ops/jane-doe/pixel", token), made("device/ops/jane-doe/phone", token)
    moved = made("device/ops/sam-lee/phone", token)

    assert find_lookalikes(plan_of(old, new)) == {old.address: new.address, new.address: old.address}
    assert find_lookalikes(plan_of(old, moved)) == {}
    assert find_lookalikes(plan_of(gone("contact/ops/a", withheld), made("contact/ops/b", withheld))) == {}


@given(st.data())
def test_the_order_of_a_plan_changes_no_hint(data: st.DataObject) -> None:
    emails = st.sampled_from(("ann@example.com", "ann@example.org", "bob@example.com", "bob@example.net"))
    changes = [
        make(f"contact/ops/{word}{number}", {"workEmailAddress1": data.draw(emails)})
        for word, make in (("old", gone), ("new", made))
        for number in range(data.draw(st.integers(0, 3)))
    ]

    found = find_lookalikes(plan_of(*changes))

    assert find_lookalikes(plan_of(*data.draw(st.permutations(changes)))) == found
    assert {found[found[one]] for one in found} == set(found)
    assert all(found[one] != one for one in found)


@pytest.mark.parametrize(
    ("place", "step"),
    [
        ("manifests/ops.yaml:12", "`meta: {renamedFrom: jane-doe}` at manifests/ops.yaml:12"),
        ("people/staff.csv:12", "a roster row cannot declare a rename"),
    ],
)
def test_the_hint_says_what_to_write_and_where(place: str, step: str) -> None:
    plan = plan_of(gone("contact/ops/jane-doe"), made("contact/ops/jane-roe", place=place))

    text = plain(plan_lines(plan, Verdict()))

    assert "looks like a rename of contact/ops/jane-doe, which is deleted" in text
    assert "looks like contact/ops/jane-roe, which is created: see that change" in text
    assert step in text


def test_json_has_the_hint_beside_the_plan_and_not_in_it() -> None:
    """A program that reviews plans can ask about it; the plan itself, and its fingerprint, say nothing."""
    old, new = gone("contact/ops/jane-doe"), made("contact/ops/jane-roe", lastName="Roe")

    shown = json.loads(plan_json(plan_of(old, new), Verdict(), 0))
    row = json.loads(plan_json(plan_of(old, structs.replace(new, place="staff.csv:7")), Verdict(), 0))

    step = f"if so, write `meta: {{renamedFrom: jane-doe}}` at {PLACE}"
    assert shown["lookalikes"] == [{"created": new.address, "deleted": old.address, "next": step}]
    assert row["lookalikes"][0]["next"].startswith("a roster row cannot declare a rename")
    assert "lookalikes" not in shown["plan"]
    assert json.loads(plan_json(plan_of(new), Verdict(), 0))["lookalikes"] == []
