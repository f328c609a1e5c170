"""A whole scope, whoever is in it: what an export reads.

Belongs here: walking the list once, and looking at each entity that its row shows too briefly. Not here:
reading what is declared or recorded in the fewest calls (scopes.py).
"""

from collections.abc import Iterable

from msgspec import Struct, structs

from reconciler.core.compare.normalize import observe_entity
from reconciler.core.runs import ticket
from reconciler.engine.progress import report_progress
from reconciler.engine.rows import choose_list_fields, find_shown_paths, gather_limited, iterate_children
from reconciler.errors import NotFound, Unavailable
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.snapshots import LiveEntity, Scope
from reconciler.service.client import ReadCollection, Reader
from reconciler.service.paging import Found, Page, Query

_walks_max = 2  # a list that changes while it is read is read once more, and not for ever


class WholeScope(Struct, frozen=True):
    """Everything in a scope, what belongs to each behind it.

    `untold` is the number of entities of which nobody knows what belongs to them: their rows do not show it,
    and they were not looked at.
    """

    entities: tuple[LiveEntity, ...]
    untold: int = 0


async def read_whole_scope(
    reader: Reader, scope: Scope, workspace: str, *, look: bool, concurrency: int
) -> WholeScope:
    """Return all entities of a scope. Sends nothing but GET.

    `workspace` is the service's id. With `look`, each entity whose row does not show what belongs to it is
    looked at, a call each. Raises Unavailable where the list changed each time it was read.
    """
    reading = _WholeScopeReader(reader[scope.kind], scope, workspace, look=look)
    for _ in range(_walks_max):
        if not await reading.walk():
            return await reading.whole(concurrency)
    what = f"the list of {scope} changed while it was read, so somebody may be missing; nothing was exported."
    raise Unavailable(what, next="export again")


class _WholeScopeReader:
    def __init__(self, collection: ReadCollection, scope: Scope, workspace: str, *, look: bool) -> None:
        self._collection = collection
        self._scope = scope
        self._workspace = workspace
        self._look = look
        self._kind: Kind = KINDS[scope.kind]
        self._heads = frozenset(field.head for field in self._kind.declarable)
        self._asked = choose_list_fields(self._kind, self._heads) if self._kind.brief else ()
        self._found: dict[str, tuple[LiveEntity, ...] | None] = {}  # None: to be looked at
        self._untold = 0
        # How many are read for good: not those that are still to be looked at, which takes most of the time.
        self._read = 0
        self._total: int | None = None

    async def walk(self) -> str:
        """Read the list once; return why rows may have been missed, or ""."""
        self._found, self._untold, self._read, trouble = {}, 0, 0, ""
        query = Query(fields=self._asked)
        async for page in self._collection.pages(query, workspace=self._workspace):
            self._page(page)
            self._total = page.total if self._total is None else self._total
            report_progress(self._scope, self._read, self._total)
            trouble = trouble or page.trouble
        return trouble

    def _page(self, page: Page) -> None:
        told = find_shown_paths(self._kind, page.rows, self._asked, self._heads)
        # Only a list that was asked for them shows custom fields, and then every row has the key.
        custom = self._kind.wire.get(self._kind.custom, self._kind.custom)
        bare = told == self._kind.listing.always or (custom and not any(custom in r.body for r in page.rows))
        for row in page.rows:
            if self._kind.tickets and ticket.is_ticket_name(row.body.get("name")):
                continue
            if told is None:
                self._found[row.remote_id] = tuple(self._entities(row))
            elif bare or self._look or self._has_inside(row):
                self._found[row.remote_id] = None
                continue
            else:
                self._untold += bool(child_kinds(self._kind.name))
                self._found[row.remote_id] = (structs.replace(self._entity(row), devices_known=False),)
            self._read += 1

    async def whole(self, concurrency: int) -> WholeScope:
        """Look at whom the list shows too briefly, and return everybody in its order."""
        looks = [remote_id for remote_id, known in self._found.items() if known is None]
        self._found.update(zip(looks, await gather_limited(looks, self._one, concurrency), strict=True))
        return WholeScope(tuple(one for known in self._found.values() for one in known or ()), self._untold)

    async def _one(self, remote_id: str) -> tuple[LiveEntity, ...]:
        try:
            found = tuple(self._entities(await self._collection.get(remote_id, workspace=self._workspace)))
        except NotFound:
            found = ()  # removed since the list was read
        self._read += 1
        report_progress(self._scope, self._read, self._total)
        return found

    def _has_inside(self, row: Found) -> bool:
        return any(row.body.get(child.rows_key) for child in child_kinds(self._kind.name))

    def _entities(self, found: Found) -> Iterable[LiveEntity]:
        yield self._entity(found)
        for kind, one in iterate_children(self._kind, found):
            yield observe_entity(
                kind.name,
                self._scope.workspace,
                one.remote_id,
                one.body,
                seen=found.date,
                parent_id=found.remote_id,
            )

    def _entity(self, found: Found) -> LiveEntity:
        return observe_entity(
            self._scope.kind, self._scope.workspace, found.remote_id, found.body, seen=found.date
        )
