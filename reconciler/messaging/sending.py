"""From what a person wrote to a message that can be sent: recipients, callback, schedule, resource.

Everything is checked and looked up before anything is sent, and nothing here sends: each function sends GET
alone. What is sent is counted first, against `guard.recipients_max`.

    WrittenMessage -> resolve recipients -> count -> callback -> look up contacts -> PreparedMessage

Source: docs/messages.md.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct, structs

from reconciler.core.compare.match import Matches, Recognized
from reconciler.core.compare.normalize import observe_entity
from reconciler.core.suggest import did_you_mean
from reconciler.errors import InputError, NotFound, UnknownAddress
from reconciler.messaging import recipients
from reconciler.messaging.client import ServiceReader, find_workspace_id
from reconciler.messaging.message_file import WrittenMessage, make_message_error
from reconciler.messaging.message_requests import schedule_fields
from reconciler.messaging.values import BulkResource, Message, Schedule
from reconciler.model.address import Address
from reconciler.model.documents import Place
from reconciler.model.kinds import CALLBACK, RESOURCE
from reconciler.model.plans import Workspace
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, Entity, LiveEntity, RecordedEntity


class DeclaredState(Protocol):
    """What a message needs of manifests, store and engine. The caller gives it: messaging knows no engine."""

    def load(self, *, all_values: bool = True) -> Desired:
        """Return what the manifests declare. Without `all_values` no secret is read."""

    async def match_contacts(
        self, reader: ServiceReader, desired: Desired, contacts: Collection[Address]
    ) -> tuple[Matches, Workspace]:
        """Return which live contact each of these is, and their workspace; they are all of one."""

    def find_record(self, address: Address, workspace: Workspace) -> RecordedEntity | None:
        """Return what the store has recorded of an entity."""


class PreparedMessage(Struct, frozen=True):
    """A message that can be sent. `workspace` is an alias; `contacts` are the recipients of the manifests."""

    message: Message
    workspace: str
    recipients: int
    contacts: tuple["MessageContact", ...] = ()


# --- A message to recipients ------------------------------------------------------------------------------


async def prepare_message(
    reader: ServiceReader,
    settings: Settings,
    written: WrittenMessage,
    declared: DeclaredState,
    *,
    recipients_allowed: int,
    now: datetime,
) -> PreparedMessage:
    """Return the message with its recipients as the service knows them.

    Raises InputError with every recipient that cannot be resolved, and Refused where they are more than
    `guard.recipients_max` and more than `recipients_allowed`.
    """
    schedule = _check_schedule(written, settings, now)
    desired = declared.load() if any(map(recipients.names_manifest_entity, written.to)) else None
    resolved = recipients.resolve_recipients(
        tuple(zip(written.to, written.places, strict=True)), desired, written.workspace
    )
    if resolved.problems:
        raise make_message_error(*resolved.problems)
    alias = _choose_workspace(written.workspace, resolved)
    count = len(resolved.people) + len(resolved.plain)
    recipients.check_recipient_count(count, settings.guard.recipients_max, recipients_allowed)
    callback = await resolve_callback(reader, declared, written.callback or "")
    contacts: tuple[MessageContact, ...] = ()
    if desired is not None and resolved.people:
        # The channels that have content. Without any, only the service knows whom the message reaches.
        channels = [name for name in ("email", "voice") if name in written.more]
        if written.body:
            channels.insert(0, "sms")
        contacts = await locate_contacts(reader, desired, declared, resolved.people, channels)
    known = frozenset[str]().union(*(one.keys for one in contacts))
    # A contact that is also named by number is one person, and gets one message.
    plain = [one for one in resolved.plain if recipients.recipient_key(one) not in known]
    to = tuple(dict.fromkeys((*(one.to for one in contacts), *plain)))
    message = Message(
        to=to,
        subject=written.subject or "",
        body=written.body or "",
        callback_id=callback,
        callback_parameters=written.parameters,
        more=written.more,
        schedule=schedule,
    )
    return PreparedMessage(message, alias, len(to), contacts)


def _check_schedule(written: WrittenMessage, settings: Settings, now: datetime) -> Schedule | None:
    """Return when it is sent. Raises InputError, at its place, for a time that the service cannot take."""
    if written.at is None:
        return None
    schedule = Schedule(written.at, settings.service.schedule_zone, written.repeat)
    try:
        schedule_fields(schedule, now)
    except InputError as error:
        raise make_message_error(written.at_place.problem(str(error), error.next, code="E100")) from None
    return schedule


def _choose_workspace(named: str | None, resolved: recipients.ResolvedRecipients) -> str:
    """Return the alias of the workspace to send in: the named one, that of the contacts, or the default."""
    theirs = sorted({one.workspace for one in resolved.people})
    if named is None and len(theirs) < 2:  # noqa: PLR2004 - one is clear
        return theirs[0] if theirs else "default"
    others = [one for one in theirs if one != named]
    if named is None or others:
        wanted = f"--workspace {named}" if named else "one message"
        raise InputError(
            f"the contacts are in {', '.join(theirs)}, which does not match {wanted}; nothing was sent.",
            next="send a message in each workspace: --workspace ALIAS, with its own recipients",
        )
    return named


async def resolve_callback(reader: ServiceReader, declared: DeclaredState, written: str) -> str:
    """Return the name of a callback at the service; it is written by name or by its address in the manifests.

    Raises InputError where there is none: the replies would be lost.
    """
    if not written:
        return ""
    name = _find_declared_callback(declared, written) if written.startswith(f"{CALLBACK.name}/") else written
    known = [one.name for one in await reader.callbacks.list()]
    if name not in known:
        otherwise = "apply the manifest that declares it, or create one: reconciler callbacks create"
        raise InputError(
            f"there is no callback {name!r}; nothing was sent.",
            next=did_you_mean("callback", name, known, otherwise),
        )
    return name


def _find_declared_callback(declared: DeclaredState, address: str) -> str:
    entities = declared.load(all_values=False).entities
    known = {str(one): entity for one, entity in entities.items() if one.kind == CALLBACK.name}
    if address not in known:
        otherwise = "write its address as callback/default/NAME"
        raise InputError(
            f"{address[:200]} is not a callback of the manifests; nothing was sent.",
            next=did_you_mean("callback", address, known, otherwise),
        )
    return str(known[address].fields["name"])


# --- Its contacts: recognized as a plan recognizes them, then read once each ------------------------------


class MessageContact(Struct, frozen=True):
    """A contact as a message names it: `to` is its MRI; `keys` are its numbers and e-mail addresses."""

    address: Address
    to: str
    keys: frozenset[str]


async def locate_contacts(
    reader: ServiceReader,
    desired: Desired,
    declared: DeclaredState,
    contacts: Mapping[Address, Place],
    channels: Sequence[str],
) -> tuple[MessageContact, ...]:
    """Return these contacts, which are all of one workspace, in their order.

    A contact is named by its MRI: it is reached on all of its channels, and the service fills in its name
    where the text asks for it. Raises InputError with every contact that is not there, is ambiguous, or is
    reached by none of these channels: no contact is left out silently.
    """
    matches, workspace = await declared.match_contacts(reader, desired, contacts.keys())
    contested = frozenset(each for group in matches.contested for each in group)
    _refuse_contacts(
        contacts, {one: why for one in contacts if (why := _explain_no_match(one, matches, contested))}
    )
    looks = await asyncio.gather(
        *(_look_up_contact(reader, matches.found[one], workspace.id) for one in contacts)
    )
    made = {
        one: _make_message_contact(one, look, channels) for one, look in zip(contacts, looks, strict=True)
    }
    _refuse_contacts(contacts, {one: why for one, why in made.items() if not isinstance(why, MessageContact)})
    return tuple(one for one in made.values() if isinstance(one, MessageContact))


def _refuse_contacts(contacts: Mapping[Address, Place], reasons: Mapping[Address, tuple[str, str]]) -> None:
    """Raise InputError with all of the reasons, where there are any."""
    if reasons:
        what = f"{len(reasons)} of {len(contacts)} contacts cannot be reached; nothing was sent."
        raise InputError(
            what, problems=tuple(contacts[one].problem(*why, code="E100") for one, why in reasons.items())
        )


def _explain_no_match(
    one: Address, matches: Matches, contested: frozenset[Address]
) -> tuple[str, str] | None:
    if one in matches.ambiguous or one in matches.claimed or one in contested:
        return f"{one} is ambiguous: it cannot be matched to one contact of the service.", "reconciler plan"
    if one not in matches.found:
        return f"{one} does not exist at the service.", "reconciler apply, or leave it out"
    return None


ContactLook = tuple[str, LiveEntity] | None  # the MRI, and everything else


async def _look_up_contact(reader: ServiceReader, hit: Recognized, workspace: str) -> ContactLook:
    try:
        found = await reader.contacts.get(hit.live.remote_id, workspace=workspace)
    except NotFound:
        return None
    mri = found.body.get("mri")
    entity = observe_entity("contact", hit.live.workspace, found.remote_id, found.body)
    return (mri if isinstance(mri, str) else ""), entity


def _make_message_contact(
    one: Address, look: ContactLook, channels: Sequence[str]
) -> MessageContact | tuple[str, str]:
    if look is None:
        return f"{one} no longer exists at the service.", "reconciler plan"
    mri, entity = look
    if lacks := recipients.missing_channels(entity.fields, channels):
        return f"{one} has no {lacks}, so this message cannot reach it.", "add one, or leave it out"
    if not mri:
        return f"{one}: the service does not show its MRI.", "name its number or its e-mail address instead"
    return MessageContact(one, mri, recipients.contact_address_keys(entity.fields))


# --- A message to the rows of a resource ------------------------------------------------------------------
#
# The service does not show what a resource holds, so a message goes only to one whose content is recorded as
# applied, and is the one that the manifests declare now: what was counted is what is sent to.


async def prepare_bulk_message(
    reader: ServiceReader,
    settings: Settings,
    address: str,
    message: Message,
    declared: DeclaredState,
    *,
    recipients_allowed: int,
) -> tuple[PreparedMessage, str]:
    """Return the message to a resource of the manifests, and the service's id of its workspace.

    `message.resource` has the columns. Raises UnknownAddress, InputError for a resource that is not applied
    as it is declared or that the service has no more, and Refused for too many recipients.
    """
    columns = message.resource
    assert columns is not None  # noqa: S101 - the command gives the columns
    entity = _find_declared_resource(declared, address)
    assert entity.content is not None  # noqa: S101 - every resource has content
    given = {"sms": columns.sms, "email": columns.email, "voice": columns.voice}
    named = {channel: column for channel, column in given.items() if column}
    people = recipients.resource_recipients(
        entity.content.data, str(entity.fields.get("mimeType", "")), named
    )
    recipients.check_recipient_count(len(people), settings.guard.recipients_max, recipients_allowed)
    alias = entity.address.workspace
    where = await find_workspace_id(reader, settings, alias)
    remote_id = _find_applied_resource(declared, entity, Workspace(alias, where))
    callback = await resolve_callback(reader, declared, message.callback_id)
    await _require_live_resource(reader, entity, remote_id, where)
    resource = BulkResource(remote_id, columns.sms, columns.email, columns.voice)
    whole = structs.replace(message, resource=resource, callback_id=callback)
    return PreparedMessage(whole, alias, len(people)), where


def _find_declared_resource(declared: DeclaredState, address: str) -> Entity:
    entities = declared.load().entities
    known = {str(one): entity for one, entity in entities.items() if one.kind == RESOURCE.name}
    if address not in known:
        otherwise = "write its address as resource/WORKSPACE/NAME"
        raise UnknownAddress(
            f"{address[:200]} is not a resource of the manifests; nothing was sent.",
            next=did_you_mean("entity", address, known, otherwise),
        )
    return known[address]


def _find_applied_resource(declared: DeclaredState, entity: Entity, workspace: Workspace) -> str:
    """Return the service's id of a resource whose content is recorded as it is declared now."""
    record = declared.find_record(entity.address, workspace)
    if record is None or record.sent.get("content") != entity.fields.get("content"):
        raise InputError(
            f"{entity.address} has changes that are not applied yet; nothing was sent.",
            next=f"reconciler apply --only {entity.address}",
        )
    return record.remote_id


async def _require_live_resource(
    reader: ServiceReader, entity: Entity, remote_id: str, workspace: str
) -> None:
    """Raise InputError where the service has the resource no more: resources expire."""
    try:
        found = await reader.resources.get(remote_id, workspace=workspace)
    except NotFound:
        found = None
    if found is None or found.body.get("name") != entity.fields.get("name"):
        raise InputError(
            f"{entity.address} is no longer in the service; nothing was sent.",
            next=f"reconciler apply --only {entity.address}",
        )
