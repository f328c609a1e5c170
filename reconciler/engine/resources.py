"""The resources of a run: store, locks and client, released on every way out.

    open_for_reading   the store, of which no record can be written, and a client that can only read
    open_for_writing   the store, its lock, the lock in the service (not taken yet), a client that writes

How the locks work: store/locks.py, service_lock.py.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import structs

from reconciler.core.runs.recover import InterruptedRun
from reconciler.database_urls import sqlite_path
from reconciler.engine.context import Dependencies, ReadContext, RunContext, ServiceLock, StopFlag, format_utc
from reconciler.engine.planning import PlanResult
from reconciler.engine.service_lock import LockTerms, TicketLock
from reconciler.errors import CorruptRecord, LockHeld, SettingsError, StoreError
from reconciler.instrumentation import record_span, start_stopwatch, step_log
from reconciler.model.plans import Change, Plan
from reconciler.model.runs import Outcome
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired
from reconciler.ownership import Folder
from reconciler.private_cache import CacheFolder
from reconciler.service.client import open_client, open_reader, pace_key_and_rate
from reconciler.service.http.connections import DatedConnections, open_connections
from reconciler.service.http.limiter import Pacer, Timing
from reconciler.service.http.urls import origin_of
from reconciler.service.profile import bring_kinds, load_profile
from reconciler.store.database import Offload, Store, await_store
from reconciler.store.history import name_operator
from reconciler.store.locks import Holder, Lock
from reconciler.store.locks import lease_s as lease_max_s
from reconciler.store.sqlite import store_id

# --- The observer of a run, and everything that it holds ------------------------------------------


class RunObserver(Protocol):
    """Observes a run while a plan is applied, and may refuse before the first write."""

    def unfinished(self, runs: tuple[InterruptedRun, ...]) -> None:
        """Called with the interrupted earlier runs, before what they left in doubt is settled."""

    def doubtful(self, why: str) -> None:
        """Called with the reason why the store may lack recent writes, before the wait for them."""

    def beyond(self, changes: tuple[Change, ...]) -> None:
        """Called with changes that a plan made now has besides those that are resumed; they are not done."""

    def planned(self, planned: PlanResult) -> None:
        """Called with the plan, before it is checked whether it is safe."""

    def waits(self, what: str) -> None:
        """Called with a sentence about a lock: the run waits for it, takes it, or does without it."""

    def stale(self, saved: Plan, planned: PlanResult) -> None:
        """Called where the saved plan is not what would be done now; StalePlan follows."""

    def agrees(self, planned: PlanResult) -> bool:
        """Return whether this safe plan may be carried out."""

    def ended(self, outcome: Outcome) -> None:
        """Called with the final outcome of a change."""


@asynccontextmanager
async def open_for_reading(
    settings: Settings, desired: Desired, dependencies: Dependencies
) -> AsyncIterator[ReadContext]:
    """Hold the store, of which no record can be written, and a client that can only read.

    Where the store is shared, the pace of calls and what runs keep to be quick are written all the same.
    """
    timing, connections = dependencies.timing, dependencies.connections
    async with open_run_store(settings, dependencies, create=False) as store:
        store.doubt(await dependencies.offload(partial(explain_lost_store, settings, dependencies, store)))
        pace = _find_shared_pacer(settings, store)
        async with open_reader(settings.service, timing=timing, connections=connections, pace=pace) as reader:
            yield ReadContext(settings, desired, dependencies, store, reader)


@asynccontextmanager
async def open_for_writing(
    settings: Settings,
    desired: Desired,
    dependencies: Dependencies,
    stop: StopFlag,
    observer: RunObserver,
    *,
    fail_fast: bool,
) -> AsyncIterator[RunContext]:
    """Hold the lock, the store and the client; all three are released on every way out. Raises LockHeld.

    `observer` learns which run holds the store's lock while this one waits for it. The lock in the service is
    not taken yet (`acquire_service_lock`); where it was taken, it is released too.
    """
    run, began, timing = dependencies.run_id(), dependencies.timing.monotonic(), dependencies.timing
    async with AsyncExitStack() as held:
        store = await held.enter_async_context(open_run_store(settings, dependencies, create=True))
        store.doubt(await dependencies.offload(partial(explain_lost_store, settings, dependencies, store)))
        lock, service_lock = await hold_locks(
            held, settings, store, dependencies, stop, run=run, waits=observer.waits
        )
        locked_at = timing.monotonic()
        step_log.info("run %s holds the lock, %.1f s after it began", run, locked_at - began)
        if settings.lock.lease_s < lease_max_s:
            await held.enter_async_context(_renew_lock(lock, store, dependencies, settings.lock.lease_s))
        # Opened last and closed first: no call of ours is under way when the locks are released.
        pace, connections = _find_shared_pacer(settings, store), dependencies.connections
        client = await held.enter_async_context(
            open_client(settings.service, timing=timing, connections=connections, pace=pace)
        )
        held.callback(lambda: remember_store(settings, dependencies, store, lock.now()))
        yield RunContext(
            settings,
            desired,
            dependencies,
            store,
            client,
            lock,
            service_lock,
            stop,
            lock.now,
            run,
            began,
            locked_at,
            fail_fast,
        )


def _find_shared_pacer(settings: Settings, store: Store) -> Pacer | None:
    """Return the pace that runs with these credentials and this store share; None if it is not shared."""
    return store.pace(*pace_key_and_rate(settings.service, store.salt)) if store.shared else None


# --- The store ------------------------------------------------------------------------------------


# Seconds for opening a store: a server with several addresses is called at each of them, and an older
# store is brought to the present version.
open_max_s = 30.0


@asynccontextmanager
async def open_run_store(
    settings: Settings, dependencies: Dependencies, *, create: bool
) -> AsyncIterator[Store]:
    """Give the store of these settings; without `create` nothing can be written. Raises StoreError.

    Opening and closing run in a thread: a server may accept the connection and answer nothing.
    """
    bring_kinds(settings.service.profile)  # an address needs a known kind
    opening = partial(
        Store.open,
        settings.store,
        origin=origin_of(settings.service.base_url),
        stack=settings.stack,
        now=dependencies.now,
        token=dependencies.token,
        monotonic=dependencies.timing.monotonic,
        root=settings.root,
        create=create,
    )
    took = start_stopwatch()
    store = await await_store(dependencies.offload, opening, seconds=open_max_s)
    step_log.info("store opened; shared: %s, %.1f s", "yes" if store.shared else "no", took())
    try:
        yield store
    finally:
        with suppress(
            StoreError
        ):  # everything is recorded; a failure here must not hide the outcome of the run
            await await_store(dependencies.offload, store.close, give_up=store.give_up)


# --- The two locks: that of the store always, the one in the service where it is used -------------


history_entries_max = 20  # of the history; the last run is among them


store_poll_s = 1.0  # between two looks at a store's lock that another run holds


report_wait_s = 30.0  # between two reports of which run holds it, and how far that run is


async def hold_locks(
    held: AsyncExitStack,
    settings: Settings,
    store: Store,
    dependencies: Dependencies,
    stop: StopFlag,
    *,
    run: str,
    waits: Callable[[str], None],
) -> tuple[Lock, ServiceLock]:
    """Hold the store's lock, and return it with the one in the service, which is not taken yet.

    `held` releases both on every way out. `waits` is called with which run holds the store's lock, and how
    far that run is. Raises LockHeld, SettingsError.
    """
    unused = choose_unused_lock(settings, shared=store.shared, unattended=dependencies.unattended)
    # Asked before the lock is ours: its holder until then writes no more, whatever its ticket says.
    before = await await_store(dependencies.offload, store.holder, give_up=store.give_up)
    taking = partial(_hold_store_lock, store, run, settings.lock.lease_s, dependencies.offload)
    with record_span("lock"):
        lock = await _wait_for_store_lock(held, taking, dependencies.timing, settings.lock.timeout_s, waits)
    if unused is not None:
        return lock, unused
    ended = await await_store(
        dependencies.offload, partial(collect_finished_runs, store, before), give_up=store.give_up
    )
    note = partial(await_store, dependencies.offload, partial(store.note_ticket, run), give_up=store.give_up)
    in_service = _hold_service_lock(settings, dependencies, stop, run=run, over=ended, note=note)
    return lock, await held.enter_async_context(in_service)


def choose_unused_lock(settings: Settings, *, shared: bool, unattended: bool) -> ServiceLock | None:
    """Return None where a run takes the lock in the service. Raises SettingsError where it has to and cannot.

    `auto`: where no person can be asked, as in CI, and the store is not shared, so that other runners do not
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


