"""What we deleted and is live again: a backup of the service was restored, or somebody made it anew.

It is nobody's: neither ours, for its record went with it, nor a stranger. It is never deleted for that.
"""

from collections.abc import Iterable, Iterator

from reconciler.model.notices import Notice
from reconciler.model.plans import Create, Plan
from reconciler.model.snapshots import DeletedEntity, Live, Recorded, Scope


def restored(
    plan: Plan, deleted: Iterable[DeletedEntity], live: Live, recorded: Recorded
) -> Iterator[Notice]:
    """Yield a notice for each that a list shows again, and that this plan neither has nor takes as ours."""
    ours = {record.remote_id for record in recorded.entities.values()}
    ours |= {one.remote_id for one in plan.adoptions}
    ours |= {one.remote_id for one in plan.changes if not isinstance(one, Create)}
    last: dict[tuple[Scope, str], DeletedEntity] = {}  # who was deleted twice is named once
    for one in deleted:
        scope = Scope.of(one.address)
        last |= {(scope, now): one for now in live.again.get(scope, {}).get(one.remote_id, ())}
    for (_, now), one in last.items():
        if now not in ours:
            when, known = one.deleted_at[:10], f"id {now}"
            if now != one.remote_id:
                known += f", was {one.remote_id}; the same identity"
            yield Notice(
                "restored",
                str(one.address),
                f"deleted by run {one.run} on {when}, and there again ({known}): from a backup, perhaps.",
                "declare it again and apply: it is adopted, and deleted when it leaves the manifest; or "
                "delete it at the service",
            )
