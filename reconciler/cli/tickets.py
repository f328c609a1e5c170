"""The lock in the service for `lock` and `unlock`: one look at its tickets, or one removed.

Belongs here: asking for them. Not here: what is shown (report/tickets.py), how it is taken
(apply/service_lock.py).
"""

from collections.abc import Mapping
from typing import Any

from reconciler.apply.exclusion import looking
from reconciler.cli.running import Signals, finish, outside, settings_of
from reconciler.core.ticket import Ticket
from reconciler.model.settings import Settings


def standing(given: Mapping[str, Any]) -> tuple[Settings, tuple[Ticket, ...]]:
    """Return the settings and every ticket of their stack, the one that goes first before the others."""
    settings = settings_of(given["config"], given["environment"], service=True)
    around = outside(settings)

    async def work(_signals: Signals) -> tuple[Ticket, ...]:
        async with looking(settings, around) as lock:
            return tuple((await lock.standing()).values())

    return settings, tuple(sorted(finish(work), key=lambda one: one.order))


def freed(given: Mapping[str, Any], lock_id: str) -> tuple[Settings, bool]:
    """Return the settings, and whether the ticket with this id was there; it is not any more."""
    settings = settings_of(given["config"], given["environment"], service=True)
    around = outside(settings)

    async def work(_signals: Signals) -> bool:
        async with looking(settings, around) as lock:
            return await lock.force(lock_id)

    return settings, finish(work)
