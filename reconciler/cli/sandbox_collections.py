"""The collections of the sandbox for the kinds that a profile brings.

The profile is their only specification: a mistake in one is the same in client and sandbox, as with no other
collection of the sandbox.
"""

from collections.abc import Mapping

from reconciler.model.field_types import SandboxType, require_rows
from reconciler.model.kind import Field, Kind
from reconciler.model.profile import Profile, build_own_kinds
from reconciler.sandbox import collections


def build_own_collections(profile: Profile) -> tuple[collections.Collection, ...]:
    """Return a row of the sandbox for each kind of a profile's own."""
    return tuple(map(_build_collection, build_own_kinds(profile.kinds)))


def _build_collection(kind: Kind) -> collections.Collection:
    fields = [one for one in kind.declarable if one.head == one.name]
    known = {one.name: one for one in fields}
    return collections.Collection(
        name=kind.name,
        plural=kind.segment,
        rows=kind.rows_key,
        media=kind.media,
        fields=tuple(_build_row_field(kind, one) for one in fields),
        in_workspaces=not kind.company,
        brief=tuple(_wire_name(known[name]) for name in kind.headline if name in known) if kind.brief else (),
        unique=tuple(_wire_name(known[name]) for name in kind.unique if name in known),
        spares=tuple(_wire_name(one) for one in fields if one.sticky),
    )


def _build_row_field(kind: Kind, field: Field) -> collections.RowField:
    parts, type_ = kind.groups.get(field.name, ()), _TYPES[field.row.sandbox]
    if type_ is None:
        raise TypeError(
            f"{kind.name}.{field.name}: a kind of a profile has no field of the type {field.type}"
        )
    return collections.RowField(
        _wire_name(field).rpartition(".")[2],
        field.required or any(part.required for part in parts),
        tuple(field.words.values()),
        type_,
        withheld=field.write_only,
        parts=tuple(_build_row_field(kind, part) for part in parts),
    )


# To the sandbox an address or a number is any text: it judges the form of none. None: no kind of a
# profile has such a field.
_TYPES: Mapping[SandboxType, collections.RowFieldType | None] = require_rows(
    SandboxType, {"none": None, "text": "text", "flag": "flag", "number": "number", "group": "group"}
)


def _wire_name(field: Field) -> str:
    return field.wire or field.name
