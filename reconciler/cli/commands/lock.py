"""`reconciler lock`: who may write now. Changes nothing."""

from typing import Any

import click

from reconciler.cli import options, output


@click.command(short_help="Show who holds the lock of this stack.")
@options.settings_options
@options.in_service_option
@options.format_option
def command(*, in_service: bool, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """Show who holds the lock of this stack: holder, run, since when, how far it is, its lease, its id.

    One run at a time writes for one service and stack. The lock of a run that lives is renewed as it
    goes; that of a run that is gone ends by itself, at once on the same machine, else with its lease.

    With --in-service the lock that runs with stores of their own keep in the service (lock.in_service).

    Reads settings and the store; writes nothing, and reads no credential of the service. With
    --in-service it reads the credentials and the service, and not the store.

    Exit codes: 0 shown, whether it is free or not; 1 it cannot be read, 3 settings invalid,
    4 a ticket of another version holds the lock in the service.

    \b
    Examples:
        reconciler lock
        reconciler lock --format json
        reconciler lock --in-service
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    if in_service:
        return _in_service(given, as_json=format == "json")
    from reconciler.cli.storing import now, opened  # noqa: PLC0415 - loads the store, which --help does not need
    from reconciler.report.history import lock_json, lock_lines  # noqa: PLC0415 - the same
    from reconciler.store.lock import gone  # noqa: PLC0415 - the same

    with opened(given) as (store, settings):
        holder = store.holder()
        running = store.running()
    ended = holder is not None and gone(holder)
    if format == "json":
        output.json(lock_json(holder, settings.stack, now(), gone=ended, running=running))
    else:
        output.lines(lock_lines(holder, settings.stack, now(), gone=ended, running=running))
    return 0


def _in_service(given: dict[str, Any], *, as_json: bool) -> int:
    from reconciler.cli.tickets import standing  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.report.tickets import tickets_json, tickets_lines  # noqa: PLC0415 - the same

    settings, found = standing(given)
    if as_json:
        output.json(tickets_json(found, settings.stack))
    else:
        output.lines(tickets_lines(found, settings.stack))
    return 0
