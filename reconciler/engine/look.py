"""The look right before every write: is everything still as the plan saw it?

A scan suggests and never decides (planning rule R2). Only GET here. A difference raises `NotDone`, which says
what it means for the change; nothing is written.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from reconciler.core.compare.bodies import find_unusable_secrets
from reconciler.core.compare.evidence import ListSays, Presence, describe_reuse, find_reuse, judge_absence
from reconciler.core.compare.identity import fields_beside, may_be_same, search_texts
from reconciler.core.compare.match import shared_identity
from reconciler.core.compare.normalize import flatten_body, redact_for_plan
from reconciler.core.text import trim_edges
from reconciler.engine.session import NotDone, Session
from reconciler.errors import NotFound, ServiceError, Unauthorized
from reconciler.model.address import Address, parse_address
from reconciler.model.documents import Fields
from reconciler.model.kind import Key
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.plans import Change, Create, Delete, Update
from reconciler.model.snapshots import Entity
from reconciler.service.paging import Found, Query, remote_id

PLAN_AGAIN = "plan again, and review what it shows"
NOT_CARRIED = "E163"  # a secret that a look does not show
names_max = 5  # names of fields in one sentence


class LookMatch(Struct, frozen=True):
    """A live entity that is the declared one, and the identity by which it is."""

    found: Found
    by: str


def count_look_calls(run: Session, change: Change) -> int:
    """Return how many calls the look before a change usually takes: their turns are taken together."""
    if not isinstance(change, Create) or KINDS[change.address.kind].parent:
        return 1
    return max(1, len(_usable_keys(run, run.desired.entities[change.address])))


def _usable_keys(run: Session, entity: Entity) -> list[Key]:
    return [key for key in run.rules.keys(entity.address.kind) if all(entity.fields.get(p) for p in key)]


async def check_absent(run: Session, entity: Entity, parent_id: str) -> None:
    """Raise NotDone where a live entity is this one."""
    hits = await find_matches(run, entity, parent_id)
    if len(hits) == 1:
        what = f"one with the same {hits[0].by} exists now (id {hits[0].found.remote_id}); nothing was sent."
        raise NotDone("conflict", what, "plan again: the new plan adopts it")
    if hits:
        ids = ", ".join(sorted(hit.found.remote_id for hit in hits))
        what = f"{len(hits)} matching entities exist now (ids {ids}); nothing was sent."
        raise NotDone("conflict", what, "keep one of them at the service, then plan again")


async def read_unchanged(run: Session, change: Update, parent_id: str) -> Found:
    """Return the entity as it is now. Raises NotDone where a field to change is not as planned."""
    found = await read_if_there(run, change, parent_id)
    if found is None:
        raise make_conflict("it no longer exists; nothing was sent.")
    kind = change.address.kind
    now = read_as_planned(run, kind, found.body)
    _check_not_reused(run, change, found, "nothing was sent")
    # A mark of another owner means hands off, also one that is newer than the plan (docs/planning.md, X).
    mark = trim_edges(str(now.get(run.rules.mark_of(kind), "")))
    if mark and not mark.startswith(f"{run.rules.stack}/"):
        raise make_conflict("it carries the mark of another owner now; nothing was sent.")
    moved = [
        field.path
        for field in change.fields
        if field.path not in KINDS[kind].write_only and now.get(field.path) != field.before
    ]
    if moved:
        raise make_conflict(f"{join_field_names(moved)} changed since the plan; nothing was sent.")
    if change.adopts and not shared_identity(
        run.desired.entities[change.address].fields, flatten_body(kind, found.body), run.rules.keys(kind)
    ):
        raise make_conflict("it is no longer the entity that the plan would adopt; nothing was sent.")
    return found


def check_secrets_carried(run: Session, entity: Entity, change: Update, found: Found) -> None:
    """Raise NotDone where a PUT of what was found would lose an undeclared secret."""
    unusable = list(find_unusable_secrets(found.body, entity, change, run.shared_secrets))
    if unusable:
        what = " and ".join(f"{one.path} {one.why}" for one in unusable)
        step = f"declare {unusable[0].path}, which every write then sends, or change it at the service"
        raise NotDone(
            "conflict", f"{what}, and a write would lose it [{NOT_CARRIED}]; nothing was sent.", step
        )


async def check_untouched(run: Session, change: Delete, parent_id: str) -> None:
    """Raise NotDone where the entity, or what is deleted with it, is not as the plan saw it; NotFound."""
    found = await read_entity(run, change.address, change.remote_id, parent_id)
    _check_not_reused(run, change, found, "nothing was deleted")
    before, unknown = dict(change.before), KINDS[change.address.kind].readable_secrets
    # A plan holds no undeclared secret, so that one is not compared.
    now = {
        path: value
        for path, value in read_as_planned(run, change.address.kind, found.body).items()
        if path in before or path not in unknown
    }
    # All fields, not only ours: a person who edited one did not expect the entity to be deleted.
    if now != before:
        moved = sorted(path for path in now.keys() | before if now.get(path) != before.get(path))
        raise make_conflict(f"{join_field_names(moved)} changed since the plan; nothing was deleted.")
    _check_no_new_child(run, change, found)
    if change.keeps:
        await _check_kept_is_there(run, change, found, parent_id)


def _check_not_reused(run: Session, change: Update | Delete, found: Found, left: str) -> None:
    """Raise NotDone, for this entity alone, where a recorded id is another entity's by now (M9).

    The plan may not have seen it: a service that moves no time of change shows it to this look first.
    """
    address, record = change.address, run.records.get(change.address)
    if record is None or record.remote_id != change.remote_id or str(address) in run.plan.options.confirmed:
        return
    entity, keys = run.desired.entities.get(address), run.rules.identity.of(address.kind)
    reuse = find_reuse(
        address,
        record,
        flatten_body(address.kind, found.body),
        entity.fields if entity and isinstance(change, Update) else None,
        keys=keys,
        salt=run.context.store.salt,
    )
    if reuse is not None:
        what, step = describe_reuse(address, change.remote_id, reuse, keys)
        raise NotDone("conflict", f"{what}; {left}.", step)


async def _check_kept_is_there(run: Session, change: Delete, duplicate: Found, parent_id: str) -> None:
    """Raise NotDone unless the entity that stays is live, and still the same by an identity."""
    kind, stays = change.address.kind, f"the entity that was to be kept ({change.keeps})"
    try:
        kept = await read_entity(run, change.address, change.keeps, parent_id)
    except NotFound:
        raise make_conflict(f"{stays} no longer exists; nothing was deleted.") from None
    # Not by our mark: a copy may carry it too.
    if not shared_identity(
        flatten_body(kind, kept.body), flatten_body(kind, duplicate.body), run.rules.identity.of(kind)
    ):
        raise make_conflict(f"{stays} is now another entity; nothing was deleted.")


def make_conflict(what: str) -> NotDone:
    """Return the conflict of a change whose entity is not as the plan saw it."""
    return NotDone("conflict", what, PLAN_AGAIN)


class SeveralMatches(NotDone):
    """Several live entities are the declared one: no look can tell which of them a write of ours made."""


class ContactGone(NotDone):
    """The contact of a device is gone, and the device with it."""


async def read_if_there(run: Session, change: Update | Delete, parent_id: str) -> Found | None:
    """Return the whole live entity of a change, or None where it is gone."""
    try:
        return await read_entity(run, change.address, change.remote_id, parent_id)
    except NotFound:
        return None


async def read_entity(run: Session, address: Address, one: str, parent_id: str) -> Found:
    """Return a whole live entity. Raises NotFound."""
    return await run.collection(address).get(one, workspace=run.workspace(address), parent=parent_id)


async def judge_missing(
    run: Session, address: Address, one: str, parent_id: str, seen: Fields, *, twice: bool = False
) -> Presence:
    """Return whether an entity that a look at its id did not find is gone, by its list (M8).

    `seen` are its last known fields: the list is searched by each identity in them, and read completely where
    there is none. `twice`: it was not found a settle window ago either. Raises Unauthorized.
    """
    return judge_absence("absent", await _search_list(run, address, one, parent_id, seen), twice=twice)


async def _search_list(run: Session, address: Address, one: str, parent_id: str, seen: Fields) -> ListSays:
    """Return what the list, for a device the document of its contact, says about an id."""
    collection, kind = run.collection(address), KINDS[address.kind]
    workspace = run.workspace(address)
    try:
        if kind.parent:
            rows = [await collection.list(workspace=workspace, parent=parent_id)]
        else:
            filters = _build_recorded_filters(run, address, seen) or [{}]
            rows = [await collection.search(Query(each), workspace=workspace) for each in filters]
    except Unauthorized:
        raise
    except NotFound:
        # Without its contact there is no device; whether the contact is gone is asked in the same way.
        return await _search_parent_list(run, address, parent_id) if kind.parent else "absent"
    except ServiceError:
        return "unread"
    if any(found.remote_id == one for each in rows for found in each):
        return "shows"
    return "lacks" if all(each.complete for each in rows) else "unread"


async def _search_parent_list(run: Session, address: Address, parent_id: str) -> ListSays:
    above = address.above
    if above is None:
        return "unread"
    record = run.records.get(above)
    seen = {**record.sent, **record.shown} if record else {}
    said = await _search_list(run, above, parent_id, "", seen)
    # The contact is there, and its document was not: that proves nothing about its devices.
    return "absent" if said == "shows" else said


def _build_recorded_filters(run: Session, address: Address, seen: Fields) -> list[dict[str, str]]:
    """Return a filter for every identity of an entity, as recorded and as last seen."""
    record = run.records.get(address)
    looks = [seen, *((record.shown, record.sent) if record else ())]
    keys = run.rules.identity.of(address.kind)
    found = [
        {path: str(look[path]).strip() for path in key}
        for look in looks
        for key in keys
        if all(look.get(path) for path in key)
    ]
    return [one for at, one in enumerate(found) if one not in found[:at]]


def read_as_planned(run: Session, kind: str, body: Mapping[str, Any]) -> Fields:
    """Return a body in the form that the plan's values have."""
    return redact_for_plan(kind, flatten_body(kind, body), run.plan.salt)


