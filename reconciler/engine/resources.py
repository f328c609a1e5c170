"""What a run that may write holds while it lasts, and its observer.

Belongs here: taking lock, store and client, and letting go of them on every way out. Not here: what is done
with them (carrying.py), how the locks work (store/lock.py, applying/service_lock.py).
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Protocol

from reconciler.core.runs.recover import InterruptedRun
from reconciler.engine.context import Dependencies, ReadContext, RunContext
from reconciler.engine.exclusion import hold_locks
from reconciler.engine.known_stores import explain_lost_store, remember_store
from reconciler.engine.opening import open_run_store
from reconciler.engine.planning import PlanResult
from reconciler.engine.stop import StopFlag
from reconciler.instrumentation import step_log
from reconciler.model.plans import Change, Plan
from reconciler.model.runs import Outcome
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired
from reconciler.service.client import open_client, open_reader, pace_key_and_rate
from reconciler.service.http.limiter import Pacer
from reconciler.store.database import Store


class RunObserver(Protocol):
    """Observes a run while a plan is applied, and may refuse before the first write."""

    def unfinished(self, runs: tuple[InterruptedRun, ...]) -> None:
        """Hear of earlier runs that did not finish, before what they left in doubt is looked for."""

    def doubtful(self, why: str) -> None:
        """Hear why the store may lack what was sent lately, before that is waited for."""

    def beyond(self, changes: tuple[Change, ...]) -> None:
        """Hear what planning now would do besides what is resumed, and what is not done."""

    def planned(self, planned: PlanResult) -> None:
        """Hear of the plan, before it is decided whether it is safe."""

    def waits(self, what: str) -> None:
        """Called when the run takes the lock in the service, or says why it does without."""

    def stale(self, saved: Plan, planned: PlanResult) -> None:
        """Called where the saved plan is not what would be done now; StalePlan follows."""

    def agrees(self, planned: PlanResult) -> bool:
        """Say whether this safe plan may be carried out."""

    def ended(self, outcome: Outcome) -> None:
        """Hear how one change ended."""


@asynccontextmanager
async def open_for_reading(
    settings: Settings, desired: Desired, outside: Dependencies
) -> AsyncIterator[ReadContext]:
    """Hold the store, which nothing can write here, and a client that can only read."""
    timing, connections = outside.timing, outside.connections
    async with open_run_store(settings, outside, create=False) as store:
        store.doubt(await outside.offload(partial(explain_lost_store, settings, outside, store)))
        pace = _find_shared_pacer(settings, store)
        async with open_reader(settings.service, timing=timing, connections=connections, pace=pace) as reader:
            yield ReadContext(settings, desired, outside, store, reader)


@asynccontextmanager
async def open_for_writing(
    settings: Settings,
    desired: Desired,
    outside: Dependencies,
    stop: StopFlag,
    observer: RunObserver,
    *,
    fail_fast: bool,
) -> AsyncIterator[RunContext]:
    """Hold the lock, the store and the client; all three are let go of on every way out. Raises LockHeld.

    `observer` hears who holds the store's lock while this run waits for it.
    The lock in the service is not taken yet (locking.py), and removed on every way out where it was.
    """
    run, began, timing = outside.run_id(), outside.timing.monotonic(), outside.timing
    async with AsyncExitStack() as held:
        store = await held.enter_async_context(open_run_store(settings, outside, create=True))
        store.doubt(await outside.offload(partial(explain_lost_store, settings, outside, store)))
        lock, service_lock = await hold_locks(
            held, settings, store, outside, stop, run=run, waits=observer.waits
        )
        locked_at = timing.monotonic()
        step_log.info("run %s holds the lock, %.1f s after it began", run, locked_at - began)
        # Opened last and closed first: no call of ours is under way when the locks are let go of.
        pace, connections = _find_shared_pacer(settings, store), outside.connections
        client = await held.enter_async_context(
            open_client(settings.service, timing=timing, connections=connections, pace=pace)
        )
        held.callback(lambda: remember_store(settings, outside, store, lock.now()))
        yield RunContext(
            settings,
            desired,
            outside,
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
    """Return the pace that everybody with these credentials and this store shares; None where nobody does."""
    return store.pace(*pace_key_and_rate(settings.service, store.salt)) if store.shared else None
