"""Searching and sorting contacts. Source: specification 4.2, docs/service.md on lists."""

from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox.asking import JANE, Clock, Sandbox

PEOPLE: list[dict[str, Any]] = [
    {"firstName": "Sam", "lastName": "Lee", "jobTitle": "Nurse", "workEmailAddress1": "sam.lee@example.com"},
    {"firstName": "Samantha", "lastName": "Lee", "jobTitle": "Analyst", "workMobilePhone2": "+447700900123"},
    {"firstName": "Ada", "lastName": "Stone", "jobTitle": "Nurse", "status": "D"},
    {"firstName": "Zoe", "lastName": "abbott"},
]


def town(**options: Any) -> Sandbox:
    """A sandbox with these four, each with a number of its own."""
    sandbox = Sandbox(**options)
    for number, person in zip(("1234", "98123456", "77", ""), PEOPLE, strict=True):
        custom = [{"fieldName": "employeeId", "fieldValue": number}] if number else []
        sandbox.created("/contacts", {**person, "customFields": custom})
    return sandbox


def found(sandbox: Sandbox, query: str) -> list[str]:
    """The first names that the query finds."""
    answer = sandbox.get(f"/contacts?{query}")
    assert answer.status_code == 200, answer.text
    return [row["firstName"] for row in answer.json().get("contacts", [])]


@pytest.mark.spec("2.2/query-names", "2.2/firstName")
def test_a_filter_means_contains() -> None:
    """Documented: Sam finds Samantha as well, so a client must compare exactly by itself."""
    assert found(town(), "firstName=Sam") == ["Sam", "Samantha"]
    assert found(town(), "firstName=man") == ["Samantha"]


def test_a_filter_ignores_the_case_of_values_and_names() -> None:
    """The sources write firstname and firstName; that neither case matters is assumed."""
    assert found(town(), "firstname=SAM") == ["Sam", "Samantha"]


@pytest.mark.spec("2.2/jobTitle")
def test_several_filters_must_all_hold() -> None:
    """Documented: filters are combined with and."""
    assert found(town(), "firstName=sam&jobTitle=nurse") == ["Sam"]
    assert found(town(), "firstName=ada&jobTitle=analyst") == []


@pytest.mark.spec("2.2/workEmailAddressPrimary", "2.2/email")
@pytest.mark.parametrize(
    "query",
    [
        "workEmailAddress1=sam.lee%40example.com",
        "workEmailAddressPrimary=sam.lee@",
        "status=A&firstName=sam&lastName=l&jobTitle=nurse",
    ],
)
def test_query_names_may_differ_from_field_names(query: str) -> None:
    """Specification 2.2 names workEmailAddressPrimary; the body's name is workEmailAddress1."""
    assert found(town(), query) == ["Sam"]


def test_the_second_of_a_numbered_field_is_called_secondary() -> None:
    """Assumed, after the pattern of Primary."""
    assert found(town(), "workMobilePhoneSecondary=900123") == ["Samantha"]


@pytest.mark.spec("2.2/custom", "4.2/custom", "4.2/custom.type")
def test_custom_fields_are_searched_with_their_prefix() -> None:
    """Specification 4.2: custom_<name>. Contains here, too: 1234 also finds 98123456."""
    assert found(town(), "custom_employeeId=1234") == ["Sam", "Samantha"]
    assert found(town(), "custom_employeeId=98123456&firstName=s") == ["Samantha"]


@pytest.mark.spec("2.2/custom", "4.2/custom")
@pytest.mark.parametrize(
    "name",
    ["employeeId", "EMPLOYEEID", "x", "Field Name", "Größe", "2nd", "a-b.c", "custom_custom", "fields"],
)
def test_any_custom_field_is_found_by_the_name_that_it_has(name: str) -> None:
    """Specification 4.2: <name> is what the field is called; nobody has to be told about it before."""
    sandbox = town()
    for first, value in (("Kim", "blue"), ("Bo", "green")):
        custom = [{"fieldName": "other", "fieldValue": "blue"}, {"fieldName": name, "fieldValue": value}]
        sandbox.created("/contacts", {**JANE, "firstName": first, "customFields": custom})

    assert found(sandbox, urlencode({f"custom_{name}": "blue"})) == ["Kim"]
    assert found(sandbox, urlencode({f"custom_{name}": "e"})) == ["Kim", "Bo"]


