"""Which runs take the lock in the service, and what their ticket is at the service."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from wire import Wire
from world import BASE, World

from reconciler.engine.resources import choose_unused_lock
from reconciler.model.settings import LockSettings, Settings

InService = Literal["auto", "always", "never"]
ANN = {"firstName": "Ann", "lastName": "Example", "workEmailAddress1": "ann@example.com"}


class Watching(Wire):
    """Before a contact is created, asks the service itself which resources it shows, and keeps them."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        super().__init__(inner)
        self.shown: list[dict[str, Any]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST" and request.url.path.endswith("/contacts"):
            self.shown = await self._resources(request)
        return await super().handle_async_request(request)

    async def _resources(self, request: httpx2.Request) -> list[dict[str, Any]]:
        media = "application/vnd.service.resource-v1+json"
        headers = {name: request.headers[name] for name in ("authorization", "x-api-key")}
        asked = httpx2.Request("GET", f"{BASE}/resources", headers={**headers, "accept": media})
        answer = await self.inner.handle_async_request(asked)
        found: list[dict[str, Any]] = json.loads(await answer.aread()).get("resources", [])
        return found


def applied(root: Path, in_service: InService, *, unattended: bool) -> Watching:
    """What the service showed while a run with these settings created a contact."""
    world = World(root, changes={"lock": LockSettings(in_service=in_service)})
    world.write({"contacts": {"ann": ANN}})
    wire = Watching(world.wire.inner)
    world.dependencies = replace(world.dependencies, connections=wire, unattended=unattended)
    assert world.apply()[1].exit_code == 0
    return wire


@pytest.mark.parametrize(
    ("in_service", "shared", "unattended", "taken"),
    [
        ("auto", False, True, True),  # CI with a store of its own: nobody else sees the store's lock
        ("auto", False, False, False),  # somebody at a terminal
        ("auto", True, True, False),  # PostgreSQL: everybody sees the store's lock
        ("auto", True, False, False),
        ("always", False, False, True),
        ("always", False, True, True),
        ("always", True, False, True),
        ("always", True, True, True),
        ("never", False, False, False),
        ("never", False, True, False),
        ("never", True, False, False),
        ("never", True, True, False),
    ],
)
def test_who_takes_the_lock_in_the_service(
    in_service: InService, *, shared: bool, unattended: bool, taken: bool, tmp_path: Path
) -> None:
    settings: Settings = World(tmp_path, changes={"lock": LockSettings(in_service=in_service)}).settings

    assert (choose_unused_lock(settings, shared=shared, unattended=unattended) is None) is taken


@pytest.mark.parametrize("unattended", [True, False])
def test_a_run_with_a_file_for_a_store_takes_it_where_nobody_can_be_asked(
    *, unattended: bool, tmp_path: Path
) -> None:
    """A file is never counted as shared: its lock is seen on one machine only."""
    wire = applied(tmp_path, "auto", unattended=unattended)

    assert len(wire.shown) == unattended


def test_the_ticket_is_a_private_resource(tmp_path: Path) -> None:
    """Public content has an address that anybody can open, and the ticket names who is at work."""
    (ticket,) = applied(tmp_path, "always", unattended=False).shown

    assert ticket["name"].startswith("reconciler-lock.")
    assert (ticket["scope"], "url" in ticket) == ("private", False)
