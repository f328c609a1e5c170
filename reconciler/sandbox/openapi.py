"""The sandbox's own description: an OpenAPI 3.1 document, made from the table of addresses.

routing.ROUTES ──▶ addresses, with and without a workspace ──▶ methods ──▶ OPERATIONS[endpoint]
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec

from reconciler.sandbox import routing
from reconciler.sandbox.callback_calls import CALL_STATUSES, CALLBACKS
from reconciler.sandbox.callbacks import AUTH_TYPES, callback_email_max, callback_key_max, callback_name_max
from reconciler.sandbox.calls import BODY_FORMS
from reconciler.sandbox.collections import (
    PLAIN_COLLECTIONS,
    AnyCollection,
    Collection,
    RowField,
    RowFieldType,
)
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.contacts import CONTACTS
from reconciler.sandbox.devices import DEVICES
from reconciler.sandbox.documents import media_type, media_words
from reconciler.sandbox.imports import IMPORT_MODES, MAPPING_FIELDS
from reconciler.sandbox.messages import (
    RECIPIENT_STATES,
    REPLY_CATEGORIES,
    REPLY_FILTERS,
    WINDOW_CRITERIA,
    to_max,
)
from reconciler.sandbox.queries import rows_max
from reconciler.sandbox.records import (
    CONTACT_FIELDS,
    DEVICE_FIELDS,
    DEVICE_STATUSES,
    NEVER_SHOWN,
    RESOURCE_FIELDS,
    Body,
)
from reconciler.sandbox.resources import RESOURCES
from reconciler.sandbox.routing import Route
from reconciler.sandbox.workspaces import WORKSPACE_STATUSES

# --- The documents of the service as JSON Schemas, by name: what OpenAPI calls its components -----
#
#
# What a client wrote may come back, so contacts, devices and messages are open for more fields. Everything
# else is closed: a field that is not named here does not occur.


TEXT: Body = {"type": "string"}
FILLED: Body = {"type": "string", "minLength": 1}
FLAG: Body = {"type": "boolean"}
WHOLE: Body = {"type": "integer", "minimum": 0}
NUMBER: Body = {"type": "number"}
OPAQUE: Body = {"type": "string", "pattern": "^[0-9A-F]+$"}
DAY: Body = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
MOMENT: Body = {"type": "string", "format": "date-time"}
SHORT_MOMENT: Body = {"type": "string", "pattern": "^[0-9]{2}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}$"}
# Padded at its end; lines may break after any group of four. The sandbox takes them anywhere.
BASE64_PATTERN = (
    "^([A-Za-z0-9+/]{4}(\\r?\\n)?)*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)(\\r?\\n)?$"
)
PERCENTAGE: Body = {"type": "string", "pattern": "^[0-9]{1,3}(\\.[0-9])?%$"}
NO_ANSWER: Body = {"const": "N/A"}


def schema_ref(name: str) -> Body:
    """Points at a schema of this module."""
    return {"$ref": f"#/components/schemas/{name}"}


def enum_schema(values: Iterable[str]) -> Body:
    """One of these texts."""
    return {"type": "string", "enum": list(values)}


def any_case_schema(words: Iterable[str]) -> Body:
    """One of these words, in any letter case."""
    spelt = ("".join(f"[{letter.upper()}{letter.lower()}]" for letter in word) for word in words)
    return {"type": "string", "pattern": f"^({'|'.join(spelt)})$"}


def array_schema(items: Body, *, rows: int | None = None) -> Body:
    """A list of such items, of no more than `rows` of them."""
    return {"type": "array", "items": items, **({"maxItems": rows} if rows is not None else {})}


def closed_object(required: Body, optional: Body | None = None) -> Body:
    """An object with these fields and no others."""
    properties = {**required, **(optional or {})}
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


def open_object(required: Body, optional: Body | None = None) -> Body:
    """An object with these fields, and perhaps others."""
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}}


def list_schema(key: str, row: str, *, rows: int | None = rows_max) -> Body:
    """One page of a list: rows under `key`, or past the end no such key."""
    page = closed_object(
        {
            key: {**array_schema(schema_ref(row), rows=rows), "minItems": 1},
            "status": TEXT,
            "link": schema_ref("Links"),
        }
    )
    end = closed_object(
        {"status": enum_schema(("No records found", "No messages found")), "link": schema_ref("Links")}
    )
    return {"anyOf": [page, end]}


def _or_null(value: Body) -> Body:
    return {"anyOf": [value, {"type": "null"}]}


_SHOWN: Body = {name: TEXT for name in CONTACT_FIELDS if name not in NEVER_SHOWN}
_DEGREES: Body = {
    "longitude": {**NUMBER, "minimum": -180, "maximum": 180},
    "latitude": {**NUMBER, "minimum": -90, "maximum": 90},
}
_WRITTEN_CONTACT: Body = {
    **{name: {"type": ["string", "null"]} for name in CONTACT_FIELDS},
    "status": _or_null(any_case_schema((*DEVICE_STATUSES, ""))),
    "locations": _or_null(array_schema({"type": "object", "properties": _DEGREES})),
    "messagingoptions": _or_null(array_schema(schema_ref("NewMessagingOption"))),
    "customFields": _or_null(array_schema(schema_ref("NewCustomField"))),
}
_DEVICE: Body = {name: FILLED for name in DEVICE_FIELDS if name != "status"}
_ABLE = enum_schema(("enabled", "disabled"))
_RESPONDER = closed_object(dict.fromkeys(("name", "mri", "mobile", "email", "voice"), TEXT))
_CALLBACK: Body = {
    "name": {**FILLED, "maxLength": callback_name_max},
    "url": {"type": "string", "format": "uri"},
}
_REPEATS = ("repetitionCount", "repeatDays", "repeatHrs", "repeatMin")
_MESSAGE_ROW: Body = {
    "subject": TEXT,
    **dict.fromkeys(_REPEATS, WHOLE),
    "from": TEXT,
    "direction": TEXT,
    "responseCount": {"type": "string", "pattern": "^[0-9]+$"},
    "createdTime": WHOLE,
    "link": schema_ref("Links"),
}
_TIMES: Body = dict.fromkeys(("sentTimestamp", "receivedTimestamp", "acknowlegedTimestamp"), WHOLE)

SCHEMAS: dict[str, Body] = {
    "Link": closed_object(
        {"uri": TEXT, "rel": FILLED, "method": enum_schema(("GET", "POST", "PUT", "DELETE"))}, {"type": TEXT}
    ),
    "Links": array_schema(schema_ref("Link")),
    "Error": closed_object(
        {"errorSummary": FILLED, "errorText": FILLED}, {"errorDetail": TEXT, "link": schema_ref("Links")}
    ),
    "Forbidden": closed_object({"message": FILLED}),
    "Company": closed_object({"id": OPAQUE, "link": schema_ref("Links")}),
    "Token": closed_object({"token": FILLED, "link": schema_ref("Links")}),
    "Workspace": closed_object(
        {
            "id": OPAQUE,
            "projectName": FILLED,
            "status": enum_schema(WORKSPACE_STATUSES),
            "link": schema_ref("Links"),
        },
        {"projectNumber": TEXT, "billingcostcentre": TEXT},
    ),
    "WorkspaceList": list_schema("workspaces", "Workspace", rows=None),
    "NewWorkspace": open_object(
        {"projectName": FILLED, "status": enum_schema(WORKSPACE_STATUSES)},
        {"projectNumber": {"type": ["string", "null"]}, "billingcostcentre": {"type": ["string", "null"]}},
    ),
    "Location": open_object({**_DEGREES, "type": {}}),
    "MessagingOption": closed_object(
        {"channel": FILLED, "enabled": FLAG, **dict.fromkeys(("primary", "secondary", "tertiary"), TEXT)}
    ),
    "NewMessagingOption": open_object(
        {"channel": FILLED},
        {
            "enabled": {"anyOf": [FLAG, enum_schema(("true", "false"))]},
            **dict.fromkeys(("primary", "secondary", "tertiary"), TEXT),
        },
    ),
    "CustomField": closed_object({"fieldName": FILLED, "fieldValue": TEXT, "searchKey": TEXT}),
    "NewCustomField": open_object({"fieldName": FILLED}, {"fieldValue": TEXT, "searchKey": TEXT}),
    "Contact": open_object(
        {
            "locations": array_schema(schema_ref("Location")),
            "lastModifiedTime": MOMENT,
            "status": TEXT,
            "mri": FILLED,
            "messagingoptions": array_schema(schema_ref("MessagingOption")),
            "devices": array_schema(schema_ref("Device")),
            "link": schema_ref("Links"),
        },
        {
            **{name: value for name, value in _SHOWN.items() if name != "status"},
            "id": OPAQUE,
            "type": enum_schema(("PROJECT", "COMPANY")),
            "customFields": array_schema(schema_ref("CustomField")),
        },
    ),
    "ContactRow": open_object(
        {
            "id": OPAQUE,
            "lastModifiedTime": MOMENT,
            "status": TEXT,
            "messagingoptions": array_schema(schema_ref("MessagingOption")),
            "devices": array_schema(schema_ref("Device")),
            "link": schema_ref("Links"),
        },
        {"customFields": array_schema(schema_ref("CustomField"))},
    ),
    "ContactList": list_schema("contacts", "ContactRow"),
    "NewContact": {
        "type": "object",
        "properties": _WRITTEN_CONTACT,
        "anyOf": [
            {"required": ["firstName"], "properties": {"firstName": FILLED}},
            {"required": ["lastName"], "properties": {"lastName": FILLED}},
        ],
    },
    "Device": open_object(
        {
            **_DEVICE,
            "id": OPAQUE,
            "registrationDate": DAY,
            "lastModifiedDate": DAY,
            "status": schema_ref("DeviceStatus"),
            "link": schema_ref("Links"),
        }
    ),
    "DeviceList": list_schema("devices", "Device"),
    "NewDevice": open_object(_DEVICE, {"status": schema_ref("DeviceStatus")}),
    "DeviceUpdate": open_object({**_DEVICE, "status": schema_ref("DeviceStatus")}),
    "DeviceStatus": any_case_schema(DEVICE_STATUSES),
    "Resource": closed_object(
        {
            "name": FILLED,
            "scope": enum_schema(("private", "public")),
            "mimeType": FILLED,
            "link": schema_ref("Links"),
        },
        {"id": OPAQUE, "url": FILLED},
    ),
    "ResourceList": list_schema("resources", "Resource"),
    "NewResource": open_object(
        {
            **dict.fromkeys(RESOURCE_FIELDS, FILLED),
            "scope": enum_schema(("private", "public")),
            "derefUri": {**FILLED, "contentEncoding": "base64", "pattern": BASE64_PATTERN},
        }
    ),
    "NewMessage": {
        "type": "object",
        "anyOf": [{"required": ["to", "subject"]}, {"required": ["resource"]}],
        "properties": {
            "to": {**FILLED, "maxLength": to_max, "pattern": "^[^;,\\s]"},
            "subject": FILLED,
            "resource": {"anyOf": [FILLED, schema_ref("BulkResource")]},
            "messageContent": open_object({}, {"subject": FILLED, "body": TEXT}),
            "body": {"type": ["string", "null"]},
            "callbackId": {"type": ["string", "null"]},
            "callbackParameters": {"type": "object"},
            "messageType": TEXT,
            "scheduleDate": TEXT,
        },
    },
    "BulkResource": open_object({"resourceId": FILLED}, dict.fromkeys(MAPPING_FIELDS, TEXT)),
    "NewImport": open_object(
        {"resourceId": FILLED, "importType": {"const": "contact"}},
        {
            "importOptions": open_object(
                {},
                {
                    "fieldMapping": {"type": "object", "additionalProperties": FILLED},
                    "importMode": enum_schema(IMPORT_MODES),
                },
            )
        },
    ),
    "Accepted": closed_object({"location": FILLED, "messageid": OPAQUE}),
    "MessageRow": closed_object(_MESSAGE_ROW),
    "MessageList": list_schema("messages", "MessageRow", rows=None),
    "Message": open_object(
        {"to": TEXT, **_MESSAGE_ROW, **{name: {} for name in _REPEATS}},
        {"id": OPAQUE, "callbackParameters": {"type": "object"}},
    ),
    "StatusCategory": closed_object(
        {"name": enum_schema(RECIPIENT_STATES), "recipientCount": WHOLE, "percentageTotal": PERCENTAGE}
    ),
    "StatusSummary": closed_object(
        {
            "link": schema_ref("Links"),
            "categories": {**array_schema(schema_ref("StatusCategory")), "minItems": len(RECIPIENT_STATES)},
        }
    ),
    "StatusRow": closed_object(
        {
            "name": TEXT,
            "info": TEXT,
            "link": schema_ref("Links"),
            "status": array_schema(schema_ref("Delivery"), rows=3),
        }
    ),
    "Delivery": closed_object(
        {
            "type": enum_schema(("email", "sms", "voice")),
            "status": enum_schema(("PENDING", "DELIVRD", "READ", "FAILED", "")),
            "destination": TEXT,
        },
        _TIMES,
    ),
    "StatusSummaryDocument": closed_object(
        {"messageStatuses": array_schema(schema_ref("StatusSummary"), rows=1), "link": schema_ref("Links")}
    ),
    "StatusDetails": list_schema("messageStatuses", "StatusRow"),
    "MessageStatus": {"anyOf": [schema_ref("StatusSummaryDocument"), schema_ref("StatusDetails")]},
    "ResponseCount": closed_object(
        {
            "type": enum_schema(REPLY_CATEGORIES),
            "responseCount": {"type": "string", "pattern": "^[0-9]+$"},
            "percentageTotal": PERCENTAGE,
            "link": schema_ref("Links"),
        }
    ),
    "ResponseSummary": closed_object(
        {"messageresponses": array_schema(schema_ref("ResponseCount")), "link": schema_ref("Links")}
    ),
    "Responder": _RESPONDER,
    "ResponseRow": closed_object(
        {
            "from": schema_ref("Responder"),
            "responseCategory": enum_schema(REPLY_CATEGORIES),
            "responseMessage": closed_object(
                {"channel": TEXT, "acknowledged": {"anyOf": [SHORT_MOMENT, NO_ANSWER]}, "content": TEXT}
            ),
        }
    ),
    "ResponseDetails": list_schema("messageresponses", "ResponseRow"),
    "MessageResponses": {"anyOf": [schema_ref("ResponseSummary"), schema_ref("ResponseDetails")]},
    "CallbackAuth": closed_object(
        {"type": enum_schema(map(str, AUTH_TYPES)), "key": {**FILLED, "maxLength": callback_key_max}}
    ),
    # Other printable characters are taken, and shown again; not every receiver can read them in a header.
    "NewCallbackAuth": open_object(
        {
            "type": enum_schema(map(str, AUTH_TYPES)),
            "key": {**FILLED, "maxLength": callback_key_max, "pattern": "^[!-~]+$"},
        }
    ),
    "CallbackEvents": closed_object({"reply": _ABLE, "undeliverable": _ABLE}),
    "Callback": closed_object(
        {
            "id": OPAQUE,
            **_CALLBACK,
            "contentType": enum_schema(("json", "xml")),
            "removeHTML": _ABLE,
            "retriesEnabled": FLAG,
            "email": {**TEXT, "maxLength": callback_email_max},
            "callbacks": schema_ref("CallbackEvents"),
            "link": schema_ref("Links"),
        },
        {"auth": schema_ref("CallbackAuth")},
    ),
    "CallbackList": list_schema("callbacks", "Callback"),
    "NewCallback": open_object(
        _CALLBACK,
        {
            "auth": schema_ref("NewCallbackAuth"),
            "contentType": enum_schema(("json", "xml")),
            "removeHTML": _ABLE,
            "retriesEnabled": {"anyOf": [FLAG, enum_schema(("true", "false"))]},
            "email": {**TEXT, "maxLength": callback_email_max},
            "callbacks": open_object({}, {"reply": _ABLE, "undeliverable": _ABLE}),
        },
    ),
    "Call": closed_object(
        {
            "id": OPAQUE,
            "messageId": OPAQUE,
            "messageLocation": FILLED,
            "status": enum_schema(("SUCCESS", "FAILED")),
            "from": schema_ref("Responder"),
            "responseMessage": {"type": "object", "additionalProperties": TEXT},
            "callback": closed_object(
                {
                    "id": OPAQUE,
                    "name": FILLED,
                    "url": FILLED,
                    "attemptedDate": SHORT_MOMENT,
                    "statusCode": WHOLE,
                    "statusMessage": TEXT,
                }
            ),
            "link": schema_ref("Links"),
        }
    ),
    "CallList": list_schema("calls", "Call"),
    "CallUpdate": open_object({"status": enum_schema(("SUCCESS", "FAILED"))}),
}
"""Name -> schema. Those that begin with New, and the Updates, are sent; the others are answered."""


def row_schemas(own: Iterable[Collection]) -> dict[str, Body]:
    """The schemas of collections that are rows, by name. Raises ValueError for a name that is taken."""
    found: dict[str, Body] = {}
    for row in own:
        documents = _collection_schemas(row, {one.name: _field_schema(one) for one in row.fields})
        if documents.keys() & (SCHEMAS.keys() | found.keys()):
            raise ValueError(f"{row.name}: there is a schema of the name {row.noun} already")
        found |= documents
    return found


def _field_schema(field: RowField, *, answered: bool = False) -> Body:
    """The schema of a field as it is sent; as it is answered, a group is without what is withheld."""
    if field.one_of:
        return enum_schema(field.one_of)
    if field.type == "group":
        parts: Body = {
            one.name: _field_schema(one, answered=answered)
            for one in field.parts
            if not (answered and one.withheld)
        }
        must: Body = {one.name: parts[one.name] for one in field.parts if one.required and one.name in parts}
        return (closed_object if answered else open_object)(must, dict(_without_names(parts, must)))
    shapes: dict[RowFieldType, Body] = {
        "flag": FLAG,
        "number": NUMBER,
        "text": FILLED if field.required else TEXT,
    }
    return shapes[field.type]


def _collection_schemas(row: Collection, fields: Body) -> dict[str, Body]:
    """A record, a row of a list, the list, and what a create and an update take."""
    must = {name: fields[name] for name in row.required}
    may: Body = {name: _or_null(shape) for name, shape in _without_names(fields, must)}
    spared = {
        name: _or_null(shape) for name, shape in _without_names(fields, fields.keys() - set(row.spares))
    }
    answered: Body = {one.name: _field_schema(one, answered=True) for one in row.fields if not one.withheld}
    shown = {
        "id": OPAQUE,
        **dict(_without_names(answered, answered.keys() - must.keys())),
        "link": schema_ref("Links"),
    }
    brief: Body = {name: shape for name, shape in answered.items() if not row.brief or name in row.brief}
    row_must = {
        "id": OPAQUE,
        **dict(_without_names(brief, brief.keys() - must.keys())),
        "link": schema_ref("Links"),
    }
    documents = {
        row.noun: closed_object(shown, dict(_without_names(answered, must))),
        f"{row.noun}Row": closed_object(row_must, dict(_without_names(brief, must))),
        f"{row.noun}List": list_schema(row.key, f"{row.noun}Row"),
        f"New{row.noun}": open_object(must, may),
    }
    if row.spares:
        needed = {name: shape for name, shape in must.items() if name not in row.spares}
        documents[f"{row.noun}Update"] = open_object(needed, {**may, **spared})
    return documents


def _without_names(fields: Body, must: Container[str]) -> Iterable[tuple[str, Any]]:
    return ((name, shape) for name, shape in fields.items() if name not in must)


openapi_path = "/openapi.json"
workspace_path = "/workspaces/{workspaceId}"


@dataclass(frozen=True, slots=True)
class Operation:
    """What one endpoint takes and answers: names of schemas, and of parameters. "" is no body."""

    answer: str = ""
    body: str = ""
    status: int = 200
    query: tuple[str, ...] = ()


_PAGED = ("limit", "offset")
_CREATED, _DONE = 201, 204


def _row_operations(
    table: Iterable[AnyCollection], schemas: Container[str]
) -> Iterator[tuple[str, Operation]]:
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
    "list_messages": Operation("MessageList", query=(*_PAGED, *WINDOW_CRITERIA, "viewType", "label")),
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

QUERY_PARAMETERS: dict[str, tuple[Body, str]] = {
    "limit": ({**_NUMBER, "default": 20}, "Rows of one page; at most 20 are given."),
    "offset": ({**_NUMBER, "default": 0}, "The record to start from."),
    "sortOrder": (enum_schema(("asc", "desc")), "The order of the rows."),
    "sortFields": (TEXT, "Comma-separated names of the fields to sort by."),
    "fields": (TEXT, "Comma-separated names of fields to add to each row."),
    "customFields": (enum_schema(("true", "false")), "Are custom fields shown?"),
    "filters": (
        {
            "type": "object",
            "properties": dict.fromkeys(CONTACT_FIELDS[:3], TEXT),
            "additionalProperties": TEXT,
        },
        "Names of fields, or custom_<name>, each with the text that it has to contain.",
    ),
    "scope": (enum_schema(("private", "public")), "Only resources of this scope."),
    "name": (TEXT, "A part of the resource's name."),
    "viewType": (enum_schema(("shared",)), "Messages of other users."),
    "view": (enum_schema(("summary", "detailed")), "Counts, or a row for each."),
    "filter": (enum_schema(REPLY_FILTERS), "Which answers count."),
    "status": (enum_schema(CALL_STATUSES), "Only calls that ended so."),
    "id": (
        {"type": "array", "items": TEXT, "minItems": 1},
        "The calls that are meant; one parameter for each.",
    ),
    "ids": ({"type": "array", "items": TEXT}, "Only these calls; one parameter for each."),
    **{
        name: (_DATE if name.endswith("Date") else _TIME, "One of four that work together.")
        for name in WINDOW_CRITERIA
    },
}
_REQUIRED = frozenset({"id"})
_SHOWN_AS = {"ids": "id"}  # the same parameter, which a list does not need

# The gateway answers for itself; the others come in the media types of the address.
_GATEWAY: dict[int, tuple[str, Body]] = {
    403: ("application/json", schema_ref("Forbidden")),
    413: ("text/plain", TEXT),
    429: ("application/json", schema_ref("Forbidden")),
}
_ALWAYS = (401, 403, 404, 406, 413, 429, 500)
_WITH_QUERY = (400,)
_WITH_BODY = (400, 415, 422)

_SINGLE = {"auth": "verify"}  # an address whose second segment is a word, not an id


def encode_openapi(config: SandboxConfig, *, server: str, own: Sequence[Collection] = ()) -> bytes:
    """The description as it is served."""
    return msgspec.json.encode(openapi_document(config, server=server, own=own))


def openapi_document(
    config: SandboxConfig, *, server: str = "/", own: Sequence[Collection] = PLAIN_COLLECTIONS
) -> Body:
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


def described_addresses(own: Sequence[Collection] = ()) -> Iterator[tuple[str, Route]]:
    """Every address of the service, with its route: each also within a workspace, where it is there too."""
    yield "/", routing.COMPANY
    yield "/workspaces", routing.WORKSPACES
    yield workspace_path, routing.WORKSPACE
    for (names, segments), route in {**routing.ROUTES, **routing.own_routes(own)}.items():
        path = "".join(_path_segments(names, segments))
        yield path, route
        if route.in_workspaces:
            yield f"{workspace_path}{path}", route


def _path_segments(names: tuple[str, ...], count: int) -> Iterator[str]:
    for place, name in enumerate(names):
        yield f"/{name}"
        if 2 * place + 1 < count:
            yield f"/{_SINGLE.get(name) or '{' + name.removesuffix('s') + 'Id}'}"


def _paths(
    config: SandboxConfig, own: Sequence[Collection], schemas: Container[str]
) -> Iterator[tuple[str, Body]]:
    operations = {**OPERATIONS, **dict(_row_operations(own, schemas))}
    for path, route in described_addresses(own):
        ids = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        parameters = [{"name": one, "in": "path", "required": True, "schema": TEXT} for one in ids]
        methods = {
            method.lower(): _operation(config, path, route, endpoint, operations[endpoint.__name__])
            for method, endpoint in route.methods.items()
        }
        yield path, {**({"parameters": parameters} if parameters else {}), **methods}


def _operation(
    config: SandboxConfig, path: str, route: Route, endpoint: Callable[..., object], known: Operation
) -> Body:
    name = endpoint.__name__
    within = "_in_workspace" if path.startswith(f"{workspace_path}/") else ""
    described: Body = {
        "operationId": f"{name}{within}",
        "tags": [route.kind],
        "summary": (endpoint.__doc__ or "").partition("\n")[0],
    }
    if known.query:
        described["parameters"] = [_parameter(one) for one in known.query]
    if known.body:
        content = _content(config, route.kind, schema_ref(known.body), plain=False)
        described["requestBody"] = {"required": True, "content": content}
    return {**described, "responses": _responses(config, route.kind, known)}


def _parameter(name: str) -> Body:
    schema, description = QUERY_PARAMETERS.get(name) or (TEXT, "A part of this field.")
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
    for form in BODY_FORMS:
        shown: Body = {"schema": schema} if schema is not None and form == "json" else {}
        for word in media_words(kind):
            types[media_type(config.vendor, word, form)] = shown
        if plain:
            types[f"application/{form}"] = shown
    return types


def _responses(config: SandboxConfig, kind: str, known: Operation) -> Body:
    # A list without pages refuses a bad limit, offset or sortOrder too.
    reads_query = bool(known.query) or known.answer.endswith("List")
    refused = [*_ALWAYS, *(_WITH_BODY if known.body else _WITH_QUERY if reads_query else ())]
    found: Body = {str(known.status): _success_response(config, kind, known)}
    for status in sorted(refused):
        name = str(status) if status in _GATEWAY else f"{kind}.{status}"
        found[str(status)] = {"$ref": f"#/components/responses/{name}"}
    return found


def _refusals(config: SandboxConfig, own: Sequence[Collection]) -> Iterator[tuple[str, Body]]:
    """Every refusal by name: those of the gateway once, the service's own in the media types of each kind."""
    for status, (content_type, schema) in _GATEWAY.items():
        yield str(status), _response(status, {content_type: {"schema": schema}})
    for kind in sorted({route.kind for _, route in described_addresses(own)}):
        content = _content(config, kind, schema_ref("Error"))
        for status in sorted({*_ALWAYS, *_WITH_BODY} - _GATEWAY.keys()):
            yield f"{kind}.{status}", _response(status, content)


# Renamed between one Python and the next; the description must not depend on who writes it.
_RENAMED = {413: "Content Too Large", 422: "Unprocessable Content"}


def _status_phrase(status: int) -> str:
    return _RENAMED.get(status) or HTTPStatus(status).phrase


def _response(status: int, content: Body) -> Body:
    return {"description": _status_phrase(status), "content": content}


def _success_response(config: SandboxConfig, kind: str, known: Operation) -> Body:
    described: Body = {"description": _status_phrase(known.status)}
    if known.answer:
        # The recorded plain text of an accepted message comes under a JSON media type, and so has no schema.
        is_text = known.answer == "Accepted" and config.send_answer == "text"
        shape = None if is_text else schema_ref(known.answer)
        described["content"] = _content(config, kind, shape)
    if known.answer and known.status in (HTTPStatus.CREATED, HTTPStatus.ACCEPTED):
        header: Mapping[str, object] = {"required": True, "schema": TEXT, "description": "Where it is."}
        described["headers"] = {"location": header}
    return described
