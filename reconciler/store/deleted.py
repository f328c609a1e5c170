"""What runs of this store deleted: kept for 90 days, to be recognized where a backup brings it back.

Addresses, ids and what it was known by, as digests under the store's salt: a restore may give a new id. Not
here: what is said of it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec

from reconciler.model import address as addresses
from reconciler.model.address import Address
from reconciler.model.runs import JournalEntry, Outcome
from reconciler.model.snapshots import DeletedEntity
from reconciler.store.engines import sealed
from reconciler.store.engines.adapter import Connection
from reconciler.store.engines.schema import DELETED
from reconciler.store.owner import Owner

deleted_kept_for = timedelta(days=90)


def note_deleted(
    connection: Connection,
    owner: Owner,
    ended: Iterable[Outcome],
    ids: Mapping[str, str],
    *,
    run: str,
    now: datetime,
    settled: Iterable[JournalEntry] = (),
    identities: Mapping[Address, Mapping[str, str]] | None = None,
) -> None:
    """Write down each delete that was carried out; what is older than 90 days goes.

    `settled` are what earlier runs left open, and how it ended. `identities` are digests of what each was
    known by, by the names of its identities.
    """
    known, aliases = identities or {}, {one: alias for alias, one in ids.items()}
    done = (one for one in ended if one.action == "delete" and one.result == "applied")
    gone = {one.address: one.remote_id for one in done if one.remote_id}
    for entry in settled:
        if entry.intent.action == "delete" and entry.ending == "applied" and entry.intent.remote_id:
            gone.setdefault(entry.address_now(aliases), entry.intent.remote_id)
    gone = {address: one for address, one in gone.items() if address.workspace in ids}
    if not gone:
        return
    old = f"DELETE FROM deleted WHERE {sealed.OWNED} AND deleted_at < :until"
    connection.execute(old, {**owner.key(), "until": _format_deleted_time(now - deleted_kept_for)})
    for address, remote_id in gone.items():
        row = {
            **owner.key(),
            "workspace_id": ids[address.workspace],
            "address": str(address),
            "remote_id": remote_id,
        }
        connection.execute(
            f"DELETE FROM deleted WHERE {sealed.OWNED} AND workspace_id = :workspace_id "
            "AND address = :address AND remote_id = :remote_id",
            row,
        )
        told = {
            "identities": _encode_identities(known.get(address, {})),
            "run": run,
            "deleted_at": _format_deleted_time(now),
        }
        connection.execute(DELETED.insert, {**row, **told})


def load_deleted(
    connection: Connection, owner: Owner, ids: Mapping[str, str], *, now: datetime
) -> tuple[DeletedEntity, ...]:
    """Return what was deleted in these workspaces within 90 days, oldest first.

    A workspace is known by its id: what was deleted under another alias has the present one.
    """
    since, aliases = _format_deleted_time(now - deleted_kept_for), {one: alias for alias, one in ids.items()}
    query = (
        "SELECT address, workspace_id, remote_id, run, deleted_at, identities FROM deleted "
        f"WHERE {sealed.OWNED} AND deleted_at >= :since ORDER BY deleted_at, address"
    )
    found = []
    for row in connection.execute(query, {**owner.key(), "since": since}):
        text, workspace_id, remote_id, run, deleted_at, identities = map(str, row)
        address, alias = addresses.parse_address(text), aliases.get(workspace_id)
        if address is not None and alias is not None:
            address = address.in_workspace(alias)
            found.append(DeletedEntity(address, remote_id, run, deleted_at, _decode_identities(identities)))
    return tuple(found)


def _encode_identities(identities: Mapping[str, str]) -> str:
    return msgspec.json.encode(identities, order="deterministic").decode()


def _decode_identities(text: str) -> Mapping[str, str]:
    """Return the digests of a row; none where they cannot be read, for they only help to recognize."""
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError:
        return {}


def _format_deleted_time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
