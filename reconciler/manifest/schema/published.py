"""Schemas as they are published: with an address of their own, and whole without any other file.

Belongs here: how a schema takes in what it refers to in others, and is taken apart again. Pure. Not here:
which schemas there are (schemas.py).

Only schemas of what this program writes are published so: a program that reads a document needs one file.
What is taken in has no `$id`, because two schemas of one address are none to a validator that knows both.
"""

import posixpath
from collections.abc import Callable, Iterator
from functools import reduce
from operator import getitem
from typing import Any

Schema = dict[str, Any]
Part = tuple[str, ...]  # a section and a key of it: ("$defs", "kind"); () is all of a schema

_SUFFIX = ".schema.json"
_DEFINITIONS = "#/$defs/"
# What `$id` begins with, and what names are resolved against. No network knows it (RFC 2606): it is a name,
# and nothing is to be fetched there.
BASE = "https://reconciler.invalid/schemas/"


def address(name: str) -> str:
    """Return the address of a schema, to which relative references resolve: its `$id` where it has one."""
    return f"{BASE}{name}{_SUFFIX}"


def compound(name: str, read: Callable[[str], Schema]) -> Schema:
    """Return the schema of that name with its `$id`, and with whatever it refers to elsewhere in `$defs`.

    `read` returns a schema by its name as it is without either.
    """
    schema, found = read(name), dict[str, set[Part]]()
    waiting = [*_referred(name, schema)]
    while waiting:
        other, part = waiting.pop()
        if other != name and part not in found.setdefault(other, set()):
            found[other].add(part)
            waiting += _referred(other, reduce(getitem, part, read(other)))
    taken = {f"{one}{_SUFFIX}": _taken(one, read(one), parts, name) for one, parts in sorted(found.items())}
    whole = _rewritten(schema, lambda where: _local(name, where, name))
    head = {"$schema": whole.pop("$schema"), "$id": address(name)}
    below = {"$defs": {**whole.get("$defs", {}), **taken}} if taken else {}
    return {**head, **whole, **below}


def single(name: str, schema: Schema) -> Schema:
    """Return the schema of that name without its `$id`, its references to others as between files."""
    above = "../" * name.count("/")

    def apart(where: str) -> str:
        file, suffix, pointer = where.removeprefix(_DEFINITIONS).partition(_SUFFIX)
        inside = where.startswith(_DEFINITIONS) and bool(suffix)
        return f"{above}{file}{suffix}{'#' if pointer else ''}{pointer}" if inside else where

    found: Schema = _rewritten({key: one for key, one in schema.items() if key != "$id"}, apart)
    own = {key: one for key, one in found.pop("$defs", {}).items() if not key.endswith(_SUFFIX)}
    return {**found, "$defs": own} if own else found


def _target(name: str, where: str) -> tuple[str, str]:
    """Return which schema a reference in the schema `name` leads into, and to which place in it."""
    file, _, pointer = where.partition("#")
    other = posixpath.normpath(posixpath.join(posixpath.dirname(name), file)).removesuffix(_SUFFIX)
    return other if file else name, pointer


def _referred(name: str, node: Any) -> Iterator[tuple[str, Part]]:
    """Yield which parts of which schemas a part of the schema `name` refers to."""
    if isinstance(node, list):
        for one in node:
            yield from _referred(name, one)
    if isinstance(node, dict):
        if isinstance(where := node.get("$ref"), str):
            other, pointer = _target(name, where)
            yield other, tuple(pointer.split("/")[1:3])
        for one in node.values():
            yield from _referred(name, one)


def _taken(name: str, schema: Schema, parts: set[Part], into: str) -> Schema:
    """Return these parts of the schema `name`; all of it, where the whole of it is referred to."""
    made: Schema = {key: one for key, one in schema.items() if key != "$schema"} if () in parts else {}
    for section, key in sorted(parts - {()}):
        made.setdefault(section, {})[key] = schema[section][key]
    whole: Schema = _rewritten(made, lambda where: _local(name, where, into))
    return whole


def _local(name: str, where: str, into: str) -> str:
    """Return a reference in the schema `name` as it is once both are in the one `into`."""
    other, pointer = _target(name, where)
    return f"#{pointer}" if other == into else f"{_DEFINITIONS}{other}{_SUFFIX}{pointer}"


def _rewritten(node: Any, change: Callable[[str], str]) -> Any:
    """Return a part of a schema with its references changed."""
    if isinstance(node, list):
        return [_rewritten(one, change) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: change(one) if key == "$ref" and isinstance(one, str) else _rewritten(one, change)
        for key, one in node.items()
    }
