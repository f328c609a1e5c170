"""A plan that only adopts (`reconciler adopt`): what is declared, live and not ours becomes ours as it is.

Nothing is written to the service. What differs is left for an apply, and so is every other change.
"""

from collections import Counter

from msgspec import structs

from reconciler.core.planning.parts import ScopePlan
from reconciler.model.plans import SECRET_NEEDED, Adoption, Update, action_of


def only_adoptions(total: ScopePlan) -> ScopePlan:
    """Return the parts without what is not an adoption; an update that adopts becomes one, unwritten."""
    differing = (one for one in total.changes if isinstance(one, Update) and one.adopts)
    adopted = (Adoption(one.address, one.remote_id, one.adopts, one.parent_id) for one in differing)
    return structs.replace(
        total,
        changes=(),
        adoptions=(*total.adoptions, *adopted),
        # What a create lacks is said by the plan that would make it.
        skips=tuple(one for one in total.skips if one.reason not in SECRET_NEEDED),
        gone=(),
        records=(),
        renames=(),
    )


def postponed(total: ScopePlan) -> dict[str, int]:
    """Return how many changes are left for an apply, by action; those that an adoption does not make too."""
    return dict(sorted(Counter(map(action_of, total.changes)).items()))
