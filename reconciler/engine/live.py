"""SERVICE IN: what exists -> Live, for the kinds and workspaces in question, read completely and cheaply.

The service allows a few requests a second, so the number of calls is the time. Each scope is read
by whichever takes fewer: a scan of the whole list, which may be known but for what has changed
(following.py), or a look at each entity that is declared or recorded. A scan suggests, it never
decides: what it did not show is looked up by its id before it counts as gone. Both ways show a second
live entity for one of ours, but for brief list rows, which tell no more than names
(docs/planning.md, T1).
"""

import asyncio
from collections.abc import Iterable, Mapping

from msgspec import structs

from reconciler.core.reading_policy import ReadRequest
from reconciler.core.rules import Rules
from reconciler.engine.list_cache import Lists
from reconciler.engine.scopes import ScopeReader
from reconciler.model.kinds import child_kinds
from reconciler.model.snapshots import DeletedEntity, Desired, Live, LiveEntity, Recorded, Scope
from reconciler.service.client import Reader


async def read_live(
    reader: Reader,
    desired: Desired,
    recorded: Recorded,
    *,
    workspaces: Mapping[str, str],
    rules: Rules,
    concurrency: int = 8,
    everyone: bool = False,
    lists: Lists | None = None,
    deleted: Iterable[DeletedEntity] = (),
) -> Live:
    """Return everything live that the plan has to know, with what belongs to it where that is in scope.

    `workspaces` maps aliases to the service's ids ("" for the default workspace). Scopes are read side
    by side. With `everyone` the rest of each list is read too (`others`); what a plan has to know is read
    in the same way. `deleted` is what we deleted: `again` has what of it is shown. `lists` are
    what earlier reads showed; None: every list is read.
    Errors: whatever the service's client raises; nothing unreadable becomes an empty list.
    """
    wanted = [
        _make_read_request(scope, desired, recorded, workspaces, rules) for scope in sorted(desired.scopes)
    ]
    gone: dict[Scope, list[DeletedEntity]] = {}
    for known in deleted:
        gone.setdefault(Scope.of(known.address), []).append(known)
    wanted = [
        structs.replace(one, everyone=everyone, deleted=tuple(gone.get(one.scope, ())), salt=recorded.salt)
        for one in wanted
    ]
    readers = [ScopeReader(reader, one, concurrency, lists) for one in wanted]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one.read()) for one in readers]
    results = [task.result() for task in tasks]
    entities: dict[Scope, tuple[LiveEntity, ...]] = {}
    for one, found in zip(wanted, results, strict=True):
        for kind in (one.scope.kind, *(child.name for child in child_kinds(one.scope.kind))):
            entities[Scope(kind, one.scope.workspace)] = tuple(row for row in found.rows if row.kind == kind)
    each = {one.scope: found for one, found in zip(wanted, results, strict=True)}
    return Live(
        entities,
        tuple(found.read for found in results),
        {scope: tuple(found.others) for scope, found in each.items() if found.others},
        {scope: found.contradictions for scope, found in each.items() if found.contradictions},
        {scope: found.restored for scope, found in each.items() if found.restored},
    )


def _make_read_request(
    scope: Scope, desired: Desired, recorded: Recorded, workspaces: Mapping[str, str], rules: Rules
) -> ReadRequest:
    entities = {address: one for address, one in desired.entities.items() if Scope.of(address) == scope}
    records = {address: one for address, one in recorded.entities.items() if Scope.of(address) == scope}
    return ReadRequest(scope, workspaces[scope.workspace], entities, records, rules)
