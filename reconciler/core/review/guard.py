"""Is the plan safe? Thresholds, incomplete reads, and the consent that lifts them.

Consent is a number for one run, never a switch: a person who allows 41 deletes has seen that there are 41.
Or it names addresses, in a manifest (core/review/named_consents.py): what is named does not count.
Which entities a plan deletes is decided in core/planning/deletes.py.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import UNSET, Struct, structs

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.planning.unplanned import not_planned_exit_code
from reconciler.core.review.named_consents import list_consented
from reconciler.errors import ConsentDiffers
from reconciler.model.address import Address
from reconciler.model.documents import ConsentAction, DirectoryAnswer, NamedConsent
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.plans import (
    Change,
    Consent,
    Create,
    Delete,
    GuardReason,
    Move,
    Plan,
    Update,
    Verdict,
    action_of,
)
from reconciler.model.settings import GuardLimits
from reconciler.model.snapshots import UNKNOWN, Scope

Missing = frozenset[tuple[str, str]]  # kind and action

_named_max = 20  # addresses in one reason; the plan shows them all
_FEW = 3  # deletes of one kind in one workspace, or rows of a directory, that a percentage does not forbid


def check_plan(
    plan: Plan,
    limits: GuardLimits,
    consent: Consent,
    missing: Missing = frozenset(),
    placeholders: AbstractSet[Address] = frozenset(),
) -> Verdict:
    """Return why the plan may not be carried out; no reasons: it may. Source: planning rules C1 to G8, X8.

    `missing` are the kinds and actions that this deployment does not offer; `placeholders` the addresses
    whose declared content is a placeholder for one that is not provided yet.
    """
    reasons = [
        *_check_capabilities(plan, missing),
        *_check_placeholders(plan, placeholders),
        *_check_incomplete_reads(plan),
    ]
    reasons += _check_elsewhere(plan)
    if len(_unnamed(plan, Delete)) > consent.deletes:
        reasons += _check_deletes(plan, limits)
    if sum(1 for change in plan.changes if _is_recreate(change)) > consent.creates:
        reasons += _check_creates(plan, limits)
    if len(_unnamed(plan, Update)) > consent.updates:
        reasons += _check_updates(plan, limits)
    if sum(map(_rows_lost, plan.answers)) > consent.fewer_rows:
        reasons += _check_fewer_rows(plan, limits)
    losing = [one for one in plan.moves or () if one.loses]
    if len(losing) > consent.moves:
        reasons += _check_moves(losing)
    return Verdict(tuple(reasons))


def _is_recreate(change: Change) -> bool:
    return isinstance(change, Create) and change.cause == "gone"


def _unnamed(plan: Plan, of: type[Delete | Update], scope: Scope | None = None) -> list[Delete | Update]:
    """Return the deletes, or updates, that no manifest consents to by name; of one scope, or of all."""
    named = list_consented(plan, "delete" if of is Delete else "update")
    changes = plan.changes if scope is None else plan.scoped(scope)
    return [one for one in changes if isinstance(one, of) and one.address not in named]


def _changed_scopes(plan: Plan) -> list[Scope]:
    return sorted({Scope.of(change.address) for change in plan.changes})


def _check_capabilities(plan: Plan, missing: Missing) -> Iterator[GuardReason]:
    """Say which changes the deployment has no call for (rule C1). No consent lifts it."""
    for scope in _changed_scopes(plan):
        for word in sorted(word for kind, word in missing if kind == scope.kind):
            addresses = [str(one.address) for one in plan.scoped(scope) if action_of(one) == word]
            if not addresses:
                continue
            what = (
                f"the plan would {word} {len(addresses)} {scope}, but the profile of the service says "
                "that this "
                f"deployment does not {word} {KINDS[scope.kind].plural}: {_join_first(addresses)}."
            )
            step = (
                f"leave them out with --except kind:{scope.kind}, or correct capabilities in service.profile"
            )
            yield GuardReason("C1", str(scope), len(addresses), 0, what, step)


def _check_placeholders(plan: Plan, placeholders: AbstractSet[Address]) -> Iterator[GuardReason]:
    """Say which writes would upload the placeholder of an export (rule C2). No consent lifts it."""
    for scope in _changed_scopes(plan):
        changes = (one for one in plan.scoped(scope) if not isinstance(one, Delete))
        addresses = [str(one.address) for one in changes if one.address in placeholders]
        if addresses:
            what = f"the plan would upload the placeholder of an export as content: {_join_first(addresses)}."
            step = "write the real content to its file, or exclude these with --except"
            yield GuardReason("C2", str(scope), len(addresses), 0, what, step)


def _check_elsewhere(plan: Plan) -> Iterator[GuardReason]:
    """Refuse to adopt or make again what is recorded at another address of the same service (rule X8)."""
    for one in plan.elsewhere or ():
        if one.alike and one.claimed:
            what = (
                f"{one.claimed} of the {one.records} entities that are recorded as ours at {one.origin} "
                "would be adopted or created again, and some of their ids are live here: this is the "
                "same service under another address."
            )
            step = (
                "plan again with --same-service: it takes over the records, and deletes what is no "
                "longer declared"
            )
            yield GuardReason("X8", one.origin, one.claimed, 0, what, step)


def _check_incomplete_reads(plan: Plan) -> Iterator[GuardReason]:
    """Say what would be deleted after an incomplete read (rule G4). No consent lifts it."""
    unread = {read.scope for read in plan.reads if not read.complete}
    # Devices are read with their contacts.
    unread |= {Scope(kind.name, scope.workspace) for scope in unread for kind in child_kinds(scope.kind)}
    for scope in sorted(unread):
        if count := sum(1 for change in plan.scoped(scope) if isinstance(change, Delete)):
            what = f"the plan deletes {count} {scope}, but the list of them was not read completely."
            step = (
                "plan again; if this happens again, the list changes while it is read, or the "
                "service cuts it short"
            )
            yield GuardReason("G4", str(scope), count, 0, what, step)


def _check_deletes(plan: Plan, limits: GuardLimits) -> Iterator[GuardReason]:
    total, named = len(_unnamed(plan, Delete)), list_consented(plan, "delete")
    check = "check that nothing is missing from the manifests"
    # An undo follows from no manifest.
    or_named = "" if plan.options.undo_of else ", or name them under `consent:`"
    step = f"{check}; if this is meant, apply with --allow-deletes {total}{or_named}"
    if total > limits.deletes_max:
        beside = f" beside the {len(named)} under `consent:`" if named else ""
        what = f"the plan deletes {total} entities{beside} (the limit is {limits.deletes_max})."
        yield GuardReason("G1", "", total, limits.deletes_max, what, step)
    yield from _check_adopted_deletes(plan, limits, step)
    yield from _check_deletes_in_use(plan, step)
    for scope in _changed_scopes(plan):
        count, owned = len(_unnamed(plan, Delete, scope)), plan.owned.get(str(scope), 0)
        percent = limits.deletes_max_percent
        # What is gone already, forgotten or deleted by consent does not count as left.
        agreed = (one.address for one in plan.changes if one.address in named)
        leaving = (*plan.gone, *plan.forgotten, *agreed)
        left = owned - sum(1 for address in leaving if Scope.of(address) == scope)
        where = f"the plan deletes {count} of {owned} {scope}"
        if count and owned > 1 and count >= left:
            yield GuardReason("G1", str(scope), count, left - 1, f"{where}: none would be left.", step)
        elif count > _FEW and _exceeds_percent(count, owned, percent):
            what = f"{where} {_describe_share(count, owned, percent)}."
            yield GuardReason("G1", str(scope), count, owned * percent // 100, what, step)


def _check_adopted_deletes(plan: Plan, limits: GuardLimits, step: str) -> Iterator[GuardReason]:
    """Refuse to delete many that existed before this stack, or may have (rule G5)."""
    older = [one for one in _unnamed(plan, Delete) if isinstance(one, Delete) and one.adopted]
    if len(older) > limits.adopted_deletes_max:
        what = (
            f"the plan deletes {len(older)} entities that existed before this stack, or may have existed "
            f"(the limit is {limits.adopted_deletes_max}): "
            f"{_join_first([f'{one.address} ({_describe_origin(one)})' for one in older])}."
        )
        yield GuardReason("G5", "", len(older), limits.adopted_deletes_max, what, step)


def _check_deletes_in_use(plan: Plan, step: str) -> Iterator[GuardReason]:
    """Refuse any delete of a kind that others may be using, which cannot be seen from here (rule G6)."""
    for scope in _changed_scopes(plan):
        doomed = [str(one.address) for one in _unnamed(plan, Delete, scope)]
        if doomed and (lost := KINDS[scope.kind].in_use):
            what = f"the plan deletes {len(doomed)} {scope} ({_join_first(doomed)}): {lost}."
            yield GuardReason("G6", str(scope), len(doomed), 0, what, step)


def _describe_origin(change: Delete) -> str:
    """Say since when an entity is ours that we did not make, in the words of the plan."""
    if change.adopted == UNKNOWN:
        return "unknown whether it existed before this stack"
    return f"adopted on {change.adopted[:10]}"


def _check_creates(plan: Plan, limits: GuardLimits) -> Iterator[GuardReason]:
    """Refuse to create many again: the read was probably short (rules G2, R6)."""
    total = sum(1 for change in plan.changes if _is_recreate(change))
    step = f"check that they are gone; if this is meant, apply with --allow-creates {total}"
    gone = "seem to be gone and would be created again"
    if total > limits.creates_max:
        what = f"{total} recorded entities {gone} (the limit is {limits.creates_max})."
        yield GuardReason("G2", "", total, limits.creates_max, what, step)
    for scope in _changed_scopes(plan):
        count, owned = sum(map(_is_recreate, plan.scoped(scope))), plan.owned.get(str(scope), 0)
        percent = limits.creates_max_percent
        if _exceeds_percent(count, owned, percent):
            what = f"{count} of {owned} recorded {scope} {gone} {_describe_share(count, owned, percent)}."
            yield GuardReason("G2", str(scope), count, owned * percent // 100, what, step)


def _check_updates(plan: Plan, limits: GuardLimits) -> Iterator[GuardReason]:
    step = f"read the plan; if this is meant, apply with --allow-updates {len(_unnamed(plan, Update))}"
    percent = limits.updates_max_percent
    for scope in _changed_scopes(plan):
        count, every = len(_unnamed(plan, Update, scope)), _count_updates(plan, scope)
        adopted = sum(1 for one in plan.adoptions if Scope.of(one.address) == scope)
        # Without a store everything live is adopted, and little or nothing of it is known to be owned.
        declared = every + plan.unchanged.get(str(scope), 0) + adopted
        base = max(plan.owned.get(str(scope), 0), declared)
        if count > limits.updates_max and _exceeds_percent(count, base, percent):
            limit = max(limits.updates_max, base * percent // 100)
            what = f"the plan updates {count} of {base} {scope} {_describe_share(count, base, percent)}."
            yield GuardReason("G2", str(scope), count, limit, what, step)


def _count_updates(plan: Plan, scope: Scope) -> int:
    return sum(1 for change in plan.scoped(scope) if isinstance(change, Update))


def _check_moves(losing: Sequence[Move]) -> Iterator[GuardReason]:
    """Refuse moves to another workspace that lose what others have written (rule G8)."""
    total = len(losing)
    said = [f"{one.after} (from {one.before}: {', '.join((*one.lost, *one.devices))})" for one in losing]
    lose = "move loses" if total == 1 else "moves lose"
    what = f"{total} {lose} live fields or devices that no manifest declares: {_join_first(said)}."
    step = (
        "declare them, or copy the fields with `meta: {carryOver: true}`; if the loss is meant, apply with "
        f"--allow-moves {total}"
    )
    yield GuardReason("G8", "", total, 0, what, step)


def _rows_lost(answer: DirectoryAnswer) -> int:
    """Return how many rows a directory answers fewer than when the last whole plan was applied."""
    return max(0, answer.before - answer.rows)


def _check_fewer_rows(plan: Plan, limits: GuardLimits) -> Iterator[GuardReason]:
    """Refuse what follows from a short answer: who is missing would look as if they had left (rule G7)."""
    percent, total = limits.fewer_rows_max_percent, sum(map(_rows_lost, plan.answers))
    step = f"check the directory; if this is meant, apply with --allow-fewer-rows {total}"
    for one in plan.answers:
        lost = _rows_lost(one)
        if lost > _FEW and _exceeds_percent(lost, one.before, percent):
            what = (
                f"the directory {one.name} returns {one.rows:,} {'row' if one.rows == 1 else 'rows'}, "
                f"{lost:,} fewer than at the last apply "
                f"{_describe_share(lost, one.before, percent)}."
            )
            yield GuardReason("G7", one.name, lost, one.before * percent // 100, what, step)


def _join_first(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _named_max} more" if len(texts) > _named_max else ""
    return ", ".join(texts[:_named_max]) + more


def _exceeds_percent(count: int, base: int, percent: int) -> bool:
    return count * 100 > base * percent


def _describe_share(count: int, base: int, percent: int) -> str:
    share = f"{count * 100 // base} %" if base else "all"
    return f"({share}; the limit is {percent} %)"


# --- Consent: what a person has agreed to with a plan ---------------------------------------------
#
# Consent is given for one plan, and its file carries it. Each kind of it is one row of `_NUMBERS` or
# `_WORDS`. How a report shows it: report/phrases.py.


NO_CONSENT = Consent()


class Agreement(Struct, frozen=True):
    """One word that a plan was made with: `flag` is how it was said, `allows` what follows from it.

    `at_most` is the number that goes with it, 0 where none does; `subjects` is what it concerns in this plan:
    addresses, or names of directories.
    """

    flag: str
    allows: str
    at_most: int
    subjects: tuple[str, ...]


# Field of Consent -> how it is said, what it allows, and what of a plan it concerns.
_NUMBERS: Mapping[str, tuple[str, str, Callable[[Plan], Iterable[str]]]] = {
    "deletes": (
        "--allow-deletes",
        "deletes",
        lambda plan: (str(one.address) for one in _unnamed(plan, Delete)),
    ),
    "creates": (
        "--allow-creates",
        "creates of entities that disappeared",
        lambda plan: (
            str(one.address) for one in plan.changes if isinstance(one, Create) and one.cause == "gone"
        ),
    ),
    "updates": (
        "--allow-updates",
        "updates",
        lambda plan: (str(one.address) for one in _unnamed(plan, Update)),
    ),
    "fewer_rows": (
        "--allow-fewer-rows",
        "fewer rows from directories",
        lambda plan: (one.name for one in plan.answers if one.rows < one.before),
    ),
    "moves": (
        "--allow-moves",
        "moves that lose live fields or devices that no manifest declares",
        lambda plan: (str(one.after) for one in plan.moves or () if one.loses),
    ),
}
# The words of Options by which somebody vouches for what the program cannot know.
_WORDS: tuple[tuple[str, str, Callable[[Plan], tuple[str, ...]]], ...] = (
    (
        "--reactivate",
        "devices that the service disabled are enabled again",
        lambda plan: plan.options.reactivate,
    ),
    (
        "--create-again",
        "created again, though an earlier create is in doubt",
        lambda plan: plan.options.released,
    ),
    (
        "--confirm-same",
        "confirmed as the recorded one, though its identity has changed",
        lambda plan: plan.options.confirmed,
    ),
    (
        "--same-service",
        "records from another address of the service are taken over",
        lambda plan: (plan.target.origin,) if plan.options.same_service is True else (),
    ),
)


def list_agreements(plan: Plan) -> tuple[Agreement, ...]:
    """Return everything that was agreed to with a plan: numbers, words, in the order of the help, and names.

    Of `consent:` in manifests each item is one, in the order of the addresses.
    """
    given = plan.consent or NO_CONSENT
    numbers = (
        Agreement(flag, allows, getattr(given, name), tuple(concerned(plan)))
        for name, (flag, allows, concerned) in _NUMBERS.items()
        if getattr(given, name)
    )
    words = ((flag, allows, concerned(plan)) for flag, allows, concerned in _WORDS)
    said = (Agreement(flag, allows, 0, who) for flag, allows, who in words if who)
    return (*numbers, *said, *_list_named_agreements(plan))


_ALLOWS: Mapping[ConsentAction, str] = {
    "delete": "deletes",
    "update": "updates",
    "reactivate": "devices that the service disabled are enabled again",
}


def _list_named_agreements(plan: Plan) -> Iterator[Agreement]:
    """Yield what manifests consent to, those with one end and one reason together."""
    together: dict[tuple[ConsentAction, str, str], list[NamedConsent]] = {}
    for one in plan.named_consents:
        together.setdefault((one.action, one.until, one.reason), []).append(one)
    for (action, until, reason), each in together.items():
        allows = f"{_ALLOWS[action]} until {until}, {each[0].place}: {reason}"
        yield Agreement("consent:", allows, 0, tuple(str(one.address) for one in each))


def format_consent_flags(consent: Consent) -> str:
    """Return how it is said on a command line; "" for none."""
    said = ((flag, getattr(consent, name)) for name, (flag, _, _) in _NUMBERS.items())
    return " ".join(f"{flag} {number}" for flag, number in said if number)


def add_consent(plan: Plan, consent: Consent) -> Plan:
    """Return a plan that carries this consent, and whose fingerprint covers it; none leaves no trace."""
    given = UNSET if consent == NO_CONSENT else consent
    if plan.consent == given:
        return plan
    made = structs.replace(plan, consent=given)
    return structs.replace(made, fingerprint=fingerprint(made))


def choose_consent(saved: Plan, beside: Consent) -> Consent:
    """Return the consent that a saved plan is carried out with: its own, which nothing beside it changes.

    `beside` is what is said now; it may repeat what the plan holds. A plan that holds none takes it: such
    are undos, and those of before plans held any. Raises ConsentDiffers.
    """
    own = saved.consent or NO_CONSENT
    if own == NO_CONSENT:
        return beside
    if beside not in (NO_CONSENT, own):
        raise ConsentDiffers(
            f"the plan was reviewed with {format_consent_flags(own)}, but the command line says "
            f"{format_consent_flags(beside)}; nothing was written.",
            next="leave the option out; for another number, plan again with it and have that plan reviewed",
        )
    return own


# --- The exit code of a command that only plans (of a run: engine/outcomes.py) --------------------


def plan_exit_code(plan: Plan, verdict: Verdict, *, ambiguous: bool, detailed: bool) -> int:
    """Return the exit code of a plan; the first that fits.

    1 or 3 where a workspace is left out, 7 for a refused plan, 5 where somebody is ambiguous, 2 for work
    (where asked for), else 0.
    """
    if code := not_planned_exit_code(plan.left_out):
        return code
    if not verdict.safe:
        return 7
    if ambiguous:
        return 5
    return 2 if detailed and not plan.empty else 0
