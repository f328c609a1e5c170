"""The documents of the service as JSON Schemas, by name: what OpenAPI calls its components.

Belongs here: shapes, made from the same tables of fields that requests are read with. Not here: addresses and
statuses (openapi.py), XML, which says the same in elements (xml/forms.py).

What a client wrote may come back, so contacts, devices and messages are open for more fields. Everything
else is closed: a field that is not named here does not occur.
"""

from collections.abc import Container, Iterable
from typing import Any

from reconciler.sandbox.collections.bulk import MAPPINGS, MODES
from reconciler.sandbox.collections.row import Collection, Field, Type
from reconciler.sandbox.collections.workspaces import STATUSES as WORKSPACE_STATUSES
from reconciler.sandbox.entities.devices import STATUSES as DEVICE_STATUSES
from reconciler.sandbox.entities.fields import CONTACT_FIELDS, DEVICE_FIELDS, NEVER_SHOWN, RESOURCE_FIELDS
from reconciler.sandbox.messaging.callbacks import AUTH_TYPES, email_max, key_max, name_max
from reconciler.sandbox.messaging.messages import to_max
from reconciler.sandbox.messaging.replies import CATEGORIES, STATES
from reconciler.sandbox.paging import rows_max
from reconciler.sandbox.records import Body

text: Body = {"type": "string"}
filled: Body = {"type": "string", "minLength": 1}
flag: Body = {"type": "boolean"}
whole: Body = {"type": "integer", "minimum": 0}
number: Body = {"type": "number"}
opaque: Body = {"type": "string", "pattern": "^[0-9A-F]+$"}
day: Body = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
moment: Body = {"type": "string", "format": "date-time"}
short_moment: Body = {"type": "string", "pattern": "^[0-9]{2}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}$"}
# Padded at its end; lines may break after any group of four. The sandbox takes them anywhere.
base64_text = (
    "^([A-Za-z0-9+/]{4}(\\r?\\n)?)*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)(\\r?\\n)?$"
)
percentage: Body = {"type": "string", "pattern": "^[0-9]{1,3}(\\.[0-9])?%$"}
nothing: Body = {"const": "N/A"}


def ref(name: str) -> Body:
    """Points at a schema of this module."""
    return {"$ref": f"#/components/schemas/{name}"}


def one_of(values: Iterable[str]) -> Body:
    """One of these texts."""
    return {"type": "string", "enum": list(values)}


def any_case(words: Iterable[str]) -> Body:
    """One of these words, in any letter case."""
    spelt = ("".join(f"[{letter.upper()}{letter.lower()}]" for letter in word) for word in words)
    return {"type": "string", "pattern": f"^({'|'.join(spelt)})$"}


def array(items: Body, *, rows: int | None = None) -> Body:
    """A list of such items, of no more than `rows` of them."""
    return {"type": "array", "items": items, **({"maxItems": rows} if rows is not None else {})}


def closed(required: Body, optional: Body | None = None) -> Body:
    """An object with these fields and no others."""
    properties = {**required, **(optional or {})}
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


def opened(required: Body, optional: Body | None = None) -> Body:
    """An object with these fields, and perhaps others."""
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}}


def listing(key: str, row: str, *, rows: int | None = rows_max) -> Body:
    """One page of a list: rows under `key`, or past the end no such key."""
    page = closed({key: {**array(ref(row), rows=rows), "minItems": 1}, "status": text, "link": ref("Links")})
    end = closed({"status": one_of(("No records found", "No messages found")), "link": ref("Links")})
    return {"anyOf": [page, end]}


def _optional(value: Body) -> Body:
    return {"anyOf": [value, {"type": "null"}]}


