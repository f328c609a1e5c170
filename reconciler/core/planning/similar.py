"""Who would be created although somebody live looks the same: a warning, and never an adoption.

`strauß@` beside a live `strauss@` may be two people or a slip. A plan creates what is declared, and says so.
"""

from collections.abc import Collection, Iterator, Mapping

from reconciler.core.compare.identity import appearance_of, identity_of, similarity_notice
from reconciler.core.planning.parts import ScopePlan
from reconciler.core.planning.scopes import Matched, Shared
from reconciler.core.rules import Key
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Create
from reconciler.model.snapshots import LiveEntity


def warn_of_similar_live(across: Shared, at: Matched, creates: Collection[Create]) -> Iterator[ScopePlan]:
    """Yield a warning for each entity to be created whose identity looks like that of a live one.

    The id names the live one, and no value: a plan shows nothing of whoever it leaves alone.
    """
    kind = KINDS[at.group.scope.kind]
    for key in across.rules.identity.of(kind.name) if creates else ():
        if not kind.secret.isdisjoint(key):
            continue
        alike: Mapping[tuple[str, ...], LiveEntity] = {
            look: row for row in at.group.rows if (look := appearance_of(key, row.fields)) is not None
        }
        for create in creates:
            fields = at.group.entities[create.address].fields
            row = alike.get(appearance_of(key, fields) or ())
            if row is not None and identity_of(key, row.fields) != identity_of(key, fields):
                yield _warned(at, create, key, row)


def _warned(at: Matched, create: Create, key: Key, row: LiveEntity) -> ScopePlan:
    other = f"the live {row.kind} of the id {row.remote_id}"
    place = at.group.entities[create.address].place
    return ScopePlan(notices=(similarity_notice(create.address, key, other, place),))
