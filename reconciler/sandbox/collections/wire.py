"""Records as documents: media types, links, and the key order that was recorded.

Belongs here: shapes on the wire, written down from the sources and shared with no client.
Not here: rules, routing.
Source: specification 2 and 9; docs/service.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from reconciler.sandbox.collections.devices import state
from reconciler.sandbox.collections.fields import FOLLOWING, LEADING
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.keeping.records import Body, Contact, Device, Resource, Workspace

server_zone = timezone(timedelta(hours=10))  # recorded: a created contact's time is written with +10:00


def media_type(vendor: str, kind: str, form: str = "json") -> str:
    """The vendor type of one kind, in JSON or XML: application/vnd.service.contact-v1+json."""
    return f"application/vnd.{vendor}.{kind}-v1+{form}"


def spellings(kind: str) -> tuple[str, ...]:
    """The words of this kind in a media type: the usual one, then others that some sources write."""
    return (kind, *_OTHERS.get(kind, ()))


_OTHERS = {
    "message": ("bulkmessage",),
    "messagestatus": ("messagestatuses",),
    "messageresponse": ("messageresponses",),
    "importcontact": ("import",),
}


def body_types(vendor: str, kind: str) -> str:
    """What a link says about the body it takes: both vendor types, joined by a comma."""
    return f"application/vnd.{vendor}.{kind}-v1+xml,application/vnd.{vendor}.{kind}-v1+json"


Entrance = tuple[str, str, str, str]  # of a collection: path, kind, and the relations of its two links


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes documents whose links begin with `base` (an origin) and `prefix` (a workspace, or nothing)."""

    config: SandboxConfig
    base: str
    prefix: str = ""
    company_entrances: tuple[Entrance, ...] = ()  # of collections that are rows, beside those of the service
    workspace_entrances: tuple[Entrance, ...] = ()

    def address(self, *parts: str) -> str:
        """The absolute address of a collection or a record, in the workspace of this writer."""
        return "/".join((self.base + self.prefix, *parts))

    def contact(self, contact: Contact, *, custom: bool, all_links: bool) -> Body:
        """The whole contact as recorded: without id unless configured, with all links only after a create."""
        uri = self.address("contacts", contact.id)
        links = [_link(uri, "self", "GET")]
        if all_links:
            links.append(_link(uri, "updateContact", "PUT", body_types(self.config.vendor, "contact")))
            links.append(_link(uri, "deleteContact", "DELETE"))
        document = self._contact_frame(contact, with_id=self.config.id_in_get)
        if custom:
            document["customFields"] = contact.custom
        document["link"] = links
        return document

    def contact_row(self, contact: Contact, *, custom: bool, added: Iterable[str]) -> Body:
        """One item of a list: brief, with the fields asked for added; or the whole, if so configured."""
        links = [_link(self.address("contacts", contact.id), "self", "GET")]
        if self.config.rows == "full":
            row = self._contact_frame(contact, with_id=True)
        else:
            row = self._brief(contact, added)
        if custom:
            row["customFields"] = contact.custom
        row["link"] = links
        return row

    def device(self, contact: Contact, device: Device) -> Body:
        """The whole device."""
        uri = self.address("contacts", contact.id, "devices", device.id)
        written = device.fields
        return {
            "id": device.id,
            "deviceName": written["deviceName"],
            "appId": written["appId"],
            "registrationDate": device.registered,
            "lastModifiedDate": device.modified,
            **{
                key: value
                for key, value in written.items()
                if key not in ("deviceName", "appId", "pushToken")
            },
            "status": device.status if self.config.device_status == "written" else state(device),
            "pushToken": written["pushToken"],
            "link": self._changeable(uri, "Device", "contactdevice"),
        }

    def resource(self, resource: Resource) -> Body:
        """The representation of a resource, never its content."""
        uri = self.address("resources", resource.id)
        shown = self._resource_frame(resource, with_id=self.config.id_in_get)
        return {**shown, "link": self._changeable(uri, "Resource", "resource")}

    def created_resource(self, resource: Resource) -> Body:
        """The answer to a create: the representation, with its id."""
        return {"id": resource.id, **self.resource(resource)}

    def resource_row(self, resource: Resource) -> Body:
        """One item of the list: the representation with its own link alone."""
        uri = self.address("resources", resource.id)
        return {**self._resource_frame(resource, with_id=False), "link": [_link(uri, "self", "GET")]}

    def workspace(self, workspace: Workspace) -> Body:
        """One workspace with a link for each collection in it."""
        uri = f"{self.base}/workspaces/{workspace.id}"
        types = body_types(self.config.vendor, "workspace")
        links = [_link(uri, "self", "GET"), _link(uri, "editWorkspaces", "PUT", types)]
        inside = (*_COLLECTIONS, *self.workspace_entrances)
        return {**_workspace_frame(workspace), "link": links + self._collections(uri, inside)}

    def workspace_row(self, workspace: Workspace) -> Body:
        """One item of the list of workspaces."""
        links = [_link(f"{self.base}/workspaces/{workspace.id}", "self", "GET")]
        return {**_workspace_frame(workspace), "link": links}

    def company(self, company_id: str) -> Body:
        """The document at the root, from which a client may find everything else."""
        everything = (*_COMPANY, *_COLLECTIONS, *self.company_entrances, *self.workspace_entrances)
        return {"id": company_id, "link": self._collections(self.base, everything)}

    def auth(self, token: str) -> Body:
        """A token."""
        return {"token": token, "link": []}

    def _collections(self, uri: str, collections: Iterable[Entrance]) -> list[Body]:
        links: list[Body] = []
        for path, kind, retrieve, create in collections:
            links.append(_link(f"{uri}/{path}", retrieve, "GET"))
            links.append(_link(f"{uri}/{path}", create, "POST", body_types(self.config.vendor, kind)))
        return links

    def record_links(self, uri: str, noun: str, kind: str, *, change: bool) -> list[Body]:
        """The link of a record to itself, and with `change` those to its update and its end."""
        return self._changeable(uri, noun, kind) if change else [_link(uri, "self", "GET")]

    def _changeable(self, uri: str, noun: str, kind: str) -> list[Body]:
        return [
            _link(uri, "self", "GET"),
            _link(uri, f"update{noun}", "PUT", body_types(self.config.vendor, kind)),
            _link(uri, f"delete{noun}", "DELETE"),
        ]

    def _brief(self, contact: Contact, added: Iterable[str]) -> Body:
        # The empty lists do not mean that the contact has no options or devices: recorded so.
        row: Body = {
            "id": contact.id,
            **{name: contact.fields[name] for name in LEADING if name in contact.fields},
            "lastModifiedTime": shown_time(contact),
            "status": contact.status,
            "messagingoptions": [],
            "devices": [],
        }
        for name in added:
            value = contact_value(contact, name)
            if value is not None:
                row[name] = value
        return row

    def _contact_frame(self, contact: Contact, *, with_id: bool) -> Body:
        fields = contact.fields
        named = (*LEADING, *FOLLOWING)
        return {
            **({"id": contact.id} if with_id else {}),
            **({"type": contact.type} if contact.type else {}),
            **{name: fields[name] for name in LEADING if name in fields},
            "locations": contact.locations,
            "lastModifiedTime": shown_time(contact),
            "status": contact.status,
            **{name: fields[name] for name in FOLLOWING if name in fields},
            **{name: value for name, value in fields.items() if name not in named},
            "mri": contact.mri,
            "messagingoptions": contact.messagingoptions,
            "devices": [self.device(contact, device) for device in contact.devices],
        }

    def _resource_frame(self, resource: Resource, *, with_id: bool) -> Body:
        shown: Body = {"name": resource.name, "scope": resource.scope, "mimeType": resource.mime_type}
        if resource.scope == "public":
            # The real service names its delivery network here; this one serves the content itself.
            shown["url"] = f"{self.base}/_sandbox/resources/{resource.id}/content"
        return {"id": resource.id, **shown} if with_id else shown


