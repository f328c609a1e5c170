"""Profile: what differs between deployments of the service, as a value.

Belongs here: the fields of a profile, the names of fields in both directions. Not here: reading one
(service/profile.py), acting on it.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from reconciler.model.kind.kinds import BUILT_IN, Kind
from reconciler.model.kind.own_kinds import KindRow

_Word = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")]
_Field = Annotated[str, Meta(pattern=r"\A[A-Za-z][A-Za-z0-9_]{0,99}\Z")]


class Capabilities(Struct, frozen=True, forbid_unknown_fields=True):
    """Writes that the specification does not describe: a deployment may not have them.

    `devices_write` is about creating and deleting; replacing a device is in the specification.
    """

    contacts_write: bool
    devices_write: bool
    resources_write: bool = True


class ProfileLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """What the deployment accepts at most; 0: not known. Settings may only lower it."""

    requests_per_second: Annotated[float, Meta(ge=0)] = 0.0
    request_bytes: Annotated[int, Meta(ge=0)] = 0


class Retention(Struct, frozen=True, forbid_unknown_fields=True):
    """How long the service keeps things, in days; 0: not known. No decision depends on it."""

    resources: Annotated[int, Meta(ge=0)] = 0
    failed_callbacks: Annotated[int, Meta(ge=0)] = 0


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """One deployment. `page_max` in rows; `search_names` maps a body's field to its query parameter.

    `contact_feed` says whether its contacts may be read by what changed in their list.
    `field_names` maps a field of a contact as this program spells it to the deployment's own spelling.
    `kinds` are those that only this deployment has, by their names.
    """

    vendor: _Word
    page_max: Annotated[int, Meta(ge=1, le=1000)]
    next_relations: frozenset[_Word]
    previous_relations: frozenset[_Word]
    search_names: Mapping[_Field, _Field]
    unpaged: frozenset[_Word]
    capabilities: Capabilities
    contact_feed: bool = True
    field_names: Mapping[_Field, _Field] = {}
    limits: ProfileLimits = ProfileLimits()
    retention: Retention = Retention()
    kinds: Mapping[str, KindRow] = {}

    @property
    def missing(self) -> frozenset[tuple[str, str]]:
        """The kinds and actions that this deployment does not offer: `("device", "create")`."""
        lacking = (
            kind for kind in BUILT_IN.values() if not getattr(self.capabilities, f"{kind.plural}_write", True)
        )
        return frozenset((kind.name, action) for kind in lacking for action in kind.optional)

    def names(self, kind: Kind) -> Mapping[str, str]:
        """The deployment's spelling of fields of a kind, where it has another one."""
        return self.field_names if kind.respelt else {}

    def read(self, kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
        """A body with this program's names. Where both spellings stand, both are left alone."""
        names = self.names(kind)
        return _renamed(body, {theirs: ours for ours, theirs in names.items()}) if names else body

    def written(self, kind: Kind, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """A body with the deployment's names; the reverse of `read`."""
        return _renamed(body, self.names(kind))

    def searched(self, kind: Kind, name: str) -> str:
        """The query parameter of a field of a kind."""
        names = {**self.field_names, **self.search_names} if kind.respelt else {}
        return names.get(name, name)


def _renamed(body: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        names[key] if key in names and names[key] not in body else key: value for key, value in body.items()
    }
