"""Entities of every kind, workspaces, the company and imports: which call each is, and what it answers.

Opening a client is in client.py, carrying a call out in http/transport.py, walking pages in paging.py,
choosing among matches in core/compare/match.py. A `workspace` is the service's id; "" is the default
workspace, and only a caller who means it passes "". Bodies are plain JSON dicts. Source: docs/service.md.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any, Literal

from reconciler.core.compare.normalize import secrets_in_body
from reconciler.errors import InDoubt, InputError, Malformed, NotFound, Rejected, ServiceError, SettingsError
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Workspace
from reconciler.model.profile import Profile
from reconciler.service import paging
from reconciler.service.answers import ITS_ERROR, MISCOUNTED, AnotherEntity, Answer, BadBody, Call
from reconciler.service.http import media, refusals, urls
from reconciler.service.http.auth import redact_sent_secrets
from reconciler.service.http.transport import Transport
from reconciler.service.paging import (
    EVERYTHING,
    Done,
    Found,
    Page,
    Query,
    Rows,
    add_custom_field,
    query_parameters,
    remote_id,
    strip_queries,
    to_iso_date,
)


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
            *query_parameters(query, self.kind, self._profile),
        )
        # The order of `fields` is what may vary in the address of a list (docs/service.md, caches).
        call = Call("GET", self._path(workspace), self.kind.media, asked, "fields" if query.fields else "")
        page = await self._transport.call(
            call,
            lambda answer: decode_page(
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
        with refusals.refuse_bad_bodies(call):
            # Closed also where the caller stops early: pages under way would be fetched for nobody.
            async with aclosing(paging.walk_pages(first, fetch, limit=limit, window=width)) as walked:
                async for page in walked:
                    yield page

    async def list(self, query: Query = EVERYTHING, *, workspace: str = "", parent: str = "") -> Rows:
        """All rows. A list that changed while it was read is read once more; then `complete` is false."""
        rows = Rows(())
        # Twice and not until it holds: a list that changes all the time would be read for ever.
        for _ in range(2):
            before = rows
            rows = await paging.gather_pages(self.pages(query, workspace=workspace, parent=parent))
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
        call = Call("GET", path, self.kind.media, add_custom_field(self.kind), "offset")
        with refusals.mark_elsewhere():
            found = await self._transport.call(
                call, lambda answer: decode_entity(answer, self.kind, remote_id)
            )
        return self._ours(found)

    async def _inside(self, workspace: str, parent: str) -> Page:
        """What the parent's own document shows. Source: facts 3: no list of devices is known."""
        above = KINDS[self.kind.parent]
        template = path_template(above, named=bool(workspace), one=True)
        path = urls.fill_path(template, {"wid": workspace, "id": parent})
        call = Call("GET", path, above.media, add_custom_field(above), "offset")
        with refusals.mark_elsewhere():
            return await self._transport.call(call, lambda answer: decode_nested(answer, self.kind, parent))

    def _path(self, workspace: str, parent: str = "", remote_id: str | None = None) -> str:
        template = path_template(self.kind, named=bool(workspace), one=remote_id is not None)
        return urls.fill_path(template, {"wid": workspace, "parent": parent, "id": remote_id or ""})

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
        call = Call("POST", path, self.kind.media, add_custom_field(self.kind), body=self._encoded(body))
        with self._withholding(body):
            found = await self._transport.call(call, lambda answer: decode_created(answer, self.kind.segment))
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
            return await self._transport.call(call, decode_done)

    async def delete(self, remote_id: str, *, workspace: str = "", parent: str = "") -> Done:
        """The entity is gone, or will be after a 202. Raises NotFound, InDoubt, Throttled."""
        self._may("delete")
        call = Call("DELETE", self._path(workspace, parent, remote_id), self.kind.media)
        return await self._transport.call(call, decode_done)

    @contextmanager
    def _withholding(self, body: Mapping[str, Any]) -> Iterator[None]:
        """Keep the secrets of a body out of the error that sending it ends with."""
        try:
            yield
        except ServiceError as error:
            redact_sent_secrets(error, secrets_in_body(self.kind, body))
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


# --- Paths, and the shapes of good answers --------------------------------------------------------
#
# What an answer of each call looks like is known here alone. Every function raises BadBody for a shape that
# it does not know; the transport turns that into another try for a GET and into a doubt for a write.


_created_statuses = (200, 201)  # facts 2 to 4: 201; 200 is read liberally. 202 promises nothing yet


def path_template(kind: Kind, *, named: bool, one: bool) -> str:
    """The path of a kind's collection, or of one entity in it, in a named workspace or the default one."""
    within = "/workspaces/{wid}" if named else ""
    above = f"/{KINDS[kind.parent].segment}/{{parent}}" if kind.parent else ""
    return f"{within}{above}/{kind.segment}{'/{id}' if one else ''}"


