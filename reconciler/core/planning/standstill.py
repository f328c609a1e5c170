"""A plan that says nothing, again: where all that it followed from is as it was, it is the same one.

Belongs here: which plans are such, and the same plan at another moment. Not here: whether all is as it was
(engine/plan_cache.py), and of a list of the service whether it is (core/feed.py).
"""

from collections.abc import Iterable

from msgspec import structs

from reconciler.core.planning.fingerprint import fingerprint, manifest_digest
from reconciler.core.planning.scopes import Moment
from reconciler.model.plans import Options, Plan
from reconciler.model.snapshots import Desired, Read

# What every plan tells: of what, from what, when, how it was read, and the counts. All else says something, a
# field that plans get later too; a directory that answered is such, for nobody knows that it would again.
_ALWAYS_TOLD = frozenset(
    (
        *(
            "target",
            "options",
            "manifest_digest",
            "salt",
            "created_at",
            "expires_at",
            "fingerprint",
            "version",
        ),
        *("reads", "unchanged", "outside", "unmanaged", "owned"),
    )
)


def says_nothing(plan: Plan) -> bool:
    """Whether a plan changes nothing, keeps nothing and names nobody: it counts, and tells how it was read.

    Only of the options of a run without any: what is not selected has no part in the counts.
    """
    said = (getattr(plan, name) for name in plan.__struct_fields__ if name not in _ALWAYS_TOLD)
    return not any(said) and plan.options == Options()


def once_more(plan: Plan, desired: Desired, moment: Moment) -> Plan:
    """Return what `make_plan` makes at this moment of that which `plan` was made of.

    `plan` says nothing, and each of its lists is as it was by the first page of its changes.
    """
    again = structs.replace(
        plan,
        manifest_digest=manifest_digest(desired, moment.salt),
        salt=moment.salt,
        reads=tuple(_reads(plan.reads)),
        created_at=moment.now,
        expires_at=moment.expires,
        fingerprint="",
    )
    return structs.replace(again, fingerprint=fingerprint(again))


def _reads(before: Iterable[Read]) -> Iterable[Read]:
    return (structs.replace(one, calls=1, avoided=one.calls + one.avoided - 1) for one in before)
