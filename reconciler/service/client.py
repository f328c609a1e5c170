"""The client: contacts, devices, resources (list, search, get, create, replace, delete), and the rest.

Belongs here: which call each of these is, and opening a client. Not here: messages, callbacks and
workspaces (modules of these names), the shapes of answers (shapes.py), carrying a call out
(transport.py), walking pages (paging.py), choosing among matches (core/match.py).

A `workspace` is the service's id; "" is the default workspace, and only a caller who means it passes "".
Bodies are plain JSON dicts. Source: docs/service.md.
"""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

from reconciler.errors import SettingsError
from reconciler.model.kinds import CONTACT, DEVICE, RESOURCE, Kind
from reconciler.model.settings import Auth, Limits, Secret, SendKey, Service
from reconciler.service import caches, media, paging, refusals, shapes, urls
from reconciler.service.answers import Call
from reconciler.service.auth import credential_hash
from reconciler.service.callbacks import Callbacks, ReadCallbacks
from reconciler.service.connections import Connections, open_connections
from reconciler.service.found import Done, Found, Page, Rows
from reconciler.service.imports import Imports
from reconciler.service.limiter import Pace
from reconciler.service.messages import Messages, ReadMessages
from reconciler.service.pairs import LookAgain
from reconciler.service.profile import Profile, load_profile
from reconciler.service.queries import Queries
from reconciler.service.timing import Timing
from reconciler.service.transport import Transport, per_second
from reconciler.service.workspaces import ReadWorkspaces, Workspaces

__all__ = [
    "Collection",
    "Connections",
    "Done",
    "Found",
    "LookAgain",
    "Pace",
    "Page",
    "ReadCollection",
    "Reader",
    "Rows",
    "ServiceClient",
    "Timing",
    "open_client",
    "open_reader",
    "paced",
]

_NOTHING: Mapping[str, str] = {}


class ReadCollection:
    """One kind of entity, for reading. Devices live under a contact: `parent` is the contact's id."""

    def __init__(self, kind: Kind, transport: Transport, profile: Profile, *, window: int) -> None:
        self.kind = kind
        self._transport = transport
        self._profile = profile
        self._window = window
        self._queries = Queries(kind, profile)

    async def page(
        self,
        *,
        workspace: str = "",
        parent: str = "",
        offset: int = 0,
        limit: int = 0,
        filters: Mapping[str, str] = _NOTHING,
        fields: tuple[str, ...] = (),
        custom: bool = True,
        sort: str = "",
    ) -> Page:
        """One page, from row number `offset` (from 0); `limit` 0 asks for the largest.

        `filters` are field names and the text they must contain (`custom.<name>` for a custom field);
        the service may answer more than asked for. `fields` are added to brief rows; `custom` asks for
        custom fields. `sort` are fields, separated by commas, with one `-` before all of them for descending.
        """
        if self.kind is DEVICE:
            return await self._devices(workspace, parent)
        query = (
            ("limit", str(limit or self._profile.page_max)),
            ("offset", str(offset)),
            *self._queries.filters(filters),
            *self._queries.fields(fields),
            *((("customFields", "true"),) if custom and self.kind is CONTACT else ()),
            *self._queries.sorting(sort),
        )
        call = Call("GET", self._path(workspace), self.kind.media, query, "fields" if fields else "")
        page = await self._transport.call(
            call, lambda answer: shapes.page(call, answer, self.kind.plural, offset, self._profile)
        )
        return replace(page, rows=tuple(map(self._ours, page.rows)))

    async def pages(
        self,
        first: Page | None = None,
        *,
        workspace: str = "",
        parent: str = "",
        filters: Mapping[str, str] = _NOTHING,
        fields: tuple[str, ...] = (),
        custom: bool = True,
        sort: str = "",
        window: int = 0,
    ) -> AsyncGenerator[Page, None]:
        """All pages in order of offset, read in parallel; `first`, if given, is the one at offset 0.

        `window` is how many requests may be under way, for who may need few pages; 0: as many as allowed.
        A row never comes twice. Where rows may have been missed, the last page says so in `trouble`.
        """

        async def fetch(offset: int, limit: int) -> Page:
            return await self.page(
                workspace=workspace,
                parent=parent,
                offset=offset,
                limit=limit,
                filters=filters,
                fields=fields,
                custom=custom,
                sort=sort,
            )

        if first is None:
            first = await fetch(0, 0)
        limit = self._profile.page_max
        try:
            width = min(window or self._window, self._window)
            async with aclosing(paging.walk(first, fetch, limit=limit, window=width)) as walked:
                async for page in walked:
                    yield page
        except media.BadBody as error:
            call = Call("GET", self._path(workspace, parent), self.kind.media)
            raise refusals.malformed(call, str(error)) from None

    async def list(
        self,
        *,
        workspace: str = "",
        parent: str = "",
        filters: Mapping[str, str] = _NOTHING,
        fields: tuple[str, ...] = (),
        custom: bool = True,
        sort: str = "",
    ) -> Rows:
        """All rows. A list that changed while it was read is read once more; then `complete` is false."""
        rows = Rows(())
        for _ in range(2):
            before, rows = (
                rows,
                await paging.gather(
                    self.pages(
                        workspace=workspace,
                        parent=parent,
                        filters=filters,
                        fields=fields,
                        custom=custom,
                        sort=sort,
                    )
                ),
            )
            if before and not rows:
                return Rows((), total=rows.total, trouble="it showed rows a moment ago, and none now")
            if rows.complete:
                break
        return rows

    async def search(
        self,
        filters: Mapping[str, str],
        *,
        workspace: str = "",
        parent: str = "",
        fields: tuple[str, ...] = (),
        custom: bool = True,
    ) -> Rows:
        """All rows whose fields contain the texts, as far as the service heeds them: compare them again.

        It decides about absence, so its address is new each time, also for a cache that reads addresses in
        normal form: contacts are asked for some fields more, in any order.
        """
        more = tuple(name for name in caches.FILLING if name not in fields) if self.kind is CONTACT else ()
        return await self.list(
            workspace=workspace, parent=parent, filters=filters, fields=(*fields, *more), custom=custom
        )

    async def get(self, remote_id: str, *, workspace: str = "", parent: str = "") -> Found:
        """The whole entity, contacts with their custom fields. Raises NotFound."""
        query = (("customFields", "true"),) if self.kind is CONTACT else ()
        call = Call("GET", self._path(workspace, parent, remote_id), self.kind.media, query, "offset")
        found = await self._transport.call(
            call, lambda answer: shapes.entity(call, answer, self.kind, remote_id)
        )
        return self._ours(found)

    async def _devices(self, workspace: str, contact: str) -> Page:
        """The devices that a contact's own document shows. Source: facts 3: no list of devices is known."""
        call = Call(
            "GET",
            urls.path(
                shapes.template(CONTACT, named=bool(workspace), one=True), {"wid": workspace, "id": contact}
            ),
            CONTACT.media,
            (("customFields", "true"),),
            "offset",
        )
        return await self._transport.call(call, lambda answer: shapes.devices(call, answer, contact))

    def _path(self, workspace: str, parent: str = "", remote_id: str | None = None) -> str:
        template = shapes.template(self.kind, named=bool(workspace), one=remote_id is not None)
        return urls.path(template, {"wid": workspace, "parent": parent, "id": remote_id or ""})

    def _ours(self, found: Found) -> Found:
        """The same with this program's names of fields."""
        if self.kind is not CONTACT or not self._profile.field_names:
            return found
        return replace(found, body=self._profile.read(found.body))


