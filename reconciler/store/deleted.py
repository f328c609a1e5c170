"""What runs of this store deleted: kept for 90 days, to be recognized where a backup brings it back.

Addresses and ids alone, as the record of it had them. Not here: what is said of it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from reconciler.model import address as addresses
from reconciler.model.run.outcomes import Outcome
from reconciler.model.snapshots import DeletedEntity
from reconciler.store.engines import sealed
from reconciler.store.engines.schema import DELETED
from reconciler.store.owner import Owner

kept_for = timedelta(days=90)


def note(
    connection: Connection,
    owner: Owner,
    ended: Iterable[Outcome],
    ids: Mapping[str, str],
    *,
    run: str,
    now: datetime,
) -> None:
    """Write down each delete that was carried out; what is older than 90 days goes."""
    gone = [one for one in ended if one.action == "delete" and one.result == "applied" and one.remote_id]
    if not gone:
        return
    mine = sealed.of(DELETED, owner)
    connection.execute(DELETED.delete().where(*mine, DELETED.c.deleted_at < _text(now - kept_for)))
    for one in gone:
        row = {
            "workspace_id": ids[one.address.workspace],
            "address": str(one.address),
            "remote_id": one.remote_id,
        }
        same = [DELETED.c[name] == value for name, value in row.items()]
        connection.execute(DELETED.delete().where(*mine, *same))
        told = {"identities": "{}", "run": run, "deleted_at": _text(now)}
        connection.execute(DELETED.insert(), {**owner.key(), **row, **told})


def load(
    connection: Connection, owner: Owner, ids: Mapping[str, str], *, now: datetime
) -> tuple[DeletedEntity, ...]:
    """Return what was deleted in these workspaces within 90 days, oldest first.

    A workspace is known by its id: what was deleted under another alias has the present one.
    """
    since, aliases = _text(now - kept_for), {one: alias for alias, one in ids.items()}
    query = select(DELETED).where(*sealed.of(DELETED, owner), DELETED.c.deleted_at >= since)
    found = []
    for row in connection.execute(query.order_by(DELETED.c.deleted_at, DELETED.c.address)):
        address = addresses.parse(str(row.address))
        alias = aliases.get(str(row.workspace_id))
        if address is not None and alias is not None:
            address = address.in_workspace(alias)
            found.append(DeletedEntity(address, str(row.remote_id), str(row.run), str(row.deleted_at)))
    return tuple(found)


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
