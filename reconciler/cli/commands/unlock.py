"""`reconciler unlock`: takes the lock away from a run that is gone for good."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command(short_help="Take the lock away from a run that is gone for good.")
@options.settings_options
@click.option("--force", "lock_id", metavar="ID", help="The id that `reconciler lock` shows, and no other.")
@options.in_service_option
@options.format_option
@runs("verbs.locks:unlock")
def command() -> None:
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
    """
