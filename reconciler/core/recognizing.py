"""RECOGNIZING: which further field would tell apart those whom no identity field recognizes.

Belongs here: the advice alone. Not here: who is recognized (match.py), and what is exported (export.py).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from reconciler.core.export import Left, subject_of
from reconciler.core.normalize import identity_key
from reconciler.core.rules import Rules
from reconciler.model.kinds import BUILT_IN
from reconciler.model.snapshots import LiveEntity, Scope

# What reaches one person, or was made to number them. Two people of one name are nothing unusual.
_TYPES = frozenset({"email", "phone", "custom"})


class Advice(Struct, frozen=True, order=True):
    """`identity: {kind: fields}` in the settings would recognize `number` more, of so many."""

    kind: str
    fields: tuple[str, ...]
    number: int
    of: int


def identity_advice(
    live: Mapping[Scope, Sequence[LiveEntity]], left: Collection[Left], rules: Rules
) -> tuple[Advice, ...]:
    """Return one more identity field for each kind that has one, in the order of the kinds.

    `left` is what an export of `live` left out. The field is the one that most of those whom nothing
    recognizes have; no two entities of a workspace share a value of it, or it would make others ambiguous.
    """
    strange = frozenset(one.subject for one in left if one.reason == "identity")
    return tuple(one for kind in BUILT_IN if (one := _advice(kind, live, strange, rules)) is not None)


def _advice(
    name: str,
    live: Mapping[Scope, Sequence[LiveEntity]],
    strange: Collection[str],
    rules: Rules,
) -> Advice | None:
    kind = BUILT_IN[name]
    if kind.together or kind.parent:
        return None
    now = tuple(path for key in rules.identity.of(name) for path in key)
    rows = [(scope, row) for scope, ones in live.items() if scope.kind == name for row in ones]
    left = [row for _, row in rows if subject_of(row) in strange]
    have = Counter(
        path
        for row in left
        for path, value in row.fields.items()
        if value != "" and kind.type_of(path) in _TYPES and path != rules.mark_path and path not in now
    )
    for path, number in sorted(have.items(), key=lambda one: (-one[1], one[0])):
        if not _is_shared(kind.identity_path(path), rows):
            return Advice(kind.plural, (*now, path), number, len(left))
    return None


def _is_shared(path: str, rows: Iterable[tuple[Scope, LiveEntity]]) -> bool:
    seen: set[tuple[Scope, str]] = set()
    for scope, row in rows:
        value = row.fields.get(path, "")
        if value == "":
            continue
        key = scope, identity_key(path, value)
        if key in seen:
            return True
        seen.add(key)
    return False
