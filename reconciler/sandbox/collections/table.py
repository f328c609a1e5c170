"""The rows of the service: contacts, the devices below them, resources. Callbacks have theirs in messaging/.

Belongs here: their columns, and in hooks what a request asks of the rules. Not here: the rules themselves
(contacts.py, devices.py, resources.py), what all rows do (rows.py), shapes (wire.py).
"""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.casing import small
from reconciler.sandbox.collections.row import Collection, Row
from reconciler.sandbox.entities import contacts, devices, resources
from reconciler.sandbox.entities.wire import View
from reconciler.sandbox.keeping.search import read_added, read_question, wants_custom
from reconciler.sandbox.records import Body, Contact, Device, Resource, with_device, without_device
from reconciler.sandbox.refusals import Refusal, invalid


class Contacts(Row[Contact]):
    """Found by any field, fast at 100,000; of usernames each is there once in the company."""

    def found(self, call: Call) -> Sequence[Contact]:
        """The contacts that answer the query."""
        found = call.shelf.find(read_question(call.query))
        # Not always, because this list may hold 100,000 contacts.
        return call.listed(found) if call.hidden else found

    def read(self, call: Call, before: Contact | None) -> Contact:
        """A contact with the service's rewriting done; a PUT spares what the recorded one spared."""
        body = call.body()
        contacts.require_fields(body, strict=call.config.strict and before is None)
        written = contacts.read_contact(body)
        require_free_username(call, written.fields, owner=before.id if before else None)
        if before is None:
            return new_contact(call, written)
        return contacts.replaced(before, written, workspace_name=call.shelf.name, now=call.config.clock())

    def keep(self, call: Call, record: Contact) -> None:
        """With its username and its devices, which are known in the whole company."""
        call.state.put_contact(record)

    def drop(self, call: Call, record: Contact) -> None:
        """Its devices go with it."""
        call.state.drop_contact(record)

    def shown(self, call: Call, record: Contact, view: View) -> Body:
        """Brief in a list, with all links after a create; custom fields only when asked for."""
        custom = wants_custom(call.query)
        return call.writer.contact(record, view, custom=custom, added=read_added(call.query))


class Devices(Row[Device]):
    """Kept within their contact, in the order of creation."""

    def records(self, call: Call) -> Mapping[str, Device]:
        """Those of the contact in the address; refuses (404) an unknown one."""
        return {one.id: one for one in CONTACTS.one(call, 0).devices}

    def read(self, call: Call, before: Device | None) -> Device:
        """A device for which the contact has room among those of the same app."""
        contact, body, config = CONTACTS.one(call, 0), call.body(), call.config
        now, short_os = config.clock(), config.short_device_os
        if before is None:
            device_id, _ = call.state.new_id("device")
            device = devices.created(body, device_id=device_id, now=now, short_os=short_os)
        else:
            device = devices.replaced(before, body, now=now, short_os=short_os)
        devices.require_room(contact, device, limit=config.device_limit)
        return device

    def keep(self, call: Call, record: Device) -> None:
        """In its old place, or behind the others of the contact."""
        _keep_devices(call, with_device(CONTACTS.one(call, 0), record))

    def drop(self, call: Call, record: Device) -> None:
        """Gone from its contact for good."""
        _keep_devices(call, without_device(CONTACTS.one(call, 0), record.id))

    def shown(self, call: Call, record: Device, view: View) -> Body:  # noqa: ARG002  the same everywhere
        """The whole device."""
        return call.writer.device(call.ids[0], record)


class Resources(Row[Resource]):
    """Their content goes in and is never shown."""

    def found(self, call: Call) -> Sequence[Resource]:
        """Of one scope, or whose name contains a text; those updated last come first."""
        scope, name = call.query.get("scope", "").lower(), small(call.query.get("name", ""))
        everything = reversed(call.listed(self.records(call).values()))
        return [one for one in everything if scope in ("", one.scope) and name in small(one.name)]

    def read(self, call: Call, before: Resource | None) -> Resource:
        """The supplied one, in the place of the one before."""
        known = (before.id, before.number) if before else call.state.new_id("resource")
        return resources.read_resource(
            call.body(),
            known=known,
            workspace=call.shelf.id,
            bytes_max=call.config.resource_bytes_max,
            now=call.config.clock(),
        )

    def shown(self, call: Call, record: Resource, view: View) -> Body:
        """The representation, with its id after a create, and in a list with its own link alone."""
        return call.writer.resource(record, view)

    def replaced(self, call: Call, record: Resource) -> Answer:
        """Nothing, or the representation as after a create: the sources differ."""
        if call.config.resource_put == 200:  # noqa: PLR2004 - the status itself
            return Answer(200, self.shown(call, record, "created"))
        return no_content


CONTACTS = Contacts(
    name="contact",
    plural="contacts",
    filters=("sortOrder", "sortFields", "fields", "customFields", "filters"),
    options=("customFields",),
    says={
        "list": "One page of the contacts that answer the query.",
        "create": "A new contact; the answer is the whole of it, with all links.",
        "get": "The whole contact with its devices; custom fields only when asked for.",
        "put": "The contact is replaced, with the recorded exceptions.",
        "delete": "The contact is gone, and its devices with it.",
    },
)
DEVICES = Devices(
    name="device",
    plural="devices",
    media="contactdevice",
    above=("contacts",),
    says={
        "list": "The contact's devices, in the order of creation. "
        "That this list exists, and its form, is assumed.",
        "create": "A new device of the contact; the answer is the whole of it.",
        "put": "The device is replaced: all seven fields, or nothing.",
        "delete": "The device is gone for good.",
    },
)
RESOURCES = Resources(
    name="resource",
    plural="resources",
    order="updated",
    filters=("scope", "name"),
    says={
        "list": "One page of the resources, most recently updated first.",
        "create": "A new resource; the answer is its representation.",
        "get": "The representation of the resource, not its content.",
        "put": "The resource is replaced by the supplied one and is the most recently updated.",
    },
)


# Collections of the service whose records are plain: a row each, and nothing more.
PLAIN: tuple[Collection, ...] = ()


def _keep_devices(call: Call, contact: Contact) -> None:
    """The contact is kept with its changed devices; its own time moves only when so configured."""
    if call.config.device_touches_contact:
        contact = msgspec.structs.replace(contact, modified=contacts.whole_seconds(call.config.clock()))
    call.state.put_contact(contact)


def new_contact(call: Call, written: contacts.Written) -> Contact:
    """A contact of this workspace that nobody keeps yet."""
    known, workspace = call.state.new_id("contact"), (call.shelf.id, call.shelf.name)
    return contacts.created(written, known=known, workspace=workspace, now=call.config.clock())


def require_free_username(call: Call, fields: Body, *, owner: str | None) -> None:
    """Refuses (422) a name of a portal account that another contact of the company has."""
    holder = call.state.usernames.get(str(fields.get("username") or ""))
    if holder is not None and holder != owner:
        raise username_taken()


def username_taken() -> Refusal:
    """The refusal (422) of a name that another contact's portal account has."""
    return invalid("username: this name already exists in the company")
