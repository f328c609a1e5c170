"""`reconciler lock` and `unlock` at work: who may write now, and taking that right from a run that is gone.

Belongs here: the lock of the store, and the tickets of the one in the service. Not here: what is shown
(report/), how a run takes them (store/lock.py, applying/service_lock.py).
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import click

from reconciler import signals
from reconciler.applying.exclusion import looking
from reconciler.applying.service_lock import TicketLock
from reconciler.cli.console import output
from reconciler.cli.running import finish, outside, settings_of
from reconciler.cli.verbs.storing import now, opened
from reconciler.errors import LockHeld
from reconciler.model.settings import Settings
from reconciler.report.runs.history import lock_json, lock_lines, unlocked_json, unlocked_lines
from reconciler.report.runs.tickets import freed_json, freed_lines, tickets_json, tickets_lines
from reconciler.store.lock import Holder, gone

T = TypeVar("T")


def lock(*, in_service: bool, as_json: bool, **given: Any) -> int:
    """Show who holds the lock of the store, or with `in_service` the one in the service."""
    if in_service:
        return _tickets(given, as_json=as_json)
    with opened(given) as (store, settings):
        holder = store.holder()
        running = store.running()
    ended = holder is not None and gone(holder)
    if as_json:
        output.json(lock_json(holder, settings.stack, now(), gone=ended, running=running))
    else:
        output.lines(lock_lines(holder, settings.stack, now(), gone=ended, running=running))
    return 0


def _tickets(given: Mapping[str, Any], *, as_json: bool) -> int:
    settings, tickets = _asked(given, lambda held: held.standing())
    found = tuple(sorted(tickets.values(), key=lambda one: one.order))
    if as_json:
        output.json(tickets_json(found, settings.stack))
    else:
        output.lines(tickets_lines(found, settings.stack))
    return 0


def unlock(*, lock_id: str | None, in_service: bool, as_json: bool, **given: Any) -> int:
    """Take the lock from the holder with this id, and from no other. Raises UsageError, LockHeld."""
    if lock_id is None:
        raise click.UsageError(
            "unlock takes the lock from a run that may be writing. See whose it is with "
            "`reconciler lock`; if that run has died, give its id: --force ID."
        )
    if in_service:
        return _free(given, lock_id, as_json=as_json)
    taken, settings = _taken(given, lock_id)
    if as_json:
        output.json(unlocked_json(taken, settings.stack))
    elif taken:
        output.lines(unlocked_lines(taken, settings.stack))
    else:
        output.lines(lock_lines(None, settings.stack, now()))
    return 0


def _free(given: Mapping[str, Any], lock_id: str, *, as_json: bool) -> int:
    settings, was_there = _asked(given, lambda held: held.force(lock_id))
    if as_json:
        output.json(freed_json(lock_id, settings.stack, was_there=was_there))
    else:
        output.lines(freed_lines(lock_id, settings.stack, was_there=was_there))
    return 0


def _taken(given: Mapping[str, Any], lock_id: str) -> tuple[Holder | None, Settings]:
    """Return whom the lock of the store was taken from, None where it is free. Raises LockHeld."""
    with opened(given) as (store, settings):
        holder = store.holder()
    if holder is None:
        return None, settings
    if holder.id != lock_id:
        raise LockHeld(
            f"the lock of stack {settings.stack} is not that of {lock_id[:40]}: {holder.holder} holds it, "
            f"run {holder.run}, since {holder.since}, with the id {holder.id}. Nothing was changed.",
            next="look again: reconciler lock",
        )
    signals.react(signals.WhileReporting())  # the report must still be printed
    with opened(given, create=True) as (store, _):
        return store.unlock(lock_id), settings


def _asked(
    given: Mapping[str, Any], ask: Callable[[TicketLock], Coroutine[Any, Any, T]]
) -> tuple[Settings, T]:
    """Return the settings, and the answer about the tickets of their stack in the service."""
    settings = settings_of(given["config"], given["environment"], service=True)
    around = outside(settings)

    async def work() -> T:
        async with looking(settings, around) as held:
            return await ask(held)

    return settings, finish(lambda _signals: work())
