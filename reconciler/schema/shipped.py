"""The shipped JSON Schemas: bundling, the parts that follow from the table of kinds, and reading them."""

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import getitem
from pathlib import Path
from typing import Any

from reconciler.model.address import ENTITY_NAME, REMOTE_ID
from reconciler.model.field_types import SchemaPart, require_rows
from reconciler.model.kind import Field, Kind
from reconciler.model.kinds import BUILT_IN_KINDS, KINDS, child_kinds

# --- Bundling: a schema that refers to no other file ----------------------------------------------
#
# Only schemas of what this program writes are published so: a program that reads a document needs one file.
# The parts that are included have no `$id`, because a validator refuses two schemas with one address.

SchemaDict = dict[str, Any]
Part = tuple[str, ...]  # a section and a key of it: ("$defs", "kind"); () is all of a schema

_SUFFIX = ".schema.json"
_DEFINITIONS = "#/$defs/"
# The start of each `$id`, to which references resolve. It is only a name: no network has it (RFC 2606).
BASE = "https://reconciler.invalid/schemas/"


def schema_address(name: str) -> str:
    """Return the address of a schema, to which relative references resolve: its `$id` where it has one."""
    return f"{BASE}{name}{_SUFFIX}"


def bundle_schema(name: str, read: Callable[[str], SchemaDict]) -> SchemaDict:
    """Return a schema with its `$id`, and with all that it refers to in other schemas below `$defs`.

    `read` returns a schema by its name, without both.
    """
    schema, found = read(name), dict[str, set[Part]]()
    waiting = [*_find_refs(name, schema)]
    while waiting:
        other, part = waiting.pop()
        if other != name and part not in found.setdefault(other, set()):
            found[other].add(part)
            waiting += _find_refs(other, reduce(getitem, part, read(other)))
    taken = {
        f"{one}{_SUFFIX}": _extract_parts(one, read(one), parts, name) for one, parts in sorted(found.items())
    }
    whole = _rewrite_refs(schema, lambda where: _localize_ref(name, where, name))
    head = {"$schema": whole.pop("$schema"), "$id": schema_address(name)}
    below = {"$defs": {**whole.get("$defs", {}), **taken}} if taken else {}
    return {**head, **whole, **below}


def unbundle_schema(name: str, schema: SchemaDict) -> SchemaDict:
    """Return a schema without its `$id`, with references to other files in place of included parts."""
    above = "../" * name.count("/")

    def refer_to_file(where: str) -> str:
        file, suffix, pointer = where.removeprefix(_DEFINITIONS).partition(_SUFFIX)
        inside = where.startswith(_DEFINITIONS) and bool(suffix)
        return f"{above}{file}{suffix}{'#' if pointer else ''}{pointer}" if inside else where

    found: SchemaDict = _rewrite_refs(
        {key: one for key, one in schema.items() if key != "$id"}, refer_to_file
    )
    own = {key: one for key, one in found.pop("$defs", {}).items() if not key.endswith(_SUFFIX)}
    return {**found, "$defs": own} if own else found


def _resolve_ref(name: str, where: str) -> tuple[str, str]:
    """Return the schema that a reference in the schema `name` leads to, and the place in it."""
    file, _, pointer = where.partition("#")
    other = posixpath.normpath(posixpath.join(posixpath.dirname(name), file)).removesuffix(_SUFFIX)
    return other if file else name, pointer


def _find_refs(name: str, node: Any) -> Iterator[tuple[str, Part]]:
    """Yield the schemas, and the parts of them, that a part of the schema `name` refers to."""
    if isinstance(node, list):
        for one in node:
            yield from _find_refs(name, one)
    if isinstance(node, dict):
        if isinstance(where := node.get("$ref"), str):
            other, pointer = _resolve_ref(name, where)
            yield other, tuple(pointer.split("/")[1:3])
        for one in node.values():
            yield from _find_refs(name, one)


def _extract_parts(name: str, schema: SchemaDict, parts: set[Part], into: str) -> SchemaDict:
    """Return these parts of the schema `name`; all of it, where one of them is ()."""
    made: SchemaDict = {key: one for key, one in schema.items() if key != "$schema"} if () in parts else {}
    for section, key in sorted(parts - {()}):
        made.setdefault(section, {})[key] = schema[section][key]
    whole: SchemaDict = _rewrite_refs(made, lambda where: _localize_ref(name, where, into))
    return whole


