"""KINDS, the one table of what can be managed.

A new kind is one row here, one row of the sandbox, and one golden case. A kind that only one deployment has
is a row of its profile (own_kinds.py).

Field names and their behaviour: docs/service.md, contacts, devices, resources. What a row can say: kind.py.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import ParamSpec, TypeVar, cast

from reconciler.model.kind.contact_fields import CONTACT_FIELDS
from reconciler.model.kind.kind import Field, Kind, Listing

__all__ = [
    "BUILT_IN",
    "CALLBACK",
    "CONTACT",
    "DEVICE",
    "KINDS",
    "RESOURCE",
    "Field",
    "Kind",
    "Kinds",
    "children",
    "derived",
]

_FORMS = {"json": "json", "xml": "xml"}
# Two spellings of one thing: facts 6; ours is the one that more of the sources have.
_AUTH_TYPES = {
    **{word: word for word in ("httpheader", "querystring", "basicauth", "bearertoken")},
    "queryparam": "querystring",
}
_ENABLED = {"active": "ACTIVE", "disabled": "DISABLED", "a": "ACTIVE", "d": "DISABLED"}


def _service(*names: str) -> tuple[Field, ...]:
    """Return fields that the service alone writes."""
    return tuple(Field(name, server_owned=True) for name in names)


CONTACT = Kind(
    name="contact",
    plural="contacts",
    media="contact",
    title="Contact",
    about="One person, as fields and their values. A field that is absent is not ours and stays as it is; "
    '"" clears it.',
    listed="Contacts by our name for them.",
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
        *_service("id", "type", "mri", "devices", "link", "lastModifiedTime", "locations"),
    ),
)

DEVICE = Kind(
    name="device",
    plural="devices",
    media="contactdevice",
    title="Device",
    about="One push device of a contact. All fields but status and pushToken are needed, defaults included. "
    "Without pushToken an existing device is managed, and none is created.",
    listed="Push devices of this contact by our name. The key alone says that its devices are managed "
    "here: with {} every managed one is removed; without the key they are left alone.",
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
            "so until meta.reactivate asks otherwise.",
            "ACTIVE",
            sticky=True,
            words=_ENABLED,
            loose=True,
            revives=("DISABLED", "ACTIVE"),
        ),
        Field(
            "pushToken",
            "Push token",
            "Token that the app received from its push platform. Left out, an existing device keeps the one "
            "that it has; to create one it is needed. It is a secret: take it from the environment.",
            "${env:JANE_PUSH_TOKEN}",
            required=True,
            secret=True,
        ),
        *_service("id", "link", "registrationDate", "lastModifiedDate"),
    ),
)

RESOURCE = Kind(
    name="resource",
    plural="resources",
    media="resource",
    title="Resource",
    about="One file kept by the service. All fields are needed, defaults included.",
    listed="Resources by our name for them.",
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
        *_service("id", "url", "link"),
    ),
)

_SWITCH = {"enabled": "enabled", "disabled": "disabled"}

CALLBACK = Kind(
    name="callback",
    plural="callbacks",
    media="api-callback",
    title="Callback",
    about="Where the service sends replies to messages, and failed deliveries. Messages name it by its name.",
    listed="Callbacks by our name for them. They belong to the account, so they stand in manifests of the "
    "workspace default alone.",
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
    in_use="replies to messages that are on their way, and name it, would reach nobody",
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
            "Where replies are sent. When a callback is created, the service asks it once and wants a 200.",
            "https://replies.example.com/whispir",
            required=True,
            pattern=r"^https?://[!-~]{1,1990}$(?!\n)",
        ),
        Field(
            "contentType",
            "Form",
            "The form of what is sent.",
            "json",
            words=_FORMS,
            absent="json",
        ),
        Field("auth", "Authentication", "How the service proves itself.", type="group", own=True),
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
            "The secret that each call has to show, of at most 128 characters. Take it from the environment.",
            "${env:ON_CALL_KEY}",
            required=True,
            write_only=True,
            secret=True,
            own=True,
        ),
        Field("events", "Events", "What is sent.", type="group", wire="callbacks"),
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
            "Whether tags are taken out of replies.",
            "disabled",
            words=_SWITCH,
            absent="disabled",
        ),
        Field("email", "E-mail", "Who is told of calls that failed.", "oncall@example.com", type="email"),
        *_service("id", "link"),
    ),
)

BUILT_IN: Mapping[str, Kind] = {kind.name: kind for kind in (CONTACT, DEVICE, RESOURCE, CALLBACK)}


class Kinds(dict[str, Kind]):
    """Kinds by name: those above, and those that the profile of a project brings."""

    def bring(self, own: Iterable[Kind]) -> None:
        """Let a project's own kinds be known, and no others beside those above.

        Called before anything is decided: where settings are read, and a store or a client is opened
        (service/profile.py, bring_kinds). The table is one for a process, and not a value of each run: every
        address and every field is judged by it, in every thread, and a part that was not given the rows
        would take records of them for damage, or for nothing at all.
        """
        rows = {**BUILT_IN, **{kind.name: kind for kind in own}}
        if rows != self:
            self.clear()
            self.update(rows)
            for forget in _forgets:
                forget()


KINDS = Kinds(BUILT_IN)
_forgets: list[Callable[[], None]] = []
T = TypeVar("T")
P = ParamSpec("P")


def derived(make: Callable[P, T]) -> Callable[P, T]:
    """Keep what a function of KINDS returns, until a profile brings other kinds."""
    kept = cache(make)
    _forgets.append(kept.cache_clear)
    return cast("Callable[P, T]", kept)


@derived
def children(name: str) -> tuple[Kind, ...]:
    """Return the kinds whose entities belong to one of this kind."""
    return tuple(kind for kind in KINDS.values() if kind.parent == name)
