"""Records: what is remembered of an entity (what was sent, what the service showed), and the baseline."""

from collections import Counter
from collections.abc import Collection, Iterator

from msgspec import UNSET, Struct, UnsetType, structs

from reconciler.core.compare.diff import is_ignored_path
from reconciler.core.compare.normalize import digest_for_store, normalize_fields, reliable_modified
from reconciler.core.compare.readback import reads_back_as
from reconciler.core.planning.scopes import PlanContext, ScopePlan
from reconciler.core.planning.select import Selection
from reconciler.errors import InputError
from reconciler.model.address import Address
from reconciler.model.documents import Fields, Scalar
from reconciler.model.notices import Notice
from reconciler.model.plans import (
    SECRET_NEEDED,
    Adoption,
    Create,
    Elsewhere,
    Plan,
    RecordChange,
    RecordChangeKind,
    Target,
    Update,
    action_of,
)
from reconciler.model.snapshots import (
    Desired,
    ElsewhereRecords,
    Entity,
    Live,
    LiveEntity,
    Recorded,
    RecordedEntity,
)


def make_record(
    entity: Entity, row: LiveEntity, *, salt: str, before: RecordedEntity | None = None, created: bool = False
) -> RecordedEntity:
    """Return what to remember of `row`, which now is as `entity` declares.

    `salt` is the store's: secrets are remembered as digests. A path under `meta.ignore` is sent only
    when the entity is `created`; later it keeps what `before` says of it. Unowned paths are not remembered.
    """
    kind = entity.address.kind
    # Used on create only and then left to others: a later record must not claim that we sent it, or what
    # stands there would be drift (D2).
    spared = entity.controls.ignore and not created
    left = [path for path in entity.fields if is_ignored_path(entity, path)] if spared else []
    fields = (
        {path: value for path, value in entity.fields.items() if path not in left} if left else entity.fields
    )
    sent = dict(digest_for_store(kind, normalize_fields(kind, fields), salt))
    live = digest_for_store(kind, row.fields, salt)
    shown = {path: live[path] for path in sent if path in live}
    for path in left:
        if before and path in before.sent:
            _put_back(sent, before.sent, path)
            _put_back(shown, before.shown, path)
    for path in entity.unowned_paths:
        sent.pop(path, None)
        shown.pop(path, None)
    modified, protected = reliable_modified(row.modified, row.seen), entity.controls.protect
    return RecordedEntity(entity.address, row.remote_id, row.parent_id, sent, shown, modified, protected)


# Ids that are remembered of one address. Each stands for one time that it seemed gone and was made again.
earlier_max = 20


def trace_origin(
    record: RecordedEntity, before: RecordedEntity | None, *, adopted: str = ""
) -> RecordedEntity:
    """Return the record with what is known of where its entity came from.

    `before` is what was recorded under its address, `adopted` when the entity was adopted, "" where we made
    it. What we made under another id and lost sight of stays known as ours.
    """
    if before is None:
        return structs.replace(record, adopted=adopted)
    if before.remote_id == record.remote_id:
        return structs.replace(record, adopted=before.adopted, earlier=before.earlier, flaps=before.flaps)
    # T2: what we made and lost sight of is a duplicate of ours when it shows again. The ids of adopted
    # entities prove nothing of the kind.
    made = (*before.earlier, *(() if before.adopted else (before.remote_id,)))
    earlier = tuple(one for one in made if one != record.remote_id)[-earlier_max:]
    ours = record.remote_id in made
    return structs.replace(record, adopted="" if ours else adopted, earlier=earlier)


def keep_proven(
    record: RecordedEntity,
    before: RecordedEntity | None,
    *,
    taken: Collection[str] = (),
    refused: Collection[str] = (),
) -> RecordedEntity:
    """Return a record that claims as sent only what was `taken`, or what the service shows just so.

    What it shows otherwise, and did not show so before, somebody else has written: the next plan has to
    see it. `taken` are paths that were written and read back (core/compare/readback.py): there the service
    may write a value in its own way. `refused` paths keep what `before` says of them.
    """
    kind = record.address.kind
    old = before.sent if before else {}
    shown_before = before.shown if before else {}
    kept = {
        path: value
        for path, value in record.sent.items()
        if path in taken
        or reads_back_as(kind, path, value, record.shown.get(path, ""))
        # Known already as the service's way to write this value.
        or (old.get(path) == value and shown_before.get(path) == record.shown.get(path))
    }
    shown = {path: value for path, value in record.shown.items() if path in kept}
    for path in refused:
        _put_back(kept, old, path)
        _put_back(shown, shown_before, path)
    # What the record says of them may be older than the service's time of change.
    modified = "" if refused else record.modified
    return structs.replace(record, sent=kept, shown=shown, modified=modified)


