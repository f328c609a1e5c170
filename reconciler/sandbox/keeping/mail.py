"""Messages, the replies to them, callbacks and calls: the values, and where they stand in memory.

Belongs here: what is remembered of the service's other half. Not here: the rules by which it changes
(messages.py, replies.py, callbacks.py), the disk (state.py), the network (callback_calls.py).
"""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal

import msgspec

from reconciler.sandbox.records import Body, Kept

AuthType = Literal["httpheader", "querystring", "queryparam", "basicauth", "bearertoken", ""]


class Reply(msgspec.Struct, frozen=True):
    """What one recipient answered once."""

    content: str
    channel: str
    at: datetime


class Recipient(msgspec.Struct, frozen=True):
    """One recipient: who it is, as far as a contact tells, and what became of the message there.

    `written` is what stood in `to`; `channel` is "" where it leads nowhere. `failure` is "" unless it failed.
    """

    written: str
    channel: Literal["sms", "email", ""]
    destination: str
    name: str
    mri: str = ""
    mobile: str = ""
    email: str = ""
    voice: str = ""
    failed: datetime | None = None
    failure: str = ""
    replies: tuple[Reply, ...] = ()


class Message(Kept, frozen=True, kw_only=True):
    """One accepted message. `executed` is None while it is queued; `location` is its address, absolute.

    `fields`: everything written that has no place of its own. `parameters`: as they were sent.
    """

    user: str
    location: str
    to: str
    subject: str
    fields: Body
    recipients: tuple[Recipient, ...]
    created: datetime
    executed: datetime | None = None
    callback_id: str = ""
    parameters: dict[str, object] | None = None
    scheduled: datetime | None = None  # not before this moment


class Callback(Kept, frozen=True, kw_only=True):
    """One callback of the company; its name is the callbackId of messages. `key` is "" without auth."""

    name: str
    url: str
    auth_type: AuthType
    key: str
    content_type: Literal["json", "xml"]
    remove_html: bool
    retries: bool
    email: str
    on_reply: bool
    on_undeliverable: bool


class CallbackCall(Kept, frozen=True, kw_only=True):
    """One event on its way to a callback: its payload, and how the last attempt ended ("" before the first).

    `due` is when it is tried next; None: never again.
    """

    callback: str
    message: str
    payload: Body
    since: datetime
    due: datetime | None
    status: Literal["SUCCESS", "FAILED", ""] = ""
    attempts: int = 0
    attempted: datetime | None = None
    code: int = 0
    reason: str = ""


class Mail:
    """Everything of the above by id, in the order of creation; `callbacks` are those of the company."""

    def __init__(self, callbacks: dict[str, Callback]) -> None:
        self.messages: dict[str, Message] = {}
        self.callbacks = callbacks
        self.calls: dict[str, CallbackCall] = {}
        self.queued: dict[str, Message] = {}  # the messages whose cycle has not come
        self.waiting: dict[str, CallbackCall] = {}  # the calls that will be tried again
        self.news = asyncio.Event()  # set when there may be something to send
        self.busy: set[str] = set()  # ids of callbacks that are being called right now
        self.ends: dict[str, asyncio.Future[None]] = {}  # each of them -> done when its calls have ended

    def message(self, message_id: str, workspace: str) -> Message | None:
        """The message with this id, if it stands in this workspace."""
        found = self.messages.get(message_id)
        return found if found and found.workspace == workspace else None

    def newest_messages(self, workspace: str) -> Iterator[Message]:
        """The messages of this workspace, newest first."""
        return (one for one in reversed(self.messages.values()) if one.workspace == workspace)

    def put_message(self, message: Message) -> None:
        """The message stands here, in its old place or behind the others."""
        self.messages[message.id] = message
        self.queued.pop(message.id, None)
        if message.executed is None:
            self.queued[message.id] = message
            self.news.set()

    def named_callback(self, name: str) -> Callback | None:
        """The callback that a message means: by its name, else by its id."""
        named = next((one for one in self.callbacks.values() if one.name == name), None)
        return named or self.callbacks.get(name)

    def calls_of(self, callback: Callback) -> list[CallbackCall]:
        """All calls to this callback, oldest first."""
        return [call for call in self.calls.values() if call.callback == callback.id]

    def put_call(self, call: CallbackCall) -> None:
        """The call stands here as it is now, and waits if it is to be tried again."""
        self.calls[call.id] = call
        self.waiting.pop(call.id, None)
        if call.due is not None:
            self.waiting[call.id] = call
            self.news.set()

    def drop_calls(self, calls: Iterable[CallbackCall]) -> None:
        """The calls are gone."""
        for call in calls:
            del self.calls[call.id]
            self.waiting.pop(call.id, None)
