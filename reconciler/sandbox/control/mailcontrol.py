"""The control interface for messages, callbacks and the clock.

    POST /_sandbox/clock                  {"advance_s": 60}                  the clock goes on
    POST /_sandbox/messages               {"user", "workspace"?, "to", ...}  a message of another user
    POST /_sandbox/messages/run           {}                                 the queue is executed
    POST /_sandbox/messages/{mid}/reply   {"from"?, "content", "channel"?}   a recipient answers
    POST /_sandbox/messages/{mid}/fail    {"to"?, "reason"?}                 a delivery fails
    POST /_sandbox/callbacks/deliver      {}                                 calls that are due are made

Belongs here: reading these requests and answering them. Not here: what they do (posting.py,
callback_calls.py).
"""

from math import isfinite

from reconciler.sandbox.entities.wire import Writer
from reconciler.sandbox.keeping.mail import Message
from reconciler.sandbox.keeping.state import State
from reconciler.sandbox.messaging import callback_calls, posting, replies
from reconciler.sandbox.messaging.mailwire import responder
from reconciler.sandbox.messaging.message_endpoints import new_message
from reconciler.sandbox.messaging.messages import read_message
from reconciler.sandbox.reading import require, text
from reconciler.sandbox.records import Body
from reconciler.sandbox.refusals import invalid, not_found

advance_max_s = 366 * 86_400.0  # one move of the clock; more than a year is a slip


async def carry_out(state: State, parts: list[str], body: Body) -> Body:
    """Carries out one request; `parts` is its address below the prefix. Refuses (404, 422) what is wrong."""
    match parts:
        case ["clock"]:
            return advance(state, body)
        case ["messages"]:
            return send_shared(state, body)
        case ["messages", "run"]:
            return run(state)
        case ["messages", message_id, "reply"]:
            return answer(state, message_id, body)
        case ["messages", message_id, "fail"]:
            return fail(state, message_id, body)
        case ["callbacks", "deliver"]:
            return await deliver(state)
        case _:
            raise not_found()


def advance(state: State, body: Body) -> Body:
    """The clock is moved forward; refuses (422) a clock that cannot be, and any other way."""
    seconds = body.get("advance_s")
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not isfinite(seconds):
        raise invalid("advance_s must be a number of seconds")
    if not 0 <= seconds <= advance_max_s:
        raise invalid(f"advance_s must be 0 to {advance_max_s:.0f}")
    move = getattr(state.config.clock, "advance", None)
    if not callable(move):
        raise invalid("the clock of this sandbox cannot be moved")
    move(seconds)
    state.mail.news.set()
    return {"now": state.config.clock().isoformat()}


def send_shared(state: State, body: Body) -> Body:
    """Another user sends a message; refuses (422) the user of the API, and what the service refuses."""
    user, workspace = body.pop("user", None), body.pop("workspace", "")
    if not isinstance(user, str) or user in ("", state.config.username):
        raise invalid("user must name somebody else than the user of the API")
    shelf = state.shelves.get(str(workspace))
    if shelf is None:
        raise not_found()
    prefix = f"/workspaces/{shelf.id}" if shelf.id else ""
    writer = Writer(state.config, state.config.link_base or "", prefix)
    message = new_message(state, shelf, writer, read_message(body), user=user)
    return {"messageid": message.id}


def run(state: State) -> Body:
    """The next cycle comes now: how many messages were sent."""
    return {"executed": posting.execute_due(state, by_hand=True)}


def answer(state: State, message_id: str, body: Body) -> Body:
    """A recipient answers the message: what the service makes of it, and how many callbacks are called."""
    message = _message(state, message_id)
    content, channel = text(body, "content"), text(body, "channel")
    require(body, ("content",))
    at = replies.find_recipient(message, text(body, "from"))
    after, calls = posting.reply(state, message, at, content, channel)
    recipient = after.recipients[at]
    return {
        "messageid": message.id,
        "from": responder(recipient),
        "responseCategory": replies.category(recipient),
        "calls": calls,
    }


def fail(state: State, message_id: str, body: Body) -> Body:
    """A delivery of the message fails: whose, and how many callbacks are called."""
    message = _message(state, message_id)
    at = replies.find_recipient(message, text(body, "to"))
    reason = text(body, "reason") or "Delivery failed"
    after, calls = posting.fail(state, message, at, reason)
    return {"messageid": message.id, "to": responder(after.recipients[at]), "reason": reason, "calls": calls}


async def deliver(state: State) -> Body:
    """The calls that are due are made now: how many ended how, and how many still wait.

    Those that were under way by themselves have ended too when this answers; they are not counted.
    """
    await callback_calls.under_way_ended(state)
    done = await callback_calls.deliver_due(state)
    await callback_calls.under_way_ended(state)
    return {"success": done.success, "failed": done.failed, "waiting": len(state.mail.waiting)}


def _message(state: State, message_id: str) -> Message:
    posting.execute_due(state)
    message = state.mail.messages.get(message_id)
    if message is None:
        raise not_found()
    return message