class Collection(ReadCollection):
    """One kind of entity, for reading and writing."""

    async def create(self, body: Mapping[str, Any], *, workspace: str = "", parent: str = "") -> Found:
        """The entity that exists now; its body is {} where the service showed none.

        Raises InDoubt where it may exist, also when it does and its id was not told.
        """
        self._may("create")
        path = self._path(workspace, parent)
        # The answer shows custom fields only when asked to; one call less than reading them afterwards.
        query = (("customFields", "true"),) if self.kind is CONTACT else ()
        call = Call("POST", path, self.kind.media, query, body=self._encoded(body))
        found = await self._transport.call(
            call, lambda answer: shapes.created(call, answer, self.kind.plural)
        )
        return self._ours(found)

    async def replace(
        self, remote_id: str, body: Mapping[str, Any], *, workspace: str = "", parent: str = ""
    ) -> Done:
        """The entity is what `body` says; what it leaves out is gone. Raises NotFound, InDoubt, Throttled.

        Where the service only accepted it (202), the value returned says so.
        """
        self._may("update")
        path = self._path(workspace, parent, remote_id)
        call = Call("PUT", path, self.kind.media, body=self._encoded(body))
        return await self._transport.call(call, lambda answer: shapes.done(call, answer))

    async def delete(self, remote_id: str, *, workspace: str = "", parent: str = "") -> Done:
        """The entity is gone, or will be after a 202. Raises NotFound, InDoubt, Throttled."""
        self._may("delete")
        call = Call("DELETE", self._path(workspace, parent, remote_id), self.kind.media)
        return await self._transport.call(call, lambda answer: shapes.done(call, answer))

    def _encoded(self, body: Mapping[str, Any]) -> bytes:
        written = self._profile.written(body) if self.kind is CONTACT else body
        return self._transport.encode(self.kind.media, written)

    def _may(self, action: str) -> None:
        # A plan with such a change is refused long before (rule C1); this is for whoever plans without us.
        if (self.kind.name, action) in self._profile.missing:
            raise SettingsError(
                f"this profile of the service does not {action} {self.kind.plural}.",
                next=f"leave {self.kind.plural} out of the manifests, or choose another service.profile.",
            )


