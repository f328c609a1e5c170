"""Which live entity each of some declared ones is, by the rules of a plan, where no plan is wanted."""

from collections.abc import Collection

from msgspec import structs

from reconciler.core.compare.match import Matches, former_names, match_entities
from reconciler.engine.context import Dependencies, ReadContext
from reconciler.engine.live import read_live
from reconciler.engine.resources import open_run_store
from reconciler.engine.targets import resolve_target
from reconciler.model.address import Address
from reconciler.model.plans import Workspace
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, Recorded, Scope
from reconciler.service.client import Reader


async def match_contacts(
    settings: Settings,
    desired: Desired,
    dependencies: Dependencies,
    reader: Reader,
    contacts: Collection[Address],
) -> tuple[Matches, Workspace]:
    """Return which live contact each of these is, and their workspace; they are all of one.

    Sends nothing but GET.
    """
    scope = Scope("contact", next(iter(contacts)).workspace)
    # Their devices are not needed here, and would cost a look each.
    entities = {one: structs.replace(desired.entities[one], devices_in_scope=False) for one in contacts}
    wanted = structs.replace(desired, entities=entities, scopes=frozenset({scope}))
    async with open_run_store(settings, dependencies, create=False) as store:
        context = ReadContext(settings, wanted, dependencies, store, reader)
        workspaces = (await resolve_target(context, wanted)).workspaces
        recorded = await context.ask(lambda store: store.recorded(workspaces))
        former = former_names(entities.values())
        names = entities.keys() | set(former.values())
        records = {one: record for one, record in recorded.entities.items() if one in names}
        live = await read_live(
            reader,
            wanted,
            Recorded(records, recorded.salt),
            workspaces={one.alias: one.id for one in workspaces},
            rules=context.rules,
            concurrency=context.limits.concurrency,
        )
    keys = context.rules.keys("contact")
    found = match_entities(tuple(entities.values()), live.entities[scope], records, keys=keys, former=former)
    return found, workspaces[0]
