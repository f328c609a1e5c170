"""What is recorded as ours and no manifest decides about any more: left as it is, and said (rule S1).

A kind that left the manifests of a workspace is counted. A device whose contact is still declared, but
without `devices:`, is named: nobody sees from the manifest that it still gets pushes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import structs

from reconciler.core.planning.leaving import forgotten
from reconciler.core.planning.parts import ScopePlan
from reconciler.core.planning.scopes import Group, Shared
from reconciler.model.address import Address
from reconciler.model.notices import Notice
from reconciler.model.plans import Delete
from reconciler.model.snapshots import Desired, Entity, Recorded, RecordedEntity, Scope


def outside(across: Shared, desired: Desired, recorded: Recorded) -> dict[str, int]:
    """Count, by scope, what is recorded where no manifest speaks of its kind; devices go by contacts.

    What leaves is not among it: that is said of each by itself (leaving.py).
    """
    unread = (one for one in recorded.entities if Scope.of(one.above or one) not in desired.scopes)
    return dict(Counter(str(Scope.of(one)) for one in unread if not across.lets_go(one)))


def unlisted_devices(across: Shared, contact: Entity, records: Mapping[Address, RecordedEntity]) -> ScopePlan:
    """Return a notice for each recorded device of a contact without `devices:` that does not leave."""
    why = f"the entry of {contact.address} has no `devices:`."
    plan = _left(across, records, contact.address, why)
    placed = tuple(structs.replace(one, place=str(contact.place)) for one in plan.notices)
    return structs.replace(plan, notices=placed)


def stray_devices(across: Shared, group: Group, undeclared: Iterable[ScopePlan]) -> Iterator[ScopePlan]:
    """Yield a notice for each recorded device of a contact that is neither declared nor recorded.

    Not where the contact is deleted for its mark, which `undeclared` says: its devices go with it.
    """
    leaving = {one.address for plan in undeclared for one in plan.changes if isinstance(one, Delete)}
    for contact, records in group.below.records.items():
        if contact in group.entities or contact in group.records or contact in leaving:
            continue
        why = f"{contact} is neither declared nor recorded."
        yield _left(across, records, contact, why)


def _left(
    across: Shared, records: Mapping[Address, RecordedEntity], contact: Address | None, why: str
) -> ScopePlan:
    staying = {one: record for one, record in records.items() if not across.lets_go(one)}
    notices = tuple(_left_behind(across, *one, contact, why) for one in staying.items())
    return ScopePlan(notices=notices, records=forgotten(records.keys() - staying.keys()))


def _left_behind(
    across: Shared, address: Address, record: RecordedEntity, contact: Address | None, why: str
) -> Notice:
    what = f"recorded as ours, and left as it is: {why}"
    if other := across.tokens.get(record.sent.get("pushToken", "")):
        what += f" {other} has the same push token, so pushes to either contact reach one phone."
    step = f"list it under `devices:` of {contact}, or write `devices: {{}}` there to delete it"
    return Notice("left behind", str(address), what, step)
