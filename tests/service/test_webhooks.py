"""Notifications by webhook: signed, tried again where that may help, never followed elsewhere."""

import asyncio
import base64
import hmac
import json
from collections.abc import Iterator
from hashlib import sha256

import pytest
from hook_receiver import KEY, Receiver, running_receiver

from reconciler.model.settings import Network
from reconciler.service.http.urls import UnusableUrl
from reconciler.service.webhooks import (
    NotDelivered,
    Webhook,
    parse_signing_key,
    post_webhook,
    read_webhook_address,
    sign_webhook,
)

NO_NETWORK = Network()


def post(receiver: Receiver, body: bytes = b'{"a":1}') -> list[float]:
    """Post to a receiver; return for how long was waited between tries."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    key = parse_signing_key(KEY)
    assert key is not None
    hook = Webhook(receiver.url, key)
    asyncio.run(post_webhook(hook, NO_NETWORK, "msg_1", body, now=lambda: 1_772_452_800.7, sleep=sleep))
    return waited


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as found:
        yield found


def test_the_signature_is_that_of_the_standard() -> None:
    """Key, id, time, body and signature of the published example."""
    key = parse_signing_key(KEY)
    assert key is not None

    signed = sign_webhook(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')

    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_receiver_can_check_what_it_got(receiver: Receiver) -> None:
    post(receiver)

    ((headers, body),) = receiver.heard
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    own = base64.b64encode(hmac.digest(base64.b64decode(KEY[6:]), signed, sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{own}"
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("msg_1", "1772452800")
    assert headers["content-type"] == "application/json"
    assert json.loads(body) == {"a": 1}


def test_a_busy_receiver_is_tried_again_with_the_same_id(receiver: Receiver) -> None:
    """It knows the notification again; it is waited as long as it asks for, and five seconds at most."""
    receiver.statuses, receiver.headers = [503, 429, 200], {"retry-after": "3"}

    assert post(receiver) == [3.0, 3.0]
    assert [headers["webhook-id"] for headers, _ in receiver.heard] == ["msg_1"] * 3


@pytest.mark.parametrize(("status", "tries"), [(302, 1), (400, 1), (410, 1), (500, 3)])
def test_what_is_not_taken_is_told_without_the_address(receiver: Receiver, status: int, tries: int) -> None:
    """A redirect leads nowhere: the signature is for one receiver. The address may hold a token."""
    receiver.statuses, receiver.headers = [status], {"location": "http://127.0.0.1:1/"}

    with pytest.raises(NotDelivered) as caught:
        post(receiver)

    assert str(caught.value) == f"the receiver answered with HTTP {status}"
    assert len(receiver.heard) == tries


def test_a_receiver_that_is_not_there_is_told(receiver: Receiver) -> None:
    receiver.server.server_close()

    with pytest.raises(NotDelivered, match=r"^the receiver cannot be reached \(\w+\)$"):
        post(receiver)


@pytest.mark.parametrize(
    "url",
    [
        *("http://hooks.example.com/a", "ftp://hooks.example.com/", "https://jane@hooks.example.com/"),
        *("https://", "hooks.example.com", "https://hooks.example.com/a b"),
    ],
)
def test_an_address_that_cannot_be_posted_to_is_refused(url: str) -> None:
    with pytest.raises(UnusableUrl):
        read_webhook_address(url)


def test_an_address_may_have_a_path_and_a_query() -> None:
    """Some receivers tell their senders apart by a token in it."""
    read_webhook_address("https://hooks.example.com/services/T0/B0?token=x")


@pytest.mark.parametrize("text", ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%%"])
def test_what_is_no_key_signs_nothing(text: str) -> None:
    assert parse_signing_key(text) is None


def test_neither_address_nor_key_is_shown() -> None:
    """Not in a log either: whoever has the key can sign as we do."""
    assert repr(Webhook("https://hooks.example.com/T0KEN", b"k" * 24)) == "Webhook(...)"
