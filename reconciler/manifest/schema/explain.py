"""Words for what the gate refused: one sentence for each mistake, at the key that makes it.

Tree and schema in, problems out. `title`, `description` and `examples` of the schemas are what the
sentences are made of, so a new schema needs nothing here. Values of `writeOnly` fields, and values
that came from the environment, are never shown; nor is anything below such a field, its keys included.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator, ValidationError, validators
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from reconciler.core.redact import mask_private_key, mask_url
from reconciler.core.suggest import did_you_mean, find_nearest
from reconciler.errors import Problem
from reconciler.manifest.schema.patterns import fits
from reconciler.manifest.schema.published import address
from reconciler.manifest.schema.schemas import resources
from reconciler.parsing.build import shown
from reconciler.parsing.paths import Path, Subject, dotted, sayable, unsayable
from reconciler.parsing.tree import Tree

_UNKNOWNS = ("additionalProperties", "unevaluatedProperties")
_ABSENCES = ("required", "minProperties", "oneOf")
_LISTED_MAX = 12  # names in one hint; more would not be read


def _judge_pattern(_: object, pattern: str, text: object, _schema: object) -> Iterator[ValidationError]:
    """Yield the mistake of a text without what its pattern says."""
    if isinstance(text, str) and not fits(pattern, text):
        yield ValidationError("the pattern is not in the text")


_Validator: Any = validators.extend(Draft202012Validator, {"pattern": _judge_pattern})  # type: ignore[no-untyped-call] # the stubs say nothing of it

_SENTENCE_END = re.compile(r"\.\s+(?=[A-Z])")

Steps = list[str | int]
_Said = tuple[Steps, str, str, str]  # path of the key, sentence, hint, code


class Mistake(NamedTuple):
    """One mistake, and what cannot be relied upon because of it.

    `path` leads to the wrong value, or to the mapping that lacks something (`lacking`); with `name` only
    the key there is wrong. `meant` is the key that an unknown one is most likely a slip of, or "".
    """

    problem: Problem
    path: tuple[str | int, ...]
    lacking: bool = False
    name: bool = False
    meant: str = ""


def explain(
    name: str, schema: dict[str, Any], tree: Tree, value: object, *, subject: Subject
) -> tuple[Mistake, ...]:
    """Return every mistake, in file order; the same one never twice.

    `value` is what is checked, of the shape of `tree.value`; positions come from the tree.
    """
    known = resources() | {address(name): schema}
    registry: Registry[Any] = Registry().with_resources(
        # A schema that names its dialect is judged by the library's own class for it, and not by ours.
        (uri, DRAFT202012.create_resource({key: one for key, one in contents.items() if key != "$schema"}))
        for uri, contents in known.items()
    )
    validator = _Validator({"$ref": address(name)}, registry=registry)
    found: dict[Problem, Mistake] = {}
    for error in validator.iter_errors(value):
        if error.validator in _ABSENCES and id(error.instance) in tree.partial:
            continue  # a key of this mapping could not be read, and that was said
        for path, what, hint, code in _mistakes(error, tree):
            problem = tree.problem(path, _named(tree, path, what, subject), hint, code)
            found.setdefault(problem, _mistake(error, problem, tuple(path)))
    return tuple(
        sorted(found.values(), key=lambda one: (one.problem.line, one.problem.column, one.problem.what))
    )


def _named(tree: Tree, path: Steps, what: str, subject: Subject) -> str:
    """Return the sentence with its subject: `{}` is the path, `{key}` its last step."""
    front, named = subject(tree.value, path)
    last = shown(str(path[-1]) if path else "the file")
    key = last if sayable(path) == tuple(path) and not tree.veiled(path) else "a key here"
    return front + what.replace("{}", dotted(path[named:]) or last, 1).replace("{key}", key, 1)


def _mistake(error: ValidationError, problem: Problem, path: tuple[str | int, ...]) -> Mistake:
    meant = ""
    if error.validator in _UNKNOWNS:
        meant = find_nearest("field", str(path[-1]), _schema(error).get("properties", {}))
    name = "propertyNames" in error.schema_path
    return Mistake(problem, path, error.validator in _ABSENCES, name, meant)


def _without_secret(text: str) -> str:
    """Return a refused value as it may be shown: an address or a key may have come where none is due."""
    return mask_url(text) if "://" in text else mask_private_key(text)


def _mistakes(error: ValidationError, tree: Tree) -> Iterator[_Said]:
    path: Steps = list(error.absolute_path)
    if "propertyNames" in error.schema_path:
        what, code = _sentence(error)
        yield [*path, str(error.instance)], f"{{}} {what}", _about(error), code
    elif error.validator in _KEYS:
        yield from _KEYS[str(error.validator)](error, path)
    elif error.instance is not None:  # null was refused by the reader, with a better hint
        quoted = (
            "" if _hidden(error, tree, path) else f" It is {shown(_without_secret(str(error.instance)))!r}."
        )
        # Text where a mapping is due is not shown: a secret may have come one level too high.
        scalar = isinstance(error.instance, str) and not _mapping_is_due(error)
        what, code = _sentence(error)
        yield path, f"{{}} {what}" + (quoted if scalar else ""), _hint(error), code


def _hidden(error: ValidationError, tree: Tree, path: Path) -> bool:
    secret = bool(_schema(error).get("writeOnly")) or unsayable(path)
    return secret or tree.place(path) in tree.hidden or not error.instance


def _mapping_is_due(error: ValidationError) -> bool:
    return error.validator == "type" and _as_list(error.validator_value) == ["object"]


def _as_list(wanted: object) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def _value(error: ValidationError) -> Any:
    return error.instance


def _wanted(error: ValidationError) -> Any:
    return error.validator_value


def _schema(error: ValidationError) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, Mapping) else {}


def _unknown(error: ValidationError, path: Steps) -> Iterator[_Said]:
    schema = _schema(error)
    known = list(schema.get("properties", {}))
    holder = _article(str(schema.get("title", "mapping")).lower())
    for key in _value(error):
        if key not in known:
            hint = did_you_mean("field", key, known, _listed(known, holder))
            yield [*path, key], f"{{key}} is not a field of {holder}.", hint, "E201"


def _listed(known: list[str], holder: str) -> str:
    if 0 < len(known) <= _LISTED_MAX:
        return f"the fields are: {', '.join(known)}"
    return f"`reconciler schema` shows every field of {holder}"


def _missing(error: ValidationError, path: Steps) -> Iterator[_Said]:
    schema = _schema(error)
    holder = _article(str(schema.get("title", "mapping")).lower())
    wanted: list[str] = list(_wanted(error))
    known = schema.get("properties", {})
    slips = {find_nearest("field", str(key), known) for key in _value(error) if key not in known}
    for key in wanted:
        if key not in _value(error) and key not in slips:  # a slip is told where it stands
            about = schema.get("properties", {}).get(key, {})
            example = next(iter(about.get("examples", ())), None)
            hint = f"add it, for example `{key}: {example}`" if isinstance(example, str) else "add it"
            yield path, f"{key} is missing; {holder} needs it.", hint, "E202"


def _together(error: ValidationError, path: Steps) -> Iterator[_Said]:
    known = ", ".join(_schema(error).get("properties", {}))
    wanted = error.validator_value
    count = "at least one" if error.validator == "minProperties" else f"only {_number(wanted)}"
    yield path, f"{{}} needs {count} of {known or 'its keys'}.", "keep the one you mean", "E207"


def _alternatives(error: ValidationError, path: Steps) -> Iterator[_Said]:
    """Say that a mapping has none, or more than one, of the keys of which it has one."""
    schema = _schema(error)
    keys = [str(key) for form in _wanted(error) for key in form["required"]]
    there = [key for key in keys if key in _value(error)]
    holder = _article(str(schema.get("title", "mapping")).lower())
    slips = {find_nearest("field", str(key), schema.get("properties", {})) for key in _value(error)}
    if there:
        what = f"{{}} has {' and '.join(there)}; {holder} has only one of them."
        yield path, what, "keep the one you mean", "E207"
    elif slips.isdisjoint(keys):  # a slip is told where it stands
        yield path, f"{_or(keys)} is missing; {holder} needs one of them.", f"add {keys[0]}", "E202"


_KEYS: Mapping[str, Callable[[ValidationError, Steps], Iterator[_Said]]] = {
    "additionalProperties": _unknown,
    "unevaluatedProperties": _unknown,
    "required": _missing,
    "minProperties": _together,
    "maxProperties": _together,
    "oneOf": _alternatives,
}


def _sentence(error: ValidationError) -> tuple[str, str]:
    """Return the sentence without its subject, and the code."""
    schema, wanted, value = _schema(error), _wanted(error), _value(error)
    match str(error.validator):
        case "type":
            found = f"must be {_types(wanted)}, not {_type_of(value)}.", "E203"
        case "enum" | "const":
            words = [choice for choice in _choices(wanted) if choice]
            # Text where a truth value is due is another type; every other list of words is a vocabulary.
            found = f"must be {_or(words)}.", "E203" if set(words) == {"true", "false"} else "E204"
        case "minLength":
            what = "must not be empty." if wanted == 1 else f"must have at least {wanted} characters."
            found = what, "E205"
        case "maxLength":
            found = f"has {len(value):,} characters; the limit is {wanted:,}.", "E205"
        case "minimum" | "maximum":
            found = f"must be at {'least' if error.validator == 'minimum' else 'most'} {wanted}.", "E204"
        case "minItems" | "maxItems":
            limit = "at least" if error.validator == "minItems" else "at most"
            found = f"must have {limit} {_number(wanted)}, not {len(value)}.", "E207"
        case "uniqueItems":
            found = "names something twice.", "E207"
        case "anyOf" | "oneOf" if any(isinstance(form, Mapping) for form in wanted):
            forms = [str(form.get("title", "")).lower() for form in wanted if isinstance(form, Mapping)]
            found = f"must be {_or([_article(form) for form in forms if form])}.", "E204"
        case _:
            title = str(schema.get("title", "value of the right form")).lower()
            found = f"is not {_article(title)}.", "E208"
    return found


def _hint(error: ValidationError) -> str:
    if error.validator in ("enum", "const") and isinstance(error.instance, str):
        choices = _choices(error.validator_value)
        return did_you_mean("word", error.instance, choices, f"write {_or(choices)}")
    return _about(error)


def _about(error: ValidationError) -> str:
    schema = _schema(error)
    about = _SENTENCE_END.split(str(schema.get("description", "")))[0].rstrip(".")
    example = next(iter(schema.get("examples", ())), None)
    if isinstance(example, str) and example:
        about += f"; for example {example}" if about else f"for example {example}"
    return about[:1].lower() + about[1:]


def _choices(wanted: object) -> list[str]:
    return list(dict.fromkeys(value for value in _as_list(wanted) if isinstance(value, str)))


def _or(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}" if texts else "else"


_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def _types(wanted: object) -> str:
    types = [str(name) for name in _as_list(wanted)]
    if "string" in types:  # numbers and booleans beside it are what editors see in plain text
        types = [name for name in types if name not in ("number", "integer", "boolean")]
    return _or([_WORDS.get(name, name) for name in types])


def _type_of(value: object) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case _:
            return "text"


def _article(noun: str) -> str:
    head = noun.split(" of ", maxsplit=1)[0]
    if head.endswith("s") and not head.endswith(("ss", "us")):
        return noun
    return f"an {noun}" if noun[:1] in "aeio" else f"a {noun}"


def _number(wanted: object) -> str:
    return "one" if wanted == 1 else str(wanted)
