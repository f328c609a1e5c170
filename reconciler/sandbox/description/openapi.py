"""The sandbox's own description: an OpenAPI 3.1 document, made from the table of addresses.

    routing.ROUTES ──▶ addresses, with and without a workspace ──▶ methods ──▶ OPERATIONS[endpoint]

Belongs here: what each endpoint takes and answers, in the words of OpenAPI. Not here: shapes (schemas.py),
the control addresses, which are no part of the service.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec

from reconciler.sandbox import routing
from reconciler.sandbox.collections.row import AnyRow, Collection
from reconciler.sandbox.collections.table import CONTACTS, DEVICES, PLAIN, RESOURCES
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.description.schemas import SCHEMAS, one_of, ref, row_schemas, text
from reconciler.sandbox.entities.fields import CONTACT_FIELDS
from reconciler.sandbox.entities.wire import media_type, spellings
from reconciler.sandbox.messaging.callback_endpoints import CALLBACKS, attempted
from reconciler.sandbox.messaging.messages import CRITERIA
from reconciler.sandbox.messaging.replies import FILTERS
from reconciler.sandbox.paging import rows_max
from reconciler.sandbox.records import Body
from reconciler.sandbox.routing import Route
from reconciler.sandbox.web.media import BOTH

address = "/openapi.json"
opens_workspace = "/workspaces/{workspaceId}"


@dataclass(frozen=True, slots=True)
class Operation:
    """What one endpoint takes and answers: names of schemas, and of parameters. "" is no body."""

    answer: str = ""
    body: str = ""
    status: int = 200
    query: tuple[str, ...] = ()


_PAGED = ("limit", "offset")
_CREATED, _DONE = 201, 204


def _row_operations(table: Iterable[AnyRow], schemas: Container[str]) -> Iterator[tuple[str, Operation]]:
    """What the endpoints of these rows take and answer; an update has its own schema, or that of a create."""
    for row in table:
        noun = row.noun
        update = f"{noun}Update" if f"{noun}Update" in schemas else f"New{noun}"
        yield f"list_{row.plural}", Operation(f"{noun}List", query=(*_PAGED, *row.asked))
        yield f"create_{row.name}", Operation(noun, f"New{noun}", _CREATED, query=row.options)
        yield f"get_{row.name}", Operation(noun, query=row.options)
        yield f"put_{row.name}", Operation("", update, _DONE)
        yield f"delete_{row.name}", Operation(status=_DONE)


OPERATIONS: dict[str, Operation] = {
    **dict(_row_operations((CONTACTS, DEVICES, RESOURCES, CALLBACKS), SCHEMAS)),
    "get_company": Operation("Company"),
    "create_token": Operation("Token"),
    "verify_token": Operation("Token"),
    "list_workspaces": Operation("WorkspaceList"),
    "create_workspace": Operation("Workspace", "NewWorkspace", _CREATED),
    "get_workspace": Operation("Workspace"),
    "put_workspace": Operation("", "NewWorkspace", _DONE),
    "send_message": Operation("Accepted", "NewMessage", 202),
    "create_import": Operation(body="NewImport", status=202),
    "list_messages": Operation("MessageList", query=(*_PAGED, *CRITERIA, "viewType", "label")),
    "get_message": Operation("Message"),
    "get_status": Operation("MessageStatus", query=("view", "filter", *_PAGED)),
    "get_responses": Operation("MessageResponses", query=("view", "filter", *_PAGED)),
    "list_calls": Operation("CallList", query=(*_PAGED, "status", "ids")),
    "put_calls": Operation("", "CallUpdate", _DONE, query=("id",)),
}
"""The name of the endpoint's function -> what it takes and answers."""

_DATE: Body = {"type": "string", "pattern": "^(0[1-9]|1[0-9]|2[0-8])/(0[1-9]|1[0-2])/20[0-9]{2}$"}
_TIME: Body = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
_NUMBER: Body = {"type": "integer", "minimum": 0, "maximum": 999_999_999}

