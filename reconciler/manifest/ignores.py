"""`meta.ignore` must name fields that exist: a misspelt one would quietly ignore nothing.

A field that exists but is not declared may be named; it is only not ours then.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.core.suggest import did_you_mean
from reconciler.errors import Problem
from reconciler.manifest.build import shown
from reconciler.manifest.schemas import Extras, read_schema
from reconciler.manifest.subjects import entity
from reconciler.manifest.tree import Tree

Known = Mapping[str, frozenset[str]]
_Meta = tuple[str, list[str | int], dict[str, Any]]
_HINT = "name a field as messages do, for example jobTitle or custom.employeeId"


def known_fields(extras: Extras) -> Known:
    """Return every path that a field may have, by kind; custom fields by their prefix alone."""
    definitions = read_schema("manifest", extras)["$defs"]
    contact = {*definitions["contactDefaults"]["properties"]}
    for channel in definitions["messagingOptions"]["properties"]:
        path = f"messagingOptions.{channel}"
        contact |= {path, *(f"{path}.{key}" for key in definitions["channel"]["properties"])}
    return {
        "contact": frozenset(contact),
        "device": frozenset(definitions["deviceDefaults"]["properties"]),
        "resource": frozenset(definitions["resource"]["properties"]) - {"meta"},
    }


def ignore_problems(tree: Tree, known: Known) -> Iterator[Problem]:
    """Yield a problem for each item of a `meta.ignore` that names no field of its kind."""
    for kind, path, meta in _metas(tree.value):
        for index, item in enumerate(meta.get("ignore", ())):
            custom = kind == "contact" and item.startswith("custom.") and len(item) > len("custom.")
            if item not in known[kind] and not custom:
                front, _ = entity(tree.value, path)
                what = f"{front}meta.ignore: {shown(item)} is not a field of a {kind}."
                yield tree.problem([*path, "ignore", index], what, did_you_mean(item, known[kind], _HINT))


def _metas(value: dict[str, Any]) -> Iterator[_Meta]:
    for name, contact in value.get("contacts", {}).items():
        yield "contact", ["contacts", name, "meta"], contact.get("meta", {})
        for device, body in contact.get("devices", {}).items():
            path: list[str | int] = ["contacts", name, "devices", device, "meta"]
            yield "device", path, body.get("meta", {})
    for index, roster in enumerate(value.get("rosters", ())):
        yield "contact", ["rosters", index, "contacts", "meta"], roster["contacts"].get("meta", {})
    for name, resource in value.get("resources", {}).items():
        yield "resource", ["resources", name, "meta"], resource.get("meta", {})
