"""Where the entries of a manifest are, and a manifest without its mistakes (pruned).

Sections and paths follow from the table of kinds.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS, cache_by_kinds, child_kinds
from reconciler.parsing.tree import Tree
from reconciler.parsing.tree_builder import pack_position

if TYPE_CHECKING:  # loads jsonschema, which only a refused file needs (schema/check.py)
    from reconciler.schema.explain import Mistake


Steps = tuple[str | int, ...]


@cache_by_kinds
def kinds_by_plural() -> Mapping[str, Kind]:
    """Return all kinds by their key in manifests."""
    return {kind.plural: kind for kind in KINDS.values()}


@cache_by_kinds
def top_level_kinds() -> Mapping[str, Kind]:
    """Return the kinds with a section at the top of a manifest, by its key."""
    return {plural: kind for plural, kind in kinds_by_plural().items() if not kind.parent}


class ManifestEntry(NamedTuple):
    """One entry: its kind, the path of its body, the body, and the name of its parent ("": none)."""

    kind: Kind
    path: Steps
    body: dict[str, Any]
    parent: str = ""

    @property
    def name(self) -> str:
        """Its name in the manifest."""
        return str(self.path[-1])


def find_kind_at(path: Sequence[str | int]) -> tuple[Kind, int] | None:
    """Return the kind of the innermost entry that a path leads into, and how many steps lead to it."""
    kind, steps = top_level_kinds().get(str(path[0])) if len(path) > 1 else None, 2
    if kind is None:
        return None
    while len(path) > steps + 1:
        below = next((child for child in child_kinds(kind.name) if child.plural == path[steps]), None)
        if below is None:
            break
        kind, steps = below, steps + 2
    return kind, steps


def iterate_entries(value: Mapping[str, Any], kind: Kind) -> Iterator[ManifestEntry]:
    """Yield the entries of a top-level kind, each followed by its children."""
    for name, body in value.get(kind.plural, {}).items():
        yield ManifestEntry(kind, (kind.plural, name), body)
        for child in child_kinds(kind.name):
            for child_name, child_body in body.get(child.plural, {}).items():
                path = (kind.plural, name, child.plural, child_name)
                yield ManifestEntry(child, path, child_body, name)


def name_entry(root: dict[str, Any], path: Sequence[str | int]) -> tuple[str, int]:
    """Return the address of the entity at a path, followed by a colon; a `Subject` of parsing/display.py."""
    found = find_kind_at(path)
    if found is None:
        return "", 0
    kind, steps = found
    workspace = root.get("workspace")
    known = workspace if isinstance(workspace, str) and workspace else "?"
    return "/".join((kind.name, known, *map(str, path[1:steps:2]))) + ": ", steps


# --- Pruning: a tree without its mistakes ---------------------------------------------------------
#
# Later stages run on the rest, so one mistake does not hide another. The paths of removed values are kept,
# so that no stage reports an unreadable value as missing.

ANY_KEY = "*"  # the last step of an unread path where the name of the key is not known
NO_WORKSPACE = "?"  # stands for a workspace that could not be read; no alias can have this form

_DROPPED = object()


class PrunedTree(NamedTuple):
    """A tree without its mistakes, the unread paths, and sections that were read under the corrected key."""

    tree: Tree
    unread: frozenset[Steps]
    renamed: frozenset[Steps]


def prune_mistakes(tree: Tree, found: Collection["Mistake"]) -> PrunedTree:
    """Return `tree` without the values at the paths of `found`, and without what the reader refused.

    An unknown key that holds a section and is a misspelling of a known key is replaced by the known one.
    """
    pruner = _Pruner(tree, found)
    value = pruner.prune()
    return PrunedTree(
        tree.with_value(value, pruner.partial), frozenset(pruner.unread), frozenset(pruner.renamed)
    )


class _Pruner:
    def __init__(self, tree: Tree, found: Collection["Mistake"]) -> None:
        self._tree = tree
        self._wrong: Mapping[Steps, Mistake] = {
            one.path: one for one in found if not one.name and (one.path or not one.lacking)
        }
        self.unread: set[Steps] = set()
        self.renamed: set[Steps] = set()
        self.partial: dict[int, dict[str, Any]] = {}

    def prune(self) -> dict[str, Any]:
        value = self._prune_mapping(self._tree.value, (), ())
        if "workspace" in value:
            return value
        whole = {**value, "workspace": NO_WORKSPACE}
        self._tree.record_positions(whole, [*self._tree.packed_places(value), pack_position(1, 1)])
        return whole

    def _prune_node(self, node: Any, old: Steps, new: Steps) -> Any:
        if node is None or old in self._wrong:
            self.unread.add(new)
            return self._stand_in(new)
        if isinstance(node, dict):
            return self._prune_mapping(node, old, new)
        return self._prune_list(node, old, new) if isinstance(node, list) else node

    def _stand_in(self, path: Steps) -> Any:
        """Return the replacement of a wrong value: an entry with an empty body, so that its name stays."""
        found = find_kind_at(path)
        if found is None or found[1] != len(path):
            return _DROPPED
        self.unread.add((*path, ANY_KEY))
        empty: dict[str, Any] = {}
        self._tree.record_positions(empty, [])
        return empty

    def _prune_mapping(self, node: dict[str, Any], old: Steps, new: Steps) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        packed: list[int] = []
        for (key, value), mark in zip(node.items(), self._tree.packed_places(node), strict=True):
            name = self._corrected_key(key, value, node, old, new)
            pruned = self._prune_node(value, (*old, name), (*new, name))
            if pruned is not _DROPPED:
                kept[name] = pruned
                packed.append(mark)
        self._tree.record_positions(kept, packed)
        if id(node) in self._tree.partial:
            self.unread.add((*new, ANY_KEY))
            self.partial[id(kept)] = kept
        return kept

    def _corrected_key(self, key: str, value: Any, node: dict[str, Any], old: Steps, new: Steps) -> str:
        wrong = self._wrong.get((*old, key))
        if wrong is None or not wrong.meant:
            return key
        self.unread.add((*new, wrong.meant))
        if wrong.meant in node or not isinstance(value, dict | list):
            return key
        self.unread.discard((*new, wrong.meant))
        self.renamed.add((*new, wrong.meant))
        return wrong.meant

    def _prune_list(self, node: list[Any], old: Steps, new: Steps) -> list[Any]:
        kept: list[Any] = []
        packed: list[int] = []
        for (index, value), mark in zip(enumerate(node), self._tree.packed_places(node), strict=True):
            pruned = self._prune_node(value, (*old, index), (*new, len(kept)))
            if pruned is not _DROPPED:
                kept.append(pruned)
                packed.append(mark)
        self._tree.record_positions(kept, packed)
        return kept
