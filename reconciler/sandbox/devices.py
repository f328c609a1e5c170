"""What happens to a push device: create, full update, and what failed pushes do to its status.

Active --second failed push, no update in between--> Disabled --PUT that says ACTIVE--> Active
Any update forgets the failures. An update that leaves Disabled as it is changes nothing about it.
"""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from reconciler.sandbox.records import DEVICE_FIELDS, DEVICE_SERVER_OWNED, Body, Contact, Device
from reconciler.sandbox.refusals import given_values, invalid, require_filled, require_texts

active, disabled = "Active", "Disabled"
DEVICE_STATUSES = {"active": active, "a": active, "disabled": disabled, "d": disabled}
"""Every spelling in the sources, in lower case -> its state (specification 3.1)."""

failures_until_disabled = 2


@dataclass(frozen=True, slots=True)
class PushResult:
    """What one simulated push did: was it sent at all, and was it charged?"""

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


def device_state(device: Device) -> str:
    """The state that its status means, however its owner spelt it."""
    return DEVICE_STATUSES[device.status.lower()]
