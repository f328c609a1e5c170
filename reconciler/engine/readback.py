"""Reads back after a write, and says what that proves: success is what reads back (planning rule A3).

    as it was sent                         taken, recorded
    as it was before                       looked at once more after the settle window; then *not taken*
    a new entity that is not the one sent  in doubt, never recorded; looked for by its own identity

Only GET here. core/compare/readback.py judges the fields.
"""

from collections.abc import Collection, Iterable, Mapping
from sys import intern
from typing import Any

from msgspec import Struct, structs

from reconciler.core.compare import readback
from reconciler.core.compare.bodies import find_lost_secrets
from reconciler.core.compare.normalize import flatten_body, observe_entity, reliable_modified
from reconciler.core.compare.readback import FieldReadings, MadeAs, is_older_than_request, judge_created
from reconciler.core.planning.records import keep_proven, make_record
from reconciler.core.text import parse_instant
from reconciler.engine import look
from reconciler.engine.session import Attempt, Session
from reconciler.errors import InDoubt, ServiceError
from reconciler.model.documents import Fields
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Change, Update
from reconciler.model.runs import FieldResult
from reconciler.model.snapshots import Entity, LiveEntity, RecordedEntity
from reconciler.service.paging import Found, remote_id

SHOWN_AGAIN = "find out why the service does not store it; reconciler plan shows the difference again"
NOT_SHOWN_AGAIN = "E164"
GIVE_AGAIN = "check the secret at the service at once; declare it and apply, or let its owner set it again"


