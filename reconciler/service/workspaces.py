"""Workspaces: list, get, create, replace.

Belongs here: which call each of these is, and what its answer must look like. Not here: the aliases
of the settings (core/workspaces.py), which workspace a call goes to (its argument says so).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reconciler.errors import InDoubt, InputError
from reconciler.model.plans import Workspace
from reconciler.model.profile import Profile
from reconciler.service import paging, shapes
from reconciler.service.answers import MISCOUNTED, Answer, BadBody, Call
from reconciler.service.found import Found, Page
from reconciler.service.http import refusals, urls
from reconciler.service.http.transport import Transport

collection = "workspaces"
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
                call, lambda answer: shapes.page(answer, collection, offset, self._profile)
            )
            whole = page.total is None and not page.more and collection in self._profile.unpaged
            return replace(page, last=True) if whole else page

        limit = self._profile.page_max
        with refusals.readable(Call("GET", "/workspaces", "workspace")):
            for _ in range(_WALKS):
                rows = await paging.gather(
                    paging.walk(await fetch(0, limit), fetch, limit=limit, window=self._window)
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
        call = Call("GET", _path(workspace_id), "workspace")
        return await self._transport.call(call, lambda answer: _entity(answer, workspace_id))


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
            found = await self._transport.once(call, lambda answer: shapes.created(answer, collection))
        except InDoubt as error:
            error.next = "list the workspaces before anything is sent again; nothing deletes a second one."
            raise
        return Workspace(alias="", id=found.remote_id, name=name)

    async def replace(self, workspace_id: str, body: Mapping[str, Any]) -> None:
        """The workspace is what `body` says. Raises NotFound, InDoubt, and Rejected where not offered."""
        call = Call("PUT", _path(workspace_id), "workspace", body=self._transport.encode("workspace", body))
        await self._transport.once(call, shapes.done)


def _path(workspace_id: str) -> str:
    return urls.path("/workspaces/{wid}", {"wid": workspace_id})


def _entity(answer: Answer, asked: str) -> Found:
    return shapes.single(answer, asked, "workspace", collection, lambda body: "projectName" in body)
