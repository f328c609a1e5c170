"""Resources: uploads that are described, never given back. Source: specification 2.3, 4.3, docs."""

import base64
import re
from typing import Any

import pytest
from sandbox.asking import Sandbox, last_segment, named, origin, resource_body, vendor_type

from reconciler.sandbox.openapi import SCHEMAS


def names(sandbox: Sandbox, query: str = "") -> list[str]:
    """The names in the list, in its order."""
    return [row["name"] for row in sandbox.get(f"/resources{query}").json().get("resources", [])]


@pytest.mark.spec("2.3/media-json", "4.3/create", "4.3/type-json", "4.3/gap-bodies", "4.3/gap-statuses")
def test_a_create_answers_201_with_address_id_and_links() -> None:
    """Known from the vendor's collection: Location, and a body with id and links."""
    answer = Sandbox().post("/resources", resource_body())

    uri = answer.headers["location"]
    types = "application/vnd.service.resource-v1+xml,application/vnd.service.resource-v1+json"
    assert answer.status_code == 201
    assert answer.headers["content-type"] == vendor_type("resource")
    assert answer.json() == {
        "id": last_segment(uri),
        "name": "staff.csv",
        "scope": "private",
        "mimeType": "text/csv",
        "link": [
            {"uri": uri, "rel": "self", "method": "GET"},
            {"uri": uri, "rel": "updateResource", "method": "PUT", "type": types},
            {"uri": uri, "rel": "deleteResource", "method": "DELETE"},
        ],
    }


@pytest.mark.spec("1/resources", "2.3/representation", "2.3/gap", "4.3/get")
def test_reading_a_resource_gives_its_representation_alone() -> None:
    """Specification 2.3: not a download of the stored data; no id (an option gives it)."""
    for id_in_get in (False, True):
        sandbox = Sandbox(id_in_get=id_in_get)
        path = sandbox.created("/resources", resource_body())

        document = sandbox.get(path).json()

        assert document.keys() - {"id"} == {"name", "scope", "mimeType", "link"}
        assert ("id" in document) is id_in_get
        assert {name: document[name] for name in ("name", "scope", "mimeType")} == {
            "name": "staff.csv",
            "scope": "private",
            "mimeType": "text/csv",
        }
        assert [link["rel"] for link in document["link"]] == ["self", "updateResource", "deleteResource"]


@pytest.mark.spec("2.3/representation")
def test_the_content_is_never_returned() -> None:
    """Specification 2.3: derefUri is written and never read, so a client must remember what it sent."""
    sandbox = Sandbox()
    secret = b"name;mail\nJane;jane.doe@example.com\n"
    path = sandbox.created("/resources", resource_body(secret))
    encoded = base64.b64encode(secret).decode()

    for answer in (sandbox.get(path), sandbox.get("/resources")):
        assert "derefUri" not in answer.text
        assert encoded not in answer.text


def test_only_a_public_resource_has_an_address_for_everyone() -> None:
    """Documented: url for public ones alone; here it leads to the content."""
    sandbox = Sandbox()
    private = sandbox.created("/resources", resource_body())
    public = sandbox.created("/resources", resource_body(b"\x89PNG", scope="public", mimeType="image/png"))

    assert "url" not in sandbox.get(private).json()
    url = sandbox.get(public).json()["url"]
    shown = sandbox.get(url.removeprefix(origin), headers={"authorization": "", "x-api-key": ""})

    assert (shown.status_code, shown.content, shown.headers["content-type"]) == (200, b"\x89PNG", "image/png")


@pytest.mark.spec("2.3/uris")
def test_a_row_has_no_id_but_its_own_link() -> None:
    """Documented: the id is taken from the self link."""
    sandbox = Sandbox()
    path = sandbox.created("/resources", resource_body())

    page = sandbox.get("/resources").json()

    assert page == {
        "resources": [
            {
                "name": "staff.csv",
                "scope": "private",
                "mimeType": "text/csv",
                "link": [{"uri": f"{origin}{path}", "rel": "self", "method": "GET"}],
            }
        ],
        "status": "1 to 1 of 1    ",
        "link": [],
    }


@pytest.mark.spec("2.3/order", "4.3/list")
def test_the_most_recently_updated_resource_comes_first() -> None:
    """Specification 2.3 and 4.3; an update in the middle of a walk shifts the pages."""
    sandbox = Sandbox()
    paths = [sandbox.created("/resources", resource_body(name=f"{name}.csv")) for name in "abc"]
    assert names(sandbox) == ["c.csv", "b.csv", "a.csv"]

    sandbox.put(paths[0], resource_body(name="a.csv"))

    assert names(sandbox) == ["a.csv", "c.csv", "b.csv"]


