"""Undo: what a run really did, turned round into a plan like any other.

    created -> delete        only while it looks as the service showed it after our write
    updated -> update        the changed fields back to what they were, and no other
    deleted -> create        with the fields that the plan held of it
    adopted -> forgotten     ours no longer, so that a later plan cannot delete it

What cannot be set back is a skip with its reason: what cannot be read (passwords, content), what no
plan holds in clear (push tokens), and what was not read after the write. Nothing is sent here.

No manifest says what an undo should be, so nothing can be planned afresh to compare it with. What it
may do is proved instead: by a digest keyed with the store's salt, which covers all of it, its times
included (`prove_undo`); and each change passes the same look as any other right before its write.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import assert_never

from msgspec import UNSET, Struct, UnsetType, structs

from reconciler.core.compare import normalize
from reconciler.core.compare.normalize import redact_for_plan
from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.planning.scopes import ScopePlan, merge_parts, order_changes
from reconciler.model.address import Address
from reconciler.model.documents import Controls, Fields, Place, Scalar
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.plans import (
    Change,
    Create,
    Delete,
    FieldChange,
    Move,
    Options,
    Plan,
    PlanMoment,
    Skip,
    Update,
    action_of,
)
from reconciler.model.runs import Outcome, Run
from reconciler.model.snapshots import Desired, Entity, LiveEntity, Recorded, RecordedEntity, Scope

BY_MANIFEST = "undo it in the manifests: revert the commit, plan and apply"
_BY_HAND = "set it by hand, or in the manifests"


def make_undo_plan(
    plan: Plan,
    run: Run,
    shown: Mapping[Address, LiveEntity],
    recorded: Recorded,
    *,
    moment: PlanMoment,
    key: str,
) -> Plan:
    """Return the plan that undoes what `run` applied of `plan`, and nothing else.

    Shapes: `shown` are whole entities as the service showed them right after the write; `recorded` is
    what was recorded before the run. `key` is the store's salt.
    Order: changes by wave, then by address, deletes last.
    Not in it: what was skipped, failed, in doubt or not attempted. Without changes and without anything
    to forget there is nothing to undo.
    """
    applied = {one.address for one in run.outcomes if one.written}
    done = tuple(change for change in plan.changes if change.address in applied)
    records = {plan.renames.get(at, at): record for at, record in recorded.entities.items()}
    place = f"run {run.run[:8]}"
    total = merge_parts(
        _undo_change(change, shown.get(change.address), records.get(change.address), place, moment.salt)
        for change in done
    )
    made = Plan(
        target=plan.target,
        options=Options(undo_of=run.run),
        manifest_digest=plan.manifest_digest,
        salt=moment.salt,
        changes=order_changes(total.changes),
        skips=tuple(sorted(total.skips, key=lambda one: (one.address, one.what))),
        gone=_adopted_addresses(plan, done),
        moves=_reverse_moves(plan, applied),
        owned=_count_owned_after(plan, done),
        created_at=moment.now,
        expires_at=moment.expires,
    )
    made = structs.replace(made, options=structs.replace(made.options, undo_proof=prove_undo(made, key)))
    return structs.replace(made, fingerprint=fingerprint(made))


def _reverse_moves(plan: Plan, applied: set[Address]) -> tuple[Move, ...] | UnsetType:
    """Return the moves the other way: who was deleted is made again before who was made is deleted."""
    both = (one for one in plan.moves or () if {one.before, one.after} <= applied)
    return tuple(Move(one.after, one.before) for one in both) or UNSET


def prove_undo(plan: Plan, key: str) -> str:
    """Return the digest of a whole undo that only the store's salt can make, its own place left empty."""
    bare = structs.replace(plan, fingerprint="", options=structs.replace(plan.options, undo_proof=""))
    return hmac.new(f"undo {key}".encode(), encode_json(bare), hashlib.sha256).hexdigest()


def is_undo_proved(plan: Plan, key: str) -> bool:
    """Whether this undo is, to the last value, what a run with this store made."""
    return bool(key) and hmac.compare_digest(plan.options.undo_proof, prove_undo(plan, key))


def _adopted_addresses(plan: Plan, done: Iterable[Change]) -> tuple[Address, ...]:
    """Return what the run adopted, with an update or without: ours no longer, and never deleted (A11)."""
    updated = (one.address for one in done if isinstance(one, Update) and one.adopts)
    return tuple(sorted((*updated, *(one.address for one in plan.adoptions))))


def _count_owned_after(plan: Plan, done: Iterable[Change]) -> dict[str, int]:
    """Return what is owned after the run, by scope: the guard measures against it where the undo is shown."""
    owned = Counter(plan.owned)
    owned.update(str(Scope.of(one.address)) for one in plan.adoptions)
    owned.subtract(str(Scope.of(one)) for one in plan.forgotten)
    for change in done:
        made = isinstance(change, Create) or (isinstance(change, Update) and change.adopts)
        # A duplicate counted as owned, too.
        owned[str(Scope.of(change.address))] += 1 if made else -isinstance(change, Delete)
    return {scope: number for scope, number in sorted(owned.items()) if number > 0}


