"""The schemas of the table's documents: made of types, so that nothing about a value stands twice.

`script/generate_schemas.py` writes them into `schemas/output/`. Kinds and addresses are referred to in the
schemas that follow from the table of kinds, so that a project's own kinds are in these as well.
"""

import inspect
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args

import click
import msgspec
from msgspec import Meta

from reconciler import errors
from reconciler.cli.console.error_text import usage_code
from reconciler.cli.console.logs import CallLine, StepLine
from reconciler.cli.dispatch import CommandWork
from reconciler.cli.documents.rows import UnfinishedRun, Untold
from reconciler.cli.documents.table import DOCUMENTS, READ_LIMIT, Printed, schema_of
from reconciler.cli.main import COMMANDS, cli
from reconciler.cli.results import CommandResult, document_fields
from reconciler.core.export import IdentityAdvice
from reconciler.core.review.guard import Agreement
from reconciler.core.views.inventory import Listed, Unread
from reconciler.model.address import Address
from reconciler.model.notices import Notice
from reconciler.model.plans import DecidingFact, Explanation, GuardReason, Options, Plan, Target
from reconciler.model.runs import EXIT_CODE_WORDS, REPORT_VERSION, RUN_EVENTS, Running
from reconciler.model.snapshots import ReadLimit
from reconciler.report import explain, listing
from reconciler.report.json import NOT_SHOWN, OF_THE_MOMENT, counts
from reconciler.report.phrases import Lookalike
from reconciler.store.records import KindUnknown

Schema = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_KIND = {"$ref": "../plan.schema.json#/$defs/kind"}
_ADDRESS = {"$ref": "../run.schema.json#/$defs/outcome/properties/address"}
# Values that another schema describes, by the name of their class.
_ELSEWHERE = {Notice.__name__: {"$ref": "../common.schema.json#/$defs/notice"}}
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
_ONLY_SHOWN = {"unmanaged": "$defs/counts"}  # of a plan: a file has none of it
_EMPTY = Plan(Target("", "", ()), Options(), manifest_digest="", salt="", changes=())


def documents() -> dict[str, Schema]:
    """Return the schema of every document by its name (`output/list`)."""
    made = {name: _document(one) for name, one in {**DOCUMENTS, **dict(_printed())}.items()}
    return {**made, "output/plan": _plan(), "output/resume": _resume(), "output/error": _error()}


def _printed() -> Iterator[tuple[str, Printed]]:
    """Yield the documents of every command that returns a Result, as its fields describe them."""
    for words, command in command_leaves():
        if (results := result_types(command)) and (title := results[0].title):
            shapes = tuple(
                {name: (kind, about) for name, kind, about in document_fields(one)} for one in results
            )
            yield schema_of(words), Printed(title, shapes, results[0].exit_codes)


def command_leaves() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something, with the words that call it (`callbacks list`)."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", one) for below, one in command.commands.items())
        elif command is not None:
            yield name, command


def result_types(command: click.Command) -> tuple[type[CommandResult], ...]:
    """Return the results that the function of a command may return, in the order of its annotation."""
    work = command.callback
    kind = inspect.get_annotations(work.function)["return"] if isinstance(work, CommandWork) else int
    found = get_args(kind) or (kind,)
    return tuple(one for one in found if isinstance(one, type) and issubclass(one, CommandResult))


def event_lines() -> Schema:
    """Return the schema of a line of `--events`: open, for a later version of the program may tell more."""
    return _lines("An event of a run", RUN_EVENTS)


def log_lines() -> Schema:
    """Return the schema of a line of `--log-file`: open, as that of events is."""
    return _lines("A line of the log", (StepLine, CallLine))


def _lines(title: str, kinds: tuple[type, ...]) -> Schema:
    found, definitions = msgspec.json.schema_components(kinds)
    for one in definitions.values():
        # Python 3.13 and newer strip the indentation of docstrings themselves.
        one["description"] = inspect.cleandoc(one["description"])
    return {"$schema": _DRAFT, "title": title, "anyOf": list(found), "$defs": definitions}


