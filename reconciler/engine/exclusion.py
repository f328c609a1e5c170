"""The two locks of a run that writes: the store's, always, and the one in the service, where it is used.

Belongs here: which are used, and holding them. Not here: how one is taken (store/lock.py, service_lock.py).
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial

from msgspec import structs

from reconciler.engine.context import Dependencies, ServiceLock
from reconciler.engine.service_lock import LockTerms, TicketLock
from reconciler.engine.stop import StopFlag
from reconciler.errors import CorruptRecord, LockHeld, SettingsError, StoreError
from reconciler.instrumentation import record_span, step_log
from reconciler.model.settings import Settings
from reconciler.service.client import open_client
from reconciler.service.http.connections import DatedConnections, open_connections
from reconciler.service.http.limiter import Timing
from reconciler.service.profile import load_profile
from reconciler.store.aside import Offload, within
from reconciler.store.audit import operator
from reconciler.store.database import Store
from reconciler.store.lock import Holder, Lock, lease_s

history_entries_max = 20  # of the history; the last run is among them
store_poll_s = 1.0  # between two looks at a store's lock that somebody else holds
report_wait_s = 30.0  # between two words of who holds it, and how far that run is


async def hold_locks(
    held: AsyncExitStack,
    settings: Settings,
    store: Store,
    outside: Dependencies,
    stop: StopFlag,
    *,
    run: str,
    waits: Callable[[str], None],
) -> tuple[Lock, ServiceLock]:
    """Hold the store's lock, and return it with the one in the service, which is not taken yet.

    `held` lets go of both on every way out. `waits` hears who holds the store's lock, and how far that is.
    Raises LockHeld, SettingsError.
    """
    unused = choose_unused_lock(settings, shared=store.shared, unattended=outside.unattended)
    # Asked before the lock is ours: whoever holds it until then writes no more, whatever its ticket says.
    before = await within(outside.offload, store.holder, give_up=store.give_up)
    taking = partial(_hold_store_lock, store, run, outside.offload)
    with record_span("lock"):
        lock = await _wait_for_store_lock(held, taking, outside.timing, settings.lock.timeout_s, waits)
    if unused is not None:
        return lock, unused
    ended = await within(
        outside.offload, partial(collect_finished_runs, store, before), give_up=store.give_up
    )
    note = partial(within, outside.offload, partial(store.note_ticket, run), give_up=store.give_up)
    in_service = _hold_service_lock(settings, outside, stop, run=run, over=ended, note=note)
    return lock, await held.enter_async_context(in_service)


async def _wait_for_store_lock(
    held: AsyncExitStack,
    taking: Callable[[], AbstractAsyncContextManager[Lock]],
    timing: Timing,
    timeout_s: float,
    waits: Callable[[str], None],
) -> Lock:
    """Take the store's lock, trying again while somebody else has it. Raises LockHeld after `timeout_s`."""
    ends_at, tell_at = timing.monotonic() + timeout_s, timing.monotonic()
    while True:
        try:
            return await held.enter_async_context(taking())
        except LockHeld as other:
            now = timing.monotonic()
            if now >= ends_at:
                raise
            if now >= tell_at:
                step_log.info("another run holds the lock; waiting, %.0f s at most", ends_at - now)
                waits(f"waiting, {ends_at - now:,.0f} s at most: {str(other).removesuffix('.')}")
                tell_at = now + report_wait_s
            await timing.sleep(min(store_poll_s, ends_at - now))


@asynccontextmanager
async def _hold_store_lock(store: Store, run: str, offload: Offload) -> AsyncIterator[Lock]:
    """Hold the store's lock, and let go of it on every way out. Raises LockHeld, StoreError."""
    lock = store.lock_for(run)  # a new nonce each time: one that was refused lets go of nobody's lock
    try:
        await within(offload, lock.take, give_up=store.give_up)
        yield lock
    finally:
        # Also where taking it was cut off: it may be ours all the same. A lock that cannot be let go of ends
        # with its process and its lease.
        with suppress(StoreError):
            await within(offload, lock.release, give_up=store.give_up)
            step_log.info("run %s let go of the lock", run)


def choose_unused_lock(settings: Settings, *, shared: bool, unattended: bool) -> ServiceLock | None:
    """Return None where a run takes the lock in the service. Raises SettingsError where it has to and cannot.

    `auto`: where nobody can be asked, as in CI, and the store is not shared, so that other runners do not
    see its lock; and only where the service's profile writes resources.
    """
    wanted = settings.lock.in_service
    if wanted == "never" or (wanted == "auto" and (shared or not unattended)):
        return ServiceLock()
    if ("resource", "create") not in load_profile(settings.service.profile).missing:
        return None
    what = "the service's profile does not write resources, so there is no lock in the service"
    if wanted == "auto":
        return ServiceLock(f"{what}: a run with another store would not be seen")
    raise SettingsError(
        f"lock.in_service is always, and {what}.",
        next="set lock.in_service to never, and let all runs share one store (postgresql://...)",
    )


def collect_finished_runs(store: Store, before: Holder | None) -> frozenset[str]:
    """Return the runs that write no more, though lists may still show their tickets; for who holds the lock.

    `before` held the store's lock until we took it. That one, the runs that the store knows as unfinished,
    those that its history shows last, and all that wrote down here that they want a ticket would need this
    lock for another write. The store's salt would not do: a copy of the store on another machine has it too.
    """
    found = (
        {one.run for one in store.unfinished()} | ({before.run} if before else set()) | store.ticket_runs()
    )
    with suppress(CorruptRecord):  # a damaged history is not this lock's business
        found |= {entry.run for entry in store.history(history_entries_max)}
    return frozenset(found)


@asynccontextmanager
async def open_service_lock(settings: Settings, outside: Dependencies) -> AsyncIterator[TicketLock]:
    """Yield the lock in the service to somebody who looks at it, or frees it, and never takes it."""
    async with _hold_service_lock(settings, outside, StopFlag()) as lock:
        yield lock


@asynccontextmanager
async def _hold_service_lock(
    settings: Settings,
    outside: Dependencies,
    stop: StopFlag,
    *,
    run: str = "",
    over: frozenset[str] = frozenset(),
    note: Callable[[], Awaitable[None]] | None = None,
) -> AsyncIterator[TicketLock]:
    """Yield the lock, and remove its ticket by a client of its own: the run's may be out of time by then."""
    service, terms = settings.service, _make_lock_terms(settings, run, over)
    deadline_s = service.limits.deadline_s + terms.patience_s + terms.lease_s
    patient = structs.replace(service, limits=structs.replace(service.limits, deadline_s=deadline_s))
    given = outside.connections
    # A clock of the service is all that machines without a shared store have in common: answers tell it.
    watched = DatedConnections(given or open_connections(service))
    try:
        async with open_client(patient, timing=outside.timing, connections=watched) as client:
            lock = TicketLock(client, watched, terms, outside, stop, note=note)
            try:
                yield lock
            finally:
                await lock.release()
    finally:
        if given is None:
            await watched.aclose()


def _make_lock_terms(settings: Settings, run: str, over: frozenset[str]) -> LockTerms:
    window_s = settings.service.limits.settle_s
    return LockTerms(
        stack=settings.stack,
        run=run,
        holder=operator(),
        # Longer than the store's lease: the ticket may be listed a window late, and be read a window late.
        lease_s=lease_s + 2 * window_s,
        window_s=window_s,
        patience_s=settings.lock.timeout_s,
        over=over,
    )
