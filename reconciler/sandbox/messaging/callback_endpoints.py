"""What the addresses of callbacks do: the row of their configuration, and the calls that were made.

Belongs here: fetch, apply the rules, keep, answer; a few lines each. Not here: the rules (callbacks.py),
shapes (mailwire.py), the network (callback_calls.py).
"""

from http import HTTPStatus
from urllib.parse import parse_qsl

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.collections.row import Row
from reconciler.sandbox.entities.wire import View
from reconciler.sandbox.keeping.mail import Callback
from reconciler.sandbox.messaging import callback_calls, mailwire
from reconciler.sandbox.messaging.callbacks import marked_failed, read_callback, require_free_name, settled
from reconciler.sandbox.reading import choice
from reconciler.sandbox.records import Body
from reconciler.sandbox.refusals import malformed, not_found

attempted = ("SUCCESS", "FAILED")


class Callbacks(Row[Callback]):
    """Of the company, each by a name of its own; their key is shown to whoever may read them."""

    def read(self, call: Call, before: Callback | None) -> Callback:
        """A callback of a name that is free."""
        known = (before.id, before.number) if before else call.state.new_id("callback")
        callback = read_callback(call.body(), known, strict=call.config.strict)
        require_free_name(callback.name, callback.id, self.records(call).values())
        return callback

    async def check(self, call: Call, record: Callback) -> None:
        """A new one must have answered 200 to a GET, if so configured; refuses (400) any other."""
        if not call.config.callback_check:
            return
        outcome = await callback_calls.ask(call.config, record.url)
        if outcome.code != HTTPStatus.OK:
            raise malformed(f"url must answer 200 to a GET, and did not: {outcome.code} {outcome.reason}")
        require_free_name(record.name, record.id, self.records(call).values())  # others came meanwhile

    def drop(self, call: Call, record: Callback) -> None:
        """Its calls go with it."""
        call.state.drop_callback(record)

    def shown(self, call: Call, record: Callback, view: View) -> Body:  # noqa: ARG002  the same everywhere
        """The whole callback."""
        return mailwire.callback_document(call.writer, record)


CALLBACKS = Callbacks(
    name="callback",
    plural="callbacks",
    media="api-callback",
    in_workspaces=False,
    says={
        "list": "One page of the company's callbacks, in the order of creation.",
        "create": "A new callback, whose address has answered 200 to a GET; the answer is the whole of it.",
        "put": "The callback is replaced; its new address is not asked (no source says that it is).",
        "delete": "The callback is gone, with its calls.",
    },
)


def list_calls(call: Call) -> Answer:
    """One page of the calls that were tried, oldest first; of one status, or these alone, when asked for."""
    callback = CALLBACKS.one(call)
    status = call.query.get("status", "").upper()
    if status not in ("", *attempted):
        raise malformed("status must be SUCCESS or FAILED")
    wanted = _named_calls(call)
    found = [
        one
        for one in call.state.mail.calls_of(callback)
        if one.status and status in ("", one.status) and (not wanted or one.id in wanted)
    ]
    return call.paged("calls", found, lambda one: mailwire.call_row(call.writer, callback, one))


def put_calls(call: Call) -> Answer:
    """The calls that the query names are dealt with, and not tried again; or they count as failed."""
    callback = CALLBACKS.one(call)
    status = choice(call.body(), "status", attempted)
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
    return dict.fromkeys(value for name, value in parse_qsl(call.incoming.query_text) if name == "id")
