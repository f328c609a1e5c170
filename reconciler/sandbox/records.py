"""The values that the service keeps: contacts, their devices, resources. Frozen; a change makes a new one."""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import blake2b
from typing import Literal

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


active, disabled = "Active", "Disabled"
DEVICE_STATUSES = {"active": active, "a": active, "disabled": disabled, "d": disabled}
"""Every spelling in the sources, in lower case -> its state (specification 3.1)."""


def device_state(device: Device) -> str:
    """The state that its status means, however its owner spelt it."""
    return DEVICE_STATUSES[device.status.lower()]


class StoredRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record with an id, in the order of creation; `workspace` is "" in the default one, or for all."""

    id: str
    number: int = 0
    workspace: str = ""


class Contact(StoredRecord, frozen=True, kw_only=True):
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


class Resource(StoredRecord, frozen=True, kw_only=True):
    """One stored payload; `content` is decoded and is never shown by the service itself."""

    name: str
    scope: str
    mime_type: str
    content: bytes
    modified: datetime | None = None  # None: kept by an older sandbox; it never vanishes by itself


class Record(StoredRecord, frozen=True, kw_only=True):
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


# --- The names that a contact's fields have: in bodies, in queries, and which of them only the service writes
#
# Source: docs/service.md, contacts (field list, search aliases), specification 2.2 and 4.2.


_WORK = """
workMobilePhone1 workMobilePhone2 workEmailAddress1 workEmailAddress2 workPhoneAreaCode1 workPhoneAreaCode2
workPhone1 workPhone2 workFaxAreaCode1 workFax1 workSatellitePhone workOtherPhone workAddress1 workAddress2
workSuburb workState workPostCode workCountry workPostalAddress1 workPostalAddress2 workPostalSuburb
workPostalState workPostalPostCode workPostalCountry
"""
_PERSON = """
firstName lastName title status companyName jobTitle division businessUnit department teamName1 teamName2
role1 role2 timezone username password secretQuestion secretAnswer
"""
_PERSONAL = """
personalEmailAddress1 personalEmailAddress2 personalAddress1 personalAddress2 personalSuburb personalState
personalPostCode personalCountry personalPhoneAreaCode1 personalPhoneAreaCode2 personalPhone1 personalPhone2
personalFaxAreaCode1 personalFax1
"""
_OTHER = "otherPhoneAreaCode1 otherPhone1 otherMobile otherFirstName otherLastName otherTitle"

CONTACT_FIELDS = tuple(f"{_PERSON} {_WORK} {_PERSONAL} {_OTHER}".split())
"""Every documented field with a plain value; all of them are strings."""

REQUIRED_ON_CREATE = (
    "firstName",
    "lastName",
    "workMobilePhone1",
    "workEmailAddress1",
    "workCountry",
    "timezone",
)
"""Documented as required; no source shows a refusal, and recorded PUTs went through without them."""

SERVER_OWNED = frozenset({"id", "type", "mri", "devices", "link", "lastModifiedTime"})
"""Written by the service alone: ignored in what a client sends."""

NEVER_SHOWN = frozenset({"password", "secretAnswer"})
"""Secrets of the contact's portal account: accepted, never returned, never searched."""

STRUCTURED = frozenset({"locations", "messagingoptions", "customFields"})

# The recorded order: these first, then locations, time, status, then those; other fields follow.
LEADING = ("firstName", "lastName")
FOLLOWING = ("timezone", "workEmailAddress1", "workMobilePhone1", "workCountry")

DEVICE_FIELDS = ("deviceName", "appId", "platform", "deviceOS", "deviceModel", "status", "pushToken")
"""All seven stand in every update (specification 2.1); a create may leave out status."""

DEVICE_SERVER_OWNED = frozenset({"id", "registrationDate", "lastModifiedDate", "link"})

RESOURCE_FIELDS = ("name", "scope", "mimeType", "derefUri")
"""All four stand in every create and every update."""


def _query_names() -> dict[str, str]:
    """Query names: any spelling of case, and Primary and Secondary for the numbered fields.

    workEmailAddressPrimary is documented; that the other numbered fields follow the same pattern is assumed.
    """
    shown = ["mri", "type", "lastModifiedTime", "id", "locations", "messagingoptions"]
    found = {name.lower(): name for name in (*CONTACT_FIELDS, *shown) if name not in NEVER_SHOWN}
    for name in CONTACT_FIELDS:
        if name.endswith("1"):
            found[f"{name[:-1]}Primary".lower()] = name
        if name.endswith("2"):
            found[f"{name[:-1]}Secondary".lower()] = name
    return found


QUERY_NAMES = _query_names()
"""Query name in lower case -> field."""


# --- Letter case as the sandbox compares it: letter by letter, so that `strauss` is not found by `strauß`
#
# The specification does not say how the service does it; this is how most programs do.


