"""What of a tree with mistakes can still be relied upon: the rest of it, and what was taken away.

Every later stage runs on that rest, so one mistake hides no other. What was taken away is remembered by
its path, so that no stage calls missing what only could not be read. No mistake is found here.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler.manifest.entries import Steps, kind_at
from reconciler.parsing.build import pack
from reconciler.parsing.tree import Tree

if TYPE_CHECKING:  # it loads jsonschema, which only a refused file pays for (schema/check.py)
    from reconciler.manifest.schema.explain import Mistake

ANY = "*"  # as the last step of an unread path: a key whose name is not known
NO_WORKSPACE = "?"  # stands for a workspace that could not be read; no alias can have this form

_GONE = object()


class Readable(NamedTuple):
    """A tree without its mistakes, the paths that are unread, and the sections taken under another key."""

    tree: Tree
    unread: frozenset[Steps]
    renamed: frozenset[Steps]


def readable(tree: Tree, found: Collection["Mistake"]) -> Readable:
    """Return `tree` without the values that `found` names, and without what the reader refused.

    An unknown key that holds a section and is a slip of a known one is taken for that one.
    """
    cut = _Cut(tree, found)
    value: dict[str, Any] = cut.root()
    return Readable(tree.with_value(value, cut.partial), frozenset(cut.unread), frozenset(cut.renamed))


class _Cut:
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
        self._tree.keep(whole, [*self._tree.packed(value), pack(1, 1)])
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
        found = kind_at(path)
        if found is None or found[1] != len(path):
            return _GONE
        self.unread.add((*path, ANY))
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
            self.unread.add((*new, ANY))
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