@pytest.mark.spec("8/rule-1")
def test_the_list_has_pages() -> None:
    """Specification 8."""
    sandbox = Sandbox()
    for number in range(23):
        sandbox.created("/resources", resource_body(name=f"{number}.csv"))

    page = sandbox.get("/resources?offset=20").json()

    assert [row["name"] for row in page["resources"]] == ["2.csv", "1.csv", "0.csv"]
    assert page["status"] == "21 to 23 of 23    "
    assert [link["rel"] for link in page["link"]] == ["prev"]


def test_the_list_is_filtered_by_scope_and_by_a_part_of_the_name() -> None:
    """Documented: scope=, and name= which means contains."""
    sandbox = Sandbox()
    sandbox.created("/resources", resource_body(name="staff.csv"))
    sandbox.created("/resources", resource_body(name="old-Staff.csv"))
    sandbox.created("/resources", resource_body(name="logo.csv", scope="public"))

    assert names(sandbox, "?name=staff") == ["old-Staff.csv", "staff.csv"]
    assert names(sandbox, "?scope=public") == ["logo.csv"]
    assert names(sandbox, "?scope=private&name=staff.csv") == ["old-Staff.csv", "staff.csv"]
    assert names(sandbox, "?scope=public&name=staff") == []


def test_two_resources_may_have_one_name() -> None:
    """No uniqueness rule is stated anywhere."""
    sandbox = Sandbox()

    assert sandbox.created("/resources", resource_body()) != sandbox.created("/resources", resource_body())


@pytest.mark.spec("4.3/update", "4.3/gap-statuses")
def test_an_update_answers_204_and_replaces_everything() -> None:
    """Specification 4.3: the resource is updated with the supplied one; 204 is the suggested reading."""
    sandbox = Sandbox()
    path = sandbox.created("/resources", resource_body())
    body = resource_body(b"[1]", name="staff.json", mimeType="application/json", scope="public")

    answer = sandbox.put(path, body)

    document = sandbox.get(path).json()
    assert (answer.status_code, answer.content) == (204, b"")
    assert (document["name"], document["scope"], document["mimeType"]) == (
        "staff.json",
        "public",
        "application/json",
    )
    assert sandbox.get(f"/_sandbox{path}/content").content == b"[1]"


@pytest.mark.spec("4.3/delete", "4.3/gap-statuses")
def test_a_deleted_resource_is_gone() -> None:
    """Specification 4.3; 204, then 404."""
    sandbox = Sandbox()
    path = sandbox.created("/resources", resource_body())

    assert sandbox.delete(path).status_code == 204

    assert [sandbox.get(path).status_code, sandbox.delete(path).status_code] == [404, 404]
    assert sandbox.put(path, resource_body()).status_code == 404
    assert names(sandbox) == []


@pytest.mark.spec("4.3/gap-bodies")
@pytest.mark.parametrize("missing", ["name", "scope", "mimeType", "derefUri"])
def test_all_four_fields_stand_in_every_create_and_update(missing: str) -> None:
    """Documented as mandatory in both; the missing one is named, and nothing is written."""
    sandbox = Sandbox()
    path = sandbox.created("/resources", resource_body())
    body = {name: value for name, value in resource_body(name="other.csv").items() if name != missing}

    refusals = [sandbox.post("/resources", body), sandbox.put(path, body)]

    assert [refused.status_code for refused in refusals] == [422, 422]
    assert all(missing in refused.json()["errorText"] for refused in refusals)
    assert names(sandbox) == ["staff.csv"]


@pytest.mark.parametrize(
    ("changed", "named_field"),
    [
        ({"scope": "PRIVATE"}, "scope"),
        ({"scope": "secret"}, "scope"),
        ({"mimeType": "image/png"}, "mimeType"),
        ({"mimeType": "text/plain"}, "mimeType"),
        ({"derefUri": "not base64!"}, "derefUri"),
        ({"derefUri": "bmFtZQ"}, "derefUri"),
        ({"derefUri": "é"}, "derefUri"),
        ({"name": ""}, "name"),
    ],
)
def test_a_field_with_a_wrong_value_is_refused(changed: dict[str, str], named_field: str) -> None:
    """Documented: scope in lower case; private takes CSV, JSON and XML alone; 422."""
    sandbox = Sandbox()

    refused = sandbox.post("/resources", {**resource_body(), **changed})

    assert refused.status_code == 422
    assert named_field in refused.json()["errorText"]
    assert names(sandbox) == []


def test_a_field_that_is_no_text_is_refused() -> None:
    """422, the field named."""
    refused = Sandbox().post("/resources", {**resource_body(), "name": 7})

    assert refused.status_code == 422
    assert "name" in refused.json()["errorText"]


