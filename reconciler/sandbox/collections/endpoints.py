"""What each address does: contacts, devices, resources, the root, tokens.

Belongs here: fetch, apply the rules, keep, answer; a few lines each. Not here: the rules themselves
(contacts.py, devices.py, resources.py), HTTP (app.py).
"""

import msgspec

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.collections import contacts, devices, resources
from reconciler.sandbox.collections.search import read_added, read_question, wants_custom
from reconciler.sandbox.config import workspace_id
from reconciler.sandbox.keeping.records import (
    Body,
    Contact,
    Device,
    Resource,
    device_of,
    with_device,
    without_device,
)
from reconciler.sandbox.paging import page_document
from reconciler.sandbox.refusals import Refusal, invalid, not_found, unauthorized
from reconciler.sandbox.web.auth import bearer_token
from reconciler.sandbox.web.tokens import new_token


def list_contacts(call: Call) -> Answer:
    """One page of the contacts that answer the query."""
    page, added, custom = call.page, read_added(call.query), wants_custom(call.query)
    found = call.shelf.find(read_question(call.query))
    if call.hidden:  # not always: this list may hold 100,000 contacts
        found = call.listed(found)
    rows = [call.writer.contact_row(one, custom=custom, added=added) for one in page.cut(found)]
    return Answer(200, _page(call, "contacts", rows, len(found)))


def create_contact(call: Call) -> Answer:
    """A new contact; the answer is the whole of it, with all links."""
    body = call.body()
    contacts.require_fields(body, strict=call.config.strict)
    written = contacts.read_contact(body)
    require_free_username(call, written.fields, owner=None)
    contact = new_contact(call, written)
    call.state.put_contact(contact)
    document = call.writer.contact(contact, custom=wants_custom(call.query), all_links=True)
    return Answer(201, document, call.writer.address("contacts", contact.id))


def get_contact(call: Call) -> Answer:
    """The whole contact with its devices; custom fields only when asked for."""
    return Answer(200, call.writer.contact(_contact(call), custom=wants_custom(call.query), all_links=False))


def put_contact(call: Call) -> Answer:
    """The contact is replaced, with the recorded exceptions."""
    contact, body = _contact(call), call.body()
    contacts.require_name(body)
    written = contacts.read_contact(body)
    require_free_username(call, written.fields, owner=contact.id)
    after = contacts.replaced(contact, written, workspace_name=call.shelf.name, now=call.config.clock())
    call.state.put_contact(after)
    return no_content


def delete_contact(call: Call) -> Answer:
    """The contact is gone, and its devices with it."""
    call.state.drop_contact(_contact(call))
    return no_content


def list_devices(call: Call) -> Answer:
    """The contact's devices, in the order of creation. That this list exists, and its form, is assumed."""
    contact, page = _contact(call), call.page
    listed = call.listed(contact.devices)
    rows = [call.writer.device(contact, device) for device in page.cut(listed)]
    return Answer(200, _page(call, "devices", rows, len(listed)))


def create_device(call: Call) -> Answer:
    """A new device of the contact; the answer is the whole of it."""
    contact, body, config = _contact(call), call.body(), call.config
    device_id, _ = call.state.new_id("device")
    device = devices.created(body, device_id=device_id, now=config.clock(), short_os=config.short_device_os)
    devices.require_room(contact, device, limit=config.device_limit)
    _keep_devices(call, with_device(contact, device))
    location = call.writer.address("contacts", contact.id, "devices", device.id)
    return Answer(201, call.writer.device(contact, device), location)


def get_device(call: Call) -> Answer:
    """The whole device."""
    return Answer(200, call.writer.device(*_device(call)))


def put_device(call: Call) -> Answer:
    """The device is replaced: all seven fields, or nothing."""
    contact, device = _device(call)
    config = call.config
    after = devices.replaced(device, call.body(), now=config.clock(), short_os=config.short_device_os)
    devices.require_room(contact, after, limit=config.device_limit)
    _keep_devices(call, with_device(contact, after))
    return no_content


def delete_device(call: Call) -> Answer:
    """The device is gone for good."""
    contact, device = _device(call)
    _keep_devices(call, without_device(contact, device.id))
    return no_content


