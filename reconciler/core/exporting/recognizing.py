"""RECOGNIZING: which further field would tell apart those whom no identity field recognizes.

Belongs here: the advice alone. Not here: who is recognized (match.py), and what is exported (export.py).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from reconciler.core.compare.identity import identity_text
from reconciler.core.exporting.export import Left, subject_of
from reconciler.core.rules import Rules
from reconciler.model.kind import Kind
from reconciler.model.kinds import BUILT_IN_KINDS
from reconciler.model.snapshots import LiveEntity, Scope


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
    recognizes have. No two entities of a workspace share a value of it, or it would make them ambiguous; but
    for those that are ambiguous already.
    """
    subjects = {
        reason: frozenset(one.subject for one in left if one.reason == reason)
        for reason in ("identity", "twice")
    }
    found = []
    for kind in BUILT_IN_KINDS.values():
        rows = [row for scope, ones in live.items() if scope.kind == kind.name for row in ones]
        strange = [row for row in rows if subject_of(row) in subjects["identity"]]
        fields = [] if kind.together or kind.parent or not strange else _candidates(kind, strange, rules)
        for path, number in fields:
            if not _is_shared(kind.identity_path(path, rules.checks.region), rows, subjects["twice"]):
                now = rules.identity.of(kind.name)
                found.append(Advice(kind.plural, (*(one for (one,) in now), path), number, len(strange)))
                break
    return tuple(found)


def _candidates(kind: Kind, strange: Sequence[LiveEntity], rules: Rules) -> list[tuple[str, int]]:
    """Return the paths that could be an identity, with how many have them, the most first."""
    have = Counter(
        path
        for row in strange
        for path, value in row.fields.items()
        # What reaches one person, or was made to number them. Two people of one name are nothing unusual.
        if value != "" and kind.type_of(path).recognizes and path != rules.mark_path
    )
    return sorted(have.items(), key=lambda one: (-one[1], one[0]))


def _is_shared(path: str, rows: Iterable[LiveEntity], twice: Collection[str]) -> bool:
    seen: dict[tuple[str, str], bool] = {}
    for row in rows:
        text = identity_text(path, row.fields)
        if not text:
            continue
        key, is_twice = (row.workspace, text), subject_of(row) in twice
        if key in seen and not (is_twice and seen[key]):
            return True
        seen[key] = is_twice
    return False
