"""After a sync a change of state is told, by webhook and by message; what is not delivered fails nothing."""

import asyncio
import json
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hook_receiver import KEY, Receiver, running_receiver
from pipeline.test_sync import JANE, ONE, store_of, sync
from wire import answered
from world import World

from reconciler.errors import Unauthorized
from reconciler.model.secrets import Secret
from reconciler.model.settings import Approver, Notify, NotifyWebhook, Policy

T = TypeVar("T")
ANNA = Approver(phone="+61491570156", email="anna@example.com")


class RealTime(World):
    """The receiver is a real one: in a loop of virtual time it never answers in time."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as found:
        yield found


def project(path: Path, receiver: Receiver, *people: str) -> World:
    notify = Notify(NotifyWebhook(Secret(receiver.url), Secret(KEY)), people)
    policy = Policy(mode="report", approvers={"anna": ANNA})
    return RealTime(path, changes={"policy": policy, "notify": notify})


def told(receiver: Receiver) -> list[str]:
    bodies = [json.loads(body)["data"] for _, body in receiver.heard]
    return [f"{one['sync']['state']}, {one['health']['state']}" for one in bodies]


def test_a_change_of_state_is_told_when_sync_finds_it(tmp_path: Path, receiver: Receiver) -> None:
    """Changes are only reported; then they are applied, and all is well."""
    world = project(tmp_path, receiver)
    world.write(ONE)

    sync(world)
    sync(world)
    sync(world, mode="apply", drift="repair")
    sync(world, mode="apply", drift="repair")

    assert told(receiver) == ["out of sync, healthy", "synced, healthy"]
    assert JANE["workEmailAddress1"] not in str(receiver.heard)


def test_a_person_gets_a_message_of_the_service(tmp_path: Path, receiver: Receiver) -> None:
    """One message to phone and mailbox, in the workspace by default."""
    world = project(tmp_path, receiver, "anna")
    world.write(ONE)
    world.sent()

    sync(world)

    assert world.sent()["POST"] == 1


def test_a_sync_that_fails_is_told_too(tmp_path: Path, receiver: Receiver) -> None:
    """Whoever trusts that somebody syncs learns that it does not work."""
    world = project(tmp_path, receiver)
    world.write(ONE)
    world.meets(answered(401), "GET")

    with pytest.raises(Unauthorized):
        sync(world)

    assert told(receiver) == ["unknown, failing"]


def test_a_receiver_that_is_away_fails_no_sync(tmp_path: Path, receiver: Receiver) -> None:
    """What was applied is applied, and `status` counts what nobody heard."""
    world = project(tmp_path, receiver)
    world.write(ONE)
    receiver.statuses = [410]

    synced = sync(world, mode="approve")
    with store_of(world) as store:
        (rows,) = store.status_rows()

    assert synced.exit_code == 9
    assert rows.undelivered == 1