class Proof(Struct, frozen=True):
    """What a read-back proves: the record that it allows, and what it says of the fields.

    `row` is what was read. `beside` names what others changed between the look and the read-back. `lost` are
    secrets that were carried over, and are not shown as they were before.
    """

    record: RecordedEntity
    reading: FieldReadings
    row: LiveEntity
    beside: str = ""
    lost: tuple[FieldResult, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every field was taken, and no carried-over secret was lost."""
        return not (self.reading.refused or self.lost)

    @property
    def fields(self) -> tuple[FieldResult, ...]:
        """The fields whose read-back differs from what was sent, by path."""
        return tuple(sorted((*self.reading.refused, *self.reading.rewritten, *self.lost)))

    def describe(self) -> str:
        """Return what a person should know, without any value."""
        reading = self.reading
        return join_sentences(
            describe_not_taken(reading.refused),
            describe_lost_secrets(self.lost),
            _describe_rewritten(reading.rewritten),
            self.beside,
        )


def join_sentences(*said: str) -> str:
    """Return these sentences as one text; empty ones are left out."""
    return " ".join(filter(None, said))


def describe_not_taken(fields: Iterable[FieldResult]) -> str:
    """Name the fields that the service did not take."""
    paths = [field.path for field in fields]
    return f"not stored by the service: {look.join_field_names(paths)}." if paths else ""


def describe_lost_secrets(fields: Iterable[FieldResult]) -> str:
    """Name the secrets that a write has carried over, and that are not shown as they were before it."""
    paths = [field.path for field in fields]
    if not paths:
        return ""
    named = look.join_field_names(paths)
    return f"{named} is not shown as it was before the write, and may be lost [{NOT_SHOWN_AGAIN}]."


def report_lost_secrets(
    run: Session, change: Update, looked: Found | None, found: Found
) -> tuple[FieldResult, ...]:
    """Return the undeclared secrets that a write has lost, with masks of their values.

    () without a look of this run: nothing else knows them.
    """
    if looked is None:
        return ()
    entity, kind = run.desired.entities[change.address], change.address.kind
    before, after = look.read_as_planned(run, kind, looked.body), look.read_as_planned(run, kind, found.body)
    paths = find_lost_secrets(looked.body, found.body, entity, change)
    return tuple(FieldResult(path, before[path], after.get(path)) for path in paths)


def _describe_rewritten(fields: Iterable[FieldResult]) -> str:
    paths = [field.path for field in fields]
    return f"The service writes {look.join_field_names(paths)} in its own way." if paths else ""


def prove_create(run: Session, entity: Entity, row: LiveEntity) -> Proof:
    """Return what a new entity proves: a declared field that it lacks was not taken."""
    reading = readback.judge_read_back(
        row.kind, _drop_cleared(entity.fields), row.fields, before={}, salt=run.plan.salt
    )
    row = _share_texts(row, entity)
    record = make_record(entity, row, salt=run.context.store.salt, created=True)
    return Proof(_drop_from_record(record, {field.path for field in reading.refused}), reading, row)


def _share_texts(row: LiveEntity, entity: Entity) -> LiveEntity:
    """Return the row with equal texts shared with the declaration: it stays in memory until the run ends."""
    ours = entity.fields
    fields = {
        intern(path): ours[path] if ours.get(path) == value else value for path, value in row.fields.items()
    }
    return structs.replace(row, fields=fields)


def prove_update(
    run: Session, change: Update, looked: Found | None, found: Found, parent_id: str, *, at_once: bool = True
) -> Proof:
    """Return what an updated entity proves, as it was `found`; `looked` is how it was before the write.

    Not read back `at_once`, a value that was not sent may be another writer's: then nothing follows from it.
    """
    entity, known = run.desired.entities[change.address], run.records.get(change.address)
    row = make_live_row(change, found, parent_id)
    before = make_live_row(change, looked, parent_id) if looked else None
    reading = readback.judge_read_back(
        row.kind,
        collect_sent_fields(change, entity),
        row.fields,
        before=before.fields if before and at_once else None,
        salt=run.plan.salt,
        touched=before is None or _was_touched(before, row),
    )
    refused = {field.path for field in reading.refused}
    record = make_record(entity, row, salt=run.context.store.salt, before=known)
    # A value that another writer set at the same time reads back too: it must not be recorded as sent by us.
    kept = keep_proven(record, known, taken=reading.taken, refused=refused)
    lost = report_lost_secrets(run, change, looked, found)
    beside = describe_outside_changes(looked, found, change, besides={field.path for field in lost})
    return Proof(kept, reading, row, beside, lost)


def collect_sent_fields(change: Update, entity: Entity) -> Fields:
    """Return the fields that an update writes, in clear; "" where it clears one."""
    return {
        field.path: str(field.after) if field.cause == "reactivated" else entity.fields.get(field.path, "")
        for field in change.fields
    }


async def confirm_created(run: Session, attempt: Attempt, entity: Entity, made: Found) -> LiveEntity:
    """Return the new entity of a create, once it is seen to be the one that was sent.

    The answer is enough where it shows its own id, every identity and every field; else the entity is read.
    Only its identity may read back in another form (core/compare/readback.py). Raises InDoubt where the
    service names or shows another entity.
    """
    if why := run.id_conflict(entity.address, made.remote_id):
        raise InDoubt(f"the answer to the create names an entity that {why} (id {made.remote_id}).")
    # From now on no run sends it again without a person's word, unless nothing is there under this id.
    attempt.named = made.remote_id
    row = make_live_row(attempt.change, made, attempt.parent_id)
    keys = run.rules.keys(row.kind)
    named = remote_id(made.body, KINDS[row.kind].segment) == made.remote_id
    found = readback.judge_identity(row.kind, entity.fields, row.fields, keys)
    passed_s = run.context.timing.monotonic() - attempt.began
    if found == "other" and judge_made(run, entity, row, within_s=passed_s) == "other":
        # Not even read: this is the answer for another entity, whichever id it names.
        raise InDoubt(f"the answer to the create shows another entity (id {made.remote_id}).")
    # One call less for each create of a service that answers with what it made.
    if named and found == "same" and prove_create(run, entity, row).complete:
        return row
    try:
        read = await look.read_entity(run, entity.address, made.remote_id, attempt.parent_id)
    except ServiceError as error:
        raise InDoubt(
            f"the service says that it was created, but it could not be read back: {error}", next=error.next
        ) from None
    row = make_live_row(attempt.change, read, attempt.parent_id)
    passed_s = run.context.timing.monotonic() - attempt.began
    if judge_made(run, entity, row, within_s=passed_s) == "other":
        raise InDoubt(f"the answer to the create names another entity (id {made.remote_id}).")
    return row


def judge_made(run: Session, entity: Entity, row: LiveEntity, *, within_s: float) -> MadeAs:
    """Return what a live entity is to a create that was sent at most `within_s` seconds ago."""
    return judge_created(
        row.kind,
        entity.fields,
        prove_create(run, entity, row).reading,
        row.fields,
        keys=run.rules.keys(row.kind),
        of_another=run.is_of_another(entity.address, row.fields),
        old=is_older_than_request(row.modified, row.seen, within_s=within_s),
    )


def make_live_row(change: Change, found: Found, parent_id: str) -> LiveEntity:
    """Return what the service shows of a change as a live entity."""
    kind, workspace = change.address.kind, change.address.workspace
    return observe_entity(kind, workspace, found.remote_id, found.body, seen=found.date, parent_id=parent_id)


def describe_outside_changes(
    before: Found | None, after: Found, change: Change, *, besides: Collection[str] = ()
) -> str:
    """Name what others changed between the look and the read-back, nested values too.

    Without a look by this run nothing can be named. Fields in `besides` are reported elsewhere.
    """
    if before is None or not isinstance(change, Update):
        return ""
    kind = KINDS[change.address.kind]
    ours = {*(field.path for field in change.fields), *besides}
    one, other = flatten_body(kind.name, before.body), flatten_body(kind.name, after.body)
    paths = {path for path in one.keys() | other if not _is_same_value(kind.name, path, one, other)} - ours
    known = kind.server_owned | set(kind.wire.values())
    paths |= {key for key in _find_nested_changes(before.body, after.body) if key not in known}
    return f"somebody else changed at the same time: {look.join_field_names(sorted(paths))}." if paths else ""


def _is_same_value(kind: str, path: str, one: Fields, other: Fields) -> bool:
    return readback.reads_back_as(kind, path, one.get(path, ""), other.get(path, ""))


def _find_nested_changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    """Return the keys whose nested values differ; flat values are compared in their normal form."""
    keys = {key for key in one.keys() | other if one.get(key) != other.get(key)}
    return {key for key in keys if isinstance(one.get(key) or other.get(key), (list, dict))}


def _drop_cleared(fields: Fields) -> Fields:
    """Return the fields without cleared ones: a new entity has nothing to clear."""
    return {path: value for path, value in fields.items() if value != ""}


def _was_touched(before: LiveEntity, after: LiveEntity) -> bool:
    """Whether the service's time of change moved, or cannot tell."""
    # It has whole seconds, so one of the very second of the look may stand for two changes.
    settled = reliable_modified(before.modified, before.seen)
    return not settled or parse_instant(settled) != parse_instant(after.modified)


def _drop_from_record(record: RecordedEntity, paths: Collection[str]) -> RecordedEntity:
    sent = {path: value for path, value in record.sent.items() if path not in paths}
    shown = {path: value for path, value in record.shown.items() if path not in paths}
    return structs.replace(record, sent=sent, shown=shown)
