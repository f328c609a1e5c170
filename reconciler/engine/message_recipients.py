"""Who the contacts of a message are at the service: found as a plan finds them, then looked at once each."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from reconciler.core.compare.match import Matches, Recognized, former_names, match_entities
from reconciler.core.compare.normalize import observe_entity
from reconciler.engine.context import Dependencies, ReadContext
from reconciler.engine.live import read_live
from reconciler.engine.planning import resolve_target
from reconciler.engine.resources import open_run_store
from reconciler.errors import InputError, NotFound
from reconciler.messaging.recipients import contact_address_keys, missing_channels
from reconciler.model.address import Address
from reconciler.model.documents import Place
from reconciler.model.plans import Workspace
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, LiveEntity, Recorded, Scope
from reconciler.service.client import Reader


class MessageContact(Struct, frozen=True):
    """A contact as a message names it: `to` is its MRI, `contact_address_keys` is what it is reached by."""

    address: Address
    to: str
    keys: frozenset[str]


async def resolve_contacts(
    settings: Settings,
    desired: Desired,
    dependencies: Dependencies,
    reader: Reader,
    *,
    people: Mapping[Address, Place],
    channels: Sequence[str],
) -> tuple[MessageContact, ...]:
    """Return these contacts, which are all of one workspace, in their order. Sends nothing but GET.

    A contact is named by its MRI: it is reached on all of its channels, and the service fills in its name
    where the text asks for it. Raises InputError with everybody who is not there, is ambiguous, or is
    reached by none of these channels: nobody is left out in silence.
    """
    chosen = {one: desired.entities[one] for one in people}
    scope = Scope("contact", next(iter(people)).workspace)
    # Their devices are not needed here, and would cost a look each.
    entities = {one: structs.replace(entity, devices_in_scope=False) for one, entity in chosen.items()}
    wanted = structs.replace(desired, entities=entities, scopes=frozenset({scope}))
    async with open_run_store(settings, dependencies, create=False) as store:
        context = ReadContext(settings, wanted, dependencies, store, reader)
        workspaces = (await resolve_target(context, wanted)).workspaces
        matches = await _matches(context, workspaces)
    contested = frozenset(each for group in matches.contested for each in group)
    _check(people, {one: why for one in people if (why := _why_not(one, matches, contested))})
    looks = await asyncio.gather(*(_look(reader, matches.found[one], workspaces[0].id) for one in people))
    made = {one: _person(one, look, channels) for one, look in zip(people, looks, strict=True)}
    _check(people, {one: why for one, why in made.items() if not isinstance(why, MessageContact)})
    return tuple(person for person in made.values() if isinstance(person, MessageContact))


def _check(people: Mapping[Address, Place], reasons: Mapping[Address, tuple[str, str]]) -> None:
    """Return where there is no reason against anybody. Raises InputError with all of them."""
    if reasons:
        what = f"{len(reasons)} of {len(people)} contacts cannot be reached; nothing was sent."
        raise InputError(
            what, problems=tuple(people[one].problem(*why, code="E100") for one, why in reasons.items())
        )


async def _matches(context: ReadContext, workspaces: tuple[Workspace, ...]) -> Matches:
    """Return which live contact each of them is, by the rules of a plan."""
    wanted, rules = context.desired, context.rules
    recorded = await context.ask(lambda store: store.recorded(workspaces))
    former = former_names(wanted.entities.values())
    names = wanted.entities.keys() | set(former.values())
    records = {one: record for one, record in recorded.entities.items() if one in names}
    live = await read_live(
        context.client,
        wanted,
        Recorded(records, recorded.salt),
        workspaces={one.alias: one.id for one in workspaces},
        rules=rules,
        concurrency=context.limits.concurrency,
    )
    entities = tuple(wanted.entities.values())
    (scope,) = wanted.scopes
    return match_entities(entities, live.entities[scope], records, keys=rules.keys("contact"), former=former)


Look = tuple[str, LiveEntity] | None  # the MRI, and everything else


async def _look(reader: Reader, hit: Recognized, workspace: str) -> Look:
    try:
        found = await reader.contacts.get(hit.live.remote_id, workspace=workspace)
    except NotFound:
        return None
    mri = found.body.get("mri")
    entity = observe_entity("contact", hit.live.workspace, found.remote_id, found.body)
    return (mri if isinstance(mri, str) else ""), entity


def _why_not(one: Address, matches: Matches, contested: frozenset[Address]) -> tuple[str, str] | None:
    if one in matches.ambiguous or one in matches.claimed or one in contested:
        return f"{one} is ambiguous: it cannot be matched to one contact of the service.", "reconciler plan"
    if one not in matches.found:
        return f"{one} does not exist at the service.", "reconciler apply, or leave it out"
    return None


def _person(one: Address, look: Look, channels: Sequence[str]) -> MessageContact | tuple[str, str]:
    if look is None:
        return f"{one} no longer exists at the service.", "reconciler plan"
    mri, entity = look
    if lacks := missing_channels(entity.fields, channels):
        return f"{one} has no {lacks}, so this message cannot reach it.", "add one, or leave it out"
    if not mri:
        return f"{one}: the service does not show its MRI.", "name its number or its e-mail address instead"
    return MessageContact(one, mri, contact_address_keys(entity.fields))
