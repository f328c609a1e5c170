"""`reconciler show`: a saved plan, as text or JSON. Reads the file, its key, and manifests for names."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, runs


@click.command()
@click.argument("file", shell_complete=Completes("files"))
@options.identity_option
@options.report_options
@options.full_option
@options.format_option
@runs("reviewing.show:show")
def command() -> None:
    """Show the plan that `reconciler plan -o FILE` or `reconciler apply --undo FILE` wrote.

    The guard is shown with its default limits; it decides again when the plan is applied. Beside the
    address of whom the plan updates stands a name, where manifests are found that have it.

    Reads FILE and manifests; writes nothing but reports, and makes no request.

    Exit codes: 0 shown, 1 file unreadable, 3 not a plan, or changed, 5 made by another version.

    \b
    Example:
        reconciler show plan.json --full
    """
