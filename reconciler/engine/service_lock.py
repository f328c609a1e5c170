"""The lock in the service, for one run: take it before the first write, keep it, release it.

    read all tickets ─▶ create ours ─▶ wait until a list may decide ─▶ read all tickets ─▶ ours goes first?
           ▲ another run holds it        │ a window after the first list       │ no: remove ours
           │                             └▶ `may_read`: what the plan reads is new enough
           └────────────────────── wait, up to lock.timeout_s ◀────────────────┘

core/runs/ticket.py decides which ticket goes first, and why no two do; here are the calls and the waiting.
All tickets of an account are in its default workspace, which every run can reach: two runs with different
workspaces or selections meet there as well.

The calls have a client of their own: its deadline is later than the run's, so a ticket can still be removed.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from reconciler.core.runs import ticket as rules
from reconciler.core.runs.ticket import Ticket
from reconciler.engine.context import Dependencies, RunContext, ServiceLock, StopFlag
from reconciler.errors import (
    InDoubt,
    Interrupted,
    LockHeld,
    Malformed,
    NotFound,
    Rejected,
    ServiceError,
    Temporary,
    Unavailable,
)
from reconciler.instrumentation import record_span, start_stopwatch, step_log
from reconciler.model.kinds import RESOURCE
from reconciler.service.client import EntityClient
from reconciler.service.http.connections import DatedConnections
from reconciler.service.paging import Found

poll_s = 5.0  # between two looks at a lock that somebody else holds
retry_s = 5.0  # until a renewal that failed is tried again
reads_max = 5  # lists that were incomplete, or older than they may be, before we give up
creates_max = 3  # tickets whose creation got no answer
removes_max = 3
# How long removing the ticket may take on the way out; after a signal, and after a second one. Seconds.
# They add up where the service answers nothing.
release_s, asked_s, hurried_s = 60.0, 5.0, 1.0


class LockTerms(Struct, frozen=True):
    """What a run's tickets say, and how long it waits, in seconds. `over` are runs that write no more."""

    stack: str
    run: str
    holder: str
    lease_s: float
    window_s: float
    patience_s: float = 0.0
    over: frozenset[str] = frozenset()


class Tickets(Struct, frozen=True):
    """What a complete list shows: tickets by remote id, and the service's clock when the list was made.

    `read_at` is the local monotonic clock before the list was asked for.
    """

    by_id: dict[str, Ticket]
    told: int
    read_at: float