def test_a_custom_field_that_nobody_has_finds_nobody() -> None:
    """A filter that fails open would return everyone."""
    assert found(town(), "custom_managedBy=ops") == []


def test_a_field_that_a_contact_lacks_does_not_match() -> None:
    """Absent is empty, and empty contains nothing."""
    assert found(town(), "workEmailAddress1=a") == ["Sam"]


def test_a_field_that_nobody_has_finds_nobody() -> None:
    """Specification 4.2: any field name. An ignored filter would answer the wrong people."""
    assert found(town(), "favouriteColour=blue") == []
    assert found(town(), "favouriteColour=blue&firstName=sam") == []


def test_a_field_of_ones_own_is_searched_like_the_others() -> None:
    """Fields that clients have added are contact fields too; their names are read in any case."""
    sandbox = town()
    sandbox.created("/contacts", {**JANE, "badgeColour": "Blue", "locations": [{"type": "Depot"}]})
    sandbox.created("/contacts", {**JANE, "firstName": "Kim", "badgeColour": "Green"})

    assert found(sandbox, "badgeColour=blue") == ["Jane"]
    assert found(sandbox, "BADGECOLOUR=gre") == ["Kim"]
    assert found(sandbox, "locations=depot") == ["Jane"]
    assert found(sandbox, "sortFields=badgeColour&sortOrder=desc&badgeColour=e") == ["Kim", "Jane"]


@pytest.mark.spec("4.2/rule-3")
def test_a_search_is_counted_and_paged_like_a_list() -> None:
    """Specification 4.2, rule 3."""
    sandbox = Sandbox(contacts=500)

    page = sandbox.get("/contacts?firstName=sam&offset=2&limit=3").json()

    assert page["status"].startswith("3 to 5 of ")
    assert int(page["status"].split()[-1]) < 500
    assert all("sam" in row["firstName"].lower() for row in page["contacts"])


@pytest.mark.spec("4.2/sortOrder", "4.2/sortFields")
def test_rows_are_sorted_by_the_fields_named() -> None:
    """Specification 4.2: sortFields, comma-separated, and sortOrder; case does not count (assumed)."""
    sandbox = town()

    assert found(sandbox, "sortFields=firstName") == ["Ada", "Sam", "Samantha", "Zoe"]
    assert found(sandbox, "sortFields=lastName,firstName") == ["Zoe", "Sam", "Samantha", "Ada"]
    assert found(sandbox, "sortFields=lastName,firstName&sortOrder=desc") == ["Ada", "Samantha", "Sam", "Zoe"]
    sandbox.created("/contacts", {"firstName": "Bo", "lastName": "Lee", "jobTitle": "Nurse"})
    sandbox.created("/contacts", {"firstName": "Bo", "lastName": "Lee", "jobTitle": "Analyst"})
    named = "fields=jobTitle&sortFields=lastName,firstName,jobTitle&lastName=lee"
    rows = sandbox.get(f"/contacts?{named}").json()["contacts"]
    assert [(row["firstName"], row["jobTitle"]) for row in rows] == [
        ("Bo", "Analyst"),
        ("Bo", "Nurse"),
        ("Sam", "Nurse"),
        ("Samantha", "Analyst"),
    ]


def test_without_sort_fields_the_order_is_that_of_creation() -> None:
    """Recorded for lists; desc turns it round (assumed), as do sort fields that nobody knows."""
    sandbox = town()

    assert found(sandbox, "sortOrder=desc") == ["Zoe", "Ada", "Samantha", "Sam"]
    assert found(sandbox, "sortFields=favouriteColour") == ["Sam", "Samantha", "Ada", "Zoe"]


