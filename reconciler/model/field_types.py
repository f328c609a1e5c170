"""Types of fields: everything that follows from what a field holds is one row here.

A cell names a behaviour. The layer that has the behaviour keeps a table from its names to functions, made by
`require_rows`, so that a name without a function, or a function without a name, ends every command at once:

    shape       how a value becomes flat paths, and how one of them is set: core/compare/normalize.py,
                core/compare/bodies.py, and the tables of `FieldShape` in live/ and manifest/
    normal      the form in which equal means equal: core/compare/normalize.py
    same        which other spelling reads back as what was sent: core/compare/readback.py
    key         the form in which two values are one identity, and what a search for one asks for:
                core/compare/identity.py
    lookalike   what may tell that two entities are one: core/review/display_names.py
    check       what judges a declared value: core/desired/check_values.py
    xml         what its element holds: service/xml/documents.py
    schema      its part of the schema of manifests: schema/shipped.py
    sandbox     what the sandbox takes of it in kinds of a profile: cli/sandbox_collections.py

docs/adding-a-field-type.md adds one, step by step.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct

# The types that a field of a profile's kind may have.
OwnType = Literal["text", "flag", "number", "email", "phone", "country", "zone", "group"]
# The others are of built-in kinds alone: their forms in bodies are the service's own.
FieldType = Literal[OwnType, "content", "custom", "channels"]

FieldShape = Literal["scalar", "content", "custom", "channels", "group"]
NormalForm = Literal["text", "flag", "number"]
ReadBack = Literal["identity", "phone", "email", "zone"]
IdentityKey = Literal["text", "email", "phone"]
LookalikeRule = Literal["nothing", "name", "email", "phone"]
FieldCheck = Literal["spreadsheets", "phones", "emails", "countries", "zones"]
XmlForm = Literal["text", "truth", "number", "channels", "custom", "object"]
SchemaPart = Literal["text", "flag", "number", "group", "custom", "messagingOptions", "content"]
SandboxType = Literal["none", "text", "flag", "number", "group"]


class TypeRow(Struct, frozen=True, kw_only=True):
    """What a type of field means. No cell has a default: whoever adds a type has to think of each.

    `recognizes`: an export that finds nobody to recognize by the identity fields proposes a field of this
    type. `distinguishes`: two entities seldom share a value, so that one which has changed speaks for
    somebody else behind the same id (M9). The others: the table above.
    """

    shape: FieldShape
    normal: NormalForm
    same: ReadBack
    key: IdentityKey
    lookalike: LookalikeRule
    check: FieldCheck
    xml: XmlForm
    schema: SchemaPart
    sandbox: SandboxType
    recognizes: bool
    distinguishes: bool

    @property
    def structured(self) -> bool:
        """Whether a value is a mapping in a manifest, and several paths."""
        return self.shape not in ("scalar", "content")


T = TypeVar("T")


def require_rows(names: Any, table: Mapping[str, T]) -> dict[Any, T]:
    """Return the table, which has a row for each name of a `Literal` and none beside them.

    Raises TypeError for any other: when its module is imported, so no command begins with a hole in a table.
    """
    missing, unknown = sorted({*get_args(names)} - {*table}), sorted({*table} - {*get_args(names)})
    if missing or unknown:
        said = [f"no row for {', '.join(missing)}"] * bool(missing)
        said += [f"a row for {', '.join(unknown)}, which nothing names"] * bool(unknown)
        raise TypeError(f"a table of field types has {' and '.join(said)} (reconciler/model/field_types.py)")
    return dict(table)


_TEXT = TypeRow(
    shape="scalar",
    normal="text",
    same="identity",
    key="text",
    lookalike="name",
    check="spreadsheets",
    xml="text",
    schema="text",
    sandbox="text",
    recognizes=False,
    distinguishes=True,
)

FIELD_TYPES: Mapping[FieldType, TypeRow] = require_rows(
    FieldType,
    {
        "text": _TEXT,
        "flag": TypeRow(
            shape="scalar",
            normal="flag",
            same="identity",
            key="text",
            lookalike="nothing",
            check="spreadsheets",
            xml="truth",
            schema="flag",
            sandbox="flag",
            recognizes=False,
            distinguishes=False,
        ),
        # Compared by its value, sent as a number.
        "number": TypeRow(
            shape="scalar",
            normal="number",
            same="identity",
            key="text",
            lookalike="nothing",
            check="spreadsheets",
            xml="number",
            schema="number",
            sandbox="number",
            recognizes=False,
            distinguishes=True,
        ),
        "email": TypeRow(
            shape="scalar",
            normal="text",
            same="email",
            key="email",
            lookalike="email",
            check="emails",
            xml="text",
            schema="text",
            sandbox="text",
            recognizes=True,
            distinguishes=True,
        ),
        "phone": TypeRow(
            shape="scalar",
            normal="text",
            same="phone",
            key="phone",
            lookalike="phone",
            check="phones",
            xml="text",
            schema="text",
            sandbox="text",
            recognizes=True,
            distinguishes=True,
        ),
        # By its English name or its code; the phone numbers of an entity are read in it.
        "country": TypeRow(
            shape="scalar",
            normal="text",
            same="identity",
            key="text",
            lookalike="nothing",
            check="countries",
            xml="text",
            schema="text",
            sandbox="text",
            recognizes=False,
            distinguishes=False,
        ),
        # The name of a time zone; the service shows its offset.
        "zone": TypeRow(
            shape="scalar",
            normal="text",
            same="zone",
            key="text",
            lookalike="nothing",
            check="zones",
            xml="text",
            schema="text",
            sandbox="text",
            recognizes=False,
            distinguishes=False,
        ),
        # A payload: its digest is compared, its bytes are sent.
        "content": TypeRow(
            shape="content",
            normal="text",
            same="identity",
            key="text",
            lookalike="nothing",
            check="spreadsheets",
            xml="text",
            schema="content",
            sandbox="none",
            recognizes=False,
            distinguishes=False,
        ),
        # Texts by name, sent as a list of named values.
        "custom": TypeRow(
            shape="custom",
            normal="text",
            same="identity",
            key="text",
            lookalike="nothing",
            check="spreadsheets",
            xml="custom",
            schema="custom",
            sandbox="none",
            recognizes=True,
            distinguishes=True,
        ),
        # How somebody is reached, sent as a list of channels; `enabled` of each is a flag.
        "channels": TypeRow(
            shape="channels",
            normal="text",
            same="identity",
            key="text",
            lookalike="nothing",
            check="spreadsheets",
            xml="channels",
            schema="messagingOptions",
            sandbox="none",
            recognizes=False,
            distinguishes=False,
        ),
        # A mapping whose values are fields of their own: `auth.key`.
        "group": TypeRow(
            shape="group",
            normal="text",
            same="identity",
            key="text",
            lookalike="nothing",
            check="spreadsheets",
            xml="object",
            schema="group",
            sandbox="group",
            recognizes=False,
            distinguishes=True,
        ),
    },
)