# Path, kind, and the two relations. Clients that follow links look for these words.
_COMPANY = (
    ("workspaces", "workspace", "retrieveWorkspaces", "createWorkspaces"),
    ("callbacks", "api-callback", "retrieveCallbacks", "createCallback"),
)
_COLLECTIONS = (
    ("messages", "message", "retrieveMessage", "createMessage"),
    ("contacts", "contact", "retrieveContacts", "createContact"),
    ("resources", "resource", "retrieveResources", "createResource"),
)


def _workspace_frame(workspace: Workspace) -> Body:
    shown: Body = {
        "id": workspace.id,
        "projectName": workspace.name,
        "status": workspace.status,
        "projectNumber": workspace.number,
        "billingcostcentre": workspace.cost_centre,
    }
    return {name: value for name, value in shown.items() if value is not None}  # optional: absent, not null


def contact_value(contact: Contact, name: str) -> object:
    """What stands under this name in the contact, None where nothing does. Devices are no field of it."""
    match name:
        case "id" | "type" | "status" | "mri" | "locations" | "messagingoptions":
            value: object = getattr(contact, name)
            return value
        case "lastModifiedTime":
            return shown_time(contact)
        case _:
            return contact.fields.get(name)


def shown_time(contact: Contact) -> str:
    """The contact's time in whole seconds: with +10:00 after its create, with Z after its first update."""
    if contact.zulu:
        return f"{contact.modified:%Y-%m-%dT%H:%M:%SZ}"
    return _server_time(contact.modified)


def _server_time(moment: datetime) -> str:
    return moment.astimezone(server_zone).isoformat(timespec="seconds")


def _link(uri: str, rel: str, method: str, types: str | None = None) -> Body:
    link: Body = {"uri": uri, "rel": rel, "method": method}
    if types is not None:
        link["type"] = types
    return link
