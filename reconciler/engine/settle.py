"""Settles what is in doubt by looking, never by sending again (planning rule A9). Only GET here.

First the doubts of a run; then whether one write was carried out; then the search for an unclaimed entity
that a create in doubt may have made under another identity.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from math import ceil
from typing import Literal, assert_never

from msgspec import Struct, structs

from reconciler.core.compare.identity import identity_digests
from reconciler.core.compare.match import shared_identity
from reconciler.core.compare.normalize import flatten_body, observe_entity
from reconciler.core.compare.readback import is_older_than_request, may_have_created, reads_back_as
from reconciler.core.planning.records import keep_proven, make_record
from reconciler.core.runs import ticket
from reconciler.core.text import parse_instant
from reconciler.engine import look, readback
from reconciler.engine.readback import (
    GIVE_AGAIN,
    SHOWN_AGAIN,
    describe_lost_secrets,
    describe_not_taken,
    join_sentences,
    make_live_row,
)
from reconciler.engine.session import IN_DOUBT, Doubt, NotDone, Session, run_workers, share_queue
from reconciler.errors import Malformed, NotFound, ReconcilerError, Rejected
from reconciler.instrumentation import record_span, step_log
from reconciler.model.address import Address
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Change, Create, Delete, Update, action_of
from reconciler.model.runs import FieldResult, Outcome, Result
from reconciler.model.snapshots import Entity, LiveEntity, Scope
from reconciler.service.paging import Found, Page, Query
from reconciler.service.profile import load_profile
from reconciler.store.records import Batch

# --- The doubts of a run --------------------------------------------------------------------------
#
# A request can land late: looking at once and then sending again would still create two. So the run waits
# until it can land no more, looks once, and adopts what it finds or leaves it in doubt.


# How long to wait between two looks at the lock. Seconds: well within its lease.
slice_s = 60.0


async def settle_doubts(run: Session) -> tuple[Outcome, ...]:
    """Return the outcome of every doubt of the run: applied where it is found, else in doubt.

    Waits until none of them can land any more, then looks at each once. A run that has to end does neither:
    its doubts stay, and the store keeps the next plan from creating them again.
    """
    doubts = run.doubts
    results: dict[Address, Outcome] = {}

    async def look_at(queue: Iterator[Doubt]) -> None:
        for doubt in queue:
            results[doubt.attempt.change.address] = await _settle_doubt(run, doubt)

    # A look before the window is over would take a request that is under way for absent (A9).
    if doubts:
        with record_span("settle", in_doubt=len(doubts)):
            if await _wait_out_doubts(run):
                await run_workers(run, [look_at(queue) for queue in share_queue(run, doubts, run.may_look)])
    unseen = [doubt for doubt in doubts if doubt.attempt.change.address not in results]
    return (*results.values(), *(_leave_in_doubt(run, doubt) for doubt in unseen))


async def _wait_out_doubts(run: Session) -> bool:
    """Wait until the settle window of every doubt is over; false where the run may not look by then."""
    last = max(doubt.lost_at for doubt in run.doubts)
    try:
        return await wait_and_renew(run, last + run.context.limits.settle_s - run.context.timing.monotonic())
    except ReconcilerError:
        return False


async def wait_and_renew(run: Session, left_s: float) -> bool:
    """Wait so long, and return whether the run may still look. Raises LockHeld, StoreError."""
    if left_s > 0:
        step_log.info("waiting %.0f s: a request whose answer was lost may still be carried out", left_s)
    while left_s > 0 and run.may_look():
        await run.pause(min(left_s, slice_s))
        left_s -= slice_s
        # Renews the lease as well: a run that took the lock meanwhile would look and write at the same time.
        await run.ledger.check()
    return run.may_look()


async def _settle_doubt(run: Session, doubt: Doubt) -> Outcome:
    attempt, outcome = doubt.attempt, None
    try:
        passed_s = run.context.timing.monotonic() - attempt.began
        sent = SentWrite(passed_s, attempt.named, unseen=attempt.unseen)
        found = await find_landed(run, attempt.change, attempt.parent_id, sent, attempt.before)
        if found is None and doubt.answered:
            found = await _find_not_taken(run, doubt)
        if found is not None:
            outcome = found.outcome(attempt.change, "" if doubt.answered else "its answer was lost;")
            await run.ledger.after_call(structs.replace(found.batch, ended=(outcome,)))
            return outcome
    except asyncio.CancelledError:
        return outcome or _leave_in_doubt(run, doubt)  # the ledger writes a batch that it has, all the same
    except NotDone as ended:
        return _leave_in_doubt(run, structs.replace(doubt, what=f"{doubt.what} Now {ended.what}"))
    except ReconcilerError as error:
        return _leave_in_doubt(run, structs.replace(doubt, what=f"{doubt.what} The lookup failed: {error}"))
    return _leave_in_doubt(run, doubt)


def _leave_in_doubt(run: Session, doubt: Doubt) -> Outcome:
    """Return the outcome of what stays in doubt. Its intent stays open until a run has waited and looked."""
    outcome = doubt.attempt.outcome("in doubt", doubt.what, IN_DOUBT)
    intent = run.intent(doubt.attempt, run.context.limits.settle_s)
    run.ledger.later(Batch(intents=(intent,), ended=(outcome,)))
    return outcome


# --- Was one write carried out? -------------------------------------------------------------------


# How far to search: by names alone; also in lists that are short or in order of change; in any list.
SearchReach = Literal["names", "recent", "list"]


@dataclass(slots=True)
class Listings:
    """The lists that one settling of all doubts has read, each with the seconds that it goes back."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    read: dict[tuple[Scope, str], tuple[float, tuple[Found, ...]]] = field(default_factory=dict)


