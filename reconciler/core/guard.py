"""Is the plan safe? Thresholds, incomplete reads, and the consent that lifts them.

Consent is a number for one run, never a switch: whoever allows 41 deletes has seen that there are 41.
"""

from collections.abc import Iterator

from msgspec import Struct

from reconciler.model.changes import Change, Create, Delete, Update, action
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Plan, Reason, Verdict
from reconciler.model.settings import GuardLimits
from reconciler.model.snapshots import UNKNOWN, Scope

Missing = frozenset[tuple[str, str]]  # kind and action

_SHOWN = 20  # addresses in one reason; the plan shows them all
_FEW = 3  # deletes of one kind in one workspace that a percentage does not forbid


class Consent(Struct, frozen=True):
    """How many deletes, re-creates and updates a person has agreed to; 0 where nothing was said."""

    deletes: int = 0
    creates: int = 0
    updates: int = 0


def guard(plan: Plan, limits: GuardLimits, consent: Consent, missing: Missing = frozenset()) -> Verdict:
    """Return why the plan may not be carried out; no reasons: it may. Source: planning rules C1, G1 to G6.

    `missing` are the kinds and actions that this deployment does not offer.
    """
    reasons = [*_not_offered(plan, missing), *_incomplete(plan)]
    if plan.count("delete") > consent.deletes:
        reasons += _deletes(plan, limits)
    if sum(1 for change in plan.changes if _recreates(change)) > consent.creates:
        reasons += _creates(plan, limits)
    if plan.count("update") > consent.updates:
        reasons += _updates(plan, limits)
    return Verdict(tuple(reasons))


def _recreates(change: Change) -> bool:
    return isinstance(change, Create) and change.cause == "gone"


def _scopes(plan: Plan) -> list[Scope]:
    return sorted({Scope.of(change.address) for change in plan.changes})


def _not_offered(plan: Plan, missing: Missing) -> Iterator[Reason]:
    """Say which changes the deployment has no call for (rule C1). No consent lifts it."""
    for scope in _scopes(plan):
        refused = [one for one in plan.scoped(scope) if (scope.kind, action(one)) in missing]
        for word in sorted({action(one) for one in refused}):
            addresses = [str(one.address) for one in refused if action(one) == word]
            named = ", ".join(addresses[:_SHOWN])
            more = f" and {len(addresses) - _SHOWN} more" if len(addresses) > _SHOWN else ""
            yield Reason(
                "C1",
                str(scope),
                len(addresses),
                0,
                f"the plan would {word} {len(addresses)} {scope}, and the service's profile says that this "
                f"deployment does not {word} {scope.kind}s: {named}{more}.",
                f"leave them out with --except kind:{scope.kind}, or correct capabilities in service.profile",
            )


def _incomplete(plan: Plan) -> Iterator[Reason]:
    unread = {read.scope for read in plan.reads if not read.complete}
    # Devices are read with their contacts.
    unread |= {Scope("device", scope.workspace) for scope in unread if scope.kind == "contact"}
    for scope in sorted(unread):
        count = sum(1 for change in plan.scoped(scope) if isinstance(change, Delete))
        if count:
            yield Reason(
                "G4",
                str(scope),
                count,
                0,
                f"the plan deletes {count} {scope}, and the read of that list was not complete.",
                "plan again; if it stays so, the service's list changes while it is read, or is cut short",
            )


def _deletes(plan: Plan, limits: GuardLimits) -> Iterator[Reason]:
    total = plan.count("delete")
    check = "check that nothing is missing from the manifests"
    flag = f"{check}; if this is meant, apply with --allow-deletes {total}"
    if total > limits.deletes_max:
        what = f"the plan deletes {total} entities (the limit is {limits.deletes_max})."
        yield Reason("G1", "", total, limits.deletes_max, what, flag)
    yield from _adopted_deletes(plan, limits, flag)
    yield from _deletes_in_use(plan, flag)
    for scope in _scopes(plan):
        count = sum(1 for change in plan.scoped(scope) if isinstance(change, Delete))
        owned = plan.owned.get(str(scope), 0)
        gone = sum(1 for address in plan.gone if Scope.of(address) == scope)
        where = f"the plan deletes {_of(count, owned, scope)}"
        if count and owned > 1 and count + gone >= owned:
            yield Reason("G1", str(scope), count, owned - gone - 1, f"{where}: none would be left.", flag)
        elif count > _FEW and _over(count, owned, limits.deletes_max_percent):
            limit = owned * limits.deletes_max_percent // 100
            what = f"{where} ({_percent(count, owned)}; the limit is {limits.deletes_max_percent} %)."
            yield Reason("G1", str(scope), count, limit, what, flag)


