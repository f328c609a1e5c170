"""Is an entity gone? What a look at its id and the list that it stands in say together, as a table.

A 404 is one witness, and may be a fault of the service: whoever is taken for gone is forgotten, and reachable
and nobody's from then on. So the list is asked too, and evidence that she is there wins.
Source: docs/planning.md, M8.
"""

from collections.abc import Mapping
from typing import Literal

# What a GET of the id says: 404 is `absent`. `elsewhere`: it shows another entity, redirects, or says 410.
MissedLook = Literal["absent", "elsewhere"]
LookSays = Literal["shown"] | MissedLook

# What the list says, read as a whole or by every identity that is known of the entity; of a device, the
# document of its contact. `unread`: not as a whole, or no good answer; `absent`: a 404 of the list itself.
ListSays = Literal["shows", "lacks", "unread", "absent"]

Verdict = Literal["there", "gone", "in doubt"]

# look, list -> after one look; after two looks that lie a settle window apart and said the same
ABSENCE: Mapping[tuple[LookSays, ListSays], tuple[Verdict, Verdict]] = {
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


def judge_absence(look: LookSays, listed: ListSays, *, twice: bool = False) -> Verdict:
    """Return whether an entity is there, gone or in doubt.

    `twice`: an earlier look, at least a settle window before this one, said the same.
    """
    return ABSENCE[look, listed][twice]


# Looks of one read that all end elsewhere: from so many on, the address is wrong and not the entities.
_wrong_looks_min = 3


def is_wrong_service(*, right: int, wrong: int) -> bool:
    """Whether all looks of a read showed another entity than was asked for, and they were several."""
    return right == 0 and wrong >= _wrong_looks_min
