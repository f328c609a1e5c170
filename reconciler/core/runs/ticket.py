"""The lock in the service: what a ticket says, which ticket goes first, when it ends, why two never go.

Decisions on the service's clock; calls and waiting are in engine/.

The service offers neither versions nor a compare-and-swap, so a lock in it can only be a bakery lock: a run
that wants to write creates a resource (its *ticket*), waits, and reads the list of all tickets. Only the name
of a resource can be read back, so the ticket is the name.

    made      the service's clock before the ticket was sent; it never is later than the creation
    born_by   a moment of that clock at which the ticket was there already, from the answer to its creation
    window    how long a list may lag behind a write (service.limits.settle_s)

A ticket is *punctual* when it was created at most `spread_s` after its `made`. Two rules:

A ticket decides by a list that was made at `max(made + spread_s, born_by) + window` or later
(`decides_from`):

1. A punctual ticket goes on when it is the lowest of the living ones on that list, by (made, nonce).
2. Any other ticket goes on when it is the only living one on that list.

Why no two go on while both live. Write m(X) for `made`, t(X) for the true moment of creation, L(X) for the
moment at which the list was made by which X decides. Always m(X) <= t(X) and L(X) >= t(X) + window, so of any
two tickets the one created later sees the other one.

- Both punctual, A lower: L(B) >= m(B) + spread + window >= m(A) + spread + window >= t(A) + window.
  So B sees A, which is lower, and waits, whichever was created first.
- A punctual, B not. If B sees A, B is not alone and waits. If B does not see A, then A was created later and
  sees B, and t(A) > L(B) - window >= m(B) + spread; so m(A) >= t(A) - spread > m(B), B is lower, A waits.
- Neither punctual: the one created later sees the other one, is not alone, and waits.

The run that goes on must also see everything that the run before it has written. Say that A wrote and removed
its ticket, and B decides by a list without it. If A removed it before B first looked, B plans a window later,
and sees it all. Else A's ticket, which no list of B's shows, was not listed yet when B first looked, and it
stood for at least `spread_s` after it had to be listed, because A waited that long before it wrote. So B
reads the list every `look_s` seconds, and would have seen it. Where two of its lists lie further apart
(`is_watch_unbroken`), B waits for another window before it plans.

So what is read a window after B first looked shows all of it, also while B still waits for its own turn: with
`spread_s` of that wait left, B may begin to plan. What it writes, it writes when the wait is over.

All of it rests on one assumption: what was created is listed `window` seconds later, at the latest. Where a
list lags longer, two may go on. The clock is that of the service's answers (Date); its servers may differ by
no more than what is left of `spread_s` after a round trip.
"""

import base64
import json
import re
from collections.abc import Collection
from datetime import UTC, datetime
from hashlib import sha256
from math import ceil

from msgspec import Struct, structs

from reconciler.core.text import fold_case
from reconciler.model.settings import STACK_NAME

PREFIX = "reconciler-lock."

# Seconds between a ticket's `made` and its creation. Date headers have whole seconds, so a second is lost at
# each end; the rest is for round trips. A slower ticket still works, when it is alone.
spread_s = 6
look_s = 4  # between two looks at the list while a ticket waits: with a round trip, less than `spread_s`

# The longest lease that a run takes, ahead of the service's clock: 300 s and two settle windows, renewed long
# before it ends. While the settings of a stack change, its runs may have other windows than ours, up to this.
lease_s, window_max_s = 300, 300

nonce_length = 12  # of 32 hexadecimal digits: 48 bits
_holder_length = 40  # characters; with the longest stack the whole name has 210, and 255 fit
_MOMENT = "%Y%m%dt%H%M%Sz"

# In lower case, and without characters that a service might rewrite in the name of a file.
_NAME = re.compile(
    re.escape(PREFIX) + r"(?P<made>[0-9]{8}t[0-9]{6}z)\.(?P<until>[0-9]{8}t[0-9]{6}z)"
    r"\.(?P<nonce>[0-9a-f]{12})\.(?P<run>[0-9a-f-]{36})\.(?P<holder>[a-z0-9_-]{1,40})"
    rf"\.(?P<stack>{STACK_NAME})\.json",
    re.ASCII,
)


class Ticket(Struct, frozen=True):
    """One ticket. `made` and `until` are seconds since 1970 by the service's clock."""

    stack: str
    made: int
    until: int
    nonce: str
    run: str
    holder: str

    @property
    def name(self) -> str:
        """The name of the resource, which says everything: `parse_ticket` reverses it."""
        made, until = (
            datetime.fromtimestamp(moment, UTC).strftime(_MOMENT) for moment in (self.made, self.until)
        )
        return f"{PREFIX}{made}.{until}.{self.nonce}.{self.run}.{self.holder}.{self.stack}.json"

    @property
    def order(self) -> tuple[int, str]:
        """Lower goes first."""
        return (self.made, self.nonce)