class Reader:
    """The service for reading: nothing here writes, and its transport sends nothing but GET.

    `calls` counts the requests that were sent, by method.
    """

    def __init__(self, transport: Transport, profile: Profile, *, window: int, timing: Timing) -> None:
        self.calls: Counter[str] = transport.calls
        self.contacts = ReadCollection(CONTACT, transport, profile, window=window)
        self.devices = ReadCollection(DEVICE, transport, profile, window=window)
        self.resources = ReadCollection(RESOURCE, transport, profile, window=window)
        self.workspaces = ReadWorkspaces(transport, profile, window=window)
        self.messages = ReadMessages(transport, profile, timing=timing)
        self.callbacks = ReadCallbacks(transport, profile)

    def of(self, kind: str) -> ReadCollection:
        """The collection of a kind, by its name (`contact`)."""
        return {"contact": self.contacts, "device": self.devices, "resource": self.resources}[kind]


class ServiceClient(Reader):
    """The service for reading and writing."""

    contacts: Collection
    devices: Collection
    resources: Collection
    workspaces: Workspaces
    messages: Messages
    callbacks: Callbacks
    imports: Imports

    def __init__(self, transport: Transport, profile: Profile, *, window: int, timing: Timing) -> None:
        super().__init__(transport, profile, window=window, timing=timing)
        self._transport = transport
        self.gaps = transport.gaps
        self.contacts = Collection(CONTACT, transport, profile, window=window)
        self.devices = Collection(DEVICE, transport, profile, window=window)
        self.resources = Collection(RESOURCE, transport, profile, window=window)
        self.workspaces = Workspaces(transport, profile, window=window)
        self.messages = Messages(transport, profile, timing=timing)
        self.callbacks = Callbacks(transport, profile)
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

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        base_url: str,
        *,
        username: str,
        password: str,
        api_key: str,
        format: Literal["json", "xml"] = "json",  # noqa: A002 - the name of the setting
        profile: str = "service",
        send_key: SendKey = "header",
        limits: Limits | None = None,
        timing: Timing | None = None,
        connections: Connections | None = None,
    ) -> AsyncIterator["ServiceClient"]:
        """A client of this service for as long as the context lasts. Sends nothing by itself.

        `limits` say how hard it may press and how long it may take, an hour in all unless told;
        `timing` and `connections` stand in for the clock and the network in tests.
        Raises SettingsError for a base address, credentials or a profile that cannot be used.
        """
        auth = Auth(Secret(username), Secret(password), Secret(api_key), send_key)
        service = Service(base_url, auth, profile=profile, format=format, limits=limits or Limits())
        async with open_client(service, timing=timing or Timing.real(), connections=connections) as client:
            yield client

    def of(self, kind: str) -> Collection:
        """The collection of a kind, by its name (`contact`)."""
        return {"contact": self.contacts, "device": self.devices, "resource": self.resources}[kind]


def paced(service: Service, salt: str) -> tuple[str, float]:
    """What a shared pace is asked for with: the credential's keyed hash, and turns a second (0: no limit).

    `salt` is that of the store which keeps the pace. Raises SettingsError for a profile that cannot be used.
    """
    caps = load_profile(service.profile).limits
    return credential_hash(service.auth, urls.origin(service.base_url), salt), per_second(
        service.limits, caps
    )


@asynccontextmanager
async def open_reader(
    service: Service,
    *,
    timing: Timing,
    connections: Connections | None = None,
    pace: Pace | None = None,
) -> AsyncIterator[Reader]:
    """A client that can only read, for as long as the context lasts. See `open_client`."""
    async with _opened(service, timing, connections, pace, read_only=True) as (transport, profile):
        yield Reader(transport, profile, window=service.limits.concurrency, timing=timing)


@asynccontextmanager
async def open_client(
    service: Service,
    *,
    timing: Timing,
    connections: Connections | None = None,
    pace: Pace | None = None,
) -> AsyncIterator[ServiceClient]:
    """A client that can read and write, for as long as the context lasts. Sends nothing by itself.

    `connections` stand in for the network, and stay their owner's to close. `pace` is one that several
    programs share (see `paced`); None: this one keeps its own, by the settings.
    Raises SettingsError for a base address, credentials or a profile that cannot be used.
    """
    async with _opened(service, timing, connections, pace, read_only=False) as (transport, profile):
        yield ServiceClient(transport, profile, window=service.limits.concurrency, timing=timing)


@asynccontextmanager
async def _opened(
    service: Service,
    timing: Timing,
    given: Connections | None,
    pace: Pace | None,
    *,
    read_only: bool,
) -> AsyncIterator[tuple[Transport, Profile]]:
    profile = load_profile(service.profile)
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
        yield transport, profile
    finally:
        if given is None:
            await connections.aclose()