def decode_page(answer: Answer, collection: str, offset: int, profile: Profile, *, segment: str = "") -> Page:
    """One page of a list."""
    asked = paging.ListRequest(collection, offset, profile, _answer_date(answer), segment)
    return paging.read_page(decode_document(answer), asked)


def decode_entity(answer: Answer, kind: Kind, asked: str) -> Found:
    """One entity, the one that was asked for."""
    return decode_single(
        answer, asked, kind.name, kind.segment, lambda body: not body.keys().isdisjoint(kind.telling)
    )


def decode_single(
    answer: Answer, asked: str, name: str, collection: str, is_one: Callable[[Mapping[str, Any]], bool]
) -> Found:
    """The one document that was asked for by its id, in a collection of documents that `is_one` knows."""
    document = decode_document(answer)
    if media.is_error(document) or not is_one(document):
        raise BadBody(f"it is no {name}")
    # Somebody else's fields would be written back to the one that was asked for.
    given = document.get("id")
    if str(asked if given is None else given) != asked or remote_id(document, collection) not in ("", asked):
        raise AnotherEntity(f"it is another {name}")
    return Found(asked, document, _answer_date(answer))


def decode_nested(answer: Answer, kind: Kind, parent: str) -> Page:
    """The entities of a kind in the document of what they belong to, all on one page."""
    found = decode_entity(answer, KINDS[kind.parent], parent)
    items = found.body.get(kind.rows_key)
    # A body without the list says nothing. Read as none, each of them would be made again.
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadBody(f"it shows no list of {kind.plural}")
    rows = tuple(Found(remote_id(item, kind.segment), item, found.date) for item in items)
    if not all(row.remote_id for row in rows):
        raise BadBody(f"one of its {kind.plural} has no id")
    return Page(rows, len(rows), last=True)


def decode_created(answer: Answer, plural: str) -> Found:
    """What was created: its id from Location, else its own link or id; its body where it was shown."""
    if answer.status not in _created_statuses:
        raise BadBody(f"{answer.status} does not say that it was created")
    body = decode_success(answer) if answer.body.strip() else {}
    located, named = urls.id_of(answer.headers.get("location", ""), plural), remote_id(body, plural)
    if not (located or named):
        raise BadBody("it does not tell the new id")
    # One of the two may be a stranger, who would be recorded as ours.
    if located and named and located != named:
        raise BadBody("its address and its body name two ids")
    return Found(located or named, body, _answer_date(answer))


def decode_done(answer: Answer) -> Done:
    """A write that needs no more than its status; a body, if there is one, must be no error."""
    # 204 comes without one (facts 2); a 200 may bring the error of a gateway.
    if answer.body.strip():
        decode_success(answer)
    return Done(answer.status)


def decode_success(answer: Answer) -> dict[str, Any]:
    """The document of a write that was done: its status says yes, so it may not be an error."""
    document = decode_document(answer)
    if media.is_error(document):
        raise BadBody(f"its status says yes ({answer.status}) and its body is an error message", ITS_ERROR)
    return document


def decode_document(answer: Answer) -> dict[str, Any]:
    """The answer's document, without queries in its links."""
    document = decode_raw(answer)
    # XML can spell a letter in other ways, so there the bytes tell nothing.
    if answer.form == "xml" or b"apikey" in answer.body.lower():
        strip_queries(document)
    return document


def decode_raw(answer: Answer) -> dict[str, Any]:
    """The answer's document as it came: its links may hold a key."""
    return media.decode_body(answer.body, answer.media, answer.form)


def _answer_date(answer: Answer) -> str:
    return to_iso_date(answer.headers.get("date", ""))


# --- Workspaces -----------------------------------------------------------------------------------


WORKSPACES = "workspaces"
_WALKS = 2  # a list that changes while it is read is read once more, and not for ever
_ACTIVE = "A"  # facts 7: required on create


class ReadWorkspaces:
    """The workspaces of the account, for reading."""

    def __init__(self, transport: Transport, profile: Profile, *, window: int) -> None:
        self._transport = transport
        self._profile = profile
        self._window = window

    async def list(self) -> tuple[Workspace, ...]:
        """All of them but the default one, which has no id; `alias` is left empty."""

        async def fetch(offset: int, limit: int) -> Page:
            # The list knows no pages (specification 8); one that pages all the same is walked.
            query = (("limit", str(limit)), ("offset", str(offset))) if offset else ()
            call = Call("GET", "/workspaces", "workspace", query)
            page = await self._transport.call(
                call, lambda answer: decode_page(answer, WORKSPACES, offset, self._profile)
            )
            whole = page.total is None and not page.more and WORKSPACES in self._profile.unpaged
            return replace(page, last=True) if whole else page

        limit = self._profile.page_max
        with refusals.refuse_bad_bodies(Call("GET", "/workspaces", "workspace")):
            for _ in range(_WALKS):
                rows = await paging.gather_pages(
                    paging.walk_pages(await fetch(0, limit), fetch, limit=limit, window=self._window)
                )
                if rows.complete:
                    break
            else:  # a workspace that is missing from it would be called unknown, or be made a second time
                raise BadBody(f"{rows.trouble}, after {len(rows):,} rows", MISCOUNTED)
        return tuple(
            Workspace(alias="", id=row.remote_id, name=str(row.body.get("projectName", ""))) for row in rows
        )

    async def get(self, workspace_id: str) -> Found:
        """The whole workspace. Raises NotFound."""
        call = Call("GET", _workspace_path(workspace_id), "workspace")
        return await self._transport.call(call, lambda answer: _decode_workspace(answer, workspace_id))


