"""The two locks of a run that writes: the store's, always, and the one in the service, where it is used.

Belongs here: which are used, and holding them. Not here: how one is taken (store/lock.py, turn.py).
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from msgspec import structs

from reconciler.apply.stop import StopFlag
from reconciler.apply.turn import ServiceTurn, Terms
from reconciler.errors import CorruptRecord, LockHeld, SettingsError, StoreError
from reconciler.model.settings import Service, Settings
from reconciler.service.client import open_client
from reconciler.service.http.clock import Watched
from reconciler.service.http.connections import Connections, open_connections
from reconciler.service.http.timing import Timing
from reconciler.service.profile import load_profile
from reconciler.store.aside import Offload, within
from reconciler.store.audit import operator
from reconciler.store.database import Store
from reconciler.store.lock import Holder, Lock, lease_s

entries_max = 20  # of the history; the last run is among them
poll_s = 1.0  # between two looks at a store's lock that somebody else holds
tell_s = 30.0  # between two words of who holds it, and how far that run is


class Turn(Protocol):
    """The lock in the service, as a run sees it; `says` is what a person should know of it beforehand."""

    says: str
    taken: bool

    async def take(self) -> bool:
        """Hold it; whether it was taken now. Raises LockHeld, Interrupted, ServiceError."""

    def lost(self) -> str:
        """Return why nothing may be sent any more, or ""."""


@dataclass(slots=True)
class NoTurn:
    """A run without a lock in the service."""

    says: str = ""
    taken: bool = False

    async def take(self) -> bool:
        """Take nothing."""
        self.says = ""  # once is enough
        return False

    def lost(self) -> str:
        """Return "": there is nothing to lose."""
        return ""


@asynccontextmanager
async def locks(
    settings: Settings,
    store: Store,
    *,
    run: str,
    unattended: bool,
    timing: Timing,
    token: Callable[[], str],
    stop: StopFlag,
    connections: Connections | None,
    offload: Offload,
    waits: Callable[[str], None],
) -> AsyncIterator[tuple[Lock, Turn]]:
    """Hold the store's lock, and yield it with the one in the service, which is not taken yet.

    Both are let go of on every way out. `waits` hears who holds the store's lock, and how far that run is.
    Raises LockHeld, SettingsError.
    """
    use = used(settings, shared=store.shared, unattended=unattended)
    before = await within(offload, store.holder, give_up=store.give_up)
    async with AsyncExitStack() as held:
        lock = await _locked(
            held,
            store,
            run,
            timing=timing,
            patience_s=settings.lock.timeout_s,
            offload=offload,
            waits=waits,
        )
        if not isinstance(use, NoTurn):
            ended = await within(offload, partial(over, store, before), give_up=store.give_up)
            terms = _terms(settings, run, ended)
            turn: Turn = await held.enter_async_context(
                _in_service(settings.service, terms, timing, connections, token=token, stop=stop)
            )
        else:
            turn = use
        yield lock, turn


async def _locked(
    held: AsyncExitStack,
    store: Store,
    run: str,
    *,
    timing: Timing,
    patience_s: float,
    offload: Offload,
    waits: Callable[[str], None],
) -> Lock:
    """Hold the store's lock. Another holder is waited for; LockHeld is raised when patience ends."""
    ends_at, tell_at = timing.monotonic() + patience_s, timing.monotonic()
    while True:
        try:
            return await held.enter_async_context(_in_store(store, run, offload))
        except LockHeld as other:
            now = timing.monotonic()
            left_s = ends_at - now
            if left_s <= 0:
                raise
            if now >= tell_at:
                waits(f"waiting, {left_s:,.0f} s at most: {str(other).removesuffix('.')}")
                tell_at = now + tell_s
            await timing.sleep(min(poll_s, left_s))


@asynccontextmanager
async def _in_store(store: Store, run: str, offload: Offload) -> AsyncIterator[Lock]:
    """Hold the store's lock, and let go of it on every way out. Raises LockHeld, StoreError."""
    lock = store.lock_for(run)
    try:
        await within(offload, lock.take, give_up=store.give_up)
        yield lock
    finally:
        # Also where taking it was cut off: it may be ours all the same. A lock that cannot be let go of ends
        # with its process and its lease.
        with suppress(StoreError):
            await within(offload, lock.release, give_up=store.give_up)


def used(settings: Settings, *, shared: bool, unattended: bool) -> NoTurn | None:
    """Return None where a run takes the lock in the service. Raises SettingsError where it has to and cannot.

    `auto`: where nobody can be asked, as in CI, and the store is not shared, so that other runners do not
    see its lock; and only where the service's profile writes resources.
    """
    wanted = settings.lock.in_service
    if wanted == "never" or (wanted == "auto" and (shared or not unattended)):
        return NoTurn()
    if ("resource", "create") not in load_profile(settings.service.profile).missing:
        return None
    what = "the service's profile does not write resources, so there is no lock in the service"
    if wanted == "auto":
        return NoTurn(f"{what}: a run with another store would not be seen")
    raise SettingsError(
        f"lock.in_service is always, and {what}.",
        next="set lock.in_service to never, and let all runs share one store (postgresql://...)",
    )


def over(store: Store, before: Holder | None) -> frozenset[str]:
    """Return the runs that write no more, though lists may still show their tickets; for who holds the lock.

    `before` held the store's lock until we took it. That one, the runs that the store knows as unfinished,
    and those that its history shows last would need this lock for another write.
    """
    found = {one.run for one in store.unfinished()} | ({before.run} if before else set())
    with suppress(CorruptRecord):  # a damaged history is not this lock's business
        found |= {entry.run for entry in store.history(entries_max)}
    return frozenset(found)


@asynccontextmanager
async def looking(
    settings: Settings, *, timing: Timing, token: Callable[[], str], connections: Connections | None
) -> AsyncIterator[ServiceTurn]:
    """Yield the lock in the service to somebody who looks at it, or frees it, and never takes it."""
    terms = _terms(settings, "", frozenset())
    opened = _in_service(settings.service, terms, timing, connections, token=token, stop=StopFlag())
    async with opened as turn:
        yield turn


def _terms(settings: Settings, run: str, over: frozenset[str]) -> Terms:
    window_s = settings.service.limits.settle_s
    return Terms(
        stack=settings.stack,
        run=run,
        holder=operator(),
        lease_s=lease_s + 2 * window_s,
        window_s=window_s,
        patience_s=settings.lock.timeout_s,
        over=over,
    )


@asynccontextmanager
async def _in_service(
    service: Service,
    terms: Terms,
    timing: Timing,
    connections: Connections | None,
    *,
    token: Callable[[], str],
    stop: StopFlag,
) -> AsyncIterator[ServiceTurn]:
    """Yield the lock, and remove its ticket by a client of its own: the run's may be out of time by then."""
    deadline_s = service.limits.deadline_s + terms.patience_s + terms.lease_s
    patient = structs.replace(service, limits=structs.replace(service.limits, deadline_s=deadline_s))
    watched = Watched(connections or open_connections(service))
    try:
        async with open_client(patient, timing=timing, connections=watched) as client:
            turn = ServiceTurn(client, watched, terms, timing=timing, token=token, stop=stop)
            try:
                yield turn
            finally:
                await turn.release()
    finally:
        if connections is None:
            await watched.aclose()
