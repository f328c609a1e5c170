"""Whether a tree matches one of the shipped schemas, and every mistake where it does not.

jsonschema-rs decides; `explain.py` finds the words for a tree that was refused. Rules of manifests are in the
schemas and in `core/desired/resolve.py`.
"""

from typing import TYPE_CHECKING

import jsonschema_rs

from reconciler.errors import Problem
from reconciler.model.kinds import cache_by_kinds
from reconciler.parsing.display import Subject, no_subject
from reconciler.parsing.tree import Tree
from reconciler.schema.shipped import ExtraFields, read_schema, schema_address, schema_resources

if TYPE_CHECKING:
    from reconciler.schema.explain import Mistake


def check_tree(
    name: str,
    tree: Tree,
    *,
    value: object = None,
    extras: ExtraFields | None = None,
    subject: Subject = no_subject,
) -> tuple[Problem, ...]:
    """Return the problem of every mistake that `find_mistakes` finds."""
    found = find_mistakes(name, tree, value=value, extras=extras, subject=subject)
    return tuple(one.problem for one in found)


def find_mistakes(
    name: str,
    tree: Tree,
    *,
    value: object = None,
    extras: ExtraFields | None = None,
    subject: Subject = no_subject,
) -> "tuple[Mistake, ...]":
    """Return every mistake of `tree` against the schema, in file order.

    `value` replaces the value of the tree where a caller has converted scalars to numbers or booleans; its
    shape must be the same. `subject` names what is at a path, for the start of a message.
    """
    checked = tree.value if value is None else value
    frozen = tuple((key, tuple(value)) for key, value in sorted((extras or {}).items()))
    validator = _compile_validator(name, frozen)
    if validator.is_valid(checked):
        return ()
    # Explaining takes a hundred times as long, and its library is slow to import.
    from reconciler.schema.explain import Mistake, explain_mistakes  # noqa: PLC0415 - only a refused file pays for it

    found = explain_mistakes(name, read_schema(name, dict(frozen)), tree, checked, subject=subject)
    if found or tree.problems:
        return found
    first = next(validator.iter_errors(checked), None)
    path = list(first.instance_path) if first else []
    what, hint = f"this does not match the schema {name}.", f"see `reconciler schema {name}`"
    return (Mistake(tree.problem(path, what, hint, code="E208"), tuple(path)),)


@cache_by_kinds
def _compile_validator(
    name: str, extras: tuple[tuple[str, tuple[str, ...]], ...]
) -> jsonschema_rs.Draft202012Validator:
    known = schema_resources() | {schema_address(name): read_schema(name, dict(extras))}
    registry = jsonschema_rs.Registry(list(known.items()), draft=jsonschema_rs.Draft202012)
    return jsonschema_rs.Draft202012Validator({"$ref": schema_address(name)}, registry=registry)