def _document(about: Printed) -> Schema:
    parts = [part for shape in about.shapes for part in shape.items()]
    schemas, definitions = _of_types([_described(*part) for _, part in parts])
    found = iter(schemas)
    shapes = [
        _object({**_head(*about.exits), **{key: next(found) for key in shape}}, about.exits)
        for shape in about.shapes
    ]
    return _whole(about.title, shapes, definitions)


def _whole(title: str, shapes: list[Schema], definitions: Schema) -> Schema:
    body = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    below = {"$defs": definitions} if definitions else {}
    return {"$schema": _DRAFT, "title": title, **body, **below}


def _described(kind: Any, about: str) -> Any:
    return Annotated[kind, Meta(description=about)]


def _of_types(kinds: list[Any]) -> tuple[list[Schema], dict[str, Schema]]:
    """Return a schema for each type, and the definitions that they refer to: closed, every key required."""
    found, known = msgspec.json.schema_components(kinds, schema_hook=_custom)
    definitions = {
        _PUBLISHED.get(name, name): _closed(name, one)
        for name, one in known.items()
        if name not in _ELSEWHERE
    }
    return [_elsewhere(one) for one in found], definitions


def _custom(kind: type) -> Schema:
    assert issubclass(kind, Address)  # noqa: S101 - the only text of ours with a form of its own
    return {"type": "string"} | _ADDRESS


def _closed(name: str, schema: Schema) -> Schema:
    """Return what a class writes: every key, a default being a value like any other, and no further one."""
    if "properties" not in schema:
        return schema
    keys = {key: _value(name, key, one) for key, one in schema["properties"].items()}
    about = inspect.cleandoc(schema.get("description", "")).replace("\n", " ").replace("  ", " ")
    return {"title": _PUBLISHED.get(name, name), "description": about, **_object(keys)}


def _value(name: str, key: str, schema: Schema) -> Schema:
    value = _FORMATS.get((name, key)) or _elsewhere(
        {word: one for word, one in schema.items() if word != "default"}
    )
    return {"anyOf": [value, {"type": "null"}]} if key in _NULLABLE.get(name, ()) else value


def _elsewhere(node: Any) -> Any:
    """Return a schema with its references to what another file describes turned there."""
    if isinstance(node, list):
        return [_elsewhere(one) for one in node]
    if not isinstance(node, dict):
        return node
    name = str(node.get("$ref", "")).removeprefix(_REF)
    other = _ELSEWHERE.get(name) or ({"$ref": _REF + _PUBLISHED[name]} if name in _PUBLISHED else None)
    return {key: _elsewhere(one) for key, one in node.items()} | (other or {})


def _object(properties: Schema, exits: tuple[int, ...] = (), optional: tuple[str, ...] = ()) -> Schema:
    whole = {
        "type": "object",
        "additionalProperties": False,
        "required": [key for key in properties if key not in optional],
        "properties": properties,
    }
    return {**whole, "oneOf": [_ended(code) for code in exits]} if len(exits) > 1 else whole


def _ended(code: int) -> Schema:
    return {"properties": {"outcome": {"const": EXIT_CODE_WORDS[code]}, "exit_code": {"const": code}}}


def _head(*exits: int) -> Schema:
    return {
        "version": {"description": "Version of this format.", "const": REPORT_VERSION},
        "outcome": {
            "description": "The word that belongs to the exit code.",
            "enum": [EXIT_CODE_WORDS[one] for one in exits],
        },
        "exit_code": {"description": "The exit code of the command.", "enum": list(exits)},
    }


