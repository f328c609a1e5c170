"""The aliases that a workspace was known by here, and when it was applied last. Rows in, values out.

Records are kept by the service's id of a workspace. Its alias is what a person calls it: it may be spelt
anew, and the records go with it. What was written down last here tells that it was.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from reconciler.store.engines import sealed
from reconciler.store.engines.adapter import Connection, Row
from reconciler.store.engines.schema import WORKSPACES
from reconciler.store.engines.sealed import Seals
from reconciler.store.owner import Owner

_alias_columns = sealed.pick_columns(WORKSPACES, "number", "workspace_id", "alias", "applied")


class KnownAlias(Struct, frozen=True, order=True):
    """A workspace under one of its aliases. `applied` is when a whole apply of it ended last, or ""."""

    number: int
    id: str
    alias: str
    applied: str


def load_aliases(connection: Connection, owner: Owner) -> tuple[KnownAlias, ...]:
    """Return every workspace under every alias it had here; the last one of each comes last.

    Raises CorruptRecord where these are not the rows that were written.
    """
    rows = connection.execute(sealed.rows_query(WORKSPACES), owner.key()).all()
    sealed.check_seal(connection, WORKSPACES, owner, rows)
    return _decode_aliases(rows)


def load_readable_aliases(connection: Connection, owner: Owner) -> tuple[KnownAlias, ...]:
    """Return the same of a table that may be damaged, for people to read; what is no alias is left out."""
    rows = connection.execute(sealed.rows_query(WORKSPACES), owner.key()).all()
    return _decode_aliases(
        row for row in rows if list(map(type, _alias_columns(row))) == [int, str, str, str]
    )


def last_aliases(found: Iterable[KnownAlias]) -> dict[str, str]:
    """Return by id the alias that each workspace was last known by."""
    return {one.id: one.alias for one in sorted(found)}


def note_aliases(seals: Seals, ids: Mapping[str, str], *, applied: str = "") -> None:
    """Write down that these workspaces (alias -> id) have these aliases now.

    With `applied`, also that a whole apply of them ended then. Raises CorruptRecord.
    """
    rows = seals.connection.execute(sealed.rows_query(WORKSPACES), seals.owner.key()).all()
    seals.check(WORKSPACES, rows)
    found = _decode_aliases(rows)
    last, number = last_aliases(found), max((one.number for one in found), default=0)
    there = {(one.id, one.alias) for one in found}
    for alias, workspace_id in sorted(ids.items()):
        one = {"workspace_id": workspace_id, "alias": alias}
        if last.get(workspace_id) != alias:
            number += 1
            if (workspace_id, alias) in there:
                seals.change(WORKSPACES, one, {"number": number})
            else:
                row = {**seals.owner.key(), **one, "number": number, "applied": ""}
                seals.replace(WORKSPACES, come=[row])
        if applied:
            seals.change(WORKSPACES, one, {"applied": applied})


def _decode_aliases(rows: Iterable[Row]) -> tuple[KnownAlias, ...]:
    return tuple(sorted(KnownAlias(*_alias_columns(row)) for row in rows))
