"""`reconciler unlock`: takes the lock away from a run that will not come back."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@options.settings_options
@click.option("--force", "lock_id", metavar="ID", help="The id that `reconciler lock` shows.")
@options.in_service_option
@options.format_option
@runs("writing.locks:unlock")
def command() -> None:
    """Release the lock of this stack if the holder has exactly this id.

    Rarely needed: the lock of a dead run expires (`reconciler lock` shows when). Make sure that the run is
    dead. A run that still lives notices before its next write, and writes nothing more; what it was sending
    at that moment is in doubt. The history records who released the lock.

    With --in-service: removes the ticket with this id from the service. The history does not record that.

    Reads settings and the store; writes the store. Makes no request, and reads no credential of the
    service. With --in-service it reads the credentials, and reads and writes the service, not the store.

    Exit codes: 0 released, or free already; 1 failed, 3 settings invalid,
    4 another run holds it (nothing was changed), 64 usage.

    \b
    Examples:
        reconciler unlock --force 9f3c12ab34cd
        reconciler unlock --in-service --force 9f3c12ab34cd
    """
