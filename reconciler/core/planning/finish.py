"""The sum of all parts -> the plan: sorted, with its fingerprint, or refused where it contradicts itself."""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import UNSET, UnsetType, structs

from reconciler.core.planning.adopting import only_adoptions, postponed
from reconciler.core.planning.baseline import alias_notices, elsewhere, elsewhere_notices, unapplied
from reconciler.core.planning.fingerprint import fingerprint, manifest_digest
from reconciler.core.planning.flapping import flapping_notices, shared_notices
from reconciler.core.planning.moves import carry_over, find_moves, move_notices
from reconciler.core.planning.order import ordered
from reconciler.core.planning.parts import Counts, ScopePlan
from reconciler.core.planning.scopes import Moment, Shared
from reconciler.core.planning.secrets_needed import hold_moves
from reconciler.errors import ManifestError
from reconciler.model.address import Address, parse_address
from reconciler.model.documents import Content, DirectoryAnswer
from reconciler.model.notices import Notice
from reconciler.model.plans import Change, Delete, Plan, Target
from reconciler.model.snapshots import Desired, Live, Recorded, Scope


def finished(
    across: Shared,
    total: ScopePlan,
    desired: Desired,
    live: Live,
    recorded: Recorded,
    *,
    target: Target,
    moment: Moment,
) -> Plan:
    """Return the plan that these parts are, in any order (laws 3 and 10). Raises ManifestError (M4)."""
    _check_declared_once(total, desired)
    postpones = postponed(total) if across.options.adopt else {}
    total = only_adoptions(total) if across.options.adopt else hold_moves(total, desired, across.rules)
    changes = ordered(total.changes)
    moves = find_moves(changes, across.rules)
    if any(desired.entities[one.after].controls.carry_over is True for one in moves):
        changes = tuple(carry_over(changes, moves, desired.entities))
        moves = find_moves(changes, across.rules)
    left = elsewhere(recorded, live, total)
    back = flapping_notices(total.changes, recorded, moment.now)
    notices = (
        *total.notices,
        *back,
        *shared_notices(total, recorded),
        *move_notices(moves),
        *alias_notices(recorded),
        *elsewhere_notices(left, target),
    )
    plan = Plan(
        target=target,
        options=across.options,
        manifest_digest=manifest_digest(desired, moment.salt),
        salt=moment.salt,
        changes=changes,
        adoptions=tuple(sorted(total.adoptions, key=lambda one: one.address)),
        skips=tuple(sorted(total.skips, key=lambda one: (one.address, one.what))),
        gone=tuple(sorted(total.gone)),
        records=tuple(sorted(total.records, key=structs.astuple)),
        postponed=postpones,
        renames=dict(sorted(total.renames)),
        unchanged=dict(sorted(total.unchanged.items())),
        outside=dict(sorted(total.outside.items())),
        unmanaged=dict(sorted(total.unmanaged.items())),
        owned=_owned(total.owned, recorded),
        contents=dict(_contents(changes, desired)),
        notices=tuple(sorted(_selected(across, notices, desired), key=structs.astuple)),
        reads=tuple(sorted(live.reads, key=structs.astuple)),
        directories=_directories(desired, recorded),
        unapplied=unapplied(across, desired, recorded),
        moves=moves or UNSET,
        elsewhere=left,
        created_at=moment.now,
        expires_at=moment.expires,
    )
    return structs.replace(plan, fingerprint=fingerprint(plan))  # made last, over everything else (rule A1)


def _directories(desired: Desired, recorded: Recorded) -> tuple[DirectoryAnswer, ...] | UnsetType:
    """Return what directories answered, each with its rows at the last applied plan."""
    known = recorded.answered
    return tuple(structs.replace(one, before=known.get(one.name, 0)) for one in desired.answers) or UNSET


def _check_declared_once(total: ScopePlan, desired: Desired) -> None:
    """Raise ManifestError where one live entity is behind two names (M4).

    Each would undo what is written for the other, in every run.
    """
    if not total.contested:
        return
    problems = []
    for group in total.contested:
        places = [desired.entities[address].place for address in group]
        what = f"{group[0]} and {group[1]} ({places[1]}) are the same live {group[0].kind}."
        hint = "declare it once, or give each what only it has"
        problems.append(places[0].problem(what, hint, code="E100"))
    problems.sort(key=lambda one: (one.file, one.line, one.column, one.what))
    raise ManifestError("The manifests declare one live entity twice.", problems=tuple(problems))


def _owned(beyond: Counts, recorded: Recorded) -> dict[str, int]:
    """Return how many are ours in each scope: those of its records, and those that only a mark tells."""
    # Devices are counted over the workspace, whichever contacts list theirs: docs/planning.md, G.
    records = {str(scope): number for scope, number in Counter(map(Scope.of, recorded.entities)).items()}
    return {name: records.get(name, 0) + more for name, more in sorted(beyond.items())}


def _contents(changes: Iterable[Change], desired: Desired) -> Iterator[tuple[Address, str]]:
    """Yield the file of each content that is sent, so that a reviewer sees what becomes public."""
    for change in changes:
        content = None if isinstance(change, Delete) else _content(change.address, desired)
        if content and content.path:
            yield change.address, content.path


def _content(address: Address, desired: Desired) -> Content | None:
    # What only loses our mark is not declared (rule X7), and nothing else of it is sent.
    entity = desired.entities.get(address)
    return entity.content if entity else None


def _selected(across: Shared, notices: Iterable[Notice], desired: Desired) -> Iterator[Notice]:
    """Yield the notices about what the run is about (rule N1)."""
    for notice in notices:
        address = parse_address(notice.subject)
        entity = desired.entities.get(address) if address else None
        # What is declared no longer has no tags (docs/planning.md, Selection); what is no address, like the
        # store, concerns every run.
        if entity is not None:
            selected = across.selects(entity)
        else:
            selected = address is None or across.selection.selects(address, {})
        if selected:
            yield notice
