"""Kind and Field: what a row of the table of kinds can say. The rows themselves are in kinds.py.

Everything that the program knows of any kind of entity is a column here. Whatever needs to know more asks for
a column, not for the kind's name. What only one kind has is a rule of its own, and names it: how many devices
of an app and which push tokens there may be (core/desired/crosscheck.py), what XML alone knows
(service/xml/documents.py).
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from msgspec import Struct

from reconciler.model.field_types import FIELD_TYPES, FieldShape, FieldType, IdentityKey, TypeRow

# By their names: fields that only a deployment has (`fields.contacts`) have no row, so no type.
PHONE_NAME = re.compile(r"Phone|Mobile|Fax")


class IdentityPath(str):
    """The path of an identity field, which says by itself how its values are compared."""

    __slots__ = ("area", "countries", "key", "region")
    key: IdentityKey
    area: str
    countries: tuple[str, ...]
    region: str

    def __new__(
        cls, path: str, key: IdentityKey, area: str = "", countries: tuple[str, ...] = (), region: str = ""
    ) -> Self:
        """Return the path with the form in which two of its values are one identity.

        Of a phone number: `area` is the field of its area code, `countries` the fields that name its country,
        the first one first, and `region` the code of the country where none of them does.
        """
        made = super().__new__(cls, path)
        made.key, made.area, made.countries, made.region = key, area, countries, region
        return made

    def __reduce__(self) -> tuple[type["IdentityPath"], tuple[str, IdentityKey, str, tuple[str, ...], str]]:
        """Return what a copy is made of."""
        return IdentityPath, (str(self), self.key, self.area, self.countries, self.region)

    @property
    def beside(self) -> tuple[str, ...]:
        """The other fields that its value is read with."""
        return (*((self.area,) if self.area else ()), *self.countries)


# An identity: the paths whose values must all be equal.
Key = tuple[str, ...]


def _key_by_name(path: str) -> IdentityKey:
    """Return how values of a field are compared that only a deployment has, and no row knows: by its name."""
    if "EmailAddress" in path:
        return "email"
    return "phone" if PHONE_NAME.search(path) else "text"


class Field(Struct, frozen=True):
    """One field of a kind: its name in manifests, what editors show of it, and how it behaves.

    A field of a group has the group's name, a dot and its own. `title`, `about` and `example` are for people;
    a field of the service alone has none. `wire` is the name in bodies where that is another. `required`: the
    service takes no entity without it. `server_owned`: read and never sent. `write_only`: sent and never read
    back. `secret`: shown nowhere. `sticky`: it survives a full-replace PUT that leaves it out, so leaving it
    out cannot clear it. `absent` is what it means where the service shows nothing of it, nor of its group.
    `own`: never a default, because no two entities share it. `words` map each spelling, in lower case, to the
    word of the service that it stands for; `loose`: manifests may write any of these spellings. `pattern` is
    what its text has to match. `area` is the field of a phone number's area code. `revives` is, of a status
    that the service sets by itself, that value and the one that takes it back.
    """

    name: str
    title: str = ""
    about: str = ""
    example: str = ""
    type: FieldType = "text"
    wire: str = ""
    required: bool = False
    server_owned: bool = False
    write_only: bool = False
    secret: bool = False
    sticky: bool = False
    own: bool = False
    absent: str | bool = ""
    words: Mapping[str, str] = {}
    loose: bool = False
    pattern: str = ""
    area: str = ""
    revives: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        """Raise TypeError for a type that has no row: nothing would follow from it."""
        if self.type not in FIELD_TYPES:
            raise TypeError(
                f"{self.name}: {self.type!r} is no type of field (reconciler/model/field_types.py)"
            )

    @property
    def row(self) -> TypeRow:
        """What its type means."""
        return FIELD_TYPES[self.type]

    @property
    def head(self) -> str:
        """The name of its group, or its own where it stands alone."""
        return self.name.partition(".")[0]


class Listing(Struct, frozen=True):
    """What the rows of a list tell, where they are brief. Source: docs/service.md, lists.

    `always` are the fields that every row shows, and `alike` those of them that two of the same share.
    `witness` is a field of every whole entity that only a row which has honoured `fields=` shows; `whole` are
    fields that are never asked for by name: a row that shows one is whole. `spare` are fields that mean
    nothing to a lookup: asked for in any order, they make its address new. `changed` is the key that tells
    when an entity was changed, where the list can be had in that order.
    """

    always: frozenset[str] = frozenset()
    alike: tuple[str, ...] = ()
    witness: str = ""
    whole: frozenset[str] = frozenset()
    changed: str = ""
    spare: tuple[str, ...] = ()


class Kind(Struct, frozen=True, dict=True):
    """One kind of entity.

    `plural` is its key in manifests; `path` the last segment of its collection's path, and `rows` the key
    under which a list has its rows, both the plural where they are empty; `media` the <kind> of the
    vendor's media type. `identity` are the default identity fields: each alone in order of preference, or
    `together`. `unique` fields must differ whatever the settings call the identity. `parent` is the kind
    that it belongs to, below whose entries it stands. `wave`: lower ones are written first, and deleted
    last. `headline` is what a plan shows first. `telling`: a body with none of these is no entity of this
    kind. `optional` are the actions that a deployment may lack (the profile says so). `marked`: a custom
    field may carry our ownership mark. `brief`: lists show part of each entity, and `listing` which.
    `company`: it belongs to no workspace, and stands in manifests of the workspace `default` alone.
    `in_use` says why a delete of one always asks for consent. `rosters`: rows of a CSV file may declare
    it. `respelt`: a profile may spell its fields in another way. `tickets`: the lock in the service keeps
    its tickets among them. `title`, `about`, `listed` (of the section that holds them) and `example` are
    for editors.
    """

    name: str
    plural: str
    media: str
    identity: tuple[str, ...]
    fields: tuple[Field, ...]
    wave: int
    headline: tuple[str, ...]
    telling: tuple[str, ...]
    title: str = ""
    about: str = ""
    listed: str = ""
    example: Mapping[str, object] = {}
    example_name: str = ""
    path: str = ""
    rows: str = ""
    parent: str = ""
    together: bool = False
    unique: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()
    marked: bool = False
    brief: bool = False
    listing: Listing = Listing()
    company: bool = False
    in_use: str = ""
    rosters: bool = False
    respelt: bool = False
    tickets: bool = False

    @cached_property
    def segment(self) -> str:
        """The last segment of its collection's path."""
        return self.path or self.plural

    @cached_property
    def rows_key(self) -> str:
        """The key under which a list, or a parent, has its rows."""
        return self.rows or self.plural

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """Its fields by their names in manifests."""
        return {field.name: field for field in self.fields}

    @cached_property
    def declarable(self) -> tuple[Field, ...]:
        """The fields that a manifest may declare."""
        return tuple(field for field in self.fields if not field.server_owned)

    @cached_property
    def keys(self) -> tuple[Field, ...]:
        """The fields that a manifest may declare, as the keys of an entry: a group is one."""
        return tuple(field for field in self.declarable if field.head == field.name)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """What the service takes no entity without. A manifest declares it: all but `needed_to_create`."""
        return tuple(field.name for field in self.fields if field.required)

    @cached_property
    def server_owned(self) -> frozenset[str]:
        """What is read and never sent."""
        return frozenset(field.name for field in self.fields if field.server_owned)

    @cached_property
    def write_only(self) -> frozenset[str]:
        """What is sent and never read back."""
        return frozenset(field.name for field in self.fields if field.write_only)

    @cached_property
    def unread(self) -> frozenset[str]:
        """What is never compared with what a body shows."""
        return self.server_owned | self.write_only

    @cached_property
    def memory(self) -> dict[str, Any]:
        """What core/compare/normalize.py has looked up in these columns, by path."""
        return {}

    @cached_property
    def secret(self) -> frozenset[str]:
        """What is shown nowhere."""
        return frozenset(field.name for field in self.fields if field.secret)

    @cached_property
    def readable_secrets(self) -> frozenset[str]:
        """Secrets that a read may show. Not declared, they are not ours: a PUT carries what a look showed."""
        return frozenset(field.name for field in self.fields if field.secret) - self.unread

    @cached_property
    def needed_to_create(self) -> tuple[str, ...]:
        """Readable secrets without which nothing is made, though what exists is managed without them."""
        return tuple(path for path in self.required if path in self.readable_secrets)

    @cached_property
    def guessable(self) -> frozenset[str]:
        """Secrets that people choose: one could be guessed from a fast digest of it."""
        return self.secret & self.write_only

    @cached_property
    def veiled(self) -> frozenset[str]:
        """What a record cannot be compared with as it stands: it holds a digest, or nothing is shown."""
        return self.secret | self.write_only

    @cached_property
    def revives(self) -> Mapping[str, tuple[str, str]]:
        """By field that the service sets by itself: that value, and the one that takes it back."""
        return {field.name: field.revives for field in self.fields if field.revives}

    @cached_property
    def presented(self) -> tuple[str, ...]:
        """What of its headline may stand in a list: no secret, and nothing that is never read back."""
        return tuple(path for path in self.headline if path not in self.veiled)

    @cached_property
    def sticky(self) -> frozenset[str]:
        """What a full-replace PUT cannot clear by leaving it out."""
        return frozenset(field.name for field in self.fields if field.sticky)

    @cached_property
    def wire(self) -> Mapping[str, str]:
        """The names in bodies, by those in manifests, where the two differ."""
        return {field.name: field.wire for field in self.fields if field.wire}

    @cached_property
    def ours(self) -> Mapping[str, str]:
        """The same the other way round: the names in manifests, by those in bodies."""
        return {wire: name for name, wire in self.wire.items()}

    @cached_property
    def groups(self) -> Mapping[str, tuple[Field, ...]]:
        """The fields of each group, by its name."""
        heads = [field.name for field in self.fields if field.row.shape == "group"]
        return {head: tuple(one for one in self.fields if one.name.startswith(f"{head}.")) for head in heads}

    @cached_property
    def structured(self) -> Mapping[str, FieldShape]:
        """The shapes of the fields that are no scalar in a manifest, nor a payload."""
        return {one.name: one.row.shape for one in self.fields if one.row.structured}

    @cached_property
    def flags(self) -> frozenset[str]:
        """What holds true or false."""
        return frozenset(field.name for field in self.fields if field.row.normal == "flag")

    @cached_property
    def numbers(self) -> frozenset[str]:
        """What is sent as a number."""
        return frozenset(field.name for field in self.fields if field.row.xml == "number")

    @cached_property
    def folds(self) -> Mapping[str, Mapping[str, str]]:
        """By field, the service's word for each spelling of it in lower case."""
        return {field.name: field.words for field in self.fields if field.words}

    @cached_property
    def content(self) -> str:
        """The field that holds a payload, or ""."""
        return next((field.name for field in self.fields if field.row.shape == "content"), "")

    @cached_property
    def custom(self) -> str:
        """The field that holds custom values by name, or ""; the service shows them where it is asked to."""
        return next((field.name for field in self.fields if field.row.shape == "custom"), "")

    @cached_property
    def zones(self) -> tuple[str, ...]:
        """The fields that hold a time zone, which the service shows as an offset."""
        return tuple(field.name for field in self.fields if field.row.same == "zone")

    @cached_property
    def countries(self) -> tuple[str, ...]:
        """The fields that name a country, in the order in which they are asked for a national number."""
        return tuple(field.name for field in self.fields if field.row.check == "countries")

    @cached_property
    def presumed(self) -> tuple[Field, ...]:
        """The fields that mean something where the service shows nothing of them."""
        return tuple(field for field in self.fields if field.absent != "")

    def beside(self, field: Field) -> tuple[str, ...]:
        """The paths of a field's group, or its own where it stands alone."""
        return tuple(one.name for one in self.groups.get(field.head, (field,)))

    def identity_path(self, path: str, region: str = "") -> IdentityPath:
        """A path as a part of an identity: it says by itself how its values are compared.

        `region` is the code of the country in which phone numbers of an entity are read that names none.
        """
        field = self.by_name.get(path)
        key = self.type_of(path).key if field or "." in path else _key_by_name(path)
        if key != "phone":
            return IdentityPath(path, key)
        return IdentityPath(path, key, field.area if field else "", self.countries_of(path), region)

    def countries_of(self, path: str) -> tuple[str, ...]:
        """The fields that may name the country of a phone number, in the order in which they are asked."""
        # A personal number belongs to where somebody lives, any other one to where the work is.
        return self.countries[::-1] if path.startswith("personal") else self.countries

    def type_of(self, path: str) -> TypeRow:
        """What the type means of the field that a path belongs to; of one that no row knows, text."""
        field = self.by_name.get(path) or self.by_name.get(path.partition(".")[0])
        return FIELD_TYPES[field.type if field else "text"]
