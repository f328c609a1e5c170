"""Workspaces and the root document. Source: specification 1, 8, docs/service.md on workspaces."""

from pathlib import Path
from typing import Any

import pytest
from sandbox.asking import JANE, Sandbox, named, origin, vendor_type

SPACE = {"projectName": "Day Shift", "status": "A"}


@pytest.mark.spec("8/rule-3-workspaces")
def test_all_named_workspaces_come_in_one_answer() -> None:
    """Specification 8, rule 3: not paginated; recorded with the status of a page."""
    sandbox = Sandbox(workspaces=tuple((f"Shift {number}", None) for number in range(25)))

    answer = sandbox.get("/workspaces?limit=5&offset=3")

    document = answer.json()
    assert answer.headers["content-type"] == vendor_type("workspace")
    assert [row["projectName"] for row in document["workspaces"]] == sorted(
        f"Shift {number}" for number in range(25)
    )
    assert document["status"] == "1 to 25 of 25    "
    assert document["link"] == []


def test_a_row_has_id_name_status_and_its_own_link() -> None:
    """Recorded; optional keys are absent, not null."""
    document = Sandbox(workspaces=(("Night Shift", named),)).get("/workspaces").json()

    assert document["workspaces"] == [
        {
            "id": named,
            "projectName": "Night Shift",
            "status": "A",
            "link": [{"uri": f"{origin}/workspaces/{named}", "rel": "self", "method": "GET"}],
        }
    ]


def test_one_workspace_links_to_its_collections() -> None:
    """Documented: a link for each child collection."""
    document = Sandbox(workspaces=(("Night Shift", named),)).get(f"/workspaces/{named}").json()

    assert (document["id"], document["projectName"], document["status"]) == (named, "Night Shift", "A")
    assert rels(document) == {
        "self": f"{origin}/workspaces/{named}",
        "editWorkspaces": f"{origin}/workspaces/{named}",
        "retrieveMessage": f"{origin}/workspaces/{named}/messages",
        "createMessage": f"{origin}/workspaces/{named}/messages",
        "retrieveContacts": f"{origin}/workspaces/{named}/contacts",
        "createContact": f"{origin}/workspaces/{named}/contacts",
        "retrieveResources": f"{origin}/workspaces/{named}/resources",
        "createResource": f"{origin}/workspaces/{named}/resources",
    }


def test_the_root_document_leads_everywhere() -> None:
    """Facts 1: clients that follow links start here; without a workspace the default one is meant."""
    answer = Sandbox().get("/", headers={"accept": vendor_type("company")})

    assert answer.headers["content-type"] == vendor_type("company")
    assert list(answer.json()) == ["id", "link"]
    assert rels(answer.json()) == {
        "retrieveWorkspaces": f"{origin}/workspaces",
        "createWorkspaces": f"{origin}/workspaces",
        "retrieveCallbacks": f"{origin}/callbacks",
        "createCallback": f"{origin}/callbacks",
        "retrieveMessage": f"{origin}/messages",
        "createMessage": f"{origin}/messages",
        "retrieveContacts": f"{origin}/contacts",
        "createContact": f"{origin}/contacts",
        "retrieveResources": f"{origin}/resources",
        "createResource": f"{origin}/resources",
    }


def test_an_id_that_was_not_given_follows_from_the_name() -> None:
    """The same command line must lead to the same addresses; ids are upper-case hexadecimal."""
    first, second = (Sandbox(workspaces=(("Night Shift", None),)).get("/workspaces").json() for _ in range(2))

    wid = first["workspaces"][0]["id"]
    assert first == second
    assert len(wid) == 16
    assert set(wid) <= set("0123456789ABCDEF")


@pytest.mark.spec("1/workspaces")
def test_an_unknown_workspace_is_not_found() -> None:
    """Whatever is asked for in it; nothing falls back to the default workspace."""
    sandbox = Sandbox(contacts=1)

    for path in (
        "/workspaces/AB",
        "/workspaces/AB/contacts",
        "/workspaces/AB/resources",
        "/workspaces/default/contacts",
    ):
        assert sandbox.get(path).status_code == 404
    assert sandbox.post("/workspaces/AB/contacts", {"firstName": "Jane"}).status_code == 404
    assert sandbox.get("/contacts").json()["status"] == "1 to 1 of 1    "


def test_an_empty_id_is_not_the_collection() -> None:
    """A lost id must not act on the default workspace or on everything."""
    sandbox = Sandbox(contacts=1)

    for path in ("/workspaces//contacts", "/contacts//", "/contacts//devices"):
        assert sandbox.get(path).status_code == 404
        assert sandbox.delete(path).status_code == 404
    for path in ("/contacts/", "/workspaces/"):
        assert sandbox.delete(path).status_code == 405


def test_a_slash_at_the_end_changes_nothing() -> None:
    """Older clients write one; the links of the answer have none."""
    sandbox = Sandbox(contacts=25, workspaces=(("Night Shift", named),))
    jane = sandbox.created("/contacts", JANE)

    for path in ("/contacts", "/workspaces", f"/workspaces/{named}", f"/workspaces/{named}/contacts", jane):
        assert sandbox.get(f"{path}/").json() == sandbox.get(path).json()
    assert sandbox.created("/contacts/", JANE).startswith("/contacts/")
    assert sandbox.delete(f"{jane}/").status_code == 204


