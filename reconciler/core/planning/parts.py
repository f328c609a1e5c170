"""What one part of a plan holds, and the sum of several: a plan is the sum of the plans of its parts.

    (a + b) + c = a + (b + c),  nothing + a = a,  and `finished` sorts, so that no order of parts shows

So a part may be planned anywhere, knowing no other. Not here: what goes into a part (core/planning/plan.py).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, structs

from reconciler.model.address import Address
from reconciler.model.notices import Notice
from reconciler.model.plans import Adoption, Change, RecordChange, Skip

Counts = Mapping[str, int]  # by scope as text; a 0 says that it was counted


class ScopePlan(Struct, frozen=True, gc=False):
    """The plan of one scope, or of a part of it; the fields are those of Plan, in any order.

    `owned` are the entities that are ours though nothing is recorded of them. `contested` are groups of
    declared addresses that are one live entity (rule M4): with any of them there is no plan.
    """

    changes: tuple[Change, ...] = ()
    adoptions: tuple[Adoption, ...] = ()
    skips: tuple[Skip, ...] = ()
    gone: tuple[Address, ...] = ()
    records: tuple[RecordChange, ...] = ()
    renames: tuple[tuple[Address, Address], ...] = ()
    notices: tuple[Notice, ...] = ()
    contested: tuple[tuple[Address, ...], ...] = ()
    unchanged: Counts = {}
    outside: Counts = {}
    unmanaged: Counts = {}
    owned: Counts = {}


NOTHING = ScopePlan()
# By the types of the fields, so that one that is added later cannot be left out of the sum.
_LISTS = tuple(name for name, value in structs.asdict(NOTHING).items() if isinstance(value, tuple))
_COUNTS = tuple(name for name in structs.asdict(NOTHING) if name not in _LISTS)


def merge(parts: Iterable[ScopePlan]) -> ScopePlan:
    """Return the sum of the parts: what they list one after the other, and what they count added up."""
    lists: dict[str, list[Any]] = {name: [] for name in _LISTS}
    counts: dict[str, dict[str, int]] = {name: {} for name in _COUNTS}
    for part in parts:
        for name, values in lists.items():
            values.extend(getattr(part, name))
        # No Counter: its `+` drops every 0, and a 0 says that a scope was counted.
        for name, total in counts.items():
            for scope, number in getattr(part, name).items():
                total[scope] = total.get(scope, 0) + number
    fields: dict[str, Any] = {**{name: tuple(values) for name, values in lists.items()}, **counts}
    return ScopePlan(**fields)
