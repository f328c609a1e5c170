"""KINDS, the one table of what can be managed.

A new kind is one row here, one row of the sandbox, and one golden case. A kind that only one deployment has
is a row of its profile (profile.py). What a row can say: kind.py. Field names and their behaviour:
docs/service.md, contacts, devices, resources.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import ParamSpec, TypeVar, cast

from reconciler.model.kind import Field, Kind, Listing

# --- Contacts. Source: docs/service.md, contacts --------------------------------------------------


_ACTIVE = {"a": "A", "active": "A", "d": "D", "disabled": "D"}

CONTACT_FIELDS = (
    Field("firstName", "First name", "Given name of the person.", "Jane"),
    Field("lastName", "Last name", "Family name of the person.", "Doe"),
    Field("title", "Title", "Form of address.", "Dr"),
    Field(
        "status",
        "Status",
        "A (active) or D (disabled); the spelled-out forms are equal to these.",
        "A",
        sticky=True,
        words=_ACTIVE,
        loose=True,
    ),
    Field("companyName", "Company", "The company the person works for.", "Example Pty Ltd"),
    Field("jobTitle", "Job title", "What the person does.", "Duty Manager"),
    Field("division", "Division", "Division of the company.", "Operations"),
    Field("businessUnit", "Business unit", "Business unit within the division.", "Network"),
    Field("department", "Department", "Department the person works in.", "Night shift"),
    Field("teamName1", "Team 1", "A team the person belongs to.", "Incident response"),
    Field("role1", "Role 1", "A role the person has in that team.", "First responder"),
    Field("teamName2", "Team 2", "A team the person belongs to.", "Incident response"),
    Field("role2", "Role 2", "A role the person has in that team.", "First responder"),
    Field(
        "timezone",
        "Time zone",
        "Name of a time zone. The service shows it as an offset afterwards, which is no difference.",
        "Australia/Melbourne",
        type="zone",
    ),
    Field(
        "workMobilePhone1",
        "Work mobile 1",
        "Mobile number at work, with the country prefix. Quotes are not needed: it stays text.",
        "+61491570156",
        type="phone",
    ),
    Field(
        "workMobilePhone2",
        "Work mobile 2",
        "Mobile number at work, with the country prefix. Quotes are not needed: it stays text.",
        "+61491570156",
        type="phone",
    ),
    Field(
        "workEmailAddress1",
        "Work e-mail 1",
        "E-mail address at work. By default the identity of a contact: it must be unique within the "
        "workspace.",
        "jane.doe@example.com",
        type="email",
    ),
    Field(
        "workEmailAddress2",
        "Work e-mail 2",
        "E-mail address at work.",
        "jane.doe@example.com",
        type="email",
    ),
    Field("workPhoneAreaCode1", "Work phone 1, area code", "Area code of the number at work.", "03"),
    Field(
        "workPhone1",
        "Work phone 1",
        "Fixed-line number at work.",
        "5550 1234",
        type="phone",
        area="workPhoneAreaCode1",
    ),
    Field("workPhoneAreaCode2", "Work phone 2, area code", "Area code of the number at work.", "03"),
    Field(
        "workPhone2",
        "Work phone 2",
        "Fixed-line number at work.",
        "5550 1234",
        type="phone",
        area="workPhoneAreaCode2",
    ),
    Field("workFaxAreaCode1", "Work fax, area code", "Area code of the fax number at work.", "03"),
    Field("workFax1", "Work fax", "Fax number at work.", "5550 1235", type="phone", area="workFaxAreaCode1"),
    Field(
        "workSatellitePhone",
        "Work satellite phone",
        "Satellite phone number. Some pages of the service's documentation spell it workSetellitePhone.",
        "+881 600 000 000",
        type="phone",
    ),
    Field(
        "workOtherPhone",
        "Work phone, other",
        "Any other number at work. Some pages of the service's documentation spell it WorkOtherPhone.",
        "5550 1236",
        type="phone",
    ),
    Field("workAddress1", "Work address, line 1", "Street address at work.", "1 Example Street"),
    Field("workAddress2", "Work address, line 2", "Street address at work.", "Level 2"),
    Field("workSuburb", "Work suburb", "Suburb or city at work.", "Melbourne"),
    Field("workState", "Work state", "State or province at work.", "VIC"),
    Field("workPostCode", "Work postcode", "Postal code at work.", "3000"),
    Field("workCountry", "Work country", "Country at work.", "Australia", type="country"),
    Field("workPostalAddress1", "Work postal address, line 1", "Postal address at work.", "PO Box 1"),
    Field("workPostalAddress2", "Work postal address, line 2", "Postal address at work.", "PO Box 1"),
    Field("workPostalSuburb", "Work postal suburb", "Suburb or city of the postal address.", "Melbourne"),
    Field("workPostalState", "Work postal state", "State or province of the postal address.", "VIC"),
    Field("workPostalPostCode", "Work postal postcode", "Postal code of the postal address.", "3001"),
    Field(
        "workPostalCountry",
        "Work postal country",
        "Country of the postal address.",
        "Australia",
        type="country",
    ),
    Field(
        "personalEmailAddress1",
        "Personal e-mail 1",
        "Private e-mail address.",
        "jane@example.com",
        type="email",
    ),
    Field(
        "personalEmailAddress2",
        "Personal e-mail 2",
        "Private e-mail address.",
        "jane@example.com",
        type="email",
    ),
    Field("personalAddress1", "Personal address, line 1", "Private street address.", "2 Example Street"),
    Field("personalAddress2", "Personal address, line 2", "Private street address.", "2 Example Street"),
    Field("personalSuburb", "Personal suburb", "Suburb or city of the private address.", "Geelong"),
    Field("personalState", "Personal state", "State or province of the private address.", "VIC"),
    Field("personalPostCode", "Personal postcode", "Postal code of the private address.", "3220"),
    Field(
        "personalCountry",
        "Personal country",
        "Country of the private address.",
        "Australia",
        type="country",
    ),
    Field("personalPhoneAreaCode1", "Personal phone 1, area code", "Area code of the private number.", "03"),
    Field(
        "personalPhone1",
        "Personal phone 1",
        "Private fixed-line number.",
        "5550 4321",
        type="phone",
        area="personalPhoneAreaCode1",
    ),
    Field("personalPhoneAreaCode2", "Personal phone 2, area code", "Area code of the private number.", "03"),
    Field(
        "personalPhone2",
        "Personal phone 2",
        "Private fixed-line number.",
        "5550 4321",
        type="phone",
        area="personalPhoneAreaCode2",
    ),
    Field("personalFaxAreaCode1", "Personal fax, area code", "Area code of the private fax number.", "03"),
    Field(
        "personalFax1",
        "Personal fax",
        "Private fax number.",
        "5550 4322",
        type="phone",
        area="personalFaxAreaCode1",
    ),
    Field(
        "personalMobilePhone1",
        "Personal mobile",
        "Private mobile number. Messaging options may name it, although not every list of fields has it.",
        "+61491570157",
        type="phone",
    ),
    Field("otherPhoneAreaCode1", "Other phone, area code", "Area code of somebody to reach instead.", "03"),
    Field(
        "otherPhone1",
        "Other phone",
        "Fixed-line number of somebody to reach instead.",
        "5550 9876",
        type="phone",
        area="otherPhoneAreaCode1",
    ),
    Field(
        "otherMobile",
        "Other mobile",
        "Mobile number of somebody to reach instead.",
        "+61491570158",
        type="phone",
    ),
    Field("otherFirstName", "Other first name", "Given name of somebody to reach instead.", "Sam"),
    Field("otherLastName", "Other last name", "Family name of somebody to reach instead.", "Lee"),
    Field("otherTitle", "Other title", "Form of address of somebody to reach instead.", "Ms"),
    Field(
        "username",
        "Portal user name",
        "Name to sign in to the service's portal; unique in the company.",
        "jane.doe",
    ),
    Field(
        "password",
        "Portal password",
        "Password for the portal. It is sent, never shown and never read back.",
        "${env:JANE_PASSWORD}",
        write_only=True,
        secret=True,
    ),
    Field(
        "secretQuestion",
        "Secret question",
        "Question asked when the portal password is forgotten.",
        "First pet?",
    ),
    Field(
        "secretAnswer",
        "Secret answer",
        "Answer to it. It is sent, never shown and never read back.",
        "${env:JANE_ANSWER}",
        write_only=True,
        secret=True,
    ),
    Field("custom", type="custom", wire="customFields"),
    Field("messagingOptions", type="channels", wire="messagingoptions"),
)


_FORMS = {"json": "json", "xml": "xml"}
# Two spellings of one thing: facts 6; ours is the one that more of the sources have.
_AUTH_TYPES = {
    **{word: word for word in ("httpheader", "querystring", "basicauth", "bearertoken")},
    "queryparam": "querystring",
}
_ENABLED = {"active": "ACTIVE", "disabled": "DISABLED", "a": "ACTIVE", "d": "DISABLED"}


def _server_owned_fields(*names: str) -> tuple[Field, ...]:
    """Return fields that the service alone writes."""
    return tuple(Field(name, server_owned=True) for name in names)


CONTACT = Kind(
    name="contact",
    plural="contacts",
    media="contact",
    title="Contact",
    about="One person, as fields and their values. A field that is absent is not managed and stays as it is; "
    '"" clears it.',
    listed="Write each contact under its name: `jane-doe: {...}`.",
    example={"firstName": "Jane", "lastName": "Doe", "workEmailAddress1": "jane.doe@example.com"},
    example_name="jane-doe",
    identity=("workEmailAddress1",),
    wave=2,
    headline=("firstName", "lastName", "workEmailAddress1", "workMobilePhone1", "jobTitle"),
    telling=("firstName", "lastName", "mri"),
    optional=frozenset({"create", "update", "delete"}),
    marked=True,
    brief=True,
    listing=Listing(
        always=frozenset({"firstName", "lastName", "status"}),
        alike=("firstName", "lastName"),
        witness="mri",
        whole=frozenset({"locations", "type"}),
        changed="lastModifiedTime",
        # They say where somebody works, and nothing by which people are reached.
        spare=(
            *("companyName", "jobTitle", "division", "businessUnit", "department", "timezone"),
            *("teamName1", "role1", "teamName2", "role2", "workState", "workCountry"),
        ),
    ),
    rosters=True,
    respelt=True,
    fields=(
        *CONTACT_FIELDS,
        *_server_owned_fields("id", "type", "mri", "devices", "link", "lastModifiedTime", "locations"),
    ),
)

DEVICE = Kind(
    name="device",
    plural="devices",
    media="contactdevice",
    title="Device",
    about="One push device of a contact. All fields but status and pushToken are required, here or under "
    "`defaults`. Without pushToken, an existing device is managed, but no device is created.",
    listed="Write each push device of this contact under its name. If the key is present, its devices are "
    "managed here: with {} every managed one is deleted. Without the key they are left alone.",
    example={
        "deviceName": "Jane's phone",
        "appId": "com.example.oncall",
        "platform": "GCM",
        "deviceOS": "Android 15",
        "deviceModel": "Pixel 9",
        "pushToken": "${env:JANE_PUSH_TOKEN}",
    },
    example_name="pixel",
    parent="contact",
    identity=("appId", "deviceName"),
    together=True,
    wave=3,
    headline=("deviceName", "appId", "platform"),
    telling=("deviceName", "appId", "pushToken"),
    optional=frozenset({"create", "delete"}),
    fields=(
        Field(
            "deviceName",
            "Device name",
            "Name of the device; unique within its contact and app.",
            "Jane's phone",
            required=True,
        ),
        Field(
            "appId",
            "App id",
            "Identifier of the application that is pushed to.",
            "com.example.oncall",
            required=True,
        ),
        Field(
            "platform",
            "Push platform",
            "APNS and APNS_SANDBOX for iOS, GCM for Android.",
            "GCM",
            required=True,
            words={word.lower(): word for word in ("APNS", "APNS_SANDBOX", "GCM")},
        ),
        Field("deviceOS", "Device OS", "Operating system of the device.", "Android 15", required=True),
        Field("deviceModel", "Device model", "Model of the device.", "Pixel 9", required=True),
        Field(
            "status",
            "Device status",
            "ACTIVE or DISABLED, used when the device is created. A device that the service disabled stays "
            "disabled until meta.reactivate is true.",
            "ACTIVE",
            sticky=True,
            words=_ENABLED,
            loose=True,
            revives=("DISABLED", "ACTIVE"),
        ),
        Field(
            "pushToken",
            "Push token",
            "Token that the app received from its push platform. Without it, an existing device keeps its "
            "token; a new device needs one. It is a secret: take it from the environment.",
            "${env:JANE_PUSH_TOKEN}",
            required=True,
            secret=True,
        ),
        *_server_owned_fields("id", "link", "registrationDate", "lastModifiedDate"),
    ),
)

RESOURCE = Kind(
    name="resource",
    plural="resources",
    media="resource",
    title="Resource",
    about="One file kept by the service. All fields are required, here or under `defaults`.",
    listed="Write each resource under its name: `staff: {...}`.",
    example={
        "name": "staff-import.csv",
        "scope": "private",
        "mimeType": "text/csv",
        "content": {"file": "payloads/staff-import.csv"},
    },
    example_name="staff-import",
    identity=("name",),
    unique=("name",),
    wave=1,
    headline=("name", "scope", "content"),
    telling=("name", "scope", "mimeType"),
    optional=frozenset({"create", "update", "delete"}),
    tickets=True,
    fields=(
        Field(
            "name",
            "Resource name",
            "File name with its extension; unique within the workspace, and its identity.",
            "staff-import.csv",
            required=True,
            own=True,
        ),
        Field(
            "scope",
            "Scope",
            "public: anybody with the link may load it. private: for imports and bulk messages; only "
            "text/csv, application/json and application/xml.",
            "private",
            required=True,
            words={"public": "public", "private": "private"},
        ),
        Field(
            "mimeType",
            "Media type",
            "Type and subtype in lower case, with no parameters.",
            "text/csv",
            required=True,
            pattern="^[a-z0-9][a-z0-9!#&^_.+-]*/[a-z0-9][a-z0-9!#&^_.+-]*$(?!\\n)",
        ),
        Field("content", type="content", wire="derefUri", required=True, write_only=True, own=True),
        *_server_owned_fields("id", "url", "link"),
    ),
)

_SWITCH = {"enabled": "enabled", "disabled": "disabled"}

CALLBACK = Kind(
    name="callback",
    plural="callbacks",
    media="api-callback",
    title="Callback",
    about="Where the service sends replies to messages, and failed deliveries. Messages name it by its name.",
    listed="Write each callback under its name: `on-call: {...}`. Callbacks belong to the account: declare "
    "them only in manifests of the workspace default.",
    example={
        "name": "on-call",
        "url": "https://replies.example.com/whispir",
        "auth": {"type": "httpheader", "key": "${env:ON_CALL_KEY}"},
    },
    example_name="on-call",
    identity=("name",),
    unique=("name",),
    wave=1,
    headline=("name", "url", "contentType", "email"),
    telling=("name", "url"),
    company=True,
    in_use="messages on their way may name it, and their replies would be lost",
    fields=(
        Field(
            "name",
            "Callback name",
            "The name that messages give as their callback: at most 50 characters, unique in the account.",
            "on-call",
            required=True,
            own=True,
            pattern=r"^(?=.{1,50}$(?!\n))\S(?:.*\S)?$(?!\n)",
        ),
        Field(
            "url",
            "Address",
            "Where replies are sent. When a callback is created, the service calls it once and expects 200.",
            "https://replies.example.com/whispir",
            required=True,
            pattern=r"^https?://[!-~]{1,1990}$(?!\n)",
        ),
        Field(
            "contentType",
            "Form",
            "The format of the calls.",
            "json",
            words=_FORMS,
            absent="json",
        ),
        Field("auth", "Authentication", "How the service authenticates its calls.", type="group", own=True),
        Field(
            "auth.type",
            "Way",
            "Where the key travels: in a header, in the query, as a password or as a bearer token.",
            "httpheader",
            required=True,
            words=_AUTH_TYPES,
        ),
        Field(
            "auth.key",
            "Key",
            "The secret that each call carries, at most 128 characters. Take it from the environment.",
            "${env:ON_CALL_KEY}",
            required=True,
            write_only=True,
            secret=True,
            own=True,
        ),
        Field("events", "Events", "Which events are sent.", type="group", wire="callbacks"),
        Field(
            "events.reply", "Replies", "Whether replies are sent.", "enabled", words=_SWITCH, absent="enabled"
        ),
        Field(
            "events.undeliverable",
            "Failed deliveries",
            "Whether failed deliveries are sent.",
            "enabled",
            words=_SWITCH,
            absent="enabled",
        ),
        Field(
            "retriesEnabled",
            "Retries",
            "Whether a call that failed is tried again for 24 hours.",
            "true",
            type="flag",
            absent=False,
        ),
        Field(
            "removeHTML",
            "Remove HTML",
            "Whether HTML tags are removed from replies.",
            "disabled",
            words=_SWITCH,
            absent="disabled",
        ),
        Field(
            "email",
            "E-mail",
            "The address that is notified of failed calls.",
            "oncall@example.com",
            type="email",
        ),
        *_server_owned_fields("id", "link"),
    ),
)

BUILT_IN_KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (CONTACT, DEVICE, RESOURCE, CALLBACK)}


class Kinds(dict[str, Kind]):
    """Kinds by name: those above, and those that the profile of a project brings."""

    def bring(self, own: Iterable[Kind]) -> None:
        """Let a project's own kinds be known, and no others beside those above.

        Called before anything is decided: where settings are read, and a store or a client is opened
        (service/profile.py, bring_kinds). The table is one for a process, and not a value of each run: every
        address and every field is judged by it, in every thread, and a part that was not given the rows
        would take records of them for damage, or for nothing at all.
        """
        rows = {**BUILT_IN_KINDS, **{kind.name: kind for kind in own}}
        if rows != self:
            self.clear()
            self.update(rows)
            for forget in _forgets:
                forget()


KINDS = Kinds(BUILT_IN_KINDS)
_forgets: list[Callable[[], None]] = []
T = TypeVar("T")
P = ParamSpec("P")


def cache_by_kinds(make: Callable[P, T]) -> Callable[P, T]:
    """Keep what a function of KINDS returns, until a profile brings other kinds."""
    kept = cache(make)
    _forgets.append(kept.cache_clear)
    return cast("Callable[P, T]", kept)


@cache_by_kinds
def child_kinds(name: str) -> tuple[Kind, ...]:
    """Return the kinds whose entities belong to one of this kind."""
    return tuple(kind for kind in KINDS.values() if kind.parent == name)
