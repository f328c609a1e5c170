"""What is recorded as ours and no manifest decides about any more: left as it is, and said (rule S1).

A kind that left the manifests of a workspace is counted. A device whose contact is still declared, but
without `devices:`, is named: nobody sees from the manifest that it still gets pushes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import structs

from reconciler.core.parts import ScopePlan
from reconciler.core.scopes import Group, Shared
from reconciler.model.address import Address
from reconciler.model.entities import Entity
from reconciler.model.notices import Notice
from reconciler.model.snapshots import Desired, Recorded, RecordedEntity, Scope


def outside(desired: Desired, recorded: Recorded) -> dict[str, int]:
    """Count, by scope, what is recorded where no manifest speaks of its kind; devices go by contacts."""
    scopes = (Scope.of(one) for one in recorded.entities if Scope.of(one.above or one) not in desired.scopes)
    return dict(Counter(map(str, scopes)))


def unlisted_devices(across: Shared, contact: Entity, records: Mapping[Address, RecordedEntity]) -> ScopePlan:
    """Return a notice for each recorded device of a contact whose entry has no `devices:`."""
    why = f"the entry of {contact.address} has no `devices:`."
    notices = (_left_behind(across, *one, contact.address, why) for one in records.items())
    return ScopePlan(notices=tuple(structs.replace(one, place=str(contact.place)) for one in notices))


def stray_devices(across: Shared, group: Group, undeclared: Iterable[ScopePlan]) -> Iterator[ScopePlan]:
    """Yield a notice for each recorded device of a contact that is neither declared nor recorded.

    Not where the contact is deleted for its mark, which `undeclared` says: its devices go with it.
    """
    leaving = {one.address for plan in undeclared for one in plan.changes}
    for contact, records in group.below.records.items():
        if contact in group.entities or contact in group.records or contact in leaving:
            continue
        why = f"{contact} is neither declared nor recorded."
        yield ScopePlan(notices=tuple(_left_behind(across, *one, contact, why) for one in records.items()))


def _left_behind(
    across: Shared, address: Address, record: RecordedEntity, contact: Address | None, why: str
) -> Notice:
    what = f"recorded as ours, and left as it is: {why}"
    if other := across.tokens.get(record.sent.get("pushToken", "")):
        what += f" {other} has the same push token, so pushes to either contact reach one phone."
    step = f"list it under `devices:` of {contact}, or write `devices: {{}}` there to delete it"
    return Notice("left behind", str(address), what, step)
