"""What a run records around every call: the one place for "intent before, result after".

    before_call(intent) --+                      one transaction:
    after_call(batch) ----+-- queue -- commit -- lock still ours? + intents + results, in their order
    later(batch) ---------+

Nothing is sent before its intent is durable; a change counts as ended only when its end is durable.
Batches that wait together are committed together, because a commit waits for the disk, and a second
batch in it costs nothing. engine/session.py and engine/write.py make the intents and results.
"""

import asyncio
from functools import partial

from reconciler.concurrency import run_in_thread
from reconciler.errors import LockHeld, StoreError
from reconciler.model.plans import Workspace
from reconciler.model.runs import Intent
from reconciler.store.database import Offload, Store, await_store
from reconciler.store.locks import Lock
from reconciler.store.records import Batch

_Waiting = tuple[Batch, "asyncio.Future[None] | None"]


class Ledger:
    """The store and the lock, as one run uses them. `broken` is the store's first failure, if any."""

    def __init__(
        self,
        store: Store,
        lock: Lock,
        workspaces: tuple[Workspace, ...],
        *,
        offload: Offload = run_in_thread,
    ) -> None:
        self.broken: StoreError | None = None
        self._store = store
        self._lock = lock
        self._workspaces = workspaces
        self._offload = offload
        self._waiting: list[_Waiting] = []
        self._writer: asyncio.Task[None] | None = None

    async def before_call(self, intent: Intent) -> None:
        """Return when `intent` is durable, and the lock was ours in that very transaction.

        Raises LockHeld, StoreError. Nothing may be sent before this has returned. A caller that is cancelled
        meanwhile may leave an intent behind, and has to end it.
        """
        if self.broken is not None:
            raise self.broken
        # Lock and intent in one transaction: between a look at the lock and the commit it could be taken.
        await self.after_call(Batch(intents=(intent,)))

    async def after_call(self, batch: Batch) -> None:
        """Return when `batch` is durable. Raises StoreError when it is not, LockHeld where it needs the lock.

        The batch is written also where the caller is cancelled while it waits.
        """
        done = asyncio.get_running_loop().create_future()
        self._add(batch, done)
        await done

    def later(self, batch: Batch) -> None:
        """Write `batch` in the background; `close` waits for it."""
        self._add(batch, None)

    async def check(self) -> None:
        """Return where the lock is still ours; its lease is renewed in time. Raises LockHeld, StoreError."""
        await await_store(self._offload, self._lock.check, give_up=self._store.give_up)

    async def close(self) -> None:
        """Return when everything is written; a cancellation is raised only then."""
        cancelled: asyncio.CancelledError | None = None
        # Again after each signal: an outcome that is not recorded would be in doubt for no reason.
        while self._writer is not None and not self._writer.done():
            try:
                await asyncio.wait({self._writer})
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    def _add(self, batch: Batch, done: "asyncio.Future[None] | None") -> None:
        # One writer at a time: two commits side by side could put a result before its intent.
        self._waiting.append((batch, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting:
            # All batches that came while the last commit waited for the disk share the next one, in order.
            taken, self._waiting = self._waiting, []
            if self.broken is not None:  # nothing may follow an intent any more; results still try
                taken = _refuse_waiting(taken, self.broken)
            try:
                needs_lock = any(_needs_lock(batch) for batch, _ in taken)
                await self._commit(taken, self._lock if needs_lock else None)
            except LockHeld as error:
                # Results are written also after the lock was lost: they have happened. Nothing else is.
                await self._write_results(_refuse_waiting(taken, error))
            except Exception as error:  # noqa: BLE001 - the waiting callers get it, also a mistake of ours
                self._fail_waiting(taken, error)
            else:
                _release_waiting(taken, None)

    async def _write_results(self, taken: list[_Waiting]) -> None:
        try:
            await self._commit(taken, None)
        except Exception as error:  # noqa: BLE001 - as above
            self._fail_waiting(taken, error)
        else:
            _release_waiting(taken, None)

    async def _commit(self, taken: list[_Waiting], lock: Lock | None) -> None:
        batches = [batch for batch, _ in taken]
        if batches:
            write = partial(self._store.record, batches, self._workspaces, lock=lock)
            await await_store(self._offload, write, give_up=self._store.give_up)

    def _fail_waiting(self, taken: list[_Waiting], error: Exception) -> None:
        mistake = (
            f"because of a bug in this program, the store could not be written ({type(error).__name__})."
        )
        failure = error if isinstance(error, StoreError) else StoreError(mistake, next="report it")
        self.broken = self.broken or failure
        _release_waiting(taken, error)


def _needs_lock(batch: Batch) -> bool:
    """Whether only the holder of the lock may write a batch: intents, and how others' doubts were settled."""
    return bool(batch.intents or batch.absent or batch.found)


def _refuse_waiting(taken: list[_Waiting], error: Exception) -> list[_Waiting]:
    """Raise `error` in the callers whose batches need the lock, and return the other batches."""
    _release_waiting([one for one in taken if _needs_lock(one[0])], error)
    return [one for one in taken if not _needs_lock(one[0])]


def _release_waiting(taken: list[_Waiting], error: Exception | None) -> None:
    for _, done in taken:
        if done is None or done.done():
            continue  # no caller waits, or it was cancelled
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
