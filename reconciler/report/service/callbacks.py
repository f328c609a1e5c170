"""One callback, what an edit changes of it, and calls that are marked: as lines.

A key is never shown: of it there is only how it travels. Not here: tables of callbacks and of calls
(messages.py), what an edit is (core/messaging/callback_edit.py).
"""

from collections.abc import Sequence

from reconciler.core.messaging.callback_edit import shown
from reconciler.model.messaging.callback_edits import FieldEdit
from reconciler.model.messaging.messages import Callback, CallbackCall
from reconciler.report.lines import Line, count, line, pad, table, width
from reconciler.report.service.messages import callback_values


def callback_detail(callback: Callback) -> tuple[Line, ...]:
    """Show one callback: every field, a line each."""
    fields = {name: shown(value) for name, value in callback_values(callback).items()}
    wide = max(map(width, fields))
    return tuple(line(pad(name, wide), "  ", value) for name, value in fields.items())


def edit_lines(callback: Callback, edits: Sequence[FieldEdit]) -> tuple[Line, ...]:
    """Show what is to change about a callback, or that nothing is."""
    head = f"callback {callback.callback_id} ({callback.name})"
    if not edits:
        return (line(f"{head} is so already; nothing was written"),)
    wide = max(width(one.field) for one in edits)
    rows = [line("    ", pad(one.field, wide), "  ", one.before, "  →  ", one.after) for one in edits]
    return (line(("~ ", "update"), head), *rows)


def mark_lines(calls: Sequence[CallbackCall], status: str) -> tuple[Line, ...]:
    """Show which calls are to be marked, with their status now and the one that they get."""
    if not calls:
        return (line(f"all of these calls are {status} already; nothing was written"),)
    rows = [(one.call_id, one.message_id, f"{one.status} → {status}", one.reason) for one in calls]
    return table(("call", "message", "status", "reason"), rows, count(len(rows), "call"))
