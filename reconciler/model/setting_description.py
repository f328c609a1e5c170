"""How a setting is described: the words, the form of its value, and where it stands in reconciler.yaml.

The structs of `model/settings.py` carry these descriptions on their fields. Everything else about a setting
follows from them: its part of the JSON Schema, its default, its variable, how it is read, and its row in
docs/settings.md.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

from msgspec import NODEFAULT, UNSET, Struct, UnsetType, structs

from reconciler.model.address import ENTITY_NAME

# --- Forms of values ------------------------------------------------------------------------------


class ValueForm(Struct, frozen=True):
    """How a value is written: keywords of JSON Schema, and `values`, the same in a few words for the docs.

    The reader keeps every scalar as the text that was written, so numbers are patterns; types and bounds
    beside a pattern are for editors, which parse YAML themselves. A form with a `name` is a definition of the
    schema with a title and a description of its own; a message says the title of what a value is not.
    `by_reference`: whether the value is always the place of a secret, or may be one.
    """

    values: str
    keywords: Mapping[str, Any]
    name: str = ""
    title: str = ""
    about: str = ""
    examples: tuple[object, ...] = ()
    by_reference: Literal["always", "maybe", ""] = ""


_END = r"$(?!\n)"  # `$` alone would also match before a line feed at the end


def text_form(
    pattern: str = "",
    *,
    values: str = "text",
    number: bool = False,
    length: tuple[int | None, int | None] = (None, None),
) -> ValueForm:
    """Return the form of a text. `pattern` is that of all of it; `number`: an editor may see a number."""
    keywords: dict[str, Any] = {"type": ["string", "number"] if number else "string"}
    bounds = zip(("minLength", "maxLength"), length, strict=True)
    keywords |= {name: bound for name, bound in bounds if bound is not None}
    return ValueForm(values, keywords | ({"pattern": f"^{pattern}{_END}"} if pattern else {}))


def number_form(values: str, pattern: str, kind: Literal["integer", "number"], **bounds: int) -> ValueForm:
    """Return the form of a number: the pattern of its text, and its bounds by their keywords."""
    return ValueForm(values, {"type": ["string", kind], "pattern": f"^{pattern}{_END}", **bounds})


def list_form(item: ValueForm, title: str, about: str, example: str, **keywords: object) -> ValueForm:
    """Return the form of a list of texts, each of the form `item`."""
    each = {"title": title, "description": about, **item.keywords, "examples": [example]}
    return ValueForm("list", {"type": "array", **keywords, "items": each})


def named_form(name: str, form: ValueForm, title: str, about: str, *examples: object) -> ValueForm:
    """Return a form as a definition of the schema, which several settings share."""
    return structs.replace(form, name=name, title=title, about=about, examples=examples)


def choice_form(choices: object) -> ValueForm:
    """Return the form of a `Literal`, or of a truth value."""
    if choices is bool:
        keywords: dict[str, Any] = {"type": ["string", "boolean"], "enum": ["true", "false", True, False]}
        return ValueForm("`true` or `false`", keywords)
    words = [*get_args(choices)]
    return ValueForm(", ".join(f"`{one}`" for one in words), {"type": "string", "enum": words})


_VARIABLE_NAME = f"^[A-Za-z_][A-Za-z0-9_]{{0,254}}{_END}"
_COMMAND_EXAMPLE = {
    "run": "vault kv get -field=password ops/service",
    "variables": ["VAULT_ADDR", "VAULT_TOKEN"],
}
_COMMAND = {
    "run": {
        "title": "Words",
        "description": "The words of the command, in one line or as a list.",
        "type": ["string", "array"],
        "minLength": 1,
        "minItems": 1,
        "items": {"type": "string"},
        "examples": [_COMMAND_EXAMPLE["run"]],
    },
    "variables": {
        "title": "Variables",
        "description": "Names of environment variables that the command gets besides PATH, HOME, LANG and "
        "LC_*.",
        "type": "array",
        "items": {"type": "string", "pattern": _VARIABLE_NAME},
        "examples": [_COMMAND_EXAMPLE["variables"]],
    },
}
_SECRET_PLACES = {
    "env": {
        "title": "Name of an environment variable",
        "description": "The name of the variable that holds the secret.",
        "type": "string",
        "pattern": _VARIABLE_NAME,
        "examples": ["SVC_PASSWORD"],
    },
    "file": {
        "title": "File",
        "description": "A file that holds the secret and nothing else; relative to this file.",
        "type": "string",
        "minLength": 1,
        "examples": ["/run/secrets/api-key"],
    },
    "command": {
        "title": "Command",
        "description": "A program that prints the secret: its words in one line, or as a list; or run and "
        "variables. It runs without a shell.",
        "type": ["string", "array", "object"],
        "required": ["run"],
        "additionalProperties": False,
        "minLength": 1,
        "minItems": 1,
        "items": {"type": "string"},
        "properties": _COMMAND,
        "examples": [
            "pass show service/password",
            ["op", "read", "op://ops/service/password"],
            _COMMAND_EXAMPLE,
        ],
    },
}
_ONE_PLACE = {"additionalProperties": False, "minProperties": 1, "maxProperties": 1}

SECRET = ValueForm(
    "[secret](#secrets)",
    {"type": "object", **_ONE_PLACE, "properties": _SECRET_PLACES, "writeOnly": True},
    name="secret",
    title="Secret",
    about="{env: NAME}, {file: PATH} or {command: WORDS}; exactly one of them. One newline at the end is "
    "removed.",
    examples=({"env": "SVC_PASSWORD"},),
    by_reference="always",
)
# A URL, which is a secret where a password stands in it.
TEXT_OR_SECRET = ValueForm(
    "text or [secret](#secrets)",
    {
        "type": ["string", "object"],
        **_ONE_PLACE,
        "minLength": 1,
        "properties": {place: {"$ref": f"#/$defs/secret/properties/{place}"} for place in _SECRET_PLACES},
        "writeOnly": True,
    },
    by_reference="maybe",
)
TEXT = text_form(length=(1, None))
NAME = named_form(
    "name",
    text_form(ENTITY_NAME.pattern, number=True),
    "Name",
    "1 to 100 of a-z, 0-9, dot, underscore and hyphen; the first and last are a letter or digit.",
    "ops",
)
DIRECTORY_NAME = named_form(
    "directoryName",
    text_form("[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?", number=True),
    "Name of a directory",
    "1 to 64 of a-z, 0-9, underscore and hyphen; the first and last are a letter or digit.",
    "staff",
)
FIELD_PATHS = named_form(
    "paths",
    list_form(
        text_form("[A-Za-z][A-Za-z0-9_]*(?:[.][A-Za-z0-9_-]+)*"),
        "Field name",
        "The name of a field as manifests write it; a custom field is custom.NAME.",
        "custom.employeeId",
        minItems=1,
        maxItems=8,
        uniqueItems=True,
    ),
    "Fields",
    "Names of fields as manifests write them; a custom field as custom.NAME.",
    ["custom.employeeId"],
)
COUNT = named_form(
    "count",
    number_form("whole number", "(?:0|[1-9][0-9]{0,5})", "integer", minimum=0, maximum=999999),
    "Whole number",
    "A whole number from 0 to 999999.",
    "25",
)
PERCENT = named_form(
    "percent",
    number_form("0 to 100", "(?:100|[1-9]?[0-9])", "integer", minimum=0, maximum=100),
    "Whole number from 0 to 100",
    "A whole number from 0 to 100, without a percent sign.",
    "20",
)
PARALLEL = named_form(
    "parallel",
    number_form(
        "1 to 256", "(?:[1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-6])", "integer", minimum=1, maximum=256
    ),
    "Whole number from 1 to 256",
    "A whole number from 1 to 256.",
    "8",
)
PAGE_SIZE = named_form(
    "page",
    number_form("1 to 10,000", "(?:[1-9][0-9]{0,3}|10000)", "integer", minimum=1, maximum=10000),
    "Whole number from 1 to 10000",
    "A whole number from 1 to 10,000.",
    "500",
)
_DECIMAL = "(?:0|[1-9][0-9]{0,5})(?:[.][0-9]{1,3})?"
NUMBER = named_form(
    "number",
    number_form("number", _DECIMAL, "number", minimum=0, maximum=999999),
    "Number",
    "A number from 0 to 999999, with at most 3 decimals.",
    "10",
    "0.5",
)
ABOVE_ZERO = named_form(
    "seconds",
    number_form("number above 0", f"(?![0.]+$){_DECIMAL}", "number", exclusiveMinimum=0, maximum=999999),
    "Time above 0",
    "A number above 0, at most 999999, with at most 3 decimals.",
    "30",
    "0.5",
)


# --- Descriptions, and the settings that follow from annotated structs ----------------------------


class Setting(Struct, frozen=True):
    """In `Annotated[type, Setting(...)]`: the field of a struct is a setting of reconciler.yaml.

    `title`, `about` and `examples` are what an editor shows and what messages are made of; without examples
    the default is one. `more` is Markdown that docs/settings.md adds. Without a `form` the value is one of
    the field's `Literal`, or a truth value. `path` is the place below that of the struct, where it is not the
    name of the field; `written` is the default, where the field holds another than the file would.
    `file_only`: no variable gives it. A field that is made of several settings has a tuple of them.
    """

    title: str
    about: str
    form: ValueForm | None = None
    examples: tuple[object, ...] = ()
    path: str = ""
    written: object | UnsetType = UNSET
    more: str = ""
    file_only: bool = False


class SettingSection(Struct, frozen=True):
    """A mapping of reconciler.yaml that holds settings: what an editor shows of it."""

    title: str
    about: str
    examples: tuple[object, ...] = ()


class DescribedSetting(Struct, frozen=True):
    """A setting at its path in the file: `service.base_url`.

    `field` is that of its struct, and `type` what the field holds. `default` is None where there is none;
    `is_required`: the struct has none either.
    """

    path: str
    field: str
    type: Any
    default: Any
    setting: Setting
    form: ValueForm
    is_required: bool

    @property
    def written_default(self) -> object:
        """The default as the file would hold it: lists, and texts in place of numbers and truth values."""
        match self.default:
            case bool():
                return str(self.default).lower()
            case int() | float():
                return f"{self.default:g}"
            case tuple():
                return [*self.default]
            case _:
                return self.default

    @property
    def examples(self) -> tuple[object, ...]:
        """Values as the file would hold them."""
        return self.setting.examples or (self.written_default,)


class StructSection(Struct, frozen=True):
    """A struct below another one, whose fields are the settings of a section."""

    path: str
    field: str
    struct: type[Struct]


def list_own_settings(struct: type[Struct], above: str = "") -> Iterator[DescribedSetting | StructSection]:
    """Yield the settings and sections of a struct, in the order of its fields. `above` ends in a dot."""
    for field in structs.fields(struct):
        kind, notes = _split_annotated(field.type)
        for setting in notes:
            default = setting.written
            if default is UNSET:
                default = None if field.default in (NODEFAULT, "") else field.default
            yield DescribedSetting(
                f"{above}{setting.path or field.name}",
                field.name,
                kind,
                default,
                setting,
                setting.form or choice_form(kind),
                field.default is NODEFAULT and field.default_factory is NODEFAULT,
            )
        if not notes and isinstance(kind, type) and issubclass(kind, Struct):
            yield StructSection(f"{above}{field.name}", field.name, kind)


def list_settings(struct: type[Struct], above: str = "") -> Iterator[DescribedSetting]:
    """Yield the settings of a struct and of its sections, in the order of their fields."""
    for one in list_own_settings(struct, above):
        if isinstance(one, StructSection):
            yield from list_settings(one.struct, f"{one.path}.")
        else:
            yield one


def _split_annotated(kind: Any) -> tuple[Any, tuple[Setting, ...]]:
    if get_origin(kind) is not Annotated:
        return kind, ()
    plain, *notes = get_args(kind)
    each = (one for note in notes for one in (note if isinstance(note, tuple) else (note,)))
    return plain, tuple(one for one in each if isinstance(one, Setting))
