"""Deletes and creates of one plan that look like one entity under a new name: a hint, and nothing more.

An entry whose name and identity both change is a delete and a create to a plan, and the person loses what
the service keeps of her. `meta.renamedFrom` says that it is the same one (rule M6); this finds where somebody
may have forgotten to say so. Nothing is decided by it, and no fingerprint covers it.

Two look alike where they share one trait that no other delete and no other create of the plan shares, so
every change is looked at once, however many there are.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from reconciler.core.compare.identity import email_key
from reconciler.core.compare.normalize import WITHHELD
from reconciler.model.address import Address
from reconciler.model.documents import Fields
from reconciler.model.field_types import LookalikeRule, require_rows
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Create, Delete, Plan

_names_min = 2  # texts of a headline that are somebody's name together; one alone is a word
_local_min = 3  # characters before the @ that may tell one person from another
_TRAITS = ("secret", "email", "name and phone", "local part")  # the strongest first

_Trait = tuple[str, ...]


def lookalikes(plan: Plan) -> dict[Address, Address]:
    """Return, by the address of a create, the delete that looks like it, and the other way round.

    Both are of one kind in one workspace, and below one entity. Same plan, same result, in any order.
    """
    gone: dict[_Trait, list[Address]] = defaultdict(list)
    made: dict[_Trait, list[Address]] = defaultdict(list)
    for change in plan.changes:
        if isinstance(change, Delete) and change.cause != "duplicate":
            for trait in _traits_of(change.address, change.before):
                gone[trait].append(change.address)
    # A first plan creates everybody and deletes nobody: of a create only what may be a pair is kept.
    for change in plan.changes if gone else ():
        if isinstance(change, Create):
            for trait in _traits_of(change.address, change.fields) & gone.keys():
                made[trait].append(change.address)
    found: dict[Address, Address] = {}
    for trait in sorted(made, key=lambda one: (_TRAITS.index(one[0]), one)):
        if len(gone[trait]) == len(made[trait]) == 1:
            old, new = gone[trait][0], made[trait][0]
            if old not in found and new not in found:
                found |= {old: new, new: old}
    return found


def _traits_of(address: Address, fields: Fields) -> set[_Trait]:
    place = (address.kind, address.workspace, address.parent)
    return {(form, *place, *parts) for form, *parts in _traits(address.kind, fields)}


def _traits(kind: str, fields: Fields) -> Iterator[_Trait]:
    """Yield what may tell that two of a kind are one, by the types of its fields."""
    row = KINDS[kind]
    names = [fields.get(path, "") for path in row.presented if row.type_of(path).lookalike == "name"]
    name = tuple(map(str, names[:_names_min])) if len(names) >= _names_min and all(names[:_names_min]) else ()
    for path, value in fields.items():
        if not isinstance(value, str) or value in ("", WITHHELD):
            continue
        if path in row.secret:
            yield "secret", path, value  # masked: equal ones have equal masks within a plan
        else:
            yield from _TRAITS_OF[row.type_of(path).lookalike](path, value, name)


def _of_email(_path: str, value: str, _name: tuple[str, ...]) -> Iterator[_Trait]:
    whole = email_key(value)
    local = whole.partition("@")[0]
    yield "email", whole
    if len(local) >= _local_min:
        yield "local part", local


def _of_phone(_path: str, value: str, name: tuple[str, ...]) -> Iterator[_Trait]:
    if name:
        yield "name and phone", *name, "".join(filter(str.isdecimal, value))


def _of_nothing(_path: str, _value: str, _name: tuple[str, ...]) -> Iterator[_Trait]:
    yield from ()


# What one value may tell, with the name of whoever has it, by the type of its field. A name alone tells
# nothing: two people of one name are nothing unusual.
_TRAITS_OF: Mapping[LookalikeRule, Callable[[str, str, tuple[str, ...]], Iterator[_Trait]]] = require_rows(
    LookalikeRule, {"nothing": _of_nothing, "name": _of_nothing, "email": _of_email, "phone": _of_phone}
)
