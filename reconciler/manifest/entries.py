"""Where entries stand in a manifest, and what is left of a manifest without its mistakes.

Sections and paths are derived from the table of kinds, so a new kind is read, named and checked like any
other.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS, cache_by_kinds, child_kinds
from reconciler.parsing.tree import Tree
from reconciler.parsing.tree_builder import pack_position

if TYPE_CHECKING:  # it loads jsonschema, which only a refused file pays for (schema/check.py)
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
    """One entry: its kind, the path of its body, the body, the name of what it belongs to ("": nothing)."""

    kind: Kind
    path: Steps
    body: dict[str, Any]
    parent: str = ""

    @property
    def name(self) -> str:
        """Our name for it."""
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
    """Yield the entries of a kind at the top of a manifest, each followed by those that belong to it."""
    for name, body in value.get(kind.plural, {}).items():
        yield ManifestEntry(kind, (kind.plural, name), body)
        for child in child_kinds(kind.name):
            for below, its in body.get(child.plural, {}).items():
                yield ManifestEntry(child, (kind.plural, name, child.plural, below), its, name)


def name_entry(root: dict[str, Any], path: Sequence[str | int]) -> tuple[str, int]:
    """Name the entity that a path leads into by its address, as a `Subject` of parsing/display.py."""
    found = find_kind_at(path)
    if found is None:
        return "", 0
    kind, steps = found
    workspace = root.get("workspace")
    known = workspace if isinstance(workspace, str) and workspace else "?"
    return "/".join((kind.name, known, *map(str, path[1:steps:2]))) + ": ", steps


# --- Pruning: a tree without its mistakes ---------------------------------------------------------
#
# Every later stage runs on the rest, so one mistake hides no other. What was taken away is remembered by
# its path, so that no stage calls missing what only could not be read.

ANY_KEY = "*"  # as the last step of an unread path: a key whose name is not known
NO_WORKSPACE = "?"  # stands for a workspace that could not be read; no alias can have this form

_GONE = object()


class PrunedTree(NamedTuple):
    """A tree without its mistakes, the paths that are unread, and the sections taken under another key."""

    tree: Tree
    unread: frozenset[Steps]
    renamed: frozenset[Steps]


def prune_mistakes(tree: Tree, found: Collection["Mistake"]) -> PrunedTree:
    """Return `tree` without the values that `found` names, and without what the reader refused.

    An unknown key that holds a section and is a slip of a known one is taken for that one.
    """
    cut = _Pruner(tree, found)
    value: dict[str, Any] = cut.root()
    return PrunedTree(tree.with_value(value, cut.partial), frozenset(cut.unread), frozenset(cut.renamed))


class _Pruner:
    def __init__(self, tree: Tree, found: Collection["Mistake"]) -> None:
        self._tree = tree
        self._wrong: Mapping[Steps, Mistake] = {
            one.path: one for one in found if not one.name and (one.path or not one.lacking)
        }
        self.unread: set[Steps] = set()
        self.renamed: set[Steps] = set()
        self.partial: dict[int, dict[str, Any]] = {}

    def root(self) -> dict[str, Any]:
        value = self._mapping(self._tree.value, (), ())
        if "workspace" in value:
            return value
        whole = {**value, "workspace": NO_WORKSPACE}
        self._tree.keep(whole, [*self._tree.packed(value), pack_position(1, 1)])
        return whole

    def _node(self, node: Any, old: Steps, new: Steps) -> Any:
        if node is None or old in self._wrong:
            self.unread.add(new)
            return self._gone(new)
        if isinstance(node, dict):
            return self._mapping(node, old, new)
        return self._items(node, old, new) if isinstance(node, list) else node

    def _gone(self, path: Steps) -> Any:
        """Return what stands in for a value: an entry keeps its name, whatever its body is."""
        found = find_kind_at(path)
        if found is None or found[1] != len(path):
            return _GONE
        self.unread.add((*path, ANY_KEY))
        empty: dict[str, Any] = {}
        self._tree.keep(empty, [])
        return empty

    def _mapping(self, node: dict[str, Any], old: Steps, new: Steps) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        packed: list[int] = []
        for (key, value), mark in zip(node.items(), self._tree.packed(node), strict=True):
            name = self._meant(key, value, node, old, new)
            below = self._node(value, (*old, key) if name == key else (*old, name), (*new, name))
            if below is not _GONE:
                kept[name] = below
                packed.append(mark)
        self._tree.keep(kept, packed)
        if id(node) in self._tree.partial:
            self.unread.add((*new, ANY_KEY))
            self.partial[id(kept)] = kept
        return kept

    def _meant(self, key: str, value: Any, node: dict[str, Any], old: Steps, new: Steps) -> str:
        wrong = self._wrong.get((*old, key))
        if wrong is None or not wrong.meant:
            return key
        self.unread.add((*new, wrong.meant))
        if wrong.meant in node or not isinstance(value, dict | list):
            return key
        self.unread.discard((*new, wrong.meant))
        self.renamed.add((*new, wrong.meant))
        return wrong.meant

    def _items(self, node: list[Any], old: Steps, new: Steps) -> list[Any]:
        kept: list[Any] = []
        packed: list[int] = []
        for (index, value), mark in zip(enumerate(node), self._tree.packed(node), strict=True):
            below = self._node(value, (*old, index), (*new, len(kept)))
            if below is not _GONE:
                kept.append(below)
                packed.append(mark)
        self._tree.keep(kept, packed)
        return kept
