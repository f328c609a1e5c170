"""Who the entities of a plan are, where the plan does not say: names, and the strongest identity.

A create and a delete hold their fields. Of what is updated, adopted, recorded anew or left alone a plan has
the address, and an address tells a reviewer little. Shown beside a plan and kept nowhere: no fingerprint, no
plan file. Not here: how it looks (report/text.py), and which outputs may hold it (docs/reports.md).
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from reconciler.core.rules import Rules
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Delete, Plan, Update
from reconciler.model.snapshots import Desired, Live, LiveEntity, Recorded, Scope

Whom = Callable[[Address], str]  # who somebody is, in one line; "" where nothing is known

_names_max = 2  # texts of a headline that are a name


def nobody(_address: Address) -> str:
    """Return "": where there is a plan and nothing else, everybody is an address."""
    return ""


def whom(plan: Plan, desired: Desired, live: Live, recorded: Recorded, rules: Rules) -> Whom:
    """Return what says who an entity is: as it is live, else as it is declared or was recorded.

    Nothing is computed until somebody is asked for: a plan is made often, and its names are shown seldom.
    Never a secret, nor what is never read back.
    """

    @cache
    def ids() -> Mapping[Address, str]:
        return dict(_ids(plan))

    @cache
    def rows(scope: Scope) -> Mapping[str, LiveEntity]:
        return {row.remote_id: row for row in live.entities.get(scope, ())}

    def who(address: Address) -> str:
        entity, record = desired.entities.get(address), recorded.entities.get(address)
        remote_id = ids().get(address, record.remote_id if record else "")
        row = rows(Scope.of(address)).get(remote_id)
        known: Mapping[str, object] = {
            **(record.shown if record else {}),
            **(entity.fields if entity else {}),
            **(row.fields if row else {}),
        }
        return _who(address.kind, {path: str(value) for path, value in known.items()}, rules)

    return who


def _ids(plan: Plan) -> Iterator[tuple[Address, str]]:
    """Yield the addresses of which the plan has the id at the service; of others a record may have it."""
    yield from ((one.address, one.remote_id) for one in plan.adoptions)
    yield from ((one.address, one.remote_id) for one in plan.changes if isinstance(one, (Update, Delete)))


def _who(kind: str, fields: Fields, rules: Rules) -> str:
    row = KINDS[kind]
    shown = [path for path in row.presented if row.type_of(path).lookalike == "name" and fields.get(path)]
    names = shown[:_names_max]
    keys = (key for key in rules.identity.of(kind) if all(fields.get(path) for path in key))
    identity = next(keys, ())
    told = [path for path in identity if path not in row.secret | row.write_only and path not in names]
    return ", ".join(
        filter(None, [" ".join(str(fields[path]) for path in names), *(str(fields[path]) for path in told)])
    )