def _undo_change(
    change: Change, row: LiveEntity | None, record: RecordedEntity | None, place: str, salt: str
) -> ScopePlan:
    """Return an applied change turned round: a change the other way, or skips; an update may be both.

    What was forgotten is not ours again: its mark alone would make it so, and prune it (rule X7).

    `row` is what the service showed after the write, `record` what was recorded before it.
    """
    match change:
        case Create():
            return _undo_create(change, row, salt)
        case Update() if any(field.cause == "forgotten" for field in change.fields):
            what = "was forgotten; an undo does not make it ours again."
            return ScopePlan(
                skips=(_not_restored(change.address, what, "declare it again, and it is adopted"),)
            )
        case Update():
            return _undo_update(change, row, None if change.adopts else record, place)
        case Delete():
            return _undo_delete(change, record, place)
        case _ as never:
            assert_never(never)


def _not_restored(address: Address, what: str, step: str = _BY_HAND) -> Skip:
    return Skip(address, "not restored", what, step)


def _secret_not_kept(address: Address, what: str, paths: str) -> Skip:
    """Return why something deleted is not made again: the secret that it needs, a manifest alone can give."""
    step = f"{BY_MANIFEST}, with its {paths} declared"
    return Skip(address, "secret not kept", what, step)


def _undo_create(change: Create, row: LiveEntity | None, salt: str) -> ScopePlan:
    if row is None:
        what = "was created and not read back, so a later change could not be noticed."
        return ScopePlan(
            skips=(_not_restored(change.address, what, "remove it from the manifests, and apply"),)
        )
    before = redact_for_plan(row.kind, row.fields, salt)
    return ScopePlan((Delete(change.address, row.remote_id, before, row.parent_id, cause="undone"),))


def _undo_update(
    change: Update, row: LiveEntity | None, record: RecordedEntity | None, place: str
) -> ScopePlan:
    address = change.address
    if row is None:
        return ScopePlan(skips=(_not_restored(address, "was updated and not read back; left as it is."),))
    if hidden := _unreadable_names(address, record, change):
        what = f"was updated and holds {hidden}, which a write would lose; left as it is."
        return ScopePlan(skips=(_not_restored(address, what),))
    turned = [_undo_field(address, field, row.fields.get(field.path), record) for field in change.fields]
    fields = tuple(one for one in turned if isinstance(one, FieldChange))
    update = Update(address, place, change.remote_id, fields, row.parent_id)
    skips = tuple(one for one in turned if isinstance(one, Skip))
    return ScopePlan((update,) if fields else (), skips=skips)


def _undo_field(
    address: Address, field: FieldChange, now: Scalar | None, record: RecordedEntity | None
) -> FieldChange | Skip | None:
    """Return how a field gets the value back that it had, why it cannot, or None where it has it."""
    kind, path, before = KINDS[address.kind], field.path, field.before
    if path in kind.secret:
        return _not_restored(address, f"got another {path}; the earlier one is not kept.")
    if now == before:
        return None
    after = None if before is None else _value_to_restore(path, before, record)
    if after is None and (before is not None or path in kind.sticky):
        return _not_restored(address, f"got another {path}; the earlier one cannot be written.")
    ours = record is not None and path in record.sent
    return FieldChange(path, now, after, "undone" if ours else "given back")


def _undo_delete(change: Delete, record: RecordedEntity | None, place: str) -> ScopePlan:
    address, kind = change.address, KINDS[change.address.kind]
    if change.keeps:
        what = f"had a duplicate ({change.remote_id}), which is not created again."
        return ScopePlan(skips=(_not_restored(address.base, what, ""),))
    if hidden := sorted((kind.write_only | kind.secret) & set(kind.required)):
        paths = ", ".join(hidden)
        what = f"was deleted; it cannot be created again, because its {paths} is not kept."
        if kind.needed_to_create:
            return ScopePlan(skips=(_secret_not_kept(address, what, paths),))
        return ScopePlan(skips=(_not_restored(address, what),))
    texts = {
        path: _value_to_restore(path, was, record)
        for path, was in change.before.items()
        if path not in kind.secret
    }
    fields = {path: text for path, text in texts.items() if text is not None}
    return ScopePlan(
        (Create(address, place, fields, "undone"),), skips=tuple(_lost_parts(change, record, fields))
    )


