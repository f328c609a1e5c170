"""Workspaces that a plan leaves out: one that cannot be read or used harms no other.

    mistakes in manifests (core/desired/isolate.py), an alias that the service lacks, a list that cannot be
    read, a mistake that only the plan sees
        --NotPlanned--> narrow_inputs: desired, live, recorded and target without it, and all else as it was
        --LeftOutEntities-----> hold_back_pairs: no half of a move from or to it

So the plan of the others is what it is without that workspace (tests/laws/test_unplanned.py). Where nothing
would be left to plan, or the reason concerns every workspace, the error is raised as it is.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import TypeVar

from msgspec import Struct, structs

from reconciler.core.compare.identity import identity_of
from reconciler.core.planning.moves import find_moves
from reconciler.core.planning.scopes import ScopePlan
from reconciler.core.planning.select import Selection, may_select
from reconciler.core.rules import Rules
from reconciler.errors import (
    DirectoryError,
    InputError,
    ManifestError,
    Problem,
    ReconcilerError,
    ServiceError,
    SettingsError,
    Temporary,
    Unauthorized,
)
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Change, Create, Delete, Plan, Skip, Target
from reconciler.model.snapshots import (
    Desired,
    Entity,
    Live,
    NotPlanned,
    NotPlannedBy,
    Recorded,
    RecordedEntity,
    Scope,
)

K = TypeVar("K", Scope, Address)
V = TypeVar("V")

# --- What a failed read means: that workspace, what belongs to the account, or the whole run --------

# Lists that failed, and none that was read: then the service is down, and no workspace is.
outage_failures = 8


def is_outage(failed: Collection[ServiceError], read: int) -> bool:
    """Whether so many reads failed, and none succeeded, that no further one is tried."""
    return not read and sum(isinstance(one, Temporary) for one in failed) >= outage_failures


def judge_failed_reads(failed: Mapping[Scope, ServiceError], read: Collection[Scope]) -> list[NotPlanned]:
    """Return what is left out because its lists could not be read, in the order of workspaces.

    `read` are the scopes that were read. Raises the error that is the whole run's: refused credentials, a
    spent quota, a wrong address, or one of all where no scope was read.
    """
    for scope in sorted(failed):
        if not read or _is_of_all(failed[scope]):
            raise failed[scope]
    found: dict[tuple[str, bool], NotPlanned] = {}
    for scope in sorted(failed):
        unit = (scope.workspace, KINDS[scope.kind].company)
        found.setdefault(unit, leave_out_for(failed[scope], scope))
    return sorted(found.values())


def _is_of_all(error: ServiceError) -> bool:
    """Whether an error says something of every workspace."""
    refused = isinstance(error, Unauthorized)
    # 403 may be what these credentials may do in one workspace; 401 and the quota of the day are about all.
    return error.elsewhere or (refused and (error.status != HTTPStatus.FORBIDDEN or "OVER_QPD" in error.code))


def leave_out_for(error: ServiceError, scope: Scope) -> NotPlanned:
    """Return what an error of one list leaves out: its workspace, or the kinds that are the account's.

    Only the workspace `default` has both.
    """
    company = KINDS[scope.kind].company
    kinds = tuple(name for name in KINDS if _is_of_account(name) == company)
    apart = company or scope.workspace == "default"
    what = f"{KINDS[scope.kind].plural} cannot be read: {error}"
    return NotPlanned(scope.workspace, "service", what, error.next, error.error_code, kinds if apart else ())


def _is_of_account(kind: str) -> bool:
    return KINDS[KINDS[kind].parent or kind].company


def leave_out_workspace(workspace: str, by: NotPlannedBy, error: ReconcilerError) -> NotPlanned:
    """Return a whole workspace as left out because of an error, by its first mistake in a file, if any."""
    problems = error.problems if isinstance(error, InputError) else ()
    for one in problems:
        return NotPlanned(workspace, by, f"{one.where}: {one.what}", one.next, one.code)
    return NotPlanned(workspace, by, str(error), error.next, error.error_code)


# --- The inputs of a plan without what is left out --------------------------------------------------


class LeftOutEntities(Struct, frozen=True):
    """What a plan leaves out, and what is known there, for moves: declared entities and records.

    Of a workspace with mistakes, `entities` are what is readable; what is recorded there and not among them
    may be declared all the same.
    """

    not_planned: tuple[NotPlanned, ...] = ()
    entities: Mapping[Address, Entity] = {}
    records: Mapping[Address, RecordedEntity] = {}


NOTHING_LEFT_OUT = LeftOutEntities()


class PlanInputs(Struct, frozen=True):
    """What a plan is made from, and what it leaves out."""

    desired: Desired
    live: Live
    recorded: Recorded
    target: Target
    left_out: LeftOutEntities = NOTHING_LEFT_OUT


def leave_out(inputs: PlanInputs, more: Collection[NotPlanned]) -> PlanInputs:
    """Return the inputs of a plan without these workspaces, which are all that differs."""
    if not more:
        return inputs
    known, desired = inputs.left_out, leave_out_of_desired(inputs.desired, more)
    entities = {one: entity for one, entity in inputs.desired.entities.items() if is_left_out(one, more)}
    records = {one: row for one, row in inputs.recorded.entities.items() if is_left_out(one, more)}
    return PlanInputs(
        desired,
        leave_out_of_live(inputs.live, more),
        leave_out_of_recorded(inputs.recorded, more),
        keep_used_target(inputs.target, desired),
        LeftOutEntities(
            _keep_first([*known.not_planned, *more]),
            {**known.entities, **entities},
            {**known.records, **records},
        ),
    )


def _keep_first(left: Iterable[NotPlanned]) -> tuple[NotPlanned, ...]:
    """Return what is left out once each, sorted, with its first reason."""
    found: dict[tuple[str, tuple[str, ...]], NotPlanned] = {}
    for one in left:
        found.setdefault((one.workspace, one.kinds), one)
    return tuple(sorted(found.values()))


def is_left_out(of: Scope | Address, left: Iterable[NotPlanned]) -> bool:
    """Whether a scope or an address is among what is left out."""
    return any(one.covers(of) for one in left)


def leave_out_of_desired(desired: Desired, left: Collection[NotPlanned]) -> Desired:
    """Return what is declared outside of what is left out."""
    if not left:
        return desired
    return structs.replace(
        desired,
        entities=_without(desired.entities, left),
        scopes=frozenset(one for one in desired.scopes if not is_left_out(one, left)),
        notices=tuple(one for one in desired.notices if not concerns(one.subject, left)),
        removed=_without(desired.removed, left),
        consents=tuple(one for one in desired.consents if not is_left_out(one.address, left)),
    )


def leave_out_of_recorded(recorded: Recorded, left: Collection[NotPlanned]) -> Recorded:
    """Return what is recorded outside of what is left out."""
    if not left:
        return recorded
    whole = {one.workspace for one in left if not one.kinds}
    elsewhere = (structs.replace(one, ids=_without(one.ids, left)) for one in recorded.elsewhere)
    return structs.replace(
        recorded,
        entities=_without(recorded.entities, left),
        doubts=_without(recorded.doubts, left),
        under_way=frozenset(one for one in recorded.under_way if not is_left_out(one, left)),
        proofs={key: proof for key, proof in recorded.proofs.items() if key[0] not in whole},
        aliases={name: one for name, one in recorded.aliases.items() if one.now not in whole},
        unapplied=recorded.unapplied - {one.workspace for one in left},
        elsewhere=tuple(one for one in elsewhere if one.ids),
        shared={key: stack for key, stack in recorded.shared.items() if key[0] not in whole},
    )


def leave_out_of_live(live: Live, left: Collection[NotPlanned]) -> Live:
    """Return what is live outside of what is left out, and how that was read."""
    if not left:
        return live
    return Live(
        _without(live.entities, left),
        tuple(one for one in live.reads if not is_left_out(one.scope, left)),
        _without(live.others, left),
        _without(live.contradictions, left),
        _without(live.again, left),
    )


def keep_used_target(target: Target, desired: Desired) -> Target:
    """Return the target with the workspaces alone that are left in `desired`."""
    used = {scope.workspace for scope in desired.scopes} | {one.workspace for one in desired.removed}
    return structs.replace(target, workspaces=tuple(one for one in target.workspaces if one.alias in used))


def _without(found: Mapping[K, V], left: Collection[NotPlanned]) -> dict[K, V]:
    return {key: value for key, value in found.items() if not is_left_out(key, left)}


def concerns(subject: str, left: Iterable[NotPlanned]) -> bool:
    """Whether the subject of a notice is an address that is left out."""
    return subject.count("/") > 1 and is_left_out(Address(subject), left)


# --- Moves: a create here and a delete there, where one of the two is left out ----------------------


def hold_back_pairs(total: ScopePlan, left: LeftOutEntities, rules: Rules) -> ScopePlan:
    """Return the parts without the planned half of every move from or to what is left out.

    A delete waits where its identity is declared there and not recorded yet: it may move there. A create
    waits, with what belongs to it, where its identity is recorded there and no longer declared, as far as is
    known. A move whose halves are both planned is no half.
    """
    if not left.entities and not left.records:
        return total
    arriving = _index_identities(
        ((one, entity.fields) for one, entity in left.entities.items() if one not in left.records), rules
    )
    leaving = _index_identities(
        (
            (one, {**record.sent, **record.shown})
            for one, record in left.records.items()
            if one not in left.entities
        ),
        rules,
    )
    held = dict(_find_held(total.changes, arriving, leaving, rules))
    held |= {
        one.address: held[one.address.above]
        for one in total.changes
        if isinstance(one, Create) and one.address.above in held
    }
    if not held:
        return total
    return structs.replace(
        total,
        changes=tuple(one for one in total.changes if one.address not in held),
        skips=(*total.skips, *(_make_pair_skip(one, other) for one, other in held.items())),
    )


_Identity = tuple[str, object, object]  # kind, key, value


def _index_identities(
    found: Iterable[tuple[Address, Mapping[str, str | bool]]], rules: Rules
) -> dict[_Identity, Address]:
    index: dict[_Identity, Address] = {}
    for address, fields in found:
        for identity in _list_identities(address, fields, rules) if address.above is None else ():
            index.setdefault(identity, address)
    return index


def _list_identities(address: Address, fields: Mapping[str, str | bool], rules: Rules) -> Iterator[_Identity]:
    for key in rules.keys(address.kind):
        value = identity_of(key, fields)
        if value is not None:
            yield address.kind, key, value


def _find_held(
    changes: Sequence[Change],
    arriving: Mapping[_Identity, Address],
    leaving: Mapping[_Identity, Address],
    rules: Rules,
) -> Iterator[tuple[Address, Address]]:
    """Yield each change that is half of a move, with the address of the other half."""
    moves = find_moves(changes, rules)
    whole = {one.before for one in moves} | {one.after for one in moves}
    for change in changes:
        if change.address.above is not None or change.address in whole:
            continue
        if isinstance(change, Delete) and change.cause != "duplicate":
            fields, others = change.before, arriving
        elif isinstance(change, Create):
            fields, others = change.fields, leaving
        else:
            continue
        identities = _list_identities(change.address, fields, rules)
        other = next((others[one] for one in identities if one in others), None)
        if other is not None:
            yield change.address, other


def _make_pair_skip(address: Address, other: Address) -> Skip:
    what = f"waits: it may have moved from or to {other}, and workspace {other.workspace} is not planned."
    return Skip(
        address, "move not planned", what, f"see why {other.workspace} is not planned, then plan again"
    )


# --- What a selection concerns, and the exit code ---------------------------------------------------


def select_left_out(left: LeftOutEntities, selection: Selection) -> LeftOutEntities:
    """Return what is left out of what a selection is about, with what is known there."""
    concerned = select_not_planned(left.not_planned, selection)
    if concerned == left.not_planned:
        return left
    return LeftOutEntities(
        concerned,
        {one: entity for one, entity in left.entities.items() if is_left_out(one, concerned)},
        {one: row for one, row in left.records.items() if is_left_out(one, concerned)},
    )


def list_scopes(left: Iterable[NotPlanned], unread: Iterable[str] = ()) -> tuple[Scope, ...]:
    """Return every scope that is left out, or in an unread workspace, whether anything is declared there."""
    found = [(kind, one) for one in left for kind in one.kinds or KINDS]
    return (
        *(Scope(kind, one.workspace) for kind, one in found),
        *(Scope(kind, workspace) for workspace in sorted(unread) for kind in KINDS),
    )


def select_not_planned(left: Iterable[NotPlanned], selection: Selection) -> tuple[NotPlanned, ...]:
    """Return what is left out of what a selection is about: of the rest nothing was asked."""
    concerned = {
        one
        for one in left
        if any(may_select(selection, scope.kind, scope.workspace) for scope in list_scopes([one]))
    }
    return tuple(sorted(concerned))


def why_nothing_is_planned(
    left: Sequence[NotPlanned], selection: Selection, desired: Desired
) -> ReconcilerError | None:
    """Return the first reason where a selection is about nothing but what is left out; else None."""
    planned = desired.scopes | {Scope.of(one) for one in desired.removed}
    if not left or any(may_select(selection, one.kind, one.workspace) for one in planned):
        return None
    return make_not_planned_error(min(left, key=lambda one: (_EXIT_CODES[one.by], one)))


def make_not_planned_error(one: NotPlanned, problems: Iterable[Problem] = ()) -> ReconcilerError:
    """Return the error of a workspace that is left out, where nothing else is asked for."""
    what = f"{one.workspace} is not planned: {one.what}"
    if one.by == "manifests":
        return ManifestError(what, next=one.next, problems=tuple(problems))
    return _ERRORS[one.by](what, next=one.next)


_ERRORS: Mapping[NotPlannedBy, type[ReconcilerError]] = {
    "manifests": ManifestError,
    "settings": SettingsError,
    "directory": DirectoryError,
    "service": ServiceError,
}


# Whose mistake it is -> the exit code of a command that leaves it out and has written nothing.
_EXIT_CODES: Mapping[NotPlannedBy, int] = {"manifests": 3, "settings": 3, "directory": 1, "service": 1}
_PARTIAL = 6


def not_planned_exit_code(left: Iterable[NotPlanned], *, applied: bool = False) -> int:
    """Return 0 where nothing is left out; 6 where something was applied; else 1 before 3."""
    codes = {_EXIT_CODES[one.by] for one in left}
    if not codes:
        return 0
    # 1 first: what cannot be read may be read by the next run, whatever the manifests say.
    return _PARTIAL if applied else min(codes)


def find_wholly_planned(plan: Plan) -> Target:
    """Return the target of a plan with the workspaces alone of which no kind is left out."""
    left = {one.workspace for one in plan.left_out}
    return structs.replace(
        plan.target, workspaces=tuple(one for one in plan.target.workspaces if one.alias not in left)
    )
