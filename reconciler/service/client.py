"""The client of the service: its entities and workspaces, for reading, or for reading and writing.

Messages and callbacks come on top in messaging/client.py. How a call is carried out: http/transport.py.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from reconciler.model.kinds import BUILT_IN_KINDS, CONTACT, DEVICE, RESOURCE
from reconciler.model.profile import Profile, build_own_kinds
from reconciler.model.settings import Service
from reconciler.service.entities import (
    Collection,
    Imports,
    ReadCollection,
    ReadWorkspaces,
    Workspaces,
    company_id,
)
from reconciler.service.http import urls
from reconciler.service.http.auth import credential_hash
from reconciler.service.http.connections import Connections, open_connections
from reconciler.service.http.limiter import Pacer, Timing
from reconciler.service.http.transport import Transport, rate_of
from reconciler.service.profile import bring_kinds, load_profile


class Reader:
    """The service for reading: nothing here writes, and its transport sends nothing but GET.

    `calls` counts the requests that were sent, by method. Every kind has its collection, by the name of the
    kind; those that users of this library ask for most are attributes too.
    """

    # Whoever plans holds a Reader: it has no method that writes, and its transport refuses to.
    _collection: type[ReadCollection] = ReadCollection
    _collections: Mapping[str, ReadCollection]
    contacts: ReadCollection
    devices: ReadCollection
    resources: ReadCollection

    def __init__(self, transport: Transport, profile: Profile, *, window: int) -> None:
        self.calls: Counter[str] = transport.calls
        self._transport = transport
        # By the kinds that there are when a client is opened: a profile may bring some of its own.
        self._collections = {
            kind.name: self._collection(kind, transport, profile, window=window)
            for kind in (*BUILT_IN_KINDS.values(), *build_own_kinds(profile.kinds))
        }
        self.contacts = self[CONTACT.name]
        self.devices = self[DEVICE.name]
        self.resources = self[RESOURCE.name]
        self.workspaces = ReadWorkspaces(transport, profile, window=window)

    async def company_id(self) -> str:
        """The id of the account's company, or "" where the service does not tell it."""
        return await company_id(self._transport)

    def __getitem__(self, kind: str) -> ReadCollection:
        """The collection of a kind, by its name: `reader["contact"]` is `reader.contacts`."""
        return self._collections[kind]


class EntityClient(Reader):
    """The service for reading and writing."""

    _collection: type[Collection] = Collection
    _collections: Mapping[str, Collection]
    contacts: Collection
    devices: Collection
    resources: Collection
    workspaces: Workspaces
    imports: Imports

    def __init__(self, transport: Transport, profile: Profile, *, window: int) -> None:
        super().__init__(transport, profile, window=window)
        self.gaps = transport.gaps
        self.workspaces = Workspaces(transport, profile, window=window)
        self.imports = Imports(transport)

    def may_repeat(self) -> bool:
        """Whether a throttled write may be sent again, after a look (table A8, "look first"); then it counts.

        False when the repeats of this client are a tenth of its calls already (rule A10).
        """
        return self._transport.may_repeat()

    def at_once(self, looks: int) -> AbstractAsyncContextManager[None]:
        """Let the calls of this task be a look of so many calls and one write right after it.

        The write leaves at most 50 ms after the look's answer (`Timing.gap_s`), or ends with NotSent.
        """
        return self._transport.at_once(looks)

    def __getitem__(self, kind: str) -> Collection:
        """The collection of a kind, by its name: `client["contact"]` is `client.contacts`."""
        return self._collections[kind]


R = TypeVar("R", bound=Reader)


def pace_key_and_rate(service: Service, salt: str) -> tuple[str, float]:
    """What a shared pace is asked for with: the credential's keyed hash, and turns a second (0: no limit).

    `salt` is that of the store which keeps the pace. Raises SettingsError for a profile that cannot be used.
    """
    # The service counts by user, key and origin, so who shares these three shares one pace
    # (docs/service.md, how fast we call).
    caps = load_profile(service.profile).limits
    return credential_hash(service.auth, urls.origin_of(service.base_url), salt), rate_of(
        service.limits, caps
    )


def open_reader(
    service: Service,
    *,
    timing: Timing,
    connections: Connections | None = None,
    pace: Pacer | None = None,
) -> AbstractAsyncContextManager[Reader]:
    """A client that can only read, for as long as the context lasts. See `open_client`."""
    return open_with_transport(Reader, service, timing, connections, pace, read_only=True)


def open_client(
    service: Service,
    *,
    timing: Timing,
    connections: Connections | None = None,
    pace: Pacer | None = None,
) -> AbstractAsyncContextManager[EntityClient]:
    """A client that can read and write, for as long as the context lasts. Sends nothing by itself.

    `connections` stand in for the network, and stay their owner's to close. `pace` is one that several
    programs share (see `pace_key_and_rate`); None: this one keeps its own, by the settings.
    Raises SettingsError for a base address, credentials or a profile that cannot be used.
    """
    return open_with_transport(EntityClient, service, timing, connections, pace, read_only=False)


@asynccontextmanager
async def open_with_transport(
    kind: type[R],
    service: Service,
    timing: Timing,
    given: Connections | None,
    pace: Pacer | None,
    *,
    read_only: bool,
) -> AsyncIterator[R]:
    """A client of this class, for as long as the context lasts. See `open_client`."""
    profile = bring_kinds(service.profile)
    connections = given or open_connections(service)
    try:
        transport = Transport(
            service,
            connections,
            timing=timing,
            vendor=profile.vendor,
            read_only=read_only,
            caps=profile.limits,
            pace=pace,
        )
        yield kind(transport, profile, window=service.limits.concurrency)
    finally:
        # Connections that were given may carry other clients as well.
        if given is None:
            await connections.aclose()
