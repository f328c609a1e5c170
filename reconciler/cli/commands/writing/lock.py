"""`reconciler lock`: who may write now. Changes nothing."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@options.settings_options
@options.in_service_option
@options.format_option
@runs("writing.locks:lock")
def command() -> None:
    """Show who holds the lock of this stack: holder, run, start, progress, lease and id.

    Only one run at a time writes for one service and stack. A run renews its lock while it lives. The lock
    of a run that has died expires: at once on the same machine, otherwise with its lease.

    With --in-service: the lock that runs with separate stores keep in the service (lock.in_service).

    Reads settings and the store; writes nothing, and reads no credential of the service. With
    --in-service it reads the credentials and the service, and not the store.

    Exit codes: 0 shown, free or held; 1 it cannot be read, 3 settings invalid,
    4 a ticket of another version holds the lock in the service.

    \b
    Examples:
        reconciler lock
        reconciler lock --format json
        reconciler lock --in-service
    """
