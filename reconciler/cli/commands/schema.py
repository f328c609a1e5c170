"""`reconciler schema`: the shipped JSON Schemas, for editors and for reading."""

import json
import os
from collections.abc import Sequence
from typing import Annotated, ClassVar

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, prints_result
from reconciler.cli.results import CommandResult, Doc, FileText
from reconciler.errors import InputError
from reconciler.report.lines import Line, line


class SchemaResult(CommandResult, frozen=True):
    """The shipped schemas by name."""

    title: ClassVar[str] = "The shipped schemas"
    schemas: Annotated[tuple[str, ...], Doc("Their names, sorted.")]

    def lines(self) -> Sequence[Line]:
        """Return a line for each."""
        return tuple(map(line, self.schemas))


@click.command()
@click.argument("name", required=False, shell_complete=Completes("schema_names"))
@click.option("--config", metavar="FILE", help="Include the kinds that the profile of these settings brings.")
@options.format_option
@prints_result
def schema_command(*, name: str | None, config: str | None) -> SchemaResult | FileText:
    """List the shipped JSON Schemas, or print the one called NAME.

    If the first line of a file is `# yaml-language-server: $schema=PATH`, an editor shows descriptions and
    mistakes while you type.

    Writes nothing.

    Exit codes: 0 shown; 3 there is no such schema, or the settings cannot be used; 64 usage error; 130
    interrupted.

    \b
    Examples:
        reconciler schema manifest > manifest.schema.json
        reconciler schema manifest --config reconciler.yaml > ours.schema.json
    """
    from reconciler.schema import shipped
    from reconciler.settings.reader import read_settings, working_folder

    names = shipped.list_schema_names()
    if name is not None:
        if name not in names:
            raise InputError(f"there is no schema {name!r}.", next=f"name one of {', '.join(names)}")
        if config is not None:
            # The kinds of the profile are part of the schema once the settings are read.
            read_settings(
                config=config, environment=None, cwd=working_folder(), environ=os.environ, service=False
            )
            composed = shipped.compose_published_schema(name)
            return FileText(content=json.dumps(composed, indent=2, ensure_ascii=False))
        return FileText(content=shipped.read_schema_text(name))
    return SchemaResult(schemas=names)
