"""`reconciler messages` at work: messages listed and shown, and what became of them."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from reconciler.cli import client_session
from reconciler.cli.client_session import run_with_reader
from reconciler.messaging.client import ServiceReader, find_workspace_id
from reconciler.messaging.messages import ReadMessages
from reconciler.messaging.reports import (
    answer_lines,
    delivery_lines,
    detail_lines,
    message_table,
    response_lines,
    status_lines,
)
from reconciler.model.settings import Settings

T = TypeVar("T")


def list_(*, start: datetime | None, end: datetime | None, shared: bool, as_json: bool, **given: Any) -> int:
    """List messages, the newest first."""
    if end is not None and start is None:
        raise click.UsageError("--to needs --from.")
    if start is not None and end is not None and end < start:
        raise click.UsageError("--to is before --from.")
    found = _asked(given, lambda messages, where: messages.list(start, end, workspace=where, shared=shared))
    return client_session.show({"messages": found}, message_table(found), as_json=as_json)


def show(*, message_id: str, as_json: bool, **given: Any) -> int:
    """Show one message, whole."""
    found = _asked(given, lambda messages, where: messages.get(message_id, workspace=where))
    return client_session.show({"message": found}, detail_lines(found), as_json=as_json)


def status(*, message_id: str, detailed: bool, as_json: bool, **given: Any) -> int:
    """Show how many recipients are in each state, or with `detailed` each of them."""
    if detailed:
        each = _asked(given, lambda messages, where: messages.status(message_id, "detailed", workspace=where))
        return client_session.show({"deliveries": each}, delivery_lines(each), as_json=as_json)
    counted = _asked(given, lambda messages, where: messages.status(message_id, workspace=where))
    return client_session.show({"status": counted}, status_lines(counted), as_json=as_json)


def responses(*, message_id: str, detailed: bool, rule: str, as_json: bool, **given: Any) -> int:
    """Show how many recipients answered in each way, or with `detailed` each answer."""
    if detailed:
        each = _asked(
            given, lambda messages, where: messages.response_details(message_id, rule, workspace=where)
        )
        return client_session.show({"answers": each}, answer_lines(each), as_json=as_json)
    counted = _asked(given, lambda messages, where: messages.responses(message_id, rule, workspace=where))
    return client_session.show({"responses": counted}, response_lines(counted), as_json=as_json)


def _asked(given: dict[str, Any], ask: Callable[[ReadMessages, str], Awaitable[T]]) -> T:
    """Return what the messages of a workspace say; `ask` gets the workspace as the service calls it."""

    async def asking(reader: ServiceReader, settings: Settings) -> T:
        return await ask(reader.messages, await find_workspace_id(reader, settings, given["workspace"]))

    return run_with_reader(given["config"], given["environment"], asking)