def test_a_public_resource_may_be_of_any_type() -> None:
    """Documented."""
    body = resource_body(b"RIFF", scope="public", mimeType="audio/wav")

    assert Sandbox().post("/resources", body).status_code == 201


@pytest.mark.parametrize(
    ("mime_type", "content"),
    [
        ("text/csv", b'name;mail\n"open quote;x\n'),
        ("text/csv", b"name\xff\n"),
        ("text/csv", b"name\0\n"),
        ("application/json", b'{"a": 1,}'),
        ("application/json", b"[" * 100_000),
        ("application/xml", b"<a><b></a>"),
        ("application/xml", b"no markup"),
    ],
)
def test_content_that_is_not_what_it_says_is_refused(mime_type: str, content: bytes) -> None:
    """Documented: malformed CSV, JSON or XML is 422."""
    sandbox = Sandbox()

    refused = sandbox.post("/resources", resource_body(content, mimeType=mime_type))

    assert refused.status_code == 422
    assert mime_type in refused.json()["errorText"]
    assert names(sandbox) == []


@pytest.mark.spec("2.3/payload")
@pytest.mark.parametrize(
    ("mime_type", "content"),
    [
        ("text/csv", b'\xef\xbb\xbfname,mail\n"Doe, Jane","a ""b"""\n'),
        ("text/csv", b'"Surname";"First name"\n"Riley";"IT ""Run"""\n'),
        ("application/json", b'{"a": [1, null]}'),
        ("application/xml", b"<?xml version='1.0'?><a b='c'/>"),
    ],
)
def test_content_that_is_what_it_says_is_taken(mime_type: str, content: bytes) -> None:
    """And comes out of the control interface as it went in."""
    sandbox = Sandbox()

    path = sandbox.created("/resources", resource_body(content, mimeType=mime_type))

    assert sandbox.get(f"/_sandbox{path}/content").content == content


def test_a_request_over_the_limit_is_refused_at_the_gateway() -> None:
    """Documented: over 10485760 bytes 413 with a bare text, before anything else is looked at."""
    sandbox = Sandbox()
    kept = resource_body(b"a" * 7_000_000)
    assert sandbox.post("/resources", kept).status_code == 201

    refused = sandbox.post("/resources", content=b" " * 10_485_761)

    assert refused.status_code == 413
    assert refused.headers["content-type"] == "text/plain"
    assert not refused.content.startswith((b"{", b'"'))
    assert names(sandbox) == ["staff.csv"]


def test_a_file_over_the_limit_is_refused_by_the_service() -> None:
    """Documented: over 10 MB decoded is 422; a smaller limit here, for base64 makes files larger."""
    sandbox = Sandbox(resource_bytes_max=10)

    assert sandbox.post("/resources", resource_body(b"0123456789")).status_code == 201
    refused = sandbox.post("/resources", resource_body(b"0123456789a"))

    assert refused.status_code == 422
    assert "derefUri" in refused.json()["errorText"]
    assert names(sandbox) == ["staff.csv"]


def test_resources_vanish_by_themselves() -> None:
    """Documented retention: 30 or 90 days; here on request, those named or all."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    paths = [sandbox.created("/resources", resource_body(name=f"{name}.csv")) for name in "abc"]
    abroad = sandbox.created(f"/workspaces/{named}/resources", resource_body())

    some = sandbox.post("/_sandbox/resources/expire", {"ids": [last_segment(paths[0])]})
    assert some.json() == {"expired": 1}
    assert sandbox.get(paths[0]).status_code == 404
    assert names(sandbox) == ["c.csv", "b.csv"]

    assert sandbox.post("/_sandbox/resources/expire").json() == {"expired": 3}
    assert names(sandbox) == []
    assert sandbox.get(abroad).status_code == 404


def test_workspaces_do_not_see_each_others_resources() -> None:
    """Specification 4.3: the path names the workspace, or means the default one."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    path = sandbox.created(f"/workspaces/{named}/resources", resource_body())

    assert sandbox.get(f"/resources/{last_segment(path)}").status_code == 404
    assert names(sandbox) == []
    assert sandbox.get(path).status_code == 200


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 57, 58, 200])
def test_base64_may_have_line_breaks_and_padding(size: int, ending: str) -> None:
    """As encoders for mail write it: a break after 76 signs and at the end. Two of three files end with =."""
    content = b"n" * (size - 1) + b"\n"
    broken = base64.encodebytes(content).decode().replace("\n", ending)
    sandbox = Sandbox()

    path = sandbox.created("/resources", resource_body(derefUri=broken))

    assert sandbox.get(f"/_sandbox{path}/content").content == content
    described: Any = SCHEMAS["NewResource"]["properties"]
    assert re.search(described["derefUri"]["pattern"], broken)
