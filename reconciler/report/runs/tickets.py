"""The lock in the service: as lines and as JSON.

Belongs here: order and wording. Not here: which ticket goes first (core/runs/ticket.py).
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import structs

from reconciler.core.runs.ticket import Ticket
from reconciler.report.envelope import report_json
from reconciler.report.lines import Line, line, pad

_columns = 8


def tickets_lines(tickets: Sequence[Ticket], stack: str) -> tuple[Line, ...]:
    """Say who holds the lock or waits for it, the first before the others, and what to do."""
    if not tickets:
        return (line(f"the lock of stack {stack} in the service is free."),)
    shown = [line(f"the lock of stack {stack} in the service is held.")]
    for number, one in enumerate(tickets):
        rows = (
            ("holder" if number == 0 else "waits", one.holder),
            ("run", one.run),
            ("since", _moment(one.made)),
            ("until", f"{_moment(one.until)}, by the service's clock; renewed while the run lives"),
            ("id", one.nonce),
        )
        shown += [line("  ", (pad(name, _columns), "dim"), value) for name, value in rows]
    force = f"reconciler unlock --in-service --force {tickets[0].nonce}"
    return (
        *shown,
        line(("  next: ", "bold"), "wait until that run ends"),
        line(f"        if it is gone for good: {force}"),
    )


def tickets_json(tickets: Sequence[Ticket], stack: str) -> str:
    """Return the same for programs: `held`, and `tickets`, the first of which holds it."""
    about = [
        {**structs.asdict(one), "made": _moment(one.made), "until": _moment(one.until)} for one in tickets
    ]
    return report_json({"stack": stack, "held": bool(tickets), "tickets": about})


def freed_lines(lock_id: str, stack: str, *, was_there: bool) -> tuple[Line, ...]:
    """Say that the ticket is gone, and what comes next."""
    if not was_there:
        return (
            line(f"no ticket {lock_id[:40]!a} of stack {stack} is in the service; nothing was changed."),
            line(("  next: ", "bold"), "reconciler lock --in-service   (shows who holds it)"),
        )
    return (
        line(f"the ticket {lock_id} of stack {stack} is removed from the service."),
        line(("  next: ", "bold"), "reconciler resume   (where that run had its store)"),
    )


def freed_json(lock_id: str, stack: str, *, was_there: bool) -> str:
    """Return the same for programs."""
    return report_json({"stack": stack, "id": lock_id, "removed": was_there})


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
