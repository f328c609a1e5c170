"""Types of fields: everything that follows from what a field holds is one row of `FIELD_TYPES`.

Where a text alone decides (`same`, `check`), a cell is the rule itself: a function above the rows. Otherwise
it is the name of a rule, which needs a library, a whole entity or a body. The layer that has the rule keeps
a table from names to functions, made by `require_rows`: a name without a function, or a function without a
name, ends every command at once.

    shape       how a value becomes flat paths, and how one of them is set: core/compare/normalize.py,
                core/compare/bodies.py, and the tables of `FieldShape` in engine/ and manifest/
    normal      the form in which equal means equal: core/compare/normalize.py
    same        which other spelling reads back as what was sent: core/compare/readback.py
    key         the form in which two values are one identity, and what a search for one asks for:
                core/compare/identity.py
    lookalike   what may tell that two entities are one: core/review/display_names.py
    check       what judges a declared value: core/desired/check_values.py
    xml         what its element holds: service/xml/documents.py; in JSON a `number` is sent as a number
    schema      its part of the schema of manifests: schema/shipped.py
    sandbox     what the sandbox takes of it in kinds of a profile: cli/sandbox_collections.py

docs/adding-a-field-type.md adds one, step by step.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct

# The types that a field of a profile's kind may have.
OwnType = Literal["text", "flag", "number", "email", "phone", "country", "zone", "group"]
# The others are of built-in kinds alone: their forms in bodies are the service's own.
FieldType = Literal[
    OwnType,
    "content",
    "custom",
    "channels",
]

FieldShape = Literal["scalar", "content", "custom", "channels", "group"]
NormalForm = Literal["text", "flag", "number"]
ReadBack = Literal["identity", "email", "zone"]
IdentityKey = Literal["text", "flag", "number", "email", "phone"]
LookalikeRule = Literal["nothing", "name", "email", "phone"]
# Each is also the name of the setting, in `Checks`, that says how strict it is.
FieldCheck = Literal["phones", "emails", "countries", "zones"]
XmlForm = Literal["text", "truth", "number", "channels", "custom", "object"]
SchemaPart = Literal["text", "flag", "number", "group", "custom", "messagingOptions", "content"]
SandboxType = Literal["none", "text", "flag", "number", "group"]

# Whether two texts, what was sent and what is shown, are spellings of one value.
SameText = Callable[[str, str], bool]


class Finding(Struct, frozen=True):
    """One thing that is wrong with a value: a phrase that follows it, and what to do.

    `impossible`: the value cannot work, whatever the service does; else it is only unlikely to be meant.
    `code` is that of the mistake, where it is one. `guess` says what the value is understood as, `instead` is
    a hint that speaks of the value and takes the place of `hint`: both are shown only where the value may be.
    """

    what: str
    hint: str
    code: str
    impossible: bool = False
    guess: str = ""
    instead: str = ""


class TextCheck(Struct, frozen=True):
    """A check that needs the text of a value alone.

    `setting` is the one of `Checks` that says how strict it is; "always": what it finds is a mistake.
    """

    find: Callable[[str], Finding | None]
    setting: Literal["always", "spreadsheets", FieldCheck]


class TypeRow(Struct, frozen=True, kw_only=True):
    """What a type of field means. No cell has a default: a new type has to answer each question.

    `recognizes`: where the identity fields recognize no entity, an export proposes a field of this type.
    `distinguishes`: two entities seldom share a value, so a changed value suggests that another entity has
    the same id now (M9). The other cells: the table above.
    """

    shape: FieldShape
    normal: NormalForm
    same: ReadBack | SameText
    key: IdentityKey
    lookalike: LookalikeRule
    check: FieldCheck | TextCheck
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
    The traceback shows which table it is.
    """
    missing, unknown = sorted({*get_args(names)} - {*table}), sorted({*table} - {*get_args(names)})
    if missing or unknown:
        said = [f"no row for {', '.join(missing)}"] * bool(missing)
        said += [f"a row for {', '.join(unknown)}, which nothing names"] * bool(unknown)
        raise TypeError(f"a table of field types has {' and '.join(said)} (reconciler/model/field_types.py)")
    return dict(table)


# --- Rules that need a text alone -----------------------------------------------------------------

_REWRITTEN = re.compile(r"[+-]?[0-9](?:[.,][0-9]+)?[eE]\+?[0-9]{1,3}")
_BROKEN = re.compile(r"#(?:REF|N/A|VALUE|NAME\?|DIV/0|NUM|NULL)!?|#{3,}")


def find_spreadsheet_damage(text: str) -> Finding | None:
    """Return what a spreadsheet did to a text, or None. `447700900123` becomes `4.47701E+11` there."""
    # Cheap before sure: this is asked of every text of every entity. An employee number is often the
    # identity, and a rewritten one is the same for many people (tests/core/test_values.py).
    if "E+" in text or "e+" in text or "E1" in text:
        if _REWRITTEN.fullmatch(text):
            what = "looks like a number that a spreadsheet rewrote; its digits are lost"
            return Finding(
                what, "format the column as text, and enter the value again", impossible=True, code="E405"
            )
    elif text.startswith("#") and _BROKEN.fullmatch(text):
        return Finding(
            "is what a spreadsheet shows for a broken cell", "correct the cell", impossible=True, code="E405"
        )
    return None


SPREADSHEET_CHECK = TextCheck(find_spreadsheet_damage, "spreadsheets")

_PHONE = re.compile(r"(\+?)([0-9 ().\-/]*[0-9][0-9 ().\-/]*)", re.ASCII)
_NOT_A_DIGIT = re.compile(r"[^0-9]", re.ASCII)

# Digits from which on a number without a plus may begin with its country code. Fewer may be a national one:
# 6561234567 is one in Singapore with a plus before it, and one in the United States without.
international_digits = 11


def same_phone(sent: str, shown: str) -> bool:
    """Whether two numbers have the same digits. A plus counts where the other may be a national number."""
    one, other = _PHONE.fullmatch(sent), _PHONE.fullmatch(shown)
    if one is None or other is None:
        return False
    digits, theirs = (_NOT_A_DIGIT.sub("", found[2]) for found in (one, other))
    # Another digit, or another country, calls somebody else. No country code begins with 0.
    plus_alike = one[1] == other[1] or (len(digits) >= international_digits and digits[0] != "0")
    return digits == theirs and plus_alike


# --- The rows -------------------------------------------------------------------------------------

_TEXT = TypeRow(
    shape="scalar",
    normal="text",
    same="identity",
    key="text",
    lookalike="name",
    check=SPREADSHEET_CHECK,
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
            key="flag",
            lookalike="nothing",
            check=SPREADSHEET_CHECK,
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
            key="number",
            lookalike="nothing",
            check=SPREADSHEET_CHECK,
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
            same=same_phone,
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
            check=SPREADSHEET_CHECK,
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
            check=SPREADSHEET_CHECK,
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
            check=SPREADSHEET_CHECK,
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
            check=SPREADSHEET_CHECK,
            xml="object",
            schema="group",
            sandbox="group",
            recognizes=False,
            distinguishes=True,
        ),
    },
)
