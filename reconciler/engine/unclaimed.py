"""Who is nobody's, and may be what a create in doubt has made under another identity.

    by its names    a search, where the lists of a kind tell what two of the same share
    by its list     what is as recent as the create, where the list comes in order of change; else all of it

Only GET here. Whether somebody may be it is judged in core/compare/readback.py; what follows is settle.py's.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from reconciler.core.compare.match import shared_identity
from reconciler.core.compare.normalize import flatten_body, observe_entity, parse_instant
from reconciler.core.compare.readback import is_older_than_request, may_have_created
from reconciler.core.runs import ticket
from reconciler.engine import look
from reconciler.engine.session import NotDone, Session
from reconciler.errors import Malformed, NotFound, Rejected
from reconciler.model.address import Address
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Entity, LiveEntity, Scope
from reconciler.service.client import Found
from reconciler.service.paging import Page, Query
from reconciler.service.profile import load_profile

# Seconds that a clock may have been set by since a create was sent.
clock_margin_s = 3600.0
# Within a run time only goes on; but the service may date a change by the clock of another machine.
_run_margin_s = 60.0

# How far is looked: by names alone; also in lists that are short or come in order of change; in any list.
SearchReach = Literal["names", "recent", "list"]


@dataclass(slots=True)
class Listings:
    """Lists that one look at everything in doubt has read, each with the seconds that it goes back."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    read: dict[tuple[Scope, str], tuple[float, tuple[Found, ...]]] = field(default_factory=dict)


async def find_unclaimed(
    run: Session,
    entity: Entity,
    parent_id: str,
    *,
    within_s: float,
    reach: SearchReach,
    listings: Listings | None = None,
) -> tuple[str, ...]:
    """Return the ids of what a create may have made that was sent so long ago, in order; nobody has them.

    Not whom the manifest declares by now: she is adopted. `listings` may be shared by looks that begin when
    nothing of what they are about can land any more. Raises NotDone where a list could not be read whole.
    """
    margin_s = _run_margin_s if reach == "recent" else clock_margin_s
    found = await _find_namesakes(run, entity, parent_id, within_s=within_s + clock_margin_s)
    if found or not _is_list_read(run, entity.address, reach):
        return found
    # Whole hours: creates that were sent one after the other share a list.
    back_s = within_s + margin_s if listings is None else ceil(within_s / 3600) * 3600 + margin_s
    rows = await _read_list_once(run, entity, parent_id, back_s, listings or Listings())
    return await _select_possible(run, entity, parent_id, rows, within_s=within_s + margin_s)


async def _find_namesakes(
    run: Session, entity: Entity, parent_id: str, *, within_s: float
) -> tuple[str, ...]:
    """Return who has the same names, where a list tells them of everybody."""
    kind = KINDS[entity.address.kind]
    if not kind.listing.alike or any(not entity.fields.get(path) for path in kind.listing.alike):
        return ()
    filters = {path: str(entity.fields[path]).strip() for path in kind.listing.alike}
    rows = await look.search_rows(run, entity.address, filters)
    alike = [
        row
        for row in rows
        if shared_identity(entity.fields, flatten_body(kind.name, row.body), (kind.listing.alike,))
    ]
    return await _select_possible(run, entity, parent_id, alike, within_s=within_s)


async def _select_possible(
    run: Session, entity: Entity, parent_id: str, rows: Sequence[Found], *, within_s: float
) -> tuple[str, ...]:
    """Return which of these rows may be what was made, each looked at whole where rows are brief."""
    address, kind = entity.address, KINDS[entity.address.kind]
    held = {one.remote_id for one in run.records.values() if Scope.of(one.address) == Scope.of(address)}
    listed_alone: list[str] = []
    whole: list[LiveEntity] = []
    for row in rows:
        if row.remote_id in held or run.id_conflict(address, row.remote_id):
            continue
        seen = _observe_row(address, row, parent_id)
        if kind.tickets and ticket.is_ticket_name(seen.fields.get("name")):
            continue
        if kind.brief and _is_possible_row(run, entity, seen, within_s=within_s):
            try:
                found = await look.read_entity(run, address, row.remote_id, parent_id)
            except NotFound:
                listed_alone.append(row.remote_id)  # the list shows it: that is enough to ask a person
                continue
            seen = _observe_row(address, found, parent_id)
        if _is_possible_row(run, entity, seen, within_s=within_s):
            whole.append(seen)
    possible = [one for one in _drop_declared(run, address, whole) if not is_declared_now(run, one, address)]
    return tuple(sorted([*listed_alone, *(one.remote_id for one in possible)]))


def _is_possible_row(run: Session, entity: Entity, row: LiveEntity, *, within_s: float) -> bool:
    if is_older_than_request(row.modified, row.seen, within_s=within_s):
        return False
    return may_have_created(
        row.kind,
        entity.fields,
        row.fields,
        keys=run.rules.keys(row.kind),
        salt=run.plan.salt,
        fresh=parse_instant(row.modified) is not None,
    )