def _adopted_deletes(plan: Plan, limits: GuardLimits, flag: str) -> Iterator[Reason]:
    """Refuse to delete many that existed before us, or of which nobody knows whether they did."""
    older = [one for one in plan.changes if isinstance(one, Delete) and one.adopted]
    if len(older) > limits.adopted_deletes_max:
        named = ", ".join(f"{one.address} ({_origin(one)})" for one in older[:_SHOWN])
        named += f" and {len(older) - _SHOWN} more" if len(older) > _SHOWN else ""
        what = (
            f"the plan deletes {len(older)} entities that existed before us, or may have "
            f"(the limit is {limits.adopted_deletes_max}): {named}."
        )
        yield Reason("G5", "", len(older), limits.adopted_deletes_max, what, flag)


def _deletes_in_use(plan: Plan, flag: str) -> Iterator[Reason]:
    """Refuse any delete of a kind that others may be using, which nobody can see from here."""
    for scope in _scopes(plan):
        doomed = [one for one in plan.scoped(scope) if isinstance(one, Delete)]
        if doomed and (lost := KINDS[scope.kind].in_use):
            named = ", ".join(str(one.address) for one in doomed[:_SHOWN])
            named += f" and {len(doomed) - _SHOWN} more" if len(doomed) > _SHOWN else ""
            what = f"the plan deletes {len(doomed)} {scope} ({named}): {lost}."
            yield Reason("G6", str(scope), len(doomed), 0, what, flag)


def _origin(change: Delete) -> str:
    """Say since when an entity is ours that we did not make, in the words of the plan."""
    if change.adopted == UNKNOWN:
        return "whether it existed before us is not known"
    return f"adopted on {change.adopted[:10]}"


def _creates(plan: Plan, limits: GuardLimits) -> Iterator[Reason]:
    total = sum(1 for change in plan.changes if _recreates(change))
    step = f"look whether they are really gone; if this is meant, apply with --allow-creates {total}"
    if total > limits.creates_max:
        what = (
            f"{total} entities that we recorded seem to be gone and would be created again "
            f"(the limit is {limits.creates_max})."
        )
        yield Reason("G2", "", total, limits.creates_max, what, step)
    for scope in _scopes(plan):
        count = sum(1 for change in plan.scoped(scope) if _recreates(change))
        owned = plan.owned.get(str(scope), 0)
        if _over(count, owned, limits.creates_max_percent):
            limit = owned * limits.creates_max_percent // 100
            what = (
                f"{_of(count, owned, scope)} that we recorded seem to be gone and would be created again "
                f"({_percent(count, owned)}; the limit is {limits.creates_max_percent} %)."
            )
            yield Reason("G2", str(scope), count, limit, what, step)


def _updates(plan: Plan, limits: GuardLimits) -> Iterator[Reason]:
    total = plan.count("update")
    for scope in _scopes(plan):
        count = sum(1 for change in plan.scoped(scope) if isinstance(change, Update))
        # Without a store everything live is adopted, and little or nothing of it is known to be owned.
        declared = count + plan.unchanged.get(str(scope), 0) + _adopted(plan, scope)
        base = max(plan.owned.get(str(scope), 0), declared)
        if count > limits.updates_max and _over(count, base, limits.updates_max_percent):
            limit = max(limits.updates_max, base * limits.updates_max_percent // 100)
            what = (
                f"the plan updates {_of(count, base, scope)} "
                f"({_percent(count, base)}; the limit is {limits.updates_max_percent} %)."
            )
            step = f"read the plan; if this is meant, apply with --allow-updates {total}"
            yield Reason("G2", str(scope), count, limit, what, step)


def _adopted(plan: Plan, scope: Scope) -> int:
    return sum(1 for one in plan.adoptions if Scope.of(one.address) == scope)


def _of(count: int, base: int, scope: Scope) -> str:
    return f"{count} of {base} {scope}"


def _over(count: int, base: int, percent: int) -> bool:
    return count * 100 > base * percent


def _percent(count: int, base: int) -> str:
    return f"{count * 100 // base} %" if base else "all"