async def find_matches(run: Session, entity: Entity, parent_id: str) -> tuple[LookMatch, ...]:
    """Return every live entity that is this one by any of its identities, compared exactly.

    Raises NotDone where it has no identity to search by, or its contact is gone.
    """
    if KINDS[entity.address.kind].parent:
        return await _find_child_matches(run, entity, parent_id)
    keys = _usable_keys(run, entity)
    if not keys:
        what = "it has no identity field, so it cannot be recognized; nothing was sent."
        raise NotDone("failed", what, "declare an identity field, or name another one in the settings")
    hits: dict[str, LookMatch] = {}
    for key in keys:
        # The service's search may be loose: every hit is compared again, exactly.
        for found in await search_rows(run, entity.address, search_texts(key, entity.fields), key):
            if found.remote_id not in hits:
                hits |= {hit.found.remote_id: hit for hit in await _confirm_match(run, entity, key, found)}
    return tuple(hits.values())


async def search_rows(
    run: Session, address: Address, filters: Mapping[str, str], key: Key = ()
) -> tuple[Found, ...]:
    """Return all rows whose fields contain these texts, with the fields of the filters, or of `key`.

    Raises NotDone where rows may be missing.
    """
    # A row that does not show what it was found by would have to be looked at whole.
    paths = (*(key or filters), *fields_beside(key)) if KINDS[address.kind].brief else ()
    plain = tuple(dict.fromkeys(path for path in paths if "." not in path))
    query = Query(filters, plain)
    rows = await run.collection(address).search(query, workspace=run.workspace(address))
    if not rows.complete:
        # A row that slid to another page may be the one: created again, it would exist twice.
        what = f"it is not known whether it exists ({rows.trouble})."
        raise NotDone("failed", what, "run the command again when fewer writes are under way there")
    return rows


