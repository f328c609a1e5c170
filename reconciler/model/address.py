"""Address: our stable identity of an entity, independent of the service's ids.

`contact/ops/jane-doe`, `device/ops/jane-doe/pixel`, `resource/ops/staff-import`. A second live entity for
one address, which is only ever deleted, has the service's id behind it: `contact/ops/jane-doe@9A07`.
"""

import re

from reconciler.model.kinds import CONTACT, DEVICE, KINDS, RESOURCE

# Printable in a terminal, safe in a file name, a URL and a glob, and short enough for one line.
ENTITY_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?", re.ASCII)

# What an address can carry of the service's ids: those of a duplicate.
REMOTE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)

_NESTED = 4  # parts of the address of an entity below another one


class Address(str):
    """kind/workspace/name, and below a parent kind/workspace/parent/name.

    A `str`, so that it hashes, sorts, prints and encodes as what people read. Made by `make_address`,
    `contact_address`, `device_address`, `resource_address` and `parse_address`; the workspace is the alias of
    the settings, never an id.
    """

    __slots__ = ()

    @property
    def kind(self) -> str:
        """The name of its row in KINDS."""
        return self[: self.index("/")]

    @property
    def workspace(self) -> str:
        """The alias of the workspace."""
        return self.split("/", 2)[1]

    @property
    def name(self) -> str:
        """The name within the workspace, or within the parent."""
        return self[self.rindex("/") + 1 :]

    @property
    def parent(self) -> str:
        """The name of what it belongs to, such as a device's contact; empty where it belongs to nothing."""
        parts = self.split("/")
        return parts[2] if len(parts) == _NESTED else ""

    @property
    def above(self) -> "Address | None":
        """The address of what it belongs to, such as a device's contact; None where it belongs to nothing."""
        if self.count("/") < _NESTED - 1:
            return None
        return make_address(KINDS[self.kind].parent, self.workspace, self.parent) if self.parent else None

    @property
    def base(self) -> "Address":
        """The address without the id of a duplicate."""
        return Address(self.partition("@")[0])

    @property
    def without_workspace(self) -> str:
        """The address as the store keeps it beside the workspace's id: `contact/jane-doe`."""
        kind, _, rest = self.split("/", 2)
        return f"{kind}/{rest}"

    def in_workspace(self, alias: str) -> "Address":
        """Return the same entity's address where the workspace has this alias."""
        kind, _, rest = self.split("/", 2)
        return Address(f"{kind}/{alias}/{rest}")

    def duplicate(self, remote_id: str) -> "Address":
        """Return the address of a second live entity for this one, by the service's id."""
        return Address(f"{self}@{remote_id}")


# Of one that is not nested below another, nor a duplicate: nearly all of a store.
_PLAIN = re.compile(rf"([a-z0-9-]+)/{ENTITY_NAME.pattern}/{ENTITY_NAME.pattern}", re.ASCII)


def parse_address(text: str) -> Address | None:
    """Return the address that `text` writes, or None where it writes none."""
    if (found := _PLAIN.fullmatch(text)) and (known := KINDS.get(found[1])) and not known.parent:
        return Address(text)
    plain, _, remote_id = text.partition("@")
    if "@" in text and not REMOTE_ID.fullmatch(remote_id):
        return None
    name, *rest = plain.split("/")
    kind = KINDS.get(name)
    if (
        kind is None
        or len(rest) != (3 if kind.parent else 2)
        or not all(ENTITY_NAME.fullmatch(part) for part in rest)
    ):
        return None
    return Address(text)


def make_address(kind: str, workspace: str, name: str, *, parent: str = "") -> Address:
    """Return the address of an entity of any kind; `parent` names what it belongs to."""
    return Address("/".join(filter(None, (kind, workspace, parent, name))))


def contact_address(workspace: str, name: str) -> Address:
    """Return the address of a contact."""
    return make_address(CONTACT.name, workspace, name)


def device_address(workspace: str, contact_name: str, name: str) -> Address:
    """Return the address of a contact's device."""
    return make_address(DEVICE.name, workspace, name, parent=contact_name)


def resource_address(workspace: str, name: str) -> Address:
    """Return the address of a resource."""
    return make_address(RESOURCE.name, workspace, name)
