"""The schemas of what commands print with `--format json`: they follow from the results of the commands.

`script/generate_schemas.py` writes them into `schemas/output/`. Kinds and addresses are referred to in the
schemas that follow from the table of kinds, so that a project's own kinds are in these as well.
"""

import ast
import inspect
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import click
import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from reconciler import errors
from reconciler.cli.commands.export import Untold
from reconciler.cli.console.error_text import KEYS_OF_CLASSES, ErrorDocument, ErrorShown, usage_code
from reconciler.cli.console.logs import CallLine, StepLine
from reconciler.cli.dispatch import CommandWork
from reconciler.cli.main import COMMANDS, cli
from reconciler.cli.results import CommandResult, FileText, document_fields
from reconciler.core.export import IdentityAdvice
from reconciler.core.views.inventory import Listed, Unread
from reconciler.model.address import Address
from reconciler.model.notices import Notice
from reconciler.model.plans import DecidingFact, Explanation, GuardReason, Plan
from reconciler.model.runs import EXIT_CODE_WORDS, REPORT_VERSION, RUN_EVENTS
from reconciler.model.snapshots import NotPlanned
from reconciler.report import explain, listing
from reconciler.report.json import NOT_SHOWN, PlanCounts, PlanFields, VerdictShown
from reconciler.store.records import KindUnknown

Schema = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_KIND = {"$ref": "../plan.schema.json#/$defs/kind"}
_ADDRESS = {"$ref": "../run.schema.json#/$defs/outcome/properties/address"}
# Values that another schema describes, by the name of their class.
_ELSEWHERE = {
    Notice.__name__: {"$ref": "../common.schema.json#/$defs/notice"},
    NotPlanned.__name__: {"$ref": "../common.schema.json#/$defs/notPlanned"},
}
# What a text of the model really is.
_FORMATS: Mapping[tuple[str, str], Schema] = {
    (Listed.__name__, "kind"): _KIND,
    (Listed.__name__, "address"): _ADDRESS,
    (Unread.__name__, "kind"): _KIND,
    (Untold.__name__, "kind"): _KIND,
    (errors.Problem.__name__, "code"): {"type": "string", "pattern": r"^E[0-9]{3}$(?!\n)"},
}
_NULLABLE = {Listed.__name__: listing.NULLABLE, Explanation.__name__: explain.NULLABLE}
_REF = "#/$defs/"
# Names under which classes are published: they were called so when the schemas were first shipped.
_PUBLISHED = {
    DecidingFact.__name__: "Said",
    GuardReason.__name__: "Reason",
    IdentityAdvice.__name__: "Advice",
}
# Commands that print lines of another schema, and no document.
_PRINTED_LINES = {"callbacks listen": "reply", "callbacks inbox": "reply"}
_ONLY_SHOWN = {"unmanaged": "$defs/counts"}  # of a plan: a file has none of it
# Published where they are used, and not below $defs.
_INLINE: tuple[Any, ...] = (PlanFields, PlanCounts, VerdictShown, ErrorShown)


def make_output_schemas() -> dict[str, Schema]:
    """Return the schema of every document by its name (`output/list`)."""
    made: dict[str, Schema] = {}
    for words, command in command_leaves():
        results = result_types(command)
        if results and results[0].title and (name := schema_of(words)) == f"output/{words.replace(' ', '-')}":
            made[name] = _document_schema(results)
    return {**made, "output/error": _error_schema()}


def schema_of(words: str) -> str:
    """Return the name of the schema of what a command (`messages status`) prints; an error has its own."""
    results = result_types(dict(command_leaves())[words])
    # Of several results each may be described elsewhere; together they are described here.
    named = results[0].schema if len(results) == 1 else "" if results else _PRINTED_LINES.get(words, "")
    return named or f"output/{words.replace(' ', '-')}"


def command_leaves() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something, with the words that call it (`callbacks list`)."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", one) for below, one in command.commands.items())
        elif command is not None:
            yield name, command


def result_types(command: click.Command) -> tuple[type[CommandResult], ...]:
    """Return the results with a document that a command may come to, in the order of its annotation."""
    work = command.callback
    kind = inspect.get_annotations(work.function)["return"] if isinstance(work, CommandWork) else int
    if get_origin(kind) is Generator:
        kind = get_args(kind)[0]
    found = get_args(kind) or (kind,)
    return tuple(
        one
        for one in found
        if isinstance(one, type) and issubclass(one, CommandResult) and one is not FileText
    )


