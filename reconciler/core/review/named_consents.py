"""Consent in manifests (`consent:`) in a plan: what of it is in force and of use, and what should be removed.

    consents of the manifests, a plan --match_consents--> the plan that carries those it uses
                                                          a notice for each that has no use in it

Consent lifts reasons not to carry a plan out: the guard does not count what is named, and `sync` does not ask
for it. The changes of the plan are the same with it and without: what is protected, ambiguous or declared is
not deleted because a line names it.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import UNSET, Struct, structs

from reconciler.core.desired.consents import parse_consent_end
from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.planning.select import Selection
from reconciler.core.text import parse_instant
from reconciler.model.address import Address
from reconciler.model.documents import ConsentAction, NamedConsent
from reconciler.model.notices import Notice
from reconciler.model.plans import Change, Delete, Plan, Update
from reconciler.model.snapshots import DeletedEntity, Desired

_REMOVE = "remove the line"


class _Known(Struct, frozen=True):
    """What a plan is about, and what is known of the addresses that it does not change."""

    plan: Plan
    now: datetime | None
    declared: Container[Address]
    deleted: Mapping[Address, DeletedEntity]
    used: frozenset[tuple[Address, ConsentAction]]
    skipped: frozenset[Address]


def match_consents(
    plan: Plan,
    consents: Collection[NamedConsent],
    *,
    declared: Container[Address],
    deleted: Iterable[DeletedEntity],
) -> Plan:
    """Return the plan with the consents that it uses, and a notice for each of the others that it is about.

    Whether one has ended is judged at the moment of the plan. `declared` is everything that manifests
    declare, `deleted` what runs deleted lately. Without consents the plan is returned as it is.
    """
    if not consents or plan.options.verb != "apply":
        return plan
    selection = Selection(plan.options.only, plan.options.excluded)
    known = _Known(
        plan,
        parse_instant(plan.created_at),
        declared,
        {one.address: one for one in deleted},
        frozenset(_list_consentable(plan)),
        frozenset(one.address for one in plan.skips),
    )
    # What is not declared has no tags, so that a tag selects no consent, as it selects no delete (X1).
    about = [one for one in consents if selection.selects(one.address, {})]
    used = tuple(one for one in about if (one.address, one.action) in known.used and not _is_over(known, one))
    said = (_find_notice(known, one) for one in about if one not in used)
    notices = tuple(one for one in said if one is not None)
    made = structs.replace(plan, consented=used or UNSET, notices=(*plan.notices, *notices))
    return structs.replace(made, fingerprint=fingerprint(made)) if used else made


def _list_consentable(plan: Plan) -> Iterator[tuple[Address, ConsentAction]]:
    """Yield what somebody may consent to by name; of a contact's delete, its devices too."""
    yield from ((one.address, "update") for one in plan.records if one.what == "no longer protected")
    for change in plan.changes:
        if isinstance(change, Delete):
            yield change.address, "delete"
            yield from ((Address(one), "delete") for one in change.cascades)
        if isinstance(change, Update):
            yield change.address, "update"
            if any(field.cause == "reactivated" for field in change.fields):
                yield change.address, "reactivate"


def _is_over(known: _Known, one: NamedConsent) -> bool:
    end = parse_consent_end(one.until)
    return end is None or known.now is None or known.now >= end


def _find_notice(known: _Known, one: NamedConsent) -> Notice | None:
    """Return why a consent is of no use in a plan; None where that is said already, of its address."""
    front, over = f"consent to {one.action} it", _is_over(known, one)
    if over and (one.address, one.action) in known.used:
        what = f"{front} ended ({one.until}), and this plan would {one.action} it."
        return _make_notice(one, what, "set a later `until` if it is still meant; else remove the line")
    if one.address in known.skipped:
        return None
    if one.action == "delete" and one.address in known.declared:
        return _still_declared(one)
    gone = known.deleted.get(one.address)
    if one.action == "delete" and gone is not None:
        what = f"{front} is used up: run {gone.run} deleted it on {gone.deleted_at[:10]}."
        return _make_notice(one, what, _REMOVE)
    if over:
        return _make_notice(one, f"{front} ended ({one.until}).", _REMOVE)
    what = f"{front} matches nothing: this plan would not {one.action} it."
    return _make_notice(one, what, f"{_REMOVE}, or correct the address")


def list_idle_consents(desired: Desired) -> Iterator[Notice]:
    """Yield a notice for each consent to delete what is still declared: what can be said without a plan."""
    for one in desired.consents:
        if one.action == "delete" and one.address in desired.entities:
            yield _still_declared(one)


def _still_declared(one: NamedConsent) -> Notice:
    what = "consent to delete it has no effect: it is still declared."
    return _make_notice(one, what, "remove its entry if it should go; else remove the line")


def _make_notice(one: NamedConsent, what: str, step: str) -> Notice:
    return Notice("consent", str(one.address), what, step, one.place)


def list_consented(plan: Plan, action: ConsentAction) -> frozenset[Address]:
    """Return the addresses of a plan for which its manifests consent to this action."""
    return frozenset(one.address for one in plan.named_consents if one.action == action)


def without_consented(plan: Plan) -> Plan:
    """Return the plan without what its manifests consent to by name: what is left to ask people about.

    Consent to an update includes that protection ends, and does not include that a device is enabled again,
    nor that what others changed is set back. It is no plan to carry out: its fingerprint is that of the
    whole.
    """
    if not plan.named_consents:
        return plan
    updates = list_consented(plan, "update")
    records = tuple(
        one for one in plan.records if one.what != "no longer protected" or one.address not in updates
    )
    return structs.replace(plan, changes=tuple(_list_unagreed(plan, updates)), records=records)


_NOT_MEANT_BY_UPDATE = frozenset({"drifted", "both", "reactivated"})


def _list_unagreed(plan: Plan, updates: Container[Address]) -> Iterator[Change]:
    """Yield the changes of a plan with what of them nobody consents to by name."""
    deletes, revived = list_consented(plan, "delete"), list_consented(plan, "reactivate")
    for change in plan.changes:
        if isinstance(change, Update):
            fields = tuple(
                one
                for one in change.fields
                if not (one.cause == "reactivated" and change.address in revived)
                and not (one.cause not in _NOT_MEANT_BY_UPDATE and change.address in updates)
            )
            if fields:
                yield structs.replace(change, fields=fields)
        elif not (isinstance(change, Delete) and change.address in deletes):
            yield change
