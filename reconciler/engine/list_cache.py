"""What lists showed, from one run to the next: so that they need not be read completely each time.

What is done with a list is in following.py, the files in private_cache.py. A list that was kept for anything
else (another service, stack, workspace, fields, profile or version of this program) is not found.
"""

from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path

import msgspec

from reconciler.core.feed import NewestRows, RememberedList, granularity_s, why_full_read_due
from reconciler.engine.collecting import pause_collector
from reconciler.engine.context import Dependencies, ReadContext
from reconciler.engine.following import CachedRows, ListRequest
from reconciler.instrumentation import step_log
from reconciler.model.kind import Kind
from reconciler.model.profile import Profile
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Scope
from reconciler.private_cache import ListCache
from reconciler.service.http import urls
from reconciler.service.http.auth import credential_hash
from reconciler.service.profile import load_profile
from reconciler.store.database import Store
from reconciler.version import __version__

_list_cache_form = "2"  # of what is kept; another one is not read
_StoredList = tuple[tuple[str, ...], RememberedList]


class RowCache:
    """The lists of one project. `now` is when this run reads, ISO 8601."""

    def __init__(self, settings: Settings, outside: Dependencies, salt: str, now: datetime) -> None:
        self._settings = settings
        self._offload = outside.offload
        self._salt = salt
        self.files = ListCache(Path(settings.root), salt)
        self._profile = load_profile(settings.service.profile)
        self.now = now.astimezone(UTC).isoformat(timespec="seconds")
        self.newest: dict[
            Scope, tuple[ListRequest, NewestRows, int]
        ] = {}  # of the lists that this run followed

    @property
    def margin_s(self) -> float:
        """What the service may still show late, and how finely its clock tells."""
        return self._settings.service.limits.settle_s + granularity_s

    def feeds(self, kind: Kind) -> bool:
        """Whether the profile says that a kind is listed in order of change."""
        return bool(getattr(self._profile, f"{kind.name}_feed", False))

    async def recall(self, asked: ListRequest) -> CachedRows:
        """Return what is remembered of exactly this, and why it is to be read completely all the same."""
        known = await self._offload(partial(self._read, asked))
        if known is None:
            return CachedRows()
        return CachedRows(known, self.why_whole(known))

    def why_whole(self, known: RememberedList | NewestRows) -> str:
        """Return why a list is to be read completely though it is remembered, or ""."""
        refresh = self._settings.refresh
        if refresh.mode == "full":
            return "a complete read was asked for"
        return why_full_read_due(known, now=self.now, every_s=refresh.complete_every_h * 3600)

    def followed(self, asked: ListRequest, newest: NewestRows, calls: int) -> None:
        """Take note of the newest rows of a list that is now as it is remembered, after so many calls."""
        self.newest[asked.scope] = asked, newest, calls

    def state(self, asked: ListRequest, *, now: bool) -> tuple[str, ...]:
        """Return what tells a list, as it is remembered, from every other; nothing where it is not.

        As whatever run remembers it `now`; else as this one read or wrote it.
        """
        name = self._name(asked)
        seal = self.files.seal(name) if now else self.files.seals.get(name, b"")
        return (*self._told(asked), seal.hex()) if seal else ()

    async def keep(self, asked: ListRequest, found: RememberedList | None) -> None:
        """Remember this from now on; None: nothing."""
        await self._offload(partial(self._write, asked, found))

    def _read(self, asked: ListRequest) -> RememberedList | None:
        data = self.files.read(self._name(asked))
        if data is None:
            return None
        try:
            with pause_collector():
                told, known = msgspec.msgpack.decode(data, type=_StoredList)
        except msgspec.MsgspecError:  # of a version that did not say so
            return None
        return known if told == self._told(asked) else None

    def _write(self, asked: ListRequest, found: RememberedList | None) -> None:
        data = None if found is None else msgspec.msgpack.encode((self._told(asked), found))
        self.files.write(self._name(asked), data)
        step_log.info("%s: rows remembered: %d", asked.scope, len(found.rows) if found else 0)

    def _name(self, asked: ListRequest) -> str:
        origin, scope = urls.origin_of(self._settings.service.base_url), asked.scope
        return f"{origin}\n{self._settings.stack}\n{asked.workspace}\n{scope.workspace}\n{scope.kind}"

    def _told(self, asked: ListRequest) -> tuple[str, ...]:
        """Return everything that decides what rows show."""
        service = self._settings.service
        origin = urls.origin_of(service.base_url)
        return (
            _list_cache_form,
            __version__,
            self._name(asked),
            service.base_url,
            service.format,
            # Who sees other people needs a list of their own.
            credential_hash(service.auth, origin, self._salt),
            _hash_profile(self._profile),
            *asked.fields,
        )


async def open_row_cache(context: ReadContext) -> RowCache | None:
    """Return the lists that earlier plans have kept; None without a store, for its salt seals them."""
    now = await context.ask(Store.now)
    salt = context.store.salt
    return RowCache(context.settings, context.outside, salt, now) if salt else None


def _hash_profile(profile: Profile) -> str:
    return sha256(msgspec.json.encode(profile, order="deterministic")).hexdigest()
