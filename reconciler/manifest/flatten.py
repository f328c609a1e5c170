"""One checked tree becomes Documents: flat fields, controls, and the place of every key.

The tree already fits the schema, so shapes are not checked again. Defaults are passed on; they are applied in
`core/desired/resolve.py`.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from reconciler.core.compare.normalize import is_flag
from reconciler.core.suggest import did_you_mean
from reconciler.errors import Problem
from reconciler.manifest.alike import pick_values
from reconciler.manifest.entries import (
    ANY_KEY,
    ManifestEntry,
    Steps,
    find_kind_at,
    iterate_entries,
    kinds_by_plural,
    name_entry,
    top_level_kinds,
)
from reconciler.model.documents import Content, Controls, Document, Fields, Place, Scalar
from reconciler.model.field_types import FieldShape, require_rows
from reconciler.model.kind import Kind
from reconciler.model.kinds import CONTACT, KINDS, cache_by_kinds, child_kinds
from reconciler.parsing.display import show_value
from reconciler.parsing.tree import Tree
from reconciler.parsing.tree_builder import AlikeBody, BodyForm, pack_position, unpack_place
from reconciler.schema.shipped import ExtraFields, definition_name, read_schema

# --- Places of fields, one integer each -----------------------------------------------------------
#
# A hundred thousand entries have a million fields; a Place for each would cost more than the fields.


class RowPlaces(Mapping[str, Place]):
    """The place of each field of a row of a roster. `cells`, by path, are the same for many rows."""

    __slots__ = ("_cells", "_file", "_row")

    def __init__(self, file: str, row: int, cells: Mapping[str, int]) -> None:
        self._file = file
        self._row = row
        self._cells = cells

    def __getitem__(self, path: str) -> Place:
        return Place(self._file, self._row, self._cells[path])

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)


class FieldPlaces(Mapping[str, Place]):
    """The place of each path, built on access. `packed` holds line << 32 | column for each.

    Each is as many `lines` further down, so that entries of one form share what is packed.
    """

    __slots__ = ("_file", "_lines", "_packed", "_paths")

    def __init__(self, file: str, paths: tuple[str, ...], packed: Sequence[int], lines: int = 0) -> None:
        self._file = file
        self._paths = paths
        self._packed = packed
        self._lines = lines

    def __getitem__(self, path: str) -> Place:
        try:
            packed = self._packed[self._paths.index(path)]
            return unpack_place(self._file, packed + pack_position(self._lines, 0))
        except ValueError:
            raise KeyError(path) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


# --- Entries --------------------------------------------------------------------------------------

_NO_PATHS: frozenset[str] = frozenset()
_NO_CONTROLS = Controls()


@cache_by_kinds
def _non_field_keys(name: str) -> frozenset[str]:
    """Return the keys of an entry that are not fields."""
    return frozenset({"meta", *(child.plural for child in child_kinds(name))})


# The payloads that were read, by the path of the entry.
Payloads = Mapping[Steps, Content]


class _FlatForm(NamedTuple):
    """The fields of all bodies of one form: their paths, their values out of a row, and their places."""

    paths: tuple[str, ...]
    pick: Callable[[Sequence[Any]], Sequence[Any]]
    packed: Sequence[int]


class Flattener:
    """Flattens the entries of one tree. Equal tuples of paths and equal paths are shared."""

    def __init__(self, tree: Tree, unread: frozenset[Steps] = frozenset(), *, again: bool = False) -> None:
        self._tree = tree
        self._unread = _group_by_entry(unread)
        self._again = again
        self._shapes: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._joined: dict[tuple[str, str], str] = {}
        self._flat: dict[tuple[str, int], _FlatForm | None] = {}
        self._samples: list[AlikeBody] = []  # kept, as positions are found by the identity of a mapping

    def documents(self, kind: Kind, payloads: Payloads) -> Iterator[Document]:
        """Yield the document of every entry of a kind, each followed by its children."""
        for one in iterate_entries(self._tree.value, kind):
            content = payloads.get(one.path)
            unread = self._unread_fields(one.kind.plural, *one.path[1::2])
            if content is None and one.kind.content in one.body:
                unread |= {one.kind.content}
            yield self._build_document(one, content, unread)

    def unread_in_roster(self, index: int) -> frozenset[str]:
        """Return the fields of a roster whose templates could not be read."""
        return self._unread_fields("rosters", index)

    def _unread_fields(self, section: str, *steps: str | int) -> frozenset[str]:
        if not self._unread:
            return _NO_PATHS
        plural = CONTACT.plural if section == "rosters" else section
        found = self._unread.get((section, *steps), _NO_PATHS) | self._unread.get(
            ("defaults", plural), _NO_PATHS
        )
        return found | self._unread.get(("defaults",), _NO_PATHS)

    def defaults(self) -> Mapping[str, Fields]:
        """Return the default fields by kind."""
        return {kind.name: self._flatten_body(kind, body)[0] for kind, body in self._default_bodies()}

    def default_places(self) -> Mapping[str, Mapping[str, Place]]:
        """Return the place of each default field, by kind."""
        found: dict[str, Mapping[str, Place]] = {}
        for kind, body in self._default_bodies():
            _, paths, packed = self._flatten_body(kind, body)
            found[kind.name] = FieldPlaces(self._tree.file, paths, packed)
        return found

    def _default_bodies(self) -> Iterator[tuple[Kind, dict[str, Any]]]:
        section: dict[str, Any] = self._tree.value.get("defaults", {})
        return ((kinds_by_plural()[plural], body) for plural, body in section.items())

    def _build_document(
        self, entry: ManifestEntry, content: Content | None, unread: frozenset[str]
    ) -> Document:
        body, place = entry.body, self._tree.place(entry.path)
        fields, places = self._flatten_entry(entry)
        fields.pop(entry.kind.content, None)
        if content is not None:
            fields[entry.kind.content] = content.digest
        return Document(
            kind=entry.kind.name,
            name=entry.name,
            place=place,
            fields=fields,
            places=places,
            parent=entry.parent,
            controls=read_controls(body["meta"]) if "meta" in body else _NO_CONTROLS,
            content=content,
            devices_in_scope=any(child.plural in body for child in child_kinds(entry.kind.name)),
            unread=unread,
            again=self._again,
            control_places=locate_controls(self._tree, body.get("meta", {})),
        )

    def _flatten_entry(self, entry: ManifestEntry) -> tuple[dict[str, Scalar], FieldPlaces]:
        """Return the fields of an entry, and their places."""
        alike, file = self._tree.alike.get(id(entry.body)), self._tree.file
        flat = self._flatten_form(entry.kind, alike.form) if alike is not None else None
        if alike is None or flat is None:
            fields, paths, packed = self._flatten_body(entry.kind, entry.body)
            return fields, FieldPlaces(file, paths, packed)
        values = flat.pick(alike.row)
        return dict(zip(flat.paths, values, strict=True)), FieldPlaces(
            file, flat.paths, flat.packed, alike.line
        )

    def _flatten_form(self, kind: Kind, form: BodyForm) -> "_FlatForm | None":
        """Return how bodies of a form are flattened, by a sample of it; None: each by itself."""
        key = kind.name, id(form)
        if key not in self._flat:
            sample = self._tree.build_alike(form, form.marks, 0)
            self._samples.append(sample)
            fields, paths, packed = self._flatten_body(kind, sample.row[-1])
            values = [*fields.values()]
            # A flag is no text of the row.
            alike = all(isinstance(one, str) for one in values)
            pick = pick_values([sample.row.index(one) for one in values]) if alike else None
            self._flat[key] = _FlatForm(paths, pick, packed) if pick else None
        return self._flat[key]

    def _flatten_body(
        self, kind: Kind, body: dict[str, Any]
    ) -> tuple[dict[str, Scalar], tuple[str, ...], "array[int]"]:
        fields: dict[str, Scalar] = {}
        packed = array("Q")
        not_fields = _non_field_keys(kind.name)
        for (key, value), mark in zip(body.items(), self._tree.packed_places(body), strict=True):
            if key in not_fields:
                continue
            if key in kind.structured:
                self._flatten_mapping(kind, key, value, fields, packed)
            else:
                fields[key] = value == "true" if key in kind.flags else value
                packed.append(mark)
        return fields, self._share_paths(list(fields)), packed

    def _flatten_mapping(
        self, kind: Kind, path: str, node: dict[str, Any], fields: dict[str, Scalar], packed: "array[int]"
    ) -> None:
        for (key, value), mark in zip(node.items(), self._tree.packed_places(node), strict=True):
            below = self._joined.setdefault((path, key), f"{path}.{key}")
            if isinstance(value, dict):
                self._flatten_mapping(kind, below, value, fields, packed)
            else:
                fields[below] = value == "true" if is_flag(kind.name, below) else value
                packed.append(mark)

    def _share_paths(self, paths: list[str]) -> tuple[str, ...]:
        shape = tuple(paths)
        return self._shapes.setdefault(shape, shape)


def _group_by_entry(unread: frozenset[Steps]) -> dict[Steps, frozenset[str]]:
    """Return the unread fields of each contact, device, resource, roster and section of defaults."""
    found: dict[Steps, frozenset[str]] = {}
    for path in unread:
        entry, rest = _split_entry_path(path)
        if entry:
            found[entry] = found.get(entry, _NO_PATHS) | {".".join(map(str, rest)) or ANY_KEY}
    return found


def _split_entry_path(path: Steps) -> tuple[Steps, Steps]:
    """Split a path: the entry, roster or section of defaults that it leads into, and the rest."""
    found = find_kind_at(path)
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


def locate_controls(tree: Tree, meta: dict[str, Any]) -> Mapping[str, Place]:
    """Return the place of each key of a `meta` mapping of a tree."""
    return FieldPlaces(tree.file, tuple(meta), tree.packed_places(meta)) if meta else {}


def read_controls(meta: dict[str, Any]) -> Controls:
    """Return the controls of a `meta` mapping."""
    return Controls(
        protect=meta.get("protect") == "true",
        ignore=frozenset(meta.get("ignore", ())),
        tags=meta.get("tags", {}),
        renamed_from=meta.get("renamedFrom", ""),
        reactivate=meta.get("reactivate") == "true",
        carry_over=True if meta.get("carryOver") == "true" else UNSET,
    )


# --- Fields that `meta.ignore` names --------------------------------------------------------------
#
# They must exist: a misspelt one would ignore nothing without a message. A field that exists and is not
# declared may be named.


KnownFields = Mapping[str, frozenset[str]]
_Meta = tuple[Kind, list[str | int], dict[str, Any]]
_IGNORE_HINT = "write a field as messages show it, for example jobTitle or custom.employeeId"


def list_known_fields(extras: ExtraFields) -> KnownFields:
    """Return every path that a field may have, by kind; custom fields by their prefix alone."""
    definitions = read_schema("manifest", extras)["$defs"]
    return {kind.name: frozenset(_list_paths(kind, definitions)) for kind in KINDS.values()}


def _list_paths(kind: Kind, definitions: Mapping[str, Any]) -> set[str]:
    below = {one.plural for one in child_kinds(kind.name)}
    paths = {*definitions[definition_name(kind)]["properties"]} - {"meta"} - below
    paths |= {one.name for parts in kind.groups.values() for one in parts}
    for field in kind.declarable:
        paths |= {f"{field.name}.{one}" for one in _PATHS_BELOW[field.row.shape](definitions)}
    return paths


def _list_channel_paths(definitions: Mapping[str, Any]) -> set[str]:
    options = definitions["messagingOptions"]["properties"]
    return {*options} | {f"{one}.{key}" for one in options for key in definitions["channel"]["properties"]}


def _no_paths(_definitions: Mapping[str, Any]) -> set[str]:
    return set()


# The paths below a field that are not fields of its kind, by the shape of the field. Parts of a group are
# fields of the kind; custom values may have any name (`_is_custom_field`).
_PATHS_BELOW: Mapping[FieldShape, Callable[[Mapping[str, Any]], set[str]]] = require_rows(
    FieldShape,
    {
        "scalar": _no_paths,
        "content": _no_paths,
        "custom": _no_paths,
        "channels": _list_channel_paths,
        "group": _no_paths,
    },
)


def check_ignored_fields(tree: Tree, known: KnownFields) -> Iterator[Problem]:
    """Yield a problem for each item of a `meta.ignore` that names no field of its kind."""
    for kind, path, meta in _iterate_metas(tree.value):
        for index, item in enumerate(meta.get("ignore", ())):
            if item not in known[kind.name] and not _is_custom_field(kind, item):
                front, _ = name_entry(tree.value, path)
                what = f"{front}meta.ignore: {show_value(item)} is not a field of a {kind.name}."
                hint = did_you_mean("field", item, known[kind.name], _IGNORE_HINT)
                yield tree.problem([*path, "ignore", index], what, hint, code="E201")


def find_ignored_secrets(tree: Tree) -> frozenset[Place]:
    """Return the places of secrets that the `meta.ignore` of their entry names: their variables may be unset.

    The tree is not checked yet: a value of another shape than an entry is skipped.
    """
    return frozenset(
        place
        for kind, body in _iterate_bodies(tree.value)
        for place in _locate_ignored_secrets(tree, kind, body)
    )


def _iterate_bodies(value: object) -> Iterator[tuple[Kind, dict[str, Any]]]:
    """Yield the entries of a tree and the templates of its rosters, each with its kind."""
    waiting = [(kind, _as_mapping(value).get(plural)) for plural, kind in top_level_kinds().items()]
    rosters = _as_mapping(value).get("rosters")
    templates = (
        _as_mapping(one).get(CONTACT.plural) for one in (rosters if isinstance(rosters, list) else ())
    )
    yield from ((CONTACT, _as_mapping(one)) for one in templates)
    while waiting:
        kind, section = waiting.pop()
        for body in map(_as_mapping, _as_mapping(section).values()):
            yield kind, body
            waiting += [(child, body.get(child.plural)) for child in child_kinds(kind.name)]


def _locate_ignored_secrets(tree: Tree, kind: Kind, body: dict[str, Any]) -> Iterator[Place]:
    ignored = _as_mapping(body.get("meta")).get("ignore")
    if not isinstance(ignored, list):
        return
    for path in kind.secret:
        head, _, below = path.partition(".")
        node, step = (_as_mapping(body.get(head)), below) if below else (body, head)
        if step in node and (path in ignored or head in ignored):
            yield tree.place_in(node, step)


def _as_mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_custom_field(kind: Kind, item: str) -> bool:
    head, _, name = item.partition(".")
    return bool(name) and kind.type_of(head).shape == "custom"


def _iterate_metas(value: dict[str, Any]) -> Iterator[_Meta]:
    for kind in top_level_kinds().values():
        for one in iterate_entries(value, kind):
            yield one.kind, [*one.path, "meta"], one.body.get("meta", {})
    for index, roster in enumerate(value.get("rosters", ())):
        path: list[str | int] = ["rosters", index, CONTACT.plural, "meta"]
        yield CONTACT, path, roster[CONTACT.plural].get("meta", {})
