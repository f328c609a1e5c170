"""AuditEntry: one line of the history, which is only ever added to.

    entry n:  hash = SHA-256(hash of n-1, everything that entry n says)

An edited, removed or moved entry breaks the chain behind it; a cut end is found against a head that
was kept elsewhere. People's data is not in it: an address stands as a keyed hash.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Event = Literal[
    "began",  # a run took the lock and is about to write
    "changed",  # one change of its plan has ended
    "settled",  # what an earlier run left in doubt is known now
    "ended",  # the run is over
    "unlocked",  # somebody took the lock away by force
    "renamed",  # a workspace has another alias than before; its records go with it
    "moved",  # records of another address of the service became those of this one, or the other way round
]


class AuditEntry(Struct, frozen=True, omit_defaults=True):
    """Who did what, when, from which commit, and how it ended. `at` is ISO 8601 in UTC.

    `entity` is a keyed hash of the address (`Store.entity_hash`), `counts` says how many changes ended in
    which way. `before` is the former alias of a workspace, or the address that records came from or went to.
    `number` counts from 1 within one origin and stack, without a gap.
    """

    number: int
    at: str
    event: Event
    run: str
    who: str = ""
    command: str = ""
    commit: str = ""
    trace_id: str = ""
    program: str = ""
    fingerprint: str = ""
    entity: str = ""
    kind: str = ""
    workspace: str = ""
    before: str = ""
    action: str = ""
    outcome: str = ""
    counts: Mapping[str, int] = {}
    previous: str = ""
    hash: str = ""


class Head(Struct, frozen=True):
    """The end of the chain at some moment: kept elsewhere, it proves that nothing was cut off since."""

    number: int
    hash: str

    def __str__(self) -> str:
        """`17:9f3c...`, as it is printed and given back."""
        return f"{self.number}:{self.hash}"
