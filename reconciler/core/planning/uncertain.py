"""Who is left alone because it is not certain who it is: an id is contradicted, or has become somebody else.

Rules M8 and M9 of docs/planning.md. Evidence is judged in core/compare/evidence.py and reused.py; here is
which entity it is about, and what a person can do.
"""

from reconciler.core.compare.evidence import describe_reuse, find_reuse
from reconciler.core.compare.match import Recognized, shared_identity
from reconciler.core.planning.scopes import Group, Matched, Shared
from reconciler.model.address import Address
from reconciler.model.plans import Skip
from reconciler.model.snapshots import ContradictedId, Entity, LiveEntity, RecordedEntity

_LOOK_AGAIN = "plan again; if it stays so, ask the people who run the service"
_MERGED = (
    "look at the service who it is now; `reconciler adopt ADDRESS` takes the live one that has its identity, "
    "`reconciler forget ADDRESS` (its entry taken out first) lets the id go"
)


def contradicted(across: Shared, at: Matched, entity: Entity, hit: Recognized | None) -> Skip | None:
    """Return why a declared entity is not acted on where the service says two things of it (M8), or None.

    Asked to be adopted by name, it is looked for by its identity, whatever its recorded id is now.
    """
    address, doubtful = entity.address, at.group.contradicted
    if not doubtful or (hit is not None and hit.by == "record"):
        return None
    records = at.group.records
    record = records.get(address) or records.get(at.former.get(address, address))
    found = doubtful.get(record.remote_id) if record else None
    if found:
        if hit is not None and across.options.adopt and str(address) in across.options.only:
            return None
        return skip_of(address, found)
    # Not recorded, and a list shows somebody with its identity whom a look does not: never made once more.
    keys = across.rules.keys(address.kind)
    alike = [one for _, one in sorted(doubtful.items()) if shared_identity(entity.fields, one.fields, keys)]
    return skip_of(address, alike[0]) if alike and hit is None else None


def contradicted_record(group: Group, address: Address) -> ContradictedId | None:
    """Return what speaks against the recorded id of an address, if anything does."""
    record = group.records.get(address)
    return group.contradicted.get(record.remote_id) if record else None


def skip_of(address: Address, found: ContradictedId) -> Skip:
    """Return why an address is not acted on."""
    what = f"the service says two things about it (id {found.remote_id}): {found.why}; left alone."
    step = _LOOK_AGAIN if found.says == "absent" else _MERGED.replace("ADDRESS", str(address))
    return Skip(address, "contradicted", what, step)


def reused(
    across: Shared, address: Address, record: RecordedEntity, row: LiveEntity, entity: Entity | None
) -> Skip | None:
    """Return why an entity is not acted on whose recorded id may be somebody else now (M9), or None.

    Not where a person has confirmed it, nor where it is whom the manifest declares by now.
    """
    if str(address) in across.options.confirmed:
        return None
    keys, declared = across.rules.identity.of(address.kind), entity.fields if entity else None
    salt = across.salts.store
    found = find_reuse(address, record, row.fields, declared, keys=keys, salt=salt, known=row.known)
    if found is None:
        return None
    what, step = describe_reuse(address, row.remote_id, found, keys)
    return Skip(address, "somebody else", f"{what}; left alone.", step)
