"""`meta.ignore` must name fields that exist: a misspelt one would quietly ignore nothing.

A field that exists but is not declared may be named; it is only not ours then.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reconciler.core.suggest import did_you_mean
from reconciler.errors import Problem
from reconciler.manifest.entries import entries, entry_subject, sections
from reconciler.manifest.schema.parts import definition_of
from reconciler.manifest.schema.schemas import Extras, read_schema
from reconciler.model.documents import Place
from reconciler.model.field_types import FieldShape, require_rows
from reconciler.model.kind import Kind
from reconciler.model.kinds import CONTACT, KINDS, child_kinds
from reconciler.parsing.build import shown
from reconciler.parsing.tree import Tree

Known = Mapping[str, frozenset[str]]
_Meta = tuple[Kind, list[str | int], dict[str, Any]]
_HINT = "name a field as messages do, for example jobTitle or custom.employeeId"


def known_fields(extras: Extras) -> Known:
    """Return every path that a field may have, by kind; custom fields by their prefix alone."""
    definitions = read_schema("manifest", extras)["$defs"]
    return {kind.name: frozenset(_paths(kind, definitions)) for kind in KINDS.values()}


def _paths(kind: Kind, definitions: Mapping[str, Any]) -> set[str]:
    below = {one.plural for one in child_kinds(kind.name)}
    paths = {*definitions[definition_of(kind)]["properties"]} - {"meta"} - below
    paths |= {one.name for parts in kind.groups.values() for one in parts}
    for field in kind.declarable:
        paths |= {f"{field.name}.{one}" for one in _PARTS[field.row.shape](definitions)}
    return paths


def _channels(definitions: Mapping[str, Any]) -> set[str]:
    options = definitions["messagingOptions"]["properties"]
    return {*options} | {f"{one}.{key}" for one in options for key in definitions["channel"]["properties"]}


def _none(_definitions: Mapping[str, Any]) -> set[str]:
    return set()


# The paths below a field that its kind does not name itself, by the shape of the field. Parts of a group are
# fields of the kind; the names of custom values are anybody's (`_custom`).
_PARTS: Mapping[FieldShape, Callable[[Mapping[str, Any]], set[str]]] = require_rows(
    FieldShape,
    {"scalar": _none, "content": _none, "custom": _none, "channels": _channels, "group": _none},
)


def ignore_problems(tree: Tree, known: Known) -> Iterator[Problem]:
    """Yield a problem for each item of a `meta.ignore` that names no field of its kind."""
    for kind, path, meta in _metas(tree.value):
        for index, item in enumerate(meta.get("ignore", ())):
            if item not in known[kind.name] and not _custom(kind, item):
                front, _ = entry_subject(tree.value, path)
                what = f"{front}meta.ignore: {shown(item)} is not a field of a {kind.name}."
                hint = did_you_mean("field", item, known[kind.name], _HINT)
                yield tree.problem([*path, "ignore", index], what, hint, code="E201")


def ignored_secrets(tree: Tree) -> frozenset[Place]:
    """Return the places of the secrets that the `meta.ignore` of their entry names: they need no variable.

    The tree is not checked yet: what has another shape than an entry is no entry.
    """
    return frozenset(
        place for kind, body in _bodies(tree.value) for place in _ignored_places(tree, kind, body)
    )


def _bodies(value: object) -> Iterator[tuple[Kind, dict[str, Any]]]:
    """Yield the entries of a tree and the templates of its rosters, each with its kind."""
    waiting = [(kind, _object(value).get(plural)) for plural, kind in sections().items()]
    rosters = _object(value).get("rosters")
    templates = (_object(one).get(CONTACT.plural) for one in (rosters if isinstance(rosters, list) else ()))
    yield from ((CONTACT, _object(one)) for one in templates)
    while waiting:
        kind, section = waiting.pop()
        for body in map(_object, _object(section).values()):
            yield kind, body
            waiting += [(child, body.get(child.plural)) for child in child_kinds(kind.name)]


def _ignored_places(tree: Tree, kind: Kind, body: dict[str, Any]) -> Iterator[Place]:
    ignored = _object(body.get("meta")).get("ignore")
    if not isinstance(ignored, list):
        return
    for path in kind.secret:
        head, _, below = path.partition(".")
        node, step = (_object(body.get(head)), below) if below else (body, head)
        if step in node and (path in ignored or head in ignored):
            yield tree.place_in(node, step)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _custom(kind: Kind, item: str) -> bool:
    head, _, name = item.partition(".")
    return bool(name) and kind.type_of(head).shape == "custom"


def _metas(value: dict[str, Any]) -> Iterator[_Meta]:
    for kind in sections().values():
        for one in entries(value, kind):
            yield one.kind, [*one.path, "meta"], one.body.get("meta", {})
    for index, roster in enumerate(value.get("rosters", ())):
        path: list[str | int] = ["rosters", index, CONTACT.plural, "meta"]
        yield CONTACT, path, roster[CONTACT.plural].get("meta", {})
