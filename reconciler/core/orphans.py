"""What is ours and no longer declared: deleted, left alone for a reason, or only forgotten.

Ours is what a record points at, or what carries our mark (planning rules X1 to X5). Whatever is not
certain is left alone and said.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from reconciler.core.draft import Draft
from reconciler.core.match import Matches
from reconciler.core.normalize import masked
from reconciler.model.address import NAME, Address, contact
from reconciler.model.changes import Delete
from reconciler.model.plans import Skip
from reconciler.model.snapshots import UNKNOWN, LiveEntity, RecordedEntity, Scope


def find_orphans(
    draft: Draft,
    scope: Scope,
    rows: Sequence[LiveEntity],
    records: Mapping[Address, RecordedEntity],
    matches: Matches,
    *,
    carried: Collection[Address],
) -> int:
    """Plan what is ours and no longer declared; return how many of those only our mark tells.

    The records of `carried` belong to other names now (M6).
    """
    taken = {hit.live.remote_id for hit in matches.found.values()}
    in_question = {one for ids in matches.ambiguous.values() for one in ids}
    by_id = {row.remote_id: row for row in rows}
    holders = Counter(record.remote_id for record in records.values())
    doubled = {one for one, count in holders.items() if count > 1}
    marked = _marks(draft, by_id, taken | holders.keys())
    for address in sorted(records.keys() | marked.keys()):
        if address in draft.desired.entities or not draft.selection.takes(address, {}):
            continue
        if address in carried and address not in marked:
            continue
        # After a rename only our mark can still speak of somebody under the old name.
        record = None if address in carried else records.get(address)
        row = by_id.get(record.remote_id) if record else None
        candidates = [*([row] if row else []), *marked.get(address, [])]
        if not candidates or candidates[0].remote_id in taken:
            _gone(draft, scope, address)
        elif len(candidates) > 1 or candidates[0].remote_id in in_question | doubled:
            ids = ", ".join(sorted(one.remote_id for one in candidates))
            what = f"is no longer declared, and it is not certain which one it is ({ids}); left alone."
            draft.skips.append(Skip(address, "ambiguous", what, "remove at the service what is too many"))
        else:
            # The devices that are recorded under a name that was given up went with it.
            devices = {} if address in carried else draft.records.get((address,), {})
            _orphan(draft, address, candidates[0], record, devices)
    return sum(map(len, marked.values()))


def _marks(draft: Draft, rows: Mapping[str, LiveEntity], known: set[str]) -> dict[Address, list[LiveEntity]]:
    """Return what only our mark tells to be ours, by the address in the mark."""
    marked: dict[Address, list[LiveEntity]] = {}
    for remote_id in sorted(rows.keys() - known):
        if name := marked_name(draft, rows[remote_id]):
            marked.setdefault(contact(rows[remote_id].workspace, name), []).append(rows[remote_id])
    return marked


def _gone(draft: Draft, scope: Scope, address: Address) -> None:
    """Forget what is not there, or only another name of something declared; its devices with it."""
    unread = {read.scope for read in draft.live.reads if not read.complete}
    if not unread & {scope, Scope("contact", scope.workspace)}:
        draft.gone += [address, *draft.records.get((address,), {})]


def _orphan(
    draft: Draft,
    address: Address,
    row: LiveEntity,
    record: RecordedEntity | None,
    devices: Mapping[Address, RecordedEntity],
) -> None:
    protected = record is not None and record.protected
    if mark := draft.foreign(row):
        what = f"is no longer declared, and carries the mark of another owner ({mark}); left alone."
        draft.skips.append(Skip(address, "foreign mark", what, "leave it to its owner, or remove it by hand"))
        return
    guarded = sorted(str(one) for one, record in devices.items() if record.protected)
    if protected or guarded:
        holds = f" (its device {guarded[0]} is protected)" if guarded and not protected else ""
        what = f"is no longer declared, and protected{holds}; left alone."
        step = "declare it again, or declare it once without `protect` and apply, then remove it"
        draft.skips.append(Skip(address, "protected", what, step))
        return
    assert row.known is None, f"{address}: to be deleted and not read whole"  # noqa: S101 - our own mistake
    known = {record.remote_id: str(one) for one, record in devices.items()}
    live_devices = draft.device_rows.get((address.workspace, row.remote_id), [])
    takes = sorted(
        known.get(one.remote_id, str(one.fields.get("deviceName", one.remote_id))) for one in live_devices
    )
    before = masked(address.kind, row.fields, draft.moment.salt)
    adopted = record.adopted if record else UNKNOWN
    draft.changes.append(Delete(address, row.remote_id, before, row.parent_id, tuple(takes), adopted=adopted))


def marked_name(draft: Draft, row: LiveEntity) -> str:
    """Return the name in our mark, when no declared contact has that name; else ""."""
    owner, _, name = str(row.fields.get(draft.rules.mark_path, "")).partition("/")
    ours = owner == draft.rules.stack and row.kind == "contact" and NAME.fullmatch(name)
    return name if ours and contact(row.workspace, name) not in draft.desired.entities else ""