_SHOWN: Body = {name: text for name in CONTACT_FIELDS if name not in NEVER_SHOWN}
_DEGREES: Body = {
    "longitude": {**number, "minimum": -180, "maximum": 180},
    "latitude": {**number, "minimum": -90, "maximum": 90},
}
_WRITTEN_CONTACT: Body = {
    **{name: {"type": ["string", "null"]} for name in CONTACT_FIELDS},
    "status": _optional(any_case((*DEVICE_STATUSES, ""))),
    "locations": _optional(array({"type": "object", "properties": _DEGREES})),
    "messagingoptions": _optional(array(ref("NewMessagingOption"))),
    "customFields": _optional(array(ref("NewCustomField"))),
}
_DEVICE: Body = {name: filled for name in DEVICE_FIELDS if name != "status"}
_ABLE = one_of(("enabled", "disabled"))
_RESPONDER = closed(dict.fromkeys(("name", "mri", "mobile", "email", "voice"), text))
_CALLBACK: Body = {
    "name": {**filled, "maxLength": name_max},
    "url": {"type": "string", "format": "uri"},
}
_REPEATS = ("repetitionCount", "repeatDays", "repeatHrs", "repeatMin")
_MESSAGE_ROW: Body = {
    "subject": text,
    **dict.fromkeys(_REPEATS, whole),
    "from": text,
    "direction": text,
    "responseCount": {"type": "string", "pattern": "^[0-9]+$"},
    "createdTime": whole,
    "link": ref("Links"),
}
_TIMES: Body = dict.fromkeys(("sentTimestamp", "receivedTimestamp", "acknowlegedTimestamp"), whole)