def list_resources(call: Call) -> Answer:
    """One page of the resources, most recently updated first."""
    page = call.page
    scope, name = call.query.get("scope", "").lower(), call.query.get("name", "").casefold()
    everything = reversed(call.listed(call.shelf.resources.values()))
    found = [one for one in everything if scope in ("", one.scope) and name in one.name.casefold()]
    rows = [call.writer.resource_row(one) for one in page.cut(found)]
    return Answer(200, _page(call, "resources", rows, len(found)))


def create_resource(call: Call) -> Answer:
    """A new resource; the answer is its representation."""
    resource_id, _ = call.state.new_id("resource")
    resource = _read_resource(call, resource_id)
    call.state.put_resource(resource)
    return Answer(201, call.writer.created_resource(resource), call.writer.address("resources", resource.id))


def get_resource(call: Call) -> Answer:
    """The representation of the resource, not its content."""
    return Answer(200, call.writer.resource(_resource(call)))


def put_resource(call: Call) -> Answer:
    """The resource is replaced by the supplied one and is the most recently updated."""
    resource = _read_resource(call, _resource(call).id)
    call.state.put_resource(resource)
    if call.config.resource_put == 200:  # noqa: PLR2004 - the status itself
        return Answer(200, call.writer.created_resource(resource))
    return no_content


def delete_resource(call: Call) -> Answer:
    """The resource is gone."""
    call.state.drop_resources([_resource(call)])
    return no_content


def get_company(call: Call) -> Answer:
    """The document at the root."""
    return Answer(200, call.writer.company(workspace_id("")))


def create_token(call: Call) -> Answer:
    """A token for whoever came with user and password; a token is no way to another one (assumed)."""
    if bearer_token(call.authorization) is not None:
        raise unauthorized()
    return Answer(200, call.writer.auth(new_token(call.config)))


def verify_token(call: Call) -> Answer:
    """The token that the request came with: it is good, or nobody would have got here."""
    if call.ids != ("verify",):
        raise not_found()
    token = bearer_token(call.authorization)
    if token is None:
        raise unauthorized()
    return Answer(200, call.writer.auth(token))


def _page(call: Call, key: str, rows: list[Body], total: int) -> Body:
    return page_document(
        key,
        rows,
        page=call.page,
        total=total,
        address=f"{call.writer.base}{call.path}",
        query=call.query,
        prev_rel=call.config.prev_rel,
    )


def _contact(call: Call) -> Contact:
    contact = call.shelf.contact(call.ids[0])
    if contact is None:
        raise not_found()
    return contact


def _device(call: Call) -> tuple[Contact, Device]:
    contact = _contact(call)
    device = device_of(contact, call.ids[1])
    if device is None:
        raise not_found()
    return contact, device


def _keep_devices(call: Call, contact: Contact) -> None:
    """The contact is kept with its changed devices; its own time moves only when so configured."""
    if call.config.device_touches_contact:
        contact = msgspec.structs.replace(contact, modified=contacts.whole_seconds(call.config.clock()))
    call.state.put_contact(contact)


def _resource(call: Call) -> Resource:
    resource = call.shelf.resources.get(call.ids[0])
    if resource is None:
        raise not_found()
    return resource


def _read_resource(call: Call, resource_id: str) -> Resource:
    return resources.read_resource(
        call.body(),
        resource_id=resource_id,
        workspace=call.shelf.id,
        bytes_max=call.config.resource_bytes_max,
        now=call.config.clock(),
    )


def new_contact(call: Call, written: contacts.Written) -> Contact:
    """A contact of this workspace that nobody keeps yet."""
    contact_id, number = call.state.new_id("contact")
    return contacts.created(
        written,
        contact_id=contact_id,
        number=number,
        workspace=(call.shelf.id, call.shelf.name),
        now=call.config.clock(),
    )


def require_free_username(call: Call, fields: Body, *, owner: str | None) -> None:
    """Refuses (422) a name of a portal account that another contact of the company has."""
    holder = call.state.usernames.get(str(fields.get("username") or ""))
    if holder is not None and holder != owner:
        raise username_taken()


def username_taken() -> Refusal:
    """The refusal (422) of a name that another contact's portal account has."""
    return invalid("username: this name already exists in the company")
