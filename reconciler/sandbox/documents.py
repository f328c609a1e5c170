"""Records as documents: media types, links, and the key order that was recorded.

Source: specification 2 and 9; docs/service.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta, timezone
from typing import Literal

from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.records import (
    FOLLOWING,
    LEADING,
    Body,
    Contact,
    Device,
    Resource,
    Workspace,
    device_state,
)

server_zone = timezone(timedelta(hours=10))  # recorded: a created contact's time is written with +10:00


def media_type(vendor: str, kind: str, form: str = "json") -> str:
    """The vendor type of one kind, in JSON or XML: application/vnd.service.contact-v1+json."""
    return f"application/vnd.{vendor}.{kind}-v1+{form}"


def media_words(kind: str) -> tuple[str, ...]:
    """The words of this kind in a media type: the usual one, then others that some sources write."""
    return (kind, *_OTHERS.get(kind, ()))


_OTHERS = {
    "message": ("bulkmessage",),
    # The specification names no type of their own for these; they stand below a message (2.5, 4.4).
    "messagestatus": ("messagestatuses", "message"),
    "messageresponse": ("messageresponses", "message"),
    "importcontact": ("import",),
    "api-callback": ("callback",),  # the vendor's description of a PUT writes it so
}


def body_types(vendor: str, kind: str) -> str:
    """What a link says about the body it takes: both vendor types, joined by a comma."""
    return f"application/vnd.{vendor}.{kind}-v1+xml,application/vnd.{vendor}.{kind}-v1+json"


View = Literal["row", "created", "whole"]  # of a list, the answer to a create, the answer to a GET
Entrance = tuple[str, str, str, str]  # of a collection: path, kind, and the relations of its two links


@dataclass(frozen=True, slots=True)
class DocumentWriter:
    """Writes documents whose links begin with `base` (an origin) and `prefix` (a workspace, or nothing)."""

    config: SandboxConfig
    base: str
    prefix: str = ""
    company_entrances: tuple[Entrance, ...] = ()  # of collections that are rows, beside those of the service
    workspace_entrances: tuple[Entrance, ...] = ()

    def address(self, *parts: str) -> str:
        """The absolute address of a collection or a record, in the workspace of this writer."""
        return "/".join((self.base + self.prefix, *parts))

    def contact(self, contact: Contact, view: View, *, custom: bool, added: Iterable[str] = ()) -> Body:
        """The contact as recorded: without id unless configured, with all links only after a create.

        A row of a list is brief, with the fields asked for added; or it is the whole, if so configured.
        """
        if view == "row" and self.config.rows == "brief":
            document = self._brief(contact, added)
        else:
            document = self._contact_frame(contact, with_id=view == "row" or self.config.id_in_get)
        if custom:
            document["customFields"] = contact.custom
        uri = self.address("contacts", contact.id)
        document["link"] = self.record_links(uri, "Contact", "contact", change=view == "created")
        return document

    def device(self, contact_id: str, device: Device) -> Body:
        """The whole device."""
        uri = self.address("contacts", contact_id, "devices", device.id)
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
            "status": device.status if self.config.device_status == "written" else device_state(device),
            **self._token(str(written["pushToken"])),
            "link": self.record_links(uri, "Device", "contactdevice"),
        }

    def _token(self, token: str) -> Body:
        """What a look at a device shows of its push token."""
        match self.config.device_token:
            case "shown":
                return {"pushToken": token}
            case "masked":
                return {"pushToken": "*" * 12 + token[-4:]}
            case _:
                return {}

    def resource(self, resource: Resource, view: View) -> Body:
        """The representation of a resource, never its content: with its id after a create."""
        with_id = view == "created" or (view == "whole" and self.config.id_in_get)
        shown: Body = {"name": resource.name, "scope": resource.scope, "mimeType": resource.mime_type}
        if resource.scope == "public":
            # The real service names its delivery network here; this one serves the content itself.
            shown["url"] = f"{self.base}/_sandbox/resources/{resource.id}/content"
        uri = self.address("resources", resource.id)
        links = self.record_links(uri, "Resource", "resource", change=view != "row")
        return {**({"id": resource.id} if with_id else {}), **shown, "link": links}

    def workspace(self, workspace: Workspace) -> Body:
        """One workspace with a link for each collection in it."""
        uri = f"{self.base}/workspaces/{workspace.id}"
        types = body_types(self.config.vendor, "workspace")
        links = [make_link(uri, "self"), make_link(uri, "editWorkspaces", "PUT", types)]
        inside = (*_COLLECTIONS, *self.workspace_entrances)
        return {**_workspace_frame(workspace), "link": links + self._collections(uri, inside)}

    def workspace_row(self, workspace: Workspace) -> Body:
        """One item of the list of workspaces."""
        links = [make_link(f"{self.base}/workspaces/{workspace.id}", "self")]
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
            links.append(make_link(f"{uri}/{path}", retrieve))
            links.append(make_link(f"{uri}/{path}", create, "POST", body_types(self.config.vendor, kind)))
        return links

    def record_links(self, uri: str, noun: str, kind: str, *, change: bool = True) -> list[Body]:
        """The link of a record to itself, and with `change` those to its update and its end."""
        links = [make_link(uri, "self")]
        if change:
            links.append(make_link(uri, f"update{noun}", "PUT", body_types(self.config.vendor, kind)))
            links.append(make_link(uri, f"delete{noun}", "DELETE"))
        return links

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
            "devices": [self.device(contact.id, device) for device in contact.devices],
        }


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
    return contact.modified.astimezone(server_zone).isoformat(timespec="seconds")


def make_link(uri: str, rel: str, method: str = "GET", types: str = "") -> Body:
    """One link; with the types of the body that it takes, if it takes one."""
    return {"uri": uri, "rel": rel, "method": method, **({"type": types} if types else {})}
