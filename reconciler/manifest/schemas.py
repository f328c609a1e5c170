"""The shipped JSON Schemas: where they are, and whether a tree fits one.

jsonschema-rs decides; `explain.py` is asked only about a tree that was refused, and finds the
words. No rule about manifests stands here: rules are in the schemas and in `core/resolve.py`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import jsonschema_rs

import reconciler
from reconciler.errors import Problem
from reconciler.manifest.subjects import Subject, plain
from reconciler.manifest.tree import Tree

_SUFFIX = ".schema.json"
# The files carry no $id, so that editors resolve "common.schema.json" beside them; in here it
# resolves against this base, which no network knows (RFC 2606).
BASE = "https://reconciler.invalid/schemas/"

Extras = Mapping[str, Sequence[str]]


def names() -> tuple[str, ...]:
    """Return the names of all shipped schemas, sorted: `common`, `manifest` and so on."""
    found = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)))


def read_text(name: str) -> str:
    """Return a schema as it is shipped. Raises KeyError for a name that is not in `names()`."""
    if name not in names():
        raise KeyError(name)
    return (_folder() / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def read_schema(name: str, extras: Extras | None = None) -> dict[str, Any]:
    """Return a schema as a dict of the caller's own. Raises KeyError for an unknown name.

    `extras` adds text fields, by name, to objects under `$defs`: a deployment may have fields that
    the schema does not know.
    """
    schema: dict[str, Any] = json.loads(read_text(name))
    schema.pop("$id", None)
    for definition, fields in (extras or {}).items():
        known = schema["$defs"][definition]["properties"]
        for field in fields:
            known.setdefault(field, {"$ref": "#/$defs/text", "title": "A field of this deployment"})
    return schema


def check(
    name: str, tree: Tree, *, value: object = None, extras: Extras | None = None, subject: Subject = plain
) -> tuple[Problem, ...]:
    """Return every mistake that makes `tree` not fit the schema, one problem each, in file order.

    `value` stands for the tree's own where a caller has turned scalars into numbers or booleans; its
    shape must be the same. `subject` says how the start of a message names what stands at a path.
    """
    checked = tree.value if value is None else value
    frozen = tuple((key, tuple(value)) for key, value in sorted((extras or {}).items()))
    gate = _gate(name, frozen)
    if gate.is_valid(checked):
        return ()
    # Explaining costs a hundred times the gate and its library takes long to import.
    from reconciler.manifest.explain import explain  # noqa: PLC0415 - only a refused file pays for it

    problems = explain(name, read_schema(name, dict(frozen)), tree, checked, subject=subject)
    if problems or tree.problems:
        return problems
    first = next(gate.iter_errors(checked), None)
    path = list(first.instance_path) if first else []
    return (tree.problem(path, f"this does not fit the schema {name}.", f"see `reconciler schema {name}`"),)


def resources() -> dict[str, dict[str, Any]]:
    """Return every shipped schema by the address that its relative references resolve to."""
    return {f"{BASE}{name}{_SUFFIX}": read_schema(name) for name in names()}


def address(name: str) -> str:
    """Return the address of a schema in `resources()`."""
    return f"{BASE}{name}{_SUFFIX}"


@cache
def _gate(name: str, extras: tuple[tuple[str, tuple[str, ...]], ...]) -> jsonschema_rs.Draft202012Validator:
    known = resources() | {address(name): read_schema(name, dict(extras))}
    registry = jsonschema_rs.Registry(list(known.items()), draft=jsonschema_rs.Draft202012)
    return jsonschema_rs.Draft202012Validator({"$ref": address(name)}, registry=registry)


@cache
def _folder() -> Traversable:
    packed = files(reconciler) / "data" / "schemas"
    return packed if packed.is_dir() else Path(reconciler.__file__).parent.parent / "schemas"