class Workspaces(ReadWorkspaces):
    """The workspaces of the account, for reading and writing. Nothing deletes one."""

    async def create(self, name: str, *, number: str = "", cost_centre: str = "") -> Workspace:
        """The workspace that exists now; `alias` is left empty. Raises InDoubt where it may exist."""
        if not name.strip() or not name.isprintable():
            raise InputError(
                "the name of a workspace is empty or holds a control character.", next="give it a name."
            )
        optional = {"projectNumber": number, "billingcostcentre": cost_centre}
        body = {
            "projectName": name,
            "status": _ACTIVE,
            **{key: text for key, text in optional.items() if text},
        }
        call = Call("POST", "/workspaces", "workspace", body=self._transport.encode("workspace", body))
        try:
            # Once: a second workspace of the name could be removed by nobody (facts 7).
            found = await self._transport.once(call, lambda answer: decode_created(answer, WORKSPACES))
        except InDoubt as error:
            error.next = "list the workspaces before anything is sent again; nothing deletes a second one."
            raise
        return Workspace(alias="", id=found.remote_id, name=name)

    async def replace(self, workspace_id: str, body: Mapping[str, Any]) -> None:
        """The workspace is what `body` says. Raises NotFound, InDoubt, and Rejected where not offered."""
        call = Call(
            "PUT", _workspace_path(workspace_id), "workspace", body=self._transport.encode("workspace", body)
        )
        await self._transport.once(call, decode_done)


def _workspace_path(workspace_id: str) -> str:
    return urls.fill_path("/workspaces/{wid}", {"wid": workspace_id})


def _decode_workspace(answer: Answer, asked: str) -> Found:
    return decode_single(answer, asked, "workspace", WORKSPACES, lambda body: "projectName" in body)


# --- The company that an account belongs to -------------------------------------------------------
#
# Evidence that two addresses are one service. Asked only where a person says so (`--same-service`); many
# deployments do not answer it.


async def company_id(transport: Transport) -> str:
    """Return the company's id, or "" where the service does not tell it. Raises what any call raises."""
    try:
        return await transport.call(Call("GET", "/", "company"), _company_id)
    except (NotFound, Rejected, Malformed):
        return ""


def _company_id(answer: Answer) -> str:
    found = decode_success(answer).get("id", "")
    return found if isinstance(found, str) else ""


# --- Imports: contacts that the service itself takes from a resource ------------------------------
#
# A plan never imports. Source: docs/service.md, imports.


ImportMode = Literal["replace", "ignore", "duplicate"]


class Imports:
    """Imports of the account."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def contacts(
        self,
        resource_id: str,
        *,
        fields: Mapping[str, str] | None = None,
        mode: ImportMode = "replace",
        workspace: str = "",
    ) -> None:
        """The rows of this resource are accepted for import; when they are contacts nobody tells.

        `fields`: contact field -> column; None where the columns have the names of fields.
        Raises Rejected for a resource that is not there, and InDoubt where the import may have begun.
        """
        # The mode is always said: without it the service writes over whoever is there (docs/service.md).
        options = {**({"fieldMapping": dict(fields)} if fields else {}), "importMode": mode}
        body = {
            "resourceId": urls.check_id(resource_id),
            "importType": "contact",
            "importOptions": options,
        }
        path = urls.fill_path("/workspaces/{wid}/imports" if workspace else "/imports", {"wid": workspace})
        encoded = self._transport.encode("importcontact", body)
        call = Call("POST", path, "importcontact", body=encoded)
        try:
            # Once: an import that is sent again may add everybody a second time.
            await self._transport.once(call, _check_accepted)
        except InDoubt as error:
            error.next = "list the contacts before anything is imported again."
            raise


def _check_accepted(answer: Answer) -> None:
    """202, with a sentence or nothing; whatever looks like a document must be no error."""
    # Public samples have no body here; a bare sentence says no more than the status.
    if answer.body.strip()[:1] in (b"{", b"<"):
        decode_success(answer)
