"""Who the entities of a plan are, where the plan does not say: names, and the strongest identity.

A create and a delete hold their fields. Of what is updated, adopted, recorded anew or left alone a plan has
the address, and an address tells a reviewer little. Shown beside a plan and kept nowhere: no fingerprint, no
file. Not here: how it looks (report/text.py).
"""

from collections.abc import Iterator, Mapping

from reconciler.core.rules import Rules
from reconciler.model.address import Address
from reconciler.model.changes import Update
from reconciler.model.documents import Fields
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Plan
from reconciler.model.snapshots import Desired, Live, Recorded, Scope

_names_max = 2  # texts of a headline that are a name


def whom(plan: Plan, desired: Desired, live: Live, recorded: Recorded, rules: Rules) -> dict[Address, str]:
    """Return who each entity is, by address: as it is live, else as it is declared or was recorded.

    Nobody of whom nothing is known is in it. Never a secret, nor what is never read back.
    """
    wanted = dict(_concerned(plan, recorded))
    scopes = {Scope.of(address) for address in wanted}
    rows = {(scope, row.remote_id): row for scope in scopes for row in live.entities.get(scope, ())}
    found = {}
    for address, remote_id in wanted.items():
        entity, record = desired.entities.get(address), recorded.entities.get(address)
        row = rows.get((Scope.of(address), remote_id))
        known: Mapping[str, object] = {
            **(record.shown if record else {}),
            **(entity.fields if entity else {}),
            **(row.fields if row else {}),
        }
        if who := _who(address.kind, {path: str(value) for path, value in known.items()}, rules):
            found[address] = who
    return found


def _concerned(plan: Plan, recorded: Recorded) -> Iterator[tuple[Address, str]]:
    """Yield the addresses of which a plan holds no fields, each with the id at the service, or ""."""
    kept, left = (one.address for one in plan.records), (one.address for one in plan.skips)
    others = (*plan.renames.values(), *plan.gone, *kept, *left)
    for address in others:
        record = recorded.entities.get(address)
        yield address, record.remote_id if record else ""
    yield from ((one.address, one.remote_id) for one in plan.adoptions)
    yield from ((one.address, one.remote_id) for one in plan.changes if isinstance(one, Update))


def _who(kind: str, fields: Fields, rules: Rules) -> str:
    row = KINDS[kind]
    shown = [path for path in row.presented if row.type_of(path) == "text" and fields.get(path)]
    names = shown[:_names_max]
    keys = (key for key in rules.identity.of(kind) if all(fields.get(path) for path in key))
    identity = next(keys, ())
    told = [path for path in identity if path not in row.secret | row.write_only and path not in names]
    return ", ".join(
        filter(None, [" ".join(str(fields[path]) for path in names), *(str(fields[path]) for path in told)])
    )
