"""Has a recorded id become somebody else? By how much of what it showed has changed, as a table.

A service, or a person there, may use an entity that is no longer needed for a new colleague: another name,
address, number and title under the id that is recorded as ours. Written over as drift, the new colleague gets
the alarms of the old one; deleted when the entry leaves, the new one is not reached at all.
Source: docs/planning.md, M9.
"""

from collections.abc import Collection

from msgspec import Struct

from reconciler.core.comparing.match import same_identity
from reconciler.core.comparing.normalize import remembered
from reconciler.core.comparing.taken import same
from reconciler.core.rules import Key
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import RecordedEntity

# Ordinary drift: a new address, a new name after a marriage, both of them.
_ordinary_max = 2  # values, the identity among them, that may change at once and leave somebody herself


class Reuse(Struct, frozen=True):
    """How much of what was recorded has changed: `changed` of `told` values that tell one from another."""

    changed: tuple[str, ...]
    told: int

    def __str__(self) -> str:
        """`4 of 5 values`."""
        return f"{len(self.changed)} of {self.told} values"


def find_reuse(
    address: Address,
    record: RecordedEntity,
    shown: Fields,
    declared: Fields | None,
    *,
    keys: tuple[Key, ...],
    salt: str,
    known: Collection[str] | None = None,
) -> Reuse | None:
    """Return how much has changed where the recorded id of an address seems to be somebody else, else None.

    Not where it is whom the manifest declares by now (`declared`). `shown` has its secrets in clear, and the
    record as digests under `salt`. Asked by the plan, and again by the look right before each write.
    """
    if declared is not None and same_identity(declared, shown, keys):
        return None
    if same_identity(record.shown, shown, keys):
        return None  # before anything is digested: mostly nothing has changed
    now = remembered(address.kind, shown, salt)
    return judge_reuse(address.kind, record.shown, now, keys=keys, known=known)


def describe_reuse(address: Address, remote_id: str, found: Reuse, keys: tuple[Key, ...]) -> tuple[str, str]:
    """Return what is said of an id that may be somebody else now, and what a person can do about it."""
    by = " or ".join(" and ".join(key) for key in keys)
    what = f"may be somebody else now (id {remote_id}): another {by}, {found} changed"
    step = (
        f"if it is the same, apply with --confirm-same {address}; if not, take its entry out and "
        f"reconciler forget {address}"
    )
    return what, step


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
