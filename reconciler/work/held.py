"""What a run that may write holds while it lasts, and whoever looks on.

Belongs here: taking lock, store and client, and letting go of them on every way out. Not here: what is done
with them (carrying.py), how the locks work (store/lock.py, apply/turn.py).
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from reconciler.apply import engine, exclusion
from reconciler.apply.exclusion import Turn
from reconciler.apply.opening import opened
from reconciler.core.guard import Consent
from reconciler.core.recover import Unfinished
from reconciler.model.changes import Change
from reconciler.model.outcomes import Outcome
from reconciler.model.plans import Options, Plan
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired
from reconciler.service.client import ServiceClient, open_client, paced
from reconciler.service.http.limiter import Pace
from reconciler.store.aside import within
from reconciler.store.database import Store
from reconciler.store.lock import Lock
from reconciler.work.outside import Outside
from reconciler.work.planning import Planned, make, rules_of

T = TypeVar("T")


class Watch(Protocol):
    """Whoever looks on while a plan is applied, and has a say before the first write."""

    def unfinished(self, runs: tuple[Unfinished, ...]) -> None:
        """Hear of earlier runs that did not finish, before what they left in doubt is looked for."""

    def doubtful(self, why: str) -> None:
        """Hear why the store may lack what was sent lately, before that is waited for."""

    def beyond(self, changes: tuple[Change, ...]) -> None:
        """Hear what planning now would do besides what is resumed, and what is not done."""

    def planned(self, planned: Planned) -> None:
        """Hear of the plan, before it is decided whether it is safe."""

    def waits(self, what: str) -> None:
        """Hear that the run takes the lock in the service, or why it goes without one."""

    def stale(self, saved: Plan, planned: Planned) -> None:
        """Hear that the saved plan is not what would be done now; StalePlan follows."""

    def agrees(self, planned: Planned) -> bool:
        """Say whether this safe plan may be carried out."""

    def ended(self, outcome: Outcome) -> None:
        """Hear how one change ended."""


@dataclass(frozen=True, slots=True)
class Work:
    """One run that may write: what it is about, and everything that it holds while it lasts."""

    settings: Settings
    desired: Desired
    outside: Outside
    stop: engine.StopFlag
    store: Store
    lock: Lock
    client: ServiceClient
    run: str
    began: float  # on the monotonic clock
    locked_at: float  # on the monotonic clock; whoever held the lock before sends nothing after that
    fail_fast: bool
    turn: Turn  # the lock in the service, used or not

    async def plan(self, options: Options, consent: Consent, *, salt: str) -> Planned:
        """Plan afresh, with the client and the store that this run holds."""
        return await make(
            self.settings,
            self.desired,
            self.outside,
            self.client,
            self.store,
            options=options,
            consent=consent,
            salt=salt,
        )

    async def ask(self, call: Callable[[Store], T]) -> T:
        """Return what `call` returns of the store, beside the event loop. Raises StoreError, in time."""
        return await within(self.outside.offload, partial(call, self.store), give_up=self.store.give_up)

    def options(self) -> engine.ApplyOptions:
        """How the plan is carried out; the deadline is what is left of the whole run's, the plan included."""
        limits = self.settings.service.limits
        return engine.ApplyOptions(
            run=self.run,
            rules=rules_of(self.settings),
            fail_fast=self.fail_fast,
            concurrency=limits.concurrency,
            settle_s=limits.settle_s,
            deadline_s=limits.deadline_s - (self.outside.timing.monotonic() - self.began),
        )

    async def alone(self, watch: "Watch") -> bool:
        """Whether the lock in the service was taken just now: what was read before may be old.

        Nothing is called where it is held already, or not used. Raises LockHeld, Interrupted.
        """
        if self.turn.taken:
            return False
        if self.turn.says:
            watch.waits(self.turn.says)
        return await self.turn.take()


@asynccontextmanager
async def writing(
    settings: Settings,
    desired: Desired,
    outside: Outside,
    stop: engine.StopFlag,
    *,
    fail_fast: bool,
    waits: Callable[[str], None],
) -> AsyncIterator[Work]:
    """Hold the lock, the store and the client; all three are let go of on every way out. Raises LockHeld.

    `waits` hears who holds the store's lock while this run waits for it.
    The lock in the service is not taken yet (`Work.alone`), and removed on every way out where it was.
    """
    run, began, timing = outside.run_id(), outside.timing.monotonic(), outside.timing
    async with AsyncExitStack() as held:
        store = await held.enter_async_context(opened(settings, outside, create=True))
        lock, turn = await held.enter_async_context(
            exclusion.locks(
                settings,
                store,
                run=run,
                unattended=outside.unattended,
                timing=timing,
                token=outside.token,
                stop=stop,
                connections=outside.connections,
                offload=outside.offload,
                waits=waits,
            )
        )
        locked_at = timing.monotonic()
        pace, connections = shared_pace(settings, store), outside.connections
        client = await held.enter_async_context(
            open_client(settings.service, timing=timing, connections=connections, pace=pace)
        )
        yield Work(
            settings, desired, outside, stop, store, lock, client, run, began, locked_at, fail_fast, turn
        )


def shared_pace(settings: Settings, store: Store) -> Pace | None:
    """Return the pace that everybody with these credentials and this store shares; None where nobody does."""
    return store.pace(*paced(settings.service, store.salt)) if store.shared else None
