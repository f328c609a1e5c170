"""What the addresses of callbacks do: their configuration, and the calls that were made.

Belongs here: fetch, apply the rules, keep, answer; a few lines each. Not here: the rules (callbacks.py),
shapes (mailwire.py), the network (sending.py).
"""

from http import HTTPStatus
from urllib.parse import parse_qsl

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.keeping.mail import Callback
from reconciler.sandbox.messaging import mailwire, sending
from reconciler.sandbox.messaging.callbacks import marked_failed, read_callback, require_free_name, settled
from reconciler.sandbox.messaging.message_endpoints import paged
from reconciler.sandbox.refusals import invalid, malformed, not_found

attempted = ("SUCCESS", "FAILED")


def list_callbacks(call: Call) -> Answer:
    """One page of the company's callbacks, in the order of creation."""
    found = call.listed(call.state.mail.callbacks.values())
    return Answer(
        200, paged(call, "callbacks", [mailwire.callback_document(call.writer, one) for one in found])
    )


async def create_callback(call: Call) -> Answer:
    """A new callback, whose address has answered 200 to a GET; the answer is the whole of it."""
    mail = call.state.mail
    callback_id, number = call.state.new_id("callback")
    callback = read_callback(call.body(), callback_id=callback_id, number=number)
    require_free_name(callback.name, callback.id, mail.callbacks.values())
    if call.config.callback_check:
        outcome = await sending.ask(call.config, callback.url)
        if outcome.code != HTTPStatus.OK:
            raise malformed(f"url must answer 200 to a GET, and did not: {outcome.code} {outcome.reason}")
        require_free_name(callback.name, callback.id, mail.callbacks.values())  # others came meanwhile
    call.state.put_callback(callback)
    document = mailwire.callback_document(call.writer, callback)
    return Answer(201, document, call.writer.address("callbacks", callback.id))


def get_callback(call: Call) -> Answer:
    """The whole callback."""
    return Answer(200, mailwire.callback_document(call.writer, _callback(call)))


def put_callback(call: Call) -> Answer:
    """The callback is replaced; its new address is not asked (no source says that it is)."""
    before = _callback(call)
    callback = read_callback(call.body(), callback_id=before.id, number=before.number)
    require_free_name(callback.name, callback.id, call.state.mail.callbacks.values())
    call.state.put_callback(callback)
    return no_content


def delete_callback(call: Call) -> Answer:
    """The callback is gone, with its calls."""
    call.state.drop_callback(_callback(call))
    return no_content


def list_calls(call: Call) -> Answer:
    """One page of the calls that were tried, oldest first; of one status, or these alone, when asked for."""
    callback = _callback(call)
    status = call.query.get("status", "").upper()
    if status not in ("", *attempted):
        raise malformed("status must be SUCCESS or FAILED")
    wanted = _named_calls(call)
    found = [
        one
        for one in call.state.mail.calls_of(callback)
        if one.status and status in ("", one.status) and (not wanted or one.id in wanted)
    ]
    return Answer(200, paged(call, "calls", [mailwire.call_row(call.writer, callback, one) for one in found]))


def put_calls(call: Call) -> Answer:
    """The calls that the query names are dealt with, and not tried again; or they count as failed."""
    callback = _callback(call)
    status = call.body().get("status")
    if status not in attempted:
        raise invalid("status must be SUCCESS or FAILED")
    wanted = _named_calls(call)
    if not wanted:
        raise malformed("id: the query names no call")
    known = {one.id: one for one in call.state.mail.calls_of(callback) if one.status}
    if not wanted.keys() <= known.keys():
        raise not_found()
    mark = settled if status == "SUCCESS" else marked_failed
    call.state.put_calls(mark(known[one]) for one in wanted)
    return no_content


def _named_calls(call: Call) -> dict[str, None]:
    """The ids in the query, each once, in their order."""
    return dict.fromkeys(value for name, value in parse_qsl(call.query_text) if name == "id")


def _callback(call: Call) -> Callback:
    callback = call.state.mail.callbacks.get(call.ids[0])
    if callback is None:
        raise not_found()
    return callback
