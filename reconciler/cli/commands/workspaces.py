"""`reconciler workspaces`: the workspaces of the account, beside the aliases of the settings."""

from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options, output

if TYPE_CHECKING:
    from reconciler.model.plans import Workspace
    from reconciler.model.settings import Settings
    from reconciler.service.client import Reader


@click.group(name="workspaces", no_args_is_help=False, short_help="List the workspaces of the account.")
def command() -> None:
    """See which workspaces the account has, and what the settings call them.

    Exit codes: 0 done, 1 failed, 3 settings invalid, 64 usage, 130 interrupted.

    \b
    Example:
        reconciler workspaces list
    """  # noqa: D301 - \\b is click's mark, not an escape of ours


@command.command(name="list", short_help="List workspaces with their ids.")
@options.settings_options
@options.format_option
def list_(*, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """List the workspaces that the service shows. The default one has no id and is not among them.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 failed, 3 settings invalid.

    \b
    Examples:
        reconciler workspaces list
        reconciler workspaces list --format json
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.calling import reading  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.report.messages import report_json, workspace_lines  # noqa: PLC0415 - the same

    found = reading(given, _list)
    if format == "json":
        output.json(report_json({"workspaces": found}))
    else:
        output.lines(workspace_lines(found))
    return 0


async def _list(reader: "Reader", settings: "Settings") -> "tuple[Workspace, ...]":
    from msgspec import structs  # noqa: PLC0415 - with the client it is there already

    found = await reader.workspaces.list()
    return tuple(structs.replace(one, alias=_alias(settings, one)) for one in found)


def _alias(settings: "Settings", found: "Workspace") -> str:
    """Return the alias whose id and name, as far as given, are those of the workspace; "" for none."""
    for alias, ref in settings.workspaces.items():
        named = alias != "default" and ref.id in ("", found.id) and ref.name in ("", found.name)
        if named:
            return alias
    return ""