def _plan() -> Schema:
    """A plan as it is shown: as in its file, but for what makes it one."""
    exits = (0, 2, 5, 7)  # 5: the report of a plan that is stale
    kinds = [
        *(tuple[GuardReason, ...], Running | None, tuple[UnfinishedRun, ...], tuple[Lookalike, ...]),
        *(ReadLimit | None, tuple[Agreement, ...]),
    ]
    (reasons, running, unfinished, alike, limit, agreed), definitions = _of_types(kinds)
    number = {"type": "integer", "minimum": 0}
    parts = {
        "agreements": {
            "description": "What a person has agreed to; not there where that is nothing.",
            **agreed,
        },
        "plan": _object(
            {
                key: {"$ref": f"../plan.schema.json#/{_ONLY_SHOWN.get(key, f'properties/{key}')}"}
                for key in Plan.__struct_fields__
                if key not in NOT_SHOWN
            },
            optional=("directories", "moves", "elsewhere", "commit", "consent"),
        ),
        "counts": _object(dict.fromkeys(counts(_EMPTY), number), optional=tuple(OF_THE_MOMENT)),
        "lookalikes": {"description": "What may be a rename. No fingerprint covers it.", **alike},
        "as_far_as_read": {"description": READ_LIMIT, **limit},
        "verdict": _object({"safe": {"type": "boolean"}, "reasons": reasons}),
        "running": {"description": "The run that writes right now.", **running},
        "unfinished": {"description": "The runs that did not finish.", **unfinished},
    }
    optional = ("agreements", "running", "unfinished")
    whole = _object({**_head(*exits), **parts}, exits, optional)
    return _whole("A plan and whether it is safe", [whole], definitions)


def _resume() -> Schema:
    nothing = {"title": "Nothing was to be resumed", **_object(_head(0))}
    return _whole("What was resumed", [{"$ref": "../run.schema.json"}, nothing], {})


def _error() -> Schema:
    """Every error: what it is, and the mistakes of the input, if it is about these."""
    (problems, running), definitions = _of_types([tuple[errors.Problem, ...], Running | None])
    text = {"type": "string"}
    about = {"kind": {"enum": [*_kinds()]}, "message": {**text, "minLength": 1}, "next": text}
    service = {"method": text, "path": text, "status": {"type": "integer", "minimum": 0}, "code": text}
    texts = {"type": "array", "items": text}
    more: tuple[tuple[type, Schema], ...] = (
        (errors.ServiceError, service),
        (errors.UnsafePlan, {"reasons": texts}),
        (errors.ProgramError, {"places": texts}),
        (errors.LockHeld, {"running": running}),
    )
    exits = tuple(code for code in EXIT_CODE_WORDS if code not in (0, 2))
    parts = {
        "code": {"description": "What `reconciler explain` takes.", "enum": sorted({*_codes()})},
        "error": _object(about | {key: one for _, keys in more for key, one in keys.items()}),
        "problems": problems,
        "more": {"description": "How many problems are left out.", "type": "integer", "minimum": 1},
    }
    parts["error"]["required"] = list(about)
    whole = _object({**_head(*exits), **parts}, optional=("more",))
    whole["oneOf"] = [_kind(name, kind, more) for name, kind in _kinds().items()]
    return _whole("An error", [whole], definitions)


def _kinds() -> dict[str, type[errors.ReconcilerError] | None]:
    """Return the classes of errors by name; None for a mistake in the command line, which is none."""
    every: list[type[errors.ReconcilerError]] = [errors.ReconcilerError]
    every += _below(errors.ReconcilerError)
    found: dict[str, type[errors.ReconcilerError] | None] = {
        one.__name__: one for one in every if one.__module__ == errors.__name__ or one is KindUnknown
    }
    return found | {"UsageError": None}


def _below(kind: type[errors.ReconcilerError]) -> Iterator[type[errors.ReconcilerError]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def _codes() -> Iterator[str]:
    return (kind.error_code if kind else usage_code for kind in _kinds().values())


def _kind(
    name: str, kind: type[errors.ReconcilerError] | None, more: tuple[tuple[type, Schema], ...]
) -> Schema:
    """Return what an error of this class has: its words, its code, and no key of another class."""
    exit_code = kind.exit_code if kind else 64
    code = kind.error_code if kind else usage_code
    theirs = {key: kind is not None and issubclass(kind, base) for base, keys in more for key in keys}
    closed = {key: False for key, has in theirs.items() if not has}
    required = [key for key, has in theirs.items() if has and key != "running"]
    return {
        "properties": {
            **_ended(exit_code)["properties"],
            "code": {"const": code},
            "error": {"properties": {"kind": {"const": name}, **closed}, "required": required},
        }
    }
