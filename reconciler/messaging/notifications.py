"""Tells people and a webhook that the state of a stack has changed, once over each channel.

    status rows ─▶ judge_stacks ─▶ find_news ─▶ claim in the store ─▶ deliver ─▶ a failure is recorded

News is claimed before it is delivered, so that of two machines one tells it. What was not delivered counts as
not told, and is delivered with the next call. Nothing here fails a run.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial
from typing import Protocol

from msgspec import structs

from reconciler.core.digests import keyed_digest
from reconciler.core.views.news import News, find_news
from reconciler.core.views.status import judge_stacks
from reconciler.errors import ReconcilerError
from reconciler.instrumentation import step_log
from reconciler.messaging.approvals import write_approver_message
from reconciler.messaging.values import Message, Sent
from reconciler.model.encoding import encode_json
from reconciler.model.settings import Settings
from reconciler.service.http.connections import Connections
from reconciler.service.webhooks import NotDelivered, Webhook, parse_signing_key, post_webhook
from reconciler.store.database import Offload, Store, await_store

WEBHOOK = "webhook"
MESSAGE_TO = "message to "  # how the channel of a person begins, before the name
_HOURS = {"h": 1, "d": 24}


class MessageSender(Protocol):
    """Sends a message once: `Messages` of messaging/messages.py."""

    async def send(self, message: Message, *, workspace: str = "") -> Sent:
        """Return what the service accepted. Raises ReconcilerError."""


Deliver = Callable[[News], Awaitable[None]]
OpenSender = Callable[[], AbstractAsyncContextManager[MessageSender]]


async def tell_changes(
    settings: Settings,
    store: Store,
    open_sender: OpenSender,
    *,
    offload: Offload,
    now: Callable[[], float],
    connections: Connections | None = None,
) -> Mapping[str, str]:
    """Tell over each channel of `notify` what is news there; return why by channel where that failed.

    `open_sender` opens the client that sends messages, where one is to be sent; `now` gives seconds since
    1970. Raises StoreError.
    """
    channels = _list_channels(settings, store.salt, open_sender, now, connections)
    failed: dict[str, str] = {}
    if not channels:
        return failed
    wait = partial(await_store, offload, give_up=store.give_up)
    (status,) = judge_stacks(await wait(store.status_rows), await wait(store.now)).stacks
    told, every = await wait(store.told), _digest_period(settings.notify.digest_every)
    at = await wait(store.now)
    for channel, deliver in channels.items():
        for news in find_news(status, told, channel=channel, now=at, digest_every=every):
            if not await wait(partial(store.claim_telling, news.telling)):
                continue  # another machine tells it
            failed_times = news.telling.failed_times
            try:
                await deliver(news)
            except (ReconcilerError, NotDelivered) as error:
                failed[channel] = str(error)
                step_log.warning("a notification was not delivered; channel: %s: %s", channel, error)
                telling = structs.replace(
                    news.telling, digest="", failed_times=failed_times + 1, last_error=str(error)
                )
                await wait(partial(store.note_telling, telling))
            else:
                if failed_times:
                    telling = structs.replace(news.telling, failed_times=0, last_error="")
                    await wait(partial(store.note_telling, telling))
    return failed


def _digest_period(text: str) -> timedelta | None:
    return timedelta(hours=int(text[:-1]) * _HOURS[text[-1]]) if text else None


def _list_channels(
    settings: Settings,
    salt: str,
    open_sender: OpenSender,
    now: Callable[[], float],
    connections: Connections | None,
) -> dict[str, Deliver]:
    notify = settings.notify
    channels: dict[str, Deliver] = {
        f"{MESSAGE_TO}{name}": partial(_send_message, settings, name, open_sender) for name in notify.people
    }
    if notify.webhook.url is not None:
        channels[WEBHOOK] = partial(_post_news, settings, salt, now, connections)
    return channels


async def _send_message(settings: Settings, name: str, open_sender: OpenSender, news: News) -> None:
    subject = f"{settings.stack}: {news.data['health']['state']}, {news.data['sync']['state']}"
    message = write_approver_message(settings.policy.approvers[name], subject, f"reconciler, {news.text}")
    async with open_sender() as sender:
        await sender.send(message)


async def _post_news(
    settings: Settings, salt: str, now: Callable[[], float], connections: Connections | None, news: News
) -> None:
    url, secret = settings.notify.webhook.url, settings.notify.webhook.secret
    assert url is not None  # noqa: S101 - there is a channel
    assert secret is not None  # noqa: S101 - settings have both, or none
    key = parse_signing_key(secret.reveal())
    if key is None:
        raise NotDelivered("notify.webhook.secret is no key: it is whsec_ and 24 to 64 bytes in base64")
    body = encode_json(
        {"type": news.type, "timestamp": news.telling.at, "text": news.text, "data": news.data}
    )
    # The same in every try, also of a later run.
    about = f"{settings.stack} {news.telling.state_key} {news.telling.digest} {news.telling.at}"
    message_id = f"msg_{keyed_digest(salt, 'notification', about)[:24]}"
    await post_webhook(
        Webhook(url.reveal(), key),
        settings.service.network,
        message_id,
        body,
        now=now,
        connections=connections,
    )
