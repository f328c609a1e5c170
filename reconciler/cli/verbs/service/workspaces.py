"""`reconciler workspaces` at work: the workspaces of the account, beside the aliases of the settings."""

from typing import Any

from msgspec import structs

from reconciler.cli.verbs.calling import reading, show
from reconciler.core.rules import find_alias
from reconciler.messaging.reports import workspace_lines
from reconciler.model.plans import Workspace
from reconciler.model.settings import Settings
from reconciler.service.client import Reader


def list_(*, as_json: bool, **given: Any) -> int:
    """List the workspaces that the service shows."""
    found = reading(given, _list)
    return show({"workspaces": found}, workspace_lines(found), as_json=as_json)


async def _list(reader: Reader, settings: Settings) -> tuple[Workspace, ...]:
    found = await reader.workspaces.list()
    return tuple(structs.replace(one, alias=find_alias(one, settings.workspaces)) for one in found)
