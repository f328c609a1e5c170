"""Messages, what became of them, what people answered, and callbacks: as lines, and as JSON.

Recipients and replies are people's data: shown whole where they were asked for, and made inert. A key of
a callback is never shown.
"""

from collections.abc import Sequence

from msgspec import Struct, structs

from reconciler.core.text import fold_case
from reconciler.messaging.callback_edits import format_field_value
from reconciler.messaging.values import (
    CallbackCall,
    Delivery,
    FieldEdit,
    MessageDetail,
    MessageRow,
    Reply,
    Respondent,
    Response,
    ResponseCount,
    Sent,
    StatusCount,
)
from reconciler.model.encoding import encode_json
from reconciler.model.runs import REPORT_VERSION
from reconciler.report.escaping import escape_control
from reconciler.report.json import json_text
from reconciler.report.lines import BLANK, Line, Style, count, line, pad_text, table, width


def reply_json(reply: Reply, received_at: str, reply_id: str) -> str:
    """Return one line of the event output (schemas/reply.schema.json)."""
    event = {
        "version": REPORT_VERSION,
        "id": reply_id,
        "event": "undeliverable" if reply.undeliverable else "reply",
        "received_at": received_at,
        "message_id": reply.message_id,
        "location": reply.location,
        "sender": reply.sender,
        "channel": reply.channel,
        "content": reply.content,
        "acknowledged": reply.acknowledged,
        "undeliverable": reply.undeliverable,
        "parameters": reply.parameters,
    }
    return json_text(event, indent=0)


def reply_lines(reply: Reply, received_at: str) -> tuple[Line, ...]:
    """Show one reply, or one failed delivery, as it comes in."""
    message: tuple[str, Style] = (f"  {received_at}  message {reply.message_id}", "dim")
    if reply.undeliverable:
        said = line(
            (best_name(reply.sender), "bold"), ": ", ("not delivered: ", "delete"), reply.undeliverable
        )
    else:
        said = line((best_name(reply.sender), "bold"), ": ", reply.content)
    shown = ", ".join(f"{key}={value}" for key, value in reply.parameters.items())
    return (said, line(message), *((line(("  " + shown, "dim")),) if shown else ()))


def draft_lines(to: Sequence[str], scheduled: str, workspace: str) -> tuple[Line, ...]:
    """Show who would get a message, and when."""
    when = f" at {scheduled}" if scheduled else ""
    head = f"would be sent{when} to {count(len(to), 'recipient')}, in workspace {workspace}:"
    return (line(head), *(line("  ", one) for one in to), line("nothing was sent."))


def sent_lines(sent: Sent, workspace: str, verb: str, scheduled: str = "") -> tuple[Line, ...]:
    """Say that the message is accepted, which is not yet delivered, and which command shows more.

    `workspace` is its alias, `verb` the command of `reconciler messages`.
    """
    waits = f"scheduled for {scheduled}" if scheduled else "queued"
    where = "" if workspace == "default" else f" --workspace {workspace}"
    return (
        line(f"accepted, and {waits}: message ", (sent.message_id, "bold")),
        line(("  next: ", "bold"), f"reconciler messages {verb} {sent.message_id}{where}"),
    )


def message_table(rows: Sequence[MessageRow]) -> tuple[Line, ...]:
    """List messages, the newest first as the service gives them."""
    cells = [
        (row.message_id, row.created, row.direction.lower(), _format_number(row.responses), row.subject)
        for row in rows
    ]
    return table(
        ("message", "created", "direction", "responses", "subject"), cells, count(len(rows), "message")
    )


def detail_lines(detail: MessageDetail) -> tuple[Line, ...]:
    """Show one message: every field of the service, nested ones as JSON."""
    fields = {
        key: value if isinstance(value, str) else encode_json(value).decode()
        for key, value in detail.fields.items()
    }
    shown = {"id": detail.message_id, **fields}
    wide = max(width(escape_control(key)) for key in shown)
    return tuple(line(pad_text(key, wide), "  ", value) for key, value in shown.items())


def status_lines(states: Sequence[StatusCount]) -> tuple[Line, ...]:
    """Show how many recipients are in which state."""
    rows = [(one.name, f"{one.recipients:,}", _format_percent(one.percent)) for one in states]
    return table(("status", "recipients", "of all"), rows, "")


def delivery_lines(deliveries: Sequence[Delivery]) -> tuple[Line, ...]:
    """Show what became of the message on each channel that was used, and who has no delivery yet."""
    rows = [
        (one.recipient, one.channel, one.status, one.destination, one.sent, one.received, one.acknowledged)
        for one in deliveries
    ]
    head = ("recipient", "channel", "status", "destination", "sent", "received", "acknowledged")
    made = sum(1 for one in deliveries if one.channel)
    summary = count(made, "delivery", "deliveries")
    if made < len(rows):
        summary += f", {count(len(rows) - made, 'recipient')} without one"
    return table(head, rows, summary)