def _localize_ref(name: str, where: str, into: str) -> str:
    """Return a reference of the schema `name` as it is once the schema is included in `into`."""
    other, pointer = _resolve_ref(name, where)
    return f"#{pointer}" if other == into else f"{_DEFINITIONS}{other}{_SUFFIX}{pointer}"


def _rewrite_refs(node: Any, change: Callable[[str], str]) -> Any:
    """Return a part of a schema with its references changed."""
    if isinstance(node, list):
        return [_rewrite_refs(one, change) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: change(one) if key == "$ref" and isinstance(one, str) else _rewrite_refs(one, change)
        for key, one in node.items()
    }


# --- The parts of schemas that follow from the table of kinds -------------------------------------
#
# The rest of these schemas is written by hand in `schemas/`; `script/generate_schemas.py` writes these parts
# there, and a test compares the files with the table.

_END = r"$(?!\n)"
_NAME, _REMOTE_ID = ENTITY_NAME.pattern, REMOTE_ID.pattern
_NUMBER = rf"^(?:-?(?:0|[1-9][0-9]{{0,14}})(?:[.][0-9]{{1,15}})?)?{_END}"  # as JSON writes it, or "": none


def fill_in_kinds(name: str, schema: SchemaDict) -> SchemaDict:
    """Return a shipped schema, by its name, with the parts that follow from the kinds."""
    return _FILLERS[name](schema) if name in _FILLERS else schema


def definition_name(kind: Kind) -> str:
    """Return the name of a kind's definition. A project may call a kind like a part of the file."""
    return kind.name if kind.name in BUILT_IN_KINDS else f"kind-{kind.name}"


def _fill_manifest(schema: SchemaDict) -> SchemaDict:
    definitions, properties = schema["$defs"], schema["properties"]
    for kind in KINDS.values():
        definitions[definition_name(kind)] = _entry_schema(kind)
        definitions[f"{definition_name(kind)}Defaults"] = _defaults_schema(kind)
        if kind.rosters:
            definitions[f"roster{kind.title}"]["properties"] = _row_template_schema(kind)
        if not kind.parent:
            properties[kind.plural] = _section_schema(kind)
    definitions["defaults"]["properties"] = {
        kind.plural: {"$ref": f"#/$defs/{definition_name(kind)}Defaults"} for kind in KINDS.values()
    }
    definitions["removed"]["properties"] = {kind.plural: _removed_schema(kind) for kind in KINDS.values()}
    return schema


def _removed_schema(kind: Kind) -> SchemaDict:
    above = f"{KINDS[kind.parent].example_name}/" if kind.parent else ""
    path = f", each after the name of its {kind.parent} and a slash" if kind.parent else ""
    name = "#/$defs/nameBelow" if kind.parent else "#/$defs/name"
    return {
        "type": "array",
        "title": f"{kind.plural.capitalize()} that leave",
        "description": f"Names of {kind.plural}{path}. The live entities stay as they are.",
        "items": {"$ref": name},
        "examples": [[f"{above}{kind.example_name}"]],
    }


def _section_schema(kind: Kind) -> SchemaDict:
    example = dict(list(kind.example.items())[:2])
    return {
        "type": "object",
        "title": f"{kind.title}s",
        "description": kind.listed,
        "propertyNames": {"$ref": "#/$defs/name"},
        "additionalProperties": {"$ref": f"#/$defs/{definition_name(kind)}"},
        "examples": [{kind.example_name: example}],
    }


def _entry_schema(kind: Kind) -> SchemaDict:
    fields = {field.name: _field_schema(kind, field) for field in kind.keys}
    sections = {child.plural: _section_schema(child) for child in child_kinds(kind.name)}
    meta = "reactivableMeta" if any(field.revives for field in kind.fields) else "meta"
    return {
        "type": "object",
        "title": kind.title,
        "description": kind.about,
        "properties": {**fields, **sections, "meta": {"$ref": f"#/$defs/{meta}"}},
        "additionalProperties": False,
        "examples": [kind.example],
    }