class SentWrite(Struct, frozen=True):
    """What is known of a write that was sent: the seconds since then, and its answer.

    `named` is the id in the answer to a create. `unseen`: a look a settle window ago did not find the entity
    to delete. `released`: a create may be sent again, because a person says so or a limit refused it. `reach`
    is how far a create is searched for that shows another identity; looks that begin together share
    `listings`.
    """

    passed_s: float
    named: str = ""
    unseen: bool = False
    released: bool = False
    reach: SearchReach = "names"
    listings: Listings | None = None


class LandedWrite(Struct, frozen=True):
    """A write that was carried out after all: the id, what to record, and what a person should know.

    `fields` were not taken; `refused`: none was. `beside` names what others changed at the same time. `lost`
    are the secrets that it should have carried over.
    """

    remote_id: str
    batch: Batch
    what: str
    fields: tuple[FieldResult, ...] = ()
    refused: bool = False
    beside: str = ""
    lost: tuple[FieldResult, ...] = ()

    def outcome(self, change: Change, before: str = "") -> Outcome:
        """Return the outcome of the change; `before` is what was known of it until it was found."""
        what = join_sentences(
            before, self.what, describe_not_taken(self.fields), describe_lost_secrets(self.lost), self.beside
        )
        result: Result = "failed" if self.fields or self.refused or self.lost else "applied"
        hint = (GIVE_AGAIN if self.lost else SHOWN_AGAIN) if result == "failed" else ""
        fields = tuple(sorted((*self.fields, *self.lost)))
        return Outcome(change.address, action_of(change), result, what, hint, self.remote_id, fields)


