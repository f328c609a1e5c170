"""One checked tree becomes Documents: flat fields, controls, and the place of every key.

The tree fits the schema when it comes here, so shapes are not looked at again. Defaults are passed
on, not applied: that is `core/resolve.py`.
"""

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.manifest.build import pack
from reconciler.manifest.places import Places
from reconciler.manifest.tree import Tree
from reconciler.model.documents import Content, Controls, Document, Fields, Place, Scalar

_NO_FIELDS: Mapping[str, Scalar] = {}
_NO_CONTROLS = Controls()
_DEEP = frozenset({"custom", "messagingOptions"})
_OURS = frozenset({"devices", "meta", "content"})

# What a caller reads for a resource's `content` mapping, standing at a place.
Payloads = Mapping[str, Content]


class Flattener:
    """Flattens the entries of one tree; paths that occur again and again are kept once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._shapes: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._joined: dict[tuple[str, str], str] = {}

    def contacts(self) -> Iterator[Document]:
        """Yield every contact, each followed by its devices."""
        for name, body, place in self._entries(self._tree.value, "contacts"):
            yield self._document("contact", name, body, place)
            for device, fields, where in self._entries(body, "devices"):
                yield self._document("device", device, fields, where, parent=name)

    def resources(self, payloads: Payloads) -> Iterator[Document]:
        """Yield every resource; `payloads` holds what was read for each, by name."""
        for name, body, place in self._entries(self._tree.value, "resources"):
            document = self._document("resource", name, body, place, content=payloads.get(name))
            yield document

    def defaults(self) -> Mapping[str, Fields]:
        """Return the default fields by kind."""
        section: dict[str, Any] = self._tree.value.get("defaults", {})
        return {plural.removesuffix("s"): self._fields(body)[0] for plural, body in section.items()}

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


def controls(meta: dict[str, Any]) -> Controls:
    """Return what a `meta` mapping says."""
    return Controls(
        protect=meta.get("protect") == "true",
        ignore=frozenset(meta.get("ignore", ())),
        tags=meta.get("tags", {}),
        renamed_from=meta.get("renamedFrom", ""),
        reactivate=meta.get("reactivate") == "true",
    )
