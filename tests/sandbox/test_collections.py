"""A collection that no specification names is one row, and is served like those of the service."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from sandbox.asking import Sandbox, last_segment, named, origin

from reconciler.sandbox import openapi
from reconciler.sandbox.collections import Collection, RowField
from reconciler.sandbox.config import SandboxConfig

TEMPLATE = Collection(
    name="template",
    plural="templates",
    fields=(
        RowField("name", required=True),
        RowField("subject"),
        RowField("body", required=True),
        RowField("type", one_of=("defaultNoReply", "defaultReply")),
    ),
    brief=("name", "type"),
    unique=("name",),
)
HELLO = {"name": "Hello", "subject": "A word", "body": "Good morning", "type": "defaultReply"}
V1 = "application/vnd.service.template-v1"


def serving(*rows: Collection, **options: Any) -> Sandbox:
    return Sandbox(collections=rows or (TEMPLATE,), workspaces=(("Night Shift", named),), **options)


@pytest.fixture
def sandbox() -> Sandbox:
    return serving()


def test_a_record_is_created_read_replaced_and_deleted(sandbox: Sandbox) -> None:
    """As with the service's own: 201 with Location, 200, 204, 204, and then 404."""
    made = sandbox.post("/templates", HELLO)
    path = made.headers["location"].removeprefix(origin)

    assert made.status_code == 201
    assert made.json() == sandbox.get(path).json()
    document = made.json()
    assert {name: document[name] for name in HELLO} == HELLO
    assert document["id"] == last_segment(path)
    assert [link["rel"] for link in document["link"]] == ["self", "updateTemplate", "deleteTemplate"]

    assert sandbox.put(path, {"name": "Hello", "body": "Good night"}).status_code == 204
    after = sandbox.get(path).json()
    assert (after["body"], "subject" in after, "type" in after) == ("Good night", False, False)

    assert sandbox.delete(path).status_code == 204
    assert sandbox.get(path).status_code == 404
    assert sandbox.get("/templates").json() == {"status": "No records found", "link": []}


def test_what_a_row_spares_stays_when_a_put_leaves_it_out() -> None:
    """Of the service's own, contacts keep their status and their options so."""
    sandbox = serving(
        Collection(name="note", plural="notes", fields=TEMPLATE.fields, spares=("subject", "body"))
    )
    path = sandbox.created("/notes", HELLO)

    assert sandbox.put(path, {"name": "Other", "body": None}).status_code == 204
    document = sandbox.get(path).json()
    assert (document["name"], document["subject"], document["body"]) == ("Other", "A word", "Good morning")
    assert "type" not in document


def test_a_list_has_pages_filters_and_an_order(sandbox: Sandbox) -> None:
    """Rows are brief; a filter is a part of the text in any letter case."""
    for number in range(25):
        sandbox.created("/templates", {**HELLO, "name": f"Note {number:02d}", "body": f"text {number % 5}"})

    first = sandbox.get("/templates").json()
    assert first["status"].strip() == "1 to 20 of 25"
    assert set(first["templates"][0]) == {"id", "name", "type", "link"}
    assert [link["rel"] for link in first["link"]] == ["next"]
    assert names(sandbox, "?offset=20") == [f"Note {number}" for number in range(20, 25)]
    assert names(sandbox, "?body=TEXT%203") == ["Note 03", "Note 08", "Note 13", "Note 18", "Note 23"]
    assert names(sandbox, "?sortFields=body,name&sortOrder=desc&limit=2") == ["Note 24", "Note 19"]
    assert sandbox.get("/templates?limit=x").status_code == 400