async def _wait_for_store_lock(
    held: AsyncExitStack,
    taking: Callable[[], AbstractAsyncContextManager[Lock]],
    timing: Timing,
    timeout_s: float,
    waits: Callable[[str], None],
) -> Lock:
    """Take the store's lock, trying again while another run has it. Raises LockHeld after `timeout_s`."""
    ends_at, report_at = timing.monotonic() + timeout_s, timing.monotonic()
    while True:
        try:
            return await held.enter_async_context(taking())
        except LockHeld as other:
            now = timing.monotonic()
            if now >= ends_at:
                raise
            if now >= report_at:
                step_log.info("another run holds the lock; waiting, %.0f s at most", ends_at - now)
                waits(f"waiting, {ends_at - now:,.0f} s at most: {str(other).removesuffix('.')}")
                report_at = now + report_wait_s
            await timing.sleep(min(store_poll_s, ends_at - now))


@asynccontextmanager
async def _hold_store_lock(store: Store, run: str, lease: int, offload: Offload) -> AsyncIterator[Lock]:
    """Hold the store's lock, and release it on every way out. Raises LockHeld, StoreError."""
    lock = store.lock_for(
        run, lease
    )  # a new nonce each time: one that was refused releases no other run's lock
    try:
        await await_store(offload, lock.take, give_up=store.give_up)
        yield lock
    finally:
        # Also where taking it was cancelled: it may be ours all the same. A lock that cannot be released ends
        # with its process and its lease.
        with suppress(StoreError):
            await await_store(offload, lock.release, give_up=store.give_up)
            step_log.info("run %sreleased the lock", run)


