"""The session of one plan: attempts, known ids, doubts, whether to go on, and the workers.

No call to the service is made here.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, takewhile
from sys import intern
from typing import Any, Literal, TypeVar

from msgspec import Struct, structs

from reconciler.core.compare.match import IdentityIndex
from reconciler.core.compare.password_digests import digest_texts
from reconciler.core.digests import stretch_secret
from reconciler.core.planning.deletes import find_unmarked
from reconciler.core.planning.delta import MovedScope
from reconciler.core.planning.moves import add_carried_fields
from reconciler.core.planning.notices import count_set_back
from reconciler.core.planning.records import trace_origin
from reconciler.core.rules import Rules
from reconciler.engine.context import RunContext, StopReason, format_utc
from reconciler.engine.ledger import Ledger
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.plans import Change, Create, Delete, FieldChange, Plan, Update, action_of
from reconciler.model.runs import FieldResult, Intent, Outcome, Result
from reconciler.model.snapshots import Desired, LiveEntity, RecordedEntity, Scope
from reconciler.service.entities import Collection
from reconciler.service.paging import Found
from reconciler.store.records import Batch


@dataclass(slots=True)
class Attempt:
    """How far a change has come: nothing sent; sent, not answered; answered, not seen; done.

    `at` is the time of its intent. `unsure` is the error with which the service put the write off, until a
    look has shown whether it was done all the same.
    """

    change: Change
    # Only ever forward, but for a write that was put off: what a cancelled step leaves behind depends on it.
    stage: Literal["looking", "sending", "answered", "done"] = "looking"
    parent_id: str = ""
    at: datetime | None = None
    began: float = 0.0  # the same on the monotonic clock
    remote_id: str = ""
    unsure: str = ""
    named: str = ""  # the id that the answer to a create named
    unseen: bool = False  # a look after a delete did not find it, and its list did not say the same
    before: Found | None = None  # what an update changes, as the look right before showed it
    ending: Outcome | None = None  # on its way into the store, together with what it did

    def done(self, remote_id: str) -> None:
        """Note that the service has done it, and shows it."""
        self.stage, self.remote_id, self.unsure = "done", remote_id, ""

    def outcome(
        self,
        result: Result,
        what: str = "",
        next: str = "",  # noqa: A002 - the word that users read
        *,
        fields: tuple[FieldResult, ...] = (),
    ) -> Outcome:
        """Return the outcome of this change."""
        change = self.change
        return Outcome(change.address, action_of(change), result, what, next, self.remote_id, fields)


# --- The session of a plan ------------------------------------------------------------------------


RESUME = "reconciler resume"
_tick_s = 0.01  # a sleep may end a little early, and then the deadline is not over yet
GO_ON = f"{RESUME}   (continues with the remaining changes), or plan again"
IN_DOUBT = f"{RESUME}: it waits, looks again, and sends nothing twice"


class NotDone(Exception):
    """Ends a change for which nothing was sent, with this outcome."""

    def __init__(self, result: Result, what: str, next: str = "") -> None:  # noqa: A002 - the word that users read
        super().__init__(what)
        self.result = result
        self.what = what
        self.next = next


class Doubt(Struct, frozen=True):
    """A write that was sent and whose answer is unknown, or says what does not show.

    `lost_at` is when its answer was given up, on the monotonic clock: one settle window later it can land no
    more. `answered`: the service said that it is done.
    """

    attempt: Attempt
    lost_at: float
    what: str
    answered: bool = False


class _OwnedFields(Struct, frozen=True):
    """Fields by which an entity of ours is recognized."""

    fields: Fields
    address: Address


@dataclass(slots=True)
class Session:
    """A plan that is being carried out, and what is known so far. `records` have the plan's addresses."""

    context: RunContext
    plan: Plan
    desired: Desired
    records: dict[Address, RecordedEntity]
    # kind, alias, remote id -> the address it is recorded or was made for; None: the plan saw it, not ours.
    # Of a plan that creates something: nothing else is given an id.
    known: dict[tuple[str, str, str], Address | None] = field(default_factory=dict)
    # values of readable secrets that the plan saw at several of its entities: no such value is one's own
    shared_secrets: frozenset[str] = frozenset()
    rest: Mapping[Scope, MovedScope] = field(default_factory=dict)  # what a delta plan leaves out
    shown: dict[Address, LiveEntity] = field(default_factory=dict)  # as the service showed it after our write
    outcomes: dict[Address, Outcome] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)
    halted: StopReason | None = None
    ledger: Ledger = field(init=False)
    rules: Rules = field(init=False)
    ids: dict[str, str] = field(init=False)  # alias of a workspace -> the service's id
    remote_ids: dict[Address, str] = field(init=False)  # of everything that the plan found
    devices: dict[Address, tuple[Address, ...]] = field(init=False)  # contacts -> their recorded devices
    adopting: frozenset[Address] = field(init=False)  # what the plan's updates adopt
    updated: dict[Address, tuple[FieldChange, ...]] = field(init=False)  # the fields of its updates
    moved_to: dict[Address, Address] = field(init=False)  # deleted -> created with the same identity
    leaving: frozenset[Address] = field(init=False)  # what its updates only take our mark off
    _owners: dict[Scope, IdentityIndex[_OwnedFields]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        context, workspaces = self.context, self.plan.target.workspaces
        self.ledger = Ledger(context.store, context.lock, workspaces, offload=context.dependencies.offload)
        self.rules = context.rules
        self.ids = {workspace.alias: workspace.id for workspace in workspaces}
        self.remote_ids = dict(_iterate_planned_ids(self.plan, self.records))
        self.devices = _group_devices(self.records)
        self.moved_to = {one.before: one.after for one in self.plan.moves or ()}
        carried = {
            one.address: add_carried_fields(self.desired.entities[one.address], one)
            for one in self.plan.changes
            if isinstance(one, Create) and one.carried
        }
        if carried:
            self.desired = structs.replace(self.desired, entities={**self.desired.entities, **carried})
        updates = [one for one in self.plan.changes if isinstance(one, Update)]
        self.updated = {one.address: one.fields for one in updates}
        self.adopting = frozenset(one.address for one in updates if one.adopts)
        self.leaving = find_unmarked(self.plan)

    def keep(self, record: RecordedEntity, row: LiveEntity | None = None) -> Batch:
        """Return what the store has to keep of a write that is done; `row` is what was read back."""
        if row is not None:
            self.shown[record.address] = row
        if record.address in self.leaving:
            return self._let_go(record.address, row)
        if record.address in self.plan.gone:  # an undo ends our ownership
            return Batch(forget=(record.address,))
        adopted = self.plan.created_at if record.address in self.adopting else ""
        before = self.records.get(record.address)
        record = trace_origin(record, before, adopted=adopted)
        if before is not None and before.remote_id == record.remote_id:
            changed = self.updated.get(record.address, ())
            flaps = count_set_back(before.flaps, changed, self.plan.created_at)
            record = structs.replace(record, flaps=flaps)
        return Batch(remember=(record,))

    def _let_go(self, address: Address, row: LiveEntity | None) -> Batch:
        """Return what is kept of what loses our mark: nothing, once the mark is seen to be gone (X7)."""
        mark = str(row.fields.get(self.rules.mark_of(address.kind), "")) if row is not None else ""
        if row is None or mark.startswith(self.rules.mark_text("")):
            return Batch()
        known = tuple(one for one in (address, *self.devices.get(address, ())) if one in self.records)
        return Batch(forget=known, left=known)

    def id_conflict(self, address: Address, remote_id: str) -> str:
        """Return why a new entity for `address` cannot have this id, or ""."""
        owner = self.known.get((address.kind, address.workspace, remote_id), address)
        if owner == address:
            return ""
        return f"is {owner}" if owner else "was there before"

    def is_named(self, address: Address) -> bool:
        """Whether a create in doubt was answered with the id of a new entity."""
        return any(one.attempt.change.address == address and one.attempt.named for one in self.doubts)

    def is_of_another(self, address: Address, fields: Fields) -> bool:
        """Whether these fields have an identity of another entity, declared or recorded."""
        scope = Scope.of(address)
        if scope in self.rest and self.rest[scope].is_settled(address.kind, fields):
            return True
        if scope not in self._owners:
            looks = [_OwnedFields(one.fields, one.address) for one in self.desired.entities.values()]
            looks += [
                _OwnedFields(fields, one.address)
                for one in self.records.values()
                for fields in (one.sent, one.shown)
            ]
            keys = self.rules.identity.of(scope.kind)
            here = (look for look in looks if Scope.of(look.address) == scope)
            self._owners[scope] = IdentityIndex(here, keys)
        others = self._owners[scope].sharing(fields)
        # A device is its contact's: another contact's may have the same name.
        return any(one.address != address and one.address.above == address.above for one in others)

    def claim(self, address: Address, remote_id: str) -> None:
        """Let the id belong to this address from now on: a look has shown the new entity."""
        # The names of the kind and the workspace are one text each for all that a run makes.
        self.known[intern(address.kind), intern(address.workspace), remote_id] = address

    def collection(self, address: Address) -> Collection:
        """Return the collection of an address."""
        return self.context.client[address.kind]

    def workspace(self, address: Address) -> str:
        """Return the service's id of an address's workspace."""
        return self.ids[address.workspace]

    def parent_id(self, change: Change) -> str:
        """Return the remote id of a device's contact, "" for every other kind.

        Raises NotDone where this run should have created the contact, and has not (rule A6).
        """
        above = change.address.above
        if above is None:
            return ""
        outcome = self.outcomes.get(above)
        if outcome is None or outcome.action != "create":
            planned = "" if isinstance(change, Create) else change.parent_id
            found = planned or self.remote_ids.get(above, "")
        elif outcome.written:
            found = outcome.remote_id
        else:  # in doubt too: it may exist or not, and a guessed id could be somebody else's
            raise NotDone("skipped", f"its contact {above} was not created: {outcome.result}.", "plan again")
        if not found:
            raise NotDone("failed", f"its contact {above} is not known at the service.", "plan again")
        return found

    def check_moved(self, change: Change) -> None:
        """Raise NotDone for a delete whose entity moves, where the new one was not created (rule A5)."""
        after = self.moved_to.get(change.address) if isinstance(change, Delete) else None
        outcome = self.outcomes.get(after) if after else None
        if outcome is not None and outcome.result != "applied":
            what = f"it moves to {after}, which was not created as planned: {outcome.result}."
            raise NotDone("skipped", what, "plan again")

    def halt(self, halt: StopReason) -> None:
        """Let no further change begin. The first reason stays."""
        self.halted = self.halted or halt

    def over(self) -> StopReason | None:
        """Return why no further change may begin, or None. Asked before every effect; makes no call."""
        context, broken = self.context, self.ledger.broken
        if broken is not None:
            self.halt(StopReason("store", str(broken), broken.next))
        lost = context.service_lock.lost()
        if lost:
            self.halt(StopReason("lock", lost, "let the other run end, then plan and apply again"))
        if context.stop.asked:
            self.halt(StopReason("interrupted", "the run was asked to stop.", GO_ON))
        if context.timing.monotonic() >= context.ends_at:
            what = f"the run's deadline of {context.limits.deadline_s:g} s has passed."
            self.halt(StopReason("deadline", what, f"{GO_ON}; or raise service.limits.deadline_s"))
        return self.halted

    def may_look(self) -> bool:
        """Whether doubts may be looked for: a reason that only forbids new writes does not forbid that."""
        halt = self.over()
        return halt is None or halt.reason in {"fail-fast", "unconfirmed"}

    async def stretch_passwords(self, address: Address) -> None:
        """Compute the slow digests of a password in a thread: a look must not wait for them."""
        entity, salt = self.desired.entities.get(address), self.context.store.salt
        for text in digest_texts(entity, salt) if entity else ():
            await self.context.dependencies.offload(partial(stretch_secret, text, salt))

    async def before_call(self, attempt: Attempt) -> None:
        """Make the intent durable, before any look or write. Raises NotDone, LockHeld, StoreError."""
        attempt.at, attempt.began = self.context.now(), self.context.timing.monotonic()
        self._check_not_over()
        # For people: a process that is killed right after this may hold the lock until its lease is over,
        # and what it sent may be under way for as long as a settle window. Nothing is decided by it.
        lease_s = self.context.settings.lock.lease_s
        intent = self.intent(attempt, lease_s + self.context.limits.settle_s)
        # Before the look and not between look and write: the commit waits for the disk, and the look ages.
        await self.ledger.before_call(intent)
        self.check_may_send(attempt.began)  # the commit may have taken a while

    def check_may_send(self, began: float) -> None:
        """Raise NotDone where the intent of `began`, on the monotonic clock, is too old for a write.

        That is, where another run may hold the lock by now, and have looked. Half of a lease: the other half
        is for the request, which is not sent when it is old either.
        """
        self._check_not_over()
        passed_s = self.context.timing.monotonic() - began
        if passed_s > self.context.settings.lock.lease_s / 2:
            what = f"this machine was suspended for {passed_s:.0f} s; nothing was sent."
            raise NotDone("not attempted", what, GO_ON)

    def _check_not_over(self) -> None:
        halt = self.over()
        if halt is not None:
            raise NotDone("not attempted", halt.what, halt.next)

    def intent(self, attempt: Attempt, seconds: float) -> Intent:
        """Return the journal's entry for a write that may be under way for so many seconds."""
        change = attempt.change
        known = attempt.named if isinstance(change, Create) else change.remote_id
        now = self.context.now()
        # Whole seconds, rounded up: a time in the journal that is too early would be taken for the end.
        until = now + timedelta(seconds=seconds, microseconds=999_999)
        at = format_utc(attempt.at or now)
        return Intent(change.address, action_of(change), at, format_utc(until), known, attempt.parent_id)

    async def pause(self, seconds: float) -> None:
        """Wait, until the run is asked to stop or its deadline has passed at the latest."""
        context = self.context
        left_s = max(0.0, context.ends_at - context.timing.monotonic()) + _tick_s
        await context.stop.unless_asked(context.timing.sleep(min(seconds, left_s)))


def _iterate_planned_ids(
    plan: Plan, records: Mapping[Address, RecordedEntity]
) -> Iterator[tuple[Address, str]]:
    """Yield the remote id of every entity that the plan found, recorded or not; the last one counts."""
    yield from ((address, record.remote_id) for address, record in records.items())
    yield from ((one.address, one.remote_id) for one in plan.adoptions)
    yield from ((one.address, one.remote_id) for one in plan.changes if isinstance(one, Update))


def collect_known_ids(
    plan: Plan,
    records: Mapping[Address, RecordedEntity],
    live: Iterable[LiveEntity],
    rest: Mapping[Scope, MovedScope] = {},
) -> dict[tuple[str, str, str], Address | None]:
    """Return every remote id that is recorded, planned or live, and its address: no new entity has it.

    `rest` has the rest of each scope that a delta plan leaves out.
    """
    known: dict[tuple[str, str, str], Address | None] = {
        (row.kind, row.workspace, row.remote_id): None for row in live
    }
    known |= {(of.kind, of.workspace, one): None for of, left in rest.items() for one in left.rest_ids()}
    # Not by address: the duplicate that a plan deletes has the address of the one that stays.
    deleted = ((one.address, one.remote_id) for one in plan.changes if isinstance(one, Delete))
    for address, remote_id in chain(_iterate_planned_ids(plan, records), deleted):
        known[address.kind, address.workspace, remote_id] = address
    return known


def _group_devices(records: Iterable[Address]) -> dict[Address, tuple[Address, ...]]:
    """Return the recorded devices of every contact that has some."""
    devices: dict[Address, tuple[Address, ...]] = {}
    for address in records:
        if address.above is not None:
            devices[address.above] = (*devices.get(address.above, ()), address)
    return devices


# --- Workers that share a queue, and that can be cut short ----------------------------------------


T = TypeVar("T")

# How long what is under way may take once the run was asked to stop. Seconds: build systems kill
# after 10, and a call that ends in time is better than one in doubt.
grace_s = 8.0


def share_queue(run: Session, items: Sequence[T], goes_on: Callable[[], bool]) -> list[Iterator[T]]:
    """Return the queue for each worker: one that all share, and that ends when `goes_on` is false."""
    # No lock: nothing awaits between one item and the next.
    shared = takewhile(lambda _: goes_on(), items)
    return [shared] * min(run.context.limits.concurrency, len(items))


async def run_workers(run: Session, workers: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Return when all of these workers have ended.

    They are cancelled when the run has to stop at once, or when its time of grace is over; each ends its
    change in good order.
    """
    tasks = [asyncio.create_task(worker) for worker in workers]
    hurry = asyncio.create_task(_cancel_on_stop(run, tasks))
    # All of them end before anything is raised: what one has sent must not go on unwatched.
    try:
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        hurry.cancel()
        watched = await asyncio.gather(hurry, return_exceptions=True)
    for error in (*ended, *watched):
        if isinstance(error, Exception):
            raise error


async def _cancel_on_stop(run: Session, tasks: Sequence["asyncio.Task[None]"]) -> None:
    """Cancel the workers when the run has to end at once."""
    stop = run.context.stop
    await stop.wait_asked()
    now = asyncio.ensure_future(stop.wait_now())
    grace = asyncio.ensure_future(run.context.timing.sleep(grace_s))
    try:
        await asyncio.wait({now, grace}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        now.cancel()
        grace.cancel()
    for task in tasks:
        task.cancel()
