"""What a run writes down around every call: the one place for "intent before, result after".

Before the call: is the lock still ours? After it: what is ours now, durable before the change counts
as ended. Results of changes that run side by side share a transaction, because a commit waits for
the disk, and a second result in it costs nothing.
"""

import asyncio

from reconciler.errors import StoreError
from reconciler.model.plans import Workspace
from reconciler.store.database import Store
from reconciler.store.lock import Lock
from reconciler.store.recorded import Batch


class Ledger:
    """The store and the lock, as one run uses them. `broken` is the store's first failure, if any."""

    def __init__(self, store: Store, lock: Lock, workspaces: tuple[Workspace, ...]) -> None:
        self.broken: StoreError | None = None
        self._store = store
        self._lock = lock
        self._workspaces = workspaces
        self._waiting: list[tuple[Batch, asyncio.Future[None] | None]] = []
        self._writer: asyncio.Task[None] | None = None

    def before_call(self) -> None:
        """Nothing may be sent before this has returned. Raises LockHeld, StoreError."""
        if self.broken is not None:
            raise self.broken
        self._lock.check()

    async def after_call(self, batch: Batch) -> None:
        """Return when `batch` is durable. Raises StoreError when it is not.

        Whoever is cancelled while waiting may go: the batch is written all the same.
        """
        done = asyncio.get_running_loop().create_future()
        self._add(batch, done)
        await done

    def later(self, batch: Batch) -> None:
        """Write `batch` down while nobody waits for it; `close` does."""
        self._add(batch, None)

    async def close(self) -> None:
        """Return when nothing waits to be written any more."""
        if self._writer is not None:
            await self._writer

    def _add(self, batch: Batch, done: "asyncio.Future[None] | None") -> None:
        self._waiting.append((batch, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting:
            taken, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._store.record, [batch for batch, _ in taken], self._workspaces)
            except StoreError as error:
                self.broken = self.broken or error
                _end(taken, error)
            else:
                _end(taken, None)


def _end(taken: "list[tuple[Batch, asyncio.Future[None] | None]]", error: StoreError | None) -> None:
    for _, done in taken:
        if done is None or done.done():
            continue  # nobody waits, or whoever did was cancelled
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
