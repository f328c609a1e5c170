"""The JSON Schema of reconciler.yaml, made from the described settings of `model/settings.py`.

`script/generate-schemas` writes it to schemas/settings.schema.json, which is what commands read.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reconciler.model.directories import DIRECTORY_SETTINGS
from reconciler.model.setting_description import (
    DIRECTORY_NAME,
    NAME,
    DescribedSetting,
    StructSection,
    ValueForm,
    list_own_settings,
    list_settings,
)
from reconciler.model.settings import SECTIONS, Settings, WorkspaceRef
from reconciler.schema.shipped import SchemaDict

_COMMENT = (
    "The reader keeps every scalar as text, so numbers are patterns here; the number types beside them are "
    "for editors, which parse YAML themselves."
)
_VERSION = {
    "title": "Version",
    "description": "Version of the settings language.",
    "enum": ["1", 1],
    "examples": ["1"],
}
# The order of keywords in a part of the schema: these, all others, then those.
_FIRST = ("title", "description", "$ref", "type", "required", "propertyNames", "additionalProperties")
_LAST = ("properties", "default", "examples", "writeOnly")


def settings_schema() -> SchemaDict:
    """Return the schema. What a file and a section of `environments` both hold is a definition."""
    sections: dict[str, SchemaDict] = {}  # by the name of a section, its definition and those that it needs
    for field in Settings.__struct_fields__:
        if field == "workspaces":
            sections[field] = _workspace_definitions()
        elif field == "directories":
            sections[field] = _directory_definitions()
        elif settings := [*_list_settings_of(field)]:
            section = settings[0].path.partition(".")[0]
            sections.setdefault(section, {}).update(_section_definitions(section, settings))
    references = {name: _refer_to(name) for name in sections}
    definitions = {
        "environment": _mapping_schema("environments.NAME", references),
        NAME.name: _form_schema(NAME),
    }
    for needed in sections.values():
        definitions |= {name: one for name, one in needed.items() if name not in definitions}
    properties = {
        "version": _VERSION,
        **references,
        "environments": _entries_schema("environments", NAME, "environment"),
    }
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": _COMMENT}
    return {**head, **_mapping_schema("", properties, required=["version"]), "$defs": definitions}


def _list_settings_of(field: str) -> Iterator[DescribedSetting]:
    for one in list_own_settings(Settings):
        if one.field == field and isinstance(one, StructSection):
            yield from list_settings(one.struct, f"{one.path}.")
        elif one.field == field and isinstance(one, DescribedSetting):
            yield one


def _section_definitions(section: str, settings: Iterable[DescribedSetting]) -> SchemaDict:
    """Return the definition of a section of the file, and those of the forms that its settings have."""
    settings = [*settings]
    tree: dict[str, Any] = {}
    for one in settings:
        *above, last = one.path.split(".")
        place = tree
        for step in above:
            place = place.setdefault(step, {})
        place[last] = one
    return {section: _build_tree(section, tree[section]), **_collect_forms(settings)}


def _build_tree(path: str, node: DescribedSetting | Mapping[str, Any]) -> SchemaDict:
    if isinstance(node, DescribedSetting):
        return _setting_schema(node)
    return _mapping_schema(path, {name: _build_tree(f"{path}.{name}", below) for name, below in node.items()})


def _workspace_definitions() -> SchemaDict:
    workspaces = _entries_schema("workspaces", NAME, "workspace", minProperties=1, default={"default": {}})
    fields = {one.path: _setting_schema(one) for one in list_settings(WorkspaceRef)}
    return {"workspaces": workspaces, "workspace": _mapping_schema("workspaces.ALIAS", fields)}


def _directory_definitions() -> SchemaDict:
    forms = {
        name: _mapping_schema(
            f"directories.NAME.{name}",
            {one.path: _setting_schema(one) for one in settings},
            required=[one.path for one in settings if one.is_required],
        )
        for name, settings in DIRECTORY_SETTINGS.items()
    }
    return {
        "directories": _entries_schema("directories", DIRECTORY_NAME, "directory"),
        DIRECTORY_NAME.name: _form_schema(DIRECTORY_NAME),
        "directory": _mapping_schema("directories.NAME", forms, minProperties=1, maxProperties=1),
        **_collect_forms(one for settings in DIRECTORY_SETTINGS.values() for one in settings),
    }


def _collect_forms(settings: Iterable[DescribedSetting]) -> SchemaDict:
    return {one.form.name: _form_schema(one.form) for one in settings if one.form.name}


def _form_schema(form: ValueForm) -> SchemaDict:
    words = {"title": form.title, "description": form.about}
    return _order_keywords(words | dict(form.keywords) | {"examples": [*form.examples]})


def _setting_schema(one: DescribedSetting) -> SchemaDict:
    """Return the part of the schema of a setting. A default is the text that the file would hold."""
    words = {"title": one.setting.title, "description": one.setting.about}
    form = _refer_to(one.form.name) if one.form.name else dict(one.form.keywords)
    default = {} if one.default is None else {"default": one.written_default}
    return _order_keywords(words | form | default | {"examples": [*one.examples]})


def _mapping_schema(
    path: str, properties: SchemaDict, *, required: list[str] | None = None, **more: int
) -> SchemaDict:
    """Return the part of the schema of a mapping with these keys and no others."""
    needed = {"required": required} if required else {}
    whole = {"type": "object", "additionalProperties": False, "properties": properties}
    return _order_keywords(_describe_section(path) | needed | whole | more)


def _entries_schema(path: str, key: ValueForm, entry: str, **more: object) -> SchemaDict:
    """Return the part of the schema of a mapping from names of people's choice to entries of one form."""
    whole = {
        "type": "object",
        "propertyNames": _refer_to(key.name),
        "additionalProperties": _refer_to(entry),
    }
    return _order_keywords(_describe_section(path) | whole | more)


def _describe_section(path: str) -> SchemaDict:
    section = SECTIONS[path]
    examples = {"examples": [*section.examples]} if section.examples else {}
    return {"title": section.title, "description": section.about, **examples}


def _refer_to(name: str) -> SchemaDict:
    return {"$ref": f"#/$defs/{name}"}


def _order_keywords(part: SchemaDict) -> SchemaDict:
    middle = [key for key in part if key not in (*_FIRST, *_LAST)]
    return {key: part[key] for key in (*_FIRST, *middle, *_LAST) if key in part}
