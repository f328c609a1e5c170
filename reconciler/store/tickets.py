"""Which runs of this store asked for the lock in the service: their tickets hold up nobody with this store.

Whoever holds the store's lock knows that each of them writes no more. Written down before the ticket is
sent: a copy of the store that was made before knows nothing of it. Not here: tickets (core/runs/ticket.py).
"""

from datetime import datetime, timedelta

from reconciler.store.engines import sealed
from reconciler.store.engines.adapter import Connection
from reconciler.store.engines.schema import TICKETS
from reconciler.store.owner import Owner

tickets_kept_for = timedelta(days=7)  # a lease lasts some minutes, and is renewed while its run lives


def note_ticket(connection: Connection, owner: Owner, run: str, now: datetime) -> None:
    """Write down that this run is about to create a ticket; old ones are forgotten."""
    mine = {**owner.key(), "run": run, "until": _format_ticket_time(now - tickets_kept_for)}
    old = f"DELETE FROM tickets WHERE {sealed.OWNED} AND (run = :run OR drawn_at < :until)"
    connection.execute(old, mine)
    connection.execute(TICKETS.insert, {**owner.key(), "run": run, "drawn_at": _format_ticket_time(now)})


def list_ticket_runs(connection: Connection, owner: Owner) -> frozenset[str]:
    """Return the runs that may have left a ticket at the service."""
    query = f"SELECT run FROM tickets WHERE {sealed.OWNED}"
    return frozenset(str(run) for (run,) in connection.execute(query, owner.key()))


def _format_ticket_time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
