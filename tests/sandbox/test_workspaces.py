"""Workspaces and the root document: read only. Source: specification 1, 8, docs/service.md."""

from typing import Any

from sandbox.asking import Sandbox, named, origin, vendor_type


def test_all_named_workspaces_come_in_one_answer() -> None:
    """Specification 8, rule 3: not paginated; recorded with the status of a page."""
    sandbox = Sandbox(workspaces=tuple((f"Shift {number}", None) for number in range(25)))

    answer = sandbox.get("/workspaces?limit=5&offset=3")

    document = answer.json()
    assert answer.headers["content-type"] == vendor_type("workspace")
    assert [row["projectName"] for row in document["workspaces"]] == [
        f"Shift {number}" for number in range(25)
    ]
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
    """Documented: clients that follow links start here; without a workspace the default one is meant."""
    document = Sandbox().get("/").json()

    assert rels(document)["retrieveWorkspaces"] == f"{origin}/workspaces"
    assert rels(document)["createContact"] == f"{origin}/contacts"


def test_an_id_that_was_not_given_follows_from_the_name() -> None:
    """The same command line must lead to the same addresses; ids are upper-case hexadecimal."""
    first, second = (Sandbox(workspaces=(("Night Shift", None),)).get("/workspaces").json() for _ in range(2))

    wid = first["workspaces"][0]["id"]
    assert first == second
    assert len(wid) == 16
    assert set(wid) <= set("0123456789ABCDEF")


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

    for path in ("/workspaces//contacts", "/contacts/", "/workspaces/", "/contacts//devices"):
        assert sandbox.get(path).status_code == 404
        assert sandbox.delete(path).status_code == 404


def test_a_workspace_cannot_be_deleted() -> None:
    """No source knows such a request: METHOD not supported, and it is still there."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))

    answers = [sandbox.delete(f"/workspaces/{named}"), sandbox.delete("/workspaces"), sandbox.delete("/")]

    assert [answer.status_code for answer in answers] == [405] * 3
    assert sandbox.get("/workspaces").json()["status"] == "1 to 1 of 1    "


def rels(document: dict[str, Any]) -> dict[str, str]:
    """The links of a document by rel."""
    return {link["rel"]: link["uri"] for link in document["link"]}