def _field_schema(kind: Kind, field: Field) -> SchemaDict:
    return _FIELD_SCHEMAS[field.row.schema](kind, field)


def _ref_schema(_kind: Kind, field: Field) -> SchemaDict:
    """Return a reference to a form that is written by hand in the schema, because one type alone has it."""
    return {"$ref": f"#/$defs/{field.row.schema}"}


def _annotations(field: Field) -> SchemaDict:
    return {"title": field.title, "description": field.about, "examples": [field.example]}


def _flag_schema(_kind: Kind, field: Field) -> SchemaDict:
    return {"$ref": "#/$defs/flag", **_annotations(field)}


def _number_schema(_kind: Kind, field: Field) -> SchemaDict:
    return {"type": ["string", "number"], "pattern": _NUMBER, **_annotations(field)}


def _text_schema(_kind: Kind, field: Field) -> SchemaDict:
    about = _annotations(field)
    if field.words:
        return {"enum": _list_spellings(field), **about}
    if field.pattern:
        return {"type": "string", "pattern": field.pattern, **about}
    hidden = {"writeOnly": True} if field.secret else {}
    return {"$ref": "#/$defs/text", **about, **hidden}


def _group_schema(kind: Kind, field: Field) -> SchemaDict:
    parts = {one.name.removeprefix(f"{field.name}."): one for one in kind.groups[field.name]}
    return {
        "type": "object",
        "title": field.title,
        "description": field.about,
        "properties": {name: _field_schema(kind, one) for name, one in parts.items()},
        "additionalProperties": False,
        "examples": [{name: one.example for name, one in parts.items()}],
    }


# The schema of a field, by its type.
_FIELD_SCHEMAS: Mapping[SchemaPart, Callable[[Kind, Field], SchemaDict]] = require_rows(
    SchemaPart,
    {
        "text": _text_schema,
        "flag": _flag_schema,
        "number": _number_schema,
        "group": _group_schema,
        "custom": _ref_schema,
        "messagingOptions": _ref_schema,
        "content": _ref_schema,
    },
)


def _list_spellings(field: Field) -> list[str]:
    """Return the service's own words, then the spellings that may be written for them."""
    forms = (str.upper, str.capitalize, str.lower) if field.loose else ()
    return list(
        dict.fromkeys([*field.words.values(), *(form(word) for form in forms for word in field.words)])
    )


def _defaults_schema(kind: Kind) -> SchemaDict:
    shared = [field for field in kind.keys if not field.own]
    return {
        "type": "object",
        "title": f"Defaults of {kind.plural}",
        "description": f"Fields that every {kind.name} of this file has unless it says otherwise.",
        "properties": {
            field.name: {"$ref": f"#/$defs/{definition_name(kind)}/properties/{field.name}"}
            for field in shared
        },
        "additionalProperties": False,
        "examples": [{field.name: field.example for field in shared[:1]}],
    }


def _row_template_schema(kind: Kind) -> SchemaDict:
    return {
        **{field.name: _column_schema(kind, field) for field in kind.keys},
        "meta": {"$ref": "#/$defs/rosterMeta"},
    }


def _column_schema(kind: Kind, field: Field) -> SchemaDict:
    """Return a field of a row template: in place of one of a few words, it may name a column."""
    if field.row.schema == "messagingOptions":
        return {"$ref": "#/$defs/rosterMessagingOptions"}
    if field.words:
        about = f"{field.about} The value may come from a column."
        examples = [field.example, f"{{{field.title}}}"]
        return {"$ref": "#/$defs/text", "title": field.title, "description": about, "examples": examples}
    return {"$ref": f"#/$defs/{definition_name(kind)}/properties/{field.name}"}


def _fill_plan(schema: SchemaDict) -> SchemaDict:
    definitions = schema["$defs"]
    definitions["kind"]["enum"] = list(KINDS)
    definitions["address"]["pattern"] = f"{_address_pattern()}{_END}"
    definitions["address"]["examples"] = [_example_address(kind) for kind in KINDS.values()]
    definitions["delete"]["properties"]["address"]["anyOf"][1]["pattern"] = (
        f"{_address_pattern()}@{_REMOTE_ID}{_END}"
    )
    definitions["create"]["if"]["properties"]["address"]["pattern"] = f"^(?:{_content_kinds_pattern()})/"
    order = ", ".join(kind.plural for kind in sorted(KINDS.values(), key=lambda kind: kind.wave))
    schema["properties"]["changes"]["description"] = (
        f"In the order of their waves, then by address: {order}; deletes last and the other way round."
    )
    return schema