def _put_back(now: dict[str, Scalar], before: Fields, path: str) -> None:
    now.pop(path, None)
    if path in before:
        now[path] = before[path]


class RefreshedRecord(Struct, frozen=True, gc=False):
    """A record that changes though nothing is written to the service, and what it is made from."""

    record: RecordedEntity
    entity: Entity
    row: LiveEntity


def refresh_records(
    plan: Plan, desired: Desired, live: Live, recorded: Recorded
) -> Iterator[RefreshedRecord]:
    """Yield the records that change though nothing is written to the service.

    Adoptions, renames, protection, fields that left the manifest, times of change that may now be
    relied upon: of everything that is live and as declared. What is changed, not acted on or not
    selected is not touched here.
    """
    # A contact may be in two workspaces under one id, and kinds may count their ids alike.
    rows = {(row.kind, row.workspace, row.remote_id): row for rows in live.entities.values() for row in rows}
    # A record that was renamed takes the place of one that its new name had before (rule M6).
    renamed = {new: recorded.entities[old] for old, new in plan.renames.items() if old in recorded.entities}
    held = {**recorded.entities, **renamed}
    adopted = {one.address: one.remote_id for one in plan.adoptions}
    settled = _addresses_not_kept(plan)
    selection = Selection(plan.options.only, plan.options.excluded)
    for address, entity in desired.entities.items():
        # A change that was not selected is still to be made: its record must not say that it was sent.
        if plan.options.adopt and address not in adopted:
            continue
        if address in settled or not selection.selects(address, entity.controls.tags):
            continue
        before = held.get(address)
        remote_id = adopted.get(address) or (before.remote_id if before else "")
        row = rows.get((address.kind, address.workspace, remote_id))
        if row is not None:
            record = make_record(entity, row, salt=recorded.salt, before=before)
            if plan.options.adopt:
                # What differs was not sent by us: the next plan has to show it as declared (D2).
                record = keep_proven(record, before)
            record = trace_origin(record, before, adopted=plan.created_at)
            # Or the second apply would write to the store, if not to the service (D5).
            if record != before:
                yield RefreshedRecord(record, entity, row)


def record_changes(
    entity: Entity, row: LiveEntity, before: RecordedEntity, salt: str
) -> Iterator[RecordChange]:
    """Yield what changes in the record of an entity that is live as declared, and decides later plans.

    That is protection, and which fields are ours with which value. A time of change, and what the service
    shows of a value that did not change, are refreshed on the way and are no work of their own.
    """
    record = make_record(entity, row, salt=salt, before=before)
    # X2: protection that is not recorded ends with its entry, so it is worth an apply.
    if record.protected != before.protected:
        word: RecordChangeKind = "protected" if record.protected else "no longer protected"
        yield RecordChange(record.address, word)
    paths = record.sent.keys() | before.sent.keys()
    moved = tuple(sorted(path for path in paths if record.sent.get(path) != before.sent.get(path)))
    if moved:
        yield RecordChange(record.address, "fields", moved)


def _addresses_not_kept(plan: Plan) -> set[Address]:
    # What is ambiguous or not ours is not acted on, in the store neither (M3). These two reasons are no such
    # thing: a disabled device is still reported (D4), what was taken over is shown once and forgotten (D2).
    left_alone = {skip.address for skip in plan.skips if skip.reason not in {"disabled", "taken over"}}
    # A change is recorded by its own step: a crash between record and call must not leave a record of what
    # never was.
    return left_alone | {change.address for change in plan.changes}


# --- Plans that only adopt (`reconciler adopt`) ---------------------------------------------------
#
# What is declared, live and not ours becomes ours as it is.
#
# Nothing is written to the service. What differs is left for an apply, and so is every other change.


def keep_only_adoptions(total: ScopePlan) -> ScopePlan:
    """Return the parts without what is not an adoption; an update that adopts becomes one, unwritten."""
    differing = (one for one in total.changes if isinstance(one, Update) and one.adopts)
    adopted = (Adoption(one.address, one.remote_id, one.adopts, one.parent_id) for one in differing)
    return structs.replace(
        total,
        changes=(),
        adoptions=(*total.adoptions, *adopted),
        # What a create lacks is said by the plan that would make it.
        skips=tuple(one for one in total.skips if one.reason not in SECRET_NEEDED),
        gone=(),
        records=(),
        renames=(),
    )


def count_postponed(total: ScopePlan) -> dict[str, int]:
    """Return how many changes are left for an apply, by action; those that an adoption does not make too."""
    return dict(sorted(Counter(map(action_of, total.changes)).items()))


