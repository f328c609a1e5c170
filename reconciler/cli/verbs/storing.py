"""What the commands around the store share: the store of the settings, opened for one look or one word.

Belongs here: which store it is. Not here: what is asked of it (commands/), what is shown (report/). No
secret of the service is read, and nobody is called but the store.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from reconciler.applying.context import token_bytes
from reconciler.cli.running import settings_of
from reconciler.errors import SettingsError
from reconciler.model.settings import Settings
from reconciler.service.http.urls import origin
from reconciler.store.database import Store


def now() -> datetime:
    """Return this machine's time, in UTC."""
    return datetime.now(UTC)


@contextmanager
def opened(given: Mapping[str, Any], *, create: bool = False) -> Iterator[tuple[Store, Settings]]:
    """Yield the store that the options of a command line lead to, and the settings.

    Raises SettingsError, StoreError. Without `create` a store that is not there is empty, and stays away.
    """
    settings = settings_of(given["config"], given["environment"], service=False)
    with open_store(settings, create=create) as store:
        yield store, settings


def open_store(settings: Settings, *, create: bool, clock: Callable[[], datetime] = now) -> Store:
    """Return the store of these settings. Raises SettingsError, StoreError."""
    if not settings.service.base_url:
        raise SettingsError(
            "service.base_url is not set, and the store keeps each service apart.",
            next="write service.base_url, or set RECONCILER_SERVICE_BASE_URL",
        )
    return Store.open(
        settings.store,
        origin=origin(settings.service.base_url),
        stack=settings.stack,
        now=clock,
        token=lambda: secrets.token_hex(token_bytes),
        root=settings.root,
        create=create,
    )
