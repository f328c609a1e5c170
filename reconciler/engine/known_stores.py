"""That there was a store is remembered outside of its folder, which may be deleted with all that is in it.

    <project>/.reconciler/cache/store-<digest>.json           where the store lies elsewhere
    $XDG_STATE_HOME/reconciler/store-<digest>.json            where all of `.reconciler` is gone

The digest is that of the store's path. A file says which store lay there, and when a run last held it, and
nothing of what is in it. Either may be deleted, and neither is needed: without both, a store that is not
there is one that nobody has made. Not here: the marker beside a store's file, which is exact
(store/marker.py).
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from reconciler.engine.context import Dependencies, format_utc
from reconciler.model.settings import Settings
from reconciler.ownership import Folder
from reconciler.private_cache import CacheFolder
from reconciler.store.database import Store
from reconciler.store.marker import store_id

_known_store_bytes_max = 4096  # of one file; ours has about a hundred
_SQLITE_URL = "sqlite:///"


class KnownStore(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which store lay at a path, and when a run last held it: ISO 8601 in UTC."""

    version: int
    id: str
    held_at: str


def explain_lost_store(settings: Settings, outside: Dependencies, store: Store) -> str:
    """Return why the store of these settings is not the one that this project had, or "".

    Of files alone. A store that is there under its old salt is never lost.
    """
    mine = store_id(store.salt) if store.salt else ""
    known = list(_read_known_stores(settings, outside))
    if not known or any(one.id == mine for one in known):
        return ""
    last = max(one.held_at for one in known)
    what = "is a new one" if mine else "is not there"
    place = _store_path(settings)
    shown = place.relative_to(settings.root) if place.is_relative_to(settings.root) else place
    return f"the store {shown} {what}, and a run held another one there at {last}; it was deleted or moved"


def remember_store(settings: Settings, outside: Dependencies, store: Store, now: datetime) -> None:
    """Let it be known from now on that there is this store. Never fails."""
    if not settings.caches or not store.salt or store.doubtful:
        return
    if outside.state is not None:
        with suppress(OSError):
            outside.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = msgspec.json.encode(KnownStore(1, store_id(store.salt), format_utc(now)))
    for folder in _known_store_folders(settings, outside):
        folder.write(_known_store_file(settings), [text])


def _read_known_stores(settings: Settings, outside: Dependencies) -> Iterator[KnownStore]:
    for folder in _known_store_folders(settings, outside):
        text = folder.read(_known_store_file(settings), bytes_max=_known_store_bytes_max)
        with suppress(msgspec.DecodeError):
            if text is not None:
                yield msgspec.json.decode(text, type=KnownStore)


def _known_store_folders(settings: Settings, outside: Dependencies) -> Iterator[Folder]:
    if not settings.caches or not settings.store.startswith(_SQLITE_URL):
        return
    yield CacheFolder(Path(settings.root))
    if outside.state is not None:
        yield Folder(outside.state, ("reconciler",))


def _known_store_file(settings: Settings) -> str:
    return f"store-{sha256(str(_store_path(settings)).encode()).hexdigest()[:32]}.json"


def _store_path(settings: Settings) -> Path:
    return Path(settings.root, settings.store.removeprefix(_SQLITE_URL)).absolute()
