"""Which entity an id is now: is it gone (rule M8), has it become somebody else (rule M9)? As two tables."""

from collections.abc import Collection, Mapping
from typing import Literal

from msgspec import Struct

from reconciler.core.compare.match import shared_identity
from reconciler.core.compare.normalize import digest_for_store
from reconciler.core.compare.readback import reads_back_as
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.kind import Key
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import RecordedEntity

# --- Is an entity gone? What a look at its id and the list that holds it say together -------------
#
# A 404 is one witness, and may be a fault of the service: an entity that is taken for gone is forgotten, and
# then it is reachable and not managed. So the list is read too, and evidence that it is there wins.

# What a GET of the id says: 404 is `absent`. `elsewhere`: it shows another entity, redirects, or says 410.
MissedLook = Literal["absent", "elsewhere"]
LookSays = Literal["shown"] | MissedLook

# What the list says, read as a whole or by every identity that is known of the entity; of a device, the
# document of its contact. `unread`: not as a whole, or no good answer; `absent`: a 404 of the list itself.
ListSays = Literal["shows", "lacks", "unread", "absent"]

Presence = Literal["there", "gone", "in doubt"]

# look, list -> after one look; after two looks that lie a settle window apart and said the same
ABSENCE: Mapping[tuple[LookSays, ListSays], tuple[Presence, Presence]] = {
    ("shown", "shows"): ("there", "there"),
    ("shown", "lacks"): ("there", "there"),  # the list is not all of it (G4)
    ("shown", "unread"): ("there", "there"),
    ("shown", "absent"): ("there", "there"),
    ("absent", "shows"): ("in doubt", "in doubt"),  # evidence that she is there wins, however often
    ("absent", "lacks"): ("gone", "gone"),
    ("absent", "unread"): ("in doubt", "gone"),
    ("absent", "absent"): ("in doubt", "in doubt"),  # the whole workspace answers so: it says nothing of her
    ("elsewhere", "shows"): ("in doubt", "in doubt"),
    ("elsewhere", "lacks"): ("in doubt", "in doubt"),  # merged: somebody has what was hers
    ("elsewhere", "unread"): ("in doubt", "in doubt"),
    ("elsewhere", "absent"): ("in doubt", "in doubt"),
}


def judge_absence(look: LookSays, listed: ListSays, *, twice: bool = False) -> Presence:
    """Return whether an entity is there, gone or in doubt.

    `twice`: an earlier look, at least a settle window before this one, said the same.
    """
    return ABSENCE[look, listed][twice]


# Looks of one read that all end elsewhere: from so many on, the address is wrong and not the entities.
_wrong_looks_min = 3


def is_wrong_service(*, right: int, wrong: int) -> bool:
    """Whether all looks of a read showed another entity than was asked for, and they were several."""
    return right == 0 and wrong >= _wrong_looks_min


# --- Has a recorded id become somebody else? By how much of what it showed has changed ------------
#
# A service, or a person there, may use an entity that is no longer needed for a new colleague: another name,
# address, number and title under the id that is recorded as ours. Written over as drift, the new colleague
# gets the alarms of the old one; deleted when the entry leaves, the new one is not reached at all.


# Ordinary drift: a new address, a new name after a marriage, or both.
_ordinary_max = 2  # values, the identity among them, that may change at once and leave somebody herself


class Reuse(Struct, frozen=True):
    """How much of what was recorded has changed: `changed` of `compared` distinctive values."""

    changed: tuple[str, ...]
    compared: int

    def __str__(self) -> str:
        """`4 of 5 values`."""
        return f"{len(self.changed)} of {self.compared} values"


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
    """Return how much has changed where the recorded id seems to be another entity now, else None.

    None also where it is the entity that the manifest declares now (`declared`). `shown` has its secrets in
    clear, the record has digests under `salt`. Asked by the plan, and again by the look before each write.
    """
    if declared is not None and shared_identity(declared, shown, keys):
        return None
    if shared_identity(record.shown, shown, keys):
        return None  # before anything is digested: mostly nothing has changed
    now = digest_for_store(address.kind, shown, salt)
    return judge_reuse(address.kind, record.shown, now, keys=keys, known=known)


def describe_reuse(address: Address, remote_id: str, found: Reuse, keys: tuple[Key, ...]) -> tuple[str, str]:
    """Return what is said of an id that may be somebody else now, and what a person can do about it."""
    by = " or ".join(" and ".join(key) for key in keys)
    what = f"may be another entity now (id {remote_id}): it has another {by}, and {found} changed"
    step = (
        f"if it is still the same entity, apply with --confirm-same {address}; if not, remove its entry "
        f"from the manifest and run reconciler forget {address}"
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
    if not _has_another_identity(recorded, shown, keys):
        return None
    row = KINDS[kind]
    compared = [
        path
        for path, value in recorded.items()
        if value != ""
        and path not in row.write_only
        and path not in row.folds
        and row.type_of(path).distinguishes
        and (known is None or path in known)
    ]
    changed = tuple(
        path for path in compared if not reads_back_as(kind, path, recorded[path], shown.get(path, ""))
    )
    most = len(changed) > _ordinary_max and 2 * len(changed) > len(compared)
    return Reuse(changed, len(compared)) if most else None


def _has_another_identity(recorded: Fields, shown: Fields, keys: tuple[Key, ...]) -> bool:
    """Whether an identity is there in both, and none of them is the same."""
    both = [key for key in keys if all(recorded.get(path) and shown.get(path) for path in key)]
    return bool(both) and not shared_identity(recorded, shown, keys)
