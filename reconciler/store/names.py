"""The aliases that a workspace was known by here, and when it was applied last. Rows in, values out.

Records are kept by the service's id of a workspace. Its alias is what a person calls it: it may be spelt
anew, and the records go with it. What was written down last here tells that it was.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from sqlalchemy import Connection, select

from reconciler.store.engines import sealed
from reconciler.store.engines.schema import WORKSPACES
from reconciler.store.owner import Owner


class KnownAlias(Struct, frozen=True, order=True):
    """A workspace under one of its aliases. `applied` is when a whole apply of it ended last, or ""."""

    number: int
    id: str
    alias: str
    applied: str


def known(connection: Connection, owner: Owner) -> tuple[KnownAlias, ...]:
    """Return every workspace under every alias it had here; the last one of each comes last."""
    of = WORKSPACES.c
    query = select(of.number, of.workspace_id, of.alias, of.applied).where(*sealed.of(WORKSPACES, owner))
    return tuple(sorted(KnownAlias(*row) for row in connection.execute(query).all()))


def last_aliases(found: Iterable[KnownAlias]) -> dict[str, str]:
    """Return by id the alias that each workspace was last known by."""
    return {one.id: one.alias for one in sorted(found)}


def note(connection: Connection, owner: Owner, ids: Mapping[str, str], *, applied: str = "") -> None:
    """Write down that these workspaces (alias -> id) have these aliases now.

    With `applied`, also that a whole apply of them ended then.
    """
    found = known(connection, owner)
    last, number = last_aliases(found), max((one.number for one in found), default=0)
    there = {(one.id, one.alias) for one in found}
    for alias, workspace_id in sorted(ids.items()):
        mine = (
            *sealed.of(WORKSPACES, owner),
            WORKSPACES.c.workspace_id == workspace_id,
            WORKSPACES.c.alias == alias,
        )
        if last.get(workspace_id) != alias:
            number += 1
            if (workspace_id, alias) in there:
                connection.execute(WORKSPACES.update().where(*mine).values(number=number))
            else:
                row = {"workspace_id": workspace_id, "alias": alias, "number": number, "applied": ""}
                connection.execute(WORKSPACES.insert(), [{**owner.key(), **row}])
        if applied:
            connection.execute(WORKSPACES.update().where(*mine).values(applied=applied))
