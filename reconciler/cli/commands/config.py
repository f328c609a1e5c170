"""`reconciler config`: every setting with its value and where it came from. Reads no secret."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command(short_help="Show every setting with its origin.")
@options.settings_options
@options.format_option
@runs("verbs.config:config")
def command() -> None:
    """Show every setting: its value, and the place that decided it.

    A flag goes over an environment variable, that over the environment's section, that over the
    rest of the file, that over the default. Secrets are not read; the place they come from is shown.

    Reads the settings; writes nothing.

    Exit codes: 0 shown, 3 settings invalid.

    \b
    Examples:
        reconciler config
        reconciler config --environment staging --format json
    """
