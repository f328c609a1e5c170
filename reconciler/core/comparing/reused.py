"""Has a recorded id become somebody else? By how much of what it showed has changed, as a table.

A service, or a person there, may use an entity that is no longer needed for a new colleague: another name,
address, number and title under the id that is recorded as ours. Written over as drift, the new colleague gets
the alarms of the old one; deleted when the entry leaves, the new one is not reached at all.
Source: docs/planning.md, M9.
"""

from collections.abc import Collection

from msgspec import Struct

from reconciler.core.comparing.match import same_identity
from reconciler.core.comparing.taken import same
from reconciler.core.rules import Key
from reconciler.model.documents import Fields
from reconciler.model.kind.kinds import KINDS

# Ordinary drift: a new address, a new name after a marriage, both of them.
_ordinary_max = 2  # values, the identity among them, that may change at once and leave somebody herself


class Reuse(Struct, frozen=True):
    """How much of what was recorded has changed: `changed` of `told` values that tell one from another."""

    changed: tuple[str, ...]
    told: int

    def __str__(self) -> str:
        """`4 of 5 values`."""
        return f"{len(self.changed)} of {self.told} values"


def judge_reuse(
    kind: str,
    recorded: Fields,
    shown: Fields,
    *,
    keys: tuple[Key, ...],
    known: Collection[str] | None = None,
) -> Reuse | None:
    """Return how much has changed where an id seems to be somebody else now, else None.

    `recorded` is what the service showed when the record was written, `shown` what it shows now, secrets as
    digests under one salt in both. `keys` are the identities without our mark, which stays when a record is
    used anew. `known` are the paths that were read now; None: all.

        another identity | values that tell, changed       | somebody else
        no               | any                             | no
        yes              | up to 2                         | no: ordinary drift
        yes              | up to half                      | no
        yes              | 3 or more, and more than half   | yes
    """
    if not _is_another(recorded, shown, keys):
        return None
    row = KINDS[kind]
    told = [
        path
        for path, value in recorded.items()
        if value != ""
        and path not in row.write_only
        and path not in row.folds
        and row.type_of(path).distinguishes
        and (known is None or path in known)
    ]
    changed = tuple(path for path in told if not same(kind, path, recorded[path], shown.get(path, "")))
    most = len(changed) > _ordinary_max and 2 * len(changed) > len(told)
    return Reuse(changed, len(told)) if most else None


def _is_another(recorded: Fields, shown: Fields, keys: tuple[Key, ...]) -> bool:
    """Whether an identity is there in both, and none of them is the same."""
    both = [key for key in keys if all(recorded.get(path) and shown.get(path) for path in key)]
    return bool(both) and not same_identity(recorded, shown, keys)
