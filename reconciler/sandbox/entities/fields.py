"""The names that a contact's fields have: in bodies, in queries, and which of them only the service writes.

Belongs here: tables, transcribed from the sources. Not here: what is done with them.
Source: docs/service.md, contacts (field list, search aliases), specification 2.2 and 4.2.
"""

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


def _aliases() -> dict[str, str]:
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


QUERY_NAMES = _aliases()
"""Query name in lower case -> field."""
