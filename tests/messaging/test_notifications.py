"""Changes of state are told once over each channel, also by two machines, and a failure fails nothing."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from clock import Clock
from core.approving import JANE
from hook_receiver import KEY, Receiver, running_receiver
from messaging.test_approvals import SETTINGS, Post
from msgspec import structs
from store.remembering import store_of

from reconciler.errors import Throttled
from reconciler.messaging.notifications import tell_changes
from reconciler.messaging.values import Message, Sent
from reconciler.model.automation import SyncResult
from reconciler.model.secrets import Secret
from reconciler.model.settings import Notify, NotifyWebhook, Settings
from reconciler.store.database import Store

T = TypeVar("T")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with store_of(f"sqlite:///{tmp_path / 'store.db'}", clock=clock) as opened:
        yield opened


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as found:
        yield found


def settings_for(receiver: Receiver, *, key: str = KEY) -> Settings:
    webhook = NotifyWebhook(Secret(receiver.url), Secret(key))
    return structs.replace(SETTINGS, notify=Notify(webhook, ("jane",)))


async def in_place(work: Callable[[], T]) -> T:
    return work()


def tell(store: Store, settings: Settings, post: Post) -> dict[str, str]:
    @asynccontextmanager
    async def open_sender() -> AsyncIterator[Post]:
        yield post

    telling = tell_changes(settings, store, open_sender, offload=in_place, now=lambda: 1_772_452_800.0)
    return dict(asyncio.run(telling))


def sync(store: Store, clock: Clock, exit_code: int, reason: str = "") -> None:
    """A sync ends like this."""
    clock.pass_s(60)
    at = store.now().isoformat(timespec="seconds")
    store.record_sync([SyncResult("", at, "any", exit_code, reason=reason)])


def test_a_failure_and_its_end_are_told_to_the_webhook_and_to_a_person(
    store: Store, clock: Clock, receiver: Receiver
) -> None:
    """Once each, however often sync runs; by SMS and e-mail to the person of the policy."""
    post, settings = Post(), settings_for(receiver)
    for exit_code in (0, 7, 7, 0, 0):
        sync(store, clock, exit_code)
        assert tell(store, settings, post) == {}

    bodies = [json.loads(body) for _, body in receiver.heard]
    assert [one["data"]["health"]["state"] for one in bodies] == ["failing", "healthy"]
    assert [one.to for one in post.sent] == [(JANE.phone, JANE.email)] * 2
    assert post.sent[0].body == f"reconciler, {bodies[0]['text']}"
    assert post.sent[1].subject == "ops-contacts: healthy, synced"


def test_two_machines_tell_once(store: Store, clock: Clock, receiver: Receiver) -> None:
    """The first that asks the store tells it."""
    post, settings = Post(), settings_for(receiver)
    sync(store, clock, 7)

    tell(store, settings, post)
    tell(store, settings, post)

    assert (len(receiver.heard), len(post.sent)) == (1, 1)


class Slow(Post):
    """While it sends, another machine syncs and tells."""

    def __init__(self, other: Callable[[], object]) -> None:
        super().__init__()
        self.other = other

    async def send(self, message: Message, *, workspace: str = "") -> Sent:
        await asyncio.to_thread(self.other)
        return await super().send(message, workspace=workspace)


def test_of_two_machines_that_ask_at_once_one_tells(store: Store, clock: Clock, receiver: Receiver) -> None:
    """Both have read that nothing was told; the second finds out when it claims the news."""
    sync(store, clock, 7)
    settings, other = settings_for(receiver), Post()

    tell(store, settings, Slow(lambda: tell(store, settings, other)))

    assert (len(receiver.heard), len(other.sent)) == (1, 0)


def test_what_was_not_delivered_is_told_by_status_and_delivered_by_the_next_sync(
    store: Store, clock: Clock, receiver: Receiver
) -> None:
    """The other channel was told, and is not told twice."""
    post, settings = Post(), settings_for(receiver)
    receiver.statuses = [404]
    sync(store, clock, 7)

    failed = tell(store, settings, post)
    (rows,) = store.status_rows()
    receiver.statuses = [204]
    again = tell(store, settings, post)
    (healed,) = store.status_rows()

    assert failed == {"webhook": "the receiver answered with HTTP 404"}
    assert (rows.undelivered, healed.undelivered) == (1, 0)
    assert again == {}
    assert (len(receiver.heard), len(post.sent)) == (2, 1)


def test_a_message_that_the_service_refuses_fails_nothing(
    store: Store, clock: Clock, receiver: Receiver
) -> None:
    post, settings = Post(refuses=Throttled("the service throttles.")), settings_for(receiver)
    sync(store, clock, 7)

    assert tell(store, settings, post) == {"message to jane": "the service throttles."}
    assert len(receiver.heard) == 1


def test_a_key_that_is_none_is_told_and_not_shown(store: Store, clock: Clock, receiver: Receiver) -> None:
    post, settings = Post(), settings_for(receiver, key="not-a-key")
    sync(store, clock, 7)

    (why,) = tell(store, settings, post).values()

    assert "not-a-key" not in why
    assert why.startswith("notify.webhook.secret is no key")
    assert receiver.heard == []


def test_without_channels_the_store_is_not_asked(store: Store, clock: Clock) -> None:
    sync(store, clock, 7)

    assert tell(store, SETTINGS, Post()) == {}