async def _confirm_match(run: Session, entity: Entity, key: Key, row: Found) -> tuple[LookMatch, ...]:
    """Return the row as a match if it is the entity; one that does not show this key is looked at by id."""
    keys = run.rules.keys(entity.address.kind)
    fields = flatten_body(entity.address.kind, row.body)
    by = shared_identity(entity.fields, fields, keys)
    if not by and may_be_same(key, entity.fields, fields):
        try:
            row = await read_entity(run, entity.address, row.remote_id, "")
        except NotFound:
            # Created again because of one answer that does not find it, it would exist twice.
            what = (
                f"it is unclear whether it exists: the list shows the id {row.remote_id}, but a read "
                "of this id fails"
            )
            raise NotDone("conflict", f"{what}; nothing was sent.", PLAN_AGAIN) from None
        by = shared_identity(entity.fields, flatten_body(entity.address.kind, row.body), keys)
    return (LookMatch(row, by),) if by else ()


async def _find_child_matches(run: Session, entity: Entity, parent_id: str) -> tuple[LookMatch, ...]:
    """Return the matches among the children of a contact: all are read, for no search finds one."""
    kind = entity.address.kind
    try:
        rows = await run.collection(entity.address).list(
            workspace=run.workspace(entity.address), parent=parent_id
        )
    except NotFound:
        what = "its contact no longer exists; nothing was sent."
        if entity.address.above and await _search_parent_list(run, entity.address, parent_id) == "lacks":
            raise ContactGone("conflict", what, PLAN_AGAIN) from None
        what = "a read of its contact does not find it, but the list may still show it; nothing was sent."
        raise NotDone("conflict", what, PLAN_AGAIN) from None
    keys = run.rules.keys(kind)
    hits = ((row, shared_identity(entity.fields, flatten_body(kind, row.body), keys)) for row in rows)
    return tuple(LookMatch(row, by) for row, by in hits if by)


def _check_no_new_child(run: Session, change: Delete, found: Found) -> None:
    """Raise NotDone where the contact has a device that the plan did not show going with it."""
    recorded = (run.records.get(address) for address in map(parse_address, change.cascades) if address)
    expected = set(change.cascades) | {record.remote_id for record in recorded if record}
    for kind in child_kinds(change.address.kind):
        rows = found.body.get(kind.rows_key)
        for row in rows if isinstance(rows, list) else ():
            # A plan names one that nobody declared by the first field of its headline.
            if (
                isinstance(row, dict)
                and not {remote_id(row, kind.segment), row.get(kind.headline[0])} & expected
            ):
                raise make_conflict(f"it has a {kind.name} that the plan does not show; nothing was deleted.")


def join_field_names(paths: list[str]) -> str:
    """Return some names of fields as one phrase, without values: these are personal data."""
    more = len(paths) - names_max
    return ", ".join(paths[:names_max]) + (f" and {more} more" if more > 0 else "")
