"""`reconciler config`: every setting with its value and where it came from. Reads no secret."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@options.settings_options
@options.format_option
@runs("project.config:config")
def command() -> None:
    """Show the value of every setting, and where it comes from.

    A flag overrides an environment variable, which overrides the section of the environment, which
    overrides the rest of the file, which overrides the default. Secrets are not read; their source is shown.

    Reads the settings; writes nothing.

    Exit codes: 0 shown, 3 settings invalid.

    \b
    Examples:
        reconciler config
        reconciler config --environment staging --format json
    """
