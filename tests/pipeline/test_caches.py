"""Applies through a gateway that stores answers: whatever it does, nobody is made twice."""

import json
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal

import effort
import httpx2
import pytest
from msgspec import structs
from world import BASE, PHONE, World

from reconciler.errors import Refused, ServiceError
from reconciler.model.settings import Limits
from reconciler.sandbox.config import Caching, SandboxConfig
from reconciler.sandbox.queries import ContactQuery

SETTLE_S = 10.0
NAMES = ("ada", "ben", "cleo", "dora")
# What becomes of a create whose answer is lost.
LOSSES: dict[str, dict[str, Any]] = {
    "never arrived": {"fault": "drop-before"},
    "done": {"fault": "drop-after"},
    "done, and refused": {"fault": "refused-after", "status": 503},
    "done late": {"fault": "land-late", "seconds": 5},
}
SHOWS: tuple[Literal["age", "date", "nothing"], ...] = ("age", "date", "nothing")
READS: tuple[Literal["text", "meaning"], ...] = ("text", "meaning")
SECONDS = (8, 15, 30, 8, 15, 30, 30, 8, 15, 30, 8, 15)
GATEWAYS = [
    Caching(seconds=seconds, heeds=heeds, shows=shows, reads=reads)
    for (heeds, shows, reads), seconds in zip(product((False, True), SHOWS, READS), SECONDS, strict=True)
]


def named(caching: Caching) -> str:
    heeds = "heeding" if caching.heeds else "deaf"
    return f"{caching.seconds:g} s, {heeds}, shows {caching.shows}, by {caching.reads}"


def through(tmp_path: Path, caching: Caching | None, seed: int = 0) -> World:
    """A project whose service stands behind this gateway. Chance is drawn from a seed."""
    world = World(tmp_path, config=SandboxConfig(caching=caching))
    limits = Limits(requests_per_second=0, settle_s=SETTLE_S, concurrency=2)
    world.settings = structs.replace(
        world.settings, service=structs.replace(world.settings.service, limits=limits)
    )
    chance = Random(seed)
    world.dependencies = replace(
        world.dependencies, timing=replace(world.dependencies.timing, random=chance.random)
    )
    return world


def arm(world: World, **rule: Any) -> None:
    async def work() -> None:
        async with httpx2.AsyncClient(
            transport=world.wire.inner, base_url=BASE, auth=("demo", "demo")
        ) as control:
            answer = await control.post("/_sandbox/faults", json=rule)
            assert answer.status_code == 201, answer.text

    world.run(work())


def everything(caching: Caching) -> dict[str, Any]:
    """Four people with a phone each, and a file where the gateway can be got past for one.

    A list of resources takes no `fields`, so its address is new only in how it is spelled.
    """
    past = caching.heeds or caching.reads == "text" or caching.shows != "nothing"
    rules = {
        "name": "rules.json",
        "scope": "private",
        "mimeType": "application/json",
        "content": {"text": "{}"},
    }
    return {**everybody(), **({"resources": {"rules": rules}} if past else {})}


def everybody() -> dict[str, Any]:
    return {
        "contacts": {
            name: {
                "firstName": name.title(),
                "lastName": "Doe",
                "workEmailAddress1": f"{name}@example.com",
                "devices": {"phone": {**PHONE, "pushToken": f"token-of-{name}"}},
            }
            for name in NAMES
        }
    }


def there(world: World) -> Counter[str]:
    """Who and what the service holds, read behind every gateway's back."""
    app: Any = getattr(world.wire.inner, "app", None)
    shelf = app.state.sandbox.shelves[""]
    people = shelf.find(ContactQuery())
    return Counter(
        [
            *(one.name for one in shelf.resources.values()),
            *(one.fields["workEmailAddress1"] for one in people),
            *(
                f"{one.fields['workEmailAddress1']}/{own.fields['deviceName']}"
                for one in people
                for own in one.devices
            ),
        ]
    )


def tried(run: Any) -> None:
    """Carry a command out; refusing to go on is a good end."""
    try:
        run()
    except (ServiceError, Refused):
        pass
    except BaseExceptionGroup as group:  # reads side by side end so; the command line unpacks it as well
        assert group.split(ServiceError)[1] is None, group  # noqa: PT017 - a group is no single error to raise


@effort.sample(4)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("caching", GATEWAYS, ids=named)
def test_nobody_is_made_twice_through_a_gateway_that_stores_answers(
    tmp_path: Path, caching: Caching, loss: str
) -> None:
    """An apply with creates in doubt, a resume and two more applies, seconds apart: 0 duplicates."""
    world = through(tmp_path, caching, seed=GATEWAYS.index(caching))
    declared = everything(caching)
    world.write(declared)
    arm(world, method="POST", path="/resources", **LOSSES[loss])
    arm(world, method="POST", path="/contacts", nth=2, times=2, **LOSSES[loss])
    arm(world, method="POST", path="/contacts/*/devices", times=1, **LOSSES[loss])

    for run in (world.apply, world.resume, world.apply, world.apply):
        tried(run)
        assert max(there(world).values(), default=0) <= 1
        world.clock.pass_s(1)

    world.clock.pass_s(60)
    tried(world.apply)
    everyone = [f"{name}@example.com" for name in NAMES]
    files = ["rules.json"] * len(declared.get("resources", {}))
    assert there(world) == Counter([*everyone, *(f"{one}/phone" for one in everyone), *files])
    world.clock.pass_s(60)
    assert world.plan().plan.changes == ()


def test_the_gateway_would_make_somebody_twice_if_its_answers_were_believed(tmp_path: Path) -> None:
    """The law above can fail: this gateway really says "not there" about who was just created."""
    world = through(tmp_path, Caching(seconds=30))

    async def work() -> list[str]:
        address = "/contacts?workEmailAddress1=ada%40example.com"
        headers = {"authorization": "Basic ZGVtbzpkZW1v", "x-api-key": "demo-key"}
        async with httpx2.AsyncClient(transport=world.wire.inner, base_url=BASE, headers=headers) as client:
            said = [(await client.get(address)).json()["status"]]
            body = json.dumps({"firstName": "Ada", "workEmailAddress1": "ada@example.com"})
            kind = {"content-type": "application/vnd.service.contact-v1+json"}
            assert (await client.post("/contacts", content=body, headers=kind)).status_code == 201
            said.append((await client.get(address)).json()["status"])
        return said

    assert world.run(work()) == ["No records found"] * 2
