"""The store of a run: opened beside the event loop, let go of on every way out, and told how runs ended.

Belongs here: which store the settings name. Not here: what is recorded of changes (ledger.py).
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Protocol

from reconciler.apply.exits import INTERRUPTED
from reconciler.core.recover import Unfinished
from reconciler.errors import StoreError
from reconciler.model.audit import Head
from reconciler.model.outcomes import WORDS, Run
from reconciler.model.settings import Settings
from reconciler.service.http.timing import Timing
from reconciler.service.http.urls import origin
from reconciler.store.aside import Offload, within
from reconciler.store.database import Store

# Seconds for opening a store: a server with several addresses is called at each of them, and an older
# store is brought to the present version.
open_max_s = 30.0


class Opener(Protocol):
    """What opening a store takes from outside the program."""

    @property
    def now(self) -> Callable[[], datetime]:
        """Tells UTC."""

    @property
    def token(self) -> Callable[[], str]:
        """Gives fresh random text."""

    @property
    def timing(self) -> Timing:
        """Time that only goes on."""

    @property
    def offload(self) -> Offload:
        """Runs what waits for the store."""


@asynccontextmanager
async def opened(settings: Settings, outside: Opener, *, create: bool) -> AsyncIterator[Store]:
    """Give the store of these settings; without `create` nothing can be written. Raises StoreError.

    Opening and closing wait beside the event loop as well: a server may take the call and say nothing.
    """
    store = await within(
        outside.offload, partial(_open, settings, outside, create=create), seconds=open_max_s
    )
    try:
        yield store
    finally:
        with suppress(StoreError):  # what was done is recorded; that must not hide how the run ended
            await within(outside.offload, store.close, give_up=store.give_up)


def _open(settings: Settings, outside: Opener, *, create: bool) -> Store:
    return Store.open(
        settings.store,
        origin=origin(settings.service.base_url),
        stack=settings.stack,
        now=outside.now,
        token=outside.token,
        monotonic=outside.timing.monotonic,
        root=settings.root,
        create=create,
    )


def close_all(unfinished: Iterable[Unfinished], store: Store) -> None:
    """Close earlier runs whose place another one takes."""
    for one in unfinished:
        store.close_run(one.run, WORDS[INTERRUPTED])


def end(result: Run, store: Store) -> Head | None:
    """Write down that a run has ended, and return the end of the history."""
    store.end(result)
    return store.head()
