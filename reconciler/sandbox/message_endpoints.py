"""What the addresses of messages do: send, list, read, statuses, responses."""

from datetime import datetime

from reconciler.sandbox import callbacks, imports, message_documents, messages
from reconciler.sandbox.calls import Answer, Call
from reconciler.sandbox.documents import DocumentWriter
from reconciler.sandbox.messages import (
    WrittenMessage,
    has_label,
    read_list_window,
    read_message,
    read_reply_filter,
    read_view,
    resolve_addresses,
)
from reconciler.sandbox.queries import ContactQuery
from reconciler.sandbox.records import Body, Callback, CallbackCall, Message, Recipient
from reconciler.sandbox.refusals import not_found
from reconciler.sandbox.state import Shelf, State

accepted = "Your request has been accepted for processing"  # plain text, under the type asked for (recorded)


def send_message(call: Call) -> Answer:
    """The message is queued: 202, Location, and a document with the location and the id, or a plain text."""
    body = call.body()
    written = read_message(body, bulk=imports.resource_addresses(body, call.shelf.resources))
    message = create_message(call.state, call.shelf, call.writer, written, user=call.config.username)
    if call.config.send_answer == "text":
        return Answer(202, location=message.location, text=accepted)
    return Answer(202, {"location": message.location, "messageid": message.id}, message.location)


def create_message(
    state: State, shelf: Shelf, writer: DocumentWriter, written: WrittenMessage, *, user: str
) -> Message:
    """A message of this user is accepted in this workspace; its recipients are looked up now."""
    recipients = resolve_addresses(written.addresses, shelf.find(ContactQuery()))
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
    accept_message(state, message)
    return message


def list_messages(call: Call) -> Answer:
    """The messages of seven days, or of the four criteria, newest first; all of them unless limit says less.

    limit and offset are honoured, and there are neither links nor totals (recorded).
    """
    execute_due_messages(call.state)
    page, (start, end) = call.page, read_list_window(call.query, call.config.clock())
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
    rows = [message_documents.message_row(call.writer, one, call.echoed_query) for one in shown]
    return Answer(200, {"messages": rows, "status": "", "link": []})


def get_message(call: Call) -> Answer:
    """The whole message, with its seven links."""
    return Answer(200, message_documents.message_document(call.writer, _find_message(call)))


def get_status(call: Call) -> Answer:
    """What became of the message: five counts, or a row for each recipient."""
    message = _find_message(call)
    read_reply_filter(call.query)  # it is about answers: of a status it leaves nothing out
    uri = f"{call.address}{call.echoed_query}"
    if read_view(call.query) == "summary":
        return Answer(200, message_documents.status_summary(message, uri))
    return call.paged(
        "messageStatuses",
        message.recipients,
        lambda one: message_documents.status_row(call.writer, message, one, uri),
    )


def get_responses(call: Call) -> Answer:
    """What was answered: a count for each category, or a row for each reply."""
    message, wanted = _find_message(call), read_reply_filter(call.query)
    if read_view(call.query) == "summary":
        uri = f"{call.address}{call.echoed_query}"
        return Answer(200, message_documents.response_summary(message, wanted, uri))
    return call.paged("messageresponses", message_documents.response_rows(message, wanted), lambda row: row)


def _find_message(call: Call) -> Message:
    execute_due_messages(call.state)
    message = call.state.mail.message(call.ids[0], call.shelf.id)
    if message is None:
        raise not_found()
    return message


# --- What happens to messages as time goes by: taken from the queue, answered, not delivered ------


def accept_message(state: State, message: Message) -> None:
    """The message is kept and queued; its cycle comes at once unless the options say otherwise."""
    state.put_message(message)
    execute_due_messages(state)


def execute_due_messages(state: State, *, by_hand: bool = False) -> int:
    """Every queued message whose cycle has come is sent; `by_hand` it comes now. How many these were.

    A scheduled message waits for its time.
    """
    now, cycle_s = state.config.clock(), 0 if by_hand else state.config.message_cycle_s
    due = [one for one in state.mail.queued.values() if messages.is_message_due(one, now, cycle_s)]
    for message in due:
        after = messages.execute_message(message, now)
        lost = [one for one in after.recipients if one.failed == now and not one.channel]
        calls = [call for one in lost for call in _failure_calls(state, after, one, now)]
        state.put_message(after, calls)
    return len(due)


def record_reply(state: State, message: Message, at: int, content: str, channel: str) -> tuple[Message, int]:
    """The recipient in this place answers: the message after it, and how many calls are to be made of it."""
    now = state.config.clock()
    after = messages.add_reply(message, at, content, channel=channel, now=now)
    recipient = after.recipients[at]
    callback = _callback_of(state, after)
    calls = []
    if callback and callback.on_reply:
        payload = callbacks.reply_payload(state.config, callback, after, recipient, recipient.replies[-1])
        calls.append(_build_call(state, callback, after, payload, now))
    state.put_message(after, calls)
    return after, len(calls)


def record_failure(state: State, message: Message, at: int, reason: str) -> tuple[Message, int]:
    """The delivery to the recipient in this place fails: the message after it, and how many calls to make."""
    now = state.config.clock()
    after = messages.fail_delivery(message, at, reason, now=now)
    calls = _failure_calls(state, after, after.recipients[at], now)
    state.put_message(after, calls)
    return after, len(calls)


def _failure_calls(state: State, message: Message, recipient: Recipient, now: datetime) -> list[CallbackCall]:
    callback = _callback_of(state, message)
    if callback is None or not callback.on_undeliverable:
        return []
    payload = callbacks.failure_payload(state.config, callback, message, recipient, now)
    return [_build_call(state, callback, message, payload, now)]


def _callback_of(state: State, message: Message) -> Callback | None:
    return state.mail.named_callback(message.callback_id) if message.callback_id else None


def _build_call(
    state: State, callback: Callback, message: Message, payload: Body, now: datetime
) -> CallbackCall:
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
