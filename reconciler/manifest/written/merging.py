"""New entries at the end of a manifest that people have edited: every byte that stands there stays.

Not here: which entries are new (core/exporting/export.py), writing to a disk (cli/files/manifests.py).
"""

from collections.abc import Sequence
from typing import Any

from reconciler.core.exporting.export import Exported
from reconciler.manifest.written.files import groups, section
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Scope
from reconciler.parsing.tree import TREE_BYTES_MAX, Tree, read_tree

_COLUMN = 3  # where the names of entries stand, counted from 1: two spaces before them


def appended(data: bytes, scope: Scope, entries: Sequence[Exported]) -> bytes | None:
    """Return a manifest with entries behind its last one; None where they do not simply belong there.

    They do where the file ends with the section of this kind, in block style, and has no defaults or tags,
    which the new entries would take over. What comes out was read back: the old entries, then the new.
    """
    tree = read_tree(data, "manifest.yaml")
    if not _ends_with(tree, scope):
        return None
    text = data if data.endswith(b"\n") else data + b"\n"
    grown = text + section(groups(entries)).encode()
    again = read_tree(grown, "manifest.yaml")
    plural = KINDS[scope.kind].plural
    names = [group.entry.address.name for group in groups(entries)]
    before: dict[str, Any] = tree.value[plural]
    after = again.value.get(plural, {})
    kept = {**again.value, plural: {name: after.get(name) for name in before}} == tree.value
    whole = kept and list(after) == [*before, *names]
    return grown if whole and not again.problems and len(grown) <= TREE_BYTES_MAX // 2 else None


def _ends_with(tree: Tree, scope: Scope) -> bool:
    """Whether a file is a manifest of this workspace that ends with the section of this kind."""
    value, plural = tree.value, KINDS[scope.kind].plural
    if tree.problems or tree.again or value.get("workspace") != scope.workspace:
        return False
    entries = value.get(plural)
    if (
        list(value)[-1] != plural
        or not isinstance(entries, dict)
        or not entries
        or {"defaults", "tags"} & {*value}
    ):
        return False
    places = list(tree.places(entries))
    first = tree.place([plural]).line
    lines = [first, *(place.line for place in places)]
    return all(place.column == _COLUMN for place in places) and len(set(lines)) == len(lines)
