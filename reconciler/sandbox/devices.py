"""Push devices: create, full update, what failed pushes do to the status, and what their addresses do.

Active --second failed push, no update in between--> Disabled --PUT that says ACTIVE--> Active
Any update forgets the failures. An update that leaves Disabled as it is changes nothing about it.

Source: specification 2.1, 3.1 and 4.1; docs/service.md, devices.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from reconciler.sandbox.calls import Call
from reconciler.sandbox.collections import CollectionRow
from reconciler.sandbox.contacts import CONTACTS, cut_to_seconds
from reconciler.sandbox.documents import View
from reconciler.sandbox.records import (
    DEVICE_FIELDS,
    DEVICE_SERVER_OWNED,
    DEVICE_STATUSES,
    Body,
    Contact,
    Device,
    active,
    device_state,
    disabled,
    with_device,
    without_device,
)
from reconciler.sandbox.refusals import given_values, invalid, require_filled, require_texts

failures_until_disabled = 2


@dataclass(frozen=True, slots=True)
class PushResult:
    """The result of one simulated push: whether it was sent, and whether it was charged."""

    device: Device
    delivered: bool
    charged: bool


def build_device(body: Body, *, device_id: str, now: datetime, short_os: bool) -> Device:
    """A new device; refuses (422) a missing field by name. Without a status it is Active."""
    fields, status = _read_device({"status": active, **body}, short_os=short_os)
    today = f"{now:%Y-%m-%d}"
    return Device(id=device_id, fields=fields, status=status, registered=today, modified=today)


def replace_device(device: Device, body: Body, *, now: datetime, short_os: bool) -> Device:
    """The device after a PUT, its failures forgotten; refuses (422) when one of seven fields is missing."""
    fields, status = _read_device(body, short_os=short_os)
    return msgspec.structs.replace(
        device, fields=fields, status=status, modified=f"{now:%Y-%m-%d}", failures=0
    )


def push_device(device: Device, *, delivered: bool) -> PushResult:
    """The device after one push that the push platform took or failed. A Disabled device is sent nothing."""
    if device_state(device) == disabled:
        quiet = msgspec.structs.replace(device, undelivered=device.undelivered + 1)
        return PushResult(quiet, delivered=False, charged=False)
    failures = 0 if delivered else device.failures + 1
    status = disabled if failures >= failures_until_disabled else device.status
    after = msgspec.structs.replace(device, failures=failures, status=status, charged=device.charged + 1)
    return PushResult(after, delivered=delivered, charged=True)


def require_device_room(contact: Contact, wanted: Device, *, limit: int) -> None:
    """Refuses (422) a device that, with the others of its app on this contact, would be one too many."""
    app = wanted.fields["appId"]
    others = (device for device in contact.devices if device.id != wanted.id)
    if sum(device.fields["appId"] == app for device in others) >= limit:
        raise invalid(f"appId: the contact already has {limit} devices of this app, which is its limit")


def _read_device(body: Body, *, short_os: bool) -> tuple[Body, str]:
    """The fields and the status as they were written; refuses (422) a missing or a wrong one."""
    given = given_values(body, without=DEVICE_SERVER_OWNED)
    require_filled(given, DEVICE_FIELDS)
    require_texts(given, DEVICE_FIELDS)
    if short_os:
        given["deviceOS"] = str(given["deviceOS"]).split(" ")[0]
    status = str(given.pop("status"))
    if status.lower() not in DEVICE_STATUSES:
        raise invalid("status must be ACTIVE or DISABLED")
    return given, status


# --- The addresses of a contact's devices


def _keep_devices(call: Call, contact: Contact) -> None:
    """Store the contact with its changed devices; its own time changes only if so configured."""
    if call.config.device_touches_contact:
        contact = msgspec.structs.replace(contact, modified=cut_to_seconds(call.config.clock()))
    call.state.put_contact(contact)


class DeviceCollection(CollectionRow[Device]):
    """Devices are stored in their contact, in the order of creation."""

    def records(self, call: Call) -> Mapping[str, Device]:
        """Those of the contact in the address; refuses (404) an unknown one."""
        return {one.id: one for one in CONTACTS.one(call, 0).devices}

    def read(self, call: Call, before: Device | None) -> Device:
        """A device for which the contact has room among those of the same app."""
        contact, body, config = CONTACTS.one(call, 0), call.body(), call.config
        now, short_os = config.clock(), config.short_device_os
        if before is None:
            device_id, _ = call.state.new_id("device")
            device = build_device(body, device_id=device_id, now=now, short_os=short_os)
        else:
            device = replace_device(before, body, now=now, short_os=short_os)
        require_device_room(contact, device, limit=config.device_limit)
        return device

    def keep(self, call: Call, record: Device) -> None:
        """Store the device in its old place, or after the others of the contact."""
        _keep_devices(call, with_device(CONTACTS.one(call, 0), record))

    def drop(self, call: Call, record: Device) -> None:
        """Delete the device from its contact."""
        _keep_devices(call, without_device(CONTACTS.one(call, 0), record.id))

    def shown(self, call: Call, record: Device, view: View) -> Body:  # noqa: ARG002  the same everywhere
        """The whole device."""
        return call.writer.device(call.ids[0], record)


DEVICES = DeviceCollection(
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