SCHEMAS: dict[str, Body] = {
    "Link": closed(
        {"uri": text, "rel": filled, "method": one_of(("GET", "POST", "PUT", "DELETE"))}, {"type": text}
    ),
    "Links": array(ref("Link")),
    "Error": closed(
        {"errorSummary": filled, "errorText": filled}, {"errorDetail": text, "link": ref("Links")}
    ),
    "Forbidden": closed({"message": filled}),
    "Company": closed({"id": opaque, "link": ref("Links")}),
    "Token": closed({"token": filled, "link": ref("Links")}),
    "Workspace": closed(
        {"id": opaque, "projectName": filled, "status": one_of(WORKSPACE_STATUSES), "link": ref("Links")},
        {"projectNumber": text, "billingcostcentre": text},
    ),
    "WorkspaceList": listing("workspaces", "Workspace", rows=None),
    "NewWorkspace": opened(
        {"projectName": filled, "status": one_of(WORKSPACE_STATUSES)},
        {"projectNumber": {"type": ["string", "null"]}, "billingcostcentre": {"type": ["string", "null"]}},
    ),
    "Location": opened({**_DEGREES, "type": {}}),
    "MessagingOption": closed(
        {"channel": filled, "enabled": flag, **dict.fromkeys(("primary", "secondary", "tertiary"), text)}
    ),
    "NewMessagingOption": opened(
        {"channel": filled},
        {
            "enabled": {"anyOf": [flag, one_of(("true", "false"))]},
            **dict.fromkeys(("primary", "secondary", "tertiary"), text),
        },
    ),
    "CustomField": closed({"fieldName": filled, "fieldValue": text, "searchKey": text}),
    "NewCustomField": opened({"fieldName": filled}, {"fieldValue": text, "searchKey": text}),
    "Contact": opened(
        {
            "locations": array(ref("Location")),
            "lastModifiedTime": moment,
            "status": text,
            "mri": filled,
            "messagingoptions": array(ref("MessagingOption")),
            "devices": array(ref("Device")),
            "link": ref("Links"),
        },
        {
            **{name: value for name, value in _SHOWN.items() if name != "status"},
            "id": opaque,
            "type": one_of(("PROJECT", "COMPANY")),
            "customFields": array(ref("CustomField")),
        },
    ),
    "ContactRow": opened(
        {
            "id": opaque,
            "lastModifiedTime": moment,
            "status": text,
            "messagingoptions": array(ref("MessagingOption")),
            "devices": array(ref("Device")),
            "link": ref("Links"),
        },
        {"customFields": array(ref("CustomField"))},
    ),
    "ContactList": listing("contacts", "ContactRow"),
    "NewContact": {
        "type": "object",
        "properties": _WRITTEN_CONTACT,
        "anyOf": [
            {"required": ["firstName"], "properties": {"firstName": filled}},
            {"required": ["lastName"], "properties": {"lastName": filled}},
        ],
    },
    "Device": opened(
        {
            **_DEVICE,
            "id": opaque,
            "registrationDate": day,
            "lastModifiedDate": day,
            "status": ref("DeviceStatus"),
            "link": ref("Links"),
        }
    ),
    "DeviceList": listing("devices", "Device"),
    "NewDevice": opened(_DEVICE, {"status": ref("DeviceStatus")}),
    "DeviceUpdate": opened({**_DEVICE, "status": ref("DeviceStatus")}),
    "DeviceStatus": any_case(DEVICE_STATUSES),
    "Resource": closed(
        {"name": filled, "scope": one_of(("private", "public")), "mimeType": filled, "link": ref("Links")},
        {"id": opaque, "url": filled},
    ),
    "ResourceList": listing("resources", "Resource"),
    "NewResource": opened(
        {
            **dict.fromkeys(RESOURCE_FIELDS, filled),
            "scope": one_of(("private", "public")),
            "derefUri": {**filled, "contentEncoding": "base64", "pattern": base64_text},
        }
    ),
    "NewMessage": {
        "type": "object",
        "anyOf": [{"required": ["to", "subject"]}, {"required": ["resource"]}],
        "properties": {
            "to": {**filled, "maxLength": to_max, "pattern": "^[^;,\\s]"},
            "subject": filled,
            "resource": {"anyOf": [filled, ref("BulkResource")]},
            "messageContent": opened({}, {"subject": filled, "body": text}),
            "body": {"type": ["string", "null"]},
            "callbackId": {"type": ["string", "null"]},
            "callbackParameters": {"type": "object"},
            "messageType": text,
            "scheduleDate": text,
        },
    },
    "BulkResource": opened({"resourceId": filled}, dict.fromkeys(MAPPINGS, text)),
    "NewImport": opened(
        {"resourceId": filled, "importType": {"const": "contact"}},
        {
            "importOptions": opened(
                {},
                {
                    "fieldMapping": {"type": "object", "additionalProperties": filled},
                    "importMode": one_of(MODES),
                },
            )
        },
    ),
    "Accepted": closed({"location": filled, "messageid": opaque}),
    "MessageRow": closed(_MESSAGE_ROW),
    "MessageList": listing("messages", "MessageRow", rows=None),
    "Message": opened(
        {"to": text, **_MESSAGE_ROW, **{name: {} for name in _REPEATS}},
        {"id": opaque, "callbackParameters": {"type": "object"}},
    ),
    "StatusCategory": closed(
        {"name": one_of(STATES), "recipientCount": whole, "percentageTotal": percentage}
    ),
    "StatusSummary": closed(
        {"link": ref("Links"), "categories": {**array(ref("StatusCategory")), "minItems": len(STATES)}}
    ),
    "StatusRow": closed(
        {"name": text, "info": text, "link": ref("Links"), "status": array(ref("Delivery"), rows=3)}
    ),
    "Delivery": closed(
        {
            "type": one_of(("email", "sms", "voice")),
            "status": one_of(("PENDING", "DELIVRD", "READ", "FAILED", "")),
            "destination": text,
        },
        _TIMES,
    ),
    "StatusSummaryDocument": closed(
        {"messageStatuses": array(ref("StatusSummary"), rows=1), "link": ref("Links")}
    ),
    "StatusDetails": listing("messageStatuses", "StatusRow"),
    "MessageStatus": {"anyOf": [ref("StatusSummaryDocument"), ref("StatusDetails")]},
    "ResponseCount": closed(
        {
            "type": one_of(CATEGORIES),
            "responseCount": {"type": "string", "pattern": "^[0-9]+$"},
            "percentageTotal": percentage,
            "link": ref("Links"),
        }
    ),
    "ResponseSummary": closed({"messageresponses": array(ref("ResponseCount")), "link": ref("Links")}),
    "Responder": _RESPONDER,
    "ResponseRow": closed(
        {
            "from": ref("Responder"),
            "responseCategory": one_of(CATEGORIES),
            "responseMessage": closed(
                {"channel": text, "acknowledged": {"anyOf": [short_moment, nothing]}, "content": text}
            ),
        }
    ),
    "ResponseDetails": listing("messageresponses", "ResponseRow"),
    "MessageResponses": {"anyOf": [ref("ResponseSummary"), ref("ResponseDetails")]},
    "CallbackAuth": closed({"type": one_of(map(str, AUTH_TYPES)), "key": {**filled, "maxLength": key_max}}),
    # Other printable characters are taken, and shown again; not every receiver can read them in a header.
    "NewCallbackAuth": opened(
        {"type": one_of(map(str, AUTH_TYPES)), "key": {**filled, "maxLength": key_max, "pattern": "^[!-~]+$"}}
    ),
    "CallbackEvents": closed({"reply": _ABLE, "undeliverable": _ABLE}),
    "Callback": closed(
        {
            "id": opaque,
            **_CALLBACK,
            "contentType": one_of(("json", "xml")),
            "removeHTML": _ABLE,
            "retriesEnabled": flag,
            "email": {**text, "maxLength": email_max},
            "callbacks": ref("CallbackEvents"),
            "link": ref("Links"),
        },
        {"auth": ref("CallbackAuth")},
    ),
    "CallbackList": listing("callbacks", "Callback"),
    "NewCallback": opened(
        _CALLBACK,
        {
            "auth": ref("NewCallbackAuth"),
            "contentType": one_of(("json", "xml")),
            "removeHTML": _ABLE,
            "retriesEnabled": {"anyOf": [flag, one_of(("true", "false"))]},
            "email": {**text, "maxLength": email_max},
            "callbacks": opened({}, {"reply": _ABLE, "undeliverable": _ABLE}),
        },
    ),
    "Call": closed(
        {
            "id": opaque,
            "messageId": opaque,
            "messageLocation": filled,
            "status": one_of(("SUCCESS", "FAILED")),
            "from": ref("Responder"),
            "responseMessage": {"type": "object", "additionalProperties": text},
            "callback": closed(
                {
                    "id": opaque,
                    "name": filled,
                    "url": filled,
                    "attemptedDate": short_moment,
                    "statusCode": whole,
                    "statusMessage": text,
                }
            ),
            "link": ref("Links"),
        }
    ),
    "CallList": listing("calls", "Call"),
    "CallUpdate": opened({"status": one_of(("SUCCESS", "FAILED"))}),
}
"""Name -> schema. Those that begin with New, and the Updates, are sent; the others are answered."""


