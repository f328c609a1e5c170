"""`reconciler workspaces`: the workspaces of the account, beside the aliases of the settings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import click
from msgspec import structs

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.model.plans import Workspace
from reconciler.report.lines import Line, count, table

if TYPE_CHECKING:
    from reconciler.messaging.client import ServiceReader
    from reconciler.model.settings import Settings


@click.group(name="workspaces", no_args_is_help=False)
def command() -> None:
    """See which workspaces the account has, and their aliases in the settings.

    Exit codes: 0 done; 1 failed; 3 the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler workspaces list
    """


class WorkspacesResult(CommandResult, frozen=True):
    """The workspaces of the account."""

    title: ClassVar[str] = "The workspaces of the account"
    workspaces: Annotated[tuple[Workspace, ...], Doc("In the order of the service.")]

    def lines(self) -> Sequence[Line]:
        """List workspaces with the alias that the settings give them, if any."""
        rows = [(one.id, one.alias or "-", one.name) for one in self.workspaces]
        return table(("id", "alias", "name"), rows, count(len(rows), "workspace"))


@command.command(name="list", short_help="List workspaces with their ids.")
@options.settings_options
@options.format_option
@prints_result
def list_workspaces(*, config: str | None, environment: str | None) -> WorkspacesResult:
    """List the workspaces that the service shows. The default workspace has no id and is not listed.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown; 1 failed; 3 the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler workspaces list
        reconciler workspaces list --format json
    """
    from reconciler.cli.client_session import run_with_reader
    from reconciler.core.rules import find_alias

    async def read(reader: "ServiceReader", settings: "Settings") -> tuple[Workspace, ...]:
        found = await reader.workspaces.list()
        return tuple(structs.replace(one, alias=find_alias(one, settings.workspaces)) for one in found)

    return WorkspacesResult(workspaces=run_with_reader(config, environment, read))
