"""The parts of the shipped schemas that follow from the table of kinds, and how they come into the files.

What is the same for every kind is written by hand in `schemas/`; `script/generate_schemas.py` writes the rest
there, and a test holds that the files say what the rows say. Pure: a schema in, a schema out.
"""

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.model.field_types import SchemaPart, require_rows
from reconciler.model.kind import Field, Kind
from reconciler.model.kinds import BUILT_IN_KINDS, KINDS, child_kinds

Schema = dict[str, Any]

_NAME = "[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?"
_END = r"$(?!\n)"
_REMOTE_ID = "[A-Za-z0-9_-]{1,100}"
_NUMBER = rf"^(?:-?(?:0|[1-9][0-9]{{0,14}})(?:[.][0-9]{{1,15}})?)?{_END}"  # as JSON writes it, or "": none


def with_kinds(name: str, schema: Schema) -> Schema:
    """Return a shipped schema, by its name, with the parts that follow from the kinds put in place."""
    return _FILLED[name](schema) if name in _FILLED else schema


def definition_of(kind: Kind) -> str:
    """Return the name of a kind's definition. A project may call a kind like a part of the file."""
    return kind.name if kind.name in BUILT_IN_KINDS else f"kind-{kind.name}"


def _manifest(schema: Schema) -> Schema:
    definitions, properties = schema["$defs"], schema["properties"]
    for kind in KINDS.values():
        definitions[definition_of(kind)] = _entry(kind)
        definitions[f"{definition_of(kind)}Defaults"] = _defaults(kind)
        if kind.rosters:
            definitions[f"roster{kind.title}"]["properties"] = _row_template(kind)
        if not kind.parent:
            properties[kind.plural] = _section(kind)
    definitions["defaults"]["properties"] = {
        kind.plural: {"$ref": f"#/$defs/{definition_of(kind)}Defaults"} for kind in KINDS.values()
    }
    definitions["removed"]["properties"] = {kind.plural: _removed(kind) for kind in KINDS.values()}
    return schema


def _removed(kind: Kind) -> Schema:
    above = f"{KINDS[kind.parent].example_name}/" if kind.parent else ""
    path = f", each behind the name of its {kind.parent} and a slash" if kind.parent else ""
    name = "#/$defs/nameBelow" if kind.parent else "#/$defs/name"
    return {
        "type": "array",
        "title": f"{kind.plural.capitalize()} that leave",
        "description": f"Our names for {kind.plural}{path}. What is live stays as it is.",
        "items": {"$ref": name},
        "examples": [[f"{above}{kind.example_name}"]],
    }


def _section(kind: Kind) -> Schema:
    example = dict(list(kind.example.items())[:2])
    return {
        "type": "object",
        "title": f"{kind.title}s",
        "description": kind.listed,
        "propertyNames": {"$ref": "#/$defs/name"},
        "additionalProperties": {"$ref": f"#/$defs/{definition_of(kind)}"},
        "examples": [{kind.example_name: example}],
    }


def _entry(kind: Kind) -> Schema:
    fields = {field.name: _field(kind, field) for field in kind.keys}
    sections = {child.plural: _section(child) for child in child_kinds(kind.name)}
    meta = "reactivableMeta" if any(field.revives for field in kind.fields) else "meta"
    return {
        "type": "object",
        "title": kind.title,
        "description": kind.about,
        "properties": {**fields, **sections, "meta": {"$ref": f"#/$defs/{meta}"}},
        "additionalProperties": False,
        "examples": [kind.example],
    }


def _field(kind: Kind, field: Field) -> Schema:
    return _PARTS[field.row.schema](kind, field)


def _by_hand(_kind: Kind, field: Field) -> Schema:
    """Return where the form stands in the schema: it is written by hand, because no other has it."""
    return {"$ref": f"#/$defs/{field.row.schema}"}


def _about(field: Field) -> Schema:
    return {"title": field.title, "description": field.about, "examples": [field.example]}


def _flag(_kind: Kind, field: Field) -> Schema:
    return {"$ref": "#/$defs/flag", **_about(field)}


def _number(_kind: Kind, field: Field) -> Schema:
    return {"type": ["string", "number"], "pattern": _NUMBER, **_about(field)}


def _text(_kind: Kind, field: Field) -> Schema:
    about = _about(field)
    if field.words:
        return {"enum": _spellings(field), **about}
    if field.pattern:
        return {"type": "string", "pattern": field.pattern, **about}
    hidden = {"writeOnly": True} if field.secret else {}
    return {"$ref": "#/$defs/text", **about, **hidden}