def test_a_workspace_is_created_and_can_be_used_at_once() -> None:
    """Facts 7: 201, Location, the whole workspace with its id and a link for each collection in it."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))

    answer = sandbox.post("/workspaces", {**SPACE, "projectNumber": "7", "billingcostcentre": "CC1"})

    document = answer.json()
    path = answer.headers["location"].removeprefix(origin)
    assert answer.status_code == 201
    assert path == f"/workspaces/{document['id']}"
    assert {name: document[name] for name in ("projectName", "status", "projectNumber")} == {
        **SPACE,
        "projectNumber": "7",
    }
    assert document["billingcostcentre"] == "CC1"
    assert sandbox.get(path).json() == document
    assert sandbox.post(f"{path}/contacts", {"firstName": "Jane"}).status_code == 201
    assert sandbox.get(f"/workspaces/{named}/contacts").json()["status"] == "No records found"
    rows = sandbox.get("/workspaces").json()["workspaces"]
    assert [row["projectName"] for row in rows] == ["Day Shift", "Night Shift"]


def test_what_is_optional_and_not_given_is_absent() -> None:
    """Facts 7: optional keys are absent, not null."""
    document = Sandbox().post("/workspaces", {**SPACE, "projectNumber": None}).json()

    assert list(document) == ["id", "projectName", "status", "link"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"status": "A"}, "projectName"),
        ({"projectName": "Day Shift"}, "status"),
        ({"projectName": "", "status": "A"}, "projectName"),
        ({"projectName": None, "status": "A"}, "projectName"),
        ({"projectName": 7, "status": "A"}, "projectName"),
        ({"projectName": "Day Shift", "status": "X"}, "status"),
        ({"projectName": "Day Shift", "status": "A", "projectNumber": 7}, "projectNumber"),
    ],
)
def test_name_and_status_are_required(body: dict[str, object], field: str) -> None:
    """Facts 7, 8: 422 names the field; nothing moved, neither by POST nor by PUT."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    before = sandbox.get("/workspaces").json()

    answers = [sandbox.post("/workspaces", body), sandbox.put(f"/workspaces/{named}", body)]

    assert [answer.status_code for answer in answers] == [422, 422]
    assert all(field in answer.json()["errorText"] for answer in answers)
    assert sandbox.get("/workspaces").json() == before


def test_a_workspace_is_replaced_in_its_place() -> None:
    """Facts 7: PUT, 204. Contents stay; absent fields are gone (assumed, as for contacts)."""
    sandbox = Sandbox(workspaces=(("Night Shift", named), ("Late Shift", None)))
    contact = sandbox.created(f"/workspaces/{named}/contacts", {"firstName": "Jane"})
    sandbox.put(f"/workspaces/{named}", {**SPACE, "projectNumber": "7"})

    answer = sandbox.put(f"/workspaces/{named}", {**SPACE, "status": "D"})

    document = sandbox.get(f"/workspaces/{named}").json()
    assert (answer.status_code, answer.content) == (204, b"")
    assert (document["projectName"], document["status"]) == ("Day Shift", "D")
    assert "projectNumber" not in document
    assert sandbox.get(contact).status_code == 200
    rows = sandbox.get("/workspaces").json()["workspaces"]
    assert [row["projectName"] for row in rows] == ["Day Shift", "Late Shift"]


def test_workspaces_are_kept_in_the_file(tmp_path: Path) -> None:
    """Created and changed ones; the command line's own name for an id does not undo a change."""
    data, given = tmp_path / "sandbox.db", (("Night Shift", named),)
    first = Sandbox(workspaces=given, data=data)
    path = first.created("/workspaces", {**SPACE, "projectName": "New"})
    first.put(f"/workspaces/{named}", SPACE)
    before = first.get("/workspaces").json()
    first.app.state.sandbox.close()

    second = Sandbox(workspaces=given, data=data)

    assert second.get("/workspaces").json() == before
    assert second.get(path).json()["projectName"] == "New"
    second.app.state.sandbox.close()


def test_a_workspace_is_written_in_xml() -> None:
    """Specification 9: the XML equivalent of the type."""
    body = (
        b'<n:workspace xmlns:n="http://schemas.api.whispir.com"><projectName>Day Shift</projectName>'
        b"<status>A</status></n:workspace>"
    )
    sandbox = Sandbox()

    answer = sandbox.post(
        "/workspaces", headers={"content-type": "application/vnd.service.workspace-v1+xml"}, content=body
    )

    assert answer.status_code == 201
    assert sandbox.get("/workspaces").json()["workspaces"][0]["projectName"] == "Day Shift"


def test_a_workspace_cannot_be_deleted() -> None:
    """No source knows such a request: METHOD not supported, and it is still there."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))

    answers = [sandbox.delete(f"/workspaces/{named}"), sandbox.delete("/workspaces"), sandbox.delete("/")]

    assert [answer.status_code for answer in answers] == [405] * 3
    assert sandbox.get("/workspaces").json()["status"] == "1 to 1 of 1    "


def rels(document: dict[str, Any]) -> dict[str, str]:
    """The links of a document by rel."""
    return {link["rel"]: link["uri"] for link in document["link"]}
