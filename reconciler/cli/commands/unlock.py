"""`reconciler unlock`: takes the lock away from a run that is gone for good."""

from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options, output, signals
from reconciler.errors import LockHeld

if TYPE_CHECKING:
    from reconciler.store.lock import Holder


@click.command(short_help="Take the lock away from a run that is gone for good.")
@options.settings_options
@click.option("--force", "lock_id", metavar="ID", help="The id that `reconciler lock` shows, and no other.")
@options.in_service_option
@options.format_option
def command(*, lock_id: str | None, in_service: bool, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """Take the lock of this stack away from exactly the holder with this id.

    Seldom needed: the lock of a run that is gone ends by itself (`reconciler lock` shows when). Make
    sure that the run is gone. One that still lives notices before its next write, and writes nothing
    more; what it was sending at that moment is in doubt. Who took the lock is written to the history.

    With --in-service the ticket with this id is removed from the service. That is not in the history.

    Reads settings and the store; writes the store. Calls nobody else, and reads no credential of the
    service. With --in-service it reads the credentials, and reads and writes the service, and not the store.

    Exit codes: 0 free now, or free already; 1 failed, 3 settings invalid,
    4 somebody else holds it (nothing was changed), 64 usage.

    \b
    Examples:
        reconciler unlock --force 9f3c12ab34cd
        reconciler unlock --in-service --force 9f3c12ab34cd
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.storing import now, opened  # noqa: PLC0415 - loads the store, which --help does not need
    from reconciler.report.history import lock_lines, unlocked_json, unlocked_lines  # noqa: PLC0415 - the same

    if lock_id is None:
        raise click.UsageError(
            "unlock takes the lock from a run that may be writing. See whose it is with "
            "`reconciler lock`; if that run is gone for good, give its id: --force ID."
        )
    if in_service:
        return _in_service(given, lock_id, as_json=format == "json")
    taken: Holder | None = None
    with opened(given) as (store, settings):
        holder = store.holder()
    if holder is not None:
        if holder.id != lock_id:
            raise _another(lock_id, holder, settings.stack)
        signals.react(signals.TooLate())  # what was done is told
        with opened(given, create=True) as (store, _):
            taken = store.unlock(lock_id)
    if format == "json":
        output.json(unlocked_json(taken, settings.stack))
    else:
        output.lines(
            unlocked_lines(taken, settings.stack) if taken else lock_lines(None, settings.stack, now())
        )
    return 0


def _in_service(given: dict[str, Any], lock_id: str, *, as_json: bool) -> int:
    from reconciler.cli.tickets import freed  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.report.tickets import freed_json, freed_lines  # noqa: PLC0415 - the same

    settings, was_there = freed(given, lock_id)
    if as_json:
        output.json(freed_json(lock_id, settings.stack, was_there=was_there))
    else:
        output.lines(freed_lines(lock_id, settings.stack, was_there=was_there))
    return 0


def _another(lock_id: str, holder: "Holder", stack: str) -> LockHeld:
    return LockHeld(
        f"the lock of stack {stack} is not that of {lock_id[:40]}: {holder.holder} holds it, "
        f"run {holder.run}, since {holder.since}, with the id {holder.id}. Nothing was changed.",
        next="look again: reconciler lock",
    )