async def find_landed(
    run: Session, change: Change, parent_id: str, sent: SentWrite, before: Found | None = None
) -> LandedWrite | None:
    """Return what a write has done, or None where nothing shows that it was carried out.

    `before` is what the look before it showed. Raises NotDone where that cannot be known.
    """
    match change:
        case Create():
            made = await _find_created(run, change, parent_id) or await _find_rewritten(
                run, change, parent_id, sent
            )
            if made is not None:
                run.claim(
                    change.address, made.remote_id
                )  # the looks beside this one must not take it for unclaimed
            return made
        case Update():
            return await _find_updated(run, change, parent_id, before)
        case Delete():
            found = await look.read_if_there(run, change, parent_id)
            if found is not None:
                return None
            said = await look.judge_missing(
                run, change.address, change.remote_id, parent_id, change.before, twice=sent.unseen
            )
            if said != "gone":
                what = "a read by its id does not find it, but the list may still show it."
                raise NotDone("in doubt", what)
            return LandedWrite(change.remote_id, forget_deleted(run, change), "it is gone.")
        case never:
            assert_never(never)


async def _find_created(run: Session, change: Create, parent_id: str) -> LandedWrite | None:
    entity = run.desired.entities[change.address]
    hits = await look.find_matches(run, entity, parent_id)
    if len(hits) > 1:
        # Ours and another's, or ours twice: taking one would leave the other unmanaged for ever.
        ids = ", ".join(sorted(hit.found.remote_id for hit in hits))
        raise look.SeveralMatches(
            "conflict",
            f"{len(hits)} matching entities exist (ids {ids}).",
            "keep one of them at the service, then plan again",
        )
    if not hits:
        return None
    try:
        found = await look.read_entity(run, change.address, hits[0].found.remote_id, parent_id)
    except NotFound:
        # Closed as absent it would be sent again, beside the one that the list shows.
        what = f"the list shows the id {hits[0].found.remote_id}, but a read of this id finds nothing."
        raise NotDone("in doubt", what) from None
    _check_not_of_another(run, change.address, found.remote_id)
    row = make_live_row(change, found, parent_id)
    missing = tuple(
        field for field in readback.prove_create(run, entity, row).reading.refused if field.shown is None
    )
    what = f"it exists, recognized by {hits[0].by}."
    return LandedWrite(found.remote_id, _make_proven_record(run, change, row), what, missing)


def _check_not_of_another(run: Session, address: Address, remote_id: str) -> None:
    """Raise NotDone where the found id is recorded for another entity: two answers named one id.

    What this run recorded under that id is forgotten: it was not that entity.
    """
    why = run.id_conflict(address, remote_id)
    owner = run.known.get((address.kind, address.workspace, remote_id))
    if not why or owner is None:
        return
    made = run.outcomes.get(owner)
    # Two swapped answers recorded each as the other (tests/engine/test_readback.py): neither is believed.
    if made is not None and made.action == "create":
        run.ledger.later(Batch(forget=(owner,)))
    raise NotDone("in doubt", f"the service answered with the same id {remote_id} for {owner}.", "plan again")


async def _find_rewritten(
    run: Session, change: Create, parent_id: str, sent: SentWrite
) -> LandedWrite | None:
    """Return what a create has made that shows its identity in another way, by the id in its answer.

    None where no such entity exists, or a person has decided. Raises NotDone where only a person can tell
    whether an entity is it: sent again, it may exist twice (A12).
    """
    if sent.released:
        return None
    entity, address = run.desired.entities[change.address], change.address
    if sent.named and not run.id_conflict(address, sent.named):
        try:
            found = await look.read_entity(run, address, sent.named, parent_id)
        except NotFound:
            if (
                await look.judge_missing(run, address, sent.named, parent_id, entity.fields, twice=True)
                != "gone"
            ):
                what = (
                    f"the answer named the id {sent.named}; the list shows this id, but a read of it "
                    "finds nothing."
                )
                raise NotDone("in doubt", what, suggest_create_again(address)) from None
        else:
            row = make_live_row(change, found, parent_id)
            if is_declared_now(run, row, address):
                return None  # the next plan adopts it
            if readback.judge_made(run, entity, row, within_s=sent.passed_s) == "other":
                what = f"the answer named the id {sent.named}, but another entity has this id."
                raise NotDone("in doubt", what, suggest_create_again(address))
            proof = readback.prove_create(run, entity, row)
            missing = tuple(one for one in proof.reading.refused if one.shown is None)
            what = join_sentences(f"it exists, under the id {sent.named} of the answer.", proof.describe())
            return LandedWrite(sent.named, run.keep(proof.record, row), what, missing)
    if ids := await find_unclaimed(
        run, entity, parent_id, within_s=sent.passed_s, reach=sent.reach, listings=sent.listings
    ):
        what = (
            "an entity with another identity exists, and may be the one that was created (id "
            f"{', '.join(ids)})."
        )
        raise NotDone("in doubt", what, suggest_create_again(address))
    return None


