"""Entities of every kind: list, search, get, create, replace, delete.

Belongs here: which call each of these is. Not here: opening a client (client.py), the shapes of answers
(shapes.py), carrying a call out (http/transport.py), walking pages (paging.py), choosing among matches
(core/compare/match.py).

A `workspace` is the service's id; "" is the default workspace, and only a caller who means it passes "".
Bodies are plain JSON dicts. Source: docs/service.md.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any

from reconciler.core.compare.normalize import secrets_in_body
from reconciler.errors import ServiceError, SettingsError
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.profile import Profile
from reconciler.service import paging, shapes
from reconciler.service.answers import Call
from reconciler.service.found import Done, Found, Page, Rows
from reconciler.service.http import refusals, urls
from reconciler.service.http.transport import Transport
from reconciler.service.http.withheld import withhold
from reconciler.service.queries import EVERYTHING, Query, parameters, with_custom


class ReadCollection:
    """One kind of entity, for reading. `parent` is the id of what it belongs to, as a device to a contact."""

    def __init__(self, kind: Kind, transport: Transport, profile: Profile, *, window: int) -> None:
        self.kind = kind
        self._transport = transport
        self._profile = profile
        self._window = window
        self._respelt = bool(profile.names(kind))

    async def page(
        self,
        query: Query = EVERYTHING,
        *,
        workspace: str = "",
        parent: str = "",
        offset: int = 0,
        limit: int = 0,
    ) -> Page:
        """One page, from row number `offset` (from 0); `limit` 0 asks for the largest."""
        if self.kind.parent:
            return await self._inside(workspace, parent)
        asked = (
            # Calls a second are few, so the largest page that there is.
            ("limit", str(limit or self._profile.page_max)),
            ("offset", str(offset)),
            *parameters(query, self.kind, self._profile),
        )
        # The order of `fields` is what may vary in the address of a list (docs/service.md, caches).
        call = Call("GET", self._path(workspace), self.kind.media, asked, "fields" if query.fields else "")
        page = await self._transport.call(
            call,
            lambda answer: shapes.page(
                answer, self.kind.rows_key, offset, self._profile, segment=self.kind.segment
            ),
        )
        return replace(page, rows=tuple(map(self._ours, page.rows))) if self._respelt else page

    async def pages(
        self,
        query: Query = EVERYTHING,
        first: Page | None = None,
        *,
        workspace: str = "",
        parent: str = "",
        window: int = 0,
    ) -> AsyncGenerator[Page, None]:
        """All pages in order of offset, read in parallel; `first`, if given, is the one at offset 0.

        `window` is how many requests may be under way, for who may need few pages; 0: as many as allowed.
        A row never comes twice. Where rows may have been missed, the last page says so in `trouble`.
        """

        async def fetch(offset: int, limit: int) -> Page:
            return await self.page(query, workspace=workspace, parent=parent, offset=offset, limit=limit)

        if first is None:
            first = await fetch(0, 0)
        limit = self._profile.page_max
        call = Call("GET", self._path(workspace, parent), self.kind.media)
        width = min(window or self._window, self._window)
        with refusals.readable(call):
            # Closed also where the caller stops early: pages under way would be fetched for nobody.
            async with aclosing(paging.walk(first, fetch, limit=limit, window=width)) as walked:
                async for page in walked:
                    yield page

    async def list(self, query: Query = EVERYTHING, *, workspace: str = "", parent: str = "") -> Rows:
        """All rows. A list that changed while it was read is read once more; then `complete` is false."""
        rows = Rows(())
        # Twice and not until it holds: a list that changes all the time would be read for ever.
        for _ in range(2):
            before = rows
            rows = await paging.gather(self.pages(query, workspace=workspace, parent=parent))
            # More likely a failure of the service than the truth; deletes would follow from it (rule R6).
            if before and not rows:
                return Rows((), total=rows.total, trouble="it showed rows a moment ago, and none now")
            if rows.complete:
                break
        return rows

    async def search(self, query: Query, *, workspace: str = "", parent: str = "") -> Rows:
        """All rows whose fields contain the texts, as far as the service heeds them: compare them again."""
        # It decides about absence, so its address is new each time, also for a cache that reads addresses in
        # normal form: where rows are brief, some fields more are asked for, in any order. The twelve of a
        # contact have 12! = 479,001,600 orders.
        more = tuple(name for name in self.kind.listing.spare if name not in query.fields)
        asked = replace(query, fields=(*query.fields, *more))
        return await self.list(asked, workspace=workspace, parent=parent)

    async def get(self, remote_id: str, *, workspace: str = "", parent: str = "") -> Found:
        """The whole entity, with its custom fields. Raises NotFound."""
        path = self._path(workspace, parent, remote_id)
        call = Call("GET", path, self.kind.media, with_custom(self.kind), "offset")
        with refusals.of_one_entity():
            found = await self._transport.call(
                call, lambda answer: shapes.entity(answer, self.kind, remote_id)
            )
        return self._ours(found)

    async def _inside(self, workspace: str, parent: str) -> Page:
        """What the parent's own document shows. Source: facts 3: no list of devices is known."""
        above = KINDS[self.kind.parent]
        template = shapes.template(above, named=bool(workspace), one=True)
        path = urls.path(template, {"wid": workspace, "id": parent})
        call = Call("GET", path, above.media, with_custom(above), "offset")
        with refusals.of_one_entity():
            return await self._transport.call(call, lambda answer: shapes.inside(answer, self.kind, parent))

    def _path(self, workspace: str, parent: str = "", remote_id: str | None = None) -> str:
        template = shapes.template(self.kind, named=bool(workspace), one=remote_id is not None)
        return urls.path(template, {"wid": workspace, "parent": parent, "id": remote_id or ""})

    def _ours(self, found: Found) -> Found:
        """The same with this program's names of fields."""
        return replace(found, body=self._profile.read(self.kind, found.body)) if self._respelt else found


