"""The store of a run: opened beside the event loop, and let go of on every way out.

Belongs here: which store the settings name. Not here: what is recorded of changes (ledger.py).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

from reconciler.engine.context import Dependencies
from reconciler.errors import StoreError
from reconciler.instrumentation import start_stopwatch, step_log
from reconciler.model.settings import Settings
from reconciler.service.http.urls import origin_of
from reconciler.service.profile import bring_kinds
from reconciler.store.aside import within
from reconciler.store.database import Store

# Seconds for opening a store: a server with several addresses is called at each of them, and an older
# store is brought to the present version.
open_max_s = 30.0


@asynccontextmanager
async def open_run_store(settings: Settings, outside: Dependencies, *, create: bool) -> AsyncIterator[Store]:
    """Give the store of these settings; without `create` nothing can be written. Raises StoreError.

    Opening and closing wait beside the event loop as well: a server may take the call and say nothing.
    """
    bring_kinds(settings.service.profile)  # an address of a kind that nobody knows is none
    opening = partial(
        Store.open,
        settings.store,
        origin=origin_of(settings.service.base_url),
        stack=settings.stack,
        now=outside.now,
        token=outside.token,
        monotonic=outside.timing.monotonic,
        root=settings.root,
        create=create,
    )
    took = start_stopwatch()
    store = await within(outside.offload, opening, seconds=open_max_s)
    step_log.info("store opened; shared: %s, %.1f s", "yes" if store.shared else "no", took())
    try:
        yield store
    finally:
        with suppress(StoreError):  # what was done is recorded; that must not hide how the run ended
            await within(outside.offload, store.close, give_up=store.give_up)
