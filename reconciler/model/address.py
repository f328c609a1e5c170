"""Address: our stable identity of an entity, independent of the service's ids.

`contact/ops/jane-doe`, `device/ops/jane-doe/pixel`, `resource/ops/staff-import`. A second live entity for
one address, which is only ever deleted, has the service's id behind it: `contact/ops/jane-doe@9A07`.
"""

import re

# Printable in a terminal, safe in a file name, a URL and a glob, and short enough for one line.
NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?", re.ASCII)

# What an address can carry of the service's ids: those of a duplicate.
REMOTE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)

_PARTS = {"contact": 3, "device": 4, "resource": 3}


class Address(str):
    """kind/workspace/name, and for a device kind/workspace/contact/name.

    A `str`, so that it hashes, sorts, prints and encodes as what people read. Made by `contact`,
    `device`, `resource` and `parse`; the workspace is the alias of the settings, never an id.
    """

    __slots__ = ()

    @property
    def kind(self) -> str:
        """`contact`, `device` or `resource`."""
        return self[: self.index("/")]

    @property
    def workspace(self) -> str:
        """The alias of the workspace."""
        return self.split("/", 2)[1]

    @property
    def name(self) -> str:
        """The name within the workspace, or within the contact."""
        return self[self.rindex("/") + 1 :]

    @property
    def parent(self) -> str:
        """The name of the contact that a device belongs to; empty for every other kind."""
        parts = self.split("/")
        return parts[2] if len(parts) == _PARTS["device"] else ""

    @property
    def above(self) -> "Address | None":
        """The address of the contact that a device belongs to; None for every other kind."""
        return contact(self.workspace, self.parent) if self.parent else None

    @property
    def base(self) -> "Address":
        """The address without the id of a duplicate."""
        return Address(self.partition("@")[0])

    def duplicate(self, remote_id: str) -> "Address":
        """Return the address of a second live entity for this one, by the service's id."""
        return Address(f"{self}@{remote_id}")


def parse(text: str) -> Address | None:
    """Return the address that `text` writes, or None where it writes none."""
    plain, _, remote_id = text.partition("@")
    if "@" in text and not REMOTE_ID.fullmatch(remote_id):
        return None
    kind, *rest = plain.split("/")
    if len(rest) + 1 != _PARTS.get(kind) or not all(NAME.fullmatch(part) for part in rest):
        return None
    return Address(text)


def contact(workspace: str, name: str) -> Address:
    """Return the address of a contact."""
    return Address(f"contact/{workspace}/{name}")


def device(workspace: str, contact_name: str, name: str) -> Address:
    """Return the address of a contact's device."""
    return Address(f"device/{workspace}/{contact_name}/{name}")


def resource(workspace: str, name: str) -> Address:
    """Return the address of a resource."""
    return Address(f"resource/{workspace}/{name}")