class TicketLock(ServiceLock):
    """The lock in the service, held by a ticket: a resource whose name says which run, and until when."""

    def __init__(
        self,
        client: EntityClient,
        watched: DatedConnections,
        terms: LockTerms,
        dependencies: Dependencies,
        stop: StopFlag,
        *,
        note: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(_explain_wait(terms), used=True)
        self._note = note  # records in the store that this run creates a ticket
        self._resources = client.resources
        self._watched = watched
        self._terms = terms
        self._timing = dependencies.timing
        self._token = dependencies.token
        self._stop = stop
        self._mine: Ticket | None = None
        self._id = ""
        self._creating: asyncio.Task[Found] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._sends_until = 0.0  # on the monotonic clock
        self._lost = ""
        self._may_read_at = 0.0  # on the monotonic clock

    def lost(self) -> str:
        """Return why nothing may be sent any more, or "" while the lock is ours, or was never taken."""
        if self.taken and not self._lost and self._timing.monotonic() >= self._sends_until:
            self._lost = f"{self._name}: its lease ended before it could be renewed."
        return self._lost

    async def take(self) -> bool:
        """Take the lock, and return whether it was taken now. Raises LockHeld, Interrupted, ServiceError."""
        if self.taken:
            return False
        ends_at = self._timing.monotonic() + self._terms.patience_s
        try:
            with record_span("service lock"):
                while other := await self._try_once():
                    self._forget_what_was_read()
                    if self._timing.monotonic() >= ends_at:
                        raise self._lock_held_error(other)
                    left_s = ends_at - self._timing.monotonic()
                    await self._pause(min(left_s, poll_s * (0.5 + self._timing.random())))
        except (NotFound, Rejected) as error:
            raise Rejected(f"{self._name} cannot be taken: {error}", next=_WITHOUT) from error
        self.taken = True
        # Before the plan is carried out: that may take longer than the lease.
        self._keeper = asyncio.create_task(self._keep_lease())
        return True

    async def release(self) -> None:
        """Remove our ticket, where there is one. Raises no error of the service.

        A ticket that cannot be removed in time delays other runs until its lease ends.
        """
        # First: a renewal that crosses the removal would find its ticket gone, and call the lock lost.
        if self._keeper is not None:
            self._keeper.cancel()
        removing = asyncio.create_task(self._give_back())
        try:
            await self._stop.wait_patiently(removing, (release_s, asked_s, hurried_s))
        finally:
            removing.cancel()
            with suppress(asyncio.CancelledError, ServiceError):
                await removing

    async def _give_back(self) -> None:
        if self._keeper is not None:
            await asyncio.wait({self._keeper})
        if self._mine is not None:
            await self._withdraw()

    async def standing(self) -> dict[str, Ticket]:
        """Return every ticket of this stack by its remote id, expired ones too. Changes nothing."""
        found = await self._read_tickets()
        return {one: it for one, it in found.by_id.items() if it.stack == self._terms.stack}

    async def force(self, lock_id: str) -> bool:
        """Remove the ticket with this nonce, or the resource with this id if its name is the lock's.

        Return whether it was there. Another ticket is never touched.
        """
        try:
            by_nonce = [one for one, it in (await self.standing()).items() if it.nonce == lock_id]
        except LockHeld:  # there is one that cannot be parsed: it can be named by its remote id
            by_nonce = []
        with suppress(NotFound):
            remote_id = by_nonce[0] if by_nonce else lock_id
            if not _ID.fullmatch(remote_id):
                return False
            found = await self._resources.get(remote_id)
            if rules.is_ticket_name(found.body.get("name")):
                await self._remove(remote_id)
                return True
        return False

    # Taking it.

    async def _try_once(self) -> Ticket | None:
        """Try once. Return the ticket of a run that goes first, with ours removed; None if ours does."""
        found = await self._read_tickets()
        # Where a new ticket would have to wait, none is created: that saves calls.
        made_now = self._draw_ticket(found.told + 1, token="")
        if other := self._find_ahead(made_now, made_now.made, found):
            return other
        if self._note is not None:
            await self._note()
            self._note = None
        mine, born_by = await self._create_ticket(found)
        decides, other = await self._wait_for_decision(mine, born_by)
        if other is not None:
            with suppress(InDoubt, Temporary):  # it delays no run before us, and its lease ends
                await self._withdraw()
            return other
        await self._remove_dead_tickets(decides)
        return None

    def _draw_ticket(self, told: int, *, token: str) -> Ticket:
        terms = self._terms
        return rules.draw_ticket(
            terms.stack,
            run=terms.run,
            holder=terms.holder,
            token=token,
            service_now=told,
            lease_s=terms.lease_s,
        )

    def _find_ahead(self, mine: Ticket, born_by: int, found: Tickets) -> Ticket | None:
        window_s, over = self._terms.window_s, self._terms.over
        return rules.find_ticket_ahead(
            mine, born_by, found.by_id.values(), found.told, window_s=window_s, over=over
        )

    async def _create_ticket(self, found: Tickets) -> tuple[Ticket, int]:
        """Create our ticket. Return it, and a time of the service's clock at which it existed.

        Where the answer is lost, the ticket is searched for by its nonce once lists must show it.
        """
        terms, failure = self._terms, None
        for _ in range(creates_max):
            # Set before it is sent: where this is cancelled from here on, `release` looks for it.
            mine = self._mine = self._draw_ticket(found.told, token=self._token())
            sent_at = self._timing.monotonic()
            # A run whose ticket that list lacks had ended by then; a window later its writes are all listed.
            self._may_read_at = sent_at + terms.window_s
            try:
                told = _parse_epoch(await self._post_ticket(mine))
            except (InDoubt, Temporary) as error:
                failure = error
                await self._pause(max(terms.window_s, getattr(error, "wait_s", 0.0)))
                found = await self._read_tickets()
                self._id = next((one for one, it in found.by_id.items() if it.nonce == mine.nonce), "")
                if not self._id:
                    continue
                told, sent_at = found.told, found.read_at
            # Counted from when the call was sent: the Date of its answer is no older than that.
            self._sends_until = rules.sends_until(mine.until, told, sent_at, terms.lease_s)
            return mine, told + 1
        what = f"the service did not say whether the lock was created: {failure}"
        raise self._unavailable_error(
            what, "run the command again; if the lock was created, it ends with its lease"
        )

    async def _post_ticket(self, mine: Ticket) -> str:
        """Create the resource; return the Date of the answer. Cancelled, the call goes on until `release`."""
        self._id = ""
        # A task of its own: a ticket of a call that was cut off would stand there until its lease ends.
        self._creating = asyncio.create_task(
            self._resources.create(rules.ticket_body(mine, self._terms.holder))
        )
        made = await asyncio.shield(self._creating)
        self._id = made.remote_id
        return made.date

    async def _wait_for_decision(self, mine: Ticket, born_by: int) -> tuple[Tickets, Ticket | None]:
        """Look until a list may decide. Return it, and the ticket that goes before ours, if any."""
        ready, told, unbroken = rules.decides_from(mine, born_by, self._terms.window_s), mine.made, True
        for _ in range(reads_max + -(-(ready - told) // rules.look_s)):
            await self._pause_or_let_read(min(max(1, ready - told), rules.look_s))
            found = await self._read_tickets()
            other = self._find_ahead(mine, born_by, found)
            if other is not None:
                return found, other
            told, before = found.told, told
            unbroken = unbroken and rules.is_watch_unbroken(before, told)
            if told >= ready:
                break
        else:
            what = "the service answers with lists that are older than its clock."
            raise self._unavailable_error(
                what,
                "check for a cache between this machine and the service: it must not answer instead of "
                "the service",
            )
        if self._timing.monotonic() >= self._sends_until or not rules.is_alive(mine, told, 0.0):
            what = "its lease ended while it was being taken."
            raise self._unavailable_error(
                what, "run it again; this machine was suspended, or the service is very slow"
            )
        if found.by_id.get(self._id) != mine:
            what = f"the service does not list what was created {ready - born_by} s before."
            raise self._unavailable_error(
                what, "raise service.limits.settle_s: lists lag behind by more than that"
            )
        if not unbroken:
            self._forget_what_was_read()
            await self._pause(self._terms.window_s)
        return found, None

    async def _pause_or_let_read(self, seconds: float) -> None:
        """Pause; others may read from the moment on at which that is good, also within the pause."""
        left_s = self._may_read_at - self._timing.monotonic()
        if left_s < seconds and not self.may_read.is_set():
            await self._pause(max(0.0, left_s))
            self.may_read.set()
            seconds -= max(0.0, left_s)
        await self._pause(seconds)

    def _forget_what_was_read(self) -> None:
        """What was read since `may_read` may lack what another run wrote."""
        self.may_read.clear()
        self.readings += 1

    async def _read_tickets(self) -> Tickets:
        """Return every ticket. Raises Unavailable where the list cannot be read as a whole."""
        why = ""
        for _ in range(reads_max):
            read_at = self._timing.monotonic()
            try:
                rows = await self._resources.list()
                # Without a total nobody notices a row that slid to a page which was read before.
                more = await self._resources.list() if rows.total is None else rows
            except Malformed as error:  # the list changed so much under the walk that a page came twice
                why = str(error)
            else:
                if rows.complete and more.complete:
                    return self._parse_tickets((*rows, *more), read_at)
                why = rows.trouble or more.trouble
            await self._pause(1.0)
        what = f"the resources cannot be listed as a whole: {why}"
        raise self._unavailable_error(what, "run the command again when fewer writes are under way there")

    def _parse_tickets(self, rows: tuple[Found, ...], read_at: float) -> Tickets:
        names = {row.remote_id: row.body.get("name") for row in rows}
        by_id: dict[str, Ticket] = {}
        for remote_id, name in names.items():
            if not isinstance(name, str) or not rules.is_ticket_name(name):
                continue
            found = rules.parse_ticket(name)
            if found is None:
                what = f"the resource {remote_id} has a name that only another version can read."
                raise LockHeld(
                    f"{self._name}: {what}", next=f"wait for that run; {_suggest_unlock(remote_id)}"
                )
            by_id[remote_id] = found
        told = self._watched.told
        dates = [_parse_epoch(row.date) for row in rows] or [
            int(told.timestamp()) if told else _parse_epoch("")
        ]
        return Tickets(by_id, min(dates), read_at)

    # Keeping it, and giving it back.

    async def _keep_lease(self) -> None:
        """Renew the lease, until it is lost or the task is cancelled."""
        wait_s = 0.0
        while not self._lost:
            left_s = self._sends_until - self._timing.monotonic()
            await self._timing.sleep(wait_s or max(retry_s, left_s / 2))
            if self.lost():
                return  # an expired ticket is never renewed: somebody may have gone on without seeing it
            wait_s = 0.0
            try:
                await self._renew()
            except NotFound:
                self._lost = f"{self._name} was taken from this run: it is gone from the service."
            except ServiceError as error:
                step_log.info("the lock in the service was not renewed: %s", type(error).__name__)
                wait_s = retry_s

    async def _renew(self) -> None:
        """Look, then replace the ticket's name by one with a later end."""
        sent_at = self._timing.monotonic()
        found = await self._resources.get(self._id)
        now = rules.parse_ticket(str(found.body.get("name")))
        if now is None or self._mine is None or now.nonce != self._mine.nonce:
            self._lost = f"{self._name} was taken from this run: somebody changed it in the service."
            return
        told = _parse_epoch(found.date)
        later = rules.renew_ticket(now, told, self._terms.lease_s)
        # A PUT replaces the whole resource; what we do not know of it has to stay.
        kept = {key: value for key, value in found.body.items() if key not in RESOURCE.server_owned}
        await self._resources.replace(self._id, {**kept, **rules.ticket_body(later, self._terms.holder)})
        # Never earlier than before: the clocks of two servers of the service may differ.
        ends = rules.sends_until(later.until, told, sent_at, self._terms.lease_s)
        self._sends_until = max(self._sends_until, ends)

    async def _withdraw(self) -> None:
        """Remove our ticket, also one whose creation is still under way."""
        if not self._id and self._creating is not None:
            with suppress(ServiceError):
                self._id = (await self._creating).remote_id
        if not self._id and self._mine is not None:
            found = await self._read_tickets()
            self._id = next((one for one, it in found.by_id.items() if it.run == self._mine.run), "")
        if self._id:
            await self._remove(self._id)
        self._mine, self._id = None, ""

    async def _remove_dead_tickets(self, found: Tickets) -> None:
        """Remove what runs left behind that ended without removing it: only who holds the lock does."""
        terms = self._terms
        for remote_id, one in found.by_id.items():
            lives = rules.is_alive(one, found.told, terms.window_s)
            dead = (
                one.run in terms.over or not lives or not rules.is_possible(one, found.told, terms.window_s)
            )
            if one.stack == terms.stack and remote_id != self._id and (dead or one.run == terms.run):
                with suppress(ServiceError):
                    await self._remove(remote_id)

    async def _remove(self, remote_id: str) -> None:
        for tries in range(1, removes_max + 1):
            try:
                await self._resources.delete(remote_id)
            except NotFound:
                return
            except (InDoubt, Temporary):
                if tries == removes_max:
                    raise
                await self._timing.sleep(float(tries))
            else:
                return

    async def _pause(self, seconds: float) -> None:
        await self._stop.unless_asked(self._timing.sleep(seconds))
        if self._stop.asked:
            raise Interrupted("stopped before anything was written.", next="run it again")

    @property
    def _name(self) -> str:
        return f"the lock of stack {self._terms.stack} in the service"

    def _unavailable_error(self, what: str, hint: str) -> Unavailable:
        return Unavailable(f"{self._name}: {what}", next=hint)

    def _lock_held_error(self, other: Ticket) -> LockHeld:
        return LockHeld(
            f"{self._name} is held by {other.holder}, run {other.run}, since "
            f"{rules.format_service_time(other.made)}.",
            next=f"wait until that run ends (--lock-timeout waits for it); {_suggest_unlock(other.nonce)}; "
            f"otherwise its lease ends at {rules.format_service_time(other.until)}",
        )


def _explain_wait(terms: LockTerms) -> str:
    """Return how long a run waits before its first write, why, and where that is not needed."""
    wait_s, settle_s = rules.spread_s + terms.window_s, terms.window_s
    return (
        f"taking the lock in the service: it delays the first write by {wait_s:.0f} s or more, because a run "
        f"with another store becomes visible only after service.limits.settle_s ({settle_s:g} s). "
        "Reading goes on in the meantime. The lock is not needed if only one job at a time applies (set "
        "lock.in_service: never), or if all runs share one store"
    )


_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_WITHOUT = "let this account write resources in its default workspace, or set lock.in_service to never"


def _suggest_unlock(lock_id: str) -> str:
    return (
        f"if that run is dead, `reconciler unlock --in-service --force {lock_id}` releases the lock at once"
    )


def _parse_epoch(date: str) -> int:
    """Return a Date of the service as seconds since 1970. Raises Malformed where an answer had none."""
    if not date:
        what = (
            "the answers of the service have no Date header, so it is not known when a lock in the "
            "service ends."
        )
        raise Malformed(what, next="set lock.in_service to never")
    return int(datetime.fromisoformat(date).timestamp())


# --- Taking it while earlier runs are settled and the plan is made --------------------------------
#
#     start ─▶ ticket, wait ───────────────────────────▶ ours: write
#         └▶ settle earlier runs ─▶ may read ─▶ plan ──┘


P = TypeVar("P")


class PendingServiceLock:
    """The lock in the service of one run, on its way."""

    def __init__(self, context: RunContext, waits: Callable[[str], None]) -> None:
        self._context = context
        self._lock = context.service_lock
        self._waits = waits
        self._taking: asyncio.Task[None] | None = None

    @property
    def used(self) -> bool:
        """Whether this run takes the lock at all."""
        return self._lock.used

    def start(self) -> None:
        """Begin to take the lock. Nothing happens where it was begun before, or is not used."""
        if self._taking is not None:
            return
        if self._lock.says:
            self._waits(self._lock.says)
        self._taking = asyncio.create_task(self._take())

    async def read(self, reading: Callable[[], Coroutine[Any, Any, P]]) -> P:
        """Return what `reading` does, read under the lock; it is taken when this returns.

        It reads while the lock is being taken, and once more where another run may have written since.
        Raises LockHeld, Interrupted, ServiceError.
        """
        self.start()
        assert self._taking is not None  # noqa: S101 - it was started
        while not self._taking.done():
            if not await self._may_read(self._taking):
                break
            number, found = self._lock.readings, asyncio.create_task(reading())
            try:
                await asyncio.wait({found, self._taking}, return_when=asyncio.FIRST_COMPLETED)
                if not found.done():
                    self._taking.result()  # where it failed, nothing is read any more
                result = await found
                await asyncio.wait({self._taking})
            finally:
                await _cancel_task(found)
            self._taking.result()
            if self._lock.readings == number:
                return result
        self._taking.result()
        return await reading()

    async def stop(self) -> None:
        """Go on with nothing. A ticket that stands is removed by whoever holds the lock."""
        if self._taking is not None:
            await _cancel_task(self._taking)

    async def _take(self) -> None:
        took = start_stopwatch(self._context.timing.monotonic)
        if await self._lock.take():
            step_log.info("run %s holds the lock in the service, %.1f s", self._context.run, took())

    async def _may_read(self, taking: "asyncio.Task[None]") -> bool:
        """Whether reading may begin before the lock is taken."""
        allowed = asyncio.create_task(self._lock.may_read.wait())
        try:
            await asyncio.wait({allowed, taking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel_task(allowed)
        return not taking.done()


async def _cancel_task(task: "asyncio.Task[Any]") -> None:
    """End a task that nobody waits for any more. Its error is of no interest."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


@asynccontextmanager
async def acquire_service_lock(
    context: RunContext, waits: Callable[[str], None]
) -> AsyncIterator[PendingServiceLock]:
    """Yield the lock in the service of this run, not begun; nothing of it goes on afterwards.

    `waits` hears that the run takes the lock, or why it does without.
    """
    found = PendingServiceLock(context, waits)
    try:
        yield found
    finally:
        await found.stop()