@asynccontextmanager
async def _renew_lock(
    lock: Lock, store: Store, dependencies: Dependencies, lease: int
) -> AsyncIterator[None]:
    """Renew a short lease where nothing else does: while a plan is made, and while the service is slow."""

    async def renew() -> None:
        with suppress(LockHeld, StoreError):  # the next write finds the same, and says so
            while True:
                await dependencies.timing.sleep(lease / 3)
                await await_store(dependencies.offload, lock.check, give_up=store.give_up)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])


def collect_finished_runs(store: Store, before: Holder | None) -> frozenset[str]:
    """Return the runs that write no more, though lists may still show their tickets.

    The caller holds the store's lock, and `before` held it until then. Any further write of that run, of the
    unfinished runs, of the last ones in the history, and of all that recorded here that they want a ticket
    would need this lock. The store's salt would not prove it: a copy on another machine has it too.
    """
    found = (
        {one.run for one in store.unfinished()} | ({before.run} if before else set()) | store.ticket_runs()
    )
    with suppress(CorruptRecord):  # doctor and history report a damaged history
        found |= {entry.run for entry in store.history(history_entries_max)}
    return frozenset(found)


@asynccontextmanager
async def open_service_lock(settings: Settings, dependencies: Dependencies) -> AsyncIterator[TicketLock]:
    """Yield the lock in the service for looking at it or freeing it; it is never taken."""
    async with _hold_service_lock(settings, dependencies, StopFlag()) as lock:
        yield lock


