"""Notices of a plan about what others do: fields that flap, deleted entities that are back, lookalikes.

Nothing is decided by them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta

from reconciler.core.compare.identity import appearance_of, identity_of, similarity_notice
from reconciler.core.planning.scopes import MatchedGroup, PlanContext, ScopePlan
from reconciler.core.text import parse_instant
from reconciler.model.address import Address
from reconciler.model.kind import Key
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice
from reconciler.model.plans import Change, Create, Delete, FieldChange, Plan, Update
from reconciler.model.snapshots import DeletedEntity, Flap, Live, LiveEntity, Recorded, Scope

# --- Flapping: we set a field back, and somebody else writes it again, run after run --------------
#
#     a run sets a drifted field back  --> counted in the record of its entity (count_set_back)
#     it is drifted once more, or was set back twice lately  --> a notice names it (flapping_notices)
#
# So two repositories without marks that own the same person find out that there are two. Only what is
# recorded counts: nobody can see from one store who writes. Pure; the counts are kept by store/records.py.

flap_days = 30  # days after the last time that a field was set back; then it counts as calm again
_twice = 2


def count_set_back(before: Mapping[str, Flap], fields: Iterable[FieldChange], now: str) -> dict[str, Flap]:
    """Return how often each field was set back, once these changes have been applied at `now`.

    A field counts where somebody else changed it and we wrote again what we had written before. One that its
    owner edits begins anew: the next change of it is the first that others undo.
    """
    counts = dict(before)
    for field in fields:
        if field.cause == "drifted":
            known = counts.get(field.path)
            counts[field.path] = Flap((known.times if known else 0) + 1, known.since if known else now, now)
        else:
            counts.pop(field.path, None)
    return counts


def flapping_notices(changes: Iterable[Change], recorded: Recorded, now: str) -> Iterator[Notice]:
    """Yield a notice for each entity with fields that came back: by address, the fields by path."""
    drifting = {one.address: drifted_paths(one.fields) for one in changes if isinstance(one, Update)}
    for address, record in recorded.entities.items():
        if record.flaps:
            yield from _entity_flapping(address, record.flaps, drifting.get(address, frozenset()), now)


def shared_notices(total: ScopePlan, recorded: Recorded) -> Iterator[Notice]:
    """Yield a notice for each entity that becomes ours or is deleted, and that another stack owns too."""
    touched = [*total.adoptions, *(one for one in total.changes if isinstance(one, Delete | Update))]
    for one in touched:
        stack = recorded.shared.get((one.address.workspace, one.remote_id)) if recorded.shared else None
        deleted, adopted = isinstance(one, Delete), not isinstance(one, Update) or bool(one.adopts)
        if stack is None or not (deleted or adopted):
            continue
        what = f"stack {stack} also owns it: " + (
            "if this stack deletes it, the other stack creates it again or misses it."
            if deleted
            else "each stack overwrites the values of the other, and deletes what its own manifest drops."
        )
        step = (
            "let only one stack declare it, and run `reconciler forget` in the other; or give both "
            "an ownership.mark"
        )
        yield Notice("flapping", str(one.address), what, step)


def drifted_paths(fields: Iterable[FieldChange]) -> frozenset[str]:
    """Return the paths that somebody else changed, and that a plan sets back."""
    return frozenset(one.path for one in fields if one.cause == "drifted")


def _entity_flapping(
    address: Address, flaps: Mapping[str, Flap], drifting: frozenset[str], now: str
) -> Iterator[Notice]:
    said = [
        _describe_flap(path, flap, again=path in drifting)
        for path, flap in sorted(flaps.items())
        if path in drifting or (flap.times >= _twice and _is_recent(flap, now))
    ]
    if said:
        what = f"{'; '.join(said)}: something else writes it too."
        step = (
            "find the other writer (another repository, a script, the portal); then declare it in one "
            "place, or leave it to the other with meta.ignore"
        )
        yield Notice("flapping", str(address), what, step)


def _describe_flap(path: str, flap: Flap, *, again: bool) -> str:
    times = {1: "once", 2: "twice"}.get(flap.times, f"{flap.times:,} times")
    more = ", and has changed again" if again else ""
    return f"{path} was set back {times} since {flap.since[:10]}{more}"


def _is_recent(flap: Flap, now: str) -> bool:
    last, moment = parse_instant(flap.last), parse_instant(now)
    return last is None or moment is None or moment - last <= timedelta(days=flap_days)


# --- Restored: we deleted it, and it is live again ------------------------------------------------
#
# A backup of the service was restored, or somebody made it anew. Its record went with the delete, so it is
# not ours, and it is never deleted for that.


def restored_notices(
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
                known += f", formerly {one.remote_id}; same identity"
            yield Notice(
                "restored",
                str(one.address),
                f"deleted by run {one.run} on {when}, and exists again ({known}), perhaps from a backup.",
                "declare it again and apply, which adopts it; or delete it at the service",
            )


# --- Similar: to be created although a live entity looks the same; never adopted for that ---------
#
# `strauß@` beside a live `strauss@` may be two people or a slip. A plan creates what is declared, and says
# so.


def similar_live_notices(
    across: PlanContext, at: MatchedGroup, creates: Collection[Create]
) -> Iterator[ScopePlan]:
    """Yield a warning for each entity to be created whose identity looks like that of a live one.

    The id names the live one, and no value: a plan shows nothing of whoever it leaves alone.
    """
    kind = KINDS[at.group.scope.kind]
    for key in across.rules.identity.of(kind.name) if creates else ():
        if not kind.secret.isdisjoint(key):
            continue
        alike: Mapping[tuple[str, ...], LiveEntity] = {
            look: row for row in at.group.rows if (look := appearance_of(key, row.fields)) is not None
        }
        for create in creates:
            fields = at.group.entities[create.address].fields
            row = alike.get(appearance_of(key, fields) or ())
            if row is not None and identity_of(key, row.fields) != identity_of(key, fields):
                yield _similar_live_notice(at, create, key, row)


def _similar_live_notice(at: MatchedGroup, create: Create, key: Key, row: LiveEntity) -> ScopePlan:
    other = f"the live {row.kind} of the id {row.remote_id}"
    place = at.group.entities[create.address].place
    return ScopePlan(notices=(similarity_notice(create.address, key, other, place),))