def row_schemas(own: Iterable[Collection]) -> dict[str, Body]:
    """The schemas of collections that are rows, by name. Raises ValueError for a name that is taken."""
    found: dict[str, Body] = {}
    for row in own:
        documents = _documents(row, {one.name: _shape(one) for one in row.fields})
        if documents.keys() & (SCHEMAS.keys() | found.keys()):
            raise ValueError(f"{row.name}: there is a schema of the name {row.noun} already")
        found |= documents
    return found


def _shape(field: Field, *, answered: bool = False) -> Body:
    """The schema of a field as it is sent; as it is answered, a group is without what is withheld."""
    if field.one_of:
        return one_of(field.one_of)
    if field.type == "group":
        parts: Body = {
            one.name: _shape(one, answered=answered) for one in field.parts if not (answered and one.withheld)
        }
        must: Body = {one.name: parts[one.name] for one in field.parts if one.required and one.name in parts}
        return (closed if answered else opened)(must, dict(_others(parts, must)))
    shapes: dict[Type, Body] = {"flag": flag, "number": number, "text": filled if field.required else text}
    return shapes[field.type]


def _documents(row: Collection, fields: Body) -> dict[str, Body]:
    """A record, a row of a list, the list, and what a create and an update take."""
    must = {name: fields[name] for name in row.required}
    may: Body = {name: _optional(shape) for name, shape in _others(fields, must)}
    spared = {name: _optional(shape) for name, shape in _others(fields, fields.keys() - set(row.spares))}
    answered: Body = {one.name: _shape(one, answered=True) for one in row.fields if not one.withheld}
    shown = {"id": opaque, **dict(_others(answered, answered.keys() - must.keys())), "link": ref("Links")}
    brief: Body = {name: shape for name, shape in answered.items() if not row.brief or name in row.brief}
    row_must = {"id": opaque, **dict(_others(brief, brief.keys() - must.keys())), "link": ref("Links")}
    documents = {
        row.noun: closed(shown, dict(_others(answered, must))),
        f"{row.noun}Row": closed(row_must, dict(_others(brief, must))),
        f"{row.noun}List": listing(row.key, f"{row.noun}Row"),
        f"New{row.noun}": opened(must, may),
    }
    if row.spares:
        needed = {name: shape for name, shape in must.items() if name not in row.spares}
        documents[f"{row.noun}Update"] = opened(needed, {**may, **spared})
    return documents


def _others(fields: Body, must: Container[str]) -> Iterable[tuple[str, Any]]:
    return ((name, shape) for name, shape in fields.items() if name not in must)