def _fill_run(schema: SchemaDict) -> SchemaDict:
    definition = schema["$defs"]["outcome"]["properties"]["address"]
    definition["pattern"] = f"{_address_pattern()}(?:@{_REMOTE_ID})?{_END}"
    return schema


def _address_pattern() -> str:
    """Return the pattern of an address, without its end."""
    tops = "|".join(kind.name for kind in KINDS.values() if not kind.parent)
    below = "".join(f"|{kind.name}(?:/{_NAME}){{2}}" for kind in KINDS.values() if kind.parent)
    return f"^(?:(?:{tops})/{_NAME}{below})/{_NAME}"


def _example_address(kind: Kind) -> str:
    above = f"{KINDS[kind.parent].example_name}/" if kind.parent else ""
    return f"{kind.name}/ops/{above}{kind.example_name}"


def _content_kinds_pattern() -> str:
    return "|".join(kind.name for kind in KINDS.values() if kind.content)


_FILLERS: Mapping[str, Callable[[SchemaDict], SchemaDict]] = {
    "manifest": _fill_manifest,
    "plan": _fill_plan,
    "run": _fill_run,
}


OUTPUT_FOLDER = "output/"  # the folder of what commands print
# What else this program writes, and others read. These files have an $id and refer to no other; those of what
# people write have none, so that editors resolve "common.schema.json" beside them.
WRITTEN_SCHEMAS = ("event", "log", "plan", "reply", "run")

ExtraFields = Mapping[str, Sequence[str]]


def list_schema_names() -> tuple[str, ...]:
    """Return the names of all shipped schemas, sorted: `common`, `manifest` and so on.

    `output/list` is that of what `list --format json` prints.
    """
    return tuple(
        sorted(
            (
                *_list_folder(_schema_folder()),
                *(f"{OUTPUT_FOLDER}{name}" for name in _list_folder(_schema_folder() / OUTPUT_FOLDER)),
            )
        )
    )


def read_schema_text(name: str) -> str:
    """Return a schema as it is shipped. Raises KeyError for a name that is not in `list_schema_names()`."""
    if name not in list_schema_names():
        raise KeyError(name)
    return (_schema_folder() / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def read_schema(name: str, extras: ExtraFields | None = None) -> dict[str, Any]:
    """Return a schema as a dict of the caller's own. Raises KeyError for an unknown name.

    A project's own kinds are in it. `extras` adds text fields, by name, to objects under `$defs`: a
    deployment may have fields that the schema does not know.
    """
    schema = unbundle_schema(name, json.loads(read_schema_text(name)))
    if KINDS.keys() != BUILT_IN_KINDS.keys():
        schema = fill_in_kinds(name, schema)
    for definition, fields in (extras or {}).items():
        known = schema["$defs"][definition]["properties"]
        for field in fields:
            known.setdefault(field, {"$ref": "#/$defs/text", "title": "A field of this deployment"})
    return schema


def compose_published_schema(name: str) -> dict[str, Any]:
    """Return a schema as it is printed, with a project's own kinds. Raises KeyError for an unknown name."""
    return bundle_schema(name, read_schema) if is_published_schema(name) else read_schema(name)


def is_published_schema(name: str) -> bool:
    """Whether a schema is of something that this program writes."""
    return name in WRITTEN_SCHEMAS or name.startswith(OUTPUT_FOLDER)


def schema_resources() -> dict[str, dict[str, Any]]:
    """Return every schema that others refer to, by its address. Nothing refers to those of outputs."""
    return {schema_address(name): read_schema(name) for name in _list_folder(_schema_folder())}


def _list_folder(folder: Traversable) -> tuple[str, ...]:
    found = (entry.name for entry in folder.iterdir())
    return tuple(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX))


@cache
def _schema_folder() -> Traversable:
    packed = files("reconciler") / "data" / "schemas"
    return packed if packed.is_dir() else Path(__file__).parents[2] / "schemas"