# --- The baseline: of which workspaces there are records, and from which address of the service ---
#
#     nothing recorded and nothing applied  --> nothing to compare with: drift says so (unapplied)
#     another alias than before             --> the records go with the workspace's id; said (alias_notices)
#     recorded at another address           --> not ours until a person says that it is the same service
#
# Decisions over values. Reading the store is store/database.py; taking records over is engine/planning.py.


SAME_SERVICE = "--same-service"


def find_unapplied(across: PlanContext, desired: Desired, recorded: Recorded) -> tuple[str, ...] | UnsetType:
    """Return the workspaces with declared entities that this store has neither applied nor any record of.

    Of what is selected. UNSET where there are none.
    """
    new = recorded.unapplied
    concerned = (one for one in desired.entities.values() if one.address.workspace in new) if new else ()
    return tuple(sorted({one.address.workspace for one in concerned if across.selects(one)})) or UNSET


def alias_notices(recorded: Recorded) -> Iterator[Notice]:
    """Yield one notice for each workspace whose alias has changed, until an apply has recorded it."""
    for workspace_id, moved in sorted(recorded.aliases.items()):
        records = "1 record goes" if moved.records == 1 else f"{moved.records:,} records go"
        where = f"id {workspace_id}" if workspace_id else "the default one"
        what = (
            f"this workspace was called {moved.before} at the last apply, and has a new alias now; it "
            "is the same one "
            f"({where}), so its {records} with it."
        )
        step = "nothing to do if you changed the alias; if you mean another workspace, correct its id or name"
        yield Notice("workspace", moved.now, what, step)


def find_elsewhere(recorded: Recorded, live: Live, total: ScopePlan) -> tuple[Elsewhere, ...] | UnsetType:
    """Return what was recorded for this stack at other addresses and is not recorded here.

    Where anything is recorded here, only where ids of the service tell that it is the same one: a stack may
    have several services. UNSET where there is nothing.
    """
    if not recorded.elsewhere:
        return UNSET
    ours = {one.remote_id for one in recorded.entities.values()}
    seen = ours | {row.remote_id for rows in live.entities.values() for row in rows}
    made = {one.address for one in total.changes if isinstance(one, Create)}
    adopted = {one.remote_id for one in total.changes if isinstance(one, Update) and one.adopts}
    adopted |= {one.remote_id for one in total.adoptions}
    found = (_records_left(one, ours, seen, made, adopted) for one in recorded.elsewhere)
    left = tuple(one for one in found if one.records and (one.alike or not recorded.entities))
    return tuple(sorted(left, key=lambda one: one.origin)) or UNSET


def _records_left(
    one: ElsewhereRecords, ours: set[str], seen: set[str], made: set[Address], adopted: set[str]
) -> Elsewhere:
    left = {address: remote_id for address, remote_id in one.ids.items() if remote_id not in ours}
    alike = len(set(one.ids.values()) & seen)
    claimed = sum(1 for address, remote_id in left.items() if address in made or remote_id in adopted)
    return Elsewhere(one.origin, len(left), alike, claimed)


def choose_origin(recorded: Recorded, *, stack: str) -> str:
    """Return the address from which `--same-service` takes records over; "" where nothing is left to take.

    Raises InputError where several addresses may be meant: only one of them can be this service.
    """
    ours = {one.remote_id for one in recorded.entities.values()}
    left = [one for one in recorded.elsewhere if not ours.issuperset(one.ids.values())]
    alike = [one for one in left if not ours.isdisjoint(one.ids.values())]
    found = alike if len(alike) == 1 else left
    if len(found) > 1:
        where = ", ".join(f"{one.origin} ({len(one.ids):,})" for one in found)
        raise InputError(
            f"{SAME_SERVICE}: stack {stack} has records at several other addresses: {where}.",
            next="first set service.base_url to one of these addresses, and take over the records of "
            "the others "
            f"there ({SAME_SERVICE}); or keep one store for each service",
        )
    return found[0].origin if found else ""


def elsewhere_notices(found: tuple[Elsewhere, ...] | UnsetType, target: Target) -> Iterator[Notice]:
    """Yield one notice for each address at which records of this stack were left."""
    for one in found or ():
        records = "1 entity is" if one.records == 1 else f"{one.records:,} entities are"
        known = f", and {one.alike:,} of its ids are live here" if one.alike else ""
        what = (
            f"{records} recorded as ours at {one.origin}, but service.base_url is now "
            f"{target.origin}{known}. "
            "Nothing is deleted because of those records."
        )
        step = (
            f"if this is the same service: reconciler apply {SAME_SERVICE} (takes the records over); "
            "if it is another service, nothing to do"
        )
        yield Notice("origin", one.origin, what, step)
