"""`reconciler lock`: who may write now. Changes nothing."""

from typing import Any

import click

from reconciler.cli import options, output


@click.command(short_help="Show who holds the lock of this stack.")
@options.settings_options
@options.format_option
def command(*, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """Show who holds the lock of this stack: holder, run, since when, how long its lease lasts, its id.

    One run at a time writes for one service and stack. The lock of a run that lives is renewed as it
    goes; that of a run that is gone ends by itself, at once on the same machine, else with its lease.

    \b
    Reads settings and the store; writes nothing, and reads no secret.
    Exit codes: 0 shown, whether it is free or not; 1 the store cannot be read, 3 settings invalid.

    \b
    Examples:
        reconciler lock
        reconciler lock --format json
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.storing import now, opened  # noqa: PLC0415 - loads the store, which --help does not need
    from reconciler.report.history import lock_json, lock_lines  # noqa: PLC0415 - the same
    from reconciler.store.lock import gone  # noqa: PLC0415 - the same

    with opened(given) as (store, settings):
        holder = store.holder()
    ended = holder is not None and gone(holder)
    if format == "json":
        output.json(lock_json(holder, settings.stack, now(), gone=ended))
    else:
        output.lines(lock_lines(holder, settings.stack, now(), gone=ended))
    return 0
