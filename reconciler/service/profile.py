"""Profile: what differs between deployments of the service, as data (profiles/*.yaml).

Belongs here: the fields of a profile and loading one by name. Not here: acting on them.
"""

from collections.abc import Mapping
from importlib.resources import files

import msgspec
import yaml
from msgspec import Struct

from reconciler.errors import SettingsError


class Capabilities(Struct, frozen=True, forbid_unknown_fields=True):
    """Writes that the specification does not describe: a deployment may not have them."""

    contacts_write: bool
    devices_write: bool


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """One deployment. `page_max` in rows; `search_names` maps a body's field to its query parameter."""

    vendor: str
    page_max: int
    next_relations: frozenset[str]
    previous_relations: frozenset[str]
    search_names: Mapping[str, str]
    unpaged: frozenset[str]
    capabilities: Capabilities

    def may_write(self, plural: str) -> bool:
        """Whether entities of this kind (`contacts`) may be written; resources always may."""
        match plural:
            case "contacts":
                return self.capabilities.contacts_write
            case "devices":
                return self.capabilities.devices_write
            case _:
                return True


def load_profile(name: str) -> Profile:
    """The profile of this name. Raises SettingsError, listing the known ones, for any other name."""
    folder = files("reconciler.service") / "profiles"
    known = sorted(
        entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")
    )
    if name not in known:
        raise SettingsError(
            f"service.profile {name[:40]!a} is not known.",
            next=f"use one of: {', '.join(known)}.",
        )
    return parse_profile((folder / f"{name}.yaml").read_text(encoding="utf-8"))


def parse_profile(text: str) -> Profile:
    """The profile that a YAML text writes. Raises msgspec.ValidationError for an unknown or missing key."""
    return msgspec.convert(yaml.safe_load(text), Profile)
