"""The hint that a delete and a create of a plan may be one entity under a new name.

For every form of a plan: the sentences here; below them lines of text, and values for JSON. Nothing is
decided by them; which entities are meant is core/review/lookalikes.py.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from reconciler.core.review.lookalikes import lookalikes
from reconciler.model.address import Address
from reconciler.model.plans import Change, Create, Plan
from reconciler.report.lines import Line, line

_WITH_META = (".yaml", ".yml", ".json")  # an entry in one of these may have a `meta:`; a row of a roster not


class RenameHint(NamedTuple):
    """What a change looks like, and what to write where that is so ("": the other one says it)."""

    what: str
    next: str = ""


def rename_hint(alike: Mapping[Address, Address], change: Change) -> RenameHint | None:
    """Return the hint about a change, where `alike`, the `lookalikes` of its plan, has one."""
    other = alike.get(change.address)
    if other is None:
        return None
    if not isinstance(change, Create):
        return RenameHint(f"looks like {other}, which is created: see there")
    file, _, _ = change.place.rpartition(":")
    step = f"if it is one: `meta: {{renamedFrom: {other.name}}}` at {change.place}"
    if not file.endswith(_WITH_META):
        step = "the rows of a roster cannot say so: keep the name, or declare it as an entry of a manifest"
    return RenameHint(f"looks like a rename of {other}, which is deleted", step)


class Lookalike(Struct, frozen=True):
    """A delete and a create that may be one entity under a new name; `next` is what to do where they are."""

    deleted: Address
    created: Address
    next: str


def lookalike_values(plan: Plan) -> tuple[Lookalike, ...]:
    """Return the hints of a plan for the JSON form, by the address of the create."""
    alike = lookalikes(plan)
    found = [
        Lookalike(alike[change.address], change.address, hint.next)
        for change in plan.changes
        if isinstance(change, Create) and (hint := rename_hint(alike, change))
    ]
    return tuple(sorted(found, key=lambda one: one.created))


def hint_lines(alike: Mapping[Address, Address], change: Change) -> list[Line]:
    """Return the hint about a change as lines below it; none where there is nothing to say."""
    hint = rename_hint(alike, change)
    if hint is None:
        return []
    step = [line("      next: ", hint.next)] if hint.next else []
    return [line("    ", (hint.what, "warn")), *step]