def _lost_parts(change: Delete, record: RecordedEntity | None, fields: Fields) -> Iterator[Skip]:
    """Yield what an entity that is made again with these fields lacks."""
    for path in change.before.keys() - fields.keys():
        yield _not_restored(change.address, f"was deleted; its {path} cannot be written as it was.")
    for path in KINDS[change.address.kind].write_only & (record.sent if record else {}).keys():
        yield _not_restored(change.address, f"was deleted; its {path} is not kept.")
    for name in change.cascades:
        what = f"had the device {name}, which was deleted with it; its push token is not kept."
        yield _secret_not_kept(change.address, what, "pushToken")


def _unreadable_names(address: Address, record: RecordedEntity | None, change: Update | None = None) -> str:
    """Return the names of what an entity of ours holds, that no read shows and every PUT must carry."""
    kind = KINDS[address.kind]
    held = set(record.sent if record else ()) | {field.path for field in (change.fields if change else ())}
    # A resource always has content, whether we sent it or not.
    return ", ".join(sorted(kind.write_only & (held | set(kind.required))))


def _value_to_restore(path: str, was: Scalar, record: RecordedEntity | None) -> Scalar | None:
    """Return what to send so that the service shows `was` again; None where nothing is known to do it.

    What we sent when it showed that; else the value itself. A time zone is shown as an offset and is
    written by name (core/compare/normalize.py).
    """
    if record is not None and path in record.sent and record.shown.get(path) == was:
        return record.sent[path]
    if path == normalize.ZONE_PATH:
        text = str(was)
        return normalize.FIXED_OFFSET_ZONES.get(text, None if text[:1] in "+-0123456789" else text)
    return was


class ApplicableUndo(Struct, frozen=True):
    """What of an undo may still be carried out, and how the rest ended before it began."""

    plan: Plan
    conflicts: tuple[Outcome, ...] = ()


def narrow_undo(plan: Plan, recorded: Recorded, done: Collection[Address] = ()) -> ApplicableUndo:
    """Return the undo restricted to what is still ours as it was, with the counts of the present.

    A later run may have renamed, deleted, protected or recreated an entity: its change is a conflict. What
    is `done` already is left out.
    """
    left = [
        (change, _why_conflict(change, recorded)) for change in plan.changes if change.address not in done
    ]
    fit = tuple(change for change, why in left if not why)
    owned = Counter(str(Scope.of(address)) for address in recorded.entities)
    gone = tuple(address for address in plan.gone if address in recorded.entities)
    return ApplicableUndo(
        structs.replace(plan, changes=fit, owned=dict(sorted(owned.items())), gone=gone),
        tuple(_conflict_outcome(change, why) for change, why in left if why),
    )


def _conflict_outcome(change: Change, why: str) -> Outcome:
    remote_id = "" if isinstance(change, Create) else change.remote_id
    return Outcome(change.address, action_of(change), "conflict", why, BY_MANIFEST, remote_id)


def _why_conflict(change: Change, recorded: Recorded) -> str:
    record = recorded.entities.get(change.address)
    if isinstance(change, Create):
        return "it is recorded as ours again, so a later run created it." if record else ""
    if record is None or record.remote_id != change.remote_id:
        return "it is no longer ours under this name and id."
    if isinstance(change, Delete):
        return "it is protected now." if record.protected else ""
    if hidden := _unreadable_names(change.address, record):
        return f"it holds {hidden} now, which a write would remove and which cannot be read."
    return ""


def undo_as_desired(plan: Plan, recorded: Recorded) -> Desired:
    """Return what an undo sends, as entities. `recorded` is what is recorded now.

    What is set back stays ours where it was ours before; the rest of the record stays as it is.
    """
    entities = {}
    for change in plan.changes:
        if isinstance(change, Create):
            # Its fields are not ours afterwards: else a manifest without them would clear them (rule A11).
            entities[change.address] = Entity(
                change.address, change.fields, Place(change.place), unowned_paths=frozenset(change.fields)
            )
        elif isinstance(change, Update) and change.address in recorded.entities:
            entities[change.address] = _entity_of_update(change, recorded.entities[change.address])
    return Desired(entities, frozenset(_top_scopes(plan)))


def _top_scopes(plan: Plan) -> Iterator[Scope]:
    """Yield the scopes of a plan's workspaces; what belongs to the company is in one workspace only."""
    for one in plan.target.workspaces:
        for name, kind in KINDS.items():
            if not kind.parent and (not kind.company or one.alias == "default"):
                yield Scope(name, one.alias)


def _entity_of_update(change: Update, record: RecordedEntity) -> Entity:
    changed: dict[str, Scalar] = {
        field.path: "" if field.after is None else field.after for field in change.fields
    }
    rest = {path: value for path, value in record.sent.items() if path not in changed}
    return Entity(
        change.address,
        {**rest, **changed},
        Place(change.place),
        # Masks of secrets are among the rest: what is ignored is kept in the record, and never compared.
        Controls(protect=record.protected, ignore=frozenset(rest)),
        unowned_paths=frozenset(field.path for field in change.fields if field.cause == "given back"),
    )