def event_line_schema() -> Schema:
    """Return the schema of a line of `--events`: open, for a later version of the program may tell more."""
    return _line_schema("An event of a run", RUN_EVENTS)


def log_line_schema() -> Schema:
    """Return the schema of a line of `--log-file`: open, as that of events is."""
    return _line_schema("A line of the log", (StepLine, CallLine))


def _line_schema(title: str, kinds: tuple[type, ...]) -> Schema:
    found, definitions = msgspec.json.schema_components(kinds)
    for one in definitions.values():
        # Python 3.13 and newer strip the indentation of docstrings themselves.
        one["description"] = inspect.cleandoc(one["description"])
    return {"$schema": _DRAFT, "title": title, "anyOf": list(found), "$defs": definitions}


def _document_schema(results: Sequence[type[CommandResult]]) -> Schema:
    """Return the schema of the document of a command: one of these results."""
    fields = [[*_field_types(one)] for one in results]
    schemas, definitions = _schemas_of_types(
        [_describe_type(kind, about) for each in fields for _, kind, about in each]
    )
    found, exits = iter(schemas), results[0].exit_codes
    shapes = []
    for number, (result, each) in enumerate(zip(results, fields, strict=True)):
        optional = tuple(name for name, kind, _ in each if UnsetType in get_args(kind))
        shape = _object_schema(
            {**_head_schema(*exits), **{name: next(found) for name, _, _ in each}}, exits, optional
        )
        title = {"title": result.title} if number and result.title else {}
        shapes.append({"$ref": f"../{result.schema}.schema.json"} if result.schema else {**title, **shape})
    body = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    below = {"$defs": definitions} if definitions else {}
    return {"$schema": _DRAFT, "title": results[0].title, **body, **below}


def _field_types(result: type[CommandResult]) -> Iterator[tuple[str, Any, str]]:
    """Yield name, type and description of each field of the document."""
    known = {name: one for base in result.__mro__ for name, one in _names_of(base.__module__).items()}
    types = get_type_hints(result, globalns=known, include_extras=True)
    for name, about in document_fields(result):
        yield name, types[name].__origin__, about


@cache
def _names_of(module: str) -> Mapping[str, Any]:
    """Return what a module calls something, with the names that it imports for the type checker alone."""
    found = dict(vars(sys.modules[module]))
    if not module.startswith("reconciler."):
        return found
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for one in node.body:
                assert isinstance(one, ast.ImportFrom)  # noqa: S101 - how imports are written here
                origin = import_module(str(one.module))
                found |= {alias.asname or alias.name: getattr(origin, alias.name) for alias in one.names}
    return found


def _describe_type(kind: Any, about: str) -> Any:
    """Return the type of a field with its description. A field that may be left out is one without null."""
    if UnsetType in get_args(kind):
        kind = Union[tuple(one for one in get_args(kind) if one is not UnsetType)]  # noqa: UP007 - of a tuple
    return Annotated[kind, Meta(description=about)] if about else kind


def _schemas_of_types(kinds: list[Any]) -> tuple[list[Schema], dict[str, Schema]]:
    """Return a schema for each type, and the definitions that they refer to: closed, every key required."""
    found, known = msgspec.json.schema_components(kinds, schema_hook=_custom_schema)
    definitions = {
        _PUBLISHED.get(name, name): _close_schema(name, one)
        for name, one in known.items()
        if name not in _ELSEWHERE and name not in {one.__name__ for one in _INLINE}
    }
    whole = zip(kinds, found, strict=True)
    return [
        _inline_object(kind, known) if kind in _INLINE else _turn_references(one) for kind, one in whole
    ], definitions


def _inline_object(kind: type, known: Mapping[str, Schema]) -> Schema:
    """Return the schema of a class that is published where it is used, without a title of its own."""
    if kind is PlanFields:
        keys = [field for field in structs.fields(Plan) if field.encode_name not in NOT_SHOWN]
        where = {
            one.encode_name: _ONLY_SHOWN.get(one.encode_name, f"properties/{one.encode_name}") for one in keys
        }
        properties = {name: {"$ref": f"../plan.schema.json#/{part}"} for name, part in where.items()}
        optional = tuple(one.encode_name for one in keys if one.default is UNSET)
        return _object_schema(properties, optional=optional)
    schema = _close_schema(kind.__name__, known[kind.__name__])
    optional = tuple(one.encode_name for one in structs.fields(kind) if one.default is UNSET)
    return _object_schema(schema["properties"], optional=optional)


