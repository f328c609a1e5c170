"""Why an address is written or left alone as a whole: what a plan says of it, sentence by sentence.

Not here: single fields (explaining.py), and how a sentence looks (report/explain.py).
"""

from collections.abc import Iterator

from reconciler.core.planning.select import Selection
from reconciler.model.address import Address
from reconciler.model.kinds import child_kinds
from reconciler.model.plans import Create, DecidingFact, Delete, Plan, RecordChange, Update, Verdict
from reconciler.model.snapshots import Desired, Scope


def reasons(
    address: Address,
    desired: Desired,
    plan: Plan | None,
    verdict: Verdict,
    *,
    selection: Selection,
    read: bool,
    outside: bool,
) -> Iterator[DecidingFact]:
    """Yield what decides about an address, the weightiest first. Never nothing."""
    entity = desired.entities.get(address)
    if not selection.selects(address, entity.controls.tags if entity else {}):
        yield DecidingFact("not selected", "--only or --except leaves it out; selected, it would be so:")
    if place := desired.removed.get(address) or desired.removed.get(address.above or address):
        what = "it leaves the manifests, and what is live stays."
        yield DecidingFact("removed", what, "", str(place))
    if outside:
        yield _outside(address, desired)
    elif plan is None:
        what = "the service was not asked: what is live, and what an apply would do, is not known."
        yield DecidingFact("not read", what, f"reconciler explain {address}")
    if plan is None or not read:
        return
    told = [*_changes(address, plan), *_kept(address, plan), *_left(address, plan, desired)]
    yield from told
    if told and any(one.word in ("create", "update", "delete") for one in told):
        for reason in verdict.reasons:
            yield DecidingFact("refused", reason.what, reason.next)
    if not told and not outside:
        yield DecidingFact("unchanged", "it is as declared; an apply writes nothing.")


def _outside(address: Address, desired: Desired) -> DecidingFact:
    above = address.above
    contact = desired.entities.get(above) if above else None
    if contact is not None:
        plurals = " or ".join(child.plural for child in child_kinds(contact.address.kind))
        what = f"the entry of {contact.address} has no `{plurals}:`, so nothing of it is changed."
        step = f"list it there, or write `{plurals}: {{}}` there to delete it"
        return DecidingFact("not in scope", what, step, str(contact.place))
    scope = Scope.of(above or address)
    what = f"no manifest has {scope}, so nothing there is read or changed."
    step = f"declare it; or reconciler forget {address}, so that it is ours no longer"
    return DecidingFact("not in scope", what, step)


def _changes(address: Address, plan: Plan) -> Iterator[DecidingFact]:
    for change in plan.changes:
        if change.address.base != address:
            goes = isinstance(change, Delete) and str(address) in change.cascades
            if goes:
                yield DecidingFact(
                    "delete", f"it belongs to {change.address}, which is deleted, and goes with it."
                )
            continue
        match change:
            case Create():
                again = change.cause == "gone"
                what = "it was recorded and no longer exists; an apply creates it again."
                yield DecidingFact("create", what if again else "it does not exist yet; an apply creates it.")
            case Update():
                yield _update(change)
            case Delete():
                yield _delete(change)


def _update(change: Update) -> DecidingFact:
    number = len(change.fields)
    fields = "1 field" if number == 1 else f"{number:,} fields"
    what = f"an apply writes {fields}."
    if change.adopts:
        what = f"found by {change.adopts}, and it becomes ours; {what}"
    return DecidingFact("update", what)


def _delete(change: Delete) -> DecidingFact:
    if change.cause == "duplicate":
        what = f"{change.remote_id} is live beside {change.keeps} and made by us; an apply deletes it."
        return DecidingFact("delete", what)
    what = "it is ours and no manifest declares it any more; an apply deletes it."
    if change.cascades:
        what += f" With it go: {', '.join(change.cascades)}."
    step = "declare it again; or reconciler forget, or `removed:`, so that it stays and is ours no longer"
    return DecidingFact("delete", what, step)


def _kept(address: Address, plan: Plan) -> Iterator[DecidingFact]:
    for adoption in plan.adoptions:
        if adoption.address == address:
            by = f" by {adoption.by}" if adoption.by else ""
            yield DecidingFact(
                "adopt", f"it is live as declared and was found{by}; an apply only records it."
            )
    for old, new in plan.renames.items():
        if address in (old, new):
            yield DecidingFact("rename", f"recorded as {old}; an apply records it as {new}.")
    if address in plan.gone:
        yield DecidingFact("forget", "it no longer exists and is no longer declared; an apply forgets it.")
    yield from (_record(one) for one in plan.records if one.address == address)


def _record(one: RecordChange) -> DecidingFact:
    match one.what:
        case "protected":
            return DecidingFact("record", "it is protected from now on; an apply records that.")
        case "no longer protected":
            return DecidingFact("record", "it is no longer protected; an apply records that.")
        case "fields":
            return DecidingFact(
                "record", f"declared and live alike; an apply records {', '.join(one.fields)}."
            )
        case "forgotten":
            return DecidingFact("forget", "an apply forgets it; what is live stays.")


def _left(address: Address, plan: Plan, desired: Desired) -> Iterator[DecidingFact]:
    for skip in plan.skips:
        if skip.address == address:
            yield DecidingFact(skip.reason, skip.what, skip.next)
    for notice in plan.notices:
        if notice.subject == address:
            yield DecidingFact("notice", notice.what, notice.next, notice.place)
    scope = Scope.of(address.above or address)
    unread = any(one.scope == scope and not one.complete for one in plan.reads)
    if unread:
        yield DecidingFact(
            "incomplete", f"{scope} were not read completely: nothing there is deleted or forgotten."
        )
    contact = desired.entities.get(address.above) if address.above else None
    if contact is not None and any(one.address == contact.address for one in plan.skips):
        what = f"it belongs to {contact.address}, which is left alone."
        yield DecidingFact("contact", what, f"reconciler explain {contact.address}")
