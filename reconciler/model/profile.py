"""Profile: what differs between deployments of the service, and the kinds that only one deployment has.

Pure values; service/profile.py reads a profile, schemas/profile.schema.json checks its form.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct

from reconciler.model.field_types import FIELD_TYPES, OwnType
from reconciler.model.kind import Field, Kind
from reconciler.model.kinds import BUILT_IN_KINDS

# --- Kinds that only one deployment has -----------------------------------------------------------
# Installations have collections that no specification names: templates, response rules, distribution lists.
# Such a kind is data, in the words of kind.py, and is planned, written and guarded like any other.


# Keys of a manifest that are no kind; a test holds them equal to those of schemas/manifest.schema.json.
RESERVED = frozenset({"version", "workspace", "tags", "defaults", "rosters", "removed", "consent"})
# The form of a kind's name, which begins addresses.
KIND_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)
# Collections of the service that are no kind, and documents of it that have a form of their own.
_SERVED = frozenset({"workspaces", "messages", "imports", "auth"})
_FORMS = frozenset(
    {"workspace", "message", "bulkmessage", "importcontact", "messagestatus", "company", "auth"}
)
# What the service gives every entity, and an entry has beside its fields.
_TAKEN = frozenset({"id", "link", "meta"})


class FieldRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One field, as a profile writes it; `one_of` are the words of the service. The rest: `Field`."""

    type: OwnType = "text"
    title: str = ""
    about: str = ""
    example: str = ""
    wire: str = ""
    required: bool = False
    server_owned: bool = False
    write_only: bool = False
    secret: bool = False
    sticky: bool = False
    own: bool = False
    absent: str = ""
    one_of: tuple[str, ...] = ()
    pattern: str = ""


class KindRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One kind, as a profile writes it.

    `plural` is the name with an s where it is empty, `path` and `rows` the plural, `media` the name.
    `scope`: entities belong to a workspace, or to the account. `listing`: lists show `whole` entities, or
    a `brief` part of each.
    """

    fields: Mapping[str, FieldRow]
    identity: tuple[str, ...]
    plural: str = ""
    path: str = ""
    rows: str = ""
    media: str = ""
    title: str = ""
    about: str = ""
    together: bool = False
    unique: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    wave: int = 1
    scope: Literal["workspace", "account"] = "workspace"
    listing: Literal["whole", "brief"] = "whole"
    in_use: str = ""


class KindContradiction(NamedTuple):
    """What makes a row unusable: where it stands below `kinds`, what is wrong, what to do."""

    path: tuple[str, ...]
    what: str
    hint: str


def build_own_kinds(rows: Mapping[str, KindRow]) -> tuple[Kind, ...]:
    """Return the kinds that these rows describe; only of rows without contradictions."""
    return tuple(_make_kind(name, row) for name, row in rows.items())


def find_kind_contradictions(rows: Mapping[str, KindRow]) -> Iterator[KindContradiction]:
    """Yield what no form can see: names that are taken, and columns that name no field or a wrong one."""
    plurals = {kind.plural: kind.name for kind in BUILT_IN_KINDS.values()}
    paths = {kind.segment for kind in BUILT_IN_KINDS.values()} | _SERVED
    media = {kind.media for kind in BUILT_IN_KINDS.values()} | _FORMS
    for name, row in rows.items():
        plural, key = row.plural or f"{name}s", "plural" if row.plural else ""
        if name in BUILT_IN_KINDS:
            yield KindContradiction((name,), f"{name} is a built-in kind.", "give the kind another name")
        elif plural in plurals or plural in RESERVED:
            what = f"{plural} is already a key of manifests."
            yield KindContradiction(tuple(filter(None, (name, key))), what, "give it another `plural`")
        elif (row.path or plural) in paths or (row.media or name) in media:
            what = f"the service has /{row.path or plural}, or this media type, already."
            yield KindContradiction((name,), what, "give it another `path` or `media`")
        plurals.setdefault(plural, name)
        paths.add(row.path or plural)
        media.add(row.media or name)
        yield from (
            one._replace(path=(name, *one.path)) for one in chain(_of_fields(row), _of_columns(name, row))
        )


def _of_fields(row: KindRow) -> Iterator[KindContradiction]:
    wires: dict[str, str] = {}
    for name, field in row.fields.items():
        path, head = ("fields", name), name.partition(".")[0]
        group = row.fields.get(head)
        if head != name and field.wire:
            yield KindContradiction(
                path, f"{name} is in a group.", "leave `wire` out: its last part is its name"
            )
        if name in _TAKEN:
            yield KindContradiction(path, f"every entity has its own {name}.", "leave it out")
        if head != name and (group is None or FIELD_TYPES[group.type].shape != "group"):
            yield KindContradiction(path, f"{head} is no group.", f"write `{head}: {{type: group}}` above it")
        if field.required and field.server_owned:
            what = f"{name} is required, and server_owned: no manifest could give it."
            yield KindContradiction(path, what, "keep one of the two")
        if field.type != "text" and field.one_of:
            yield KindContradiction(
                path, f"{name} is a {field.type} and has words.", "leave one of the two out"
            )
        if field.pattern and not _is_valid_pattern(field.pattern):
            what = f"the pattern of {name} is not a regular expression."
            yield KindContradiction((*path, "pattern"), what, "check its brackets")
        first = wires.setdefault(field.wire or name, name)
        if first != name:
            what = f"{name} and {first} have the same name in bodies."
            yield KindContradiction(path, what, "give one of them another `wire`")


def _of_columns(name: str, row: KindRow) -> Iterator[KindContradiction]:
    readable = [key for key, field in row.fields.items() if _is_distinctive(field)]
    for column in ("identity", "unique", "headline"):
        for index, path in enumerate(getattr(row, column)):
            if path not in readable:
                state = "is not a field that can be read back" if path in row.fields else "is no field"
                what = f"{column} names {path!r}, which {state}."
                hint = f"name one of: {', '.join(readable)}" if readable else f"give the {name} fields"
                yield KindContradiction((column, str(index)), what, hint)
    if not row.identity:
        what = f"a {name} without an identity cannot be found again."
        yield KindContradiction(("identity",), what, f"name a field that no two {name} share")


def _is_distinctive(field: FieldRow) -> bool:
    """Whether a field shows which entity it is: it is declared, shown by the service, and by us."""
    return FIELD_TYPES[field.type].shape != "group" and not (
        field.server_owned or field.write_only or field.secret
    )


def _is_valid_pattern(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _make_kind(name: str, row: KindRow) -> Kind:
    plural, title = row.plural or f"{name}s", row.title or name.replace("-", " ").capitalize()
    fields = tuple(_make_field(key, one) for key, one in row.fields.items())
    declared = [one for one in fields if not one.server_owned]
    return Kind(
        name=name,
        plural=plural,
        path=row.path,
        rows=row.rows,
        media=row.media or name,
        identity=row.identity,
        fields=(*fields, *(Field(one, server_owned=True) for one in ("id", "link"))),
        wave=row.wave,
        headline=row.headline or row.identity,
        telling=tuple({one.wire or one.name: None for one in declared if one.head == one.name}),
        title=title,
        about=row.about or f"One {name} of this deployment.",
        listed=f"Write each {name} under its name.",
        example={one.name: one.example for one in declared if one.required and one.head == one.name},
        example_name="example",
        together=row.together,
        unique=row.unique,
        brief=row.listing == "brief",
        company=row.scope == "account",
        in_use=row.in_use,
    )


def _make_field(name: str, row: FieldRow) -> Field:
    return Field(
        name=name,
        title=row.title or name,
        about=row.about or f"The {name} of this deployment.",
        example=row.example or (row.one_of or (name,))[0],
        type=row.type,
        wire=row.wire,
        required=row.required,
        server_owned=row.server_owned,
        write_only=row.write_only,
        secret=row.secret,
        sticky=row.sticky,
        own=row.own,
        absent=row.absent == "true" if row.absent and FIELD_TYPES[row.type].normal == "flag" else row.absent,
        words={word.lower(): word for word in row.one_of},
        pattern=row.pattern,
    )


# --- The profile ----------------------------------------------------------------------------------


_Word = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")]
_Field = Annotated[str, Meta(pattern=r"\A[A-Za-z][A-Za-z0-9_]{0,99}\Z")]


class Capabilities(Struct, frozen=True, forbid_unknown_fields=True):
    """Writes that the specification does not describe: a deployment may not have them.

    `devices_write` is about creating and deleting; replacing a device is in the specification.
    """

    contacts_write: bool
    devices_write: bool
    resources_write: bool = True


class ProfileLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """What the deployment accepts at most; 0: not known. Settings may only lower it."""

    requests_per_second: Annotated[float, Meta(ge=0)] = 0.0
    request_bytes: Annotated[int, Meta(ge=0)] = 0


class Retention(Struct, frozen=True, forbid_unknown_fields=True):
    """How long the service keeps things, in days; 0: not known. No decision depends on it."""

    resources: Annotated[int, Meta(ge=0)] = 0
    failed_callbacks: Annotated[int, Meta(ge=0)] = 0


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """One deployment. `page_max` in rows; `search_names` maps a body's field to its query parameter.

    `contact_feed` says whether its contacts may be read by what changed in their list.
    `field_names` maps a field of a contact as this program spells it to the deployment's own spelling.
    `kinds` are those that only this deployment has, by their names.
    """

    vendor: _Word
    page_max: Annotated[int, Meta(ge=1, le=1000)]
    next_relations: frozenset[_Word]
    previous_relations: frozenset[_Word]
    search_names: Mapping[_Field, _Field]
    unpaged: frozenset[_Word]
    capabilities: Capabilities
    contact_feed: bool = True
    field_names: Mapping[_Field, _Field] = {}
    limits: ProfileLimits = ProfileLimits()
    retention: Retention = Retention()
    kinds: Mapping[str, KindRow] = {}

    @property
    def missing(self) -> frozenset[tuple[str, str]]:
        """The kinds and actions that this deployment does not offer: `("device", "create")`."""
        lacking = (
            kind
            for kind in BUILT_IN_KINDS.values()
            if not getattr(self.capabilities, f"{kind.plural}_write", True)
        )
        return frozenset((kind.name, action) for kind in lacking for action in kind.optional)

    def names(self, kind: Kind) -> Mapping[str, str]:
        """The deployment's spelling of fields of a kind, where it has another one."""
        return self.field_names if kind.respelt else {}

    def read(self, kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
        """A body with this program's names. Where both spellings stand, both are left alone."""
        names = self.names(kind)
        return _rename_keys(body, {theirs: ours for ours, theirs in names.items()}) if names else body

    def written(self, kind: Kind, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """A body with the deployment's names; the reverse of `read`."""
        return _rename_keys(body, self.names(kind))

    def searched(self, kind: Kind, name: str) -> str:
        """The query parameter of a field of a kind."""
        names = {**self.field_names, **self.search_names} if kind.respelt else {}
        return names.get(name, name)


def _rename_keys(body: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        names[key] if key in names and names[key] not in body else key: value for key, value in body.items()
    }
