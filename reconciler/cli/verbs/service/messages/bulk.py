"""`messages bulk`: one message to everybody whom the rows of a resource of the manifests address.

Belongs here: which resource it is at the service, and the order of the steps. Not here: who is addressed
(messaging/recipients.py), the call (messaging/messages.py).

The service does not show what a resource holds, so a message goes only to one whose content is recorded as
applied, and is the one that the manifests say now: what was counted is what is sent to.
"""

import os
from typing import Any

import click
from msgspec import Struct, structs

from reconciler.cli.client_session import run_with_client, run_with_reader, show
from reconciler.cli.session import Signals, open_store
from reconciler.cli.verbs.service.messages.sending import callback_name, look_at, send_once, text_of
from reconciler.core.suggest import did_you_mean
from reconciler.errors import InputError, NotFound, UnknownAddress
from reconciler.messaging.client import ServiceClient, ServiceReader, find_workspace_id
from reconciler.messaging.recipients import check_recipient_count, resource_recipients
from reconciler.messaging.reports import sent_lines
from reconciler.messaging.values import BulkResource, Message, Sent
from reconciler.model.address import Address
from reconciler.model.kinds import RESOURCE
from reconciler.model.plans import Workspace
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Entity
from reconciler.pipeline import validate
from reconciler.report.lines import count, line


class Draft(Struct, frozen=True):
    """A message to a resource as it would be sent: how many it reaches, and in which workspace (an alias)."""

    message: Message
    workspace: str
    recipients: int


def bulk(*, address: str, dry_run: bool, allow_recipients: int, as_json: bool, **given: Any) -> int:
    """Send one message to everybody in the resource, or count whom it would reach.

    Raises UnknownAddress, InputError for a resource that is not applied as it is declared, Refused for too
    many recipients, InDoubt where nobody knows whether it was sent.
    """
    message = _message(given)

    async def look(reader: ServiceReader, settings: Settings) -> Draft:
        return (await _draft(reader, settings, address, message, allow_recipients))[0]

    async def send(client: ServiceClient, settings: Settings, signals: Signals) -> tuple[Draft, Sent]:
        draft, where = await _draft(client, settings, address, message, allow_recipients)
        return draft, await send_once(client, signals, draft.message, where)

    if dry_run:
        draft = run_with_reader(given["config"], given["environment"], look)
        told = f"would reach {count(draft.recipients, 'recipient')} in workspace {draft.workspace}"
        return show({"dry_run": True, **_about(draft)}, (line(f"{told}; nothing was sent"),), as_json=as_json)
    draft, sent = run_with_client(given["config"], given["environment"], send)
    lines = sent_lines(sent, look_at(sent, draft.workspace))
    return show({"sent": sent, **_about(draft)}, lines, as_json=as_json)


def _about(draft: Draft) -> dict[str, object]:
    return {"workspace": draft.workspace, "recipients": draft.recipients}


def _message(given: dict[str, Any]) -> Message:
    """Take the message out of the options. Raises UsageError, FileError, InputError."""
    columns = {name: given.pop(name) or "" for name in ("sms", "email", "voice")}
    if not any(columns.values()):
        raise click.UsageError("name a column with recipients: --sms, --email or --voice.")
    text = text_of(given, needed=True)
    return Message(
        to=(),
        subject=given.pop("subject"),
        body=text or "",
        callback_id=given.pop("callback"),
        resource=BulkResource("", **columns),
    )


async def _draft(
    reader: ServiceReader, settings: Settings, address: str, message: Message, allowed: int
) -> tuple[Draft, str]:
    columns = message.resource
    assert columns is not None  # noqa: S101 - the command gives the columns
    entity = _declared(settings, address)
    assert entity.content is not None  # noqa: S101 - every resource has content
    given = {"sms": columns.sms, "email": columns.email, "voice": columns.voice}
    named = {channel: column for channel, column in given.items() if column}
    people = resource_recipients(entity.content.data, str(entity.fields.get("mimeType", "")), named)
    check_recipient_count(len(people), settings.guard.recipients_max, allowed)
    alias = entity.address.workspace
    where = await find_workspace_id(reader, settings, alias)
    remote_id = _applied(settings, entity, where)
    callback = await callback_name(reader, settings, message.callback_id)
    await _require_live(reader, entity, remote_id, where)
    resource = structs.replace(columns, resource_id=remote_id)
    return Draft(structs.replace(message, resource=resource, callback_id=callback), alias, len(people)), where


def _declared(settings: Settings, address: str) -> Entity:
    desired = validate(settings, os.environ)
    known = {str(one): entity for one, entity in desired.entities.items() if one.kind == RESOURCE.name}
    if address not in known:
        otherwise = "name one as resource/WORKSPACE/NAME, as it is in the manifests"
        raise UnknownAddress(
            f"{address[:200]} is not a resource of the manifests; nothing was sent.",
            next=did_you_mean("entity", address, known, otherwise),
        )
    return known[address]


def _applied(settings: Settings, entity: Entity, workspace: str) -> str:
    """Return the service's id of a resource whose content is recorded as it is declared now."""
    with open_store(settings, create=False) as store:
        records = store.recorded((Workspace(entity.address.workspace, workspace),)).entities
    record = records.get(entity.address)
    if record is None or record.sent.get("content") != entity.fields.get("content"):
        raise InputError(
            f"{entity.address} is not in the service as it is declared; nothing was sent.",
            next=_apply(entity.address),
        )
    return record.remote_id


async def _require_live(reader: ServiceReader, entity: Entity, remote_id: str, workspace: str) -> None:
    """Return where the service still has the resource: they vanish by themselves after a while."""
    try:
        found = await reader.resources.get(remote_id, workspace=workspace)
    except NotFound:
        found = None
    if found is None or found.body.get("name") != entity.fields.get("name"):
        raise InputError(
            f"{entity.address} is no longer in the service; nothing was sent.", next=_apply(entity.address)
        )


def _apply(address: Address) -> str:
    return f"reconciler apply --only {address}"
