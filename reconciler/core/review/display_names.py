"""Display names of the entities of a plan; and which delete and create may be one entity renamed.

A create and a delete hold their fields. For other changes, adoptions and skips a plan has only the address,
which says little to a reviewer. Names are shown beside a plan and never stored: not in the fingerprint, not
in the plan file. docs/reports.md says which outputs may hold them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from reconciler.core.compare.identity import email_key
from reconciler.core.compare.normalize import WITHHELD
from reconciler.core.rules import Rules
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.field_types import LookalikeRule, require_rows
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Create, Delete, Plan, Update
from reconciler.model.snapshots import Desired, Live, LiveEntity, Recorded, Scope

DisplayName = Callable[[Address], str]  # who somebody is, in one line; "" where nothing is known

_names_max = 2  # texts of a headline that are a name


def no_name(_address: Address) -> str:
    """Return "": where there is a plan and nothing else, everybody is an address."""
    return ""


def make_display_name(
    plan: Plan, desired: Desired, live: Live, recorded: Recorded, rules: Rules
) -> DisplayName:
    """Return what says who an entity is: as it is live, else as it is declared or was recorded.

    Nothing is computed until somebody is asked for: a plan is made often, and its names are shown seldom.
    Never a secret, nor what is never read back.
    """

    @cache
    def ids() -> Mapping[Address, str]:
        return dict(_live_ids(plan))

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
        return _name_of(address.kind, {path: str(value) for path, value in known.items()}, rules)

    return who


def _live_ids(plan: Plan) -> Iterator[tuple[Address, str]]:
    """Yield the addresses of which the plan has the id at the service; of others a record may have it."""
    yield from ((one.address, one.remote_id) for one in plan.adoptions)
    yield from ((one.address, one.remote_id) for one in plan.changes if isinstance(one, (Update, Delete)))


def _name_of(kind: str, fields: Fields, rules: Rules) -> str:
    row = KINDS[kind]
    shown = [path for path in row.presented if row.type_of(path).lookalike == "name" and fields.get(path)]
    names = shown[:_names_max]
    keys = (key for key in rules.identity.of(kind) if all(fields.get(path) for path in key))
    identity = next(keys, ())
    told = [path for path in identity if path not in row.secret | row.write_only and path not in names]
    return ", ".join(
        filter(None, [" ".join(str(fields[path]) for path in names), *(str(fields[path]) for path in told)])
    )


# --- Lookalikes: a delete and a create that look like one entity under a new name -----------------
#
# A hint, and nothing more. # An entry whose name and identity both change is a delete and a create to a plan,
# and the person loses what the service keeps of her. `meta.renamedFrom` says that it is the same one (rule
# M6); this finds where somebody may have forgotten to say so. Nothing is decided by it, and no fingerprint
# covers it.
#
# Two look alike where they share one trait that no other delete and no other create of the plan shares, so
# every change is looked at once, however many there are.


_lookalike_names = 2  # texts of a headline that are somebody's name together; one alone is a word
_local_min = 3  # characters before the @ that may tell one person from another
_TRAITS = ("secret", "email", "name and phone", "local part")  # the strongest first

_Trait = tuple[str, ...]


def find_lookalikes(plan: Plan) -> dict[Address, Address]:
    """Return, by the address of a create, the delete that looks like it, and the other way round.

    Both are of one kind in one workspace, and below one entity. Same plan, same result, in any order.
    """
    gone: dict[_Trait, list[Address]] = defaultdict(list)
    made: dict[_Trait, list[Address]] = defaultdict(list)
    for change in plan.changes:
        if isinstance(change, Delete) and change.cause != "duplicate":
            for trait in _placed_traits(change.address, change.before):
                gone[trait].append(change.address)
    # A first plan only creates: of a create only what may be half of a pair is kept.
    for change in plan.changes if gone else ():
        if isinstance(change, Create):
            for trait in _placed_traits(change.address, change.fields) & gone.keys():
                made[trait].append(change.address)
    found: dict[Address, Address] = {}
    for trait in sorted(made, key=lambda one: (_TRAITS.index(one[0]), one)):
        if len(gone[trait]) == len(made[trait]) == 1:
            old, new = gone[trait][0], made[trait][0]
            if old not in found and new not in found:
                found |= {old: new, new: old}
    return found


def _placed_traits(address: Address, fields: Fields) -> set[_Trait]:
    place = (address.kind, address.workspace, address.parent)
    return {(form, *place, *parts) for form, *parts in _field_traits(address.kind, fields)}


def _field_traits(kind: str, fields: Fields) -> Iterator[_Trait]:
    """Yield what may tell that two of a kind are one, by the types of its fields."""
    row = KINDS[kind]
    names = [fields.get(path, "") for path in row.presented if row.type_of(path).lookalike == "name"]
    name = (
        tuple(map(str, names[:_lookalike_names]))
        if len(names) >= _lookalike_names and all(names[:_lookalike_names])
        else ()
    )
    for path, value in fields.items():
        if not isinstance(value, str) or value in ("", WITHHELD):
            continue
        if path in row.secret:
            yield "secret", path, value  # masked: equal ones have equal masks within a plan
        else:
            yield from _TRAITS_OF[row.type_of(path).lookalike](path, value, name)


def _email_traits(_path: str, value: str, _name: tuple[str, ...]) -> Iterator[_Trait]:
    whole = email_key(value)
    local = whole.partition("@")[0]
    yield "email", whole
    if len(local) >= _local_min:
        yield "local part", local


def _phone_traits(_path: str, value: str, name: tuple[str, ...]) -> Iterator[_Trait]:
    if name:
        yield "name and phone", *name, "".join(filter(str.isdecimal, value))


def _no_traits(_path: str, _value: str, _name: tuple[str, ...]) -> Iterator[_Trait]:
    yield from ()


# What one value may tell, with the name of the entity, by the type of its field. A name alone tells
# nothing: two people of one name are nothing unusual.
_TRAITS_OF: Mapping[LookalikeRule, Callable[[str, str, tuple[str, ...]], Iterator[_Trait]]] = require_rows(
    LookalikeRule, {"nothing": _no_traits, "name": _no_traits, "email": _email_traits, "phone": _phone_traits}
)
