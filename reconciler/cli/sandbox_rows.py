"""The rows of the sandbox for the kinds that a profile brings: it shares no table with the client."""

from reconciler.model.kind import Field, Kind
from reconciler.model.own_kinds import own_kinds
from reconciler.model.profile import Profile
from reconciler.sandbox.collections import row


def rows_of(profile: Profile) -> tuple[row.Collection, ...]:
    """Return a row of the sandbox for each kind of a profile's own."""
    return tuple(map(_row, own_kinds(profile.kinds)))


def _row(kind: Kind) -> row.Collection:
    fields = [one for one in kind.declarable if one.head == one.name]
    return row.Collection(
        name=kind.name,
        plural=kind.plural,
        media=kind.media,
        fields=tuple(row.Field(_wire(one), one.required, tuple(one.words.values())) for one in fields),
        in_workspaces=not kind.company,
        brief=tuple(_wire(kind.by_name[name]) for name in kind.headline) if kind.brief else (),
        unique=tuple(_wire(kind.by_name[name]) for name in kind.unique),
        spares=tuple(_wire(one) for one in fields if one.sticky),
    )


def _wire(field: Field) -> str:
    return field.wire or field.name
