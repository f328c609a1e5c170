"""The values that the service keeps: contacts, their devices, resources. Frozen; a change makes a new one.

Belongs here: what is remembered. Not here: the rules by which it changes (contacts.py, devices.py,
resources.py), where it is kept (state.py, storage.py), how it is written out (wire.py).
"""

from datetime import datetime
from hashlib import blake2b

import msgspec

Body = dict[str, object]

# Ids are opaque upper-case hexadecimal. An odd factor makes them look unordered, and
# keeps them different.
_ODD = 0x9E3779B97F4A7C15
SALTS = {
    "contact": 0x1F3D5B79A2C4E680,
    "device": 0x5A0C3E71B9D82F46,
    "resource": 0x93B1D7F5024C68AE,
    "workspace": 0x4B96E20D7F31A8C5,
    "message": 0x2E8A46C0F17B3D95,
    "callback": 0xC65D0B93E8427FA1,
    "call": 0x7714FE2AB90D5C38,
}


class Device(msgspec.Struct, frozen=True):
    """One push device. `fields` holds what the owner wrote, without status; dates are yyyy-mm-dd."""

    id: str
    fields: Body
    status: str
    registered: str
    modified: str
    failures: int = 0
    charged: int = 0
    undelivered: int = 0


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A record with an id, in the order of creation; `workspace` is "" in the default one, or for all."""

    id: str
    number: int = 0
    workspace: str = ""


class Contact(Kept, frozen=True, kw_only=True):
    """One contact of one workspace.

    `fields`: everything written that has no place of its own, the time zone already as it is shown.
    `zulu`: lastModifiedTime is shown with Z, which it is from the first PUT on.
    """

    type: str | None
    status: str
    mri: str
    fields: Body
    locations: list[Body]
    messagingoptions: list[Body]
    custom: list[Body]
    modified: datetime
    zulu: bool = False
    devices: tuple[Device, ...] = ()


class Resource(Kept, frozen=True, kw_only=True):
    """One stored payload; `content` is decoded and is never shown by the service itself."""

    name: str
    scope: str
    mime_type: str
    content: bytes
    modified: datetime | None = None  # None: kept by an older sandbox; it never vanishes by itself


class Record(Kept, frozen=True, kw_only=True):
    """One record of a collection that is a row; `fields` holds what its owner wrote."""

    fields: Body


class Workspace(msgspec.Struct, frozen=True):
    """A named workspace as it is kept in the file; None where nothing was said."""

    id: str
    name: str
    status: str = "A"
    number: str | None = None
    cost_centre: str | None = None


def make_id(kind: str, number: int) -> str:
    """The id of the `number`th record: 16 upper-case hexadecimal digits, never the same twice for a kind."""
    salt = SALTS.get(kind) or int.from_bytes(blake2b(kind.encode(), digest_size=8).digest(), "big")
    return f"{(number * _ODD + salt) & 0xFFFFFFFFFFFFFFFF:016X}"


def device_of(contact: Contact, device_id: str) -> Device | None:
    """The contact's device with this id, if it has one."""
    return next((device for device in contact.devices if device.id == device_id), None)


def with_device(contact: Contact, changed: Device) -> Contact:
    """The contact with this device in the place of the one with the same id, or behind the others."""
    devices = {device.id: device for device in contact.devices} | {changed.id: changed}
    return msgspec.structs.replace(contact, devices=tuple(devices.values()))


def without_device(contact: Contact, device_id: str) -> Contact:
    """The contact without that device."""
    others = tuple(device for device in contact.devices if device.id != device_id)
    return msgspec.structs.replace(contact, devices=others)
