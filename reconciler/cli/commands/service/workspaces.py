"""`reconciler workspaces`: the workspaces of the account, beside the aliases of the settings."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.group(name="workspaces", no_args_is_help=False)
def command() -> None:
    """See which workspaces the account has, and their aliases in the settings.

    Exit codes: 0 done, 1 failed, 3 settings invalid, 64 usage, 130 interrupted.

    \b
    Example:
        reconciler workspaces list
    """


@command.command(name="list", short_help="List workspaces with their ids.")
@options.settings_options
@options.format_option
@runs("service.workspaces:list_")
def list_() -> None:
    """List the workspaces that the service shows. The default workspace has no id and is not listed.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 failed, 3 settings invalid.

    \b
    Examples:
        reconciler workspaces list
        reconciler workspaces list --format json
    """
