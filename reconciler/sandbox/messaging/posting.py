"""What happens to messages as time goes by: taken from the queue, answered, not delivered.

Belongs here: each event as one change of the state, with the calls that it is a reason for.
Not here: the rules (messages.py, replies.py, callbacks.py), the network (callback_calls.py).
"""

from datetime import datetime

from reconciler.sandbox.keeping.mail import Callback, CallbackCall, Message, Recipient
from reconciler.sandbox.keeping.state import State
from reconciler.sandbox.messaging import callbacks, messages, replies
from reconciler.sandbox.records import Body


def accept(state: State, message: Message) -> None:
    """The message is kept and queued; its cycle comes at once unless the options say otherwise."""
    state.put_message(message)
    execute_due(state)


def execute_due(state: State, *, by_hand: bool = False) -> int:
    """Every queued message whose cycle has come is sent; `by_hand` it comes now. How many these were.

    A scheduled message waits for its time.
    """
    now, cycle_s = state.config.clock(), 0 if by_hand else state.config.message_cycle_s
    due = [one for one in state.mail.queued.values() if messages.is_due(one, now, cycle_s)]
    for message in due:
        after = messages.executed(message, now)
        lost = [one for one in after.recipients if one.failed == now and not one.channel]
        calls = [call for one in lost for call in _failure_calls(state, after, one, now)]
        state.put_message(after, calls)
    return len(due)


def reply(state: State, message: Message, at: int, content: str, channel: str) -> tuple[Message, int]:
    """The recipient in this place answers: the message after it, and how many calls are to be made of it."""
    now = state.config.clock()
    after = replies.replied(message, at, content, channel=channel, now=now)
    recipient = after.recipients[at]
    callback = _callback(state, after)
    calls = []
    if callback and callback.on_reply:
        payload = callbacks.reply_payload(state.config, callback, after, recipient, recipient.replies[-1])
        calls.append(_call(state, callback, after, payload, now))
    state.put_message(after, calls)
    return after, len(calls)


def fail(state: State, message: Message, at: int, reason: str) -> tuple[Message, int]:
    """The delivery to the recipient in this place fails: the message after it, and how many calls to make."""
    now = state.config.clock()
    after = replies.failed(message, at, reason, now=now)
    calls = _failure_calls(state, after, after.recipients[at], now)
    state.put_message(after, calls)
    return after, len(calls)


def _failure_calls(state: State, message: Message, recipient: Recipient, now: datetime) -> list[CallbackCall]:
    callback = _callback(state, message)
    if callback is None or not callback.on_undeliverable:
        return []
    payload = callbacks.failure_payload(state.config, callback, message, recipient, now)
    return [_call(state, callback, message, payload, now)]


def _callback(state: State, message: Message) -> Callback | None:
    return state.mail.named_callback(message.callback_id) if message.callback_id else None


def _call(state: State, callback: Callback, message: Message, payload: Body, now: datetime) -> CallbackCall:
    call_id, number = state.new_id("call")
    return CallbackCall(
        id=call_id,
        number=number,
        callback=callback.id,
        message=message.id,
        payload=payload,
        since=now,
        due=now,
    )
