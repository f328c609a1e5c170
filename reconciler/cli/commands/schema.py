"""`reconciler schema`: the shipped JSON Schemas, for editors and for reading. Reads nothing else."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@click.argument("name", required=False)
@options.format_option
@runs("verbs.schema:schema")
def command() -> None:
    """List the shipped JSON Schemas, or print the one called NAME.

    Editors show descriptions and mistakes while you type if a file begins with
    `# yaml-language-server: $schema=PATH`.

    Writes nothing.

    Exit codes: 0 shown, 3 unknown schema.

    \b
    Example:
        reconciler schema manifest > manifest.schema.json
    """