QUERY: dict[str, tuple[Body, str]] = {
    "limit": ({**_NUMBER, "default": 20}, "Rows of one page; at most 20 are given."),
    "offset": ({**_NUMBER, "default": 0}, "The record to start from."),
    "sortOrder": (one_of(("asc", "desc")), "The order of the rows."),
    "sortFields": (text, "Comma-separated names of the fields to sort by."),
    "fields": (text, "Comma-separated names of fields to add to each row."),
    "customFields": (one_of(("true", "false")), "Are custom fields shown?"),
    "filters": (
        {
            "type": "object",
            "properties": dict.fromkeys(CONTACT_FIELDS[:3], text),
            "additionalProperties": text,
        },
        "Names of fields, or custom_<name>, each with the text that it has to contain.",
    ),
    "scope": (one_of(("private", "public")), "Only resources of this scope."),
    "name": (text, "A part of the resource's name."),
    "viewType": (one_of(("shared",)), "Messages of other users."),
    "view": (one_of(("summary", "detailed")), "Counts, or a row for each."),
    "filter": (one_of(FILTERS), "Which answers count."),
    "status": (one_of(attempted), "Only calls that ended so."),
    "id": (
        {"type": "array", "items": text, "minItems": 1},
        "The calls that are meant; one parameter for each.",
    ),
    "ids": ({"type": "array", "items": text}, "Only these calls; one parameter for each."),
    **{
        name: (_DATE if name.endswith("Date") else _TIME, "One of four that work together.")
        for name in CRITERIA
    },
}
_REQUIRED = frozenset({"id"})
_SHOWN_AS = {"ids": "id"}  # the same parameter, which a list does not need

# The gateway answers for itself; the others come in the media types of the address.
_GATEWAY: dict[int, tuple[str, Body]] = {
    403: ("application/json", ref("Forbidden")),
    413: ("text/plain", text),
    429: ("application/json", ref("Forbidden")),
}
_ALWAYS = (401, 403, 404, 406, 413, 429, 500)
_WITH_QUERY = (400,)
_WITH_BODY = (400, 415, 422)

_SINGLE = {"auth": "verify"}  # an address whose second segment is a word, not an id


def encoded(config: SandboxConfig, *, server: str, own: Sequence[Collection] = ()) -> bytes:
    """The description as it is served."""
    return msgspec.json.encode(document(config, server=server, own=own))


def document(config: SandboxConfig, *, server: str = "/", own: Sequence[Collection] = PLAIN) -> Body:
    """The whole description of this sandbox, as its media types are configured. Same tables, same bytes.

    `own` are the collections of plain records that it serves.
    """
    schemas = {**SCHEMAS, **row_schemas(own)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Messaging service (sandbox)",
            "version": "1",
            "description": "Contacts, push devices, resources, messages, callbacks and workspaces. Every "
            "document is had in JSON and in XML, by vendor media type.",
        },
        "servers": [{"url": server}],
        "security": [{"user": [], "key": []}, {"user": [], "keyInQuery": []}, {"token": [], "key": []}],
        "paths": dict(_paths(config, own, schemas)),
        "components": {
            "schemas": schemas if config.limit_zero == "20" else _unlimited(schemas),
            "responses": dict(_refusals(config, own)),
            "securitySchemes": {
                "user": {"type": "http", "scheme": "basic"},
                "token": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
                "keyInQuery": {"type": "apiKey", "in": "query", "name": "apikey"},
            },
        },
    }


def _unlimited(node: Any) -> Any:
    """The schemas, in which a page may hold any number of rows: limit=0 gives all of them."""
    if isinstance(node, dict):
        return {name: _unlimited(one) for name, one in node.items() if (name, one) != ("maxItems", rows_max)}
    return [_unlimited(one) for one in node] if isinstance(node, list | tuple) else node


def addresses(own: Sequence[Collection] = ()) -> Iterator[tuple[str, Route]]:
    """Every address of the service, with its route: each also within a workspace, where it is there too."""
    yield "/", routing.COMPANY
    yield "/workspaces", routing.WORKSPACES
    yield opens_workspace, routing.WORKSPACE
    for (names, segments), route in {**routing.ROUTES, **routing.own_routes(own)}.items():
        path = "".join(_segments(names, segments))
        yield path, route
        if route.in_workspaces:
            yield f"{opens_workspace}{path}", route


def _segments(names: tuple[str, ...], count: int) -> Iterator[str]:
    for place, name in enumerate(names):
        yield f"/{name}"
        if 2 * place + 1 < count:
            yield f"/{_SINGLE.get(name) or '{' + name.removesuffix('s') + 'Id}'}"


