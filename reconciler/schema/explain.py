"""Messages for what a schema refused: one sentence for each mistake, at its key.

The sentences are made of `title`, `description` and `examples` of the schema, so a new schema needs nothing
here. Values of `writeOnly` fields and values from the environment are never shown, nor is anything below such
a field, keys included.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from jsonschema import Draft202012Validator, ValidationError, validators
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from reconciler.core.redact import mask_private_key, mask_url
from reconciler.core.suggest import did_you_mean, find_nearest
from reconciler.errors import Problem
from reconciler.parsing.display import Subject, TreePath, format_path, is_secret_path, redact_path, show_value
from reconciler.parsing.tree import Tree
from reconciler.schema.patterns import matches_pattern
from reconciler.schema.shipped import schema_address, schema_resources

_UNKNOWNS = ("additionalProperties", "unevaluatedProperties")
_ABSENCES = ("required", "minProperties", "oneOf")
_LISTED_MAX = 12  # names in one hint; more would not be read


def _judge_pattern(_: object, pattern: str, text: object, _schema: object) -> Iterator[ValidationError]:
    """Yield an error for a text that does not match its pattern."""
    if isinstance(text, str) and not matches_pattern(pattern, text):
        yield ValidationError("the text does not match the pattern")


_Validator: Any = validators.extend(Draft202012Validator, {"pattern": _judge_pattern})  # type: ignore[no-untyped-call] # the stubs say nothing of it

_SENTENCE_END = re.compile(r"\.\s+(?=[A-Z])")

Steps = list[str | int]
_Sentence = tuple[Steps, str, str, str]  # path of the key, sentence, hint, code


class Mistake(NamedTuple):
    """One mistake, and which part of the tree it makes unusable.

    `path` leads to the wrong value, or to the mapping that lacks something (`lacking`); with `name` only
    the key there is wrong. `meant` is the key that an unknown one most likely misspells, or "".
    """

    problem: Problem
    path: tuple[str | int, ...]
    lacking: bool = False
    name: bool = False
    meant: str = ""


def explain_mistakes(
    name: str, schema: dict[str, Any], tree: Tree, value: object, *, subject: Subject
) -> tuple[Mistake, ...]:
    """Return every mistake once, in file order.

    `value` is checked, and has the shape of `tree.value`; positions come from the tree.
    """
    known = schema_resources() | {schema_address(name): schema}
    registry: Registry[Any] = Registry().with_resources(
        # For a schema with `$schema` the library would use its own class, and not ours.
        (uri, DRAFT202012.create_resource({key: one for key, one in contents.items() if key != "$schema"}))
        for uri, contents in known.items()
    )
    validator = _Validator({"$ref": schema_address(name)}, registry=registry)
    found: dict[Problem, Mistake] = {}
    for error in validator.iter_errors(value):
        if error.validator in _ABSENCES and id(error.instance) in tree.partial:
            continue  # a key of this mapping could not be read, which was reported
        for path, what, hint, code in _find_sentences(error, tree):
            problem = tree.problem(path, _name_subject(tree, path, what, subject), hint, code)
            found.setdefault(problem, _build_mistake(error, problem, tuple(path)))
    return tuple(
        sorted(found.values(), key=lambda one: (one.problem.line, one.problem.column, one.problem.what))
    )


def _name_subject(tree: Tree, path: Steps, what: str, subject: Subject) -> str:
    """Return the sentence with its subject: `{}` is the path, `{key}` its last step."""
    front, named = subject(tree.value, path)
    last = show_value(str(path[-1]) if path else "the file")
    key = last if redact_path(path) == tuple(path) and not tree.may_be_secret(path) else "a key here"
    return front + what.replace("{}", format_path(path[named:]) or last, 1).replace("{key}", key, 1)


def _build_mistake(error: ValidationError, problem: Problem, path: tuple[str | int, ...]) -> Mistake:
    meant = ""
    if error.validator in _UNKNOWNS:
        meant = find_nearest("field", str(path[-1]), _schema_of(error).get("properties", {}))
    name = "propertyNames" in error.schema_path
    return Mistake(problem, path, error.validator in _ABSENCES, name, meant)


def _mask_secret(text: str) -> str:
    """Return a refused value without secrets: it may be a URL or a key in a wrong place."""
    return mask_url(text) if "://" in text else mask_private_key(text)


def _find_sentences(error: ValidationError, tree: Tree) -> Iterator[_Sentence]:
    path: Steps = list(error.absolute_path)
    if "propertyNames" in error.schema_path:
        what, code = _describe_error(error)
        yield [*path, str(error.instance)], f"{{}} {what}", _describe_field(error), code
    elif error.validator in _KEYS:
        yield from _KEYS[str(error.validator)](error, path)
    elif error.instance is not None:  # the reader refused null, with a better hint
        quoted = (
            ""
            if _is_hidden(error, tree, path)
            else f" It is {show_value(_mask_secret(str(error.instance)))!r}."
        )
        # Text in place of a mapping is not shown: it may be a secret, written one level too high.
        scalar = isinstance(error.instance, str) and not _wants_mapping(error)
        what, code = _describe_error(error)
        yield path, f"{{}} {what}" + (quoted if scalar else ""), _suggest_fix(error), code


def _is_hidden(error: ValidationError, tree: Tree, path: TreePath) -> bool:
    secret = bool(_schema_of(error).get("writeOnly")) or is_secret_path(path)
    return secret or tree.place(path) in tree.hidden or not error.instance


def _wants_mapping(error: ValidationError) -> bool:
    return error.validator == "type" and _as_list(error.validator_value) == ["object"]


def _as_list(wanted: object) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def _schema_of(error: ValidationError) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, Mapping) else {}


def _explain_unknown(error: ValidationError, path: Steps) -> Iterator[_Sentence]:
    known = list(_schema_of(error).get("properties", {}))
    holder = _name_holder(error)
    for key in cast("Mapping[str, object]", error.instance):
        if key not in known:
            hint = did_you_mean("field", key, known, _list_fields(known, holder))
            yield [*path, key], f"{{key}} is not a field of {holder}.", hint, "E201"


def _name_holder(error: ValidationError) -> str:
    """Return the title of the mapping with the mistake, with its article: `a contact`."""
    return _add_article(str(_schema_of(error).get("title", "mapping")).lower())


def _list_fields(known: list[str], holder: str) -> str:
    if 0 < len(known) <= _LISTED_MAX:
        return f"the fields are: {', '.join(known)}"
    return f"`reconciler schema` shows every field of {holder}"


def _explain_missing(error: ValidationError, path: Steps) -> Iterator[_Sentence]:
    known = _schema_of(error).get("properties", {})
    there: Any = error.instance
    needed: Any = error.validator_value
    misspelt = {find_nearest("field", str(key), known) for key in there if key not in known}
    for key in needed:
        if key not in there and key not in misspelt:  # a misspelt key is reported at its place
            example = next(iter(known.get(key, {}).get("examples", ())), None)
            hint = f"add it, for example `{key}: {example}`" if isinstance(example, str) else "add it"
            yield path, f"{key} is missing; {_name_holder(error)} needs it.", hint, "E202"


def _explain_count(error: ValidationError, path: Steps) -> Iterator[_Sentence]:
    known = ", ".join(_schema_of(error).get("properties", {}))
    wanted = error.validator_value
    lacking = error.validator == "minProperties"
    count, hint = (
        ("at least one", "add one") if lacking else (f"only {_format_count(wanted)}", "keep the one you mean")
    )
    yield path, f"{{}} must have {count} of {known or 'its keys'}.", hint, "E207"


def _explain_alternatives(error: ValidationError, path: Steps) -> Iterator[_Sentence]:
    """Yield a mapping that has none, or several, of the keys of which it must have one."""
    forms: Any = error.validator_value
    value: Any = error.instance
    keys = [str(key) for form in forms for key in form["required"]]
    there = [key for key in keys if key in value]
    holder = _name_holder(error)
    known = _schema_of(error).get("properties", {})
    if there:
        what = f"{{}} has {' and '.join(there)}; {holder} has only one of them."
        yield path, what, "keep the one you mean", "E207"
    elif not any(find_nearest("field", str(key), known) in keys for key in value):  # reported at its place
        yield path, f"{_join_with_or(keys)} is missing; {holder} needs one of them.", f"add {keys[0]}", "E202"


_KEYS: Mapping[str, Callable[[ValidationError, Steps], Iterator[_Sentence]]] = {
    "additionalProperties": _explain_unknown,
    "unevaluatedProperties": _explain_unknown,
    "required": _explain_missing,
    "minProperties": _explain_count,
    "maxProperties": _explain_count,
    "oneOf": _explain_alternatives,
}


def _describe_error(error: ValidationError) -> tuple[str, str]:
    """Return the sentence without its subject, and the code."""
    schema = _schema_of(error)
    wanted: Any = error.validator_value
    value: Any = error.instance
    match str(error.validator):
        case "type":
            found = f"must be {_name_types(wanted)}, not {_name_type(value)}.", "E203"
        case "enum" | "const":
            words = [choice for choice in _list_choices(wanted) if choice]
            # Text in place of true or false is another type; other lists of words are choices.
            found = f"must be {_join_with_or(words)}.", "E203" if set(words) == {"true", "false"} else "E204"
        case "minLength":
            what = "must not be empty." if wanted == 1 else f"must have at least {wanted} characters."
            found = what, "E205"
        case "maxLength":
            found = f"has {len(value):,} characters; the limit is {wanted:,}.", "E205"
        case "minimum" | "maximum":
            found = f"must be at {'least' if error.validator == 'minimum' else 'most'} {wanted}.", "E204"
        case "minItems" | "maxItems":
            limit = "at least" if error.validator == "minItems" else "at most"
            found = f"must have {limit} {_format_count(wanted)}, not {len(value)}.", "E207"
        case "uniqueItems":
            found = "lists an item twice.", "E207"
        case "anyOf" | "oneOf" if any(isinstance(form, Mapping) for form in wanted):
            forms = [str(form.get("title", "")).lower() for form in wanted if isinstance(form, Mapping)]
            found = f"must be {_join_with_or([_add_article(form) for form in forms if form])}.", "E204"
        case _:
            title = str(schema.get("title", "value of the right form")).lower()
            found = f"is not {_add_article(title)}.", "E208"
    return found


def _suggest_fix(error: ValidationError) -> str:
    if error.validator in ("enum", "const") and isinstance(error.instance, str):
        choices = _list_choices(error.validator_value)
        return did_you_mean("word", error.instance, choices, f"write {_join_with_or(choices)}")
    return _describe_field(error)


def _describe_field(error: ValidationError) -> str:
    schema = _schema_of(error)
    about = _SENTENCE_END.split(str(schema.get("description", "")))[0].rstrip(".")
    example = next(iter(schema.get("examples", ())), None)
    if isinstance(example, str) and example:
        about += f"; for example {example}" if about else f"for example {example}"
    return about[:1].lower() + about[1:]


def _list_choices(wanted: object) -> list[str]:
    return list(dict.fromkeys(value for value in _as_list(wanted) if isinstance(value, str)))


def _join_with_or(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}" if texts else "else"


_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def _name_types(wanted: object) -> str:
    types = [str(name) for name in _as_list(wanted)]
    if "string" in types:  # numbers and booleans beside it are what editors see in plain text
        types = [name for name in types if name not in ("number", "integer", "boolean")]
    return _join_with_or([_WORDS.get(name, name) for name in types])


def _name_type(value: object) -> str:
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


def _add_article(noun: str) -> str:
    head = noun.split(" of ", maxsplit=1)[0]
    if head.endswith("s") and not head.endswith(("ss", "us")):
        return noun
    return f"an {noun}" if noun[:1] in "aeio" else f"a {noun}"


def _format_count(wanted: object) -> str:
    return "one" if wanted == 1 else str(wanted)