def test_rows_are_sorted_by_custom_fields_and_by_time() -> None:
    """Times are written in two forms after a create and an update; the order is that of the moments."""
    clock = Clock()
    sandbox = Sandbox(clock=clock)
    paths = []
    for person in PEOPLE[:3]:
        clock.pass_s(10)
        paths.append(
            sandbox.created(
                "/contacts",
                {**person, "customFields": [{"fieldName": "n", "fieldValue": person["lastName"]}]},
            )
        )
    clock.pass_s(10)
    sandbox.put(paths[0], {**PEOPLE[0], "customFields": [{"fieldName": "n", "fieldValue": "zz"}]})

    assert found(sandbox, "sortFields=lastModifiedTime") == ["Samantha", "Ada", "Sam"]
    assert found(sandbox, "sortFields=custom_n") == ["Samantha", "Ada", "Sam"]


def test_an_order_that_is_none_is_refused() -> None:
    """Assumed: 400, as for a page that is no number."""
    answer = town().get("/contacts?sortOrder=up")

    assert answer.status_code == 400
    assert "sortOrder" in answer.json()["errorText"]


def test_many_different_searches_are_answered_one_by_one() -> None:
    """Answers are kept for a while, for walking their pages; more of them than are kept change nothing."""
    sandbox = Sandbox(contacts=60)

    searches = [f"workEmailAddress1=.{number}@" for number in range(1, 31)]
    twice = [[found(sandbox, query) for query in searches] for _ in range(2)]

    assert twice[0] == twice[1]
    assert all(len(names) == 1 for names in twice[0])


def test_a_search_sees_every_change_at_once() -> None:
    """Creates, updates and deletes change what was searched before."""
    sandbox = town()
    assert found(sandbox, "lastName=lee&sortFields=firstName") == ["Sam", "Samantha"]

    path = sandbox.created("/contacts", {"firstName": "Bo", "lastName": "Lee"})
    assert found(sandbox, "lastName=lee&sortFields=firstName") == ["Bo", "Sam", "Samantha"]
    sandbox.put(path, {"firstName": "Bo", "lastName": "Moved"})
    assert found(sandbox, "lastName=lee&sortFields=firstName") == ["Sam", "Samantha"]
    assert found(sandbox, "lastName=moved") == ["Bo"]
    sandbox.delete(path)
    assert found(sandbox, "lastName=moved") == []
    assert found(sandbox, "firstName=zoe") == ["Zoe"]


names = st.sampled_from(["Sam", "Samantha", "Ada", "Zo", "zoe", "", "Amma"])
steps = st.lists(
    st.tuples(st.sampled_from(["create", "update", "delete", "search"]), names, st.integers(0, 5)),
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(steps)
def test_a_search_equals_reading_everyone_and_comparing(script: list[tuple[str, str, int]]) -> None:
    """Law: whatever happened before, the fast search finds what a plain comparison finds."""
    sandbox = Sandbox()
    model: dict[str, str] = {}
    for verb, name, at in script:
        path = next(iter([*model][at:]), None)
        if verb == "create":
            model[sandbox.created("/contacts", {**JANE, "firstName": name})] = name
        elif verb == "update" and path is not None:
            sandbox.put(path, {**JANE, "firstName": name})
            model[path] = name
        elif verb == "delete" and path is not None:
            sandbox.delete(path)
            del model[path]
        else:
            expected = [one for one in model.values() if name.lower() in one.lower()]
            rows = sandbox.get("/contacts", headers={"x-api-key": "demo-key"}).json().get("contacts", [])
            assert [row["firstName"] for row in rows] == [*model.values()][:20]
            assert found(sandbox, f"firstName={name}") == expected[:20]