def _drop_declared(run: Session, address: Address, rows: Sequence[LiveEntity]) -> list[LiveEntity]:
    """Return those that are not the only one which another entry declares that has no record.

    Two that show what one entry declares are not both hers.
    """
    keys, hers = run.rules.keys(address.kind), set[str]()
    for one in run.desired.entities.values():
        other = one.address
        if other in run.records or other == address or Scope.of(other) != Scope.of(address):
            continue
        if other.above == address.above:
            hits = [row.remote_id for row in rows if shared_identity(one.fields, row.fields, keys)]
            hers.update(hits if len(hits) == 1 else ())
    return [row for row in rows if row.remote_id not in hers]


def is_declared_now(run: Session, row: LiveEntity, address: Address) -> bool:
    """Whether somebody has written the identity that is shown into the manifest since a create was sent."""
    now = run.context.desired.entities.get(address)
    return now is not None and bool(shared_identity(now.fields, row.fields, run.rules.keys(row.kind)))


def _observe_row(address: Address, row: Found, parent_id: str) -> LiveEntity:
    return observe_entity(
        address.kind, address.workspace, row.remote_id, row.body, seen=row.date, parent_id=parent_id
    )


# The list of a kind, as far back as is needed.


def _lists_in_order(run: Session, kind: Kind) -> bool:
    """Whether the deployment lists a kind in order of change."""
    profile = load_profile(run.context.settings.service.profile)
    return bool(kind.listing.changed and getattr(profile, f"{kind.name}_feed", False))


def _is_list_read(run: Session, address: Address, reach: SearchReach) -> bool:
    """Whether a list is read: a long one without an order only once what is in doubt can land no more."""
    kind = KINDS[address.kind]
    return reach == "list" or (reach == "recent" and (not kind.brief or _lists_in_order(run, kind)))


async def _read_list_once(
    run: Session, entity: Entity, parent_id: str, back_s: float, listings: Listings
) -> tuple[Found, ...]:
    """Return the rows of the list that are at most so many seconds old; of any age without an order."""
    key = (Scope.of(entity.address), parent_id)
    async with listings.lock:
        known = listings.read.get(key)
        if known is None or known[0] < back_s:
            known = back_s, await _read_list_rows(run, entity, parent_id, back_s)
            listings.read[key] = known
    return known[1]


async def _read_list_rows(run: Session, entity: Entity, parent_id: str, back_s: float) -> tuple[Found, ...]:
    address = entity.address
    kind, collection = KINDS[address.kind], run.collection(address)
    workspace = run.workspace(address)
    # What any of the scope declares: looks that share a list are about several entities.
    declared = [
        one.fields for one in run.desired.entities.values() if Scope.of(one.address) == Scope.of(address)
    ]
    plain = {path for fields in declared for path in fields if "." not in path} - kind.write_only
    fields = tuple(sorted(kind.wire.get(path, path) for path in plain)) if kind.brief else ()
    if kind.parent:
        try:
            rows = await collection.list(workspace=workspace, parent=parent_id)
        except NotFound:
            return ()  # look.same has judged what is said of the parent
        return tuple(rows)
    if _lists_in_order(run, kind):
        spare = tuple(name for name in kind.listing.spare if name not in fields)
        query = Query(fields=(*fields, *spare), sort=f"-{kind.listing.changed}")
        try:
            async with aclosing(collection.pages(query, workspace=workspace, window=1)) as pages:
                return await _take_recent_rows(pages, kind, back_s)
        except (Malformed, Rejected):
            pass  # it does not list in this order: all of the list tells the same
    every = await collection.search(Query(fields=fields), workspace=workspace)
    _check_list_complete(every.trouble)
    return tuple(every)


async def _take_recent_rows(pages: AsyncIterator[Page], kind: Kind, back_s: float) -> tuple[Found, ...]:
    """Return rows until the first page that ends before `back_s`, in order of change; else all of them."""
    rows: list[Found] = []
    ordered, before = True, None
    async for page in pages:
        _check_list_complete(page.trouble)
        for row in page.rows:
            changed = str(row.body.get(kind.listing.changed) or "")
            now = parse_instant(changed)
            # A row without a time, or newer than the one before it: this is not the order that was asked for.
            ordered = ordered and now is not None and (before is None or now <= before)
            before = now
            rows.append(row)
        if ordered and rows and is_older_than_request(changed, rows[-1].date, within_s=back_s):
            break
    return tuple(rows)


def _check_list_complete(trouble: str) -> None:
    if trouble:
        what = f"whether it is there under another identity cannot be told ({trouble})."
        raise NotDone("in doubt", what, "run it again when less is being written there")