def response_lines(counts: Sequence[ResponseCount]) -> tuple[Line, ...]:
    """Show how many recipients answered in which way, and how many of all that accounts for."""
    rows = [(one.type, f"{one.recipients:,}", _format_percent(one.percent)) for one in counts]
    whole = sum(one.percent for one in counts)
    total = sum(one.recipients for one in counts)
    summary = (
        f"{count(total, 'recipient')}, {_format_percent(whole)} accounted for" if counts else "no recipients"
    )
    return table(("response", "recipients", "of all"), rows, summary)


def answer_lines(responses: Sequence[Response]) -> tuple[Line, ...]:
    """Show what each recipient answered, in full."""
    rows = [(best_name(one.sender), one.category, one.channel, one.acknowledged) for one in responses]
    lines = table(("from", "response", "channel", "acknowledged"), rows, count(len(rows), "recipient"))
    said = [line("  ", best_name(one.sender), ": ", one.content) for one in responses if one.content]
    return (*lines, BLANK, *said) if said else lines


def call_lines(calls: Sequence[CallbackCall]) -> tuple[Line, ...]:
    """List the service's attempts to reach a callback; what failed in the colour of trouble."""
    rows = [
        (
            one.call_id,
            one.message_id,
            one.status,
            _format_number(one.http_status or -1),
            one.attempted,
            one.reason,
        )
        for one in calls
    ]
    failed = sum(1 for one in calls if one.status.upper() == "FAILED")
    summary = count(len(rows), "call") + (f", {failed:,} failed" if failed else "")
    return table(("call", "message", "status", "http", "attempted", "reason"), rows, summary)


def progress_lines(
    states: Sequence[StatusCount], counts: Sequence[ResponseCount], answers: Sequence[Response]
) -> tuple[Line, ...]:
    """Show the progress of a message: states with recipients in them, responses, and the replies."""
    now = [f"{one.name} {one.recipients:,}" for one in states if one.recipients]
    heard = [f"{one.type} {one.recipients:,}" for one in counts]
    return (
        line(("status     ", "dim"), ", ".join(now) or "not known yet"),
        line(("responses  ", "dim"), ", ".join(heard) or "none yet"),
        *answered_lines(answers),
    )


def answered_lines(answers: Sequence[Response]) -> tuple[Line, ...]:
    """Show what was said, a line for each."""
    return tuple(line("  ", (best_name(one.sender), "bold"), ": ", one.content) for one in answers)


def followed_lines(
    states: Sequence[StatusCount], counts: Sequence[ResponseCount], answers: Sequence[Response], end: str
) -> tuple[Line, ...]:
    """Show the progress of a message when we stopped looking, and why we stopped."""
    waiting = sum(one.recipients for one in counts if fold_case(one.type) == "noresponse")
    said = (
        "everybody replied."
        if end == "answered"
        else f"{end}: no reply from {count(waiting, 'recipient')} yet."
    )
    if end == "undelivered":
        said = f"not delivered to {count(waiting, 'recipient')}; everybody else replied."
    if not counts and end != "answered":
        said = f"{end}: the service does not show replies yet."
    return (*progress_lines(states, counts, answers), line(said))


def best_name(sender: Respondent) -> str:
    """Return the best name of a respondent: their name, else a number or an address."""
    known = (sender.name, sender.mobile, sender.email, sender.voice, sender.mri)
    return next((one for one in known if one), "somebody")


def _format_number(number: int) -> str:
    return "-" if number < 0 else f"{number:,}"


def _format_percent(percent: float) -> str:
    return f"{percent:.1f}".removesuffix(".0") + " %"


# --- One callback, what an edit changes of it, and calls that are marked: as lines ----------------
#
# A key is never shown, only how it is sent. What an edit is: callback_edits.py.


def field_lines(value: Struct) -> tuple[Line, ...]:
    """Show every field of a value, a line each."""
    fields = {name: format_field_value(one) for name, one in structs.asdict(value).items()}
    wide = max(map(width, fields))
    return tuple(line(pad_text(name, wide), "  ", one) for name, one in fields.items())


def edit_lines(callback_id: str, name: str, edits: Sequence[FieldEdit]) -> tuple[Line, ...]:
    """Show what is to change about a callback, or that nothing is."""
    head = f"callback {callback_id} ({name})"
    if not edits:
        return (line(f"{head} already has these values; nothing was written"),)
    wide = max(width(one.field) for one in edits)
    rows = [line("    ", pad_text(one.field, wide), "  ", one.before, "  →  ", one.after) for one in edits]
    return (line(("~ ", "update"), head), *rows)


def mark_lines(calls: Sequence[CallbackCall], status: str) -> tuple[Line, ...]:
    """Show which calls are to be marked, with their status now and the one that they get."""
    if not calls:
        return (line(f"these calls are already {status}; nothing was written"),)
    rows = [(one.call_id, one.message_id, f"{one.status} → {status}", one.reason) for one in calls]
    return table(("call", "message", "status", "reason"), rows, count(len(rows), "call"))