def test_a_list_can_begin_with_what_was_changed_last() -> None:
    """As the list of resources does."""
    sandbox = serving(Collection(name="note", plural="notes", fields=TEMPLATE.fields, order="updated"))
    paths = [sandbox.created("/notes", {**HELLO, "name": name}) for name in ("A", "B", "C")]

    sandbox.put(paths[1], {**HELLO, "name": "B2"})

    assert [row["name"] for row in sandbox.get("/notes").json()["notes"]] == ["B2", "C", "A"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": ""}, "name: required and missing"),
        ({"name": None, "body": None}, "name, body: required and missing"),
        ({"subject": 5}, "subject must be a string"),
        ({"type": "loud"}, "type must be one of defaultNoReply, defaultReply"),
    ],
)
def test_a_wrong_field_is_refused_by_name(sandbox: Sandbox, change: Mapping[str, object], told: str) -> None:
    """422, for a create and for an update, and nothing moves."""
    path = sandbox.created("/templates", HELLO)
    before = sandbox.get(path).json()

    for answer in (sandbox.post("/templates", {**HELLO, **change}), sandbox.put(path, {**HELLO, **change})):
        assert (answer.status_code, answer.json()["errorText"]) == (422, told)
    assert sandbox.get(path).json() == before
    assert names(sandbox, "") == ["Hello"]


def test_no_two_records_share_a_unique_field(sandbox: Sandbox) -> None:
    """Nor does an update take the name of another; its own it may keep."""
    first, second = (
        sandbox.created("/templates", HELLO),
        sandbox.created("/templates", {**HELLO, "name": "Bye"}),
    )

    assert sandbox.post("/templates", HELLO).status_code == 422
    assert sandbox.put(second, HELLO).status_code == 422
    assert sandbox.put(first, HELLO).status_code == 204


def test_a_workspace_has_its_own_records(sandbox: Sandbox) -> None:
    """Each is listed and read in its workspace alone, and linked from it."""
    path = sandbox.created(f"/workspaces/{named}/templates", HELLO)

    assert path.startswith(f"/workspaces/{named}/templates/")
    assert sandbox.get(f"/templates/{last_segment(path)}").status_code == 404
    assert names(sandbox, "") == []
    for address in ("/", f"/workspaces/{named}"):
        relations = [link["rel"] for link in sandbox.get(address).json()["link"]]
        assert {"retrieveTemplates", "createTemplate"} <= set(relations)


def test_it_speaks_xml_like_the_others(sandbox: Sandbox) -> None:
    """Sent and answered; the frames of a list are those of every list."""
    body = b'<a:template xmlns:a="http://schemas.api.whispir.com"><name>N</name><body>B</body></a:template>'
    headers = {"accept": f"{V1}+xml", "content-type": f"{V1}+xml"}

    made = sandbox.post("/templates", headers=headers, content=body)
    listed = ET.fromstring(sandbox.get("/templates", headers=headers).content)  # noqa: S314 - our own document

    assert made.status_code == 201
    root = ET.fromstring(made.content)  # noqa: S314 - our own document
    assert root.tag == "{http://schemas.api.whispir.com}template"
    assert (root.findtext("name"), root.findtext("body")) == ("N", "B")
    assert [one.tag.rpartition("}")[2] for one in listed] == ["status", "templates"]
    assert listed[1][0].findtext("name") == "N"
    other = sandbox.post("/templates", headers={**headers, "content-type": "application/json"}, content=b"{}")
    assert other.status_code == 415


def test_it_is_described(sandbox: Sandbox) -> None:
    """With and without a workspace, by schemas made from the row."""
    described = sandbox.get("/openapi.json").json()

    path = described["paths"]["/workspaces/{workspaceId}/templates/{templateId}"]
    assert {name for name in path if name != "parameters"} == {"get", "put", "delete"}
    assert described["paths"]["/templates"]["get"]["operationId"] == "list_templates"
    new = described["components"]["schemas"]["NewTemplate"]
    assert (new["required"], sorted(new["properties"])) == (["name", "body"], sorted(HELLO))
    text = json.dumps(described)
    assert all(name in described["components"]["schemas"] for name in references(text))
    assert "Template" not in json.dumps(openapi.openapi_document(SandboxConfig()))


