"""Where entries stand in a manifest: the sections of each kind, and the kind that a path leads into.

Derived from the table of kinds, so a new kind is read, named and checked like any other. No checks here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS, cache_by_kinds, child_kinds

Steps = tuple[str | int, ...]


@cache_by_kinds
def by_plural() -> Mapping[str, Kind]:
    """Return all kinds by their key in manifests."""
    return {kind.plural: kind for kind in KINDS.values()}


@cache_by_kinds
def sections() -> Mapping[str, Kind]:
    """Return the kinds with a section at the top of a manifest, by its key."""
    return {plural: kind for plural, kind in by_plural().items() if not kind.parent}


class Entry(NamedTuple):
    """One entry: its kind, the path of its body, the body, the name of what it belongs to ("": nothing)."""

    kind: Kind
    path: Steps
    body: dict[str, Any]
    parent: str = ""

    @property
    def name(self) -> str:
        """Our name for it."""
        return str(self.path[-1])


def kind_at(path: Sequence[str | int]) -> tuple[Kind, int] | None:
    """Return the kind of the innermost entry that a path leads into, and how many steps lead to it."""
    kind, steps = sections().get(str(path[0])) if len(path) > 1 else None, 2
    if kind is None:
        return None
    while len(path) > steps + 1:
        below = next((child for child in child_kinds(kind.name) if child.plural == path[steps]), None)
        if below is None:
            break
        kind, steps = below, steps + 2
    return kind, steps


def entries(value: Mapping[str, Any], kind: Kind) -> Iterator[Entry]:
    """Yield the entries of a kind at the top of a manifest, each followed by those that belong to it."""
    for name, body in value.get(kind.plural, {}).items():
        yield Entry(kind, (kind.plural, name), body)
        for child in child_kinds(kind.name):
            for below, its in body.get(child.plural, {}).items():
                yield Entry(child, (kind.plural, name, child.plural, below), its, name)


def entry_subject(root: dict[str, Any], path: Sequence[str | int]) -> tuple[str, int]:
    """Name the entity that a path leads into by its address, as a `Subject` of parsing/paths.py."""
    found = kind_at(path)
    if found is None:
        return "", 0
    kind, steps = found
    workspace = root.get("workspace")
    known = workspace if isinstance(workspace, str) and workspace else "?"
    return "/".join((kind.name, known, *map(str, path[1:steps:2]))) + ": ", steps
