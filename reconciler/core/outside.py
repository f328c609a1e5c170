"""What is recorded as ours and no manifest decides about any more: left as it is, and said (rule S1).

A kind that left the manifests of a workspace is counted. A device whose contact is still declared, but
without `devices:`, is named: nobody sees from the manifest that it still gets pushes.
"""

from collections import Counter
from collections.abc import Iterator

from reconciler.core.draft import Draft
from reconciler.core.normalize import identity_key, mask
from reconciler.model.address import Address
from reconciler.model.changes import Delete
from reconciler.model.notices import Notice
from reconciler.model.snapshots import RecordedEntity, Scope


def outside(draft: Draft) -> dict[str, int]:
    """Count, by scope, what is recorded where no manifest speaks of its kind; devices go by contacts."""
    scopes = [Scope.of(address) for address in draft.recorded.entities if not _in_scope(draft, address)]
    return dict(sorted(Counter(map(str, scopes)).items()))


def _in_scope(draft: Draft, address: Address) -> bool:
    return Scope.of(address.above or address) in draft.desired.scopes


def left_behind(draft: Draft) -> Iterator[Notice]:
    """Yield a notice for each recorded device that stays though its contact's entry does not list it.

    Renames have to be known: a device goes with its contact to the new name.
    """
    declared_tokens = _declared_tokens(draft)
    leaving = {one.address for one in draft.changes if isinstance(one, Delete)}.union(draft.gone)
    for was, record in draft.recorded.entities.items():
        address = draft.renames.get(was, was)
        contact = address.above
        if contact is None or contact in leaving or address in leaving or not _in_scope(draft, address):
            continue
        entity = draft.desired.entities.get(contact)
        if entity is not None and entity.devices_in_scope:
            continue
        if entity is None and draft.records.get(("contact", address.workspace), {}).get(contact):
            continue  # whatever becomes of the contact, its devices share it
        yield Notice(
            "left behind",
            str(address),
            _stays(contact, declared=entity is not None) + _elsewhere(record, declared_tokens),
            f"list it under `devices:` of {contact}, or write `devices: {{}}` there to delete it",
            str(entity.place) if entity else "",
        )


def _stays(contact: Address, *, declared: bool) -> str:
    if declared:
        return f"recorded as ours, and left as it is: the entry of {contact} has no `devices:`."
    return f"recorded as ours, and left as it is: {contact} is neither declared nor recorded."


def _elsewhere(record: RecordedEntity, tokens: dict[object, Address]) -> str:
    other = tokens.get(record.sent.get("pushToken", ""))
    return f" {other} has the same push token, so pushes to either contact reach one phone." if other else ""


def _declared_tokens(draft: Draft) -> dict[object, Address]:
    """Return the declared devices by the masks that a record would hold of their push tokens."""
    found: dict[object, Address] = {}
    for address in sorted(draft.desired.entities):
        token = draft.desired.entities[address].fields.get("pushToken", "")
        if address.kind == "device" and token:
            found.setdefault(mask(identity_key("pushToken", token), draft.salts.store), address)
    return found