def suggest_create_again(address: Address) -> str:
    """Return the hint for a create of which only a person can tell whether it was carried out."""
    return (
        "if it is that entity, write its identity in the manifest as the service shows it, and apply; "
        "if not, "
        f"apply with --create-again {address}"
    )


async def _find_updated(
    run: Session, change: Update, parent_id: str, before: Found | None
) -> LandedWrite | None:
    found = await look.read_if_there(run, change, parent_id)
    if found is None:
        return None
    kind = change.address.kind
    now = look.read_as_planned(run, kind, found.body)
    # What cannot be read back proves nothing: at the end of a run a password alone stays in doubt; after a
    # kill it is planned once more, and a PUT that is sent twice changes nothing.
    readable = [f for f in change.fields if f.path not in KINDS[kind].write_only]
    if not readable or any(
        not reads_back_as(kind, field.path, field.after or "", now.get(field.path, "")) for field in readable
    ):
        return None
    batch = _make_proven_record(run, change, make_live_row(change, found, parent_id))
    lost = readback.report_lost_secrets(run, change, before, found)
    beside = readback.describe_outside_changes(before, found, change, besides={field.path for field in lost})
    return LandedWrite(change.remote_id, batch, "the service shows what was sent.", beside=beside, lost=lost)


def _make_proven_record(run: Session, change: Create | Update, row: LiveEntity) -> Batch:
    """Return the record of an entity that claims as sent only what the service shows exactly so.

    Whatever made it, the next plan has to see a field that differs.
    """
    entity = run.desired.entities[change.address]
    before = run.records.get(change.address)
    record = make_record(
        entity, row, salt=run.context.store.salt, before=before, created=isinstance(change, Create)
    )
    return run.keep(keep_proven(record, before), row)


def cascaded_records(run: Session, change: Delete) -> tuple[Address, ...]:
    """Return the records that end with a delete: of the entity, and of a contact's devices."""
    return (change.address, *run.devices.get(change.address, ()))


def forget_deleted(run: Session, change: Delete) -> Batch:
    """Return what a delete leaves in the store: its records go, digests of its identities stay."""
    record, address = run.records.get(change.address), change.address
    fields = {**(record.sent if record else {}), **(record.shown if record else {}), **change.before}
    digests = identity_digests(fields, run.rules.identity.of(address.kind), run.context.store.salt)
    return Batch(forget=cascaded_records(run, change), identities={address: digests})


async def _find_not_taken(run: Session, doubt: Doubt) -> LandedWrite | None:
    """Return the failure of a write that the service called done and does not show after all."""
    change, before, parent_id = doubt.attempt.change, doubt.attempt.before, doubt.attempt.parent_id
    match change:
        case Create():
            return None  # its answer named another entity: nothing is known of it, so nothing is claimed
        case Delete():
            what = "not done by the service: it said that the delete is done, but the entity is still there."
            return LandedWrite(change.remote_id, Batch(), what, refused=True)
        case Update():
            found = await look.read_if_there(run, change, parent_id)
            if found is None:
                raise NotDone("conflict", "it no longer exists.")
            proof = readback.prove_update(run, change, before, found, parent_id, at_once=False)
            batch = run.keep(proof.record, proof.row)
            refused = proof.reading.refused
            return LandedWrite(change.remote_id, batch, "", refused, beside=proof.beside, lost=proof.lost)
        case never:
            assert_never(never)