def _paths(
    config: SandboxConfig, own: Sequence[Collection], schemas: Container[str]
) -> Iterator[tuple[str, Body]]:
    operations = {**OPERATIONS, **dict(_row_operations(own, schemas))}
    for path, route in addresses(own):
        ids = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        parameters = [{"name": one, "in": "path", "required": True, "schema": text} for one in ids]
        methods = {
            method.lower(): _operation(config, path, route, endpoint, operations[endpoint.__name__])
            for method, endpoint in route.methods.items()
        }
        yield path, {**({"parameters": parameters} if parameters else {}), **methods}


def _operation(
    config: SandboxConfig, path: str, route: Route, endpoint: Callable[..., object], known: Operation
) -> Body:
    name = endpoint.__name__
    within = "_in_workspace" if path.startswith(f"{opens_workspace}/") else ""
    described: Body = {
        "operationId": f"{name}{within}",
        "tags": [route.kind],
        "summary": (endpoint.__doc__ or "").partition("\n")[0],
    }
    if known.query:
        described["parameters"] = [_parameter(one) for one in known.query]
    if known.body:
        content = _content(config, route.kind, ref(known.body), plain=False)
        described["requestBody"] = {"required": True, "content": content}
    return {**described, "responses": _responses(config, route.kind, known)}


def _parameter(name: str) -> Body:
    schema, description = QUERY.get(name) or (text, "A part of this field.")
    exploded = {"style": "form", "explode": True} if schema["type"] in ("object", "array") else {}
    return {
        "name": _SHOWN_AS.get(name, name),
        "in": "query",
        "required": name in _REQUIRED,
        "description": description,
        **exploded,
        "schema": schema,
    }


def _content(config: SandboxConfig, kind: str, schema: Body | None, *, plain: bool = True) -> Body:
    """The media types of one kind. XML has no schema here: it says the same in elements and attributes."""
    types: Body = {}
    for form in BOTH:
        shown: Body = {"schema": schema} if schema is not None and form == "json" else {}
        for word in spellings(kind):
            types[media_type(config.vendor, word, form)] = shown
        if plain:
            types[f"application/{form}"] = shown
    return types


def _responses(config: SandboxConfig, kind: str, known: Operation) -> Body:
    # A list without pages refuses a bad limit, offset or sortOrder too.
    reads_query = bool(known.query) or known.answer.endswith("List")
    refused = [*_ALWAYS, *(_WITH_BODY if known.body else _WITH_QUERY if reads_query else ())]
    found: Body = {str(known.status): _success(config, kind, known)}
    for status in sorted(refused):
        name = str(status) if status in _GATEWAY else f"{kind}.{status}"
        found[str(status)] = {"$ref": f"#/components/responses/{name}"}
    return found


def _refusals(config: SandboxConfig, own: Sequence[Collection]) -> Iterator[tuple[str, Body]]:
    """Every refusal by name: those of the gateway once, the service's own in the media types of each kind."""
    for status, (content_type, schema) in _GATEWAY.items():
        yield str(status), _described(status, {content_type: {"schema": schema}})
    for kind in sorted({route.kind for _, route in addresses(own)}):
        content = _content(config, kind, ref("Error"))
        for status in sorted({*_ALWAYS, *_WITH_BODY} - _GATEWAY.keys()):
            yield f"{kind}.{status}", _described(status, content)


# Renamed between one Python and the next; the description must not depend on who writes it.
_RENAMED = {413: "Content Too Large", 422: "Unprocessable Content"}


def _phrase(status: int) -> str:
    return _RENAMED.get(status) or HTTPStatus(status).phrase


def _described(status: int, content: Body) -> Body:
    return {"description": _phrase(status), "content": content}


def _success(config: SandboxConfig, kind: str, known: Operation) -> Body:
    described: Body = {"description": _phrase(known.status)}
    if known.answer:
        # The recorded plain text of an accepted message comes under a JSON media type, and so has no schema.
        is_text = known.answer == "Accepted" and config.send_answer == "text"
        shape = None if is_text else ref(known.answer)
        described["content"] = _content(config, kind, shape)
    if known.answer and known.status in (HTTPStatus.CREATED, HTTPStatus.ACCEPTED):
        header: Mapping[str, object] = {"required": True, "schema": text, "description": "Where it is."}
        described["headers"] = {"location": header}
    return described
