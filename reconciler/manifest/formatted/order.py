"""Which keys have an order of ours, and which: names that an author chose keep the author's order.

Entries, tags, custom fields and the columns of rows are the author's. All other keys follow the order of
the kind's row, as an export writes them. Derived from the table of kinds and from the schema.
"""

from collections.abc import Callable, Mapping, Sequence

from reconciler.manifest.entries import Steps, find_kind_at, kinds_by_plural
from reconciler.model.field_types import FieldShape, require_rows
from reconciler.model.kind import Kind
from reconciler.model.kinds import cache_by_kinds, child_kinds
from reconciler.schema.shipped import read_schema

Rank = Callable[[str], tuple[int, str]]


def rank_at(path: Steps) -> Rank | None:
    """Return what the keys of the mapping at a path are sorted by; None where their order is the author's."""
    match path:
        case ():
            return _in_order(_parts()["manifest"])
        case ("defaults" | "removed",):
            return _in_order(tuple(kinds_by_plural()))
        case ("rosters", int()):
            return _in_order(_parts()["roster"])
        case ("defaults", str(plural), *rest) | ("rosters", int(), str(plural), *rest):
            kind = kinds_by_plural().get(plural)
            return _below(kind, tuple(rest)) if kind else None
    found = find_kind_at(path)
    return _below(found[0], path[found[1] :]) if found else None


def _below(kind: Kind, rest: Steps) -> Rank | None:
    """Return the rank of the keys at the end of a path that begins in an entry."""
    if not rest:
        return _in_order(body_keys(kind.name))
    head = rest[0]
    if len(rest) <= _SORTED_DEPTH[kind.structured.get(str(head), "scalar")]:
        return lambda key: (0, key)  # as an export writes them
    if len(rest) == 1 and head in ("meta", kind.content):
        return _in_order(_parts()["meta" if head == "meta" else "content"])
    return None


# How deep below a field its keys are sorted by their names, by the shape of the field. The names of custom
# values are the author's.
_SORTED_DEPTH: Mapping[FieldShape, int] = require_rows(
    FieldShape, {"scalar": 0, "content": 0, "custom": 0, "channels": 2, "group": 1}
)


@cache_by_kinds
def body_keys(kind: str) -> tuple[str, ...]:
    """Return every key of an entry in its order: fields, what belongs to it, what the program should do."""
    row = next(one for one in kinds_by_plural().values() if one.name == kind)
    return (*(field.name for field in row.keys), *(child.plural for child in child_kinds(kind)), "meta")


@cache_by_kinds
def _parts() -> Mapping[str, tuple[str, ...]]:
    schema = read_schema("manifest")
    named = {"roster": "roster", "meta": "reactivableMeta", "content": "content"}
    parts = {name: tuple(schema["$defs"][at]["properties"]) for name, at in named.items()}
    return {**parts, "manifest": tuple(schema["properties"])}


def _in_order(keys: Sequence[str]) -> Rank:
    known = _numbers(tuple(keys))
    return lambda key: (known.get(key, len(known)), "")  # unknown ones last; sorting keeps their order


@cache_by_kinds
def _numbers(keys: tuple[str, ...]) -> Mapping[str, int]:
    return {key: number for number, key in enumerate(keys)}
