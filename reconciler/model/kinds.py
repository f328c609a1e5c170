"""KINDS, the one table of what can be managed. A new kind is one row, one schema, one golden case."""

from collections.abc import Mapping

from msgspec import Struct

_LIVE = {"a": "A", "active": "A", "d": "D", "disabled": "D"}


class Kind(Struct, frozen=True):
    """What the program knows of one kind of entity.

    Paths are ours (`custom.employeeId`); `wire` maps the few manifest keys whose name on the wire
    differs. `sticky` fields survive a full-replace PUT that leaves them out, so leaving them out
    cannot clear them. `folds` map spellings that the service treats as equal to one of them.
    """

    name: str
    plural: str  # the manifest's key, and the collection's path segment
    media: str  # the <kind> of the vendor media type
    identity: tuple[str, ...]  # default identity fields; all of them together for a device
    parent: str = ""
    required: tuple[str, ...] = ()  # a manifest, defaults included, must declare these
    server_owned: frozenset[str] = frozenset()
    write_only: frozenset[str] = frozenset()
    secret: frozenset[str] = frozenset()
    sticky: frozenset[str] = frozenset()
    wire: Mapping[str, str] = {}
    folds: Mapping[str, Mapping[str, str]] = {}

    @property
    def guessable(self) -> frozenset[str]:
        """Secrets that people choose: whoever has a fast digest of one finds it by trying words."""
        return self.secret & self.write_only


# Field names and their behaviour: docs/service.md, contacts, devices, resources.
CONTACT = Kind(
    name="contact",
    plural="contacts",
    media="contact",
    identity=("workEmailAddress1",),
    server_owned=frozenset({"id", "type", "mri", "devices", "link", "lastModifiedTime", "locations"}),
    write_only=frozenset({"password", "secretAnswer"}),
    secret=frozenset({"password", "secretAnswer"}),
    sticky=frozenset({"status"}),
    wire={"messagingOptions": "messagingoptions", "custom": "customFields"},
    folds={"status": _LIVE},
)

DEVICE = Kind(
    name="device",
    plural="devices",
    media="contactdevice",
    identity=("appId", "deviceName"),
    parent="contact",
    required=("deviceName", "appId", "platform", "deviceOS", "deviceModel", "pushToken"),
    server_owned=frozenset({"id", "link", "registrationDate", "lastModifiedDate"}),
    secret=frozenset({"pushToken"}),
    sticky=frozenset({"status"}),
    folds={"status": {"a": "ACTIVE", "active": "ACTIVE", "d": "DISABLED", "disabled": "DISABLED"}},
)

RESOURCE = Kind(
    name="resource",
    plural="resources",
    media="resource",
    identity=("name",),
    required=("name", "scope", "mimeType", "content"),
    server_owned=frozenset({"id", "url", "link"}),
    write_only=frozenset({"content"}),
    wire={"content": "derefUri"},
    folds={"scope": {"public": "public", "private": "private"}},
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (CONTACT, DEVICE, RESOURCE)}