def _group(kind: Kind, field: Field) -> Schema:
    parts = {one.name.removeprefix(f"{field.name}."): one for one in kind.groups[field.name]}
    return {
        "type": "object",
        "title": field.title,
        "description": field.about,
        "properties": {name: _field(kind, one) for name, one in parts.items()},
        "additionalProperties": False,
        "examples": [{name: one.example for name, one in parts.items()}],
    }


# The schema of a field, by its type.
_PARTS: Mapping[SchemaPart, Callable[[Kind, Field], Schema]] = require_rows(
    SchemaPart,
    {
        "text": _text,
        "flag": _flag,
        "number": _number,
        "group": _group,
        "custom": _by_hand,
        "messagingOptions": _by_hand,
        "content": _by_hand,
    },
)


def _spellings(field: Field) -> list[str]:
    """Return the service's own words, then those that stand for them where any spelling may be written."""
    forms = (str.upper, str.capitalize, str.lower) if field.loose else ()
    return list(
        dict.fromkeys([*field.words.values(), *(form(word) for form in forms for word in field.words)])
    )


def _defaults(kind: Kind) -> Schema:
    shared = [field for field in kind.keys if not field.own]
    return {
        "type": "object",
        "title": f"Defaults of {kind.plural}",
        "description": f"Fields that every {kind.name} of this file has unless it says otherwise.",
        "properties": {
            field.name: {"$ref": f"#/$defs/{definition_of(kind)}/properties/{field.name}"} for field in shared
        },
        "additionalProperties": False,
        "examples": [{field.name: field.example for field in shared[:1]}],
    }


def _row_template(kind: Kind) -> Schema:
    return {
        **{field.name: _column(kind, field) for field in kind.keys},
        "meta": {"$ref": "#/$defs/rosterMeta"},
    }


def _column(kind: Kind, field: Field) -> Schema:
    """Return a field of a row template: what is one of a few words may also be a column that says which."""
    if field.row.schema == "messagingOptions":
        return {"$ref": "#/$defs/rosterMessagingOptions"}
    if field.words:
        about = f"{field.about} A column may say it."
        examples = [field.example, f"{{{field.title}}}"]
        return {"$ref": "#/$defs/text", "title": field.title, "description": about, "examples": examples}
    return {"$ref": f"#/$defs/{definition_of(kind)}/properties/{field.name}"}


def _settings(schema: Schema) -> Schema:
    order = {
        True: "Fields that tell the {plural} of one {parent} apart, all together.",
        False: "Fields in order of preference; each of them alone must tell {plural} apart.",
    }
    schema["$defs"]["identity"]["properties"] = {
        kind.plural: {
            "title": f"Of {kind.plural}",
            "description": order[kind.together].format(plural=kind.plural, parent=kind.parent),
            "$ref": "#/$defs/paths",
            "default": list(kind.identity),
            "examples": [list(kind.identity)],
        }
        for kind in BUILT_IN_KINDS.values()  # a kind of a project's own says it in its profile
    }
    return schema


def _plan(schema: Schema) -> Schema:
    definitions = schema["$defs"]
    definitions["kind"]["enum"] = list(KINDS)
    definitions["address"]["pattern"] = f"{_addresses()}{_END}"
    definitions["address"]["examples"] = [_example(kind) for kind in KINDS.values()]
    definitions["delete"]["properties"]["address"]["anyOf"][1]["pattern"] = (
        f"{_addresses()}@{_REMOTE_ID}{_END}"
    )
    definitions["create"]["if"]["properties"]["address"]["pattern"] = f"^(?:{_with_content()})/"
    order = ", ".join(kind.plural for kind in sorted(KINDS.values(), key=lambda kind: kind.wave))
    schema["properties"]["changes"]["description"] = (
        f"In the order of their waves, then by address: {order}; deletes last and the other way round."
    )
    return schema


def _run(schema: Schema) -> Schema:
    definition = schema["$defs"]["outcome"]["properties"]["address"]
    definition["pattern"] = f"{_addresses()}(?:@{_REMOTE_ID})?{_END}"
    return schema


def _addresses() -> str:
    """Return the pattern of an address, without its end."""
    tops = "|".join(kind.name for kind in KINDS.values() if not kind.parent)
    below = "".join(f"|{kind.name}(?:/{_NAME}){{2}}" for kind in KINDS.values() if kind.parent)
    return f"^(?:(?:{tops})/{_NAME}{below})/{_NAME}"


def _example(kind: Kind) -> str:
    above = f"{KINDS[kind.parent].example_name}/" if kind.parent else ""
    return f"{kind.name}/ops/{above}{kind.example_name}"


def _with_content() -> str:
    return "|".join(kind.name for kind in KINDS.values() if kind.content)


_FILLED: Mapping[str, Callable[[Schema], Schema]] = {
    "manifest": _manifest,
    "settings": _settings,
    "plan": _plan,
    "run": _run,
}