# --- Unclaimed entities that a create in doubt may have made --------------------------------------
#
#     by its names    a search, where the lists of a kind show what two of the same share
#     by its list     rows as recent as the create, where the list comes in order of change; else all of it
#
# Whether one of them may be it is judged in core/compare/readback.py.


# Seconds that a clock may have been set by since a create was sent.
clock_margin_s = 3600.0


# Within a run time only goes on; but the service may date a change by the clock of another machine.
_run_margin_s = 60.0


async def find_unclaimed(
    run: Session,
    entity: Entity,
    parent_id: str,
    *,
    within_s: float,
    reach: SearchReach,
    listings: Listings | None = None,
) -> tuple[str, ...]:
    """Return the ids, in order, of unclaimed entities that a create sent so long ago may have made.

    Not one that the manifest declares by now: it is adopted. Looks may share `listings` where nothing that
    they are about can land any more. Raises NotDone where a list could not be read completely.
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
    """Return the unclaimed entities with the same names, where lists show names."""
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
    """Return the ids of the rows that may be what was made, each looked at by id where rows are brief."""
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
    """Return the rows without those that are the only match of another declared entity without a record.

    Of two rows that match one entity, neither is certainly its own.
    """
    keys, taken = run.rules.keys(address.kind), set[str]()
    for one in run.desired.entities.values():
        other = one.address
        if other in run.records or other == address or Scope.of(other) != Scope.of(address):
            continue
        if other.above == address.above:
            hits = [row.remote_id for row in rows if shared_identity(one.fields, row.fields, keys)]
            taken.update(hits if len(hits) == 1 else ())
    return [row for row in rows if row.remote_id not in taken]


def is_declared_now(run: Session, row: LiveEntity, address: Address) -> bool:
    """Whether the manifest has declared the shown identity since a create was sent."""
    now = run.context.desired.entities.get(address)
    return now is not None and bool(shared_identity(now.fields, row.fields, run.rules.keys(row.kind)))


def _observe_row(address: Address, row: Found, parent_id: str) -> LiveEntity:
    return observe_entity(
        address.kind, address.workspace, row.remote_id, row.body, seen=row.date, parent_id=parent_id
    )


def _is_list_read(run: Session, address: Address, reach: SearchReach) -> bool:
    """Whether a list is read: a long one without order only once the doubt can land no more."""
    kind = KINDS[address.kind]
    return reach == "list" or (reach == "recent" and (not kind.brief or _lists_in_order(run, kind)))


def _lists_in_order(run: Session, kind: Kind) -> bool:
    """Whether the deployment lists a kind in order of change."""
    profile = load_profile(run.context.settings.service.profile)
    return bool(kind.listing.changed and getattr(profile, f"{kind.name}_feed", False))


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
    # The fields that any entity of the scope declares: looks that share a list are about several entities.
    declared = [
        one.fields for one in run.desired.entities.values() if Scope.of(one.address) == Scope.of(address)
    ]
    plain = {path for fields in declared for path in fields if "." not in path} - kind.write_only
    fields = tuple(sorted(kind.wire.get(path, path) for path in plain)) if kind.brief else ()
    if kind.parent:
        try:
            rows = await collection.list(workspace=workspace, parent=parent_id)
        except NotFound:
            return ()  # look.find_matches has judged what the service says of the parent
        return tuple(rows)
    if _lists_in_order(run, kind):
        spare = tuple(name for name in kind.listing.spare if name not in fields)
        query = Query(fields=(*fields, *spare), sort=f"-{kind.listing.changed}")
        try:
            async with aclosing(collection.pages(query, workspace=workspace, window=1)) as pages:
                return await _take_recent_rows(pages, kind, back_s)
        except (Malformed, Rejected):
            pass  # it does not list in this order: the whole list shows the same
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
        what = f"it is not known whether it exists under another identity ({trouble})."
        raise NotDone("in doubt", what, "run the command again when fewer writes are under way there")
