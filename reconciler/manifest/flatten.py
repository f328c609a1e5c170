"""One checked tree becomes Documents: flat fields, controls, and the place of every key.

The tree fits the schema when it comes here, so shapes are not looked at again. Defaults are passed
on, not applied: that is `core/declared/resolve.py`.
"""

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET

from reconciler.core.compare.normalize import is_flag
from reconciler.manifest.entries import Entry, Steps, by_plural, entries, kind_at
from reconciler.manifest.places import Places
from reconciler.manifest.prune import ANY
from reconciler.model.documents import Content, Controls, Document, Fields, Place, Scalar
from reconciler.model.kind import Kind
from reconciler.model.kinds import CONTACT, cache_by_kinds, child_kinds
from reconciler.parsing.tree import Tree

_NOTHING: frozenset[str] = frozenset()
_NO_CONTROLS = Controls()


@cache_by_kinds
def _aside(name: str) -> frozenset[str]:
    """Return the keys of an entry that are no fields of it."""
    return frozenset({"meta", *(child.plural for child in child_kinds(name))})


# What was read for a field that holds a payload, by the path of its entry.
Payloads = Mapping[Steps, Content]


class Flattener:
    """Flattens the entries of one tree; paths that occur again and again are kept once."""

    def __init__(self, tree: Tree, unread: frozenset[Steps] = frozenset(), *, again: bool = False) -> None:
        self._tree = tree
        self._unread = _by_entry(unread)
        self._again = again
        self._shapes: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._joined: dict[tuple[str, str], str] = {}

    def documents(self, kind: Kind, payloads: Payloads) -> Iterator[Document]:
        """Yield every entry of a kind, each followed by those that belong to it."""
        for one in entries(self._tree.value, kind):
            content = payloads.get(one.path)
            lost = self._lost(one.kind.plural, *one.path[1::2])
            if content is None and one.kind.content in one.body:
                lost |= {one.kind.content}
            yield self._document(one, content, lost)

    def lost_in_roster(self, index: int) -> frozenset[str]:
        """Return the fields that no row of a roster has, because their templates could not be read."""
        return self._lost("rosters", index)

    def _lost(self, section: str, *steps: str | int) -> frozenset[str]:
        if not self._unread:
            return _NOTHING
        plural = CONTACT.plural if section == "rosters" else section
        found = self._unread.get((section, *steps), _NOTHING) | self._unread.get(
            ("defaults", plural), _NOTHING
        )
        return found | self._unread.get(("defaults",), _NOTHING)

    def defaults(self) -> Mapping[str, Fields]:
        """Return the default fields by kind."""
        return {kind.name: self._fields(kind, body)[0] for kind, body in self._defaults()}

    def default_places(self) -> Mapping[str, Mapping[str, Place]]:
        """Return the place of each default field, by kind."""
        found: dict[str, Mapping[str, Place]] = {}
        for kind, body in self._defaults():
            _, paths, packed = self._fields(kind, body)
            found[kind.name] = Places(self._tree.file, paths, packed)
        return found

    def _defaults(self) -> Iterator[tuple[Kind, dict[str, Any]]]:
        section: dict[str, Any] = self._tree.value.get("defaults", {})
        return ((by_plural()[plural], body) for plural, body in section.items())

    def _document(self, entry: Entry, content: Content | None, unread: frozenset[str]) -> Document:
        body, place = entry.body, self._tree.place(entry.path)
        fields, paths, packed = self._fields(entry.kind, body)
        fields.pop(entry.kind.content, None)
        if content is not None:
            fields[entry.kind.content] = content.digest
        return Document(
            kind=entry.kind.name,
            name=entry.name,
            place=place,
            fields=fields,
            places=Places(place.file, paths, packed),
            parent=entry.parent,
            controls=controls(body["meta"]) if "meta" in body else _NO_CONTROLS,
            content=content,
            devices_in_scope=any(child.plural in body for child in child_kinds(entry.kind.name)),
            unread=unread,
            again=self._again,
            control_places=control_places(self._tree, body.get("meta", {})),
        )

    def _fields(
        self, kind: Kind, body: dict[str, Any]
    ) -> tuple[dict[str, Scalar], tuple[str, ...], "array[int]"]:
        fields: dict[str, Scalar] = {}
        packed = array("Q")
        aside = _aside(kind.name)
        for (key, value), mark in zip(body.items(), self._tree.packed(body), strict=True):
            if key in aside:
                continue
            if key in kind.structured:
                self._deep(kind, key, value, fields, packed)
            else:
                fields[key] = value == "true" if key in kind.flags else value
                packed.append(mark)
        return fields, self._shape(list(fields)), packed

    def _deep(
        self, kind: Kind, path: str, node: dict[str, Any], fields: dict[str, Scalar], packed: "array[int]"
    ) -> None:
        for (key, value), mark in zip(node.items(), self._tree.packed(node), strict=True):
            below = self._joined.setdefault((path, key), f"{path}.{key}")
            if isinstance(value, dict):
                self._deep(kind, below, value, fields, packed)
            else:
                fields[below] = value == "true" if is_flag(kind.name, below) else value
                packed.append(mark)

    def _shape(self, paths: list[str]) -> tuple[str, ...]:
        shape = tuple(paths)
        return self._shapes.setdefault(shape, shape)


def _by_entry(unread: frozenset[Steps]) -> dict[Steps, frozenset[str]]:
    """Return the unread fields of each entry: contact, device, resource, roster and section of defaults."""
    found: dict[Steps, frozenset[str]] = {}
    for path in unread:
        entry, rest = _split(path)
        if entry:
            found[entry] = found.get(entry, _NOTHING) | {".".join(map(str, rest)) or ANY}
    return found


def _split(path: Steps) -> tuple[Steps, Steps]:
    """Return which entry, row template or section of defaults a path leads into, and the rest of the path."""
    found = kind_at(path)
    if found is not None:
        kind, steps = found
        return (kind.plural, *path[1:steps:2]), path[steps:]
    match path:
        case ("rosters", index, CONTACT.plural, *rest):
            return ("rosters", index), tuple(rest)
        case ("defaults",) | ("defaults", "*"):
            return ("defaults",), ()
        case ("defaults", name, *rest):
            return ("defaults", name), tuple(rest)
    return (), ()


def control_places(tree: Tree, meta: dict[str, Any]) -> Mapping[str, Place]:
    """Return the place of each key of a `meta` mapping of a tree."""
    return Places(tree.file, tuple(meta), tree.packed(meta)) if meta else {}


def controls(meta: dict[str, Any]) -> Controls:
    """Return what a `meta` mapping says."""
    return Controls(
        protect=meta.get("protect") == "true",
        ignore=frozenset(meta.get("ignore", ())),
        tags=meta.get("tags", {}),
        renamed_from=meta.get("renamedFrom", ""),
        reactivate=meta.get("reactivate") == "true",
        carry_over=True if meta.get("carryOver") == "true" else UNSET,
    )
