"""The model of the service as bytes: a request in, an answer out, in JSON or XML, as the switches say.

What the entities do is modelservice.py; what goes wrong on the way is network.py.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote
from xml.etree import ElementTree as ET  # the model reads only what our own client wrote

from simulation.modelservice import EPOCH, Body, Model, Refused, Row, Switches, Write

API = "{http://schemas.api.whispir.com}"
DAP = "{http://schemas.api.whispir.com/dap}"
KINDS = {"contacts": "contact", "devices": "device", "resources": "resource"}
BRIEF = ("firstName", "lastName", "lastModifiedTime", "status")
_ROWS = {"messagingoptions": "messagingoption", "customFields": "customField", "locations": "location"}
_ATTRIBUTES = frozenset({"channel"})
_NOT_FILTERS = frozenset({"limit", "offset", "fields", "customFields", "sortOrder", "sortFields"})
LINKS = "https://api.elsewhere.example.com"  # recorded: links name another host than the one that was asked


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service says, and the write that it carried out, if any."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    write: Write | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, taken apart."""

    method: str
    kind: str  # "workspace" for the list of workspaces
    workspace: str
    one: str
    parent: str
    query: Mapping[str, str]


def taken_apart(method: str, path: str, query: str) -> Asked:
    """Raises Refused for a path that the service does not have."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    workspace = ""
    if parts[0] == "workspaces":
        if len(parts) == 1:
            return Asked(method, "workspace", "", "", "", {})
        workspace, parts = parts[1], parts[2:]
    parent = ""
    if len(parts) > 2 and parts[0] == "contacts":
        parent, parts = parts[1], parts[2:]
    if len(parts) not in (1, 2) or parts[0] not in KINDS or not all(parts):
        raise Refused(404, "no such path")
    one = parts[1] if len(parts) == 2 else ""
    return Asked(method, KINDS[parts[0]], workspace, one, parent, dict(parse_qsl(query)))


def answer(model: Model, method: str, path: str, query: str, content: bytes) -> Answer:
    """Carry a request out."""
    try:
        asked = taken_apart(method, path, query)
        return _ANSWERS[method, bool(asked.one)](model, asked, content)
    except Refused as refused:
        return refusal(model.switches, refused.status, str(refused), model.now())


def refusal(
    switches: Switches, status: int, why: str, now: float, headers: Mapping[str, str] | None = None
) -> Answer:
    """A refusal in the world's form. A 404 of the service itself never is a page."""
    form = "json" if status == 404 and switches.errors in ("html", "text") else switches.errors
    match form:
        case "json":
            body = json.dumps({"errorSummary": why, "errorText": why, "link": []}).encode()
        case "text":
            body = why.encode()
        case "html":
            body = f"<html><body>{why}</body></html>".encode()
        case _:
            body = b""
    return Answer(status, body, {**dated(now), **(headers or {})})


def dated(now: float) -> dict[str, str]:
    moment = EPOCH + timedelta(seconds=now)
    return {"date": moment.strftime("%a, %d %b %Y %H:%M:%S GMT"), "content-type": "application/json"}


def _list(model: Model, asked: Asked, _content: bytes) -> Answer:
    if asked.kind == "workspace":
        rows = [
            {"id": sid, "projectName": name, "status": "A", "link": []}
            for sid, name in model.workspaces.items()
        ]
        return _said(model, {"workspaces": rows, "status": "", "link": []}, "workspaces")
    if asked.kind == "device" or (asked.workspace and asked.workspace not in model.workspaces):
        raise Refused(404, "no such list")
    filters = {name: text for name, text in asked.query.items() if name not in _NOT_FILTERS}
    found = model.listed(asked.kind, asked.workspace, filters)
    offset = int(asked.query.get("offset", "0"))
    limit = min(int(asked.query.get("limit", "20")) or 20, model.switches.page)
    page = found[offset : offset + limit]
    plural = f"{asked.kind}s"
    if not page:
        return _said(model, {"status": "No records found", "link": []}, plural)
    total = f"{offset + 1} to {offset + len(page)} of {len(found)}    "
    more = offset + len(page) < len(found)
    uri = f"{LINKS}/{plural}?offset={offset + limit}&limit={limit}"
    links = [{"uri": uri, "rel": "next", "method": "GET"}] if more and model.switches.counted else []
    shown = [_row(model, row, asked.query) for row in page]
    status = total if model.switches.counted else ""
    return _said(model, {plural: shown, "status": status, "link": links}, plural)


def _get(model: Model, asked: Asked, _content: bytes) -> Answer:
    row = model.row(asked.kind, asked.workspace, asked.one, asked.parent)
    return _said(model, _whole(model, row, custom="customFields" in asked.query), asked.kind)


def _post(model: Model, asked: Asked, content: bytes) -> Answer:
    if asked.workspace and asked.workspace not in model.workspaces:
        raise Refused(404, "no such workspace")
    write = model.create(asked.kind, asked.workspace, _body(model, content), asked.parent)
    return replace(made_answer(model, model.rows[write.id], asked), write=write)


def made_answer(model: Model, row: Row, asked: Asked) -> Answer:
    """What a create is answered with that has made this row."""
    headers = {"location": _uri(row)}
    if model.switches.created == "location":
        return Answer(201, b"", {**dated(model.now()), **headers})
    shown = _whole(
        model, row, custom=model.switches.created == "whole" and asked.query.get("customFields") == "true"
    )
    return _said(model, shown, asked.kind, 201, headers=headers)


