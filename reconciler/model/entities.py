"""Entity: an address, the fields declared for it, and its controls. What should be, one at a time."""

from msgspec import Struct

from reconciler.model.address import Address
from reconciler.model.documents import Content, Controls, Fields, Place


class Entity(Struct, frozen=True, gc=False):
    """One entity as wanted: defaults applied, references resolved, ownership mark added.

    `fields` are flat and as the author wrote them: that is what is sent. They are normalized only
    to be compared. A resource's `content` path holds the digest; the bytes are in `content`. Paths in
    `unowned_paths` are sent and not remembered as ours. `unset_paths` are secrets under `meta.ignore` whose
    variables are not set.
    """

    address: Address
    fields: Fields
    place: Place
    controls: Controls = Controls()
    content: Content | None = None
    devices_in_scope: bool = False
    unowned_paths: frozenset[str] = frozenset()
    unset_paths: frozenset[str] = frozenset()