RULE = Collection(
    name="note",
    plural="notes",
    fields=(
        RowField("name", required=True),
        RowField("active", type="flag"),
        RowField("priority", type="number"),
        RowField(
            "reply",
            required=True,
            type="group",
            parts=(RowField("body", required=True), RowField("key", withheld=True)),
        ),
    ),
)
NIGHT = {"name": "night", "active": True, "priority": 5, "reply": {"body": "Call", "key": "k"}}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"active": "true"}, "active must be true or false"),
        ({"priority": "5"}, "priority must be a number"),
        ({"priority": True}, "priority must be a number"),
        ({"reply": "Call"}, "reply must be an object"),
        ({"reply": {"key": "k"}}, "reply.body: required and missing"),
        ({"reply": None}, "reply: required and missing"),
    ],
)
def test_a_field_has_its_type(change: Mapping[str, object], told: str) -> None:
    """As JSON has it: a client that sends a number as a text is told so."""
    refused = serving(RULE).post("/notes", {**NIGHT, **change})

    assert (refused.status_code, refused.json()["errorText"]) == (422, told)


def test_what_is_withheld_is_taken_and_never_shown() -> None:
    """Neither in an answer nor in what is described; a list shows no more than one alone."""
    sandbox = serving(RULE)
    path = sandbox.created("/notes", NIGHT)

    assert sandbox.get(path).json()["reply"] == {"body": "Call"}
    assert sandbox.get("/notes").json()["notes"][0]["reply"] == {"body": "Call"}
    schemas = sandbox.get("/openapi.json").json()["components"]["schemas"]
    assert sorted(schemas["NewNote"]["properties"]["reply"]["properties"]) == ["body", "key"]
    assert sorted(schemas["Note"]["properties"]["reply"]["properties"]) == ["body"]
    assert schemas["Note"]["properties"]["priority"] == {"type": "number"}


def test_it_survives_in_the_file(tmp_path: Path) -> None:
    """With its order, and with ids that are given once."""
    first = serving(data=tmp_path / "state")
    path = first.created("/templates", HELLO)
    first.app.state.sandbox.close()

    second = serving(data=tmp_path / "state")
    assert second.get(path).json()["name"] == "Hello"
    assert second.created("/templates", {**HELLO, "name": "Bye"}) != path
    assert names(second, "") == ["Hello", "Bye"]
    second.app.state.sandbox.close()


@pytest.mark.parametrize(
    "change",
    [
        {"plural": "contacts"},
        {"plural": "workspaces"},
        {"media": "contact"},
        {"name": "resource"},
        {"name": "link"},
        {"fields": (RowField("id"),)},
        {"brief": ("nothing",)},
        {"spares": ("nothing",)},
    ],
    ids=str,
)
def test_a_row_that_contradicts_the_service_or_itself_is_refused(change: dict[str, Any]) -> None:
    """At the start, and not by what a client sees later."""
    with pytest.raises(ValueError, match=r"^(template|resource|link): "):
        serving(
            Collection(**{"name": "template", "plural": "templates", "fields": TEMPLATE.fields, **change})
        )


def test_a_row_can_be_plain_data() -> None:
    """So a file can hold it; one that contradicts itself is refused then too."""
    fields = [
        {"name": "name", "required": True},
        {"name": "subject"},
        {"name": "body", "required": True},
        {"name": "type", "one_of": ["defaultNoReply", "defaultReply"]},
    ]
    data = {"name": "template", "plural": "templates", "fields": fields}

    row = msgspec.convert({**data, "brief": ["name", "type"], "unique": ["name"]}, Collection)

    assert row == TEMPLATE
    with pytest.raises(msgspec.ValidationError, match=r"template: brief names age, which is no field"):
        msgspec.convert({**data, "brief": ["age"]}, Collection)


def names(sandbox: Sandbox, query: str) -> list[str]:
    return [row["name"] for row in sandbox.get(f"/templates{query}").json().get("templates", [])]


def references(text: str) -> Iterator[str]:
    return (part.partition('"')[0] for part in text.split("#/components/schemas/")[1:])
