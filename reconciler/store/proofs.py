"""Proofs that passwords are those last sent: rows in, values out. See core/compare/password_digests.py.

A row that is missing or damaged is compared with nothing, and costs the plan time. So there is no seal, and
nothing here raises CorruptRecord.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, delete, insert, select

from reconciler.model.snapshots import Proofs
from reconciler.store.engines.schema import PROOFS
from reconciler.store.owner import Owner

_COLUMNS = (PROOFS.c.workspace_id, PROOFS.c.part, PROOFS.c.proof)
_READ = select(*_COLUMNS).where(
    PROOFS.c.origin == bindparam("of_origin"), PROOFS.c.stack == bindparam("of_stack")
)


def load(connection: Connection, owner: Owner, ids: Mapping[str, str]) -> Proofs:
    """Return the proofs of the workspaces of `ids` (alias -> the service's id)."""
    aliases: dict[str, list[str]] = {}
    for alias, known in ids.items():
        aliases.setdefault(known, []).append(alias)
    return {
        (alias, row.part): row.proof
        for row in connection.execute(_READ, {"of_origin": owner.origin, "of_stack": owner.stack})
        for alias in aliases.get(row.workspace_id, ())
        if isinstance(row.part, int) and isinstance(row.proof, str)
    }


def replace(connection: Connection, owner: Owner, proofs: Proofs, ids: Mapping[str, str]) -> None:
    """Put these proofs in the place of all that there are for the workspaces of `ids`."""
    mine = (PROOFS.c.origin == owner.origin, PROOFS.c.stack == owner.stack)
    connection.execute(delete(PROOFS).where(*mine, PROOFS.c.workspace_id.in_(sorted(set(ids.values())))))
    rows = {
        (ids[alias], part): {**owner.key(), "workspace_id": ids[alias], "part": part, "proof": proof}
        for (alias, part), proof in sorted(proofs.items())
    }
    if rows:
        connection.execute(insert(PROOFS), list(rows.values()))
