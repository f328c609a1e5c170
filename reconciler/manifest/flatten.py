"""One checked tree becomes Documents: flat fields, controls, and the place of every key.

The tree fits the schema when it comes here, so shapes are not looked at again. Defaults are passed
on, not applied: that is `core/resolve.py`.
"""

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.manifest.build import pack
from reconciler.manifest.places import Places
from reconciler.manifest.prune import ANY, Steps
from reconciler.manifest.tree import Tree
from reconciler.model.documents import Content, Controls, Document, Fields, Place, Scalar

_NOTHING: frozenset[str] = frozenset()
_NO_CONTROLS = Controls()
_DEEP = frozenset({"custom", "messagingOptions"})
_OURS = frozenset({"devices", "meta", "content"})

# What a caller reads for a resource's `content` mapping, standing at a place.
Payloads = Mapping[str, Content]


class Flattener:
    """Flattens the entries of one tree; paths that occur again and again are kept once."""

    def __init__(self, tree: Tree, unread: frozenset[Steps] = frozenset(), *, again: bool = False) -> None:
        self._tree = tree
        self._unread = _by_entry(unread)
        self._again = again
        self._shapes: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._joined: dict[tuple[str, str], str] = {}

    def contacts(self) -> Iterator[Document]:
        """Yield every contact, each followed by its devices."""
        for name, body, place in self._entries(self._tree.value, "contacts"):
            yield self._document("contact", name, body, place, unread=self._lost("contacts", name))
            for device, fields, where in self._entries(body, "devices"):
                lost = self._lost("devices", name, device)
                yield self._document("device", device, fields, where, parent=name, unread=lost)

    def resources(self, payloads: Payloads) -> Iterator[Document]:
        """Yield every resource; `payloads` holds what was read for each, by name."""
        for name, body, place in self._entries(self._tree.value, "resources"):
            lost = self._lost("resources", name)
            content = payloads.get(name)
            if content is None and "content" in body:
                lost |= {"content"}
            yield self._document("resource", name, body, place, content=content, unread=lost)

    def lost_in_roster(self, index: int) -> frozenset[str]:
        """Return the fields that no row of a roster has, because their templates could not be read."""
        return self._lost("rosters", index)

    def _lost(self, section: str, *steps: str | int) -> frozenset[str]:
        if not self._unread:
            return _NOTHING
        plural = "contacts" if section == "rosters" else section
        found = self._unread.get((section, *steps), _NOTHING) | self._unread.get(
            ("defaults", plural), _NOTHING
        )
        return found | self._unread.get(("defaults",), _NOTHING)

    def defaults(self) -> Mapping[str, Fields]:
        """Return the default fields by kind."""
        section: dict[str, Any] = self._tree.value.get("defaults", {})
        return {plural.removesuffix("s"): self._fields(body)[0] for plural, body in section.items()}

    def default_places(self) -> Mapping[str, Mapping[str, Place]]:
        """Return the place of each default field, by kind."""
        section: dict[str, Any] = self._tree.value.get("defaults", {})
        found: dict[str, Mapping[str, Place]] = {}
        for plural, body in section.items():
            _, paths, packed = self._fields(body)
            found[plural.removesuffix("s")] = Places(self._tree.file, paths, packed)
        return found

    def _entries(self, holder: dict[str, Any], key: str) -> Iterator[tuple[str, dict[str, Any], Place]]:
        bodies: dict[str, Any] = holder.get(key, {})
        if bodies:
            for (name, body), place in zip(bodies.items(), self._tree.places(bodies), strict=True):
                yield name, body, place

    def _document(
        self,
        kind: str,
        name: str,
        body: dict[str, Any],
        place: Place,
        *,
        parent: str = "",
        content: Content | None = None,
        unread: frozenset[str] = _NOTHING,
    ) -> Document:
        fields, paths, packed = self._fields(body)
        if content is not None:
            where = self._tree.place_in(body, "content")
            fields["content"] = content.digest
            paths = self._shape([*paths, "content"])
            packed.append(pack(where.line, where.column))
        return Document(
            kind=kind,
            name=name,
            place=place,
            fields=fields,
            places=Places(place.file, paths, packed),
            parent=parent,
            controls=controls(body["meta"]) if "meta" in body else _NO_CONTROLS,
            content=content,
            devices_in_scope="devices" in body,
            unread=unread,
            again=self._again,
        )

    def _fields(self, body: dict[str, Any]) -> tuple[dict[str, Scalar], tuple[str, ...], "array[int]"]:
        fields: dict[str, Scalar] = {}
        packed = array("Q")
        for (key, value), mark in zip(body.items(), self._tree.packed(body), strict=True):
            if key in _OURS:
                continue
            if key in _DEEP:
                self._deep(key, value, fields, packed)
            else:
                fields[key] = value
                packed.append(mark)
        return fields, self._shape(list(fields)), packed

    def _deep(self, path: str, node: dict[str, Any], fields: dict[str, Scalar], packed: "array[int]") -> None:
        for (key, value), mark in zip(node.items(), self._tree.packed(node), strict=True):
            below = self._joined.setdefault((path, key), f"{path}.{key}")
            if isinstance(value, dict):
                self._deep(below, value, fields, packed)
            else:
                flag = path.startswith("messagingOptions.") and key == "enabled"
                fields[below] = value == "true" if flag else value
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
    match path:
        case ("contacts", name, "devices", device, *rest):
            return ("devices", name, device), tuple(rest)
        case ("rosters", index, "contacts", *rest):
            return ("rosters", index), tuple(rest)
        case ("defaults",) | ("defaults", "*"):
            return ("defaults",), ()
        case (("contacts" | "resources" | "defaults") as section, name, *rest):
            return (section, name), tuple(rest)
        case _:
            return (), ()


def controls(meta: dict[str, Any]) -> Controls:
    """Return what a `meta` mapping says."""
    return Controls(
        protect=meta.get("protect") == "true",
        ignore=frozenset(meta.get("ignore", ())),
        tags=meta.get("tags", {}),
        renamed_from=meta.get("renamedFrom", ""),
        reactivate=meta.get("reactivate") == "true",
    )
