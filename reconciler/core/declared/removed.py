"""Names under `removed:`, and those given to `forget`: whose entry leaves while what is live stays (rule X7).

Belongs here: which addresses these are, and what contradicts them. Not here: what a plan does about them
(leaving.py).
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import structs

from reconciler.core.declared.crosscheck import DeclaredEntities, address_of
from reconciler.errors import Problem
from reconciler.model.address import Address, make_address, parse_address
from reconciler.model.documents import Manifest, Place
from reconciler.model.plans import Options
from reconciler.model.snapshots import Desired

_COMMAND_LINE = Place("the command line")


def removed(manifests: Iterable[Manifest]) -> dict[Address, Place]:
    """Return the addresses that the manifests name under `removed:`, in their order, each at its first place.

    The same name in several files says the same thing, so that is no mistake.
    """
    found: dict[Address, Place] = {}
    for manifest in manifests:
        for one in manifest.removed:
            found.setdefault(
                make_address(one.kind, manifest.workspace, one.name, parent=one.parent), one.place
            )
    return dict(sorted(found.items()))


def contradictions(group: DeclaredEntities, names: Mapping[Address, Place]) -> Iterator[Problem]:
    """Yield what is removed and still declared, or still claimed by a new name (rule M6)."""
    for address in names.keys() & group.first.keys():
        what = f"{address} is removed here, and still declared at {group.first[address].place()}."
        yield names[address].problem(what, "take out the entry, or this name", code="E316")
    for one in group.every:
        old = one.document.controls.renamed_from
        before = address_of(one.document, one.entity.address.workspace, old) if old else None
        if before is not None and before in names:
            what = f"meta.renamedFrom: {before} is removed, {names[before]}."
            hint = "a renamed entry stays ours: take out one of the two"
            yield one.problem("", what, hint, code="E316")


def with_forgotten(desired: Desired, options: Options) -> Desired:
    """Return what is desired, with the addresses of `forget` among those that leave."""
    named = (parse_address(text) for text in options.forget)
    more = {one: _COMMAND_LINE for one in named if one is not None}
    return structs.replace(desired, removed={**more, **desired.removed}) if more else desired