def _put(model: Model, asked: Asked, content: bytes) -> Answer:
    write = model.replace(asked.kind, asked.workspace, asked.one, _body(model, content), asked.parent)
    return replace(done_answer(model, model.rows[asked.one], "PUT"), write=write)


def _delete(model: Model, asked: Asked, _content: bytes) -> Answer:
    row = model.row(asked.kind, asked.workspace, asked.one, asked.parent)
    write = model.delete(asked.kind, asked.workspace, asked.one, asked.parent)
    return replace(done_answer(model, row, "DELETE"), write=write)


def done_answer(model: Model, row: Row, method: str) -> Answer:
    """What a replace or a delete of this row is answered with."""
    if method == "PUT" and model.switches.replaced == "body":
        return _said(model, _whole(model, row, custom=False), row.kind, 200)
    empty = method == "DELETE" or model.switches.replaced == "empty"
    return Answer(204 if empty else 200, b"", dated(model.now()))


def _no_method(_model: Model, asked: Asked, _content: bytes) -> Answer:
    raise Refused(405, f"{asked.method} is not offered here")


_ANSWERS = {
    ("GET", False): _list,
    ("GET", True): _get,
    ("POST", False): _post,
    ("PUT", True): _put,
    ("DELETE", True): _delete,
    ("POST", True): _no_method,
    ("PUT", False): _no_method,
    ("DELETE", False): _no_method,
}


def _row(model: Model, row: Row, query: Mapping[str, str]) -> Body:
    """A list row: whole, or what every row tells and the fields that were asked for."""
    links = {"link": [{"uri": f"{_uri(row)}?limit=20&offset=0", "rel": "self", "method": "GET"}]}
    if row.kind == "resource":
        return {**copy.deepcopy(row.body), **links}
    if model.switches.whole:
        return {"id": row.id, **_whole(model, row, custom=query.get("customFields") == "true")}
    asked = query.get("fields", "").split(",") if model.switches.heeds_fields else []
    shown = {key: row.body[key] for key in (*BRIEF, *asked) if key in row.body}
    if "customFields" in query and model.switches.heeds_fields:
        shown["customFields"] = row.body.get("customFields", [])
    return copy.deepcopy({"id": row.id, "messagingoptions": [], "devices": [], **shown, **links})


def _whole(model: Model, row: Row, *, custom: bool) -> Body:
    body = copy.deepcopy(row.body)
    if not custom:
        body.pop("customFields", None)
    if row.kind == "contact":
        body["devices"] = [_whole(model, one, custom=False) for one in model.devices(row.id)]
    else:
        body["id"] = row.id
    if row.kind == "device":
        body["registrationDate"] = body["lastModifiedDate"] = "2026-03-01"
    body["link"] = [{"uri": _uri(row), "rel": "self", "method": "GET"}]
    return body


def _uri(row: Row) -> str:
    within = f"/workspaces/{row.workspace}" if row.workspace else ""
    above = f"/contacts/{row.parent}" if row.parent else ""
    return f"{LINKS}{within}{above}/{row.kind}s/{row.id}"


def _said(
    model: Model,
    document: Body,
    root: str,
    status: int = 200,
    *,
    write: Write | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    content = json.dumps(document).encode() if model.switches.form == "json" else _xml(document, root)
    return Answer(status, content, {**dated(model.now()), **(headers or {})}, write)


def _body(model: Model, content: bytes) -> Body:
    if model.switches.form == "json":
        found: Body = json.loads(content)
        return found
    return _read(ET.fromstring(content))  # noqa: S314 - written by our own client in this very process


# XML: entities stand in one namespace, lists and links in another; attributes as the table says.


def _xml(document: Body, root: str) -> bytes:
    if root in KINDS or root == "workspaces":
        top = ET.Element(f"{DAP}return")
        ET.SubElement(top, "status").text = document["status"]
        _links(top, document["link"])
        if root in document:
            frame = ET.SubElement(top, f"{DAP}{root}")
            for row in document[root]:
                _write(ET.SubElement(frame, f"{DAP}{root[:-1]}"), row)
        return ET.tostring(top)
    top = ET.Element(f"{API}{root}")
    _write(top, document)
    return ET.tostring(top)


def _write(element: ET.Element, body: Body) -> None:
    for key, value in body.items():
        if key == "link":
            _links(element, value)
        elif key in _ATTRIBUTES:
            element.set(key, str(value))
        elif isinstance(value, list):
            frame = ET.SubElement(element, key)
            for row in value:
                _write(ET.SubElement(frame, _ROWS.get(key, key[:-1])), row)
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            ET.SubElement(element, key).text = text


def _links(element: ET.Element, links: list[Body]) -> None:
    for link in links:
        ET.SubElement(element, f"{DAP}link", {key: str(value) for key, value in link.items()})


def _read(element: ET.Element) -> Body:
    """What our client wrote. A frame of rows becomes a list, everything else is text."""
    body: dict[str, Any] = dict(element.attrib)
    for child in element:
        name = child.tag.rpartition("}")[2]
        if name == "link":
            continue
        if name in _ROWS:
            body[name] = [_read(row) for row in child]
        else:
            body[name] = child.text or ""
    return body
