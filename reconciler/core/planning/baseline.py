"""What the records that a plan compares with are: of which workspaces there are any, and from where.

    nothing recorded and nothing applied  --> nothing to compare with: drift says so (unapplied)
    another alias than before             --> the records go with the workspace's id; said (alias_notices)
    recorded at another address           --> nobody's until a person says that it is the same service

Decisions over values. Reading the store is store/database.py; taking records over is engine/rehoming.py.
"""

from collections.abc import Iterator

from msgspec import UNSET, UnsetType

from reconciler.core.planning.parts import ScopePlan
from reconciler.core.planning.scopes import Shared
from reconciler.errors import InputError
from reconciler.model.address import Address
from reconciler.model.notices import Notice
from reconciler.model.plans import Create, Elsewhere, Target, Update
from reconciler.model.snapshots import Desired, ElsewhereRecords, Live, Recorded

SAME_SERVICE = "--same-service"


def unapplied(across: Shared, desired: Desired, recorded: Recorded) -> tuple[str, ...] | UnsetType:
    """Return the workspaces with declared entities that this store has neither applied nor any record of.

    Of what is selected. UNSET where there are none.
    """
    new = recorded.unapplied
    concerned = (one for one in desired.entities.values() if one.address.workspace in new) if new else ()
    return tuple(sorted({one.address.workspace for one in concerned if across.selects(one)})) or UNSET


def alias_notices(recorded: Recorded) -> Iterator[Notice]:
    """Yield one notice for each workspace whose alias is spelt anew, until an apply has written it down."""
    for workspace_id, moved in sorted(recorded.aliases.items()):
        records = "1 record goes" if moved.records == 1 else f"{moved.records:,} records go"
        where = f"id {workspace_id}" if workspace_id else "the default one"
        what = (
            f"it was {moved.before} at the last apply and has another alias now; it is the same workspace "
            f"({where}), so its {records} with it."
        )
        step = "nothing, if the alias was spelt anew; if another workspace is meant, correct its id or name"
        yield Notice("workspace", moved.now, what, step)


def elsewhere(recorded: Recorded, live: Live, total: ScopePlan) -> tuple[Elsewhere, ...] | UnsetType:
    """Return what was recorded for this stack at other addresses and is not recorded here.

    Where anything is recorded here, only where ids of the service tell that it is the same one: a stack may
    have several services. UNSET where there is nothing.
    """
    if not recorded.elsewhere:
        return UNSET
    ours = {one.remote_id for one in recorded.entities.values()}
    seen = ours | {row.remote_id for rows in live.entities.values() for row in rows}
    made = {one.address for one in total.changes if isinstance(one, Create)}
    adopted = {one.remote_id for one in total.changes if isinstance(one, Update) and one.adopts}
    adopted |= {one.remote_id for one in total.adoptions}
    found = (_left(one, ours, seen, made, adopted) for one in recorded.elsewhere)
    left = tuple(one for one in found if one.records and (one.alike or not recorded.entities))
    return tuple(sorted(left, key=lambda one: one.origin)) or UNSET


def _left(
    one: ElsewhereRecords, ours: set[str], seen: set[str], made: set[Address], adopted: set[str]
) -> Elsewhere:
    left = {address: remote_id for address, remote_id in one.ids.items() if remote_id not in ours}
    alike = len(set(one.ids.values()) & seen)
    claimed = sum(1 for address, remote_id in left.items() if address in made or remote_id in adopted)
    return Elsewhere(one.origin, len(left), alike, claimed)


def choose_origin(recorded: Recorded, *, stack: str) -> str:
    """Return the address from which `--same-service` takes records over; "" where nothing is left to take.

    Raises InputError where several addresses may be meant: only one of them can be this service.
    """
    ours = {one.remote_id for one in recorded.entities.values()}
    left = [one for one in recorded.elsewhere if not ours.issuperset(one.ids.values())]
    alike = [one for one in left if not ours.isdisjoint(one.ids.values())]
    found = alike if len(alike) == 1 else left
    if len(found) > 1:
        where = ", ".join(f"{one.origin} ({len(one.ids):,})" for one in found)
        raise InputError(
            f"{SAME_SERVICE}: stack {stack} has records at several other addresses: {where}.",
            next="set service.base_url to one of the others that is this service too, and take the rest over "
            f"there first ({SAME_SERVICE}), or keep one store for each service",
        )
    return found[0].origin if found else ""


def elsewhere_notices(found: tuple[Elsewhere, ...] | UnsetType, target: Target) -> Iterator[Notice]:
    """Yield one notice for each address at which records of this stack were left."""
    for one in found or ():
        records = "1 entity is" if one.records == 1 else f"{one.records:,} entities are"
        known = f", and {one.alike:,} of its ids are live here" if one.alike else ""
        what = (
            f"{records} recorded as ours at {one.origin}, and service.base_url says {target.origin} "
            f"now{known}. "
            "Nobody is deleted by those records."
        )
        step = (
            f"if it is the same service: reconciler apply {SAME_SERVICE} (the records come with it); "
            "if it is another one, nothing"
        )
        yield Notice("origin", one.origin, what, step)