def is_ticket_name(name: object) -> bool:
    """Whether a resource's name belongs to the lock: never declared, planned, adopted, pruned or counted."""
    return isinstance(name, str) and fold_case(name.strip()).startswith(PREFIX)


def parse_ticket(name: str) -> Ticket | None:
    """Return the ticket that a resource's name is, or None for any other name."""
    # A service may change the letter case of a file's name, or put spaces around it
    # (tests/core/test_ticket.py).
    found = _NAME.fullmatch(fold_case(name.strip()))
    if found is None:
        return None
    try:
        made, until = _parse_compact(found["made"]), _parse_compact(found["until"])
    # Names can be edited by hand, so a moment may be one that no calendar has.
    except ValueError:
        return None
    return Ticket(found["stack"], made, until, found["nonce"], found["run"], found["holder"])


def draw_ticket(stack: str, *, run: str, holder: str, token: str, service_now: int, lease_s: float) -> Ticket:
    """Return a new ticket; `service_now` is what the service's clock last said, before the ticket is sent.

    `token` is random text, `run` a UUID.
    """
    nonce = sha256(token.encode()).hexdigest()[:nonce_length]
    # The name of a machine becomes part of a file's name: nothing stays that a service might rewrite.
    shown = re.sub(r"[^a-z0-9]+", "-", fold_case(holder)).strip("-")[:_holder_length] or "somebody"
    return Ticket(stack, service_now, service_now + ceil(lease_s), nonce, fold_case(run), shown)


def renew_ticket(ticket: Ticket, service_now: int, lease_s: float) -> Ticket:
    """Return the same ticket with a whole lease from `service_now` on. Its place in the order stays."""
    return structs.replace(ticket, until=service_now + ceil(lease_s))


def ticket_body(ticket: Ticket, holder: str) -> dict[str, str]:
    """Return the resource that a ticket is at the service. What it says besides its name is for people."""
    about = {
        "what": "the lock of reconciler: one run at a time writes. It is removed when the run ends.",
        "stack": ticket.stack,
        "run": ticket.run,
        "holder": holder,
        "until": format_service_time(ticket.until),
    }
    content = base64.b64encode(json.dumps(about).encode()).decode()
    return {"name": ticket.name, "scope": "private", "mimeType": "application/json", "derefUri": content}


def format_service_time(seconds: int) -> str:
    """Return a moment of the service's clock as people read it: ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def decides_from(mine: Ticket, born_by: int, window_s: float) -> int:
    """Return the moment of the service's clock from which on a list decides over `mine`."""
    # Rounded up: the service's clock is known in whole seconds, and early is the wrong side.
    return max(mine.made + spread_s, born_by) + ceil(window_s)


def is_watch_unbroken(before: int, service_now: int) -> bool:
    """Whether no other run can have come and gone between two lists: Dates may be a second too low."""
    return service_now + 1 - before <= spread_s


def is_alive(ticket: Ticket, service_now: int, window_s: float) -> bool:
    """Whether a ticket counts at `service_now`. One that was renewed may still be listed with its old end."""
    return service_now <= ticket.until + window_s


def is_possible(ticket: Ticket, service_now: int, window_s: float) -> bool:
    """Whether a run can have taken this ticket: none has a lease that ends so long after `service_now`.

    Who may create a resource can name it as they like. A lease of years would hold up every run of a stack.
    """
    return ticket.until <= service_now + lease_s + 2 * ceil(max(window_s, window_max_s)) + spread_s


def find_ticket_ahead(
    mine: Ticket,
    born_by: int,
    listed: Collection[Ticket],
    service_now: int,
    *,
    window_s: float,
    over: frozenset[str] = frozenset(),
) -> Ticket | None:
    """Return the ticket that `mine` has to wait for, or None where `mine` goes on.

    `listed` are the tickets of a list that was read at `service_now`, not before `decides_from`. `over` are
    runs that are known to write no more, whatever their tickets say. Tickets of other stacks do not count.
    """
    others = [
        one
        for one in listed
        if one.stack == mine.stack
        and one.nonce != mine.nonce
        and one.run not in over
        and one.run != mine.run  # an earlier ticket of this very run, whose answer was lost
        and is_alive(one, service_now, window_s)
        and is_possible(one, service_now, window_s)
    ]
    punctual = born_by - mine.made <= spread_s
    # Rule 2: a later ticket may have decided by a list that did not show this one yet.
    before = others if not punctual else [one for one in others if one.order < mine.order]
    return min(before, key=lambda one: one.order, default=None)


def sends_until(until: int, service_now: int, sent_at: float, lease_s: float) -> float:
    """Return the moment of the local monotonic clock from which on the holder sends nothing more.

    `service_now` is the Date of an answer to a call that was sent at `sent_at`, so the service's clock shows
    at most `service_now + 1 + (now - sent_at)`. Half of the lease stays for what was sent just before.
    """
    return sent_at + (until - service_now - 1) - lease_s / 2


def _parse_compact(text: str) -> int:
    digits = text.replace("t", "").replace("z", "")
    return int(datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp())
