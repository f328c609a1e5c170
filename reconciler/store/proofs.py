"""Proofs that passwords are those last sent: rows in, values out. See core/compare/password_digests.py.

A row that is missing or damaged is compared with nothing, and costs the plan time. So there is no seal, and
nothing here raises CorruptRecord.
"""

from collections.abc import Mapping

from reconciler.model.snapshots import Proofs
from reconciler.store.engines import sealed
from reconciler.store.engines.adapter import Connection
from reconciler.store.engines.schema import PROOFS
from reconciler.store.owner import Owner


def load_password_digests(connection: Connection, owner: Owner, ids: Mapping[str, str]) -> Proofs:
    """Return the proofs of the workspaces of `ids` (alias -> the service's id)."""
    aliases: dict[str, list[str]] = {}
    for alias, known in ids.items():
        aliases.setdefault(known, []).append(alias)
    query = f"SELECT workspace_id, part, proof FROM proofs WHERE {sealed.OWNED}"
    return {
        (alias, part): proof
        for workspace_id, part, proof in connection.execute(query, owner.key())
        for alias in aliases.get(workspace_id, ())
        if isinstance(part, int) and isinstance(proof, str)
    }


def replace_password_digests(
    connection: Connection, owner: Owner, proofs: Proofs, ids: Mapping[str, str]
) -> None:
    """Put these proofs in the place of all that there are for the workspaces of `ids`."""
    mine = {**owner.key(), "ids": sorted(set(ids.values()))}
    connection.execute(f"DELETE FROM proofs WHERE {sealed.OWNED} AND workspace_id IN (:ids)", mine)
    rows = {
        (ids[alias], part): {**owner.key(), "workspace_id": ids[alias], "part": part, "proof": proof}
        for (alias, part), proof in sorted(proofs.items())
    }
    if rows:
        connection.execute_many(PROOFS.insert, list(rows.values()))