def lower_letters(text: str) -> str:
    """The text in small letters; a letter whose small one would be two stays as it is."""
    return text.lower() if text.isascii() else "".join(map(_lower_letter, text))


def _lower_letter(letter: str) -> str:
    lower = letter.lower()
    return lower if len(lower) == 1 else letter


# --- Messages, the replies to them, callbacks and calls: the values, and where they stand in memory


AuthType = Literal["httpheader", "querystring", "queryparam", "basicauth", "bearertoken", ""]


class Reply(msgspec.Struct, frozen=True):
    """What one recipient answered once."""

    content: str
    channel: str
    at: datetime


class Recipient(msgspec.Struct, frozen=True):
    """One recipient: who it is, as far as a contact tells, and what became of the message there.

    `written` is what stood in `to`; `channel` is "" where it leads nowhere. `failure` is "" unless it failed.
    """

    written: str
    channel: Literal["sms", "email", ""]
    destination: str
    name: str
    mri: str = ""
    mobile: str = ""
    email: str = ""
    voice: str = ""
    failed: datetime | None = None
    failure: str = ""
    replies: tuple[Reply, ...] = ()


class Message(StoredRecord, frozen=True, kw_only=True):
    """One accepted message. `executed` is None while it is queued; `location` is its address, absolute.

    `fields`: everything written that has no place of its own. `parameters`: as they were sent.
    """

    user: str
    location: str
    to: str
    subject: str
    fields: Body
    recipients: tuple[Recipient, ...]
    created: datetime
    executed: datetime | None = None
    callback_id: str = ""
    parameters: dict[str, object] | None = None
    scheduled: datetime | None = None  # not before this moment


class Callback(StoredRecord, frozen=True, kw_only=True):
    """One callback of the company; its name is the callbackId of messages. `key` is "" without auth."""

    name: str
    url: str
    auth_type: AuthType
    key: str
    content_type: Literal["json", "xml"]
    remove_html: bool
    retries: bool
    email: str
    on_reply: bool
    on_undeliverable: bool


class CallbackCall(StoredRecord, frozen=True, kw_only=True):
    """One event on its way to a callback: its payload, and how the last attempt ended ("" before the first).

    `due` is when it is tried next; None: never again.
    """

    callback: str
    message: str
    payload: Body
    since: datetime
    due: datetime | None
    status: Literal["SUCCESS", "FAILED", ""] = ""
    attempts: int = 0
    attempted: datetime | None = None
    code: int = 0
    reason: str = ""


class Mail:
    """Everything of the above by id, in the order of creation; `callbacks` are those of the company."""

    def __init__(self, callbacks: dict[str, Callback]) -> None:
        self.messages: dict[str, Message] = {}
        self.callbacks = callbacks
        self.calls: dict[str, CallbackCall] = {}
        self.queued: dict[str, Message] = {}  # the messages whose cycle has not come
        self.waiting: dict[str, CallbackCall] = {}  # the calls that will be tried again
        self.news = asyncio.Event()  # set when there may be something to send
        self.busy: set[str] = set()  # ids of callbacks that are being called right now
        self.ends: dict[str, asyncio.Future[None]] = {}  # each of them -> done when its calls have ended

    def message(self, message_id: str, workspace: str) -> Message | None:
        """The message with this id, if it stands in this workspace."""
        found = self.messages.get(message_id)
        return found if found and found.workspace == workspace else None

    def newest_messages(self, workspace: str) -> Iterator[Message]:
        """The messages of this workspace, newest first."""
        return (one for one in reversed(self.messages.values()) if one.workspace == workspace)

    def put_message(self, message: Message) -> None:
        """The message stands here, in its old place or behind the others."""
        self.messages[message.id] = message
        self.queued.pop(message.id, None)
        if message.executed is None:
            self.queued[message.id] = message
            self.news.set()

    def named_callback(self, name: str) -> Callback | None:
        """The callback that a message means: by its name, else by its id."""
        named = next((one for one in self.callbacks.values() if one.name == name), None)
        return named or self.callbacks.get(name)

    def calls_of(self, callback: Callback) -> list[CallbackCall]:
        """All calls to this callback, oldest first."""
        return [call for call in self.calls.values() if call.callback == callback.id]

    def put_call(self, call: CallbackCall) -> None:
        """The call stands here as it is now, and waits if it is to be tried again."""
        self.calls[call.id] = call
        self.waiting.pop(call.id, None)
        if call.due is not None:
            self.waiting[call.id] = call
            self.news.set()

    def drop_calls(self, calls: Iterable[CallbackCall]) -> None:
        """The calls are gone."""
        for call in calls:
            del self.calls[call.id]
            self.waiting.pop(call.id, None)