class Collection(ReadCollection):
    """One kind of entity, for reading and writing."""

    async def create(self, body: Mapping[str, Any], *, workspace: str = "", parent: str = "") -> Found:
        """The entity that exists now; its body is {} where the service showed none.

        Raises InDoubt where it may exist, also when it does and its id was not told.
        """
        self._may("create")
        path = self._path(workspace, parent)
        # The answer shows custom fields only when asked to; one call less than reading them afterwards.
        call = Call("POST", path, self.kind.media, with_custom(self.kind), body=self._encoded(body))
        with self._withholding(body):
            found = await self._transport.call(call, lambda answer: shapes.created(answer, self.kind.segment))
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
        with self._withholding(body):
            return await self._transport.call(call, shapes.done)

    async def delete(self, remote_id: str, *, workspace: str = "", parent: str = "") -> Done:
        """The entity is gone, or will be after a 202. Raises NotFound, InDoubt, Throttled."""
        self._may("delete")
        call = Call("DELETE", self._path(workspace, parent, remote_id), self.kind.media)
        return await self._transport.call(call, shapes.done)

    @contextmanager
    def _withholding(self, body: Mapping[str, Any]) -> Iterator[None]:
        """Keep the secrets of a body out of the error that sending it ends with."""
        try:
            yield
        except ServiceError as error:
            withhold(error, secrets_in_body(self.kind, body))
            raise

    def _encoded(self, body: Mapping[str, Any]) -> bytes:
        return self._transport.encode(self.kind.media, self._profile.written(self.kind, body))

    def _may(self, action: str) -> None:
        # A plan with such a change is refused long before (rule C1); this is for whoever plans without us.
        if (self.kind.name, action) in self._profile.missing:
            raise SettingsError(
                f"this profile of the service does not {action} {self.kind.plural}.",
                next=f"leave {self.kind.plural} out of the manifests, or choose another service.profile.",
            )