@asynccontextmanager
async def _hold_service_lock(
    settings: Settings,
    dependencies: Dependencies,
    stop: StopFlag,
    *,
    run: str = "",
    over: frozenset[str] = frozenset(),
    note: Callable[[], Awaitable[None]] | None = None,
) -> AsyncIterator[TicketLock]:
    """Yield the lock, and remove its ticket with a client of its own: the run's may be out of time."""
    service, terms = settings.service, _make_lock_terms(settings, run, over)
    deadline_s = service.limits.deadline_s + terms.patience_s + terms.lease_s
    patient = structs.replace(service, limits=structs.replace(service.limits, deadline_s=deadline_s))
    given = dependencies.connections
    # The service's clock is all that machines without a shared store have in common: answers carry it.
    watched = DatedConnections(given or open_connections(service))
    try:
        async with open_client(patient, timing=dependencies.timing, connections=watched) as client:
            lock = TicketLock(client, watched, terms, dependencies, stop, note=note)
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
        holder=name_operator(),
        # Longer than the store's lease: the ticket may be listed a window late, and be read a window late.
        lease_s=settings.lock.lease_s + 2 * window_s,
        window_s=window_s,
        patience_s=settings.lock.timeout_s,
        over=over,
    )


# --- Which store this project had, remembered outside of its folder -------------------------------
#
# The folder may be deleted with all that is in it.
#
#     <project>/.reconciler/cache/store-<digest>.json           where the store lies elsewhere
#     $XDG_STATE_HOME/reconciler/store-<digest>.json            where all of `.reconciler` is gone
#
# The digest is that of the store's path. A file says which store lay there and when a run last held it, and
# nothing of its content. Either file may be deleted, and neither is needed: without both, a missing store
# is taken for one that was never made. The marker beside a store's file, which is exact, is store/sqlite.py.


_known_store_bytes_max = 4096  # of one file; ours has about a hundred


class KnownStore(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which store lay at a path, and when a run last held it: ISO 8601 in UTC."""

    version: int
    id: str
    held_at: str


def explain_lost_store(settings: Settings, dependencies: Dependencies, store: Store) -> str:
    """Return why the store of these settings is not the one that this project had, or "".

    Only a store in a file can be lost, and not one that has its former salt.
    """
    mine = store_id(store.salt) if store.salt else ""
    known = list(_read_known_stores(settings, dependencies))
    if not known or any(one.id == mine for one in known):
        return ""
    last = max(one.held_at for one in known)
    what = "is new" if mine else "does not exist"
    place = _store_path(settings)
    shown = place.relative_to(settings.root) if place.is_relative_to(settings.root) else place
    where = f"a run used another store there at {last}; that store was deleted or moved"
    return f"the store {shown} {what}, but {where}"


def remember_store(settings: Settings, dependencies: Dependencies, store: Store, now: datetime) -> None:
    """Remember that this store exists. Never fails."""
    if not settings.caches or not store.salt or store.doubtful:
        return
    if dependencies.state is not None:
        with suppress(OSError):
            dependencies.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = msgspec.json.encode(KnownStore(1, store_id(store.salt), format_utc(now)))
    for folder in _known_store_folders(settings, dependencies):
        folder.write(_known_store_file(settings), [text])


def _read_known_stores(settings: Settings, dependencies: Dependencies) -> Iterator[KnownStore]:
    for folder in _known_store_folders(settings, dependencies):
        text = folder.read(_known_store_file(settings), bytes_max=_known_store_bytes_max)
        with suppress(msgspec.DecodeError):
            if text is not None:
                yield msgspec.json.decode(text, type=KnownStore)


def _known_store_folders(settings: Settings, dependencies: Dependencies) -> Iterator[Folder]:
    if not settings.caches or sqlite_path(settings.store) is None:
        return
    yield CacheFolder(Path(settings.root))
    if dependencies.state is not None:
        yield Folder(dependencies.state, ("reconciler",))


def _known_store_file(settings: Settings) -> str:
    return f"store-{sha256(str(_store_path(settings)).encode()).hexdigest()[:32]}.json"


def _store_path(settings: Settings) -> Path:
    return Path(settings.root, sqlite_path(settings.store) or "").absolute()
