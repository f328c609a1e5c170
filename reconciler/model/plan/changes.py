"""Create, Update, Delete: the only three things a plan can do, and why.

Values in a change are normalized and safe to keep: a secret stands as `Masked` text (see
`core/comparing/normalize.py`), so that a plan can be stored and shown. The bodies that are sent are built
from the Entity, never from a change.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from reconciler.model.address import Address
from reconciler.model.documents import Fields, Scalar

Cause = Literal[
    "declared",  # the manifest says so, and the live value is as we left it
    "drifted",  # changed at the service since our last apply; the manifest did not change
    "both",  # the manifest and the live value have both changed
    "no longer declared",  # we set it once; the manifest does not declare it any more
    "unknown",  # cannot be read back, and no record says what is there
    "duplicate",  # a second live entity for one of ours, and provably made by us
    "gone",  # we made it, and it is not there any more
    "reactivated",  # asked for with meta.reactivate or --reactivate
    "undone",  # set back to what it was before a run that is undone
    "forgotten",  # our mark on what leaves the manifests and stays at the service
    "given back",  # the same, where that run was the first to declare it: not ours afterwards
]


class FieldChange(Struct, frozen=True):
    """One field: its path, its normalized value before and after (None: absent), and why."""

    path: str
    before: Scalar | None
    after: Scalar | None
    cause: Cause


class Create(Struct, frozen=True, tag="create", tag_field="action"):
    """Make what is declared and not there. `fields` are what will be sent, secrets masked.

    `carried` are the paths of them that nobody declared: live values of who moves here, with
    `meta.carryOver`.
    """

    address: Address
    place: str
    fields: Fields
    cause: Cause = "declared"
    carried: tuple[str, ...] | UnsetType = UNSET  # no key of JSON where nothing is, as in older plans


class Update(Struct, frozen=True, tag="update", tag_field="action"):
    """Bring declared fields of a live entity to what is declared.

    `adopts` names the identity by which it was recognized when it is not recorded yet, else "".
    """

    address: Address
    place: str
    remote_id: str
    fields: tuple[FieldChange, ...]
    parent_id: str = ""
    adopts: str = ""


class Delete(Struct, frozen=True, tag="delete", tag_field="action"):
    """Remove what is ours and no longer declared.

    `before` is the whole normalized live entity: the delete happens only if it still looks so.
    `cascades` are the devices that go with a contact, by address where recorded, else by device name.
    `adopted` is when it was adopted, where it existed before us; UNKNOWN where nobody wrote that down.
    `keeps` is, for a duplicate, the remote id of the entity that stays; it has to be there.
    """

    address: Address
    remote_id: str
    before: Fields
    parent_id: str = ""
    cascades: tuple[str, ...] = field(default=(), name="takes")  # its name in plan files and in the store
    cause: Cause = "no longer declared"
    adopted: str = ""
    keeps: str = ""


Change = Create | Update | Delete

ACTIONS: Mapping[type, str] = {Create: "create", Update: "update", Delete: "delete"}


def action(change: Change) -> str:
    """`create`, `update` or `delete`."""
    return ACTIONS[type(change)]
