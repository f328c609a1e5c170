"""`reconciler schema`: the shipped JSON Schemas, for editors and for reading."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, runs


@click.command()
@click.argument("name", required=False, shell_complete=Completes("schema_names"))
@click.option("--config", metavar="FILE", help="Include the kinds that the profile of these settings brings.")
@options.format_option
@runs("project.schema:schema")
def command() -> None:
    """List the shipped JSON Schemas, or print the one called NAME.

    Editors show descriptions and mistakes while you type if a file begins with
    `# yaml-language-server: $schema=PATH`.

    Writes nothing.

    Exit codes: 0 shown, 3 unknown schema or unusable settings.

    \b
    Examples:
        reconciler schema manifest > manifest.schema.json
        reconciler schema manifest --config reconciler.yaml > ours.schema.json
    """
