"""What the addresses of messages do: send, list, read, statuses, responses.

Belongs here: fetch, apply the rules, keep, answer; a few lines each. Not here: the rules (messages.py,
replies.py, posting.py), shapes (mailwire.py).
"""

from reconciler.sandbox.calls import Answer, Call
from reconciler.sandbox.collections import bulk
from reconciler.sandbox.entities.wire import Writer
from reconciler.sandbox.keeping.mail import Message
from reconciler.sandbox.keeping.search import Question
from reconciler.sandbox.keeping.shelf import Shelf
from reconciler.sandbox.keeping.state import State
from reconciler.sandbox.messaging import mailwire, posting
from reconciler.sandbox.messaging.messages import (
    WrittenMessage,
    has_label,
    read_message,
    read_window,
    resolve,
)
from reconciler.sandbox.messaging.replies import read_filter, read_view
from reconciler.sandbox.refusals import not_found

accepted = "Your request has been accepted for processing"  # plain text, under the type asked for (recorded)


def send_message(call: Call) -> Answer:
    """The message is queued: 202, Location, and a document with the location and the id, or a plain text."""
    body = call.body()
    written = read_message(body, bulk=bulk.addresses(body, call.shelf.resources))
    message = new_message(call.state, call.shelf, call.writer, written, user=call.config.username)
    if call.config.send_answer == "text":
        return Answer(202, location=message.location, text=accepted)
    return Answer(202, {"location": message.location, "messageid": message.id}, message.location)


def new_message(state: State, shelf: Shelf, writer: Writer, written: WrittenMessage, *, user: str) -> Message:
    """A message of this user is accepted in this workspace; its recipients are looked up now."""
    recipients = resolve(written.addresses, shelf.find(Question()))
    message_id, number = state.new_id("message")
    message = Message(
        id=message_id,
        number=number,
        workspace=shelf.id,
        user=user,
        location=writer.address("messages", message_id),
        to=written.to,
        subject=written.subject,
        fields=written.fields,
        recipients=recipients,
        created=state.config.clock(),
        callback_id=written.callback_id,
        parameters=written.parameters,
        scheduled=written.scheduled,
    )
    posting.accept(state, message)
    return message


def list_messages(call: Call) -> Answer:
    """The messages of seven days, or of the four criteria, newest first; all of them unless limit says less.

    limit and offset are honoured, and there are neither links nor totals (recorded).
    """
    posting.execute_due(call.state)
    page, (start, end) = call.page, read_window(call.query, call.config.clock())
    shared = call.query.get("viewType", "").lower() == "shared"
    found = [
        one
        for one in call.listed(call.state.mail.newest_messages(call.shelf.id))
        if start <= one.created <= end
        and (one.user != call.config.username) == shared
        and has_label(one, call.query)
    ]
    shown = page.cut(found) if "limit" in call.query else found[page.offset :]
    if not shown:
        return Answer(200, {"status": call.config.messages_end, "link": []})
    rows = [mailwire.message_row(call.writer, one, call.echoed_query) for one in shown]
    return Answer(200, {"messages": rows, "status": "", "link": []})


def get_message(call: Call) -> Answer:
    """The whole message, with its seven links."""
    return Answer(200, mailwire.message_document(call.writer, _message(call)))


def get_status(call: Call) -> Answer:
    """What became of the message: five counts, or a row for each recipient."""
    message = _message(call)
    read_filter(call.query)  # it is about answers: of a status it leaves nothing out
    uri = f"{call.address}{call.echoed_query}"
    if read_view(call.query) == "summary":
        return Answer(200, mailwire.status_summary(message, uri))
    return call.paged(
        "messageStatuses", message.recipients, lambda one: mailwire.status_row(call.writer, message, one, uri)
    )


def get_responses(call: Call) -> Answer:
    """What was answered: a count for each category, or a row for each reply."""
    message, wanted = _message(call), read_filter(call.query)
    if read_view(call.query) == "summary":
        uri = f"{call.address}{call.echoed_query}"
        return Answer(200, mailwire.response_summary(message, wanted, uri))
    return call.paged("messageresponses", mailwire.response_rows(message, wanted), lambda row: row)


def _message(call: Call) -> Message:
    posting.execute_due(call.state)
    message = call.state.mail.message(call.ids[0], call.shelf.id)
    if message is None:
        raise not_found()
    return message