def _custom_schema(kind: type) -> Schema:
    assert issubclass(kind, Address)  # noqa: S101 - the only text of ours with a form of its own
    return {"type": "string"} | _ADDRESS


def _close_schema(name: str, schema: Schema) -> Schema:
    """Return what a class writes: every key, a default being a value like any other, and no further one."""
    if "properties" not in schema:
        return schema
    keys = {key: _value_schema(name, key, one) for key, one in schema["properties"].items()}
    about = inspect.cleandoc(schema.get("description", "")).replace("\n", " ").replace("  ", " ")
    return {"title": _PUBLISHED.get(name, name), "description": about, **_object_schema(keys)}


def _value_schema(name: str, key: str, schema: Schema) -> Schema:
    value = _FORMATS.get((name, key)) or _turn_references(
        {word: one for word, one in schema.items() if word != "default"}
    )
    return {"anyOf": [value, {"type": "null"}]} if key in _NULLABLE.get(name, ()) else value


def _turn_references(node: Any) -> Any:
    """Return a schema with its references to what another file describes turned there."""
    if isinstance(node, list):
        return [_turn_references(one) for one in node]
    if not isinstance(node, dict):
        return node
    name = str(node.get("$ref", "")).removeprefix(_REF)
    other = _ELSEWHERE.get(name) or ({"$ref": _REF + _PUBLISHED[name]} if name in _PUBLISHED else None)
    return {key: _turn_references(one) for key, one in node.items()} | (other or {})


def _object_schema(properties: Schema, exits: tuple[int, ...] = (), optional: tuple[str, ...] = ()) -> Schema:
    whole = {
        "type": "object",
        "additionalProperties": False,
        "required": [key for key in properties if key not in optional],
        "properties": properties,
    }
    return {**whole, "oneOf": [_exit_schema(code) for code in exits]} if len(exits) > 1 else whole


def _exit_schema(code: int) -> Schema:
    return {"properties": {"outcome": {"const": EXIT_CODE_WORDS[code]}, "exit_code": {"const": code}}}


def _head_schema(*exits: int) -> Schema:
    return {
        "version": {"description": "Version of this format.", "const": REPORT_VERSION},
        "outcome": {
            "description": "The word that belongs to the exit code.",
            "enum": [EXIT_CODE_WORDS[one] for one in exits],
        },
        "exit_code": {"description": "The exit code of the command.", "enum": list(exits)},
    }


def _error_schema() -> Schema:
    """Return the schema of an error, with what belongs to each class of errors."""
    whole = _document_schema((ErrorDocument,))
    properties = whole["properties"]
    codes = {kind.error_code if kind else usage_code for kind in _list_error_classes().values()}
    properties["code"] = {"description": properties["code"]["description"], "enum": sorted(codes)}
    properties["error"]["properties"]["kind"] = {"enum": [*_list_error_classes()]}
    return {
        **whole,
        "oneOf": [_error_class_schema(name, kind) for name, kind in _list_error_classes().items()],
    }


def _list_error_classes() -> dict[str, type[errors.ReconcilerError] | None]:
    """Return the classes of errors by name; None for a mistake in the command line, which is none."""
    every: list[type[errors.ReconcilerError]] = [errors.ReconcilerError]
    every += _iterate_subclasses(errors.ReconcilerError)
    found: dict[str, type[errors.ReconcilerError] | None] = {
        one.__name__: one for one in every if one.__module__ == errors.__name__ or one is KindUnknown
    }
    return found | {"UsageError": None}


def _iterate_subclasses(kind: type[errors.ReconcilerError]) -> Iterator[type[errors.ReconcilerError]]:
    for one in kind.__subclasses__():
        yield one
        yield from _iterate_subclasses(one)


def _error_class_schema(name: str, kind: type[errors.ReconcilerError] | None) -> Schema:
    """Return what an error of this class has: its words, its code, and no key of another class."""
    exit_code = kind.exit_code if kind else 64
    code = kind.error_code if kind else usage_code
    has = {key: kind is not None and issubclass(kind, base) for base, keys in KEYS_OF_CLASSES for key in keys}
    closed = {key: False for key, theirs in has.items() if not theirs}
    required = [key for key, theirs in has.items() if theirs and key != "running"]
    return {
        "properties": {
            **_exit_schema(exit_code)["properties"],
            "code": {"const": code},
            "error": {"properties": {"kind": {"const": name}, **closed}, "required": required},
        }
    }
